"""call(): one hook, the view that it is shown, and what may be answered."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from slurm_sim_plugins import ConfigurationError, Plan, PluginError, hookimpl
from slurm_sim_plugins.backfill.sjf import Sjf as BackfillSjf
from slurm_sim_plugins.hookspecs import LOOPS, SPECS
from slurm_sim_plugins.preempt.shadow_load import ShadowLoad
from slurm_sim_plugins.priority.sjf import Sjf
from slurm_sim_plugins.testing import call, cluster, job
from slurm_sim_plugins.testing.calling import _CALLS
from slurm_sim_plugins.walltime.last_model import LastModel
from slurm_sim_plugins.walltime.virtual import Virtual
from tests.builders.jobs import line_with

HERE = cluster(10).running(job(6, planned=100), since=-20).waiting(job(8), job(3, limit=50), job(2, limit=40))


def test_every_hook_can_be_called_or_played() -> None:
    hooks = {name for spec in SPECS.values() for name in vars(spec) if not name.startswith("_")}
    assert hooks == {*_CALLS, *LOOPS}


def test_priorities_of_all_that_wait() -> None:
    assert call(Sjf, "priority_set", HERE) == [-3600, -50, -40]


def test_priorities_of_newcomers() -> None:
    assert call(Sjf(), "priority_set", HERE.arriving(job(planned=7))) == [-7]


def test_priorities_of_jobs_that_are_named() -> None:
    assert call(Sjf, "priority_set", HERE, jobs=[4, job(planned=9)]) == [-40, -9]


def test_candidates_behind_the_head() -> None:
    answer = call(BackfillSjf, "backfill_candidates", HERE)
    assert [each.id for each in answer] == [4, 3]


def test_victims_for_the_head_of_the_queue() -> None:
    here = cluster(10).running(job(6, priority=1), job(4, priority=9)).waiting(job(6, priority=5), job(2, priority=3))
    scene = here.scene()
    assert call(ShadowLoad, "preempt_candidates", scene) == [scene.run_of(1)]
    assert call(ShadowLoad, "preempt_candidates", here.waiting(job(8, priority=7))) is None
    assert [run.job.id for run in call(ShadowLoad, "preempt_candidates", here, job=4)] == [1]


def test_a_planned_time_for_a_job_that_is_yet_to_come() -> None:
    plugin = LastModel()
    scene = cluster(10).running(job(6, limit=100, user="ann"), since=-50).scene()
    assert call(plugin, "walltime_submit", scene, job=job(limit=60, user="ann")) == 60
    call(plugin, "walltime_learn", scene, job=1, ran=50)
    assert call(plugin, "walltime_submit", scene, job=job(limit=60, user="ann")) == 30
    assert call(plugin, "walltime_submit", scene, job=job(limit=60, user="bob")) == 60


def test_the_oracle_is_there_for_who_says_so() -> None:
    from numpy.random import default_rng

    assert call(Virtual(default_rng(1), error=0.0), "walltime_submit", cluster(), job=job(limit=60, run=33)) == 33


class Observing:
    """Keeps what it is told."""

    name: ClassVar[str] = "observer/observing"

    def __init__(self) -> None:
        self.told: list[Any] = []

    @hookimpl
    def job_submitted(self, job: Any, now: float) -> None:
        self.told.append((job.id, now))

    @hookimpl
    def job_started(self, now: float, run: Any) -> None:
        self.told.append((run.job.id, run.start, now))

    @hookimpl
    def job_ended(self, job: Any, run: Any, state: str) -> None:
        self.told.append((job.id, run.processors, state))

    @hookimpl
    def pass_done(self, view: Any) -> None:
        self.told.append(view.free)


def test_observers_are_told_with_the_arguments_that_they_take() -> None:
    plugin = Observing()
    call(plugin, "job_submitted", HERE, job=2)
    call(plugin, "job_started", HERE, job=1)
    call(plugin, "job_ended", HERE, state="TIMEOUT")
    call(plugin, "pass_done", HERE)
    assert plugin.told == [(2, 0), (1, -20, 0), (1, 6, "TIMEOUT"), 4]


def test_a_class_is_made_anew_and_an_instance_is_kept() -> None:
    plugin = LastModel()
    call(plugin, "walltime_learn", HERE, job=1, ran=1)
    assert call(plugin, "walltime_submit", HERE, job=job(limit=3600)) < 3600
    assert call(LastModel, "walltime_submit", HERE, job=job(limit=3600)) == 3600


def answering(kind: str, hook: str, answer: Any) -> type:
    def implementation(self: Any, view: Any) -> Any:
        return answer(view)

    return type("Mine", (), {"name": f"{kind}/mine", hook: hookimpl(implementation)})


@pytest.mark.parametrize(
    ("kind", "hook", "answer", "told", "about"),
    [
        ("priority", "priority_set", lambda view: [1], "answered [1] for 3 jobs; answer one number for each", 2),
        ("priority", "priority_set", lambda view: [1, float("nan"), 2], "a priority is a finite number", 3),
        ("backfill", "backfill_candidates", lambda view: [view.to_try[0]] * 2, "twice; name each job once", 3),
        ("backfill", "backfill_candidates", lambda view: [view.head], "which is not in view.to_try", 2),
        (
            "preempt",
            "preempt_candidates",
            lambda view: list(view.running) * 2,
            "run of job 1 twice; name each run once",
            2,
        ),
        ("preempt", "preempt_candidates", lambda view: [1], "named 1, which is not in view.running", 2),
        ("walltime", "walltime_submit", lambda view: 0, "a planned time is more than 0 s and at most the limit", 2),
        ("walltime", "walltime_submit", lambda view: Plan(1, 2, 4000), "answered 4000; a planned time", 2),
        ("walltime", "walltime_pending", lambda view: [1.0], "for 3 jobs; answer seconds for each, or None", 2),
    ],
)
def test_answers_are_held_to_the_emulators_rules(kind: str, hook: str, answer: Any, told: str, about: int) -> None:
    with pytest.raises(PluginError) as caught:
        call(answering(kind, hook, answer), hook, HERE)
    error = caught.value
    assert told in error.message
    assert (error.plugin, error.hook, error.job, error.time) == (f"{kind}/mine", hook, about, 0)
    assert error.where is not None
    assert error.where.startswith(f"{__file__}:")


@pytest.mark.parametrize("hook", ["priority_set", "backfill_candidates", "preempt_candidates"])
def test_none_is_an_answer(hook: str) -> None:
    assert call(answering(hook.partition("_")[0], hook, lambda view: None), hook, HERE) is None


def test_what_a_hook_raises_comes_through() -> None:
    with pytest.raises(ZeroDivisionError):
        call(answering("priority", "priority_set", lambda view: 1 / 0), "priority_set", HERE)


def test_a_view_is_only_read() -> None:
    def write(view: Any) -> None:
        view.now = 5

    with pytest.raises(AttributeError, match=r"PriorityView\.now is read-only: a plugin asks for a change"):
        call(answering("priority", "priority_set", write), "priority_set", HERE)


def told(make: Any, kind: type[Exception] = PluginError) -> str:
    with pytest.raises(kind) as caught:
        make()
    return str(caught.value)


class Misspelt:
    name: ClassVar[str] = "priority/misspelt"

    @hookimpl  # the misspelt hook
    def priorty_set(self, view: Any) -> None: ...


class WrongArgument:
    name: ClassVar[str] = "priority/wrong_argument"

    @hookimpl  # the wrong argument
    def priority_set(self, scene: Any) -> None: ...


def test_a_misspelt_hook_is_told_with_its_line() -> None:
    words = told(lambda: call(Misspelt, "priority_set", HERE))
    assert "there is no hook 'priorty_set' (did you mean 'priority_set'?)" in words
    assert line_with("the misspelt hook", Misspelt) in words


def test_a_wrong_argument_is_told_with_its_line() -> None:
    words = told(lambda: call(WrongArgument(), "priority_set", HERE))
    assert "priority_set takes view, not scene" in words
    assert line_with("the wrong argument", WrongArgument) in words


def test_a_question_that_cannot_be_asked_is_told() -> None:
    assert "it has no hook 'schedule'; it has priority_set" in told(lambda: call(Sjf, "schedule", HERE))
    from slurm_sim_plugins.sched.fcfs import Fcfs

    assert "play(plugin, scene)" in told(lambda: call(Fcfs, "schedule", HERE), ConfigurationError)
    assert "no job waits" in told(lambda: call(ShadowLoad, "preempt_candidates", cluster()), ConfigurationError)
    assert "there is no job" in told(lambda: call(LastModel, "walltime_submit", cluster()), ConfigurationError)
    assert "job 2 waits" in told(lambda: call(Observing, "job_started", HERE, job=2), ConfigurationError)
