"""preempt_candidates: who has to make room for whom, and what becomes of those who did (REQUEUE)."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, ClassVar

import pytest

from slurm_sim_plugins import Decision, MakeRoom, PreemptView, Run, SchedulingView, Start, hookimpl
from tests.builders.jobs import JobRow, column, events, failing, happenings, run, run_rows, times

Decisions = Generator[Decision, bool, None]


class Preempting:
    """Starts the queue in order, and asks for room for an urgent job."""

    name: ClassVar[str] = "sched/preempting"

    def __init__(self) -> None:
        self.answers: list[tuple[float, int, bool]] = []
        self.queues: list[list[int]] = []

    @hookimpl
    def schedule(self, view: SchedulingView) -> Decisions:
        while (head := view.head) is not None:
            if head.processors > view.free:
                if head.time_limit > 10:
                    return
                found = yield MakeRoom(head, "it is urgent")
                self.answers.append((view.now, head.id, found))
                self.queues.append([job.id for job in view.queue])
                if not found:
                    return
            yield Start(head)


class Urgent:
    """Urgent jobs, those of up to 10 s, first."""

    name: ClassVar[str] = "priority/urgent"

    @hookimpl
    def priority_set(self, view: Any) -> list[float]:
        return [1 if job.time_limit <= 10 else 0 for job in view.to_set]


class Lower:
    """Runs of lower priority, the latest first."""

    name: ClassVar[str] = "preempt/lower"
    answer: ClassVar[Callable[[Any], Any] | None] = None

    def __init__(self) -> None:
        self.seen: list[tuple[float, int, list[int], int]] = []

    @hookimpl
    def preempt_candidates(self, view: PreemptView) -> Any:
        self.seen.append((view.now, view.preemptor.id, [run.job.id for run in view.running], view.free))
        if self.answer is not None:
            return self.answer(view)
        lower = [run for run in view.running if view.preemptor.outranks(run.job)]
        return sorted(lower, key=lambda run: -run.sequence)


def by_start(view: PreemptView) -> list[Run]:
    return sorted(view.running, key=lambda run: run.sequence)


def preempting(answer: Callable[[Any], Any] | None = None, **options: Any) -> dict[str, Any]:
    members = {"answer": staticmethod(answer)} if answer is not None else {}
    plugins = [Preempting, Urgent, type("Lower", (Lower,), members)]
    slots = {"scheduler": "sched/preempting", "priority": "priority/urgent", "preempt": "preempt/lower"}
    return {"plugins": plugins, **slots, **options}


JOBS: list[JobRow] = [(1, 0, 2, 100, 200), (2, 0, 1, 50, 60), (3, 0, 1, 70, 80), (4, 10, 2, 5, 10)]
"""On four processors: 1, 2 and 3 run when 4 comes, which is urgent and needs those of 3 and 2."""


def test_runs_are_taken_in_the_order_of_the_answer_until_the_job_fits() -> None:
    result = run(JOBS, 4, **preempting())
    assert times(result) == {1: (0, 100), 2: (15, 65), 3: (15, 85), 4: (10, 15)}
    assert column(result, "requeues") == {1: 0, 2: 1, 3: 1, 4: 0}
    assert happenings(JOBS, 4, **preempting())[6:11] == [
        (10, "submit", 4),
        (10, "requeue", 3),
        (10, "requeue", 2),
        (10, "start", 4),
        (15, "end", 4),
    ]


def test_who_is_not_needed_is_not_touched() -> None:
    result = run(JOBS, 4, **preempting(lambda view: list(view.running)))
    # By planned end: 2 (60), 3 (80), 1 (200).
    assert column(result, "requeues") == {1: 0, 2: 1, 3: 1, 4: 0}
    result = run(JOBS, 4, **preempting(lambda view: list(view.running)[::-1]))
    assert column(result, "requeues") == {1: 1, 2: 0, 3: 0, 4: 0}


@pytest.mark.parametrize(
    "answer",
    [
        lambda view: None,
        lambda view: [],
        lambda view: [run for run in view.running if run.job.id == 3 and view.now < 50],
    ],
    ids=["none", "empty", "too_few"],
)
def test_if_they_are_not_enough_nobody_is_touched(answer: Any) -> None:
    result = run(JOBS, 4, **preempting(answer))
    assert set(column(result, "requeues").values()) == {0}
    assert times(result)[4] == (70, 75)
    assert result.plugins["sched/preempting"].answers[0] == (10, 4, False)
    assert not [line for line in events(JOBS, 4, **preempting(answer)) if line["event"] == "requeue"]


def test_without_a_preempting_plugin_nobody_is_touched() -> None:
    result = run(JOBS, 4, **preempting(preempt="preempt/none"))
    assert times(result) == {1: (0, 100), 2: (0, 50), 3: (0, 70), 4: (70, 75)}


def test_what_it_is_shown() -> None:
    plugin = run([*JOBS, (5, 12, 4, 1, 9)], 4, **preempting()).plugins["preempt/lower"]
    # By planned end. 4 and 5 are urgent alike, and 4 came first.
    assert plugin.seen == [(10, 4, [2, 3, 1], 0), (12, 5, [4, 1], 0), (15, 5, [1], 2)]


def test_a_requeued_job_waits_at_its_old_place() -> None:
    jobs = [*JOBS, (5, 5, 1, 9, 90), (6, 7, 1, 9, 90)]
    scheduler = run(jobs, 4, **preempting()).plugins["sched/preempting"]
    at_ten = [queue for (now, job, found), queue in zip(scheduler.answers, scheduler.queues, strict=True) if found]
    assert at_ten == [[4, 2, 3, 5, 6]]


def test_it_keeps_its_number_and_is_not_asked_again() -> None:
    asked: list[int] = []

    class Counting(Urgent):
        @hookimpl
        def priority_set(self, view: Any) -> list[float]:
            asked.extend(job.id for job in view.to_set)
            return super().priority_set(view)

    options = preempting()
    options["plugins"][1] = Counting
    result = run(JOBS, 4, **options)
    assert asked == [1, 2, 3, 4]
    assert column(result, "priority_at_start") == {1: 0, 2: 0, 3: 0, 4: 1}


def test_progress_is_lost_and_the_limit_counts_anew() -> None:
    jobs: list[JobRow] = [(1, 0, 4, 100, 70), (2, 60, 1, 5, 10)]
    killed = run(jobs, 4, **preempting())
    assert times(killed) == {1: (65, 135), 2: (60, 65)}
    assert column(killed, "state")[1] == "TIMEOUT"
    assert column(killed, "occupied")[1] == 130
    spared = run(jobs, 4, kill_at_limit=False, **preempting())
    assert times(spared)[1] == (65, 165)
    assert column(spared, "state")[1] == "COMPLETED"
    assert column(spared, "occupied")[1] == 160


def test_records_of_jobs_and_runs() -> None:
    result = run([*JOBS, (5, 40, 2, 5, 5)], 4, **preempting())
    assert run_rows(result) == [
        (1, 1, 0, 100, "COMPLETED"),
        (2, 1, 0, 10, "PREEMPTED"),
        (3, 1, 0, 10, "PREEMPTED"),
        (4, 1, 10, 15, "COMPLETED"),
        (2, 2, 15, 40, "PREEMPTED"),
        (3, 2, 15, 40, "PREEMPTED"),
        (5, 1, 40, 45, "COMPLETED"),
        (2, 3, 45, 95, "COMPLETED"),
        (3, 3, 45, 115, "COMPLETED"),
    ]
    assert column(result, "requeues") == {1: 0, 2: 2, 3: 2, 4: 0, 5: 0}
    assert column(result, "first_start") == {1: 0, 2: 0, 3: 0, 4: 10, 5: 40}
    assert column(result, "start") == {1: 0, 2: 45, 3: 45, 4: 10, 5: 40}
    assert column(result, "occupied") == {1: 100, 2: 85, 3: 105, 4: 5, 5: 5}
    assert column(result, "submit") == {1: 0, 2: 0, 3: 0, 4: 10, 5: 40}


def test_a_run_that_was_ended_does_not_end_again() -> None:
    # The first run of 3 would have ended at 70: nothing happens then.
    passes: list[float] = []

    class Counting(Preempting):
        @hookimpl
        def schedule(self, view: SchedulingView) -> Decisions:
            passes.append(view.now)
            yield from self.decide(view)

        def decide(self, view: SchedulingView) -> Decisions:
            yield from super().schedule(view)

    jobs = [*JOBS, (5, 20, 4, 1, 200)]
    for convention in ("batch", "event"):
        passes.clear()
        options = preempting(passes=convention)
        options["plugins"][0] = Counting
        run(jobs, 4, **options)
        assert 50 not in passes
        assert 70 not in passes
        assert {*passes} == {0, 10, 15, 20, 65, 85, 100}


def test_the_event_log_says_for_whom_and_why() -> None:
    lines = [line for line in events(JOBS, 4, **preempting()) if line["event"] == "requeue"]
    assert lines == [
        {"time": 10, "event": "requeue", "job": 3, "preemptor": 4, "reason": "it is urgent"},
        {"time": 10, "event": "requeue", "job": 2, "preemptor": 4, "reason": "it is urgent"},
    ]


def test_plugins_see_how_often_a_job_was_sent_back() -> None:
    seen: list[tuple[float, int, int]] = []

    class Looking:
        name: ClassVar[str] = "observer/looking"

        @hookimpl
        def job_started(self, run: Run, now: float) -> None:
            seen.append((now, run.job.id, run.job.requeues))

    options = preempting()
    run(JOBS, 4, **{**options, "plugins": [*options["plugins"], Looking]})
    assert seen == [(0, 1, 0), (0, 2, 0), (0, 3, 0), (10, 4, 0), (15, 2, 1), (15, 3, 1)]


def test_a_job_may_start_again_in_the_same_pass() -> None:
    # 2 was taken in vain, but 1 is the head then, and there is no room for it.
    jobs = [(1, 0, 3, 30, 30), (2, 0, 1, 40, 40), (3, 10, 3, 5, 5)]
    result = run(jobs, 4, **preempting(lambda view: sorted(view.running, key=lambda run: run.processors)))
    assert column(result, "requeues") == {1: 1, 2: 1, 3: 0}
    assert run_rows(result) == [
        (1, 1, 0, 10, "PREEMPTED"),
        (2, 1, 0, 10, "PREEMPTED"),
        (3, 1, 10, 15, "COMPLETED"),
        (1, 2, 15, 45, "COMPLETED"),
        (2, 2, 15, 55, "COMPLETED"),
    ]
    # 1 was taken in vain, and there is room for it.
    result = run([(1, 0, 1, 40, 40), (2, 0, 3, 30, 30), (3, 10, 3, 5, 5)], 4, **preempting(by_start))
    assert run_rows(result) == [
        (1, 1, 0, 10, "PREEMPTED"),
        (2, 1, 0, 10, "PREEMPTED"),
        (1, 2, 10, 50, "COMPLETED"),
        (3, 1, 10, 15, "COMPLETED"),
        (2, 2, 15, 45, "COMPLETED"),
    ]


def test_a_run_that_is_to_end_may_be_taken_by_a_submission_of_the_same_instant() -> None:
    jobs = [(1, 0, 1, 10, 40), (2, 0, 3, 30, 30), (3, 10, 3, 5, 5)]
    batch, event = (run_rows(run(jobs, 4, **preempting(by_start, passes=passes))) for passes in ("batch", "event"))
    assert batch[0] == (1, 1, 0, 10, "COMPLETED")
    assert event == [
        (1, 1, 0, 10, "PREEMPTED"),
        (2, 1, 0, 10, "PREEMPTED"),
        (1, 2, 10, 20, "COMPLETED"),
        (3, 1, 10, 15, "COMPLETED"),
        (2, 2, 15, 45, "COMPLETED"),
    ]


def test_a_run_may_end_where_it_began() -> None:
    # Both come at once; the first starts, and makes room for the second in the same pass.
    class Regretting:
        name: ClassVar[str] = "sched/regretting"

        @hookimpl
        def schedule(self, view: SchedulingView) -> Decisions:
            for job in sorted(view.queue, key=lambda job: job.id):
                if job.processors <= view.free or (job.id == 2 and (yield MakeRoom(job))):
                    yield Start(job)

    options = preempting(lambda view: list(view.running), scheduler="sched/regretting")
    result = run([(1, 3, 4, 10, 10), (2, 3, 4, 10, 10)], 4, **{**options, "plugins": [*options["plugins"], Regretting]})
    assert run_rows(result) == [(1, 1, 3, 3, "PREEMPTED"), (2, 1, 3, 13, "COMPLETED"), (1, 2, 13, 23, "COMPLETED")]
    assert column(result, "occupied") == {1: 10, 2: 10}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda view: [view.running[0], view.running[0]], "named the run of job 2 twice"),
        (lambda view: [view.running[0].job], "named <Job 2: 1 processors, limit 60 s, submitted 0>, which is not in"),
        (lambda view: [2], "named 2, which is not in view.running"),
        (lambda view: [None], "named None, which is not in view.running"),
        (lambda view: [view.running[0]._replace(sequence=99)], "which is not in view.running"),
        (lambda view: [view.running[0]._replace(processors=4)], "which is not in view.running"),
        (lambda view: [view.running[0]._replace(job=view.running[1].job)], "which is not in view.running"),
        (lambda view: 3, "answered 3; answer a list of runs"),
        (lambda view: iter(view.running), "answer a list of runs"),
    ],
    ids=["twice", "job", "number", "none", "sequence", "processors", "mixed", "no_list", "iterator"],
)
def test_other_answers_are_refused(answer: Any, told: str) -> None:
    error = failing(JOBS, 4, **preempting(answer))
    assert told in error.message
    assert (error.plugin, error.hook, error.job, error.time) == ("preempt/lower", "preempt_candidates", 4, 10.0)


def test_a_run_that_is_over_is_refused() -> None:
    kept: list[Run] = []

    def answer(view: PreemptView) -> list[Run]:
        kept.extend(view.running)
        return kept[:3]

    error = failing([*JOBS, (5, 30, 4, 1, 1)], 4, **preempting(answer))
    assert "which is not in view.running" in error.message
    assert (error.job, error.time) == (5, 30.0)
