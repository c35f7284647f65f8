"""Fair Tree: users ranked by walking the tree, at each level by shares over usage.

Source: Slurm's documentation, fair_tree ("Algorithm", "Ties"); observations F3, M4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from emulator.slurmctld.assoc_mgr import Share
from emulator.slurmctld.usage import Floats

UNUSED = float("inf")
"""Shares over usage of those who have used nothing: they come first."""


def rank(root: Share, raw: Floats) -> None:
    """Work out factors of all users below root, and what ``sshare`` shows of all associations.

    Args:
        root: the account root.
        raw: billed usage by row.
    """
    root.norm_usage, root.effective = 1.0, 1.0
    used, users = raw.tolist(), 0
    for share in _below(root):
        _weigh(share, used[share.row], used[(share.above or root).row], used[root.row])
        users += share.is_user
    _Walk(users).level(root.children, tied=False)


def _below(root: Share) -> Iterator[Share]:
    """All that are below; of accounts that have their parent's shares the children, but not they."""
    waiting = list(reversed(root.children))
    while waiting:
        share = waiting.pop()
        yield share
        waiting += reversed(share.children)


def _weigh(share: Share, used: float, used_above: float, used_by_all: float) -> None:
    share.norm_usage = min(used / used_by_all, 1.0) if used_by_all else 0.0
    share.effective = used / used_above if used_above else 0.0
    if share.shares is None:
        # A user who has his parent's shares is the first of his account.
        share.level_fs = UNUSED
    elif not share.norm_shares:
        share.level_fs = 0.0
    else:
        share.level_fs = share.norm_shares / share.effective if share.effective else UNUSED


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
            siblings: who is there.
            tied: whether the first of them has the rank of the user before.
        """
        # Of equals users come first, and accounts are taken together.
        ordered = sorted(siblings, key=lambda share: (-share.level_fs, not share.is_user))
        before: float | None = None
        for (weight, is_user), group in groupby(ordered, key=lambda share: (share.level_fs, share.is_user)):
            together = tied if before is None else before == weight
            if is_user:
                self._users_of(list(group), tied=together)
            else:
                self.level([child for account in group for child in account.children], tied=together)
            before = weight

    def _users_of(self, users: Sequence[Share], *, tied: bool) -> None:
        if not tied:
            self._rank = self._next
        for user in users:
            user.factor = self._rank / self._users
        self._next -= len(users)
