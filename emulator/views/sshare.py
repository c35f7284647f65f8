"""``sshare``: shares and usage of associations, as of the last ``PriorityCalcPeriod`` that ended by a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from emulator.views.columns import Field, Fields
from emulator.views.recorded import KeptShare, RecordedCluster
from slurm_sim_plugins.errors import InputError

DEFAULT = "Account,User,RawShares,NormShares,RawUsage,EffectvUsage,FairShare"
LONG = "Account,User,RawShares,NormShares,RawUsage,NormUsage,EffectvUsage,FairShare,GrpTRESMins,TRESRunMins"
LONG_BY_LEVEL = (
    "Account,User,RawShares,NormShares,RawUsage,NormUsage,EffectvUsage,FairShare,LevelFS,GrpTRESMins,TRESRunMins"
)
ROOT = "root"


@dataclass(frozen=True)
class Wanted:
    """Which associations are shown.

    Attributes:
        everybody: those of all users; else, as Slurm does for root, of accounts and root alone.
        users: those of these users, and accounts; none for all.
        accounts: those in these accounts; none for all.
        users_alone: whether accounts are left out.
    """

    everybody: bool = False
    users: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    users_alone: bool = False

    def takes(self, share: KeptShare) -> bool:
        """Whether an association is shown."""
        if self.accounts and share.account not in self.accounts:
            return False
        if not share.user:
            return not self.users_alone
        return share.user in self.users if self.users else self.everybody or share.user == ROOT


def _number(name: str, digits: int = 6, of_root: bool = True) -> Callable[[KeptShare], str]:
    def text(share: KeptShare) -> str:
        value = getattr(share, name)
        return "" if math.isnan(value) or not (share.depth or of_root) else f"{value:.{digits}f}"

    return text


def _shares(share: KeptShare) -> str:
    if not share.depth:
        return ""
    return "parent" if math.isnan(share.raw_shares) else f"{share.raw_shares:.0f}"


FIELDS: Fields[KeptShare] = Fields(
    "sshare",
    tuple(
        Field(name, value, names=(name, *others), width=width)
        for width, value, name, *others in (
            (-20, lambda share: f"{' ' * share.depth}{share.account}", "Account"),
            (10, lambda share: share.user, "User"),
            (12, lambda share: share.partition, "Partition"),
            (10, _shares, "RawShares"),
            (11, _number("norm_shares"), "NormShares"),
            (11, lambda share: str(int(share.raw_usage)), "RawUsage"),
            (11, _number("norm_usage", of_root=False), "NormUsage"),
            (13, _number("effective_usage"), "EffectvUsage", "EffectiveUsage"),
            (10, _number("fair_share"), "FairShare"),
            (10, _number("level_fs"), "LevelFS"),
            (30, lambda share: share.grp_tres_mins, "GrpTRESMins"),
            (30, lambda share: share.tres_run_mins, "TRESRunMins"),
            (8, lambda share: share.cluster, "Cluster"),
        )
    ),
)
"""The columns, with Slurm's widths."""


def shown(recorded: RecordedCluster, time: float, wanted: Wanted) -> list[KeptShare]:
    """The associations, as the tree has them.

    Raises:
        InputError: the run was one without accounts.
    """
    shares = recorded.shares_at(time)
    if not shares:
        raise InputError("sshare shows accounts, which this run did not have at that time")
    return [share for share in shares if wanted.takes(share)]


def default(rows: Sequence[KeptShare], long: bool, partitions: bool) -> str:
    """The columns where none are stated."""
    by_level = any(not math.isnan(share.level_fs) for share in rows)
    form = (LONG_BY_LEVEL if by_level else LONG) if long else DEFAULT
    return form.replace("User,", "User,Partition,", 1) if partitions else form


def as_json(rows: Sequence[KeptShare]) -> list[dict[str, Any]]:
    """All that is known of the associations."""
    return [
        {
            "account": share.account,
            "user": share.user,
            "partition": share.partition,
            "shares": None if math.isnan(share.raw_shares) else int(share.raw_shares),
            "shares_normalized": share.norm_shares,
            "usage": share.raw_usage,
            "usage_normalized": share.norm_usage,
            "effective_usage": share.effective_usage,
            "fairshare": {"factor": share.fair_share, "level": share.level_fs},
            "tres_run_mins": share.tres_run_mins,
            "grp_tres_mins": share.grp_tres_mins,
        }
        for share in rows
    ]
