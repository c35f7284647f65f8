"""Watches the head of the queue: was it blocked, and when could it have started?"""

from __future__ import annotations

from emulator.engine.clock import NEVER
from emulator.state.jobs import JobTable
from slurm_sim_plugins.views import Job, Run, Situation


class HeadWatch:
    """Fills the columns ``blocked`` and ``could_start``.

    A head could start when the idle processors and those of runs of lower priority
    suffice. Starts and ends of lower-priority runs leave that sum as it is, so it needs
    counting only when the head changes, and grows when a higher-priority run ends.
    """

    __slots__ = ("_head", "_situation", "_supply", "_table")

    def __init__(self, situation: Situation, table: JobTable) -> None:
        self._situation = situation
        self._table = table
        self._head: Job | None = None
        self._supply = 0

    def left_blocked(self, head: Job, now: int) -> None:
        """A pass ended, and ``head`` still waits at the head of the queue."""
        if head is not self._head:
            self._head = head
            self._table.blocked[head.index] = 1
            order = head._order
            lower = sum(run.processors for run in self._situation.running if run.job._order > order)
            self._supply = self._situation.free + lower
            self._note(now)

    def ended(self, run: Run, now: int) -> None:
        """A run is over, by itself or by preemption."""
        head = self._head
        if head is not None and run.job._order < head._order:
            self._supply += run.processors
            self._note(now)

    def started(self, job: Job, was_head: bool, now: int) -> None:
        """A job was started."""
        if was_head and self._table.could_start[job.index] == NEVER:
            self._table.could_start[job.index] = now
        head = self._head
        if job is head:
            self._head = None
        elif head is not None and job._order < head._order:
            self._supply -= job.processors

    def _note(self, now: int) -> None:
        head = self._head
        if head is not None and self._supply >= head.processors and self._table.could_start[head.index] == NEVER:
            self._table.could_start[head.index] = now
