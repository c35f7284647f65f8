"""Several implementations of one hook: wrappers around it, and many observers."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, ClassVar

import pytest

from slurm_sim_plugins import Job, PluginError, hookimpl
from tests.builders.jobs import column, events, failing, line_with, run, starts

JOBS = [(1, 0, 4, 10, 10), (2, 1, 4, 9, 9), (3, 1, 2, 8, 8), (4, 1, 3, 7, 7)]
EASY_LAST: dict[str, Any] = {"predicted": {1: 5}, "walltime": "walltime/given"}


class Reversing:
    """Turns the order of the queue round, whatever the priority plugin says."""

    name: ClassVar[str] = "observer/reversing"

    @hookimpl(wrapper=True)
    def priority_set(self) -> Generator[None, Any, Any]:
        numbers = yield
        return None if numbers is None else [-number for number in numbers]


class OldStyle:
    name: ClassVar[str] = "observer/old_style"

    @hookimpl(hookwrapper=True)
    def priority_set(self) -> Generator[None, Any, None]:
        outcome = yield
        outcome.force_result([-number for number in outcome.get_result()])


@pytest.mark.parametrize("dispatch", ["resolved", "pluggy"])
@pytest.mark.parametrize("wrapper", [Reversing, OldStyle])
def test_a_wrapper_changes_the_answer(wrapper: type, dispatch: str) -> None:
    options: dict[str, Any] = {"scheduler": "sched/fcfs", "priority": "priority/sjf", "dispatch": dispatch}
    assert starts(run(JOBS, 4, **options)) == {1: 0, 4: 10, 3: 17, 2: 25}
    wrapped = run(JOBS, 4, plugins=[wrapper], **options)
    assert starts(wrapped) == {1: 0, 2: 10, 3: 19, 4: 27}
    assert column(wrapped, "priority_at_start") == {1: 10, 2: 9, 3: 8, 4: 7}


def test_a_wrapper_around_nothing_gets_none() -> None:
    got: list[Any] = []

    class Looking:
        name: ClassVar[str] = "observer/looking"

        @hookimpl(wrapper=True)
        def priority_set(self) -> Generator[None, Any, Any]:
            got.append((yield))
            return got[-1]

    assert starts(run(JOBS, 4, plugins=[Looking])) == starts(run(JOBS, 4))
    assert got == [None, None]


def test_a_wrapper_around_a_scheduler() -> None:
    passes: list[float] = []

    class Counting:
        name: ClassVar[str] = "observer/counting"

        @hookimpl(wrapper=True)
        def schedule(self, view: Any) -> Generator[None, Any, Any]:
            passes.append(view.now)
            return (yield)

    assert events(JOBS, 4, plugins=[Counting], **EASY_LAST) == events(JOBS, 4, **EASY_LAST)
    assert passes[0] == 0


def test_an_exception_in_a_wrapper_is_the_wrappers() -> None:
    class Failing:
        name: ClassVar[str] = "observer/failing"

        @hookimpl(wrapper=True)
        def priority_set(self, view: Any) -> Generator[None, Any, Any]:
            numbers = yield
            return numbers[view.now]  # the wrapper fails

    error = failing(JOBS, 4, plugins=[Failing], priority="priority/sjf")
    assert (error.plugin, error.hook, error.job, error.time) == ("observer/failing", "priority_set", 1, 0.0)
    assert error.where == line_with("the wrapper fails", test_an_exception_in_a_wrapper_is_the_wrappers)


def test_an_exception_inside_a_wrapper_is_not_the_wrappers() -> None:
    class Failing:
        name: ClassVar[str] = "priority/failing"

        @hookimpl
        def priority_set(self, view: Any) -> Any:
            raise ValueError("inside")  # the plugin fails

    error = failing(JOBS, 4, plugins=[Failing, Reversing], priority="priority/failing")
    assert (error.plugin, error.message) == ("priority/failing", "ValueError: inside")
    assert error.where == line_with("the plugin fails", test_an_exception_inside_a_wrapper_is_not_the_wrappers)


def test_all_observers_are_told() -> None:
    told: list[tuple[str, int]] = []

    def observer(word: str) -> type:
        def job_started(self: Any, run: Any) -> None:
            told.append((word, run.job.id))

        return type(word, (), {"name": f"observer/{word}", "job_started": hookimpl(job_started)})

    class Learning:
        name: ClassVar[str] = "walltime/learning"

        @hookimpl
        def job_started(self, run: Any) -> None:
            told.append(("walltime", run.job.id))

    plugins = [observer("one"), observer("two"), Learning]
    assert starts(run(JOBS[:2], 4, plugins=plugins, walltime="walltime/learning")) == {1: 0, 2: 10}
    assert sorted(told) == sorted((word, job) for word in ("one", "two", "walltime") for job in (1, 2))


def test_the_observer_that_fails_is_named() -> None:
    class Silent:
        name: ClassVar[str] = "observer/silent"

        @hookimpl
        def job_ended(self, job: Job) -> None:
            return None

    class Failing:
        name: ClassVar[str] = "observer/failing"

        @hookimpl
        def job_ended(self, job: Job, now: float) -> None:
            raise RuntimeError(f"at {now}")

    for plugins in ([Silent, Failing], [Failing, Silent]):
        error: PluginError = failing(JOBS, 4, plugins=plugins)
        assert (error.plugin, error.hook, error.job, error.time) == ("observer/failing", "job_ended", 1, 10.0)
        assert error.message == "RuntimeError: at 10.0"
