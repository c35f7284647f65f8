"""What ``sshare`` shows: shares, usage and factors of all associations at one time, as typed values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from emulator.slurmctld.accounting import Accounting
from emulator.slurmctld.assoc_mgr import MINUTE, NOT_KNOWN, Share
from emulator.slurmctld.tres import ALWAYS


@dataclass(frozen=True, slots=True)
class ShareRow:
    """An association.

    Attributes:
        account, user, partition: whose; without a user it is the account itself.
        depth: how far it is below root.
        raw_shares: as stated; None for those of its parent (and for root).
        norm_shares: its part of the shares.
        raw_usage: billed seconds.
        norm_usage: its part of what everybody used.
        effective_usage: the usage that counts for it.
        fair_share: its factor; None of an account, with Fair Tree.
        level_fs: shares over usage among its siblings; None without Fair Tree.
        limit_minutes: ``GrpTRESMins`` by resource.
        run_minutes: whole minutes that its running jobs may still use, by resource.
    """

    account: str
    user: str
    partition: str
    depth: int
    raw_shares: int | None
    norm_shares: float
    raw_usage: float
    norm_usage: float
    effective_usage: float
    fair_share: float | None
    level_fs: float | None
    limit_minutes: Mapping[str, float]
    run_minutes: Mapping[str, int]

    @property
    def is_root(self) -> bool:
        """Whether it is the account root."""
        return not self.depth


def share_rows(accounting: Accounting) -> Iterator[ShareRow]:
    """All associations as the tree has them: those of users before accounts, each by name."""
    below: dict[int, list[Share]] = {}
    for share in accounting.manager.shares.values():
        if share.parent is not None:
            below.setdefault(id(share.parent), []).append(share)
    waiting = [(accounting.manager.root, 0)]
    while waiting:
        share, depth = waiting.pop()
        yield _row(share, depth, accounting)
        children = sorted(below.get(id(share), ()), key=_place, reverse=True)
        waiting += [(child, depth + 1) for child in children]


def _place(share: Share) -> tuple[bool, str, str, str]:
    association = share.association
    return not association.user, association.user, association.account, association.partition


def _row(share: Share, depth: int, accounting: Accounting) -> ShareRow:
    association, usage = share.association, accounting.usage
    by_level = accounting.by_level
    ranked = share.is_user or not by_level
    factor = accounting.factor(share) if ranked else None
    remaining = usage.remaining[share.row]
    effective = share.effective if share.effective is not None else accounting.effective(share)
    return ShareRow(
        account=association.account,
        user=association.user,
        partition=association.partition,
        depth=depth,
        raw_shares=share.shares if depth else None,
        norm_shares=share.norm_shares if depth or not by_level else 0.0,
        raw_usage=float(usage.raw[share.row]),
        norm_usage=0.0 if share.norm_usage == NOT_KNOWN else share.norm_usage,
        effective_usage=effective,
        fair_share=factor,
        level_fs=share.level_fs if by_level and depth else None,
        limit_minutes=dict(association.tres("GrpTRESMins")),
        run_minutes={
            name: int(round(float(remaining[place]), 6) // MINUTE) for place, name in enumerate(accounting.tres.names)
        },
    )


UNCOUNTED = ("energy", "fs/disk", "vmem", "pages")
"""Resources that Slurm lists and of which jobs of the emulator use nothing."""
ORDER = ("cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages")
"""Slurm's order of those that there always are."""


def tres_text(amounts: Mapping[str, float]) -> str:
    """Amounts as Slurm writes them, such as ``cpu=4,mem=0,energy=0,node=1``."""
    further = [name for name in amounts if name not in ALWAYS]
    return ",".join(f"{name}={int(amounts.get(name, 0))}" for name in (*ORDER, *further))
