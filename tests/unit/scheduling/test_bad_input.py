"""A decision, a plugin or a slot that cannot be on a cluster: one message each, with who, when, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from emulator import simulate
from emulator.testing import play, simulate_jobs
from slurm_sim_plugins import ConfigurationError, MakeRoom, PluginError, Start, hookimpl
from slurm_sim_plugins.plan import Place
from slurm_sim_plugins.testing import Cluster, cluster, job

PARTS = {"left": "Nodes=n[1-2]", "right": "Nodes=n[3-4]"}
HERE = cluster(nodes=4, cpus=2, partitions=PARTS, qos={"normal": "MaxJobsPerUser=1"}, now=7)
DOWN = cluster("NodeName=n1 CPUs=2 State=DOWN\nNodeName=n2 CPUs=2\nPartitionName=p Nodes=n[1-2] Default=YES", now=7)


def scheduler(schedule: Callable[[Any], Any], **attributes: Any) -> type:
    hooks = {"schedule": hookimpl(lambda self, view: schedule(view))}
    return type("Mine", (), {"name": "sched/mine", **hooks, **attributes})


def kept(view: Any) -> Generator[Any, bool, None]:
    plan, (head, behind) = view.plan(), view.queue
    plan.promise(head)
    yield Start(behind)


def first(view: Any) -> Generator[Any, bool, None]:
    yield Start(view.queue[0])


def all_of_them(view: Any) -> Generator[Any, bool, None]:
    for entry in view.queue:
        yield Start(entry)


def of_another(view: Any) -> Generator[Any, bool, None]:
    left, right = view.queue
    yield Start(right, where=view.plan().now(left).place)


def made_up(view: Any) -> Generator[Any, bool, None]:
    yield Start(view.queue[0], where=Place())


def named(view: Any) -> Generator[Any, bool, None]:
    yield Start(view.queue[0], where="n1")  # type: ignore[arg-type]


def room_in_another(view: Any) -> Generator[Any, bool, None]:
    left, right = view.queue
    yield MakeRoom(right, where=view.plan().now(left).place)


TWO = HERE.waiting(job(2, user="ann"), job(2, user="bob", partition="right"))


@pytest.mark.parametrize(
    ("decide", "here", "number", "words"),
    [
        (
            kept,
            HERE.running(job(2, limit=60, user="eve")).waiting(job(4, user="ann"), job(2, user="bob")),
            3,
            "Start: it cannot start in partition left now: Priority; start what plan.now(entry) gives a place",
        ),
        (
            first,
            DOWN.waiting(job(4)),
            1,
            "ReqNodeNotAvail,_UnavailableNodes:n1; start what plan.now",
        ),
        (
            all_of_them,
            HERE.waiting(job(2), job(2)),
            2,
            "it cannot start in partition left now: QOSMaxJobsPerUserLimit; start what plan.now",
        ),
        (of_another, TWO, 2, "its place is that of another entry; ask plan.now(entry) for one in this pass"),
        (made_up, TWO, 1, "its place is that of an earlier pass; ask plan.now(entry) for one in this pass"),
        (named, TWO, 1, "where='n1' is no place; give plan.now(entry).place"),
        (room_in_another, TWO, 2, "MakeRoom: its place is that of another entry; ask plan.now(entry)"),
    ],
    ids=["kept", "down", "limit", "partition", "made up", "names", "room"],
)
@pytest.mark.parametrize("clock", ["ideal", "slurm"])
def test_a_start_that_cannot_be(decide: Any, here: Cluster, number: int, words: str, clock: str) -> None:
    with pytest.raises(PluginError) as caught:
        play(scheduler(decide), here, clock=clock)
    said = str(caught.value)
    assert f"plugin sched/mine, hook schedule, job {number}, time 7 s, {__file__}:" in said
    assert words in said


@pytest.mark.parametrize("clock", ["ideal", "slurm"])
def test_a_place_of_an_earlier_pass(clock: str) -> None:
    places: list[Any] = []

    def late(view: Any) -> Generator[Any, bool, None]:
        places.append(view.plan().now(view.queue[0]).place)
        if len(places) == 2:
            yield Start(view.queue[0], where=places[0])

    mine = scheduler(late)()
    after = play(mine, HERE.waiting(job(2)), clock=clock).after
    after.later(3)
    with pytest.raises(PluginError, match=r"job 1, time 10 s, .*that of an earlier pass; ask plan.now"):
        play(mine, after)


def test_a_scheduler_that_needs_what_a_cluster_has_not() -> None:
    for attributes in ({"machines": ("processors",)}, {"needs_tiers": ("fg", "bg")}):
        with pytest.raises(
            ConfigurationError, match="sched/mine is for machines of processors, and this one is of nodes; leave"
        ):
            simulate_jobs([], HERE, plugins=[scheduler(first, **attributes)], scheduler="sched/mine")


def test_a_hook_that_is_never_called_here() -> None:
    class Halves:
        name = "execution/halves"

        @hookimpl
        def progress_rate(self, view: Any) -> list[float]:
            return [0.5 for _ in view.changed]

    with pytest.raises(ConfigurationError, match="ExecutionType=execution/halves"):
        simulate_jobs([], HERE, plugins=[Halves], execution="execution/halves")


@pytest.mark.parametrize(
    "slot", ["SchedulerType=sched/eazy", "PriorityType=priority/mine", "PreemptType=preempt/none_such"]
)
def test_an_unknown_plugin_in_a_slurm_conf(slot: str, tmp_path: Path) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text(f"ClusterName=c\n{slot}\nNodeName=n1 CPUs=2\nPartitionName=p Nodes=n1\n")
    with pytest.raises(ConfigurationError) as caught:
        simulate([], conf)
    assert f"slurm.conf:2: {slot.partition('=')[0]}" in str(caught.value)
    assert f"{slot}: there is no such plugin" in str(caught.value)
    assert "is loaded from its file (--plugin FILE)" in str(caught.value)
