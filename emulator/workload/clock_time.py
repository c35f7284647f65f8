"""Times as ``sbatch`` and ``scontrol`` take them: after now, of a day, or of a date (sbatch, ``--begin``)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_AFTER_NOW = re.compile(
    r"now(?:\+([0-9]{1,12})(s|second|seconds|minute|minutes|hour|hours|day|days|week|weeks)?)?", re.I
)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_NAMED = {"midnight": (0, 0, 0), "elevenses": (11, 0, 0), "noon": (12, 0, 0), "fika": (15, 0, 0), "teatime": (16, 0, 0)}
_CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?(am|pm)?", re.I)
_DATES = (
    re.compile(r"(?P<year>[0-9]{4})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})"),
    re.compile(r"(?P<month>[0-9]{1,2})[./](?P<day>[0-9]{1,2})(?:[./](?P<year>[0-9]{2}|[0-9]{4}))?"),
    re.compile(r"(?P<month>[0-9]{2})(?P<day>[0-9]{2})(?P<year>[0-9]{2})"),
)
FORMS = "now, now+NUMBERunit, HH:MM[:SS], noon, today, tomorrow, MM/DD[/YY] or YYYY-MM-DD[THH:MM[:SS]]"


def after_now(text: str) -> float:
    """``now+1hour`` as seconds.

    Raises:
        ValueError: it is not written so.
    """
    found = _AFTER_NOW.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not written as now, now+SECONDS or now+NUMBERunit (minutes, hours, days, weeks)")
    number, unit = found.groups()
    return float(int(number or 0) * _SECONDS[(unit or "s")[0].lower()])


def seconds_after(text: str, now: float) -> float:
    """Seconds from now to a moment; 0 for one that is over.

    A time of day without a date is the next one; dates are in UTC, as those that views print.

    Args:
        text: as ``sbatch --begin`` takes it.
        now: seconds since 1970.

    Raises:
        ValueError: it is no time.
    """
    if text.lower().startswith("now"):
        return after_now(text)
    present = datetime.fromtimestamp(now, UTC)
    try:
        return max((_moment(text, present) - present).total_seconds(), 0.0)
    except (OverflowError, ValueError):
        raise ValueError(f"{text!r} is no time, such as {FORMS}") from None


def _moment(text: str, present: datetime) -> datetime:
    date = clock = None
    for word in re.split(r"[\sT]+(?=[0-9])|\s+", text.strip()):
        if clock is None and (clock := _clock(word)) is not None:
            continue
        if date is not None or (date := _date(word, present)) is None:
            raise ValueError(word)
    hour, minute, second = clock or (0, 0, 0)
    found = (date or present).replace(hour=hour, minute=minute, second=second, microsecond=0)
    return found + timedelta(days=1) if date is None and found < present else found


def _clock(word: str) -> tuple[int, int, int] | None:
    if word.lower() in _NAMED:
        return _NAMED[word.lower()]
    found = _CLOCK.fullmatch(word)
    if found is None:
        return None
    hour, minute, second = (int(part or 0) for part in found.groups()[:3])
    if found.group(4):
        hour = hour % 12 + (12 if found.group(4).lower() == "pm" else 0)
    return hour, minute, second


def _date(word: str, present: datetime) -> datetime | None:
    if word.lower() in ("today", "tomorrow"):
        return present + timedelta(days=word.lower() == "tomorrow")
    for form in _DATES:
        if found := form.fullmatch(word):
            parts = {name: int(value) for name, value in found.groupdict().items() if value is not None}
            if "year" in parts:
                parts["year"] += 2000 if parts["year"] < 100 else 0
                return present.replace(**parts)  # type: ignore[arg-type]
            date = present.replace(**parts)  # type: ignore[arg-type]
            return date if date.date() >= present.date() else date.replace(year=date.year + 1)
    return None
