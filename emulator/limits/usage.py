"""Past usage: seconds of resources by association and quality of service, with decay.

A running job adds to its association, to those above and to its qualities of service. Who
ran since the last period is in one rate for each row, so that a period costs a few
operations on arrays whatever runs; a start or an end costs as much as the tree is deep.

For ``dt`` seconds are charged ``resources x usage factor x dt x d ** dt``, where ``d`` is what
a second leaves of past usage; each period, past usage is multiplied by ``d`` to the power of
its seconds (observation F2). Source of ``d``: Slurm's documentation, priority_multifactor,
``PriorityDecayHalfLife``; the constant is that of the recorded Slurm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from emulator.limits.comparison import MINUTE, Comparison, Limited, whole_minutes
from emulator.limits.tres import BILLING, Vector
from emulator.limits.usage_kernel import Floats, Rows, add, charge, count

LOG_2 = 0.693
"""As many digits as Slurm has of it."""


class Span:
    """Periods through which the same jobs run: usage after any of them follows from that before the first.

    Args:
        usage: as it is before the first period.
        period: seconds.
        left: what a period leaves of each row.

    Attributes:
        period: as given.
        periods: how many have ended.
    """

    __slots__ = ("_left", "_remaining", "_total", "_tres", "_wall", "period", "periods")

    def __init__(self, usage: Usage, period: float, left: Floats) -> None:
        self.period = period
        self.periods = 0
        self._left = left
        self._tres, self._wall = usage.tres, usage.wall
        self._remaining, self._total = usage.remaining, usage.total

    def pass_by(self, usage: Usage, periods: int) -> None:
        """So many more periods end: past usage decays, and the jobs that run are charged."""
        self.periods += periods
        seconds, charged = self.period * self.periods, self.period * self._left
        left = self._left
        if self.periods > 1:
            # A geometric series, which is a multiple of the seconds where nothing decays.
            power = np.log(left)
            decays = power < 0.0
            times = np.full(len(left), float(self.periods))
            times[decays] = np.expm1(self.periods * power[decays]) / np.expm1(power[decays])
            left, charged = np.exp(self.periods * power), charged * times
        usage.tres = self._tres * left[:, None] + charged[:, None] * usage._rate
        usage.wall = self._wall * left + charged * usage._runs
        # The first row is the account root's, in which all count.
        usage.total = self._total + seconds * usage._rate[0]
        usage.remaining = self._remaining - seconds * usage._spending

    def grow(self, more: int, a_second_leaves: float) -> None:
        """There are so many more rows; usage goes on from where it did."""
        self._left = np.concatenate([self._left, np.full(more, a_second_leaves**self.period)])
        self._tres, self._wall = with_rows(self._tres, more), with_rows(self._wall, more)
        self._remaining = with_rows(self._remaining, more)


def with_rows(table: Floats, more: int) -> Floats:
    """A table or a column with so many more rows, of zeros."""
    return np.concatenate([table, np.zeros((more, *table.shape[1:]))])


def decay_of(half_life: float) -> float:
    """What a second leaves of past usage; all of it if there is no half-life (seconds)."""
    return 1.0 - LOG_2 / half_life if half_life > 0 else 1.0


class Meter:
    """What is being charged for one job; seconds.

    Args:
        rows: where it counts.
        amounts: resources times the usage factor.
        now: when it starts.
        limit: how long it may run at most.

    Attributes:
        rows, amounts: as given.
        since: up to when it is charged, if it began after the last period.
        until: when its limit is used up.
        steady: whether it is in the rates: it was there when the last period ended.
    """

    __slots__ = ("amounts", "rows", "since", "steady", "until")

    def __init__(self, rows: Rows, amounts: Floats, now: float, limit: float) -> None:
        self.rows = rows
        self.amounts = amounts
        self.since = now
        self.until = now + limit
        self.steady = False


class Usage:
    """Usage by row.

    Args:
        rows: how many there are.
        resources: how many kinds there are.
        half_life: seconds; 0 for no decay.
        tracked: whether what running jobs may still use is kept.
        last: second up to which rows are charged.
        period: seconds from the end of a period to that of the next; 0 for unknown. If several have ended at once,
            that comes to the same as one after the other.

    Attributes:
        tres: resource-seconds by row and resource.
        wall: seconds of run time by row.
        remaining: resource-seconds that running jobs may still use, as of the last period.
        last: second of the last period.
        total: resource-seconds that were charged to anybody, without decay.
    """

    def __init__(
        self, rows: int, resources: int, half_life: float, tracked: bool, last: float, period: float = 0.0
    ) -> None:
        self.tres: Floats = np.zeros((rows, resources))
        self.wall: Floats = np.zeros(rows)
        self.remaining: Floats = np.zeros((rows, resources))
        self.last = last
        self.total: Floats = np.zeros(resources)
        self._a_second_leaves = decay_of(half_life)
        self._decay: Floats = np.full(rows, self._a_second_leaves)
        self._rate: Floats = np.zeros((rows, resources))
        self._spending: Floats = np.zeros((rows, resources))
        self._runs: Floats = np.zeros(rows)
        self._tracked = tracked
        self._fresh: dict[Meter, None] = {}
        self._at_limit: list[tuple[float, int, Meter]] = []
        self._sequence = 0
        self._period = period
        self._span: Span | None = None
        self._decisions: set[tuple[Comparison, bool]] = set()
        self._of_loops: dict[str, set[tuple[Comparison, bool]]] = {}

    def beyond(self, comparison: Comparison) -> bool:
        """Whether usage is beyond a limit; noted for :meth:`decided_otherwise`."""
        found = self._beyond(comparison)
        self._decisions.add((comparison, found))
        return found

    def begin_pass(self, loop: str) -> None:
        """A loop makes its comparisons again; what it noted before is forgotten."""
        self._decisions = self._of_loops[loop] = set()

    def decided_otherwise(self) -> bool:
        """Whether any comparison that a loop made in its last pass would have another result now."""
        return any(
            self._beyond(comparison) is not found
            for decisions in self._of_loops.values()
            for comparison, found in decisions
        )

    def _beyond(self, comparison: Comparison) -> bool:
        kind, row, resource, most, more = comparison
        if kind is Limited.WALL:
            return bool(self.wall[row] / MINUTE >= most or more > most - round(float(self.wall[row]), 6) // MINUTE)
        if kind is Limited.USED:
            return whole_minutes(self.tres, row, resource) >= most
        if kind is Limited.RUNNING:
            return more + whole_minutes(self.remaining, row, resource) > most
        return more > most - whole_minutes(self.tres, row, resource) - whole_minutes(self.remaining, row, resource)

    def may_fade(self, cleared: bool) -> bool:
        """Whether there is a minute of past usage that decays, or that is cleared some time."""
        fading: NDArray[np.bool_] = np.full(len(self.wall), cleared) | (self._decay < 1.0)
        return bool((self.tres[fading] >= MINUTE).any() or (self.wall[fading] >= MINUTE).any())

    def without_past(self) -> Usage:
        """The same, as if no job had used anything so far."""
        other = copy(self)
        other._decisions = set()
        other.tres, other.wall = np.zeros_like(self.tres), np.zeros_like(self.wall)
        return other

    def grow(self, rows: int) -> None:
        """There are more rows, which asking for limits may bring, too: no usage changes."""
        more = rows - len(self.wall)
        if more <= 0:
            return
        for name in ("tres", "remaining", "_rate", "_spending", "wall", "_runs"):
            setattr(self, name, with_rows(getattr(self, name), more))
        self._decay = np.concatenate([self._decay, np.full(more, self._a_second_leaves)])
        if self._span is not None:
            self._span.grow(more, self._a_second_leaves)

    def forget(self, rows: Sequence[int], above: Sequence[int] = ()) -> None:
        """Past usage of rows is none; what the first of them had is taken from those above."""
        self._span = None
        for row in above:
            self.tres[row] = np.maximum(self.tres[row] - self.tres[rows[0]], 0.0)
            self.wall[row] = max(self.wall[row] - self.wall[rows[0]], 0.0)
        for row in rows:
            self.tres[row], self.wall[row] = 0.0, 0.0

    def keep(self, row: int, kept: bool) -> None:
        """Say of a row whether its usage stays as it is (``NoDecay``)."""
        self._span = None
        self._decay[row] = 1.0 if kept else self._a_second_leaves

    @property
    def raw(self) -> Floats:
        """Billed usage by row."""
        column: Floats = self.tres[:, BILLING]
        return column

    def start(self, rows: Rows, amounts: Vector, factor: float, now: float, limit: float) -> Meter:
        """A job starts; ``factor`` is the usage factor of its quality of service."""
        self._span = None
        meter = Meter(rows, np.array(amounts, dtype=float) * factor, now, limit)
        if self._tracked:
            add(self.remaining, rows, meter.amounts, limit)
        self._fresh[meter] = None
        return meter

    def relimit(self, meter: Meter, longer: float) -> None:
        """A running job has another limit: it may use so many seconds more, or fewer, from now on."""
        self._span = None
        since, until = self.last if meter.steady else meter.since, meter.until + longer
        if self._tracked:
            add(self.remaining, meter.rows, meter.amounts, max(until - since, 0.0) - max(meter.until - since, 0.0))
        if self._tracked and meter.steady:
            spends = int(until > self.last) - int(meter.until > self.last)
            add(self._spending, meter.rows, meter.amounts, float(spends))
            self._at_limit = [entry for entry in self._at_limit if entry[2] is not meter]
            heapify(self._at_limit)
            if until > self.last:
                self._push(meter, until)
        meter.until = until

    def _push(self, meter: Meter, until: float) -> None:
        self._sequence += 1
        heappush(self._at_limit, (until, self._sequence, meter))

    def end(self, meter: Meter, now: float, *, charged: bool = True, gives_back: Vector | None = None) -> None:
        """A job is over.

        Args:
            meter: its meter.
            now: second.
            charged: whether its time since the last period counts (observation F1).
            gives_back: the resources for which it could have used more; None for those that it was charged for.
        """
        self._span = None
        begin = self.last if meter.steady else meter.since
        if charged and now > begin:
            self._charge(meter, now - begin)
        if meter.steady:
            add(self._rate, meter.rows, meter.amounts, -1.0)
            count(self._runs, meter.rows, -1.0)
            if self._tracked and meter.until > self.last:
                add(self._spending, meter.rows, meter.amounts, -1.0)
        else:
            del self._fresh[meter]
        if self._tracked:
            given = meter.amounts if gives_back is None else np.array(gives_back, dtype=float)
            add(self.remaining, meter.rows, given, -max(meter.until - begin, 0.0))
            if gives_back is not None:
                np.maximum(self.remaining, 0.0, out=self.remaining)
        meter.steady = False

    def _charge(self, meter: Meter, seconds: float) -> None:
        charge(self.tres, self.wall, self._decay, meter.rows, meter.amounts, seconds)
        self.total += seconds * meter.amounts

    def period(self, now: float, *, reset: bool = False) -> None:
        """A period ends: past usage decays, and what ran since the last one is charged.

        Args:
            now: second.
            reset: whether past usage is cleared first.
        """
        self.decay(now, reset=reset)
        for meter in self._fresh:
            self._settle(meter, now)
        self._fresh.clear()
        self._stop_at_limits(now)

    def steady_until(self) -> float:
        """Before when periods that end at once come to the same as one after the other; the last one if none do."""
        if self._fresh:
            return self.last
        return self._at_limit[0][0] if self._at_limit else math.inf

    def advance(self, meter: Meter, now: float) -> None:
        """Charge one job that ran since the last period, which is left out of the rates."""
        if meter.steady or now <= meter.since:
            return
        self._span = None
        self._charge(meter, now - meter.since)
        if self._tracked:
            spent = max(min(now, meter.until) - meter.since, 0.0)
            add(self.remaining, meter.rows, meter.amounts, -spent)
        meter.since = now

    def decay(self, now: float, *, reset: bool = False) -> None:
        """The first part of a period: past usage decays, and those in the rates are charged."""
        seconds = now - self.last
        if reset:
            self._span = None
            self.tres[:], self.wall[:] = 0.0, 0.0
        if seconds <= 0:
            return
        whole = self._period > 0.0 and seconds % self._period == 0.0
        period = self._period if whole else seconds
        if self._span is None or self._span.period != period:
            self._span = Span(self, period, self._decay**period)
        self._span.pass_by(self, round(seconds / period))
        self.last = now

    def _settle(self, meter: Meter, now: float) -> None:
        """A job that began since the period before is charged, and is in the rates from now on."""
        self._span = None
        if now > meter.since:
            self._charge(meter, now - meter.since)
        meter.steady = True
        add(self._rate, meter.rows, meter.amounts, 1.0)
        count(self._runs, meter.rows, 1.0)
        if not self._tracked:
            return
        add(self.remaining, meter.rows, meter.amounts, meter.since - min(now, meter.until))
        if meter.until > now:
            add(self._spending, meter.rows, meter.amounts, 1.0)
            self._push(meter, meter.until)

    def _stop_at_limits(self, now: float) -> None:
        """What has reached its limit since the period before cannot use more than it may."""
        while self._at_limit and self._at_limit[0][0] <= now:
            until, _, meter = heappop(self._at_limit)
            if meter.steady and meter.until == until:
                self._span = None
                add(self._spending, meter.rows, meter.amounts, -1.0)
                add(self.remaining, meter.rows, meter.amounts, now - until)
