"""How numbers, times and names are written for people."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from emulator.metrics.catalogue import Metric

UNKNOWN = "\N{EN DASH}"
"""Stands where there is no number."""
NOT_LOOKED_AT = "not looked at"
"""Stands where a run did not count."""
DAY = 86_400
_START_OF_TIME = datetime(1970, 1, 1, tzinfo=UTC)


def printable(text: object) -> str:
    """Text without control characters: what a trace or a file holds must not steer a terminal."""
    words = str(text)
    if words.isprintable():
        return words
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in words)


def printable_lines(text: object) -> str:
    """As :func:`printable`, but for ends of lines and tabs."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in str(text).split("\n"))


def value_text(metric: Metric, value: float, digits: int | None = None) -> str:
    """A metric's value, with its unit but for seconds and counts.

    Args:
        metric: which one it is.
        value: as in a summary.
        digits: after the point; by default two for seconds that are not whole, and what
            suits the unit.
    """
    if not math.isfinite(value):
        return NOT_LOOKED_AT if metric.unit in ("jobs", "times") else UNKNOWN
    if metric.unit == "share":
        return f"{100 * value:,.{2 if digits is None else digits}f} %"
    return f"{value:,.{digits_of(metric, value) if digits is None else digits}f}"


def digits_of(metric: Metric, value: float) -> int:
    """Digits after the point that suit a value."""
    if metric.unit in ("jobs", "times"):
        return 0
    if metric.unit == "s":
        return 0 if not math.isfinite(value) or value == round(value) else 2
    return 2 if metric.unit == "share" else 3


def duration_text(seconds: float) -> str:
    """Seconds as ``h:mm:ss``, from four days on with the days before."""
    if not math.isfinite(seconds):
        return UNKNOWN
    whole = round(abs(seconds))
    sign = "-" if seconds < 0 and whole else ""
    days, rest = divmod(whole, DAY) if whole >= 4 * DAY else (0, whole)
    clock = f"{rest // 3600}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{sign}{days:,} d {clock}" if days else f"{sign}{clock}"


def seconds_text(seconds: float) -> str:
    """Seconds as a number, with digits after the point only where there are some."""
    if not math.isfinite(seconds):
        return UNKNOWN
    return f"{seconds:,.0f}" if seconds == round(seconds) else f"{seconds:,.6f}".rstrip("0")


def instant_text(seconds: float, epoch: int | None) -> str:
    """An instant: a date in UTC where the epoch is known, else seconds on the trace's clock."""
    if not math.isfinite(seconds):
        return UNKNOWN
    date = date_of(seconds, epoch)
    if date is None:
        return seconds_text(seconds)
    fraction = f".{date.microsecond:06}".rstrip("0") if date.microsecond else ""
    return date.strftime("%Y-%m-%d %H:%M:%S") + fraction


def date_of(seconds: float, epoch: int | None) -> datetime | None:
    """The date in UTC of an instant; None if the epoch is not known or the calendar does not reach so far."""
    if epoch is None:
        return None
    try:
        date = _START_OF_TIME + timedelta(seconds=epoch + seconds)
    except (OverflowError, ValueError):
        return None
    # strftime does not pad years of fewer digits everywhere.
    return date if date.year >= 1000 else None
