"""Whole nodes: whatever a job asks for on a node, it has the node for itself."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.nodes import Allocation, Free, Ints, Machine, Mask, NodeView, Want
from slurm_sim_plugins.select.cons_tres import ConsTres, best_fit


class Linear(ConsTres):
    """Idle nodes, which a job takes whole.

    In 22.05 they are taken one by one, the lightest first and then in the order of the file (``want.first_fit``);
    from 24.11 on as neighbours that fit best. On unequal nodes (``want.largest_first``) heavier ones are looked at
    where lighter ones do not suffice, or are not as many as are welcome, and then weights do not matter any more; where
    the smallest nodes do not suffice, the largest are taken first. Nodes of one weight are looked at kind by kind, as
    ``slurm.conf`` names them (``want.by_kinds``), unless jobs share them or preempt, or there are switches. Weights and
    kinds count as a job starts: backfill, which plans on all nodes at once, knows nothing of them (``want.unweighed``).
    All of it is recorded.
    """

    name: ClassVar[str] = "select/linear"
    whole_nodes: ClassVar[bool] = True

    @hookimpl
    def select_nodes(self, view: NodeView) -> Allocation | None:
        want = view.want
        machine = _even(view.machine) if want.unweighed else view.machine
        if want.first_fit:
            return _first_fit(view, machine)
        if want.unweighed or not (want.largest_first or want.by_kinds):
            return best_fit(_with_memory(want, machine, view.free, view.usable), machine, view.free, view.usable)
        return _by_levels(view)


def _with_memory(want: Want, machine: Machine, free: Free, usable: Mask) -> Want:
    """The same, of nodes with as much memory as the first has that is looked at, where a job takes all of it.

    Nodes in use are looked at as it is planned, and as it starts only those of jobs that it may preempt. (Asked of
    three versions.) What the first keeps for the system (MemSpecLimit) counts, but not of the others (asked, too).
    """
    if not want.memory_of_first:
        return want
    looked_at = usable if want.unweighed else usable & (free.jobs == 0)
    if want.in_reach is not None:
        looked_at = looked_at | want.in_reach
    if want.some_required and want.required is not None:
        looked_at = looked_at & want.required
    nodes = np.flatnonzero(looked_at & want.suited)
    if not len(nodes):
        return want
    return replace(want, memory_per_node=int((machine.memory + machine.kept_memory)[nodes[0]]))


def _first_fit(view: NodeView, machine: Machine) -> Allocation | None:
    """As few as suffice of the nodes that are not in use: they are halved until these are known."""
    want, free = view.want, view.free
    one_by_one = _one_by_one(machine, machine.weight.tobytes())
    if any(choice.counts for choice in want.choices):
        return best_fit(want, one_by_one, free, view.usable)
    nodes = np.flatnonzero(view.usable & want.suited & (free.units > 0) & (machine.memory >= want.memory_per_node))
    nodes = nodes[np.argsort(_ranks(machine)[nodes])]

    def fit(many: int, on: Machine, last: bool = False) -> Allocation | None:
        first = np.zeros(len(machine), dtype=bool)
        first[nodes[:many]] = True
        usable = first if want.required is None else first | (view.usable & want.required)
        # Of those that suffice the largest are taken first, if the smallest do not.
        found = replace(want, largest_first=True) if last else want
        return best_fit(_with_memory(found, on, free, usable), on, free, usable)

    few, many = want.target_nodes - 1, len(nodes)
    if want.memory_of_first and many >= want.min_nodes:
        # With another node more memory may be asked for, so that fewer of them do.
        enough = (each for each in range(min(few + 1, many), many + 1) if fit(each, _even(machine)) is not None)
        each = next(enough, None)
        return None if each is None else fit(each, one_by_one, last=True)
    if many < want.min_nodes or fit(many, _even(machine)) is None:
        return None
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if fit(middle, _even(machine)) is not None else (middle, many)
    return fit(many, one_by_one, last=True)


def _by_levels(view: NodeView) -> Allocation | None:
    """Nodes of the lightest weights that have as many idle nodes as are welcome, whatever the weights of these."""
    want, heights, idle = view.want, view.machine.weight, view.free.jobs == 0
    if want.by_kinds:
        heights = heights * len(heights) + view.machine.kinds
    levels = np.unique(heights[view.usable]).tolist()
    for level in levels:
        light = heights <= level if want.required is None else (heights <= level) | want.required
        usable = view.usable & light
        if level < levels[-1] and np.count_nonzero(usable & idle) < want.target_nodes:
            continue
        found = best_fit(_with_memory(want, view.machine, view.free, usable), _even(view.machine), view.free, usable)
        if found is not None:
            return found
    return None


@lru_cache(maxsize=8)
def _even(machine: Machine) -> Machine:
    """The same machine, on which all nodes have one weight; it takes a while to make."""
    return replace(machine, weight=np.zeros_like(machine.weight))


@lru_cache(maxsize=8)
def _one_by_one(machine: Machine, weights: bytes) -> Machine:
    """The same machine, on which each node has a weight of its own: by its weight and then in the order of the file.

    Operators change weights in place, so that it is known by these as well.
    """
    return replace(machine, weight=_ranks(machine))


def _ranks(machine: Machine) -> Ints:
    """The place of each node by its weight and then in the order of the file."""
    in_file = np.broadcast_to(machine.in_file, len(machine))
    return np.argsort(np.lexsort((np.arange(len(machine)), in_file, machine.weight)))


def is_even(machine: Machine) -> bool:
    """Whether nodes are of one weight and size."""
    return len(np.unique(machine.weight)) < 2 and len(np.unique(machine.cpus)) < 2
