"""Which nodes a job gets: as :mod:`slurm_sim_plugins.select.cons_tres`, for plain requests, by a kernel.

The answers are the same, node by node. A request is plain if it names no nodes, takes any
node that its constraint allows, wants resources on each node and not in all, and no more
nodes than needed. The kernel is :mod:`emulator.scheduling.select_kernel`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from emulator.scheduling import tree_compiled as tree
from emulator.scheduling.select_kernel import Code, are_too_few, choose, give, nodes_of
from emulator.scheduling.select_rows import FREE_GRES, FREE_JOBS, FREE_MEMORY, FREE_UNITS, SETS
from slurm_sim_plugins.nodes import FAR, NO_GRES, Allocation, Free, Ints, Machine, Mask, Want, alike, neighbours, shared
from slurm_sim_plugins.select.allocation import allocate

MOST_KINDS = 62
"""Kinds of generic resources of which a request can be put as numbers."""


def encode(want: Want, machine: Machine) -> Code | None:
    """A request as numbers, or None if it is not plain."""
    if want.tried_in_plans is not None or not (_is_plain(want) and _is_plain_on(want, machine)):
        return None
    whole_tasks = want.cpus_per_task if want.whole_tasks else 1
    most_nodes = FAR if want.most_nodes is None else want.most_nodes
    highest = max(min(int((machine.units * machine.threads).max()), want.per_node), 1)
    others_give = FAR if most_nodes == FAR else (most_nodes - 1) * highest
    count, kinds = _gres(want, machine)
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
        singly=want.left_out_singly,
        big=max(want.cpus - others_give, 1),
        many_big=-(-want.cpus // highest),
        highest=highest,
        plain=int(machine.one_thread and not want.memory_per_cpu and whole_tasks == 1),
        whole_tasks=whole_tasks,
        rows=_rows(want, machine),
        steady=int(want.tree is None and (most_nodes in (1, FAR) or want.cpus >= most_nodes * highest)),
    )


def encode_planned(want: Want, machine: Machine) -> Code | None:
    """What whole nodes are planned with, where they are taken in another order as a job starts; None if not plain.

    Which nodes are taken for a plan is the same as long as all nodes are of one weight and size.
    """
    if not (want.first_fit or want.by_kinds or want.weights_now_only):
        return None
    code = encode(replace(want, first_fit=False, by_kinds=False, weights_now_only=False), machine)
    # Of one that is not steady it is not sure that it can start where it is planned now.
    return code if code is not None and code.steady else None


def _is_plain(want: Want) -> bool:
    """Whether a request goes by what each node has, and takes no more nodes than needed, whichever they are."""
    of_nodes = (
        want.required is not None,
        len(want.choices) != 1 or want.choices[0].counts,
        want.target_nodes > want.min_nodes,
        want.nodes_with_room,
        want.contiguous or want.spread or want.switches,
        want.first is not None or want.in_use is not None,
    )
    of_order = (
        want.least_loaded,
        want.most_gpus_first,
        want.largest_first,
        want.by_kinds,
        want.first_fit,
        want.weights_now_only,
        want.by_leaves,
    )
    of_memory = want.memory_of_first, want.memory_per_gpu
    of_cores = want.task_cores, want.per_socket < FAR, want.socket_tasks, want.cpus_free > 1, want.of_rounds
    of_tasks = want.placed, want.dealt < FAR
    of_others = want.pool, want.marks, want.unmarked, want.withheld is not None, want.granted is not None
    of_gres = want.gres_total, len(want.gres) > 1, want.gres_per_task
    of_gpus = want.gpus_per_socket, want.cpus_of_gpus, want.enforces_binding
    return not any(map(any, (of_nodes, of_order, of_memory, of_cores, of_tasks, of_others, of_gres, of_gpus)))


def _is_plain_on(want: Want, machine: Machine) -> bool:
    """Whether the machine has nothing that a plain request would have to go by."""
    # Of a socket that is counted as one some cores may be kept for the system.
    parts = want.socket_cores > 1 or bool((machine.cores > 1).any())
    by_socket = want.node_sockets > 1 or (machine.by_socket is not None and parts)
    one_by_one = machine.devices is not None or machine.binding is not None
    by_device = len(machine.gres) > MOST_KINDS or (one_by_one and want.gres)
    return not by_socket and not by_device and want.tree is tree.in_kernels(machine)


def _gres(want: Want, machine: Machine) -> tuple[int, int]:
    """How many of a generic resource it wants on each node, and which kinds of it, one bit each."""
    if not want.gres:
        return 0, 0
    name, kind, count = want.gres[0]
    return count, sum(
        1 << index for index, (other, of) in enumerate(machine.gres) if other == name and kind in ("", of)
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
        if are_too_few(code, free.table):
            return None
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
