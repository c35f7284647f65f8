"""Simulated time: int64 microseconds inside the engine, seconds everywhere else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MICROSECONDS = 1_000_000
NEVER = -(2**63)
"""Stands in int64 columns of instants for what has not happened."""
EXACT = 2**53
"""A float holds each instant below it; a quotient of those is rounded once."""


def instant(seconds: float) -> int:
    """Seconds to microseconds, rounded to the nearest."""
    return round(seconds * MICROSECONDS)


def seconds(instant: int) -> float:
    """Microseconds to seconds, rounded once, also of an instant that no float holds."""
    return instant / MICROSECONDS


def nearest(number: int, parts: int) -> int:
    """A quotient of whole numbers as a whole number; a half is rounded up, whatever is added to the quotient."""
    return (2 * number + parts) // (2 * parts)


def instants(seconds: NDArray[np.float64]) -> NDArray[np.int64]:
    """As :func:`instant`, for a column."""
    return np.rint(seconds * MICROSECONDS).astype(np.int64)
