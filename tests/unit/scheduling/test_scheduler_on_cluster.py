"""A scheduler plugin on a cluster with nodes and partitions, under either clock."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import emulator.cli
from emulator.api import simulate
from emulator.config.sacctmgr import parse_accounts
from emulator.config.slurm import parse_slurm_conf
from emulator.scheduling.plugin_scheduler import PluginScheduler
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import (
    ConfigurationError,
    MakeRoom,
    Move,
    PluginError,
    Preempt,
    Reserve,
    Start,
    Wake,
    hookimpl,
)
from slurm_sim_plugins.sched.backfill import Backfill

FLAT = """
ClusterName=flat
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-4] CPUs=1
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE
"""
TWO = """
ClusterName=two
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
Licenses=foo:1
GresTypes=gpu
NodeName=a[1-2] CPUs=4 Gres=gpu:1
NodeName=b[1-2] CPUs=4
PartitionName=left Nodes=a[1-2] Default=YES MaxTime=1:00:00
PartitionName=right Nodes=b[1-2] MaxTime=INFINITE
PartitionName=both Nodes=ALL MaxTime=INFINITE
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
"""
Row = tuple[int, float, float, str]
"""(id, submit, run time, words of sbatch)."""


def starts(
    conf: str, rows: list[Row], scheduler: str | type = "sched/easy", clock: str = "ideal", **options: Any
) -> dict[int, float]:
    """When each job started first."""
    result = simulated(conf, rows, scheduler, clock, **options)
    return dict(zip(result.jobs.job_id.tolist(), result.jobs.first_start.tolist(), strict=True))


def simulated(
    conf: str, rows: list[Row], scheduler: str | type = "sched/easy", clock: Any = "ideal", **options: Any
) -> Any:
    requests = [JobRequest(number, at, run, parse_sbatch(words.split()), "me") for number, at, run, words in rows]
    slots = dict(options.pop("slots", {}))
    plugins = [] if isinstance(scheduler, str) else [scheduler]
    slots["SchedulerType"] = scheduler if isinstance(scheduler, str) else scheduler.name  # type: ignore[attr-defined]
    return simulate(requests, parse_slurm_conf(conf), slots=slots, plugins=plugins, clock=clock, **options)


class KeepsPlans(Backfill):
    """Backfill that looks at plans of cycles before, too."""

    name = "sched/keeps_plans"


@pytest.mark.parametrize(("scheduler", "used_again"), [("sched/backfill", True), (KeepsPlans, False)])
def test_columns_of_a_plan_are_used_again_unless_a_plugin_may_have_kept_it(monkeypatch, scheduler, used_again):
    made, plans = PluginScheduler.windows, list[Any]()

    def windows(*args: Any) -> Any:
        plan = made(*args)
        plans.append(plan.slots)
        return plan

    monkeypatch.setattr(PluginScheduler, "windows", windows)
    rows = [(number, 40.0 * number, 500.0, "-n3 -t10") for number in range(1, 12)]
    simulated(FLAT, rows, scheduler, "slurm", compiled=True)
    assert len(plans) > 5
    assert (len({id(one) for one in plans}) < len(plans)) is used_again


HEAD_AND_TWO = [
    (1, 0, 100, "-n3 -t2"),
    (2, 1, 100, "-n4 -t2"),
    (3, 2, 100, "-n1 -t3"),
    (4, 3, 50, "-n1 -t1"),
]
"""3 would delay 2, which is to start when 1 ends at its limit of 120 s; 4 would not."""


def test_easy_lets_a_job_overtake_the_head_that_does_not_delay_it() -> None:
    assert starts(FLAT, HEAD_AND_TWO) == {1: 0, 4: 3, 2: 100, 3: 200}


def test_fcfs_lets_no_job_overtake() -> None:
    assert starts(FLAT, HEAD_AND_TWO, "sched/fcfs") == {1: 0, 2: 100, 3: 200, 4: 200}


def test_under_slurms_clock_the_same_order_has_its_delays() -> None:
    found = starts(FLAT, HEAD_AND_TWO, clock="slurm")
    assert sorted(found, key=found.__getitem__) == [1, 4, 2, 3]
    assert 0 < found[1] < 3
    assert 100 < found[2] < 103


def test_each_partition_has_a_head_of_its_own() -> None:
    rows = [
        (1, 0, 100, "-pleft -N2 --exclusive -t2"),
        (2, 1, 10, "-pleft -N1 -t1"),
        (3, 2, 10, "-pright -N1 -t1"),
        (4, 3, 10, "-pleft -N1 -t1"),
    ]
    assert starts(TWO, rows) == {1: 0, 3: 2, 2: 100, 4: 100}


def test_a_job_of_another_partition_does_not_delay_a_head_on_shared_nodes() -> None:
    rows = [
        (1, 0, 100, "-pleft -N1 --exclusive -t2"),
        (2, 1, 10, "-pboth -N4 --exclusive -t1"),
        (3, 2, 500, "-pright -N1 -t10"),
        (4, 3, 30, "-pright -N1 -t1"),
    ]
    assert starts(TWO, rows) == {1: 0, 4: 3, 2: 100, 3: 110}


@pytest.mark.parametrize("scheduler", ["sched/fcfs", "sched/easy", "sched/conservative"])
def test_nodes_that_a_partition_shares_are_not_counted_for_the_others(scheduler: str) -> None:
    shared = (
        FLAT.replace("MaxTime", "OverSubscribe=EXCLUSIVE MaxTime") + "PartitionName=s Nodes=ALL OverSubscribe=FORCE:2"
    )
    rows = [(1, 0, 100, "-ps -n1 -t2"), (2, 1, 10, "-n4 -t1"), (3, 2, 10, "-n3 -t1")]
    assert starts(shared, rows, scheduler) == {1: 0, 2: 100, 3: 2 if scheduler != "sched/fcfs" else 110}


def test_a_job_that_lacks_a_licence_is_no_head() -> None:
    rows = [(1, 0, 100, "-n1 -t2 -Lfoo:1"), (2, 1, 10, "-n1 -t1 -Lfoo:1"), (3, 2, 10, "-n1 -t1")]
    assert starts(TWO, rows) == {1: 0, 3: 2, 2: 100}


def test_gpus_are_promised_like_cpus() -> None:
    rows = [
        (1, 0, 100, "-N1 -n1 --gres=gpu:1 -t2"),
        (2, 1, 10, "-N2 -n2 --gres=gpu:1 -t1"),
        (3, 2, 500, "-N1 -n1 --gres=gpu:1 -t10"),
        (4, 3, 500, "-N1 -n1 -t10"),
    ]
    assert starts(TWO, rows) == {1: 0, 4: 3, 2: 100, 3: 110}


def test_a_backfill_plugin_orders_the_candidates() -> None:
    rows = [
        (1, 0, 100, "-n3 -t2"),
        (2, 1, 10, "-n4 -t1"),
        (3, 2, 100, "-n1 -t5"),
        (4, 2, 30, "-n1 -t1"),
        (5, 2, 20, "-n1 -t2"),
    ]
    found = simulated(FLAT, rows, slots={"BackfillType": "backfill/sjf"}).jobs
    assert dict(zip(found.job_id, found.first_start, strict=True))[4] == 2


def test_jobs_show_why_they_wait() -> None:
    reasons: dict[int, str] = {}

    class Looking:
        name = "sched/looking"

        @hookimpl
        def schedule(self, view: Any) -> Generator[Any, bool, None]:
            plan = view.plan()
            for entry in plan.heads():
                answer = plan.now(entry)
                reasons[entry.job.id] = answer.reason
                if answer.place:
                    yield Start(entry, where=answer.place)
                elif answer.blocks:
                    plan.bar(entry)

    rows = [(1, 0, 9, "-n4 -Lfoo:1"), (2, 1, 9, "-n1 -Lfoo:1"), (3, 2, 9, "-pleft -N2 --exclusive"), (4, 3, 9, "-n1")]
    starts(TWO, rows, Looking)
    assert reasons[1] == ""
    simulated(TWO, rows[:2], Looking)


def test_a_pass_may_start_an_entry_without_asking_for_its_place() -> None:
    assert starts(FLAT, [(1, 0, 9, "-n2"), (2, 0, 9, "-n2")], yielding(lambda view: [Start(view.queue[0])])) == {
        1: 0,
        2: 0,
    }


def yielding(decisions: Any) -> type:
    """A scheduler that yields what a function of its view answers, again and again while jobs can be started."""

    class Yielding:
        name = "sched/yielding"

        @hookimpl
        def schedule(self, view: Any) -> Generator[Any, Any, None]:
            while view.queue:
                yield from decisions(view)
                if not any(view.plan().now(entry).place for entry in view.queue):
                    return

    return Yielding


@pytest.mark.parametrize(
    ("decisions", "words"),
    [
        (lambda view: [Start(view.queue[0]), Start(view.queue[0].job)], "is no entry of view.queue"),
        (lambda view: [Start(view.queue[-1])] * 2, "it does not wait; it is RUNNING"),
        (lambda view: [Start(view.queue[0], where=17)], "where=17 is no place"),
        (lambda view: [Start(view.queue[1], where=view.plan().now(view.queue[0]).place)], "that of another entry"),
        (lambda view: [Start(view.queue[0], tier="bg")], "this one has none"),
        (lambda view: [Move(view.queue[0].job)], "there are no tiers here"),
        (lambda view: [Reserve(view.queue[0], -5.0)], "is not now"),
        (lambda view: [Preempt(view.queue[0].job)], "it does not run"),
        (lambda view: [Wake(float("nan"))], "Wake"),
        (lambda view: ["start it"], "start it"),
        (lambda view: [view.free], "view.free is for machines whose processors are only counted"),
        (lambda view: [view.quue], "no 'quue' (did you mean 'queue'?)"),
        (lambda view: [Start(view.queue[0].job)], "is no entry of view.queue; give one of those, not its job"),
        (lambda view: [Start(view.queue[0], where=view.plan().now(view.queue[0]))], "give plan.now(entry).place"),
        (lambda view: [Start(view.queue[0], view.plan().now(view.queue[0]).place)], "is no text; say where="),
        (lambda view: [view.queue[0].processors], "no 'processors'; its job has, as entry.job.processors"),
        (lambda view: [view.plan().earlist(view.queue[0])], "(did you mean 'earliest'?)"),
        (lambda view: [setattr(view, "now", 3)], "read-only"),
        (lambda view: (Reserve(view.queue[0], 1e6) for _ in range(100_000)), "makes no progress"),
    ],
)
def test_what_cannot_be_is_refused_with_plugin_hook_and_time(decisions: Any, words: str) -> None:
    rows = [(1, 5, 9, "-n2"), (2, 5, 9, "-n1"), (3, 5, 9, "-n1")]
    with pytest.raises(PluginError) as caught:
        simulated(FLAT, rows, yielding(decisions))
    assert words in str(caught.value)
    for part in ("sched/yielding", "schedule", "time 5 s"):
        assert part in str(caught.value)


def test_the_line_at_fault_is_the_plugins_own_while_decisions_are_recorded(tmp_path: Path) -> None:
    class Late:
        name = "sched/late"

        @hookimpl
        def schedule(self, view: Any) -> Generator[Any, bool, None]:
            yield from self.twice(view.queue[0])

        def twice(self, entry: Any) -> Generator[Any, bool, None]:
            yield Start(entry)
            yield Start(entry)

    line = inspect.getsourcelines(Late.twice)[1] + 2
    with pytest.raises(
        PluginError, match=rf"job 1, time 5 s, .*test_scheduler_on_cluster.py:{line}: Start: it does not"
    ):
        simulated(FLAT, [(1, 5, 9, "-n2")], Late, out=tmp_path / "run", explain=True)


@pytest.mark.parametrize("options", [{}, {"explain": True}])
def test_a_decision_that_is_returned_is_told(options: Any, tmp_path: Path) -> None:
    class Returning:
        name = "sched/returning"

        @hookimpl
        def schedule(self, view: Any) -> Generator[Any, bool, Any]:
            yield Reserve(view.queue[0], 1e6)
            return Start(view.queue[0])

    with pytest.raises(PluginError, match=r"sched/returning, hook schedule, time 5 s, .*returned Start.*yield each"):
        simulated(FLAT, [(1, 5, 9, "-n2")], Returning, out=tmp_path / "run", **options)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("-pleft -n2 -t2:00:00", "PartitionTimeLimit"),
        ("-n2 -Lfoo:1", "Licenses"),
        ("-pleft -N2 --exclusive", "Resources"),
    ],
)
def test_a_start_that_cannot_be_says_why(words: str, reason: str) -> None:
    class Late:
        name = "sched/late"

        @hookimpl
        def schedule(self, view: Any) -> Generator[Any, bool, None]:
            for entry in view.queue:
                yield Start(entry)

    with pytest.raises(PluginError, match=reason):
        simulated(TWO, [(1, 0, 500, "-n1 -Lfoo:1"), (2, 1, 9, words)], Late)


def test_a_place_of_an_earlier_pass_is_refused() -> None:
    class Keeps:
        name = "sched/keeps"
        kept: Any = None

        @hookimpl
        def schedule(self, view: Any) -> Generator[Any, bool, None]:
            entry = view.queue[0]
            if self.kept is None:
                self.kept = view.plan().now(entry).place
                yield Wake(view.now + 5)
            else:
                yield Start(entry, where=self.kept)

    with pytest.raises(PluginError, match="an earlier pass"):
        simulated(FLAT, [(1, 0, 9, "-n2")], Keeps)


def test_a_place_that_a_start_has_made_stale_is_looked_for_again() -> None:
    class Both:
        name = "sched/both"

        @hookimpl
        def schedule(self, view: Any) -> Generator[Any, bool, None]:
            plan = view.plan()
            places = [(entry, plan.now(entry).place) for entry in view.queue]
            for entry, place in places:
                yield Start(entry, where=place)

    jobs = simulated(FLAT, [(1, 0, 9, "-n2"), (2, 0, 9, "-n2")], Both).jobs
    assert sorted(jobs.nodes) == ["n1,n2", "n3,n4"]


@pytest.mark.parametrize("clock", ["ideal", "slurm"])
def test_make_room_asks_slurms_preemption(clock: str) -> None:
    class Rude:
        name = "sched/rude"

        @hookimpl
        def schedule(self, view: Any) -> Generator[Any, bool, None]:
            for entry in view.queue:
                if view.plan().now(entry).place or (yield MakeRoom(entry)):
                    yield Start(entry)

    rows = [(1, 0, 300, "-plow -n2 -t10"), (2, 50, 10, "-phigh -n1 -t1"), (3, 60, 10, "-plow -n2 -t1")]
    result = simulated(TIERED, rows, Rude, clock)
    jobs = result.jobs.set_index("job_id")
    assert jobs.requeues.tolist() == [1, 0, 0]
    assert 50 <= jobs.first_start[2] < 60


def test_limits_hold_for_any_scheduler(tmp_path: Path) -> None:
    from emulator.config.sacctmgr import read_accounts

    book = tmp_path / "book.cmd"
    book.write_text("sacctmgr -i add account a\nsacctmgr -i add user me account=a MaxJobs=1\n")
    conf = FLAT + "AccountingStorageEnforce=limits\nAccountingStorageType=accounting_storage/slurmdbd\n"
    rows = [(1, 0, 100, "-n1"), (2, 1, 100, "-n1"), (3, 2, 100, "-n1")]
    assert starts(conf, rows, accounts=read_accounts(book)) == {1: 0, 2: 100, 3: 200}


@pytest.mark.parametrize("clock", ["ideal", "slurm"])
def test_no_run_is_preempted_for_a_job_that_a_limit_keeps_from_its_nodes(clock: str) -> None:
    conf = TIERED.replace("CR_CPU", "CR_Core").replace("CPUs=1", "CPUs=2 CoresPerSocket=1 ThreadsPerCore=2")
    conf += "AccountingStorageEnforce=limits\nAccountingStorageType=accounting_storage/slurmdbd\n"
    accounts = parse_accounts("add account a\nadd user me account=a MaxTRES=cpu=3\n")
    rows = [(1, 0, 300, "-plow -N1 -n1 -t10"), (2, 50, 10, "-phigh -N2 -n2 -t1")]
    venture = {"PreemptType": "preempt/shadow_load"}
    jobs = simulated(conf, rows, "sched/venture", clock, accounts=accounts, slots=venture).jobs.set_index("job_id")
    assert jobs.requeues.tolist() == [0, 0]
    assert jobs.state[2] == "PENDING"
    assert jobs.reason[2] == "AssocMaxCpuPerJobLimit"


def test_a_scheduler_that_counts_processors_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="sched/two_tier is for machines of processors"):
        simulated(FLAT, [(1, 0, 9, "-n2")], "sched/two_tier")


def test_an_order_of_candidates_is_refused_where_it_is_not_asked_for() -> None:
    with pytest.raises(ConfigurationError, match="select a scheduler that asks"):
        simulate([], parse_slurm_conf(FLAT), slots={"BackfillType": "backfill/sjf"})


def test_a_slurm_conf_selects_a_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "jobs.events").write_text(
        "-dt 0 -e submit_batch_job | -jid 1 -sim-walltime 60 --uid=u -t 2 -n 1 pseudo.job\n"
    )

    def run(scheduler: str, *words: str) -> tuple[int, str, str]:
        (tmp_path / "slurm.conf").write_text(TWO + f"SchedulerType={scheduler}\n")
        files = [str(tmp_path / "jobs.events"), "--slurm-conf", str(tmp_path / "slurm.conf")]
        monkeypatch.setattr(sys, "argv", ["slurm-sim", "run", *files, *words])
        with pytest.raises(SystemExit) as left:
            emulator.cli.main()
        return int(left.value.code or 0), *capsys.readouterr()

    code, said, _ = run("sched/easy", "--clock", "ideal", "--json")
    assert (code, json.loads(said)["slots"]["SchedulerType"]) == (0, "sched/easy")
    assert json.loads(said)["simulation"]["timing"] == "ideal"
    code, _, said = run("sched/eazy")
    assert (code, "sched/eazy" in said) == (2, True)


def test_what_is_said_to_slurms_loops_is_named(caplog: pytest.LogCaptureFixture) -> None:
    conf = TIERED + "SchedulerParameters=bf_window=60,default_queue_depth=5,batch_sched_delay=1\n"
    simulated(conf, [(1, 0, 9, "-n1")])
    (said,) = caplog.messages
    assert said == (
        "sched/easy decides instead of Slurm's loops; without effect: bf_window; default_queue_depth; PreemptType, "
        "unless it yields MakeRoom"
    )
    caplog.clear()
    simulated(FLAT, [(1, 0, 9, "-n1")])
    assert not caplog.messages
