"""``scontrol update`` of nodes and partitions: what jobs find afterwards, and what is refused."""

from __future__ import annotations

from functools import partial

import pytest

from emulator.config.sacctmgr import parse_accounts
from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.operator.scontrol import scontrol
from emulator.state.job import Job
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch

CONF = """
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=10
NodeName=n[1-2] CPUs=2 Weight=1
NodeName=n[3-4] CPUs=2 Weight=5 Features=new
PartitionName=p Nodes=n[1-2] Default=YES MaxTime=60
PartitionName=q Nodes=n[3-4] MaxTime=60
"""
TIMES = (0.0, 20.0, 40.0, 60.0)


def played(*jobs: str, commands: tuple[tuple[float, str], ...] = (), conf: str = CONF, form: bool = False) -> list[Job]:
    """Jobs that are submitted every 20 s, and work for 200 s; compiled or as plain Python."""
    requests = [
        JobRequest(number, at, 200.0, parse_sbatch(words.split()), "ada")
        for number, (at, words) in enumerate(zip(TIMES, jobs, strict=False), 1)
    ]
    actions = [(at, partial(scontrol, command)) for at, command in commands]
    controller = Controller(parse_slurm_conf(conf), requests, actions, compiled=form)
    controller.run(1000)
    assert not controller.refused
    return [controller.cluster.jobs[number] for number in range(1, len(jobs) + 1)]


def where(job: Job) -> list[int]:
    assert job.run is None
    return list(job.runs[0].allocation.nodes)


@pytest.mark.parametrize("form", [False, True])
def test_jobs_that_wait_find_the_nodes_that_their_partition_got(form: bool) -> None:
    command = (30.0, "scontrol update PartitionName=p Nodes=n[1-3]")
    _, waits, larger = played("-n4 -t5", "-n2 -t5", "-N3 -n3 -t5", commands=(command,), form=form)
    assert waits.runs[0].start == pytest.approx(32, abs=3)
    assert where(waits) == [2]
    assert where(larger) == [0, 1, 2]


@pytest.mark.parametrize("form", [False, True])
def test_nodes_are_taken_by_their_new_weights(form: bool) -> None:
    command = (10.0, "scontrol update NodeName=n1 Weight=9")
    first, second = played("-n1 -t5", "-n1 -t5", commands=(command,), form=form)
    assert (where(first), where(second)) == ([0], [1])


def test_a_feature_that_a_node_got_can_be_asked_for() -> None:
    command = (10.0, "scontrol update NodeName=n1 AvailableFeatures=fast,old")
    _, job = played("-n1 -t5", "-n1 -C fast -t5", commands=(command,))
    assert where(job) == [0]


@pytest.mark.parametrize("form", [False, True])
def test_a_job_that_its_partition_can_never_hold_any_more_is_held(form: bool) -> None:
    """As recorded on 26.05: the CPUs that it asks for are more than one node has."""
    command = (30.0, "scontrol update PartitionName=p MaxNodes=1")
    _, job = played("-n4 -t5", "-n4 -t5", commands=(command,), form=form)
    assert (job.runs, job.reason, job.priority) == ([], "BadConstraints", 0)


def test_only_one_partition_is_the_default() -> None:
    _, job = played("-n1 -t5", "-n1 -t5", commands=((10.0, "scontrol update PartitionName=q Default=YES"),))
    assert job.runs[0].partition == "q"


def test_bounds_and_tiers_hold_for_jobs_that_wait() -> None:
    job, *_ = played("-n1 -t90", commands=((30.0, "scontrol update PartitionName=p MaxTime=2:00:00"),))
    assert job.runs[0].start == pytest.approx(32, abs=3)
    late = ((30.0, "scontrol update PartitionName=p MinNodes=2"),)
    _, job = played("-n4 -t5", "-n2 -t5", commands=late)
    assert (job.runs, job.reason) == ([], "PartitionNodeLimit")


def test_accounts_that_a_partition_takes_no_longer_wait() -> None:
    accounts = parse_accounts("add cluster c\nadd account a\nadd account b\nadd user ada account=a\n")
    requests = [
        JobRequest(number, at, 50.0, parse_sbatch(["-n4", "-t5"]), "ada") for number, at in ((1, 0.0), (2, 9.0))
    ]
    words = [(20.0, "PartitionName=p AllowAccounts=b"), (200.0, "PartitionName=p AllowAccounts=ALL")]
    actions = [(at, partial(scontrol, f"scontrol update {each}")) for at, each in words]
    controller = Controller(parse_slurm_conf(CONF), requests, actions, accounts=accounts)
    controller.run(190)
    waits = controller.cluster.jobs[2]
    assert waits.reason == "PartitionConfig"
    controller.run(400)
    assert waits.runs[0].start == pytest.approx(202, abs=3)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("PartitionName=p Nodes=n9", "there is no node or node set n9"),
        ("PartitionName=p OverSubscribe=YES", "the emulator can update NO and EXCLUSIVE"),
        ("PartitionName=p PreemptMode=SUSPEND", "the emulator can update CANCEL, OFF, REQUEUE"),
        ("PartitionName=p Hidden=YES", "of a partition the emulator can update AllowAccounts"),
        ("PartitionName=p MinNodes=few", "MinNodes"),
        ("PartitionName=p Alternate=x", "there is no partition 'x'"),
        ("PartitionName=x State=UP", "there is no partition 'x'"),
        ("PartitionName=r Nodes=n1", "has a MaxCPUsPerNode"),
        ("NodeName=n1 Gres=gpu:2", "of a node the emulator can update State, Weight and AvailableFeatures, not 'gres'"),
        ("NodeName=n1 Reason=why", "not 'nothing'"),
        ("NodeName=n1 Weight=-1", "Weight"),
        ("NodeName=n1 State=DOWN Weight=heavy", "Weight"),
        ("NodeName=n1 Weight=3 State=TIRED", "State=TIRED"),
        ("NodeName=n1 ActiveFeatures=old", "all features that are available are active"),
    ],
)
def test_what_cannot_be_changed_is_named(command: str, words: str) -> None:
    conf = parse_slurm_conf(CONF + "PartitionName=r Nodes=n[1-2] MaxCPUsPerNode=1\n")
    controller = Controller(conf, [], [(1.0, partial(scontrol, f"scontrol update {command}"))])
    controller.run(5)
    assert words in controller.refused[0][1]
    assert (controller.cluster.conf, controller.cluster.admin_states) == (conf, {})


def test_a_partition_that_is_left_without_nodes_is_named(caplog: pytest.LogCaptureFixture) -> None:
    controller = Controller(parse_slurm_conf(CONF), [], [(1.0, partial(scontrol, "update PartitionName=q Nodes="))])
    controller.run(5)
    assert not controller.refused
    assert caplog.messages == ["scontrol: partition 'q' has no nodes"]


@pytest.mark.parametrize("form", [False, True])
def test_a_job_that_no_nodes_satisfy_keeps_others_from_none_until_there_are_some(form: bool) -> None:
    commands = [(30.0, "JobId=2 Features=new"), (60.0, "NodeName=n1 Weight=9"), (500.0, "NodeName=n1 Features=new")]
    actions = [(at, partial(scontrol, f"scontrol update {each}")) for at, each in commands]
    words = ["-n4 -t5", "-n1 -t5", "-n4 -t9"]
    requests = [JobRequest(number, number, 200.0, parse_sbatch(each.split())) for number, each in enumerate(words, 1)]
    controller = Controller(parse_slurm_conf(CONF), requests, actions, compiled=form)
    controller.run(450)
    waits, other = controller.cluster.jobs[2], controller.cluster.jobs[3]
    assert (waits.reason, round(other.runs[0].start, -1)) == ("BadConstraints", 200)
    controller.run(1000)
    assert not controller.refused
    assert where(waits) == [0]


def test_partitions_that_would_come_to_share_cores_are_refused() -> None:
    """Which jobs may share is worked out once, of all partitions."""
    forced = CONF.replace("MaxTime=60", "MaxTime=60 OverSubscribe=FORCE:1")
    words = "PartitionName=q Nodes=n[2-4]", "PartitionName=q Nodes=n4"
    actions = [(at, partial(scontrol, f"scontrol update {each}")) for at, each in enumerate(words, 1)]
    controller = Controller(parse_slurm_conf(forced), [], actions)
    controller.run(5)
    assert [text for _, text in controller.refused] == [
        "Nodes: jobs of partition q would share cores with those of another one with FORCE from now on"
    ]
    assert controller.cluster.partitions["q"].nodes.tolist() == [False, False, False, True]


@pytest.mark.parametrize("version", ["22.05", "24.11"])
def test_whole_nodes_go_by_the_weights_that_they_have_now(version: str) -> None:
    """The first job is over when the second one comes, which would have its node but for the new weight."""
    conf = CONF.replace("cons_tres", "linear").replace("SelectTypeParameters=CR_Core", "")
    requests = [
        JobRequest(number, 50.0 * number, 5.0, parse_sbatch(["-N1", "-t5", "-pq", "-C[new*1]"])) for number in (1, 2)
    ]
    actions = [(80.0, partial(scontrol, "scontrol update NodeName=n3 Weight=9"))]
    controller = Controller(parse_slurm_conf(conf), requests, actions, slurm_version=version)
    controller.run(1000)
    assert not controller.refused
    assert [where(controller.cluster.jobs[number]) for number in (1, 2)] == [[2], [3]]


def test_a_job_that_is_changed_so_that_it_fits_is_held_no_more() -> None:
    """It was taken in although it fits nowhere, as a node that it names was down; then it waits for one in use."""
    requests = [JobRequest(1, 0.0, 200.0, parse_sbatch(["-N1", "--exclusive", "-pq", "-wn4", "-t9"]))]
    requests += [JobRequest(each, 20.0, 10.0, parse_sbatch(["-N1", "-n4", "-pq", "-wn3", "-t9"])) for each in (2, 3)]
    commands = [
        (10.0, "NodeName=n3 State=DOWN"),
        (40.0, "JobId=3 NumNodes=2-2 ReqNodeList=n4"),
        (60.0, "NodeName=n3 State=RESUME"),
    ]
    actions = [(at, partial(scontrol, f"scontrol update {each}")) for at, each in commands]
    controller = Controller(parse_slurm_conf(CONF), requests, actions, slurm_version="22.05")
    controller.run(150)
    changed, other = controller.cluster.jobs[3], controller.cluster.jobs[2]
    assert (changed.held_by, other.held_by, controller.refused) == ("", "BadConstraints", [])


def test_a_partition_has_a_quality_of_service_that_there_is(caplog: pytest.LogCaptureFixture) -> None:
    accounts = parse_accounts("add cluster c\nadd account a\nadd user ada account=a\nadd qos some\n")
    words = "PartitionName=p QOS=None", "PartitionName=p QOS=some", "PartitionName=p QOS="
    actions = [(at, partial(scontrol, f"scontrol update {each}")) for at, each in enumerate(words, 1)]
    conf = parse_slurm_conf(CONF + "PartitionName=z Nodes=n1 QOS=other\n")
    controller = Controller(conf, [], actions, accounts=accounts)
    controller.run(10)
    assert [text for _, text in controller.refused] == ["QOS=None: Invalid qos specification"]
    assert caplog.messages == ["partition z: QOS=other: there is none among the accounts: no effect"]


def test_a_job_with_a_new_limit_is_looked_at_as_a_reservation_nears() -> None:
    """Nothing else happens then: job 1 has all nodes."""
    conf = parse_slurm_conf(
        "SelectType=select/cons_tres\nNodeName=n[1-2] CPUs=1\nPartitionName=p Nodes=ALL Default=YES\n"
    )
    words = (
        "create reservation ReservationName=r StartTime=now+600 Duration=60 Nodes=n1 Users=bob Flags=IGNORE_JOBS",
        "update JobId=2 TimeLimit=3",
    )
    actions = [(at, partial(scontrol, f"scontrol {each}")) for at, each in enumerate(words, 5)]
    requests = [
        JobRequest(number, number, 5000.0, parse_sbatch(["-N2", f"-t{limit}"]), "ada")
        for number, limit in ((1, 90), (2, 5))
    ]
    controller = Controller(conf, requests, actions, slurm_version="22.05")
    controller.run(400)
    assert controller.cluster.jobs[2].reason == "Resources"
    controller.run(550)
    assert "ReqNodeNotAvail" in controller.cluster.jobs[2].reason


@pytest.mark.parametrize("form", [False, True])
@pytest.mark.parametrize(
    ("words", "reason"),
    [("-n4", "Resources"), ("-n1 -x n2", "BadConstraints")],
    ids=["larger than its nodes", "none of its nodes"],
)
def test_a_job_that_its_reservation_can_never_hold_waits_for_ever(words: str, reason: str, form: bool) -> None:
    """As recorded on 24.11 and 26.05, also of several jobs (larger_than_reservation_24)."""
    made = (10.0, "scontrol create reservation=r StartTime=now+60 Duration=30 Nodes=n2 Users=ada")
    _, job = played("-n1 -t5", f"{words} -t5 --reservation=r", commands=(made,), form=form)
    assert (job.runs, job.reason, job.priority > 0) == ([], reason, True)
