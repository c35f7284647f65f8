"""Metrics as tables for the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from emulator.metrics.catalogue import METRICS, Metric
from emulator.report.bands import band_text
from emulator.report.caption import About, caption, joint_caption, table
from emulator.report.grid import empty
from emulator.report.numbers import digits_of, duration_text, printable_lines, value_text

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from emulator.workload.jitter import Band

Summary = Mapping[str, float]

QUIET = {"Preemption": "requeues"}
"""Groups that are left out where nothing of the kind happened, and the metric that says so."""
BEST = "*"
MINUTE = 60
"""From this many seconds on, a duration is shown as h:mm:ss too."""


def run_table(
    summary: Summary,
    about: About | None = None,
    title: str | None = None,
    note: str = "",
    bands: Mapping[str, Band] | None = None,
) -> Table:
    """The metrics of one run.

    Args:
        summary: as from :func:`emulator.metrics.summary.summarise`.
        about: the content of ``run.toml``, for title and caption.
        title: by default the policy's label and the workload's name.
        note: a further line of the caption, such as an unusual threshold.
        bands: of each metric over repeats of the run, if there are any.
    """
    about = about or {}
    names = (table(about, "run").get("label"), table(about, "workload").get("name"))
    title = title if title is not None else " on ".join(str(name) for name in names if name)
    grid = _grid(title, caption(about), note)
    grid.add_column("metric", no_wrap=True)
    grid.add_column("value", justify="right", no_wrap=True)
    grid.add_column("unit", no_wrap=True, style="dim")
    if bands is not None:
        grid.add_column("band", justify="right", no_wrap=True)
    for metric, last in _rows([summary]):
        value = summary[metric.key]
        band = () if bands is None else (band_text(metric, bands[metric.key]),)
        grid.add_row(metric.title, value_text(metric, value), _unit(metric, value), *band, end_section=last)
    return grid


def compare_table(
    summaries: Mapping[str, Summary],
    abouts: Mapping[str, About] | None = None,
    title: str | None = None,
    note: str = "",
) -> Table:
    """The metrics of several runs, side by side; the best of a row is marked where lower is better.

    Args:
        summaries: by label.
        abouts: the content of each ``run.toml`` by label, for title and caption.
        title: by default the workload's name, if it is one.
        note: a further line of the caption, such as an unusual threshold.
    """
    abouts = abouts or {}
    names = {str(table(about, "workload").get("name", "")) for about in abouts.values()}
    title = title if title is not None else names.pop() if len(names) == 1 else ""
    rows = _rows(list(summaries.values()))
    values = {metric.key: [summary[metric.key] for summary in summaries.values()] for metric, _ in rows}
    marked = any(best(metric, values[metric.key]) for metric, _ in rows)
    legend = f"{BEST} best of the row, where lower is better" if marked else ""
    grid = _grid(title, joint_caption(abouts), note, legend)
    grid.add_column("metric", no_wrap=True)
    for label in summaries:
        grid.add_column(_plain(label), justify="right", overflow="fold")
    for metric, last in rows:
        heading = f"{metric.title} (s)" if metric.unit == "s" else metric.title
        grid.add_row(heading, *_cells(metric, values[metric.key]), end_section=last)
    return grid


def best(metric: Metric, values: Sequence[float]) -> set[int]:
    """Which values are the best as shown; none if all are, or if neither more nor less is better."""
    texts = _texts(metric, values)
    finite = [value for value in values if math.isfinite(value)]
    if not metric.lower_is_better or len(finite) < 2:
        return set()
    lowest = texts[list(values).index(min(finite))]
    winners = {index for index, text in enumerate(texts) if text == lowest}
    return winners if len(winners) < len(finite) else set()


def _cells(metric: Metric, values: Sequence[float]) -> list[Text]:
    """One row's cells: a number and its mark, and of long durations the clock time below."""
    from rich.text import Text

    winners = best(metric, values)
    clock = metric.unit == "s" and any(value >= MINUTE for value in values)
    cells = []
    for index, text in enumerate(_texts(metric, values)):
        cell = Text(text, style="bold" if index in winners else "")
        cell.append(BEST if index in winners else " ")
        if clock:
            cell.append(f"\n{duration_text(values[index])} ", style="not bold dim")
        cells.append(cell)
    return cells


def _texts(metric: Metric, values: Sequence[float]) -> list[str]:
    """Values of one row, all with the same digits after the point."""
    digits = max((digits_of(metric, value) for value in values), default=0)
    return [value_text(metric, value, digits) for value in values]


def _rows(summaries: Sequence[Summary]) -> list[tuple[Metric, bool]]:
    """The metrics that all summaries have and that say something, and whether each is the last of its group."""
    metrics = [metric for metric in METRICS.values() if all(metric.key in summary for summary in summaries)]
    quiet = {group for group, key in QUIET.items() if not any(summary.get(key) for summary in summaries)}
    metrics = [metric for metric in metrics if metric.group not in quiet]
    following = [*(metric.group for metric in metrics[1:]), None]
    return [(metric, metric.group != group) for metric, group in zip(metrics, following, strict=True)]


def _unit(metric: Metric, value: float) -> str:
    if metric.unit != "s":
        return ""
    return f"s  ({duration_text(value)})" if math.isfinite(value) and value >= MINUTE else "s"


def _grid(title: str, *notes: str) -> Table:
    return empty(printable_lines(title), printable_lines("\n".join(note for note in notes if note)))


def _plain(text: str) -> Text:
    """Text in which nothing is markup."""
    from rich.text import Text

    return Text(printable_lines(text))
