"""EASY and FCFS that ask the plan, on counted processors, beside EASY with its own two numbers."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurm_sim_plugins import hookimpl
from slurm_sim_plugins.sched.easy import Easy
from tests.builders.jobs import JobRow, events

ROWS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 8), st.integers(1, 30), st.integers(0, 15)), min_size=1, max_size=25
)


class ByPlan(Easy):
    """EASY as it runs on a cluster with nodes."""

    name = "sched/by_plan"

    @hookimpl
    def schedule(self, view: Any) -> Generator[Any, bool, None]:
        yield from self._by_plan(view)


@pytest.mark.slow
@pytest.mark.parametrize("reservation", ["recompute", "sticky", "ratchet"])
@given(rows=ROWS, predicted=st.booleans(), passes=st.sampled_from(["batch", "event"]))
def test_the_plan_of_counts_gives_easys_schedule(
    rows: list[tuple[int, int, int, int]], predicted: bool, reservation: str, passes: str
) -> None:
    jobs: list[JobRow] = [(n, at, wide, run, run + more) for n, (at, wide, run, more) in enumerate(rows, 1)]
    plans = {n: max(1.0, limit / 3) for n, _, _, _, limit in jobs}
    options: dict[str, Any] = {"passes": passes}
    if predicted:
        options |= {"predicted": plans, "walltime": "walltime/given"}

    def starts(name: str) -> list[tuple[float, int, bool]]:
        found = events(
            jobs, 8, scheduler=name, plugins=[ByPlan], plugin_options={name: {"reservation": reservation}}, **options
        )
        return [
            (each["time"], each["job"], each.get("backfilled", False)) for each in found if each["event"] == "start"
        ]

    assert starts("sched/by_plan") == starts("sched/easy")
