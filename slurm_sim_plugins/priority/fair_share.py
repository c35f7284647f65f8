"""Classic and depth-oblivious fair share: a user's effective usage, and two to the power of minus its ratio to shares.

Accounts are worked out at the beginning of a period, before what ran is charged: of them
``sshare`` shows what was true then. Users are worked out when they are first asked for
after that, and keep that value until the next period. (Observations F4, F5.)

Sources: Slurm's documentation, classic_fair_share ("Normalized Usage", "Effective Usage")
and priority_multifactor3 ("Depth-Oblivious Fair-Share Formula").
"""

from __future__ import annotations

from collections.abc import Collection
from math import log
from typing import Any

from slurm_sim_plugins.priority.fair_tree import FairTree, Share

STEEPNESS = 5.0
"""How soon an account's usage stops to matter as that of its parent is off its share."""


def fair_share_of(flags: Collection[str], dampening: float) -> FairTree | ClassicShares:
    """How factors are worked out, as PriorityFlags say.

    Args:
        flags: in upper case.
        dampening: ``FairShareDampeningFactor``.
    """
    oblivious = "DEPTH_OBLIVIOUS" in flags
    return ClassicShares(dampening, oblivious) if oblivious or "NO_FAIR_TREE" in flags else FairTree()


class ClassicShares:
    """Works out factors.

    Args:
        dampening: ``FairShareDampeningFactor``.
        depth_oblivious: whether the depth of the tree is not to matter.
    """

    by_level = False

    def __init__(self, dampening: float, depth_oblivious: bool) -> None:
        self._dampening = dampening
        self._depth_oblivious = depth_oblivious

    def begin_period(self, root: Share, raw: Any) -> None:
        """Work out the accounts; users are recalculated when they are asked for."""
        root.norm_usage, root.effective = 1.0, 1.0
        self._below(root, root, raw)

    def _below(self, above: Share, root: Share, raw: Any) -> None:
        # The last that was added comes first.
        for share in reversed(above.children):
            if share.is_user:
                share.effective = None
            else:
                self._weigh(share, root, raw)
                self._below(share, root, raw)

    def factor(self, share: Share, root: Share, raw: Any) -> float:
        """The factor of an association now; of one that has its parent's shares, the parent's."""
        used = share.counts_as
        if used.effective is None:
            self._weigh(used, root, raw)
        if used.effective is None or used.norm_shares <= 0:
            return 0.0
        return float(2.0 ** -(used.effective / used.norm_shares / self._dampening))

    def _weigh(self, share: Share, root: Share, raw: Any) -> None:
        total = float(raw[root.row])
        share.norm_usage = min(float(raw[share.row]) / total, 1.0) if total else 0.0
        above = share.above
        if above is None or above is root:
            share.effective = share.norm_usage
        elif self._depth_oblivious:
            share.effective = _oblivious(share, above)
        else:
            share.effective = _classic(share, above)


def _classic(share: Share, above: Share) -> float:
    """Its own usage, and as much of what the others of its account used as it has shares there."""
    ours, theirs = share.norm_usage, above.effective or 0.0
    if not share.level_shares:
        return theirs
    return ours + (theirs - ours) * (share.shares or 0) / share.level_shares


def _oblivious(share: Share, above: Share) -> float:
    """The parent's ratio of usage to shares, times a power of its own ratio to that of all siblings.

    Siblings count with what they had used when they were last worked out.
    """
    if not (share.norm_shares and above.norm_shares and above.effective and share.norm_usage):
        return share.norm_usage
    parent = above.effective / above.norm_shares
    siblings = sum(child.norm_usage for child in above.children if child.shares is not None) / above.norm_shares
    local = share.norm_usage / share.norm_shares / siblings
    # Where the parent is off its share to the other side, an account is drawn towards the parent.
    apart = log(parent) * log(local) < 0
    power = 1 / (1 + (STEEPNESS * log(parent)) ** 2) if apart else 1.0
    return float(parent * local**power * share.norm_shares)
