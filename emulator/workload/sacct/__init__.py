"""Dumps of ``sacct -P``: the jobs that a real Slurm, or an emulated one, has accounted for.

:func:`read_sacct` gives a :class:`emulator.workload.sitelog.SiteLog`. The way of a line:
``dump`` (which lines and values belong together), ``times``, ``asked`` (what the job asked for),
``jobs`` (steps, arrays, runs of requeued jobs).
"""

from __future__ import annotations

from emulator.workload.sacct.reading import looks_like_sacct, read_sacct

__all__ = ["looks_like_sacct", "read_sacct"]
