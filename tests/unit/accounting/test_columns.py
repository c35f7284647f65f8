"""Columns of records: worked out late, written in portions, and texts of which there are few or many."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow.parquet
import pytest

from emulator import Workload, simulate
from emulator.accounting import records as columns
from emulator.accounting import runfolder
from emulator.accounting.records import Records


def of_three() -> Records:
    workload = Workload.from_columns(
        {"id": [7, 8, 9], "submit": [0.0, 0.0, 1.0], "processors": [2, 9, 1], "run": [4, 1, 2], "time_limit": [5, 5, 5]}
    )
    return simulate(workload, 2).records


def test_runs_are_worked_out_when_they_are_asked_for() -> None:
    records = of_three()
    assert {name: column.tolist() for name, column in records.runs.items()} == {
        "job_id": [7, 9],
        "run": [1, 1],
        "start": [0.0, 4.0],
        "end": [4.0, 6.0],
        "processors": [2, 1],
        "work": [4.0, 2.0],
        "backfilled": [False, False],
        "outcome": ["COMPLETED", "COMPLETED"],
    }
    assert records.runs["start"] is records.runs["start"]
    again = pickle.loads(pickle.dumps(records))
    assert type(again.runs) is dict and again.runs["job_id"].tolist() == [7, 9]


def test_states() -> None:
    records = of_three()
    assert records.in_state("REJECTED").tolist() == [False, True, False]
    assert records.in_state("TIMEOUT").tolist() == [False, False, False]


@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_portions_are_row_groups(rows: int, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    records = of_three()
    monkeypatch.setattr(runfolder, "ROW_GROUP", rows)
    runfolder.write_jobs(tmp_path / "jobs.parquet", records)
    pyarrow.parquet.write_table(records.jobs_table(), tmp_path / "whole.parquet", row_group_size=rows)
    assert (tmp_path / "jobs.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()


@pytest.mark.parametrize("words", [["a", "b\xe9", "", "a"], ["a", None, 3, "a"], [None], []])
@pytest.mark.parametrize("few", [0, 100])
def test_texts(words: list[object], few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "FEW", few)
    written = columns.table_of({"words": np.array(words, dtype=object)})["words"].to_pylist()
    assert written == [None if word is None else str(word) for word in words]
