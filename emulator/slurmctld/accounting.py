"""Accounting: whose jobs they are, what that is charged, what it allows, and how much it is favoured.

The controller tells what becomes of its jobs; the loops and the priority plugin ask. Seconds
are whole, as Slurm's are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from emulator.config.sacctmgr.database import Accounts
from emulator.config.slurm.model import SlurmConf
from emulator.slurmctld import acct_policy, fair_tree
from emulator.slurmctld.acct_policy import Account
from emulator.slurmctld.assoc_mgr import AssocMgr, Quality, Share, resources_of
from emulator.slurmctld.cluster import Cluster
from emulator.slurmctld.fair_share import ClassicShares
from emulator.slurmctld.job import NOTHING, YEAR, Job, Partition, State
from emulator.slurmctld.limit_reasons import FADING, REASONS
from emulator.slurmctld.nodes import Allocation
from emulator.slurmctld.request import JobRequest, RejectedError
from emulator.slurmctld.resets import next_reset
from emulator.slurmctld.tres import Tres, Vector
from emulator.slurmctld.usage import Usage

NO_ACCOUNT = "Invalid account or account/partition combination specified"
NO_QOS = "Invalid qos specification"
LIFTING = frozenset({"PARTITIONMAXNODES", "PARTITIONMINNODES", "PARTITIONTIMELIMIT"})
NEEDS_RESERVATION = frozenset({"REQUIRESRESERVATION", "REQUIRERESV"})


class Accounting:
    """The books of a cluster.

    Args:
        conf: the configuration.
        accounts: associations and qualities of service.
        cluster: the situation.
        began: second at which the controller started.
        phase: what is added before seconds are cut to whole ones.
        epoch: Unix time of second 0, by which past usage is cleared at midnight.

    Attributes:
        manager: associations and qualities of service with their limits.
        tres: the resources that are counted.
        usage: past usage.
        enforces: which rules hold, upper-case words of ``AccountingStorageEnforce``.
        limits: whether limits hold.
        by_level: whether Fair Tree works out who is favoured.
        exempts: whether jobs of some quality of service cannot be preempted for a while.
        stops: whether a job at a limit blocks its partition (``assoc_limit_stop``).
    """

    def __init__(
        self,
        conf: SlurmConf,
        accounts: Accounts,
        cluster: Cluster,
        began: float,
        phase: float = 0.0,
        epoch: int = 0,
    ) -> None:
        stated = conf.parameters
        self.enforces = enforced(conf)
        self.limits = "LIMITS" in self.enforces
        self.stops = stated.flag("SchedulerParameters.assoc_limit_stop")
        flags = {flag.upper() for flag in stated.words("PriorityFlags")}
        self.by_level = not flags & {"NO_FAIR_TREE", "DEPTH_OBLIVIOUS"}
        self.tres = Tres(conf, resources_of(accounts))
        self._cluster = cluster
        self._partition_qos = {partition.name: partition.qos.lower() for partition in conf.partitions if partition.qos}
        self.manager = AssocMgr(accounts, self.tres, self.by_level, self._totals)
        dampening = float(stated.count("FairShareDampeningFactor") or 1)
        self._classic = None if self.by_level else ClassicShares(dampening, "DEPTH_OBLIVIOUS" in flags)
        self._tracks = stated.text("PriorityType").lower() == "priority/multifactor"
        half_life = stated.amount("PriorityDecayHalfLife")
        self.usage = Usage(
            self.manager.rows,
            len(self.tres.names),
            half_life=7 * 86_400.0 if half_life is None else half_life,
            tracked=self.limits,
            last=float(math.floor(began + phase)),
        )
        self._phase = phase
        self._watched: dict[int, Job] = {}
        self._epoch = epoch
        self._reset_period = stated.text("PriorityUsageResetPeriod").upper()
        self._reset_at = next_reset(self._reset_period, began, epoch)
        self._allowed = {
            partition.name: (partition.allow_accounts, partition.deny_accounts, partition.allow_qos, partition.deny_qos)
            for partition in conf.partitions
        }
        self._every_partition = stated.text("EnforcePartLimits").upper() in ("ALL", "YES")
        self._look_at_limits()
        if self._classic is None:
            fair_tree.rank(self.manager.root, self.usage.raw)
        else:
            self._classic.begin_period(self.manager.root, self.usage.raw)

    def _look_at_limits(self) -> None:
        manager = self.manager
        bounds = [share.bounds for share in manager.shares.values()]
        bounds += [quality.bounds for quality in manager.qualities.values()]
        self._fades = any(
            one.grp_tres_mins
            or one.grp_tres_run_mins
            or one.max_run_mins_user
            or one.max_run_mins_account
            or one.grp_wall is not None
            or one.least_share is not None
            for one in bounds
        )
        self._ageing_limited = self.limits and any(
            one.grp_accrue is not None or one.max_accrue is not None or one.max_accrue_account is not None
            for one in bounds
        )
        self.exempts = any(quality.qos.number("PreemptExemptTime") for quality in manager.qualities.values())
        self._lifts = any(quality.flags & LIFTING for quality in manager.qualities.values())
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

    def admit(self, job: Job, count: int = 1) -> Job:
        """Find the account of a job; gives it the names of account and quality of service that it did not state.

        Args:
            job: a job, or the first task of an array.
            count: how many tasks there are.

        Raises:
            RejectedError: it is nobody's, may not use what it asks for, or there are too many.
        """
        self.changed()
        account = self._account(job)
        if account is None:
            return job
        self._check_partitions(job, account)
        job.account = account
        options = replace(job.options, account=account.account, qos=account.quality.qos.name if account.quality else "")
        job.request = replace(job.request, options=options)
        if self.limits:
            longest = acct_policy.longest(account)
            if job.options.time_limit is None and longest < job.limit:
                job.limit = longest
            refused = acct_policy.too_many(account, count)
            partition = job.partitions[0]
            refused = refused or acct_policy.never(account, self._wanted(job, partition), job.limit)
            if refused:
                raise RejectedError(f"{refused}\n{acct_policy.POLICY}")
        return job

    def join(self, job: Job, first: Job) -> None:
        """A further task of an array has the account of the first one."""
        if first.account is not None:
            job.account = replace_account(first.account)
            job.limit = first.limit
            options = replace(job.options, account=first.options.account, qos=first.options.qos)
            job.request = replace(job.request, options=options)

    def _account(self, job: Job) -> Account | None:
        """The account of a job; None for one that is nobody's, where that is allowed."""
        accounts, options = self.manager.accounts, job.options
        found = accounts.association(job.request.user, options.account, job.partitions[0].name)
        if found is None:
            if "ASSOCIATIONS" in self.enforces:
                raise RejectedError(NO_ACCOUNT)
            return None
        name = options.qos.lower() or accounts.default_qos(found)
        quality = self.manager.qualities.get(name)
        if options.qos and "QOS" in self.enforces and (quality is None or name not in accounts.qos_of(found)):
            raise RejectedError(NO_QOS)
        if quality is not None and self._not_for(job, quality):
            raise RejectedError(NO_QOS)
        share, qualities = self.manager.shares[found.key], self._order(job, quality)
        self._count_minutes(qualities, job.request.user, found.account)
        account = Account(share, qualities, quality, job.request.user, found.account, self.manager.version)
        account.least_priority *= self.limits
        return account

    def _not_for(self, job: Job, quality: Quality) -> bool:
        """Whether a quality of service is only for jobs of reservations, or for a partition."""
        if quality.flags & NEEDS_RESERVATION and not job.options.reservation:
            return True
        return "RELATIVE" in quality.flags and quality.qos.name in self._partition_qos.values()

    def lifted(self, request: JobRequest, partition: str) -> frozenset[str]:
        """Bounds of partitions that the quality of service of a submission lifts."""
        if not self._lifts:
            return NOTHING
        accounts, options = self.manager.accounts, request.options
        found = accounts.association(request.user, options.account, partition)
        name = options.qos.lower() or (accounts.default_qos(found) if found is not None else "")
        quality = self.manager.qualities.get(name)
        return quality.flags & LIFTING if quality is not None else NOTHING

    def _order(self, job: Job, own: Quality | None) -> list[Quality]:
        """Those whose limits hold; the partition's goes first unless the job's says otherwise (observation E10)."""
        name = self._partition_qos.get(job.partitions[0].name, "")
        partition = self.manager.qualities.get(name)
        found = [one for one in (partition, own) if one is not None]
        if own is not None and "OVERPARTQOS" in own.flags:
            found.reverse()
        return found if len(found) < 2 or found[0] is not found[1] else found[:1]

    def _check_partitions(self, job: Job, account: Account) -> None:
        """Whether the partitions admit the account and the quality of service."""
        refused = [words for words in (self._refusal(partition, account) for partition in job.partitions) if words]
        if refused and (self._every_partition or len(refused) == len(job.partitions)):
            raise RejectedError(refused[0])

    def _refusal(self, partition: Partition, account: Account) -> str:
        accounts, denied_accounts, qualities, denied = self._allowed[partition.name]
        if not _admits(account.account, accounts, denied_accounts):
            return NO_ACCOUNT
        qos = account.quality.qos.name if account.quality is not None else ""
        return "" if _admits(qos, qualities, denied) else NO_QOS

    def submitted(self, job: Job) -> None:
        """A job is in the queue."""
        if job.account is not None:
            acct_policy.submitted(job.account)

    def left(self, job: Job) -> None:
        """A job has left for good."""
        if job.account is not None:
            acct_policy.age(job.account, False)
            acct_policy.submitted(job.account, -1)

    # Limits

    def obstacle(self, job: Job) -> str:
        """Why a job cannot start whatever nodes there are; empty if it may be able to."""
        account = self._limited(job)
        if account is None or not account.tests_jobs:
            return ""
        least = acct_policy.least_share(account)
        if least and self.factor(account.share) < least:
            return "QOSUsageThreshold"
        return acct_policy.before_nodes(account, job.limit, self.usage)

    def refusal(self, job: Job, partition: Partition, allocation: Allocation | None = None) -> str:
        """Why a job cannot start on nodes (None: on any); empty if it can."""
        account = self._limited(job)
        if account is None or not account.tests_resources:
            return ""
        if allocation is None:
            amounts = self._wanted(job, partition)
        else:
            amounts = self.tres.allocated(job, allocation, partition, self._cluster.machine)
        safe = "SAFE" in self.enforces
        return acct_policy.with_nodes(account, amounts, min(job.limit, YEAR), self.usage, safe)

    def binds(self, job: Job) -> bool:
        """Whether limits have to be looked at before a job starts, or have kept it from starting."""
        account = self._limited(job)
        return job.reason in REASONS or (account is not None and (account.tests_jobs or account.tests_resources))

    def _limited(self, job: Job) -> Account | None:
        """The account of a job, with limits as they are now; None where none hold."""
        account = job.account
        if account is None or not self.limits:
            return None
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

    def _wanted(self, job: Job, partition: Partition) -> Vector:
        return self.tres.wanted(job, partition, self._cluster.machine, self._cluster.parameters.memory)

    @staticmethod
    def forget(job: Job, reason: str = "None") -> None:
        """No limit keeps a job from starting any more: its reason is another one."""
        if job.reason in REASONS:
            job.reason = reason

    def never_starts(self, job: Job) -> bool:
        """Whether a waiting job is beyond a limit that will not let go of it although nothing runs."""
        if job.reason not in REASONS:
            return False
        return job.reason not in FADING or not self.usage.may_fade(self._reset_at is not None)

    def used_up(self) -> list[Job]:
        """Running jobs that must end because minutes are used up (observation E8)."""
        now = self._cluster.now
        return [
            job
            for job in self._watched.values()
            if job.state is State.RUNNING and job.run is not None and (account := self._limited(job)) is not None
            if acct_policy.used_up(account, self.usage, now - job.run.start - job.run.suspended(now))
        ]

    # Runs

    def started(self, job: Job) -> None:
        """A job is on the machine."""
        account, run = job.account, job.run
        if account is None or run is None:
            return
        partition = self._cluster.partitions[run.partition]
        amounts = self.tres.allocated(job, run.allocation, partition, self._cluster.machine)
        acct_policy.age(account, False)
        acct_policy.started(account, amounts)
        limit = min(run.limit, YEAR)
        if self.limits and acct_policy.may_be_used_up(account):
            self._watched[job.id] = job
        account.meter = self.usage.start(account.rows, amounts, account.factor, self._second(), limit)

    def halted(self, job: Job) -> None:
        """A job is suspended."""
        if job.account is not None and job.account.meter is not None:
            self.usage.halt(job.account.meter, self._second(), charged=self.limits)

    def resumed(self, job: Job) -> None:
        """A suspended job goes on."""
        meter = job.account.meter if job.account is not None else None
        if meter is not None and not meter.runs:
            self.usage.go_on(meter, self._second())

    def ended(self, job: Job) -> None:
        """A run is over: what it used since the last period is charged only where limits hold (observation F1)."""
        account = job.account
        if account is None or account.meter is None:
            return
        self.usage.end(account.meter, self._second(), charged=self.limits and self._tracks)
        account.meter = None
        self._watched.pop(job.id, None)
        acct_policy.stopped(account)

    def _second(self) -> float:
        return self.whole(self._cluster.now)

    def whole(self, now: float) -> float:
        """A time in whole seconds of the cluster's clock."""
        return float(math.floor(now + self._phase))

    # Periods

    def period(self) -> bool:
        """Let past usage decay, charge what ran, work out who is favoured; says whether limits may let go of jobs."""
        now = self._second()
        self.changed()
        reset = self._reset_at is not None and now >= self._reset_at
        if reset:
            self._reset_at = next_reset(self._reset_period, now, self._epoch)
        if self._classic is not None:
            self._classic.begin_period(self.manager.root, self.usage.raw)
            self.usage.decay(now, reset=reset)
            self._one_by_one(now)
        else:
            self.usage.period(now, reset=reset)
            fair_tree.rank(self.manager.root, self.usage.raw)
        if self._ageing_limited:
            self._let_age()
        return self.limits and self._fades

    # Who ages in the queue

    def ages(self, job: Job) -> bool:
        """Whether a job that may be scheduled grows older from now on; it counts then until it waits no longer."""
        if not self._ageing_limited:
            return True
        account = self._limited(job)
        if account is None or not account.tests_ageing:
            return True
        if not account.ages and not acct_policy.may_age(account):
            return False
        acct_policy.age(account, True)
        return True

    def _let_age(self) -> None:
        """Jobs that could not grow older yet do so, in the order of their ids, as far as they may by now."""
        waiting = self._cluster.waiting.values()
        for job in sorted((job for job in waiting if job.accrue is None), key=lambda job: job.id):
            if job.eligible is not None and self.ages(job):
                job.accrue = self._cluster.now

    def _count_ages_anew(self) -> None:
        for job in self._cluster.waiting.values() if self._ageing_limited else ():
            account = self._limited(job)
            if account is not None and account.tests_ageing and job.accrue is not None:
                acct_policy.age(account, True)

    def _one_by_one(self, now: float) -> None:
        """Classic fair share charges running jobs and weighs users of waiting ones by turns, in the order of ids."""
        for job in sorted([*self._cluster.running.values(), *self._cluster.waiting.values()], key=lambda job: job.id):
            if job.account is None:
                continue
            if job.account.meter is not None:
                self.usage.advance(job.account.meter, now)
            elif job.priority and not job.fixed_priority:
                self.factor(job.account.share)

    def changed(self) -> bool:
        """Take in what ``sacctmgr`` has changed; says whether anything was."""
        if not self.manager.refresh():
            return False
        self.usage.grow(self.manager.rows)
        self._look_at_limits()
        self._count_ages_anew()
        return True

    # Who is favoured

    def fair_share(self, job: Job) -> float:
        """The fair-share factor of a job's association."""
        return self.factor(job.account.share) if job.account is not None else 0.0

    def factor(self, share: Share) -> float:
        """The fair-share factor of an association."""
        if self._classic is None:
            return share.factor
        return self._classic.factor(share, self.manager.root, self.usage.raw)

    def effective(self, share: Share) -> float:
        """The usage that counts for an association."""
        self.factor(share)
        return share.effective or 0.0


def enforced(conf: SlurmConf) -> frozenset[str]:
    """Which rules of the accounts hold, with those that others bring along (``AccountingStorageEnforce``)."""
    words = {word.upper() for word in conf.parameters.words("AccountingStorageEnforce")}
    if words & {"ALL"}:
        words |= {"ASSOCIATIONS", "LIMITS", "QOS", "SAFE"}
    if words & {"SAFE", "2"}:
        words |= {"LIMITS"}
    if words & {"LIMITS", "QOS", "1", "WCKEYS"}:
        words |= {"ASSOCIATIONS"}
    return frozenset(words)


def replace_account(account: Account) -> Account:
    """The same account for another task."""
    other = Account(account.share, account.qualities, account.quality, account.user, account.account, account.version)
    other.least_priority = account.least_priority
    return other


def _admits(name: str, allowed: Sequence[str] | None, denied: Sequence[str]) -> bool:
    if allowed is not None:
        return name in (one.lower() for one in allowed)
    return name not in (one.lower() for one in denied)
