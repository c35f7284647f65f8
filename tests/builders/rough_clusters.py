"""Random configurations, submissions and operators' commands with all that can keep a run from its end."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from emulator.config.operation import Operation
from emulator.config.sacctmgr import parse_accounts
from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.operator.scontrol import scontrol
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch

EPOCH = 86_400 - 20_000
"""Usage that is reset daily is reset after 20,000 seconds for the first time."""
BOOKS = """\
add account a
add user me,you account=a
add qos low priority=1
add qos high priority=9 preempt=low preemptmode=requeue {exempt}
modify user you set GrpTRESMins=cpu={minutes} GrpTRESRunMins=cpu={running}
modify account a set GrpTRES=cpu={most} MaxJobs={jobs}
modify user me set qos=low,high,normal
"""
WORDS = (
    *("-n1", "-n3", "-n9", "-N2", "-N2 --ntasks-per-node=2", "-N1-3 -n4", "--exclusive -N1", "-wn2 -N1", "-phi -n2"),
    *("-phi,lo -n4", "-H -n1", "-dafterok:1", "-dafter:2+1 -n1", "-dsingleton", "--begin=now+600", "-n1 --no-requeue"),
    *("--deadline=now+900 -t5", "--array=0-3%2", "-Lfoo:1", "--reservation=r -n1", "-qhigh -n4", "-qlow -n4", "-Cx"),
)
COMMANDS = (
    *("scontrol suspend 3", "scontrol suspend 5", "scontrol resume 3", "scontrol requeue 2", "scontrol hold 4"),
    *("scontrol requeuehold 1", "scontrol release 4", "scontrol update NodeName=n1 State=DOWN", "scancel 6"),
    *("scontrol update NodeName=n[2-3] State=DRAIN", "scontrol update NodeName=n1 State=RESUME"),
    *("scontrol update PartitionName=lo State=DOWN", "scontrol update JobId=7 TimeLimit=UNLIMITED"),
    "scontrol create reservation ReservationName=r StartTime=now+60 Duration=20 Nodes=n1 Users=me Flags=IGNORE_JOBS",
    "sacctmgr -i modify user you set GrpTRESMins=cpu=0",
)


def one_of(draws: np.random.Generator, *values: str) -> str:
    return str(draws.choice(values))


def configuration(draws: np.random.Generator, *, booked: bool) -> str:
    parameters = ",".join(
        (
            f"bf_interval={draws.choice([-1, 60, 300] if booked else [-1, 1, 30, 300])}",
            f"sched_interval={draws.choice([-1, 60, 600] if booked else [-1, 0, 1, 60])}",
            f"bf_max_job_test={draws.choice([1, 3, 100])}",
            f"default_queue_depth={draws.choice([1, 3, 100])}",
            f"bf_min_age_reserve={draws.choice([0, 500])}",
            f"batch_sched_delay={draws.choice([0, 3])}",
        )
    )
    gang = draws.random() < 0.2
    return "\n".join(
        (
            f"SchedulerType=sched/{one_of(draws, 'backfill', 'backfill', 'builtin')}",
            f"SchedulerParameters={parameters}",
            f"PriorityType=priority/{one_of(draws, 'basic', 'multifactor', 'multifactor')}",
            f"PreemptType=preempt/{one_of(draws, 'none', 'partition_prio', 'qos')}",
            f"PreemptMode={'SUSPEND,GANG' if gang else one_of(draws, 'REQUEUE', 'CANCEL')}",
            f"PreemptExemptTime={draws.choice([0, 0, 300])}",
            f"AuthInfo=cred_expire={draws.choice([1, 120])}",
            f"SchedulerTimeSlice={draws.choice([5, 30])}",
            "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nLicenses=foo:1",
            "AccountingStorageType=accounting_storage/slurmdbd",
            f"AccountingStorageEnforce={one_of(draws, 'limits,qos', 'associations', 'limits,qos,safe')}",
            f"PriorityCalcPeriod={draws.choice([1, 5])}",
            f"PriorityDecayHalfLife={one_of(draws, '0', '1:00:00', '0-8')}",
            f"PriorityUsageResetPeriod={one_of(draws, 'NONE', 'NONE', 'DAILY')}",
            "PriorityMaxAge=0-2\nPriorityWeightAge=100\nPriorityWeightFairshare=1000\nPriorityWeightJobSize=50",
            f"PriorityFlags={one_of(draws, 'NO_FAIR_TREE', 'ACCRUE_ALWAYS', 'DEPTH_OBLIVIOUS')}",
            f"JobRequeue={draws.choice([0, 1])}\nRequeueExit=1\nOverTimeLimit={one_of(draws, '0', '1', 'UNLIMITED')}",
            "NodeName=n[1-3] CPUs=4 Feature=x",
            f"PartitionName=lo Nodes=ALL Default=YES PriorityTier=1 OverSubscribe={'FORCE:2' if gang else 'NO'}",
            f"PartitionName=hi Nodes=n[1-2] PriorityTier=9 OverSubscribe={'FORCE:1' if gang else 'NO'} GraceTime=30",
        )
    )


def submission(number: int, draws: np.random.Generator) -> JobRequest:
    limit = one_of(draws, "", "-t1", "-t5", "-t30", "-tUNLIMITED")
    run = float(draws.choice([0, 1, 30, 200, 3000, 3e4, math.inf], p=[0.1, 0.2, 0.2, 0.2, 0.1, 0.1, 0.1]))
    words = parse_sbatch(f"{limit} {one_of(draws, *WORDS)}".split())
    user = one_of(draws, "me", "you")
    return JobRequest(
        number, float(draws.integers(0, 900)), run, words, user, int(draws.random() < 0.1), draws.random() < 0.1
    )


def prepared(seed: int, kind: type[Controller] = Controller) -> Controller:
    draws = np.random.default_rng(seed)
    requests = [submission(number, draws) for number in range(1, int(draws.integers(2, 14)))]
    actions = [
        (float(draws.integers(0, 1500)), partial(scontrol, command))
        for command in draws.choice(COMMANDS, size=int(draws.integers(0, 5))).tolist()
        if command.startswith("scontrol")
    ]
    books = BOOKS.format(
        exempt=one_of(draws, "", "PreemptExemptTime=10:00"),
        minutes=draws.choice([0, 5, 1000]),
        running=draws.choice([0, 100, 100000]),
        most=draws.choice([3, 100]),
        jobs=draws.choice([1, 50]),
    )
    booked = bool(draws.random() < 0.6)
    # With accounts no period is left out: few of them, for work without end is waited for up to a year.
    conf = parse_slurm_conf(configuration(draws, booked=booked))
    accounts = parse_accounts(books) if booked else None
    compiled = bool(draws.random() < 0.5)
    operation = Operation(
        mtbf=float(draws.choice([0, 0, 0, 20_000, 500_000])),
        mttr=float(draws.choice([0, 500])),
        epilog=float(draws.choice([0, 0, 15])),
        epilog_slurmctld=float(draws.choice([0, 0, 30])),
    )
    return kind(
        conf, requests, actions, accounts=accounts, compiled=compiled, operation=operation, seed=seed, epoch=EPOCH
    )
