"""sched/backfill on counted processors against its reference, job by job."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.builders.jobs import column

from .backfill import backfill
from .cluster import Passes
from .drawing import Case, cases


@st.composite
def options(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options in the words of the reference, and of Slurm."""
    resolution, minutes = draw(st.sampled_from([1, 7, 60])), draw(st.sampled_from([1, 5, 1440]))
    most_bounds, most_tested = draw(st.sampled_from([2, 5, 500])), draw(st.sampled_from([1, 4, 500]))
    ours = {"resolution": resolution, "window": 60 * minutes, "most_bounds": most_bounds, "most_tested": most_tested}
    slurms = {
        "bf_resolution": resolution,
        "bf_window": minutes,
        "bf_node_space_size": most_bounds,
        "bf_max_job_test": most_tested,
    }
    return ours, slurms


@given(case=cases(), words=options(), passes=st.sampled_from(["batch", "event"]), predicted=st.booleans())
def test_each_job_starts_as_in_the_reference(
    case: Case, words: tuple[dict[str, Any], dict[str, Any]], passes: Passes, predicted: bool
) -> None:
    ours, slurms = words
    expected = backfill(
        case.jobs, case.processors, passes=passes, predictions=case.predicted if predicted else None, **ours
    )
    result = case.emulated(
        scheduler="sched/backfill",
        passes=passes,
        plugin_options={"sched/backfill": slurms},
        **({} if predicted else {"walltime": "walltime/none"}),
    )
    starts, ends = column(result, "start"), column(result, "end")
    assert {id: (starts[id], ends[id]) for id in starts} == expected
