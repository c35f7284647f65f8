"""job_started: told when a job was started."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from slurm_sim_plugins import Run, hookimpl
from tests.builders.jobs import failing, line_with, run, times

JOBS = [(1, 0, 3, 10, 20), (2, 1, 4, 5, 8), (3, 2, 1, 5, 5)]


class Listening:
    name: ClassVar[str] = "observer/listening"

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    @hookimpl
    def job_started(self, run: Run, now: float) -> str:
        assert isinstance(run, Run)
        self.told.append((now, run.job.id, run.start, run.planned_end, run.processors, run.sequence))
        return "what it answers is ignored"


@pytest.mark.parametrize("passes", ["batch", "event"])
def test_told_of_each_start(passes: str) -> None:
    result = run(JOBS, 4, plugins=[Listening], passes=passes)
    assert result.plugins["observer/listening"].told == [(0, 1, 0, 20, 3, 1), (2, 3, 2, 7, 1, 2), (10, 2, 10, 18, 4, 3)]
    assert times(result) == times(run(JOBS, 4, passes=passes))


def test_the_planned_end_is_that_of_the_walltime_plugin() -> None:
    result = run(JOBS, 4, plugins=[Listening], predicted={1: 11}, walltime="walltime/given")
    assert result.plugins["observer/listening"].told[0] == (0, 1, 0, 11, 3, 1)


def test_an_exception_names_the_job_and_the_time() -> None:
    class Failing:
        name: ClassVar[str] = "observer/failing"

        @hookimpl
        def job_started(self, run: Run, now: float) -> None:
            return run.nothing if now > 2 else None  # type: ignore[attr-defined]  # fails at the last start

    error = failing(JOBS, 4, plugins=[Failing])
    assert error.message == "AttributeError: 'Run' object has no attribute 'nothing'"
    # Not the scheduler, in whose pass the job was started, is to blame.
    assert (error.plugin, error.hook, error.job, error.time) == ("observer/failing", "job_started", 2, 10.0)
    assert error.where == line_with("fails at the last start", test_an_exception_names_the_job_and_the_time)
