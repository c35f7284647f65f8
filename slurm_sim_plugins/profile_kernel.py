"""The algorithm of :class:`slurm_sim_plugins.profile.Profile` on arrays: a :mod:`kernel <slurm_sim_plugins.kernels>`.

The arrays have room to grow: of ``times`` and ``free`` only the first ``count`` entries are in use.
"""

from __future__ import annotations

import numpy as np

from slurm_sim_plugins.profile import MICROSECONDS

Whole = np.ndarray[tuple[int], np.dtype[np.int64]]
Real = np.ndarray[tuple[int], np.dtype[np.float64]]


def place(
    times: Real, free: Whole, count: int, processors: Whole, durations: Real, starts: Real, not_before: float
) -> int:
    """Fill in where each request starts, and take its processors; the new count of steps."""
    begin = max(not_before, times[0])
    count = _ensure_step(times, free, count, begin)
    for request in range(len(processors)):
        starts[request], count = _take(times, free, count, processors[request], durations[request], begin)
    return count


def compress(
    times: Real, free: Whole, count: int, processors: Whole, durations: Real, starts: Real, not_before: float
) -> int:
    """Move each request from its start to an earlier hole where there is one; the new count of steps."""
    begin = max(not_before, times[0])
    count = _ensure_step(times, free, count, begin)
    for request in range(len(processors)):
        starts[request] = max(starts[request], begin)
        end = _end(starts[request], durations[request])
        count = _ensure_step(times, free, count, starts[request])
        count = _ensure_step(times, free, count, end)
        _change(times, free, count, starts[request], end, -processors[request])
    for request in range(len(processors)):
        end = _end(starts[request], durations[request])
        _change(times, free, count, starts[request], end, processors[request])
        starts[request], count = _take(times, free, count, processors[request], durations[request], begin)
    return count


def _end(start: float, duration: float) -> float:
    end: float = np.rint((start + duration) * MICROSECONDS) / MICROSECONDS
    return end


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


def _change(times: Real, free: Whole, count: int, start: float, end: float, change: int) -> None:
    step = _first_from(times, count, start)
    while step < count and times[step] < end:
        free[step] += change
        step += 1


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
