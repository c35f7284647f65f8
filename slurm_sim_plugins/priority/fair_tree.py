"""Fair Tree: users ranked by walking the tree, at each level by shares over usage. Used by priority/multifactor.

Source: Slurm's documentation, fair_tree ("Algorithm", "Ties"); observations F3, M4.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Protocol

UNUSED = float("inf")
"""Shares over usage of those who have used nothing: they come first."""


_LEVEL_FS = attrgetter("level_fs")


class Share(Protocol):
    """An association in the tree, and what is worked out of it; the accounting of the simulation keeps it.

    Attributes:
        row: where its usage is counted.
        shares: its own, or None for its parent's.
        level_shares: of all its siblings together.
        norm_shares: its part of that; with classic fair share of all.
        above: the nearest above that has shares of its own; None for root.
        counts_as: itself, or with its parent's shares the nearest above that has its own.
        children: with whom it shares out.
        is_user: whether it is a user's, not an account.
        norm_usage, effective, level_fs, factor: are written here.
    """

    row: int
    shares: int | None
    level_shares: int
    norm_shares: float
    above: Any
    counts_as: Any
    children: list[Any]
    norm_usage: float
    effective: float | None
    level_fs: float
    factor: float
    is_user: bool


class FairTree:
    """Factors of users by their rank."""

    by_level = True

    def begin_period(self, root: Share, raw: Any) -> None:
        """Work out all factors, once usage was charged and has decayed."""
        rank(root, raw)

    def factor(self, share: Share, root: Share, raw: Any) -> float:
        """The factor of an association."""
        return share.factor


def rank(root: Share, raw: Any) -> None:
    """Work out factors of all users below root, and what ``sshare`` shows of all associations.

    Args:
        root: the account root.
        raw: billed usage by row.
    """
    root.norm_usage, root.effective = 1.0, 1.0
    used, users = raw.tolist(), 0
    used_by_all: float = used[root.row]
    below = list(root.children)
    # Of accounts that have their parent's shares the children are among these, but not they.
    for share in below:
        _weigh(share, used[share.row], used[(share.above or root).row], used_by_all)
        below += share.children
        users += share.is_user
    _Walk(users).level(root.children, tied=False)


def _weigh(share: Share, used: float, used_above: float, used_by_all: float) -> None:
    # Not by min(): this is done for each association in each period.
    share.norm_usage = (used / used_by_all if used < used_by_all else 1.0) if used_by_all else 0.0
    share.effective = effective = used / used_above if used_above else 0.0
    if share.shares is None:
        # A user who has his parent's shares is the first of his account.
        share.level_fs = UNUSED
    elif not share.norm_shares:
        share.level_fs = 0.0
    else:
        share.level_fs = share.norm_shares / effective if effective else UNUSED


class _Walk:
    """One walk through the tree: the first user gets the highest rank.

    Args:
        users: how many there are.
    """

    def __init__(self, users: int) -> None:
        self._users = users
        self._next = users
        self._rank = users

    def level(self, siblings: Sequence[Share], *, tied: bool) -> None:
        """Rank those below one account, or below several that are tied.

        Args:
            siblings: those there are.
            tied: whether the first of them has the rank of the user before.
        """
        ordered = sorted(siblings, key=_LEVEL_FS, reverse=True)
        begin, many = 0, len(ordered)
        while begin < many:
            first, behind = ordered[begin], begin + 1
            while behind < many and ordered[behind].level_fs == first.level_fs:
                behind += 1
            if first.is_user and behind == begin + 1 and not (tied and begin == 0):
                # Most users have no equals.
                self._rank = self._next
                self._next -= 1
                first.factor = self._rank / self._users
            else:
                self._equals(ordered[begin:behind], tied=tied and begin == 0)
            begin = behind

    def _equals(self, siblings: Sequence[Share], *, tied: bool) -> None:
        """Of equals users come first, and accounts are taken together."""
        users = [share for share in siblings if share.is_user]
        if users:
            self._users_of(users, tied=tied)
        below = [child for share in siblings if not share.is_user for child in share.children]
        if below:
            self.level(below, tied=tied or bool(users))

    def _users_of(self, users: Sequence[Share], *, tied: bool) -> None:
        if not tied:
            self._rank = self._next
        for user in users:
            user.factor = self._rank / self._users
        self._next -= len(users)
