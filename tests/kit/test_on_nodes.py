"""cluster(), play() and simulate_jobs() with nodes, partitions, GRES and QOS, under either clock."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from emulator.testing import call, play, simulate_jobs
from slurm_sim_plugins import MakeRoom, PluginError, Preempt, Start, hookimpl
from slurm_sim_plugins.errors import SlurmSimError
from slurm_sim_plugins.execution.two_tier import TwoTier
from slurm_sim_plugins.nodes import Allocation
from slurm_sim_plugins.preempt.shadow_load import ShadowLoad
from slurm_sim_plugins.priority.multifactor import Multifactor
from slurm_sim_plugins.sched.backfill import Backfill
from slurm_sim_plugins.sched.easy import Easy
from slurm_sim_plugins.select.cons_tres import ConsTres
from slurm_sim_plugins.submission import Reject
from slurm_sim_plugins.testing import cluster, draw, job

CONF = """ClusterName=site
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
GresTypes=gpu
NodeName=c[1-2] CPUs=4
NodeName=g1 CPUs=4 Gres=gpu:2
PartitionName=batch Nodes=c[1-2] Default=YES
PartitionName=gpu Nodes=g1 PriorityTier=5
"""
BOOKS = "add account phys GrpJobs=1\nadd user ann account=phys\nadd user bob account=phys\n"
SITE = cluster(CONF)
CLOCKS = pytest.mark.parametrize("clock", ["ideal", "slurm"])


def scheduler(schedule: Callable[..., Any]) -> type:
    return type("Mine", (), {"name": "sched/mine", "schedule": hookimpl(lambda self, view: schedule(view))})


@CLOCKS
def test_a_pass_on_a_sites_cluster(clock: str) -> None:
    here = SITE.running(job(8, limit=120), since=-20).waiting(job(8), job(1, partition="gpu", gres="gpu:1"), job(4))
    played = play(Easy, here, clock=clock)
    assert (played.started, played.reserved) == ([3], {2: 100})
    assert played.after.nodes == {1: "c[1-2]", 3: "g1"}
    assert played.after.reasons == {2: "Resources", 4: "Resources"}
    assert [each.id for each in played.after.view.queue] == [2, 4]
    assert repr(here).startswith("cluster('ClusterName=site")


def test_a_file_and_its_accounts(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(
        CONF + "AccountingStorageEnforce=limits\nAccountingStorageType=accounting_storage/slurmdbd\n"
    )
    (tmp_path / "books.cfg").write_text(BOOKS)
    for accounts in (BOOKS, tmp_path / "books.cfg", str(tmp_path / "books.cfg")):
        here = cluster(str(tmp_path / "slurm.conf"), accounts=accounts).waiting(job(user="ann"), job(user="bob"), job())
        with pytest.raises(SlurmSimError, match=r"job\(1\) is refused: Invalid account"):
            play(Easy, here)
        played = play(Easy, here.__class__(**{**vars(here), "queued": here.queued[:2]}))
        assert (played.started, played.after.reasons) == ([1], {2: "AssocGrpJobsLimit"}), accounts


def test_words_for_a_small_one() -> None:
    parts = {"short": "Nodes=ALL MaxTime=60", "gpu": "Nodes=n[3-4] PriorityTier=2"}
    here = cluster(nodes=4, cpus=2, gpus=1, partitions=parts, qos={"normal": "MaxJobsPerUser=2", "urgent": ""})
    jobs = [job(2, limit=7200), *[job(1)] * 3, job(1, qos="urgent"), job(2, nodes=2, partition="gpu", gres="gpu:1")]
    played = play(Backfill, here.waiting(*jobs))
    assert played.started == [6, 2, 5]
    assert played.after.reasons == {1: "PartitionTimeLimit", **dict.fromkeys((3, 4), "QOSMaxJobsPerUserLimit")}


def test_priorities_and_times_are_as_they_are_said() -> None:
    here = cluster(nodes=1, cpus=2).running(job(2, limit=600, planned=90), since=-10, until=50)
    played = play(Easy, here.waiting(job(2, limit=60), job(2, priority=3, limit=60)))
    assert played.reserved == {3: 50}
    here = cluster(nodes=1, cpus=2, now=100).running(job(1, limit=600, planned=90), since=40, until=110)
    played = play(Easy, here.waiting(job(2), job(1, planned=5, limit=60), job(1, planned=15, limit=60)))
    assert (played.reserved, played.started) == ({2: 110}, [3])
    assert [run.planned_end for run in played.after.view.running] == [105, 110]


@CLOCKS
def test_room_is_there_at_once_or_later(clock: str) -> None:
    def rude(view: Any) -> Generator[Any, bool, None]:
        for entry in view.queue:
            if (yield MakeRoom(entry)):
                yield Start(entry)

    here = cluster(nodes=1, cpus=2).running(job(2, priority=1), since=-10).waiting(job(2, priority=9))
    played = play(scheduler(rude), here, preempt=ShadowLoad, clock=clock)
    assert played.preempted == [1]
    assert (played.started, played.refused) == (([2], []) if clock == "ideal" else ([], [2]))


def test_the_next_pass_is_played_with_the_same_instance() -> None:
    easy = Easy()
    played = play(easy, SITE.running(job(8), since=-60).waiting(job(8)))
    played.after.later(40)
    played.after.end(1)
    played.after.submit(job(2, partition="gpu"))
    assert (played.after.state(1), played.after.now) == ("COMPLETED", 40)
    again = play(easy, played.after)
    assert again.started == [3, 2]
    assert "c[1-2]" in draw(again)
    for wrong in (Easy, Easy()):
        with pytest.raises(SlurmSimError, match=r"play\(easy, played.after\)"):
            play(wrong, played.after)
    with pytest.raises(SlurmSimError, match="does not run, it is COMPLETED"):
        played.after.end(1)
    with pytest.raises(SlurmSimError, match="there is no job 9 here; there are 1, 2, 3"):
        played.after.end(9)
    with pytest.raises(SlurmSimError, match="time goes one way"):
        played.after.later(-1)


def test_the_line_at_fault_is_that_of_the_plugin() -> None:
    def wrong(view: Any) -> Generator[Any, bool, None]:
        yield Preempt(view.queue[0].job)

    with pytest.raises(PluginError, match=r"sched/mine, hook schedule, job 1, time 7 s, .*test_on_nodes.py:\d+"):
        play(scheduler(wrong), cluster(nodes=1, now=7).waiting(job()))


def test_why_who_waits_is_drawn() -> None:
    drawn = draw(play(Easy, SITE.running(job(8, limit=120)).waiting(job(8))))
    assert "c[1-2]  -----" in drawn
    assert drawn.endswith(">  waits: Resources, reserved at 120")


@CLOCKS
def test_a_simulation(clock: str) -> None:
    jobs = [job(8, run=100, limit=120), job(8, submit=1, run=10, limit=60), job(1, submit=2, partition="gpu", run=5)]
    done = simulate_jobs(jobs, SITE, scheduler="sched/easy", clock=clock)
    assert sorted(done.starts, key=done.starts.__getitem__) == [1, 3, 2]
    assert (done.starts == {1: 0, 2: 100, 3: 2}) == (clock == "ideal")
    assert [line["job"] for line in done.events if line["event"] == "end"] == [3, 1, 2]
    assert "c[1-2]" in repr(done)
    assert simulate_jobs(jobs[:2], cluster(8)).starts == {1: 0, 2: 100}


BOTH = cluster(
    nodes=4,
    cpus=2,
    now=100,
    partitions={"low": "Nodes=ALL MaxTime=60", "high": "Nodes=n[1-2] PriorityTier=9 PreemptMode=OFF"},
    qos={"normal": "Priority=5", "urgent": "Priority=100"},
)


WAITS = BOTH.waiting(job())


def asked(kind: str, hook: str, answer: Callable[[Any], Any]) -> type:
    return type("Mine", (), {"name": f"{kind}/mine", hook: hookimpl(lambda self, view: answer(view))})


def test_a_priority_plugin_sees_partition_and_qos() -> None:
    def priorities(view: Any) -> list[float]:
        resources = view.tres(view.to_set[0].requests[0].partition)
        assert [view.now, view.whole(100.4), resources["NODE"] in (2, 4)] == [100, 100, True]
        return [each.requests[0].partition.tier + each.qos.priority for each in view.to_set]

    plugin = asked("priority", "priority_set", priorities)
    here = BOTH.waiting(job(2), job(2, partition="high", qos="urgent"))
    assert call(plugin, "priority_set", here) == [109, 6]
    assert call(plugin, "priority_set", here.arriving(job(3, qos="urgent"))) == [101]
    assert call(plugin, "priority_set", here, jobs=[1, job(qos="urgent")]) == [6, 101]
    with pytest.raises(PluginError, match=r"sched|priority/mine, hook priority_set.*answered \[\] for 2 jobs"):
        call(asked("priority", "priority_set", lambda view: []), "priority_set", here)
    assert call(Multifactor(weight_partition=10), "priority_set", here)[0].number >= 0


def test_a_preempt_plugin_sees_whose_nodes_are_of_use() -> None:
    here = BOTH.running(job(4, nodelist="n[1-2]"), job(4, nodelist="n[3-4]", no_requeue=True), since=50)
    here = here.waiting(job(2, partition="high"), job(8))
    near = asked("preempt", "preempt_candidates", lambda view: [run for run in view.running if view.shares_nodes(run)])
    assert [run.job.id for run in call(near, "preempt_candidates", here)] == [1]
    everyone = asked("preempt", "preempt_candidates", lambda view: [*view.running])
    assert len(call(everyone, "preempt_candidates", here)) == 2
    assert [run.job.id for run in call(ShadowLoad, "preempt_candidates", here)] == [1]
    assert call(ShadowLoad, "preempt_candidates", here, job=4) == []
    mode = asked("preempt", "preempt_mode", lambda view: "CANCEL" if view.victim.runs_in.name == "low" else "KILL")
    assert call(mode, "preempt_mode", here, job=2) == "CANCEL"


def test_other_hooks_on_nodes() -> None:
    here = BOTH.running(job(4, run=30), since=50).waiting(job(4, user="ann"), job(2), job(4, partition="high"))
    half = asked("walltime", "walltime_submit", lambda view: view.job.time_limit / 2)
    assert call(half, "walltime_submit", here, job=job(limit=600)) == 300
    third = asked("walltime", "walltime_pending", lambda view: [each.time_limit / 3 for each in view.waiting])
    assert call(third, "walltime_pending", here) == [1200, 1200, 1200]
    learnt: list[tuple[int, float]] = []

    class Learns:
        name = "walltime/learns"

        @hookimpl
        def walltime_learn(self, job: Any, ran: float) -> None:
            learnt.append((job.id, ran))

    call(Learns, "walltime_learn", here, job=1)
    assert learnt == [(1, 30)]
    assert (
        call(asked("site_factor", "site_factor", lambda view: [7] * len(view.to_set)), "site_factor", here) == [7] * 3
    )
    last = asked("backfill", "backfill_candidates", lambda view: view.to_try[::-1])
    assert [each.id for each in call(last, "backfill_candidates", here)] == [3, 2]
    told: list[Any] = []
    heard = type(
        "O", (), {"name": "observer/o", "job_started": hookimpl(lambda self, run: told.append(run.processors))}
    )
    call(heard, "job_started", here)
    assert told == [4]


def test_a_submission_to_a_cluster() -> None:
    def elsewhere(view: Any) -> Any:
        names = [partition.name for partition in view.partitions]
        return (
            view.submission._replace(partitions=tuple(names)) if view.submission.gpus == 0 else Reject("no GPUs here")
        )

    plugin = asked("job_submit", "job_submit", elsewhere)
    here = BOTH.waiting(job(2))
    assert call(plugin, "job_submit", here).partitions == ("low", "high")
    assert call(plugin, "job_submit", here, job=job(3, qos="urgent")).qos == "urgent"
    assert call(plugin, "job_submit", cluster(nodes=2, gpus=1), job=job(gres="gpu:1")) == Reject("no GPUs here")


def test_a_choice_of_nodes() -> None:
    here = BOTH.running(job(2, nodelist="n1")).waiting(job(4, partition="high"), job(2))
    found = call(ConsTres, "select_nodes", here, job=3)
    assert found.nodes == (1,)
    assert call(ConsTres, "select_nodes", here) is None
    taken = asked("select", "select_nodes", lambda view: Allocation((0,), (2,), (0,)))
    with pytest.raises(PluginError, match="node n1 has less than it gives out"):
        call(taken, "select_nodes", here, job=3)


def test_a_call_needs_a_job_and_a_hook_that_is_called_there() -> None:
    with pytest.raises(SlurmSimError, match="progress_rate is not called on a cluster with nodes"):
        call(TwoTier, "progress_rate", BOTH)
    with pytest.raises(SlurmSimError, match="there is no job in this scene"):
        call(asked("walltime", "walltime_submit", lambda view: 1), "walltime_submit", BOTH)
    with pytest.raises(SlurmSimError, match="job 1 waits; this hook is for one that runs"):
        call(type("O", (), {"name": "observer/o", "job_started": hookimpl(lambda self: None)}), "job_started", WAITS)
    with pytest.raises(SlurmSimError, match="there is no job 9 here; there are 1"):
        call(asked("priority", "priority_set", lambda view: None), "priority_set", WAITS, jobs=[9])


def test_jobs_that_never_end_are_told() -> None:
    with pytest.raises(AssertionError, match="have not ended"):
        simulate_jobs([job(4)], cluster(CONF.replace("c[1-2] CPUs=4", "c[1-2] CPUs=4 State=DOWN")))


NODES = cluster(nodes=2, cpus=4)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: NODES.waiting(job(partion="x")),
            r"job\(1, partion='x'\): .*did you mean 'partition'.*options of sbatch",
        ),
        (
            lambda: NODES.waiting(job(partition="x")),
            r"job\(1, partition='x'\) is refused: invalid partition specified: x",
        ),
        (lambda: NODES.waiting(job(gres="gpu:1")), "is refused: Invalid generic resource"),
        (lambda: NODES.waiting(job(limit=100)), "whole minutes; say limit=120"),
        (lambda: NODES.waiting(job(submit=5)), "submitted at 5, later than it waits or runs"),
        (
            lambda: NODES.running(job(8), job(1)),
            r"job\(1\) cannot run in partition p beside what runs \(job 1 on n\[1-2\]",
        ),
        (lambda: NODES.running(job(8), since=-60, until=-65), "until=-65 is after its start, and within its limit"),
        (lambda: NODES.running(job(8), where=[1]), r"with nodes say job\(nodelist="),
        (lambda: NODES.scene(), "is set up by the emulator: call, play and simulate_jobs"),
        (lambda: cluster("slurm.cnf"), "slurm.cnf: cannot be read"),
        (lambda: cluster(CONF + "PartitionNam=x\n"), "slurm.conf:9: .*PartitionName"),
        (lambda: cluster(gpus=2), "gpus are of nodes; say nodes=4"),
        (lambda: cluster(CONF, cpus=3), "come from the slurm.conf"),
        (lambda: cluster(nodes=2, qos={"normal": "MaxJobPerUser=2"}), "did you mean 'MaxJobsPerUser'"),
        (lambda: cluster(nodes=2, partitions={"a": "Nodse=n1"}), "did you mean 'Nodes'"),
        (lambda: cluster(nodes=2, tiers=("fg", "bg")), "of counted processors"),
        (lambda: cluster(nodes=2, qos={}, accounts=BOOKS), "say one"),
    ],
)
def test_what_cannot_be_is_told(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(SlurmSimError, match=words):
        play(Easy, make())


def test_what_goes_with_one_kind_of_machine_only() -> None:
    with pytest.raises(SlurmSimError, match="counted there is the ideal clock; give nodes"):
        play(Easy, cluster(4), clock="slurm")
    with pytest.raises(SlurmSimError, match="begins on the empty cluster"):
        simulate_jobs([job()], NODES.waiting(job()))
    with pytest.raises(SlurmSimError, match="clock is one of"):
        play(Easy, NODES, clock="fast")
