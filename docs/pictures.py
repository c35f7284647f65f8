"""Make the pictures of the pages from generated jobs: ``python docs/pictures.py`` (needs Chromium)."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from click.testing import CliRunner  # noqa: E402

from emulator.campaign.expand import expand  # noqa: E402
from emulator.campaign.file import read_campaign  # noqa: E402
from emulator.campaign.runs import run_all  # noqa: E402
from emulator.cli import slurm_sim  # noqa: E402
from emulator.report.page.sources import read_sources  # noqa: E402
from emulator.report.page.write import write_page  # noqa: E402
from tests.builders.browser import Browser, browser  # noqa: E402

STUDY = """
[campaign]
repetitions = 5
records = true
[workloads.model]
model = "lublin99"
jobs = 1000
processors = 128
load = [0.7, 0.9]
[policies]
EASY = ["sched/easy"]
conservative = ["sched/conservative"]
SJF = ["sched/easy", "priority/sjf"]
"""
CONF = """ClusterName=small
PriorityType=priority/basic
NodeName=n[01-16] CPUs=4
PartitionName=all Nodes=ALL Default=YES
"""
PROBLEM = "[machine]\nprocessors = 8\n" + "".join(
    f"[[job]]\nid = {number}\nsubmit = {submit}\nrun = {run}\nsize = {size}\n"
    for number, (submit, run, size) in enumerate(
        [(0, 100, 5), (5, 120, 8), (10, 30, 3), (12, 90, 4), (40, 20, 6), (45, 60, 2)], 1
    )
)
ZOOMED = "#run=5&from=300000&to=420000"
SETTLED = 0.5
"""Seconds."""


def shoot(chromium: Browser, page: Path, fragment: str, element: str, name: str, height: int = 620) -> None:
    """Keep what is seen of the page with an element in the middle."""
    from PIL import Image

    chromium.open(page, fragment, 1100, height)
    if "run=" in fragment:
        chromium.wait("!document.getElementById('differences').hidden")
    chromium.run(f"document.querySelector({element!r}).scrollIntoView({{block: 'start'}})")
    time.sleep(SETTLED)
    file = ROOT / "docs" / "pictures" / f"{name}.png"
    chromium.picture(file)
    Image.open(file).convert("RGB").quantize(64, dither=Image.Dither.NONE).save(file, optimize=True)


def main() -> None:
    """Make them all."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "study.toml").write_text(STUDY)
        campaign = read_campaign(folder / "study.toml")
        run_all(expand(campaign), keep=folder / "study", about=campaign.about())
        page = folder / "page.html"
        write_page(read_sources([folder / "study"]), page)
        (folder / "profile").mkdir()
        with browser(folder / "profile") as chromium:
            shoot(chromium, page, "#run=0&baseline=0", "h1", "matrix")
            shoot(chromium, page, ZOOMED, "#queue", "over-time", 980)
            shoot(chromium, page, f"{ZOOMED}&other=0", "#differences", "differences", 560)
            for name, (written, element, height) in others(folder).items():
                shoot(chromium, written, "", element, name, height)
            chromium.open(folder / "nodes.html")
            longest = chromium.run("document.querySelector('#jobs tbody th button').textContent")
            shoot(chromium, folder / "nodes.html", f"#job={longest}", "#panel", "job", 620)


def others(folder: Path) -> dict[str, tuple[Path, str, int]]:
    """Further pages, by the names of their pictures: the file, what is seen of it, and how high that is."""
    jobs, conf = folder / "jobs.swf", folder / "slurm.conf"
    conf.write_text(CONF)
    _run("trace", "generate", jobs, "--jobs", 400, "--processors", 64, "--load", 0.8)
    failures = ("--operation", "mtbf=200000", "--operation", "mttr=30000")
    _run("run", jobs, "--slurm-conf", conf, *failures, "--out", folder / "cluster")
    _run("report", folder / "cluster", "--to", folder / "nodes.html")
    problem = folder / "six jobs.toml"
    problem.write_text(PROBLEM)
    _run("optimum", problem, "--solver", "highs", "--picture", folder / "best.png", "--report", folder / "best.html")
    return {
        "nodes": (folder / "nodes.html", "#nodes", 560),
        "optimum": (folder / "best.html", "h1", 800),
    }


def _run(*words: object) -> None:
    CliRunner().invoke(slurm_sim, [str(word) for word in words], catch_exceptions=False, standalone_mode=False)


if __name__ == "__main__":
    main()
