"""The controller: its clock, its two loops, and all that changes the cluster.

Everything happens at an event: a submission, the end of a run, a pass of the main loop or
of backfill, the sweep for exceeded limits, an operator's command. Events of one instant go
in the order in which they were scheduled.

What comes again and again (ticks) is left out where it would find nothing: that is most of
the time of a log of months.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import heappop, heappush
from importlib.util import find_spec
from itertools import count

from emulator.config.preemption import Preemption
from emulator.config.sacctmgr.database import Accounts
from emulator.config.slurm.model import SlurmConf
from emulator.slurmctld.accounting import Accounting
from emulator.slurmctld.backfill import backfill
from emulator.slurmctld.builtin import predict
from emulator.slurmctld.changes import Changes
from emulator.slurmctld.checkpoint import Checkpoints
from emulator.slurmctld.cluster import Cluster
from emulator.slurmctld.dependency import is_circular
from emulator.slurmctld.gang import Rows
from emulator.slurmctld.job import EMPTY, YEAR, Job, Partition, Run, State
from emulator.slurmctld.job_mgr import check_count, make_job
from emulator.slurmctld.job_scheduler import schedule
from emulator.slurmctld.limit_reasons import FADING
from emulator.slurmctld.nodes import Allocation, Mask
from emulator.slurmctld.parameters import Timing, parameters_of
from emulator.slurmctld.policies import Policies
from emulator.slurmctld.preempt import grace_time, preempt_mode
from emulator.slurmctld.priority import BasicPriority, MultifactorPriority, calculation_period
from emulator.slurmctld.queue import first_reason, refresh_eligibility
from emulator.slurmctld.request import UNLIMITED, JobRequest, RejectedError
from emulator.slurmctld.reservation import Reservations
from emulator.slurmctld.wants import BAD_CONSTRAINTS, TOO_MUCH_MEMORY
from emulator.workload.sbatch import BatchOptions, Dependency
from slurm_sim_plugins.errors import InputError
from slurm_sim_plugins.manager import Selection

SWEEP = 30.0
"""Seconds between two sweeps for exceeded limits (observation T2)."""
WHY_IT_ENDED = {
    State.TIMEOUT: "TimeLimit",
    State.FAILED: "NonZeroExitCode",
    State.NODE_FAIL: "NodeDown",
    State.DEADLINE: "DeadLine",
}
"""Reasons that jobs show in the end."""
NEVER = (BAD_CONSTRAINTS, TOO_MUCH_MEMORY)
"""Reasons of jobs that no end of another helps."""
Action = Callable[[], None]


@dataclass(frozen=True)
class Tick:
    """What is done again after each period.

    Attributes:
        period: in seconds.
        action: what is done.
    """

    period: float
    action: Action


class Controller:
    """Runs submissions through a cluster in Slurm's timing.

    Args:
        conf: the configuration.
        requests: the submissions.
        actions: operators' commands: (second, function of the controller).
        timing: what real daemons take their time for.
        selection: plugins in the place of those that the configuration names.
        accounts: associations and qualities of service, if there is accounting.
        epoch: Unix time of second 0.
        compiled: whether compiled code chooses nodes, which changes nothing in what comes of
            it; by default if numba is installed.
        preemption: how checkpoints are written with ``PreemptMode=CHECKPOINT``; None for the defaults.

    Attributes:
        cluster: the situation; after :meth:`run`, all jobs with their runs.
        rejected: (submission, Slurm's words) of what was refused.
        refused: (second, words) of operators' commands that could not be carried out.
        changes: what may have changed for waiting jobs since an observer looked.
    """

    def __init__(
        self,
        conf: SlurmConf,
        requests: Sequence[JobRequest],
        actions: Sequence[tuple[float, Callable[[Controller], None]]] = (),
        timing: Timing | None = None,
        selection: Selection | None = None,
        accounts: Accounts | None = None,
        epoch: int = 0,
        compiled: bool | None = None,
        preemption: Preemption | None = None,
    ) -> None:
        self.parameters = parameters_of(conf)
        self.cluster = Cluster(conf, self.parameters)
        self.checkpoints = Checkpoints(self.cluster, conf, accounts, preemption)
        self.timing = timing or Timing()
        multifactor = conf.parameters.text("PriorityType").lower() == "priority/multifactor"
        self.rows = Rows(self.cluster)
        self.reservations = Reservations(self.cluster, made=bool(actions))
        self._period = calculation_period(conf)
        if accounts is not None:
            began, phase = -self.timing.uptime, self.timing.second_phase
            self.cluster.accounting = Accounting(conf, accounts, self.cluster, began, phase, epoch)
        self.priority = MultifactorPriority(conf, self.cluster.accounting) if multifactor else BasicPriority()
        cpus = int(self.cluster.machine.cpus.sum())
        self.cluster.policies = Policies(selection, cpus) if selection is not None else None
        if self.cluster.policies is not None:
            self.cluster.policies.save(self.checkpoints.unsaved)
        wanted = compiled if compiled is not None else find_spec("numba") is not None
        # Compiled code counts units, which are not counted where only memory is.
        if wanted and not self.cluster.machine.shared:
            from emulator.slurmctld.compiled import Compiled

            self.cluster.compiled = Compiled(self.cluster)
        self.rejected: list[tuple[JobRequest, str]] = []
        self.refused: list[tuple[float, str]] = []
        self.changes = Changes()
        self._events: list[tuple[float, int, Action]] = []
        self._ticks: list[tuple[float, int, Tick]] = []
        self._sequence = 0
        self._main_at: float | None = None
        # The last pass before the first submission: half a delay ago, for want of better knowledge.
        self._last_main = -self.parameters.batch_sched_delay / 2
        self._to_come = len(requests) + len(actions)
        self._ids = {request.id for request in requests}
        for request in requests:
            self._at(request.submit, partial(self._submit, request))
        for second, action in actions:
            self._at(second, partial(self._act, action))
        self._begun = self._observed = False
        self._sweep_due = float("inf")
        self._version = 0
        self._loops = ("main", "backfill") if self.parameters.backfill else ("main",)
        self._seen: dict[str, int] = {}
        self._next_end = float("inf")
        self._delays: dict[int, set[float]] = {}

    def run(self, until: float = float("inf"), observe: Action | None = None) -> None:
        """Run until nothing more can happen, or to a second; can go on from there later.

        Args:
            until: the last second.
            observe: is called after every event.
        """
        if not self._begun:
            self._begin()
        self._observed = observe is not None
        while self._next()[0] <= until and (until < float("inf") or not self._idle()):
            if self._ticks and self._ticks[0][:2] == self._next():
                self._tick(leap=observe is None)
            else:
                self.cluster.now, _, action = heappop(self._events)
                action()
            if observe is not None:
                observe()

    def _next(self) -> tuple[float, int]:
        """Time and number of what comes next."""
        event = self._events[0][:2] if self._events else (math.inf, 0)
        return min(event, self._ticks[0][:2]) if self._ticks else event

    def _tick(self, leap: bool) -> None:
        """Do what is due, and once more after its period; or later, if until then there is nothing to find."""
        self.cluster.now, _, tick = heappop(self._ticks)
        self._sequence += 1
        number = self._sequence
        tick.action()
        at = self.cluster.now + tick.period
        quiet = self._quiet_until() if leap else 0.0
        if at < quiet < math.inf:
            at += math.ceil((quiet - at) / tick.period) * tick.period
        heappush(self._ticks, (round(at, 6), number, tick))

    def _quiet_until(self) -> float:
        """Before when ticks find nothing, unless they have found something by now."""
        if self.rows.slices or self.cluster.accounting is not None or any(map(self._news, self._loops)):
            return 0.0
        if isinstance(self.priority, MultifactorPriority) and self.cluster.waiting:
            return 0.0
        return min(self._events[0][0] if self._events else math.inf, self._sweep_due, self._next_end)

    def _begin(self) -> None:
        """Set going what comes again and again."""
        self._begun = True
        self._every(SWEEP, self._sweep, self.timing.sweep_phase % SWEEP)
        if self.parameters.backfill and self.parameters.bf_interval > 0:
            first = (-self.timing.backfill_phase) % self.parameters.bf_interval
            self._every(self.parameters.bf_interval, self._backfill_cycle, first)
        self._every(self.parameters.sched_interval, self._interval, self.parameters.sched_interval)
        if self._period:
            self._every(self._period, self._calculate, (-self.timing.uptime) % self._period)
        if self.rows.slices:
            first = self.parameters.time_slice - self.timing.slice_phase
            self._every(self.parameters.time_slice, self._time_slice, first)

    # What the loops ask for

    def start(
        self, job: Job, partition: Partition, allocation: Allocation, limit: float | None = None, row: int = 0
    ) -> None:
        """Start a waiting job now."""
        now = self.cluster.now
        if limit is not None:
            # Backfill plans with what a plugin says, but it is the limit that kills.
            planned = job.plan is not None and job.time_min is None
            job.limit = min(job.limit, YEAR) if planned else limit
        job.cut_at_deadline(now)
        job.run = Run(now, allocation, partition.name, job.limit, row, backfilled=limit is not None)
        job.runs.append(job.run)
        job.state, job.reason, job.planned_start = State.RUNNING, "None", None
        self.cluster.dequeue(job)
        self.cluster.running[job.id] = job
        if self.cluster.policies is not None:
            self.cluster.policies.started(job, now, self._cpus(allocation))
        self._version += 1
        for delay in self._delays.pop(job.id, ()):
            self._at(now + delay, self._wake)
        self.cluster.array_tasks[job.request.array or 0] += 1
        self.rows.take(job, job.run)
        if self.cluster.accounting is not None:
            self.cluster.accounting.started(job)
        lasts = self.checkpoints.begin(job, self._cpus(allocation), self._may_requeue(job))
        job.left = lasts + self.timing.job_overhead
        self._go_on(job)
        self._take_turns()
        self.reservations.refresh()

    def preempt(self, job: Job, preemptor: Job) -> None:
        """Make a running job give way, as its partition or the cluster says."""
        assert job.run is not None
        mode = preempt_mode(job, self.cluster)
        grace = grace_time(job, self.cluster)
        job.vacating = True
        self._sweep_due = 0.0
        self._ends_otherwise(job)
        job.preempted_at = self.cluster.now
        job.requeue_after = mode in ("REQUEUE", "CHECKPOINT") and self._may_requeue(job)
        if mode == "SUSPEND":
            job.vacating = False
            self._halt(job)
            self.cluster.suspended[job.id] = self.cluster.running.pop(job.id)
            self.rows.release(job, job.run)
        elif grace:
            job.end_limit = self.cluster.now + grace
        else:
            self._give_way(job)

    def not_reserved(self, job: Job, at: float | None = None, length: float | None = None) -> Mask:
        """Nodes that no reservation keeps from a job."""
        at = self.cluster.now if at is None else at
        length = job.plan_limit if length is None else length
        return ~self.reservations.kept_from(job, at, length)

    # What operators ask for

    def hold(self, job: Job, why: str) -> None:
        """Put a waiting job on hold."""
        job.held_by, job.priority, job.eligible = why, 0, None

    def release(self, job: Job) -> None:
        """Release a job from its hold; it gets a new priority (observation Q8)."""
        job.held_by = ""
        job.priority = self.priority.set(job, self.cluster)
        if job.restarts:
            job.begin = self.cluster.now

    def requeue(self, job: Job, hold: bool = False) -> None:
        """Requeue a running job."""
        if job.state is not State.RUNNING:
            raise InputError(f"job {job.id} does not run; only running jobs can be requeued")
        job.requeue_after = True
        job.hold_after = hold
        self._terminate(job, State.PREEMPTED)

    def cancel(self, job: Job) -> None:
        """Cancel a job: one that waits leaves at once, one that runs gets SIGTERM."""
        if job.state is State.PENDING:
            self._leave_queue(job, State.CANCELLED)
        elif job.state is State.RUNNING or job.writes:
            job.requeue_after = False
            self._terminate(job, State.CANCELLED)

    def suspend(self, job: Job) -> None:
        """Suspend a running job; its nodes are given away (observation P13)."""
        if job.state is not State.RUNNING or job.run is None:
            raise InputError(f"job {job.id} does not run; only running jobs can be suspended")
        self._halt(job)
        job.suspended_by_operator = True
        self.cluster.suspended[job.id] = self.cluster.running.pop(job.id)
        self.rows.release(job, job.run)

    def resume(self, job: Job) -> None:
        """Resume a suspended job, even onto nodes that are in use."""
        if job.id not in self.cluster.suspended or job.run is None:
            raise InputError(f"job {job.id} is not suspended")
        job.suspended_by_operator = False
        self.cluster.running[job.id] = self.cluster.suspended.pop(job.id)
        self.rows.take(job, job.run)
        self._go_on(job)

    def set_node(self, node: int, state: str) -> None:
        """Change the state of a node: DOWN ends its jobs, DRAIN lets them end, RESUME brings it back."""
        if state not in ("DOWN", "DRAIN", "RESUME", "IDLE"):
            raise InputError(f"State={state}: the emulator knows DOWN, DRAIN, RESUME and IDLE")
        self.cluster.machine.up[node] = state in ("RESUME", "IDLE")
        self.cluster.told[node] = "UP" if self.cluster.machine.up[node] else state
        if state == "DOWN":
            for job in list(self.cluster.running.values()):
                if job.run is not None and node in job.run.allocation.nodes:
                    job.requeue_after = self._may_requeue(job)
                    self._terminate(job, State.NODE_FAIL)

    def change(self, job: Job, options: BatchOptions) -> None:
        """Let a waiting job ask for something else.

        Raises:
            InputError: it does not wait, or would be refused.
        """
        if job.state is not State.PENDING:
            raise InputError(f"job {job.id} does not wait: that can be changed only of a job that does")
        before, changed = job.options, make_job(replace(job.request, options=options), self.cluster)
        self._change_account(job, changed)
        job.request, job.partitions, job.wants, job.alike = (
            changed.request,
            changed.partitions,
            changed.wants,
            changed.alike,
        )
        job.time_min, job.lifted = changed.time_min, changed.lifted
        if options.begin != before.begin:
            job.begin = changed.begin
            self.wake_at(job.begin)
        if options.deadline != before.deadline:
            job.deadline = changed.deadline
            self._watch_deadline(job)
        for dependency in options.dependencies if options.dependencies != before.dependencies else ():
            self._wake_after(dependency)
        job.priced = EMPTY
        if job.priority and not job.fixed_priority and isinstance(self.priority, MultifactorPriority):
            job.priority = self.priority.set(job, self.cluster)

    def _change_account(self, job: Job, changed: Job) -> None:
        """A waiting job counts for another association or quality of service, if those admit it."""
        accounting, before, after = self.cluster.accounting, job.options, changed.options
        if accounting is None or (before.account, before.qos, before.partitions) == (
            after.account,
            after.qos,
            after.partitions,
        ):
            return
        accounting.left(job)
        try:
            accounting.admit(changed)
            job.account = changed.account
        finally:
            accounting.submitted(job)

    def reserve(
        self,
        name: str,
        start: float,
        end: float,
        *,
        nodes: Mask | None = None,
        count: int | None = None,
        users: tuple[str, ...] = (),
        accounts: tuple[str, ...] = (),
        flags: frozenset[str] = frozenset(),
    ) -> None:
        """Make a reservation."""
        self.reservations.create(
            name, start, end, nodes=nodes, count=count, users=users, accounts=accounts, flags=flags
        )
        self.wake_at(start, end)

    def wake_at(self, *times: float) -> None:
        """Have the queue looked at again at some times to come."""
        for at in times:
            if self.cluster.now <= at < math.inf:
                self._at(at, self._wake)

    # Events

    def _submit(self, request: JobRequest) -> None:
        self._to_come -= 1
        try:
            check_count(request, self.cluster)
            jobs = [make_job(task, self.cluster) for task in request.tasks(self._free_ids(request.id))]
            if request.options.dependencies and is_circular(jobs[0], self.cluster):
                raise RejectedError("Circular job dependency")
            self._admit(jobs)
        except RejectedError as error:
            self.rejected.append((request, str(error)))
            return
        priority = self._first_priority(jobs[0])
        for job in jobs:
            job.priority = priority
            job.reason = first_reason(job, self.cluster, self.reservations)
            self.cluster.submit(job)
            for dependency in job.options.dependencies:
                self._wake_after(dependency)
            if self.cluster.policies is not None:
                self.cluster.policies.arrived(job, self.cluster.now)
            self.cluster.order.settle(job)
            self._watch_deadline(job)
        if self._observed:
            self.changes.arrived += jobs
        self._version += 1
        if jobs[0].begin > self.cluster.now:
            self._at(jobs[0].begin, self._wake)
        if self.parameters.bf_min_age_reserve:
            self._at(max(jobs[0].begin, self.cluster.now) + self.parameters.bf_min_age_reserve, self._wake)
        self._request_main(max(self.cluster.now + self.timing.submit_lag, self._not_before()))

    def _admit(self, jobs: list[Job]) -> None:
        """Find the account of new jobs, or refuse them."""
        if self.reservations.lacks(jobs[0]):
            raise RejectedError("Requested reservation is invalid")
        accounting = self.cluster.accounting
        if accounting is None:
            return
        accounting.admit(jobs[0], len(jobs))
        reservation = self.reservations.of(jobs[0])
        if reservation is not None and not reservation.admits(jobs[0]):
            raise RejectedError("Access denied to requested reservation")
        for job in jobs[1:]:
            accounting.join(job, jobs[0])
        for job in jobs:
            accounting.submitted(job)

    def _watch_deadline(self, job: Job) -> None:
        """Look at a job when it cannot be over by its deadline any more: at the next tick, or at its first pass."""
        if job.deadline < UNLIMITED:
            self._at(max(job.last_start + 1, self.cluster.now + self.timing.submit_lag), partial(self._too_late, job))

    def _too_late(self, job: Job) -> None:
        """A job that still waits is given up (observation K2)."""
        if job.state is State.PENDING and self.cluster.now > job.last_start:
            self._leave_queue(job, State.DEADLINE)
            job.reason = WHY_IT_ENDED[State.DEADLINE]

    def _wake_after(self, dependency: Dependency) -> None:
        """Have a pass when the delay after another job's start is over."""
        if dependency.delay:
            other = self.cluster.jobs.get(dependency.job)
            if other is not None and other.runs:
                self._at(max(self.cluster.now, other.runs[0].start + dependency.delay), self._wake)
            else:
                self._delays.setdefault(dependency.job, set()).add(dependency.delay)

    def _free_ids(self, after: int) -> Iterator[int]:
        """Ids that no submission has, for tasks of an array."""
        for number in count(after + 1):
            if number not in self._ids:
                self._ids.add(number)
                yield number

    def _first_priority(self, job: Job) -> int:
        if job.held_by:
            return 0
        if job.options.priority is not None:
            job.fixed_priority = True
            return job.options.priority
        return self.priority.set(job, self.cluster)

    def _not_before(self) -> float:
        """Submissions are answered by one pass in each ``batch_sched_delay`` (observation B5)."""
        return self._last_main + self.parameters.batch_sched_delay

    def _wake(self) -> None:
        self._version += 1
        self._request_main(self.cluster.now)

    def _request_main(self, at: float) -> None:
        """Have a pass of the main loop at a time, unless one comes before; two are ``sched_min_interval`` apart."""
        at = max(at, self._last_main + self.parameters.sched_min_interval)
        if self._main_at is None or at < self._main_at:
            self._main_at = at
            self._at(at, lambda: self._main_pass(at))

    def _main_pass(self, at: float) -> None:
        if self._main_at != at:
            return
        self._main_at, self._last_main = None, at
        self.changes.waits = True
        before = self._version
        self._refresh()
        schedule(self.cluster, self)
        if not self.parameters.backfill:
            predict(self.cluster)
        self._seen["main"] = before

    def _refresh(self) -> None:
        for job in refresh_eligibility(self.cluster, self.reservations):
            self._leave_queue(job, State.CANCELLED)

    def _interval(self) -> None:
        if self._news("main"):
            self._request_main(self.cluster.now)

    def _backfill_cycle(self) -> None:
        if self._news("backfill"):
            self.changes.waits = True
            before = self._version
            self._refresh()
            backfill(self.cluster, self)
            # Who started may have left room in the cycle's bounds for others.
            self._seen["backfill"] = before
            self._next_end = self._first_end()

    def _first_end(self) -> float:
        """When the first of the runs is planned to end."""
        if self.cluster.compiled is not None:
            return min(self.cluster.compiled.runs.planned()[0][:1].tolist(), default=float("inf"))
        return min(map(self.cluster.planned_end, self.cluster.running.values()), default=float("inf"))

    def _news(self, loop: str) -> bool:
        """Whether a loop would find anything that it did not find the last time.

        With time alone jobs that did not start do not become startable; but for runs that
        outlive their limits, and for victims that are exempt for a while. Reservations that
        begin or end wake the loops.
        """
        if self.parameters.preempt_exempt_time:
            return True
        if self.cluster.accounting is not None and self.cluster.accounting.exempts:
            return True
        if self._seen.get(loop) != self._version:
            return True
        return loop == "backfill" and self.cluster.now >= self._next_end

    def _calculate(self) -> None:
        """A period ends: usage decays, and waiting jobs get new priorities."""
        self.changes.all()
        if self.cluster.accounting is not None and self.cluster.accounting.period():
            self._version += 1
        if isinstance(self.priority, MultifactorPriority) and self.priority.recalculate_all(self.cluster):
            self._version += 1
            self.cluster.order.changed()

    def _may_requeue(self, job: Job) -> bool:
        return job.options.requeue if job.options.requeue is not None else self.parameters.job_requeue

    def _go_on(self, job: Job) -> None:
        """A job's work goes on, and will be done when what is left of it is."""
        assert job.run is not None
        if job.run.suspensions and job.run.suspensions[-1][1] is None:
            job.run.suspensions[-1][1] = self.cluster.now
            if self.cluster.accounting is not None:
                self.cluster.accounting.resumed(job)
        job.state, job.work_since = State.RUNNING, self.cluster.now
        job.sequence += 1
        self._sweep_due = min(self._sweep_due, self._killed_from(job))
        self._at(self.cluster.now + job.left, partial(self._work_done, job, job.sequence))

    def _halt(self, job: Job) -> None:
        """A job's work stands still."""
        assert job.run is not None
        self._ends_otherwise(job)
        job.left -= self.cluster.now - job.work_since
        if self.cluster.accounting is not None:
            self.cluster.accounting.halted(job)
        job.run.suspensions.append([self.cluster.now, None])
        job.state = State.SUSPENDED
        job.sequence += 1

    def _ends_otherwise(self, job: Job) -> None:
        """A run is not planned to end by its limit alone any more."""
        if self.cluster.compiled is not None:
            self.cluster.compiled.runs.odd(job)

    def _take_turns(self) -> None:
        """Let those run whose turn it is."""
        if not self.rows.slices:
            return
        jobs = [job for job in self.cluster.running.values() if job.state in (State.RUNNING, State.SUSPENDED)]
        due = set(map(id, self.rows.due(jobs)))
        for job in jobs:
            if job.state is State.RUNNING and id(job) not in due:
                self._halt(job)
        for job in jobs:
            if job.state is State.SUSPENDED and id(job) in due:
                self._go_on(job)

    def _time_slice(self) -> None:
        active = [job for job in self.cluster.running.values() if job.state is State.RUNNING]
        since = max((job.work_since for job in active), default=0.0)
        if self.cluster.now - since > self.parameters.time_slice - 1:
            self.rows.next_slice()
            self._take_turns()

    def _resume_preempted(self) -> None:
        """Suspended jobs go on when all that they have is free again."""
        for job in sorted(self.cluster.suspended.values(), key=lambda job: job.id):
            assert job.run is not None
            nodes, units = list(job.run.allocation.nodes), job.run.allocation.units
            if not job.suspended_by_operator and bool((self.cluster.free.units[nodes] >= list(units)).all()):
                self.cluster.running[job.id] = self.cluster.suspended.pop(job.id)
                self.rows.take(job, job.run)
                self._go_on(job)

    def _work_done(self, job: Job, sequence: int) -> None:
        """A job's work is done."""
        if job.sequence != sequence or job.state is not State.RUNNING:
            return
        assert job.run is not None
        late = self.cluster.now > self._deadline_of(job)
        job.requeue_after = False
        if job.request.exit_code and not late:
            self._requeue_by_exit_code(job)
        self._over(job, State.TIMEOUT if late else self._own_end(job))

    def _requeue_by_exit_code(self, job: Job) -> None:
        """A job that failed is requeued, and perhaps held, if the configuration says so of what it ended with."""
        parameters, code = self.parameters, job.request.exit_code
        held = code in parameters.requeue_exit_hold
        if (held or code in parameters.requeue_exit) and self._may_requeue(job):
            job.failures += 1
            job.requeue_after = True
            job.hold_after = held or job.failures > parameters.max_batch_requeue

    @staticmethod
    def _own_end(job: Job) -> State:
        return State.FAILED if job.request.exit_code else State.COMPLETED

    def _deadline_of(self, job: Job) -> float:
        assert job.run is not None
        return min(job.run.start + job.run.limit + job.run.suspended(self.cluster.now), job.end_limit)

    def _sweep(self) -> None:
        """Kill what has exceeded its limit."""
        for job in self.cluster.accounting.used_up() if self.cluster.accounting is not None else ():
            self._terminate(job, State.TIMEOUT)
        if self.cluster.now < self._sweep_due and not self.reservations.by_name:
            return
        self._sweep_limits()
        due = [0.0 if job.vacating else self._killed_from(job) for job in self.cluster.running.values()]
        self._sweep_due = min(due, default=float("inf"))

    def _killed_from(self, job: Job) -> float:
        """When a run exceeds its limit or its reservation by as much as it may, if it is not suspended until then."""
        assert job.run is not None
        limit = job.run.start + job.run.limit + self.cluster.partitions[job.run.partition].over_time_limit
        reserved = self.reservations.of(job)
        return limit if reserved is None else min(limit, reserved.end + self.parameters.resv_over_run)

    def _sweep_limits(self) -> None:
        for job in list(self.cluster.running.values()):
            if job.run is None or job.state is not State.RUNNING:
                continue
            if not job.vacating and not self.reservations.by_name and self.cluster.now < job.run.start + job.run.limit:
                continue
            graced = job.vacating and self.cluster.now >= job.end_limit
            reserved = self.reservations.of(job)
            over = reserved.end + self.parameters.resv_over_run if reserved is not None else 0.0
            if reserved is not None and self.cluster.now >= over and reserved.end > job.run.start:
                self._terminate(job, State.TIMEOUT)
                continue
            limit = job.run.start + job.run.limit + job.run.suspended(self.cluster.now)
            if graced:
                self._give_way(job)
            elif self.cluster.now >= limit + self.cluster.partitions[job.run.partition].over_time_limit:
                self._terminate(job, State.TIMEOUT)

    def _give_way(self, job: Job) -> None:
        """A victim ends, once its checkpoint is written if it writes one just in time."""
        writing = self.checkpoints.stop(job) if job.requeue_after else 0.0
        if not writing:
            self._terminate(job, State.PREEMPTED)
            return
        job.sequence += 1
        job.state, job.end_limit = State.COMPLETING, self.cluster.now + writing
        self._at(job.end_limit, partial(self._written, job, job.sequence))

    def _written(self, job: Job, sequence: int) -> None:
        """Its checkpoint is written, unless its node has failed meanwhile."""
        if job.sequence == sequence:
            self._terminate(job, State.PREEMPTED)

    def _terminate(self, job: Job, outcome: State) -> None:
        """SIGTERM, and for those who ignore it SIGKILL after KillWait."""
        assert job.run is not None
        job.sequence += 1
        job.state = State.COMPLETING
        if outcome is State.TIMEOUT:
            job.reason = WHY_IT_ENDED[outcome]
        job.run.end = self.cluster.now
        if self.cluster.accounting is not None:
            self.cluster.accounting.ended(job)
        delay = self.parameters.kill_wait if job.request.ignores_term else self.timing.job_overhead
        if job.request.dies_in is not None:
            delay = job.request.dies_in
        self._at(self.cluster.now + delay, lambda: self._over(job, outcome))

    def _over(self, job: Job, outcome: State) -> None:
        """A run leaves its nodes; its job is requeued or has ended."""
        run, now = job.run, self.cluster.now
        assert run is not None
        run.end, run.outcome = now if run.end is None else run.end, outcome
        self.checkpoints.settle(job, run, outcome)
        if self.cluster.accounting is not None:
            self.cluster.accounting.ended(job)
            if not job.requeue_after:
                self.cluster.accounting.left(job)
        self.rows.release(job, run)
        del self.cluster.running[job.id]
        self.cluster.array_tasks[job.request.array or 0] -= 1
        job.run, job.vacating, job.end_limit = None, False, float("inf")
        job.sequence += 1
        self._version += 1
        if self.cluster.policies is not None:
            worked = run.end - run.start - run.suspended(run.end) if run.work is None else job.worked
            self.cluster.policies.stopped(job, now, None if job.requeue_after else worked)
        if job.requeue_after:
            self._requeue(job)
        else:
            job.state, job.reason, job.priced = outcome, WHY_IT_ENDED.get(outcome, "None"), EMPTY
        self._resume_preempted()
        self._take_turns()
        self._request_main(now + self.timing.end_lag)

    def _requeue(self, job: Job) -> None:
        job.requeue_after = False
        job.restarts += 1
        self.changes.all()
        job.state, job.reason = State.PENDING, "BeginTime"
        job.submitted = self.cluster.now
        self.cluster.enqueue(job)
        if self.cluster.policies is not None:
            self.cluster.policies.arrived(job, self.cluster.now)
        job.begin = self.cluster.now + self.parameters.requeue_hold
        job.eligible = job.accrue = None
        if job.hold_after:
            job.hold_after = False
            often = job.failures > self.parameters.max_batch_requeue
            self.hold(job, "JobHeldAdmin" if often else "job_requeued_in_held_state")
        self._at(job.begin, self._wake)
        self._watch_deadline(job)

    def _cpus(self, allocation: Allocation) -> int:
        threads = self.cluster.machine.threads[list(allocation.nodes)]
        return int((threads * list(allocation.units)).sum())

    def _leave_queue(self, job: Job, state: State) -> None:
        self._version += 1
        if self.cluster.accounting is not None:
            self.cluster.accounting.left(job)
        if self.cluster.policies is not None:
            self.cluster.policies.left(job)
        self.cluster.dequeue(job)
        job.state, job.priced = state, EMPTY
        self._request_main(self.cluster.now + self.timing.end_lag)

    def _act(self, action: Callable[[Controller], None]) -> None:
        self._to_come -= 1
        self.changes.all()
        self._version += 1
        self._sweep_due = 0.0
        self.cluster.look_again()
        try:
            action(self)
        except InputError as error:
            self.refused.append((self.cluster.now, str(error)))
        self._request_main(self.cluster.now + self.timing.submit_lag)

    # Bookkeeping

    def _at(self, second: float, action: Action) -> None:
        self._sequence += 1
        heappush(self._events, (round(second, 6), self._sequence, action))

    def _every(self, period: float, action: Action, first: float) -> None:
        """Have something done at a time, and after each period."""
        self._sequence += 1
        heappush(self._ticks, (round(first, 6), self._sequence, Tick(period, action)))

    def _idle(self) -> bool:
        """Whether nothing more can happen: nobody is to come, nothing runs, and who waits waits for ever."""
        if self._to_come or self.cluster.running or self.cluster.suspended or self._main_at is not None:
            return False
        waiting = [job for job in self.cluster.pending() if job.held_by == "" and "Never" not in job.reason]
        if self._only_time_passes():
            # Limits on past usage may still let go.
            waiting = [job for job in waiting if job.reason in FADING]
        return not any(self._may_start(job) for job in waiting)

    def _only_time_passes(self) -> bool:
        """Whether nothing is to come, and both loops have looked at the queue since anything happened."""
        return not self._events and all(self._seen.get(loop) == self._version for loop in self._loops)

    def _may_start(self, job: Job) -> bool:
        if self.cluster.accounting is not None and self.cluster.accounting.never_starts(job):
            return False
        if job.reason == "Dependency":
            # Nothing runs: only a delay after a start can still pass.
            others = [self.cluster.jobs.get(one.job) for one in job.options.dependencies if one.kind == "after"]
            return any(other is not None and other.runs for other in others)
        licenses = self.cluster.licenses
        if any(count > licenses[name][0] for name, count in job.options.licenses):
            return False
        return job.reason not in ("PartitionTimeLimit", "PartitionNodeLimit", "PartitionDown", *NEVER)
