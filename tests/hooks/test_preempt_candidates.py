"""preempt_candidates: who has to make room, asked when a scheduler yields MakeRoom."""

from __future__ import annotations

import pytest

from slurm_sim_plugins import MakeRoom, Run, Start, hookimpl
from tests.helpers import column, events, failing, run, run_rows, starts

JOBS = [(1, 0, 2, 10, 10), (2, 0, 2, 10, 10), (3, 1, 1, 10, 10), (4, 2, 3, 4, 4)]


class Urgent:
    """Starts what fits; job 4 has room made for it, whatever its place."""

    name = "sched/urgent"

    def __init__(self) -> None:
        self.answers: list[tuple[float, bool]] = []

    @hookimpl
    def schedule(self, view):
        for job in sorted(view.queue, key=lambda job: job.id != 4):
            if job.id == 4 and job.processors > view.free:
                made = yield MakeRoom(job, reason="urgent")
                self.answers.append((view.now, made))
            if job.processors <= view.free:
                yield Start(job)


def naming(victims):
    """A preempt plugin that names these."""

    class Naming:
        name = "preempt/naming"

        @hookimpl
        def preempt_candidates(self, view):
            return victims(view)

    return Naming


def simulated(victims, jobs=JOBS, **options):
    return run(
        jobs, 5, plugins=[Urgent, naming(victims)], scheduler="sched/urgent", preempt="preempt/naming", **options
    )


def youngest_first(view):
    return sorted(view.running, key=lambda running: -running.sequence)


def test_victims_are_taken_in_order_until_the_job_fits():
    result = simulated(youngest_first)
    assert column(result, "requeues") == {1: 0, 2: 1, 3: 1, 4: 0}
    assert starts(result)[4] == 2
    assert run_rows(result)[:3] == [(1, 1, 0, 10, "COMPLETED"), (2, 1, 0, 2, "PREEMPTED"), (3, 1, 1, 2, "PREEMPTED")]


def test_the_victims_wait_at_their_old_places_and_begin_anew():
    result = simulated(youngest_first)
    assert starts(result)[2] == 6
    assert column(result, "end")[2] == 16
    assert column(result, "occupied")[2] == 12
    assert column(result, "first_start") == {1: 0, 2: 0, 3: 1, 4: 2}
    assert [row for row in run_rows(result) if row[0] == 2] == [(2, 1, 0, 2, "PREEMPTED"), (2, 2, 6, 16, "COMPLETED")]


def test_if_all_are_not_enough_none_is_touched():
    result = simulated(lambda view: list(view.running)[:1])
    assert result.plugins["sched/urgent"].answers[0] == (2, False)
    assert column(result, "requeues") == {1: 0, 2: 0, 3: 0, 4: 0}


@pytest.mark.parametrize("victims", [lambda view: None, lambda view: []])
def test_nobody_may_be_preempted(victims):
    result = simulated(victims)
    assert result.plugins["sched/urgent"].answers[0] == (2, False)
    assert starts(result)[4] == 10


def test_without_a_preempt_plugin_nobody_is():
    result = run(JOBS, 5, plugins=[Urgent], scheduler="sched/urgent")
    assert column(result, "requeues") == {1: 0, 2: 0, 3: 0, 4: 0}


def test_the_preemptor_is_shown():
    seen = []
    simulated(lambda view: seen.append((view.preemptor.id, view.free, len(view.running))))
    assert seen[0] == (4, 0, 3)


def test_the_event_log_tells_for_whom():
    log = events(
        JOBS,
        5,
        plugins=[Urgent, naming(youngest_first)],
        scheduler="sched/urgent",
        preempt="preempt/naming",
    )
    expected = {"time": 2, "event": "requeue", "job": 3, "preemptor": 4, "reason": "urgent"}
    assert expected in log
    assert log.index(expected) < log.index({"time": 2, "event": "start", "job": 4, "processors": 3, "backfilled": True})


@pytest.mark.parametrize(
    ("victims", "words"),
    [
        (lambda view: [view.running[0], view.running[0]], "twice"),
        (lambda view: [view.preemptor], "not in view.running"),
        (lambda view: [Run(9.0, 999, 5, 0.0, view.preemptor)], "not in view.running"),
        (lambda view: 5, "answer a list of runs"),
        (lambda view: 1 / 0, "ZeroDivisionError"),
    ],
    ids=["twice", "a_job", "an_old_run", "not_a_list", "raises"],
)
def test_an_answer_that_cannot_be_used(victims, words):
    error = failing(JOBS, 5, plugins=[Urgent, naming(victims)], scheduler="sched/urgent", preempt="preempt/naming")
    assert words in str(error)
    assert (error.plugin, error.hook, error.job, error.time) == ("preempt/naming", "preempt_candidates", 4, 2)
