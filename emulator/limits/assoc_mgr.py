"""Associations and qualities of service as the controller keeps them: the tree, shares, limits, what is in use.

Whose limits, and where past usage is counted: a row for each in :mod:`emulator.limits.usage`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from emulator.config.sacctmgr.database import Accounts, Association, Key, Qos, Record
from emulator.config.sacctmgr.words import INHERITED
from emulator.limits.tres import Tres, Vector
from slurm_sim_plugins.errors import InputError

MINUTE = 60.0
NOT_KNOWN = 4294967294.0
"""What Slurm has for a normalised usage that was never worked out; it counts as a sibling's usage all the same."""
Limits = tuple[tuple[int, float], ...]
"""(index of the resource, most of it); memory in mebibytes, minutes of a resource in minutes."""


RUN_MINUTES = ("MaxTRESRunMinsPerUser", "MaxTRESRunMinsPerAccount")
"""Limits of a quality of service on the minutes that running jobs may still use, of a user and of an account."""


@dataclass(slots=True)
class Bounds:
    """Limits of one association or quality of service; None and nothing are for no limit.

    Attributes:
        grp_jobs, grp_submit, grp_wall: of all its jobs: running, in all, minutes of run time.
        grp_tres, grp_tres_mins, grp_tres_run_mins: of all its jobs.
        max_jobs, max_submit: of a user.
        max_jobs_account, max_submit_account: of an account.
        max_wall: seconds of a job.
        max_tres, max_tres_node, max_tres_mins, min_tres: of a job.
        max_tres_user, max_tres_account: of a user, of an account.
        max_run_mins_user, max_run_mins_account: the same, of minutes that running jobs may still use.
        grp_accrue, max_accrue, max_accrue_account: of all its waiting jobs that age, of a user's, of an account's.
        least_priority: of a job for which resources are kept.
        least_share: fair-share factor below which jobs wait.
    """

    grp_jobs: float | None = None
    grp_submit: float | None = None
    grp_wall: float | None = None
    grp_tres: Limits = ()
    grp_tres_mins: Limits = ()
    grp_tres_run_mins: Limits = ()
    max_jobs: float | None = None
    max_submit: float | None = None
    max_jobs_account: float | None = None
    max_submit_account: float | None = None
    max_wall: float | None = None
    max_tres: Limits = ()
    max_tres_node: Limits = ()
    max_tres_mins: Limits = ()
    min_tres: Limits = ()
    max_tres_user: Limits = ()
    max_tres_account: Limits = ()
    max_run_mins_user: Limits = ()
    max_run_mins_account: Limits = ()
    grp_accrue: float | None = None
    max_accrue: float | None = None
    max_accrue_account: float | None = None
    least_priority: float | None = None
    least_share: float | None = None


_AMOUNTS = ("grp_tres", "max_tres", "max_tres_node", "max_tres_user", "max_tres_account", "min_tres")
"""Limits of resources at a time."""


class Use:
    """What is in use now.

    Args:
        resources: how many kinds there are.
        row: where its usage is counted.

    Attributes:
        jobs: that run.
        submitted: that wait or run.
        accruing: that wait and age; counted where that is limited.
        tres: of the running ones.
        row: where its usage is counted; -1 where it is not.
    """

    __slots__ = ("accruing", "jobs", "row", "submitted", "tres")

    def __init__(self, resources: int, row: int = -1) -> None:
        self.jobs = 0
        self.submitted = 0
        self.accruing = 0
        self.row = row
        self.tres = [0.0] * resources


class Share(Use):
    """An association.

    Args:
        association: what was said of it.
        row: where its usage is counted.
        resources: how many kinds there are.

    Attributes:
        is_user: whether it is a user's, not an account.
        parent: the account above; None for root.
        above: the same for fair share: the nearest that has shares of its own.
        counts_as: itself or, if it has its parent's shares, the nearest above that has its own.
        children: those with which it shares in fair share; accounts with their parent's shares give theirs to it.
        shares: its own, or None for its parent's.
        level_shares: of all its siblings together.
        norm_shares: its part of that; with classic fair share of all.
        norm_usage, effective, level_fs, factor: as they were worked out last (``sshare``).
        priority, norm_priority: its priority, and that as a share of the highest.
        bounds: its limits.
    """

    __slots__ = (
        "above",
        "association",
        "bounds",
        "children",
        "counts_as",
        "effective",
        "factor",
        "is_user",
        "level_fs",
        "level_shares",
        "norm_priority",
        "norm_shares",
        "norm_usage",
        "parent",
        "priority",
        "shares",
    )

    def __init__(self, association: Association, row: int, resources: int) -> None:
        super().__init__(resources, row)
        self.association = association
        self.is_user = bool(association.user)
        self.parent: Share | None = None
        self.above: Share | None = None
        self.counts_as = self
        self.children: list[Share] = []
        self.shares: int | None = 1
        self.level_shares = 0
        self.norm_shares = 0.0
        self.norm_usage = NOT_KNOWN
        self.effective: float | None = None
        self.level_fs = float("inf")
        self.factor = 0.0
        self.priority = self.norm_priority = 0.0
        self.bounds = Bounds()

    def line(self) -> Iterator[Share]:
        """It and those above it, up to root."""
        here: Share | None = self
        while here is not None:
            yield here
            here = here.parent


class Quality(Use):
    """A quality of service.

    Args:
        qos: what was said of it.
        row: where its usage is counted.
        resources: how many kinds there are.

    Attributes:
        users, accounts: what each user and account has of it in use.
        factor: its usage factor.
        priority: as stated.
        name: its name.
        norm_priority: its priority as a share of the highest.
        preempts: names of those whose jobs it preempts.
        preempted: whether another names it.
        preempt_mode: what it says of what becomes of its jobs, upper-case words.
        grace_time: seconds between the choice of a victim and its end.
        exempt_time: seconds that a job runs before it can be preempted, or None.
        limit_factor: by which it multiplies limits of associations.
        flags: in upper case.
        tries_a_minute: whether backfill asks where its jobs have room for a minute: with ``NoReserve``, where jobs can
            be preempted.
    """

    __slots__ = (
        "accounts",
        "bounds",
        "exempt_time",
        "factor",
        "flags",
        "grace_time",
        "limit_factor",
        "name",
        "norm_priority",
        "preempt_mode",
        "preempted",
        "preempts",
        "priority",
        "qos",
        "tries_a_minute",
        "users",
    )

    def __init__(self, qos: Qos, row: int, resources: int) -> None:
        super().__init__(resources, row)
        self.qos = qos
        self.users: dict[str, Use] = {}
        self.accounts: dict[str, Use] = {}
        self.bounds = Bounds()
        self.factor = 1.0
        self.limit_factor = 1.0
        self.priority = 0.0
        self.name = qos.name
        self.norm_priority = 0.0
        self.preempts: frozenset[str] = frozenset()
        self.preempted = False
        self.preempt_mode: frozenset[str] = frozenset()
        self.grace_time = 0.0
        self.exempt_time: float | None = None
        self.flags: frozenset[str] = frozenset()
        self.tries_a_minute = False

    def of(self, table: dict[str, Use], name: str) -> Use:
        """What a user or an account has of it in use."""
        found = table.get(name)
        if found is None:
            found = table[name] = Use(len(self.tres))
        return found


@dataclass
class _Rows:
    """Rows by what they are for; a row is never used again for another."""

    shares: dict[Key, Share] = field(default_factory=dict)
    qualities: dict[str, Quality] = field(default_factory=dict)
    count: int = 0

    def next(self) -> int:
        """A new row."""
        self.count += 1
        return self.count - 1


class AssocMgr:
    """All associations and qualities of service.

    Args:
        accounts: what ``sacctmgr`` keeps.
        tres: the resources that are counted.
        by_level: whether shares are parts of those of the siblings (Fair Tree), not of all.
        totals: what of each resource there is for a quality of service of a name (``Relative``).
        run_minutes: whether qualities of service bound the minutes that running jobs of a user may still use.

    Attributes:
        accounts: as given; when its version has changed, call :meth:`refresh`.
        shares: associations by key.
        qualities: by name.
        version: of the accounts, as of the last :meth:`refresh`.
        root: the account root.
        rows: how many rows of usage there are.
    """

    def __init__(
        self,
        accounts: Accounts,
        tres: Tres,
        by_level: bool,
        totals: Callable[[str], Vector],
        run_minutes: bool = True,
    ) -> None:
        self.accounts = accounts
        self._totals = totals
        self._tres = tres
        self._by_level = by_level
        self._run_minutes = run_minutes
        self._rows = _Rows()
        self.version = -1
        self.shares: Mapping[Key, Share] = {}
        self.qualities: Mapping[str, Quality] = {}
        self.refresh()

    def forgotten(self) -> Iterator[tuple[Share, Sequence[Share]] | Quality]:
        """Associations, with those below, and qualities of service of which ``RawUsage=0`` was said meanwhile."""
        for share in self.shares.values():
            if share.association.stated.pop("RawUsage", None) is not None:
                yield share, [one for one in self.shares.values() if one is not share and share in one.line()]
        for quality in self.qualities.values():
            if quality.qos.stated.pop("RawUsage", None) is not None:
                yield quality

    @property
    def root(self) -> Share:
        """The account root."""
        return self._rows.shares["", "root", ""]

    @property
    def rows(self) -> int:
        """How many rows of usage there are."""
        return self._rows.count

    def open_row(self, use: Use) -> None:
        """Have usage counted for a user for whom it was not."""
        if use.row < 0:
            use.row = self._rows.next()

    def refresh(self) -> bool:
        """Take in what has changed in the accounts; says whether anything has. What is in use stays."""
        if self.version == self.accounts.version:
            return False
        self.version = self.accounts.version
        rows, resources = self._rows, len(self._tres.names)
        for key, association in self.accounts.associations.items():
            if key not in rows.shares:
                rows.shares[key] = Share(association, rows.next(), resources)
        for name, qos in self.accounts.qos.items():
            if name not in rows.qualities:
                rows.qualities[name] = Quality(qos, rows.next(), resources)
        self.shares = {key: rows.shares[key] for key in self.accounts.associations}
        self.qualities = {name: rows.qualities[name] for name in self.accounts.qos}
        for share in self.shares.values():
            self._read(share)
        for quality in self.qualities.values():
            self._read_quality(quality)
        self._share_out()
        highest = max((share.priority for share in self.shares.values()), default=0.0)
        for share in self.shares.values():
            share.norm_priority = share.priority / highest if highest else 0.0
        highest = max((quality.priority for quality in self.qualities.values()), default=0.0)
        for quality in self.qualities.values():
            quality.norm_priority = quality.priority / highest if highest else 0.0
            quality.preempted = any(quality.name in other.preempts for other in self.qualities.values())
        return True

    def _read(self, share: Share) -> None:
        association = share.association
        above = self.accounts.above(association)
        share.parent = self._rows.shares[above.key] if above is not None else None
        share.shares = association.shares
        priority = self.accounts.inherited(association, "Priority")
        share.priority = float(priority) if isinstance(priority, int | float) else 0.0
        record = Record(dict(association.stated))
        for name in INHERITED:
            value = self.accounts.inherited(association, name)
            if value is not None:
                record.stated[name] = value
        share.bounds = self._bounds(record, "MaxJobs", "MaxSubmitJobs", "MaxJobsAccrue")

    def _read_quality(self, quality: Quality) -> None:
        qos = quality.qos
        quality.bounds = self._bounds(qos, "MaxJobsPerUser", "MaxSubmitJobsPerUser", "MaxJobsAccruePerUser")
        if "RELATIVE" in qos.flags:
            self._take_parts(quality)
        if "ENFORCEUSAGETHRESHOLD" in qos.flags:
            quality.bounds.least_share = qos.number("UsageThreshold")
        quality.factor = 1.0 if qos.number("UsageFactor") is None else float(qos.number("UsageFactor") or 0.0)
        quality.limit_factor = qos.number("LimitFactor") or 1.0
        quality.priority = qos.number("Priority") or 0.0
        quality.preempts = frozenset(qos.words("Preempt") or ())
        quality.preempt_mode = frozenset(word.upper() for word in qos.words("PreemptMode") or ())
        quality.grace_time = qos.number("GraceTime") or 0.0
        quality.exempt_time = qos.number("PreemptExemptTime")
        quality.flags = qos.flags

    def _take_parts(self, quality: Quality) -> None:
        """Amounts of resources are percentages of what there is (``Relative``)."""
        totals = self._totals(quality.qos.name)
        for name in _AMOUNTS:
            stated: Limits = getattr(quality.bounds, name)
            setattr(quality.bounds, name, tuple((index, part * totals[index] // 100) for index, part in stated))

    def _bounds(self, record: Record, jobs: str, submit: str, accrue: str) -> Bounds:
        wall = record.number("GrpWall")
        return Bounds(
            grp_jobs=record.number("GrpJobs"),
            grp_submit=record.number("GrpSubmitJobs"),
            grp_wall=None if wall is None else wall / MINUTE,
            grp_tres=self._limits(record, "GrpTRES"),
            grp_tres_mins=self._limits(record, "GrpTRESMins"),
            grp_tres_run_mins=self._limits(record, "GrpTRESRunMins"),
            max_jobs=record.number(jobs),
            max_submit=record.number(submit),
            max_jobs_account=record.number("MaxJobsPerAccount"),
            max_submit_account=record.number("MaxSubmitJobsPerAccount"),
            max_wall=record.number("MaxWall"),
            max_tres=self._limits(record, "MaxTRESPerJob"),
            max_tres_node=self._limits(record, "MaxTRESPerNode"),
            max_tres_mins=self._limits(record, "MaxTRESMinsPerJob"),
            min_tres=self._limits(record, "MinTRESPerJob"),
            max_tres_user=self._limits(record, "MaxTRESPerUser"),
            max_tres_account=self._limits(record, "MaxTRESPerAccount"),
            max_run_mins_user=self._limits(record, RUN_MINUTES[0]) if self._run_minutes else (),
            max_run_mins_account=self._limits(record, RUN_MINUTES[1]) if self._run_minutes else (),
            grp_accrue=record.number("GrpJobsAccrue"),
            max_accrue=record.number(accrue),
            max_accrue_account=record.number("MaxJobsAccruePerAccount"),
            least_priority=record.number("MinPrioThreshold"),
        )

    def _limits(self, record: Record, name: str) -> Limits:
        amounts = record.tres(name)
        unknown = [kind for kind in amounts if kind not in self._tres.index]
        if unknown:
            raise InputError(f"{name}={unknown[0]}: {unknown[0]} is not counted; name it in AccountingStorageTRES")
        # Slurm goes through resources as they are numbered.
        return tuple(sorted((self._tres.index[kind], amount) for kind, amount in amounts.items()))

    def _share_out(self) -> None:
        """Which associations share with each other, and which part each has of the shares."""
        for share in self.shares.values():
            share.children = []
        for share in self.shares.values():
            above = share.parent
            while above is not None and above.parent is not None and above.shares is None:
                above = above.parent
            share.above = above
            share.counts_as = share if share.shares is not None or above is None else above
            # Accounts that have their parent's shares are no level of their own.
            if above is not None and (share.is_user or share.shares is not None):
                above.children.append(share)
        self._share_below(self.root, 1.0)

    def _share_below(self, above: Share, part: float) -> None:
        total = sum(child.shares for child in above.children if child.shares is not None)
        above.norm_shares = part
        for child in above.children:
            child.level_shares = total
            if child.shares is None:
                child.norm_shares = 0.0 if self._by_level else above.norm_shares
                continue
            own = child.shares / total if total else 0.0
            self._share_below(child, own if self._by_level else own * part)


def resources_of(accounts: Accounts) -> Iterator[str]:
    """Resources that limits name."""
    for record in (*accounts.associations.values(), *accounts.qos.values()):
        for value in record.stated.values():
            if isinstance(value, Mapping):
                yield from value
