"""Which nodes give their cores to a reservation of cores (``CoreCnt``), and how many each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slurm_sim_plugins.nodes import Ints


def given(left: Ints, cores: Sequence[int], nodes: int, fills: bool = False) -> Ints | None:
    """Units of each node, from the first node on; None if there are not enough.

    Args:
        left: units of each node that may be given.
        cores: what is wanted: one number for all nodes, or one for each of them.
        nodes: of how many nodes; 0 for any number.
        fills: whether the first nodes give as many as they have, but for one of each behind them.
    """
    if len(cores) > 1 or nodes == 1:
        return _of_each(left, list(cores), 0)
    if not nodes:
        return _in_all(left, cores[0])
    if fills:
        return _filled(left, cores[0], nodes)
    each = max(cores[0] // nodes, 1)
    return _of_each(left, [each] * nodes, cores[0] - each * nodes)


def _of_each(left: Ints, wanted: list[int], rest: int) -> Ints | None:
    """So many of one node each; what rests is of the first that have more."""
    found = np.zeros_like(left)
    for node in np.flatnonzero(left > 0).tolist():
        if wanted and left[node] >= wanted[0]:
            more = max(min(rest, int(left[node]) - wanted[0]), 0)
            found[node], rest = wanted.pop(0) + more, rest - more
    return None if wanted else found


def _filled(left: Ints, wanted: int, nodes: int) -> Ints | None:
    """As many of each node as it has, in turn, but for one of each behind it."""
    found, there = np.zeros_like(left), np.flatnonzero(left > 0)[:nodes].tolist()
    for behind, node in zip(range(len(there) - 1, -1, -1), there, strict=True):
        found[node] = min(int(left[node]), wanted - behind)
        wanted -= int(found[node])
    return None if wanted or len(there) < nodes else found


def _in_all(left: Ints, wanted: int) -> Ints | None:
    """So many of as many nodes as have them together."""
    found = np.minimum(left, np.maximum(wanted - np.cumsum(left) + left, 0))
    return found if int(found.sum()) == wanted else None
