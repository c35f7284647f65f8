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


def table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]], note: str = "", left: int = 1) -> Table:
    """A table for the terminal; the first ``left`` columns are words."""
    from rich.text import Text

    grid = empty(title, note)
    for place, heading in enumerate(headings):
        grid.add_column(Text(heading), justify="left" if place < left else "right")
    for row in rows:
        grid.add_row(*map(printable, row))
    return grid


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table in Markdown."""
    return [f"| {' | '.join(cells)} |" for cells in (headings, ["---"] * len(headings), *rows)]
