"""A page of tables, sentences and pictures: what a command shows on the terminal, in the frame of the other pages."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.files import write_data
from emulator.metrics.catalogue import METRICS
from emulator.report.numbers import UNKNOWN, printable
from emulator.report.page import assets
from emulator.report.style import picture_bytes

if TYPE_CHECKING:
    from markdown_it.token import Token
    from matplotlib.figure import Figure
    from rich.table import Table

TONES = {"bold red": "bad", "yellow": "warn", "bold": "strong", "dim": "muted"}
"""What the styles of the terminal are called in the style sheet."""
_FIGURE = re.compile(r"^fig(?:ure)?-?0*(\d+)-?")
TALL = 40
"""Rows from which on a table has a window of its own, so that what follows it is not far."""


@dataclass(frozen=True)
class Picture:
    """A picture of a page.

    Attributes:
        title: above it; also what is read out instead of it.
        figure: what to draw.
    """

    title: str
    figure: Figure


@dataclass(frozen=True)
class Heading:
    """A heading between parts of a page."""

    text: str


@dataclass(frozen=True)
class Grid:
    """A table as texts.

    Attributes:
        headings: of the columns.
        rows: a cell each.
        numbers: of each column, whether it stands to the right.
        title, notes: above and below.
        tones: of each row, its class in the style sheet, or nothing.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Sequence[bool]
    title: str = ""
    notes: Sequence[str] = ()
    tones: Sequence[str] = ()


def pictures_of(figures: Mapping[str, Figure]) -> list[Picture]:
    """Pictures by the names of their files: of ``fig04-accuracy-by-key`` the title is ``Figure 4: accuracy by key``."""
    return [
        Picture(_FIGURE.sub(r"Figure \1: ", name).rstrip(": ").replace("-", " "), each)
        for name, each in figures.items()
    ]


Part = Grid | Heading | Picture | str


def write_sheet(path: Path, title: str, parts: Iterable[Part | Table], terms: Mapping[str, str]) -> None:
    """Write a page.

    Args:
        path: the file; it is replaced if it is there.
        title: of the page.
        parts: from top to bottom; a rich table becomes one of the page.
        terms: what headings of columns mean, with their units, by the heading or its first words. Metrics are known.

    Raises:
        OutputError: it cannot be written.
    """
    write_data(path, sheet(title, parts, terms).encode("utf-8", errors="replace"))


def sheet(title: str, parts: Iterable[Part | Table], terms: Mapping[str, str]) -> str:
    """The page as text; the same parts give the same text."""
    metrics = {metric.title: f"{metric.definition} Unit: {metric.unit}." for metric in METRICS.values()}
    known = partial(_meaning, {**metrics, **terms})
    shown = [each if isinstance(each, Grid | Heading | Picture | str) else grid_of(each) for each in parts]
    words = dict.fromkeys(word for each in shown if isinstance(each, Grid) for word in each.headings)
    return assets.render(
        "sheet.html.j2",
        "sheet.js",
        title=printable(title),
        notes=(),
        images=True,
        parts=list(map(partial(_described, known=known), shown)),
        meanings=[(printable(word), known(word)) for word in words if known(word)],
    )


def _meaning(terms: Mapping[str, str], heading: str) -> str:
    """Of a heading: its own, or that of the words that it begins with; empty if there is none."""
    return terms.get(heading) or next((terms[word] for word in terms if re.match(rf"{re.escape(word)}\W", heading)), "")


def grid_of(table: Table) -> Grid:
    """A table of the terminal."""
    cells = [[_plain(cell) for cell in column.cells] for column in table.columns]
    return Grid(
        headings=[" ".join(_plain(column.header).split()) for column in table.columns],
        rows=list(zip(*cells, strict=True)),
        numbers=[column.justify == "right" for column in table.columns],
        title=_plain(table.title or ""),
        notes=_plain(table.caption or "").splitlines(),
        tones=[TONES.get(str(row.style or ""), "") for row in table.rows],
    )


def _plain(shown: Any) -> str:
    """Text of what rich shows: its own text, or words with markup."""
    from rich.text import Text

    return shown.plain if isinstance(shown, Text) else Text.from_markup(str(shown)).plain


def parts_of(markdown: str) -> Iterator[Part]:
    """The parts of a text in Markdown, without its first heading."""
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark", {"html": False}).enable("table").parse(markdown)
    row: list[str] = []
    rows: list[list[str]] = []
    for place, token in enumerate(tokens):
        if token.type in ("th_open", "td_open"):
            row.append(_inline(tokens[place + 1]))
        elif token.type == "tr_close":
            rows.append(row)
            row = []
        elif token.type == "table_close":
            headings, *others = rows
            yield Grid(headings, others, [_is_number(others, column) for column in range(len(headings))])
            rows = []
        elif token.type == "heading_open" and token.tag != "h1":
            yield Heading(_inline(tokens[place + 1]))
        elif token.type == "paragraph_open":
            yield _inline(tokens[place + 1])


def _inline(token: Token) -> str:
    """Words of a line, without emphasis."""
    return "".join(" " if each.type == "softbreak" else each.content for each in token.children or ())


def _is_number(rows: Sequence[Sequence[str]], column: int) -> bool:
    cells = [row[column] for row in rows]
    return bool(cells) and sum(cell[:1].isdigit() or cell[:1] in f"+-{UNKNOWN}" for cell in cells) > len(cells) / 2


def _described(part: Part, known: Callable[[str], str]) -> dict[str, Any]:
    """A part for the template, which escapes it."""
    if isinstance(part, str):
        return {"kind": "text", "text": printable(part)}
    if isinstance(part, Heading):
        return {"kind": "heading", "text": printable(part.text)}
    if isinstance(part, Picture):
        data = base64.b64encode(picture_bytes(part.figure, "svg")).decode()
        title = printable(part.title)
        return {"kind": "picture", "title": title, "alt": title, "source": f"data:image/svg+xml;base64,{data}"}
    columns = zip(part.headings, part.numbers, strict=True)
    tones = part.tones or [""] * len(part.rows)
    return {
        "kind": "table",
        "tall": len(part.rows) > TALL,
        "title": printable(part.title),
        "headings": [{"text": printable(text), "meaning": known(text), "number": number} for text, number in columns],
        "rows": [{"cells": list(map(_cell, row)), "tone": tone} for row, tone in zip(part.rows, tones, strict=True)],
        "notes": list(map(printable, part.notes)),
    }


def _cell(text: str) -> dict[str, str]:
    """A cell; what stands on a second line is written smaller."""
    first, _, below = text.partition("\n")
    return {"text": printable(first), "below": printable(below.strip())}
