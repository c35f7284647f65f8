"""What a run is planned with when it outlives its planned end: the option ``expired``."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Literal

from slurm_sim_plugins.views import Job

Expired = Literal["limit", "now", "tsafrir", "again"]
Overdue = Callable[[Job, float, float], float]
"""From job, start and now (seconds) to the planned end; at or before now it counts as now."""

CORRECTIONS = (60, 300, 900, 1800, 3600, 7200, 18000, 36000, 72000, 180000, 360000)
"""Seconds that are added one after the other (Tsafrir, Etsion and Feitelson 2007, section 3.2)."""
TOTALS = tuple(accumulate(CORRECTIONS))


def at_limit(job: Job, start: float, now: float) -> float:
    """The longest that it can last; safe, as no run outlives that unless limits do not kill."""
    return start + job.longest


def at_once(job: Job, start: float, now: float) -> float:
    """Its first planned end, which has passed: it is expected to end at any time."""
    return start + job.planned_running


def corrected(job: Job, start: float, now: float) -> float:
    """Its first planned end, and growing corrections until it lies ahead; at most the longest that it can last."""
    planned = start + job.planned_running
    longest = start + job.longest
    return min(next((planned + total for total in TOTALS if planned + total > now), longest), longest)


def renewed(job: Job, start: float, now: float) -> float:
    """The longest that it can last, and as long again whenever that has passed."""
    longest = job.longest
    return start + longest * max(1.0, (now - start) // longest + 1.0)


OVERDUE: dict[Expired, Overdue] = {"limit": at_limit, "now": at_once, "tsafrir": corrected, "again": renewed}
"""By the value of ``expired``."""
