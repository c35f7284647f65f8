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
from enum import IntEnum
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import Literal

from emulator.accounting.eventlog import EventLog
from emulator.config.options import Clock
from emulator.config.preemption import Preemption
from emulator.config.sacctmgr.database import Accounts
from emulator.config.slurm.controller import NO_DELAYS, Timing, parameters_of, without_delays
from emulator.config.slurm.model import SlurmConf
from emulator.engine.standstill import ends, may_start, rest_from
from emulator.engine.telling import TIME_SLICE, telling
from emulator.execution.checkpoints import Checkpoints
from emulator.limits.accounting import Accounting
from emulator.livelock import Livelock, standstill
from emulator.scheduling.dependency import is_circular
from emulator.scheduling.entries import first_reason, refresh_eligibility
from emulator.scheduling.gang import Rows
from emulator.scheduling.job_mgr import check_count, make_job
from emulator.scheduling.plugin_scheduler import PluginScheduler
from emulator.scheduling.policies import Policies, calculation_period, plugins_of
from emulator.scheduling.preempt import configured_mode, grace_time, preempt_mode
from emulator.scheduling.submit import SubmitChain
from emulator.state.changes import Changes
from emulator.state.cluster import Cluster
from emulator.state.job import Job
from emulator.state.partition import Partition
from emulator.state.reservation import Reservations
from emulator.state.run import YEAR, Run, State
from emulator.workload.request import UNLIMITED, JobRequest, RejectedError
from emulator.workload.sbatch import BatchOptions, Dependency
from slurm_sim_plugins.counts import HALF_A_MICROSECOND
from slurm_sim_plugins.errors import InputError
from slurm_sim_plugins.kernels import have_numba
from slurm_sim_plugins.manager import Selection
from slurm_sim_plugins.nodes import Allocation, Mask

SWEEP = 30.0
"""Seconds between two sweeps for exceeded limits (observation T2)."""
WHY_IT_ENDED = {
    State.TIMEOUT: "TimeLimit",
    State.FAILED: "NonZeroExitCode",
    State.NODE_FAIL: "NodeDown",
    State.DEADLINE: "DeadLine",
}
"""Reasons that jobs show in the end."""
Action = Callable[[], None]


class Rank(IntEnum):
    """In which order things happen at one time, under the ideal clock; see :mod:`emulator.engine.loop`."""

    LIMIT = 0
    SUBMISSION = 1
    OTHER = 2
    WAKE = 3
    PASS = 4


IN_THEIR_ORDER = {rank: Rank.PASS if rank is Rank.PASS else Rank.OTHER for rank in Rank}
"""Where a pass follows all that happens at one time, it happens in the order in which it was scheduled."""
EACH_BY_ITSELF = {rank: rank for rank in Rank}


@dataclass(frozen=True)
class Tick:
    """What is done again after each period.

    Attributes:
        period: in seconds.
        action: what is done.
        first: second at which it is done first.
        place: how many others were set going before it.
    """

    period: float
    action: Action
    first: float
    place: int

    def due(self, at: float, number: int) -> tuple[float, float, float, int, int, Tick]:
        """Its entry among the ticks, which go in the order in which they came if none were left out.

        Args:
            at: when it is done.
            number: its number among the events.
        """
        at = round(at, 6)
        since = round(at - self.period, 6) if at > self.first else -math.inf
        return at, since, -self.first, self.place, number, self


class Controller:
    """Runs submissions through a cluster in Slurm's timing.

    Args:
        conf: the configuration.
        requests: the submissions.
        actions: operators' commands: (second, function of the controller).
        timing: what real daemons take their time for.
        selection: the plugins; by default those that the configuration names.
        accounts: associations and qualities of service, if there is accounting.
        epoch: Unix time of second 0.
        compiled: whether compiled code chooses nodes, which changes nothing in what comes of
            it; by default if numba is installed.
        preemption: how checkpoints are written with ``PreemptMode=CHECKPOINT``; None for the defaults.
        clock: ``slurm``: the daemons' ticks and delays; ``ideal``: decisions take no time, a pass follows all
            that happens at one instant, and a run is killed at its limit.
        passes: under the ideal clock: ``batch``, as said; ``event``: a pass follows each submission and each end.
        log: the event log, or None.
        report: is told now and then how many jobs are over; or None.

    Attributes:
        cluster: the situation; after :meth:`run`, all jobs with their runs.
        rejected: (submission, Slurm's words) of what was refused.
        refused: (second, words) of operators' commands that could not be carried out.
        changes: what may have changed for waiting jobs since an observer looked.
        endless: why the run gets nowhere, though it goes on; empty if it does not.
        before_pass: is called before each pass and cycle, if that is wanted.
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
        clock: Clock = "slurm",
        passes: Literal["batch", "event"] = "batch",
        log: EventLog | None = None,
        report: Callable[[int], None] | None = None,
    ) -> None:
        self.parameters = parameters_of(conf) if clock == "slurm" else without_delays(parameters_of(conf))
        self._ideal = clock == "ideal"
        selection = selection if selection is not None else plugins_of(conf)
        self.cluster = Cluster(conf, self.parameters, selection)
        self.checkpoints = Checkpoints(self.cluster, conf, accounts, preemption)
        self.timing = timing or (NO_DELAYS if self._ideal else Timing())
        self.rows = Rows(self.cluster)
        self.reservations = Reservations(self.cluster, made=bool(actions))
        priority = selection.plugins[selection.slots["PriorityType"]]
        self._period = calculation_period(conf, priority)
        if accounts is not None:
            began, phase = -self.timing.uptime, self.timing.second_phase
            fair_share, tracks = getattr(priority, "fair_share", None), getattr(priority, "tracks_usage", True)
            self.cluster.accounting = Accounting(
                conf, accounts, self.cluster, began, phase, epoch, self._period, fair_share, tracks
            )
        self.policies = self.cluster.policies = Policies(selection, self.cluster)
        partitions = [partition.seen for partition in self.cluster.partitions.values()]
        self._submit_chain = SubmitChain(self.policies.hooks, self.policies.situation, partitions)
        # Numbers of a plugin that says from when on a job grows no older change at the end of a period only.
        by_period = self.policies.period in (None, self._period) and hasattr(priority, "max_age")
        self._ages = self.policies.period is not None and not by_period
        self.policies.save(self.checkpoints.unsaved)
        self._scheduler = PluginScheduler(
            self.cluster, self, self.policies.hooks, self.policies, self.wake_at, self._expects
        )
        self._bf_interval = self.policies.hooks.backfill_interval
        self._telling = telling(self.cluster, self.policies, log, report)
        # Compiled code counts units, which are not counted where only memory is.
        if (
            self.cluster.nodes_for.compiled
            and not self.cluster.machine.shared
            and (have_numba("Slurm's timing") if compiled is None else compiled)
        ):
            from emulator.scheduling.compiled import Compiled

            self.cluster.compiled = Compiled(self.cluster)
        self.rejected: list[tuple[JobRequest, str]] = []
        self.refused: list[tuple[float, str]] = []
        self.changes = Changes()
        self.endless = ""
        self.before_pass: Action | None = None
        self._events: list[tuple[float, Rank, int, Action]] = []
        self._ticks: list[tuple[float, float, float, int, int, Tick]] = []
        self._period_due = 0.0
        self._sequence = 0
        self._main_at: float | None = None
        # Under the ideal clock: what happens in a pass is seen by that pass, and needs no other.
        self._passing = False
        self._ranks = EACH_BY_ITSELF if passes == "event" else IN_THEIR_ORDER
        self._alone = (Rank.SUBMISSION, Rank.OTHER, Rank.WAKE) if passes == "event" else ()
        # The last pass before the first submission: half a delay ago, for want of better knowledge.
        self._last_main = -self.parameters.batch_sched_delay / 2
        self._to_come = len(requests) + len(actions)
        self._ids = {request.id for request in requests}
        for request in requests:
            self._at(request.submit, partial(self._submit, request), Rank.SUBMISSION)
        for second, action in actions:
            self._at(second, partial(self._act, action))
        self._begun = self._observed = False
        self._until = math.inf
        self._sweep_due = float("inf")
        # Under the ideal clock each run has an event at its limit.
        self._sweeps = not self._ideal or bool(actions) or accounts is not None
        self._version = 0
        self._looked, self._submitted = -1, list[list[Job]]()
        self._since, self._rest = 0.0, (-1, math.inf)
        self._livelock = Livelock()
        self._intervals = {"main": self.parameters.sched_interval, "backfill": self._bf_interval or math.inf}
        self._loops = tuple(loop for loop, interval in self._intervals.items() if interval < math.inf)
        self._idle_renewals = 0
        self._seen: dict[str, tuple[int, float, int]] = {}
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
        self._observed, self._until = observe is not None, until
        while self._next() <= until and (until < float("inf") or not self._idle()):
            if self._tick_is_next():
                self._tick(leap=observe is None)
            else:
                self.cluster.now, rank, _, action = heappop(self._events)
                action()
                if rank in self._alone and self._main_at is not None and self._main_at <= self.cluster.now:
                    self._main_pass(self._main_at)
            if observe is not None:
                observe()

    def _next(self) -> float:
        """When something comes next."""
        event = self._events[0][0] if self._events else math.inf
        return min(event, self._ticks[0][0]) if self._ticks else event

    def _tick_is_next(self) -> bool:
        """Whether a tick comes next, and no event."""
        if not self._ticks or not self._events:
            return bool(self._ticks)
        (at, *_, number, _), event = self._ticks[0], self._events[0]
        return (at, number) < (event[0], event[2])

    def _tick(self, leap: bool) -> None:
        """Do what is due, and once more after its period; or later, if until then there is nothing to find."""
        self.cluster.now, *_, tick = heappop(self._ticks)
        self._sequence += 1
        number = self._sequence
        tick.action()
        at = self.cluster.now + tick.period
        calculates = tick.action == self._calculate
        quiet = self._quiet_until(calculates) if leap else 0.0
        if quiet == math.inf and self._rest[0] == self._version:
            quiet = self._rest[1]
        if at < quiet < math.inf:
            # The last end of a period before anything happens is none that is left out: it sets priorities.
            at += (math.ceil((quiet - at) / tick.period) - calculates) * tick.period
        if calculates:
            self._period_due = at
        heappush(self._ticks, tick.due(at, number))

    def _quiet_until(self, calculates: bool) -> float:
        """Before when ticks find nothing, unless they have found something by now.

        Args:
            calculates: whether it is asked for the end of a period, which the other ticks wait for.
        """
        waiting, accounting = self.cluster.waiting, self.cluster.accounting
        if not self.rows.settled() or (accounting is not None and accounting.counts_minutes):
            return 0.0
        if waiting and (self._ages or any(map(self._news, self._loops))):
            return 0.0
        due = self._sweep_due if self._sweeps else math.inf
        quiet = min(self._events[0][0] if self._events else math.inf, due)
        if self.cluster.order:
            quiet = min(quiet, self._next_end)
        if not self._period or (accounting is None and not waiting):
            return quiet
        return min(quiet, self._steady_until() if calculates else self._period_due)

    def _steady_until(self) -> float:
        """Before when no end of a period changes what is decided, but by what it leaves to the last of them."""
        if self.cluster.order or getattr(self.policies.priority, "never_falls", False):
            return 0.0
        seen = math.nextafter(self._until, math.inf)
        return seen if self.cluster.accounting is None else min(seen, self.cluster.accounting.steady_until())

    def _begin(self) -> None:
        """Set going what comes again and again."""
        self._begun = True
        if self._sweeps:
            self._every(SWEEP, self._sweep, self.timing.sweep_phase % SWEEP)
        if "backfill" in self._loops and not self._ideal:
            self._every(self._bf_interval, self._backfill_cycle, -self.timing.backfill_phase % self._bf_interval)
        if "main" in self._loops and not self._ideal:
            self._every(self.parameters.sched_interval, self._interval, self.parameters.sched_interval)
        if self._period:
            self._period_due = (-self.timing.uptime) % self._period
            self._every(self._period, self._calculate, self._period_due)
        if self.policies.period and self.policies.period != self._period:
            self._every(self.policies.period, self._renew, (-self.timing.uptime) % self.policies.period)
        if self.rows.slices:
            first = self.parameters.time_slice - self.timing.slice_phase
            self._every(self.parameters.time_slice, self._time_slice, first)

    # What the loops ask for

    def start(
        self,
        job: Job,
        partition: Partition,
        allocation: Allocation,
        limit: float | None = None,
        row: int = 0,
        reason: str = "",
        backfilled: bool = False,
    ) -> None:
        """Start a waiting job now; ``reason`` is that of the scheduler."""
        now = self.cluster.now
        if limit is not None:
            # Backfill plans with what a plugin says, but it is the limit that kills.
            planned = job.plan is not None and job.time_min is None
            job.limit = min(job.limit, YEAR) if planned else limit
        job.cut_at_deadline(now)
        number = job.number_in(partition.name)
        job.run = Run(now, allocation, partition.name, job.limit, row, backfilled or limit is not None, number)
        job.runs.append(job.run)
        job.state, job.reason, job.planned_start = State.RUNNING, "None", None
        self.cluster.dequeue(job)
        self.cluster.running[job.id] = job
        self._telling.started(job, reason)
        self._scheduler.started(job)
        self._moved()
        for delay in self._delays.pop(job.id, ()):
            self._at(now + delay, self._wake)
        if self._ideal and self.parameters.preempt_exempt_time:
            # Under Slurm's clock a tick finds that it may be preempted.
            self._at(now + self.parameters.preempt_exempt_time, self._wake)
        self.cluster.array_tasks[job.request.array or 0] += 1
        self.rows.take(job, job.run)
        if self.cluster.accounting is not None:
            self.cluster.accounting.started(job)
        lasts = self.checkpoints.begin(job, self.cluster.machine.cpus_of(allocation), self._may_requeue(job))
        job.left = lasts + self.timing.job_overhead
        self._go_on(job)
        self._take_turns()
        self.reservations.refresh()

    def preempt(self, job: Job, preemptor: Job) -> None:
        """Make a running job give way, as its partition or the cluster says."""
        assert job.run is not None
        mode = preempt_mode(job, self.cluster)
        if mode == "OFF":
            # A scheduler may preempt what no job outranks.
            mode = configured_mode(job, self.cluster)
        grace = grace_time(job, self.cluster)
        job.vacating = True
        self._sweep_due = 0.0
        self._ends_otherwise(job)
        job.requeue_after = mode in ("REQUEUE", "CHECKPOINT") and self._may_requeue(job)
        self._telling.preempted(job, preemptor, mode)
        if mode == "SUSPEND":
            job.vacating = False
            self._halt(job, "preemption")
            self.cluster.suspended[job.id] = self.cluster.running.pop(job.id)
            self.rows.release(job, job.run)
            self._sent_back(job, job.left)
        elif grace:
            job.end_limit = self.cluster.now + grace
            if self._ideal:
                self._at(job.end_limit, self._sweep_limits)
        else:
            self._give_way(job)

    def not_reserved(self, job: Job, at: float | None = None, length: float | None = None) -> Mask:
        """Nodes that no reservation keeps from a job."""
        at = self.cluster.now if at is None else at
        length = job.plan_limit if length is None else length
        return ~self.reservations.kept_from(job, at, length)

    def _expects(self) -> bool:
        """Whether submissions or commands are to come."""
        return self._to_come > 0

    # What operators ask for

    def hold(self, job: Job, why: str) -> None:
        """Put a waiting job on hold."""
        job.held_by, job.priority, job.eligible = why, 0, None

    def release(self, job: Job) -> None:
        """Release a job from its hold; it gets a new priority (observation Q8)."""
        job.held_by = ""
        self.policies.changed(job)
        self.policies.set_priorities([job], new=True)
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
        self._halt(job, "operator")
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
        self._go_on(job, "operator")

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
        job.time_min, job.lifted, job.entries = changed.time_min, changed.lifted, ()
        if options.begin != before.begin:
            job.begin = changed.begin
            self.wake_at(job.begin)
        if options.deadline != before.deadline:
            job.deadline = changed.deadline
            self._watch_deadline(job)
        for dependency in options.dependencies if options.dependencies != before.dependencies else ():
            self._wake_after(dependency)
        self.policies.changed(job)
        if not (job.on_hold or job.fixed_priority):
            self.policies.set_priorities([job])

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
                self._at(at, self._wake, Rank.WAKE)

    # What a test of a plugin asks for

    def pass_now(self) -> None:
        """Let both loops look at the queue, as if each were due now."""
        self._moved()
        self._main_at = self.cluster.now
        self._main_pass(self.cluster.now)
        if not self._ideal and 0 < self._bf_interval < math.inf:
            self._backfill_cycle()

    def finish(self, job: Job) -> None:
        """The work of a running job is done now."""
        job.requeue_after = False
        self._over(job, State.COMPLETED)

    # Events

    def _submit(self, request: JobRequest) -> None:
        self._to_come -= 1
        self.submit(request)

    def submit(self, request: JobRequest) -> None:
        """A submission comes now."""
        try:
            request = self._submit_chain.request(request)
            check_count(request, self.cluster)
            jobs = [make_job(task, self.cluster) for task in request.tasks(self._free_ids(request.id))]
            if request.options.dependencies and is_circular(jobs[0], self.cluster):
                raise RejectedError("Circular job dependency")
            self._admit(jobs)
        except RejectedError as error:
            self.rejected.append((request, str(error)))
            self._telling.rejected(request, str(error))
            return
        for job in jobs:
            self.policies.arriving(job)
        self._set_first_priority(jobs[0])
        for job in jobs:
            job.priority, job.fixed_priority = jobs[0].priority, jobs[0].fixed_priority
            job.reason = first_reason(job, self.cluster, self.reservations)
            self.cluster.submit(job)
            for dependency in job.options.dependencies:
                self._wake_after(dependency)
            self._telling.arrived(job)
            self.cluster.order.settle(job)
            self._watch_deadline(job)
        if self._observed:
            self.changes.arrived += jobs
        self._moved()
        self._submitted.append(jobs)
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

    def _set_first_priority(self, job: Job) -> None:
        if job.held_by:
            return
        if job.options.priority is not None:
            job.priority, job.fixed_priority = job.options.priority, True
        else:
            self.policies.set_priorities([job], new=True)

    def _not_before(self) -> float:
        """Submissions are answered by one pass in each ``batch_sched_delay`` (observation B5)."""
        return self._last_main + self.parameters.batch_sched_delay

    def _wake(self) -> None:
        self._moved()
        self._request_main(self.cluster.now)

    def _request_main(self, at: float) -> None:
        """Have a pass of the main loop at a time, unless one comes before; two are ``sched_min_interval`` apart."""
        if "main" not in self._loops or self._passing:
            return
        at = max(at, self._last_main + self.parameters.sched_min_interval)
        if self._main_at is None or at < self._main_at:
            self._main_at = at
            self._at(at, lambda: self._main_pass(at), Rank.PASS if self._ideal else Rank.OTHER)

    def _main_pass(self, at: float) -> None:
        if self._main_at != at:
            return
        self._main_at, self._last_main = None, at
        self.changes.waits = True
        self._ask_plugins()
        before = self._begin_pass("main")
        self._refresh()
        if self._news("main", idle_renewals=False):
            self._passing = self._ideal and self._scheduler.has_main_loop
            only_submitted = self._version - len(self._submitted) == self._looked
            self._scheduler.run([job for jobs in self._submitted for job in jobs] if only_submitted else None)
            self._passing = False
            if not self._bf_interval:
                self._scheduler.backfill()
        if self._bf_interval and self._ideal and "backfill" in self._loops:
            self._backfill_cycle()
        self._seen["main"] = before
        self._looked, self._submitted = self._version, []
        self._telling.passed()

    def _begin_pass(self, loop: str) -> tuple[int, float, int]:
        """A loop looks at the queue; returns what the situation is numbered, when, and of that the idle renewals."""
        if self.cluster.accounting is not None:
            self.cluster.accounting.begin_pass(loop)
        return self._version, self.cluster.now, self._idle_renewals

    def _refresh(self) -> None:
        if self.before_pass is not None:
            self.before_pass()
        for job in refresh_eligibility(self.cluster, self.reservations):
            self._leave_queue(job, State.CANCELLED)

    def _ask_plugins(self) -> None:
        """Plugins may plan the jobs that wait, or give them numbers, before each pass."""
        if self.policies.before_pass():
            self._version += 1

    def _interval(self) -> None:
        self._ask_plugins()
        if self._news("main"):
            self._request_main(self.cluster.now)

    def _backfill_cycle(self) -> None:
        self._ask_plugins()
        if self._news("backfill"):
            self.changes.waits = True
            before = self._begin_pass("backfill")
            self._refresh()
            if self._news("backfill", idle_renewals=False):
                self._scheduler.backfill()
            # A job that started may have left room in the cycle's bounds for others.
            self._seen["backfill"] = before
            self._next_end = self._first_end()
            if not self._ideal:
                self._telling.passed()

    def _first_end(self) -> float:
        """When the first of the runs is planned to end."""
        if self.cluster.compiled is not None:
            return min(self.cluster.compiled.runs.planned()[0][:1].tolist(), default=float("inf"))
        return min(map(self.cluster.planned_end, self.cluster.running.values()), default=float("inf"))

    def _news(self, loop: str, idle_renewals: bool = True) -> bool:
        """Whether a loop would find anything that it did not find the last time.

        With time alone jobs that did not start do not become startable; but for runs that
        outlive their limits, and for victims that are exempt for a while. Reservations that
        begin or end wake the loops.

        Args:
            loop: which one.
            idle_renewals: whether a renewal of the priorities that matters to no pass is news. It has a loop go
                round, so that the next one comes when it would in Slurm, but the loop finds nothing.
        """
        version, looked, idle = self._seen.get(loop, (-1, 0.0, 0))
        if version - (0 if idle_renewals else idle) != self._version - (0 if idle_renewals else self._idle_renewals):
            return True
        books = self.cluster.accounting
        exempt = max(self.parameters.preempt_exempt_time, books.exempts if books is not None else 0.0)
        if exempt and looked <= self._since + exempt:
            return True
        return loop == "backfill" and self.cluster.now >= self._next_end and bool(self.cluster.order)

    def _calculate(self) -> None:
        """A period ends: usage decays, and waiting jobs get new priorities."""
        self.changes.all()
        if self.cluster.accounting is not None and self.cluster.accounting.period():
            self._version += 1
        if self.policies.period == self._period:
            self._renew()
        if self._ideal and any(map(self._news, self._loops)):
            self._request_main(self.cluster.now)

    def _renew(self) -> None:
        """A period of the priority plugin ends: waiting jobs get new priorities."""
        self.changes.all()
        if self.policies.period and self.policies.renew():
            self._version += 1
            self._idle_renewals += not self.policies.renewal_matters

    def _may_requeue(self, job: Job) -> bool:
        return job.options.requeue if job.options.requeue is not None else self.parameters.job_requeue

    def _go_on(self, job: Job, cause: str = "") -> None:
        """A job's work goes on, and will be done when what is left of it is; ``cause`` is why it stood still."""
        assert job.run is not None
        if job.run.suspensions and job.run.suspensions[-1][1] is None:
            job.run.suspensions[-1][1] = self.cluster.now
            if self.cluster.accounting is not None:
                self.cluster.accounting.resumed(job)
        job.state, job.work_since = State.RUNNING, self.cluster.now
        job.sequence += 1
        if cause:
            self._telling.resumed(job, cause)
        self._sweep_due = min(self._sweep_due, self._killed_from(job))
        killed = self._killed_from(job, job.run.suspended(self.cluster.now))
        if self._ideal and self.cluster.now + job.left > killed + HALF_A_MICROSECOND:
            self._end_at(killed, job, self._limit_reached, Rank.LIMIT)
            return
        end = self.cluster.now + job.left
        rank = Rank.LIMIT if abs(end - killed) <= HALF_A_MICROSECOND else Rank.OTHER
        self._end_at(end, job, self._work_done, rank)

    def _end_at(self, second: float, job: Job, action: Callable[[Job, int], None], rank: Rank) -> None:
        """Have a run end; one that ends at its limit does so before all else of that time."""
        self._at(second, partial(action, job, job.sequence), rank)
        if rank is Rank.LIMIT and self._alone:
            assert job.run is not None
            self._at(second, partial(self._ended_at_limit, job.run))

    def _ended_at_limit(self, run: Run) -> None:
        """The pass after the end of a run at its limit, in its place among the other ends."""
        if run.end == self.cluster.now and run.outcome is not State.PREEMPTED:
            self._request_main(self.cluster.now)

    def _limit_reached(self, job: Job, sequence: int) -> None:
        """A run is killed at its limit."""
        if job.sequence == sequence and job.state is State.RUNNING:
            job.requeue_after = False
            self._over(job, State.TIMEOUT)

    def _halt(self, job: Job, cause: str) -> None:
        """A job's work stands still."""
        assert job.run is not None
        self._ends_otherwise(job)
        job.left -= self.cluster.now - job.work_since
        if self.cluster.accounting is not None:
            self.cluster.accounting.halted(job)
        job.run.suspensions.append([self.cluster.now, None])
        job.state = State.SUSPENDED
        job.sequence += 1
        self._telling.suspended(job, cause)

    def _ends_otherwise(self, job: Job) -> None:
        """A run is not planned to end by its limit alone any more."""
        for watcher in self.cluster.run_watchers:
            watcher.odd(job)

    def _take_turns(self) -> None:
        """Let those run whose turn it is."""
        if not self.rows.slices:
            return
        jobs = [job for job in self.cluster.running.values() if job.state in (State.RUNNING, State.SUSPENDED)]
        due = set(map(id, self.rows.due(jobs)))
        for job in jobs:
            if job.state is State.RUNNING and id(job) not in due:
                self._halt(job, TIME_SLICE)
        for job in jobs:
            if job.state is State.SUSPENDED and id(job) in due:
                self._go_on(job, TIME_SLICE)

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
                self._go_on(job, "preemption")

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
        for job_id in self.cluster.accounting.used_up() if self.cluster.accounting is not None else ():
            self._terminate(self.cluster.jobs[job_id], State.TIMEOUT)
        if self.cluster.now < self._sweep_due and not self.reservations.by_name:
            return
        self._sweep_limits()
        due = [0.0 if job.vacating else self._killed_from(job) for job in self.cluster.running.values()]
        self._sweep_due = min(due, default=float("inf"))

    def _killed_from(self, job: Job, suspended: float = 0.0) -> float:
        """When a run, suspended for so many seconds, exceeds its limit or its reservation by as much as it may."""
        assert job.run is not None
        limit = job.run.start + job.run.limit + suspended + self.cluster.partitions[job.run.partition].over_time_limit
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
            self._terminate(job, State.PREEMPTED, at_once=self._ideal)
            return
        job.sequence += 1
        job.state, job.end_limit = State.COMPLETING, self.cluster.now + writing
        self._at(job.end_limit, partial(self._written, job, job.sequence))

    def _written(self, job: Job, sequence: int) -> None:
        """Its checkpoint is written, unless its node has failed meanwhile."""
        if job.sequence == sequence:
            self._terminate(job, State.PREEMPTED)

    def _terminate(self, job: Job, outcome: State, at_once: bool = False) -> None:
        """SIGTERM, and SIGKILL after KillWait if it is ignored; ``at_once``: in this event, if that takes no time."""
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
        if at_once and not delay:
            self._over(job, outcome)
        else:
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
        self._moved()
        worked = run.end - run.start - run.suspended(run.end) if run.work is None else job.worked
        self._telling.stopped(job, outcome, None if job.requeue_after else worked)
        if job.requeue_after:
            self._requeue(job)
            self._sent_back(job, job.left - (run.end - job.work_since))
        else:
            job.state, job.reason = outcome, WHY_IT_ENDED.get(outcome, "None")
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
        self._telling.arrived(job)
        job.begin = self.cluster.now + self.parameters.requeue_hold
        job.eligible = job.accrue = None
        if job.hold_after:
            job.hold_after = False
            often = job.failures > self.parameters.max_batch_requeue
            self.hold(job, "JobHeldAdmin" if often else "job_requeued_in_held_state")
        if self._passing and job.begin <= self.cluster.now:
            self._refresh()
        else:
            self._at(job.begin, self._wake)
        self._watch_deadline(job)

    def _sent_back(self, job: Job, left: float) -> None:
        """Note that a job waits again, or is suspended; the run ends if it gets nowhere so."""
        if not self._livelock.sent_back(job.id, left) or self._to_come:
            return
        cluster = self.cluster
        ended = len(cluster.jobs) - len(cluster.waiting) - len(cluster.running) - len(cluster.suspended)
        starts = [
            other.run.start for other in cluster.running.values() if other.run is not None and ends(other, cluster)
        ]
        if self._livelock.stuck(job.id, cluster.now, ended, starts):
            self.endless = standstill(cluster.now, job.id, "preempted or requeued")

    def _leave_queue(self, job: Job, state: State) -> None:
        self._moved()
        if self.cluster.accounting is not None:
            self.cluster.accounting.left(job)
        self._telling.left(job, state)
        self.cluster.dequeue(job)
        job.state = state
        self._request_main(self.cluster.now + self.timing.end_lag)

    def _act(self, action: Callable[[Controller], None]) -> None:
        self._to_come -= 1
        self.changes.all()
        self._moved()
        self._sweep_due = 0.0
        self.cluster.look_again()
        try:
            action(self)
        except InputError as error:
            self.refused.append((self.cluster.now, str(error)))
        self.policies.reordered()
        self._request_main(self.cluster.now + self.timing.submit_lag)

    # Bookkeeping

    def _moved(self) -> None:
        """Something has happened for which the loops look at the queue again."""
        self._version += 1
        self._since = self.cluster.now

    def _at(self, second: float, action: Action, rank: Rank = Rank.OTHER) -> None:
        """Have something done at a time, which never comes if it is infinite."""
        if second == math.inf:
            return
        self._sequence += 1
        heappush(self._events, (round(second, 6), self._ranks[rank], self._sequence, action))

    def _every(self, period: float, action: Action, first: float) -> None:
        """Have something done at a time, and after each period."""
        self._sequence += 1
        first = round(first, 6)
        heappush(self._ticks, Tick(period, action, first, len(self._ticks)).due(first, self._sequence))

    def _something_comes(self) -> bool:
        """Whether there is an event; ends of work that was interrupted, and deadlines that were met, are none."""
        while self._events:
            action = self._events[0][3]
            job, *sequence = action.args if isinstance(action, partial) else (None,)
            late = isinstance(job, Job) and (sequence != [job.sequence] if sequence else job.state is not State.PENDING)
            if not late:
                return True
            heappop(self._events)
        return False

    def _idle(self) -> bool:
        """Whether nothing can happen any more (:mod:`emulator.engine.standstill`)."""
        cluster = self.cluster
        if self.endless:
            return True
        if self._to_come or self._main_at is not None:
            return False
        if any(self._seen.get(loop, (-1,))[0] != self._version for loop in self._loops):
            return False
        empty = not cluster.running and not cluster.suspended
        if empty and not any(may_start(job, cluster) for job in cluster.pending()):
            return True
        if self._something_comes():
            return False
        if self._rest[0] != self._version:
            looks = max((self._intervals[loop] for loop in self._loops), default=0.0)
            self._rest = self._version, rest_from(cluster, self, self._period, self._since, looks)
        return cluster.now >= self._rest[1]
