"""priority_set: called at arrivals, answers one finite number a job."""

from __future__ import annotations

import math

import pytest

from slurm_sim_plugins import hookimpl
from tests.helpers import column, failing, line_with, run, starts

JOBS = [(1, 0, 2, 10, 10), (2, 1, 2, 5, 9), (3, 1, 2, 5, 5), (4, 2, 2, 5, 7)]


class Told:
    """Shortest limit first; notes what it is asked."""

    name = "priority/told"

    def __init__(self) -> None:
        self.asked: list[tuple[float, list[int]]] = []

    @hookimpl
    def priority_set(self, view):
        self.asked.append((view.now, [job.id for job in view.to_set]))
        return [-job.time_limit for job in view.to_set]


def answering(answer):
    """A plugin class that answers so to each call."""

    class Answering:
        name = "priority/answering"

        @hookimpl
        def priority_set(self, view):
            return answer(view.to_set)  # the answer

    return Answering


def simulated(plugin, **options):
    return run(JOBS, 2, plugins=[plugin], priority=plugin.name, scheduler="sched/fcfs", **options)


def test_all_arrivals_of_an_instant_are_asked_for_together():
    assert simulated(Told).plugins["priority/told"].asked == [(0, [1]), (1, [2, 3]), (2, [4])]


def test_event_by_event_they_are_asked_for_one_by_one():
    assert simulated(Told, passes="event").plugins["priority/told"].asked == [(0, [1]), (1, [2]), (1, [3]), (2, [4])]


def test_the_highest_number_goes_first():
    assert starts(simulated(Told)) == {1: 0, 3: 10, 4: 15, 2: 20}


def test_numbers_stand_in_the_records():
    assert column(simulated(Told), "priority_at_start") == {1: -10, 2: -9, 3: -5, 4: -7}


def test_equal_numbers_stand_in_the_order_of_submission_and_id():
    assert starts(simulated(answering(lambda jobs: [7] * len(jobs)))) == {1: 0, 2: 10, 3: 15, 4: 20}


def test_none_is_first_come_first_served():
    result = simulated(answering(lambda jobs: None))
    assert starts(result) == {1: 0, 2: 10, 3: 15, 4: 20}
    numbers = column(result, "priority_at_start")
    assert [numbers[job] for job in (1, 2, 3, 4)] == [4294901759, 4294901758, 4294901757, 4294901756]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda jobs: [math.nan for _ in jobs], "a priority is a finite number"),
        (lambda jobs: [math.inf for _ in jobs], "a priority is a finite number"),
        (lambda jobs: ["high" for _ in jobs], "a priority is a finite number"),
        (lambda jobs: [1.0] * (len(jobs) + 1), "answer one number for each"),
        (lambda jobs: [], "answer one number for each"),
        (lambda jobs: 3, "answer one number for each"),
    ],
    ids=["nan", "infinite", "text", "too_many", "none_at_all", "not_a_list"],
)
def test_an_answer_that_cannot_be_used(answer, words):
    plugin = answering(answer)
    error = failing(JOBS, 2, plugins=[plugin], priority=plugin.name)
    assert words in str(error)
    assert (error.plugin, error.hook, error.job, error.time) == ("priority/answering", "priority_set", 1, 0)


def test_an_exception_names_plugin_hook_job_time_and_line():
    plugin = answering(lambda jobs: {}[jobs[0].id])  # the fault
    error = failing(JOBS, 2, plugins=[plugin], priority=plugin.name)
    assert (error.plugin, error.hook, error.job, error.time) == ("priority/answering", "priority_set", 1, 0)
    assert error.where == line_with("the fault", answering)
    assert "KeyError" in str(error)
