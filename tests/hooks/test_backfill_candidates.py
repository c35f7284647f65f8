"""backfill_candidates: who may go ahead of the head of the queue, and in which order."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, ClassVar

import pytest

from slurm_sim_plugins import BackfillView, Decision, SchedulingView, Start, hookimpl
from tests.builders.jobs import column, failing, line_with, run, starts

JOBS = [
    (1, 0, 3, 100, 100),
    (2, 1, 4, 10, 10),
    (3, 2, 1, 60, 60),
    (4, 2, 1, 40, 40),
    (5, 2, 2, 5, 5),
    (6, 2, 1, 50, 50),
]
"""On four processors: 2 is to start at 100; of those behind it all but 5 fit, one at a time."""


class Answering:
    """Answers what the test says."""

    name: ClassVar[str] = "backfill/answering"
    answer: ClassVar[Any] = staticmethod(lambda jobs: None)

    def __init__(self) -> None:
        self.seen: list[tuple[float, list[int], int, int | None]] = []

    @hookimpl
    def backfill_candidates(self, view: BackfillView) -> Any:
        head = view.head.id if view.head is not None else None
        self.seen.append((view.now, [job.id for job in view.to_try], view.free, head))
        return self.answer(view.to_try)


def answering(answer: Any) -> dict[str, Any]:
    plugin = type("Answering", (Answering,), {"answer": staticmethod(answer)})
    return {"plugins": [plugin], "backfill": "backfill/answering"}


def test_jobs_are_tried_in_the_order_of_the_answer() -> None:
    assert starts(run(JOBS, 4)) == {1: 0, 2: 100, 3: 2, 4: 110, 5: 110, 6: 110}
    backwards = run(JOBS, 4, **answering(lambda jobs: list(jobs)[::-1]))
    assert starts(backwards)[6] == 2
    assert column(backwards, "backfilled")[6] is True


def test_the_shortest_first() -> None:
    result = run(JOBS, 4, backfill="backfill/sjf")
    assert {job: start for job, start in starts(result).items() if start < 100} == {1: 0, 4: 2, 6: 42}


def test_a_job_that_was_left_out_is_tried_in_the_next_pass() -> None:
    """At 2 job 6 is left out for job 3; at 3 only job 7 has come, which fits as little as job 5."""
    jobs = [(1, 0, 2, 100, 100), *JOBS[1:3], JOBS[5], (7, 3, 3, 9, 9)]
    assert starts(run(jobs, 4, **answering(lambda jobs: list(jobs)[:1])))[6] == 3


def test_none_is_the_order_of_the_queue() -> None:
    result = run(JOBS, 4, **answering(lambda jobs: None))
    assert starts(result) == starts(run(JOBS, 4))


def test_who_is_left_out_is_not_tried() -> None:
    result = run(JOBS, 4, **answering(lambda jobs: [job for job in jobs if job.id == 4]))
    assert {job: start for job, start in starts(result).items() if start < 100} == {1: 0, 4: 2}


def test_nobody_may_go_ahead() -> None:
    assert starts(run(JOBS, 4, **answering(lambda jobs: []))) == starts(run(JOBS, 4, scheduler="sched/fcfs"))


def test_what_it_is_shown() -> None:
    result = run(JOBS, 4, **answering(lambda jobs: None))
    assert result.plugins["backfill/answering"].seen == [
        (2.0, [3, 4, 6], 1, 2),
        (62.0, [4, 6], 1, 2),
    ]


def test_it_is_not_asked_when_nobody_fits() -> None:
    jobs = [(1, 0, 4, 10, 10), (2, 1, 4, 10, 10), (3, 2, 1, 1, 1)]
    assert run(jobs, 4, **answering(lambda jobs: None)).plugins["backfill/answering"].seen == []


def test_a_scheduler_that_asks_again_gets_who_still_fits() -> None:
    asked: list[list[int]] = []

    class AskingTwice:
        name: ClassVar[str] = "sched/asking_twice"

        @hookimpl
        def schedule(self, view: SchedulingView) -> Generator[Decision, bool, None]:
            while view.head is not None and view.head.processors <= view.free:
                yield Start(view.head)
            while candidates := view.candidates():
                asked.append([job.id for job in candidates])
                yield Start(candidates[0])

    jobs = [(1, 0, 1, 9, 9), (2, 0, 5, 9, 9), (3, 0, 2, 9, 9), (4, 0, 2, 9, 9), (5, 0, 1, 9, 9)]
    options = answering(lambda jobs: list(jobs)[::-1])
    options["plugins"] = [*options["plugins"], AskingTwice]
    result = run(jobs, 5, scheduler="sched/asking_twice", **options)
    assert asked == [[5, 4, 3], [4, 3]]
    assert starts(result) == {1: 0, 2: 9, 3: 18, 4: 0, 5: 0}


class Stranger:
    id = 3

    def __repr__(self) -> str:
        return "a stranger"


@pytest.mark.parametrize(
    ("answer", "told", "job"),
    [
        (lambda jobs: [jobs[0], jobs[1], jobs[0]], "named <Job 3: 1 processors, limit 60 s, submitted 2> twice", 3),
        (lambda jobs: [Stranger()], "named a stranger which is not in view.to_try", 3),
        (lambda jobs: [None], "named None which is not in view.to_try", None),
        (lambda jobs: [job.id for job in jobs], "named 3 which is not in view.to_try", None),
        (lambda jobs: 5, "answered 5; answer a list of jobs", None),
        (lambda jobs: iter(jobs), "answer a list of jobs", None),
    ],
    ids=["twice", "stranger", "none", "ids", "number", "iterator"],
)
def test_other_answers_are_refused(answer: Any, told: str, job: int | None) -> None:
    error = failing(JOBS, 4, **answering(answer))
    assert told in error.message
    assert (error.plugin, error.hook, error.job, error.time) == ("backfill/answering", "backfill_candidates", job, 2.0)


def test_a_waiting_job_that_does_not_fit_is_refused() -> None:
    class NamingTheWholeQueue(Answering):
        @hookimpl
        def backfill_candidates(self, view: BackfillView) -> Any:
            return list(view.queue)

    error = failing(JOBS, 4, plugins=[NamingTheWholeQueue], backfill="backfill/answering")
    assert "named <Job 2: 4 processors, limit 10 s, submitted 1> which is not in view.to_try" in error.message
    assert error.job == 2


def test_an_exception_is_not_the_schedulers() -> None:
    class Failing:
        name: ClassVar[str] = "backfill/failing"

        @hookimpl
        def backfill_candidates(self, view: BackfillView) -> Any:
            return [view.to_try[9]]  # the fault

    error = failing(JOBS, 4, plugins=[Failing], backfill="backfill/failing")
    assert error.message == "IndexError: tuple index out of range"
    assert (error.plugin, error.hook, error.time) == ("backfill/failing", "backfill_candidates", 2.0)
    assert error.where == line_with("the fault", test_an_exception_is_not_the_schedulers)


def test_candidates_stand_in_the_order_of_the_queue_also_when_they_are_new() -> None:
    # 2 leads; 3 and 4 come at one instant, and only one of them fits beside 1.
    jobs = [(1, 0, 3, 100, 100), (2, 1, 4, 1, 1), (3, 2, 1, 50, 50), (4, 2, 1, 20, 20)]
    result = run(jobs, 4, scheduler="sched/easy", priority="priority/sjf")
    assert starts(result) == {1: 0, 4: 2, 3: 22, 2: 100}
