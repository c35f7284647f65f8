# cython: boundscheck=True, wraparound=True
"""What is free on nodes, as a table; a :mod:`kernel <slurm_sim_plugins.kernels>`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

UNITS, MEMORY, JOBS = range(3)
"""Rows of the table; see :attr:`slurm_sim_plugins.nodes.Free.table`."""


def add(
    table: NDArray[np.int64],
    nodes: tuple[int, ...],
    units: tuple[int, ...],
    memory: tuple[int, ...],
    sign: int,
    jobs: int,
    shared: bool,
) -> None:
    """Add what a job has on its nodes, or take it away: node by node, for most jobs have few.

    Args:
        table: is changed.
        nodes: of the job.
        units: what it has on each.
        memory: likewise.
        sign: 1 or -1.
        jobs: what is added to the number of jobs on each node.
        shared: whether units are not counted.
    """
    for index in range(len(nodes)):
        node = nodes[index]
        if not shared:
            table[UNITS, node] += sign * units[index]
        table[MEMORY, node] += sign * memory[index]
        table[JOBS, node] += jobs
