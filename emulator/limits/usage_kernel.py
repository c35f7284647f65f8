"""What one job adds to usage; a :mod:`kernel <slurm_sim_plugins.kernels>`.

A job counts in a few rows: those of its association and of all above it, and of its qualities of service.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


def add(table: Floats, rows: Rows, amounts: Floats, times: float) -> None:
    """Add so many times some amounts to rows of a table, each of which is named once."""
    for index in range(len(rows)):
        row = rows[index]
        for resource in range(len(amounts)):
            table[row, resource] += amounts[resource] * times


def count(column: Floats, rows: Rows, more: float) -> None:
    """Add a number to rows of a column, each of which is named once."""
    for index in range(len(rows)):
        column[rows[index]] += more


def charge(tres: Floats, wall: Floats, decay: Floats, rows: Rows, amounts: Floats, seconds: float) -> None:
    """Charge a job for some seconds, of which a part has decayed by now.

    Args:
        tres: resource-seconds by row.
        wall: seconds of run time by row.
        decay: what a second leaves of each row.
        rows: where the job counts.
        amounts: its resources.
        seconds: for which it ran.
    """
    for index in range(len(rows)):
        row = rows[index]
        # Cython's own operator multiplies for small whole exponents, which rounds otherwise.
        decayed = seconds * math.pow(decay[row], seconds)
        for resource in range(len(amounts)):
            tres[row, resource] += decayed * amounts[resource]
        wall[row] += decayed
