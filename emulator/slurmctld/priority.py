"""Priorities: ``priority/basic`` and ``priority/multifactor`` (observations Q8, M1 to M3, J1, J2)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from emulator.config.slurm.model import SlurmConf
from emulator.slurmctld.cluster import Cluster
from emulator.slurmctld.job import EMPTY, Job, Partition
from emulator.slurmctld.node_select import Want
from slurm_sim_plugins.views import FIRST_PRIORITY

if TYPE_CHECKING:
    from emulator.slurmctld.accounting import Accounting
    from emulator.slurmctld.acct_policy import Account

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


class Lasting(NamedTuple):
    """What of a priority does not change with time; jobs that ask for the same of a partition share it.

    Attributes:
        job_size, partition: factors.
        size_points, partition_points: these with their weights.
        resources: what it asks for of each resource that has a weight, by upper-case name.
        bill: the weighted sum of these.
    """

    job_size: float
    partition: float
    size_points: float
    partition_points: float
    resources: Mapping[str, float]
    bill: float


class Standing(NamedTuple):
    """What of a priority goes by association and quality of service; jobs with the same of both share it.

    Attributes:
        assoc, fair_share, qos: factors.
        assoc_points, share_points, qos_points: these with their weights.
    """

    assoc: float
    fair_share: float
    qos: float
    assoc_points: float
    share_points: float
    qos_points: float


class Priced(NamedTuple):
    """What a job's priority in a partition was worked out from.

    Attributes:
        total: the weighted sum, cut to a whole number; nice comes off that.
        age: a factor.
        standing, lasting: the others.
    """

    total: int
    age: float
    standing: Standing
    lasting: Lasting

    @property
    def factors(self) -> Mapping[str, float]:
        """Factors by name."""
        standing, lasting = self.standing, self.lasting
        return {
            "Age": self.age,
            "Assoc": standing.assoc,
            "Fairshare": standing.fair_share,
            "JobSize": lasting.job_size,
            "Partition": lasting.partition,
            "QOS": standing.qos,
        }

    @property
    def resources(self) -> Mapping[str, float]:
        """What it asks for of each resource that has a weight, by upper-case name."""
        return self.lasting.resources


NOBODY = Standing(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""Of who has no account."""


class Instant:
    """When priorities are worked out, and what they have in common then.

    Attributes:
        cluster: the situation.
        second: the time, as ages are counted.
        standings: those that were looked at, by association and quality of service.
    """

    __slots__ = ("cluster", "second", "standings")

    def __init__(self, cluster: Cluster, second: float) -> None:
        self.cluster = cluster
        self.second = second
        self.standings: dict[tuple[int, int], Standing] = {}


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
        self._age_weight = self.weights["Age"]
        self._ages = bool(self._age_weight) and "slurmdbd" in stated.text("AccountingStorageType").lower()
        self._whole = accounting.whole if accounting is not None else math.floor
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
        self._lastings: dict[tuple[int, str, int], Lasting] = {}

    def set(self, job: Job, cluster: Cluster) -> int:
        """The priority of a job now; of one in several partitions, the highest. Notes that in each."""
        return self._set(job, self._at(cluster))

    def _at(self, cluster: Cluster) -> Instant:
        return Instant(cluster, self._whole(cluster.now))

    def recalculate_all(self, cluster: Cluster) -> bool:
        """A period has ended: waiting jobs get new priorities; says whether that of any has changed.

        Who is on hold or was given a priority keeps it.
        """
        at, changed = self._at(cluster), False
        for job in [*cluster.waiting.values(), *(cluster.running.values() if self.of_running else ())]:
            before = job.priority
            if before == 0 or job.fixed_priority:
                continue
            now = self._set(job, at)
            if now != before and not (self._never_falls and now < before):
                job.priority, changed = now, True
        return changed

    def _set(self, job: Job, at: Instant) -> int:
        # Called for each waiting job at each period: millions of times in a log of a week.
        partitions, age, standing = job.partitions, self._age(job, at.second), self._standing(job, at)
        if len(partitions) > 1:
            job.priced = {each.name: self._priced(job, each, at, age, standing) for each in partitions}
            job.priorities = {name: _lifted(job, priced) for name, priced in job.priced.items()}
            return max(job.priorities.values())
        priced = self._priced(job, partitions[0], at, age, standing)
        job.priced, job.priorities = {partitions[0].name: priced}, EMPTY
        return _lifted(job, priced)

    def in_partition(self, job: Job, partition: Partition, cluster: Cluster) -> int:
        """The priority of a job in one of its partitions, as it was worked out last."""
        if partition.name not in job.priced:
            at = self._at(cluster)
            priced = self._priced(job, partition, at, self._age(job, at.second), self._standing(job, at))
            job.priced = {**job.priced, partition.name: priced}
        return max(1, job.priced[partition.name].total + job.site - job.nice)

    def _priced(self, job: Job, partition: Partition, at: Instant, age: float, standing: Standing) -> Priced:
        before = job.priced.get(partition.name)
        if before is None or self._relative_to_time:
            lasting = self._lasting(job, partition, at.cluster)
        elif before.age == age and before.standing == standing:
            return before
        else:
            lasting = before.lasting
        # In the order of the names: on that depends what floats add up to.
        points = self._age_weight * age + standing.assoc_points + standing.share_points
        points = points + lasting.size_points + lasting.partition_points + standing.qos_points
        return Priced(int(points + lasting.bill), age, standing, lasting)

    # Factors are between 0 and 1, unless they are not to be normalised.

    def _age(self, job: Job, second: float) -> float:
        if not self._ages:
            return 0.0
        since = job.submitted if self.accrues_always and not job.held_by else job.accrue
        if since is None:
            return 0.0
        waited = second - self._whole(since)
        if waited <= 0:
            return 0.0
        return waited / self._max_age if waited < self._max_age else 1.0

    def _standing(self, job: Job, at: Instant) -> Standing:
        account = job.account
        if self._books is None or account is None:
            return NOBODY
        key = (id(account.share), id(account.quality))
        known = at.standings.get(key)
        if known is None:
            known = at.standings[key] = self._standing_of(account, self._books)
        return known

    def _standing_of(self, account: Account, books: Accounting) -> Standing:
        assoc = self._normalised("ASSOC", account.share.priority, books.manager.highest_priority)
        share = books.factor(account.share) if self.weights["Fairshare"] else 0.0
        qos = 0.0
        if account.quality is not None:
            qos = self._normalised("QOS", account.quality.priority, books.manager.highest_qos)
        weights = self.weights
        return Standing(assoc, share, qos, weights["Assoc"] * assoc, weights["Fairshare"] * share, weights["QOS"] * qos)

    def _lasting(self, job: Job, partition: Partition, cluster: Cluster) -> Lasting:
        if self._relative_to_time:
            return self._lasting_of(job, partition, cluster)
        key = (job.alike, partition.name, job.wants[partition.name].min_nodes)
        known = self._lastings.get(key)
        if known is None:
            known = self._lastings[key] = self._lasting_of(job, partition, cluster)
        return known

    def _lasting_of(self, job: Job, partition: Partition, cluster: Cluster) -> Lasting:
        size = self._job_size(job, partition, cluster) if self.weights["JobSize"] else 0.0
        highest = max(other.job_factor for other in cluster.partitions.values())
        place = self._normalised("PART", partition.job_factor, highest)
        resources = self._resources(job, partition, cluster)
        bill = sum(self.tres_weights[name] * share for name, share in resources.items())
        points = self.weights["JobSize"] * size, self.weights["Partition"] * place
        return Lasting(size, place, *points, resources, bill)

    def _normalised(self, kind: str, value: float, highest: float) -> float:
        """A share of the highest, if it is to be normalised."""
        if kind in self._raw:
            return float(value)
        return value / highest if highest else 0.0

    def _resources(self, job: Job, partition: Partition, cluster: Cluster) -> Mapping[str, float]:
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


def _lifted(job: Job, priced: Priced) -> int:
    """A priority, less nice, and with what operators gave to it."""
    number = max(1, priced.total + job.site - job.nice)
    return max(1, number + job.lift) if job.lift else number


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
        return float(per_cpu) * _tasks(job, want) * request.cpus_per_task
    return float(partition.default_memory_per_node or 0.0) * want.min_nodes


def _cpus(job: Job, partition: Partition, cluster: Cluster) -> float:
    want = job.wants[partition.name]
    return float(_tasks(job, want) * want.cpus_per_task)


def _tasks(job: Job, want: Want) -> int:
    return job.options.tasks if job.options.tasks is not None else want.min_nodes
