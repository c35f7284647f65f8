"""Pages of tables and pictures: what they hold, that it is safe, and that every heading says what it means."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

from emulator.report.grid import table
from emulator.report.page.sheet import Grid, Heading, Picture, grid_of, parts_of, pictures_of, sheet
from emulator.report.style import new_figure
from tests.builders.records import HOSTILE
from tests.builders.sheets import sheets

MARKDOWN = """# The title

A *sentence* that goes
on.

## A heading

| claim | ours |
|---|---:|
| **no** <script> | 2.5 |
| a\\|b | -1 |
"""


def test_a_table_of_the_terminal_is_one_of_the_page() -> None:
    shown = table("A title", ("key", "mean"), [("user", 0.5), ("project", 12)], "below\nit", left=1)
    grid = grid_of(shown)
    assert grid == Grid(
        ["key", "mean"], [("user", "0.5"), ("project", "12")], [False, True], "A title", ["below", "it"], ["", ""]
    )


def test_styles_of_rows_are_kept_and_markup_is_not_shown() -> None:
    shown = Table(title="[b]x[/b]")
    shown.add_column("one\ntwo")
    shown.add_row(Text("[b]"), style="bold red")
    assert (grid_of(shown).title, grid_of(shown).headings) == ("x", ["one two"])
    assert (grid_of(shown).rows, grid_of(shown).tones) == ([("[b]",)], ["bad"])


def test_markdown_becomes_parts_without_its_first_heading() -> None:
    assert list(parts_of(MARKDOWN)) == [
        "A sentence that goes on.",
        Heading("A heading"),
        Grid(["claim", "ours"], [["no <script>", "2.5"], ["a|b", "-1"]], [False, True]),
    ]


def test_nothing_of_a_table_is_markup() -> None:
    text = sheet(
        HOSTILE,
        [HOSTILE, Heading(HOSTILE), grid_of(table(HOSTILE, (HOSTILE,), [(Text(HOSTILE),)], HOSTILE))],
        {HOSTILE: HOSTILE},
    )
    assert HOSTILE not in text
    assert not re.search(r"<(img|iframe|b)\b", text)


def test_a_page_is_one_file_that_allows_nothing_else() -> None:
    text = sheet("A page", [Picture("Its picture", new_figure(2, 2))], {})
    assert "default-src 'none'" in text
    assert "img-src data:" in text
    assert not re.search(r"(src|href)=\"(?!data:)", text)
    assert 'alt="Its picture"' in text


def test_the_same_parts_give_the_same_text() -> None:
    parts = [grid_of(table("", ("a",), [("1",)]))]
    assert sheet("x", parts, {}) == sheet("x", parts, {})


def test_a_heading_says_what_it_means() -> None:
    text = sheet(
        "x",
        [
            table(
                "", ("mean wait", "start (UTC) in a", "start, mean", "starts", "nameless"), [("1", "2", "3", "4", "5")]
            )
        ],
        {"start": "When."},
    )
    assert text.count('class="term"') == 3
    assert "<dt>start (UTC) in a</dt>\n<dd>When.</dd>" in text


def test_pictures_are_called_by_their_numbers() -> None:
    figure = new_figure(1, 1)
    names = {"fig04-accuracy-by-key": figure, "figure-14": figure, "migrations": figure}
    assert [each.title for each in pictures_of(names)] == ["Figure 4: accuracy by key", "Figure 14", "migrations"]


@pytest.mark.slow
def test_every_heading_of_a_page_says_what_it_means(tmp_path: Path) -> None:
    for page in sheets(tmp_path):
        heads = re.findall(r"<th scope=\"col\".*?</th>", page.read_text())
        assert heads
        assert [head for head in heads if 'class="term"' not in head] == [], page.name
