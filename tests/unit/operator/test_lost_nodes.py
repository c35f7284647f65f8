"""Jobs that go on without some of their nodes: --no-kill, and NumNodes of a job that runs."""

from __future__ import annotations

import pytest

from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.operator.scontrol import scontrol
from emulator.state.run import State
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch

CONF = """
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-4] Sockets=1 CoresPerSocket=2 ThreadsPerCore=1
PartitionName=p Nodes=ALL Default=YES MaxTime=60
"""
SHARED = " OverSubscribe=FORCE:2"


def run(
    words: list[str],
    commands: list[tuple[float, str]],
    conf: str = CONF,
    until: float = 3_000.0,
    version: str = "26.05",
) -> Controller:
    """Jobs 1, 2, ... that work for 100 s, submitted one second after the other."""
    requests = [
        JobRequest(number, float(number), 100.0, parse_sbatch(line.split()), "ada")
        for number, line in enumerate(words, 1)
    ]
    actions = [(at, lambda controller, text=text: scontrol(text, controller)) for at, text in commands]
    controller = Controller(parse_slurm_conf(conf, "slurm.conf"), requests, actions, slurm_version=version)
    controller.run(until)
    return controller


def free(controller: Controller) -> list[int]:
    return controller.cluster.free.units.tolist()


@pytest.mark.parametrize("conf", [CONF, CONF.rstrip() + SHARED])
def test_a_job_goes_on_without_a_node_that_fails(conf: str) -> None:
    down = [(20.0, "scontrol update NodeName=n2 State=DOWN"), (40.0, "scontrol update NodeName=n2 State=RESUME")]
    found = run(["-N3 -n6 -t5 --no-kill", "-N1 -n2 -t5", "-N2 -n4 -t5"], down, conf)
    first, _, third = (found.cluster.jobs[number] for number in (1, 2, 3))
    assert (first.state, len(first.runs), list(first.runs[0].allocation.nodes)) == (State.COMPLETED, 1, [0, 2])
    assert first.runs[0].end is not None
    assert first.runs[0].end > 100
    assert third.state is State.COMPLETED
    assert free(found) == [2, 2, 2, 2]


def test_a_job_that_says_nothing_or_off_ends() -> None:
    for words in ("-N3 -t5 --no-requeue", "-N3 -t5 --no-requeue --no-kill=off", "-N1 -n2 -t5 --no-requeue -k"):
        found = run([words], [(20.0, "scontrol update NodeName=n[1-3] State=DOWN")])
        assert found.cluster.jobs[1].state is State.NODE_FAIL


@pytest.mark.parametrize(
    ("version", "state", "reason", "end"),
    [("24.11", State.FAILED, "RaisedSignal:9(Killed)", 25), ("26.05", State.TIMEOUT, "TimeLimit", 400)],
)
def test_a_job_without_the_node_of_its_script_has_failed(version: str, state: State, reason: str, end: float) -> None:
    found = run(["-N3 -t5 --no-kill"], [(20.0, "scontrol update NodeName=n1 State=DOWN")], version=version)
    job = found.cluster.jobs[1]
    assert (job.state, job.reason) == (state, reason)
    assert job.runs[0].end is not None
    assert end - 100 < job.runs[0].end < end


@pytest.mark.parametrize("conf", [CONF, CONF.rstrip() + SHARED])
def test_a_job_that_runs_or_is_suspended_gives_up_nodes(conf: str) -> None:
    commands = [
        (20.0, "scontrol update JobId=1 NumNodes=2"),
        (30.0, "scontrol suspend 1"),
        (40.0, "scontrol update JobId=1 NumNodes=1"),
        (50.0, "scontrol resume 1"),
        (60.0, "scontrol update JobId=1 NumNodes=3"),
    ]
    found = run(["-N4 -n8 -t5", "-N2 -n4 -t5 --exclusive"], commands, conf)
    first, second = found.cluster.jobs[1], found.cluster.jobs[2]
    assert list(first.runs[0].allocation.nodes) == [0]
    assert second.runs[0].start < 60
    assert [first.state, second.state] == [State.COMPLETED, State.COMPLETED]
    assert [words for _, words in found.refused] == ["Node count specification invalid for job 1"]
    assert free(found) == [2, 2, 2, 2]


@pytest.mark.parametrize(("words", "number"), [("-N1 -n1 --exclusive -t5", 250), ("-N2 -n2 --exclusive -t5", 250)])
def test_a_job_that_lost_all_of_its_nodes_counts_with_what_it_had(words: str, number: int) -> None:
    """As recorded: the first had 2 of 8 CPUs; the other had 4, but asks for 2, and one of its nodes is left."""
    conf = f"{CONF}PriorityType=priority/multifactor\nPriorityWeightTRES=CPU=1000\n"
    found = run([words], [(20.0, "scontrol update NodeName=n1 State=DOWN")], conf, until=30.0)
    job = found.cluster.jobs[1]
    assert (job.restarts, job.priority) == (1, number)
    found.run(1_000.0)
    assert len(job.runs) == 2
    assert not found.policies._had
