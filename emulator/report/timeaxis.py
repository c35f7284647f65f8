"""The horizontal axis of a plot over time: dates in UTC where the epoch is known, else a plain unit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from emulator.metrics.jobs import Floats
from emulator.report.numbers import DAY, date_of, duration_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UNITS = (("seconds", 1, 600), ("minutes", 60, 300), ("hours", 3600, 120), ("days", DAY, float("inf")))
"""Name and seconds of each unit, and how many of them it is used up to."""
WIDTHS = (60, 300, 900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY)
"""Seconds over which a plot may average."""


@dataclass(frozen=True)
class TimeAxis:
    """Where instants lie on the axis.

    Attributes:
        origin: instant at 0, in seconds on the trace's clock.
        unit: seconds of one step.
        label: what to write below.
        dates: whether it counts in days since 1970, UTC.
    """

    origin: float
    unit: float
    label: str
    dates: bool

    def __call__(self, instants: Floats) -> Floats:
        """Positions of instants."""
        return (np.asarray(instants, dtype=np.float64) - self.origin) / self.unit

    def draw(self, axes: Axes, first: float, last: float) -> None:
        """Set limits, ticks and label."""
        low, high = (float(value) for value in self(np.array([first, last])))
        axes.set_xlim(low, high if high > low else low + 1 / self.unit)
        axes.set_xlabel(self.label)
        if self.dates:
            from datetime import UTC

            import matplotlib.dates

            dates: Any = matplotlib.dates  # its classes have no types
            locator = dates.AutoDateLocator(tz=UTC, minticks=4, maxticks=9)
            axes.xaxis.set_major_locator(locator)
            axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator, tz=UTC))


def time_axis(first: float, last: float, epoch: int | None) -> TimeAxis:
    """The axis for what happened between two instants."""
    # The locator looks a little beyond both ends, and needs dates there.
    margin = 400 * DAY + (last - first)
    if epoch is not None and all(date_of(instant, epoch) for instant in (first - margin, last + margin)):
        return TimeAxis(-float(epoch), DAY, "date (UTC)", dates=True)
    name, unit = next((name, unit) for name, unit, most in UNITS if last - first <= most * unit)
    return TimeAxis(first, unit, f"{name} since the first submission", dates=False)


def bins(first: float, last: float, epoch: int | None, most: int) -> tuple[Floats, str]:
    """Edges between which to average, and the width in words.

    Args:
        first: edge to begin with.
        last: edge to end with, later than the first.
        epoch: Unix time of second 0, so that bins of a day are calendar days in UTC.
        most: largest number of bins, but for parts at both ends.
    """
    width = next((width for width in WIDTHS if last - first <= most * width), (last - first) / most)
    offset = (epoch or 0) if width in WIDTHS else -first
    inner = np.arange(np.floor((first + offset) / width) + 1, np.ceil((last + offset) / width)) * width - offset
    edges = np.concatenate([[first], inner[(inner > first) & (inner < last)], [last]])
    return edges, _in_words(width)


def _in_words(width: float) -> str:
    for name, unit in (("day", DAY), ("hour", 3600), ("minute", 60)):
        if width >= unit and width % unit == 0:
            return name if width == unit else f"{width // unit:.0f} {name}s"
    return duration_text(width)


def formatter(write: Callable[[float], str]) -> Any:
    """A tick formatter from a function of the value."""
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda value, _: write(value))
