"""Jobs that may have only so many nodes: whether it is worth the while to leave out small ones is judged in advance."""

from __future__ import annotations

import numpy as np
import pytest

from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins.select import cons_tres
from tests.builders.outcomes import outcome_of

CONF = """\
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PriorityType=priority/basic
DefMemPerCPU=100
GresTypes=gpu
{topology}
NodeName=n[1-{nodes}] Sockets=2 CoresPerSocket=8 RealMemory=3200 Gres=gpu:2
PartitionName=p Nodes=ALL Default=YES
"""
WORDS = (
    "",
    "",
    "",
    "-O",
    "-c2",
    "--mem-per-cpu=300",
    "--gpus-per-node=1",
    "--gpus=3",
    "--ntasks-per-node=4",
    "--mincpus=6",
)


def played(seed: int, compiled: bool) -> list[tuple[object, ...]]:
    """What becomes of jobs of few nodes among nodes with few free CPUs each."""
    draws = np.random.default_rng(seed)
    nodes = int(draws.integers(4, 16))
    topology = draws.choice(["", "TopologyPlugin=topology/tree"])
    conf = parse_slurm_conf(CONF.format(nodes=nodes, topology=topology))
    requests = [
        JobRequest(node, 0.0, 9000.0, parse_sbatch(f"-N1 -n{draws.integers(1, 16)} -wn{node}".split()), "me")
        for node in range(1, nodes + 1)
    ]
    for number in range(nodes + 1, nodes + 20):
        fewest, tasks = int(draws.integers(2, 5)), int(draws.integers(2, 40))
        count = draws.choice([f"-N{fewest}", f"-N1-{fewest}"])
        words = f"{count} -n{max(tasks, fewest)} {draws.choice(WORDS)}".split()
        requests.append(JobRequest(number, 30.0 * number, float(draws.integers(50, 600)), parse_sbatch(words), "me"))
    version = str(draws.choice(["22.05", "24.11", "26.05"]))
    return outcome_of(Controller(conf, requests, slurm_version=version, compiled=compiled), 2500.0)


@pytest.mark.parametrize("seed", range(12))
def test_where_it_is_not_worth_the_while_nothing_would_be_found(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    judged, compiled = played(seed, compiled=False), played(seed, compiled=True)
    monkeypatch.setattr(cons_tres, "_may_suffice", lambda *_: True)
    assert judged == compiled == played(seed, compiled=False)
