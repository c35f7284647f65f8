"""The engine against independent schedulers, job by job, on random workloads."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slurm_sim_plugins import Decision, SchedulingView, Start, hookimpl
from tests.helpers import JobRow, logged, run, run_rows, times
from tests.reference.conservative import conservative
from tests.reference.easy import easy
from tests.reference.fcfs import fcfs

NEEDS_NUMBA = pytest.mark.skipif(
    importlib.util.find_spec("numba") is None, reason="numba is not installed: the extra [compiled]"
)
BOTH_PASSES = pytest.mark.parametrize("passes", ["batch", "event"])
KILL_OR_NOT = pytest.mark.parametrize("kill_at_limit", [True, False], ids=["kill", "no_kill"])


@dataclass(frozen=True)
class Case:
    """A machine and jobs."""

    processors: int
    jobs: list[JobRow]
    predicted: dict[int, float]

    def simulated(self, **options: Any) -> dict[int, tuple[float, float]]:
        """Starts and ends as the engine has them; nothing planned but the limits."""
        options.setdefault("compiled", False)
        return times(run(self.jobs, self.processors, **options))

    def predicting(self, **options: Any) -> dict[int, tuple[float, float]]:
        """As :meth:`simulated`, planned with the predictions."""
        options.setdefault("compiled", False)
        return times(
            run(self.jobs, self.processors, predicted=self.predicted, walltime="walltime/given", **options)
        )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Few distinct numbers, so that much happens at one instant; fractions that are exact in binary."""
    processors = draw(st.integers(1, 6))
    unit = draw(st.sampled_from([1, 1, 0.25, 3600]))
    latest = draw(st.sampled_from([0, 3, 12, 40]))
    longest = draw(st.sampled_from([2, 6, 20]))
    sizes = st.integers(1, processors) | st.sampled_from([1, processors])
    kinds = st.sampled_from(["any", "zero", "exact", "early", "over"])

    def job() -> tuple[float, int, float, float]:
        limit = draw(st.integers(1, longest))
        of_kind = {"any": longest, "zero": 0, "exact": limit, "early": limit - 1, "over": limit + 1}
        kind = draw(kinds)
        lasts = draw(st.integers(0, longest)) if kind == "any" else of_kind[kind]
        return draw(st.integers(0, latest)) * unit, draw(sizes), lasts * unit, limit * unit

    rows = [job() for _ in range(draw(st.integers(0, 14)))]
    ids = draw(st.permutations(range(1, len(rows) + 1)))
    jobs = [(id, *row) for id, row in zip(ids, rows, strict=True)]
    predicted = {id: draw(st.integers(1, longest)) * unit for id in ids if draw(st.booleans())}
    return Case(processors, jobs, predicted)


@BOTH_PASSES
@KILL_OR_NOT
@given(case=cases())
def test_fcfs(case: Case, passes: Any, kill_at_limit: bool) -> None:
    expected = fcfs(case.jobs, case.processors, "fcfs", passes, kill_at_limit)
    assert case.simulated(scheduler="sched/fcfs", passes=passes, kill_at_limit=kill_at_limit) == expected


@BOTH_PASSES
@KILL_OR_NOT
@given(case=cases())
def test_sjf(case: Case, passes: Any, kill_at_limit: bool) -> None:
    expected = fcfs(case.jobs, case.processors, "sjf", passes, kill_at_limit)
    options = {"passes": passes, "kill_at_limit": kill_at_limit}
    assert case.simulated(scheduler="sched/fcfs", priority="priority/sjf", **options) == expected


@BOTH_PASSES
@KILL_OR_NOT
@given(case=cases())
def test_easy(case: Case, passes: Any, kill_at_limit: bool) -> None:
    expected = easy(case.jobs, case.processors, passes, "queue", kill_at_limit)
    assert case.simulated(scheduler="sched/easy", passes=passes, kill_at_limit=kill_at_limit) == expected


@BOTH_PASSES
@KILL_OR_NOT
@given(case=cases())
def test_sjf_easy(case: Case, passes: Any, kill_at_limit: bool) -> None:
    expected = easy(case.jobs, case.processors, passes, "sjf", kill_at_limit)
    assert case.simulated(backfill="backfill/sjf", passes=passes, kill_at_limit=kill_at_limit) == expected


@BOTH_PASSES
@KILL_OR_NOT
@pytest.mark.parametrize("order", ["queue", "sjf"])
@given(case=cases())
def test_easy_with_predictions(case: Case, passes: Any, kill_at_limit: bool, order: Any) -> None:
    expected = easy(case.jobs, case.processors, passes, order, kill_at_limit, case.predicted)
    backfill = {"queue": "backfill/queue_order", "sjf": "backfill/sjf"}[order]
    assert case.predicting(backfill=backfill, passes=passes, kill_at_limit=kill_at_limit) == expected


@BOTH_PASSES
@KILL_OR_NOT
@pytest.mark.parametrize("compress", ["rebuild", "never_later"])
@given(case=cases())
def test_conservative(case: Case, passes: Any, kill_at_limit: bool, compress: Any) -> None:
    expected = conservative(case.jobs, case.processors, compress, passes, kill_at_limit)
    options = {"scheduler": "sched/conservative", "plugin_options": {"sched/conservative": {"compress": compress}}}
    assert case.simulated(passes=passes, kill_at_limit=kill_at_limit, **options) == expected


@BOTH_PASSES
@KILL_OR_NOT
@pytest.mark.parametrize("compress", ["rebuild", "never_later"])
@given(case=cases())
def test_conservative_with_predictions(case: Case, passes: Any, kill_at_limit: bool, compress: Any) -> None:
    expected = conservative(case.jobs, case.processors, compress, passes, kill_at_limit, case.predicted)
    options = {"scheduler": "sched/conservative", "plugin_options": {"sched/conservative": {"compress": compress}}}
    assert case.predicting(passes=passes, kill_at_limit=kill_at_limit, **options) == expected
