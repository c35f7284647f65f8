"""The only code that changes the state of the simulated cluster.

Everything that happens, happens through a method of :class:`Apply`: a job is submitted,
started, sent back, ended. Each method keeps situation, job table, event heap, event log
and observers in step. What a plugin asked for has been validated before it comes here.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from heapq import heappush

from emulator.accounting.eventlog import EventLog
from emulator.accounting.headwatch import HeadWatch
from emulator.engine.clock import NEVER, instant
from emulator.engine.events import WAKE, Event
from emulator.engine.events import TIMEOUT as TIMEOUT_EVENT
from emulator.execution.progress import Progress
from emulator.hooks import Hooks
from emulator.scheduling.queue import JobQueue
from emulator.state.jobs import COMPLETED, FUTURE, PENDING, REJECTED, RUNNING, TIMEOUT, JobTable
from slurm_sim_plugins.views import Job, Run, Situation

_new_run = tuple.__new__


class Apply:
    """Changes the state.

    Args:
        situation: what views show.
        table: the job table.
        progress: work left and rates.
        heap: the event heap.
        hooks: for the observers.
        log: the event log, or None.

    Attributes:
        now: the current instant in microseconds; ``situation.now`` is the same in seconds.
        changed: whether something has happened, since it was last reset, that may let a
            job start which was refused before.
        runs: the current run by job index.
        finished: how many jobs are over.
    """

    def __init__(
        self,
        situation: Situation,
        table: JobTable,
        progress: Progress,
        heap: list[Event],
        hooks: Hooks,
        log: EventLog | None,
    ) -> None:
        self.now = 0
        self.changed = False
        self.runs: dict[int, Run] = {}
        self.finished = 0
        self._situation = situation
        self._table = table
        self._progress = progress
        self._heap = heap
        self._hooks = hooks
        self._log = log
        self._queue = JobQueue(situation.queue)
        self._watch = HeadWatch(situation, table)
        self._sequence = 0
        self.left_blocked = self._watch.left_blocked

    def move_clock(self, now: int) -> None:
        """Go to a later instant (microseconds)."""
        self.now = now
        self._situation.now = now / 1_000_000

    def reject(self, index: int, reason: str) -> None:
        """A submission is not taken in."""
        self._expect(index, FUTURE)
        self._table.state[index] = REJECTED
        self.finished += 1
        if self._log is not None:
            self._log.reject(self.now, self._table.ids[index], reason)

    def submit(self, jobs: Sequence[Job]) -> None:
        """Jobs enter the queue."""
        situation, table, log = self._situation, self._table, self._log
        for job in jobs:
            index = job.index
            if table.state[index] != FUTURE:
                self._expect(index, FUTURE)
            table.state[index] = PENDING
            table.planned[index] = job.planned
            if self._queue.add(job) == 0:
                self.changed = True
            if log is not None:
                log.submit(self.now, job.id)
        situation.newcomers.extend(jobs)
        if self._hooks.job_submitted is not None:
            for job in jobs:
                self._tell("job_submitted", job, job, situation.now)

    def start(self, job: Job, reason: str = "") -> None:
        """A waiting job starts on free processors."""
        situation, table = self._situation, self._table
        index, processors, now = job.index, job.processors, self.now
        if table.state[index] != PENDING:
            self._expect(index, PENDING)
        table.state[index] = RUNNING
        situation.free -= processors
        situation.version += 1
        position = self._queue.remove(job)
        if situation.newcomers and job in situation.newcomers:
            situation.newcomers.remove(job)

        self._sequence = sequence = self._sequence + 1
        end, kind = self._progress.end_of_run(index, now, table.limit[index])
        heappush(self._heap, (end, kind, sequence, index))
        start = situation.now
        run: Run = _new_run(Run, (start + job.planned, sequence, processors, start, job))
        self.runs[index] = run
        insort(situation.running, run)

        table.start[index] = now
        if table.first_start[index] == NEVER:
            table.first_start[index] = now
        table.priority[index] = job.priority
        table.backfilled[index] = position != 0
        self._watch.started(job, position == 0, now)
        if self._log is not None:
            self._log.start(now, job.id, processors, position != 0, reason)
        if self._hooks.job_started is not None:
            self._tell("job_started", job, run, start)

    def end(self, event: Event) -> None:
        """A run ends by itself or at its limit; ``event`` is what the heap held."""
        table = self._table
        _, kind, _, index = event
        run = self._leave(index)
        state = TIMEOUT if kind == TIMEOUT_EVENT else COMPLETED
        table.state[index] = state
        table.end[index] = self.now
        self.finished += 1
        if self._log is not None:
            self._log.end(self.now, run.job.id, "TIMEOUT" if state == TIMEOUT else "COMPLETED")
        if self._hooks.job_ended is not None:
            word = "TIMEOUT" if state == TIMEOUT else "COMPLETED"
            self._tell("job_ended", run.job, run.job, run, word, self._situation.now)

    def requeue(self, run: Run, preemptor: Job, reason: str = "") -> None:
        """A run is ended by preemption; its job loses its progress and waits at its old place."""
        table, job = self._table, run.job
        index = job.index
        self._leave(index)
        table.state[index] = PENDING
        table.end[index] = NEVER
        table.requeues[index] += 1
        table.past_runs.append((index, table.start[index], self.now, bool(table.backfilled[index])))
        object.__setattr__(job, "requeues", job.requeues + 1)
        self._progress.forget(index)
        self._queue.add(job)
        if self._log is not None:
            self._log.requeue(self.now, job.id, preemptor.id, reason)
        if self._hooks.job_requeued is not None:
            self._tell("job_requeued", job, job, run, self._situation.now)

    def reserve(self, job: Job, time: float, reason: str = "") -> None:
        """A waiting job is planned to start at ``time``; kept unless the last one has run out."""
        reserved = self._table.reserved
        last = reserved[job.index]
        if last != last or self._situation.now <= last:
            reserved[job.index] = time
        if self._log is not None:
            self._log.reserve(self.now, job.id, time, reason)

    def wake(self, time: float) -> None:
        """Ask for a pass at ``time`` (seconds)."""
        self._sequence += 1
        heappush(self._heap, (instant(time), WAKE, self._sequence, -1))

    def replan_overdue(self) -> None:
        """Runs that have outlived their planned ends are planned to end at their limits.

        One that has outlived its limit too stays where it is, and counts as ending now.
        """
        situation = self._situation
        running, now = situation.running, situation.now
        overdue = running[: bisect_left(running, (now,))]
        self.changed = True
        for run in overdue:
            limit = run.start + run.job.time_limit
            if limit == run.planned_end:
                continue
            del running[bisect_left(running, run)]
            later = run._replace(planned_end=limit)
            self.runs[run.job.index] = later
            insort(running, later)
            situation.version += 1

    def is_current(self, event: Event) -> bool:
        """Whether an end in the heap is that of the job's current run."""
        run = self.runs.get(event[3])
        return run is not None and run.sequence == event[2]

    def _leave(self, index: int) -> Run:
        """A run leaves its processors."""
        situation, table = self._situation, self._table
        if table.state[index] != RUNNING:
            self._expect(index, RUNNING)
        run = self.runs.pop(index)
        running = situation.running
        del running[bisect_left(running, run)]
        situation.free += run.processors
        situation.version += 1
        self.changed = True
        table.occupied[index] += self.now - table.start[index]
        self._watch.ended(run, self.now)
        return run

    def _expect(self, index: int, state: int) -> None:
        if self._table.state[index] != state:
            raise AssertionError(
                f"job {self._table.ids[index]} is in state {self._table.state[index]}, expected {state}"
            )

    def _tell(self, hook: str, job: Job, *values: object) -> None:
        try:
            getattr(self._hooks, hook)(*values)
        except Exception as error:
            self._hooks.fail(hook, error, time=self._situation.now, job=job.id)
