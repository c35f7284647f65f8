"""Nodes that answer the controller's pings have backfill go round."""

from __future__ import annotations

import pytest

from emulator.config.slurm import parse_slurm_conf
from emulator.config.slurm.controller import Timing
from emulator.engine.controller import Controller
from emulator.engine.pings import ANSWERS, Pings
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins.nodes import Allocation

CONF = """SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PriorityType=priority/basic
SchedulerParameters=bf_interval=5
NodeName=n[1-2] CPUs=2
PartitionName=p Nodes=ALL Default=YES
"""


def pinged(pings: Pings, until: int) -> list[int]:
    """Seconds from the first ping on at which any node is pinged."""
    return [at for at in range(0, until, 100) if pings.answered(at + ANSWERS)]


def test_silent_nodes_are_pinged_every_other_time_and_no_others() -> None:
    pings = Pings(2, 100, Timing(uptime=3))
    assert pings.next(250) == 300 + ANSWERS
    assert pinged(pings, 700) == [100, 300, 500]
    pings.heard(Allocation((0, 1), (1, 1), (0, 0)), 350)
    assert pinged(pings, 900)[-2:] == [500, 700]
    pings.heard(Allocation((0,), (1,), (0,)), 450)
    assert [at for at in pinged(pings, 1200) if at > 450] == [500, 600, 700, 800, 900, 1000, 1100]


@pytest.mark.parametrize(("timeout", "expected"), [(300, 79), (600, 179), (0, 215)])
def test_backfill_finds_a_job_that_may_start_as_nodes_answer(timeout: int, expected: float) -> None:
    """As daemons of 22.05, 24.11 and 26.05 did, whose controllers were started 24.5 s before."""
    first = 60 if timeout == 300 else 161
    conf = parse_slurm_conf(f"{CONF}SlurmdTimeout={timeout}\n")
    request = JobRequest(1, 1.0, 10, parse_sbatch(["-n1", "-t1", f"--begin=now+{first}"]))
    made = Controller(conf, [request], timing=Timing(uptime=24.5))
    made.run(600)
    assert made.cluster.jobs[1].runs[0].start == pytest.approx(expected, abs=2)


def test_an_out_of_turn_ping_counts_from_there() -> None:
    """A node that answered a ping before is asked at the second one from then on, others at the first."""
    pings = Pings(2, 100, Timing(uptime=3.0))
    pings.heard(Allocation((1,), (1,), (0,), {}), 150.0)
    pings.out_of_turn(170.0)
    assert pings.next(171.0) - pings.next(170.0) == pytest.approx(100)
    assert [pings.answer_of(node, 171.0) for node in (0, 1)] == [pings.next(171.0)] * 2
    assert pings.heard_at(1) == 150.0 and 100 <= pings.heard_at(0) <= 170
