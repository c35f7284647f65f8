"""Make the pictures of ``docs/report.md`` from generated jobs: ``python docs/pictures.py`` (needs Chromium)."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from emulator.campaign.expand import expand  # noqa: E402
from emulator.campaign.file import read_campaign  # noqa: E402
from emulator.campaign.runs import run_all  # noqa: E402
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
ZOOMED = "#run=5&from=300000&to=420000"
SETTLED = 0.5
"""Seconds."""


def shoot(chromium: Browser, page: Path, fragment: str, element: str, name: str, height: int = 620) -> None:
    """Keep what is seen of the page with an element in the middle."""
    from PIL import Image

    chromium.open(page, fragment, 1100, height)
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
            shoot(chromium, page, "#baseline=0", "h1", "matrix")
            shoot(chromium, page, ZOOMED, "#queue", "over-time", 980)
            shoot(chromium, page, f"{ZOOMED}&other=0", "#differences", "differences", 560)


if __name__ == "__main__":
    main()
