"""The order of :mod:`slurm_sim_plugins.topology.tree`, compiled by numba, for jobs that must have no node.

Rows of the switches stand behind those of the machine, so that no kernel takes more arguments for them. Each node
is below one leaf at most.
"""

from __future__ import annotations

import numpy as np

from emulator.scheduling.kernel import compiled
from slurm_sim_plugins.nodes import FAR, Ints, Machine
from slurm_sim_plugins.topology.tree import Tree

WEIGHT = 2
"""The row of the machine with weights."""
LEAF, BY_LEAF, LEFT = range(5, 8)
"""Rows of nodes: the leaf of each or -1; nodes leaf by leaf; CPUs that the job could have and has not."""
PARENT, LEVEL, FIRST, BEHIND, UPWARD = range(8, 13)
"""Rows of switches: the one above; 0 for leaves; the nodes of a leaf in ``BY_LEAF``; switches, low levels first."""
NODES, CPUS, AWAY, USED = range(13, 17)
"""What is counted of them: nodes to be taken, CPUs, links from leaves in use; and whether a leaf is in use."""
MANY = 17
"""How many switches there are, and whether a switch has enough only if it has the CPUs."""
ROWS = 18


def in_kernels(machine: Machine) -> Tree | None:
    """The switches that kernels know: those above all jobs, where each node is below one leaf at most."""
    tree = machine.tree
    if tree is None or tree.optional or (tree.nodes[tree.levels == 0].sum(axis=0) > 1).any():
        return None
    return tree


def with_switches(rows: Ints, machine: Machine) -> Ints:
    """The rows of a machine, and behind them those of its switches, if kernels know them."""
    tree = in_kernels(machine)
    if tree is None:
        return rows
    nodes, many = len(machine), len(tree.names)
    table = np.zeros((ROWS, max(nodes, many, 2)), dtype=np.int64)
    table[: len(rows), :nodes] = rows
    leaves = tree.nodes & (tree.levels == 0)[:, None]
    table[LEAF, :nodes] = np.where(leaves.any(axis=0), leaves.argmax(axis=0), -1)
    members = [np.flatnonzero(below) for below in leaves]
    behind = np.cumsum([len(some) for some in members])
    table[BY_LEAF, : behind[-1]] = np.concatenate(members)
    table[FIRST, :many], table[BEHIND, :many] = behind - [len(some) for some in members], behind
    table[PARENT, :many], table[LEVEL, :many] = tree.parents, tree.levels
    table[UPWARD, :many] = np.argsort(tree.levels, kind="stable")
    table[MANY, :2] = many, tree.by_cpus
    return table


@compiled
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


@compiled
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


@compiled
def heaviest(table: Ints, weights: Ints, nodes: int, least: int, cpus: int) -> int:
    """The lowest weight such that the nodes up to it are enough; if none are, the highest."""
    last = 0
    for weight in weights:
        there, some, these = 0, 0, 0
        for node in range(nodes):
            if table[LEFT, node] > 0 and table[WEIGHT, node] <= weight:
                there, some = there + table[LEFT, node], some + 1
                these += table[WEIGHT, node] == weight
        last = weight if these else last
        if there >= cpus and some >= least:
            break
    return int(last)


@compiled
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


@compiled
def use(table: Ints, leaf: int) -> None:
    """A leaf is in use: note how far the others are from it."""
    table[USED, leaf] = 1
    for other in range(table[MANY, 0]):
        table[AWAY, other] += links(table, leaf, other)


@compiled
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


@compiled
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


@compiled
def enough(table: Ints, switch: int, least: int, cpus: int) -> bool:
    """Whether a switch has enough for what is missing."""
    return bool(table[NODES, switch] >= least and (table[CPUS, switch] >= cpus or not table[MANY, 1]))


@compiled
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
    return int(np.sign(table[LEVEL, other] - table[LEVEL, one]))
