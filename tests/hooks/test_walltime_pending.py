"""walltime_pending: planning again for jobs that wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

from emulator.config.preemption import Preemption
from slurm_sim_plugins import Job, PendingView, Plan, WalltimeView, hookimpl
from tests.builders.jobs import JobRow, column, events, failing, line_with, run, starts, times

JOBS: list[JobRow] = [(1, 0, 3, 80, 100), (2, 1, 4, 40, 50), (3, 2, 1, 60, 120), (4, 70, 1, 60, 200)]
"""On four processors: 2 is planned to start at 100, and 3 and 4 to end after that."""


class Planning:
    """Answers what the test says, and notes what it is shown."""

    name: ClassVar[str] = "walltime/planning"
    answer: ClassVar[Callable[[PendingView], Any]] = staticmethod(lambda view: None)

    def __init__(self) -> None:
        self.seen: list[tuple[float, list[int], list[int], int]] = []

    @hookimpl
    def walltime_pending(self, view: PendingView) -> Any:
        running = [run.job.id for run in view.running]
        self.seen.append((view.now, [job.id for job in view.waiting], running, view.free))
        return self.answer(view)


def planning(answer: Callable[[PendingView], Any], **members: Any) -> dict[str, Any]:
    plugin = type("Planning", (Planning,), {"answer": staticmethod(answer), **members})
    return {"plugins": [plugin], "walltime": "walltime/planning"}


def limits_but(seconds: dict[int, float], since: float = 0) -> Callable[[PendingView], list[float]]:
    """The limit for each, but for those that are named, from a time on."""

    def answer(view: PendingView) -> list[float]:
        return [seconds.get(job.id, job.time_limit) if view.now >= since else job.time_limit for job in view.waiting]

    return answer


def test_schedulers_plan_with_the_answer() -> None:
    assert starts(run(JOBS[:3], 4)) == {1: 0, 2: 80, 3: 120}
    result = run(JOBS[:3], 4, **planning(limits_but({3: 60})))
    assert starts(result) == {1: 0, 2: 80, 3: 2}
    assert column(result, "planned") == {1: 100, 2: 50, 3: 60}


def test_it_is_called_before_every_pass_even_if_only_jobs_that_do_not_fit_have_come() -> None:
    """At 20 job 4 comes, which fits nowhere; from 10 on job 3 is planned with less, and goes ahead."""
    jobs = [*JOBS[:3], (4, 20, 4, 1, 1)]
    assert starts(run(jobs, 4, **planning(limits_but({3: 60}, since=10))))[3] == 20


def test_none_leaves_all_as_it_is() -> None:
    result = run(JOBS, 4, **planning(lambda view: None))
    assert times(result) == times(run(JOBS, 4))
    assert column(result, "planned") == {1: 100, 2: 50, 3: 120, 4: 200}


def test_it_is_called_before_each_pass_that_has_anybody_to_start() -> None:
    seen = run(JOBS, 4, **planning(lambda view: None)).plugins["walltime/planning"].seen
    # At 120 both 3 and 4 start; at their ends no job waits.
    assert seen == [
        (0, [1], [], 4),
        (1, [2], [1], 1),
        (2, [2, 3], [1], 1),
        (70, [2, 3, 4], [1], 1),
        (80, [2, 3, 4], [], 4),
        (120, [3, 4], [], 4),
    ]


def test_after_a_new_answer_all_are_tried_again() -> None:
    # At 70 only 4 is submitted, and 3 was refused before: now it is planned to end in time.
    assert starts(run(JOBS, 4, **planning(limits_but({3: 30}, since=70))))[3] == 70
    assert starts(run(JOBS, 4, **planning(limits_but({3: 30.5}, since=70))))[3] == 120


@pytest.mark.parametrize("scheduler", ["sched/conservative", "sched/easy"])
def test_a_plan_that_no_longer_holds_is_made_anew(scheduler: str) -> None:
    result = run(JOBS, 4, scheduler=scheduler, compiled=False, **planning(limits_but({3: 30}, since=70)))
    assert starts(result) == {1: 0, 2: 130, 3: 70, 4: 170}


def test_a_run_that_outlives_the_answer_is_planned_to_end_at_its_limit() -> None:
    # At 10, when 1 was planned to end, it goes on: 3 fits in before its limit, and 4 does not.
    jobs = [(1, 0, 3, 30, 30), (2, 1, 4, 5, 5), (3, 10, 1, 20, 20), (4, 12, 1, 19, 19)]
    assert starts(run(jobs, 4, **planning(limits_but({1: 10})))) == {1: 0, 2: 30, 3: 10, 4: 35}


def test_who_runs_is_not_planned_anew() -> None:
    log = events(JOBS[:2], 4, **planning(lambda view: [7] * len(view.waiting)))
    assert [(line["time"], line["start"]) for line in log if line["event"] == "reserve"] == [(1, 7)]


def test_it_goes_over_the_answer_at_submission() -> None:
    seen: list[tuple[float, float, float, float]] = []

    @hookimpl
    def walltime_submit(self: Any, view: WalltimeView) -> Plan | None:
        return Plan(20, 30, 40) if view.job.id == 2 else None

    def answer(view: PendingView) -> list[float] | None:
        seen.extend((job.planned_queue, job.planned, job.planned_running, job.longest) for job in view.waiting)
        return [25 if job.id == 2 else job.time_limit for job in view.waiting] if view.now == 1 else None

    result = run(JOBS[:3], 4, **planning(answer, walltime_submit=walltime_submit))
    assert column(result, "planned") == {1: 100, 2: 25, 3: 120}
    assert seen == [(100,) * 4, (20, 30, 40, 50), (25, 25, 25, 50), (120,) * 4, (25, 25, 25, 50)] + [(120,) * 4] * 2


def test_a_preempted_job_is_planned_for_all_its_work_less_what_is_saved() -> None:
    # 3 runs from 2 to 12, which saves 8 s of its 20, and waits until 18; 9 are planned at 14.
    jobs = [(1, 0, 3, 10, 10), (2, 1, 4, 5, 5), (3, 2, 1, 20, 20), (4, 14, 4, 5, 5)]
    seen: list[tuple[float, float]] = []

    def answer(view: PendingView) -> list[float]:
        seen.extend((view.now, job.planned) for job in view.waiting if job.id == 3)
        return [(9 if view.now == 14 else 20) if job.id == 3 else job.time_limit for job in view.waiting]

    options: dict[str, Any] = {"scheduler": "sched/venture", "preempt": "preempt/shadow_load"}
    mode = Preemption(mode="CHECKPOINT", interval=4, cost=1)
    run(jobs, 4, preemption=mode, **options, **planning(answer))
    # 20 and 4 checkpoints; 20 - 8 and 2, as soon as it waits again; 9 - 8.
    assert seen == [(2, 24), (12, 14), (14, 14), (18, 1)]


@pytest.mark.parametrize("answer", [tuple, np.array])
def test_sequences_of_any_kind(answer: Any) -> None:
    result = run(JOBS[:3], 4, **planning(lambda view: answer([min(60, job.time_limit) for job in view.waiting])))
    assert column(result, "planned") == {1: 60, 2: 50, 3: 60}


JOB = [(7, 3, 1, 10, 100), (8, 3, 1, 10, 50)]


@pytest.mark.parametrize(
    "seconds",
    [0, -1, 50.001, float("nan"), float("inf"), -float("inf"), "50", [50], object(), 10**400, Plan(1, 1, 1), None],
    ids=lambda seconds: type(seconds).__name__,
)
def test_other_numbers_are_refused(seconds: Any) -> None:
    error = failing(JOB, 1, **planning(lambda view: [100, seconds]))
    assert "a planned time is more than 0 s and at most the limit of 50 s" in error.message
    assert (error.plugin, error.hook, error.job, error.time) == ("walltime/planning", "walltime_pending", 8, 3.0)
    assert "plugin walltime/planning, hook walltime_pending, job 8, time 3 s" in str(error)


@pytest.mark.parametrize(
    "answer",
    [[10], [], [10] * 3, 10, float("nan"), {7: 10, 8: 10}, {10, 20}, (10 for _ in range(2))],
    ids=lambda answer: type(answer).__name__,
)
def test_other_lengths_are_refused(answer: Any) -> None:
    error = failing(JOB, 1, **planning(lambda view: answer))
    assert "for 2 jobs; answer seconds for each, or None" in error.message
    assert (error.plugin, error.hook, error.job, error.time) == ("walltime/planning", "walltime_pending", 7, 3.0)


def test_an_exception_names_the_head_of_the_queue() -> None:
    class Failing:
        name: ClassVar[str] = "walltime/failing"

        @hookimpl
        def walltime_pending(self, view: PendingView) -> None:
            if view.now == 2:
                raise ZeroDivisionError  # fails at 2

    error = failing(JOBS, 4, plugins=[Failing], walltime="walltime/failing")
    assert error.message == "ZeroDivisionError"
    assert (error.plugin, error.hook, error.job, error.time) == ("walltime/failing", "walltime_pending", 2, 2.0)
    assert error.where == line_with("fails at 2", test_an_exception_names_the_head_of_the_queue)


def test_what_it_is_shown_cannot_be_changed() -> None:
    def answer(view: PendingView) -> None:
        job: Job = view.waiting[0]
        job.planned = 3  # type: ignore[misc]

    assert "Job.planned is read-only" in failing(JOBS, 4, **planning(answer)).message


LAST: dict[str, Any] = {"walltime": "walltime/last_model"}
FRESH: dict[str, Any] = {"plugin_options": {"walltime/last_model": {"refresh": "pass"}}}


def test_last_model_predicts_anew_when_something_was_learnt() -> None:
    # 1 used half of its limit; 3 waits since 5, for 80 s, and can be done before 2 at 100 only if it uses half.
    jobs = [(1, 0, 1, 50, 100), (4, 0, 3, 100, 100), (2, 1, 4, 40, 50), (3, 5, 1, 40, 90)]
    assert starts(run(jobs, 4, **LAST)) == {1: 0, 4: 0, 2: 100, 3: 140}
    assert starts(run(jobs, 4, **LAST, **FRESH)) == {1: 0, 4: 0, 2: 100, 3: 50}
