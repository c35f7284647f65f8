"""Arrays in Slurm's timing: tasks, their ids and places, their limit, and dependencies on them."""

from __future__ import annotations

from functools import partial

import pytest

from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.operator.scontrol import scontrol
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch

CONF = """\
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PriorityType=priority/basic
NodeName=n[1-4] CPUs=1
PartitionName=p Nodes=ALL Default=YES
"""


def job(number: int, *arguments: str, at: float = 0.0, **more: object) -> JobRequest:
    return JobRequest(number, at, 10.0, parse_sbatch(["-N1", "-t1", *arguments]), "u", **more)  # type: ignore[arg-type]


def run(*jobs: JobRequest, actions: tuple[tuple[float, str], ...] = (), until: float = 1000.0) -> Controller:
    controller = Controller(parse_slurm_conf(CONF), jobs, [(at, partial(scontrol, text)) for at, text in actions])
    controller.run(until)
    return controller


def tasks(controller: Controller, array: int) -> dict[int, int]:
    """Ids of the tasks by index."""
    jobs = controller.cluster.jobs.values()
    return {job.request.task: job.id for job in jobs if job.request.array == array}


def starts(controller: Controller, array: int) -> list[float]:
    return [controller.cluster.jobs[number].runs[0].start for _, number in sorted(tasks(controller, array).items())]


def test_tasks_take_free_ids_and_the_last_keeps_that_of_the_array():
    controller = run(job(5, "--array=1,3,8"), job(6), job(8))
    assert tasks(controller, 5) == {1: 7, 3: 9, 8: 5}


def test_tasks_share_a_priority_and_go_by_index():
    controller = run(job(1, "--array=0-5"), job(2))
    priorities = {job.request.array: job.priority for job in controller.cluster.jobs.values()}
    assert priorities[1] == priorities[None] + 1
    begun = starts(controller, 1)
    assert begun == sorted(begun)
    assert begun[3] < begun[4]


def test_no_more_tasks_run_at_a_time_than_may():
    controller = run(job(1, "--array=0-4%2"), job(2))
    runs = [controller.cluster.jobs[number].runs[0] for number in tasks(controller, 1).values()]
    for run_ in runs:
        others = [other for other in runs if other.start <= run_.start < other.end]
        assert len(others) <= 2
    begun = starts(controller, 1)
    assert begun[0] == begun[1] < begun[2] == begun[3] < begun[4]
    assert controller.cluster.jobs[2].runs[0].start == begun[0]


def test_tasks_beyond_the_limit_say_so():
    controller = run(job(1, "--array=0-2%1"), until=5.0)
    reasons = {index: controller.cluster.jobs[number].reason for index, number in tasks(controller, 1).items()}
    assert reasons == {0: "None", 1: "JobArrayTaskLimit", 2: "JobArrayTaskLimit"}


@pytest.mark.parametrize(
    ("exits", "kind", "runs"),
    [
        ((0, 0, 0), "afterok", True),
        ((0, 1, 0), "afterok", False),
        ((0, 0, 0), "afternotok", False),
        ((0, 1, 0), "afternotok", True),
        ((0, 1, 0), "afterany", True),
    ],
)
def test_a_dependency_on_an_array_is_on_all_its_tasks(exits, kind, runs):
    array = job(1, "--array=0-2", task_runs=(5.0, 20.0, 40.0), task_exits=exits)
    controller = run(array, job(2, f"-d{kind}:1"))
    last = max(job.runs[0].end for job in controller.cluster.jobs.values() if job.request.array == 1)
    dependent = controller.cluster.jobs[2]
    assert bool(dependent.runs) == runs
    if runs:
        assert dependent.runs[0].start >= last
    else:
        assert dependent.reason == "DependencyNeverSatisfied"


def test_aftercorr_pairs_tasks_by_index():
    first = job(1, "--array=0-2", task_runs=(5.0, 20.0, 40.0), task_exits=(0, 1, 0))
    controller = run(first, job(2, "--array=0-2", "-daftercorr:1"))
    before, after = tasks(controller, 1), tasks(controller, 2)
    jobs = controller.cluster.jobs
    for index in (0, 2):
        assert 0 <= jobs[after[index]].runs[0].start - jobs[before[index]].runs[0].end < 2
    assert not jobs[after[1]].runs
    assert jobs[after[1]].reason == "DependencyNeverSatisfied"


def test_commands_take_an_array_or_one_of_its_tasks():
    held = run(job(1, "--array=0-2", "-H"), actions=((5.0, "scontrol release 1"),))
    assert all(begun >= 5 for begun in starts(held, 1))
    one = run(job(1, "--array=0-2", "-H"), actions=((5.0, "scontrol release 1_1"),))
    released = {index for index, number in tasks(one, 1).items() if one.cluster.jobs[number].runs}
    assert released == {1}


def test_the_priority_of_an_array_is_that_of_all_its_tasks() -> None:
    conf = parse_slurm_conf(
        "PriorityType=priority/multifactor\nPriorityWeightAge=1000\nSelectType=select/linear\n"
        "AccountingStorageType=accounting_storage/slurmdbd\nNodeName=n1 CPUs=1\nPartitionName=p Nodes=ALL Default=YES\n"
    )
    words = parse_sbatch(["-n1", "--priority=77", "--array=0-2"])
    made = Controller(conf, [JobRequest(1, 0.0, 4000.0, words)])
    made.run(until=2000.0)
    assert [job.priority for job in made.cluster.jobs.values()] == [77, 77, 77]


def test_the_age_of_an_array_counts_from_the_first_pass_on() -> None:
    """That of another job counts as it is submitted, if it may be scheduled then."""
    controller = run(job(1, "-N4"), job(2, "--array=0-1", at=3.2), job(4, at=3.2), until=3.2)
    alone = controller.cluster.jobs[4].accrue
    assert [controller.cluster.jobs[number].accrue for number in (2, 3)] == [None, None]
    assert alone is not None
    controller.run(6.0)
    later = {controller.cluster.jobs[number].accrue for number in (2, 3)}
    assert len(later) == 1
    assert later.pop() > alone


def test_an_array_loses_priority_as_one_job_where_another_goes_to_the_top() -> None:
    """Its record is that of the tasks that wait, behind all that came before the last of its tasks started."""
    jobs = (job(1, "-N3"), job(2, "--array=0-3"), job(6), job(7), job(8, "--nice=10"))
    controller = run(*jobs, actions=((5.0, "scontrol top 8"),), until=6.0)
    waiting = controller.cluster.waiting.values()
    assert {one.id: one.lift for one in waiting} == {8: 13, 6: -4, 7: -4, 4: -5, 5: -5, 2: -5}


def test_what_is_left_of_an_array_is_released_before_its_tasks_that_ran() -> None:
    commands = ((3.0, "scontrol hold 1"), (4.0, "scontrol requeue 1_0"), (6.0, "scontrol release 1"))
    controller = run(job(1, "--array=0-3%1"), actions=commands, until=7.0)
    ran, *others = (controller.cluster.jobs[number] for _, number in sorted(tasks(controller, 1).items()))
    assert {other.priority for other in others} == {ran.priority + 1}


def test_the_limit_of_an_array_is_shown_until_a_task_is_tried() -> None:
    first = JobRequest(1, 0.0, 100.0, parse_sbatch(["-N2", "-t2"]), "u")
    jobs = (first, job(2, "--array=0-1%1", "-t10"), job(4, "-N4", "--priority=4294967000", at=3.0))
    controller = run(*jobs, until=15.0)
    ended, waits = (controller.cluster.jobs[number] for _, number in sorted(tasks(controller, 2).items()))
    assert ended.over
    assert (waits.state.name, waits.reason) == ("PENDING", "JobArrayTaskLimit")
