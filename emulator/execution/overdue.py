"""What a run is planned with when it outlives its planned end: the option ``expired``."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate

from emulator.config.options import Expired
from emulator.state.instants import MICROSECONDS

Overdue = Callable[[int, int, int, int], int]
"""From start, first planned end, longest length and now to the planned end; at or before now it counts as now.

All in whole microseconds: what is equal is equal, whatever it was added up from.
"""

CORRECTIONS = (60, 300, 900, 1800, 3600, 7200, 18000, 36000, 72000, 180000, 360000)
"""Seconds that are added one after the other (Tsafrir, Etsion and Feitelson 2007, section 3.2)."""
TOTALS = tuple(total * MICROSECONDS for total in accumulate(CORRECTIONS))


def at_limit(start: int, planned: int, longest: int, now: int) -> int:
    """The longest that it can last; safe, as no run outlives that unless limits do not kill."""
    return start + longest


def at_once(start: int, planned: int, longest: int, now: int) -> int:
    """Its first planned end, which has passed: it is expected to end at any time."""
    return planned


def corrected(start: int, planned: int, longest: int, now: int) -> int:
    """Its first planned end, and growing corrections until it lies ahead; at most the longest that it can last."""
    latest = start + longest
    return min(next((planned + total for total in TOTALS if planned + total > now), latest), latest)


def renewed(start: int, planned: int, longest: int, now: int) -> int:
    """The longest that it can last, and as long again whenever that has passed."""
    longest = max(longest, 1)
    return start + longest * max(1, (now - start) // longest + 1)


OVERDUE: dict[Expired, Overdue] = {"limit": at_limit, "now": at_once, "tsafrir": corrected, "again": renewed}
"""By the value of ``expired``."""
