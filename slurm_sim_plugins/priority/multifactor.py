"""A weighted sum of age, fair share, size, partition, QOS, association and resources: Slurm's priority/multifactor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from slurm_sim_plugins.cluster import Association, Partition, Qos, Request
from slurm_sim_plugins.decisions import Priorities
from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.priority.fair_share import fair_share_of
from slurm_sim_plugins.priority.multifactor_columns import Columns
from slurm_sim_plugins.priority.multifactor_factors import (
    FACTORS,
    NO_ACCOUNT,
    AccountFactors,
    JobPriority,
    RequestFactors,
)
from slurm_sim_plugins.views import PriorityView

MINUTE = 60.0
DAY = 86_400.0
MANY = 16
"""So many jobs are worked out as columns; of fewer the columns would cost more than the sums."""


class Multifactor:
    """Job priority = site factor - nice + the sum of weights times factors, at least 1; a factor is from 0 to 1.

    * Age: the time since the job became eligible, as a share of ``max_age``; at most 1.
    * Assoc, Partition, QOS: their priority as a share of the highest of their kind.
    * Fairshare: what Fair Tree (or classic fair share) makes of shares and usage.
    * JobSize: the mean of the shares of nodes and CPUs of the machine that the job asks for.
    * TRES: what it asks for as a share of what its partition has, for each resource.

    Numbers are worked out at the submission and every ``calc_period``. Without accounting storage
    Slurm does the latter not before 24.11, and age counts for nothing. Where processors are only counted, a job
    asks for so many nodes of one CPU, has aged since its submission, and all that a trace does not
    know counts 0: association, fair share, partition, QOS, memory and GRES.

    Args:
        weight_age, weight_assoc, weight_fairshare, weight_jobsize, weight_partition, weight_qos: PriorityWeight...
        weight_tres: PriorityWeightTRES, such as ``CPU=1000,GRES/gpu=3000``.
        max_age: PriorityMaxAge, in seconds.
        favor_small: PriorityFavorSmall: the smaller a job, the larger its size factor.
        calc_period: PriorityCalcPeriod, in seconds.
        flags: PriorityFlags: ACCRUE_ALWAYS, CALCULATE_RUNNING, DEPTH_OBLIVIOUS, INCR_ONLY, NO_FAIR_TREE,
            NO_NORMAL_ALL, NO_NORMAL_ASSOC, NO_NORMAL_PART, NO_NORMAL_QOS, NO_NORMAL_TRES, SMALL_RELATIVE_TO_TIME.
        dampening: FairShareDampeningFactor.
        accounting_storage: AccountingStorageType.

    Source: Slurm's documentation, priority_multifactor; recorded from Slurm 22.05 (observations M1 to M4, F3 to F6,
    J1, J2).
    """

    name: ClassVar[str] = "priority/multifactor"
    factors: ClassVar[tuple[str, ...]] = FACTORS
    slurm_conf: ClassVar[Mapping[str, str]] = {
        **{f"weight_{factor.lower()}": f"PriorityWeight{factor}" for factor in (*factors, "TRES")},
        "max_age": "PriorityMaxAge",
        "favor_small": "PriorityFavorSmall",
        "calc_period": "PriorityCalcPeriod",
        "flags": "PriorityFlags",
        "dampening": "FairShareDampeningFactor",
        "accounting_storage": "AccountingStorageType",
    }

    def __init__(
        self,
        weight_age: float = 0.0,
        weight_assoc: float = 0.0,
        weight_fairshare: float = 0.0,
        weight_jobsize: float = 0.0,
        weight_partition: float = 0.0,
        weight_qos: float = 0.0,
        weight_tres: str = "",
        max_age: float = 7 * DAY,
        favor_small: bool = False,
        calc_period: float = 300.0,
        flags: str = "",
        dampening: float = 1.0,
        accounting_storage: str = "accounting_storage/slurmdbd",
    ) -> None:
        values = weight_age, weight_assoc, weight_fairshare, weight_jobsize, weight_partition, weight_qos
        self.weights = dict(zip(self.factors, map(float, values), strict=True))
        self.tres_weights = _amounts(weight_tres)
        self.max_age = max_age or 7 * DAY
        words = {flag.upper() for flag in flags.split(",")}
        self.accrues_always = "ACCRUE_ALWAYS" in words
        self.of_running = "CALCULATE_RUNNING" in words
        self.never_falls = "INCR_ONLY" in words
        self._relative_to_time = "SMALL_RELATIVE_TO_TIME" in words
        self._raw = {
            kind for kind in ("ASSOC", "PART", "QOS", "TRES") if words & {f"NO_NORMAL_{kind}", "NO_NORMAL_ALL"}
        }
        self._favor_small = favor_small
        self.fair_share = fair_share_of(words, dampening or 1.0)
        calculates = "slurmdbd" in accounting_storage.lower()
        self.calc_period = calc_period or 300.0
        self.period = self.calc_period if calculates else None
        self._age_weight = self.weights["Age"] if calculates else 0.0
        self._known_factors: dict[Request, RequestFactors] = {}
        self._columns: Columns | None = None

    @hookimpl
    def priority_set(self, view: PriorityView) -> Sequence[Any]:
        # At each period of all that wait: millions of numbers in a log of a week.
        if len(view.to_set) >= MANY and not (self._relative_to_time or self.never_falls):
            answer = self._in_columns(view)
            if answer is not None:
                return answer
        return self._one_by_one(view)

    def _in_columns(self, view: PriorityView) -> Priorities | None:
        """The same as columns; None where that cannot be: a job in several partitions, sums beyond reason."""
        jobs = view.to_set
        if self._columns is None:
            self._columns = Columns()

        def of_request(job: Job, request: Request) -> RequestFactors:
            return self._request_factors(job, request, view)

        rows = self._columns.rows(jobs, view.rows, of_request)
        if rows is None:
            return None
        since = self._columns.accrued(rows)
        if self.accrues_always:
            since = np.array([job.accrued if job.held else job.queued for job in jobs], dtype=float)
        waited = view.whole(view.now) - view.whole_seconds(since)
        return self._columns.priced(rows, self._account_factors, waited, self.max_age, self._age_weight)

    def _one_by_one(self, view: PriorityView) -> list[Any]:
        now, answer = view.whole(view.now), list[Any]()
        accounts: dict[tuple[Association | None, Qos | None], AccountFactors] = {}
        for job in view.to_set:
            age = self._age(job, now, view) if self._age_weight else 0.0
            whose = job.association, job.qos
            account = accounts.get(whose)
            if account is None:
                account = accounts[whose] = self._account_factors(*whose)
            requests = job.requests
            if len(requests) == 1:
                answer.append(self._price(job, 0, requests[0], age, account, view))
                continue
            answer.append([self._price(job, index, each, age, account, view) for index, each in enumerate(requests)])
        return answer

    def _price(
        self, job: Job, index: int, request: Request, age: float, account: AccountFactors, view: PriorityView
    ) -> JobPriority:
        """The priority of a job in one of its partitions; the one that is known, if nothing has changed."""
        known, offset = job.answered, job.site - job.nice
        before: JobPriority | None = known[index] if known else None
        if before is None or self._relative_to_time:
            request_factors = self._request_factors(job, request, view)
        elif before.age == age and before.account == account and before.offset == offset:
            return before
        else:
            request_factors = before.request_factors
        # In the order of the names: on that depends what floats add up to.
        points = self._age_weight * age + account.association_points + account.share_points
        points = points + request_factors.size_points + request_factors.partition_points + account.qos_points
        total = int(points + request_factors.resource_points)
        number = max(1, total + offset)
        if self.never_falls and before is not None:
            number = max(number, before.number)
        elif self.never_falls and request.partition is not None and len(job.requests) == 1:
            number = max(number, int(job.priority))  # Of a task of an array: it has the number of the first.
        return JobPriority(number, total, offset, age, account, request_factors)

    # Factors

    def _age(self, job: Job, now: float, view: PriorityView) -> float:
        since = job.queued if self.accrues_always and not job.held else job.accrued
        waited = 0.0 if since is None else now - view.whole(since)
        if waited <= 0:
            return 0.0
        return waited / self.max_age if waited < self.max_age else 1.0

    def _account_factors(self, association: Association | None, qos: Qos | None) -> AccountFactors:
        if association is None:
            return NO_ACCOUNT
        weights = self.weights
        assoc = self._normalised("ASSOC", association)
        share = association.fair_share if weights["Fairshare"] else 0.0
        of_qos = 0.0 if qos is None else self._normalised("QOS", qos)
        points = weights["Assoc"] * assoc, weights["Fairshare"] * share, weights["QOS"] * of_qos
        return AccountFactors(assoc, share, of_qos, *points)

    def _normalised(self, kind: str, of: Association | Qos) -> float:
        return float(of.priority if kind in self._raw else of.norm_priority)

    def _request_factors(self, job: Job, request: Request, view: PriorityView) -> RequestFactors:
        known = None if self._relative_to_time else self._known_factors.get(request)
        if known is not None:
            return known
        size = self._size(job, request, view) if self.weights["JobSize"] else 0.0
        partition = self._partition(request.partition)
        resources = self._resources(request, view)
        bill = sum(self.tres_weights[name] * share for name, share in resources.items())
        points = self.weights["JobSize"] * size, self.weights["Partition"] * partition
        found = self._known_factors[request] = RequestFactors(size, partition, *points, resources, bill)
        return found

    def _size(self, job: Job, request: Request, view: PriorityView) -> float:
        if self._relative_to_time:
            largest = max(request.nodes / view.nodes, request.cpus / float(view.total))
            size = largest / max(job.planned / MINUTE, 1.0)
            return 1 - size if self._favor_small else size
        nodes, cpus = request.nodes, request.cpus
        if self._favor_small:
            # What is left is added up, as in Slurm: that may be a point more or less than what is missing to 1.
            nodes, cpus = view.nodes - nodes, view.total - cpus
        return (nodes / view.nodes + cpus / float(view.total)) / 2

    def _partition(self, partition: Partition | None) -> float:
        if partition is None:
            return 0.0
        return float(partition.job_factor if "PART" in self._raw else partition.norm_priority)

    def _resources(self, request: Request, view: PriorityView) -> Mapping[str, float]:
        """Shares of the resources that have a weight; amounts where they are not to be normalised."""
        wanted = {name: amount for name, amount in request.tres.items() if name in self.tres_weights}
        if not wanted or "TRES" in self._raw:
            return wanted
        total = view.tres(request.partition)
        return {name: amount / total[name] if total.get(name) else 0.0 for name, amount in wanted.items()}


def _amounts(text: str) -> dict[str, float]:
    """``CPU=1000,GRES/gpu=3000`` as numbers, by upper-case name."""
    pairs = [part.partition("=") for part in text.split(",") if part]
    return {name.strip().upper(): float(number) for name, _, number in pairs}
