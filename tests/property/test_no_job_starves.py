"""Jobs that a limit holds back keep nothing from others, whatever the scheduler and the clock."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from emulator.config.sacctmgr import parse_accounts
from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.scheduling.policies import plugins_of
from emulator.state.job import Job, State
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch

CONF = """\
SchedulerType={scheduler}
SchedulerParameters=bf_interval=10
PriorityType=priority/multifactor
PriorityDecayHalfLife=0
PriorityCalcPeriod=1
PriorityWeightAge=1000
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=limits
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-4] CPUs=2
PartitionName=lo Nodes=ALL Default=YES PriorityTier=1 GraceTime=60
PartitionName=hi Nodes=ALL PriorityTier=5
"""
BOOKS = """\
add account lab
add account spent GrpTRESMins=cpu=0
add user ann account=lab MaxJobs=1
add user ann account=spent
add user bob account=lab
"""
PATIENCE = {"ideal": 0.0, "slurm": 20.0}
"""Seconds for which a node may idle: two cycles of backfill."""


def submissions(seed: int) -> list[JobRequest]:
    """Of ann, jobs in the upper tier that wait for each other, and jobs of an account that has nothing left."""
    draws = np.random.default_rng(seed)
    words = {"ann": ("-N1 --exclusive -phi", "-N2 --exclusive -phi -Aspent"), "bob": ("-N1 --exclusive", "-n1", "-n2")}
    found = []
    for number in range(1, 61):
        user = str(draws.choice(["ann", "bob"]))
        options = [*str(draws.choice(words[user])).split(), f"-t{draws.integers(3, 9)}"]
        run, submit = float(draws.integers(30, 170)), float(draws.integers(0, 900))
        found.append(JobRequest(number, submit, run, parse_sbatch(options), user))
    return found


class Watched:
    """A run of which each instant is looked at."""

    def __init__(self, scheduler: str, clock: str, seed: int) -> None:
        slots = {"PreemptType": "preempt/shadow_load"} if scheduler == "sched/venture" else {}
        conf = parse_slurm_conf(CONF.format(scheduler=scheduler))
        self.controller = Controller(
            conf, submissions(seed), selection=plugins_of(conf, slots), accounts=parse_accounts(BOOKS), clock=clock
        )
        self.patience, self.idle_since = PATIENCE[clock], np.inf
        self.preempted: dict[tuple[int, int], set[float]] = defaultdict(set)
        preempt = self.controller.starts.preempt

        def noting(job: Job, preemptor: Job) -> None:
            self.preempted[preemptor.id, preemptor.restarts].add(self.controller.cluster.now)
            preempt(job, preemptor)

        self.controller.starts.preempt = noting  # type: ignore[method-assign]

    def look(self) -> None:
        """No node idles that a job of bob fits which nothing holds back, unless it is kept for one that gets room."""
        cluster, now = self.controller.cluster, self.controller.cluster.now
        waits = [job for job in cluster.waiting.values() if job.request.user == "bob" and job.eligible is not None]
        cleared = any(job.vacating for job in cluster.running.values())
        idle = bool((cluster.free.jobs == 0).any())
        if not idle or not waits or cleared or self.controller.passes.main_at == now:
            self.idle_since = np.inf
            return
        self.idle_since = min(self.idle_since, now)
        assert now - self.idle_since <= self.patience, (now, [job.id for job in waits])


@pytest.mark.slow
@pytest.mark.parametrize("clock", ["ideal", "slurm"])
@pytest.mark.parametrize("scheduler", ["sched/backfill", "sched/easy", "sched/conservative", "sched/venture"])
def test_a_user_over_a_limit_starves_no_other(scheduler: str, clock: str) -> None:
    preempted = 0
    for seed in range(4):
        watched = Watched(scheduler, clock, seed)
        watched.controller.run(observe=watched.look)
        jobs = watched.controller.cluster.jobs.values()
        spent = [job for job in jobs if job.options.account == "spent"]
        assert {(job.state, job.reason) for job in spent} == {(State.PENDING, "AssocGrpCPUMinutesLimit")}
        assert all(job.over for job in jobs if job not in spent)
        starts = {(job.id, place) for job in jobs for place in range(len(job.runs))}
        assert watched.preempted.keys() <= starts, "runs gave way for a job that did not start"
        assert all(len(times) == 1 for times in watched.preempted.values()), watched.preempted
        preempted += len(watched.preempted)
    assert preempted or scheduler in ("sched/easy", "sched/conservative"), "these preempt no job"
