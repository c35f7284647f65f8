"""Priorities: ``priority/basic`` and ``priority/multifactor`` (observations Q8, M1 to M3, J1, J2)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from emulator.config.slurm.model import SlurmConf
from emulator.slurmctld.cluster import Cluster
from emulator.slurmctld.job import Job, Partition
from slurm_sim_plugins.views import FIRST_PRIORITY

MINUTE = 60.0


class BasicPriority:
    """First come, first served: each submission gets the next lower number."""

    def __init__(self) -> None:
        self._next = FIRST_PRIORITY

    def set(self, job: Job, cluster: Cluster) -> int:
        """The priority of a job that was submitted or released."""
        self._next -= 1
        return self._next + 1


class MultifactorPriority:
    """A weighted sum of factors between 0 and 1, less nice; at least 1.

    Without accounting the age counts for nothing (observation M2).
    """

    def __init__(self, conf: SlurmConf) -> None:
        stated = conf.parameters
        self._weights = {
            name: float(stated.count(f"PriorityWeight{name}")) for name in ("Age", "JobSize", "Partition", "QOS")
        }
        self._tres = {name.upper(): weight for name, weight in stated.numbers("PriorityWeightTRES").items()}
        self._accounting = "slurmdbd" in stated.text("AccountingStorageType").lower()
        self._max_age = stated.amount("PriorityMaxAge") or 7 * 86_400.0
        flags = {flag.upper() for flag in stated.words("PriorityFlags")}
        self._relative_to_time = "SMALL_RELATIVE_TO_TIME" in flags
        self._favor_small = stated.flag("PriorityFavorSmall")

    def set(self, job: Job, cluster: Cluster) -> int:
        """The priority of a job now; of one in several partitions, the highest."""
        return max(self.in_partition(job, partition, cluster) for partition in job.partitions)

    def in_partition(self, job: Job, partition: Partition, cluster: Cluster) -> int:
        """The priority of a job in one of its partitions."""
        total = sum(self._weights[name] * factor for name, factor in self.factors(job, partition, cluster).items())
        total += sum(self._tres.get(name, 0.0) * share for name, share in tres_shares(job, partition, cluster).items())
        return max(1, int(total) - job.nice)

    def factors(self, job: Job, partition: Partition, cluster: Cluster) -> dict[str, float]:
        """Factors by name, each between 0 and 1."""
        highest = max(other.job_factor for other in cluster.partitions.values())
        age = 0.0
        if self._accounting and job.accrue is not None:
            age = min((cluster.now - job.accrue) / self._max_age, 1.0)
        return {
            "Age": age,
            "JobSize": self._job_size(job, partition, cluster),
            "Partition": partition.job_factor / highest if highest else 0.0,
            "QOS": 0.0,
        }

    def _job_size(self, job: Job, partition: Partition, cluster: Cluster) -> float:
        want, machine = job.wants[partition.name], cluster.machine
        nodes = want.min_nodes / len(machine)
        cpus = _cpus(job, partition, cluster) / float(machine.cpus.sum())
        if self._relative_to_time:
            return max(nodes, cpus) / max(job.plan_limit / MINUTE, 1.0)
        size = (nodes + cpus) / 2
        return 1 - size if self._favor_small else size


def tres_shares(job: Job, partition: Partition, cluster: Cluster) -> Mapping[str, float]:
    """What a job wants of the partition's resources, as shares of their totals."""
    machine, want, nodes = cluster.machine, job.wants[partition.name], partition.nodes
    cpus = _cpus(job, partition, cluster)
    total_cpus = float(machine.cpus[nodes].sum())
    memory = float(want.memory_per_node * want.min_nodes or want.memory_per_unit * want.units)
    return {
        "CPU": cpus / total_cpus,
        "MEM": memory / max(float(machine.memory[nodes].sum()), 1.0),
        "NODE": want.min_nodes / max(int(np.count_nonzero(nodes)), 1),
        "BILLING": cpus / total_cpus,
    }


def _cpus(job: Job, partition: Partition, cluster: Cluster) -> float:
    request, want = job.request, job.wants[partition.name]
    tasks = request.tasks if request.tasks is not None else want.min_nodes
    return float(tasks * request.cpus_per_task)
