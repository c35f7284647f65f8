"""Random clusters with partitions, memory, GRES, licences and reservations, and random submissions to them."""

from __future__ import annotations

import numpy as np

from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch

CONF = """
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=20,bf_resolution={resolution},bf_max_job_test=200,default_queue_depth={depth}
PriorityType=priority/{priority}
PriorityWeightJobSize=1000
PreemptType=preempt/{preempt}
PreemptMode=REQUEUE
GresTypes=gpu
SelectType=select/cons_tres
SelectTypeParameters={select}
NodeName=a[1-3] CPUs=4 RealMemory=4000 Weight=2 Feature=x
NodeName=b[1-4] CPUs=8 Sockets=1 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=8000 Weight=1 Feature=x,y
NodeName=c[1-2] CPUs=6 RealMemory=6000 Weight=2 Gres=gpu:p:2,gpu:v:1
PartitionName=all Nodes=ALL Default=YES DefMemPerCPU=500 PriorityTier=1 DefCpuPerGPU=2
PartitionName=some Nodes=a[1-3],b[1-2] DefMemPerCPU=900 PriorityTier={tier} PriorityJobFactor=3 {bound}
"""
WORDS = (
    *("-n1", "-n2", "-n5", "-n9", "-N1 -n4", "-N2 -n6", "-N2", "-N1-3 -n5", "-n3 -c3", "-N3 -n3 --ntasks-per-node=1"),
    *("-n2 --mem=3000", "-n3 --mem-per-cpu=1500", "--exclusive -N2", "-n4 --gres=gpu:1", "-N1 --gres=gpu:p:2"),
    *("-n4 -Cy", "-n2 -wb2", "-n4 -xb[1-3]", "-N1 --mem=0", "-n6 -psome", "-n2 -pall,some", "--gpus=3", "-n2 -Lfoo:1"),
    *("-N2 --ntasks-per-node=3", "--ntasks-per-node=4", "-n5 --ntasks-per-node=2", "-N1 --ntasks-per-node=2 -c2"),
)


def configuration(draws: np.random.Generator) -> str:
    return CONF.format(
        resolution=draws.choice([1, 60, 600]),
        depth=draws.choice([3, 100]),
        priority=draws.choice(["basic", "multifactor"]),
        preempt=draws.choice(["none", "partition_prio"]),
        select=draws.choice(["CR_Core", "CR_Core_Memory", "CR_CPU_Memory", "CR_Socket_Memory"]),
        bound=draws.choice(["", "MaxCPUsPerNode=3", "MaxMemPerCPU=700"]),
        tier=draws.choice([1, 5]),
    ) + ("Licenses=foo:1\n" if draws.random() < 0.9 else "Licenses=foo:2\n")


SWITCHES = (
    "SwitchName=l1 Nodes=a[1-3]\nSwitchName=l2 Nodes=b[1-4]\nSwitchName=l3 Nodes=c[1-2]\n",
    "SwitchName=l1 Nodes=a1,b[1-2]\nSwitchName=l2 Nodes=a[2-3],c1\nSwitchName=l3 Nodes=b[3-4]\n"
    "SwitchName=m Switches=l[1-2]\nSwitchName=top Switches=m,l3\n",
)
"""Those of :data:`CONF`: leaves alone, and a tree that leaves a node out."""


def submission(number: int, draws: np.random.Generator) -> JobRequest:
    words = [*str(draws.choice(WORDS)).split(), f"-t{draws.choice([1, 3, 8, 20])}"]
    if draws.random() < 0.1:
        words.append("--time-min=2")
    if draws.random() < 0.05:
        words.append("--reservation=q")
    return JobRequest(number, float(draws.integers(0, 900)), float(draws.integers(5, 900)), parse_sbatch(words), "me")


COMMANDS = (
    *("scontrol update NodeName=b1 State=DRAIN", "scontrol update NodeName=b1 State=RESUME", "scontrol requeue 3"),
    *("scontrol suspend 5", "scontrol resume 5", "scontrol update JobId=4 TimeLimit=2", "scontrol hold 7"),
    *("scontrol release 7", "scontrol update JobId=9 Priority=1", "scontrol update PartitionName=some PriorityTier=2"),
    "scontrol create reservation ReservationName=r StartTime=now+60 Duration=3 Nodes=b2 Users=you Flags=IGNORE_JOBS",
    "scontrol create reservation ReservationName=q StartTime=now+200 Duration=15 Nodes=a[1-3],b1 Users=me",
    "scontrol create reservation ReservationName=q StartTime=now Duration=9 NodeCnt=2 Users=me Flags=REPLACE",
    *("scontrol update reservation ReservationName=r EndTime=now+600", "scontrol delete reservation q"),
)
