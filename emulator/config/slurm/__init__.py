"""Slurm configuration: ``slurm.conf`` and the files beside it, as typed values.

:func:`read_slurm_conf` reads, :class:`SlurmConf` is what it gives, and
:data:`~emulator.config.slurm.parameters.PARAMETERS` says what the emulator makes of each key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurm_sim_plugins.lazily import homes

if TYPE_CHECKING:
    from emulator.config.slurm.model import SlurmConf
    from emulator.config.slurm.reader import parse_slurm_conf, read_slurm_conf

__all__ = ["SlurmConf", "parse_slurm_conf", "read_slurm_conf"]

__getattr__ = homes(__name__, {"model": "SlurmConf", "reader": "parse_slurm_conf read_slurm_conf"})
