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

    Attributes:
        weights: of the factors, by name.
        tres_weights: of what a job wants of a partition's resources, by upper-case name.
        accrues_always: whether jobs age that are not eligible yet.
    """

    def __init__(self, conf: SlurmConf) -> None:
        stated = conf.parameters
        self.weights = {
            name: float(stated.count(f"PriorityWeight{name}")) for name in ("Age", "JobSize", "Partition", "QOS")
        }
        self.tres_weights = {name.upper(): weight for name, weight in stated.numbers("PriorityWeightTRES").items()}
        self._accounting = "slurmdbd" in stated.text("AccountingStorageType").lower()
        self._max_age = stated.amount("PriorityMaxAge") or 7 * 86_400.0
        flags = {flag.upper() for flag in stated.words("PriorityFlags")}
        self._relative_to_time = "SMALL_RELATIVE_TO_TIME" in flags
        self.accrues_always = "ACCRUE_ALWAYS" in flags
        self._favor_small = stated.flag("PriorityFavorSmall")

    def set(self, job: Job, cluster: Cluster) -> int:
        """The priority of a job now; of one in several partitions, the highest. Notes that in each."""
        job.priorities = {
            partition.name: max(1, self.in_partition(job, partition, cluster) + job.lift)
            for partition in job.partitions
        }
        return max(job.priorities.values())

    def in_partition(self, job: Job, partition: Partition, cluster: Cluster) -> int:
        """The priority of a job in one of its partitions."""
        total = sum(self.weights[name] * factor for name, factor in self.factors(job, partition, cluster).items())
        shares = self.tres_factors(job, partition, cluster)
        total += sum(self.tres_weights[name] * share for name, share in shares.items())
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

    def tres_factors(self, job: Job, partition: Partition, cluster: Cluster) -> dict[str, float]:
        """Shares of the resources that have a weight."""
        shares = tres_shares(job, partition, cluster)
        return {name: share for name, share in shares.items() if name in self.tres_weights}

    def _job_size(self, job: Job, partition: Partition, cluster: Cluster) -> float:
        want, machine = job.wants[partition.name], cluster.machine
        nodes = want.min_nodes / len(machine)
        cpus = _cpus(job, partition, cluster) / float(machine.cpus.sum())
        minutes = max(job.plan_limit / MINUTE, 1.0)
        size = max(nodes, cpus) / minutes if self._relative_to_time else (nodes + cpus) / 2
        return 1 - size if self._favor_small else size


def tres_shares(job: Job, partition: Partition, cluster: Cluster) -> Mapping[str, float]:
    """What a job wants of the partition's resources, as shares of their totals."""
    machine, want, nodes = cluster.machine, job.wants[partition.name], partition.nodes
    cpus, memory = _cpus(job, partition, cluster), _memory(job, partition, cluster)
    total = {
        "CPU": float(machine.cpus[nodes].sum()),
        "MEM": float(machine.memory[nodes].sum()),
        "NODE": float(np.count_nonzero(nodes)),
    }
    wanted = {"CPU": cpus, "MEM": memory, "NODE": float(want.min_nodes)}
    weights = {name.upper(): weight for name, weight in partition.billing.items()} or {"CPU": 1.0}
    # A bill is a whole number.
    wanted["BILLING"] = float(int(sum(weight * wanted.get(name, 0.0) for name, weight in weights.items())))
    total["BILLING"] = float(int(sum(weight * total.get(name, 0.0) for name, weight in weights.items())))
    return {name: wanted[name] / total[name] if total[name] else 0.0 for name in wanted}


def _memory(job: Job, partition: Partition, cluster: Cluster) -> float:
    """Mebibytes that a job asks for, or is given by default; whether memory is managed does not matter."""
    request, want = job.request, job.wants[partition.name]
    if request.options.memory_per_node is not None:
        return float(request.options.memory_per_node * want.min_nodes)
    per_cpu = request.options.memory_per_cpu or partition.default_memory_per_cpu
    if per_cpu:
        return float(per_cpu) * _cpus(job, partition, cluster)
    return float(partition.default_memory_per_node or 0.0) * want.min_nodes


def _cpus(job: Job, partition: Partition, cluster: Cluster) -> float:
    request, want = job.request, job.wants[partition.name]
    tasks = request.options.tasks if request.options.tasks is not None else want.min_nodes
    return float(tasks * request.cpus_per_task)
