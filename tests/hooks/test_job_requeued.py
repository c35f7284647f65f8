"""job_requeued: told when a run was ended by preemption."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, ClassVar

import pytest

from slurm_sim_plugins import Decision, Job, MakeRoom, PreemptView, Run, SchedulingView, Start, hookimpl
from tests.builders.jobs import failing, line_with, run, times

JOBS = [(1, 0, 2, 50, 50), (2, 0, 2, 70, 70), (3, 10, 3, 5, 5)]
"""On four processors: 3 takes those of 2 and 1."""


class Urgent:
    """Makes room for job 3, which it puts first."""

    name: ClassVar[str] = "sched/urgent"

    @hookimpl
    def schedule(self, view: SchedulingView) -> Generator[Decision, bool, None]:
        for job in sorted(view.queue, key=lambda job: job.id != 3):
            if job.processors <= view.free or (job.id == 3 and (yield MakeRoom(job))):
                yield Start(job)


class Latest:
    """The latest run goes first."""

    name: ClassVar[str] = "preempt/latest"

    @hookimpl
    def preempt_candidates(self, view: PreemptView) -> list[Run]:
        return sorted(view.running, key=lambda run: -run.sequence)


class Listening:
    name: ClassVar[str] = "observer/listening"

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    @hookimpl
    def job_requeued(self, job: Job, run: Run, now: float) -> str:
        assert run.job is job
        self.told.append(("requeued", now, job.id, job.requeues, run.start, run.processors))
        return "what it answers is ignored"

    @hookimpl
    def job_started(self, run: Run, now: float) -> None:
        self.told.append(("started", now, run.job.id))

    @hookimpl
    def job_ended(self, job: Job, now: float) -> None:
        self.told.append(("ended", now, job.id))

    @hookimpl
    def job_submitted(self, job: Job, now: float) -> None:
        self.told.append(("submitted", now, job.id))


def options(*observers: type) -> dict[str, Any]:
    return {"plugins": [Urgent, Latest, *observers], "scheduler": "sched/urgent", "preempt": "preempt/latest"}


@pytest.mark.parametrize("passes", ["batch", "event"])
def test_told_of_each_requeue_and_of_no_end_or_submission(passes: str) -> None:
    result = run(JOBS, 4, passes=passes, **options(Listening))
    assert result.plugins["observer/listening"].told[4:] == [
        ("submitted", 10, 3),
        ("requeued", 10, 2, 1, 0, 2),
        ("requeued", 10, 1, 1, 0, 2),
        ("started", 10, 3),
        ("ended", 15, 3),
        ("started", 15, 1),
        ("started", 15, 2),
        ("ended", 65, 1),
        ("ended", 85, 2),
    ]
    assert times(result) == times(run(JOBS, 4, passes=passes, **options()))


def test_an_exception_names_the_job_and_the_time() -> None:
    class Failing:
        name: ClassVar[str] = "observer/failing"

        @hookimpl
        def job_requeued(self, job: Job) -> None:
            if job.id == 1:
                raise ZeroDivisionError  # fails at the second victim

    error = failing(JOBS, 4, **options(Failing))
    assert error.message == "ZeroDivisionError"
    assert (error.plugin, error.hook, error.job, error.time) == ("observer/failing", "job_requeued", 1, 10.0)
    assert error.where == line_with("fails at the second victim", test_an_exception_names_the_job_and_the_time)
