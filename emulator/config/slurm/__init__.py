"""Slurm configuration: ``slurm.conf`` and the files beside it, as typed values.

:func:`read_slurm_conf` reads, :class:`SlurmConf` is what it gives, and
:data:`~emulator.config.slurm.parameters.PARAMETERS` says what the emulator makes of each key.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emulator.config.slurm.model import SlurmConf
    from emulator.config.slurm.reader import parse_slurm_conf, read_slurm_conf

__all__ = ["SlurmConf", "parse_slurm_conf", "read_slurm_conf"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``slurm-sim --help`` need not wait."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f"{__name__}.{'model' if name == 'SlurmConf' else 'reader'}")
    globals()[name] = found = getattr(home, name)
    return found
