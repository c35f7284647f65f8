"""Shortest job first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.views import PriorityView


class Sjf:
    """The shorter its planned time for the order of the queue, the higher a job's priority; then (submit, id)."""

    name: ClassVar[str] = "priority/sjf"

    @hookimpl
    def priority_set(self, view: PriorityView) -> Sequence[float]:
        return [-job.planned_queue for job in view.to_set]
