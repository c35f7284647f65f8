"""The machine that honours Slurm's semantics and calls the hooks; the package ``emulator`` of slurm-sim-plugins.

>>> from emulator import simulate
>>> result = simulate("trace.swf.gz", processors=100, scheduler="sched/easy")  # doctest: +SKIP
>>> result.jobs  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import slurm_sim_plugins.kernels  # noqa: F401 - says which form of a kernel is imported, also of those in here
from slurm_sim_plugins.lazily import homes

if TYPE_CHECKING:
    from emulator.api import simulate
    from emulator.config.options import Config
    from emulator.result import Result, compare, load
    from emulator.workload.swf import read_swf, write_swf
    from emulator.workload.workload import Workload

__all__ = ["Config", "Result", "Workload", "compare", "load", "read_swf", "simulate", "write_swf"]

__getattr__ = homes(
    __name__,
    {
        "api": "simulate",
        "config.options": "Config",
        "result": "Result compare load",
        "workload.swf": "read_swf write_swf",
        "workload.workload": "Workload",
    },
)


def __dir__() -> list[str]:
    """The public names, for completion, though they are not imported yet."""
    return sorted({*globals(), *__all__})
