"""How large pages are, how soon they can be used, and how they follow a zoom, in Chromium."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from contrib.bench.bench import LOGS, TRACES
from emulator.campaign.expand import expand
from emulator.campaign.file import read_campaign
from emulator.campaign.runs import run_all
from emulator.report.page.sources import read_sources
from emulator.report.page.write import write_page
from tests.builders.browser import Browser, browser

STUDY = """
[campaign]
records = true
{logs}
[policies]
FCFS = ["sched/fcfs"]
EASY = ["sched/easy"]
SJF-EASY = ["sched/easy", "priority/sjf"]
{more}
"""
MORE = """
SJF-backfill = ["sched/easy", "backfill/sjf"]
SJF = ["sched/fcfs", "priority/sjf"]
conservative = ["sched/conservative"]
"""
SIZES = ("KTH", "SDSC-SP2", "CTC-430")
TITLES = {"one": "EASY on SDSC-BLUE", "six": "six policies on three logs"}
TIMES = 5
"""A page is opened so often; the middle of the times counts."""
FRAMES = 90
"""Of a zoom into the middle and out again, one step a frame."""

ZOOM = """
(async () => {
  const canvas = document.querySelector("#CANVAS canvas");
  canvas.scrollIntoView({block: "center"});
  await new Promise((done) => setTimeout(done, 500));
  canvas.focus();
  const frame = () => new Promise(requestAnimationFrame);
  const spent = [], drawn = [];
  let last = await frame();
  for (let at = 0; at < FRAMES; at += 1) {
    const key = at < FRAMES / 2 ? (at % 3 === 2 ? "ArrowRight" : "+") : "-";
    canvas.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
    const now = await frame();
    spent.push(now - last);
    drawn.push(Number(canvas.dataset.milliseconds));
    last = now;
  }
  return [spent, drawn];
})()
"""
SEARCH = """
(async () => {
  const field = document.getElementById("search");
  field.value = "WORDS";
  field.dispatchEvent(new Event("input"));
  const began = performance.now();
  await new Promise((done) => new MutationObserver(done).observe(document.getElementById("found"), {childList: true}));
  return performance.now() - began;
})()
"""


def middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def high(values: list[float]) -> float:
    return sorted(values)[int(0.95 * (len(values) - 1))]


def measure(chromium: Browser, title: str, page: Path, runs: int) -> None:
    opened = [chromium.open(page) for _ in range(TIMES)]
    print(f"{title}: {page.stat().st_size / 1e6:.2f} MB; used after {middle(opened):.2f} s (most {max(opened):.2f} s)")
    if runs > 1:
        chromium.wait("!document.getElementById('differences').hidden")
    for canvas in ("use", "queue", "waits", "gantt"):
        spent, drawn = chromium.run(ZOOM.replace("CANVAS", canvas).replace("FRAMES", str(FRAMES)))
        print(
            f"  zoom, {canvas}: a frame takes {middle(spent):.1f} ms, 95 % {high(spent):.1f}, most {max(spent):.1f}; "
            f"the picture is drawn in {middle(drawn):.1f} ms, 95 % {high(drawn):.1f}"
        )
    searched = [chromium.run(SEARCH.replace("WORDS", words)) for words in ("completed", "2", "user:3")]
    print(f"  search, with the pause behind the last letter: {', '.join(f'{each:.0f} ms' for each in searched)}")
    assert chromium.logged == [], chromium.logged


@click.command()
@click.option("--traces", "folder", type=click.Path(path_type=Path), default=TRACES, show_default=True)
@click.option(
    "--keep", type=click.Path(path_type=Path), help="Keep runs and pages in a folder, and look for runs there."
)
@click.option("--pictures", type=click.Path(path_type=Path), help="Keep what is seen in a folder.")
def main(folder: Path, keep: Path | None, pictures: Path | None) -> None:
    """Measure the page of one run of SDSC-BLUE, and that of six policies on three logs."""
    with tempfile.TemporaryDirectory() as place:
        kept = keep or Path(place)
        kept.mkdir(exist_ok=True)
        (Path(place) / "profile").mkdir()
        pages = {}
        for name, logs, more in (("one", ("SDSC-BLUE",), ""), ("six", SIZES, MORE)):
            tables = "".join(
                f'[workloads."{log}"]\ntrace = "{LOGS[log][0]}"\nprocessors = {LOGS[log][1]}\n' for log in logs
            )
            study = STUDY.format(logs=tables, more=more)
            if name == "one":
                study = study.replace('FCFS = ["sched/fcfs"]\n', "").replace(
                    'SJF-EASY = ["sched/easy", "priority/sjf"]\n', ""
                )
            file = Path(place) / f"{name}.toml"
            file.write_text(study)
            campaign = read_campaign(file, [folder])
            outcomes = run_all(expand(campaign), keep=kept / name, about=campaign.about())
            assert not any(each.error for each in outcomes), [each.error for each in outcomes]
            pages[name] = (kept / f"{name}.html", len(outcomes))
            began = time.perf_counter()
            write_page(read_sources([kept / name]), pages[name][0])
            print(f"{name}: {len(outcomes)} runs, page written in {time.perf_counter() - began:.1f} s")
        print(f"load before the browser: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        with browser(Path(place) / "profile") as chromium:
            print(chromium.send("Browser.getVersion")["product"])
            for name, (page, runs) in pages.items():
                measure(chromium, TITLES[name], page, runs)
                if pictures is not None:
                    chromium.picture(pictures / f"{name}.png")
        print(f"load after it: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
