"""Consumable resources: a job gets cores, memory and generic resources of nodes that others may use, too.

Nodes form sets of consecutive usable nodes of equal weight; a node that cannot be used
ends a set. Low weights first; of them the tightest set that suffices; if none does, the
largest, and on. Within a set, if one node may do, the one that suffices with least to
spare; else from the lowest index up. (Observations C1 to C6.) Below switches
:mod:`slurm_sim_plugins.topology.tree` says which nodes come first, in blocks
:mod:`slurm_sim_plugins.topology.block`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from slurm_sim_plugins.binding import Reach
from slurm_sim_plugins.devices import SHARED
from slurm_sim_plugins.gres import gres_given
from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.nodes import (
    FAR,
    NO_GRES,
    Allocation,
    Choice,
    Free,
    Gres,
    Ints,
    Machine,
    Mask,
    NodeView,
    Want,
    neighbours,
    shared,
)
from slurm_sim_plugins.select.near_devices import no_more_than_tasks, reach_of, requests_of, with_devices
from slurm_sim_plugins.sockets import Asked, Sockets
from slurm_sim_plugins.topology.block import Blocks
from slurm_sim_plugins.topology.tree import Missing, Tree

Floats = NDArray[np.float64]
NO_MEMORY: Ints = np.zeros(0, dtype=np.int64)
"""Of a job that wants none."""


class ConsTres:
    """Best fit: the tightest set of neighbouring nodes that suffices, and on it no more than the job wants."""

    name: ClassVar[str] = "select/cons_tres"
    machines: ClassVar[tuple[str, ...]] = ("nodes",)
    whole_nodes: ClassVar[bool] = False

    @hookimpl
    def select_nodes(self, view: NodeView) -> Allocation | None:
        return best_fit(view.want, view.machine, view.free, view.usable)


def best_fit(want: Want, machine: Machine, free: Free, usable: Mask) -> Allocation | None:
    """The nodes for a job, or None if it does not fit.

    Args:
        want: what it needs.
        machine: the nodes.
        free: what is free of them.
        usable: which of them it may use.
    """
    if want.over_others:
        want = replace(want, over_others=False)
        empty = replace(machine.free(), memory=free.memory, gres=free.gres)
        return best_fit(want, machine, free, usable) or best_fit(replace(want, whole=True), machine, empty, usable)
    if want.heavier is not None:
        machine = machine.with_heavier(want.heavier)
    if want.first is not None:
        machine = machine.with_first(want.first)
    if want.some_required and want.required is not None:
        usable, want = usable & want.required, replace(want, required=None)
    if want.node_counts:
        return _with_counts(want, machine, free, usable)
    for choice in want.choices:
        if want.counts_planned and choice.counts:
            return _planned(want, machine, free, usable, choice)
        found = _with_choice(want, machine, free, usable & choice.mask, choice)
        if found is not None:
            return found
    return None


def _with_counts(want: Want, machine: Machine, free: Free, usable: Mask) -> Allocation | None:
    """As many nodes as there may be of those numbers that a job may have."""
    for count in want.node_counts:
        cpus = max(want.cpus, count)
        one = replace(want, min_nodes=count, target_nodes=count, most_nodes=count, cpus=cpus, node_counts=())
        found = best_fit(one, machine, free, usable)
        if found is not None:
            return found
    return None


def _planned(want: Want, machine: Machine, free: Free, usable: Mask, choice: Choice) -> Allocation | None:
    """The nodes that are planned: for each count those that a job of all its CPUs would get, and as many others."""
    everywhere = np.ones(len(machine), dtype=bool)
    taken = np.zeros(len(machine), dtype=bool)
    for mask, count in (*choice.counts, (choice.mask, want.min_nodes)):
        if mask is choice.mask:
            count, mask = want.min_nodes - int(taken.sum()), everywhere
        if count <= 0:
            continue
        part = replace(want, min_nodes=count, target_nodes=count, choices=(Choice(mask),), counts_planned=False)
        found = best_fit(part, machine, free, usable & ~taken)
        if found is None:
            return None
        taken |= found.mask(len(machine))
    all_of_it = replace(want, required=taken, most_nodes=None, choices=(Choice(everywhere),), counts_planned=False)
    return best_fit(all_of_it, machine, free, usable)


def _with_choice(want: Want, machine: Machine, free: Free, usable: Mask, choice: Choice) -> Allocation | None:
    capacity = _capacity(want, machine, free, usable)
    if want.required is not None and not capacity[want.required].all():
        return None
    if np.count_nonzero(capacity) < want.min_nodes:
        return None
    if _goes_by_switches(want) and not want.whole and _waits_for_switches(want, machine, free, usable, choice):
        return None
    sizes = _capacity(replace(want, gres_per_task=()), machine, free, usable) if want.late_gres else None
    if want.whole or not requests_of(want, machine):
        return _given(want, machine, free, capacity, choice, sizes)
    # How many CPUs count is bounded by the tasks that have room near the devices.
    capacity = _capacity(replace(want, ranked=FAR), machine, free, usable)
    cores, threads = _cores_of_sockets(want, machine, free), core_threads(want, machine)
    near = reach_of(want, machine, free, capacity, cores, threads, first=True)
    found = _given(no_more_than_tasks(want), machine, free, near.cpus, choice, sizes, near, again=False)
    if found is not None:
        return found
    capacity = near.left_of(capacity) if want.gres_total or want.gres_per_task else capacity
    other = reach_of(want, machine, free, capacity, cores, threads, first=False).after(near)
    return _given(want, machine, free, other.cpus, choice, sizes, other)


def _given(
    want: Want,
    machine: Machine,
    free: Free,
    capacity: Ints,
    choice: Choice,
    sizes: Ints | None,
    near: Reach | None = None,
    *,
    again: bool = True,
) -> Allocation | None:
    """What a job gets of nodes of which it may have so many CPUs each; see :func:`_pick`."""
    picked = _pick(want, machine, free, capacity, choice, sizes, near, again=again)
    if picked is None or _on_too_many_switches(want, list(picked)):
        return None
    if want.by_looks and (
        sum(picked.values()) < want.cpus or any(count > capacity[node] for node, count in picked.items())
    ):
        return None
    if want.placed > _places(want, machine, list(picked)):
        return None
    given = _distribute(want, machine, picked)
    if want.tasks_of_gpus and not want.first_node:
        given = _with_tasks_of_gpus(want, machine, free, capacity, given)
    if want.whole_tasks and want.pool and sum(cpus - cpus % want.cpus_per_task for cpus in given.values()) < want.cpus:
        return None
    tasks_on = np.array(list(given.items()), dtype=np.int64)
    nodes, cpus = tasks_on[:, 0], tasks_on[:, 1]
    of_gpus = capacity[nodes] if want.cpus_of_gpus else None
    if near is not None and near.least is not None:
        of_gpus = np.maximum(cpus if of_gpus is None else of_gpus, near.least[nodes])
    return allocate(want, machine, free, nodes, cpus, of_gpus, near)


def _on_too_many_switches(want: Want, nodes: list[int]) -> bool:
    """Whether nodes are on more leaf switches than the job wants them to be; only where switches count at all."""
    return _goes_by_switches(want) and want.tree is not None and len(want.tree.leaves_of(nodes)) > want.switches


def _goes_by_switches(want: Want) -> bool:
    """Whether it counts on how many leaf switches a job's nodes are."""
    others = want.spread or want.in_use is not None or want.by_looks or want.least_loaded or want.contiguous
    return bool(want.switches) and want.tree is not None and not others


def _waits_for_switches(want: Want, machine: Machine, free: Free, usable: Mask, choice: Choice) -> bool:
    """Whether the nodes that a job would get if all their cores were free are on too many switches.

    Slurm asks that first, so that such a job waits though others of these nodes would do (recorded).
    """
    of_sockets = [] if machine.by_socket is None else [*machine.by_socket.kinds, *machine.by_socket.of_pool(want.pool)]
    of_cores = {("", want.pool), *of_sockets}
    gres = {kind: machine.gres[kind] if kind in of_cores else left for kind, left in free.gres.items()}
    empty = replace(machine.free(), memory=free.memory, gres=gres)
    picked = _pick(want, machine, empty, _capacity(want, machine, empty, usable), choice)
    return picked is not None and _on_too_many_switches(want, list(picked))


def _counted_gres(want: Want, machine: Machine, free: Free) -> Ints | None:
    """How much each node has of what is wanted in all or for each task; None if there is nothing of the kind."""
    counts = [machine.gres_free(free, name, kind) for name, kind, _ in want.gres_per_task]
    # More of one type than the job wants does not stand for another one.
    counts += [np.minimum(machine.gres_free(free, name, kind), count) for name, kind, count in want.gres_total]
    return np.sum(counts, axis=0) if counts else None


def _pick(
    want: Want,
    machine: Machine,
    free: Free,
    capacity: Ints,
    choice: Choice,
    sizes: Ints | None = None,
    near: Reach | None = None,
    *,
    again: bool = True,
) -> dict[int, int] | None:
    """CPUs by node; where only so many nodes may be taken, those with least are left out, more and more, till it fits.

    But none that are named, and no more than leave as many as the job must have: of equal ones the last stay.
    Without that a set of small nodes could be preferred to the one node that is large enough. Nodes that count with
    the CPUs of others (:meth:`_Picker._by_looks`) may do without some of them, too. ``sizes``: the CPUs with which
    nodes count as the one that fits best is chosen, where they are not those of ``capacity``. ``near``: what nodes
    have, where devices are near some sockets. ``again``: whether any are left out at all.
    """
    gres, share = _counted_gres(want, machine, free), free.units / machine.units
    if gres is not None and want.cpus_per_gpu:
        gres = np.minimum(gres, capacity // want.cpus_per_gpu)
    if gres is not None and near is not None:
        gres = np.minimum(gres, sum(near.devices.values()))
    picker = partial(_Picker, want, machine, choice=choice, gres=gres, share=share, sizes=sizes, near=near)
    first = picker(capacity)
    picked = first.pick()
    if near is not None:
        near.tried.update(first.taken)
    if picked is not None or not again or (want.most_nodes is None and not want.by_looks):
        return picked
    named = np.zeros(len(machine), dtype=bool) if want.required is None else want.required
    more = np.count_nonzero(capacity) - want.least_nodes
    for level in np.unique(capacity[(capacity > 0) & ~named]).tolist():
        if more <= 0 or picked is not None:
            break
        least = np.flatnonzero((capacity == level) & ~named)[:more]
        capacity, more = capacity.copy(), more - len(least)
        capacity[least] = 0
        picked = picker(capacity).pick()
    return picked


def _places(want: Want, machine: Machine, nodes: list[int]) -> int:
    """Tasks that have CPUs of their own on these nodes, at least one on each."""
    cpus = machine.cpus[nodes] if want.whole else np.full(len(nodes), want.cpus_given)
    return int(np.maximum(cpus // want.cpus_per_task, 1).sum())


def _distribute(want: Want, machine: Machine, picked: dict[int, int]) -> dict[int, int]:
    """CPUs by node: one task for each, then onto each node in turn as many as a core takes (observation C4).

    Tasks that find no room are put onto the first nodes, as many on each as a core takes; these give the rest of what
    was picked there, if there is any.
    """
    nodes, size, turn = sorted(picked), want.cpus_per_task, 1
    of_core = dict(zip(nodes, np.maximum(core_threads(want, machine)[nodes] // size, 1).tolist(), strict=True))
    wanted = min(max(min(want.cpus, want.dealt), len(nodes) * want.cpus_given), len(nodes) * want.per_node)
    missing = wanted // size - len(nodes)
    tasks = dict.fromkeys(nodes, 1)
    room = {node: picked[node] // size for node in nodes}
    while missing > 0 and any(tasks[node] < room[node] for node in nodes):
        for node in nodes:
            more = max(0, min(min(room[node], turn * of_core[node]) - tasks[node], missing))
            tasks[node], missing = tasks[node] + more, missing - more
        turn += 1
    cpus = {node: count * size for node, count in tasks.items()}
    for node in nodes:
        if missing > 0:
            cpus[node] = picked[node]
            missing -= of_core[node]
    return cpus


def _with_tasks_of_gpus(
    want: Want, machine: Machine, free: Free, capacity: Ints, given: dict[int, int]
) -> dict[int, int]:
    """CPUs by node, where each has as many tasks as go with the GPUs that it gives, if there is room for them."""
    nodes = sorted(given)
    gres = gres_given(want, machine, free, nodes, [0] * len(nodes))
    if gres is None:
        return given
    gpus = [sum(counts[index] for (name, _), counts in gres.items() if name == "gpu") for index in range(len(nodes))]
    cpus = {node: count * want.tasks_of_gpus * want.cpus_per_task for node, count in zip(nodes, gpus, strict=True)}
    return cpus if all(0 < cpus[node] <= capacity[node] for node in nodes) else given


def _capacity(want: Want, machine: Machine, free: Free, usable: Mask) -> Ints:
    """Free CPUs of each node that the job can use: it may take fewer, but they say how good a fit the node is."""
    units = _free_units(want, machine, free, usable)
    capacity = _cpus(want, machine, units)
    if want.pool and not want.whole and (want.pool in machine.pool_excess or _leaves_threads(want, machine).any()):
        capacity = np.minimum(capacity, machine.pool_cpus(want.pool, _left_of_pool(want, machine, free)))
    if want.whole_tasks:
        # What bounds the jobs of a partition on a node counts after that, and may leave a part of a task.
        unbound = _free_units(replace(want, pool=""), machine, free, usable) if want.pool else units
        tasks = _cpus(want, machine, unbound) // want.cpus_per_task
        capacity = np.minimum(capacity, tasks * want.cpus_per_task)
    if machine.by_socket is not None:
        capacity = np.minimum(capacity, _on_sockets(want, machine, _cores_left(want, machine, machine.by_socket, free)))
    if want.socket_tasks:
        capacity = _of_sockets(want, machine, capacity)
    if want.memory_per_cpu:
        capacity = _with_enough(want, machine, free, units, capacity)
    if want.memory_per_node or want.memory_per_gpu:
        capacity = np.where(free.memory >= max(want.memory_per_node, want.memory_per_gpu), capacity, 0)
    if want.all_memory:
        capacity = np.where(free.memory >= machine.memory, capacity, 0)
    capacity = _with_gres(want, machine, free, capacity)
    # A node that has not as much as is wanted of each is of no use.
    return np.where(capacity >= want.cpus_on_node, np.maximum(np.minimum(capacity, want.ranked), 0), 0)


def _with_gres(want: Want, machine: Machine, free: Free, capacity: Ints) -> Ints:
    """CPUs of each node that the generic resources there leave to the job."""
    for name, kind, count in want.gres:
        if want.all_gres and machine.devices is not None and name in SHARED and not machine.devices.several:
            # It would have all shares of its nodes.
            return np.zeros_like(capacity)
        capacity = np.where(machine.gres_free(free, name, kind) >= count, capacity, 0)
    if want.gres_total:
        has_any = np.zeros(len(machine), dtype=bool)
        for name, kind, _ in want.gres_total:
            has_any |= machine.gres_free(free, name, kind) > 0
        capacity = np.where(has_any, capacity, 0)
    for name, kind, count in want.gres_per_task:
        capacity = np.minimum(capacity, machine.gres_tasks(free, name, kind, count) * want.cpus_per_task)
    if want.cpus_of_gpus:
        capacity = np.minimum(capacity, _with_gpus(want, machine, free, capacity))
    if want.tasks_per_gpu and want.tasks_on_node < FAR:
        capacity = np.where(capacity >= want.tasks_on_node * want.cpus_per_task, capacity, 0)
    return capacity


def _with_gpus(want: Want, machine: Machine, free: Free, capacity: Ints) -> Ints:
    """CPUs of each node that go with as many GPUs as the job may have there, as each of its nodes has one at least.

    Nodes that are named have theirs before others are looked at.
    """
    each, tasks, there = want.cpus_per_gpu, want.cpus // want.cpus_per_task, _counted_gres(want, machine, free)
    wanted = sum(count for _, _, count in want.gres_total) + tasks * sum(count for _, _, count in want.gres_per_task)
    there = capacity // each if there is None else np.minimum(there, capacity // each)
    gpus = np.minimum(there, wanted - (want.min_nodes - 1))
    if want.required is not None:
        left = max(wanted - int(gpus[want.required].sum()), 0)
        gpus = np.where(want.required, gpus, np.minimum(gpus, left))
    return np.where(gpus > 0, np.maximum(gpus * each, want.cpus_of_gpus), 0)


def _cores_left(want: Want, machine: Machine, by_socket: Sockets, free: Free) -> Ints:
    """Free cores of each socket of each node that the partition of a job leaves it."""
    bound = machine.pool_sockets.get(want.pool)
    if bound is None:
        return by_socket.free(free.gres)
    return by_socket.left_of_pool(free.gres, want.pool, bound, machine.core_threads)


def _on_sockets(want: Want, machine: Machine, left: Ints) -> Ints:
    """CPUs of each node of which the free cores of its sockets leave the job any."""
    left = np.where(left >= want.socket_cores, left, 0)
    cores, enough = _most_of_socket(want, machine), np.count_nonzero(left, axis=0) >= want.node_sockets
    threads, of_tasks = core_threads(want, machine), want.socket_tasks * want.cpus_per_task or FAR
    cpus = np.minimum(np.minimum(left, cores) * threads, of_tasks).sum(axis=0)
    return np.where(enough, cpus, 0)


def _cores_of_sockets(want: Want, machine: Machine, free: Free) -> Ints:
    """Free cores of each socket of each node that the job may have."""
    assert machine.by_socket is not None
    left = _cores_left(want, machine, machine.by_socket, free)
    return np.minimum(np.where(left >= want.socket_cores, left, 0), _most_of_socket(want, machine))


def _most_of_socket(want: Want, machine: Machine) -> Ints:
    """Cores of each socket of each node that the job may have."""
    most = min(want.socket_tasks * want.cpus_per_task or FAR, want.per_socket)
    return -(-most // core_threads(want, machine))


def _of_sockets(want: Want, machine: Machine, capacity: Ints) -> Ints:
    """CPUs of as many tasks as the sockets of each node may have; none where there are not enough for one of them."""
    most = np.minimum(capacity, machine.sockets * want.socket_tasks * want.cpus_per_task)
    few = (machine.cpus + machine.kept) // machine.sockets < want.socket_tasks
    return np.where(few | (most // want.cpus_per_task < want.socket_tasks), 0, most)


def _free_units(want: Want, machine: Machine, free: Free, usable: Mask) -> Ints:
    """Units of each node that the job may have."""
    units = np.where(usable, free.units, 0)
    if want.whole:
        units = np.where(free.jobs == 0, np.where(usable, machine.units, 0), 0)
    if want.pool and want.whole:
        # A node with more than the jobs of the partition may have together is of no use to one that takes all of it.
        most = machine.most_of_pool(want.pool)
        least = machine.units + (_kept_units(machine) if want.pool_of_all else 0)
        units = np.where(most < least * machine.threads, 0, units)
    elif want.pool:
        left = _left_of_pool(want, machine, free)
        if want.all_of_pool:
            units = np.where(machine.pool_cpus(want.pool, left) < units * machine.threads, 0, units)
        # What such jobs may have are CPUs of tasks: the threads that these leave idle do not count for a start.
        units = np.where(_leaves_threads(want, machine) & (left > 0), units, np.minimum(units, left))
    for mark in want.unmarked:
        units = np.where(free.gres["", mark] == machine.gres["", mark], units, 0)
    if want.withheld is not None:
        units = np.maximum(units - want.withheld, 0)
    return units if want.granted is None else np.minimum(units, want.granted)


def _leaves_threads(want: Want, machine: Machine) -> Mask:
    """Nodes of whose cores the job does not use all threads, where its partition bounds the CPUs of tasks."""
    if want.pool in machine.pools_of_cores:
        return np.zeros(len(machine), dtype=bool)
    return core_threads(want, machine) < machine.core_threads


def _left_of_pool(want: Want, machine: Machine, free: Free) -> Ints:
    """Units of each node that the jobs of a partition may still have: any while a CPU is left of what they may."""
    used = machine.units - free.units + _kept_units(machine) if want.pool_of_all else np.zeros_like(free.units)
    left: Ints = np.minimum(free.gres["", want.pool], machine.gres["", want.pool] - used)
    return np.maximum(left, 0)


def _kept_units(machine: Machine) -> Ints:
    """Units of each node that are kept for the system."""
    units: Ints = -(-machine.kept // machine.threads)
    return units


def _with_enough(want: Want, machine: Machine, free: Free, units: Ints, cpus: Ints) -> Ints:
    """CPUs of each node for which there is the memory: where that goes by CPUs they are those of whole tasks."""
    enough: Ints = free.memory // want.memory_per_cpu
    if want.memory_of_core:
        enough = _cpus(want, machine, np.minimum(units, enough // _with_memory(want, machine)))
    if want.whole:
        return np.where(enough >= cpus, cpus, 0)
    return np.minimum(cpus, enough) // want.cpus_per_task * want.cpus_per_task


def _cpus(want: Want, machine: Machine, units: Ints) -> Ints:
    """CPUs of so many units of each node that a job's tasks can use."""
    if machine.one_thread and want.per_socket == FAR:
        return units
    cpus = units * used(want, machine)
    if want.task_cores:
        cores = _task_cores(want, machine)
        cpus = np.where(cores > 1, units * machine.cores // cores * want.cpus_per_task, cpus)
    if want.per_socket < FAR:
        # Whole cores are given; where sockets are counted, only those that are free have any.
        threads, sockets = core_threads(want, machine), np.where(machine.cores > 1, units, machine.sockets)
        cpus = np.minimum(cpus, sockets * (-(-want.per_socket // threads) * threads))
    return cpus


def used(want: Want, machine: Machine) -> Ints:
    """CPUs of a unit of each node that a job's tasks may use."""
    most: Ints = np.minimum(machine.threads, want.per_core * machine.cores)
    return most


def core_threads(want: Want, machine: Machine) -> Ints:
    """CPUs of a core of each node that a job's tasks may use."""
    most: Ints = np.minimum(machine.core_threads, want.per_core)
    return most


def _with_memory(want: Want, machine: Machine) -> Ints:
    """CPUs of a unit of each node for which a job is given memory."""
    most: Ints = np.minimum(machine.threads, want.memory_of_core * machine.cores)
    return most


def _task_cores(want: Want, machine: Machine) -> Ints:
    """Cores of a task on each node."""
    return -(-want.cpus_per_task // machine.core_threads)


def _units(want: Want, machine: Machine, free: Free, taken: Ints, cpus: Ints) -> Ints:
    """Units of some nodes that so many CPUs are; cores of tasks of one CPU go round the sockets that are free."""
    if machine.one_thread:
        return cpus
    units = -(-cpus // used(want, machine)[taken])
    if want.task_cores:
        cores = _task_cores(want, machine)[taken]
        alone = -(-(-(-cpus // want.cpus_per_task) * cores) // machine.cores[taken])
        units = np.where(cores > 1, alone, units)
    if want.cpus_per_task == 1 and not want.fills_sockets:
        # Where so many tasks of a socket are stated, they fill it before another one is used.
        stated = want.socket_tasks or (0 if want.per_socket == FAR else want.per_socket)
        of_socket = np.maximum(core_threads(want, machine)[taken], stated)
        sockets = np.minimum(-(-cpus // of_socket), free.units[taken])
        units = np.where(machine.cores[taken] > 1, np.maximum(units, sockets), units)
    return units


class _Picker:
    """Picks nodes."""

    def __init__(
        self,
        want: Want,
        machine: Machine,
        capacity: Ints,
        choice: Choice,
        gres: Ints | None,
        share: Floats,
        sizes: Ints | None = None,
        near: Reach | None = None,
    ) -> None:
        self._want = want
        self._near = near
        self._sizes = sizes
        self._share = share
        self._machine = machine
        self._capacity = capacity
        named = 0 if want.required is None else int(np.count_nonzero(want.required))
        self._nodes = max(want.least_nodes, named)
        self._target = max(want.least_nodes, want.target_nodes)
        self._missing = want.cpus
        self._gres_missing = sum(count for _, _, count in want.gres_total)
        # More than the job wants in all does not make a node better.
        most = FAR if want.gres_per_task else self._gres_missing
        self._gres = np.zeros_like(capacity) if gres is None else np.minimum(gres, most)
        self._taken: dict[int, int] = {}
        self._counts = choice.counts
        self._of_unit = core_threads(want, machine) * machine.cores
        self._required = np.zeros(len(machine), dtype=bool) if want.required is None else want.required

    @property
    def taken(self) -> Mapping[int, int]:
        """CPUs by node of those that were taken, whether they are enough or not."""
        return self._taken

    def pick(self) -> dict[int, int] | None:
        """CPUs that are counted on, by node in the order in which they are taken; or None."""
        want, left = self._want, self._capacity.copy()
        if want.required is not None:
            for node in np.flatnonzero(want.required).tolist():
                self._take(node)
                left[node] = 0
        if not all(self._take_some(mask, count, left) for mask, count in self._counts):
            return None
        if isinstance(want.tree, Blocks) and self._in_blocks(left, want.tree):
            # They matter more than how loaded nodes are, and whether a job is to be spread.
            self._by_blocks(left, want.tree)
        elif want.spread:
            self._by_spread(left)
        elif want.in_use is not None and not want.contiguous:
            self._by_use(left, want.in_use)
        elif want.by_looks:
            self._by_looks(left)
        elif want.least_loaded:
            self._by_load(left)
        elif isinstance(want.tree, Tree):
            self._by_switches(left, want.tree)
        else:
            self._by_sets(left)
        enough = self._missing <= 0 and self._gres_missing <= 0 and len(self._taken) >= self._nodes
        return self._taken if enough and self._counts_met() else None

    def _take_some(self, mask: Mask, count: int, left: Ints) -> bool:
        """Take ``count`` nodes of a feature: those that a job of as many CPUs on as many nodes would get.

        Out of those that have the first feature, too, then the second as well, and so on. False if they have no room
        for tasks that must have it there.
        """
        want = replace(self._want, min_nodes=count, target_nodes=count, cpus=count, required=None)
        picked: dict[int, int] = {}
        others = np.zeros_like(mask)
        for other, _ in self._counts:
            others = others | other
            some = np.where(mask & others, left, 0)
            picked = picked or _Picker(want, self._machine, some, Choice(mask), None, self._share).pick() or {}
        for node in picked:
            self._take(node)
            left[node] = 0
        return want.whole or sum(picked.values()) >= want.counted_tasks * want.cpus_per_task

    def _counts_met(self) -> bool:
        return all(sum(mask[node] for node in self._taken) >= count for mask, count in self._counts)

    def _done(self) -> bool:
        """Whether there is enough, on as many nodes as are welcome."""
        return self._missing <= 0 and self._gres_missing <= 0 and len(self._taken) >= self._target

    def _full(self) -> bool:
        return self._want.most_nodes is not None and len(self._taken) >= self._want.most_nodes

    def _take(self, node: int, counted: int | None = None) -> None:
        """Take what the node has, but leave a core, or a socket, for each other node that is needed.

        Args:
            node: which one.
            counted: CPUs with which it counts, if they are not its own.
        """
        others = max(0, self._nodes - len(self._taken) - 1) * int(self._of_unit[node])
        wanted = max(self._missing - others, self._want.cpus_on_node)
        if self._near is not None and self._near.least is not None:
            wanted = max(wanted, int(self._near.least[node]))
        own, most = int(self._capacity[node]), self._want.per_node
        counted = own if counted is None else counted
        self._taken[node] = min(wanted if counted > wanted else own, most)
        self._missing -= min(counted, wanted, most)
        self._gres_missing -= int(self._gres[node])

    def _by_use(self, left: Ints, in_use: Mask) -> None:
        """Take nodes in use, and then idle ones, of each weight.

        Slurm looks for what is missing only after a node was taken: an idle node comes along where those in use of its
        weight suffice, even if that is one more than the job may have.
        """
        nodes, weights = np.flatnonzero(left > 0), self._machine.weight
        for weight in np.unique(weights[nodes]).tolist() if not self._done() else ():
            for those in (in_use, ~in_use):
                for node in nodes[(weights[nodes] == weight) & those[nodes]].tolist():
                    self._take(node)
                    if self._done() or self._full():
                        break
            if self._done() or self._full():
                return

    def _small_ones_lack(self) -> bool:
        """Whether so many of the smallest nodes as are welcome lack CPUs, and others are larger."""
        sizes = self._capacity[self._capacity > 0]
        least = int(sizes.min(initial=FAR))
        return bool((sizes > least).any()) and self._missing > least * (self._target - len(self._taken))

    def _by_size(self, left: Ints) -> None:
        """Take the largest nodes, of those alike the last."""
        nodes = np.flatnonzero(left > 0)
        for node in nodes[np.lexsort((-nodes, -left[nodes]))].tolist():
            if self._done() or self._full():
                return
            self._take(node)

    def _by_load(self, left: Ints) -> None:
        """Take the nodes first of which the largest share is free, whatever of that the job can use.

        As those of a weight are looked at for the first time, each is bound by what is missing then, for good. So a
        job of more tasks than nodes, but of fewer than one for each thread of a core on each, does not fit.
        """
        nodes, weights = np.flatnonzero(left > 0), self._machine.weight
        for weight in np.unique(weights[nodes]).tolist():
            group, last = nodes[weights[nodes] == weight].tolist(), -1.0
            if not self._want.whole and not self._done() and not self._full():
                others = max(0, self._nodes - len(self._taken) - 1)
                wanted = np.maximum(self._missing - others * self._of_unit, self._want.cpus_on_node)
                self._capacity = np.where(weights == weight, np.minimum(self._capacity, wanted), self._capacity)
            while group and not self._done() and not self._full():
                best, _ = self._least_loaded(group, last)
                last = self._free_cpus[best]
                group.remove(best)
                self._take(best)

    @cached_property
    def _shares(self) -> list[float]:
        """Which share of each node is free."""
        found: list[float] = self._share.tolist()
        return found

    @cached_property
    def _free_cpus(self) -> list[float]:
        """CPUs of each node that are free."""
        found: list[float] = np.rint(self._share * self._machine.units * self._machine.threads).tolist()
        return found

    def _least_loaded(self, group: list[int], last: float) -> tuple[int, int]:
        """The node of which the largest share is free, and the node that was looked at last.

        They are looked at in their order, until the one that has the largest share so far has as many free CPUs as the
        ``last`` that was taken.
        """
        share, cpus = self._shares, self._free_cpus
        best = looked_at = group[0]
        for looked_at in group:
            if share[looked_at] > share[best]:
                best = looked_at
            if cpus[best] == last:
                break
        return best, looked_at

    def _by_looks(self, left: Ints) -> None:
        """Take the nodes first of which the largest share is free, as Slurm 26.05 does it.

        The one that is taken counts with the CPUs of the one that was looked at last. Where it counts with more than
        are missing it gives what is missing, else what it has itself.
        """
        nodes = np.flatnonzero(left > 0)
        for weight in np.unique(self._machine.weight[nodes]).tolist():
            group, last = nodes[self._machine.weight[nodes] == weight].tolist(), -1.0
            while group and not self._done() and not self._full():
                best, looked_at = self._least_loaded(group, last)
                last = self._free_cpus[best]
                group.remove(best)
                self._take(best, int(left[looked_at]))

    def _by_spread(self, left: Ints) -> None:
        """Take nodes in their order, weight by weight.

        In Slurm 26.05 with all that they have, and what is enough ends a weight only: each that follows gives a node.
        """
        nodes, most = np.flatnonzero(left > 0), self._want.spread
        for weight in np.unique(self._machine.weight[nodes]).tolist():
            for node in nodes[self._machine.weight[nodes] == weight].tolist():
                (self._take_all if most > 1 else self._take)(node)
                if self._done() or self._full():
                    break
            if (self._done() or self._full()) and len(self._taken) >= most:
                return

    def _by_switches(self, left: Ints, tree: Tree) -> None:
        if self._one_node(left):
            return
        held = np.zeros(len(left), dtype=bool)
        held[list(self._taken)] = True
        if not tree.joins(held):
            self._missing = FAR
            return
        for node in tree.order(left, self._machine.weight, held, self._still):
            if self._done() or self._full():
                return
            self._take(node)

    def _in_blocks(self, left: Ints, blocks: Blocks) -> bool:
        """Whether any node that the job can use is in a block: if none is, blocks do not matter (recorded).

        A job that names nodes can use others as well, as far as that is asked.
        """
        if self._required.any():
            return True
        usable = left > 0
        usable[list(self._taken)] = True
        return bool((usable & blocks.nodes.any(axis=0)).any())

    def _by_blocks(self, left: Ints, blocks: Blocks) -> None:
        if self._one_node(left):
            return
        held = np.zeros(len(left), dtype=bool)
        held[list(self._taken)] = True
        if held.any() and not self._want.first_node and not blocks.joins(held, self._nodes):
            self._missing = FAR
            return
        if self._nodes == 1 and not self._taken and np.count_nonzero(left) == 1:
            # In no block it may be, too.
            self._take(int(left.argmax()))
            return
        for node in blocks.order(left, held, self._still, self._want.segment):
            if self._done() or self._full():
                return
            if self._want.segment:
                self._take_all(node)
            else:
                self._take(node)

    def _take_all(self, node: int) -> None:
        """Take what the node has: tasks are shared out among all nodes."""
        self._taken[node] = min(int(self._capacity[node]), self._want.per_node)
        self._missing -= self._taken[node]
        self._gres_missing -= int(self._gres[node])

    def _still(self) -> Missing:
        """What is still missing."""
        return Missing(self._nodes - len(self._taken), self._target - len(self._taken), self._missing)

    def _one_node(self, left: Ints) -> bool:
        """Whether a node was taken for a job to which its neighbours do not matter."""
        nodes, weights = np.flatnonzero(left > 0), self._machine.weight
        if self._want.last_first and (self._want.cpus <= 1 or self._want.cpus_of_gpus) and not self._taken:
            alone = nodes[self._enough(left)[nodes]]
            nodes = alone if len(alone) else nodes
            for node in nodes[np.lexsort((-nodes, weights[nodes]))].tolist():
                if self._done() or self._full():
                    break
                self._take(node)
            return bool(len(nodes))
        first = self._want.first_node and not self._taken
        enough = self._first_with_gres(left) if first and self._gres_missing else nodes[self._enough(left)[nodes]]
        if first and len(enough):
            self._take(int(enough[np.argmin(weights[enough])]))
            return True
        return False

    def _first_with_gres(self, left: Ints) -> Ints:
        """The first node for a job that wants generic resources in all; those of nodes before it count, too.

        26.05 looks at one node after the other, and does not give back what it has counted on those that do not
        suffice: the job may get fewer than it wants (recorded).
        """
        nodes = np.flatnonzero(left > 0)
        nodes = nodes[np.argsort(self._machine.weight[nodes], kind="stable")]
        counted = np.cumsum(self._gres[nodes]) >= self._gres_missing
        found = nodes[counted & (np.minimum(left, self._want.per_node)[nodes] >= self._missing)][:1]
        self._gres_missing = 0 if len(found) else self._gres_missing
        return found

    def _by_sets(self, left: Ints) -> None:
        if self._one_node(left):
            return
        if self._want.largest_first and self._small_ones_lack():
            self._by_size(left)
            return
        gres, required = self._gres, self._required & (left == 0)
        # Nodes with most of what is wanted in all go first, unless one node is enough.
        alone = self._nodes <= 1 and (self._enough(left) & (left > 0)).any()
        order = np.zeros_like(gres) if alone else -gres
        groups = np.stack([self._machine.weight, order if self._near is None else -self._near.nearby])
        sets = _sets(np.flatnonzero((left > 0) | required).tolist(), groups, required, self._want.contiguous)
        while sets and not self._done() and not self._full():
            best = self._best(sets, left)
            if self._want.contiguous and not self._suffices(best[1], left):
                return
            sets = [one for one in sets if one is not best]
            self._take_from(best[1], left)

    def _best(self, sets: list[tuple[tuple[int, ...], Ints]], left: Ints) -> tuple[tuple[int, ...], Ints]:
        """The first set with required nodes, else the lightest; of those alike the tightest that suffices, or largest.

        One that is lighter or tighter takes the place of one with required nodes, too, if it comes after that.
        """
        best = sets[0]
        for one in sets[1:]:
            required = not self._required[best[1]].any() and self._required[one[1]].any()
            if required or one[0] < best[0]:
                best = one
            elif one[0] == best[0]:
                total, least = int(left[one[1]].sum()), int(left[best[1]].sum())
                suffices, before = self._suffices(one[1], left), self._suffices(best[1], left)
                if suffices > before or (suffices == before and (total < least if suffices else total > least)):
                    best = one
        return best

    def _suffices(self, members: Ints, left: Ints) -> bool:
        """Whether a set has all that is missing."""
        enough = int(left[members].sum()) >= self._missing and int(self._gres[members].sum()) >= self._gres_missing
        return enough and bool(np.count_nonzero(left[members]) >= self._nodes - len(self._taken))

    def _enough(self, left: Ints) -> Mask:
        """Which nodes have all that is missing."""
        most = np.minimum(left, self._want.per_node)
        enough: Mask = (most >= self._missing) & (self._gres >= self._gres_missing)
        return enough

    def _take_from(self, members: Ints, left: Ints) -> None:
        required, nodes = self._required[members], members.tolist()
        if required.any():
            # Upward from the first that is required, then downward.
            first = int(required.argmax())
            nodes = nodes[first:] + nodes[:first][::-1]
        elif self._target - len(self._taken) <= 1:
            enough = members[self._enough(left)[members]].tolist()
            if enough and self._missing > 0:
                sizes = left if self._sizes is None else self._sizes
                self._take(min(enough, key=lambda node: (int(sizes[node]), node)))
                return
        for node in nodes:
            if self._done() or self._full():
                return
            if left[node] > 0 and self._may_take(node, left):
                self._take(node)

    def _may_take(self, node: int, left: Ints) -> bool:
        """Whether a node may be taken: the last of as many as there may be must give all that is missing."""
        last = self._want.most_nodes is not None and len(self._taken) == self._want.most_nodes - 1
        return not last or bool(self._enough(left)[node])


def _sets(nodes: list[int], groups: Ints, required: Mask, contiguous: bool) -> list[tuple[tuple[int, ...], Ints]]:
    """Sets of neighbours of one group, in the order of the nodes, with the required nodes among them.

    Required nodes with which a set of another group begins do not belong to it (recorded).

    Args:
        nodes: those that may be taken, and those that are required.
        groups: what neighbours of one set have in common, a column for each node.
        required: nodes that the job has already.
        contiguous: whether neighbours belong together whatever their group.
    """
    sets: list[tuple[tuple[int, ...], Ints]] = []
    members: list[int] = []
    group: tuple[int, ...] | None = None
    fresh, last = True, None
    for node in nodes:
        own = tuple(groups[:, node].tolist())
        hole = last is not None and node > last + 1
        if hole or (not contiguous and own != group and not fresh):
            if group is not None:
                sets.append((group, np.array(members)))
            members, group, fresh = [], None, hole
        members.append(node)
        last = node
        if not required[node]:
            group, fresh = own, False
    if group is not None:
        sets.append((group, np.array(members)))
    return sets


def allocate(
    want: Want,
    machine: Machine,
    free: Free,
    taken: Ints,
    cpus: Ints,
    of_gpus: Ints | None = None,
    near: Reach | None = None,
) -> Allocation | None:
    """What a job gets of the nodes that it takes; None if the nodes lack other resources.

    Args:
        want: what it needs.
        machine: the nodes.
        free: what is free of them.
        taken: the nodes.
        cpus: on each of them, of its tasks.
        of_gpus: CPUs on each of them, where these go with its GPUs.
        near: what nodes have for it, where devices are near some sockets.
    """
    if len(taken) > 1:
        order = taken.argsort()
        taken, cpus, of_gpus = taken[order], cpus[order], None if of_gpus is None else of_gpus[order]
    nodes: list[int] = machine.numbers[taken].tolist()
    # Most jobs want none, and may have thousands of nodes.
    wanted = want.gres or want.gres_per_task or want.gres_total or want.all_gres
    tasks: list[int] = (-(-cpus // want.cpus_per_task)).tolist() if wanted else []
    cpus = cpus if of_gpus is None else of_gpus
    had = machine.units[taken] if want.whole else _units(want, machine, free, taken, cpus)
    memory = _memory_given(want, machine, taken, had, cpus)
    if want.of_rounds and (memory > free.memory[taken]).any():
        return None
    gres = gres_given(want, machine, free, nodes, tasks, None if near is None else near.devices) if wanted else {}
    if gres is None:
        return None
    for kind in machine.no_consume & gres.keys():
        gres[kind] = [0] * len(nodes)
    if want.memory_per_gpu:
        gpus = np.sum([np.array(counts) for (name, _), counts in gres.items() if name == "gpu"], axis=0)
        memory = np.minimum(want.memory_per_gpu * gpus, free.memory[taken])
    if len(nodes) > want.nodes_with_tasks:
        memory[want.nodes_with_tasks :] = 0
        gres = _of_first(gres, want.nodes_with_tasks, machine)
    if machine.by_socket is not None:
        asked = _asked_of_sockets(want, machine, free, taken, had, near)
        gres |= _given_of_sockets(want, machine, machine.by_socket, free, nodes, asked)
        gres = with_devices(want, machine, free, nodes, gres, core_threads(want, machine)[taken].tolist())
    if want.pool:
        gres["", want.pool] = had.tolist()
    for mark in want.marks:
        gres["", mark] = [1] * len(nodes)
    return Allocation(
        neighbours(nodes),
        shared(tuple(had.tolist())),
        shared(tuple(memory.tolist()) if len(memory) else (0,) * len(nodes)),
        {kind: shared(tuple(counts)) for kind, counts in gres.items()} or NO_GRES,
        want.whole,
        0 if machine.one_thread or want.whole or want.memory_of_core else int(cpus.sum()),
    )


def _of_first(gres: dict[Gres, list[int]], nodes: int, machine: Machine) -> dict[Gres, list[int]]:
    """What so many nodes at the beginning give, and nothing of the others; all, where devices are near sockets."""
    if machine.binding is not None:
        return gres
    return {kind: [*counts[:nodes], *([0] * (len(counts) - nodes))] for kind, counts in gres.items()}


def _given_of_sockets(
    want: Want, machine: Machine, by_socket: Sockets, free: Free, nodes: list[int], asked: list[Asked]
) -> dict[Gres, list[int]]:
    """Cores of each socket that a job gets, also as those of its partition, where that bounds them."""
    given = by_socket.given(_cores_left(want, machine, by_socket, free), nodes, asked)
    if want.pool in machine.pool_sockets:
        given |= dict(zip(by_socket.of_pool(want.pool), given.values(), strict=True))
    return given


def _asked_of_sockets(
    want: Want, machine: Machine, free: Free, taken: Ints, had: Ints, near: Reach | None
) -> list[Asked]:
    """What a job has on each node that was taken, for its sockets."""
    if want.whole:
        return [Asked(cores) for cores in had.tolist()]
    threads, most = core_threads(want, machine)[taken], _most_of_socket(want, machine)[taken]
    needed = -(-_most_tasks(want, machine, free)[taken] * want.cpus_per_task // threads)
    bounded = np.where(most * threads < FAR, most, 0), np.where(needed * threads < FAR, needed, 0)
    columns = (column.tolist() for column in (had, threads, *bounded))
    of_devices = [()] * len(taken) if near is None else [tuple(near.cores_of(node)) for node in taken.tolist()]
    return [
        Asked(cores, of_core, want.cpus_per_task, of_socket, enough, want.fills_sockets, those)
        for cores, of_core, of_socket, enough, those in zip(*columns, of_devices, strict=True)
    ]


def _most_tasks(want: Want, machine: Machine, free: Free) -> Ints:
    """Tasks that each node may have of a job with generic resources, as far as that is known beforehand."""
    most = np.full(len(machine), want.tasks_on_node if want.gres or want.gres_total or want.gres_per_task else FAR)
    for name, kind, count in want.gres_per_task:
        most = np.minimum(most, machine.gres_tasks(free, name, kind, count))
    return most


def _memory_given(want: Want, machine: Machine, taken: Ints, had: Ints, cpus: Ints) -> Ints:
    """Memory on nodes that were taken, given the units and CPUs that a job has there; nothing if it wants none."""
    if want.all_memory:
        return machine.memory[taken]
    if want.memory_per_node:
        return np.full_like(cpus, want.memory_per_node)
    return (
        want.memory_per_cpu * _cpus_with_memory(want, machine, taken, had, cpus) if want.memory_per_cpu else NO_MEMORY
    )


def _cpus_with_memory(want: Want, machine: Machine, taken: Ints, had: Ints, cpus: Ints) -> Ints:
    """CPUs of nodes that were taken for which a job is given memory, given the units and CPUs that it has there."""
    if want.memory_of_core:
        return had if machine.one_thread else had * _with_memory(want, machine)[taken]
    return had * machine.threads[taken] if want.whole else cpus
