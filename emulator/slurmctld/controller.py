"""The controller: its clock, its two loops, and all that changes the cluster.

Everything happens at an event: a submission, the end of a run, a pass of the main loop or
of backfill, the sweep for exceeded limits, an operator's command. Events of one instant go
in the order in which they were scheduled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from heapq import heappop, heappush

import numpy as np

from emulator.config.slurm.model import SlurmConf
from emulator.slurmctld.backfill import backfill
from emulator.slurmctld.cluster import Cluster
from emulator.slurmctld.job import Job, Partition, Run, State
from emulator.slurmctld.job_mgr import RejectedError, make_job
from emulator.slurmctld.job_scheduler import schedule
from emulator.slurmctld.nodes import Allocation, Mask
from emulator.slurmctld.parameters import Timing, parameters_of
from emulator.slurmctld.preempt import preempt_mode
from emulator.slurmctld.priority import BasicPriority, MultifactorPriority
from emulator.slurmctld.queue import refresh_eligibility
from emulator.slurmctld.request import JobRequest

SWEEP = 30.0
"""Seconds between two sweeps for exceeded limits (observation T2)."""
Action = Callable[[], None]


class Controller:
    """Runs submissions through a cluster in Slurm's timing.

    Args:
        conf: the configuration.
        requests: the submissions.
        actions: operators' commands: (second, function of the controller).
        timing: what real daemons take their time for.

    Attributes:
        cluster: the situation; after :meth:`run`, all jobs with their runs.
        rejected: (submission, Slurm's words) of what was refused.
        changes: (second, job id, state, reason) of every change, in order.
    """

    def __init__(
        self,
        conf: SlurmConf,
        requests: Sequence[JobRequest],
        actions: Sequence[tuple[float, Callable[[Controller], None]]] = (),
        timing: Timing | None = None,
    ) -> None:
        self.parameters = parameters_of(conf)
        self.cluster = Cluster(conf, self.parameters)
        self.timing = timing or Timing()
        multifactor = conf.parameters.text("PriorityType").lower() == "priority/multifactor"
        self.priority = MultifactorPriority(conf) if multifactor else BasicPriority()
        self.rejected: list[tuple[JobRequest, str]] = []
        self.changes: list[tuple[float, int, str, str]] = []
        self._events: list[tuple[float, int, Action]] = []
        self._sequence = 0
        self._main_at: float | None = None
        self._dirty = False
        self._to_come = len(requests) + len(actions)
        for request in requests:
            self._at(request.submit, partial(self._submit, request))
        for second, action in actions:
            self._at(second, partial(self._act, action))
        self._shown: dict[int, tuple[str, str]] = {}

    def run(self, until: float = float("inf")) -> None:
        """Run until nothing more can happen, or to a second."""
        self._at(self.timing.sweep_phase % SWEEP, self._sweep)
        if self.parameters.backfill and self.parameters.bf_interval > 0:
            first = (-self.timing.backfill_phase) % self.parameters.bf_interval
            self._at(first, self._backfill_cycle)
        self._at(self.parameters.sched_interval, self._interval)
        while self._events and self._events[0][0] <= until and not self._idle():
            at, _, action = heappop(self._events)
            self.cluster.now = at
            action()
            self._show()

    # What the loops ask for

    def start(self, job: Job, partition: Partition, allocation: Allocation, limit: float | None = None) -> None:
        """Start a waiting job now."""
        now = self.cluster.now
        if limit is not None:
            job.limit = limit
        job.run = Run(now, allocation, partition.name, job.limit)
        job.runs.append(job.run)
        job.state, job.reason, job.planned_start = State.RUNNING, "None", None
        self.cluster.running[job.id] = job
        self.cluster.take(job, allocation)
        job.work_since = now
        job.sequence += 1
        self._dirty = True
        self._end_after(job, job.work + self.timing.job_overhead)

    def preempt(self, job: Job, preemptor: Job) -> None:
        """Make a running job give way, as its partition or the cluster says."""
        assert job.run is not None
        mode = preempt_mode(job, self.cluster)
        grace = self.cluster.partitions[job.run.partition].grace_time
        job.vacating = True
        job.preempted_at = self.cluster.now
        may_requeue = job.request.requeue if job.request.requeue is not None else self.parameters.job_requeue
        job.requeue_after = mode == "REQUEUE" and may_requeue
        if grace:
            job.end_limit = self.cluster.now + grace
            return
        self._terminate(job, State.PREEMPTED)

    def not_reserved(self, job: Job, at: float | None = None, length: float | None = None) -> Mask:
        """Nodes that no reservation keeps from a job."""
        return np.ones(len(self.cluster.machine), dtype=bool)

    # Events

    def _submit(self, request: JobRequest) -> None:
        self._to_come -= 1
        try:
            job = make_job(request, self.cluster)
        except RejectedError as error:
            self.rejected.append((request, str(error)))
            return
        self.cluster.jobs[job.id] = job
        if job.held_by:
            job.priority = 0
        elif request.priority is not None:
            job.priority = request.priority
        else:
            job.priority = self.priority.set(job, self.cluster)
        job.reason = "Priority"
        if job.begin > self.cluster.now:
            self._at(job.begin, self._wake)
        for dependency in request.dependencies:
            if dependency.kind == "after":
                self._dirty = True
        self._dirty = True
        self._request_main(self.cluster.now + self._submit_delay())

    def _submit_delay(self) -> float:
        parameters = self.parameters
        if parameters.defer:
            return max(parameters.batch_sched_delay, self.timing.submit_lag)
        return self.timing.submit_lag

    def _wake(self) -> None:
        self._dirty = True
        self._request_main(self.cluster.now)

    def _request_main(self, at: float) -> None:
        """Have a pass of the main loop at a time, unless one comes before."""
        if self._main_at is None or at < self._main_at:
            self._main_at = at
            self._at(at, lambda: self._main_pass(at))

    def _main_pass(self, at: float) -> None:
        if self._main_at != at:
            return
        self._main_at = None
        self._refresh()
        schedule(self.cluster, self)

    def _refresh(self) -> None:
        for job in refresh_eligibility(self.cluster):
            self._leave_queue(job, State.CANCELLED)

    def _interval(self) -> None:
        self._at(self.cluster.now + self.parameters.sched_interval, self._interval)
        self._request_main(self.cluster.now)

    def _backfill_cycle(self) -> None:
        self._at(self.cluster.now + self.parameters.bf_interval, self._backfill_cycle)
        self._refresh()
        backfill(self.cluster, self)

    def _end_after(self, job: Job, seconds: float) -> None:
        sequence = job.sequence
        self._at(self.cluster.now + seconds, lambda: self._work_done(job, sequence))

    def _work_done(self, job: Job, sequence: int) -> None:
        """A job's work is done."""
        if job.sequence != sequence or job.state is not State.RUNNING:
            return
        assert job.run is not None
        late = self.cluster.now > self._deadline_of(job)
        if job.vacating and job.preempted_at is not None:
            outcome = State.TIMEOUT if late else self._own_end(job)
        else:
            outcome = State.TIMEOUT if late else self._own_end(job)
        job.requeue_after = False
        self._over(job, outcome)

    @staticmethod
    def _own_end(job: Job) -> State:
        return State.FAILED if job.request.exit_code else State.COMPLETED

    def _deadline_of(self, job: Job) -> float:
        assert job.run is not None
        return min(job.run.start + job.run.limit + job.run.suspended(self.cluster.now), job.end_limit)

    def _sweep(self) -> None:
        """Kill what has exceeded its limit."""
        self._at(self.cluster.now + SWEEP, self._sweep)
        for job in list(self.cluster.running.values()):
            if job.state is not State.RUNNING or job.run is None:
                continue
            graced = job.vacating and self.cluster.now >= job.end_limit
            limit = job.run.start + job.run.limit + job.run.suspended(self.cluster.now)
            if graced:
                self._terminate(job, State.PREEMPTED)
            elif self.cluster.now >= limit + self.parameters.over_time_limit:
                self._terminate(job, State.TIMEOUT)

    def _terminate(self, job: Job, outcome: State) -> None:
        """SIGTERM, and for those who ignore it SIGKILL after KillWait."""
        job.sequence += 1
        job.state = State.COMPLETING
        delay = self.parameters.kill_wait if job.request.ignores_term else self.timing.job_overhead
        self._at(self.cluster.now + delay, lambda: self._over(job, outcome))

    def _over(self, job: Job, outcome: State) -> None:
        """A run leaves its nodes; its job is requeued or has ended."""
        run, now = job.run, self.cluster.now
        assert run is not None
        run.end, run.outcome = now, outcome
        self.cluster.release(job, run.allocation)
        del self.cluster.running[job.id]
        job.run, job.vacating, job.end_limit = None, False, float("inf")
        job.sequence += 1
        if job.requeue_after:
            self._requeue(job)
        else:
            job.state, job.reason = outcome, "None"
        self._dirty = True
        self._request_main(now + self.timing.end_lag)

    def _requeue(self, job: Job) -> None:
        job.requeue_after = False
        job.restarts += 1
        job.state, job.reason = State.PENDING, "BeginTime"
        job.submitted = self.cluster.now
        job.begin = self.cluster.now + self.parameters.requeue_hold
        job.eligible = job.accrue = None
        job.work = job.request.run
        self._at(job.begin, self._wake)

    def _leave_queue(self, job: Job, state: State) -> None:
        job.state = state
        self._dirty = True
        self._request_main(self.cluster.now + self.timing.end_lag)

    def _act(self, action: Callable[[Controller], None]) -> None:
        self._to_come -= 1
        action(self)
        self._dirty = True
        self._request_main(self.cluster.now + self.timing.submit_lag)

    # Bookkeeping

    def _at(self, second: float, action: Action) -> None:
        self._sequence += 1
        heappush(self._events, (round(second, 6), self._sequence, action))

    def _idle(self) -> bool:
        """Whether nothing more can happen: nobody is to come, nothing runs, and who waits waits for ever."""
        if self._to_come or self.cluster.running or self.cluster.suspended:
            return False
        waiting = [job for job in self.cluster.pending() if job.held_by == "" and "Never" not in job.reason]
        return not any(self._may_start(job) for job in waiting)

    def _may_start(self, job: Job) -> bool:
        return job.reason not in ("PartitionTimeLimit", "PartitionNodeLimit", "PartitionDown", "Dependency")

    def _show(self) -> None:
        for job in self.cluster.jobs.values():
            now_shown = (job.state.value, job.reason)
            if self._shown.get(job.id) != now_shown:
                self._shown[job.id] = now_shown
                self.changes.append((self.cluster.now, job.id, *now_shown))
