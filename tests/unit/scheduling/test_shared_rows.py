"""Rows of jobs that share cores."""

from __future__ import annotations

from functools import partial

import pytest

from emulator.config.slurm import parse_slurm_conf
from emulator.config.slurm.controller import Timing
from emulator.engine.controller import Controller
from emulator.operator.scontrol import scontrol
from emulator.scheduling.shared_rows import Row, packed
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins.sockets import of_pool

CONF = """\
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-2] CPUs=2 CoresPerSocket=2
PartitionName=p Nodes=ALL Default=YES OverSubscribe=FORCE:2
PartitionName=q Nodes=ALL OverSubscribe=FORCE:2
"""


def row(**jobs: int) -> Row:
    made = Row()
    for name, cores in jobs.items():
        made.add(int(name.strip("j")), cores)
    return made


def test_jobs_are_put_into_rows_by_their_first_core():
    rows = packed([row(j1=0b1000), row(j2=0b0001, j3=0b0110)])
    assert [list(one.jobs) for one in rows] == [[2, 3, 1], []]
    assert rows[0].cores == 0b1111


def test_the_fullest_row_goes_first():
    rows = packed([row(j1=0b0001, j2=0b0010), row(j3=0b0011, j4=0b0100)])
    assert [list(one.jobs) for one in rows] == [[3, 4], [1, 2]]


def test_jobs_stay_where_they_are_if_one_would_be_left_over():
    before = [row(j1=0b0011, j2=0b1100), row(j3=0b0010, j4=0b0101)]
    assert packed(before) == before


def starts(*jobs: tuple[float, float, str], until: float = 60.0) -> list[tuple[float, tuple[str, ...]] | None]:
    requests = [
        JobRequest(number, at, run, parse_sbatch(["-t10", *words.split()]), "u")
        for number, (at, run, words) in enumerate(jobs, 1)
    ]
    controller = Controller(parse_slurm_conf(CONF), requests)
    controller.run(until)
    names, found = controller.cluster.machine.names, controller.cluster.jobs.values()
    runs = [job.runs[0] if job.runs else None for job in found]
    return [
        None if run is None else (round(run.start, -1), tuple(names[node] for node in run.allocation.nodes))
        for run in runs
    ]


def test_cores_below_a_row_are_not_idle_when_their_first_job_has_left():
    told = starts((0, 20, "-n4"), (5, 99, "-n4"), (40, 9, "-n4"), (45, 9, "-n4"))
    assert told == [(0.0, ("n1", "n2")), (10.0, ("n1", "n2")), (40.0, ("n1", "n2")), (50.0, ("n1", "n2"))]


def test_each_partition_has_rows_of_its_own():
    told = starts(*[(at, 99, f"-p{name} -n4") for at, name in ((0, "p"), (1, "p"), (2, "q"), (3, "q"), (4, "q"))])
    assert [one is not None for one in told] == [True, True, True, True, False]


def test_whole_nodes_are_whole_in_a_row():
    told = starts((0, 99, "-N1 -n1 -wn1"), (10, 99, "-N1 --exclusive -wn1"), (20, 99, "-N1 --exclusive -wn1"))
    assert told == [(0.0, ("n1",)), (10.0, ("n1",)), None]


@pytest.mark.parametrize(
    ("changes", "resumes"), [((), [10, 20, 30]), ((18.0,), [10, 25, 35]), ((18.0, 21.0), [10, 30])]
)
def test_those_that_run_have_another_slice_after_a_partition_changed(changes, resumes) -> None:
    """Recorded: any partition will do, and each slice in which one changes adds another."""
    conf = parse_slurm_conf(
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nSchedulerTimeSlice=5\nPreemptMode=SUSPEND,GANG\n"
        "PreemptType=preempt/partition_prio\nNodeName=n[1-2] CPUs=1\nPartitionName=q Nodes=ALL\n"
        "PartitionName=p Nodes=ALL Default=YES OverSubscribe=FORCE:2\n"
    )
    jobs = [JobRequest(number, 0.1 * number, 100.0, parse_sbatch(["-N2", "-t10"])) for number in (1, 2)]
    actions = [(at, partial(scontrol, "scontrol update PartitionName=q MaxTime=10")) for at in changes]
    controller = Controller(conf, jobs, actions, Timing(uptime=0.0, slice_phase=0.0))
    controller.run(37.0)
    spans = controller.cluster.jobs[2].runs[0].suspensions
    assert [round(to) for _, to in spans if to is not None and to < 37] == resumes


@pytest.mark.parametrize("bound", ["MaxCPUsPerNode=3", "MaxCPUsPerSocket=3"])
def test_cores_of_jobs_that_stand_still_count_for_the_bound_of_a_partition(bound: str) -> None:
    """Two jobs of the higher tier have the cores of those of the lower; each takes its part of what theirs may have."""
    conf = parse_slurm_conf(
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nPreemptType=preempt/partition_prio\n"
        "PreemptMode=SUSPEND,GANG\nNodeName=n1 CPUs=4 Sockets=1 CoresPerSocket=4\n"
        "PartitionName=lo Nodes=ALL Default=YES OverSubscribe=FORCE:1\n"
        f"PartitionName=hi Nodes=ALL PriorityTier=5 {bound} OverSubscribe=FORCE:1\n"
    )
    lines = ["-n2 -plo", "-n2 -plo", "-n2 -phi", "-n1 -phi", "-n1 -phi"]
    jobs = [JobRequest(at, at * 2.0, 200.0, parse_sbatch(["-t60", *line.split()])) for at, line in enumerate(lines, 1)]
    found = Controller(conf, jobs)
    found.run(60.0)
    every = found.cluster.machine.gres
    taken = [int(every[kind][0] - left[0]) for kind, left in found.cluster.free.gres.items() if of_pool(kind, "hi")]
    assert taken and set(taken) == {3}
    assert not found.cluster.jobs[5].runs
    found.run(260.0)
    assert found.cluster.jobs[5].runs
