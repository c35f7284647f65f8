"""Step functions of time: what stays as it is until it changes.

A step function is a pair of arrays ``(times, values)``, times ascending: ``values[i]`` holds
from ``times[i]`` until ``times[i + 1]``, the last one ever after, and 0 before the first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.metrics.jobs import Floats

Steps = tuple[Floats, NDArray[np.int64]]


def accumulate(instants: Floats, changes: NDArray[Any]) -> Steps:
    """The step function that changes by these whole amounts at these instants.

    Changes at one instant are one step: what comes and goes within no time is not seen.
    """
    times, index = np.unique(instants, return_inverse=True)
    change = np.bincount(index, weights=changes, minlength=len(times))
    return times, np.cumsum(np.rint(change).astype(np.int64))


def means_between(steps: Steps, edges: Floats) -> Floats:
    """Time average between each edge and the next; NaN between two edges that are one.

    Args:
        steps: the step function.
        edges: instants, ascending; one value fewer comes back.
    """
    times, values = steps
    if len(edges) < 2:
        return np.empty(0)
    width = np.diff(edges)
    if not len(times):
        return np.where(width > 0, 0.0, np.nan)
    last = max(float(edges[-1]), float(times[-1]))
    area = np.concatenate([[0.0], np.cumsum(values * np.diff(np.append(times, last)))])
    covered = np.diff(np.interp(edges, np.append(times, last), area))
    means: Floats = covered / np.where(width > 0, width, np.nan)
    return means


def peaks_between(steps: Steps, edges: Floats) -> NDArray[np.int64]:
    """Largest value from each edge until the next; one value fewer than edges."""
    times, values = steps
    starts = edges[:-1]
    at_edge = np.searchsorted(times, starts, side="right") - 1
    instants = np.concatenate([starts, times])
    held = np.concatenate([np.where(at_edge >= 0, np.append(values, 0)[at_edge], 0), values])
    inside = np.concatenate([np.ones(len(starts), bool), (times >= edges[0]) & (times < edges[-1])])
    instants, held = instants[inside], held[inside]
    order = np.argsort(instants, kind="stable")
    first = np.searchsorted(instants[order], starts)
    peaks: NDArray[np.int64] = np.maximum.reduceat(held[order], first)
    return peaks
