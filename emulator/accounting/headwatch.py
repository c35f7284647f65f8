"""Watches the head of the queue: was it blocked, and when could it have started?"""

from __future__ import annotations

from emulator.engine.clock import NEVER
from emulator.state.jobs import JobTable
from slurm_sim_plugins.views import Job, RunEntry, Situation


class HeadWatch:
    """Fills the columns ``blocked`` and ``could_start``.

    A head could start when the idle processors and those of runs of lower priority
    suffice. Starts and ends of lower-priority runs leave that sum as it is, so it needs
    counting only when the head changes, and grows when a higher-priority run ends.
    """

    __slots__ = ("_situation", "_supply", "_table", "head")

    def __init__(self, situation: Situation, table: JobTable) -> None:
        self._situation = situation
        self._table = table
        self._supply = 0
        self.head: Job | None = None
        """The blocked head that is being watched."""

    def left_blocked(self, head: Job, now: int) -> None:
        """A pass ended, and ``head`` still waits, newly at the head of the queue."""
        self.head = head
        self._table.blocked[head.index] = 1
        order = head._order
        lower = sum([entry[2] for entry in self._situation._runs if entry[4]._order > order])
        self._supply = self._situation.free + lower
        self._note(now)

    def ended(self, entry: RunEntry, now: int) -> None:
        """A run is over, by itself or by preemption."""
        if self.head is not None and entry[4]._order < self.head._order:
            self._supply += entry[2]
            self._note(now)

    def started(self, job: Job) -> None:
        """A job was started."""
        if job is self.head:
            self.head = None
        elif self.head is not None and job._order < self.head._order:
            self._supply -= job.processors

    def _note(self, now: int) -> None:
        head = self.head
        if head is not None and self._supply >= head.processors and self._table.could_start[head.index] == NEVER:
            self._table.could_start[head.index] = now
