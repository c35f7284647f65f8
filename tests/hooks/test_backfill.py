"""backfill: the second loop of a scheduler, on counted processors and on clusters with nodes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pandas import read_parquet

from emulator.api import simulate
from emulator.config.slurm import parse_slurm_conf
from emulator.testing import play
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import ConfigurationError, PluginError, Reserve, SchedulingView, Start, hookimpl
from slurm_sim_plugins.manager import discover
from slurm_sim_plugins.sched.backfill import Backfill
from slurm_sim_plugins.testing import cluster, job
from tests.builders.jobs import JobRow, column, run, starts

Decisions = Generator[Any, Any, None]
NODES = """
ClusterName=four
PriorityType=priority/basic
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-4] CPUs=1
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE
"""
TIERED = """
ClusterName=tiers
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-2] CPUs=1
PartitionName=low Nodes=ALL Default=YES PriorityTier=1
PartitionName=high Nodes=ALL PriorityTier=5
SchedulerParameters=default_queue_depth=1
"""
Row = tuple[int, float, float, str]
"""(id, submit, run time, words of sbatch)."""


def plugin(backfill: Callable[..., Any], **attributes: Any) -> type:
    """A scheduler whose backfill is one function of the view."""
    hook = hookimpl(lambda self, view: backfill(view))
    return type("Mine", (), {"name": "sched/mine", "backfill": hook, **attributes})


def on_nodes(rows: list[Row], scheduler: str | type, conf: str = NODES, clock: Any = "slurm", **options: Any) -> Any:
    requests = [JobRequest(number, at, lasts, parse_sbatch(words.split()), "me") for number, at, lasts, words in rows]
    plugins = [] if isinstance(scheduler, str) else [scheduler]
    name = scheduler if isinstance(scheduler, str) else scheduler.name  # type: ignore[attr-defined]
    slots = {"SchedulerType": name}
    return simulate(requests, parse_slurm_conf(conf), slots=slots, plugins=plugins, clock=clock, **options)


# Being called ----------------------------------------------------------------------------


def called_at(clock: str, **attributes: Any) -> list[float]:
    at: list[float] = []

    def looking(view: Any) -> Decisions:
        at.append(view.now)
        yield from ()

    rows = [(1, 0, 100, "-n4 -t2"), (2, 1, 10, "-n4 -t1"), (3, 35, 10, "-n4 -t1"), (4, 36, 10, "-n4 -t1")]
    on_nodes(rows, plugin(looking, **attributes), clock=clock)
    return at


def test_under_slurms_clock_it_is_called_when_something_is_new_and_its_interval_over() -> None:
    first, *later = called_at("slurm")
    assert 0 < first < 30
    assert len(later) > 1
    assert all(after - before >= 30 for before, after in pairwise([first, *later]))
    assert all((at - first) % 1 == 0 for at in later)
    fast = called_at("slurm", bf_interval=5)
    assert all(after - before >= 5 for before, after in pairwise(fast))
    assert len(fast) > 1 + len(later)


def test_an_interval_of_0_follows_each_pass_of_the_main_loop_and_one_of_less_is_never() -> None:
    assert len(called_at("slurm", bf_interval=0)) > 3
    assert called_at("slurm", bf_interval=-1) == []
    with pytest.raises(PluginError, match=r"sched/mine.*bf_interval is 'often'"):
        called_at("slurm", bf_interval="often")


def test_under_the_ideal_clock_it_follows_each_pass() -> None:
    assert called_at("ideal")[:3] == [1, 35, 36]
    at: list[float] = []

    def looking(view: Any) -> Decisions:
        at.append(view.now)
        yield from ()

    jobs: list[JobRow] = [(1, 0, 4, 100, 120), (2, 1, 4, 10, 60), (3, 35, 4, 10, 60)]
    assert starts(run(jobs, 4, scheduler="sched/mine", plugins=[plugin(looking)])) == {1: 0, 2: 100, 3: 110}
    assert at == [1, 35, 100]


def test_a_plugin_may_have_both_loops() -> None:
    order: list[str] = []

    def schedule(self: Any, view: SchedulingView) -> Decisions:
        order.append("schedule")
        while view.head is not None and view.head.processors <= view.free:
            yield Start(view.head)

    def backfill(view: Any) -> Decisions:
        order.append("backfill")
        for one in view.candidates():
            if one.processors <= view.free:
                yield Start(one)

    both = plugin(backfill, schedule=hookimpl(schedule))
    jobs: list[JobRow] = [(1, 0, 3, 10, 20), (2, 1, 4, 5, 10), (3, 2, 1, 50, 50)]
    assert starts(run(jobs, 4, scheduler="sched/mine", plugins=[both])) == {1: 0, 3: 2, 2: 52}
    assert order == ["schedule", "schedule", "backfill", "schedule", "backfill", "schedule", "backfill", "schedule"]


# Deciding --------------------------------------------------------------------------------


def test_many_starts_are_noted_in_one_decision() -> None:
    def noting(view: Any) -> Decisions:
        entries = list(view.queue)
        yield Reserve(entries, [view.now + 100.0 * (place + 1) for place in range(len(entries))])

    jobs: list[JobRow] = [(1, 0, 4, 50, 60), (2, 1, 4, 5, 10), (3, 1, 4, 5, 10)]
    result = run(jobs, 4, scheduler="sched/mine", plugins=[plugin(noting)])
    assert column(result, "first_reserved")[2] == 101
    assert column(result, "first_reserved")[3] == 201


@pytest.mark.parametrize(
    ("backfill", "words"),
    [
        (lambda view: [Start(view.queue[0]), Start(view.queue[0])], "Start: "),
        (lambda view: (one for one in [Reserve(list(view.queue), [1.0])]), "2 jobs and 1 times"),
        (lambda view: (one for one in ["nothing"]), "nothing"),
        (lambda view: (1 / 0 for _ in "a"), "ZeroDivisionError"),
    ],
)
@pytest.mark.parametrize("machine", ["processors", "nodes"])
def test_what_cannot_be_is_refused_with_plugin_and_hook(backfill: Any, words: str, machine: str) -> None:
    def decide(view: Any) -> Decisions:
        yield from backfill(view)

    jobs: list[JobRow] = [(1, 0, 4, 50, 60), (2, 1, 3, 5, 10), (3, 1, 3, 5, 10)]
    rows = [(number, at, lasts, f"-n{wide}") for number, at, wide, lasts, _ in jobs]
    mine = plugin(decide)
    counted = partial(run, jobs, 4, scheduler="sched/mine", plugins=[mine])
    with pytest.raises(PluginError) as caught:
        counted() if machine == "processors" else on_nodes(rows, mine)
    for part in ("sched/mine", "backfill", words):
        assert part in str(caught.value)


def test_a_place_of_an_earlier_cycle_is_refused() -> None:
    class Keeps:
        name = "sched/keeps"
        kept: Any = None

        @hookimpl
        def backfill(self, view: Any) -> Decisions:
            for entry in view.queue:
                if self.kept is not None:
                    yield Start(entry, where=self.kept)
                _, hole = view.window_plan().place([entry], keep=False)
                self.kept = hole.place

    with pytest.raises(PluginError, match="an earlier pass"):
        on_nodes([(1, 0, 100, "-n4 -t2"), (2, 1, 9, "-n2"), (3, 40, 9, "-n2")], Keeps)


def test_a_hole_that_is_not_vacant_is_not_started() -> None:
    class Hasty:
        name = "sched/hasty"

        @hookimpl
        def backfill(self, view: Any) -> Decisions:
            plan = view.window_plan()
            for entry in view.queue:
                _, hole = plan.place([entry], keep=False)
                assert not hole.vacant
                yield Start(entry, where=hole.place)

    with pytest.raises(PluginError, match="cannot start in partition p now: Resources"):
        on_nodes([(1, 0, 100, "-n4 -t2"), (2, 1, 9, "-n2")], Hasty)


def test_backfill_preempts_as_slurm_says() -> None:
    """The depth of the main loop's queue is 1: the second job of the high tier is left to backfill."""
    rows = [
        (1, 0, 300, "-plow -n1 -t10"),
        (2, 0, 300, "-plow -n1 -t10"),
        (3, 50, 10, "-phigh -n2 -t1 --begin=now+100"),
        (4, 51, 30, "-phigh -n1 -t1"),
    ]
    jobs = on_nodes(rows, "sched/backfill", TIERED).jobs.set_index("job_id")
    assert jobs.requeues.sum() >= 1
    assert jobs.first_start[4] < 100


def test_the_unit_test_kit_plays_both_loops() -> None:
    waiting = cluster(4).waiting(job(3, limit=100), job(4, limit=50), job(1, limit=100), job(1, limit=101))
    played = play(Backfill(bf_resolution=1), waiting)
    assert played.started == [1, 3]
    assert played.reserved == {2: 100, 4: 150}
    assert "Reserve" in repr(played)


# sched/backfill --------------------------------------------------------------------------


def test_a_copy_may_be_changed(tmp_path: Path) -> None:
    """Shortest first: three lines of the copy make another schedule."""
    source = inspect.getsource(inspect.getmodule(Backfill))  # type: ignore[arg-type]
    source = source.replace('"sched/backfill"', '"sched/shortest"').replace(
        "queue = list(view.queue)", "queue = sorted(view.queue, key=lambda entry: entry.planned)"
    )
    (tmp_path / "shortest.py").write_text(source)
    catalogue = discover([tmp_path / "shortest.py"], installed=False)
    rows = [(1, 0, 100, "-n3 -t2"), (2, 1, 300, "-n2 -t10"), (3, 2, 60, "-n1 -t4"), (4, 3, 50, "-n1 -t1")]
    first = on_nodes(rows, "sched/backfill").jobs.set_index("job_id").first_start
    shortest = on_nodes(rows, "sched/shortest", catalogue=catalogue).jobs.set_index("job_id").first_start
    assert first[3] < first[4]
    assert shortest[4] < shortest[3]


def options_of(conf: str, **options: Any) -> Any:
    return on_nodes([(1, 0, 9, "-n1")], "sched/backfill", NODES + conf, **options).plugins["sched/backfill"]


def test_options_are_those_of_the_slurm_conf_in_its_units_unless_they_are_given() -> None:
    conf = "SchedulerParameters=bf_window=30,bf_interval=10,bf_max_job_user=3,bf_licenses,bf_continue\n"
    made = options_of(conf)
    assert (made.bf_window, made.bf_interval, made.bf_max_job_user, made.bf_licenses) == (30, 10, 3, True)
    assert made.bf_resolution == 60
    given_too = options_of(conf, plugin_options={"sched/backfill": {"bf_window": 5}})
    assert (given_too.bf_window, given_too.bf_max_job_user) == (5, 3)


def test_options_that_the_scheduler_does_not_have_are_named(caplog: pytest.LogCaptureFixture) -> None:
    conf = NODES + "SchedulerParameters=bf_window=30,default_queue_depth=5,bf_continue\n"
    on_nodes([(1, 0, 9, "-n1")], "sched/backfill", conf)
    assert not caplog.messages
    on_nodes([(1, 0, 9, "-n1")], "sched/builtin", conf)
    assert caplog.messages == ["sched/builtin decides instead of Slurm's loops; without effect: bf_window; bf_continue"]


@pytest.mark.parametrize("name", ["sched/backfill", "sched/builtin"])
def test_an_order_of_candidates_is_refused_where_none_are_asked_for(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} tries jobs in the order of the queue"):
        simulate([], parse_slurm_conf(NODES), slots={"SchedulerType": name, "BackfillType": "backfill/sjf"})
    with pytest.raises(ConfigurationError, match=f"{name} tries jobs in the order of the queue"):
        run([(1, 0, 4, 5, 10)], 4, scheduler=name, backfill="backfill/sjf")


@pytest.mark.slow
def test_wide_jobs_start_at_the_same_second_on_nodes_and_on_counted_processors() -> None:
    """No two of them run at once, so that it does not matter on which nodes they are."""
    draws = np.random.default_rng(5)
    jobs: list[JobRow] = []
    for number in range(1, 60):
        lasts, limit = int(draws.integers(1, 300)), 60 * int(draws.integers(1, 9))
        jobs.append((number, int(draws.integers(0, 3000)), int(draws.integers(3, 5)), min(lasts, limit), limit))
    rows = [(number, at, lasts, f"-n{wide} -t{limit // 60}") for number, at, wide, lasts, limit in jobs]
    counted = starts(run(jobs, 4, scheduler="sched/backfill"))
    nodes = on_nodes(rows, "sched/backfill", clock="ideal").jobs.set_index("job_id").first_start
    assert counted == nodes.to_dict()


# sched/builtin ---------------------------------------------------------------------------


def test_builtin_keeps_the_order_and_predicts_starts() -> None:
    jobs: list[JobRow] = [(1, 0, 3, 100, 120), (2, 1, 4, 5, 60), (3, 2, 1, 5, 60)]
    result = run(jobs, 4, scheduler="sched/builtin")
    assert starts(result) == {1: 0, 2: 100, 3: 105}
    assert column(result, "first_reserved")[2] == 120
    assert column(result, "first_reserved")[3] == 180


def test_builtin_predicts_on_a_cluster_after_each_pass(tmp_path: Path) -> None:
    rows = [(1, 0, 100, "-n3 -t2"), (2, 1, 5, "-n4 -t1"), (3, 2, 5, "-n1 -t1")]
    result = on_nodes(rows, "sched/builtin", clock="ideal", out=tmp_path / "run")
    assert result.jobs.set_index("job_id").first_start.to_dict() == {1: 0, 2: 100, 3: 105}
    waits = read_parquet(tmp_path / "run" / "waits.parquet").dropna(subset="planned_start")
    assert waits.groupby("job_id").planned_start.first().to_dict() == {2: 120, 3: 180}
