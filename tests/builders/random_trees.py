"""Random switches above nodes."""

from __future__ import annotations

import numpy as np

from slurm_sim_plugins.topology.tree import Tree


def random_tree(size: int, draws: np.random.Generator) -> Tree:
    """Switches above nodes, some of which may be on none: one tree or several, of up to three levels."""
    leaves = int(draws.integers(1, 5))
    of = draws.integers(-1 if draws.random() < 0.3 else 0, leaves, size)
    below: list[list[int]] = [[] for _ in range(leaves)]
    free = list(range(leaves))
    while len(free) > 1 and draws.random() < 0.8:
        taken = [free.pop(int(draws.integers(len(free)))) for _ in range(int(draws.integers(1, len(free) + 1)))]
        free.append(len(below))
        below.append(taken)
    order = draws.permutation(len(below))
    named = [[int(np.flatnonzero(order == child)[0]) for child in below[switch]] for switch in order]
    nodes = np.array([of == switch for switch in order])
    return Tree.of([f"s{switch}" for switch in order], named, nodes, by_cpus=bool(draws.random() < 0.5))
