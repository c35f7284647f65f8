"""Slurm's sched/builtin: strict order, and predicted starts."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from math import inf
from typing import ClassVar

from slurm_sim_plugins.decisions import Decision, Reserve
from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.views import SchedulingView


@dataclass
class Builtin:
    """Leave all starts to Slurm's main loop, which keeps strict order in each partition; predict them now and then.

    A job is predicted to start when it fits as runs end, but not before the one ahead of it has ended.

    Args:
        bf_interval: seconds between two predictions under Slurm's clock; 0 for after each pass.
        bf_max_job_test: jobs whose start is predicted.

    Source: recorded from Slurm 22.05 (observation Q6).
    """

    name: ClassVar[str] = "sched/builtin"
    by_order: ClassVar[bool] = True
    het_jobs: ClassVar[bool] = False
    bf_interval: float = 30
    bf_max_job_test: int = 50

    @hookimpl
    def backfill(self, view: SchedulingView) -> Generator[Decision, bool, None]:
        plan, ahead_ends = view.plan(), view.now
        for entry in view.queue[: self.bf_max_job_test]:
            start = max(plan.alone(entry), ahead_ends)
            if start < inf:
                ahead_ends = start + entry.planned
                yield Reserve(entry, start)
