"""What a log says of its jobs' fate: kept for evaluations, shown to no plugin."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from emulator import Workload, read_swf, write_swf
from slurm_sim_plugins import InputError

RECORDS = """
1 0 5 200 1 -1 -1 -1 100 -1 1 7 -1 -1 -1 -1 -1 -1
2 1 -1 50 1 -1 -1 -1 -1 -1 1 7 -1 -1 -1 -1 -1 -1
3 2 0 60 1 -1 -1 -1 90 -1 1 7 -1 -1 -1 -1 -1 -1
"""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    file = tmp_path / "log.swf"
    file.write_text(RECORDS)
    return file


def same(values: np.ndarray, expected: list[float]) -> bool:
    return np.array_equal(values, np.array(expected), equal_nan=True)


def test_waits_and_what_the_filter_changed_are_kept_as_they_were(trace: Path) -> None:
    workload = read_swf(trace)
    assert same(workload.logged["wait"], [5, math.nan, 0])
    assert same(workload.logged["run"], [200, 50, 60])
    assert same(workload.logged["time_limit"], [100, math.nan, 90])
    assert workload.run.tolist() == [100, 50, 60]
    assert workload.time_limit.tolist() == [100, 50, 90]


def test_what_the_filter_left_as_it_was_is_kept_once(trace: Path) -> None:
    assert set(read_swf(trace, filter="papers").logged) == {"wait", "time_limit"}


def test_it_is_no_fact_that_a_plugin_could_read(trace: Path) -> None:
    workload = read_swf(trace)
    assert set(workload.facts) == {"status", "user"}
    assert set(workload.columns()) == {"id", "submit", "processors", "run", "time_limit", "status", "user"}


def test_it_follows_the_jobs(trace: Path, tmp_path: Path) -> None:
    workload = read_swf(trace)
    assert workload.where(workload.id == 3).logged["wait"].tolist() == [0]
    unsorted = Workload.from_columns(
        {"id": [2, 1], "submit": [9, 3], "processors": [1, 1], "run": [1, 1], "time_limit": [1, 1]},
        logged={"wait": [40, 50]},
    )
    assert unsorted.logged["wait"].tolist() == [50, 40]
    write_swf(workload, tmp_path / "again.swf")
    assert same(read_swf(tmp_path / "again.swf").logged["wait"], [5, math.nan, 0])


def test_a_column_of_another_length_is_refused() -> None:
    columns = {"id": [1], "submit": [0], "processors": [1], "run": [1], "time_limit": [1]}
    with pytest.raises(InputError, match=r"differ in length.*'logged wait': 2"):
        Workload.from_columns(columns, logged={"wait": [1, 2]})
