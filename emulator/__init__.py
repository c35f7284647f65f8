"""The machine that honours Slurm's semantics and calls the hooks; the package ``emulator`` of slurm-sim-plugins.

>>> from emulator import simulate
>>> result = simulate("trace.swf.gz", processors=100, scheduler="sched/easy")  # doctest: +SKIP
>>> result.jobs  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import slurm_sim_plugins.kernels  # noqa: F401 - says which form of a kernel is imported, also of those in here

if TYPE_CHECKING:
    from emulator.api import simulate
    from emulator.config.options import Config
    from emulator.result import Result, compare, load
    from emulator.workload.swf import read_swf, write_swf
    from emulator.workload.workload import Workload

__all__ = ["Config", "Result", "Workload", "compare", "load", "read_swf", "simulate", "write_swf"]

_HOMES = {
    "Config": "emulator.config.options",
    "Result": "emulator.result",
    "Workload": "emulator.workload.workload",
    "compare": "emulator.result",
    "load": "emulator.result",
    "read_swf": "emulator.workload.swf",
    "simulate": "emulator.api",
    "write_swf": "emulator.workload.swf",
}


def __dir__() -> list[str]:
    """The public names, for completion, though they are not imported yet."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``slurm-sim --help`` need not wait."""
    if name not in _HOMES:
        from slurm_sim_plugins.errors import meant

        raise AttributeError(f"module 'emulator' has no attribute {name!r}{meant(name, __all__)}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
