"""Jobs behind one for which their partition is kept: which of them the main loop passes over, and which it counts."""

from __future__ import annotations

import pytest

from emulator.config.operation import Operation
from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch

CONF = """\
SchedulerType=sched/backfill
SchedulerParameters=default_queue_depth=2,bf_interval=30,sched_interval=600,defer
PriorityType=priority/basic
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-2] CPUs=2
NodeName=m1 CPUs=2
PartitionName=p Nodes=n[1-2] Default=YES MaxTime=60 AllowGroups=staff
PartitionName=q Nodes=m1
"""


FULL = "-N2 --exclusive -t50"
"""A job that takes all nodes of its partition; another waits, and the partition is kept for it."""
GROUPS = {"me": ("staff",), "you": ("others",)}


def after_a_pass(*jobs: tuple[str, str]) -> dict[int, tuple[float | None, str]]:
    """Start and reason of jobs by their numbers, where the last came between two cycles of backfill.

    Args:
        jobs: user, and words for sbatch.
    """
    last, requests = len(jobs), []
    for number, (user, words) in enumerate(jobs, 1):
        requests.append(JobRequest(number, 40 * (number == last), 900, parse_sbatch(words.split()), user))
    operation = Operation(groups=GROUPS)
    controller = Controller(parse_slurm_conf(CONF), requests, operation=operation)
    controller.run(until=55)
    return {
        job.id: (None if job.run is None else job.run.start, job.reason) for job in controller.cluster.jobs.values()
    }


@pytest.mark.parametrize(
    ("user", "words", "reason"),
    [
        ("me", "-n1 -t50", "Priority"),
        ("me", "-n1 -t90", "PartitionTimeLimit"),
        ("me", "-n5 -t50", "PartitionConfig"),
        ("me", "-N3 -t50", "PartitionNodeLimit"),
        ("you", "-n1 -t50", "uid_you_not_in_group_permitted_to_use_this_partition_(p)._groups_allowed:_staff"),
    ],
)
def test_only_those_that_their_partition_takes_count(user: str, words: str, reason: str) -> None:
    found = after_a_pass(("me", FULL), ("me", FULL), ("me", "-n1 -t50"), (user, words), ("me", "-n1 -t50 -pq"))
    assert (found[3][1], found[4][1]) == ("Priority", reason)
    assert (found[5][0] is None) == (reason == "Priority")
