"""The switches of :mod:`slurm_sim_plugins.topology.tree` as rows, for :mod:`emulator.scheduling.tree_kernel`.

Rows of the switches stand behind those of the machine, so that no kernel takes more arguments for them. Each node
is below one leaf at most.
"""

from __future__ import annotations

import numpy as np

from slurm_sim_plugins.nodes import Ints, Machine
from slurm_sim_plugins.topology.block import Blocks
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
    if (
        tree is None
        or isinstance(tree, Blocks)
        or tree.optional
        or (tree.nodes[tree.levels == 0].sum(axis=0) > 1).any()
    ):
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
