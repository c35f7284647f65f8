"""What schedulers decide does not depend on the unit of time: sums of odd microseconds are compared as exactly."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator import Workload, simulate
from slurm_sim_plugins.manager import Catalogue
from tests.builders.jobs import column

SECOND = 1_000_000
Row = tuple[int, int, int, int]
"""(submit, processors, run, limit), times in units."""
ROWS = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 6), st.integers(1, 12), st.integers(1, 12)), min_size=15, max_size=25
)


def starts(rows: list[Row], unit: int, scheduler: str, options: dict[str, Any]) -> dict[int, float]:
    """When each job starts, in units of so many microseconds."""
    submit, processors, run, limit = zip(*rows, strict=True)
    jobs = Workload.from_columns(
        {
            "id": range(1, len(rows) + 1),
            "submit": [time * unit / SECOND for time in submit],
            "processors": processors,
            "run": [time * unit / SECOND for time in run],
            "time_limit": [time * unit / SECOND for time in limit],
        }
    )
    result = simulate(
        jobs, processors=6, scheduler=scheduler, plugin_options={scheduler: options}, catalogue=Catalogue()
    )
    return {id: round(time * SECOND) / unit for id, time in column(result, "start").items()}


@pytest.mark.parametrize(
    ("scheduler", "options"),
    [
        ("sched/easy", {}),
        ("sched/venture", {}),
        ("sched/realtime", {}),
        ("sched/conservative", {"compress": "rebuild"}),
        ("sched/conservative", {"compress": "never_later"}),
    ],
)
@settings(max_examples=40)
@given(rows=ROWS, unit=st.integers(100_000, 9_999_999))
def test_the_unit_of_time_decides_nothing(rows: list[Row], unit: int, scheduler: str, options: dict[str, Any]) -> None:
    assert starts(rows, unit, scheduler, options) == starts(rows, SECOND, scheduler, options)


@pytest.mark.parametrize("scheduler", ["sched/easy", "sched/realtime", "sched/conservative"])
def test_who_ends_just_when_the_head_is_to_start_goes_ahead(scheduler: str) -> None:
    """145.333333 + 60 and 85.333333 + 120 differ as floats."""
    rows = [(85_333_333, 4, 120, 120), (85_333_333, 2, 60, 60), (86_000_000, 6, 10, 10), (145_333_333, 2, 60, 60)]
    micro = [(submit, processors, run * SECOND, limit * SECOND) for submit, processors, run, limit in rows]
    assert starts(micro, 1, scheduler, {})[4] == 145_333_333
