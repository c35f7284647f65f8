"""A cluster of four nodes with accounts, and what became of jobs on it."""

from __future__ import annotations

from emulator.config.sacctmgr import parse_accounts
from emulator.config.slurm import parse_slurm_conf
from emulator.config.slurm.releases import NEWEST
from emulator.engine.controller import Controller
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch

CONF = """\
AccountingStorageEnforce=limits,qos
AccountingStorageType=accounting_storage/slurmdbd
AuthInfo=cred_expire=30
PriorityCalcPeriod=1
PriorityDecayHalfLife=0
PriorityWeightFairshare=1000
SchedulerParameters=bf_interval=1,bf_resolution=1,sched_interval=1,batch_sched_delay=0
SelectTypeParameters=CR_CPU
NodeName=n[1-4] CPUs=4
PartitionName=p Nodes=ALL Default=YES
"""
BOOKS = "add account a\nadd account b parent=a\nadd user ann,bob account=a\nadd user cy account=b\n"


def job(number: int, at: float, run: float, arguments: str, user: str = "ann") -> JobRequest:
    return JobRequest(number, at, run, parse_sbatch(arguments.split()), user)


def controller(requests, books: str = BOOKS, conf: str = CONF, actions=(), version: str = NEWEST) -> Controller:
    made = Controller(parse_slurm_conf(conf).under(version), requests, actions, accounts=parse_accounts(books))
    made.run(3600.0)
    return made


def starts(made: Controller) -> dict[int, float]:
    return {number: one.runs[0].start for number, one in made.cluster.jobs.items() if one.runs}


def reason_of(made: Controller, number: int) -> str:
    return made.cluster.jobs[number].reason
