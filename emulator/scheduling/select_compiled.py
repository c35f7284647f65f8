"""Which nodes a job gets: as :mod:`slurm_sim_plugins.select.cons_tres`, for plain requests, by a kernel.

The answers are the same, node by node. A request is plain if it names no nodes, takes any
node that its constraint allows, wants resources on each node and not in all, and no more
nodes than needed. The kernel is :mod:`emulator.scheduling.select_kernel`.
"""

from __future__ import annotations

import numpy as np

from emulator.scheduling import tree_compiled as tree
from emulator.scheduling.select_kernel import Code, choose, give, nodes_of
from emulator.scheduling.select_rows import FREE_GRES, FREE_JOBS, FREE_MEMORY, FREE_UNITS, SETS
from slurm_sim_plugins.nodes import FAR, NO_GRES, Allocation, Free, Ints, Machine, Mask, Want, alike, neighbours, shared
from slurm_sim_plugins.select.cons_tres import allocate

MOST_KINDS = 62
"""Kinds of generic resources of which a request can be put as numbers."""


def encode(want: Want, machine: Machine) -> Code | None:
    """A request as numbers, or None if it is not plain."""
    others = want.required is not None or want.least_loaded or want.gres_total or len(want.gres) > 1
    if others or len(want.choices) != 1 or want.choices[0].counts or want.target_nodes > want.min_nodes:
        return None
    if (
        want.pool
        or want.marks
        or want.unmarked
        or want.withheld is not None
        or want.granted is not None
        or want.gres_per_task
        or want.cpus_of_gpus
        or want.contiguous
        or len(machine.gres) > MOST_KINDS
        or (machine.devices is not None and want.gres)
    ):
        return None
    if (
        want.task_cores
        or want.per_socket < FAR
        or want.first is not None
        or want.placed
        or want.of_rounds
        or want.spread
        or want.socket_tasks
        or (machine.by_socket is not None and (want.socket_cores > 1 or want.node_sockets > 1))
        or want.largest_first
        or want.first_fit
        or want.weights_now_only
    ):
        return None
    if want.in_use is not None or want.switches or want.tree is not tree.in_kernels(machine):
        return None
    name, kind, count = want.gres[0] if want.gres else ("", "", 0)
    kinds = sum(1 << index for index, (other, of) in enumerate(machine.gres) if other == name and kind in ("", of))
    whole_tasks = want.cpus_per_task if want.whole_tasks else 1
    most_nodes = FAR if want.most_nodes is None else want.most_nodes
    highest = max(min(int((machine.units * machine.threads).max()), want.per_node), 1)
    others_give = FAR if most_nodes == FAR else (most_nodes - 1) * highest
    return Code(
        min_nodes=want.least_nodes,
        most_nodes=most_nodes,
        cpus=want.cpus,
        per_task=want.cpus_per_task,
        on_node=want.cpus_on_node,
        given=want.cpus_given,
        per_node=want.per_node,
        ranked=want.ranked,
        per_core=want.per_core,
        whole=int(want.whole),
        memory_per_node=want.memory_per_node,
        memory_per_cpu=want.memory_per_cpu,
        memory_of_core=want.memory_of_core,
        all_memory=int(want.all_memory),
        gres=count,
        gres_kinds=kinds,
        last_first=int(want.last_first),
        first_node=int(want.first_node),
        big=max(want.cpus - others_give, 1),
        many_big=-(-want.cpus // highest),
        highest=highest,
        plain=int(machine.one_thread and not want.memory_per_cpu and whole_tasks == 1),
        whole_tasks=whole_tasks,
        rows=_rows(want, machine),
        steady=int(want.tree is None and (most_nodes in (1, FAR) or want.cpus >= most_nodes * highest)),
    )


def _rows(want: Want, machine: Machine) -> int:
    if want.gres:
        return FREE_GRES + len(machine.gres)
    if want.whole:
        return FREE_JOBS + 1
    return FREE_MEMORY + 1 if want.memory_per_node or want.memory_per_cpu or want.all_memory else FREE_UNITS + 1


def machine_table(machine: Machine) -> Ints:
    """The machine as rows."""
    columns = (machine.units, machine.memory, machine.weight, machine.threads, machine.cores)
    return tree.with_switches(np.array(columns, dtype=np.int64), machine)


class Selector:
    """Chooses nodes on a machine; keeps the room that the kernels work in.

    Attributes:
        rows: the machine as rows.
        weights: all weights, ascending.
        capacity: room for the CPUs that a job could have on each node.
        sets: room for sets of neighbours.
        taken: room for nodes, and the CPUs of each.
        room: for a number of each node.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        size = len(machine)
        self.rows = machine_table(machine)
        self.weights = machine.weights
        self.capacity: Ints = np.empty(size, dtype=np.int64)
        self.sets: Ints = np.empty((SETS, size), dtype=np.int64)
        self.taken: Ints = np.empty((2, size), dtype=np.int64)
        self.room: Ints = np.empty(size, dtype=np.int64)
        self._numbers: list[int] = machine.numbers.tolist()

    def select(self, want: Want, code: Code, free: Free, usable: Mask) -> Allocation | None:
        """As :func:`slurm_sim_plugins.select.cons_tres.best_fit`."""
        choice = want.choices[0]
        allowed = (usable if choice.takes_all else usable & choice.mask).view(np.uint8)
        found = choose(code, allowed, self.rows, self.weights, free.table, self.capacity, self.sets, self.taken)
        return self.allocation(want, code, free, self.taken, found) if found else None

    def allocation(self, want: Want, code: Code, free: Free, taken: Ints, found: int) -> Allocation | None:
        """What a job gets of the nodes that were taken, which are so many."""
        each = give(code, self.rows, found, taken, self.room)
        by_socket = self._machine.by_socket is not None
        others = by_socket or want.all_gres or want.all_memory or want.memory_per_cpu or want.memory_per_gpu
        if self._machine.one_thread and code.rows <= FREE_MEMORY + 1 and not others:
            # It wants nothing but CPUs, and perhaps memory of each node.
            units = alike(each, found) if each else shared(tuple(taken[1, :found].tolist()))
            nodes, memory = neighbours(nodes_of(found, taken, self._numbers)), alike(want.memory_per_node, found)
            return Allocation(nodes, units, memory, NO_GRES, False)
        return allocate(want, self._machine, free, taken[0, :found], taken[1, :found])
