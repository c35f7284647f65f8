"""priority_set: in which order jobs stand in the queue."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurm_sim_plugins import Job, PluginError, Priorities, PriorityView, hookimpl
from slurm_sim_plugins.testing import cluster, job
from tests.builders.jobs import JobRow, column, failing, line_with, run, starts

JOBS = [(1, 0, 4, 10, 10), (2, 1, 1, 5, 5), (3, 1, 2, 5, 5), (4, 1, 4, 5, 5), (5, 6, 3, 5, 5)]
"""On four processors: 1 runs until 10, the others wait for it."""


class Largest:
    """The largest job first."""

    name: ClassVar[str] = "priority/largest"

    @hookimpl
    def priority_set(self, view: PriorityView) -> Sequence[float]:
        return [job.processors for job in view.to_set]


class Answering:
    """Answers what the test says."""

    name: ClassVar[str] = "priority/answering"
    answer: ClassVar[Any] = None

    @hookimpl
    def priority_set(self, view: PriorityView) -> Any:
        return self.answer(view.to_set) if callable(self.answer) else self.answer  # the answer


def answering(answer: Any) -> dict[str, Any]:
    given = staticmethod(answer) if callable(answer) else answer
    return {"plugins": [type("Answering", (Answering,), {"answer": given})], "priority": "priority/answering"}


class Looking:
    """Notes what it is shown."""

    name: ClassVar[str] = "priority/looking"

    def __init__(self) -> None:
        self.seen: list[tuple[float, list[int], list[int], list[int], int, int]] = []
        self.planned: list[float] = []

    @hookimpl
    def priority_set(self, view: PriorityView) -> None:
        ids = [job.id for job in view.to_set]
        queue, running = [job.id for job in view.queue], [run.job.id for run in view.running]
        self.seen.append((view.now, ids, queue, running, view.free, view.total))
        self.planned += [job.planned for job in view.to_set]


def test_the_highest_number_goes_first() -> None:
    result = run(JOBS, 4, scheduler="sched/fcfs", priority="priority/largest", plugins=[Largest])
    assert starts(result) == {1: 0, 4: 10, 5: 15, 3: 20, 2: 20}
    assert column(result, "priority_at_start") == {1: 4, 2: 1, 3: 2, 4: 4, 5: 3}


def test_equal_numbers_go_by_submission_then_id() -> None:
    jobs = [(9, 0, 1, 10, 10), (5, 1, 1, 1, 1), (3, 1, 1, 1, 1), (2, 2, 1, 1, 1), (4, 1, 1, 1, 1)]
    result = run(jobs, 1, scheduler="sched/fcfs", **answering(lambda jobs: [7.0] * len(jobs)))
    assert starts(result) == {9: 0, 3: 10, 4: 11, 5: 12, 2: 13}


def test_none_is_first_come_first_served() -> None:
    result = run(JOBS, 4, scheduler="sched/fcfs", **answering(None))
    assert starts(result) == starts(run(JOBS, 4, scheduler="sched/fcfs"))
    expected = {1: 4294901759, 2: 4294901758, 3: 4294901757, 4: 4294901756, 5: 4294901755}
    assert column(result, "priority_at_start") == expected
    assert column(run(JOBS, 4), "priority_at_start") == expected


def test_what_it_is_shown() -> None:
    jobs = [*JOBS, (6, 1, 5, 1, 1), (7, 12, 5, 1, 1)]
    result = run(jobs, 4, scheduler="sched/fcfs", priority="priority/looking", plugins=[Looking])
    assert result.plugins["priority/looking"].seen == [
        (0.0, [1], [], [], 4, 4),
        (1.0, [2, 3, 4], [], [1], 0, 4),
        (6.0, [5], [2, 3, 4], [1], 0, 4),
    ]


def test_one_by_one_where_each_event_has_its_pass() -> None:
    result = run(JOBS, 4, scheduler="sched/fcfs", priority="priority/looking", plugins=[Looking], passes="event")
    assert [(seen[0], seen[1], seen[2]) for seen in result.plugins["priority/looking"].seen] == [
        (0.0, [1], []),
        (1.0, [2], []),
        (1.0, [3], [2]),
        (1.0, [4], [2, 3]),
        (6.0, [5], [2, 3, 4]),
    ]


def test_it_sees_the_planned_times() -> None:
    options: dict[str, Any] = {"priority": "priority/looking", "plugins": [Looking], "walltime": "walltime/given"}
    result = run(JOBS, 4, predicted={1: 7, 3: 2}, **options)
    assert result.plugins["priority/looking"].planned == [7, 5, 2, 5, 5]


@pytest.mark.parametrize(
    "accepted",
    [
        lambda jobs: np.array([job.processors for job in jobs]),
        lambda jobs: tuple(job.processors for job in jobs),
        lambda jobs: [np.float32(job.processors) for job in jobs],
    ],
    ids=["array", "tuple", "numpy_scalars"],
)
def test_numbers_of_any_kind(accepted: Any) -> None:
    expected = starts(run(JOBS, 4, priority="priority/largest", plugins=[Largest]))
    assert starts(run(JOBS, 4, **answering(accepted))) == expected


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ([], "for 3 jobs; answer one number for each"),
        ([1.0], "for 3 jobs"),
        ([1.0] * 4, "for 3 jobs"),
        (5, "answered 5 for 3 jobs"),
        (np.array(5.0), "for 3 jobs"),
        ({1: 1.0, 2: 2.0, 3: 3.0}, "answer one number for each"),
        ({1.0, 2.0, 3.0}, "answer one number for each"),
        ([float("nan")] * 3, "answered nan; a priority is a finite number"),
        ([float("inf")] * 3, "answered inf"),
        ([-float("inf")] * 3, "answered -inf"),
        ([None] * 3, "answered None"),
        (["high"] * 3, "answered 'high'"),
        ("abc", "answered 'a'"),
        ([10**400] * 3, "a priority is a finite number"),
        ([1j] * 3, "answered 1j"),
        ([2**70, 1, -(2**70)], "a priority that is a whole number has 63 bits at most"),
        ([2**63, 1, -(2**70)], "a priority that is a whole number has 63 bits at most"),
        (Priorities([1.0] * 3), "answered Priorities of [1.0, 1.0, 1.0]; they take an array of one number a job"),  # type: ignore[arg-type]
        (Priorities(np.ones((3, 2))), "they take an array of one number a job"),
        (Priorities(np.array(["a"] * 3)), "they take an array of one number a job"),
        (Priorities(np.array([1j] * 3)), "they take an array of one number a job"),
    ],
)
def test_other_answers_are_refused(answer: Any, told: str) -> None:
    error = failing(JOBS[1:4], 4, **answering(answer))
    assert told in error.message
    assert (error.plugin, error.hook, error.job, error.time) == ("priority/answering", "priority_set", 2, 1.0)


def test_the_job_with_the_wrong_number_is_named() -> None:
    error = failing(JOBS, 4, **answering(lambda jobs: [1.0 if job.id != 4 else float("nan") for job in jobs]))
    assert (error.job, error.time) == (4, 1.0)
    assert error.where is not None
    assert error.where.startswith(f"{__file__}:")
    assert str(error).startswith(f"plugin priority/answering, hook priority_set, job 4, time 1 s, {error.where}: ")


def test_an_exception_names_the_first_job() -> None:
    error = failing(JOBS, 4, **answering(lambda jobs: [1 / (job.id - 3) for job in jobs]))  # the fault
    assert (error.plugin, error.hook, error.job, error.time) == ("priority/answering", "priority_set", 2, 1.0)
    assert error.message == "ZeroDivisionError: division by zero"
    assert error.where == line_with("the fault", Answering)


@pytest.mark.parametrize("attribute", ["now", "free", "to_set", "anything"])
def test_the_view_is_only_read(attribute: str) -> None:
    def write(self: Any, view: PriorityView) -> None:
        setattr(view, attribute, 1)  # writes to the view

    error = failing(JOBS, 4, priority="priority/writing", plugins=[plugin(write)])
    assert f"PriorityView.{attribute} is read-only" in error.message
    assert error.where == line_with("writes to the view", test_the_view_is_only_read)


@pytest.mark.parametrize("attribute", ["processors", "planned", "requeues", "anything"])
def test_jobs_are_only_read(attribute: str) -> None:
    def write(self: Any, view: PriorityView) -> None:
        setattr(view.to_set[0], attribute, 1)  # writes to a job

    error = failing(JOBS, 4, priority="priority/writing", plugins=[plugin(write)])
    assert f"Job.{attribute} is read-only" in error.message
    assert error.where == line_with("writes to a job", test_jobs_are_only_read)


def test_the_true_run_time_is_not_to_be_had() -> None:
    def look(self: Any, view: PriorityView) -> None:
        for each in view.to_set:
            shown = {name: getattr(each, name) for name in dir(Job) if not name.startswith("_")}
            assert 77 not in shown.values()
            assert each.fact("run") is each.fact("status") is each.fact("no such column") is None

    run([(1, 0, 1, 77, 100)], 1, priority="priority/writing", plugins=[plugin(look)])


def plugin(function: Any) -> type:
    return type("Writing", (), {"name": "priority/writing", "priority_set": hookimpl(function)})


# Again while they wait


class Aging(Looking):
    """A job is worth what the test says that it is worth at a time."""

    name: ClassVar[str] = "priority/aging"
    period: ClassVar[Any] = 0.0
    worth: ClassVar[Any] = None

    @hookimpl
    def priority_set(self, view: PriorityView) -> list[float]:
        super().priority_set(view)
        return [type(self).worth(job.id, view.now) for job in view.to_set]


def aging(worth: Any, period: Any = 0.0) -> dict[str, Any]:
    plugin = type("Aging", (Aging,), {"worth": staticmethod(worth), "period": period})
    return {"plugins": [plugin], "priority": "priority/aging", "scheduler": "sched/fcfs"}


def turning(job: int, now: float) -> float:
    """Before 10 the lower id is worth more, then the higher one."""
    return job if now >= 10 else -job


def asked(jobs: list[JobRow], **options: Any) -> list[tuple[float, list[int]]]:
    return [seen[:2] for seen in run(jobs, 4, **options).plugins["priority/aging"].seen]


FOUR = [(1, 0, 4, 10, 10), (3, 1, 4, 5, 5), (4, 2, 4, 5, 5), (2, 3, 4, 5, 5)]


def test_before_each_pass_all_that_wait_are_asked_about_in_the_order_of_submission() -> None:
    assert asked(FOUR, **aging(turning)) == [
        (0, [1]),
        (0, [1]),
        (1, [3]),
        (1, [3]),
        (2, [4]),
        (2, [3, 4]),
        (3, [2]),
        (3, [3, 4, 2]),
        (10, [3, 4, 2]),
        (15, [3, 2]),
        (20, [2]),
    ]


@pytest.mark.parametrize("passes", ["batch", "event"])
def test_the_queue_takes_the_new_order(passes: str) -> None:
    assert starts(run(FOUR, 4, passes=passes, **aging(turning))) == {1: 0, 4: 10, 3: 15, 2: 20}
    assert starts(run(FOUR, 4, passes=passes, **aging(turning, None))) == {1: 0, 2: 10, 3: 15, 4: 20}


def test_the_number_at_the_start_is_the_last_one() -> None:
    assert column(run(FOUR, 4, **aging(turning)), "priority_at_start") == {1: -1, 3: 3, 4: 4, 2: 2}


def test_with_a_period_only_when_so_much_time_has_passed() -> None:
    assert asked(FOUR, **aging(turning, 12)) == [
        (0, [1]),
        (0, [1]),
        (1, [3]),
        (2, [4]),
        (3, [2]),
        (15, [3, 4]),
    ]


def test_a_new_head_gets_its_own_reservation() -> None:
    # 8 may go ahead of 3, which leaves over 2 of the 4 processors at 20, but not of 2, which takes them all.
    jobs = [(1, 0, 3, 20, 20), (3, 1, 2, 5, 5), (2, 2, 4, 5, 5), (8, 3, 1, 99, 99)]
    options: dict[str, Any] = {**aging(lambda job, now: -job), "scheduler": "sched/easy"}
    assert starts(run(jobs, 4, **options)) == {1: 0, 2: 20, 3: 25, 8: 25}
    options |= aging(lambda job, now: -job if now < 2 or job != 2 else -9) | {"scheduler": "sched/easy"}
    assert starts(run(jobs, 4, **options)) == {1: 0, 3: 20, 2: 102, 8: 3}


def test_a_new_order_lets_those_start_who_were_refused_before() -> None:
    # At 10 comes 9, which does not fit; but 3 is the head now, and leaves over a processor for 8.
    jobs = [(1, 0, 3, 20, 20), (2, 1, 4, 5, 5), (3, 2, 2, 5, 5), (8, 3, 1, 99, 99), (9, 10, 2, 5, 5)]
    late = {2: -10.0}
    options = aging(lambda job, now: late.get(job, -job) if now >= 10 else -job) | {"scheduler": "sched/easy"}
    assert starts(run(jobs, 4, **options))[8] == 10
    assert starts(run(jobs, 4, scheduler="sched/easy"))[8] == 25


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(1, 4), st.integers(0, 9), st.integers(1, 9)), max_size=12),
    st.integers(0, 6),
    st.sampled_from(["sched/fcfs", "sched/easy", "sched/conservative"]),
    st.sampled_from(["batch", "event"]),
)
def test_constant_numbers_give_the_schedule_of_a_plugin_without_period(
    rows: list[tuple[int, int, int, int]], period: int, scheduler: str, passes: str
) -> None:
    jobs = [(place, *row) for place, row in enumerate(rows, 1)]
    options = {**aging(lambda job, now: job * 7 % 5, period), "scheduler": scheduler, "passes": passes}
    once = {**aging(lambda job, now: job * 7 % 5, None), "scheduler": scheduler, "passes": passes}
    assert starts(run(jobs, 4, **options)) == starts(run(jobs, 4, **once))


@pytest.mark.parametrize("period", [-1, 1e-9, float("nan"), float("inf"), "often", True])
def test_a_period_is_seconds(period: Any) -> None:
    error = failing(FOUR, 4, **aging(turning, period))
    assert "it is None (priorities stay) or seconds, 0.001 at least, 0 for before each pass" in error.message
    assert error.plugin == "priority/aging"


def test_whoever_fails_then_is_named_as_well() -> None:
    error = failing(FOUR, 4, **aging(lambda job, now: job if now < 10 else 1 / 0))
    assert (error.plugin, error.hook, error.job, error.time) == ("priority/aging", "priority_set", 3, 10.0)


def test_a_column_of_numbers_is_an_answer(call_hook: Any) -> None:
    class Column:
        """The second job goes first; of the last one the number is what the test says."""

        name = "priority/column"

        def __init__(self, last: float = 0.5) -> None:
            self._last = last

        @hookimpl
        def priority_set(self, view: Any) -> Priorities:
            return Priorities(np.array([1.0, 2.0, self._last]))

    here = cluster(10).waiting(job(user="ann"), job(user="bob"), job(user="cy"))
    assert call_hook(Column, "priority_set", here) == [1.0, 2.0, 0.5]
    for last in (math.nan, math.inf, -math.inf):
        with pytest.raises(PluginError, match="a priority is a finite number"):
            call_hook(Column(last), "priority_set", here)
