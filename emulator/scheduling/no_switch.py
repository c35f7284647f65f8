"""Jobs that are refused in Slurm's words for switches: no switch has the nodes and CPUs below it that they want."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slurm_sim_plugins.nodes import Ints, Mask, Want
from slurm_sim_plugins.select.capacity import capacity_of
from slurm_sim_plugins.topology.tree import Tree

if TYPE_CHECKING:
    from emulator.state.cluster import Cluster


def is_beyond_switches(want: Want, nodes: Mask, cluster: Cluster) -> bool:
    """Whether a job that does not fit has enough nodes of use to it, but no switch has enough CPUs below it.

    Of nodes that it names, those must be all that it may have. For jobs that do not go by switches, such as those that
    are to be spread, it is never so. Asked of a real Slurm 24.11.

    Args:
        want: what the job needs.
        nodes: of its partition.
        cluster: whose.
    """
    rules = cluster.parameters.rules
    if not rules.NO_SWITCH_IS_SAID or rules.NO_SWITCH_IS_NOT_SAID:
        return False
    apart = want.spread or want.least_loaded or want.in_use is not None or cluster.nodes_for.whole_nodes
    if not isinstance(want.tree, Tree) or apart:
        return False
    machine = cluster.machine
    capacity = capacity_of(want, machine, machine.free(), nodes & want.choices[-1].mask)
    if want.most_nodes == 1:
        capacity = np.where(capacity >= want.cpus, capacity, 0)
    if np.count_nonzero(capacity) < want.min_nodes:
        return False
    if want.required is not None:
        return _are_all(want, want.required, capacity)
    return not any(_suffices(capacity[below], want) for below in want.tree.nodes)


def _are_all(want: Want, named: Mask, capacity: Ints) -> bool:
    """Whether nodes that a job names are as many as it may have, and too small for it."""
    has = capacity[named]
    return bool(has.all()) and len(has) == want.most_nodes and int(has.sum()) < want.cpus


def _suffices(capacity: Ints, want: Want) -> bool:
    return int(np.count_nonzero(capacity)) >= want.min_nodes and int(capacity.sum()) >= want.cpus
