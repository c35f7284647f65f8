"""A paper's tables beside ours: for the terminal, as Markdown, and as data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Any

from emulator.papers.cells import FAR, NEAR, Cell, beyond, mean_distance, within

if TYPE_CHECKING:
    from rich.table import Table

    from emulator.papers.claims import Claim
    from emulator.papers.search import Tried


def number(value: float) -> str:
    """With as many digits as a paper would print."""
    if value != value:
        return "-"
    if abs(value) >= 1000 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.2f}"


def summary(cells: Sequence[Cell]) -> str:
    """How near the cells are, in a sentence."""
    far = beyond(cells)
    if not cells:
        return "No cells."
    worst = max(cells, key=lambda cell: cell.distance)
    return (
        f"{len(cells)} cells: {100 * within(cells, NEAR):.1f} % within {100 * NEAR:.0f} %, {len(far)} beyond "
        f"{100 * FAR:.0f} %; mean distance {mean_distance(cells):.4f}; largest {100 * worst.difference:+.1f} % "
        f"(table {worst.table}, {worst.row}, {worst.column})"
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
        for place, cell in enumerate(members):
            grid.add_row(*_row(cell), end_section=place + 1 == len(members), style=None if _near(cell) else "bold")
        del last
    return grid


def markdown(
    cells: Sequence[Cell],
    claims: Sequence[Claim],
    options: Mapping[str, Any],
    search: Sequence[str] = (),
) -> str:
    """The whole reproduction as Markdown.

    Args:
        cells: tables of the paper beside ours.
        claims: what is claimed of its figures.
        options: how it was run.
        search: lines about the search for the reading.
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
    return "\n".join([*lines, *search])


def search_lines(tried: Sequence[Tried], columns: Sequence[str]) -> list[str]:
    """What the search found, as Markdown."""
    from emulator.papers.search import effects, leave_one_out

    default = tried[0]
    lines = [
        "## The search for the reading",
        "",
        f"{len(tried)} readings. As in the presets: {default.distance():.4f}.",
        "",
    ]
    lines += ["Each answer alone:", "", "| question | answer | change of the mean distance |", "|---|---|---:|"]
    for name, value, change, matters in effects(tried):
        lines.append(f"| {name} | {value} | {f'{change:+.4f}' if matters else 'changes nothing'} |")
    lines += [
        "",
        "The best readings:",
        "",
        "| distance | within 5 % | differs from the presets in |",
        "|---:|---:|---|",
    ]
    for one in sorted(tried, key=lambda one: one.distance())[:10]:
        changed = ", ".join(f"{name}={value}" for name, value in one.differs(default.reading).items()) or "nothing"
        lines.append(f"| {one.distance():.4f} | {100 * within(one.cells, NEAR):.0f} % | {changed} |")
    lines += ["", "Chosen on the other traces, judged on this one:", ""]
    lines += ["| trace | distance | of the presets | chosen |", "|---|---:|---:|---|"]
    for found in leave_one_out(tried, columns):
        changed = ", ".join(f"{name}={value}" for name, value in found.chosen.differs(default.reading).items())
        lines.append(
            f"| {found.column} | {found.distance:.4f} | {found.default_distance:.4f} | {changed or 'the presets'} |"
        )
    lines += ["", *_far_lines(tried)]
    return lines


def _far_lines(tried: Sequence[Tried]) -> Iterator[str]:
    """For each cell that the first reading misses by far, the nearest that any reading comes."""
    far = beyond(tried[0].cells)
    if not far:
        return
    yield f"Cells beyond {100 * FAR:.0f} % in the presets, and the nearest that any reading comes:"
    yield ""
    yield "| table | row | workload | paper | presets | nearest | reading |"
    yield "|---|---|---|---:|---:|---:|---|"
    for cell in far:
        key = (cell.paper, cell.table, cell.row, cell.column)
        found = [
            (other.distance, other, one)
            for one in tried
            for other in one.cells
            if (other.paper, other.table, other.row, other.column) == key
        ]
        _, nearest, reading = min(found, key=lambda entry: entry[0])
        changed = ", ".join(f"{name}={value}" for name, value in reading.differs(tried[0].reading).items())
        yield (
            f"| {cell.table} | {cell.row} | {cell.column} | {number(cell.nearest)} | {number(cell.ours)} | "
            f"{number(nearest.ours)} | {changed or 'the presets'} |"
        )


def data(cells: Sequence[Cell], claims: Sequence[Claim], options: Mapping[str, Any]) -> dict[str, Any]:
    """The whole reproduction for JSON."""
    return {
        "options": dict(options),
        "summary": {
            "cells": len(cells),
            "within_5_percent": within(cells, NEAR),
            "beyond_12_percent": len(beyond(cells)),
            "mean_distance": mean_distance(cells),
        },
        "cells": [cell.data() for cell in cells],
        "claims": [asdict(claim) for claim in claims],
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
