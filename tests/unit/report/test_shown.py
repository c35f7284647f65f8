"""What an interpreter or a notebook shows of a workload, records and a result."""

from __future__ import annotations

import string
import sys

import numpy as np
import pytest

from emulator import Result, Workload, simulate
from emulator.config.slurm import parse_slurm_conf
from emulator.workload.request import JobRequest
from emulator.workload.submissions import Submissions


def workload(jobs: int, name: str = "seed", wanted: int = 2) -> Workload:
    ids = np.arange(1, jobs + 1)
    columns = {"id": ids, "submit": 5.0 * ids, "processors": wanted + 0 * ids, "run": 9.0 + ids % 7}
    columns["time_limit"] = np.full(jobs, 60.0)
    return Workload.from_columns(columns, name=name, machine=4)


@pytest.mark.parametrize("jobs", [0, 1, 200, 2500])
def test_what_is_shown_is_short_and_says_what_was_run(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given = workload(jobs)
    result = simulate(given, processors=4, scheduler="sched/easy")
    with np.printoptions(threshold=sys.maxsize):
        shown, others = repr(result), repr(given) + repr(result.records)
        html, *picture = result._repr_html_().split("<img ")
    assert len(picture) == (jobs > 0)
    assert all(len(each) < 60_000 for each in picture)
    assert max(len(shown), len(html), len(others)) < 500
    for part in ("sched/easy on seed", f"{jobs:,} jobs, {jobs:,} runs", "4 processors", "mean wait", "utilisation"):
        assert part in shown
        assert part in html
    assert f"{jobs:,} jobs, {jobs:,} runs" in others


def test_metrics_shown_are_those_of_the_result() -> None:
    result = simulate(workload(200), processors=4)
    assert f"mean wait {result.metrics()['mean_wait']:,.2f} s" in repr(result)


def test_jobs_that_never_ran_are_no_numbers() -> None:
    assert "mean wait \N{EN DASH}" in repr(simulate(workload(3, wanted=9), processors=4))


@pytest.mark.parametrize(
    "name",
    ["<script>alert(1)</script>", "\x1b[31mred", "&" * 100_000, "w" * 100_000],
    ids=["script", "escape", "ampersands", "long"],
)
def test_a_name_from_outside_is_short_and_does_nothing(name: str) -> None:
    result = simulate(workload(3, name), processors=4)
    html, picture = result._repr_html_().split("<img ")
    assert set(picture) <= set(string.ascii_letters + string.digits + ' "=:;,+/>')
    assert len(repr(result)) + len(repr(workload(3, name))) < 1000
    assert len(html) < 1000
    assert "<script" not in html
    assert "\x1b" not in repr(result) + html + repr(workload(3, name))


def test_a_result_in_slurms_timing() -> None:
    conf = parse_slurm_conf("NodeName=n[1-2] CPUs=2\nPartitionName=p Nodes=ALL Default=YES")
    result = simulate(Submissions([JobRequest(1, 0.0, 30.0)], "one"), conf)
    assert isinstance(result, Result)
    assert "one" in repr(result)
    assert "1 jobs, 1 runs" in repr(result)
