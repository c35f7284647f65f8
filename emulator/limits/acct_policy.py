"""Limits of associations and qualities of service: their order, their reasons, what is in use.

A job is tested three times: at its submission against the limits of jobs that are there at
all (:func:`too_many`), before nodes are looked for against those of jobs that run and of
time (:func:`before_nodes`), and with nodes at hand against those of resources
(:func:`with_nodes`). Each time the partition's and the job's quality of service come first,
then the association of the user, then those above it. (Observations E1 to E11.)
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from emulator.limits.assoc_mgr import MINUTE, Bounds, Limits, Quality, Share, Use
from emulator.limits.comparison import Comparison, Limited, whole_minutes
from emulator.limits.limit_reasons import reason
from emulator.limits.tres import NODE, Vector

if TYPE_CHECKING:
    from emulator.limits.usage import Meter, Usage

POLICY = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
"""What ``sbatch`` says beside the reason."""


class Account:
    """On whose account a job is.

    Args:
        share: its association.
        qualities: of the partition and of the job; the first goes first where both have a limit.
        quality: that of the job; None for none.
        user, account: names.
        version: of the limits.
        of_partition: name of the quality of service of the partition that it is tried in; empty for none.

    Attributes:
        share, qualities, quality, user, account, of_partition: as given.
        line: its association and those above it.
        rows: where its usage is counted.
        factor: by which its usage counts.
        meter: what it is charged, while it is on the machine.
        amounts: what it has, while it is on the machine.
        own: qualities of service with those of their limits that hold.
        narrowed: limits of ``line`` that hold, where they are not all of them, or None.
        safe_factor: by which minutes count that it will use (``UsageFactorSafe``).
        tests_jobs, tests_resources: whether there are limits for :func:`before_nodes`, for :func:`with_nodes`.
        tests_nodes: whether there are limits on the nodes of several jobs together.
        tests_ageing: whether there are limits for :func:`may_age`.
        ages: whether it counts among those that age.
        least_priority: with less nothing is kept for it.
        version: of the limits, as of the last :meth:`refresh`.
    """

    __slots__ = (
        "account",
        "ages",
        "amounts",
        "factor",
        "least_priority",
        "line",
        "meter",
        "narrowed",
        "of_partition",
        "own",
        "qualities",
        "quality",
        "rows",
        "safe_factor",
        "share",
        "tests_ageing",
        "tests_jobs",
        "tests_nodes",
        "tests_resources",
        "user",
        "version",
    )

    def __init__(
        self,
        share: Share,
        qualities: Sequence[Quality],
        quality: Quality | None,
        user: str,
        account: str,
        version: int = -1,
        of_partition: str = "",
    ) -> None:
        self.share = share
        self.qualities = tuple(qualities)
        self.quality, self.of_partition = quality, of_partition
        self.user = user
        self.account = account
        self.line = tuple(share.line())
        self.factor = 1.0 if quality is None else quality.factor
        self.meter: Meter | None = None
        self.amounts: Vector | None = None
        self.ages = False
        self.refresh(version)

    def refresh(self, version: int) -> None:
        """Take in limits that have changed."""
        self.version = version
        self.own = _own(self.qualities)
        self.rows = np.array([use.row for use in self.uses() if use.row >= 0], dtype=np.intp)
        flagged = any("USAGEFACTORSAFE" in quality.flags for quality in self.qualities)
        self.safe_factor = self.factor if flagged else 1.0
        self.narrowed = self._narrowed()
        bounds = [*(own for _, own in self.own), *(bounds for _, bounds in self.limits())]
        self.tests_jobs = any(_any(one, _OF_JOBS) for one in bounds)
        self.tests_resources = any(_any(one, _OF_RESOURCES) for one in bounds)
        self.tests_nodes = any(_has_nodes((*one.grp_tres, *one.max_tres_user, *one.max_tres_account)) for one in bounds)
        self.tests_ageing = any(_any(one, _OF_AGEING) for one in bounds)
        self.least_priority = next((one.least_priority for one in bounds if one.least_priority is not None), 0.0)

    def for_another(self) -> Account:
        """The same for another job, which is not on the machine yet."""
        other = Account.__new__(Account)
        for name in Account.__slots__:
            setattr(other, name, getattr(self, name))
        other.meter = other.amounts = None
        other.ages = False
        return other

    def limits(self) -> Iterator[tuple[Share, Bounds]]:
        """Its association and those above it, with those of their limits that hold."""
        if self.narrowed is None:
            return ((share, share.bounds) for share in self.line)
        return zip(self.line, self.narrowed, strict=True)

    def _narrowed(self) -> tuple[Bounds, ...] | None:
        """What a quality of service limits, associations do not; ``LimitFactor`` multiplies what they do."""
        factor = 1.0 if self.quality is None else self.quality.limit_factor
        limiting = [own for _, own in self.own if own != _NO_LIMITS]
        # Most associations have no limits of their own, so that there is nothing to make for most jobs.
        if (factor == 1.0 and not limiting) or all(share.bounds == _NO_LIMITS for share in self.line):
            return None
        found = []
        for share in self.line:
            bounds = share.bounds
            for above in limiting:
                bounds = _left(above, bounds)
            grp, own = _times(bounds.grp_tres, factor), _times(bounds.max_tres, factor)
            found.append(replace(bounds, grp_tres=grp, max_tres=own))
        return tuple(found)

    def uses(self) -> Iterator[Use]:
        """Everything in which it counts."""
        yield from self.line
        yield from self.uses_of(self.qualities)

    def uses_of(self, qualities: Iterable[Quality]) -> Iterator[Use]:
        """In which it counts for qualities of service."""
        for quality in qualities:
            yield quality
            yield quality.of(quality.users, self.user)
            yield quality.of(quality.accounts, self.account)

    def of_nodes(self) -> Iterator[Use]:
        """Whose nodes are limited together, the first of each kind: an association where no quality of service is."""
        group: Use | None = None
        user: Use | None = None
        account: Use | None = None
        for quality, bounds in self.own:
            group = group or (quality if _has_nodes(bounds.grp_tres) else None)
            user = user or (quality.of(quality.users, self.user) if _has_nodes(bounds.max_tres_user) else None)
            if account is None and _has_nodes(bounds.max_tres_account):
                account = quality.of(quality.accounts, self.account)
        group = group or next((share for share, bounds in self.limits() if _has_nodes(bounds.grp_tres)), None)
        yield from filter(None, (group, user, account))


# What is in use


def submitted(account: Account, count: int = 1) -> None:
    """A job has come, or (-1) gone for good."""
    for use in account.uses():
        use.submitted += count


def waits_elsewhere(account: Account, qualities: Iterable[Quality], count: int = 1) -> None:
    """A job waits, or (-1) does so no longer, in partitions of other qualities of service, too."""
    for use in account.uses_of(qualities):
        use.submitted += count


def started(account: Account, amounts: Vector) -> None:
    """A job is on the machine."""
    account.amounts = amounts
    _change(account, amounts, 1)


def stopped(account: Account) -> None:
    """A job is on the machine no more."""
    if account.amounts is not None:
        _change(account, account.amounts, -1)
        account.amounts = None


def _change(account: Account, amounts: Vector, sign: int) -> None:
    changes = [(index, sign * amount) for index, amount in enumerate(amounts) if amount]
    for use in account.uses():
        use.jobs += sign
        in_use = use.tres
        for index, change in changes:
            in_use[index] += change


# Which jobs age in the queue


def may_age(account: Account) -> bool:
    """Whether one more waiting job may grow older; of qualities of service only the job's own says so."""
    quality = account.quality
    if quality is not None:
        bounds = quality.bounds
        if (
            _reached(quality.accruing, bounds.grp_accrue)
            or _reached(quality.of(quality.accounts, account.account).accruing, bounds.max_accrue_account)
            or _reached(quality.of(quality.users, account.user).accruing, bounds.max_accrue)
        ):
            return False
    return not any(
        _reached(share.accruing, bounds.grp_accrue)
        or (share is account.share and _reached(share.accruing, bounds.max_accrue))
        for share, bounds in account.limits()
    )


def age(account: Account, ages: bool) -> None:
    """A waiting job grows older from now on, or no longer."""
    if account.ages is ages:
        return
    account.ages = ages
    for use in account.uses():
        use.accruing += 1 if ages else -1


# At the submission


def too_many(account: Account, count: int, counted: Collection[Use] = ()) -> str:
    """Why jobs are refused because of those that are there; empty if they are not.

    Args:
        account: on whose account they are.
        count: how many come at once.
        counted: where they count already.
    """

    def there(use: Use) -> int:
        return use.submitted + (0 if use in counted else count)

    for quality, bounds in account.own:
        if _beyond(there(quality), bounds.grp_submit):
            return "QOSGrpSubmitJobsLimit"
        if _beyond(there(quality.of(quality.accounts, account.account)), bounds.max_submit_account):
            return "MaxSubmitJobsPerAccount"
        if _beyond(there(quality.of(quality.users, account.user)), bounds.max_submit):
            return "QOSMaxSubmitJobPerUserLimit"
    for share, bounds in account.limits():
        if _beyond(there(share), bounds.grp_submit):
            return "AssocGrpSubmitJobsLimit"
        if share is account.share and _beyond(there(share), bounds.max_submit):
            return "AssocMaxSubmitJobLimit"
    return ""


def denies(account: Account) -> bool:
    """Whether jobs that are too large or too small by themselves are refused (``DenyOnLimit``)."""
    return any("DENYONLIMIT" in quality.flags for quality in account.qualities)


def never(account: Account, amounts: Vector, limit: float) -> str:
    """Why a job that is too large or too small by itself is refused, where it is; empty if it is not so.

    Args:
        account: on whose account it is.
        amounts: what it asks for.
        limit: seconds that it asks for.
    """
    minutes = [amount * limit / MINUTE if limit < math.inf else 0.0 for amount in amounts]
    # The flag of one quality of service holds for limits of the other, too (recorded).
    found = (_never_in(bounds, amounts, minutes, limit) for _, bounds in account.own)
    return next(filter(None, found), "") or _never_on(account, amounts, minutes, limit)


def together_in(bounds: Bounds, jobs: int, amounts: Vector, minutes: Vector) -> bool:
    """Whether so many components together are beyond a limit of their quality of service on what runs.

    Args:
        bounds: its limits.
        jobs: how many there are.
        amounts: what they ask for.
        minutes: the same, for how long that is.
    """
    counts = bounds.grp_jobs, bounds.max_jobs, bounds.max_jobs_account
    of_all = bounds.grp_tres, bounds.max_tres_user, bounds.max_tres_account
    of_minutes = bounds.grp_tres_run_mins, bounds.max_run_mins_user, bounds.max_run_mins_account
    return _any_beyond(counts, of_all, of_minutes, jobs, amounts, minutes)


def together_on(account: Account, jobs: int, amounts: Vector, minutes: Vector) -> bool:
    """The same of a limit of their association; those above it do not matter."""
    bounds = next(bounds for share, bounds in account.limits() if share is account.share)
    counts = bounds.grp_jobs, bounds.max_jobs
    return _any_beyond(counts, (bounds.grp_tres,), (bounds.grp_tres_run_mins,), jobs, amounts, minutes)


def _any_beyond(
    counts: Sequence[float | None],
    of_all: Sequence[Limits],
    of_minutes: Sequence[Limits],
    jobs: int,
    amounts: Vector,
    minutes: Vector,
) -> bool:
    return (
        any(_beyond(jobs, most) for most in counts)
        or any(_exceeded(limits, amounts) is not None for limits in of_all)
        or any(_exceeded(limits, minutes) is not None for limits in of_minutes)
    )


def _never_in(bounds: Bounds, amounts: Vector, minutes: Vector, limit: float) -> str:
    """The first limit of a quality of service that a job is beyond by itself, in Slurm's order (recorded, 24.11)."""
    found = _first_exceeded(
        ("PerAccount", bounds.max_tres_account, amounts),
        ("QOSMaxPerUser", bounds.max_tres_user, amounts),
        ("QOSGrp", bounds.grp_tres, amounts),
        ("QOSMaxMinutesPerJob", bounds.max_tres_mins, minutes),
        ("QOSGrpMinutes", bounds.grp_tres_mins, minutes),
        ("QOSGrpRunMinutes", bounds.grp_tres_run_mins, minutes),
        ("RunMinutesPerAccount", bounds.max_run_mins_account, minutes),
        ("RunMinutesPerUser", bounds.max_run_mins_user, minutes),
    )
    if found:
        return found
    if _beyond(limit, bounds.max_wall):
        return "QOSMaxWallDurationPerJobLimit"
    if _beyond(limit / MINUTE, bounds.grp_wall):
        return "QOSGrpWallLimit"
    found = _first_exceeded(
        ("QOSMaxPerJob", bounds.max_tres, amounts),
        ("QOSMaxPerNode", _of_nodes(bounds.max_tres_node, amounts), amounts),
    )
    index = _short_of(bounds.min_tres, amounts)
    return found or (reason("QOSMin", index) if index is not None else "")


def _never_on(account: Account, amounts: Vector, minutes: Vector, limit: float) -> str:
    for share, bounds in account.limits():
        found = _first_exceeded(
            ("AssocGrpMinutes", bounds.grp_tres_mins, minutes),
            ("AssocGrp", bounds.grp_tres, amounts),
            ("AssocGrpRunMinutes", bounds.grp_tres_run_mins, minutes),
        )
        if not found and _beyond(limit / MINUTE, bounds.grp_wall):
            found = "AssocGrpWallLimit"
        if not found and share is account.share:
            found = _of_each_job(bounds, amounts, minutes)
            if not found and _beyond(limit, bounds.max_wall):
                found = "AssocMaxWallDurationPerJobLimit"
        if found:
            return found
    return ""


def _of_each_job(bounds: Bounds, amounts: Vector, minutes: Vector) -> str:
    """The first limit of an association on each of its jobs that one exceeds; empty for none."""
    return _first_exceeded(
        ("AssocMaxMinutesPerJob", bounds.max_tres_mins, minutes),
        ("AssocMaxPerJob", bounds.max_tres, amounts),
        ("AssocMaxPerNode", _of_nodes(bounds.max_tres_node, amounts), amounts),
    )


def _first_exceeded(*kinds: tuple[str, Limits, Vector]) -> str:
    """The reason of the first limits that what is asked for exceeds; empty for none."""
    for kind, limits, asked in kinds:
        index = _exceeded(limits, asked)
        if index is not None:
            return reason(kind, index)
    return ""


def longest(account: Account, amounts: Vector) -> float:
    """The limit of a job that states none (observation E9), for what it asks for; infinite for none.

    It is the least of ``MaxWall`` and ``GrpWall`` of its qualities of service, else the first that its associations
    have; with ``DenyOnLimit``, or without a quality of service, the least of all, and no longer than minutes that are
    limited suffice for what it asks for. (Slurm's sources, and recorded.)
    """
    strict = not account.qualities or denies(account)
    of_qualities = [wall for _, bounds in account.own for wall in _walls(bounds)]
    of_line = [wall for share, bounds in account.limits() for wall in _walls(bounds, share is account.share)]
    if strict:
        of_minutes = [wall for _, bounds in account.own for wall in _minutes(bounds, amounts)]
        for share, bounds in account.limits():
            of_minutes += _minutes(bounds, amounts, share is account.share)
        return min([*of_qualities, *of_line, *of_minutes], default=math.inf)
    if of_qualities:
        return min(of_qualities)
    return next(iter(of_line), math.inf)


def _walls(bounds: Bounds, of_jobs: bool = True) -> list[float]:
    """Seconds that these limits allow jobs in all, and a job."""
    in_all = [] if bounds.grp_wall is None else [bounds.grp_wall * MINUTE]
    return in_all if bounds.max_wall is None or not of_jobs else [*in_all, bounds.max_wall]


def _minutes(bounds: Bounds, amounts: Vector, of_jobs: bool = True) -> Iterator[float]:
    """Whole minutes, in seconds, for which a job may have these amounts within limits on minutes."""
    of_job = bounds.max_tres_mins if of_jobs else ()
    for index, most in (*bounds.grp_tres_mins, *bounds.grp_tres_run_mins, *of_job):
        if amounts[index]:
            yield float(most // amounts[index]) * MINUTE


# Before nodes are looked for


def most_nodes(account: Account) -> float:
    """No more nodes than these are chosen for a job: what limits allow it, whatever others have; infinite for any."""
    limits: list[Limits] = []
    for _, bounds in account.own:
        limits += [bounds.max_tres, bounds.max_tres_user, bounds.max_tres_account, bounds.grp_tres]
    for index, (_, bounds) in enumerate(account.limits()):
        limits += [bounds.grp_tres] if index else [bounds.grp_tres, bounds.max_tres]
        if _has_nodes(bounds.grp_tres):
            break
    return min((most for each in limits for resource, most in each if resource == NODE), default=math.inf)


def least_share(account: Account) -> float:
    """The fair-share factor below which a job waits (``UsageThreshold``); 0 for none."""
    return next((bounds.least_share for _, bounds in account.own if bounds.least_share is not None), 0.0)


def before_nodes(account: Account, limit: float, usage: Usage, safe: bool = False) -> str:
    """Why a job cannot start whatever nodes there are; empty if it may be able to.

    Args:
        account: on whose account it is.
        limit: its limit in seconds.
        usage: past usage.
        safe: whether it must be able to run as long as it may within the run time that is left.
    """
    planned = limit / MINUTE * account.safe_factor if safe else 0.0
    for quality, bounds in account.own:
        found = _jobs_in(account, quality, bounds, limit, usage, planned)
        if found:
            return found
    for share, bounds in account.limits():
        if _wall_reached(share, bounds, usage, planned):
            return "AssocGrpWallLimit"
        if _reached(share.jobs, bounds.grp_jobs):
            return "AssocGrpJobsLimit"
        if share is account.share and _reached(share.jobs, bounds.max_jobs):
            return "AssocMaxJobsLimit"
        if share is account.share and _beyond(limit, bounds.max_wall):
            return "AssocMaxWallDurationPerJobLimit"
    return ""


def _jobs_in(account: Account, quality: Quality, bounds: Bounds, limit: float, usage: Usage, planned: float) -> str:
    if _wall_reached(quality, bounds, usage, planned):
        return "QOSGrpWallLimit"
    if _reached(quality.jobs, bounds.grp_jobs):
        return "QOSGrpJobsLimit"
    if _reached_by(quality.accounts, account.account, bounds.max_jobs_account):
        return "MaxJobsPerAccount"
    if _reached_by(quality.users, account.user, bounds.max_jobs):
        return "QOSMaxJobsPerUserLimit"
    return "QOSMaxWallDurationPerJobLimit" if _beyond(limit, bounds.max_wall) else ""


# With nodes at hand


def with_nodes(account: Account, amounts: Vector, limit: float, usage: Usage, safe: bool = False) -> str:
    """Why a job cannot start with what it would have; empty if it can.

    Args:
        account: on whose account it is.
        amounts: what it would have.
        limit: its limit in seconds.
        usage: past usage.
        safe: whether it must be able to run as long as it may within the minutes that are left.
    """
    # What runs counts with the usage factor; what would run only with UsageFactorSafe.
    minutes = [amount * limit / MINUTE * account.safe_factor for amount in amounts]
    planned = minutes if safe else None
    for quality, bounds in account.own:
        found = _of_quality(account, quality, bounds, amounts, minutes, usage, planned)
        if found:
            return found
    for share, bounds in account.limits():
        found = _of_group("Assoc", share, bounds, amounts, minutes, usage, planned)
        if found:
            return found
        if share is not account.share:
            continue
        found = _of_each_job(bounds, amounts, minutes)
        if found:
            return found
    return ""


def _of_quality(
    account: Account,
    quality: Quality,
    bounds: Bounds,
    amounts: Vector,
    minutes: Vector,
    usage: Usage,
    planned: Vector | None,
) -> str:
    found = _of_group("QOS", quality, bounds, amounts, minutes, usage, planned)
    if found:
        return found
    for kind, limits, use in (
        ("RunMinutesPerAccount", bounds.max_run_mins_account, quality.accounts.get(account.account)),
        ("RunMinutesPerUser", bounds.max_run_mins_user, quality.users.get(account.user)),
    ):
        index = _too_long(limits, minutes, use, usage)
        if index is not None:
            return reason(kind, index)
    for kind, limits, asked, in_use in (
        ("QOSMaxMinutesPerJob", bounds.max_tres_mins, minutes, None),
        ("PerAccount", bounds.max_tres_account, amounts, quality.accounts.get(account.account)),
        ("QOSMaxPerJob", bounds.max_tres, amounts, None),
        ("QOSMaxPerNode", _of_nodes(bounds.max_tres_node, amounts), amounts, None),
    ):
        index = _exceeded(limits, asked, in_use)
        if index is not None:
            return reason(kind, index)
    index = _short_of(bounds.min_tres, amounts)
    if index is not None:
        return reason("QOSMin", index)
    index = _exceeded(bounds.max_tres_user, amounts, quality.users.get(account.user))
    return reason("QOSMaxPerUser", index) if index is not None else ""


def _of_group(
    prefix: str,
    use: Use,
    bounds: Bounds,
    amounts: Vector,
    minutes: Vector,
    usage: Usage,
    planned: Vector | None,
) -> str:
    """Limits of all jobs of an association or a quality of service together."""
    for index, most in bounds.grp_tres_mins:
        if usage.beyond(Comparison(Limited.USED, use.row, index, most)) or (
            planned is not None and usage.beyond(Comparison(Limited.BOTH, use.row, index, most, planned[index]))
        ):
            return reason(f"{prefix}GrpMinutes", index)
    over = _exceeded(bounds.grp_tres, amounts, use)
    if over is not None:
        return reason(f"{prefix}Grp", over)
    over = _too_long(bounds.grp_tres_run_mins, minutes, use, usage)
    return reason(f"{prefix}GrpRunMinutes", over) if over is not None else ""


def _too_long(limits: Limits, minutes: Vector, use: Use | None, usage: Usage) -> int | None:
    """The first resource of which running jobs could still use too many minutes, or None."""
    for index, most in limits:
        own = int(minutes[index])
        if use is None or use.row < 0:
            over = own > most
        else:
            over = usage.beyond(Comparison(Limited.RUNNING, use.row, index, most, own))
        if over:
            return index
    return None


def _wall_reached(use: Use, bounds: Bounds, usage: Usage, planned: float) -> bool:
    """Whether all jobs of an association or a quality of service together have run as long as they may.

    So it is also if another one of so many minutes would run for longer, whatever those that run may still take.
    """
    most = bounds.grp_wall
    return most is not None and usage.beyond(Comparison(Limited.WALL, use.row, 0, most, planned))


# While a job runs


def used_up(account: Account, usage: Usage, seconds: float) -> bool:
    """Whether a running job must end because minutes are used up (observation E8).

    Args:
        account: on whose account it is.
        usage: past usage, as of the last period.
        seconds: how long it runs.
    """
    groups: list[tuple[int, Bounds]] = [(quality.row, bounds) for quality, bounds in account.own]
    groups += [(share.row, bounds) for share, bounds in account.limits()]
    for row, bounds in groups:
        if _reached(usage.wall[row] / MINUTE, bounds.grp_wall):
            return True
        if any(whole_minutes(usage.tres, row, index) >= most for index, most in bounds.grp_tres_mins):
            return True
    amounts = account.amounts or []
    minutes = [amount * (seconds // MINUTE) for amount in amounts]
    own = [bounds.max_tres_mins for _, bounds in account.own] + [next(account.limits())[1].max_tres_mins]
    return any(_exceeded(limits, minutes) is not None for limits in own) if minutes else False


def may_be_used_up(account: Account) -> bool:
    """Whether there is any limit that :func:`used_up` looks at."""
    bounds = [*(share.bounds for share in account.line), *(quality.bounds for quality in account.qualities)]
    return any(one.grp_wall is not None or one.grp_tres_mins or one.max_tres_mins for one in bounds)


def counts_minutes(account: Account) -> bool:
    """Whether minutes of one job are limited, which pass while it runs."""
    bounds = [own for _, own in account.own]
    return any(one.max_tres_mins for one in (*bounds, next(account.limits())[1]))


# Comparisons


_OF_JOBS = ("least_share", "grp_wall", "grp_jobs", "max_jobs_account", "max_jobs", "max_wall")
_OF_RESOURCES = (
    *("grp_tres_mins", "grp_tres", "grp_tres_run_mins", "max_tres_mins", "max_tres", "max_tres_node"),
    *("min_tres", "max_tres_user", "max_tres_account", "max_run_mins_user", "max_run_mins_account"),
)
_NO_LIMITS = Bounds()
_OF_AGEING = ("grp_accrue", "max_accrue", "max_accrue_account")


def tests_starts(bounds: Bounds) -> bool:
    """Whether any of these limits is looked at before a job starts."""
    return _any(bounds, _OF_JOBS) or _any(bounds, _OF_RESOURCES)


def limits_ageing(bounds: Bounds) -> bool:
    """Whether any of these limits says how many waiting jobs may grow older."""
    return _any(bounds, _OF_AGEING)


def _any(bounds: Bounds, names: Sequence[str]) -> bool:
    return any(getattr(bounds, name) not in (None, ()) for name in names)


def _own(qualities: Sequence[Quality]) -> list[tuple[Quality, Bounds]]:
    """Qualities of service with their limits; of the second those that the first has not (observation E10)."""
    if len(qualities) < 2:
        return [(quality, quality.bounds) for quality in qualities]
    first, second = qualities
    return [(first, first.bounds), (second, _left(first.bounds, second.bounds))]


def _left(first: Bounds, second: Bounds) -> Bounds:
    """Limits of the second where the first has none of the kind (and, of resources, for that resource)."""
    left = Bounds()
    for name in Bounds.__slots__:
        mine, theirs = getattr(second, name), getattr(first, name)
        if isinstance(mine, tuple):
            taken = {index for index, _ in theirs}
            setattr(left, name, tuple(one for one in mine if one[0] not in taken))
        else:
            setattr(left, name, mine if theirs is None else None)
    return left


def _beyond(count: float, most: float | None) -> bool:
    return most is not None and count > most


def _reached(count: float, most: float | None) -> bool:
    return most is not None and count >= most


def _reached_by(table: dict[str, Use], name: str, most: float | None) -> bool:
    if most is None:
        return False
    found = table.get(name)
    return (0 if found is None else found.jobs) >= most


def _exceeded(limits: Limits, amounts: Vector, use: Use | None = None) -> int | None:
    """The first resource of which there would be too much, or None; one that is not asked for does not matter."""
    for index, most in limits:
        if amounts[index] and amounts[index] + (0.0 if use is None else use.tres[index]) > most:
            return index
    return None


def _times(limits: Limits, factor: float) -> Limits:
    return tuple((index, most * factor) for index, most in limits)


def _short_of(limits: Limits, amounts: Vector) -> int | None:
    return next((index for index, least in limits if amounts[index] < least), None)


def _has_nodes(limits: Limits) -> bool:
    """Whether nodes are limited."""
    return any(resource == NODE for resource, _ in limits)


def _of_nodes(limits: Limits, amounts: Vector) -> Limits:
    """Limits of a node for all nodes of a job: only the average is looked at (observation E7)."""
    return tuple((index, most * max(amounts[NODE], 1.0)) for index, most in limits)
