"""backfill_candidates: the order in which jobs behind the head are tried."""

from __future__ import annotations

import pytest

from slurm_sim_plugins import hookimpl
from tests.helpers import failing, line_with, run, starts

JOBS = [(1, 0, 3, 10, 10), (2, 1, 4, 5, 5), (3, 1, 1, 4, 4), (4, 1, 1, 2, 2), (5, 1, 2, 2, 2)]


def ordering(order):
    """A plugin class that answers so."""

    class Ordering:
        name = "backfill/mine"

        def __init__(self) -> None:
            self.asked: list[list[int]] = []

        @hookimpl
        def backfill_candidates(self, view):
            self.asked.append([job.id for job in view.to_try])
            return order(view)  # the answer

    return Ordering


def simulated(order):
    return run(JOBS, 4, plugins=[ordering(order)], backfill="backfill/mine")


def test_those_who_fit_behind_the_head_are_to_be_tried():
    assert simulated(lambda view: None).plugins["backfill/mine"].asked[0] == [3, 4]


def test_none_is_the_order_of_the_queue():
    result = simulated(lambda view: None)
    assert (starts(result)[3], starts(result)[4]) == (1, 5)
    assert starts(result) == starts(run(JOBS, 4))


def test_the_first_to_be_named_is_tried_first():
    result = simulated(lambda view: list(reversed(view.to_try)))
    assert (starts(result)[4], starts(result)[3]) == (1, 3)


def test_who_is_left_out_is_not_tried():
    result = simulated(lambda view: [])
    assert starts(result) == {1: 0, 2: 10, 3: 15, 4: 15, 5: 15}


@pytest.mark.parametrize(
    ("order", "job", "words"),
    [
        (lambda view: [*view.to_try, *view.to_try], 3, "twice"),
        (lambda view: [view.head], 2, "not in view.to_try"),
        (lambda view: ["job"], None, "not in view.to_try"),
        (lambda view: 3, None, "answer a list of jobs"),
    ],
    ids=["twice", "the_head", "text", "not_a_list"],
)
def test_an_answer_that_cannot_be_used(order, job, words):
    error = failing(JOBS, 4, plugins=[ordering(order)], backfill="backfill/mine")
    assert words in str(error)
    assert (error.plugin, error.hook, error.job, error.time) == ("backfill/mine", "backfill_candidates", job, 1)


def test_an_exception_names_the_backfill_plugin():
    error = failing(JOBS, 4, plugins=[ordering(lambda view: [][0])], backfill="backfill/mine")  # the fault
    assert (error.plugin, error.hook, error.time) == ("backfill/mine", "backfill_candidates", 1)
    assert error.where == line_with("the fault", ordering)
