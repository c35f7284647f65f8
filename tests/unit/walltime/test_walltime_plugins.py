"""walltime/history, walltime/last_two, walltime/recent_average and priority/wfp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from emulator import Result, Workload, simulate
from emulator.testing.invariants import check_invariants
from slurm_sim_plugins import ConfigurationError, PluginError
from slurm_sim_plugins.manager import Catalogue
from slurm_sim_plugins.walltime.history import MONTH
from tests.builders.jobs import column, starts
from tests.builders.percentiles import PERCENTILES, TWELVE

HOUR = 3600.0
Row = tuple[float, float, float]
"""(submission, run time, limit); each on one processor of its own."""


def log(rows: Sequence[Row], **facts: Any) -> Workload:
    """Jobs from 1 on, in the order of their rows; all of one user unless said otherwise."""
    submit, run, limit = (list(values) for values in zip(*rows, strict=True))
    count = len(rows)
    columns = {"id": range(1, count + 1), "submit": submit, "run": run, "time_limit": limit, "processors": [1] * count}
    return Workload.from_columns({**columns, "user": [1] * count, **facts}, machine=1000)


def plan(workload: Workload, plugin: str = "walltime/history", **options: Any) -> Result:
    given = {"plugin_options": {plugin: options}, "walltime": plugin, "catalogue": Catalogue()}
    result = simulate(workload, **given)
    check_invariants(result, workload)
    return result


def planned(workload: Workload, plugin: str = "walltime/history", **options: Any) -> dict[int, float]:
    """With how many seconds each job is planned while it waits."""
    return column(plan(workload, plugin, **options), "planned")


def twelve(then: Sequence[Row] = ((HOUR * 2, 1, HOUR),)) -> Workload:
    """Twelve jobs that used what the example says of their hour, and some more."""
    return log([(0, share * HOUR, HOUR) for share in TWELVE] + list(then))


USER: dict[str, Any] = {"key": "user", "threshold": 0.0}


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("cobalt", [1800, 2520, 2880, 3240, 3240, 3600, 3600]),
        ("nearest", [1620, 2520, 2880, 3240, 3240, 3600, 3600]),
        ("linear", [1710, 2412, 2808, 3006, 3204, 3402, 3600]),
    ],
)
def test_twelve_jobs(definition: str, expected: list[float]) -> None:
    for percentile, seconds in zip(PERCENTILES, expected, strict=True):
        options = {**USER, "percentile": percentile, "definition": definition}
        assert planned(twelve(), **options)[13] == pytest.approx(seconds, rel=1e-14)


def test_it_is_a_share_of_the_limit_not_a_time() -> None:
    assert planned(twelve([(HOUR * 2, 1, 200)]), **USER, percentile=50)[13] == 100


def test_with_nine_similar_jobs_nothing_is_adjusted() -> None:
    jobs = log([(0, 60, HOUR)] * 9 + [(2 * HOUR, 1, HOUR)] * 2 + [(3 * HOUR, 1, HOUR)])
    assert planned(jobs, **USER) == dict.fromkeys(range(1, 12), HOUR) | {12: 60.0}
    assert planned(jobs, **USER, min_jobs=9)[10] == 60
    assert planned(jobs, **USER, min_jobs=12)[12] == HOUR


def test_the_threshold_is_the_least_share() -> None:
    jobs = log([(0, 0.2 * HOUR, HOUR)] * 12 + [(2 * HOUR, 1, HOUR)])
    assert planned(jobs, key="user")[13] == 1800
    assert planned(jobs, **USER)[13] == 720


def test_a_job_is_planned_with_a_second_at_least_and_its_limit_at_most() -> None:
    jobs = log([(0, 0, HOUR)] * 10 + [(2 * HOUR, 1, HOUR), (2 * HOUR, 0.1, 0.5)])
    assert [planned(jobs, **USER)[job] for job in (11, 12)] == [1, 0.5]


def test_a_job_that_was_killed_at_its_limit_used_all_of_it() -> None:
    jobs = log([(0, 2 * HOUR, HOUR)] * 10 + [(3 * HOUR, 1, HOUR)])
    assert planned(jobs, **USER)[11] == HOUR


def test_what_ends_just_now_is_not_yet_known() -> None:
    ends = [(0, HOUR, 2 * HOUR)] * 10
    assert planned(log([*ends, (HOUR, 1, HOUR)]), **USER)[11] == HOUR
    assert planned(log([*ends, (HOUR + 0.001, 1, HOUR)]), **USER)[11] == HOUR / 2


def test_the_window_ends_to_the_microsecond() -> None:
    old, new = [(0, 900, HOUR)] * 10, [(MONTH, 1, HOUR)] * 10
    for later, expected in ((900, 900), (900.000001, HOUR), (901.000001, HOUR)):
        jobs = log([*old, (MONTH + later, 1, HOUR)])
        assert planned(jobs, **USER, window="1m")[11] == expected
        assert planned(jobs, **USER, window="2m")[11] == planned(jobs, **USER, window="all")[11] == 900
    assert planned(log([*old, *new, (MONTH + 901, 1, HOUR)]), **USER)[21] == 1


GROUPS = {
    "user": [1] * 20 + [1, 1, 2],
    "project": ["a"] * 10 + ["b"] * 10 + ["a", "b", "b"],
    "group": [5] * 20 + [5, 6, 5],
}
"""User 1 used a tenth of an hour in project a, and half of two hours in project b."""


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("user", [HOUR / 2, HOUR, 2 * HOUR]),
        ("project", [HOUR / 10, HOUR, HOUR]),
        ("double", [HOUR / 10, HOUR, 2 * HOUR]),
        ("triple", [HOUR / 10, HOUR, 2 * HOUR]),
    ],
)
def test_who_is_similar(key: str, expected: list[float]) -> None:
    rows = [(0, HOUR / 10, HOUR)] * 10 + [(0, HOUR, 2 * HOUR)] * 10
    jobs = log([*rows, (3 * HOUR, 1, HOUR), (3 * HOUR, 1, 2 * HOUR), (3 * HOUR, 1, 2 * HOUR)], **GROUPS)
    assert [planned(jobs, key=key, threshold=0.0)[job] for job in (21, 22, 23)] == expected


def test_the_triple_key_wants_the_same_limit() -> None:
    jobs = log([(0, 360, HOUR)] * 10 + [(3 * HOUR, 1, HOUR), (3 * HOUR, 1, HOUR + 0.5)], project=["a"] * 12)
    assert [planned(jobs, threshold=0.0)[job] for job in (11, 12)] == [360, HOUR + 0.5]
    assert planned(jobs, threshold=0.0, key="double")[12] == pytest.approx(360.05)


def test_another_column_may_say_the_project() -> None:
    jobs = log([(0, 360, HOUR)] * 10 + [(3 * HOUR, 1, HOUR)] * 2, group=[5] * 11 + [6])
    assert [planned(jobs, threshold=0.0, project="group")[job] for job in (11, 12)] == [360, HOUR]


@pytest.mark.parametrize("key", ["user", "project", "double", "triple"])
def test_a_job_of_an_unknown_user_or_project_is_not_adjusted_and_teaches_nothing(key: str) -> None:
    rows = [(0, 360, HOUR)] * 20 + [(3 * HOUR, 1, HOUR)]
    jobs = log(rows, user=[-1] * 20 + [1], project=[None] * 20 + ["a"])
    assert set(planned(jobs, key=key).values()) == {HOUR}


@pytest.mark.parametrize(("key", "column"), [("user", "user"), ("project", "project"), ("triple", "project")])
def test_a_workload_without_the_column_is_refused_with_advice(key: str, column: str) -> None:
    columns = {"id": [7], "submit": [3], "processors": [1], "run": [1], "time_limit": [2]}
    if column != "user":
        columns["user"] = [1]
    with pytest.raises(PluginError) as caught:
        plan(Workload.from_columns(columns, machine=1), key=key)
    assert f"the workload has no column {column!r}, which the key {key!r} needs" in caught.value.message
    assert "project=group" in caught.value.message
    assert (caught.value.plugin, caught.value.hook, caught.value.job) == ("walltime/history", "walltime_submit", 7)


def test_what_is_planned_with_the_adjusted_time() -> None:
    # 14 blocks the machine; whether 15 may go before it depends on what 13 and 15 are planned with.
    def schedule(adjust: str) -> dict[int, float]:
        jobs = log([(0, 1800, HOUR)] * 12 + [(10_000, 3000, HOUR), (10_001, 100, HOUR), (10_002, 2000, HOUR)])
        machine = jobs.columns() | {"processors": [1] * 12 + [999, 1000, 1]}
        whole = Workload.from_columns(machine, machine=1000)
        return starts(plan(whole, key="user", adjust=adjust))

    assert schedule("queue")[15] == 13_100
    assert schedule("running")[15] == 13_100
    assert schedule("regular")[15] == 13_100
    assert schedule("selective")[15] == schedule("backfill")[15] == schedule("queue+backfill")[15] == 10_002
    assert schedule("backfill+running") == schedule("regular") == schedule("queue+running+backfill")


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("percentile", 101, "percentile is 101; it goes from 0 to 100"),
        ("percentile", -1, "percentile is -1"),
        ("percentile", float("nan"), "percentile is nan"),
        ("threshold", 1.5, "threshold is 1.5; it goes from 0 to 1"),
        ("min_jobs", 0, "min_jobs is 0; a percentile needs 1 job or more"),
        ("adjust", "always", "adjust is 'always'; it is regular, selective, or some of queue+backfill+running"),
        ("adjust", "", "adjust is ''"),
        ("key", "group", "key is one of triple, double, user, project"),
        ("window", "4m", "window is one of 1m, 2m, 3m, 6m, 12m, all"),
        ("definition", "median", "definition is one of cobalt, nearest, linear"),
    ],
)
def test_options_that_cannot_be_used(option: str, value: Any, told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        planned(twelve(), **{option: value})
    assert told in str(caught.value)


# The others


def test_last_two_is_the_mean_of_the_last_two_that_ended() -> None:
    jobs = log([(0, 100, HOUR), (0, 50, HOUR), (0, 20, HOUR), (60, 1, HOUR), (200, 1, HOUR), (300, 1, 70)])
    assert planned(jobs, "walltime/last_two") == {1: HOUR, 2: HOUR, 3: HOUR, 4: 35, 5: 50.5, 6: 50.5}


def test_last_two_is_capped_by_limit_and_a_second() -> None:
    jobs = log([(0, 100, HOUR)] * 2 + [(200, 0, 70)] * 2 + [(300, 1, HOUR)])
    assert planned(jobs, "walltime/last_two") == {1: HOUR, 2: HOUR, 3: 70, 4: 70, 5: 1}


@pytest.mark.parametrize(("fewer", "expected"), [("limit", HOUR), ("last", 100)])
def test_last_two_while_there_is_one(fewer: str, expected: float) -> None:
    jobs = log([(0, 100, HOUR), (200, 1, HOUR), (200, 1, HOUR)], user=[1, 1, 2])
    assert planned(jobs, "walltime/last_two", fewer=fewer) == {1: HOUR, 2: expected, 3: HOUR}


def test_last_two_knows_nothing_of_jobs_without_a_user() -> None:
    assert set(planned(log([(0, 1, HOUR)] * 2 + [(9, 1, HOUR)], user=[-1] * 3), "walltime/last_two").values()) == {HOUR}


def test_recent_average_is_over_the_last_jobs_that_ended() -> None:
    jobs = log([(0, 100, 100), (200, 50, 100), (300, 10, 100), (400, 1, HOUR), (500, 1, HOUR)], user=[1] * 4 + [2])
    assert planned(jobs, "walltime/recent_average", n=2) == pytest.approx({1: 100, 2: 100, 3: 75, 4: 1080, 5: HOUR})
    assert planned(jobs, "walltime/recent_average")[4] == pytest.approx(1.6 / 3 * HOUR)
    with pytest.raises(ConfigurationError, match="n is 0; an average needs 1 job or more"):
        planned(jobs, "walltime/recent_average", n=0)


def test_recent_average_counts_a_killed_job_as_accurate() -> None:
    jobs = log([(0, 500, 100), (200, 1, HOUR), (300, 0, 0.5)], user=[1, 1, 1])
    assert planned(jobs, "walltime/recent_average", n=1)[2] == HOUR


@pytest.mark.parametrize(("score", "expected"), [("wfp", 256.0), ("wfp2", 3600**2 / 7200**3 * 2048)])
def test_wfp_by_hand(score: str, expected: float) -> None:
    columns = {
        "id": [1, 2],
        "submit": [0, 400],
        "processors": [4096, 2048],
        "run": [4000, 9],
        "time_limit": [4000, 7200],
    }
    workload = Workload.from_columns(columns, machine=4096)
    result = simulate(workload, priority="priority/wfp", plugin_options={"priority/wfp": {"score": score}})
    assert column(result, "priority_at_start")[2] == pytest.approx(expected, rel=1e-15)


def test_under_wfp_the_short_and_the_large_overtake_as_time_passes() -> None:
    columns = {
        "id": [1, 2, 3, 4],
        "submit": [0, 10, 50, 60],
        "processors": [4, 3, 3, 4],
        "run": [100, 5, 5, 5],
        "time_limit": [100, 90, 30, 30],
    }
    workload = Workload.from_columns(columns, machine=4)
    options: dict[str, Any] = {"scheduler": "sched/fcfs", "catalogue": Catalogue()}
    assert starts(simulate(workload, **options)) == {1: 0, 2: 100, 3: 105, 4: 110}
    # At 100 the scores are 3, 13.9 and 9.5; at 105 those of 2 and 4 are 3.5 and 13.5.
    assert starts(simulate(workload, priority="priority/wfp", **options)) == {1: 0, 3: 100, 4: 105, 2: 110}


@pytest.mark.parametrize(("priority", "without"), [("priority/wfp", 12), ("priority/sjf", 12)])
def test_the_queue_goes_by_the_time_planned_for_its_order(priority: str, without: int) -> None:
    rows = [(0, 60, HOUR)] * 10 + [(2 * HOUR, 100, HOUR), (2 * HOUR + 1, 5, 3000), (2 * HOUR + 2, 5, HOUR)]
    for adjust, first in (("queue", 13), ("backfill+running", without)):
        jobs = log(rows, user=[1] * 10 + [2, 2, 1])
        columns = jobs.columns() | {"processors": [1] * 10 + [1000] * 3}
        result = simulate(
            Workload.from_columns(columns, machine=1000),
            walltime="walltime/history",
            priority=priority,
            plugin_options={"walltime/history": {"key": "user", "adjust": adjust}},
        )
        assert starts(result)[first] == 2 * HOUR + 100
