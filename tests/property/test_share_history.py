"""What plans for ``walltime/history`` in the loop of stock plugins, beside the windows of the plugin itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator import Workload
from emulator.engine import stock_history
from emulator.engine.history_columns import has_key, share_history
from emulator.state.instants import MICROSECONDS, instants
from slurm_sim_plugins.kernels import why_plain
from slurm_sim_plugins.walltime.history import WINDOWS, History
from slurm_sim_plugins.windows import Windows
from tests.builders.kernels import plain

PLAIN = plain("emulator.engine.stock_history")
FORMS = [PLAIN] if why_plain() else [PLAIN, stock_history]
JOBS = st.lists(
    st.tuples(st.integers(-1, 2), st.integers(0, 9), st.sampled_from([0.3, 1.0, 7.0])), min_size=1, max_size=40
)


@given(
    JOBS,
    st.sampled_from(["1m", "2m", "all"]),
    st.sampled_from(["cobalt", "nearest", "linear"]),
    st.sampled_from([0.0, 12.5, 33.3, 85.0, 99.9, 100.0]),
    st.sampled_from([0.0, 0.5]),
    st.integers(1, 4),
    st.sampled_from(["user", "double", "triple"]),
    st.sampled_from([1, 7, 10**9, 2**60]),
    st.data(),
)
def test_as_the_plugin(
    rows: list[tuple[int, int, float]],
    window: str,
    definition: str,
    percentile: float,
    threshold: float,
    min_jobs: int,
    key: str,
    apart: int,
    data: st.DataObject,
) -> None:
    plugin = History(key, window, percentile, definition, threshold, min_jobs)  # type: ignore[arg-type]
    users, runs, limits = (np.array(column) for column in zip(*rows, strict=True))
    users = np.where(users == -1, users, users * apart)
    projects = np.where(runs % 2 == 0, "even", "odd")
    count = np.arange(len(rows))
    columns = {"id": count + 1, "submit": 1.0 * count, "processors": count * 0 + 1, "run": 1.0 * runs}
    workload = Workload.from_columns(columns | {"time_limit": limits, "user": users, "project": projects})
    useful = instants(np.minimum(1.0 * runs, limits))
    histories = [share_history(plugin, workload, useful, form) for form in FORMS]
    windows, now = Windows(WINDOWS[window]), 0.0
    for job in data.draw(st.permutations(range(len(rows)))):
        user, limit = int(users[job]), float(limits[job])
        now += data.draw(st.sampled_from([0.0, 0.1, 86400.0, 40 * 86400.0]))
        found = [history.planned(job, limit, now) for history in histories]
        parts = {"user": (user,), "double": (user, projects[job]), "triple": (user, projects[job], limit)}[key]
        values = windows.at(None if user == -1 else parts, now)
        expected = limit
        if values is not None and len(values) >= min_jobs:
            expected = limit * max(plugin._percentile_of(values, percentile), threshold)
            expected = min(1.0, limit) if expected < 1.0 else expected
        assert found == [expected] * len(FORMS)
        for history in histories:
            history.learn(job, now)
        if user != -1:
            ran = int(useful[job]) / MICROSECONDS
            windows.learn(parts, ran / limit if ran < limit else 1.0, now)


@pytest.mark.parametrize(
    ("project", "known"),
    [("project", True), ("words", True), ("odd", False), ("status", False), ("nothing", False)],
)
def test_columns_of_a_key(project: str, known: bool) -> None:
    columns = {"id": [1, 2], "submit": [0.0, 0.0], "processors": [1, 1], "run": [1.0, 1.0], "time_limit": [1.0, 1.0]}
    facts = {"user": [1, 2], "project": [1.5, 2.0], "words": ["a", "b"], "odd": np.array([1, "b"], dtype=object)}
    workload = Workload.from_columns({**columns, **facts, "status": [1, 1]})
    assert has_key(History(key="double", project=project), workload) == known


def test_times_that_no_float_holds() -> None:
    columns = {"id": [1], "submit": [0.0], "processors": [1], "run": [2.0**34 + 0.000001], "time_limit": [2.0**35]}
    workload = Workload.from_columns({**columns, "user": [3]})
    useful = 2**34 * MICROSECONDS + 1
    history = share_history(
        History("user", "all", 50.0, threshold=0.0, min_jobs=1), workload, np.array([useful]), PLAIN
    )
    assert history.shares == [useful / MICROSECONDS / 2.0**35]
