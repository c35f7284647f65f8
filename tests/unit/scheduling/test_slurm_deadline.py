"""Deadlines, and how often and for whom the loops look, in Slurm's timing."""

from __future__ import annotations

from functools import partial
from typing import Literal

import pytest

from emulator.config.slurm import parse_slurm_conf
from emulator.config.slurm.releases import NEWEST
from emulator.engine.controller import Controller
from emulator.operator.scontrol import scontrol
from emulator.state.job import Job
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch

CONF = """
SchedulerType={scheduler}
SchedulerParameters=bf_interval=10,bf_resolution=1{options}
PriorityType=priority/basic
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-2] CPUs=1
PartitionName=p Nodes=ALL Default=YES MaxTime=2:00:00
"""


def after(
    *submissions: tuple[float, float, str],
    options: str = "",
    scheduler: str = "sched/backfill",
    until: float = 5000,
    version: str = NEWEST,
    clock: Literal["slurm", "ideal"] = "slurm",
) -> list[Job]:
    """Jobs, from the second of submission, the seconds of work and the words for sbatch."""
    requests = [
        JobRequest(number, submit, run, parse_sbatch(words.split()), "me")
        for number, (submit, run, words) in enumerate(submissions, 1)
    ]
    conf = parse_slurm_conf(CONF.format(options=options, scheduler=scheduler))
    controller = Controller(conf, requests, slurm_version=version, clock=clock)
    controller.run(until)
    return list(controller.cluster.jobs.values())


def test_a_job_that_cannot_be_over_by_its_deadline_is_given_up_when_it_is_tried_next() -> None:
    _, late = after((0, 600, "-N2 -t20"), (1, 10, "-N1 -t2 --deadline=now+300"), until=181)
    assert late.state == "PENDING"
    _, late = after((0, 600, "-N2 -t20"), (1, 10, "-N1 -t2 --deadline=now+300"), until=192)
    assert (late.state, late.reason, late.runs) == ("DEADLINE", "DeadLine", [])


def test_a_deadline_is_a_whole_second_under_the_ideal_clock_too() -> None:
    _, late = after((0, 600, "-N2 -t20"), (0.75, 10, "-N1 -t2 --deadline=now+300"), clock="ideal", until=190)
    assert (late.state, late.runs) == ("DEADLINE", [])


def test_a_job_that_starts_in_its_last_second_has_a_minute() -> None:
    _, job = after((0, 240.5, "-N2 -t20"), (0, 90, "-N1 --deadline=now+300"), clock="ideal")
    assert [(run.start, run.limit) for run in job.runs] == [(240.5, 60.0)]


@pytest.mark.parametrize(("version", "state"), [("22.05", "PENDING"), ("24.11", "DEADLINE")])
def test_a_job_that_is_not_tried_is_given_up_by_the_sweep_if_there_is_one(version: str, state: str) -> None:
    (held,) = after((1, 10, "-N1 -t2 -H --deadline=now+300"), until=182 + 60, version=version)
    assert held.state == state


def test_a_requeued_job_that_cannot_be_over_by_its_deadline_is_given_up() -> None:
    request = JobRequest(1, 0, 280, parse_sbatch(["-N1", "-t5", "--deadline=now+310"]), "me")
    conf = parse_slurm_conf(CONF.format(options="", scheduler="sched/backfill"))
    controller = Controller(conf, [request], [(200, partial(scontrol, "scontrol requeue 1"))])
    controller.run(210)
    # It is tried when the hold of requeued jobs is over.
    assert controller.cluster.jobs[1].state == "PENDING"
    controller.run(400)
    assert controller.cluster.jobs[1].state == "DEADLINE"


def test_the_least_limit_decides_where_one_is_stated() -> None:
    _, job = after((0, 200, "-N2 -t20"), (1, 30, "-N1 -t10 --time-min=1 --deadline=now+300"))
    assert job.state == "COMPLETED"


def test_a_deadline_that_cannot_be_met_at_all_is_refused_or_given_up_at_once() -> None:
    assert after((0, 10, "-N1 -t10 --deadline=now+60"), until=2) == []
    (job,) = after((0, 10, "-N1 -t10 --deadline=now+60"), until=2, version="22.05")
    assert job.state == "DEADLINE"


def test_without_a_limit_a_job_gets_the_whole_minutes_up_to_its_deadline() -> None:
    (job,) = after((0, 10, "-N1 --deadline=now+299"))
    assert job.runs[0].limit == 240


def test_passes_of_the_main_loop_are_sched_min_interval_apart() -> None:
    jobs = [(0, 20, "-N2 -t1"), (0.1, 20, "-N1 -t1")]
    soon = after(*jobs, scheduler="sched/builtin")
    apart = after(*jobs, options=",sched_min_interval=60000000", scheduler="sched/builtin")
    assert soon[1].runs[0].start < 25
    assert apart[1].runs[0].start - apart[0].runs[0].start == 60


def test_backfill_tests_so_many_jobs_of_a_user_and_account() -> None:
    jobs = [(0, 300, "-N1 -t10"), (1, 60, "-N2 -t10 -A a"), (2, 60, "-N1 -t5 -A a"), (3, 60, "-N1 -t5 -A b")]
    free = after(*jobs)
    assert after(*jobs, options=",bf_max_job_assoc=1")[2].runs[0].start < 30  # There are no associations (recorded).
    bound = after(
        *jobs, options=",bf_max_job_assoc=1,bf_max_job_user=1\nAccountingStorageType=accounting_storage/slurmdbd"
    )
    assert free[2].runs[0].start < 30
    assert bound[2].runs[0].start > 60
    assert bound[3].runs[0].start < 30


def test_the_first_of_a_partition_that_does_not_fit_is_blocked() -> None:
    first, head, behind = after((0, 60, "-N2 -t2"), (1, 10, "-N2 -t2"), (2, 10, "-N2 -t2"), until=30)
    assert (first.blocked, head.blocked, behind.blocked) == (False, True, False)


@pytest.mark.parametrize(("deadline", "start"), [("", 5), (" --deadline=now+600", 200)])
def test_backfill_plans_a_job_with_a_deadline_for_its_own_limit(deadline: str, start: float) -> None:
    """And one without for its least limit (recorded on 22.05): the hole before the next job is two minutes long."""
    words = (0, 120, "-N1 -t2"), (1, 60, "-N2 -t1"), (2, 50, f"-N1 -t6 --time-min=1{deadline}")
    *_, third = after(*words, version="22.05")
    assert third.runs[0].start == pytest.approx(start, abs=30)
