# cython: boundscheck=True, wraparound=True, nonecheck=True
"""The only code that changes the state of the simulated cluster.

Everything that happens, happens through a method of :class:`Apply`: a job is submitted,
started, sent back, ended. Each method keeps cluster state, job table, event heap, event log
and observers in step. What a plugin asked for has been validated before it comes here.

A :mod:`kernel <slurm_sim_plugins.kernels>`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import emulator.state.job_marks as job_marks
from emulator.accounting.headwatch import HeadWatch
from emulator.accounting.notifier import Notifier
from emulator.engine.event_heap import EventHeap
from emulator.execution.handover import Handover
from emulator.execution.overdue import Overdue
from emulator.execution.progress import Progress
from emulator.livelock import Livelock, standstill
from emulator.scheduling.queue import JobQueue
from emulator.state.events import FINISH, RETURN, WAKE
from emulator.state.instants import EXACT, MICROSECONDS, NEVER, instant, seconds
from emulator.state.jobs import CANCELLED, COMPLETED, FUTURE, PENDING, REJECTED, REQUEUED, RUNNING, TIMEOUT, JobTable
from slurm_sim_plugins.errors import StandstillError
from slurm_sim_plugins.jobs import Job, Run
from slurm_sim_plugins.profile import RunEntry
from slurm_sim_plugins.run_list import drop, place_of
from slurm_sim_plugins.views import ClusterState

_set = object.__setattr__
"""Writes to a job, which refuses plain assignment."""
LAST = 2**62
"""Comes after every number of a start."""


class Apply:
    """Changes the state.

    Args:
        cluster_state: what views show.
        table: the job table.
        progress: how long a run lasts.
        overdue: what a run that outlives its planned end is planned with.
        heap: the event heap.
        notifier: hears of every change; None if nothing listens.

    Attributes:
        now: the current instant in microseconds; ``cluster_state.now`` is the same in seconds.
        free: idle processors; the cluster state shows the same.
        changed: whether something has happened, since it was last reset, that may let a
            job start which was refused before. That includes a start of a run that is
            planned for another time than its job was while it waited: it can move the
            head's reservation.
        hopeful: whether, since it was last reset, a job was queued that fits.
        state: the state of each job.
        facts: the columns that its jobs share, by which a job of this simulation is known.
        useful: work that each job does before it ends, in microseconds.
        watch: watches the head of the queue.
        runs: the entry of each job's current run, or None.
        renumber: gives preempted jobs their present priorities, where these change in time; or None.
        replan: lets the walltime plugin plan again for the jobs that wait, as one of them was preempted; or None.
    """

    __slots__ = (
        *("_backfilled", "_cluster_state", "_duration", "_end", "_end_notifier", "_ends_by", "_handover"),
        *("_hands_over", "_heap", "_learnt", "_livelock"),
        *("_notifier", "_overdue", "_plans", "_progress", "_queue", "_sequence", "_start", "_start_notifier"),
        *("_submit_notifier", "_table", "changed", "facts", "free", "hopeful", "now", "renumber", "replan", "runs"),
        *("state", "useful", "watch"),
    )

    def __init__(
        self,
        cluster_state: ClusterState,
        table: JobTable,
        progress: Progress,
        overdue: Overdue,
        heap: EventHeap,
        notifier: Notifier | None,
    ) -> None:
        self.now = 0
        self.free = cluster_state.total
        self.changed = False
        self.hopeful = False
        self.watch = HeadWatch(cluster_state, table)
        self.runs: list[RunEntry | None] = [None] * len(table)
        self.renumber: Callable[[Sequence[Job]], None] | None = None
        self.replan: Callable[[], None] | None = None
        self._cluster_state = cluster_state
        self._table = table
        self.state = table.state
        self.facts = table.jobs[0]._facts if table.jobs else None
        self.useful = progress.useful
        self._start, self._end, self._backfilled = table.start, table.end, table.backfilled
        self._progress = progress
        self._duration = progress.duration
        self._ends_by = progress.ends_by
        self._overdue = overdue
        self._hands_over = progress.overhead
        self._handover = Handover()
        self._plans: dict[int, tuple[float, float, float]] = {}
        self._heap = heap
        self._notifier = notifier
        self._submit_notifier = notifier.of_submissions if notifier is not None else None
        self._start_notifier = notifier.of_starts if notifier is not None else None
        self._end_notifier = notifier.of_ends if notifier is not None else None
        self._learnt = notifier.of_run_times if notifier is not None else None
        self._queue = JobQueue(cluster_state)
        self._sequence = 0
        self._livelock = Livelock()
        if progress.overhead:
            for job in table.jobs:
                self._plan_next_run(job)

    def reject(self, job: Job, reason: str) -> None:
        """A submission is not taken in."""
        self.state[job.index] = REJECTED
        if self._notifier is not None:
            self._notifier.rejected(self.now, job, reason)

    def limit(self, job: Job, seconds: float) -> None:
        """A submission goes in with another limit than the workload's."""
        index, table = job.index, self._table
        table.limits[index] = table.planned[index] = float(seconds)
        table.limit[index] = instant(seconds)
        for name in ("time_limit", "planned", "planned_queue", "planned_running", "longest"):
            _set(job, name, float(seconds))
        self._progress.limited(index)
        if self._progress.overhead:
            self._plan_next_run(job)

    def plan(self, job: Job, plan: tuple[float, float, float]) -> None:
        """Schedulers are to plan with this, as a :class:`Plan`, in seconds of the job's own work."""
        index = job.index
        queue, waiting, running = plan
        self._table.planned[index] = waiting
        if self._progress.overhead:
            self._plans[index] = plan
            self._plan_next_run(job)
            return
        _set(job, "planned", waiting)
        _set(job, "planned_queue", queue)
        _set(job, "planned_running", running)

    def _plan_next_run(self, job: Job) -> None:
        """What schedulers read of the next run's length: the work that is left, and its overhead."""
        index, wall, limit = job.index, self._progress.wall, job.time_limit
        queue, waiting, running = self._plans.get(index, (limit, limit, limit))
        _set(job, "planned", wall(index, waiting))
        _set(job, "planned_queue", wall(index, queue))
        _set(job, "planned_running", wall(index, running))
        _set(job, "longest", wall(index, limit))

    def submit(self, job: Job) -> None:
        """A job enters the queue."""
        self.state[job.index] = PENDING
        if self._queue.add(job):
            self.changed = True
        self._cluster_state._arrived.append(job)
        if job.processors <= self.free:
            self.hopeful = True
        if self._submit_notifier is not None:
            self._submit_notifier.submitted(self.now, job)

    def reorder(self) -> None:
        """The waiting jobs' priorities were set: the queue takes their order."""
        if self._queue.sort():
            self.changed = True
        self.watch.reordered()

    def start(self, job: Job, reason: str = "", where: Any = None) -> None:
        """A waiting job starts, on the processors or the block of the decision if it names any."""
        index, arrived = job.index, self._cluster_state._arrived
        self.state[index] = RUNNING
        was_head = self._queue.remove(job)
        if arrived:
            drop(arrived, job)
        told = self._occupy(job, where)
        self._start[index] = self.now
        if not was_head:
            self._backfilled[index] = True
            job_marks.mark_backfilled(job, True)
        else:
            self.watch.head_started(job, self.now)
        if self._start_notifier is not None:
            self._start_notifier.started(self.now, Run._make(told[0]), not was_head, reason, *told[1:])

    def _occupy(self, job: Job, where: Any) -> tuple[Any, ...]:
        """Begin a run; returns its entry, and the location that the event log writes."""
        delay = 0
        if self._hands_over and self._handover.pending:
            delay = self._handover.take(job.index, job.processors, self.free - job.processors, self.now)
        return (self._begin(job, job.processors, delay),)

    def _begin(self, job: Job, takes: int, delay: int) -> RunEntry:
        """A run begins that takes so many processors, and waits on them for ``delay`` microseconds."""
        cluster_state, now, index = self._cluster_state, self.now, job.index
        cluster_state.free = self.free = self.free - takes
        cluster_state._reservation = None
        if cluster_state._plan is not None:
            cluster_state._plan.started(job)
        planned = job.planned_running
        if delay or planned != job.planned:
            self.changed = True
        self._sequence = sequence = self._sequence + 1
        length = self._duration[index]
        self._heap.push(now + length + delay, self._ends_by[index], sequence, index)
        ends = now + delay + int(np.rint(planned * 1e6))
        planned_end = ends / 1e6 if ends < EXACT else seconds(ends)
        self.runs[index] = entry = (planned_end, sequence, job.processors, cluster_state.now, job)
        runs = cluster_state._runs
        runs.insert(place_of(runs, planned_end, sequence), entry)
        if self.watch.head is not None:
            self.watch.started(job)
        return entry

    def end(self, index: int, kind: int) -> None:
        """A run ends by itself or at its limit (``kind`` is FINISH or TIMEOUT)."""
        entry = self._leave(index)
        self.state[index] = COMPLETED if kind == FINISH else TIMEOUT
        self._end[index] = self.now
        if self._end_notifier is not None:
            self._end_notifier.ended(self.now, entry[4], Run._make(entry), "COMPLETED" if kind == FINISH else "TIMEOUT")
        if self._learnt is not None:
            self._learnt(self.now, entry[4], self._progress.useful[index] / MICROSECONDS)

    def preempt(self, run: Run, preemptor: Job, reason: str = "") -> None:
        """A run is ended by preemption; its job waits at its old rank, with what progress the mode leaves it."""
        table, job = self._table, run.job
        index, start = job.index, table.start[job.index]
        at_work = self._at_work(index)
        left = self._progress.duration[index] - at_work
        self._leave(index)
        table.requeues[index] += 1
        if not table.backfilled[index] and table.could_start[index] == NEVER:
            table.could_start[index] = start
        kept, away = self._progress.preempt(index, at_work)
        table.past_runs.append((index, start, self.now, table.backfilled[index], kept))
        table.backfilled[index] = False
        _set(job, "requeues", job.requeues + 1)
        job_marks.mark_backfilled(job, False)
        if self._progress.overhead:
            self._plan_next_run(job)
        if self.renumber is not None:
            self.renumber((job,))
        if away:
            self.state[index] = REQUEUED
            self._handover.begin(self.now + away, run.processors)
            self._sequence += 1
            self._heap.push(self.now + away, RETURN, self._sequence, index)
        else:
            self.state[index] = PENDING
            self._queue.add(job)
        if self._notifier is not None:
            self._notifier.requeued(self.now, run, preemptor, reason)
        if self.replan is not None and not away:
            self.replan()
        if self._livelock.sent_back(index, left):
            self._expect_progress(job)

    def _expect_progress(self, job: Job) -> None:
        """A job was preempted often.

        Raises:
            StandstillError: nothing else has happened meanwhile.
        """
        count, now = self.state.count, self._cluster_state.now
        ended = sum(map(count, (COMPLETED, TIMEOUT, REJECTED, CANCELLED)))
        starts = (entry[3] for entry in self._cluster_state._runs)
        if self._livelock.stuck(job.index, now, ended, starts, to_come=count(FUTURE) > 0):
            raise StandstillError(standstill(now, job.id, "preempted"))

    def returned(self, index: int) -> None:
        """The checkpoint of a preempted job is written: it waits again, at its old rank."""
        job = self._table.jobs[index]
        self.state[index] = PENDING
        self.changed = True
        self._queue.add(job)
        if self._notifier is not None:
            self._notifier.returned(self.now, job)

    def withdraw(self, job: Job) -> None:
        """A waiting job is taken out of the queue for good."""
        self.state[job.index] = CANCELLED
        if self._queue.remove(job):
            self.changed = True
        drop(self._cluster_state._arrived, job)

    def reserve(self, job: Job, time: float, reason: str = "") -> None:
        """A waiting job is planned to start at ``time``; kept unless the last one has run out."""
        reserved = self._table.reserved
        last = reserved[job.index]
        if last != last:
            self._table.first_reserved[job.index] = time
        if last != last or self._cluster_state.now <= last:
            reserved[job.index] = time
        if self._notifier is not None:
            self._notifier.reserved(self.now, job, time, reason)

    def passed(self) -> None:
        """A pass is over."""
        if self._notifier is not None:
            self._notifier.passed(self.now, self._cluster_state)

    def wake(self, time: float) -> None:
        """Ask for a pass at ``time`` (seconds)."""
        self._sequence += 1
        self._heap.push(instant(time), WAKE, self._sequence, -1)

    def replan_overdue(self) -> None:
        """Runs that go on at their planned ends are planned again, as the option ``expired`` says.

        One that has nothing later to be planned with stays, and counts as ending now.
        """
        cluster_state = self._cluster_state
        entries, now = cluster_state._runs, cluster_state.now
        self.changed = True
        for entry in entries[: place_of(entries, now, LAST)]:
            planned_end, sequence, processors, start, job = entry
            began = instant(start) + self._handover.delay(job.index)
            planned, longest = began + instant(job.planned_running), instant(job.longest)
            later = self._overdue(began, planned, longest, self.now) / MICROSECONDS
            if later <= planned_end:
                continue
            del entries[place_of(entries, planned_end, sequence)]
            replanned = (later, sequence, processors, start, job)
            entries.insert(place_of(entries, later, sequence), replanned)
            self._replanned(job.index, replanned)
            cluster_state._reservation = None

    def run_of(self, job: Job) -> Run:
        """The run of a job that runs."""
        entry = self.runs[job.index]
        assert entry is not None, f"{job} does not run"
        return Run._make(entry)

    def delay(self, index: int) -> int:
        """How long the current run of a job waited, or waits, on its processors, in microseconds."""
        return self._handover.delay(index)

    def _replanned(self, index: int, entry: RunEntry) -> None:
        """A run is planned to end at another time."""
        self.runs[index] = entry

    def _at_work(self, index: int) -> int:
        """For how many microseconds a run has been at work that is preempted now."""
        waited = self._handover.give_back(index, self.now)
        return max(0, self.now - self._table.start[index] - waited)

    def _leave(self, index: int) -> RunEntry:
        """A run leaves its processors."""
        cluster_state, entry = self._cluster_state, self.runs[index]
        assert entry is not None, f"job at {index} does not run"
        self.runs[index] = None
        entries = cluster_state._runs
        del entries[place_of(entries, entry[0], entry[1])]
        held = entry[2]
        cluster_state.free = self.free = self.free + held
        cluster_state._reservation = None
        self.changed = True
        if self.watch.head is not None:
            self.watch.ended(entry[4])
        return entry
