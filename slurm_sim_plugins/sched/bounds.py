# cython: boundscheck=True, wraparound=True, nonecheck=True
"""How many jobs of the same kind a cycle of backfill tries; a :mod:`kernel <slurm_sim_plugins.kernels>`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slurm_sim_plugins.entry import Entry

TOGETHER = frozenset({"user", "account", "partition"})
"""Entries that are equal in these are counted together, if nothing else makes kinds."""


class Bounds:
    """How many jobs of the same kind a cycle tries.

    Args:
        bounds: how many, by the attributes that make the kind, such as user, account, partition; 0 for any number.
    """

    __slots__ = ("_together", "_tried")

    def __init__(self, bounds: Mapping[tuple[str, ...], int]) -> None:
        self._tried: list[tuple[int, tuple[str, ...], dict[Any, int]]] = [
            (most, names, {}) for names, most in bounds.items() if most
        ]
        self._together = all(TOGETHER.issuperset(names) for _, names, _ in self._tried)

    def are_none(self) -> bool:
        """Whether any number of each kind is tried."""
        return not self._tried

    def first_of(self, entries: list[Any]) -> list[Any]:
        """Those of some entries of which more may be tried; they are counted."""
        if not self._tried:
            return entries
        first: list[Any] = []
        place, many = 0, len(entries)
        while place < many:
            until = place + 1
            if self._together and isinstance(entries[place], Entry):
                while until < many and isinstance(entries[until], Entry) and _is_like(entries[until], entries[place]):
                    until += 1
            first += entries[place : place + self._count(entries[place], until - place)]
            place = until
        return first

    def uncount(self, entry: Any) -> None:
        """One that was counted was not tried: a limit keeps it from starting whatever nodes there are."""
        for _, names, tried in self._tried:
            tried[self._kind(entry, names)] -= 1

    def _count(self, entry: Any, wanted: int) -> int:
        """Count so many entries of a kind, or as many of them as may still be tried; how many."""
        for most, names, tried in self._tried:
            wanted = min(wanted, most - tried.get(self._kind(entry, names), 0))
        for _, names, tried in self._tried:
            kind = self._kind(entry, names)
            tried[kind] = tried.get(kind, 0) + wanted
        return wanted

    def _kind(self, entry: Any, names: tuple[str, ...]) -> tuple[Any, ...]:
        kind: list[Any] = []
        for name in names:
            kind.append(getattr(entry, name))  # noqa: PERF401 - a comprehension has no C types
        return tuple(kind)


def _is_like(entry: Entry, other: Entry) -> bool:
    """Whether entries are of one user, partition and account."""
    if entry.user is not other.user and entry.user != other.user:
        return False
    if entry.partition is not other.partition and entry.partition != other.partition:
        return False
    return entry.account is other.account or bool(entry.account == other.account)
