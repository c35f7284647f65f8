"""What is asked of the lists of runs and of waiting jobs, in the form that is installed."""

from __future__ import annotations

import pytest

from slurm_sim_plugins.run_list import drop, place_of
from slurm_sim_plugins.testing import job


def test_a_job_is_dropped_where_it_is_there_and_no_other_one_is() -> None:
    first, second, other = job(1), job(1), job(1)
    jobs = [first, second]
    drop(jobs, other)
    assert jobs == [first, second]
    drop(jobs, second)
    assert jobs == [first]
    drop(jobs, second)
    drop(jobs, first)
    assert jobs == []


@pytest.mark.parametrize("end", [0.5, 1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("sequence", range(6))
def test_a_run_stands_by_planned_end_and_then_by_its_number(end: float, sequence: int) -> None:
    runs = [(1.0, 2, 1), (1.0, 4, 1), (2.0, 1, 1), (2.0, 3, 1)]
    assert place_of(runs, end, sequence) == sum((other, number) < (end, sequence) for other, number, _ in runs)
