"""Free processors over time, as planned: reservations and holes.

All times are float seconds; where a request ends is rounded to the microsecond, so that what
ends together does so in floats too. Pure Python and the reference for
:mod:`slurm_sim_plugins.profile_compiled`, which answers alike.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from slurm_sim_plugins.run_list import first_fit

RunEntry = tuple[float, int, int, float, Any]
"""(planned end, sequence, processors, start, job): a run as a plain tuple, which is made,
sorted and unpacked fastest."""
MICROSECONDS = 1e6
HALF_A_MICROSECOND = 5e-7


def earliest_start(processors: int, free: int, running: Iterable[RunEntry], now: float) -> tuple[float, int]:
    """When ``processors`` are first free at once, and how many are left over then.

    Args:
        processors: how many are wanted.
        free: how many are free now.
        running: what runs, ascending by planned end; an end that has passed counts as now.
        now: the current time.

    Returns:
        ``(time, extra)``. All that ends at one time is freed together.
        ``(inf, 0)`` when even an empty machine does not suffice.

    Source: the reservation of EASY; Mu'alem and Feitelson 2001, section 2.1.
    """
    return first_fit(processors, free, list(running), now)


def refuse_too_wide(processors: Sequence[int], machine: int) -> None:
    """Raise ValueError if a request wants more than the whole machine: there is no hole for it, ever."""
    widest = max(processors, default=0)
    if widest > machine:
        raise ValueError(f"a request wants {widest} processors, the whole machine has {machine}")


def _end(start: float, duration: float) -> float:
    return round((start + duration) * MICROSECONDS) / MICROSECONDS


class Profile:
    """A step function of time: how many processors are free from each time on.

    Args:
        now: where the profile begins.
        free: processors free now.
        running: what runs, ascending by planned end; an end that has passed counts as now.
    """

    __slots__ = ("_free", "_times")

    def __init__(self, now: float, free: int, running: Iterable[RunEntry]) -> None:
        times = [now]
        levels = [free]
        for end, _, freed, _, _ in running:
            free += freed
            if end <= times[-1]:
                levels[-1] = free
            else:
                times.append(end)
                levels.append(free)
        self._times = times
        self._free = levels

    def steps(self) -> list[tuple[float, int]]:
        """``(time, processors free from then on)``, ascending."""
        return list(zip(self._times, self._free, strict=True))

    def place(self, processors: Sequence[int], durations: Sequence[float], not_before: float) -> list[float]:
        """Take, for one request after the other, the earliest hole that is long enough.

        Args:
            processors: how many each request wants, at most the whole machine.
            durations: for how long, in seconds, more than 0.
            not_before: no request starts earlier.

        Returns:
            The start of each request, in the order given.

        Raises:
            ValueError: a request wants more than the whole machine.
        """
        refuse_too_wide(processors, self._free[-1])
        begin = self._begin(not_before)
        starts: list[float] = []
        # Holes only shrink here: a request starts no earlier than one that wanted as many for no longer.
        latest: dict[int, tuple[float, float]] = {}
        for wanted, duration in zip(processors, durations, strict=True):
            shorter, bound = latest.get(wanted, (0.0, begin))
            start = self._take(wanted, duration, bound if shorter <= duration else begin)
            latest[wanted] = duration, start
            starts.append(start)
        return starts

    def compress(
        self, processors: Sequence[int], durations: Sequence[float], starts: Sequence[float], not_before: float
    ) -> list[float]:
        """Move each request, in the order given, to an earlier hole where there is one.

        The requests first all take the slots that they hold (``starts``, a missed one
        counts as ``not_before``); then one after the other is lifted out and set down
        again. None moves later, unless what runs has outlived its planned end and
        stands where it was.

        Returns:
            The new start of each request.

        Raises:
            ValueError: a request wants more than the whole machine.
        """
        refuse_too_wide(processors, self._free[-1])
        begin = self._begin(not_before)
        held = [max(start, begin) for start in starts]
        for wanted, duration, start in zip(processors, durations, held, strict=True):
            self._add(start, _end(start, duration), -wanted)
        moved = []
        for wanted, duration, start in zip(processors, durations, held, strict=True):
            self._add(start, _end(start, duration), wanted)
            moved.append(self._take(wanted, duration, begin))
        return moved

    def earliest(self, wanted: int, duration: float, not_before: float) -> float:
        """When the earliest hole begins that is long enough; it is not taken.

        Args:
            wanted: how many processors, at most the whole machine.
            duration: for how long, in seconds.
            not_before: it does not begin earlier.
        """
        return self._hole(wanted, duration, self._begin(not_before))[0]

    def take(self, wanted: int, begin: float, end: float) -> None:
        """Take processors from ``begin`` to ``end`` (seconds), whether they are free or not."""
        self._add(max(begin, self._times[0]), max(end, self._times[0]), -wanted)

    def room(self, begin: float, duration: float) -> int:
        """How many processors are free at all times from ``begin`` on, for ``duration`` seconds."""
        first = max(bisect_right(self._times, begin) - 1, 0)
        return min(self._free[first : max(bisect_left(self._times, _end(begin, duration)), first + 1)])

    def _begin(self, not_before: float) -> float:
        """Make a step at the first time when a request may start, so that every hole begins with a step."""
        begin = max(not_before, self._times[0])
        self._step_at(begin)
        return begin

    def _take(self, wanted: int, duration: float, begin: float) -> float:
        """Take the earliest hole that begins with a step at or after ``begin``."""
        times, free = self._times, self._free
        start, end, step, beyond = self._hole(wanted, duration, begin)
        if beyond == len(times) or times[beyond] != end:
            times.insert(beyond, end)
            free.insert(beyond, free[beyond - 1])
        for inside in range(step, beyond):
            free[inside] -= wanted
        return start

    def _hole(self, wanted: int, duration: float, begin: float) -> tuple[float, float, int, int]:
        """The earliest hole that begins with a step at or after ``begin``: its begin and end, and steps of both."""
        times, free = self._times, self._free
        step = bisect_left(times, begin)
        while True:
            while free[step] < wanted:
                step += 1
            start = times[step]
            end = _end(start, duration)
            beyond = bisect_left(times, end, step)
            for ahead in range(beyond - 1, step, -1):
                if free[ahead] < wanted:
                    step = ahead + 1
                    break
            else:
                return start, end, step, beyond

    def _add(self, start: float, end: float, change: int) -> None:
        first = self._step_at(start)
        beyond = self._step_at(end)
        free = self._free
        for step in range(first, beyond):
            free[step] += change

    def _step_at(self, time: float) -> int:
        """Index of the step that begins at ``time``, which is made if there is none."""
        times = self._times
        step = bisect_left(times, time)
        if step == len(times) or times[step] != time:
            times.insert(step, time)
            self._free.insert(step, self._free[step - 1])
        return step
