"""Filters: what each drops and changes, and how it says so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.workload.filters import FILTERS, NONE, PAPERS, STANDARD, Cleaned, Filter, clean, find_filter, start_at
from emulator.workload.workload import Changed, Dropped, Workload
from slurm_sim_plugins.errors import ConfigurationError

UNLIMITED = 2.0**31 - 1


def columns(*jobs: tuple[float, float, int, float]) -> dict[str, Any]:
    """Columns of jobs (submit, run, processors, request) with the ids 1, 2, ..."""
    submit, run, processors, limit = zip(*jobs, strict=True)
    return {
        "id": np.arange(1, len(jobs) + 1),
        "submit": np.array(submit, dtype=float),
        "run": np.array(run, dtype=float),
        "processors": np.array(processors),
        "time_limit": np.array(limit, dtype=float),
        "user": np.arange(101, 101 + len(jobs)),
    }


def ids(cleaned: Cleaned) -> list[int]:
    return [int(job) for job in cleaned.columns["id"]]


@pytest.mark.parametrize("rules", FILTERS.values(), ids=FILTERS)
def test_a_job_without_flaws_stays_as_it_is(rules: Filter) -> None:
    given_columns = columns((0, 10, 4, 20), (5, 7.5, 1, UNLIMITED))
    cleaned = clean(given_columns, rules, machine=4)
    assert not cleaned.dropped and not cleaned.changed
    for name, values in given_columns.items():
        assert cleaned.columns[name].tolist() == values.tolist()


@pytest.mark.parametrize("rules", FILTERS.values(), ids=FILTERS)
@pytest.mark.parametrize(
    ("flaw", "reason"),
    [
        ((-1, 10, 4, 20), "submit time unknown or negative"),
        ((float("nan"), 10, 4, 20), "submit time unknown or negative"),
        ((0, -1, 4, 20), "run time unknown"),
        ((0, float("nan"), 4, 20), "run time unknown"),
        ((0, 10, 0, 20), "number of processors unknown or 0"),
        ((0, 10, -1, 20), "number of processors unknown or 0"),
    ],
)
def test_every_filter_drops_what_cannot_be_simulated(
    rules: Filter, flaw: tuple[float, float, int, float], reason: str
) -> None:
    cleaned = clean(columns((0, 1, 1, 1), flaw), rules)
    assert ids(cleaned) == [1]
    assert cleaned.columns["user"].tolist() == [101]
    assert cleaned.kept.tolist() == [True, False]
    (dropped,) = cleaned.dropped
    assert dropped.reason.startswith(reason)
    assert (dropped.count, dropped.first) == (1, "job 2")


def test_zero_run_times_are_dropped_by_standard_only() -> None:
    zero = columns((0, 0, 1, 5), (0, 1, 1, 5))
    assert ids(clean(zero, STANDARD)) == [2]
    assert clean(zero, STANDARD).dropped == (Dropped("run time unknown or 0 s", 1, "job 1"),)
    assert ids(clean(zero, PAPERS)) == ids(clean(zero, NONE)) == [1, 2]


def test_jobs_beyond_the_machine() -> None:
    large = columns((0, 1, 4, 5), (0, 1, 5, 5), (0, 1, 9, 5))
    for rules in (STANDARD, PAPERS):
        cleaned = clean(large, rules, machine=4)
        assert ids(cleaned) == [1]
        assert cleaned.dropped == (Dropped("more processors than the machine's 4", 2, "job 2"),)
        assert ids(clean(large, rules)) == [1, 2, 3], "without a known machine no job is too large"
    assert ids(clean(large, NONE, machine=4)) == [1, 2, 3]


@pytest.mark.parametrize("missing", [-1, 0, float("nan")])
def test_a_missing_request_becomes_the_run_time(missing: float) -> None:
    jobs = columns((0, 30, 1, missing), (0, 0.5, 1, missing))
    assert clean(jobs, STANDARD).columns["time_limit"].tolist() == [30, 0.5]
    assert clean(jobs, STANDARD).changed == (Changed("no requested time: the run time taken for it", 2, "job 1"),)
    for rules in (PAPERS, NONE):
        cleaned = clean(jobs, rules)
        assert cleaned.columns["time_limit"].tolist() == [30, 1]
        assert cleaned.changed == (Changed("no requested time: the run time taken for it, at least 1 s", 2, "job 1"),)


def test_a_missing_request_of_a_job_of_no_time_is_a_second() -> None:
    for rules in (PAPERS, NONE):
        assert clean(columns((0, 0, 1, -1)), rules).columns["time_limit"].tolist() == [1]


def test_only_papers_raises_short_requests() -> None:
    jobs = columns((0, 0, 1, 0.25), (0, 0.25, 1, 1))
    cleaned = clean(jobs, PAPERS)
    assert cleaned.columns["time_limit"].tolist() == [1, 1]
    assert cleaned.changed == (Changed("request below 1 s: raised to it", 1, "job 1"),)
    assert clean(jobs, NONE).columns["time_limit"].tolist() == [0.25, 1]


def test_only_standard_cuts_run_times() -> None:
    jobs = columns((0, 10, 1, 10), (0, 11, 1, 10), (0, 99, 1, 10))
    cleaned = clean(jobs, STANDARD)
    assert cleaned.columns["run"].tolist() == [10, 10, 10]
    assert cleaned.changed == (Changed("run time beyond the request: cut to the request", 2, "job 2"),)
    for rules in (PAPERS, NONE):
        assert clean(jobs, rules).columns["run"].tolist() == [10, 11, 99]
        assert clean(jobs, rules).changed == ()


def test_a_record_is_counted_once_and_dropped_ones_never_as_changed() -> None:
    cleaned = clean(columns((-1, -1, 0, -1), (0, -1, 0, -1), (0, 5, 0, -1), (0, 9, 1, 3), (0, 9, 1, -1)), STANDARD)
    assert [(each.count, each.first) for each in cleaned.dropped] == [(1, "job 1"), (1, "job 2"), (1, "job 3")]
    assert [(each.count, each.first) for each in cleaned.changed] == [(1, "job 5"), (1, "job 4")]


def test_the_caller_says_where_records_are() -> None:
    cleaned = clean(columns((0, 5, 1, 9), (0, 0, 1, 9)), STANDARD, where=lambda index: f"log.swf:{index + 40}")
    assert cleaned.dropped[0].first == "log.swf:41"


def test_columns_given_are_left_alone() -> None:
    given_columns = columns((0, 11, 1, 10), (0, 5, 1, -1))
    clean(given_columns, STANDARD)
    assert given_columns["run"].tolist() == [11, 5]
    assert given_columns["time_limit"].tolist() == [10, -1]


def test_find_filter() -> None:
    assert find_filter("papers") is PAPERS
    with pytest.raises(ConfigurationError, match="'paper'; choose one of standard, papers, raised, none"):
        find_filter("paper")


def test_filters_carry_their_own_names_and_say_what_they_do() -> None:
    for name, rules in FILTERS.items():
        assert rules.name == name
        assert rules.about


times = st.one_of(st.integers(-2, 50), st.floats(-2, 50), st.just(float("nan")), st.just(UNLIMITED))
jobs = st.lists(st.tuples(times, times, st.integers(-1, 9), times), min_size=1, max_size=20)


@settings(deadline=None)
@given(jobs, st.sampled_from(list(FILTERS.values())), st.none() | st.integers(1, 8))
def test_what_a_filter_keeps_can_be_simulated_and_the_rest_is_counted(
    given_jobs: list[tuple[float, float, int, float]], rules: Filter, machine: int | None
) -> None:
    cleaned = clean(columns(*given_jobs), rules, machine=machine)
    workload = Workload.from_columns(cleaned.columns)
    assert len(workload) + sum(each.count for each in cleaned.dropped) == len(given_jobs)
    assert all(each.count > 0 and each.first for each in cleaned.dropped + cleaned.changed)
    if rules.drop_larger and machine is not None:
        assert (workload.processors <= machine).all()
    if rules.truncate:
        assert (workload.run <= workload.time_limit).all()
    again = clean(workload.columns(), rules, machine=machine)
    assert not again.dropped and not again.changed, "a second cleaning finds nothing to do"


def some_workload(**about: Any) -> Workload:
    return Workload.from_columns(columns((100, 5, 1, 5), (130.5, 5, 1, 5)), **about)


def test_start_at_shifts_submissions_and_epoch() -> None:
    shifted = start_at(some_workload(epoch=1000), 40)
    assert shifted.submit.tolist() == [40, 70.5]
    assert shifted.epoch == 1060, "the first job keeps its date, 1100"
    assert start_at(some_workload(), 0).epoch is None
    assert start_at(some_workload(), 0).submit.tolist() == [0, 30.5]


def test_start_at_refuses_what_is_no_time() -> None:
    for second in (-1.0, float("nan"), float("inf"), 1e30):
        with pytest.raises(ConfigurationError, match="first job cannot be submitted at"):
            start_at(some_workload(), second)


def test_start_at_without_a_job() -> None:
    empty = replace(some_workload(), id=np.array([], dtype=np.int64), submit=np.array([]))
    assert start_at(empty, 5) is empty


def test_requests_below_the_run_time_are_raised_by_raised_only() -> None:
    given_columns = columns((0, 10, 1, 20), (0, 30, 1, 20), (0, 7, 1, -1), (0, 0, 1, 0))
    cleaned = clean(given_columns, FILTERS["raised"])
    assert cleaned.columns["run"].tolist() == [10, 30, 7, 0]
    assert cleaned.columns["time_limit"].tolist() == [20, 30, 7, 1]
    assert cleaned.changed[-1] == Changed("run time beyond the request: request raised to it", 1, "job 2")
    assert clean(given_columns, PAPERS).columns["time_limit"].tolist() == [20, 20, 7, 1]
