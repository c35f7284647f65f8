"""What a job gets of the nodes that were chosen for it: CPUs, memory, generic resources, and cores of their sockets."""

from __future__ import annotations

import numpy as np

from slurm_sim_plugins.binding import Reach
from slurm_sim_plugins.gres import gres_given, with_gpus_of_sockets
from slurm_sim_plugins.nodes import FAR, NO_GRES, Allocation, Free, Gres, Ints, Machine, Want, neighbours, shared
from slurm_sim_plugins.select.capacity import core_threads, cores_left, cpus_with_memory_of, most_of_socket, units_of
from slurm_sim_plugins.select.near_devices import lacks_devices, with_devices
from slurm_sim_plugins.sockets import Asked, Sockets

NO_MEMORY: Ints = np.zeros(0, dtype=np.int64)
"""Of a job that wants none."""


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
    had, of_sockets = _parts_of_nodes(want, machine, free, taken, cpus, near)
    memory = _memory_given(want, machine, taken, had, cpus)
    if near is not None and want.memory_per_cpu and _gives_whole_sockets(machine):
        memory = want.memory_per_cpu * _near_cpus(want, machine, of_sockets, taken, near)
    if want.of_rounds and (memory > free.memory[taken]).any():
        return None
    gres = gres_given(want, machine, free, nodes, tasks, None if near is None else near.devices) if wanted else {}
    if gres is None or lacks_devices(want, machine, free, nodes, of_sockets):
        return None
    for kind in machine.no_consume & gres.keys():
        gres[kind] = [0] * len(nodes)
    if want.memory_per_gpu:
        gpus = np.sum([np.array(counts) for (name, _), counts in gres.items() if name == "gpu"], axis=0)
        memory = np.minimum(want.memory_per_gpu * gpus, free.memory[taken])
    if len(nodes) > want.nodes_with_tasks:
        gres = _of_first(gres, want.nodes_with_tasks, machine)
    gres = _with_sockets(want, machine, free, taken, gres, of_sockets)
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


def _gives_whole_sockets(machine: Machine) -> bool:
    """Whether it is known of which sockets jobs have all cores, or none."""
    return machine.by_socket is not None and machine.by_socket.whole


def _parts_of_nodes(
    want: Want, machine: Machine, free: Free, taken: Ints, cpus: Ints, near: Reach | None
) -> tuple[Ints, dict[Gres, list[int]]]:
    """Units of nodes which a job has with so many CPUs, and cores of each socket, if it goes by them."""
    had = machine.units[taken] if want.whole else units_of(want, machine, free, taken, cpus)
    if machine.by_socket is None:
        return had, {}
    if machine.by_socket.whole and near is not None:
        # Those of which it would have cores are whole.
        had = -(-cpus // core_threads(want, machine)[taken])
    of_sockets = _given_of_sockets(want, machine, machine.by_socket, free, taken, had, near)
    if _has_whole_sockets(want, machine):
        return np.sum([of_sockets[kind] for kind in machine.by_socket.kinds], axis=0, dtype=np.int64), of_sockets
    return machine.by_socket.used(of_sockets) if machine.by_socket.whole else had, of_sockets


def _has_whole_sockets(want: Want, machine: Machine) -> bool:
    """Whether a job has all that is free of its sockets, where jobs of other partitions have cores of them."""
    return want.pool in machine.of_whole_sockets and not want.whole


def _with_sockets(
    want: Want,
    machine: Machine,
    free: Free,
    taken: Ints,
    gres: dict[Gres, list[int]],
    of_sockets: dict[Gres, list[int]],
) -> dict[Gres, list[int]]:
    """What a job gets, with cores of sockets, and the devices that go with these."""
    if machine.by_socket is None:
        return gres
    nodes, cores = taken.tolist(), np.array([of_sockets[kind] for kind in machine.by_socket.kinds])
    parts = np.stack([cores.sum(axis=0), machine.by_socket.used(of_sockets)]).tolist()
    gres = with_gpus_of_sockets(want, machine, free, nodes, parts, gres) | of_sockets
    return with_devices(want, machine, free, nodes, gres, core_threads(want, machine)[taken].tolist())


def _of_first(gres: dict[Gres, list[int]], nodes: int, machine: Machine) -> dict[Gres, list[int]]:
    """What so many nodes at the beginning give, and nothing of the others; all, where devices are near sockets."""
    if machine.binding is not None:
        return gres
    return {kind: [*counts[:nodes], *([0] * (len(counts) - nodes))] for kind, counts in gres.items()}


def _given_of_sockets(
    want: Want, machine: Machine, by_socket: Sockets, free: Free, taken: Ints, had: Ints, near: Reach | None
) -> dict[Gres, list[int]]:
    """Cores of each socket that a job gets, also as those of its partition, where that bounds them."""
    left = by_socket.free(free.gres) if want.whole else cores_left(want, machine, by_socket, free)
    given = by_socket.given(left, taken.tolist(), _asked_of_sockets(want, machine, free, taken, had, near))
    if _has_whole_sockets(want, machine):
        own = left[:, taken].tolist()
        given = {
            kind: [all_ if some else 0 for some, all_ in zip(counts, each, strict=True)]
            for (kind, counts), each in zip(given.items(), own, strict=True)
        }
    if want.pool in machine.pool_sockets:
        given |= dict(zip(by_socket.of_pool(want.pool), given.values(), strict=True))
    return given


def _near_cpus(want: Want, machine: Machine, given: dict[Gres, list[int]], taken: Ints, near: Reach) -> Ints:
    """CPUs of a job's sockets on each of its nodes: of those that give no devices as many as its tasks need (22.05)."""
    assert machine.by_socket is not None
    cores = np.array([given[kind] for kind in machine.by_socket.kinds])
    if not near.by_cpus:
        needed = np.array([near.cores_of(node) for node in taken.tolist()]).T
        cores = np.where(near.of_devices[:, taken], cores, np.minimum(cores, needed))
    cpus: Ints = cores.sum(axis=0) * core_threads(want, machine)[taken]
    return cpus


def _asked_of_sockets(
    want: Want, machine: Machine, free: Free, taken: Ints, had: Ints, near: Reach | None
) -> list[Asked]:
    """What a job has on each node that was taken, for its sockets."""
    if want.whole:
        return [Asked(cores) for cores in had.tolist()]
    threads, most = core_threads(want, machine)[taken], most_of_socket(want, machine)[taken]
    needed = -(-_most_tasks(want, machine, free)[taken] * want.cpus_per_task // threads)
    bounded = np.where(most * threads < FAR, most, 0), np.where(needed * threads < FAR, needed, 0)
    columns = (column.tolist() for column in (had, threads, *bounded))
    whole = _gives_whole_sockets(machine)
    of_devices = [()] * len(taken) if near is None else [near.cores_of(node, whole) for node in taken.tolist()]
    tasks = want.stated_on_node if want.first_cores else None
    fills = want.fills_sockets and not (whole and near is not None)
    return [
        Asked(cores, of_core, want.cpus_per_task, of_socket, enough, fills, those, tasks)
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
    if want.memory_of_first:
        # With select/linear it counts with what nodes keep for the system, too.
        return (machine.memory + machine.kept_memory)[taken]
    if want.all_memory:
        return machine.memory[taken]
    if want.memory_per_node:
        return np.full_like(cpus, want.memory_per_node)
    if not want.memory_per_cpu:
        return NO_MEMORY
    memory = want.memory_per_cpu * _cpus_with_memory(want, machine, taken, had, cpus)
    # Nodes without tasks have none for their CPUs.
    memory[want.nodes_with_tasks :] = 0
    return memory


def _cpus_with_memory(want: Want, machine: Machine, taken: Ints, had: Ints, cpus: Ints) -> Ints:
    """CPUs of nodes that were taken for which a job is given memory, given the units and CPUs that it has there."""
    if want.memory_of_core:
        return had if machine.one_thread else had * cpus_with_memory_of(want, machine)[taken]
    return had * machine.threads[taken] if want.whole else cpus
