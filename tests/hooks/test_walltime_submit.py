"""walltime_submit: how long a job is planned to run."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from slurm_sim_plugins import Plan, PriorityView, WalltimeView, hookimpl
from tests.builders.jobs import column, events, failing, line_with, run, starts, times

JOBS = [(1, 0, 3, 80, 100), (2, 1, 4, 40, 50), (3, 2, 1, 60, 120)]
"""On four processors: 2 is planned to start at 100, and 3 to end after that."""


class Planning:
    """Plans with the seconds that the test says."""

    name: ClassVar[str] = "walltime/planning"
    answer: ClassVar[Any] = None

    def __init__(self) -> None:
        self.seen: list[tuple[float, int, list[int], list[int]]] = []

    @hookimpl
    def walltime_submit(self, view: WalltimeView) -> Any:
        queue, running = [job.id for job in view.queue], [run.job.id for run in view.running]
        self.seen.append((view.now, view.job.id, queue, running))
        return self.answer.get(view.job.id) if isinstance(self.answer, dict) else self.answer


def planning(answer: Any) -> dict[str, Any]:
    return {"plugins": [type("Planning", (Planning,), {"answer": answer})], "walltime": "walltime/planning"}


def test_schedulers_plan_with_the_answer() -> None:
    assert starts(run(JOBS, 4)) == {1: 0, 2: 80, 3: 120}
    result = run(JOBS, 4, **planning({3: 60}))
    assert starts(result) == {1: 0, 2: 80, 3: 2}
    assert column(result, "planned") == {1: 100, 2: 50, 3: 60}


def test_none_is_the_limit() -> None:
    result = run(JOBS, 4, **planning(None))
    assert times(result) == times(run(JOBS, 4))
    assert column(result, "planned") == {1: 100, 2: 50, 3: 120}


def test_a_planned_time_never_kills() -> None:
    result = run(JOBS, 4, **planning({1: 1, 2: 1, 3: 1}))
    assert times(result) == {1: (0, 80), 2: (80, 120), 3: (2, 62)}
    assert set(column(result, "state").values()) == {"COMPLETED"}


def test_it_is_not_rounded() -> None:
    options = planning({1: 100 / 3})
    assert column(run(JOBS, 4, **options), "planned")[1] == 100 / 3
    reserved = [line["start"] for line in events(JOBS, 4, **options) if line["event"] == "reserve"]
    assert reserved[0] == 33.333333


def test_a_run_that_goes_on_is_planned_to_end_at_its_limit() -> None:
    # At 10, when 1 was planned to end, it goes on, so that there is time for 3, but not for 4.
    jobs = [(1, 0, 3, 30, 30), (2, 1, 4, 5, 5), (3, 10, 1, 20, 20), (4, 12, 1, 19, 19)]
    assert starts(run(jobs, 4, **planning({1: 10}))) == {1: 0, 2: 30, 3: 10, 4: 35}


def test_a_reservation_moves_with_the_run_that_goes_on() -> None:
    # At 7 the reservation of 3 is no longer for 10, when 2 is to end, but for 20, the limit of 1.
    jobs = [(1, 0, 1, 20, 20), (2, 0, 1, 10, 10), (3, 1, 3, 5, 5), (4, 7, 1, 8, 8)]
    assert starts(run(jobs, 3, **planning({1: 5}))) == {1: 0, 2: 0, 3: 20, 4: 7}


def test_a_run_beyond_its_limit_is_planned_to_end_now() -> None:
    # At 40 nothing can be planned to end before 1, which is to end now.
    jobs = [(1, 0, 3, 90, 30), (2, 1, 4, 5, 5), (3, 40, 1, 1, 1)]
    assert starts(run(jobs, 4, kill_at_limit=False, **planning({1: 10}))) == {1: 0, 2: 90, 3: 95}


def test_what_it_is_shown() -> None:
    result = run([*JOBS, (4, 2, 1, 1, 1), (5, 2, 9, 1, 1)], 4, **planning(None))
    assert result.plugins["walltime/planning"].seen == [
        (0.0, 1, [], []),
        (1.0, 2, [], [1]),
        (2.0, 3, [2], [1]),
        (2.0, 4, [2], [1]),
    ]


@pytest.mark.parametrize("answer", [np.float64(60), np.int64(60), 60, 60.0])
def test_numbers_of_any_kind(answer: Any) -> None:
    result = run(JOBS, 4, **planning({3: answer}))
    assert starts(result)[3] == 2
    assert column(result, "planned")[3] == 60


@pytest.mark.parametrize(
    "answer",
    [0, -1, 100.001, float("nan"), float("inf"), -float("inf"), "50", [50], object(), 10**400],
    ids=lambda answer: type(answer).__name__,
)
def test_other_answers_are_refused(answer: Any) -> None:
    error = failing([(7, 3, 1, 10, 100)], 4, **planning(answer))
    assert "a planned time is more than 0 s and at most the limit of 100 s" in error.message
    assert (error.plugin, error.hook, error.job, error.time) == ("walltime/planning", "walltime_submit", 7, 3.0)


def test_the_limit_itself_is_accepted() -> None:
    assert column(run([(7, 3, 1, 10, 100)], 4, **planning(100)), "planned") == {7: 100}


def test_an_exception_names_the_job() -> None:
    class Failing:
        name: ClassVar[str] = "walltime/failing"

        @hookimpl
        def walltime_submit(self, view: WalltimeView) -> float:
            return 1 / (view.job.id - 2) if view.job.id > 1 else 1  # fails at job 2

    error = failing(JOBS, 4, plugins=[Failing], walltime="walltime/failing")
    assert error.message == "ZeroDivisionError: division by zero"
    assert (error.plugin, error.hook, error.job, error.time) == ("walltime/failing", "walltime_submit", 2, 1.0)
    assert error.where == line_with("fails at job 2", test_an_exception_names_the_job)


def test_given_hands_on_the_predictions_of_the_workload() -> None:
    result = run(JOBS, 4, predicted={1: 90, 3: 500}, walltime="walltime/given")
    assert column(result, "planned") == {1: 90, 2: 50, 3: 120}


def test_given_without_predictions_plans_with_limits() -> None:
    assert column(run(JOBS, 4, walltime="walltime/given"), "planned") == {1: 100, 2: 50, 3: 120}


# Plans


class ShortestFirst:
    """In the order of what is planned for the queue."""

    name: ClassVar[str] = "priority/shortest_first"

    @hookimpl
    def priority_set(self, view: PriorityView) -> list[float]:
        return [-job.planned_queue for job in view.to_set]


def test_a_plan_for_those_who_wait_decides_whether_they_fit_in() -> None:
    assert starts(run(JOBS, 4, **planning({3: Plan(120, 98, 120)})))[3] == 2
    assert starts(run(JOBS, 4, **planning({3: Plan(120, 98.5, 1)})))[3] == 120
    assert column(run(JOBS, 4, **planning({3: Plan(120, 98, 1)})), "planned")[3] == 98


def test_a_plan_for_those_who_run_decides_when_they_are_planned_to_end() -> None:
    # The reservation of 2 is for 62 or 100; 3 wants to end by then.
    jobs = [*JOBS[:2], (3, 2, 1, 60, 60)]
    assert starts(run(jobs, 4, **planning({1: Plan(100, 100, 62)})))[3] == 2
    assert starts(run(jobs, 4, **planning({1: Plan(100, 100, 61.9)})))[3] == 120
    assert starts(run(jobs, 4, **planning({1: Plan(1, 1, 100)})))[3] == 2


def test_a_plan_for_the_queue_decides_who_goes_first() -> None:
    jobs = [(1, 0, 4, 10, 10), (2, 1, 4, 5, 20), (3, 2, 4, 5, 30)]
    options = {"priority": "priority/shortest_first", "scheduler": "sched/fcfs"}

    def planned(answer: dict[int, Plan]) -> dict[str, Any]:
        chosen = planning(answer)
        return {**chosen, "plugins": [*chosen["plugins"], ShortestFirst]}

    assert starts(run(jobs, 4, **options, **planned({}))) == {1: 0, 2: 10, 3: 15}
    assert starts(run(jobs, 4, **options, **planned({3: Plan(19, 30, 30)}))) == {1: 0, 3: 10, 2: 15}
    assert starts(run(jobs, 4, **options, **planned({3: Plan(21, 1, 1)}))) == {1: 0, 2: 10, 3: 15}


@pytest.mark.parametrize("passes", ["batch", "event"])
def test_a_plan_of_one_number_is_that_number(passes: str) -> None:
    one, three = (run(JOBS, 4, passes=passes, **planning({3: answer})) for answer in (60, Plan(60, 60, 60)))
    assert times(one) == times(three)


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("seconds", [0, -1, 120.5, float("nan"), float("inf"), "60", None])
def test_a_plan_with_any_other_number_is_refused(place: int, seconds: Any) -> None:
    numbers: list[Any] = [60, 60, 60]
    numbers[place] = seconds
    error = failing(JOBS, 4, **planning({3: Plan(*numbers)}))
    assert "a planned time is more than 0 s and at most the limit of 120 s" in error.message
    assert (error.plugin, error.hook, error.job, error.time) == ("walltime/planning", "walltime_submit", 3, 2.0)


def test_three_numbers_are_no_plan() -> None:
    assert "answered (60, 60, 60)" in failing(JOBS, 4, **planning({3: (60, 60, 60)})).message


# The truth


def oracle(needed: bool | None) -> list[tuple[int, float | None]]:
    seen: list[tuple[int, float | None]] = []

    class Asking:
        name: ClassVar[str] = "walltime/asking"

        @hookimpl
        def walltime_submit(self, view: WalltimeView) -> None:
            seen.append((view.job.id, view.oracle.run_time(view.job) if view.oracle is not None else None))

    if needed is not None:
        Asking.needs_oracle = needed  # type: ignore[attr-defined]
    result = run(
        [(1, 0, 3, 10, 12), (2, 1, 4, 5, 9), (3, 2, 1, 20, 30), (4, 3, 1, 99, 20)],
        4,
        plugins=[Asking],
        walltime="walltime/asking",
    )
    assert result.about["run"]["oracle"] is bool(needed)
    return seen


def test_the_truth_is_told_to_those_who_say_that_they_need_it() -> None:
    # What it would run if it were not killed.
    assert oracle(True) == [(1, 10), (2, 5), (3, 20), (4, 99)]


@pytest.mark.parametrize("needed", [None, False])
def test_and_to_nobody_else(needed: bool | None) -> None:
    assert oracle(needed) == [(1, None), (2, None), (3, None), (4, None)]


def test_another_plugin_that_says_so_is_told_nothing() -> None:
    class Curious:
        name: ClassVar[str] = "priority/curious"
        needs_oracle: ClassVar[bool] = True

        @hookimpl
        def priority_set(self, view: PriorityView) -> list[float]:
            return [view.oracle.run_time(job) for job in view.to_set]  # type: ignore[attr-defined]

    error = failing(JOBS, 4, plugins=[Curious], priority="priority/curious", walltime="walltime/virtual")
    assert "AttributeError: 'PriorityView' object has no attribute 'oracle'" in error.message


def test_the_truth_cannot_be_changed() -> None:
    class Lying:
        name: ClassVar[str] = "walltime/lying"
        needs_oracle: ClassVar[bool] = True

        @hookimpl
        def walltime_submit(self, view: WalltimeView) -> None:
            view.oracle._run_times = []  # type: ignore[union-attr, misc]

    assert "Oracle._run_times is read-only" in failing(JOBS, 4, plugins=[Lying], walltime="walltime/lying").message
