"""Averages over jobs. What is NaN does not count; of nothing the average is NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.metrics.jobs import Floats

Numbers = NDArray[Any]


def known(values: Floats) -> Floats:
    """The values that are not NaN."""
    return values[~np.isnan(values)]


def mean(values: Floats) -> float:
    """Arithmetic mean."""
    return _of(known(values), np.mean)


def median(values: Floats) -> float:
    """Middle value; between two the mean of both."""
    return _of(known(values), _middle)


def largest(values: Floats) -> float:
    """Largest value."""
    return _of(known(values), np.max)


def weighted(values: Floats, weights: Numbers) -> float:
    """Sum of value times weight, over the sum of the weights.

    Args:
        values: one a job; NaN leaves the job out, weight and all.
        weights: one a job, such as processors, or the priority at start for the papers'
            weighted wait.
    """
    counts = ~np.isnan(values) & ~np.isnan(weights)
    total = float(np.sum(weights[counts]))
    return float(np.dot(values[counts], weights[counts])) / total if total else float("nan")


def _of(values: Floats, average: Any) -> float:
    return float(average(values)) if len(values) else float("nan")


def _middle(values: Floats) -> float:
    """As np.median, which imports masked arrays, for values that are not NaN."""
    low, high = (len(values) - 1) // 2, len(values) // 2
    ordered = np.partition(values, (low, high))
    return float(np.mean(ordered[low : high + 1]))
