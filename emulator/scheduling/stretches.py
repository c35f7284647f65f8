"""Neighbours that are alike, so that a search looks at them together; a :mod:`kernel <slurm_sim_plugins.kernels>`.

On a large machine most nodes are just as the one before: of the same make, as much in use, by the same runs, and kept
by the same slots. A wide stretch is of nodes that are alike as runs end, whatever slots keep of them. Slots cut it into
pieces. What is known of all nodes of either is noted at the first one.
"""

from __future__ import annotations

from dataclasses import dataclass

from emulator.scheduling.run_rows import CHILD, COLUMN, FIRST, MANY, NODE, PARENT, SPAN
from slurm_sim_plugins.nodes import Bytes, Ints


@dataclass(eq=False)
class Stretches:
    """Of nodes, by number.

    Attributes:
        fixed: whether each differs from the one before whatever runs.
        heads: whether a piece begins at each.
        wide: where the wide stretch ends that begins at it: the first node behind it.
        owner: the first node of its wide stretch.
        pieces: where the piece ends that begins at it.
        cuts: pieces that slots cut, in the order in which that was done.
        room: for a number of each node.
        begins: the first nodes of all pieces, ascending, and behind them the number of nodes. A walk through all pieces
            goes by these: in compiled code to follow ``pieces`` takes several times as long.
        many: how many cuts there are.
        count: how many pieces there are.
    """

    fixed: Bytes
    heads: Bytes
    wide: Ints
    owner: Ints
    pieces: Ints
    cuts: Ints
    room: Ints
    begins: Ints
    many: int = 0
    count: int = 0


def forget(stretches: Stretches) -> None:
    """All nodes may be alike; they are not divided yet, and make one stretch."""
    stretches.fixed[:] = 0
    stretches.heads[:] = 0
    stretches.heads[0] = 1
    stretches.many = 0
    _link(stretches)


def tell_apart(stretches: Stretches, rows: Ints, many: int) -> None:
    """Nodes that differ in any of so many rows from the one before are never in one stretch with it."""
    fixed = stretches.fixed
    for row in range(many):
        for node in range(1, len(fixed)):
            if rows[row, node] != rows[row, node - 1]:
                fixed[node] = 1


def mixes(stretches: Stretches, usable: Bytes) -> bool:
    """Whether there are nodes in a wide stretch of which some may be used and others not.

    Such neighbours are told apart from now on, also where a run has only one of them now.
    """
    fixed, owner, found = stretches.fixed, stretches.owner, False
    for node in range(1, len(fixed)):
        if usable[node] != usable[node - 1]:
            fixed[node] = 1
            if owner[node] != node:
                found = True
    return found


def divide(stretches: Stretches, free: Ints, index: Ints, entries: Ints, parts: Ints, bounds: Ints) -> None:
    """Divide the nodes into wide stretches, of which no slot has cut any yet.

    Args:
        stretches: is filled in.
        free: what is free on each node.
        index: of runs; see :mod:`emulator.scheduling.run_rows`.
        entries: what runs give back.
        parts: is filled in: the wide stretches that each run has, one run after the other.
        bounds: is filled in: where those of each run begin there, and how many they are.
    """
    heads, fixed = stretches.heads, stretches.fixed
    heads[:] = fixed
    heads[0] = 1
    for row in range(len(free)):
        there = free[row]
        for node in range(1, len(fixed)):
            # It is written each time: a loop that asks first is not made into one of many nodes at a time.
            heads[node] |= there[node] != there[node - 1]
    for run in range(len(index)):
        _mark(stretches, entries, index[run, FIRST], index[run, MANY])
    _link(stretches)
    used = 0
    for run in range(len(index)):
        bounds[run, FIRST] = used
        used = _part(stretches, entries, index[run, FIRST], index[run, MANY], parts, used)
        bounds[run, MANY] = used - bounds[run, FIRST]
    stretches.many = 0


def uncut(stretches: Stretches) -> None:
    """The wide stretches are as they were before any slot cut them."""
    for index in range(stretches.many):
        stretches.heads[stretches.cuts[CHILD, index]] = 0
    stretches.many = 0
    _link(stretches)


def _mark(stretches: Stretches, entries: Ints, first: int, many: int) -> None:
    """A stretch begins where a run begins to have nodes, or gives back something else, and behind its last node."""
    heads, entry = stretches.heads, first
    while entry < first + many:
        node, behind = entries[NODE, entry], entries[NODE, entry] + entries[SPAN, entry]
        heads[node] = 1
        if behind < len(heads):
            heads[behind] = 1
        entry += entries[SPAN, entry]


def _part(stretches: Stretches, entries: Ints, first: int, many: int, parts: Ints, used: int) -> int:
    """Note the wide stretches that a run has behind so many others; how many that makes."""
    wide, entry = stretches.wide, first
    while entry < first + many:
        node, behind = entries[NODE, entry], entries[NODE, entry] + entries[SPAN, entry]
        while node < behind:
            parts[NODE, used], parts[COLUMN, used] = node, entry + node - entries[NODE, entry]
            used += 1
            node = wide[node]
        entry += entries[SPAN, entry]
    return used


def _link(stretches: Stretches) -> None:
    """Fill in where stretches end that begin at their heads."""
    heads, wide, owner, pieces, head = stretches.heads, stretches.wide, stretches.owner, stretches.pieces, 0
    size, begins, count = len(heads), stretches.begins, 0
    for node in range(size):
        if heads[node]:
            wide[head] = pieces[head] = begins[count] = node
            head, count = node, count + 1
        owner[node] = head
    wide[head] = pieces[head] = begins[count] = size
    stretches.count = count


def cut(stretches: Stretches, node: int) -> None:
    """A piece begins at a node from now on."""
    if node >= len(stretches.heads) or stretches.heads[node]:
        return
    begins = stretches.begins
    place = _behind(begins, stretches.count, node)
    parent = begins[place - 1]
    for later in range(stretches.count, place - 1, -1):
        begins[later + 1] = begins[later]
    begins[place] = node
    stretches.count += 1
    stretches.heads[node] = 1
    stretches.pieces[node], stretches.pieces[parent] = stretches.pieces[parent], node
    stretches.cuts[PARENT, stretches.many], stretches.cuts[CHILD, stretches.many] = parent, node
    stretches.many += 1


def _behind(begins: Ints, count: int, node: int) -> int:
    """How many of so many pieces begin before a node."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if begins[middle] < node:
            low = middle + 1
        else:
            high = middle
    return low
