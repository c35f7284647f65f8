# cython: boundscheck=True, wraparound=True, nonecheck=True
"""A cycle of backfill, from one decision to the next; a :mod:`kernel <slurm_sim_plugins.kernels>`.

It makes the steps of :class:`slurm_sim_plugins.sched.backfill.Backfill` that start nothing: jobs on which nothing but
nodes and time decides, that is most, are tried and given slots here; it comes back where one can start, and for each
job on which more decides.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from emulator.scheduling.alike import (
    alike_from,
    alike_until,
    count_alike,
    count_planned,
    is_plainly_taken,
    length_of,
    waits_plainly,
)
from emulator.scheduling.searches import MOST_TOGETHER, Search, Searches
from emulator.scheduling.window_rows import FULL, GROW, NEVER, STARTS
from slurm_sim_plugins.sched.bounds import Bounds

if TYPE_CHECKING:
    from emulator.scheduling.windows_compiled import CompiledWindows
    from emulator.scheduling.windows_kernel import Work
    from emulator.state.job import Job
    from emulator.state.partition import Partition


class Keeping:
    """Slots for jobs alike, one after the other.

    Args:
        plan: of the cycle.
        searches: its searches.

    Attributes:
        entries: those that have slots.
        times: when these are to start, in seconds.
        hole: that of the last that was looked at, which has no slot; None if it found none.
    """

    __slots__ = ("_counts_cpus", "_plan", "_searches", "entries", "hole", "times")

    def __init__(self, plan: CompiledWindows, searches: Searches) -> None:
        self._plan, self._searches, self._counts_cpus = plan, searches, plan.counts_cpus
        self.entries: list[Any] = []
        self.times: list[float] = []
        self.hole: Any = None

    def keep(self, entries: list[Any], first: int) -> int:
        """Give slots to entries alike, from one on, up to one that could start now or is not to have a slot.

        The plan is to have looked at the runs that there are.

        Returns:
            The place behind the last that was looked at; where that has no hole, neither have those behind it.
        """
        plan, searches, many = self._plan, self._searches, len(entries)
        entry = entries[first]
        job, partition = entry._pair
        search = searches.of(job, partition, length_of(job), plan)
        by_plan = self._counts_cpus and self._is_by_plan(search, job, partition)
        self.hole = None
        while True:
            slots = plan.slots.columns
            placed, outcome, taken = searches.place(search, slots, min(many - first, MOST_TOGETHER), plan.tried)
            for index in range(placed):
                self.times.append(searches.starts[index])
            work = search.work
            if by_plan and work is not None:
                self._count(entries, first, placed, outcome, work)
            self.entries += entries[first : first + placed]
            first += placed
            if self._counts_cpus and work is not None and work.fitted:
                plan.fitted.add(search.sought)
            if outcome == GROW:
                plan.slots.grow(taken)
            elif outcome in (STARTS, FULL):
                assert work is not None
                self.hole = plan.found(entries[first], work, taken)
                return first + 1
            elif outcome == NEVER or first == many:
                if self._counts_cpus and outcome == NEVER:
                    plan.no_hole(entries[first:])
                return many

    def _is_by_plan(self, search: Search, job: Job, partition: Partition) -> bool:
        """Whether each plan says with how many CPUs a job counts."""
        if search.cpus < 0:
            search.cpus = self._plan.cpus_planned(job, partition)
        return search.cpus == inf

    def _count(self, entries: list[Any], first: int, placed: int, outcome: int, work: Work) -> None:
        """Jobs count with the CPUs that they would have: those with slots, and those that fit in vain."""
        count_planned(entries, first, self._searches.cpus, placed)
        if outcome == NEVER and work.planned > 0:
            # Where one fits but on nodes that are kept, those behind it are not tried at all.
            in_vain = entries[first + placed :] if work.tried < inf else [entries[first + placed]]
            count_alike(in_vain, work.planned)


class Cycle:
    """The queue, as a cycle of backfill tries it.

    Args:
        plan: of the cycle.
        searches: its searches.
        keeping: gives slots.
        entries: of the queue, in its order.
        bounds: how many of each kind are tried.
        left: how many are tried.
        decided: whether nothing but nodes and time decides, by the kind of the entries, as far as it is known.
        by_kind: whether that is so of all entries of a kind, or of none.
        to_start: whether those may be left out that stand behind all that could start.

    Attributes:
        left: how many more are tried.
        refused: whether the last that was tried could not start.
        began: whether the last that was tried has started, which ends the cycle if no more are to be tried.
    """

    __slots__ = (
        *("_array", "_at", "_bounds", "_by_kind", "_by_user", "_clears", "_decided", "_entries", "_first", "_hope"),
        *("_hopes", "_keeping", "_last", "_looked", "_news", "_plan", "_reach", "_reached", "_searches", "_to_start"),
        *("_together", "_tried", "began", "left", "refused"),
    )

    def __init__(
        self,
        plan: CompiledWindows,
        searches: Searches,
        keeping: Keeping,
        entries: list[Any],
        bounds: Bounds,
        left: int,
        decided: dict[Any, bool],
        by_kind: bool,
        to_start: bool,
    ) -> None:
        self._plan, self._searches, self._keeping = plan, searches, keeping
        self._entries, self._bounds, self.left = entries, bounds, left
        self._decided, self._by_kind, self._to_start = decided, by_kind, to_start
        self._first, self._last, self._reach = 0, len(entries), len(entries)
        self._tried: list[Any] = []
        self._at = 0
        self._array: Any = None
        self._by_user = self._clears = self._looked = self._news = self._reached = self._together = self.refused = False
        self.began = False
        self._hope: Search | None = None
        self._hopes = searches.hopes

    def next(self) -> tuple[Any, Any] | None:
        """Go on up to the next entry that is not given a slot here.

        Returns:
            The entry, and its hole; or None for one whose hole is yet to be sought. None if the cycle is over.
        """
        # Other runs may be there than before.
        self._plan.look_at_victims()
        self._looked = self._news = self._reached = False
        self._hope = None
        self._by_user, self._clears = self._plan.by_user, self._plan.clears
        while True:
            if self._at == len(self._tried):
                if not self._go_on():
                    return None
            elif not self._together:
                self._at += 1
                return self._tried[self._at - 1], None
            else:
                self.refused = True
                self._look()
                kept = len(self._keeping.entries)
                self._at = self._keeping.keep(self._tried, self._at)
                self.began = self.began and len(self._keeping.entries) == kept
                if self._keeping.hole is not None:
                    return self._tried[self._at - 1], self._keeping.hole

    def kept(self) -> tuple[list[Any], list[float]] | None:
        """The entries that were given slots since this was asked last, and when they start; None if there are none."""
        keeping = self._keeping
        entries, times = keeping.entries, keeping.times
        if not entries:
            return None
        keeping.entries, keeping.times = [], []
        return entries, times

    def _go_on(self) -> bool:
        """Go on to the next entries alike that are to be tried; False if there are no more."""
        entries = self._entries
        while self._first < len(entries):
            begin, entry = self._first, entries[self._first]
            self._together = self._is_decided(entry)
            until = begin + 1
            if self._together:
                joins = None if self._by_kind else self._plan.may_be_grouped
                until = alike_until(entries, begin, joins, self._by_user)
            if self._to_start and self._is_news_known() and not self._could_any_start():
                return False
            self._first = until
            array = None if entry.array is None else (entry.array, entry.partition)
            goes_on = array is not None and array == self._array
            if goes_on and self.refused:
                continue
            ends = self.began or not goes_on
            self._array, self.refused, self.began = array, False, False
            if self.left <= 0 and ends:
                return False
            if self._takes(entry):
                self._tried, self._at = self._bounds.first_of(entries[begin:until])[: max(self.left, 1)], 0
                self.left -= len(self._tried)
                if self._tried:
                    return True
        return False

    def _takes(self, entry: Any) -> bool:
        """Whether it waits still, and its partition takes it."""
        if not self._clears and is_plainly_taken(entry):
            return True
        takes: bool = self._plan.takes(entry)
        return takes

    def _is_decided(self, entry: Any) -> bool:
        """Whether nothing but nodes and time decides on an entry."""
        kind = entry._kind
        if kind is None:
            return False
        known = self._decided.get(kind)
        together: bool = self._plan.may_be_grouped(entry) if known is None else known
        return together

    def _look(self) -> None:
        """Have the plan look at the runs that there are, once before any other starts."""
        if not self._looked:
            self._plan.look_again()
            self._looked = True

    def _is_news_known(self) -> bool:
        """Whether more that is kept makes no difference to whether another cycle follows; that stays so."""
        if not self._news:
            self._news = self._plan.is_news_known()
        return self._news

    def _could_any_start(self) -> bool:
        """Whether any of the entries that are left could start now beside what is kept, before another run starts."""
        entries = self._entries
        self._look()
        if not self._reached:
            self._find_reach()
        if self._hopes != self._searches.hopes:
            self._hopes, self._last, self._hope = self._searches.hopes, self._reach, None
        # Of the last that could start nothing else is asked again while slots leave its nodes.
        hope = self._hope if self._last > self._first else None
        if hope is not None and self._searches.could_start_there(hope, self._plan.slots.columns):
            return True
        while self._last > self._first:
            entry = entries[self._last - 1]
            if not self._by_kind and not self._is_decided(entry):
                return True
            if self._could_start(entry):
                return True
            self._last = alike_from(entries, self._last - 1, self._by_user) if self._by_kind else self._last - 1
        return False

    def _find_reach(self) -> None:
        """Find the place behind the last that may be tried yet: each before it that surely is counts as one."""
        entries, left, reach = self._entries, self.left, self._first
        if self._clears or not self._bounds.are_none():
            reach = len(entries)
        # Of an array all tasks are tried once one is.
        while reach < len(entries) and (left > 0 or entries[reach].array is not None):
            if waits_plainly(entries[reach]):
                left -= 1
            reach += 1
        if reach > self._reach or reach < self._last:
            # Of those that are tried now after all it was not asked whether they could start.
            self._last, self._hope = reach, None
        self._reach, self._reached = reach, True

    def _could_start(self, entry: Any) -> bool:
        """Whether a job could start, or jobs alike; or its reason or number may change."""
        if not self._is_decided(entry):
            return True
        job, partition = entry._pair
        search = self._searches.of(job, partition, length_of(job), self._plan)
        if search.cpus < 0:
            search.cpus = self._plan.cpus_planned(job, partition)
        if search.cpus == inf:
            return True
        if search.cpus > 0:
            known: float = job.planned_cpus
            if search.cpus != known if known else self._counts_otherwise(search, job, partition):
                return True
        could = self._searches.could_start(search, self._plan.slots.columns)
        self._hope = search if could else None
        return could

    def _counts_otherwise(self, search: Search, job: Job, partition: Partition) -> bool:
        """Whether a job that was not planned yet counts with other CPUs once it is."""
        if job.counted_cpus:
            return self._plan.counts_otherwise(job, partition)
        if search.otherwise < 0:
            search.otherwise = self._plan.counts_otherwise(job, partition)
        return search.otherwise > 0
