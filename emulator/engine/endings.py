"""Runs end: their work is done, they exceed a limit, are preempted or killed; what is requeued waits again."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from signal import SIGTERM, strsignal
from typing import Protocol

from emulator.engine.arrivals import Arrivals
from emulator.engine.part import Part
from emulator.engine.passes import Passes
from emulator.engine.standstill import ends
from emulator.engine.stints import Stints
from emulator.livelock import Livelock, standstill
from emulator.scheduling.het_jobs import LAUNCH_FAILURE, components_of, is_led, led_by
from emulator.scheduling.job_mgr import make_job, take_in
from emulator.scheduling.preempt import preempt_mode
from emulator.state.job import REQUEUED_HELD, Job
from emulator.state.partition import PARTITION_CONFIG
from emulator.state.reservation import Reservation
from emulator.state.run import Run, State, without_nodes
from emulator.workload.request import RejectedError
from slurm_sim_plugins.nodes import Allocation

WHY_IT_ENDED = {
    State.TIMEOUT: "TimeLimit",
    State.FAILED: "NonZeroExitCode",
    State.NODE_FAIL: "NodeDown",
    State.DEADLINE: "DeadLine",
}
"""Reasons that jobs show in the end."""
ANSWERED_AFTER = 0.05
"""Seconds until nodes answer that have nothing of a killed run to clear."""
KILLED = "RaisedSignal:9(Killed)"
"""The reason of a job whose script was killed with its node."""
ENDED = "RaisedSignal:15(Terminated)"
"""That of a component which stays behind when others come back, as the script was ended."""


class RunsOnNodes(Protocol):
    """What goes by which nodes are idle."""

    def left(self, job: Job, run: Run) -> None:
        """A run has left its nodes."""


@dataclass(eq=False)
class Endings(Part):
    """Ends runs.

    Attributes:
        lost: nodes that runs have lost which leave the others still, by job.
        endless: why the run gets nowhere, though it goes on; empty if it does not.
        power: what powers nodes down; None where they are always on.
        heard: called with the nodes of a run that is over: those that were asked have answered.
        epoch: Unix time of second 0; 0 if that is not known.
    """

    passes: Passes
    arrivals: Arrivals
    stints: Stints
    heard: Callable[[Sequence[int]], None] = field(init=False)
    livelock: Livelock = field(default_factory=Livelock)
    lost: dict[int, frozenset[int]] = field(default_factory=dict)
    endless: str = ""
    power: RunsOnNodes | None = None
    epoch: int = 0
    _killed: dict[int, str] = field(default_factory=dict)
    _sent_at: dict[int, float] = field(default_factory=dict)
    _outcomes: dict[int, State] = field(default_factory=dict)
    _dead_at: dict[int, float] = field(default_factory=dict)
    _epilogs: dict[int, float] = field(default_factory=dict)
    _closing: set[int] = field(default_factory=set)
    _whole: dict[int, Allocation] = field(default_factory=dict)

    # By themselves

    def work_done(self, number: int, sequence: int) -> None:
        """A job's work is done."""
        job = self.cluster.jobs[number]
        if job.sequence != sequence or job.state is not State.RUNNING:
            return
        outcome = self._ended_by_itself(job)
        for one in (job, *self._take_along(job)):
            self.over(one.id, outcome, one.sequence)

    def _ended_by_itself(self, job: Job) -> State:
        """How a run ends that has done its work, or was signalled; its job notes whether it comes back."""
        if job.graced:
            job.requeue_after = preempt_mode(job, self.cluster) == "REQUEUE" and self.may_requeue(job)
            job.graced = not job.requeue_after
            return State.PREEMPTED
        job.requeue_after = False
        if job.id in self.stints.signalled:
            return State.FAILED
        if job.request.exit_code:
            self._requeue_by_exit_code(job)
            return State.FAILED
        return State.TIMEOUT if self._passed(self._deadline_of(job)) else State.COMPLETED

    def _deadline_of(self, job: Job) -> float:
        """After when a run that ends by itself shows that its time was up: OverTimeLimit is allowed it."""
        assert job.run is not None
        over = self.cluster.partitions[job.run.partition].over_time_limit
        return min(job.run.expires + job.run.suspended(self.cluster.now), job.end_limit) + over

    def _requeue_by_exit_code(self, job: Job) -> None:
        """A job that failed is requeued, and perhaps held, each time, if the configuration says so.

        In 22.05 that is so even if it may not be requeued otherwise (recorded).
        """
        parameters, code = self.parameters, job.request.exit_code
        if parameters.rules.EXITS_ARE_REQUEUED_IF_ALLOWED and not self.may_requeue(job):
            return
        held = code in parameters.requeue_exit_hold
        if held or code in parameters.requeue_exit:
            job.requeue_after = True
            job.hold_after = held

    def may_requeue(self, job: Job) -> bool:
        """Whether a job may be requeued."""
        return job.options.requeue if job.options.requeue is not None else self.parameters.job_requeue

    # By their limits

    def limit_reached(self, number: int, sequence: int) -> None:
        """A run is killed at its limit."""
        job = self.cluster.jobs[number]
        if job.sequence == sequence and job.state is State.RUNNING:
            job.requeue_after = False
            self.over(number, State.TIMEOUT, job.sequence)
            for other in self._take_along(job):
                self.over(other.id, self._outcome_beside(State.TIMEOUT, other), other.sequence)

    def ended_at_limit(self, number: int, index: int) -> None:
        """The pass after the end of a run at its limit, in its order among the other ends."""
        run = self.cluster.jobs[number].runs[index]
        if run.end == self.cluster.now and run.outcome is not State.PREEMPTED:
            self.passes.request(self.cluster.now)

    def sweep(self) -> None:
        """Kill what has exceeded its limit."""
        for job_id in self.cluster.accounting.used_up() if self.cluster.accounting is not None else ():
            self.terminate(self.cluster.jobs[job_id], State.TIMEOUT)
        if not self.reservations.by_name and not self._any_is_due():
            return
        self.sweep_limits()
        self._sweep_reservations()
        self.replace_reserved()
        self.stints.sweep_due = self.stints.next_sweep()

    def replace_reserved(self) -> None:
        """Reservations get other nodes for those that they are to lose, and their jobs are looked at again."""
        if self.reservations.replace():
            self.passes.other_rules()
            self.cluster.look_again()

    def _any_is_due(self) -> bool:
        """Whether a sweep ends any run; mostly the one for which it was to come has ended by itself."""
        stints, now = self.stints, self.cluster.now
        if now >= stints.sweep_due:
            stints.sweep_due = stints.next_sweep()
        return now >= stints.sweep_due

    def reservation_over(self, name: str) -> None:
        """Reservations that are over come again, if they do; what runs in them goes on."""
        for one in self.reservations.advance(self.epoch):
            self._comes_again(one)

    def _comes_again(self, one: Reservation) -> None:
        self.passes.reserved(one)
        self.passes.other_rules()  # Backfill does not go round for that (its log).
        self.cluster.look_again()
        self.cluster.redraw()

    def _sweep_reservations(self) -> None:
        """Remove reservations that are over; jobs that wait for one are held, or go on without it as its flags say.

        One that is purged comes again when it would have, or is over at once.
        """
        kept, over = self.reservations.by_name, set[str]()
        for one in self.reservations.purged():
            if self.reservations.come_again(one, self.epoch):
                self._comes_again(one)
            else:
                over.add(one.name)
        now, rest = self.cluster.second_of(self.cluster.now), self.parameters.resv_over_run
        over |= {one.name for one in kept.values() if now > one.end + rest and not one.ahead}
        for name in [name for name in kept if name in over]:
            goes_on = "NO_HOLD_JOBS_AFTER" in kept.pop(name).flags
            for job in [one for one in self.cluster.waiting.values() if one.options.reservation == name]:
                # Once they are released, those on hold start outside of it (recorded in three versions).
                self._goes_on_without(job)
                if not goes_on and job.held_by != "JobHeldAdmin":
                    job.hold(f"Reservation_{name}_was_deleted")
                    job.reason = job.held_by
            self.passes.moved()
            self.cluster.look_again()
            self.cluster.redraw()
            self.policies.reordered()

    def _goes_on_without(self, job: Job) -> None:
        """A waiting job asks for no reservation any more; in a partition for reservations alone it waits for ever."""
        request = replace(job.request, options=replace(job.options, reservation=""))
        try:
            take_in(job, make_job(request, self.cluster, updated=True))
        except RejectedError:
            job.request, job.entries = request, ()
            job.barred = dict.fromkeys((one.name for one in job.partitions), PARTITION_CONFIG)
        self.policies.changed(job)

    def sweep_limits(self) -> None:
        """Kill what has exceeded the limit of a run, a reservation, or a grace time."""
        # Most runs are far from their limits: limits end in whole seconds, so not before that of the next one.
        later, none_reserved = self.cluster.now + 1.0, not self.reservations.by_name
        for job in list(self.cluster.running.values()):
            if job.run is None or job.state is not State.RUNNING:
                continue
            by_limit = none_reserved and not job.vacating
            if by_limit and job.request.signal_time is None and job.run.expires > later:
                continue
            if not job.vacating and self._reached(self.stints.signalled_from(job)):
                self.signal(job)
                continue
            if by_limit and not self._reached(job.run.expires):
                continue
            graced = job.vacating and self._reached(job.end_limit)
            if self._reached(self.stints.reserved_until(job)):
                self.terminate(job, State.TIMEOUT)
                continue
            limit = job.run.expires + job.run.suspended(self.cluster.now)
            if graced:
                self.give_way(job)
            elif self._reached(limit + self.cluster.partitions[job.run.partition].over_time_limit):
                self.terminate(job, State.TIMEOUT)

    def signal(self, job: Job) -> None:
        """A signal ends a run by itself, whatever it has left to do."""
        self.stints.signalled.add(job.id)
        job.left = self.cluster.now - job.work_since + self.timing.job_overhead / 2
        job.sequence += 1
        self.agenda.at(job.work_since + job.left, "work done", job.id, job.sequence)

    def _reached(self, time: float) -> bool:
        """Whether a time is reached: Slurm's clock knows whole seconds, in which runs begin and limits end."""
        cluster = self.cluster
        if self.ideal or time == math.inf:
            return cluster.now >= time
        return cluster.whole(cluster.now) >= cluster.whole(time)

    def _passed(self, time: float) -> bool:
        """Whether a time is over: under Slurm's clock not in the second in which it is."""
        cluster = self.cluster
        if self.ideal or time == math.inf:
            return cluster.now > time
        return cluster.whole(cluster.now) > cluster.whole(time)

    # For others

    def give_way(self, job: Job) -> None:
        """A victim ends, once its checkpoint is written if it writes one just in time."""
        writing = self.checkpoints.stop(job) if job.requeue_after else 0.0
        if not writing:
            self.terminate(job, State.PREEMPTED, at_once=self.ideal)
            return
        job.sequence += 1
        job.state, job.end_limit = State.COMPLETING, self.cluster.now + writing
        self.agenda.at(job.end_limit, "written", job.id, job.sequence)

    def written(self, number: int, sequence: int) -> None:
        """The checkpoint of a job is written, unless its node has failed meanwhile."""
        job = self.cluster.jobs[number]
        if job.sequence == sequence:
            self.terminate(job, State.PREEMPTED)

    def terminate(self, job: Job, outcome: State, at_once: bool = False, dies_in: float | None = None) -> None:
        """SIGTERM, and SIGKILL after KillWait if it is ignored.

        Of a suspended job that does not come back Slurm says that it ended when it was suspended.

        Args:
            job: which runs.
            outcome: with which its run ends.
            at_once: in this event, if that takes no time.
            dies_in: seconds until its processes are gone, where that does not go by SIGTERM.
        """
        assert job.run is not None
        suspended = job.state is State.SUSPENDED and not job.requeue_after
        end = job.run.suspensions[-1][0] if suspended else self.cluster.now
        if job.id in self.cluster.suspended:
            self.stints.take_back(job, by_operator=job.suspended_by_operator)
        job.sequence += 1
        job.state = State.COMPLETING
        if outcome is State.TIMEOUT or (outcome is State.NODE_FAIL and not job.requeue_after):
            job.reason = WHY_IT_ENDED[outcome]
        self._ended(job, job.run, end)
        self.passes.moved()
        delay = self._dies_in(job) if dies_in is None else dies_in
        if at_once and not delay:
            self.over(job.id, outcome, job.sequence)
        else:
            self._outcomes[job.id], self._dead_at[job.id] = outcome, self.cluster.now + delay
            # Also for a pass of this instant, before it is over.
            self._close_nodes(job.id, job.run, closed=delay > 0 or self._epilog_of(job) > 0)
            if self._others_clear_first(job):
                self.agenda.at(self.cluster.now + ANSWERED_AFTER, "others clear", job.id, len(job.runs))
            self.agenda.at(self.cluster.now + delay, "over", job.id, outcome, job.sequence)
        for other in self._take_along(job, outcome):
            self.terminate(other, self._outcome_beside(outcome, other), at_once)

    def _ended(self, job: Job, run: Run, end: float | None = None) -> float:
        """A run has ended, for its array and the accounts, now if not before, or at an instant; says when.

        Another task may begin before it leaves its nodes.
        """
        if run.end is None:
            self.cluster.array_tasks[job.request.array or 0] -= 1
            run.end = self.cluster.now
        if end is not None:
            run.end = end
        if self.cluster.accounting is not None:
            self.cluster.accounting.ended(job)
        return run.end

    def _close_nodes(self, number: int, run: Run, closed: bool) -> None:
        """Nodes take no other job while a run completes there: its processes are killed, or its epilogs go on."""
        if (number in self._closing) is not closed:
            (self._closing.add if closed else self._closing.discard)(number)
            self.cluster.epilog(run.allocation, 1 if closed else -1)

    def _others_clear_first(self, job: Job) -> bool:
        """Whether it is known when the nodes of a killed run are clear, and only the one of its script has to be."""
        known = job.request.was_killed(len(job.runs) - 1) and not self.operation.epilog and self.power is None
        return known and job.run is not None and len(job.run.allocation.nodes) > 1 and not is_led(job, self.cluster)

    def others_clear(self, number: int, runs: int) -> None:
        """Nodes of a killed run without its script answer at once that they are clear (recorded).

        Args:
            number: of the job.
            runs: how many runs it had begun as this one was killed.
        """
        job = self.cluster.jobs[number]
        run = job.run
        if run is None or len(job.runs) != runs or number not in self._closing or job.state is not State.COMPLETING:
            return
        nodes = run.allocation.nodes
        self._whole[number] = run.allocation
        self.cluster.epilog(without_nodes(run.allocation, nodes[:1]), -1)
        self.rows.give_up(job, run, nodes[1:])
        self.stints.ends_otherwise(job)
        self.passes.moved()

    def lose_script(self, job: Job) -> None:
        """The node of a job's script is down, but others of it are not: it has failed.

        From 26.05 on it goes on until it reaches its limit, as nothing tells of the script.
        """
        if self.parameters.rules.LOST_SCRIPTS_ARE_MISSED:
            self._go_on(job)
            return
        job.requeue_after = False
        self._killed[job.id] = KILLED
        self.terminate(job, State.FAILED)

    def lose_first(self, job: Job, script_lost: bool) -> None:
        """The first component of a job's heterogeneous job comes back without it: it fails as the script ends there.

        From 26.05 on it goes on until it reaches its limit, if the script is lost with its node.
        """
        if script_lost and self.parameters.rules.LOST_SCRIPTS_ARE_MISSED:
            self._go_on(job)
            return
        job.requeue_after = False
        self.terminate(job, State.FAILED)

    def _go_on(self, job: Job) -> None:
        """A job goes on until it reaches its limit, and does not come back."""
        job.requeue_after = False
        job.left = math.inf
        job.sequence += 1

    def signal_script(self, job: Job, number: int) -> None:
        """A signal reaches the script of a running job, which ends at once: it has failed, and does not come back."""
        if number == SIGTERM and job.request.ignores_term:
            return
        job.requeue_after = False
        words = f"RaisedSignal:{number}({(strsignal(number) or '').replace(' ', '_')})"
        self._killed[job.id] = words if self.parameters.rules.COMPONENTS_SHOW_THE_CODE else LAUNCH_FAILURE
        self.terminate(job, State.FAILED, dies_in=self.timing.job_overhead / 2)

    def _outcome_beside(self, outcome: State, other: Job) -> State:
        """The outcome of a further component where the first one ends so.

        One that has come to its own limit, too, is killed by the same sweep (recorded).
        """
        assert other.run is not None
        if outcome is not State.TIMEOUT:
            return outcome
        limit = self.stints.killed_from(other, other.run.suspended(self.cluster.now))
        return outcome if self._reached(limit) else State.FAILED

    def _dies_in(self, job: Job) -> float:
        """Seconds from SIGTERM until the processes of a job are gone."""
        if is_led(job, self.cluster):
            return 0.0  # Its script runs in the first component.
        if job.request.dies_in is not None:
            return job.request.dies_in
        if job.request.was_killed(len(job.runs) - 1):
            return 0.0  # It is known when its nodes are clear.
        return self.parameters.kill_wait if job.request.ignores_term else self.timing.job_overhead / 2

    def lose(self, job: Job) -> float:
        """All nodes of a run that completes are down: none is waited for; when their epilogs would be over."""
        assert job.run is not None
        at = self._dead_at.get(job.id, self.cluster.now) + self._epilog_of(job)
        if job.id in self._epilogs:
            at = self._epilogs.pop(job.id)
        job.sequence += 1
        self.leave(job.id, self._outcomes[job.id], lost=True)
        return at

    def _take_along(self, job: Job, outcome: State | None = None) -> list[Job]:
        """The further components that still run; they come back if the first one does, and at once if they are over.

        One that is over as the first comes back from a node that is down stays so, and the others wait for ever.
        """
        if outcome is State.NODE_FAIL and self.parameters.rules.LOST_SCRIPTS_ARE_MISSED:
            return []  # Those end by themselves that do.
        led = [other for other in led_by(job, self.cluster) if other.run is not None and other.run.end is None]
        for other in led:
            other.requeue_after, other.hold_after = job.requeue_after, job.hold_after
        for other in led_by(job, self.cluster) if job.requeue_after and outcome is not State.NODE_FAIL else ():
            if other.over:
                self.send_back(other)
        return led

    def over(self, number: int, outcome: State, sequence: int) -> None:
        """The processes of a run are gone: it leaves its nodes, once their epilogs are over."""
        job = self.cluster.jobs[number]
        if job.sequence != sequence:
            return
        epilog = self._epilog_of(job)
        if not epilog:
            self.leave(number, outcome)
            return
        assert job.run is not None
        self._ended(job, job.run)
        # It is planned to end now.
        job.state, job.vacating, job.end_limit = State.COMPLETING, True, math.inf
        job.sequence += 1
        self.stints.ends_otherwise(job)
        self._close_nodes(number, job.run, closed=True)
        self.passes.moved()
        self._outcomes[number], self._epilogs[number] = outcome, self.cluster.now + epilog
        self.agenda.at(self.cluster.now + epilog, "epilog over", number, outcome, job.sequence)

    def _epilog_of(self, job: Job) -> float:
        """Seconds that the epilogs of a run take."""
        own = job.request.clears_in(len(job.runs) - 1)
        return self.operation.epilog if own is None else own

    def epilog_over(self, number: int, outcome: State, sequence: int) -> None:
        """The epilogs of a run are over."""
        if self.cluster.jobs[number].sequence != sequence:
            return
        del self._epilogs[number]
        self.leave(number, outcome)

    def leave(self, number: int, outcome: State, lost: bool = False) -> None:
        """A run leaves its nodes; its job is requeued or has ended, once ``EpilogSlurmctld`` is over.

        Args:
            number: of the job.
            outcome: how it has ended.
            lost: whether it has lost its nodes, which say nothing, then.
        """
        job, now = self.cluster.jobs[number], self.cluster.now
        run, cleared = job.run, job.state is State.COMPLETING and not lost
        took = self._epilog_of(job)
        self._outcomes.pop(number, None)
        self._dead_at.pop(number, None)
        self.lost.pop(number, None)
        self.stints.signalled.discard(number)
        assert run is not None
        self._close_nodes(number, run, closed=False)
        end = self._ended(job, run)
        run.outcome = outcome
        self.checkpoints.settle(job, run, outcome)
        if self.cluster.accounting is not None and not job.requeue_after:
            self.cluster.accounting.left(job)
        self.rows.release(job, run)
        run.allocation = self._whole.pop(number, run.allocation)
        if self.power is not None:
            self.power.left(job, run)
        if not lost:
            self.heard(run.allocation.nodes)
            self.passes.heard(run.allocation)
        elif job.requeue_after:
            self.policies.lost(job, run.allocation, self.cluster.partitions[run.partition])
        del self.cluster.running[job.id]
        job.run, job.vacating, job.end_limit = None, False, math.inf
        job.sequence += 1
        self.passes.moved()
        worked = end - run.start - run.suspended(end) if run.work is None else job.worked
        worked = worked if job.request.learnt is None else job.request.learnt
        self.telling.stopped(job, outcome, None if job.requeue_after else worked)
        rest = self.operation.epilog_slurmctld - took
        if rest > 0:
            job.state = State.COMPLETING
            self.cluster.completing[number] = job
            self.agenda.at(now + rest, "completed", number, outcome)
        else:
            self.completed(number, outcome)
        self.stints.left(job, run.partition)
        if self.ideal or rest <= 0:
            # While EpilogSlurmctld goes on others may have the nodes, but the main loop is not told of it, nor later.
            if cleared and not self.parameters.defer and job.request.says_clear(len(job.runs) - 1):
                # Nodes that tell the controller that they are clear have it make a pass at once (recorded).
                self.passes.request(now)
            else:
                self.passes.request_in_turn(self.timing.end_lag)

    def completed(self, number: int, outcome: State) -> None:
        """Nothing is left of a run: its job waits again, or is over."""
        job = self.cluster.jobs[number]
        if self.cluster.completing.pop(number, None) is not None:
            self.passes.moved()
            if self.ideal:
                self.passes.request(self.cluster.now)
        if job.requeue_after:
            run = job.runs[-1]
            assert run.end is not None
            if self.cluster.accounting is not None:
                self.cluster.accounting.waits(job)
            self.send_back(job)
            self.sent_back(job, job.left - (run.end - job.work_since))
        else:
            job.state, job.reason = outcome, self._why(job, outcome)

    def _why(self, job: Job, outcome: State) -> str:
        """The reason that a job shows in the end."""
        shows_code = self.parameters.rules.COMPONENTS_SHOW_THE_CODE
        if job.id in self._killed:
            return self._killed.pop(job.id)
        if outcome is State.FAILED and shows_code and self._stays_behind(job):
            return ENDED
        if outcome is State.FAILED and not shows_code and job.request.signal_time is not None:
            return "NonZeroExitCode" if job.request.exit_code else LAUNCH_FAILURE
        if outcome is State.FAILED and not shows_code and is_led(job, self.cluster):
            first = components_of(job, self.cluster)[0]
            killed = first.reason == WHY_IT_ENDED[State.TIMEOUT] or self._stays_behind(job)
            if first.runs[-1].outcome is State.TIMEOUT or killed:
                return LAUNCH_FAILURE
        return WHY_IT_ENDED.get(outcome, job.held_by or "None")

    def _stays_behind(self, job: Job) -> bool:
        """Whether a component ends as those before it come back, which have lost a node."""
        first = components_of(job, self.cluster)[0]
        return first is not job and (first.requeue_after or first.runs[-1].outcome is State.NODE_FAIL)

    # What comes back

    def send_back(self, job: Job) -> None:
        """A job that has run waits again, and is held for a while."""
        job.requeue_after = False
        job.graced = job.graced and not self.parameters.rules.GRACE_IS_FORGOTTEN
        job.restarts += 1
        job.drawn = ""
        self.changes.all()
        # Why it waits, a pass finds out.
        job.state, job.reason = State.PENDING, "BeginTime" if self.ideal else "None"
        job.submitted = self.cluster.now
        if not self.ideal:
            job.came_in(self.cluster.whole(self.cluster.now))
        # It is of no age, also in a number that it gets at once.
        job.eligible = job.accrue = None
        self.policies.sent_back(job)
        if job.suspended_by_operator and not job.priority:
            job.hold("JobHeldAdmin")
        elif self.parameters.rules.REQUEUED_GO_LAST and not (self.ideal or job.fixed_priority or job.hold_after):
            self.policies.set_priorities([job], new=True)
        self.policies.tried(job)
        job.suspended_by_operator = False
        self.cluster.enqueue(job)
        self.passes.look_as_reservations_near([job])
        self.telling.arrived(job)
        since = self.cluster.now if self.ideal else self.cluster.second_of(self.cluster.now)
        job.begin = since + self._hold(job)
        if job.hold_after:
            job.hold_after = False
            job.hold(self._why_held(job))
        if self.passes.passing and job.begin <= self.cluster.now:
            self.passes.refresh()
        else:
            # Of one on hold no pass tells backfill.
            self.agenda.at(job.begin, "due", job.request.het_job_id is None and not job.held_by)
        self.arrivals.watch_deadline(job)

    def put_back(self, job: Job) -> None:
        """A component that had started waits again, held for a while: another one of its job could not start."""
        if self.ideal:
            return
        self.changes.all()
        job.reason = "None"
        if self.parameters.rules.REQUEUED_GO_LAST and not job.fixed_priority:
            self.policies.changed(job)
            self.policies.set_priorities([job], new=True)
        job.begin = self.cluster.second_of(self.cluster.now) + self.parameters.requeue_hold
        self.cluster.unsettled[job.id] = job
        self.agenda.at(job.begin, "due", False)

    def _why_held(self, job: Job) -> str:
        """The reason of a job that was requeued to be held."""
        by_code = bool(job.runs) and job.runs[-1].outcome is State.FAILED
        by_code = by_code and job.request.exit_code in self.parameters.requeue_exit_hold
        return "JobHeldUser" if by_code else REQUEUED_HELD

    def _hold(self, job: Job) -> float:
        """For how long a requeued job is not eligible, in seconds.

        Under the ideal clock that is 0. But a job that is sent back twice at one instant would be so for ever where its
        preemptor waits for a victim in its grace time meanwhile.
        """
        again = self._sent_at.get(job.id) == self.cluster.now
        self._sent_at[job.id] = self.cluster.now
        if self.ideal and not (again and any(map(_in_grace, self.cluster.running.values()))):
            return 0.0
        return self.parameters.requeue_hold

    def sent_back(self, job: Job, left: float) -> None:
        """Note that a job waits again, or is suspended; the run ends if it gets nowhere so."""
        if not self.livelock.sent_back(job.id, left):
            return
        cluster, to_come = self.cluster, self.agenda.to_come > 0
        ended = len(cluster.jobs) - len(cluster.waiting) - len(cluster.running) - len(cluster.suspended)
        starts = [
            other.run.start for other in cluster.running.values() if other.run is not None and ends(other, cluster)
        ]
        if self.livelock.stuck(job.id, cluster.now, ended, starts, to_come):
            self.endless = standstill(cluster.now, job.id, "preempted or requeued")


def _in_grace(job: Job) -> bool:
    return job.vacating and job.state is State.RUNNING
