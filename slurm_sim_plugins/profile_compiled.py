"""The profile for long queues: as :class:`slurm_sim_plugins.profile.Profile`, compiled by numba.

The answers are those of the pure Python profile, to the bit. The first use compiles the
kernels, for a few seconds; numba keeps them on disk for later processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ParamSpec, TypeVar

import numpy as np

try:
    from numba import njit
except ImportError as error:
    raise ImportError(
        "the compiled profile needs numba, which cannot be imported: python -m pip install numba"
    ) from error

from slurm_sim_plugins.profile import MICROSECONDS, Profile, RunEntry, refuse_too_wide

_P = ParamSpec("_P")
_T = TypeVar("_T")
Whole = np.ndarray[tuple[int], np.dtype[np.int64]]
Real = np.ndarray[tuple[int], np.dtype[np.float64]]


class CompiledProfile(Profile):
    """A step function of time: how many processors are free from each time on.

    Args:
        now: where the profile begins.
        free: processors free now.
        running: what runs, ascending by planned end; an end that has passed counts as now.
    """

    __slots__ = ("_levels", "_marks")

    def __init__(self, now: float, free: int, running: Iterable[RunEntry]) -> None:
        super().__init__(now, free, running)
        # Arrays replace the lists of the pure Python profile.
        self._marks = _reals(self._times)
        self._levels = _wholes(self._free)
        del self._times, self._free

    def steps(self) -> list[tuple[float, int]]:
        """As :meth:`Profile.steps`."""
        return list(zip(self._marks.tolist(), self._levels.tolist(), strict=True))

    def place(self, processors: Sequence[int], durations: Sequence[float], not_before: float) -> list[float]:
        """As :meth:`Profile.place`, in one call of a kernel."""
        _refuse_unequal(processors, durations)
        refuse_too_wide(processors, int(self._levels[-1]))
        self._marks, self._levels, starts = _place(
            self._marks, self._levels, _wholes(processors), _reals(durations), float(not_before)
        )
        return _listed(starts)

    def compress(
        self, processors: Sequence[int], durations: Sequence[float], starts: Sequence[float], not_before: float
    ) -> list[float]:
        """As :meth:`Profile.compress`, in one call of a kernel."""
        _refuse_unequal(processors, durations, starts)
        refuse_too_wide(processors, int(self._levels[-1]))
        self._marks, self._levels, moved = _compress(
            self._marks, self._levels, _wholes(processors), _reals(durations), _reals(starts), float(not_before)
        )
        return _listed(moved)


def _refuse_unequal(*columns: Sequence[float]) -> None:
    if len(set(map(len, columns))) > 1:
        raise ValueError("the processors, durations and starts of the requests differ in number")


def _wholes(numbers: Sequence[int]) -> Whole:
    return np.array(numbers, dtype=np.int64)


def _reals(numbers: Sequence[float]) -> Real:
    return np.array(numbers, dtype=np.float64)


def _listed(numbers: Real) -> list[float]:
    listed: list[float] = numbers.tolist()
    return listed


def _compiled(function: Callable[_P, _T]) -> Callable[_P, _T]:
    kernel: Callable[_P, _T] = njit(cache=True)(function)
    return kernel


# What follows is Profile's algorithm, on arrays with room to grow: of `times` and `free`
# only the first `count` entries are in use.


@_compiled
def _place(times: Real, free: Whole, processors: Whole, durations: Real, not_before: float) -> tuple[Real, Whole, Real]:
    times, free, count = _with_room(times, free, 1 + 2 * len(processors))
    begin = max(not_before, times[0])
    count = _ensure_step(times, free, count, begin)
    starts = np.empty(len(processors))
    for request in range(len(processors)):
        starts[request], count = _take(times, free, count, processors[request], durations[request], begin)
    return times[:count], free[:count], starts


@_compiled
def _compress(
    times: Real, free: Whole, processors: Whole, durations: Real, held: Real, not_before: float
) -> tuple[Real, Whole, Real]:
    times, free, count = _with_room(times, free, 1 + 4 * len(processors))
    begin = max(not_before, times[0])
    count = _ensure_step(times, free, count, begin)
    held = np.maximum(held, begin)
    for request in range(len(processors)):
        end = _end(held[request], durations[request])
        count = _ensure_step(times, free, count, held[request])
        count = _ensure_step(times, free, count, end)
        _change(times, free, count, held[request], end, -processors[request])
    moved = np.empty(len(processors))
    for request in range(len(processors)):
        end = _end(held[request], durations[request])
        _change(times, free, count, held[request], end, processors[request])
        moved[request], count = _take(times, free, count, processors[request], durations[request], begin)
    return times[:count], free[:count], moved


@_compiled
def _end(start: float, duration: float) -> float:
    end: float = np.rint((start + duration) * MICROSECONDS) / MICROSECONDS
    return end


@_compiled
def _take(times: Real, free: Whole, count: int, wanted: int, duration: float, begin: float) -> tuple[float, int]:
    step = _first_from(times, count, begin)
    while True:
        while free[step] < wanted:
            step += 1
        start = times[step]
        end = _end(start, duration)
        beyond = step + 1
        while beyond < count and times[beyond] < end and free[beyond] >= wanted:
            beyond += 1
        if beyond == count or times[beyond] >= end:
            break
        step = beyond + 1
    count = _ensure_step(times, free, count, end)
    _change(times, free, count, start, end, -wanted)
    return start, count


@_compiled
def _change(times: Real, free: Whole, count: int, start: float, end: float, change: int) -> None:
    step = _first_from(times, count, start)
    while step < count and times[step] < end:
        free[step] += change
        step += 1


@_compiled
def _ensure_step(times: Real, free: Whole, count: int, time: float) -> int:
    """Make a step that begins at ``time`` if there is none; the new count."""
    step = _first_from(times, count, time)
    if step < count and times[step] == time:
        return count
    for later in range(count, step, -1):
        times[later] = times[later - 1]
        free[later] = free[later - 1]
    times[step] = time
    free[step] = free[step - 1]
    return count + 1


@_compiled
def _first_from(times: Real, count: int, time: float) -> int:
    """Index of the first step at or after ``time``."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if times[middle] < time:
            low = middle + 1
        else:
            high = middle
    return low


@_compiled
def _with_room(times: Real, free: Whole, more: int) -> tuple[Real, Whole, int]:
    count = len(times)
    roomy_times = np.empty(count + more)
    roomy_free = np.empty(count + more, dtype=np.int64)
    roomy_times[:count] = times
    roomy_free[:count] = free
    return roomy_times, roomy_free, count
