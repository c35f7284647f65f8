"""The only code that changes the state of the simulated cluster.

Everything that happens, happens through a method of :class:`Apply`: a job is submitted,
started, sent back, ended. Each method keeps situation, job table, event heap, event log
and observers in step. What a plugin asked for has been validated before it comes here.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from heapq import heappush

from emulator.accounting.headwatch import HeadWatch
from emulator.accounting.witness import Witness
from emulator.engine.clock import NEVER, instant
from emulator.engine.events import FINISH, WAKE, Event
from emulator.execution.progress import Progress
from emulator.scheduling.queue import JobQueue
from emulator.state.jobs import COMPLETED, PENDING, REJECTED, RUNNING, TIMEOUT, JobTable
from slurm_sim_plugins.profile import RunEntry
from slurm_sim_plugins.views import Job, Run, Situation

NO_SEQUENCE = float("inf")
"""Comes after every number of a start."""


class Apply:
    """Changes the state.

    Args:
        situation: what views show.
        table: the job table.
        progress: how long a run lasts.
        heap: the event heap.
        witness: is told of every change; None if nobody listens.

    Attributes:
        now: the current instant in microseconds; ``situation.now`` is the same in seconds.
        free: idle processors; the situation shows the same.
        changed: whether something has happened, since it was last reset, that may let a
            job start which was refused before.
        hopeful: whether, since it was last reset, a job was queued that fits.
        state: the state of each job.
        watch: watches the head of the queue.
        runs: the entry of each job's current run, or None.
    """

    def __init__(
        self,
        situation: Situation,
        table: JobTable,
        progress: Progress,
        heap: list[Event],
        witness: Witness | None,
    ) -> None:
        self.now = 0
        self.free = situation.total
        self.changed = False
        self.hopeful = False
        self.watch = HeadWatch(situation, table)
        self.runs: list[RunEntry | None] = [None] * len(table)
        self._situation = situation
        self._table = table
        self.state = table.state
        self._progress = progress
        self._heap = heap
        self._witness = witness
        self._queue = JobQueue(situation)
        self._sequence = 0

    def reject(self, job: Job, reason: str) -> None:
        """A submission is not taken in."""
        self.state[job.index] = REJECTED
        if self._witness is not None:
            self._witness.rejected(self.now, job, reason)

    def submit(self, job: Job) -> None:
        """A job enters the queue."""
        self.state[job.index] = PENDING
        if self._queue.add(job):
            self.changed = True
        self._situation._arrived.append(job)
        if job.processors <= self.free:
            self.hopeful = True
        if self._witness is not None:
            self._witness.submitted(self.now, job)

    def start(self, job: Job, reason: str = "") -> None:
        """A waiting job starts on free processors."""
        situation, progress, now = self._situation, self._progress, self.now
        index, processors = job.index, job.processors
        self.state[index] = RUNNING
        situation.free = self.free = self.free - processors
        situation._reservation = None
        was_head = self._queue.remove(job)
        if situation._arrived and job in situation._arrived:
            situation._arrived.remove(job)

        self._sequence = sequence = self._sequence + 1
        heappush(self._heap, (now + progress.duration[index], progress.ends_by[index], sequence, index))
        start = situation.now
        self.runs[index] = entry = (start + job.planned, sequence, processors, start, job)
        insort(situation._runs, entry)

        self._table.start[index] = now
        if not was_head:
            self._table.backfilled[index] = True
        elif self._table.blocked[index] and self._table.could_start[index] == NEVER:
            self._table.could_start[index] = now
        if self.watch.head is not None:
            self.watch.started(job)
        if self._witness is not None:
            self._witness.started(now, Run._make(entry), not was_head, reason)

    def end(self, index: int, kind: int) -> None:
        """A run ends by itself or at its limit (``kind`` is FINISH or TIMEOUT)."""
        entry = self._leave(index)
        self.state[index] = COMPLETED if kind == FINISH else TIMEOUT
        self._table.end[index] = self.now
        if self._witness is not None:
            self._witness.ended(self.now, Run._make(entry), "COMPLETED" if kind == FINISH else "TIMEOUT")

    def requeue(self, run: Run, preemptor: Job, reason: str = "") -> None:
        """A run is ended by preemption; its job loses its progress and waits at its old place."""
        table, job = self._table, run.job
        index = job.index
        self._leave(index)
        self.state[index] = PENDING
        table.requeues[index] += 1
        if not table.backfilled[index] and table.could_start[index] == NEVER:
            table.could_start[index] = table.start[index]
        table.past_runs.append((index, table.start[index], self.now, table.backfilled[index]))
        table.backfilled[index] = False
        object.__setattr__(job, "requeues", job.requeues + 1)
        self._progress.restart(index)
        self._queue.add(job)
        if self._witness is not None:
            self._witness.requeued(self.now, run, preemptor, reason)

    def reserve(self, job: Job, time: float, reason: str = "") -> None:
        """A waiting job is planned to start at ``time``; kept unless the last one has run out."""
        reserved = self._table.reserved
        last = reserved[job.index]
        if last != last or self._situation.now <= last:
            reserved[job.index] = time
        if self._witness is not None:
            self._witness.reserved(self.now, job, time, reason)

    def wake(self, time: float) -> None:
        """Ask for a pass at ``time`` (seconds)."""
        self._sequence += 1
        heappush(self._heap, (instant(time), WAKE, self._sequence, -1))

    def replan_overdue(self) -> None:
        """Runs that go on at their planned ends are planned to end at their limits.

        One that has outlived its limit too stays where it is, and counts as ending now.
        """
        situation = self._situation
        entries, now = situation._runs, situation.now
        self.changed = True
        for entry in entries[: bisect_left(entries, (now, NO_SEQUENCE))]:
            planned_end, sequence, processors, start, job = entry
            limit = start + job.time_limit
            if limit == planned_end:
                continue
            del entries[bisect_left(entries, entry)]
            self.runs[job.index] = later = (limit, sequence, processors, start, job)
            insort(entries, later)
            situation._reservation = None

    def _leave(self, index: int) -> RunEntry:
        """A run leaves its processors."""
        situation, entry = self._situation, self.runs[index]
        assert entry is not None, f"job at {index} does not run"
        self.runs[index] = None
        entries = situation._runs
        del entries[bisect_left(entries, entry)]
        situation.free = self.free = self.free + entry[2]
        situation._reservation = None
        self.changed = True
        if self.watch.head is not None:
            self.watch.ended(entry[4])
        return entry
