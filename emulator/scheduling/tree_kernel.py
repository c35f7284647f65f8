"""The order of :mod:`slurm_sim_plugins.topology.tree`, for jobs that must have no node.

A :mod:`kernel <slurm_sim_plugins.kernels>` on the rows of :mod:`emulator.scheduling.tree_compiled`.
"""

from __future__ import annotations

from emulator.scheduling.tree_compiled import (
    AWAY,
    BEHIND,
    BY_LEAF,
    CPUS,
    FIRST,
    LEAF,
    LEFT,
    LEVEL,
    MANY,
    NODES,
    PARENT,
    UPWARD,
    USED,
    WEIGHT,
)
from slurm_sim_plugins.nodes import FAR, Ints


def begin(table: Ints, weights: Ints, capacity: Ints, least: int, cpus: int) -> int:
    """Note what a job could have below its top switch; the weight up to which nodes are needed, or -1."""
    lightest = FAR
    for node in range(len(capacity)):
        table[LEFT, node] = capacity[node] if table[LEAF, node] >= 0 else 0
        if capacity[node] > 0:
            lightest = min(lightest, table[WEIGHT, node])
    count(table, lightest, lightest, len(capacity))
    for switch in range(table[MANY, 0]):
        table[USED, switch] = table[NODES, switch]
    count(table, 0, FAR, len(capacity))
    top = top_switch(table, least, cpus)
    if top < 0:
        return -1
    for leaf in range(table[MANY, 0]):
        table[USED, leaf] = table[AWAY, leaf] = 0
        above = leaf
        while above != top and table[PARENT, above] != above:
            above = table[PARENT, above]
        if above != top:
            for index in range(table[FIRST, leaf], table[BEHIND, leaf]):
                table[LEFT, table[BY_LEAF, index]] = 0
    return heaviest(table, weights, len(capacity), least, cpus)


def top_switch(table: Ints, least: int, cpus: int) -> int:
    """The last of the switches of the highest level with enough, whose light nodes are in ``USED``; or -1."""
    top = -1
    for switch in range(table[MANY, 0]):
        if (
            enough(table, switch, least, cpus)
            and table[USED, switch]
            and (top < 0 or table[LEVEL, switch] >= table[LEVEL, top])
        ):
            top = switch
    return top


def heaviest(table: Ints, weights: Ints, nodes: int, least: int, cpus: int) -> int:
    """The lowest weight such that the nodes up to it are enough; if none are, the highest."""
    last = 0
    for rank in range(len(weights)):
        weight = weights[rank]
        there, some, these = 0, 0, 0
        for node in range(nodes):
            if table[LEFT, node] > 0 and table[WEIGHT, node] <= weight:
                there, some = there + table[LEFT, node], some + 1
                these += 1 if table[WEIGHT, node] == weight else 0
        last = weight if these else last
        if there >= cpus and some >= least:
            break
    return last


def count(table: Ints, lightest: int, heaviest: int, nodes: int) -> None:
    """Count what is left below each switch: nodes between two weights, and CPUs of all."""
    many = table[MANY, 0]
    for switch in range(many):
        table[NODES, switch] = table[CPUS, switch] = 0
    for node in range(nodes):
        cpus, leaf = table[LEFT, node], table[LEAF, node]
        if cpus > 0:
            table[CPUS, leaf] += cpus
            table[NODES, leaf] += lightest <= table[WEIGHT, node] <= heaviest
    for rank in range(many):
        switch = table[UPWARD, rank]
        above = table[PARENT, switch]
        if above != switch:
            table[CPUS, above] += table[CPUS, switch]
            table[NODES, above] += table[NODES, switch]


def use(table: Ints, leaf: int) -> None:
    """A leaf is in use: note how far the others are from it."""
    table[USED, leaf] = 1
    for other in range(table[MANY, 0]):
        table[AWAY, other] += links(table, leaf, other)


def links(table: Ints, one: int, other: int) -> int:
    """Links between two switches of a tree; none are counted between those of two trees."""
    steps = 0
    while one != other:
        if table[LEVEL, one] <= table[LEVEL, other] and table[PARENT, one] != one:
            one = table[PARENT, one]
        elif table[PARENT, other] != other:
            other = table[PARENT, other]
        else:
            return 0
        steps += 1
    return steps


def best_leaf(table: Ints, least: int, cpus: int) -> int:
    """The best of the leaves that are not in use, or -1."""
    best = -1
    for leaf in range(table[MANY, 0]):
        if table[LEVEL, leaf] or table[USED, leaf] or not table[NODES, leaf]:
            continue
        if best < 0:
            best = leaf
            continue
        better = compare(table, leaf, best, least, cpus)
        nearer = table[AWAY, best] - table[AWAY, leaf]
        if table[MANY, 1] and nearer and enough(table, leaf, least, cpus) and enough(table, best, least, cpus):
            better = 1 if nearer > 0 else -1
        if (better > 0 and nearer >= 0) or (better == 0 and nearer > 0):
            best = leaf
    return best


def enough(table: Ints, switch: int, least: int, cpus: int) -> bool:
    """Whether a switch has enough for what is missing."""
    if table[NODES, switch] < least:
        return False
    return bool(table[CPUS, switch] >= cpus or not table[MANY, 1])


def compare(table: Ints, one: int, other: int, least: int, cpus: int) -> int:
    """1 if the one is better, -1 if the other is, 0 if they are as good."""
    while not enough(table, one, least, cpus) and not enough(table, other, least, cpus):
        above, beside = table[PARENT, one], table[PARENT, other]
        if above == beside or (above == one and beside == other):
            break
        one, other = above, beside
    fits = enough(table, one, least, cpus)
    if fits != enough(table, other, least, cpus):
        return 1 if fits else -1
    if table[NODES, one] != table[NODES, other]:
        return 1 if (table[NODES, one] < table[NODES, other]) == fits else -1
    if table[LEVEL, one] == table[LEVEL, other]:
        return 0
    return 1 if table[LEVEL, one] < table[LEVEL, other] else -1
