"""play(): one pass of a scheduler, decision by decision, and the scene after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from emulator.testing import play
from slurm_sim_plugins import ConfigurationError, MakeRoom, Plan, PluginError, Reserve, Start, Wake, hookimpl
from slurm_sim_plugins.backfill.sjf import Sjf
from slurm_sim_plugins.preempt.shadow_load import ShadowLoad
from slurm_sim_plugins.sched.conservative import Conservative
from slurm_sim_plugins.sched.easy import Easy
from slurm_sim_plugins.sched.fcfs import Fcfs
from slurm_sim_plugins.sched.venture import Venture
from slurm_sim_plugins.testing import cluster, job

HERE = cluster(10).running(job(6, planned=100), since=-20).waiting(job(8), job(3, limit=50), job(2, limit=40), job(1))


def scheduler(schedule: Callable[..., Any]) -> type:
    return type("Mine", (), {"name": "sched/mine", "schedule": hookimpl(lambda self, view: schedule(view))})


def test_easy_reserves_for_the_head_and_backfills_who_ends_in_time() -> None:
    played = play(Easy, HERE)
    # Two processors are left over at 80: job 5 takes one of them, though it ends much later.
    assert played.started == [3, 5]
    assert played.reserved == {2: 80}
    assert [type(each) for each in played] == [Reserve, Start, Start]


def test_the_situation_after_the_pass() -> None:
    played = play(Easy, HERE)
    view = played.after.view
    assert (view.free, [each.id for each in view.queue], view.head) == (0, [2, 4], played.after.jobs[2])
    assert [(run.job.id, run.start, run.planned_end, run.job.backfilled) for run in view.running] == [
        (3, 0, 50, True),
        (1, -20, 80, False),
        (5, 0, 3600, True),
    ]
    assert len(HERE.scene().view.queue) == 4


def test_the_backfill_plugin_orders_the_candidates() -> None:
    assert play(Easy, HERE, backfill=Sjf).started == [4, 5]


def test_passes_can_follow_one_another() -> None:
    plugin, scene = Easy(), HERE.scene()
    play(plugin, scene)
    scene.later(50)
    scene.end(3)
    second = play(plugin, scene)
    assert (second.started, second.reserved) == ([], {})
    scene.end(1)
    assert play(plugin, scene).started == [2]


def test_nothing_changed_but_newcomers() -> None:
    here = cluster(10, changed=False).running(job(6, planned=100)).waiting(job(8), job(3, limit=50))
    assert play(Easy, here.arriving(job(1, limit=5))).started == [4]


def test_a_start_that_is_planned_otherwise_than_it_waited_is_a_change() -> None:
    """Job 3 is to end by 100 while it waits, and at 400 when it runs: then job 4 may, too."""
    late = job(1, limit=400, planned=Plan(50, 50, 400))
    scene = cluster(10).running(job(8, planned=100)).waiting(job(10, limit=300), late, job(1, limit=350)).scene()
    plugin = Easy()
    assert play(plugin, scene).started == [3]
    assert scene.view.changed
    scene.later(1)
    assert play(plugin, scene).started == [4]


def test_a_job_that_the_backfill_plugin_left_out_is_tried_in_the_next_pass() -> None:
    first = type("First", (), {"name": "backfill/first"})
    first.backfill_candidates = hookimpl(lambda self, view: view.to_try[:1])  # type: ignore[attr-defined]
    scene = cluster(10).running(job(7, planned=100)).waiting(job(8), job(1, limit=50), job(1, limit=40)).scene()
    assert play(Easy(), scene, backfill=first).started == [3]
    assert play(Easy(), scene, backfill=first).started == [4]


def test_room_is_made_by_the_preempt_plugin() -> None:
    here = cluster(10).running(job(6, priority=1), job(4, priority=2), since=-5).waiting(job(3, priority=9))
    played = play(Venture, here, preempt=ShadowLoad)
    assert (played.started, played.preempted, played.refused) == ([3], [1], [1])
    first = played.after.jobs[1]
    assert (first.requeues, played.after.view.head, played.after.view.free) == (1, first, 3)


def test_without_a_preempt_plugin_nobody_is_preempted() -> None:
    here = cluster(10).running(job(10, priority=1)).waiting(job(3, priority=9))
    played = play(Venture, here)
    assert (played.started, played.preempted, played.refused) == ([], [], [2])


def test_what_yield_returns() -> None:
    answers: list[Any] = []

    def schedule(view: Any) -> Any:
        answers.append((yield Reserve(view.head, 9)))
        answers.append((yield MakeRoom(view.queue[1])))
        answers.append((yield MakeRoom(view.head)))
        answers.append((yield Wake(3.5)))
        answers.append((yield Start(view.queue[1])))

    played = play(scheduler(schedule), HERE)
    assert answers == [None, True, False, None, None]
    assert (played.woken, played.after.woken, played.after.reserved) == ([3.5], [3.5], {2: 9})


def test_a_scheduler_may_do_nothing() -> None:
    assert len(play(scheduler(lambda view: None), HERE)) == 0
    assert play(Fcfs, cluster()).decisions == []


def test_every_waiting_job_has_its_slot() -> None:
    # Job 4 takes the two processors beside job 2 from 50 to 90, so that job 5 has to wait for them.
    played = play(Conservative, HERE.waiting(job(4, limit=30)))
    assert (played.started, played.reserved) == ([3], {2: 80, 4: 50, 5: 90, 6: 3680})


FAULTS: dict[str, tuple[Callable[[Any], Any], str, int | None]] = {
    "too large": (lambda view: Start(view.head), "it needs 8 processors and 4 are free", 2),
    "runs": (lambda view: Start(view.running[0].job), "the job does not wait, it is RUNNING", 1),
    "no job": (lambda view: Start(3), "3 is not a job of the queue", None),
    "stranger": (lambda view: Start(HERE.scene().jobs[3]), "this job is not of this simulation", 3),
    "past": (lambda view: Reserve(view.head, -1), "the time -1 is not now (0) or later", 2),
    "wake": (lambda view: Wake(0), "Wake: the time 0 is not later than now (0)", None),
    "nothing": (lambda view: None, "yielded None; a scheduler yields decisions", None),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_decisions_are_held_to_the_emulators_rules(fault: str) -> None:
    decide, words, about = FAULTS[fault]

    def schedule(view: Any) -> Any:
        yield decide(view)

    with pytest.raises(PluginError) as caught:
        play(scheduler(schedule), HERE)
    error = caught.value
    assert words in error.message
    assert (error.plugin, error.hook, error.job, error.time) == ("sched/mine", "schedule", about, 0)
    line = schedule.__code__.co_firstlineno + 1
    assert error.where == f"{__file__}:{line}"


def test_what_is_no_generator_is_refused() -> None:
    with pytest.raises(PluginError, match="it must be a generator: yield each decision"):
        play(scheduler(lambda view: [Start(view.queue[1])]), HERE)


def test_a_pass_without_end_is_stopped() -> None:
    def schedule(view: Any) -> Any:
        while True:
            yield Reserve(view.head, 9)

    with pytest.raises(PluginError, match="the pass makes no progress: 10011 decisions and no end"):
        play(scheduler(schedule), HERE)


@pytest.mark.parametrize(("name", "value"), [("free", 99), ("now", 5.0), ("head", None)])
def test_a_view_is_only_read(name: str, value: Any) -> None:
    def schedule(view: Any) -> Any:
        setattr(view, name, value)
        yield Wake(9)

    with pytest.raises(PluginError, match=r"wrote to view\.free, view\.now or view\.head"):
        play(scheduler(schedule), HERE)


def test_what_was_played_is_told_in_words_and_drawn() -> None:
    assert repr(play(Easy, HERE)).splitlines()[:2] == [
        "Reserve 2 at 80, Start 3, Start 5",
        "10 processors; a column is 100 s; now is 0",
    ]


def test_a_decision_that_is_returned_is_told() -> None:
    def returning(view: Any) -> Any:
        yield Reserve(view.head, 5)
        return Start(view.head)

    with pytest.raises(PluginError, match=r"returned Start.*yield each decision"):
        play(scheduler(returning), HERE)


def test_a_plugin_goes_into_the_slot_of_its_type() -> None:
    with pytest.raises(
        ConfigurationError, match=r"BackfillType=sched/easy: this slot takes a plugin of type backfill/"
    ):
        play(Easy, HERE, backfill=Easy)
