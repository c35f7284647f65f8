"""Every kind of page in a real browser: it can be used by all, in both themes, on a phone, and without a mouse."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders.accessibility import out_of_reach, pale, violations, wear
from tests.builders.browser import CHROMIUM, Browser, browser
from tests.builders.clusters import cluster_page
from tests.builders.sheets import sheets

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")]

KEPT = os.environ.get("SLURM_SIM_PICTURES")
NAMES = ("report", "walltime", "truth", "upgrade", "optimum")
SORTED = """[...document.querySelectorAll("table.sheet tbody tr")].map((row) => row.cells[PLACE].textContent)"""


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of each kind in a folder."""
    folder = tmp_path_factory.mktemp("pages")
    sheets(folder)
    cluster_page(folder, "report.html")
    return folder


def open_page(chromium: Browser, pages: Path, name: str) -> None:
    chromium.open(pages / f"{name}.html", "#job=8" if name == "report" else "")
    chromium.run("for (const each of document.querySelectorAll('details')) each.open = true")


@pytest.mark.parametrize("name", NAMES)
def test_nothing_keeps_anybody_out(chromium: Browser, pages: Path, name: str) -> None:
    for scheme in ("light", "dark"):
        wear(chromium, scheme)
        open_page(chromium, pages, name)
        found = violations(chromium) + pale(chromium)
        if KEPT:
            chromium.picture(Path(KEPT) / f"{name} {scheme}.png", whole=True)
        wear(chromium)
        assert found == [], scheme
    assert chromium.logged == []


@pytest.mark.parametrize("name", NAMES)
def test_keys_reach_every_control(chromium: Browser, pages: Path, name: str) -> None:
    open_page(chromium, pages, name)
    assert out_of_reach(chromium) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_phone_shows_all_of_it(chromium: Browser, pages: Path, name: str) -> None:
    chromium.open(pages / f"{name}.html", width=380, height=700)
    assert chromium.run("document.documentElement.scrollWidth") <= 380


def test_a_table_sorts_by_its_headings(chromium: Browser, pages: Path) -> None:
    open_page(chromium, pages, "walltime")
    column = SORTED.replace("PLACE", "5")
    before = chromium.run(column)
    click = "document.querySelectorAll('table.sheet th button')[5].click()"
    for expected in (sorted(before, key=float), sorted(before, key=float, reverse=True), before):
        chromium.run(click)
        assert chromium.run(column) == expected
    assert chromium.logged == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,234.5", 1234.5),
        ("-0:01:30", -90),
        ("4 d 1:00:00", 349200),
        ("\u22123 %", -3),
        ("+2.5 \u00b1 1", 2.5),
        ("n1", None),
    ],
)
def test_what_a_cell_is_sorted_by(chromium: Browser, pages: Path, text: str, value: float | None) -> None:
    source = (Path(__file__).parents[4] / "emulator/report/page/script/sort.js").read_text()
    function = source[source.index("export function valueOf") :].removeprefix("export ")
    assert chromium.run(f"(() => {{ {function} return valueOf({text!r}); }})()") == value
