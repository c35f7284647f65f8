"""What requests find on the nodes as runs end: as many runs as there are, and those of now."""

from __future__ import annotations

import pytest

from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch

CONF = """
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-4] CPUs=400
PartitionName=all Nodes=ALL Default=YES
"""


def request(number: int, submit: float, run: float, words: str) -> JobRequest:
    return JobRequest(number, submit, run, parse_sbatch(words.split()), "me")


def runs_of(compiled: bool) -> tuple[int, list[tuple[object, ...]]]:
    """How many ran at once, and which ran when on which nodes: one needs the machine for itself, others come before."""
    first = [request(1, 0, 3000, "-N4 -n4 -t60"), request(2, 1, 60, "-N4 --exclusive -t5")]
    others = [request(3 + number, 2 + number, 2900, "-N4 -n4 -t50") for number in range(300)]
    controller = Controller(parse_slurm_conf(CONF), first + others, compiled=compiled)
    at_once: set[int] = set()
    controller.run(until=20_000, observe=lambda: at_once.add(len(controller.cluster.running)))
    jobs = controller.cluster.jobs.values()
    return max(at_once), [(job.id, run.start, run.end, run.allocation) for job in jobs for run in job.runs]


@pytest.mark.slow
def test_there_is_room_for_more_runs_and_nodes_than_at_first() -> None:
    at_once, runs = runs_of(compiled=True)
    assert at_once > 256, "as many as there is room for at first; of their nodes there are more than 1024"
    assert (at_once, runs) == runs_of(compiled=False)
