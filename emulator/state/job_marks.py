"""Writes to a job that happen with each start; a job refuses plain assignment.

Kernels have them from the .pxd of the same name, where they are those of C.
"""

from __future__ import annotations

from slurm_sim_plugins.jobs import Job


def mark_backfilled(job: Job, backfilled: bool) -> None:
    """Note whether the last start of a job went ahead of the head of the queue."""
    object.__setattr__(job, "backfilled", backfilled)
