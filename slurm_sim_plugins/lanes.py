"""Which processors each run may be drawn on: a machine that only counts them knows no positions."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

Block = tuple[int, int]
"""Lanes from the first to just before the second."""

ENDLESS = 1 << 62


def assign_lanes(starts: Sequence[float], ends: Sequence[float], processors: Sequence[int]) -> list[list[Block]]:
    """Give each run the first free lanes at its start.

    Args:
        starts: one a run, ascending.
        ends: not before the start; the lanes are free again at that instant.
        processors: lanes of each run, 1 or more.

    Returns:
        For each run blocks of adjacent lanes, from low to high, as many lanes as it has
        processors. Runs that overlap in time never share a lane. If no more processors
        are in use than the machine has, all lanes lie within it.
    """
    free: list[Block] = [(0, ENDLESS)]
    running: list[tuple[float, int]] = []
    lanes: list[list[Block]] = []
    for run, (start, end, count) in enumerate(zip(starts, ends, processors, strict=True)):
        released = []
        while running and running[0][0] <= start:
            released += lanes[heappop(running)[1]]
        if released:
            free = _merged(free + released)
        taken, free = _take(free, count)
        lanes.append(taken)
        heappush(running, (end, run))
    return lanes


def _take(free: list[Block], count: int) -> tuple[list[Block], list[Block]]:
    """The first lanes, and what stays free. The last free block has no end, so there are always enough."""
    taken = []
    for index, (low, high) in enumerate(free):
        size = min(high - low, count)
        taken.append((low, low + size))
        count -= size
        if not count:
            rest = [(low + size, high)] if low + size < high else []
            return taken, rest + free[index + 1 :]
    raise AssertionError("the last free block has no end")


def _merged(blocks: list[Block]) -> list[Block]:
    merged: list[Block] = []
    for low, high in sorted(blocks):
        if merged and merged[-1][1] == low:
            merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return merged
