"""Try the shortest job first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.views import BackfillView


class Sjf:
    """Backfill in the order of planned time, then (submit, id): SJF-EASY with sched/easy."""

    name: ClassVar[str] = "backfill/sjf"

    @hookimpl
    def backfill_candidates(self, view: BackfillView) -> Sequence[Job]:
        return sorted(view.to_try, key=lambda job: (job.planned, job.submit, job.id))
