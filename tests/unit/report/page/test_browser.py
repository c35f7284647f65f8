"""The page in a real browser: it opens, and zoom, search, click and keys do what they should."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.accounting.records import Records
from emulator.accounting.runfolder import read_run
from emulator.metrics import machine
from emulator.metrics.jobs import wait
from emulator.report.numbers import duration_text, instant_text
from emulator.report.page.sources import Sources, source_of
from emulator.report.page.write import write_page
from slurm_sim_plugins.lanes import assign_lanes
from tests.builders.browser import CHROMIUM, Browser, browser
from tests.builders.clusters import cluster_page
from tests.builders.records import A10, ABOUT, HOSTILE, many, run_of, strange

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")]

EPOCH = 843480031
CTRL = 2
SHOWN = "document.getElementById('window').textContent"
KEPT = os.environ.get("SLURM_SIM_PICTURES")
"""A folder for pictures of what the browser shows."""


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of several kinds in a folder."""
    folder = tmp_path_factory.mktemp("pages")
    one = many(300, epoch=EPOCH)
    users = np.array(["alice", "bob", "carol"], dtype=object)[np.arange(300) % 3]
    one = replace(one, jobs={**one.jobs, "user": users})
    write(folder / "one.html", (one, "sched/easy"))
    write(folder / "two.html", (one, "sched/easy"), (sooner(one), "sched/other"))
    hostile = replace(A10, jobs={**A10.jobs, "user": np.array([HOSTILE, HOSTILE, None], dtype=object)})
    write(folder / "hostile.html", (hostile, HOSTILE), (hostile, "sched/easy"))
    return folder


def sooner(records: Records) -> Records:
    """The same jobs, of which those with an even number start at their submission."""
    even = records.jobs["job_id"] % 2 == 0
    submit, run = records.jobs["submit"], records.jobs["run"]
    start = np.where(even, submit, records.jobs["start"])
    jobs = {**records.jobs, "start": start, "first_start": start, "end": start + run}
    order = np.lexsort((jobs["job_id"], start))
    runs = {**records.runs, "job_id": jobs["job_id"][order], "start": start[order], "end": jobs["end"][order]}
    runs["processors"] = jobs["processors"][order]
    return replace(records, jobs=jobs, runs=runs)


def write(path: Path, *runs: tuple[Records, str]) -> None:
    write_page(Sources([source_of(run_of(records, about(label))) for records, label in runs]), path)


def about(label: str) -> dict[str, Any]:
    return {**ABOUT, "run": {**ABOUT["run"], "label": label}}


def text_of(chromium: Browser, selector: str) -> str:
    return str(chromium.run(f"document.querySelector({selector!r}).textContent"))


def middle(chromium: Browser, selector: str) -> tuple[float, float]:
    left, top, width, height = chromium.box(selector)
    return left + width / 2, top + height / 2


def settled(chromium: Browser) -> None:
    """Two frames later: what was to be drawn is drawn."""
    chromium.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30))))")


def ink(chromium: Browser, selector: str) -> int:
    """Pixels of a canvas that are not empty."""
    script = (
        f"(() => {{ const canvas = document.querySelector({selector!r});"
        "const dots = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;"
        "return dots.filter((dot, at) => at % 4 === 3 && dot).length; })()"
    )
    return int(chromium.run(script))


def keep(chromium: Browser, name: str) -> None:
    if KEPT:
        chromium.picture(Path(KEPT) / f"{name}.png", whole=True)


def test_it_opens_draws_and_logs_nothing(chromium: Browser, pages: Path) -> None:
    assert chromium.open(pages / "one.html") < 10
    for name in ("use", "queue", "waits", "gantt"):
        chromium.box(f"#{name} canvas")
        settled(chromium)
        assert ink(chromium, f"#{name} canvas") > 2000, name
    assert chromium.logged == []
    keep(chromium, "one run")


def test_numbers_on_the_page_are_those_of_the_run(chromium: Browser, pages: Path) -> None:
    chromium.open(pages / "one.html")
    records = many(300, epoch=EPOCH)
    waits = wait(records)
    longest = int(np.lexsort((np.arange(300), -waits))[0])
    cells = chromium.run("[...document.querySelector('#jobs tbody tr').cells].map(each => each.textContent)")
    submitted, started = (records.jobs[name][longest] for name in ("submit", "start"))
    assert cells[:4] == [
        str(records.jobs["job_id"][longest]),
        instant_text(submitted, EPOCH),
        instant_text(started, EPOCH),
        duration_text(waits[longest]),
    ]
    headline = text_of(chromium, "#headlines")
    assert f"{waits.mean():,.2f} s" in headline
    assert f"{100 * machine.utilisation(records):,.2f} %" in headline
    size = chromium.run("[...document.querySelectorAll('#groups tbody tr')].map(r => Number(r.cells[1].textContent))")
    assert sum(size) == 300


def test_headlines_and_metrics_have_their_definitions_on_hover(chromium: Browser, pages: Path) -> None:
    chromium.open(pages / "one.html")
    bare = (
        "[...document.querySelectorAll('#metrics th, #headlines .what')].filter(each => !each.firstChild.title).length"
    )
    assert chromium.run(bare) == 0


def test_mouse_and_keys_zoom_all_pictures_at_once(chromium: Browser, pages: Path) -> None:
    chromium.open(pages / "one.html")
    whole = chromium.run(SHOWN)
    left, top, width, _ = chromium.box("#use canvas")
    chromium.drag((left + 0.3 * width, top + 40), (left + 0.6 * width, top + 60))
    part = chromium.run(SHOWN)
    assert part != whole
    chromium.wait("location.hash.includes('from=')")
    chromium.run("document.querySelector('#queue canvas').focus()")
    for key, text in (("+", "+"), ("ArrowRight", ""), ("-", "-")):
        before = chromium.run(SHOWN)
        chromium.key(key, text)
        assert chromium.run(SHOWN) != before, key
    x, y = middle(chromium, "#gantt canvas")
    before = chromium.run(SHOWN)
    chromium.wheel(x, y, -200, CTRL)
    chromium.wait(f"{SHOWN} !== {before!r}")
    chromium.click(*middle(chromium, "#waits canvas"), clicks=2)
    assert chromium.run(SHOWN) == whole
    chromium.click(*middle(chromium, "#zoom button"))
    assert chromium.run(SHOWN) != whole
    chromium.key("0", "0")
    assert chromium.logged == []


def test_the_pointer_reads_the_same_instant_in_all_pictures(chromium: Browser, pages: Path) -> None:
    chromium.open(pages / "one.html", height=1400)
    x, y = middle(chromium, "#queue canvas")
    chromium.mouse("mouseMoved", x, y)
    one, other = (text_of(chromium, f"#{name} .readout") for name in ("use", "queue"))
    assert one[:19] == other[:19] != ""
    assert "%" in one
    assert "jobs" in other


def test_a_search_finds_jobs_and_users(chromium: Browser, pages: Path) -> None:
    chromium.open(pages / "one.html")
    chromium.run("document.body.focus()")
    chromium.key("/", "/")
    assert chromium.run("document.activeElement.id") == "search"
    chromium.write("user:ALICE")
    chromium.wait("document.getElementById('found').textContent === '100 jobs'")
    chromium.run("document.getElementById('search').select()")
    chromium.write("17")
    chromium.key("Enter", "\r")
    chromium.wait("!document.getElementById('panel').hidden")
    assert text_of(chromium, "#panel-title") == "Job 17 under sched/easy"
    chromium.wait("location.hash.includes('job=17')")
    chromium.key("Escape")
    assert chromium.run("document.getElementById('panel').hidden")
    chromium.run("document.getElementById('search').select()")
    chromium.write("nobody")
    chromium.wait("document.getElementById('found').textContent === 'no job is like that'")
    assert chromium.logged == []


def test_a_click_on_a_bar_shows_its_job(chromium: Browser, pages: Path) -> None:
    chromium.open(pages / "one.html")
    records = many(300, epoch=EPOCH)
    ends = records.runs["end"].tolist()
    lanes = assign_lanes(records.runs["start"].tolist(), ends, records.runs["processors"].tolist())
    top = max(records.processors, *(blocks[-1][1] for blocks in lanes))
    first, last = machine.span(records)
    left, y, width, height = chromium.box("#gantt canvas")
    chosen = max(range(300), key=lambda run: (ends[run] - records.runs["start"][run]) * records.runs["processors"][run])
    low, high = lanes[chosen][0]
    at = ((records.runs["start"][chosen] + ends[chosen]) / 2 - first) / (last - first)
    chromium.click(left + 64 + at * (width - 76), y + 8 + (height - 32) * (1 - (low + high) / 2 / top))
    chromium.wait("!document.getElementById('panel').hidden")
    assert text_of(chromium, "#panel-title") == f"Job {records.runs['job_id'][chosen]} under sched/easy"
    chromium.click(*middle(chromium, "#close"))


def test_two_policies_are_laid_side_by_side(chromium: Browser, pages: Path) -> None:
    chromium.open(pages / "two.html")
    assert len(chromium.run("[...document.querySelectorAll('#cells button')].map(each => each.title)")) == 2
    assert chromium.run("document.querySelectorAll('#overlay input').length") == 2
    chromium.wait("!document.getElementById('differences').hidden")
    one, waits = many(300, epoch=EPOCH), wait(many(300, epoch=EPOCH))
    even = one.jobs["job_id"] % 2 == 0
    longer = int(np.sum(even & (waits > 0)))
    assert f"no job wait less and {longer} jobs" in text_of(chromium, "#gained")
    chromium.click(*middle(chromium, "#cells td:nth-child(3) button"))
    chromium.wait("document.getElementById('run-title').textContent.startsWith('sched/other')")
    chromium.wait("document.getElementById('gained').textContent.startsWith('Under sched/other')")
    assert f"{longer} jobs" in text_of(chromium, "#gained").partition("wait less")[0]
    chromium.run("document.getElementById('baseline').value = '0'")
    chromium.run("document.getElementById('baseline').dispatchEvent(new Event('change'))")
    assert "baseline" in text_of(chromium, "#cells")
    assert chromium.logged == []
    keep(chromium, "two runs")


def test_a_link_leads_to_a_job_of_a_run(chromium: Browser, pages: Path) -> None:
    chromium.open(pages / "two.html", "#run=1&job=8&from=1000&to=30000&metric=max_wait")
    assert text_of(chromium, "#panel-title") == "Job 8 under sched/other"
    assert chromium.run("document.getElementById('metric').value") == "max_wait"
    assert chromium.run(SHOWN).startswith(instant_text(1000, EPOCH))
    rows = chromium.run("[...document.querySelectorAll('#panel tbody')].map(each => each.rows.length)")
    assert rows[0] == 2
    chromium.open(pages / "two.html", "#run=99&job=x&from=nonsense")
    assert chromium.logged == []


@pytest.mark.parametrize("search", ["", "alert"])
def test_hostile_names_stay_text(chromium: Browser, pages: Path, search: str) -> None:
    chromium.open(pages / "hostile.html", "#job=1&search=" + search)
    chromium.wait("!document.getElementById('differences').hidden")
    assert chromium.run("document.querySelectorAll('img, iframe, object, [onerror]').length") == 0
    assert "alert(1)" in text_of(chromium, "#jobs")
    assert "alert(1)" in text_of(chromium, "h2#run-title")
    assert chromium.logged == []


@pytest.mark.parametrize("name", strange())
def test_strange_runs_have_a_page(chromium: Browser, tmp_path: Path, name: str) -> None:
    write(tmp_path / "page.html", (strange()[name], "sched/easy"), (strange()[name], "sched/other"))
    chromium.open(tmp_path / "page.html", "#job=1")
    settled(chromium)
    assert chromium.logged == []


def test_a_phone_shows_all_of_it(chromium: Browser, pages: Path) -> None:
    chromium.open(pages / "two.html", width=380, height=700)
    chromium.size(380, 700, phone=True)
    settled(chromium)
    assert chromium.run("document.documentElement.scrollWidth") <= 380
    keep(chromium, "phone")


def test_it_can_be_printed(chromium: Browser, pages: Path) -> None:
    chromium.open(pages / "two.html")
    chromium.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    dark = chromium.run("getComputedStyle(document.body).backgroundColor")
    printed = chromium.send("Page.printToPDF")["data"]
    assert len(printed) > 20_000
    chromium.send("Emulation.setEmulatedMedia", features=[])
    assert chromium.run("getComputedStyle(document.body).backgroundColor") != dark
    assert chromium.logged == []


@pytest.fixture(scope="module")
def on_nodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of a run on four nodes, of which the last is drained for a while."""
    folder = tmp_path_factory.mktemp("cluster")
    cluster_page(folder, "page.html")
    return folder


def runs_on(runs: Mapping[str, Any], node: str) -> int:
    return sum(each == node for each in runs["nodes"])


def test_a_cluster_has_its_nodes_in_the_chart(chromium: Browser, on_nodes: Path) -> None:
    chromium.open(on_nodes / "page.html")
    left, top, width, height = chromium.box("#gantt canvas")
    settled(chromium)
    assert "nodes drain" in text_of(chromium, "#gantt-legend")
    runs = read_run(on_nodes / "run").records.runs
    # The first lanes of the first node are the lowest.
    chromium.mouse("mouseMoved", left + 64 + 0.02 * (width - 76), top + 8 + (height - 32) * (1 - 1 / 16))
    assert f"job {runs['job_id'][0]}, 2 CPUs" in text_of(chromium, "#gantt .readout")
    assert f"on {runs['nodes'][0]}" in text_of(chromium, "#gantt .readout")
    chromium.run("document.querySelector('#jobs tbody th button').click()")
    chromium.wait("document.querySelector('#panel .story')")
    assert "waits: Resources" in text_of(chromium, "#panel .story")
    rows = chromium.run(
        "[...document.querySelectorAll('#node-table tbody tr')].map(r => [...r.cells].map(c => c.innerText))"
    )
    assert [row[:3] for row in rows] == [[f"n{each}", "4", str(runs_on(runs, f"n{each}"))] for each in range(1, 5)]
    assert [row[5] for row in rows[:3]] == ["0:00:00"] * 3
    until = max(end for end, nodes in zip(runs["end"], runs["nodes"], strict=True) if nodes == "n4" and end < 6000)
    # A node is back when it has answered, within a second.
    assert rows[3][5] in {duration_text(6000 + late - until) for late in (0, 1)}
    left, top, width, height = chromium.box("#node-plot canvas")
    first, last = machine.span(read_run(on_nodes / "run").records)
    chromium.mouse("mouseMoved", left + 64 + (until + 100 - first) / (last - first) * (width - 76), top + 20)
    assert "3 run jobs · 1 out of service · 0 idle" in text_of(chromium, "#node-plot .readout")
    keep(chromium, "cluster")
    assert chromium.logged == []
