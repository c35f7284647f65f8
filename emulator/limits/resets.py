"""When past usage is cleared: ``PriorityUsageResetPeriod``, at midnight (UTC) of a day that begins a period.

Source: Slurm's documentation, slurm.conf, ``PriorityUsageResetPeriod``.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

DAY = timedelta(days=1)
_MONTHS = {"MONTHLY": 1, "QUARTERLY": 3, "YEARLY": 12}


def next_reset(period: str, now: float, epoch: int = 0) -> float | None:
    """The next time at which past usage is cleared, in seconds; None if it is never.

    Args:
        period: ``NONE``, ``NOW`` (once, at once), ``DAILY``, ``WEEKLY`` (Sundays), ``MONTHLY``,
            ``QUARTERLY`` or ``YEARLY``.
        now: seconds.
        epoch: Unix time of second 0.
    """
    if period in ("", "NONE", "NOW"):
        # At its start a controller of the emulator has no past usage to be cleared.
        return None
    midnight = datetime.fromtimestamp(epoch + now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if period == "DAILY":
        following = midnight + DAY
    elif period == "WEEKLY":
        following = midnight + DAY * (7 - midnight.isoweekday() % 7)
    else:
        following = _month(midnight, _MONTHS[period])
    return following.timestamp() - epoch


def _month(day: datetime, months: int) -> datetime:
    """The first day of the next group of so many months, counted from January."""
    group = (day.month - 1) // months + 1
    years, month = divmod(group * months, 12)
    return day.replace(year=day.year + years, month=month + 1, day=1)
