"""Which nodes a reservation of a number of nodes gets, as real Slurms 24.11 and 26.05 gave them."""

from __future__ import annotations

from functools import partial

import pytest

from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.operator.scontrol import scontrol
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch

NODES = """
NodeName=a[1-2] CPUs=4 Weight=30
NodeName=b[1-2] CPUs=1 Weight=10
NodeName=c[1-2] CPUs=2 Weight=20
PartitionName=p Nodes=ALL Default=YES
"""


def reserved(conf: str, busy: str, count: int, more: str, version: str) -> str:
    """The nodes of a reservation, beside jobs that have each of some nodes."""
    requests = [
        JobRequest(at, 5.0 * at, 9999.0, parse_sbatch([f"-w{node}"]), "u") for at, node in enumerate(busy.split(), 1)
    ]
    create = f"create reservation ReservationName=r StartTime=now+60 Duration=2 NodeCnt={count} Users=u {more}"
    actions = [(5.0 * len(requests) + 8, partial(scontrol, create))]
    controller = Controller(parse_slurm_conf(conf + NODES), requests, actions=actions, slurm_version=version)
    controller.run(5.0 * len(requests) + 10)
    nodes = controller.cluster.reservations["r"].nodes
    return " ".join(controller.cluster.machine.names[node] for node in nodes.nonzero()[0])


@pytest.mark.parametrize("conf", ["SelectType=select/cons_tres\n", "SelectType=select/linear\n"])
@pytest.mark.parametrize(
    ("busy", "count", "nodes"),
    [("b1", 1, "a1"), ("b1", 2, "a1 a2"), ("b1", 3, "a1 a2 b2"), ("c1", 3, "a1 a2 b1"), ("a1 b1", 2, "a2 b2")],
)
def test_the_first_idle_nodes_are_reserved_with_ignore_jobs(conf: str, busy: str, count: int, nodes: str) -> None:
    """In 26.05, whatever they weigh."""
    assert reserved(conf, busy, count, "Flags=IGNORE_JOBS", "26.05") == nodes


@pytest.mark.parametrize("preempts", ["", "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\n"])
@pytest.mark.parametrize(
    ("busy", "count", "nodes"), [("b1", 1, "b2"), ("b2", 2, "c1 c2"), ("c1", 3, "a1 a2 b1"), ("b1", 3, "b2 c1 c2")]
)
def test_neighbours_that_fit_best_are_reserved_with_select_linear(
    preempts: str, busy: str, count: int, nodes: str
) -> None:
    """Weights do not matter, and the first of them are taken, also where jobs may preempt others."""
    assert reserved("SelectType=select/linear\n" + preempts, busy, count, "", "26.05") == nodes
