"""Measures of single jobs: one value a job, NaN for a job that did not start or did not end.

Times are seconds. A threshold, too: jobs that run less than that count as if they ran so
long, lest a short job's slowdown hide all others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from emulator.accounting.records import Records

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

THRESHOLD = 10.0
"""Seconds; the papers' and the field's usual choice."""
DECIMALS = 6
"""Instants are whole microseconds; digits beyond are the noise of subtraction."""


def ended(records: Records) -> Mask:
    """Which jobs ran to an end, killed ones included."""
    return ~np.isnan(column(records, "start")) & ~np.isnan(column(records, "end"))


def column(records: Records, name: str) -> Floats:
    """A column of the job records as float64 (a file may hold whole numbers)."""
    return np.asarray(records.jobs[name], dtype=np.float64)


def in_state(records: Records, state: str) -> Mask:
    """Which jobs are in a state, such as ``REJECTED``."""
    return records.in_state(state)


def response(records: Records) -> Floats:
    """Seconds from submission to the end."""
    spent = np.round(column(records, "end") - column(records, "submit"), DECIMALS)
    return np.where(ended(records), spent, np.nan)


def wait(records: Records) -> Floats:
    """Seconds that a job did not work: end - submit - run.

    For a job that ran once this is start - submit. For one that was sent back to the queue
    it holds the work that was lost and the overhead of checkpoints, too.
    """
    waited = np.round(response(records) - column(records, "run"), DECIMALS)
    return waited + 0.0  # -0.0 becomes 0.0


def slowdown(records: Records) -> Floats:
    """Response over run; NaN for a job of 0 s, which has none."""
    run = column(records, "run")
    return response(records) / np.where(run > 0, run, np.nan)


def bounded_slowdown(records: Records, threshold: float = THRESHOLD) -> Floats:
    """(wait + max(run, threshold)) / max(run, threshold): 1 for a job that never waited."""
    length = np.maximum(column(records, "run"), threshold)
    return _ratio(wait(records) + length, length)


def bounded_slowdown_feitelson(records: Records, threshold: float = THRESHOLD) -> Floats:
    """max(1, response / max(run, threshold)), the other usual definition.

    It differs for jobs below the threshold only: they may wait up to it unnoticed.
    """
    length = np.maximum(column(records, "run"), threshold)
    return np.maximum(1.0, _ratio(response(records), length))


def _ratio(part: Floats, whole: Floats) -> Floats:
    """Quotient; NaN where the divisor is 0, which a threshold of 0 makes possible."""
    return part / np.where(whole > 0, whole, np.nan)
