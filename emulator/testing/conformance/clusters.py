"""A small cluster with nodes and partitions, on which a plugin is tried under both clocks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from emulator.testing.capacity import check_nodes
from emulator.testing.conformance.report import DoesNotApply, Nonconformity
from emulator.testing.conformance.subject import Subject
from slurm_sim_plugins.errors import ConfigurationError

if TYPE_CHECKING:
    from emulator.result import Result

CONF = """
ClusterName=checked
PriorityType=priority/basic
PreemptMode=REQUEUE
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
GresTypes=gpu
NodeName=a[1-3] CPUs=4 RealMemory=4000
NodeName=b[1-2] CPUs=8 RealMemory=8000 Gres=gpu:2
PartitionName=low Nodes=ALL Default=YES DefMemPerCPU=500 PriorityTier=1
PartitionName=high Nodes=a[1-3] DefMemPerCPU=500 PriorityTier=5
"""
JOBS = (
    *("-n4 -t10", "-n12 -t5", "-n1 -t20", "-N2 -n2 -t3", "-n2 -t4 --gres=gpu:1", "-n3 -phigh -t6", "-n4 -phigh -t2"),
    *("-n6 -t8", "-n1 -plow,high -t2", "-N1 --exclusive -t5", "-n20 -t3", "-n2 -t1 --gres=gpu:2"),
)
"""One after the other, again and again."""
COUNT = 48
EVERY = 25.0
"""Seconds between two submissions."""
COMPANIONS = {"backfill": {"SchedulerType": "sched/easy"}, "preempt": {"SchedulerType": "sched/backfill"}}


def on_clusters(subject: Subject) -> None:
    """It runs on a cluster with nodes and partitions, under both clocks, and gives out no node's CPUs twice."""
    from emulator.config.slurm import parse_slurm_conf

    machines = getattr(subject.factory, "machines", ("nodes",))
    if "nodes" not in machines:
        raise DoesNotApply(f"its class says that it is for machines of {' or '.join(machines)}")
    for clock in ("ideal", "slurm"):
        first, second = (_simulated(subject, clock) for _ in range(2))
        if not first.runs.equals(second.runs):
            raise Nonconformity(
                f"with clock={clock}: two runs of the same submissions differ; keep no state beyond a run"
            )
        try:
            check_nodes(first, {node.name: node.cpus for node in parse_slurm_conf(CONF).nodes})
        except AssertionError as error:
            raise Nonconformity(f"with clock={clock}: {error}") from None


def _simulated(subject: Subject, clock: str) -> Result:
    from emulator.api import simulate
    from emulator.config.slurm import parse_slurm_conf
    from emulator.workload.request import JobRequest
    from emulator.workload.sbatch import parse_sbatch

    info = subject.info
    slots = dict(COMPANIONS.get(info.type, {}))
    if info.slot is not None:
        slots[info.slot] = info.name
    requests = [
        JobRequest(number + 1, number * EVERY, 20.0 + 37.0 * (number % 7), parse_sbatch(words.split()), "me")
        for number, words in zip(range(COUNT), _again(JOBS), strict=False)
    ]
    options = {info.name: subject.options} if subject.options else {}
    catalogue = subject.catalogue()
    how: dict[str, Any] = {"clock": clock, "slots": slots, "plugin_options": options, "catalogue": catalogue}
    try:
        with TemporaryDirectory() as folder:
            # Where a run was is in the records of a folder.
            return simulate(requests, parse_slurm_conf(CONF), out=Path(folder) / "run", **how)
    except ConfigurationError as why:
        raise DoesNotApply(str(why)) from why


def _again(words: tuple[str, ...]) -> Iterable[str]:
    while True:
        yield from words
