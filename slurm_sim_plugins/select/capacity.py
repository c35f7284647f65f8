"""CPUs that a job could have on each node, and the cores that so many are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from slurm_sim_plugins.devices import SHARED, SHARING
from slurm_sim_plugins.nodes import FAR, Free, Ints, Machine, Mask, Want
from slurm_sim_plugins.sockets import Sockets


def capacity_of(want: Want, machine: Machine, free: Free, usable: Mask) -> Ints:
    """Free CPUs of each node that the job can use: it may take fewer, but they say how good a fit the node is."""
    units = _free_units(want, machine, free, usable)
    capacity = _cpus(want, machine, units)
    if want.pool and not want.whole and (want.pool in machine.pool_excess or _leaves_threads(want, machine).any()):
        capacity = np.minimum(capacity, machine.pool_cpus(want.pool, _left_of_pool(want, machine, free)))
    if want.whole and want.pool in machine.pools_of_sockets:
        capacity = np.minimum(capacity, machine.pool_cpus(want.pool, machine.gres["", want.pool]))
    if want.whole_tasks:
        # What bounds the jobs of a partition on a node counts after that, and may leave a part of a task.
        unbound = _free_units(replace(want, pool=""), machine, free, usable) if want.pool else units
        tasks = _cpus(want, machine, unbound) // want.cpus_per_task
        capacity = np.minimum(capacity, tasks * want.cpus_per_task)
    capacity = _of_free_sockets(want, machine, free, units, capacity)
    if want.socket_tasks:
        capacity = _of_sockets(want, machine, units, capacity)
    if want.memory_per_cpu:
        capacity = _with_enough(want, machine, free, units, capacity)
    if want.memory_per_node or want.memory_per_gpu:
        gpus = _all_gpus(machine) if want.all_gres and want.memory_per_gpu else 1
        capacity = np.where(free.memory >= np.maximum(want.memory_per_node, want.memory_per_gpu * gpus), capacity, 0)
    if want.all_memory:
        capacity = np.where(free.memory >= machine.memory, capacity, 0)
    capacity = _with_gres(want, machine, free, capacity)
    if want.cpus_free > 1:
        capacity = np.where(_cpus(replace(want, per_socket=FAR), machine, units) >= want.cpus_free, capacity, 0)
    # A node that has not as much as is wanted of each is of no use.
    least = max(want.cpus_on_node, want.cpus_of_sockets)
    return np.where(capacity >= least, np.maximum(np.minimum(capacity, want.ranked), 0), 0)


def _all_gpus(machine: Machine) -> Ints:
    """How many GPUs each node has."""
    of_kinds = [counts for (name, _), counts in machine.gres.items() if name == SHARING]
    gpus: Ints = np.sum(of_kinds, axis=0, dtype=np.int64)
    return gpus


def _with_gres(want: Want, machine: Machine, free: Free, capacity: Ints) -> Ints:
    """CPUs of each node that the generic resources there leave to the job."""
    for name, kind, count in want.gres:
        if want.all_gres and machine.devices is not None and name in SHARED and not machine.devices.several:
            # It would have all shares of its nodes, which are to be of one GPU.
            capacity = np.where(np.count_nonzero(machine.devices.shares, axis=0) > 1, 0, capacity)
        capacity = np.where(machine.gres_free(free, name, kind) >= count, capacity, 0)
    if want.gres_total:
        has_all = np.ones(len(machine), dtype=bool)
        for name, kind, _ in want.gres_total:
            has_all &= machine.gres_free(free, name, kind) > 0
        capacity = np.where(has_all, capacity, 0)
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
    each, tasks, there = want.cpus_per_gpu, want.cpus // want.cpus_per_task, counted_gres(want, machine, free)
    if len(want.gres_total) > 1:
        # GPUs of the type of which there are fewest bring CPUs along (asked of three versions).
        of_types = (np.minimum(machine.gres_free(free, name, of), count) for name, of, count in want.gres_total)
        there = np.min(list(of_types), axis=0)
    wanted = sum(count for _, _, count in want.gres_total) + tasks * sum(count for _, _, count in want.gres_per_task)
    there = capacity // each if there is None else np.minimum(there, capacity // each)
    gpus = np.minimum(there, wanted - (want.min_nodes - 1))
    if want.required is not None:
        left = max(wanted - int(gpus[want.required].sum()), 0)
        gpus = np.where(want.required, gpus, np.minimum(gpus, left))
    return np.where(gpus > 0, np.maximum(gpus * each, want.cpus_of_gpus), 0)


def cores_left(want: Want, machine: Machine, by_socket: Sockets, free: Free) -> Ints:
    """Free cores of each socket of each node that the partition of a job leaves it."""
    bound = machine.pool_sockets.get(want.pool)
    if bound is None:
        return by_socket.free(free.gres)
    left = by_socket.left_of_pool(free.gres, want.pool, bound, machine.core_threads, want.pool_of_all)
    if want.pool not in machine.of_whole_sockets:
        return left
    return np.where(by_socket.unused_by_pool(free.gres, want.pool, want.pool_of_all), left, 0)


def _of_free_sockets(want: Want, machine: Machine, free: Free, units: Ints, capacity: Ints) -> Ints:
    """CPUs of each node that sockets leave the job; none where too few are free."""
    if machine.by_socket is not None:
        return np.minimum(capacity, _on_sockets(want, machine, cores_left(want, machine, machine.by_socket, free)))
    if want.node_sockets > 1:
        # Each unit is a socket where these are counted, and where they have one core each.
        return np.where((machine.units == machine.sockets) & (units < want.node_sockets), 0, capacity)
    return capacity


def _on_sockets(want: Want, machine: Machine, left: Ints) -> Ints:
    """CPUs of each node of which the free cores of its sockets leave the job any."""
    left = np.where(left >= want.socket_cores, left, 0)
    cores, enough = most_of_socket(want, machine), np.count_nonzero(left, axis=0) >= want.node_sockets
    threads, of_tasks = core_threads(want, machine), want.socket_tasks * want.cpus_per_task or FAR
    cpus = np.minimum(np.minimum(left, cores) * threads, of_tasks).sum(axis=0)
    return np.where(enough, cpus, 0)


def cores_of_sockets(want: Want, machine: Machine, free: Free) -> Ints:
    """Free cores of each socket of each node that the job may have."""
    assert machine.by_socket is not None
    left = cores_left(want, machine, machine.by_socket, free)
    return np.minimum(np.where(left >= want.socket_cores, left, 0), most_of_socket(want, machine))


def most_of_socket(want: Want, machine: Machine) -> Ints:
    """Cores of each socket of each node that the job may have."""
    most = min(want.socket_tasks * want.cpus_per_task or FAR, want.per_socket)
    return -(-most // core_threads(want, machine))


def _of_sockets(want: Want, machine: Machine, units: Ints, capacity: Ints) -> Ints:
    """CPUs of as many tasks as the sockets of each node may have; none where there are not enough for one of them.

    Where sockets are counted, only those that are free have any.
    """
    sockets = np.where(machine.units == machine.sockets, units, machine.sockets)
    most = np.minimum(capacity, sockets * want.socket_tasks * want.cpus_per_task)
    return np.where(most // want.cpus_per_task < want.socket_tasks, 0, most)


def cpus_of_socket(machine: Machine) -> Ints:
    """CPUs of a socket of each node, with those that are kept for the system."""
    return (machine.cpus + machine.kept) // machine.sockets


def _free_units(want: Want, machine: Machine, free: Free, usable: Mask) -> Ints:
    """Units of each node that the job may have."""
    units = np.where(usable, free.units, 0)
    if want.whole:
        units = np.where(free.jobs == 0, np.where(usable, machine.units, 0), 0)
    if want.pool and want.whole and want.pool not in machine.pools_of_sockets:
        # A node with more than the jobs of the partition may have together is of no use to one that takes all of it;
        # what they may have of a socket only bounds with how many CPUs it counts.
        most = machine.pool_cpus(want.pool, machine.gres["", want.pool])
        least = machine.units + (_kept_units(machine) if want.pool_of_all else 0)
        units = np.where(most < least * machine.threads, 0, units)
    elif want.pool and not want.whole:
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


def all_units(machine: Machine) -> Ints:
    """Units of each node, also those that are kept for the system: these count as used where loads are compared."""
    return machine.units + _kept_units(machine)


def free_shares(want: Want, machine: Machine, free: Free) -> NDArray[np.float64]:
    """Which share of each node is free, by which the least loaded go first.

    Where a partition bounds the CPUs of each socket, only what is left of them counts.
    """
    units = free.units
    loads = (want.least_loaded or want.by_looks) and not want.whole
    if loads and machine.by_socket is not None and want.pool in machine.pool_sockets:
        units = np.minimum(units, cores_left(want, machine, machine.by_socket, free).sum(axis=0))
    shares: NDArray[np.float64] = units / all_units(machine)
    return shares


def _with_enough(want: Want, machine: Machine, free: Free, units: Ints, cpus: Ints) -> Ints:
    """CPUs of each node for which there is the memory: where that goes by CPUs they are those of whole tasks."""
    enough: Ints = free.memory // want.memory_per_cpu
    if want.memory_of_core:
        enough = _cpus(want, machine, np.minimum(units, enough // cpus_with_memory_of(want, machine)))
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


def cpus_with_memory_of(want: Want, machine: Machine) -> Ints:
    """CPUs of a unit of each node for which a job is given memory."""
    most: Ints = np.minimum(machine.threads, want.memory_of_core * machine.cores)
    return most


def _task_cores(want: Want, machine: Machine) -> Ints:
    """Cores of a task on each node."""
    return -(-want.cpus_per_task // core_threads(want, machine))


def units_of(want: Want, machine: Machine, free: Free, taken: Ints, cpus: Ints) -> Ints:
    """Units of some nodes that so many CPUs are; cores of small tasks, or of too large ones, go round free sockets."""
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
    elif not want.fills_sockets:
        # So do those of a task that has no room on one socket.
        cores, of_socket = _task_cores(want, machine)[taken], machine.cores[taken]
        units = np.where(
            (of_socket > 1) & (cores > of_socket), np.maximum(units, np.minimum(cores, free.units[taken])), units
        )
        if want.socket_tasks:
            sockets = np.minimum(-(-cpus // (want.socket_tasks * want.cpus_per_task)), free.units[taken])
            units = np.where(of_socket > 1, np.maximum(units, sockets), units)
    return units


def counted_gres(want: Want, machine: Machine, free: Free) -> Ints | None:
    """How much each node has of what is wanted in all or for each task; None if there is nothing of the kind."""
    counts = [machine.gres_free(free, name, kind) for name, kind, _ in want.gres_per_task]
    # More of one type than the job wants does not stand for another one.
    counts += [np.minimum(machine.gres_free(free, name, kind), count) for name, kind, count in want.gres_total]
    return np.sum(counts, axis=0) if counts else None
