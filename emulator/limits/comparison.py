"""Comparisons of past usage, and of what running jobs may still use, with limits in minutes."""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MINUTE = 60.0


class Limited(Enum):
    """What of usage is compared with a limit.

    WALL: minutes of run time, with those of one more job. USED: minutes of a resource. RUNNING: minutes that running
    jobs may still use, with those of one more job. BOTH: the last two together.
    """

    WALL = auto()
    USED = auto()
    RUNNING = auto()
    BOTH = auto()


class Comparison(NamedTuple):
    """A comparison of usage with a limit.

    Attributes:
        kind: what is compared.
        row: whose usage.
        resource: which one; 0 for run time.
        most: the limit in minutes.
        more: minutes of the job that would start.
    """

    kind: Limited
    row: int
    resource: int
    most: float
    more: float = 0.0


def whole_minutes(table: NDArray[np.float64], row: int, resource: int) -> int:
    """Whole minutes of a resource in a row."""
    return int(round(float(table[row, resource]), 6) // MINUTE)
