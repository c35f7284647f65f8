"""Fair Tree: users ranked by walking the tree, at each level by shares over usage. Used by priority/multifactor.

A :mod:`kernel <slurm_sim_plugins.kernels>`: the tree is walked at the end of each period, thousands of times a week.

Source: Slurm's documentation, fair_tree ("Algorithm", "Ties"); observations F3, M4.
"""

from __future__ import annotations

from typing import Any, Protocol

UNUSED = float("inf")
"""Shares over usage of associations that have used nothing: they come first."""


class Share(Protocol):
    """An association in the tree, and what is worked out of it; the accounting of the simulation keeps it.

    Attributes:
        row: where its usage is counted.
        shares: its own, or None for its parent's.
        level_shares: of all its siblings together.
        norm_shares: its part of that; with classic fair share of all.
        above: the nearest above that has shares of its own; None for root.
        counts_as: itself, or with its parent's shares the nearest above that has its own.
        children: those that share out what it has.
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

    def __init__(self) -> None:
        self._tree: Tree | None = None

    def begin_period(self, root: Share, raw: Any) -> None:
        """Work out all factors, once usage was charged and has decayed.

        Args:
            root: the account root.
            raw: billed usage by row.
        """
        if self._tree is None or not self._tree.stands(root):
            self._tree = Tree(root)
        self._tree.rank(raw)

    def factor(self, share: Share, root: Share, raw: Any) -> float:
        """The factor of an association."""
        return share.factor


class Tree:
    """All associations below root from the top down, so that the children of one lie side by side.

    Args:
        root: the account root; shares and children stay what they are as long as the tree :meth:`stands`.
    """

    def __init__(self, root: Share) -> None:
        self._root = root
        self._top = root.children
        self._shares = shares = list(root.children)
        self._begin: list[int] = []
        self._behind: list[int] = []
        # Of accounts that have their parent's shares the children are among these, but not they.
        for share in shares:
            self._begin.append(len(shares))
            shares += share.children
            self._behind.append(len(shares))
        self._row = [share.row for share in shares]
        self._row_above = [(share.above or root).row for share in shares]
        self._own_shares = [share.shares is not None for share in shares]
        self._norm_shares = [share.norm_shares for share in shares]
        self._is_user = [share.is_user for share in shares]
        self._users = sum(self._is_user)
        self._known = [False] * len(shares)
        self._level_fs = [UNUSED] * len(shares)
        self._rank_of = [0] * len(shares)
        self._next = self._rank = 0

    def stands(self, root: Share) -> bool:
        """Whether nothing has changed below an account root: after a change all lists of children are new."""
        return self._root is root and self._top is root.children

    def rank(self, raw: Any) -> None:
        """Work out factors of all users, and what ``sshare`` shows of all associations.

        Args:
            raw: billed usage by row.
        """
        self._root.norm_usage, self._root.effective = 1.0, 1.0
        self._weigh(raw.tolist())
        # The first user gets the highest rank.
        self._next = self._rank = self._users
        self._level(list(range(len(self._top))), False)

    def _weigh(self, used: list[float]) -> None:
        used_by_all = used[self._root.row]
        for index in range(len(self._shares)):
            own = used[self._row[index]]
            if own == 0 and self._known[index]:
                # Of most there is nothing new, for they use nothing.
                continue
            share, above = self._shares[index], used[self._row_above[index]]
            norm_usage = (own / used_by_all if own < used_by_all else 1.0) if used_by_all else 0.0
            effective = own / above if above else 0.0
            part = self._norm_shares[index]
            if not self._own_shares[index]:
                # A user with the shares of the account above comes first in it.
                level_fs = UNUSED
            elif not part:
                level_fs = 0.0
            else:
                level_fs = part / effective if effective else UNUSED
            share.norm_usage, share.effective, share.level_fs = norm_usage, effective, level_fs
            self._level_fs[index], self._known[index] = level_fs, own == 0

    def _level(self, siblings: list[int], tied: bool) -> None:
        """Rank those below one account, or below several that are tied.

        Args:
            siblings: those there are.
            tied: whether the first of them has the rank of the user before.
        """
        level_fs, many, begin = self._level_fs, len(siblings), 0
        ordered = sorted(siblings, key=level_fs.__getitem__, reverse=True) if many > 1 else siblings
        while begin < many:
            at, behind = level_fs[ordered[begin]], begin + 1
            while behind < many and level_fs[ordered[behind]] == at:
                behind += 1
            self._equals(ordered[begin:behind], tied and begin == 0)
            begin = behind

    def _equals(self, siblings: list[int], tied: bool) -> None:
        """Of equals users come first, and accounts are taken together."""
        users = 0
        below: list[int] = []
        for index in siblings:
            if self._is_user[index]:
                if not tied and not users:
                    self._rank = self._next
                self._give(index)
                users += 1
            else:
                below += range(self._begin[index], self._behind[index])
        self._next -= users
        if below:
            self._level(below, tied or users > 0)

    def _give(self, user: int) -> None:
        if self._rank_of[user] != self._rank:
            self._rank_of[user] = self._rank
            self._shares[user].factor = self._rank / self._users
