"""Differences between two runs."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from emulator.accounting.runfolder import FinishedRun
from emulator.report.diff import JobDiff, diff_runs, diff_table
from tests.builders.records import A10, EMPTY, NAN, records_of, run_of

Starts = dict[int, float | None]


def run_with(starts: Starts, processors: int = 8, label: str = "sched/easy", **about: object) -> FinishedRun:
    """A run of jobs of 10 s that start then; None for a job that never did."""
    table = {job: (0, 1 + job % 3, 10) for job in starts}
    states = {job: "PENDING" for job, start in starts.items() if start is None}
    runs = {job: [(start, start + 10)] for job, start in starts.items() if start is not None}
    records = records_of(table, runs, processors, states=states)
    return run_of(records, {"run": {"label": label}, **about})


def text_of(diffs: list[JobDiff], a: FinishedRun, b: FinishedRun) -> str:
    stream = io.StringIO()
    Console(file=stream, width=120).print(diff_table(diffs, a, b))
    return stream.getvalue()


def test_the_first_difference_comes_first() -> None:
    a, b = run_with({1: 5, 2: 30, 3: 7, 4: 9}), run_with({1: 5, 2: 6, 3: 40, 4: 9})
    assert [(each.job_id, each.first, each.second, each.later) for each in diff_runs(a, b)] == [
        (2, 30.0, 6.0, -24.0),
        (3, 7.0, 40.0, 33.0),
    ]


def test_at_one_instant_the_lower_id_comes_first() -> None:
    a, b = run_with({3: 5, 2: 5, 9: 1}), run_with({3: 6, 2: 7, 9: 5})
    assert [each.job_id for each in diff_runs(a, b)] == [9, 2, 3]


def test_jobs_that_one_run_alone_has_are_told() -> None:
    a, b = run_with({1: 5, 2: 3, 7: None}), run_with({1: 5, 4: 2})
    assert [(each.job_id, each.first, each.second, each.only_in) for each in diff_runs(a, b)] == [
        (4, None, 2.0, "second"),
        (2, 3.0, None, "first"),
        (7, None, None, "first"),
    ]
    assert [each.processors for each in diff_runs(a, b)] == [2, 3, 2]


def test_a_job_that_starts_in_one_run_alone_differs() -> None:
    (only,) = diff_runs(run_with({1: 5, 2: None}), run_with({1: None, 2: None}))
    assert only == JobDiff(1, 2, 5.0, None)
    assert only.later is None


def test_the_limit_keeps_the_first() -> None:
    a, b = run_with({job: 10 * job for job in range(20)}), run_with({job: 10 * job + 1 for job in range(20)})
    assert diff_runs(a, b, 3) == diff_runs(a, b)[:3]
    assert diff_runs(a, b, 0) == []


def test_a_run_does_not_differ_from_itself() -> None:
    for records in (A10, EMPTY):
        assert diff_runs(run_of(records), run_of(records)) == []


def test_an_empty_run_lacks_all_jobs() -> None:
    assert [each.only_in for each in diff_runs(run_of(EMPTY), run_with({1: 5, 2: 6}))] == ["second", "second"]


def test_the_table_shows_what_differs() -> None:
    a = run_with({1: 100, 2: 3, 7: None, 8: 1})
    b = run_with({1: 4000, 4: 2, 7: None, 8: 1.25}, label="sched/[red]fcfs\x1b[31m")
    text = text_of(diff_runs(a, b), a, b)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "1 2 100 4,000 1:05:00" in lines
    assert "8 3 1 1.25 0.25 s" in lines
    assert "4 2 no such job 2 \N{EN DASH}" in lines
    assert "sched/[red]fcfs" in text
    assert "\x1b" not in text
    assert "different" not in text


def test_the_table_says_what_makes_runs_hard_to_compare() -> None:
    a = run_with({1: 1}, workload={"source_sha256": "aa"})
    b = run_with({1: 2}, processors=9, workload={"source_sha256": "bb"})
    text = text_of(diff_runs(a, b), a, b)
    assert "different workloads" in text
    assert "8 and 9 processors" in text


def test_the_table_writes_dates_where_both_know_them() -> None:
    runs = [run_of(records_of({1: (0, 1, 5)}, {1: [(at, at + 5)]}, 1, epoch=843480031)) for at in (0, 60.5)]
    text = text_of(diff_runs(*runs), *runs)
    assert "1996-09-23 12:00:31 " in text
    assert "1996-09-23 12:01:31.5" in text


start_of_a_job = st.none() | st.integers(0, 6)


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(st.dictionaries(st.integers(0, 9), start_of_a_job), st.dictionaries(st.integers(0, 9), start_of_a_job))
def test_differences_agree_with_a_loop(first: Starts, second: Starts) -> None:
    expected = []
    for job in sorted({*first, *second}):
        one, other = first.get(job), second.get(job)
        if one != other or (job in first) != (job in second):
            earlier = min((start for start in (one, other) if start is not None), default=float("inf"))
            expected.append((earlier, job, one, other))
    found = [(each.job_id, each.first, each.second) for each in diff_runs(run_with(first), run_with(second))]
    assert found == [(job, one, other) for _, job, one, other in sorted(expected, key=lambda row: row[:2])]


@pytest.mark.parametrize("start", [NAN])
def test_never_is_not_unlike_never(start: float) -> None:
    records = records_of({1: (0, 1, 5)}, {1: [(start, start)]}, 1, states={1: "PENDING"})
    assert diff_runs(run_of(records), run_of(records)) == []
