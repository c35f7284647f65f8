"""walltime_submit: with how many seconds schedulers plan."""

from __future__ import annotations

import math

import pytest

from slurm_sim_plugins import hookimpl
from tests.helpers import column, failing, run, starts

JOBS = [(1, 0, 3, 10, 20), (2, 1, 4, 5, 5), (3, 2, 1, 6, 30)]


def planning(answer):
    """A plugin class that answers so for each job."""

    class Planning:
        name = "walltime/mine"

        @hookimpl
        def walltime_submit(self, view):
            assert view.job not in view.queue
            return answer(view.job)

    return Planning


def simulated(answer, **options):
    return run(JOBS, 4, plugins=[planning(answer)], walltime="walltime/mine", **options)


def test_schedulers_plan_with_the_answer():
    # Planned with its limit of 30 s job 3 would delay job 2; planned with 6 s it would not.
    assert starts(simulated(lambda job: None))[3] == 15
    assert starts(simulated(lambda job: 6.0 if job.id == 3 else None))[3] == 2


def test_none_is_the_limit():
    result = simulated(lambda job: None)
    assert column(result, "planned") == {1: 20, 2: 5, 3: 30}
    assert starts(result) == starts(run(JOBS, 4))


def test_the_answer_stands_in_the_records_unrounded():
    assert column(simulated(lambda job: job.time_limit / 3), "planned") == {1: 20 / 3, 2: 5 / 3, 3: 10}


def test_a_planned_time_never_kills():
    result = simulated(lambda job: 1.0)
    assert set(column(result, "state").values()) == {"COMPLETED"}


def test_a_run_that_outlives_its_plan_is_planned_to_end_at_its_limit():
    # Job 1 is planned to end at 1; from then on at 20, so that job 3 may go ahead of job 2.
    assert (
        starts(
            run(
                [(1, 0, 3, 10, 20), (2, 1, 4, 5, 5), (3, 2, 1, 6, 15)],
                4,
                plugins=[planning(lambda job: 1.0 if job.id == 1 else None)],
                walltime="walltime/mine",
            )
        )[3]
        == 2
    )


def test_given_hands_on_the_workloads_predictions():
    result = run(JOBS, 4, predicted={1: 12, 3: 99}, walltime="walltime/given")
    assert column(result, "planned") == {1: 12, 2: 5, 3: 30}


@pytest.mark.parametrize("answer", [math.nan, 0, -1, 21, math.inf, "long"])
def test_an_answer_that_cannot_be_used(answer):
    error = failing(JOBS, 4, plugins=[planning(lambda job: answer)], walltime="walltime/mine")
    assert "more than 0 s and at most the limit of 20 s" in str(error)
    assert (error.plugin, error.hook, error.job, error.time) == ("walltime/mine", "walltime_submit", 1, 0)


def test_an_exception_names_the_job():
    error = failing(JOBS, 4, plugins=[planning(lambda job: 1 / (job.id - 2))], walltime="walltime/mine")
    assert "at most the limit" in str(error) or "ZeroDivisionError" in str(error)
    assert (error.plugin, error.hook) == ("walltime/mine", "walltime_submit")
