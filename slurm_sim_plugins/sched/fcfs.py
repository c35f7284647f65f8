"""First come, first served, without backfilling."""

from __future__ import annotations

from collections.abc import Generator
from typing import ClassVar

from slurm_sim_plugins.decisions import Decision, Start
from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.views import SchedulingView


class Fcfs:
    """Start the queue in order until its head does not fit; all other jobs wait.

    The order is that of the plugin in the PriorityType slot: with ``priority/sjf`` this
    is SJF. On a machine with partitions each partition has a head, and nothing of what it
    could use is given to the jobs behind it.
    """

    name: ClassVar[str] = "sched/fcfs"
    only_starts: ClassVar[bool] = True
    by_order: ClassVar[bool] = True

    @hookimpl
    def schedule(self, view: SchedulingView) -> Generator[Decision, bool, None]:
        plan = view.plan()
        for entry in plan.heads():
            answer = plan.now(entry)
            if answer.place:
                yield Start(entry, where=answer.place)
            elif answer.blocks:
                plan.bar(entry)
