"""When the two loops look at the queue, and when they would find nothing that they did not find before."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from emulator.engine.agenda import Rank
from emulator.engine.part import Part
from emulator.engine.pings import Pings
from emulator.scheduling.entries import NEVER_SATISFIED, is_given_up, refresh_eligibility
from emulator.scheduling.windows import is_news, marks
from emulator.state.job import RESOURCES, Job
from emulator.state.run import State

if TYPE_CHECKING:
    from emulator.scheduling.controls import Loops
    from emulator.state.reservation import Reservation
    from emulator.state.run import Run
    from slurm_sim_plugins.nodes import Allocation

PURGE = 60.0
"""Seconds between two looks of the controller's loop at jobs that are over, too late, or wait in vain."""
NOTICED = 5.0
"""Seconds between two looks whether a reservation has begun."""
OF_QUALITY = "Job's_QOS_not_permitted"
"""How the reason of a job begins of which a partition does not take the quality of service."""
GLANCE = 1.0
"""Seconds until backfill looks again whether anything has changed, where nothing has."""


class Passes(Part):
    """The main loop and backfill.

    Args:
        shared: what all parts have.
        period: seconds from one time at which priorities are worked out to the next; 0 for never.

    Attributes:
        loops: which of the two there are.
        looks: seconds between two looks at the queue, at most.
        bf_interval: seconds from one cycle of backfill to the next, at least; 0 if one follows each pass.
        nap: seconds until backfill looks again whether there is anything new.
        plans_on: whether what the last cycle left is itself a reason for the next.
        version: a number for the cluster state.
        since: when anything but the end of a period happened last, in seconds.
        main_at: when the next pass of the main loop is to be, or None.
        passing: under the ideal clock, whether a pass goes on: what happens in it is seen by it, and needs no other.
        next_end: when the first of the runs was planned to end as backfill looked last.
        before_pass: is called before each pass and cycle, if that is wanted.
    """

    scheduler: Loops

    def __init__(self, shared: Part, period: float) -> None:
        super().__init__(**vars(shared))
        self._period = period
        self.bf_interval = self.policies.hooks.backfill_interval * self.timing.glance
        intervals = {"main": self.parameters.sched_interval, "backfill": self.bf_interval or math.inf}
        self.loops = tuple(loop for loop, interval in intervals.items() if interval < math.inf)
        self.looks = max((intervals[loop] for loop in self.loops), default=0.0)
        self.version, self.since = 0, 0.0
        self.nap, self.plans_on = self.bf_interval, False
        self._plans = self._marked = False
        self._glance = min(GLANCE * self.timing.glance, self.bf_interval)
        # Nodes have registered since backfill's thread began to sleep.
        self._cycle_at = self._changed_at = -self.timing.backfill_phase
        self.main_at: float | None = None
        # The last pass before the first submission: half a delay ago, for want of better knowledge.
        known = self.timing.round or self.timing.settled
        self._last_main = self._batch_at = -self.parameters.batch_sched_delay / (1 if known else 2)
        self._interval_at = -math.inf
        self.passing = self._full = self._unseen = False
        self.next_end = math.inf
        self._cycle_begun: tuple[int, float, int] | None = None
        self._paused_version = 0
        self.before_pass: Callable[[], None] | None = None
        self._looked, self._submitted = -1, list[list[Job]]()
        self._idle_renewals = 0
        self._looks: dict[float, float] = {}
        self._resv_look, self._noted_at = -self.timing.uptime, -math.inf
        self._nears: set[tuple[float, str]] = set()
        self._seen: dict[str, tuple[int, float, int]] = {}
        self._purges: dict[int, float] = {}
        self._preempts: dict[int, float] = {}
        interval = self.timing.ping or self.parameters.slurmd_timeout // 3
        self._pings = Pings(len(self.cluster.machine), interval, self.timing) if interval and not self.ideal else None
        self._ping_at = -math.inf

    def moved(self) -> None:
        """Something has happened for which the loops look at the queue again."""
        self.other_rules()
        self.record_changed()

    def other_rules(self) -> None:
        """The loops may find what they did not find before, when they next go round."""
        self.version += 1
        self.since = self.cluster.now

    def record_changed(self) -> None:
        """A record of a job changes: backfill goes round for that, whether or not there is anything new to find."""
        self._changed_at = self.cluster.now

    def prolog_begun(self, job: Job, run: Run) -> None:
        """PrologSlurmctld of a run begins, if there is one and its nodes are on: its end is a change of the record."""
        if not self.ideal and 0 < run.configuring < math.inf:
            self.agenda.at(run.start + run.configuring, "prolog over", job.id, len(job.runs))

    def prolog_over(self, number: int, run: int) -> None:
        """PrologSlurmctld of a run is over, which goes on: backfill goes round for that (recorded)."""
        job = self.cluster.jobs.get(number)
        if job is not None and job.run is not None and len(job.runs) == run:
            self.record_changed()

    def arrived(self, jobs: list[Job]) -> None:
        """Jobs were submitted, and have yet to be looked at."""
        self.moved()
        self._unseen = True
        self._submitted.append(jobs)
        self.look_as_reservations_near(jobs)

    def look_as_reservations_near(self, jobs: Iterable[Job]) -> None:
        """Jobs wait from now on, or for another length: they are looked at as reservations near."""
        for one in self.cluster.reservations.values() if not self.ideal else ():
            self._near(one, jobs)

    def leave_queue(self, job: Job, state: State) -> None:
        """A waiting job is given up."""
        self.moved()
        if self.cluster.accounting is not None:
            self.cluster.accounting.left(job)
        self.telling.left(job, state)
        self.cluster.dequeue(job)
        job.state = state
        if self.ideal:
            # Slurm queues no pass for that.
            self.request(self.cluster.now)

    # When

    def wake(self) -> None:
        """Have the queue looked at again."""
        self.moved()
        self.request(self.cluster.now)

    def due(self, told: bool = True) -> None:
        """A job may start from now on, or is too late, which Slurm's main loop finds out at its next pass.

        Args:
            told: whether that pass tells backfill; of components of heterogeneous jobs it does not.
        """
        self.version += 1
        self.since, self._unseen = self.cluster.now, self._unseen or told
        if self.ideal:
            self.request(self.cluster.now)
        elif self._pings is not None:
            # Nothing else may happen until then, and backfill finds it, too.
            at = self._pings.next(self.cluster.now)
            if at > self._ping_at:
                self._ping_at = at
                self.agenda.at(at, "pinged", at)

    def pinged_at(self, node: int) -> float | None:
        """When a node that nothing else happens on answers a ping; None if none is sent."""
        return None if self._pings is None else self._pings.answer_of(node, self.cluster.now)

    def ping(self, at: float) -> None:
        """Nodes are pinged in a round that is to come, out of their turn."""
        if self._pings is not None:
            self._pings.out_of_turn(at)
            if self._ping_at > self.cluster.now:
                self._ping_at = self._pings.next(self.cluster.now)
                self.agenda.at(self._ping_at, "pinged", self._ping_at)

    def heard_at(self, node: int) -> float:
        """When a node has answered the controller last, as a run began or ended there."""
        return -self.timing.uptime if self._pings is None else self._pings.heard_at(node)

    def pinged(self, at: float) -> None:
        """Nodes answer the controller's ping, unless it has come at another time since."""
        assert self._pings is not None
        if at == self._ping_at and self._pings.answered(self.cluster.now):
            self.record_changed()

    def heard(self, allocation: Allocation) -> None:
        """The nodes of a run have answered the controller."""
        if self._pings is not None:
            self._pings.heard(allocation, self.cluster.now)

    def wake_at(self, *times: float) -> None:
        """Have the queue looked at again at some times to come."""
        for at in times:
            if self.cluster.now <= at < math.inf:
                self.agenda.at(at, "wake", rank=Rank.WAKE)

    def reserved(self, one: Reservation) -> None:
        """Have jobs looked at when a reservation has begun, and when it is over: Slurm makes no pass for that.

        One that floats does neither.
        """
        if one.ahead:
            return
        now, rank = self.cluster.now, Rank.WAKE if self.ideal else Rank.OTHER
        if one.end >= now:
            self.agenda.at(one.end, "reservation over", one.name)
        noticed = math.inf if self.ideal else self.next_look(one.start, NOTICED)
        if noticed >= now:
            self.agenda.at(noticed, "reservation begins", one.name)
        # Under Slurm's clock it is over in the second after its end.
        for bound in (one.start, one.end) if self.ideal else (one.start, one.end, one.end + 1.0):
            if bound >= now:
                self.agenda.at(bound, "reservation bound", one.name, rank=rank)
        if not self.ideal:
            self._near(one, self.cluster.waiting.values())

    def reservation_bound(self, name: str) -> None:
        """A reservation begins or is over; it is asked again whether its jobs may be scheduled."""
        own = (job for job in self.cluster.waiting.values() if name in job.reservations)
        self.cluster.unsettled.update((job.id, job) for job in own)
        if self.ideal:
            self.wake()
        else:
            self.due()

    def _near(self, one: Reservation, jobs: Iterable[Job]) -> None:
        """Have the loops look again once a run of one of these jobs would not be over as a reservation begins."""
        begins = self.cluster.second_of(one.start)
        for limit in {job.shortest for job in jobs}:
            at = begins - limit + 1
            if at > self.cluster.now and (at, one.name) not in self._nears:
                self._nears.add((at, one.name))
                self.agenda.at(at, "reservation nears", one.name)

    def reservation_nears(self, name: str) -> None:
        """A run that begins now would not be over as a reservation begins: the loops find that when they go round."""
        self._nears = {near for near in self._nears if near[0] > self.cluster.now}
        self.other_rules()

    def look_at_preemptor(self, job: Job) -> None:
        """Others make way for a job: have the loops look again once more may, if it waits still."""
        pause = self.parameters.preempt_pause
        if not pause or job.made_way != self.cluster.now:
            return
        at = self.cluster.second_of(job.made_way) + pause
        if self._preempts.get(job.id) != at:
            self._preempts[job.id] = at
            self.agenda.at(at, "may preempt", job.id)

    def may_preempt(self, number: int) -> None:
        """Others may make way for a job again that waits still: the loops find that when they go round."""
        if self._preempts[number] <= self.cluster.now:
            del self._preempts[number]
        if number in self.cluster.waiting:
            self.other_rules()

    def next_look(self, start: float, period: float) -> float:
        """When the controller's loop looks next, from a time on, at what it looks at once in a period, in seconds."""
        if not self.timing.round:
            return start + -(start + self.timing.uptime) % period
        at = self._looks.get(period, math.inf)
        at = at if at <= start else -self.timing.uptime
        while at < start:
            self._looks[period] = at
            at = self.timing.round_after(at, period)
        return at

    def reservation_begins(self, name: str) -> None:
        """The controller's loop has seen that a reservation has begun, and queues a pass as for a submission.

        When it looks is not known to the round: where no pass was seen then, but one before the next look, it is that.
        """
        now = self.cluster.now
        if not self.ideal and self._batch_at <= now and not self.timing.may_pass_at(self._in_turn(0.0)):
            seen = self.timing.seen_within(now, NOTICED)
            if seen is not None:
                self.agenda.at(seen, "reservation begins", name)
                return
        self.moved()
        self.request_in_turn(0.0)

    def request_in_turn(self, lag: float) -> None:
        """Submissions, commands and ends are answered by one pass in each ``batch_sched_delay`` (observation B5).

        It counts from the last such pass on, or from the one at the end of an interval; passes that are made at once,
        when nodes are clear, do not count, and what is queued stays so.

        Args:
            lag: seconds until it comes at the earliest, where the rounds of the controller's loop are not known.
        """
        if self.ideal:
            self.request(self.cluster.now)
            return
        if self._batch_at <= self.cluster.now:
            self._batch_at = self._in_turn(lag)
        self.request(self._batch_at)

    def _in_turn(self, lag: float) -> float:
        now, parameters, timing = self.cluster.now, self.parameters, self.timing
        first = self.first_interval
        last = now - (now - first) % parameters.sched_interval if "main" in self.loops else now
        if timing.round:
            last = self._interval_at
        last = max(self._batch_at, last)
        delayed = last + parameters.batch_sched_delay
        if timing.round:
            delayed = timing.round_after(last, parameters.batch_sched_delay)
        return max(timing.pass_at(now + lag), delayed)

    def request_for_answer(self) -> None:
        """A node has answered that was resumed: a pass is queued as for a submission.

        Where it answers while the pass of its round still goes on none follows, which only what was seen tells.
        """
        if self.ideal or self._batch_at > self.cluster.now or self.timing.may_pass_at(self._in_turn(0.0)):
            self.request_in_turn(0.0)

    @property
    def first_interval(self) -> float:
        """When the first interval of the main loop is over, in seconds."""
        return -self.timing.uptime % self.parameters.sched_interval

    def request(self, at: float) -> None:
        """Have a pass of the main loop at a time, unless one comes before; two are ``sched_min_interval`` apart."""
        if "main" not in self.loops or self.passing:
            return
        at = max(at, self._last_main + self.parameters.sched_min_interval)
        if self.main_at is None or at < self.main_at:
            self.main_at = at
            self.agenda.at(at, "pass", at, rank=Rank.PASS if self.ideal else Rank.OTHER)

    def went_over(self, at: float) -> None:
        """The interval of the main loop was over before the first submission: it puts off passes after that, too."""
        self._interval_at = at

    def interval(self) -> None:
        """The interval of the main loop is over: the pass that follows goes over the whole queue."""
        self._interval_at = self.cluster.now
        self._ask_plugins()
        if self._news("main"):
            self._full = True
            # This pass does what was queued so far. It may be put off: a submission until then gets a pass of its own.
            self._batch_at = min(self._batch_at, self.cluster.now)
            self.request(self.cluster.now)
        elif self.intervals_matter():
            self._changed_at = self.cluster.now

    def calculate(self) -> None:
        """A period ends: usage decays, and waiting jobs get new priorities."""
        self.changes.all()
        if self.cluster.accounting is not None and self.cluster.accounting.period():
            self.version += 1
        if self.policies.period == self._period:
            self.renew()
        if self.ideal and self.any_news():
            self.request(self.cluster.now)

    def renew(self) -> None:
        """A period of the priority plugin ends: waiting jobs get new priorities."""
        self.changes.all()
        if self.policies.period and self.policies.renew():
            self.version += 1
            self._idle_renewals += not self.policies.renewal_matters
        if self.policies.period and self.has_numbers():
            self._changed_at = self.cluster.now

    def has_numbers(self) -> bool:
        """Whether any job that waits has a priority: Slurm notes that it was worked out, also where it is as before."""
        return any(job.priority for job in self.cluster.waiting.values())

    # What

    def main(self, at: float) -> None:
        """The main loop goes round, if that is still to be."""
        if self.main_at != at:
            return
        parameters = self.parameters
        if parameters.complete_wait and not parameters.reduce_completing_frag and any(self.cluster.just_ended()):
            self.main_at, self._last_main = None, at
            self._queue_again(at)
            return
        self.main_at, self._last_main = None, at
        self.changes.waits = True
        self._ask_plugins()
        before = self._begin("main")
        self.refresh()
        if self._news("main", idle_renewals=False):
            self.passing = self.ideal and self.scheduler.has_main_loop
            only_submitted = self.version - len(self._submitted) == self._looked
            submitted = [job for jobs in self._submitted for job in jobs] if only_submitted else None
            if not self.scheduler.run(submitted, self._full) and not self.ideal and not self._full:
                # The next pass over the whole queue has something to find; what is left out there, it leaves out again.
                before = (-1, *before[1:])
            self.passing = False
            if not self.bf_interval:
                self.scheduler.backfill()
        if self.bf_interval and self.ideal and "backfill" in self.loops:
            self.backfill()
        if self._unseen and any(job.reason != RESOURCES for job in self.cluster.waiting.values()):
            # Jobs get a reason, which backfill takes for news, unless they are those that others wait for.
            self._changed_at = self.cluster.now
        self._unseen = False
        if self._notes_lack() or (self._full and self.intervals_matter()):
            self._changed_at = self.cluster.now
        self._seen["main"], self._full = before, False
        self._looked, self._submitted = self.version, []
        self._queue_again(at)
        self.telling.passed()

    def _queue_again(self, at: float) -> None:
        """What is queued for the controller's loop stays so after a pass at once."""
        if self._batch_at > at and not self.ideal:
            self.request(self._batch_at)

    def backfill(self) -> None:
        """Backfill wakes up; it goes round if anything has changed since, by the second, and no job has just ended.

        Or a cycle goes on that has paused.
        """
        if self.scheduler.pause is not None:
            self._go_on()
            return
        if not self._changed() or any(self.cluster.just_ended()):
            self.nap = self._glance
            if self.ideal:
                self.agenda.at(self.cluster.now + 1, "backfill")
            return
        self.nap = self.bf_interval
        self._ask_plugins()
        if self._news("backfill"):
            self.changes.waits = True
            self._cycle_begun = self._begin("backfill")
            self.refresh()
            if self._news("backfill", idle_renewals=False):
                self.scheduler.backfill()
            if self._has_paused():
                return
            self._cycle_over()
        else:
            self.plans_on = self._plans or self._marked
        self._note_cycle()

    def _go_on(self) -> None:
        """A cycle of backfill goes on."""
        self.nap, self.changes.waits = self.bf_interval, True
        self.refresh()
        self.scheduler.backfill(self.version != self._paused_version)
        if self._has_paused():
            return
        self._cycle_over()
        self._note_cycle()

    def _note_cycle(self) -> None:
        """Note when backfill last went round."""
        self._cycle_at = self.cluster.now
        if self.plans_on:
            self._changed_at = self._cycle_at

    def _has_paused(self) -> bool:
        """Whether a cycle of backfill has paused: it goes on when its nap is over."""
        pause = self.scheduler.pause
        if pause is None:
            return False
        self.nap, self._paused_version = pause, self.version
        self.telling.passed()
        return True

    def _notes_qualities(self) -> bool:
        """Whether a cycle says of a job again that its partition does not take its quality of service: that is news."""
        accounting = self.cluster.accounting
        if self.ideal or accounting is None or not accounting.access.bars_qualities:
            return False
        ready = (job for job in self.cluster.waiting.values() if job.eligible is not None and not job.held_by)
        return any(why.startswith(OF_QUALITY) for job in ready for why in job.barred.values())

    def _cycle_over(self) -> None:
        """A cycle of backfill is over."""
        if self._cycle_begun is not None:
            # A job that started may have left room in the cycle's bounds for others.
            self._seen["backfill"] = self._cycle_begun
            self.next_end = self._first_end()
            kept = self.cluster.planned
            self._plans = (kept is not None and is_news(kept, self.cluster)) or self._notes_qualities()
            self.plans_on = self._plans or self._marked
            self._marked = kept is not None and marks(kept, self.cluster)
            if not self.ideal:
                self.telling.passed()

    def first_glance(self) -> float:
        """When backfill looks first whether there is anything new, in seconds."""
        slept, interval, phase = self.timing.backfill_phase, self.bf_interval, self.timing.glance_phase
        if phase is not None:
            slept += (-slept - phase + self._glance / 2) % self._glance - self._glance / 2
        if slept < interval:
            return interval - slept
        # A cycle came after the first sleep, and after the second one nothing has happened.
        self._cycle_at += interval
        return max(2 * interval - slept, -slept % self._glance)

    def refresh(self) -> None:
        """Look which jobs may be scheduled."""
        if self.before_pass is not None:
            self.before_pass()
        for job in refresh_eligibility(self.cluster, self.reservations):
            if job.held_by and not self.ideal:
                self._purge_later(job)
            else:
                self._leave_in_vain(job)

    def _purge_later(self, job: Job) -> None:
        """A job on hold depends in vain: it is given up as the controller's loop purges jobs, once a minute."""
        if self._purges.get(job.id, -math.inf) < self.cluster.now:
            at = self._purges[job.id] = self.next_look(self.cluster.now, PURGE)
            self.agenda.at(at, "purge", job.id)

    def purge(self, number: int) -> None:
        """Jobs are purged: one that waits still, and on hold, depends in vain."""
        if self._purges.get(number) == self.cluster.now:
            del self._purges[number]
        job = self.cluster.waiting.get(number)
        if job is not None and is_given_up(job, self.cluster):
            self._leave_in_vain(job)

    def _leave_in_vain(self, job: Job) -> None:
        """A job is given up, for what it depends on cannot be any more."""
        job.reason = NEVER_SATISFIED
        self.leave_queue(job, State.CANCELLED)

    def _begin(self, loop: str) -> tuple[int, float, int]:
        """A loop looks at the queue; returns the number of the cluster state, when, and of that the idle renewals."""
        if self.cluster.accounting is not None:
            self.cluster.accounting.begin_pass(loop)
        return self.version, self.cluster.now, self._idle_renewals

    def _ask_plugins(self) -> None:
        """Plugins may plan the jobs that wait, or give them numbers, before each pass."""
        if self.policies.before_pass():
            self.version += 1

    def _first_end(self) -> float:
        """When the first of the runs is planned to end."""
        if self.cluster.compiled is not None:
            return self.cluster.compiled.runs.first_end()
        return min(map(self.cluster.planned_end, self.cluster.running.values()), default=math.inf)

    # Whether

    def all_looked(self) -> bool:
        """Whether all loops have looked at the cluster state as it is, or will not."""
        if self.ideal:
            # A pass was asked for at once by all that calls for one; a command that is refused does not.
            return self.main_at is None
        if self.scheduler.pause is not None:
            return False
        looks = [loop for loop in self.loops if loop == "main" or self._changed()]
        return all(self._seen.get(loop, (-1,))[0] == self.version for loop in looks)

    def intervals_matter(self) -> bool:
        """Whether a pass that finds nothing has backfill go round: Slurm notes again which jobs wait for others."""
        if self._notes_lack():
            return True
        if self.ideal or self.parameters.rules.PLANS_ARE_NEWS or "backfill" not in self.loops:
            return False
        return any(job.reason == "Priority" for job in self.cluster.waiting.values())

    def _notes_lack(self) -> bool:
        """Whether each pass of the main loop notes of a job that it lacks nodes, also where it showed that already."""
        return self.cluster.noted_lack and not self.ideal and "backfill" in self.loops and bool(self.cluster.waiting)

    @property
    def stride(self) -> float:
        """Seconds from one look of backfill to the next from its next one on, if nothing happens; 0 if they vary."""
        if self.scheduler.pause is not None:
            return 0.0
        if self.plans_on:
            return self.bf_interval if self._plans else 0.0
        holds = any(one.active(self.cluster.now) for one in self.cluster.reservations.values())
        return 0.0 if holds or self._changed() else self._glance

    def _changed(self) -> bool:
        """Whether anything has changed in the second of backfill's last cycle, or since."""
        if self.ideal or self._changed_at >= self._cycle_at:
            return True
        changed = max(self._changed_at, self._noted())
        return self.cluster.whole(changed) >= self.cluster.whole(self._cycle_at)

    def _noted(self) -> float:
        """When the controller's loop last looked at reservations while one held.

        It notes of their nodes that they are reserved, whether or not they were before: so backfill goes round at each
        interval then (recorded in three versions).
        """
        if self.cluster.reservations:
            self._resv_look = self._last_look(self._resv_look)
            if any(one.active(self._resv_look) for one in self.cluster.reservations.values()):
                self._noted_at = self._resv_look
        return self._noted_at

    def _last_look(self, known: float) -> float:
        """When the loop last looked at reservations, from a look on that is known, in seconds."""
        now = self.cluster.now
        if not self.timing.round:
            return now - (now + self.timing.uptime) % NOTICED
        while (after := self.timing.round_after(known, NOTICED)) <= now:
            known = after
        return known

    def any_news(self) -> bool:
        """Whether any loop would find anything."""
        return any(map(self._news, self.loops))

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
        if loop == "backfill" and not self._changed():
            return False
        version, looked, idle = self._seen.get(loop, (-1, 0.0, 0))
        if version - (0 if idle_renewals else idle) != self.version - (0 if idle_renewals else self._idle_renewals):
            return True
        accounting = self.cluster.accounting
        exempt = max(self.parameters.preempt_exempt_time, accounting.exempts if accounting is not None else 0.0)
        if exempt and looked <= self.since + exempt:
            return True
        return loop == "backfill" and self.cluster.now >= self.next_end and bool(self.cluster.order)
