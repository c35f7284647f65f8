"""Whole nodes: whatever a job asks for on a node, it has the node for itself."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.nodes import Allocation, Machine, NodeView
from slurm_sim_plugins.select.cons_tres import ConsTres, best_fit


class Linear(ConsTres):
    """Best fit over idle nodes, which a job takes whole.

    On unequal nodes, from Slurm 24.11 on (``want.largest_first``): heavier nodes are looked at where lighter ones do
    not suffice, or are not as many as are welcome, and then weights do not matter any more; where the smallest nodes
    do not suffice, the largest are taken first.

    Weights count as a job starts. Backfill, which plans on all nodes at once, knows nothing of them (recorded).
    """

    name: ClassVar[str] = "select/linear"
    whole_nodes: ClassVar[bool] = True

    @hookimpl
    def select_nodes(self, view: NodeView) -> Allocation | None:
        want, machine, weights = view.want, view.machine, view.machine.weight
        if want.unweighed:
            return best_fit(want, _even(machine), view.free, view.usable)
        if not want.largest_first:
            return best_fit(want, machine, view.free, view.usable)
        levels = np.unique(weights[view.usable]).tolist()
        for level in levels:
            light = weights <= level if want.required is None else (weights <= level) | want.required
            usable = view.usable & light
            if level < levels[-1] and np.count_nonzero(usable) < want.target_nodes:
                continue
            found = best_fit(want, _even(machine), view.free, usable)
            if found is not None:
                return found
        return None


@lru_cache(maxsize=8)
def _even(machine: Machine) -> Machine:
    """The same machine, on which all nodes have one weight; it takes a while to make."""
    return replace(machine, weight=np.zeros_like(machine.weight))


def is_even(machine: Machine) -> bool:
    """Whether nodes are of one weight and size."""
    return len(np.unique(machine.weight)) < 2 and len(np.unique(machine.cpus)) < 2
