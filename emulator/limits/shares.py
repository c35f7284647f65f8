"""What ``sshare`` shows: shares, usage and factors of all associations at one time, as typed values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from emulator.config.sacctmgr.database import Key
from emulator.limits.accounting import Accounting
from emulator.limits.assoc_mgr import MINUTE, NOT_KNOWN, Share
from emulator.limits.tres import ALWAYS


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
    for share, depth in _tree(accounting):
        yield _row(share, depth, accounting)


def _tree(accounting: Accounting) -> Iterator[tuple[Share, int]]:
    """All associations in that order, and how far each is below root."""
    below: dict[int, list[Share]] = {}
    for share in accounting.manager.shares.values():
        if share.parent is not None:
            below.setdefault(id(share.parent), []).append(share)
    waiting = [(accounting.manager.root, 0)]
    while waiting:
        share, depth = waiting.pop()
        yield share, depth
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
        run_minutes=_whole_minutes(usage.remaining[share.row].tolist(), accounting),
    )


Noted = tuple[str, str, str, int, int, int | None, float, float, float, float, float | None, float | None, str, str]
"""Account, user, partition, position in the tree and the further fields of :class:`ShareRow`, resources as text."""


class ChangedShares:
    """Which associations have changed since the last look: the same as :func:`share_rows`, for many looks."""

    def __init__(self, accounting: Accounting) -> None:
        self._accounting = accounting
        self._version = -1
        self._tree: list[tuple[Share, int]] = []
        self._last: dict[Key, Noted] = {}
        self._limits: list[str] = []
        self._minutes: list[tuple[list[float], str]] = []

    def rows(self) -> Iterator[Noted]:
        """Those that are not as they were."""
        accounting = self._accounting
        if self._version != accounting.manager.version:
            self._look_at_tree()
        rows, by_level = [share.row for share, _ in self._tree], accounting.by_level
        raw, remaining = accounting.usage.raw[rows].tolist(), accounting.usage.remaining[rows].tolist()
        for index, (share, depth) in enumerate(self._tree):
            association = share.association
            factor = accounting.factor(share) if share.is_user or not by_level else None
            effective = share.effective if share.effective is not None else accounting.effective(share)
            now = (
                association.account,
                association.user,
                association.partition,
                index,
                depth,
                share.shares if depth else None,
                share.norm_shares if depth or not by_level else 0.0,
                raw[index],
                0.0 if share.norm_usage == NOT_KNOWN else share.norm_usage,
                effective,
                factor,
                share.level_fs if by_level and depth else None,
                self._limits[index],
                self._minutes_of(index, remaining[index]),
            )
            if self._last.get(association.key) != now:
                self._last[association.key] = now
                yield now

    def _look_at_tree(self) -> None:
        accounting = self._accounting
        self._version, self._tree = accounting.manager.version, list(_tree(accounting))
        limits = [share.association.tres("GrpTRESMins") for share, _ in self._tree]
        self._limits = [",".join(f"{name}={amount:.0f}" for name, amount in each.items()) for each in limits]
        self._minutes = [([], "")] * len(self._tree)

    def _minutes_of(self, index: int, remaining: list[float]) -> str:
        """Whole minutes that its running jobs may still use; most have none, or as many as before."""
        before, text = self._minutes[index]
        if before != remaining:
            text = tres_text(_whole_minutes(remaining, self._accounting))
            self._minutes[index] = (remaining, text)
        return text


def _whole_minutes(seconds: Iterable[float], accounting: Accounting) -> dict[str, int]:
    return {name: int(round(left, 6) // MINUTE) for name, left in zip(accounting.tres.names, seconds, strict=True)}


ORDER = ("cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages")
"""Slurm's order of those that there always are."""


def tres_text(amounts: Mapping[str, float]) -> str:
    """Amounts as Slurm writes them, such as ``cpu=4,mem=0,energy=0,node=1``."""
    further = [name for name in amounts if name not in ALWAYS]
    return ",".join(f"{name}={int(amounts.get(name, 0))}" for name in (*ORDER, *further))
