"""Priorities: ``priority/basic`` and ``priority/multifactor`` (observations Q8, M1 to M3, J1, J2)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from emulator.config.slurm.model import SlurmConf
from emulator.slurmctld.cluster import Cluster
from emulator.slurmctld.job import Job, Partition
from slurm_sim_plugins.views import FIRST_PRIORITY

if TYPE_CHECKING:
    from emulator.slurmctld.accounting import Accounting

MINUTE = 60.0


class BasicPriority:
    """First come, first served: each submission gets the next lower number."""

    def __init__(self) -> None:
        self._next = FIRST_PRIORITY

    def set(self, job: Job, cluster: Cluster) -> int:
        """The priority of a job that was submitted or released."""
        self._next -= 1
        return self._next + 1


NAMES = ("Age", "Assoc", "Fairshare", "JobSize", "Partition", "QOS")
"""The factors, as in the names of their weights."""


@dataclass(frozen=True, slots=True)
class Priced:
    """What a job's priority in a partition was worked out from.

    Attributes:
        total: the weighted sum, cut to a whole number; nice comes off that.
        factors: by name.
        resources: what it asks for of each resource that has a weight, by upper-case name.
        bill: the weighted sum of these.
    """

    total: int
    factors: Mapping[str, float]
    resources: Mapping[str, float]
    bill: float


class MultifactorPriority:
    """A weighted sum of factors between 0 and 1, less nice; at least 1.

    Without accounting the age counts for nothing (observation M2). A priority is worked out
    at the submission and at the end of each ``PriorityCalcPeriod``, and stands still between
    (observation F6).

    Args:
        conf: the configuration.
        accounting: the books, if there are accounts.

    Attributes:
        weights: of the factors, by name.
        tres_weights: of what a job wants of a partition's resources, by upper-case name.
        accrues_always: whether jobs age that are not eligible yet.
        of_running: whether running jobs get new priorities too.
    """

    def __init__(self, conf: SlurmConf, accounting: Accounting | None = None) -> None:
        stated = conf.parameters
        self.weights = {name: float(stated.count(f"PriorityWeight{name}")) for name in NAMES}
        self.tres_weights = {name.upper(): weight for name, weight in stated.numbers("PriorityWeightTRES").items()}
        self._books = accounting
        self._accounting = "slurmdbd" in stated.text("AccountingStorageType").lower()
        self._max_age = stated.amount("PriorityMaxAge") or 7 * 86_400.0
        flags = {flag.upper() for flag in stated.words("PriorityFlags")}
        self._relative_to_time = "SMALL_RELATIVE_TO_TIME" in flags
        self._raw = {
            name for name in ("ASSOC", "PART", "QOS", "TRES") if flags & {f"NO_NORMAL_{name}", "NO_NORMAL_ALL"}
        }
        self._never_falls = "INCR_ONLY" in flags
        self.accrues_always = "ACCRUE_ALWAYS" in flags
        self.of_running = "CALCULATE_RUNNING" in flags
        self._favor_small = stated.flag("PriorityFavorSmall")

    def set(self, job: Job, cluster: Cluster) -> int:
        """The priority of a job now; of one in several partitions, the highest. Notes that in each."""
        for partition in job.partitions:
            job.priced[partition.name] = self._price(job, partition, cluster)
        return self._of_all(job, cluster)

    def _of_all(self, job: Job, cluster: Cluster) -> int:
        job.priorities = {
            partition.name: max(1, self.in_partition(job, partition, cluster) + job.lift)
            for partition in job.partitions
        }
        return max(job.priorities.values())

    def recalculate_all(self, cluster: Cluster) -> bool:
        """A period has ended: waiting jobs get new priorities; says whether that of any has changed."""
        jobs = [*cluster.waiting.values(), *(cluster.running.values() if self.of_running else ())]
        changed = [self.recalculate(job, cluster) for job in jobs]
        return any(changed)

    def recalculate(self, job: Job, cluster: Cluster) -> bool:
        """Give a job a new priority, unless it is on hold or was given one; says whether it has changed."""
        if job.priority == 0 or job.fixed_priority:
            return False
        before, now = job.priority, self._anew(job, cluster)
        job.priority = max(before, now) if self._never_falls else now
        return job.priority != before

    def _anew(self, job: Job, cluster: Cluster) -> int:
        """Like :meth:`set`; what changes with time is worked out, the rest is as it was."""
        if self._relative_to_time or any(partition.name not in job.priced for partition in job.partitions):
            return self.set(job, cluster)
        changing = self._changing(job, cluster)
        for partition in job.partitions:
            before = job.priced[partition.name]
            job.priced[partition.name] = self._priced({**before.factors, **changing}, before.resources, before.bill)
        return self._of_all(job, cluster)

    def in_partition(self, job: Job, partition: Partition, cluster: Cluster) -> int:
        """The priority of a job in one of its partitions, as it was worked out last."""
        if partition.name not in job.priced:
            job.priced[partition.name] = self._price(job, partition, cluster)
        return max(1, job.priced[partition.name].total - job.nice)

    def _price(self, job: Job, partition: Partition, cluster: Cluster) -> Priced:
        factors = self.factors(job, partition, cluster)
        resources = self.tres_factors(job, partition, cluster)
        bill = sum(self.tres_weights[name] * share for name, share in resources.items())
        return self._priced(factors, resources, bill)

    def _priced(self, factors: Mapping[str, float], resources: Mapping[str, float], bill: float) -> Priced:
        total = sum([weight * factors[name] for name, weight in self.weights.items()])
        return Priced(int(total + bill), factors, resources, bill)

    def factors(self, job: Job, partition: Partition, cluster: Cluster) -> dict[str, float]:
        """Factors by name, each between 0 and 1 unless they are not to be normalised."""
        lasting = {
            "JobSize": self._job_size(job, partition, cluster) if self.weights["JobSize"] else 0.0,
            "Partition": self._partition(partition, cluster),
        }
        return {**self._changing(job, cluster), **lasting}

    def _changing(self, job: Job, cluster: Cluster) -> dict[str, float]:
        """Factors that can be others at the end of each period."""
        return {
            "Age": self._age(job, cluster.now) if self._accounting and self.weights["Age"] else 0.0,
            "Assoc": self._assoc(job),
            "Fairshare": self._books.fair_share(job) if self._books and self.weights["Fairshare"] else 0.0,
            "QOS": self._qos(job),
        }

    def _age(self, job: Job, now: float) -> float:
        since = job.submitted if self.accrues_always and not job.held_by else job.accrue
        if since is None:
            return 0.0
        whole = self._books.whole if self._books is not None else math.floor
        return min(max(whole(now) - whole(since), 0.0) / self._max_age, 1.0)

    def _assoc(self, job: Job) -> float:
        if self._books is None or job.account is None:
            return 0.0
        highest = 1.0 if "ASSOC" in self._raw else self._books.manager.highest_priority
        return job.account.share.priority / highest if highest else 0.0

    def _partition(self, partition: Partition, cluster: Cluster) -> float:
        if "PART" in self._raw:
            return float(partition.job_factor)
        highest = max(other.job_factor for other in cluster.partitions.values())
        return partition.job_factor / highest if highest else 0.0

    def _qos(self, job: Job) -> float:
        if self._books is None or job.account is None or job.account.quality is None:
            return 0.0
        highest = 1.0 if "QOS" in self._raw else self._books.manager.highest_qos
        return job.account.quality.priority / highest if highest else 0.0

    def tres_factors(self, job: Job, partition: Partition, cluster: Cluster) -> dict[str, float]:
        """Shares of the resources that have a weight; amounts where they are not to be normalised."""
        if not self.tres_weights:
            return {}
        shares = tres_amounts(job, partition, cluster) if "TRES" in self._raw else tres_shares(job, partition, cluster)
        return {name: share for name, share in shares.items() if name in self.tres_weights}

    def _job_size(self, job: Job, partition: Partition, cluster: Cluster) -> float:
        want, machine = job.wants[partition.name], cluster.machine
        nodes = want.min_nodes / len(machine)
        cpus = _cpus(job, partition, cluster) / float(machine.cpus.sum())
        minutes = max(job.plan_limit / MINUTE, 1.0)
        size = max(nodes, cpus) / minutes if self._relative_to_time else (nodes + cpus) / 2
        return 1 - size if self._favor_small else size


def calculation_period(conf: SlurmConf) -> float:
    """Seconds between two calculations of priorities; 0 where there is no accounting, and so none (observation M2)."""
    stated = conf.parameters
    multifactor = stated.text("PriorityType").lower() == "priority/multifactor"
    if not multifactor or "slurmdbd" not in stated.text("AccountingStorageType").lower():
        return 0.0
    return stated.amount("PriorityCalcPeriod") or 300.0


def tres_shares(job: Job, partition: Partition, cluster: Cluster) -> Mapping[str, float]:
    """What a job wants of the partition's resources, as shares of their totals."""
    wanted, total = tres_amounts(job, partition, cluster), tres_totals(partition, cluster)
    return {name: wanted[name] / total[name] if total.get(name) else 0.0 for name in wanted}


def tres_totals(partition: Partition, cluster: Cluster) -> Mapping[str, float]:
    """What a partition has of each resource, by upper-case name."""
    machine, nodes = cluster.machine, partition.nodes
    total = {
        "CPU": float(machine.cpus[nodes].sum()),
        "MEM": float(machine.memory[nodes].sum()),
        "NODE": float(np.count_nonzero(nodes)),
    }
    for kind, counts in machine.gres.items():
        for called in _called(kind):
            total[called] = total.get(called, 0.0) + float(counts[nodes].sum())
    total["BILLING"] = _bill(total, partition)
    return total


def tres_amounts(job: Job, partition: Partition, cluster: Cluster) -> dict[str, float]:
    """What a job wants of each resource, by upper-case name; memory in mebibytes."""
    want = job.wants[partition.name]
    wanted = {
        "CPU": _cpus(job, partition, cluster),
        "MEM": _memory(job, partition, cluster),
        "NODE": float(want.min_nodes),
    }
    for gres, per in ((want.gres, want.min_nodes), (want.gres_total, 1)):
        for name, kind, count in gres:
            for called in _called((name, kind)):
                wanted[called] = wanted.get(called, 0.0) + count * per
    wanted["BILLING"] = _bill(wanted, partition)
    return wanted


def _bill(amounts: Mapping[str, float], partition: Partition) -> float:
    """A bill is a whole number."""
    weights = {name.upper(): weight for name, weight in partition.billing.items()} or {"CPU": 1.0}
    return float(int(sum(weight * amounts.get(name, 0.0) for name, weight in weights.items())))


def _called(kind: tuple[str, str]) -> list[str]:
    """How a generic resource is called: by its name, and by name and type if it has one."""
    name, type_ = kind[0].upper(), kind[1].upper()
    return [f"GRES/{name}", f"GRES/{name}:{type_}"] if type_ else [f"GRES/{name}"]


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
