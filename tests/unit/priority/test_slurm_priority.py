"""Priorities that are recalculated equal those of code that remembers nothing."""

from __future__ import annotations

import pytest

from emulator.api import simulate
from emulator.config.sacctmgr import parse_accounts
from emulator.config.slurm import parse_slurm_conf
from emulator.config.slurm.controller import Timing
from emulator.engine.controller import Controller
from emulator.operator.scontrol import scontrol
from emulator.scheduling.policies import Policies, calculation_period, plugins_of
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch

CONF = """\
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
PriorityType=priority/multifactor
PriorityCalcPeriod=1
PriorityMaxAge=20:00
PriorityWeightAge=70001
PriorityWeightFairshare=120007
PriorityWeightJobSize=20011
PriorityWeightPartition=10007
PriorityWeightQOS=5003
PriorityWeightTRES=CPU=101,Mem=.03
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=limits,qos
NodeName=n[1-4] CPUs=4 RealMemory=4000
PartitionName=p Nodes=ALL Default=YES PriorityJobFactor=3
PartitionName=q Nodes=n[1-2] PriorityJobFactor=7
"""
BOOKS = """\
add qos low Priority=1
add qos high Priority=9
add account a Fairshare=3
add account b Fairshare=1
add user ann account=a qos=low,high defaultqos=low
add user bob account=b qos=low,high defaultqos=high
"""
PERIODS = (1, 5, 19, 21, 40)


def jobs() -> list[JobRequest]:
    words = ("-n16 -t60", "-n3 -t9 -p p,q", "-n1 -t99 --qos=high", "-N2 -n8 -t30 --mem=900", "-n3 -t9 -p q --nice=50")
    return [
        JobRequest(
            number, 7.3 * number, 300.0 + number, parse_sbatch(words[number % 5].split()), ("ann", "bob")[number % 2]
        )
        for number in range(1, 41)
    ]


@pytest.mark.parametrize("flags", ["", "NO_NORMAL_ALL", "SMALL_RELATIVE_TO_TIME", "ACCRUE_ALWAYS"])
def test_what_is_remembered_changes_no_priority(flags: str) -> None:
    conf = parse_slurm_conf(CONF + (f"PriorityFlags={flags}\n" if flags else ""))
    commands = ("hold 12", "release 12", "top 15", "update JobId=18 Partition=q", "update JobId=20 Nice=-7")
    actions = [
        (290.0 + 60 * place, lambda controller, words=words: scontrol(f"scontrol {words}", controller))
        for place, words in enumerate(commands)
    ]
    controller = Controller(conf, jobs(), actions, accounts=parse_accounts(BOOKS))
    period, compared = calculation_period(conf), 0
    for number in PERIODS:
        controller.run(until=-Timing().uptime % period + number * period)
        fresh = Policies(plugins_of(conf), controller.cluster)
        for job in controller.cluster.waiting.values():
            if not (job.on_hold or job.fixed_priority):
                known, priorities, job.seen = job.priority, job.priorities, None
                fresh.set_priorities([job])
                assert (known, priorities) == (job.priority, job.priorities)
                compared += 1
    assert compared > 50 and not controller.refused


def test_numbers_of_the_tasks_of_an_array_only_rise() -> None:
    conf = parse_slurm_conf(CONF + "PriorityFlags=INCR_ONLY\n")
    words = parse_sbatch(["-n16", "-t20", "--array=1-3", "-p", "p"])
    found = simulate([JobRequest(1, 0.0, 600.0, words, "ann")], conf, accounts=parse_accounts(BOOKS)).records.jobs
    first, *others = found["priority_at_start"].tolist()
    assert all(number >= first for number in others)


@pytest.mark.parametrize(("words", "priority"), [("-N2", 208), ("-N2-4", 187), ("-N2-4 -n2", 208), ("-N3", 312)])
def test_a_range_of_nodes_counts_with_one_task(words: str, priority: int) -> None:
    """Recorded on 22.05: jobs of 6 nodes with 4 CPUs."""
    conf = "PriorityType=priority/multifactor\nPriorityWeightJobSize=1000\nSelectType=select/linear\n"
    conf += "NodeName=r[1-6] CPUs=4\nPartitionName=p Nodes=ALL Default=YES\n"
    controller = Controller(parse_slurm_conf(conf), [JobRequest(1, 0, 9, parse_sbatch(words.split()))])
    controller.run(0)
    assert controller.cluster.jobs[1].priority == priority


@pytest.mark.parametrize(
    ("words", "priority"),
    [
        ("-N1", 306250),
        ("-n1", 607250),
        ("", 607250),
        ("-n3", 617750),
        ("-N1-3", 607250),
        ("-c2", 612500),
        ("-wa1", 607250),
        ("--mem-per-cpu=400", 507250),
        ("-N1 --ntasks-per-node=3 --mem-per-cpu=400", 516750),
        ("--ntasks-per-node=3 --mem-per-cpu=400", 717750),
        ("-wa1,a2,a3 --mem-per-cpu=400", 918750),
        ("-N1-3 --ntasks-per-node=2 --mem-per-cpu=400", 612500),
        ("-N2 --mem-per-cpu=400", 612500),
    ],
)
def test_least_nodes_of_a_partition_raise_nodes_but_not_tasks(words: str, priority: int) -> None:
    """Recorded on 22.05, 24.11 and 26.05: a job that may not have so many nodes counts with those that it states."""
    conf = """SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
PriorityType=priority/multifactor
PriorityWeightJobSize=10000
PriorityWeightTRES=CPU=100000,Node=1000000,Mem=10000000
NodeName=a[1-5] CPUs=4 RealMemory=8000
PartitionName=p Nodes=ALL Default=YES MinNodes=2 State=DOWN
"""
    options = words.split() if "mem" in words else [*words.split(), "--mem=400"]
    request = JobRequest(1, 0, 9, parse_sbatch(options))
    controller = Controller(parse_slurm_conf(conf), [request], slurm_version="24.11.5")
    controller.run(0)
    assert controller.cluster.jobs[1].priority == priority


BY_SIZE = """\
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PriorityType=priority/multifactor
PriorityCalcPeriod=1
PriorityWeightJobSize=1000
NodeName=n[1-2] CPUs=4
"""


def test_what_is_left_of_an_array_counts_with_the_cpus_of_the_task_that_started() -> None:
    """As recorded on 26.05: its record is a copy of that one, and counts so at the end of the period."""
    conf = BY_SIZE + "PartitionName=p Nodes=ALL Default=YES OverSubscribe=EXCLUSIVE\n"
    request = JobRequest(1, 1.0, 300.0, parse_sbatch(["-n1", "--array=0-2%1", "-t9"]), "ann")
    controller = Controller(parse_slurm_conf(conf), [request])
    numbers = []
    for until in (10.0, 130.0):
        controller.run(until)
        numbers.append([job.priority for job in controller.cluster.waiting.values()])
    assert numbers == [[312, 312], [500, 500]]


def test_tasks_beyond_those_of_a_plan_count_with_the_cpus_of_the_plan() -> None:
    """As recorded on 26.05: two tasks of four may run at a time, and are planned; all four share a record."""
    conf = BY_SIZE + "SchedulerParameters=bf_interval=5\nPartitionName=p Nodes=ALL Default=YES\n"
    requests = [
        JobRequest(1, 0.0, 300.0, parse_sbatch(["-N2", "--exclusive", "-t9"]), "ann"),
        JobRequest(2, 1.0, 300.0, parse_sbatch(["-n1", "--exclusive", "--array=0-3%2", "-t9"]), "ann"),
    ]
    controller = Controller(parse_slurm_conf(conf), requests)
    numbers = []
    for until in (10.0, 130.0):
        controller.run(until)
        numbers.append([job.priority for job in controller.cluster.waiting.values()])
    assert numbers == [[312] * 4, [500] * 4]
