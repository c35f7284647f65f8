# cython: boundscheck=True, wraparound=True, nonecheck=True
"""Watches the head of the queue: was it blocked, and when could it have started?

A :mod:`kernel <slurm_sim_plugins.kernels>`.
"""

from __future__ import annotations

from emulator.state.instants import NEVER
from emulator.state.jobs import JobTable
from slurm_sim_plugins.job_fields import before
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.views import ClusterState


class HeadWatch:
    """Fills the columns ``blocked`` and, of blocked jobs, ``could_start``.

    A head could start when the idle processors and those of runs of lower priority
    suffice. Starts and ends of lower-priority runs leave that sum as it is: it needs
    counting only when the head changes, and grows when a higher-priority run ends.

    Attributes:
        head: the blocked head that is being watched, or None.
        missing: how many processors it lacks; 0 or less when it could start.
    """

    __slots__ = ("_blocked", "_cluster_state", "_could_start", "_noted", "head", "missing")

    def __init__(self, cluster_state: ClusterState, table: JobTable) -> None:
        self._cluster_state = cluster_state
        self._blocked = table.blocked
        self._could_start = table.could_start
        self.head: Job | None = None
        self.missing = 1
        self._noted = False

    def seen(self, head: Job | None, now: int) -> None:
        """A pass begins, and the watched head lacks nothing; ``head`` is the head now."""
        if head is self.head:
            self._note(now)

    def left_blocked(self, head: Job, now: int) -> None:
        """A pass ended, and ``head`` still waits at the head of the queue."""
        if head is self.head:
            if self.missing <= 0:
                self._note(now)
            return
        self.head, self._noted = head, False
        self._blocked[head.index] = True
        self.missing = head.processors - self._cluster_state.free - self._lower(head)
        if self.missing <= 0:
            self._note(now)

    def _lower(self, head: Job) -> int:
        """Processors of the runs of lower priority."""
        processors = 0
        for entry in self._cluster_state._runs:
            if before(head, entry[4]):
                held = entry[2]
                processors += held
        return processors

    def ended(self, job: Job) -> None:
        """A run is over, by itself or by preemption."""
        if before(job, self.head):  # type: ignore[arg-type]
            self.missing -= job.processors

    def started(self, job: Job) -> None:
        """A job was started."""
        if job is self.head:
            self.head, self.missing = None, 1
        elif before(job, self.head):  # type: ignore[arg-type]
            self.missing += job.processors

    def head_started(self, job: Job, now: int) -> None:
        """The head of the queue was started: if it was blocked before, it could now at the latest."""
        index = job.index
        if self._blocked[index] and self._could_start[index] == NEVER:
            self._could_start[index] = now

    def reordered(self) -> None:
        """Priorities were set: which job is head, and which runs it outranks, is to be found out again."""
        self.head, self.missing = None, 1

    def _note(self, now: int) -> None:
        if self._noted:
            return
        self._noted = True
        index = self.head.index  # type: ignore[union-attr]
        if self._could_start[index] == NEVER:
            self._could_start[index] = now
