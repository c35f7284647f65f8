"""A paper's tables beside ours: for the terminal, as Markdown, and as data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Any

from slurm_sim_studies.papers.cells import (
    COUNTING_RULES,
    FAR,
    NEAR,
    TRIVIAL,
    Cell,
    beyond,
    counted,
    mean_distance,
    within,
)

if TYPE_CHECKING:
    from rich.table import Table

    from slurm_sim_studies.papers.claims import Claim
    from slurm_sim_studies.papers.search import Search, Tried
    from slurm_sim_studies.papers.weeks import WithoutWeek


def number(value: float) -> str:
    """With as many digits as a paper would print."""
    if value != value:
        return "-"
    if abs(value) >= 1000 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.2f}"


def summary(cells: Sequence[Cell]) -> str:
    """How near the cells are; those of tables 1 and 2, whose rules the papers do not state, on a line of their own."""
    parts = {
        "Tables 4 to 11": [cell for cell in cells if cell.table not in COUNTING_RULES],
        "Tables 1 and 2": [cell for cell in cells if cell.table in COUNTING_RULES],
    }
    return "\n".join(f"{name}: {_summary(members)}" for name, members in parts.items() if members) or "No cells."


def _summary(cells: Sequence[Cell]) -> str:
    once = counted(cells)
    if not once:
        return f"{len(cells)} cells, all of them trivial."
    far, worst = beyond(once), max(once, key=lambda cell: cell.distance)
    strict = sum(abs(cell.ours / cell.printed[0] - 1) <= NEAR for cell in once) / len(once)
    return (
        f"{len(cells)} cells, {len(once)} numbers that are neither trivial nor printed twice: "
        f"{100 * within(once, NEAR):.1f} % within {100 * NEAR:.0f} %, {len(far)} beyond {100 * FAR:.0f} %; mean "
        f"distance {mean_distance(once):.4f}; largest {100 * worst.difference:+.1f} % (table {worst.table}, "
        f"{worst.row}, {worst.column}). Trivial are those that follow from the log and from other cells: "
        f"{', '.join(TRIVIAL)}. Where the papers contradict themselves the nearer value counts; by the first one "
        f"{100 * strict:.1f} % are within."
    )


def cells_table(cells: Sequence[Cell], title: str) -> Table:
    """All cells as one table for the terminal."""
    from rich.table import Table

    grid = Table(title=title)
    for heading in ("table", "row", "workload"):
        grid.add_column(heading, no_wrap=True)
    for heading in ("paper", "ours", "difference"):
        grid.add_column(heading, justify="right", no_wrap=True)
    for (_, last), group in _tables(cells):
        members = list(group)
        for index, cell in enumerate(members):
            grid.add_row(*_row(cell), end_section=index + 1 == len(members), style=None if _near(cell) else "bold")
        del last
    return grid


def markdown(
    cells: Sequence[Cell],
    claims: Sequence[Claim],
    options: Mapping[str, Any],
    search: Sequence[str] = (),
    weeks: Sequence[WithoutWeek] = (),
) -> str:
    """The whole reproduction as Markdown.

    Args:
        cells: tables of the paper beside ours.
        claims: what is claimed of its figures.
        options: how it was run.
        search: lines about the search for the reading.
        weeks: MBS with and without the heaviest week.
    """
    lines = ["# PV-EASY: the papers' tables beside ours", "", summary(cells), ""]
    lines += ["| option | value |", "|---|---|", *(f"| {key} | {value} |" for key, value in options.items()), ""]
    for (paper, table), group in _tables(cells):
        members = list(group)
        lines += [f"## {paper}, table {table}: {members[0].title}", ""]
        lines += ["| row | workload | paper | ours | difference |", "|---|---|---:|---:|---:|"]
        lines += ["| " + " | ".join(_row(cell)[1:]) + " |" for cell in members] + [""]
    if claims:
        lines += [
            "## Claims of the figures",
            "",
            "| source | workload | claim | holds | ours |",
            "|---|---|---|---|---|",
        ]
        lines += [
            f"| {one.source} | {one.column} | {one.text} | {'yes' if one.holds else '**no**'} | {one.figures} |"
            for one in claims
        ]
        lines.append("")
    if weeks:
        lines += ["## MBS with and without the heaviest week", "", *_WEEKS.split("\n")]
        lines += ["| " + " | ".join(_week_row(one)) + " |" for one in weeks] + [""]
    return "\n".join([*lines, *search])


_WEEKS = """\
The heaviest week is that of which the jobs' slowdowns add up to most over all runs of the workload; weeks are counted
from second 0 of the log's clock, and a job belongs to that of its submission.

| workload | week | its jobs | run | MBS | without it |
|---|---:|---:|---|---:|---:|"""


def weeks_table(weeks: Sequence[WithoutWeek]) -> Table:
    """MBS with and without the heaviest week, for the terminal."""
    from rich.table import Table

    grid = Table(title="MBS with and without the heaviest week of each log")
    for heading in ("workload", "week", "its jobs", "run", "MBS", "without it"):
        grid.add_column(heading, justify="left" if heading in ("workload", "run") else "right", no_wrap=True)
    for one in weeks:
        grid.add_row(*_week_row(one))
    return grid


def _week_row(one: WithoutWeek) -> tuple[str, ...]:
    return one.column, str(one.week), str(one.jobs), one.run, number(one.mbs), number(one.without)


def search_lines(found: Search, columns: Sequence[str]) -> list[str]:
    """What the search found, as Markdown."""
    from slurm_sim_studies.papers.search import effects, leave_one_out

    lines = [
        "## The search for the reading",
        "",
        f"{len(found.tried)} readings, ranked by the mean absolute logarithm of ours over the paper's, first over the "
        "cells of EASY and of PV-EASY with kill and restart; tables 1 and 2 do not count.",
        "",
        *_READINGS,
        _reading_row("start", found.start, found.presets),
        _reading_row("presets", found.presets, found.presets),
        _reading_row("nearest", found.best, found.presets),
        "",
    ]
    for title, of in (("the start", found.start), ("the nearest", found.best)):
        lines += [f"Each other answer alone, from {title}:", ""]
        lines += ["| question | answer | change of the distance | the numbers are |", "|---|---|---:|---|"]
        lines += [_effect_row(*effect) for effect in effects(found.tried, of)] + [""]
    lines += ["The nearest readings, and in what they differ from the presets:", "", *_READINGS]
    lines += [_reading_row(str(index), one, found.presets) for index, one in enumerate(found.tried[:10], 1)]
    lines += ["", "The best of these by the cells of all runs:", "", *_READINGS]
    lines += [_reading_row(str(index), one, found.presets) for index, one in enumerate(found.finals, 1)]
    lines += [
        "",
        "Of these, chosen on the other traces, judged on this one. The choice is not nested: which readings stand to "
        "be chosen comes from the search above, which saw all traces, and the presets were found by it, too. A "
        "distance here is therefore lower than it would be on a trace that nothing was fitted to.",
        "",
    ]
    lines += ["| trace | distance | of the presets | chosen: differs from the presets in |", "|---|---:|---:|---|"]
    for left in leave_one_out(found, columns):
        changed = _answers(left.chosen, found.presets)
        lines.append(f"| {left.column} | {left.distance:.4f} | {left.presets_distance:.4f} | {changed} |")
    return [*lines, "", *_far_lines(found), ""]


_READINGS = ("| reading | distance | within 5 % | answers |", "|---|---:|---:|---|")


def rules_lines(found: Search, table: int, questions: Sequence[str], most: int = 12) -> list[str]:
    """What the search for the rule of one table found, as Markdown."""
    rows = list(dict.fromkeys(cell.row for cell in found.presets.cells))
    lines = [
        f"### The rule of table {table}",
        "",
        f"{len(found.tried)} candidates; the nearest, and the presets:",
        "",
        "| " + " | ".join([*questions, "distance", *(row.partition(" ")[2] for row in rows)]) + " |",
        "|" + "---|" * len(questions) + "---:|" * (1 + len(rows)),
    ]
    for one in dict.fromkeys([*found.tried[:most], found.presets]):
        answers = [str(getattr(one.reading, question)) for question in questions]
        cells = [", ".join(f"{100 * cell.difference:+.0f} %" for cell in one.cells if cell.row == row) for row in rows]
        lines.append("| " + " | ".join([*answers, f"{one.distance():.3f}", *cells]) + " |")
    lines += ["", "The nearest that each answer comes, whatever the others are:", ""]
    lines += ["| question | answer | distance |", "|---|---|---:|"]
    for question in questions:
        nearest: dict[str, float] = {}
        for one in found.tried:
            nearest.setdefault(str(getattr(one.reading, question)), one.distance())
        lines += [f"| {question} | {value} | {distance:.3f} |" for value, distance in nearest.items()]
    return [*lines, ""]


def _reading_row(name: str, one: Tried, presets: Tried) -> str:
    return f"| {name} | {one.distance():.4f} | {100 * within(one.cells, NEAR):.0f} % | {_answers(one, presets)} |"


def _effect_row(question: str, value: object, change: float, matters: bool) -> str:
    verdict = "blind to it" if not matters else "against it" if change > 0 else "for it"
    return f"| {question} | {value} | {change:+.4f} | {verdict} |"


def _answers(one: Tried, presets: Tried) -> str:
    return ", ".join(f"{name}={value}" for name, value in one.differs(presets.reading).items()) or "the presets"


def _far_lines(found: Search) -> Iterator[str]:
    """For each cell that the presets miss by far, how near the other readings come."""
    far = beyond(found.presets.cells)
    if not far:
        yield f"No cell of the presets is beyond {100 * FAR:.0f} %."
        return
    yield f"Cells beyond {100 * FAR:.0f} % in the presets, and what the other readings make of them, nearest first:"
    yield ""
    yield "| table | row | workload | paper | presets | others |"
    yield "|---|---|---|---:|---:|---|"
    for cell in far:
        others = sorted(
            ((other.distance, other.ours, one) for one in found.tried for other in one.cells if _same(cell, other)),
            key=lambda entry: entry[0],
        )
        texts = [f"{number(ours)} ({_answers(one, found.presets)})" for _, ours, one in others]
        yield (
            f"| {cell.table} | {cell.row} | {cell.column} | {number(cell.nearest)} | {number(cell.ours)} | "
            f"{'; '.join(dict.fromkeys(texts))} |"
        )


def _same(cell: Cell, other: Cell) -> bool:
    keys = [(one.paper, one.table, one.row, one.column) for one in (cell, other)]
    return keys[0] == keys[1]


def data(
    cells: Sequence[Cell], claims: Sequence[Claim], options: Mapping[str, Any], weeks: Sequence[WithoutWeek] = ()
) -> dict[str, Any]:
    """The whole reproduction for JSON."""
    once = counted(cell for cell in cells if cell.table not in COUNTING_RULES)
    return {
        "options": dict(options),
        "summary": {
            "cells": len(once),
            "within_5_percent": within(once, NEAR),
            "beyond_12_percent": len(beyond(once)),
            "mean_distance": mean_distance(once),
        },
        "cells": [cell.data() for cell in cells],
        "claims": [asdict(claim) for claim in claims],
        "weeks": [asdict(one) for one in weeks],
    }


def _tables(cells: Iterable[Cell]) -> Iterator[tuple[tuple[str, int], Iterator[Cell]]]:
    return groupby(cells, key=lambda cell: (cell.paper, cell.table))


def _near(cell: Cell) -> bool:
    return abs(cell.difference) <= NEAR


def _row(cell: Cell) -> tuple[str, ...]:
    printed = " or ".join(number(value) for value in cell.printed)
    return (
        f"{cell.paper} {cell.table}",
        cell.row,
        cell.column,
        printed,
        number(cell.ours),
        f"{100 * cell.difference:+.1f} %" if cell.difference == cell.difference else "-",
    )
