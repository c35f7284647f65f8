"""Compiled node selection and backfill, beside plain Python: job by job, node by node."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.config.slurm import parse_slurm_conf
from emulator.slurmctld.cluster import Cluster
from emulator.slurmctld.controller import Controller
from emulator.slurmctld.job_mgr import make_job
from emulator.slurmctld.node_select import select_nodes
from emulator.slurmctld.order import Order
from emulator.slurmctld.request import JobRequest, RejectedError
from emulator.slurmctld.scontrol import scontrol
from emulator.workload.sbatch import parse_sbatch

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("numba") is None, reason="numba is not installed: the extra [compiled]"
)

CONF = """
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=20,bf_resolution={resolution},bf_max_job_test=200,default_queue_depth={depth}
PriorityType=priority/{priority}
PriorityWeightJobSize=1000
PreemptType=preempt/{preempt}
PreemptMode=REQUEUE
GresTypes=gpu
SelectType=select/cons_tres
SelectTypeParameters={select}
NodeName=a[1-3] CPUs=4 RealMemory=4000 Weight=2 Feature=x
NodeName=b[1-4] CPUs=8 Sockets=1 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=8000 Weight=1 Feature=x,y
NodeName=c[1-2] CPUs=6 RealMemory=6000 Weight=2 Gres=gpu:p:2,gpu:v:1
PartitionName=all Nodes=ALL Default=YES DefMemPerCPU=500 PriorityTier=1 DefCpuPerGPU=2
PartitionName=some Nodes=a[1-3],b[1-2] DefMemPerCPU=900 PriorityTier={tier} PriorityJobFactor=3 {bound}
"""
WORDS = (
    *("-n1", "-n2", "-n5", "-n9", "-N1 -n4", "-N2 -n6", "-N2", "-N1-3 -n5", "-n3 -c3", "-N3 -n3 --ntasks-per-node=1"),
    *("-n2 --mem=3000", "-n3 --mem-per-cpu=1500", "--exclusive -N2", "-n4 --gres=gpu:1", "-N1 --gres=gpu:p:2"),
    *("-n4 -Cy", "-n2 -wb2", "-n4 -xb[1-3]", "-N1 --mem=0", "-n6 -psome", "-n2 -pall,some", "--gpus=3", "-n2 -Lfoo:1"),
)


def configuration(draws: np.random.Generator) -> str:
    return CONF.format(
        resolution=draws.choice([1, 60]),
        depth=draws.choice([3, 100]),
        priority=draws.choice(["basic", "multifactor"]),
        preempt=draws.choice(["none", "partition_prio"]),
        select=draws.choice(["CR_Core", "CR_Core_Memory", "CR_CPU_Memory", "CR_Socket_Memory"]),
        bound=draws.choice(["", "MaxCPUsPerNode=3", "MaxMemPerCPU=700"]),
        tier=draws.choice([1, 5]),
    ) + ("Licenses=foo:1\n" if draws.random() < 0.9 else "Licenses=foo:2\n")


def submission(number: int, draws: np.random.Generator) -> JobRequest:
    words = [*str(draws.choice(WORDS)).split(), f"-t{draws.choice([1, 3, 8, 20])}"]
    if draws.random() < 0.1:
        words.append("--time-min=2")
    if draws.random() < 0.05:
        words.append("--reservation=q")
    return JobRequest(number, float(draws.integers(0, 900)), float(draws.integers(5, 900)), parse_sbatch(words), "me")


COMMANDS = (
    *("scontrol update NodeName=b1 State=DRAIN", "scontrol update NodeName=b1 State=RESUME", "scontrol requeue 3"),
    *("scontrol suspend 5", "scontrol resume 5", "scontrol update JobId=4 TimeLimit=2", "scontrol hold 7"),
    *("scontrol release 7", "scontrol update JobId=9 Priority=1", "scontrol update PartitionName=some PriorityTier=2"),
    "scontrol create reservation ReservationName=r StartTime=now+60 Duration=3 Nodes=b2 Users=you Flags=IGNORE_JOBS",
    "scontrol create reservation ReservationName=q StartTime=now+200 Duration=15 Nodes=a[1-3],b1 Users=me",
    "scontrol create reservation ReservationName=q StartTime=now Duration=9 NodeCnt=2 Users=me Flags=REPLACE",
    *("scontrol update reservation ReservationName=r EndTime=now+600", "scontrol delete reservation q"),
)


def prepared(seed: int, compiled: bool, jobs: int = 30) -> Controller:
    draws = np.random.default_rng(seed)
    conf = parse_slurm_conf(configuration(draws))
    requests = [submission(number, draws) for number in range(1, jobs + 1)]
    actions = [
        (float(draws.integers(50, 900)), lambda controller, command=str(command): scontrol(command, controller))
        for command in draws.choice(COMMANDS, size=int(draws.choice([0, 0, 3, 6])))
    ]
    return Controller(conf, requests, actions, compiled=compiled)


def outcome(seed: int, compiled: bool) -> list[tuple[object, ...]]:
    """All that was decided in a run, and all that jobs showed on the way."""
    controller = prepared(seed, compiled)
    seen: dict[tuple[object, ...], None] = {}

    def look() -> None:
        waiting = controller.cluster.waiting.values()
        seen.update({("shows", job.id, job.reason, job.planned_start): None for job in waiting})

    controller.run(until=40_000, observe=look)
    ended = controller.cluster.jobs.values()
    runs = [(job.id, run.start, run.end, run.allocation, run.backfilled) for job in ended for run in job.runs]
    return [*seen, *runs, *((job.id, job.state, job.reason) for job in ended)]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_compiled_code_starts_the_same_jobs_on_the_same_nodes_at_the_same_time(seed: int) -> None:
    assert outcome(seed, compiled=True) == outcome(seed, compiled=False)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_compiled_selection_takes_the_same_nodes(seed: int) -> None:
    draws = np.random.default_rng(seed)
    conf = parse_slurm_conf(configuration(draws))
    controller = Controller(conf, [], compiled=True)
    cluster, compiled = controller.cluster, controller.cluster.compiled
    assert compiled is not None
    take_some(cluster, draws)
    for number in range(1, 20):
        try:
            job = make_job(submission(number, draws), cluster)
        except RejectedError:
            continue
        partition = job.partitions[0]
        if compiled.code(job, partition) is not None:
            plain = select_nodes(job.wants[partition.name], cluster.machine, cluster.free, partition.nodes)
            assert compiled.select(job, partition, partition.nodes) == plain


def take_some(cluster: Cluster, draws: np.random.Generator) -> None:
    free, machine = cluster.free, cluster.machine
    free.units[:] -= draws.integers(0, machine.units + 1)
    free.memory[:] -= draws.integers(0, machine.memory + 1)
    free.jobs[:] = (free.units < machine.units) | (draws.random(len(machine)) < 0.2)
    for counts in free.gres.values():
        counts[:] -= draws.integers(0, counts + 1)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32))
def test_the_queue_stays_in_the_order_of_a_fresh_sort(seed: int) -> None:
    controller = prepared(seed, compiled=True)
    compared = []

    def look() -> None:
        fresh = Order(controller.cluster.waiting)
        fresh.changed()
        assert controller.cluster.order.pairs() == fresh.pairs()
        assert controller.cluster.order.kinds == fresh.kinds
        compared.append(len(fresh.pairs()))

    controller.run(until=40_000, observe=look)
    assert max(compared) > 0
