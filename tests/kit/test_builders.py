"""Builders: a scene in the middle of things in a line or two."""

from __future__ import annotations

import doctest
from typing import Any

import pytest

from slurm_sim_plugins import ConfigurationError, Plan
from slurm_sim_plugins import testing as kit
from slurm_sim_plugins.jobs import FIRST_PRIORITY
from slurm_sim_plugins.testing import Cluster, builders, cluster, job

HERE = cluster(10).running(job(4, planned=100), since=-20).waiting(job(6), job(2, limit=5))


def test_the_examples_in_the_text_run() -> None:
    assert doctest.testmod(kit).failed == 0
    assert doctest.testmod(builders).failed == 0


@pytest.mark.parametrize("name", kit.__all__)
def test_public_names_are_there(name: str) -> None:
    assert getattr(kit, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        kit.nothing  # noqa: B018


def test_a_situation_in_one_line() -> None:
    view = HERE.scene().view
    assert (view.now, view.total, view.free, view.changed) == (0, 10, 6, True)
    assert [(run.job.id, run.processors, run.start, run.planned_end) for run in view.running] == [(1, 4, -20, 80)]
    assert [(each.id, each.processors, each.time_limit) for each in view.queue] == [(2, 6, 3600), (3, 2, 5)]
    assert view.head is view.queue[0]
    assert list(view.new_jobs) == []


def test_a_job_is_what_was_said_of_it() -> None:
    spec = job(3, limit=50, planned=Plan(10, 20, 30), submit=-7, id=8, requeues=2, user="ann", project="x", requeue=0)
    (made,) = cluster(4).waiting(spec).scene().view.queue
    assert (made.id, made.processors, made.time_limit, made.submit, made.requeues) == (8, 3, 50, -7, 2)
    assert (made.planned_queue, made.planned, made.planned_running, made.longest) == (10, 20, 30, 50)
    assert (made.user, made.group, made.fact("project"), made.may_requeue) == ("ann", None, "x", False)


def test_what_is_not_said_is_sensible() -> None:
    first, second = cluster(4, now=9).waiting(job(), job(planned=7)).scene().view.queue
    assert (first.id, first.processors, first.time_limit, first.planned, first.submit) == (1, 1, 3600, 3600, 9)
    assert (second.id, second.time_limit, second.planned) == (2, 7, 7)
    assert (first.priority, second.priority) == (FIRST_PRIORITY, FIRST_PRIORITY - 1)


def test_who_runs_was_submitted_when_it_started() -> None:
    scene = HERE.scene()
    assert scene.jobs[1].submit == -20
    assert scene.run_of(1).job is scene.jobs[1]


def test_ids_are_taken_in_the_order_of_the_words() -> None:
    scene = cluster(9).waiting(job(), job(id=1), job(submit=-5)).scene()
    assert [each.id for each in scene.view.queue] == [3, 1, 2]
    assert [each.index for each in scene.view.queue] == [0, 1, 2]


def test_the_queue_goes_by_priority_then_submission_then_id() -> None:
    jobs = [job(priority=1), job(), job(priority=5), job(submit=-1), job(priority=5, submit=-3)]
    view = cluster(9).waiting(*jobs).scene().view
    assert [each.id for each in view.queue] == [5, 3, 1, 4, 2]
    assert [each.priority for each in view.queue] == [5, 5, 1, 0, 0]


def test_newcomers_have_arrived_since_the_last_pass() -> None:
    view = cluster(9, changed=False).waiting(job(8)).arriving(job(), job()).scene().view
    assert view.changed is False
    assert [each.id for each in view.new_jobs] == [2, 3]
    assert [each.id for each in view.queue] == [1, 2, 3]


def test_a_run_may_have_outlived_its_planned_end() -> None:
    view = cluster(9).running(job(2), since=-50, until=-10).scene().view
    assert view.running[0].planned_end == -10
    assert view.earliest_start(cluster(9).waiting(job(9)).scene().view.queue[0]) == (0, 0)


def test_a_description_stays_what_it_is() -> None:
    longer = HERE.waiting(job(1))
    assert len(HERE.scene().view.queue) == 2
    assert len(longer.scene().view.queue) == 3
    assert HERE.scene().jobs[1] is not HERE.scene().jobs[1]


@pytest.mark.parametrize(
    "text",
    [
        "cluster(1)",
        "cluster(10, now=50, changed=False).waiting(job(1), job(2, limit=5))",
        "cluster(10).running(job(4, limit=100), job(2), since=-20, until=7.5).arriving(job(1, planned=5, limit=60))",
        "cluster(8).waiting(job(1, submit=-3, run=2, id=7, priority=1, requeues=2, backfilled=True, user='ann'))",
        "cluster(8).waiting(job(1, planned=Plan(queue=1, waiting=2, running=3), limit=4))",
    ],
)
def test_a_description_reads_as_it_was_written(text: str) -> None:
    made = eval(text)
    assert repr(made) == text
    assert eval(repr(made)) == made


def refused(make: Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        make()
    return str(caught.value)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: cluster(0), "cluster(0): a cluster has 1 processor or more"),
        (lambda: job(0), "job(0): a job wants 1 processor or more"),
        (lambda: job(1.5), "job(1.5): a job wants 1 processor or more"),
        (lambda: job(limit=0), "a limit is more than 0 s"),
        (lambda: job(limit=float("nan")), "a limit is more than 0 s"),
        (
            lambda: job(planned=70, limit=60),
            "planned=70): a planned time is more than 0 s and at most the limit of 60 s",
        ),
        (lambda: job(planned=0), "a planned time is more than 0 s"),
        (lambda: job(run=-1), "a run time is 0 s or more"),
        (lambda: HERE.waiting(job(11)), "job(11) never fits: the cluster has 10 processors"),
        (lambda: HERE.running(job(7)), "what runs takes 11 processors, the cluster has 10"),
        (lambda: HERE.running(job(), since=5), "since=5 is later than now (0)"),
        (lambda: HERE.waiting(job(submit=5)).scene(), "job(1, submit=5) is submitted at 5, later than now (0)"),
        (lambda: cluster().running(job(submit=-5), since=-8).scene(), "later than it started (-8)"),
        (lambda: HERE.waiting(job(id=4), job(id=4)).scene(), "two jobs have the id 4; give each its own"),
        (lambda: HERE.scene().job(9), "there is no job 9 here; there are 1, 2, 3"),
        (lambda: HERE.scene().run_of(2), "job 2 does not run, it is PENDING"),
        (lambda: HERE.scene().later(-1), "time goes one way"),
        (lambda: HERE.scene().submit(job(11)), "job(11) never fits"),
        (lambda: HERE.scene().submit(job(id=2)), "two jobs have the id 2"),
        (lambda: HERE.scene().submit(job(priority=2)), "the jobs that are here have none; give them theirs"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(make: Any, told: str) -> None:
    assert told in refused(make)


def test_a_scene_goes_on() -> None:
    scene = HERE.scene()
    scene.pass_is_over()
    assert scene.view.changed is False
    scene.later(30)
    (new_job,) = scene.submit(job(1, limit=9))
    assert (scene.now, new_job.submit, new_job.id, scene.view.changed) == (30, 30, 4, False)
    scene.end(1)
    assert (scene.view.free, scene.view.changed, scene.state(scene.jobs[1])) == (10, True, "COMPLETED")
    assert len(scene.view.running) == 0


def test_who_comes_to_an_empty_queue_is_a_change() -> None:
    scene = cluster(changed=False).scene()
    scene.submit(job())
    assert scene.view.changed is True


def test_true_run_times_are_for_the_oracle_alone() -> None:
    scene = cluster().waiting(job(run=31, limit=60), job(limit=60)).scene()
    scene.submit(job(run=7))
    assert [scene.oracle.run_time(each) for each in scene.jobs.values()] == [31, 60, 7]
    assert not hasattr(scene.jobs[1], "run")
    assert scene.jobs[1].fact("run") is None


def test_facts_of_a_job_that_came_later() -> None:
    scene = cluster().waiting(job(user="ann")).scene()
    later = scene.submit(job(group="x"))[0]
    assert (later.user, later.group, scene.jobs[1].group, scene.jobs[1].user) == (None, "x", None, "ann")


def test_hooks_can_be_shown_a_compiled_profile() -> None:
    assert type(cluster(compiled=True).scene().view.profile()).__name__ == "CompiledProfile"


def test_the_type_of_a_description() -> None:
    assert isinstance(HERE, Cluster)
