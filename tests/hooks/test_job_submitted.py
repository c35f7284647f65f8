"""job_submitted: told when a job was queued."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from slurm_sim_plugins import Job, hookimpl
from tests.builders.jobs import events, failing, line_with, run, times

JOBS = [(1, 0, 4, 10, 10), (2, 1, 5, 1, 1), (4, 1, 2, 5, 5), (3, 1, 2, 5, 5)]
"""On four processors, which 2 exceeds."""


class Listening:
    name: ClassVar[str] = "observer/listening"

    def __init__(self) -> None:
        self.told: list[tuple[float, int, float, float]] = []

    @hookimpl
    def job_submitted(self, job: Job, now: float) -> str:
        self.told.append((now, job.id, job.planned, job.priority))
        return "what it answers is ignored"


@pytest.mark.parametrize("passes", ["batch", "event"])
def test_told_of_each_job_that_was_queued(passes: str) -> None:
    result = run(JOBS, 4, plugins=[Listening], passes=passes)
    assert [told[:2] for told in result.plugins["observer/listening"].told] == [(0, 1), (1, 3), (1, 4)]
    assert times(result) == times(run(JOBS, 4, passes=passes))


def test_the_job_has_its_planned_time_and_its_number() -> None:
    options: dict[str, Any] = {"walltime": "walltime/given", "priority": "priority/sjf"}
    result = run(JOBS, 4, plugins=[Listening], predicted={3: 2}, **options)
    assert result.plugins["observer/listening"].told == [(0, 1, 10, -10), (1, 3, 2, -2), (1, 4, 5, -5)]


def test_told_after_the_event_was_logged_and_before_the_pass() -> None:
    order: list[Any] = []

    class Ordering:
        name: ClassVar[str] = "observer/ordering"

        @hookimpl
        def job_submitted(self, job: Job, now: float) -> None:
            order.append(("submitted", job.id))

        @hookimpl
        def job_started(self, run: Any, now: float) -> None:
            order.append(("started", run.job.id))

    run([(1, 0, 1, 1, 1), (2, 0, 1, 1, 1)], 4, plugins=[Ordering])
    assert order == [("submitted", 1), ("submitted", 2), ("started", 1), ("started", 2)]
    log = events([(1, 0, 1, 1, 1), (2, 0, 1, 1, 1)], 4, plugins=[Ordering])
    assert [(line["event"], line["job"]) for line in log[:4]] == [
        ("submit", 1),
        ("submit", 2),
        ("start", 1),
        ("start", 2),
    ]


def test_an_exception_names_the_job_and_the_time() -> None:
    class Failing:
        name: ClassVar[str] = "observer/failing"

        @hookimpl
        def job_submitted(self, job: Job, now: float) -> None:
            if job.id == 4:
                raise KeyError("missing")  # fails at job 4

    error = failing(JOBS, 4, plugins=[Failing])
    assert error.message == "KeyError: 'missing'"
    assert (error.plugin, error.hook, error.job, error.time) == ("observer/failing", "job_submitted", 4, 1.0)
    assert error.where == line_with("fails at job 4", test_an_exception_names_the_job_and_the_time)
