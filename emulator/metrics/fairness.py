"""Delays that a job owes to jobs of lower priority.

One value a job; NaN for a job that the measure does not concern.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from emulator.metrics.jobs import THRESHOLD, Floats, Mask, column

if TYPE_CHECKING:
    from emulator.accounting.records import Records


def unfair_delay(records: Records) -> Floats:
    """Seconds that a blocked job waited although it could have started.

    That is since it first was head of the queue while idle processors and those of
    lower-priority jobs sufficed; only delays above 0 count.
    """
    delay = column(records, "start") - column(records, "could_start")
    return np.where(_blocked(records) & (delay > 0), delay, np.nan)


def reservation_violated(records: Records) -> Mask:
    """Which blocked jobs started after their reservation although they could have started by then."""
    reserved = column(records, "reserved")
    late = column(records, "start") > reserved
    return _blocked(records) & late & (column(records, "could_start") <= reserved)


def reservation_delay(records: Records) -> Floats:
    """DTR: seconds from reservation to start of each violated one."""
    delay = column(records, "start") - column(records, "reserved")
    return np.where(reservation_violated(records), delay, np.nan)


def slowdown_increase(records: Records, threshold: float = THRESHOLD) -> Floats:
    """SI: bounded slowdown, less what it would be had the job started at its reservation."""
    return reservation_delay(records) / np.maximum(column(records, "run"), threshold)


def _blocked(records: Records) -> Mask:
    return np.asarray(records.jobs["blocked"], dtype=bool)
