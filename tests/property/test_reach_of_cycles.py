"""A cycle ends behind the last job that it may yet try: the starts are those of plain Python, which tries them all."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch

CONF = """
ClusterName=reach
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=30,bf_max_job_test={tried}{bound}
PriorityType=priority/basic
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-4] CPUs=4
PartitionName=day Nodes=ALL Default=YES MaxTime=1-0
PartitionName=half Nodes=n[1-2] MaxTime=1-0
"""
JOBS = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 0, 20, 200]),
        st.sampled_from(
            ["-N4 -n16", "-N4 -n16", "-N3", "-n1", "-n2", "-n6", "-n1 -phalf", "-N2 -pday,half", "-n1 -a0-2"]
        ),
        st.sampled_from([1, 5, 30, 120]),
        st.sampled_from([0.2, 1.0]),
    ),
    min_size=4,
    max_size=24,
)


BEHIND = [(0, "-N3", 30, 1.0), (0, "-N4 -n16", 30, 1.0)]
"""A run, and a job that waits for all nodes."""


@example([*BEHIND, (0, "-n1", 1, 1.0), (0, "-n1", 1, 1.0)], 3, "")  # The last two that are tried start, one by one.
@example([*BEHIND, (0, "-n1 -a0-2", 1, 1.0)], 3, "")
@example([*BEHIND, (0, "-n6 -a0-2", 1, 1.0)], 2, "")  # One starts, and others of its array would be planned.
@given(JOBS, st.integers(1, 6), st.sampled_from(["", "", ",bf_max_job_part=2", ",bf_max_job_user=3"]))
def test_as_plain_python(jobs: list[tuple[int, str, int, float]], tried: int, bound: str) -> None:
    requests, second, number = list[JobRequest](), 0.0, 1
    for gap, words, minutes, share in jobs:
        second += gap
        options = parse_sbatch([*words.split(), f"-t{minutes}"])
        requests.append(JobRequest(id=number, submit=second, run=60 * minutes * share, options=options))
        number += 10

    def outcome(compiled: bool) -> list[tuple[object, ...]]:
        conf = parse_slurm_conf(CONF.format(tried=tried, bound=bound))
        controller = Controller(conf, requests, compiled=compiled, plans_are_seen=False)
        controller.run()
        jobs = controller.cluster.jobs.values()
        return [(job.id, run.start, run.end, run.allocation.nodes) for job in jobs for run in job.runs]

    assert outcome(compiled=True) == outcome(compiled=False)
