"""Changes of state where the ExecutionType has tiers: particular processors, moves, rates.

As :mod:`emulator.engine.apply`, of which it is a part that only such simulations load.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Any

from emulator.engine.apply import Apply
from emulator.execution.rates import Rates
from emulator.execution.tiers import Came, PastStay, Seat, end_of, settle
from emulator.state.events import WAKE
from emulator.state.instants import MICROSECONDS, instant
from slurm_sim_plugins.decisions import FIRST_TIER, Move
from slurm_sim_plugins.jobs import Job, Run
from slurm_sim_plugins.processors import Processors, highest
from slurm_sim_plugins.profile import RunEntry
from slurm_sim_plugins.tiers import Stay, StayFields, seal

_set = object.__setattr__
Seating = tuple[str, Processors | None, float]
"""Tier, processors (None for any) and seconds before the work begins."""
UNPLANNED = float("inf")
"""When a run is planned to end that lives on what others leave over."""


class TieredApply(Apply):
    """Changes the state, and knows of each run where it is and at which rate it works.

    What is free, and in the list of runs, are processors and runs of the first tier. Rates are
    asked for once an instant, by :meth:`settle`; until then a run that began or moved has
    no end.

    Args:
        args: as :class:`Apply`.
        rates: how fast runs progress.

    Attributes:
        past: the stays that are over.
    """

    def __init__(self, *args: Any, rates: Rates) -> None:
        super().__init__(*args)
        assert self._cluster_state.tiers is not None, "the cluster_state has no tiers"
        self.past: list[PastStay] = []
        self._tiers = self._cluster_state.tiers
        self._rates = rates
        self._seats: dict[int, Seat] = {}
        self._unsettled: dict[int, Seat] = {}
        self._stays = 0
        self._changes = 0
        for time in rates.changes:
            self._sequence += 1
            self._heap.push(time, WAKE, self._sequence, -1)

    def _occupy(self, job: Job, where: Seating | None) -> tuple[Any, ...]:
        """A run begins on processors that are idle in its tier."""
        tier, processors, setup = where or (FIRST_TIER, None, 0.0)
        if processors is None:
            processors = highest(self._tiers.idle(tier), job.processors)
        if tier != FIRST_TIER and self.watch.head is job:
            self.watch.started(job)
        stay = self._stay(job, tier, processors, self._cluster_state.now, self.now + instant(setup))
        if setup or job.planned_running != job.planned:
            self.changed = True
        return self._sit(stay, "start", setup + job.planned_running).entry, (tier, processors)

    def move(self, decision: Move, old: Stay, where: Processors) -> None:
        """A run goes from where it is to another tier, other processors, or both."""
        job, now = decision.job, self.now
        seat = self._rise(job.index)
        done, stalled = old._done, max(old._stalled, now) + instant(decision.cost)
        stay = self._stay(job, decision.tier, where, old.start, stalled)
        _set(stay, "_done", done)
        planned = decision.cost + job.planned_running if decision.planned is None else decision.planned
        self._sit(stay, "swap" if where == old.where else "migration", planned)
        self.changed = True
        assert seat.stay is old, "the run was somewhere else"
        if self._notifier is not None:
            self._notifier.moved(now, job, (decision.tier, where), decision.reason)

    def run_of(self, job: Job) -> Run:
        """The run of a job that runs."""
        return Run._make(self._seats[job.index].entry)

    def settle(self) -> None:
        """At the end of an instant: new rates and ends of the jobs of which something changed."""
        now, seats, unsettled = self.now, self._seats, self._unsettled
        if not unsettled:
            return
        # A run that ends at this very instant is left to do so.
        wanting = [seat for index, seat in unsettled.items() if seats.get(index) is seat and seat.end != now]
        unsettled.clear()
        if not wanting:
            return
        for seat, rate in zip(wanting, self._rates.ask([seat.stay for seat in wanting]), strict=True):
            if rate != seat.stay.rate or not seat.timed:
                self._time(seat, rate)

    def change_by_time(self) -> None:
        """At an instant at which rates change by themselves, all runs want new ones."""
        changes = self._rates.changes
        while self._changes < len(changes) and changes[self._changes] <= self.now:
            self._changes += 1
            self._unsettled.update(self._seats)

    def _time(self, seat: Seat, rate: float) -> None:
        """A run works at a rate from now on."""
        stay, now = seat.stay, self.now
        index = stay.job.index
        settle(stay, now)
        _set(stay, "rate", rate)
        seat.timed = True
        seat.end = end_of(stay, self._progress.duration[index], now)
        self._sequence = sequence = self._sequence + 1
        self._void(index, seat.entry, sequence)
        if seat.end is not None:
            self._heap.push(seat.end, self._progress.ends_by[index], sequence, index)
        if self._notifier is not None:
            self._notifier.rated(now, stay.job, rate)

    def _stay(self, job: Job, tier: str, where: Processors, start: float, stalled: int) -> Stay:
        """A stay that begins now, without progress before an instant."""
        self._stays += 1
        stay = StayFields(job, self._stays, tier, where, start, self._cluster_state.now)
        stay._settled, stay._stalled = self.now, stalled
        return seal(stay)

    def _sit(self, stay: Stay, came: Came, planned: float) -> Seat:
        """A stay begins; planned are seconds until its planned end."""
        cluster_state, job = self._cluster_state, stay.job
        index = job.index
        self._sequence = sequence = self._sequence + 1
        now = cluster_state.now
        entry: RunEntry
        if stay.tier == FIRST_TIER:
            entry = ((self.now + instant(planned)) / MICROSECONDS, sequence, job.processors, now, job)
            cluster_state.free = self.free = self.free - job.processors
            cluster_state._reservation = None
            if cluster_state._plan is not None:
                cluster_state._plan.started(job)
            insort(cluster_state._runs, entry)
            if self.watch.head is not None:
                self.watch.started(job)
        else:
            entry = (UNPLANNED, sequence, job.processors, now, job)
        self._tiers._enter(stay)
        self._seats[index] = self._unsettled[index] = seat = Seat(stay, entry, came, stay._done)
        self._void(index, entry, sequence)
        self._disturb(stay)
        return seat

    def _rise(self, index: int) -> Seat:
        """A stay ends."""
        cluster_state, seat = self._cluster_state, self._seats.pop(index)
        stay, entry = seat.stay, seat.entry
        settle(stay, self.now)
        self._tiers._leave(stay)
        if stay.tier == FIRST_TIER:
            entries = cluster_state._runs
            del entries[bisect_left(entries, entry)]
            cluster_state.free = self.free = self.free + entry[2]
            cluster_state._reservation = None
            if self.watch.head is not None:
                self.watch.ended(entry[4])
        self.past.append(seat.past(self._table.requeues[index] + 1, self.now))
        self._disturb(stay)
        return seat

    def _leave(self, index: int) -> RunEntry:
        """A run leaves its processors."""
        seat = self._rise(index)
        self.runs[index] = None
        self.changed = True
        self._tiers._left.add(seat.stay.tier)
        return seat.entry

    def _disturb(self, stay: Stay) -> None:
        """What is beside a stay that begins or ends wants a new rate."""
        for other in self._tiers.beside(stay):
            index = other.job.index
            self._unsettled[index] = self._seats[index]

    def _void(self, index: int, entry: RunEntry, sequence: int) -> None:
        """Only the event of this number ends the run of a job; earlier ones do no more."""
        self.runs[index] = (entry[0], sequence, *entry[2:])

    def _replanned(self, index: int, entry: RunEntry) -> None:
        """A run is planned to end at another time."""
        self._seats[index].entry = entry

    def _at_work(self, index: int) -> int:
        """How much work a run has done that is preempted now, in microseconds."""
        return round(self._tiers.progress(self._seats[index].stay) * MICROSECONDS)
