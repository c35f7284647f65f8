"""Rows of a schedule as text: what runs when, on what."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from slurm_sim_plugins.lanes import Block, assign_lanes

WIDTH = 60
"""Columns of time."""
MOST = 40
"""Jobs that are drawn if nothing else is said."""
STEPS = (1, 2, 5, 10)


@dataclass(frozen=True)
class Bar:
    """One run of a job, or its stay on the same processors; times in seconds.

    Attributes:
        known: until when it has run for certain; from there to ``end`` it is planned to.
        preempted: whether it was sent back.
        where: where there are tiers: the processors, after the name of the tier if it is not
            the first.
        behind: whether it is in another tier than the first.
    """

    start: float
    end: float
    known: float
    preempted: bool = False
    where: str = ""
    behind: bool = False


@dataclass
class Row:
    """What is drawn of a job."""

    job: int
    processors: int
    submit: float
    bars: list[Bar] = field(default_factory=list)
    waits_until: float | None = None
    """Until when its waiting is drawn, if it still waits."""
    reserved: float | None = None
    reason: str = ""
    """Why it waits, where that is known."""
    lanes: list[Block] = field(default_factory=list)

    @property
    def first(self) -> float:
        """When it first ran; infinity if it never did."""
        return self.bars[0].start if self.bars else math.inf


def chart(rows: list[Row], processors: int, now: float | None, width: int = WIDTH, most: int = MOST) -> str:
    """Rows as text, one line each, on one scale of time; no more than ``most`` of them."""
    _set_on_lanes(rows)
    shown, left_out = rows[:most], len(rows) - most
    times = [time for row in shown for time in _times(row)] + ([now] if now is not None else [])
    if not times:
        return f"{processors} processors, no jobs"
    scale = Scale(min(times), max(times), width)
    head = f"{processors} processors; a column is {_seconds(scale.step)} s"
    table = [("job", "size", "on", scale.axis(), "")]
    table += [(str(row.job), str(row.processors), _on(row), scale.line(row), _in_words(row)) for row in shown]
    sizes = [max(len(cells[column]) for cells in table) for column in range(3)]
    lines = [head if now is None else f"{head}; now is {_seconds(now)}"]
    for cells in table:
        labels = [text.rjust(size) for text, size in zip(cells, sizes, strict=False)]
        lines.append("  ".join([*labels, *cells[3:]]).rstrip())
    if left_out > 0:
        lines.append(f"and {left_out:,} more jobs")
    return "\n".join(lines)


class Scale:
    """Columns of time."""

    def __init__(self, begin: float, end: float, width: int) -> None:
        self.step = _round_up((end - begin) / max(width - 1, 1))
        self._begin = math.floor(begin / self.step) * self.step
        self._columns = self._column(end) + 1

    def axis(self) -> str:
        """The times of some columns."""
        text = ""
        for column in range(0, self._columns, 10):
            if len(text) <= column:
                text = text.ljust(column) + _seconds(self._begin + column * self.step) + " "
        return text.rstrip().ljust(self._columns)

    def line(self, row: Row) -> str:
        """The line of a job."""
        cells = [" "] * self._columns
        since = row.submit
        for bar in row.bars:
            self._fill(cells, ".", since, bar.start)
            self._fill(cells, "-", bar.start, bar.end)
            self._fill(cells, "~" if bar.behind else "=", bar.start, bar.known)
            if bar.preempted:
                cells[self._last(bar.start, bar.end)] = "x"
            since = bar.end
        if row.waits_until is not None:
            self._fill(cells, ".", since, row.waits_until)
            if row.reserved is not None and row.reserved < math.inf:
                cells[self._column(row.reserved)] = ">"
        return "".join(cells)

    def _fill(self, cells: list[str], sign: str, begin: float, end: float) -> None:
        if end > begin:
            first, last = self._column(begin), self._last(begin, end)
            cells[first : last + 1] = sign * (last + 1 - first)

    def _column(self, time: float) -> int:
        return math.floor((time - self._begin) / self.step + 1e-9)

    def _last(self, begin: float, end: float) -> int:
        return max(self._column(begin), math.ceil((end - self._begin) / self.step - 1e-9) - 1)


def _set_on_lanes(rows: list[Row]) -> None:
    runs = sorted(
        ((bar.start, bar.end, row) for row in rows for bar in row.bars), key=lambda run: (run[0], run[1], run[2].job)
    )
    lanes = assign_lanes([run[0] for run in runs], [run[1] for run in runs], [run[2].processors for run in runs])
    for (_, _, row), blocks in zip(runs, lanes, strict=True):
        row.lanes = blocks


def _times(row: Row) -> Iterable[float]:
    yield row.submit
    for bar in row.bars:
        yield from (bar.start, bar.end)
    if row.waits_until is not None and row.reserved is not None and row.reserved < math.inf:
        yield row.reserved


def _on(row: Row) -> str:
    if row.bars and row.bars[-1].where:
        return row.bars[-1].where
    return ",".join(str(low) if high == low + 1 else f"{low}-{high - 1}" for low, high in row.lanes)


def _in_words(row: Row) -> str:
    said = [_bar_in_words(bar) for bar in row.bars]
    if row.waits_until is not None:
        waits = f"waits: {row.reason}" if row.reason else "waits"
        said.append(waits if row.reserved is None else f"{waits}, reserved at {_seconds(row.reserved)}")
    elif not row.bars:
        said.append("never ran")
    return "; ".join(said)


def _bar_in_words(bar: Bar) -> str:
    if bar.preempted:
        return f"{_seconds(bar.start)} to {_seconds(bar.end)}, preempted"
    planned = " planned" if bar.end > bar.known else ""
    where = f" on {bar.where}" if bar.behind else ""
    return f"{_seconds(bar.start)} to {_seconds(bar.end)}{planned}{where}"


def _round_up(step: float) -> float:
    """The next of 1, 2, 5, 10 ... seconds; at least a millisecond."""
    power = 10.0 ** math.floor(math.log10(max(step, 1e-3)))
    return next(rounded * power for rounded in STEPS if rounded * power >= step - 1e-12 or rounded == STEPS[-1])


def _seconds(time: float) -> str:
    return f"{time:.6f}".rstrip("0").rstrip(".") if math.isfinite(time) else str(time)
