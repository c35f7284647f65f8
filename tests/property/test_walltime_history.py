"""Adjusted times follow from what had ended by then, and from nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator import Workload, simulate
from slurm_sim_plugins.manager import Catalogue
from slurm_sim_plugins.walltime.history import MONTH, WINDOWS
from tests.builders.jobs import column

DAY = 86400
MACHINE = 3
ROWS = st.lists(
    st.tuples(
        st.integers(0, 100 * DAY) | st.integers(0, 20).map(lambda number: number * DAY),
        st.integers(1, MACHINE),
        st.sampled_from([0, 600, 900, 3600, 5 * DAY]),
        st.sampled_from([1800, 3600, 40 * DAY]),
        st.integers(1, 2),
    ),
    min_size=1,
    max_size=30,
)
"""Submission, processors, run time, limit and user."""
PLUGINS: dict[str, dict[str, Any]] = {
    "walltime/history": {"key": "user", "min_jobs": 2, "threshold": 0.1},
    "walltime/last_two": {},
    "walltime/recent_average": {"n": 3},
}


def log(rows: list[tuple[int, int, int, int, int]], runs: dict[int, float] | None = None) -> Workload:
    names = ("submit", "processors", "run", "time_limit", "user")
    columns: dict[str, Any] = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    columns["id"] = range(1, len(rows) + 1)
    columns["run"] = [(runs or {}).get(job, run) for job, run in enumerate(columns["run"], 1)]
    return Workload.from_columns(columns, machine=MACHINE)


def outcome(workload: Workload, plugin: str, **options: Any) -> tuple[dict[int, float], ...]:
    given_options = {"plugin_options": {plugin: PLUGINS[plugin] | options}, "walltime": plugin}
    result = simulate(workload, catalogue=Catalogue(), **given_options)
    return tuple(column(result, name) for name in ("planned", "submit", "start", "end"))


@pytest.mark.parametrize("plugin", PLUGINS)
@settings(max_examples=30)
@given(ROWS, st.integers(0, 100 * DAY), st.data())
def test_nothing_of_the_future_is_used(plugin: str, rows: list[Any], now: int, data: st.DataObject) -> None:
    planned, submit, start, end = outcome(log(rows), plugin)
    runs: dict[int, float] = {}
    for job in end:
        if end[job] >= now:
            # It runs now, or is yet to start: it cannot be known for how long.
            least = max(0, now - start[job])
            runs[job] = least + data.draw(st.sampled_from([0, 1, 700, 10 * DAY]))
            runs[job] = min(runs[job], rows[job - 1][3]) if end[job] > now else rows[job - 1][2]
    others = outcome(log(rows, runs), plugin)[0]
    assert {job: planned[job] for job in planned if submit[job] <= now} == {
        job: others[job] for job in planned if submit[job] <= now
    }


@settings(max_examples=60)
@given(ROWS, st.sampled_from(["1m", "2m", "all"]), st.sampled_from([0, 30, 50, 85, 100]), st.integers(1, 4))
def test_as_worked_out_from_the_records(rows: list[Any], window: str, percentile: int, min_jobs: int) -> None:
    options = {"window": window, "percentile": percentile, "min_jobs": min_jobs}
    planned, submit, start, end = outcome(log(rows), "walltime/history", **options)
    for job, now in submit.items():
        limit, user = rows[job - 1][3:]
        used = sorted(
            (end[other] - start[other]) / rows[other - 1][3]
            for other in end
            if rows[other - 1][4] == user and now - WINDOWS[window] <= end[other] < now
        )
        expected = float(limit)
        if len(used) >= min_jobs:
            share = used[min(percentile * len(used) // 100, len(used) - 1)]
            expected = limit * max(share, 0.1)
        assert planned[job] == expected


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 9), st.floats(0, 1)), min_size=1, max_size=40), st.integers(0, 100))
def test_a_higher_percentile_is_never_a_shorter_plan(ended: list[tuple[int, float]], percentile: int) -> None:
    rows = [(0, 1, 3600 * share, 3600, user) for user, share in ended] + [(MONTH, 1, 1, 3600, 0)]
    workload = Workload.from_columns(
        {
            "id": range(len(rows)),
            "user": [row[4] for row in rows],
            "submit": [row[0] for row in rows],
            "processors": [1] * len(rows),
            "run": [row[2] for row in rows],
            "time_limit": [3600.0] * len(rows),
        },
        machine=100,
    )
    plans = [outcome(workload, "walltime/history", percentile=p)[0][len(ended)] for p in (percentile, 100)]
    assert plans[0] <= plans[1] <= 3600
    assert np.isfinite(plans).all()
