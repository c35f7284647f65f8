"""Fair Tree by keys instead of a walk: a user's key is the list of shares over usage from the top down to him.

Users in the order of their keys; who has the key of the one before, or a key that begins with it, has his rank.
"""

from __future__ import annotations

from collections.abc import Mapping

from emulator.config.sacctmgr import Accounts, Association

UNUSED = float("inf")
"""Shares over usage of those who used nothing."""


def factors(accounts: Accounts, used: Mapping[tuple[str, str, str], int]) -> dict[tuple[str, str, str], float]:
    """The factor of every association of a user.

    Args:
        accounts: the tree.
        used: usage of users by key of the association.
    """
    below: dict[tuple[str, str, str], list[Association]] = {}
    usage = dict.fromkeys(accounts.associations, 0)
    for association in accounts.associations.values():
        for one in accounts.line(association):
            usage[one.key] += used.get(association.key, 0)
        above = _above(association, accounts)
        if above is not None:
            below.setdefault(above.key, []).append(association)

    def level(association: Association, above: Association) -> float:
        """Shares over usage, among its siblings."""
        if association.shares is None:
            return UNUSED
        if not association.shares:
            return 0.0
        total = sum(one.shares or 0 for one in below[above.key] if one.user or one.shares is not None)
        if not usage[association.key]:
            return UNUSED
        return (association.shares / total) / (usage[association.key] / usage[above.key])

    keys = {}
    for association in accounts.users():
        key, here = [], association
        above = _above(here, accounts)
        while above is not None:
            key.append(-level(here, above))
            here, above = above, _above(above, accounts)
        keys[association.key] = tuple(reversed(key))
    order = sorted(keys, key=lambda one: keys[one])
    found, rank, before = {}, len(order), None
    for place, one in enumerate(order):
        if before is None or keys[one][: len(before)] != before:
            rank = len(order) - place
        found[one] = rank / len(order)
        before = keys[one]
    return found


def _above(association: Association, accounts: Accounts) -> Association | None:
    """The nearest account above that has shares of its own, or root."""
    above = accounts.above(association)
    while above is not None and above.parent and above.shares is None:
        above = accounts.above(above)
    return above
