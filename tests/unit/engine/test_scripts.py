"""Prologs, epilogs and CompleteWait: times between jobs."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from emulator.api import simulate
from emulator.config.operation import NodeEvent, Operation
from emulator.config.slurm import parse_slurm_conf
from emulator.result import Result
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch

CONF = """
ClusterName=small
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=10
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-2] CPUs=4
PartitionName=lo Nodes=ALL Default=YES MaxTime=INFINITE
"""


def run(words: list[str], conf: str = CONF, work: float = 100.0, clock: str = "ideal", **operation: Any) -> Result:
    """Jobs 1, 2, ... that are submitted a second after each other."""
    requests = [
        JobRequest(number, number - 1.0, work, parse_sbatch(line.split())) for number, line in enumerate(words, 1)
    ]
    return simulate(requests, parse_slurm_conf(conf), clock=clock, operation=Operation(**operation))


def times(result: Result, name: str) -> list[float]:
    return [float(each) for each in result.records.jobs[name]]


def test_a_prolog_counts_for_the_limit_and_that_of_the_controller_does_not() -> None:
    assert times(run(["-n8 -t10"], prolog=7), "end") == [107]
    assert times(run(["-n8 -t10"], prolog_slurmctld=7, prolog=3), "end") == [110]
    assert times(run(["-n8 -t1"], prolog=7), "end") == [60]
    assert times(run(["-n8 -t1"], prolog_slurmctld=7), "end") == [67]


def test_nodes_are_free_when_the_epilog_is_over_and_nothing_starts_beside_it() -> None:
    result = run(["-n2 -wn1 -t10", "-n1 -wn1 -t1", "-n2 -wn1 -t10 --begin=now+105"], epilog=20, work=100)
    assert times(result, "end")[:2] == [100, 61]
    # CPUs are free all the time; from 61 to 81 and from 100 to 120 an epilog goes on.
    assert times(result, "start") == [0, 1, 120]


def test_the_nodes_are_others_while_epilogslurmctld_goes_on_but_the_job_is_not_over() -> None:
    words = ["-n4 -wn1 -t10", "-n4 -wn1 -t10", "-n1 -wn2 -t10 -dafterok:1"]
    result = run(words, epilog=5, epilog_slurmctld=30)
    assert times(result, "start") == [0, 105, 130]
    assert result.records.jobs["state"].tolist() == ["COMPLETED"] * 3


def test_a_requeued_job_waits_for_its_epilogs() -> None:
    events = (NodeEvent(50.0, ("n2",), "DOWN", "", ""),)
    result = run(["-n4 -wn1 -t10 --no-requeue", "-n4 -t10"], epilog=5, epilog_slurmctld=30, node_events=events)
    runs = result.records.runs
    assert runs["outcome"].tolist() == ["COMPLETED", "NODE_FAIL", "COMPLETED"]
    assert runs["start"].tolist() == [0, 1, 105]


def test_complete_wait_keeps_all_from_starting() -> None:
    words = ["-n4 -wn1 -t10", "-n4 -wn2 -t10", "-n1 -wn1 -t10", "-n1 -wn2 -t10 --begin=now+104"]
    assert times(run(words, epilog=20), "start") == [0, 1, 120, 121]
    waits = CONF.replace("ClusterName", "CompleteWait=60\nClusterName")
    assert times(run(words, waits, epilog=20), "start") == [0, 1, 121, 121]
    # The second job keeps the third from its node until CompleteWait is over, not until its own epilog is.
    short = CONF.replace("ClusterName", "CompleteWait=3\nClusterName")
    assert times(run(words, short, epilog=20), "start") == [0, 1, 120, 121]


def test_reduce_completing_frag_leaves_other_partitions_alone() -> None:
    conf = CONF.replace("Nodes=ALL", "Nodes=n1") + "PartitionName=other Nodes=n2\n"
    conf = conf.replace("ClusterName", "CompleteWait=60\nClusterName")
    words = ["-n4 -t10", "-n1 -pother -t10 --begin=now+104"]
    assert times(run(words, conf, epilog=20), "start") == [0, 120]
    apart = conf.replace("bf_interval=10", "bf_interval=10,reduce_completing_frag")
    assert times(run(words, apart, epilog=20), "start") == [0, 105]
    together = apart.replace("Nodes=n2", "Nodes=n[1-2]")
    assert times(run(words, together, epilog=20), "start") == [0, 120]


@pytest.mark.slow
@pytest.mark.compiled
def test_compiled_code_goes_by_them_too() -> None:
    words = [f"-n{1 + number % 7} -t{1 + number % 4}" for number in range(40)]
    conf = parse_slurm_conf(CONF.replace("ClusterName", "CompleteWait=7\nClusterName"))
    requests = [
        JobRequest(number, 5.0 * number, 30.0 + 7 * (number % 9), parse_sbatch(line.split()))
        for number, line in enumerate(words, 1)
    ]
    operation = Operation(prolog=3, epilog=12, epilog_slurmctld=20, mtbf=2000, mttr=100)
    found = [simulate(requests, conf, operation=operation, compiled=each).records.runs for each in (True, False)]
    assert all(found[0][column].tolist() == found[1][column].tolist() for column in found[0])


def test_a_script_of_which_nothing_is_said_is_named(caplog: pytest.LogCaptureFixture) -> None:
    conf = CONF.replace("ClusterName", "Prolog=/etc/prolog\nEpilog=/etc/epilog\nClusterName")
    with caplog.at_level(logging.WARNING):
        run(["-n1 -t5"], conf, epilog=3)
    told = [record.getMessage() for record in caplog.records if "--operation" in record.getMessage()]
    assert told == [
        "slurm.conf:2: Prolog is not run, and takes no time; --operation prolog=SECONDS says how long it takes"
    ]
