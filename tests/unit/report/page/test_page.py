"""The page as a file: what it holds, that it is safe, and that its bytes are always the same."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.accounting.records import Records
from emulator.accounting.runfolder import write_run
from emulator.metrics.summary import METRICS
from emulator.report.page import assets
from emulator.report.page.blocks import Blocks, encode_table
from emulator.report.page.matrix import matrix_of
from emulator.report.page.sources import Source, Sources, read_sources, source_of, told_apart
from emulator.report.page.stories import longest_waits
from emulator.report.page.write import page, write_page
from slurm_sim_plugins.errors import InputError, OutputError
from tests.builders.records import A10, ABOUT, HOSTILE, many, records_of, run_of

EPOCH = 843480031


class Reader(HTMLParser):
    """Gathers tags, attributes and text, as a browser would see them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    return reader


def page_of(records: Records, about: Mapping[str, Any] | None = None) -> str:
    return page(Sources([source_of(run_of(records, about))]))


@cache
def usual_page() -> str:
    return page_of(many(100, epoch=EPOCH), ABOUT)


@cache
def hostile_page() -> str:
    about = {
        "run": {"label": HOSTILE, "status": HOSTILE, "version": HOSTILE, HOSTILE: HOSTILE},
        "simulation": {"timing": HOSTILE, HOSTILE: [HOSTILE, {HOSTILE: HOSTILE}]},
        "slots": {HOSTILE: HOSTILE, "SchedulerType": "sched/x"},
        "plugins": {HOSTILE: {"origin": HOSTILE, "sha256": HOSTILE, "options": {HOSTILE: HOSTILE}, "oracle": True}},
        "workload": {
            "name": HOSTILE,
            HOSTILE: HOSTILE,
            "dropped": [{"reason": HOSTILE, "count": HOSTILE, "first": HOSTILE}],
            "changed": [{"reason": HOSTILE}, "nonsense"],
        },
    }
    users = np.array([HOSTILE, HOSTILE, None], dtype=object)
    return page_of(replace(A10, jobs={**A10.jobs, "user": users}), about)


def blocks_of(text: str) -> list[bytes]:
    """The data of a page, decompressed."""
    found = re.findall(r'<script type="text/plain" id="block-\d+">([^<]*)</script>', text)
    return [gzip.decompress(base64.b64decode(each)) for each in found]


def index_of(text: str) -> dict[str, Any]:
    number = re.search(r'<script type="text/plain" id="index">(\d+)</script>', text)
    assert number is not None
    return dict(json.loads(blocks_of(text)[int(number[1])]))


# Safety


def test_hostile_names_are_text() -> None:
    text = hostile_page()
    reader = read(text)
    assert "<script>alert" not in text
    assert "<img" not in text
    assert "\x1b" not in text
    assert "\x00" not in text
    assert "alert(1)" in reader.text
    assert "oracle: a plugin knew true run times" in reader.text
    assert not [name for name, _ in reader.attributes if name.startswith("on") or name == "style"]
    assert reader.tags.count("script") == len(blocks_of(text)) + 2


@pytest.mark.parametrize("make", [hostile_page, usual_page])
def test_the_page_needs_nothing_from_elsewhere(make: Any) -> None:
    text = make()
    assert not re.search(r"https?://|@import|url\(|\bfetch\(|XMLHttpRequest|WebSocket|innerHTML|eval\(", text)
    for name, value in read(text).attributes:
        assert name not in ("src", "href", "action", "data"), value


def test_the_policy_of_the_page_names_script_and_style_by_their_hashes() -> None:
    text = usual_page()
    policy = next(value or "" for _, value in read(text).attributes if value and "default-src" in value)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for kind, found in (
        ("script-src", re.search(r'<script type="module">(.*?)</script>', text, re.DOTALL)),
        ("style-src", re.search(r"<style>(.*?)</style>", text, re.DOTALL)),
    ):
        assert found is not None
        digest = base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy


def test_ids_on_the_page_are_unique() -> None:
    ids = [value for name, value in read(usual_page()).attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_colours_of_the_style_have_a_value_in_light_and_in_dark() -> None:
    style = assets.style()
    for variable in set(re.findall(r"var\((--[\w-]+)\)", style)):
        assert len(re.findall(rf"{variable}:", style)) == 2, variable


# Content


def test_the_page_tells_all_that_made_the_run() -> None:
    text = read(usual_page()).text
    for fact in (
        *(
            "sched/easy",
            "KTH-SP2",
            "ideal timing, passes=batch, killed at the limit",
            "walltime/virtual",
            "error = 0.1",
        ),
        *("ef" * 32, "ab" * 32, "28,476", "run time unknown or 0 s", "KTH-SP2.swf.gz:2476", "1,475", "0.1.0"),
        *("1996-09-23 12:00:31 UTC", "mean bounded slowdown"),
    ):
        assert fact in text
    assert all(metric.definition in text for metric in METRICS.values())


def test_a_run_of_which_nothing_was_left_out_says_so() -> None:
    assert "every job of the source is in the run as it was" in read(page_of(A10, {"run": {"label": "x"}})).text


def test_each_metric_has_unit_definition_and_source() -> None:
    metrics = index_of(usual_page())["matrix"]["metrics"]
    assert {metric["key"] for metric in metrics} == set(METRICS)
    assert all(metric["unit"] and metric["definition"] and metric["source"] for metric in metrics)


def test_the_longest_waits_are_told_of_first() -> None:
    records = many(100, epoch=EPOCH)
    waits = records.jobs["start"] - records.jobs["submit"]
    found = longest_waits(run_of(records), 5)
    assert found[0] == records.jobs["job_id"][int(np.argmax(waits))]
    assert len(longest_waits(run_of(records), 1000)) == np.sum(waits > 0)


# The matrix


def sources_of(*rows: tuple[str, str, int, float]) -> list[Source]:
    return [
        Source(workload, policy, seed, {"mean_wait": value, "jobs": 3.0}, {}) for workload, policy, seed, value in rows
    ]


def cell(matrix: Mapping[str, Any], workload: int, policy: int) -> Any:
    return next(each for each in matrix["cells"] if (each["workload"], each["policy"]) == (workload, policy))


def test_the_best_of_each_workload_is_marked() -> None:
    matrix = matrix_of(sources_of(("w", "a", 0, 100.0), ("w", "b", 0, 50.0), ("v", "a", 0, 1.0), ("v", "b", 0, 2.0)))
    assert cell(matrix, 0, 0)["numbers"]["mean_wait"] == ["100", "0:01:40", 0]
    assert cell(matrix, 0, 1)["numbers"]["mean_wait"] == ["50", "", 1]
    assert cell(matrix, 1, 0)["numbers"]["mean_wait"][2] == 1
    assert cell(matrix, 0, 0)["numbers"]["jobs"][2] == 0


def test_repetitions_have_an_interval_and_are_paired_by_seed() -> None:
    rows = [("w", "a", seed, 100.0 + 10 * seed) for seed in range(4)]
    rows += [("w", "b", seed, 90.0 + 10 * seed + seed % 2) for seed in range(4)]
    matrix = matrix_of(sources_of(*rows))
    assert cell(matrix, 0, 0)["runs"] == [0, 1, 2, 3]
    assert "\N{PLUS-MINUS SIGN}" in cell(matrix, 0, 0)["numbers"]["mean_wait"][0]
    (less,) = matrix["differences"]["0"]
    text, relative, judged, pairs, differs = less["numbers"]["mean_wait"]
    assert text.startswith("-9.50 \N{PLUS-MINUS SIGN} 0.92")
    assert (relative, judged, pairs, differs) == ("-8.3 %", 1, 4, 1)
    (more,) = matrix["differences"]["1"]
    assert more["numbers"]["mean_wait"][0].startswith("+9.50")
    assert more["numbers"]["mean_wait"][2] == -1


def test_a_policy_that_did_not_run_on_a_workload_has_no_cell() -> None:
    matrix = matrix_of(sources_of(("w", "a", 0, 1.0), ("v", "b", 0, 2.0)))
    assert [(each["workload"], each["policy"]) for each in matrix["cells"]] == [(0, 0), (1, 1)]
    assert matrix["differences"] == {"0": [], "1": []}


def test_runs_that_are_called_alike_get_the_names_of_their_folders() -> None:
    one, other = (
        replace(each, place=place) for each, place in zip(sources_of(("w", "a", 0, 1.0)) * 2, "xy", strict=True)
    )
    assert [each.policy for each in told_apart([one, other])] == ["a (x)", "a (y)"]
    assert [each.policy for each in told_apart([one, replace(other, seed=1)])] == ["a", "a"]


# Data


@settings(deadline=None)
@given(
    st.lists(
        st.none() | st.floats(-1e7, 1e7).map(lambda value: round(value, 6)) | st.integers(-(10**12), 10**12),
        max_size=30,
    )
)
def test_columns_come_back_as_they_were(values: list[float | None]) -> None:
    column = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    submit = np.arange(len(values)) * 100.0
    blocks = Blocks()
    about = encode_table({"submit": submit, "start": column}, blocks)
    back = decoded(about, "start", blocks)
    np.testing.assert_allclose(back, column, rtol=1e-12, atol=2e-6)


def decoded(about: Mapping[str, Any], name: str, blocks: Blocks) -> np.ndarray[Any, Any]:
    """As the page's script decodes a column of numbers."""
    kept = about[name]
    data = gzip.decompress(base64.b64decode(blocks.texts()[kept["block"]]))
    kind = np.dtype({"i8": "<i1", "i16": "<i2", "i32": "<i4", "f64": "<f8"}[kept["kind"]])
    raw = np.frombuffer(data, np.uint8).reshape(kind.itemsize, -1).T.copy().view(kind).reshape(-1)
    if kind.kind == "i":
        values = np.where(raw == np.iinfo(kind).min, np.nan, raw.astype(float))
        values = (np.cumsum(values) if kept["rising"] else values) / kept["scale"]
    else:
        values = raw.astype(float)
    return values + decoded(about, kept["base"], blocks) if "base" in kept else values


def test_the_same_content_is_kept_once() -> None:
    records = many(50)
    one = page_of(records, ABOUT)
    about = {**ABOUT, "run": {**ABOUT["run"], "label": "sched/other"}}
    both = page(Sources([source_of(run_of(records, ABOUT)), source_of(run_of(records, about))]))
    assert len(blocks_of(both)) == len(blocks_of(one))


def test_a_job_takes_few_bytes() -> None:
    jobs = 5000
    assert len(page_of(many(jobs))) - len(page_of(many(1))) < 60 * jobs


# Files


def written(folder: Path) -> Path:
    records = many(300, epoch=EPOCH)
    runs = {**records.runs, "work": records.runs["end"] - records.runs["start"]}
    write_run(folder, replace(records, runs=runs), {**ABOUT, "machine": {"processors": 128, "epoch": EPOCH}})
    return folder


@pytest.mark.slow
def test_a_run_folder_gives_the_same_page_each_time(tmp_path: Path) -> None:
    folder = written(tmp_path / "run")
    for name in ("one.html", "two.html"):
        write_page(read_sources([folder]), tmp_path / name)
    one, two = ((tmp_path / name).read_bytes() for name in ("one.html", "two.html"))
    assert one == two
    code = (
        "import hashlib, sys; from pathlib import Path; from emulator.report.page.sources import read_sources;"
        "from emulator.report.page.write import page;"
        "print(hashlib.sha256(page(read_sources([Path(sys.argv[1])])).encode()).hexdigest())"
    )
    root = Path(__file__).resolve().parents[4]
    command = [sys.executable, "-c", code, str(folder)]
    surroundings = {"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"}
    other = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root, env=surroundings)
    assert other.stdout.strip() == hashlib.sha256(one).hexdigest()


def test_a_page_that_cannot_be_written_is_an_output_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        write_page(Sources([source_of(run_of(A10))]), tmp_path / "file" / "page.html")


def test_what_is_no_folder_of_runs_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not the folder of a run"):
        read_sources([tmp_path])


def test_a_run_without_jobs_has_a_page() -> None:
    assert index_of(page_of(records_of({}, {}, 4)))["runs"][0]["count"] == 0
