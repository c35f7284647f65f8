"""Tables of rows of texts: for the terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from emulator.report.numbers import printable

if TYPE_CHECKING:
    from rich.table import Table


def empty(title: str = "", note: str = "", **options: Any) -> Table:
    """A table for the terminal without columns; ``note`` stands under it, ``options`` are rich's."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    heading, caption = (Text(text) if text else None for text in (title, note))
    return Table(
        box=box.SIMPLE_HEAD, title=heading, title_justify="left", caption=caption, caption_justify="left", **options
    )


def table(
    title: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[object]],
    note: str = "",
    left: int | None = None,
    **options: Any,
) -> Table:
    """A table for the terminal, in which nothing is markup and nothing is cut.

    Args:
        title: above it.
        headings: of the columns.
        rows: a cell each; rich's own texts keep their style.
        note: stands under it.
        left: so many columns are words, the others numbers; None: all are words.
        options: of rich's table.
    """
    from rich.text import Text

    grid = empty(title, note, **options)
    for index, heading in enumerate(headings):
        words = left is None or index < left
        grid.add_column(Text(heading), justify="left" if words else "right", overflow="fold")
    for row in rows:
        add(grid, row)
    return grid


def add(grid: Table, row: Sequence[object], style: str = "") -> None:
    """Add a row of such cells."""
    from rich.text import Text

    grid.add_row(*(cell if isinstance(cell, Text) else Text(printable(cell)) for cell in row), style=style)


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table in Markdown."""
    return [f"| {' | '.join(cells)} |" for cells in (headings, ["---"] * len(headings), *rows)]
