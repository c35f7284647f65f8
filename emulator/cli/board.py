"""What a terminal shows while many runs are made: a bar with rate and remaining time, and a live table."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from emulator.cli import shared
from emulator.cli.lines import lines

if TYPE_CHECKING:
    from rich.live import Live
    from rich.progress import Progress
    from rich.table import Table

    from emulator.campaign import Outcome, RunSpec

MOST_ROWS = 16
"""Rows of the live table: those that changed last."""
RATE_SECONDS = 300.0
"""The rate is that of so many seconds."""


@dataclass
class Row:
    """How far one policy is on one workload."""

    of: int = 0
    done: int = 0
    failed: int = 0
    total: float = 0.0


@contextmanager
def board(
    specs: Sequence[RunSpec], metric: str, wanted: bool | None = None
) -> Iterator[Callable[[Outcome], None] | None]:
    """Show what becomes of runs on standard error: a table on a terminal, elsewhere a line from time to time.

    Args:
        specs: the runs.
        metric: whose mean so far the table shows.
        wanted: True for the table wherever it goes, False for nothing.
    """
    if wanted is False:
        yield None
        return
    shown = Board(specs, metric)
    with _live(shown) if wanted or sys.stderr.isatty() else lines(shown.bar.tasks[0], shared.say):
        yield shown.report


def _live(shown: Board) -> Live:
    from rich.console import Group
    from rich.live import Live

    return Live(
        console=shared.console(stderr=True),
        get_renderable=lambda: Group(shown.table(), shown.bar),
        transient=True,
        refresh_per_second=2,
    )


class Board:
    """Counts outcomes.

    Args:
        specs: the runs.
        metric: whose mean so far the table shows.
    """

    def __init__(self, specs: Sequence[RunSpec], metric: str) -> None:
        self._metric = metric
        self._rows: dict[tuple[str, str], Row] = {}
        for spec in specs:
            self._rows.setdefault(_case(spec), Row()).of += 1
        self._left = len(specs)
        self.bar = _bar()
        self._task = self.bar.add_task("runs", total=self._left)

    def report(self, outcome: Outcome) -> None:
        """Take in what became of a run. What was kept from before is no work, and no part of the rate."""
        row = self._rows.pop(_case(outcome), Row())
        self._rows[_case(outcome)] = row
        row.done += not outcome.error
        row.failed += bool(outcome.error)
        row.total += outcome.numbers.get(self._metric, math.nan) if not outcome.error else 0.0
        if outcome.kept:
            self._left -= 1
            self.bar.update(self._task, total=self._left)
        else:
            self.bar.update(self._task, advance=1)

    def table(self) -> Table:
        """The cases that changed last."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        from emulator.metrics.catalogue import METRICS
        from emulator.report.numbers import UNKNOWN, printable, value_text

        grid = Table(box=box.SIMPLE_HEAD)
        for name in ("workload", "policy"):
            grid.add_column(name, overflow="fold")
        for name in ("done", "of", "failed"):
            grid.add_column(name, justify="right")
        known = METRICS.get(self._metric)
        if known is not None:
            grid.add_column(f"{known.title} so far", justify="right")
        for (workload, policy), row in list(self._rows.items())[-MOST_ROWS:]:
            cells: list[Any] = [Text(printable(workload)), Text(printable(policy)), f"{row.done:,}", f"{row.of:,}"]
            cells.append(f"{row.failed:,}" if row.failed else UNKNOWN)
            if known is not None:
                cells.append(value_text(known, row.total / row.done, 2) if row.done else UNKNOWN)
            grid.add_row(*cells)
        if len(self._rows) > MOST_ROWS:
            grid.caption = f"and {len(self._rows) - MOST_ROWS:,} more"
        return grid


def _case(run: RunSpec | Outcome) -> tuple[str, str]:
    return str(run.coordinates.get("workload", "")), str(run.coordinates.get("policy", run.name))


def _bar() -> Progress:
    """Bar, count, rate, time so far and time that remains."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        """Runs a second, or a minute where it takes longer."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            if not speed:
                return Text("")
            return Text(f"{speed:.1f}/s" if speed >= 1 else f"{60 * speed:.1f}/min")

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeElapsedColumn(),
        TextColumn("remaining"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, speed_estimate_period=RATE_SECONDS)
