"""Accounting: whose jobs they are, what that is charged, what it allows, and how much it is favoured.

The controller tells what becomes of its jobs; the loops and the priority plugin ask. Seconds
are whole, as Slurm's are.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from emulator.config.sacctmgr.database import Accounts
from emulator.config.slurm.enforce import enforced
from emulator.config.slurm.model import SlurmConf
from emulator.limits import acct_policy
from emulator.limits.acct_policy import Account
from emulator.limits.ageing import Ageing
from emulator.limits.asked import LimitedCluster, LimitedJob
from emulator.limits.assoc_mgr import MINUTE, RUN_MINUTES, AssocMgr, Quality, Share, Use, resources_of
from emulator.limits.limit_reasons import FADING, REASONS
from emulator.limits.partition_access import NO_ACCOUNT, NO_QOS, PartitionAccess
from emulator.limits.resets import next_reset
from emulator.limits.tres import NODE, Tres, Vector
from emulator.limits.usage import Usage
from emulator.state.demand import demand_of
from emulator.state.partition import Partition
from emulator.state.run import YEAR, State
from emulator.workload.request import JobRequest, RejectedError
from emulator.workload.sbatch import BatchOptions
from slurm_sim_plugins.nodes import Allocation, Mask
from slurm_sim_plugins.priority.fair_share import ClassicShares, fair_share_of
from slurm_sim_plugins.priority.fair_tree import FairTree

SEVERAL_PARTITIONS = "Multiple partition job request not supported when a partition is set in the association"
log = logging.getLogger(__name__)
LIFTING = frozenset({"PARTITIONMAXNODES", "PARTITIONMINNODES", "PARTITIONTIMELIMIT"})
NEEDS_RESERVATION = frozenset({"REQUIRESRESERVATION", "REQUIRERESV"})
NO_LIMIT = 4_294_967_294 * MINUTE
"""Seconds: with so many minutes Slurm notes that a job has no limit, and counts them."""
HALF_LIVES = 20
"""After so many of them usage is within a millionth of where it goes."""


class Accounting:
    """The accounting of a cluster.

    Args:
        conf: the configuration.
        accounts: associations and qualities of service.
        cluster: the cluster state.
        began: second at which the controller started.
        epoch: Unix time of second 0, by which past usage is cleared at midnight.
        period: seconds from the end of a period to that of the next; 0 for never.
        fair_share: how the priority plugin works out who is favoured; None for what PriorityFlags say.
        tracks: whether the priority plugin has past usage tracked.

    Attributes:
        manager: associations and qualities of service with their limits.
        access: which accounts and qualities of service partitions take.
        ageing: which waiting jobs grow older.
        tres: the resources that are counted.
        usage: past usage.
        enforces: which rules hold, upper-case words of ``AccountingStorageEnforce``.
        limits: whether limits hold.
        by_level: whether Fair Tree works out who is favoured.
        steady_after: seconds after which usage is steady if the same jobs run on; a year where it does not decay.
        exempts: for how long jobs of some quality of service cannot be preempted, in seconds.
        has_thresholds: whether a limit holds below some priority (``MinPrioThreshold``).
        decides: whether it decides on the start of any job, or has: otherwise jobs that ask for the same are alike,
            whatever accounts they are on.
        lifts: whether a quality of service lifts bounds of partitions.
        stops: whether a job at a limit blocks its partition (``assoc_limit_stop``).
    """

    def __init__(
        self,
        conf: SlurmConf,
        accounts: Accounts,
        cluster: LimitedCluster,
        began: float,
        epoch: int = 0,
        period: float = 0.0,
        fair_share: FairTree | ClassicShares | None = None,
        tracks: bool = True,
    ) -> None:
        stated = conf.parameters
        self._lines = np.array([id(node.settings) for node in conf.nodes])
        self.enforces = enforced(conf)
        self.limits = "LIMITS" in self.enforces
        self._safe = "SAFE" in self.enforces
        self.stops = stated.flag("SchedulerParameters.assoc_limit_stop")
        flags = {flag.upper() for flag in stated.words("PriorityFlags")}
        dampening = float(stated.count("FairShareDampeningFactor") or 1)
        self._fair_share = fair_share or fair_share_of(flags, dampening)
        self.by_level = self._fair_share.by_level
        weighs = stated.text("PriorityType").lower() == "priority/multifactor"
        self._weight = float(stated.count("PriorityWeightFairshare") or 0) if weighs else 0.0
        self.tres = Tres(conf, resources_of(accounts))
        self._cluster = cluster
        self._read_partitions(conf)
        binds = cluster.parameters.rules.RUN_MINUTES_BIND_USERS
        self.manager = AssocMgr(accounts, self.tres, self.by_level, self._totals, binds)
        for name, qos in accounts.qos.items():
            for limit in filter(qos.tres, () if binds else RUN_MINUTES):
                log.warning(f"QOS {name}: {limit} has no effect in this version of Slurm")
        for partition in conf.partitions:
            if partition.qos and not self.has_qos(partition.qos):
                log.warning(
                    f"partition {partition.name}: QOS={partition.qos}: there is none among the accounts: no effect"
                )
        self._tracks = tracks
        stated_life = stated.amount("PriorityDecayHalfLife")
        half_life = 7 * 86_400.0 if stated_life is None else stated_life
        self.usage = Usage(
            self.manager.rows,
            len(self.tres.names),
            half_life=half_life,
            tracked=self.limits,
            last=float(cluster.whole(began)),
            period=period,
        )
        self.steady_after = HALF_LIVES * half_life if half_life else YEAR
        self.decides = False
        self._kept_by_share: set[tuple[Share, float, bool]] = set()
        self._watched: dict[int, LimitedJob] = {}
        # CPUs of waiting jobs on the nodes that were found for them last: Slurm counts them with these from then on.
        self._cpus_found: dict[int, float] = {}
        self._accounts: dict[tuple[Share, Quality | None, str, str, str], Account] = {}
        # Of waiting jobs in several partitions: all qualities of service for which they count as submitted.
        self._several: dict[int, tuple[Quality, ...]] = {}
        # By heterogeneous job, where it counts as one: where one of its components has counted it.
        self._components: dict[int, set[Use]] = {}
        self._epoch = epoch
        self._reset_period = stated.text("PriorityUsageResetPeriod").upper()
        self._reset_at, self._cleared = next_reset(self._reset_period, began, epoch), -math.inf
        self.ageing = Ageing(cluster, self.limits, self._limited)
        self._look_at_limits()
        self._fair_share.begin_period(self.manager.root, self.usage.raw)

    def has_qos(self, name: str) -> bool:
        """Whether there is a quality of service of a name."""
        return name.lower() in self.manager.qualities

    def _read_partitions(self, conf: SlurmConf) -> None:
        self._partition_qos = {partition.name: partition.qos.lower() for partition in conf.partitions if partition.qos}
        of_all = {self._partition_qos.get(partition.name, "") for partition in conf.partitions}
        self._several_qos = len(of_all) > 1
        self.access = PartitionAccess(conf, self._cluster.parameters.rules)

    def reconfigure(self, conf: SlurmConf, waiting: Iterable[LimitedJob]) -> None:
        """Partitions take other accounts and qualities of service, or have another one, for which waiting jobs count.

        Jobs that run count as they did when they were submitted.
        """
        before = self._partition_qos
        self._read_partitions(conf)
        if self._partition_qos == before:
            return
        for job in waiting:
            if job.account is not None:
                # Whether it may still use its own association and quality of service is not asked again.
                own = job.account
                account = self._counted_by(job, own.share, own.quality, own.account, job.partitions[0])
                self.left(job)
                job.account = account
                self.submitted(job)
        self.ageing.count_again()

    def _look_at_limits(self) -> None:
        manager = self.manager
        bounds = [share.bounds for share in manager.shares.values()]
        bounds += [quality.bounds for quality in manager.qualities.values()]
        self.ageing.limited = self.limits and any(map(acct_policy.limits_ageing, bounds))
        self.has_thresholds = any(one.least_priority is not None for one in bounds)
        # What a limit has kept waiting is looked at one by one also once the limit is gone.
        self.decides |= self.limits and (self.has_thresholds or any(map(acct_policy.tests_starts, bounds)))
        self.decides |= any("NORESERVE" in quality.flags for quality in manager.qualities.values())
        preempts = self._cluster.parameters.preempt_mode != ("OFF",)
        for quality in manager.qualities.values():
            quality.tries_a_minute = preempts and "NORESERVE" in quality.flags
        exempt = [quality.exempt_time for quality in manager.qualities.values()]
        self.exempts = max(filter(None, exempt), default=0.0)
        self.lifts = any(quality.flags & LIFTING for quality in manager.qualities.values())
        for quality in manager.qualities.values():
            self.usage.keep(quality.row, "NODECAY" in quality.flags)

    def _totals(self, name: str) -> Vector:
        """What there is of each resource: in the partition of which a quality of service is, or in all."""
        machine, nodes = self._cluster.machine, self._cluster.no_nodes()
        for partition in self._cluster.partitions.values():
            if self._partition_qos.get(partition.name) == name:
                nodes = nodes | partition.nodes
        return self.tres.of_nodes(nodes if nodes.any() else ~nodes, machine)

    # Submissions

    def admit(self, job: LimitedJob, count: int = 1) -> None:
        """Find the account of a job; gives it the names of account and quality of service that it did not state.

        Args:
            job: a job, or the first task of an array.
            count: how many tasks there are.

        Raises:
            RejectedError: it has no association, may not use what it asks for, or there are too many.
        """
        self.changed()
        account = self.account_of(job)
        if account is None:
            return
        barred = self.access.checked(job, account)
        if barred:
            job.barred = {**job.barred, **barred}
        job.account = account
        whose = account.account, account.quality.qos.name if account.quality else ""
        if whose != (job.options.account, job.options.qos):
            job.request = replace(job.request, options=_charged(job.options, *whose))
        if self.limits:
            stated = job.options.time_limit is not None or job.named_first.default_time is not None
            longest = math.inf if stated else acct_policy.longest(account, self._wanted(job, job.partitions[0]))
            if longest < math.inf:
                # As if the job had stated it, also where MaxTime is less; DefaultTime counts as stated, too (recorded).
                job.limit = longest
                job.request = replace(job.request, options=replace(job.options, time_limit=longest))
            for partition in job.partitions:
                self._try_in(job, partition)
                refused = acct_policy.too_many(job.account, count, self._counted_in(job))
                if not refused and acct_policy.denies(job.account):
                    refused = acct_policy.never(job.account, self._stated(job, partition), job.limit)
                if refused:
                    raise RejectedError(f"{refused}\n{acct_policy.POLICY}")
                self._check_component(job, partition)
            self._try_in(job, job.partitions[0])

    def _check_component(self, job: LimitedJob, partition: Partition) -> None:
        """Refuse a component of a heterogeneous job that is too large by itself, where limits deny these."""
        denies = job.request.het_job_id is not None and self._cluster.parameters.rules.LIMITS_DENY_COMPONENTS
        if job.account is None or not denies:
            return
        if acct_policy.never(job.account, self._stated(job, partition), job.limit):
            raise RejectedError(acct_policy.POLICY)

    def check_together(self, jobs: Sequence[LimitedJob]) -> None:
        """Refuse components that are together beyond a limit on what runs, where limits deny them.

        Those of one quality of service count together for its limits, and those of one association for this one's,
        whatever else runs. (Asked of 26.05.)

        Raises:
            RejectedError: they are.
        """
        if not self.limits or not self._cluster.parameters.rules.LIMITS_DENY_COMPONENTS:
            return
        of_qualities, of_shares = dict[int, list[LimitedJob]](), dict[int, list[LimitedJob]]()
        for job in jobs:
            if job.account is not None:
                of_shares.setdefault(id(job.account.share), []).append(job)
                for quality, _ in job.account.own:
                    of_qualities.setdefault(id(quality), []).append(job)
        for key, some in of_qualities.items():
            account = some[0].account
            assert account is not None
            bounds = next(bounds for quality, bounds in account.own if id(quality) == key)
            if acct_policy.together_in(bounds, *self._asked_by(some)):
                raise RejectedError(acct_policy.POLICY)
        for some in of_shares.values():
            account = some[0].account
            assert account is not None
            if acct_policy.together_on(account, *self._asked_by(some)):
                raise RejectedError(acct_policy.POLICY)

    def _asked_by(self, jobs: Sequence[LimitedJob]) -> tuple[int, Vector, Vector]:
        """How many jobs there are, what they ask for, and for how many minutes."""
        wanted = [self._stated(job, job.partitions[0]) for job in jobs]
        lasting = ([count * _minutes(job) for count in has] for job, has in zip(jobs, wanted, strict=True))
        amounts, minutes = ([sum(counts) for counts in zip(*rows, strict=True)] for rows in (wanted, lasting))
        return len(jobs), amounts, minutes

    def most_nodes(self, job: LimitedJob, partition: Partition | None = None) -> float:
        """How many nodes may be chosen for a job in a partition (None: in any); infinite where that is not limited."""
        if job.account is None or not self.limits:
            return math.inf
        most = 0.0
        for each in job.partitions if partition is None else (partition,):
            self._try_in(job, each)
            most = max(most, acct_policy.most_nodes(job.account))
        return most

    def join(self, job: LimitedJob, first: LimitedJob) -> None:
        """A further task of an array has the account of the first one, and partitions bar it as they do that."""
        job.barred = first.barred
        if first.account is not None:
            job.account = first.account.for_another()
            job.limit = first.limit
            options = _charged(job.options, first.options.account, first.options.qos)
            if options.time_limit != first.options.time_limit:
                options = replace(options, time_limit=first.options.time_limit)
            job.request = replace(job.request, options=options)

    def account_of(self, job: LimitedJob) -> Account | None:
        """The account of a job; None for one without an association, where that is allowed.

        Raises:
            RejectedError: it has none, or may not use what it asks for.
        """
        accounts, options = self.manager.accounts, job.options
        found = accounts.association(job.request.user, options.account, job.partitions[0].name)
        if found is None:
            if "ASSOCIATIONS" in self.enforces:
                raise RejectedError(NO_ACCOUNT)
            return None
        of_each = (accounts.association(job.request.user, options.account, each.name) for each in job.partitions)
        if len(job.partitions) > 1 and any(one is not None and one.partition for one in of_each):
            raise RejectedError(SEVERAL_PARTITIONS)
        name = options.qos.lower() or accounts.default_qos(found)
        quality = self.manager.qualities.get(name)
        if options.qos and "QOS" in self.enforces and (quality is None or name not in accounts.qos_of(found)):
            raise RejectedError(NO_QOS)
        if quality is not None and self._not_for(job, quality):
            raise RejectedError(NO_QOS)
        return self._counted_by(job, self.manager.shares[found.key], quality, found.account, job.partitions[0])

    def _counted_by(
        self, job: LimitedJob, share: Share, own: Quality | None, name: str, partition: Partition
    ) -> Account:
        """A job counts for an association and its own quality of service, and for that of a partition."""
        user = job.request.user
        key = share, own, self._partition_qos.get(partition.name, ""), user, name
        known = self._accounts.get(key)
        if known is None or known.version != self.manager.version:
            qualities = self._order(key[2], own)
            self._count_minutes(qualities, user, name)
            known = self._accounts[key] = Account(share, qualities, own, user, name, self.manager.version, key[2])
            known.least_priority *= self.limits
        return known.for_another()

    def _try_in(self, job: LimitedJob, partition: Partition) -> None:
        """A job in several partitions is limited by the quality of service of that in which it is tried (recorded).

        One that has started counts where it did, whatever is asked of its partitions later.
        """
        account = job.account
        if account is None or not self._several_qos or account.meter is not None:
            return
        if account.of_partition == self._partition_qos.get(partition.name, ""):
            return
        ages = account.ages
        acct_policy.age(account, False)
        job.account = self._counted_by(job, account.share, account.quality, account.account, partition)
        acct_policy.age(job.account, ages)

    def _of_all(self, job: LimitedJob) -> tuple[Quality, ...]:
        """The qualities of service of a job and of all of its partitions; none where there are no others than these."""
        account = job.account
        if account is None or len(job.partitions) == 1:
            return ()
        names = {self._partition_qos.get(partition.name, "") for partition in job.partitions}
        found = {one: None for name in sorted(names) for one in self._order(name, account.quality)}
        return tuple(found) if len(names) > 1 else ()

    def _not_for(self, job: LimitedJob, quality: Quality) -> bool:
        """Whether a quality of service is only for jobs of reservations, or for a partition."""
        if quality.flags & NEEDS_RESERVATION and not job.options.reservation:
            return True
        return "RELATIVE" in quality.flags and quality.qos.name in self._partition_qos.values()

    def lifted(self, request: JobRequest, partition: str) -> frozenset[str]:
        """Bounds of partitions that the quality of service of a submission lifts."""
        if not self.lifts:
            return frozenset()
        accounts, options = self.manager.accounts, request.options
        found = accounts.association(request.user, options.account, partition)
        name = options.qos.lower() or (accounts.default_qos(found) if found is not None else "")
        quality = self.manager.qualities.get(name)
        return quality.flags & LIFTING if quality is not None else frozenset()

    def _order(self, of_partition: str, own: Quality | None) -> list[Quality]:
        """Those whose limits hold; the partition's goes first unless the job's says otherwise (observation E10)."""
        partition = self.manager.qualities.get(of_partition)
        found = [one for one in (partition, own) if one is not None]
        if own is not None and "OVERPARTQOS" in own.flags:
            found.reverse()
        return found if len(found) < 2 or found[0] is not found[1] else found[:1]

    def submitted(self, job: LimitedJob) -> None:
        """A job is in the queue."""
        if job.account is not None:
            self._count_submitted(job, 1)
            self.waits(job)

    def _count_submitted(self, job: LimitedJob, count: int) -> None:
        """A job has come, or (-1) gone; where components count as one, with the first that comes and goes."""
        led_by = job.request.het_job_id
        if job.account is None:
            return
        if led_by is None or not self._cluster.parameters.rules.COMPONENTS_COUNT_AS_ONE:
            acct_policy.submitted(job.account, count)
            return
        counted = self._components.setdefault(led_by, set())
        for use in job.account.uses():
            if (use in counted) is (count < 0):
                use.submitted += count
                counted ^= {use}
        if not counted:
            del self._components[led_by]

    def _counted_in(self, job: LimitedJob) -> Collection[Use]:
        """Where components before this one count already, which do so for all."""
        return self._components.get(job.request.het_job_id or 0, ())

    def waits(self, job: LimitedJob) -> None:
        """A job that counts as submitted waits: in several partitions it counts for the qualities of service of all."""
        found = self._of_all(job)
        if job.account is not None and found:
            self._several[job.id] = found
            acct_policy.waits_elsewhere(job.account, set(found).difference(job.account.qualities))

    def _in_one(self, job: LimitedJob) -> None:
        """A job counts in other partitions no longer."""
        found = self._several.pop(job.id, ())
        if job.account is not None and found:
            acct_policy.waits_elsewhere(job.account, set(found).difference(job.account.qualities), -1)

    def left(self, job: LimitedJob) -> None:
        """A job has left for good."""
        self._in_one(job)
        self._cpus_found.pop(job.id, None)
        if job.account is not None:
            acct_policy.age(job.account, False)
            self._count_submitted(job, -1)

    # Limits

    def obstacle(self, job: LimitedJob, partition: Partition) -> str:
        """Why a job cannot start in a partition whatever nodes there are; empty if it may be able to."""
        account = self._limited(job, partition)
        if account is None or not account.tests_jobs:
            return ""
        least = acct_policy.least_share(account)
        if least:
            kept = self._has_less(account.share, least)
            self._kept_by_share.add((account.share, least, kept))
            if kept:
                return "QOSUsageThreshold"
        # Nothing bounds the limit that an operator gives a job.
        limit = 0.0 if job.limit_of_operator else _counted_limit(job, partition)
        return acct_policy.before_nodes(account, limit, self.usage, self._safe)

    def refusal(
        self,
        job: LimitedJob,
        partition: Partition,
        allocation: Allocation | None = None,
        planned: bool = False,
        nodes: int = 0,
        alone: Allocation | None = None,
        least: bool = False,
    ) -> str:
        """Why a job cannot start on nodes (None: on any, so many of them if that is known); empty if it can.

        Limits on minutes count it with its limit or (``least``) with as little as it takes (``--time-min``). Of a job
        of whole nodes that has none now all generic resources count that it would have alone.

        For a later start all of its nodes count, but those that it names and that count already (recorded); where
        versions know which nodes are planned, it is these. Of the generic resources of whole nodes those count then
        that the job asks for.
        """
        account = self._limited(job, partition)
        if account is None or not account.tests_resources:
            return ""
        if allocation is None:
            amounts = self._wanted(job, partition, self._cpus_found.get(job.id, 0), nodes)
            if alone is not None:
                whole = self.tres.allocated(job.options, alone, partition, self._cluster.machine)
                amounts = self.tres.with_gres(amounts, whole, partition)
        else:
            self._cpus_found[job.id] = float(self._cluster.machine.cpus_of(allocation))
            amounts = self.tres.allocated(job.options, allocation, partition, self._cluster.machine)
            amounts = self.tres.without_chance_types(amounts, job.wants[partition.name], job.options)
            if planned:
                asked = self._wanted(job, partition, self._cpus_found[job.id], len(allocation.nodes))
                amounts = self.tres.with_gres(amounts, asked, partition)
        if account.tests_nodes:
            self._count_nodes(account, self._nodes_at_start(job, partition, allocation, planned))
        limit = job.time_min if least and job.time_min is not None else _counted_limit(job, partition)
        return self._with_nodes(account, amounts, limit, self.usage)

    def _nodes_at_start(
        self, job: LimitedJob, partition: Partition, allocation: Allocation | None, planned: bool
    ) -> Sequence[int]:
        """Nodes that count for a job, though they may for others: those of its start, as far as they are known."""
        if allocation is not None and not planned:
            return allocation.nodes
        named = job.wants[partition.name].required
        if named is not None:
            return np.flatnonzero(named).tolist()
        known = allocation is not None and self._cluster.parameters.rules.PLANNED_NODES_ARE_KNOWN
        return allocation.nodes if allocation is not None and known else ()

    def _with_nodes(self, account: Account, amounts: Vector, limit: float, usage: Usage) -> str:
        return acct_policy.with_nodes(account, amounts, limit, usage, self._safe)

    def counts_amounts(self, job: LimitedJob, partition: Partition) -> bool:
        """Whether limits on what jobs have hold for a job."""
        account = self._limited(job, partition)
        return account is not None and account.tests_resources

    def heavier(self, job: LimitedJob, partition: Partition) -> Mask | None:
        """Nodes that would count against a limit in addition, where others of their line count already; None for none.

        They are heavier by one as a job starts.
        """
        account = self._limited(job, partition)
        if account is None or not account.tests_nodes or not self._cluster.parameters.rules.COUNTED_NODES_GO_FIRST:
            return None
        had = self._nodes_of(account.of_nodes())
        count = np.zeros(len(self._lines), dtype=bool)
        count[list(set().union(*had.values()))] = True
        lines = np.unique(self._lines[count])
        return np.isin(self._lines, lines) & ~count if len(lines) else None

    def _nodes_of(self, uses: Iterable[Use]) -> dict[Use, set[int]]:
        """The nodes that jobs have, each once; those of a run that is over do not count while they are cleared."""
        nodes: dict[Use, set[int]] = {use: set() for use in uses}
        for job in (*self._cluster.running.values(), *self._cluster.suspended.values()):
            if job.account is not None and job.account.meter is not None and job.run is not None:
                for use in nodes.keys() & set(job.account.uses()):
                    nodes[use].update(job.run.allocation.nodes)
        return nodes

    def _count_nodes(self, account: Account, taken: Sequence[int]) -> None:
        """Count the nodes that jobs have, each once; those of them that are about to be taken count for the new job."""
        for use, had in self._nodes_of(account.uses()).items():
            use.tres[NODE] = float(len(had.difference(taken)))

    def binds(self, job: LimitedJob, partition: Partition) -> bool:
        """Whether limits have to be looked at before a job starts in a partition, or have kept it from starting."""
        account = self._limited(job, partition)
        return job.reason in REASONS or (account is not None and (account.tests_jobs or account.tests_resources))

    def _limited(self, job: LimitedJob, partition: Partition | None = None) -> Account | None:
        """The account of a job, as it is tried in a partition, with limits as they are now; None where none hold."""
        if job.account is None or not self.limits:
            return None
        if partition is not None:
            self._try_in(job, partition)
        account = job.account
        if account.version != self.manager.version:
            self._count_minutes(account.qualities, account.user, account.account)
            account.refresh(self.manager.version)
        return account

    def _count_minutes(self, qualities: Sequence[Quality], user: str, account: str) -> None:
        """Have minutes counted of users and accounts for whom a quality of service limits them."""
        for quality in qualities:
            if quality.bounds.max_run_mins_user:
                self.manager.open_row(quality.of(quality.users, user))
            if quality.bounds.max_run_mins_account:
                self.manager.open_row(quality.of(quality.accounts, account))
        self.usage.grow(self.manager.rows)

    def _wanted(self, job: LimitedJob, partition: Partition, cpus: float = 0, nodes: int = 0) -> Vector:
        want, managed = job.wants[partition.name], partition.gives_memory
        return self.tres.wanted(want, job.options, partition, self._cluster.machine, managed, cpus, nodes)

    def _stated(self, job: LimitedJob, partition: Partition) -> Vector:
        """What a submission asks for; memory counts where it is not given out, too."""
        want, machine = job.wants[partition.name], self._cluster.machine
        demand = demand_of(job.request, partition, machine, self._cluster.parameters.rules, want.min_nodes)
        return self.tres.stated(want, job.options, partition, machine, demand)

    def forget(self, job: LimitedJob, reason: str = "None") -> None:
        """No limit keeps a job from starting any more: its reason is another one; that of generic ones may stay."""
        goes = "GRES" not in job.reason or self._cluster.parameters.rules.REASONS_OF_GRES_GO
        if job.reason in REASONS and goes:
            job.reason = reason

    def never_starts(self, job: LimitedJob) -> bool:
        """Whether a waiting job is beyond a limit that will not let go of it although nothing runs."""
        if job.reason not in REASONS:
            return False
        cleared = self._reset_at is not None
        if job.reason not in FADING or not self.usage.may_fade(cleared):
            return not self._of_all(job) or all(self._kept_in(job, each, self.usage) for each in job.partitions)
        if job.reason == "QOSUsageThreshold":
            # Shares of usage that all decays alike stay what they are.
            return not cleared and not self._cluster.running
        return all(self._kept_in(job, each, self.usage.without_past()) for each in job.partitions)

    def _kept_in(self, job: LimitedJob, partition: Partition, usage: Usage) -> bool:
        """Whether a limit keeps a job from starting in a partition, with this usage."""
        account = self._limited(job, partition)
        return account is not None and bool(
            acct_policy.before_nodes(account, _counted_limit(job, partition), usage, self._safe)
            or self._with_nodes(account, self._wanted(job, partition), _counted_limit(job, partition), usage)
        )

    def cleared(self, since: float) -> float:
        """When past usage is cleared for the first time after a second; that second if it never is."""
        if self._reset_at is None:
            return since
        return self._cleared if self._cleared > since else self._reset_at

    @property
    def watches(self) -> bool:
        """Whether a job runs that may use its minutes up."""
        return bool(self._watched)

    @property
    def counts_minutes(self) -> bool:
        """Whether a job runs whose own minutes are limited, so that it is looked at in each sweep."""
        accounts = (job.account for job in self._watched.values())
        return any(account is not None and acct_policy.counts_minutes(account) for account in accounts)

    def used_up(self) -> list[int]:
        """Ids of running jobs that must end because minutes are used up (observation E8)."""
        now = self._cluster.now
        return [
            job.id
            for job in self._watched.values()
            if job.state is State.RUNNING and job.run is not None and (account := self._limited(job)) is not None
            if acct_policy.used_up(account, self.usage, now - job.run.start - job.run.suspended(now))
        ]

    # Runs

    def started(self, job: LimitedJob) -> None:
        """A job is on the machine."""
        run = job.run
        if job.account is None or run is None:
            return
        partition = self._cluster.partitions[run.partition]
        self._try_in(job, partition)
        self._in_one(job)
        account = job.account
        amounts = self.tres.allocated(job.options, run.allocation, partition, self._cluster.machine)
        acct_policy.age(account, False)
        acct_policy.started(account, amounts)
        limit = min(run.limit, YEAR)
        if self.limits and acct_policy.may_be_used_up(account):
            self._watched[job.id] = job
        account.meter = self.usage.start(account.rows, amounts, account.factor, self._second(), limit)

    def relimited(self, job: LimitedJob, before: float) -> None:
        """A running job has another limit than before: limits on minutes that running jobs may use go by it at once."""
        account, run = job.account, job.run
        if account is not None and account.meter is not None and run is not None:
            self.usage.relimit(account.meter, min(run.limit, YEAR) - min(before, YEAR))

    def count(self, job: LimitedJob, partition: Partition, allocation: Allocation) -> None:
        """Let limits go by a job as if it had started: others are to start with it."""
        self._try_in(job, partition)
        if job.account is not None:
            amounts = self.tres.allocated(job.options, allocation, partition, self._cluster.machine)
            acct_policy.started(job.account, amounts)

    def uncount(self, job: LimitedJob) -> None:
        """Undo :meth:`count`."""
        if job.account is not None:
            acct_policy.stopped(job.account)

    def ended(self, job: LimitedJob) -> None:
        """A run is over: what it used since the last period is charged only where limits hold (observation F1).

        It is charged while it is suspended, too (recorded in three versions).
        """
        # One that is requeued counts with what it asks for again.
        self._cpus_found.pop(job.id, None)
        account = job.account
        if account is None or account.meter is None:
            return
        # Where no past usage is tracked older versions take back what a run may use without the usage factor.
        alike = self._tracks or self._cluster.parameters.rules.MINUTES_END_WITH_FACTOR or account.factor == 1.0
        given = None if alike else account.amounts
        self.usage.end(account.meter, self._second(), charged=self.limits and self._tracks, gives_back=given)
        account.meter = None
        self._watched.pop(job.id, None)
        acct_policy.stopped(account)

    def _second(self) -> float:
        return self._cluster.whole(self._cluster.now)

    # Periods

    def period(self) -> bool:
        """Let past usage decay, charge what ran, work out who is favoured; says whether limits may let go of jobs."""
        now = self._second()
        self.changed()
        reset = self._reset_at is not None and now >= self._reset_at
        if reset:
            self._reset_at, self._cleared = next_reset(self._reset_period, now, self._epoch), now
        if self.by_level:
            self.usage.period(now, reset=reset)
        self._fair_share.begin_period(self.manager.root, self.usage.raw)
        if not self.by_level:
            self.usage.decay(now, reset=reset)
            self._one_by_one(now)
        self.ageing.period()
        return self.limits and (self._favoured_otherwise() or self.usage.decided_otherwise())

    def begin_pass(self, loop: str) -> None:
        """A loop looks at all limits again."""
        self.usage.begin_pass(loop)

    def _favoured_otherwise(self) -> bool:
        """Whether any job would be kept waiting by its share that was not, or the other way round."""
        found = any(
            (not self.by_level and share.counts_as.effective is None) or self._has_less(share, least) is not kept
            for share, least, kept in self._kept_by_share
        )
        if found:
            self._kept_by_share.clear()
        return found

    def steady_until(self) -> float:
        """Before when periods need not end one after the other: no limit is looked at, and no job waits to be."""
        if not self.by_level or self._watched:
            return self.usage.last
        # These are whole seconds, to which up to one may have been added.
        return min(self.usage.steady_until(), math.inf if self._reset_at is None else self._reset_at) - 1.0

    def _one_by_one(self, now: float) -> None:
        """Classic fair share charges running jobs and weighs users of waiting ones by turns, in the order of ids."""
        cluster = self._cluster
        jobs = (*cluster.running.values(), *cluster.suspended.values(), *cluster.waiting.values())
        for job in sorted(jobs, key=lambda job: job.id):
            if job.account is None:
                continue
            if job.account.meter is not None:
                self.usage.advance(job.account.meter, now)
            elif not (job.on_hold or job.fixed_priority):
                self.factor(job.account.share)

    def changed(self) -> bool:
        """Take in what ``sacctmgr`` has changed; says whether anything was."""
        if not self.manager.refresh():
            return False
        self.usage.grow(self.manager.rows)
        for one in self.manager.forgotten():
            if isinstance(one, Quality):
                self.usage.forget([one.row])
            else:
                share, below = one
                above = [each.row for each in share.line() if each is not share]
                self.usage.forget([share.row, *(each.row for each in below)], above)
        self._look_at_limits()
        self.ageing.count_again()
        return True

    # Who is favoured

    def fair_share(self, job: LimitedJob) -> float:
        """The fair-share factor of a job's association."""
        return self.factor(job.account.share) if job.account is not None else 0.0

    def factor(self, share: Share) -> float:
        """The fair-share factor of an association."""
        return self._fair_share.factor(share, self.manager.root, self.usage.raw)

    def _has_less(self, share: Share, least: float) -> bool:
        """Whether an association is below a ``UsageThreshold``: Slurm takes its factor with the weight of priorities.

        It is the factor alone where fair share has no weight. (Recorded.)
        """
        return self.factor(share) * (self._weight or 1.0) < least

    def effective(self, share: Share) -> float:
        """The usage that counts for an association."""
        self.factor(share)
        return share.effective or 0.0


def _counted_limit(job: LimitedJob, partition: Partition) -> float:
    """Seconds for which limits count a job: of one without a limit before its first start the most that there are.

    It gets the partition's ``DefaultTime``, or ``MaxTime``, only then: without a ``DefaultTime`` it is beyond any limit
    of minutes before. (Slurm's sources, and recorded.)
    """
    stated = job.options.time_limit is not None or job.limit_of_operator or job.runs
    if stated or job.named_first.default_time is not None:
        return min(job.limit, NO_LIMIT)
    return NO_LIMIT if partition.default_time is None else min(partition.default_time, NO_LIMIT)


def _minutes(job: LimitedJob) -> float:
    """The limit of a job in minutes; 0 for none."""
    return job.limit / MINUTE if job.limit < math.inf else 0.0


@lru_cache(maxsize=4096)
def _charged(options: BatchOptions, account: str, qos: str) -> BatchOptions:
    """The same on an account and with a quality of service: jobs that ask for the same share it."""
    return replace(options, account=account, qos=qos)
