"""job_ended: told when a job left the machine for good."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from slurm_sim_plugins import Job, Run, hookimpl
from tests.builders.jobs import failing, line_with, run, times

JOBS = [(1, 0, 3, 30, 20), (2, 1, 4, 8, 8), (3, 2, 1, 0, 5), (4, 9, 5, 1, 1)]


class Listening:
    name: ClassVar[str] = "observer/listening"

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    @hookimpl
    def job_ended(self, job: Job, run: Run, state: str, now: float) -> str:
        assert run.job is job
        self.told.append((now, job.id, state, run.start, run.processors))
        return "what it answers is ignored"


@pytest.mark.parametrize("passes", ["batch", "event"])
def test_told_of_each_end(passes: str) -> None:
    result = run(JOBS, 4, plugins=[Listening], passes=passes)
    assert result.plugins["observer/listening"].told == [
        (2, 3, "COMPLETED", 2, 1),
        (20, 1, "TIMEOUT", 0, 3),
        (28, 2, "COMPLETED", 20, 4),
    ]
    assert times(result)[1] == (0, 20)


def test_without_killing_all_complete() -> None:
    result = run(JOBS, 4, plugins=[Listening], kill_at_limit=False)
    assert [told[:3] for told in result.plugins["observer/listening"].told] == [
        (2, 3, "COMPLETED"),
        (30, 1, "COMPLETED"),
        (38, 2, "COMPLETED"),
    ]


def test_a_plugin_of_any_type_may_learn_from_it() -> None:
    class Learning:
        name: ClassVar[str] = "walltime/learning"

        def __init__(self) -> None:
            self.lasted: dict[Any, float] = {}

        @hookimpl
        def walltime_submit(self, view: Any) -> float | None:
            return self.lasted.get(view.job.processors)

        @hookimpl
        def job_ended(self, job: Job, run: Run, now: float) -> None:
            self.lasted[job.processors] = now - run.start

    jobs = [(1, 0, 1, 5, 50), (2, 6, 3, 90, 90), (3, 7, 4, 1, 1), (4, 8, 1, 80, 80), (5, 8, 1, 5, 99)]
    result = run(jobs, 4, walltime="walltime/learning", plugins=[Learning])
    assert result.records.jobs["planned"].tolist() == [50, 90, 1, 5, 5]


def test_an_exception_names_the_job_and_the_time() -> None:
    class Failing:
        name: ClassVar[str] = "observer/failing"

        @hookimpl
        def job_ended(self, state: str) -> None:
            assert state == "COMPLETED", f"not {state}"  # fails at the killed job

    error = failing(JOBS, 4, plugins=[Failing])
    assert error.message.startswith("AssertionError: not TIMEOUT")
    assert (error.plugin, error.hook, error.job, error.time) == ("observer/failing", "job_ended", 1, 20.0)
    assert error.where == line_with("fails at the killed job", test_an_exception_names_the_job_and_the_time)
