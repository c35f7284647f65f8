"""First come, first served, without backfilling."""

from __future__ import annotations

from collections.abc import Generator
from typing import ClassVar

from slurm_sim_plugins.decisions import Decision, Start
from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.views import SchedulingView


class Fcfs:
    """Start the queue in order until its head does not fit; everybody else waits.

    The order is that of the plugin in the PriorityType slot: with ``priority/sjf`` this
    is SJF.
    """

    name: ClassVar[str] = "sched/fcfs"
    only_starts: ClassVar[bool] = True

    @hookimpl
    def schedule(self, view: SchedulingView) -> Generator[Decision, bool, None]:
        while (head := view.head) is not None and head.processors <= view.free:
            yield Start(head)
