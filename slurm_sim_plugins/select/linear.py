"""Whole nodes: whatever a job asks for on a node, it has the node for itself."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.nodes import Allocation, Ints, Machine, NodeView
from slurm_sim_plugins.select.cons_tres import ConsTres, best_fit


class Linear(ConsTres):
    """Best fit over idle nodes, which a job takes whole.

    Nodes are looked at line by line of ``slurm.conf``, the lightest first: those of the next one where the nodes so far
    do not suffice, or are not as many as are welcome; then weights do not matter any more. That is as a job starts:
    backfill, which plans on all nodes at once, knows nothing of lines and weights (recorded). On unequal nodes, from
    Slurm 24.11 on (``want.largest_first``), the largest are taken first where the smallest do not suffice.
    """

    name: ClassVar[str] = "select/linear"
    whole_nodes: ClassVar[bool] = True

    @hookimpl
    def select_nodes(self, view: NodeView) -> Allocation | None:
        want, machine = view.want, view.machine
        if want.unweighed:
            return best_fit(want, _even(machine), view.free, view.usable)
        if any(choice.counts for choice in want.choices):
            return best_fit(want, machine, view.free, view.usable)
        order = machine.weight if want.largest_first else _order(machine)
        lines, idle = np.unique(order[view.usable]).tolist(), view.free.jobs == 0
        for line in lines:
            light = order <= line if want.required is None else (order <= line) | want.required
            usable = view.usable & light
            if line < lines[-1] and np.count_nonzero(usable & idle) < want.target_nodes:
                continue
            found = best_fit(want, _even(machine), view.free, usable)
            if found is not None:
                return found
        return None


@lru_cache(maxsize=8)
def _order(machine: Machine) -> Ints:
    """The places of lines of ``slurm.conf`` among all, by the weights of their nodes; of each node."""
    stated = np.array([machine.weight, np.broadcast_to(machine.line, len(machine))])
    order: Ints = np.unique(stated, axis=1, return_inverse=True)[1].reshape(-1)
    return order


@lru_cache(maxsize=8)
def _even(machine: Machine) -> Machine:
    """The same machine, on which all nodes have one weight; it takes a while to make."""
    return replace(machine, weight=np.zeros_like(machine.weight))


def is_even(machine: Machine) -> bool:
    """Whether nodes are of one weight and size."""
    return len(np.unique(machine.weight)) < 2 and len(np.unique(machine.cpus)) < 2
