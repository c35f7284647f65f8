"""What comes again and again: sweeps, loops, periods, time slices.

It is left out where it would find nothing: that is most of the time of a log of months.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from typing import NamedTuple

from emulator.engine.agenda import Kind
from emulator.engine.part import Part
from emulator.engine.passes import Passes
from emulator.engine.standstill import Standstill
from emulator.engine.stints import Stints

SWEEP = 30.0
"""Seconds between two sweeps for exceeded limits (observation T2)."""

IN_ROUNDS = frozenset({"sweep", "main"})
"""What the controller's loop does in its rounds."""


class Tick(NamedTuple):
    """What is done again after each period.

    Attributes:
        kind: what is done.
        period: in seconds.
        first: second at which it is done first.
        order: how many others were set going before it.
    """

    kind: Kind
    period: float
    first: float
    order: int

    def due(self, at: float, number: int) -> Due:
        """Its entry among the ticks, which go in the order in which they came if none were left out; sweeps go first.

        Args:
            at: when it is done.
            number: its number among the events.
        """
        at = round(at, 6)
        since = round(at - self.period, 6) if at > self.first else -math.inf
        return at, self.kind != "sweep", since, -self.first, self.order, number, self


Due = tuple[float, bool, float, float, int, int, Tick]
"""When a tick is due, what orders those of one time, its number among the events, and itself."""


class Ticks(Part):
    """Ticks in their order.

    Args:
        shared: what all parts have.
        passes, stints, standstill: parts that say when there is something to find.
        sweeps: whether there are sweeps; under the ideal clock each run has an event at its limit.
        period: seconds from one time at which priorities are worked out to the next; 0 for never.
    """

    def __init__(
        self, shared: Part, passes: Passes, stints: Stints, standstill: Standstill, sweeps: bool, period: float
    ) -> None:
        super().__init__(**vars(shared))
        self._passes, self._stints, self._standstill = passes, stints, standstill
        self._sweeps, self._period = sweeps, period
        # Numbers of a plugin that says from when on a job grows no older change at the end of a period only.
        by_period = self.policies.period in (None, period) and hasattr(self.policies.priority, "max_age")
        self._ages = self.policies.period is not None and not by_period
        self._ticks: list[Due] = []
        self._period_due = 0.0
        self._begun = False

    def begin(self) -> None:
        """Set them going, if they are not."""
        if self._begun:
            return
        self._begun = True
        timing, passes, parameters = self.timing, self._passes, self.parameters
        if self._sweeps:
            self._every(SWEEP, "sweep", self._first_rounds(SWEEP)[1] if timing.round else timing.sweep_phase % SWEEP)
        if "backfill" in passes.loops and not self.ideal:
            self._every(passes.bf_interval, "backfill", passes.first_glance())
        if "main" in passes.loops and not self.ideal:
            interval = parameters.sched_interval
            before, first = self._first_rounds(interval) if timing.round else (-math.inf, passes.first_interval)
            passes.went_over(before)
            self._every(interval, "main", first)
        if self._period:
            self._period_due = timing.decays_since % self._period
            self._every(self._period, "period", self._period_due)
        if self.policies.period and self.policies.period != self._period:
            self._every(self.policies.period, "renewal", timing.decays_since % self.policies.period)
        if self.rows.gang is not None:
            self._every(parameters.time_slice, "slice", -timing.slice_phase % parameters.time_slice)

    def _first_rounds(self, period: float) -> tuple[float, float]:
        """Rounds of the controller's loop in which something is done that is done once in a period.

        The last one before the first submission, and the first one from that on.
        """
        before, at = -math.inf, -self.timing.uptime
        while at < 0:
            before, at = at, self.timing.round_after(at, period)
        return before, at

    def _every(self, period: float, kind: Kind, first: float) -> None:
        """Have something done at a time, and after each period."""
        first = round(first, 6)
        heappush(self._ticks, Tick(kind, period, first, len(self._ticks)).due(first, self.agenda.number()))

    @property
    def next(self) -> float:
        """When the next comes."""
        return self._ticks[0][0] if self._ticks else math.inf

    def is_next(self) -> bool:
        """Whether a tick comes next, and no event."""
        if not self._ticks:
            return False
        event = self.agenda.first
        return event is None or (self._ticks[0][0], self._ticks[0][5]) < (event[0], event[2])

    def take(self, does: Mapping[Kind, Callable[..., None]], until: float, observed: bool) -> None:
        """Do what is due, and once more after its period; or later, if until then there is nothing to find.

        Args:
            does: what each kind does.
            until: to when the run goes.
            observed: whether an observer looks at the end of each period, which is not left out then.
        """
        self.cluster.now, *_, tick = heappop(self._ticks)
        number = self.agenda.number()
        does[tick.kind]()
        passes, backfills, calculates = self._passes, tick.kind == "backfill", tick.kind == "period"
        if backfills:
            tick = tick._replace(period=passes.nap)
        at = self.cluster.now + tick.period
        if self.timing.round and tick.kind in IN_ROUNDS:
            # None is left out: a round that comes late moves those that follow.
            heappush(self._ticks, tick.due(self.timing.round_after(self.cluster.now, tick.period), number))
            return
        stride = passes.stride if backfills else tick.period
        quiet = 0.0
        if stride and at < self.agenda.next and not (calculates and observed):
            quiet = self._quiet_until(calculates, until)
        if quiet == math.inf:
            quiet = self._standstill.known_rest
        if backfills and 0 < stride < passes.bf_interval:
            # Nothing is new before anything else happens.
            quiet = max(quiet, min(self.agenda.next, self.next))
        if at < quiet < math.inf:
            # The last end of a period before anything happens is none that is left out: it sets priorities.
            at += (math.ceil((quiet - at) / stride) - calculates) * stride
            if backfills and (held_up := self.timing.glance_at(at - stride)) >= quiet:
                at = held_up
        if calculates:
            self._period_due = at
        if backfills and not passes.scheduler.pause:
            at = self.timing.glance_at(at)
        heappush(self._ticks, tick.due(at, number))

    def _quiet_until(self, calculates: bool, until: float) -> float:
        """Before when ticks find nothing, unless they have found something by now.

        Args:
            calculates: whether it is asked for the end of a period, which the other ticks wait for.
            until: to when the run goes.
        """
        waiting, accounting = self.cluster.waiting, self.cluster.accounting
        if (self.rows.gang is not None and not self.rows.gang.settled()) or (
            accounting is not None and accounting.counts_minutes
        ):
            return 0.0
        if waiting and (self._ages or self._passes.any_news() or self._passes.intervals_matter()):
            return 0.0
        quiet = min(self.agenda.next, self._stints.sweep_due if self._sweeps else math.inf)
        if self._sweeps and self.reservations.by_name:
            quiet = min(quiet, self.reservations.purge_due(), self.reservations.replace_due())
        if self.cluster.order:
            quiet = min(quiet, self._passes.next_end)
        if not self._period or (accounting is None and not waiting):
            return quiet
        return min(quiet, self._steady_until(until) if calculates else self._period_due)

    def _steady_until(self, until: float) -> float:
        """Before when no end of a period changes what is decided, but by what it leaves to the last of them."""
        if self.cluster.order or getattr(self.policies.priority, "never_falls", False):
            return 0.0
        seen = math.nextafter(until, math.inf)
        return seen if self.cluster.accounting is None else min(seen, self.cluster.accounting.steady_until())
