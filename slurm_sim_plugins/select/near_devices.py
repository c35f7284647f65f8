"""What jobs get where devices are near the cores of some sockets (``Cores=`` in ``gres.conf``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from slurm_sim_plugins.binding import Reach, Request, Tasks
from slurm_sim_plugins.nodes import FAR, Free, Gres, Ints, Machine, Want

GPU = "gpu"


def requests_of(want: Want, machine: Machine) -> list[Request]:
    """What a job asks for of devices that are near some sockets, where the machine has any."""
    binding = machine.binding
    if binding is None:
        return []
    tasks = want.cpus // want.cpus_per_task
    others = want.min_nodes - 1 if binding.by_cpus else 0
    asked = [
        *(_request(want, name, kind, count, count, 0) for name, kind, count in want.gres),
        *(_request(want, name, kind, 0, max(count - others, 1), 0) for name, kind, count in want.gres_total),
        *(
            _request(want, name, kind, 0, max(tasks * count - others, count), count)
            for name, kind, count in want.gres_per_task
        ),
    ]
    if binding.by_cpus:
        asked = [
            one if one.on_node or one.cpus else one._replace(cpus_first=_share(want, one, others)) for one in asked
        ]
    return [one for one in asked if binding.kinds_of(one.name, one.kind)]


def _request(want: Want, name: str, kind: str, on_node: int, most: int, for_task: int) -> Request:
    stated = want.stated_per_gpu if name == GPU else 0
    cpus = stated or (want.tasks_per_gpu * want.cpus_per_task if name == GPU else 0)
    per_socket = want.gpus_per_socket if name == GPU and want.gpus_near_cores else 0
    return Request(name, kind, on_node, FAR if per_socket else most, for_task, cpus, cpus, bool(stated), per_socket)


def _share(want: Want, one: Request, others: int) -> int:
    """CPUs for each device, if its tasks can be dealt out evenly to them, or they to its tasks; else 0."""
    tasks, size = max(want.cpus // want.cpus_per_task, 1), want.cpus_per_task
    devices = tasks * one.for_task if one.for_task else one.most + others
    if tasks % devices == 0:
        return tasks // devices * size
    each = devices // tasks
    return size // each if devices % tasks == 0 and size % each == 0 else 0


def no_more_than_tasks(want: Want) -> Want:
    """The same, on no more nodes than it has tasks: as cores of its devices' sockets alone are looked at."""
    if want.tasks == FAR or (want.per_node < FAR and want.tasks > 1):
        # It states none, or so many for each node.
        return want
    most = max(want.tasks, want.min_nodes)
    return replace(want, most_nodes=most if want.most_nodes is None else min(want.most_nodes, most))


def reach_of(
    want: Want, machine: Machine, free: Free, capacity: Ints, cores: Ints, threads: Ints, *, first: bool
) -> Reach:
    """What each node has for a job; see :meth:`slurm_sim_plugins.binding.Binding.reach`.

    Args:
        want: what it needs.
        machine: the nodes, of which devices are near some sockets.
        free: what is free of them.
        capacity: CPUs that it may have of each node, whichever devices are near.
        cores: of each socket that it may have.
        threads: CPUs of a core of each node that its tasks may use.
        first: whether cores of its devices' sockets alone are looked at.
    """
    assert machine.binding is not None
    known = want.tasks_on_node
    most = min(known, want.per_node // want.cpus_per_task)
    if machine.binding.own_tasks:
        most = min(most, want.tasks)
    least = known if known < FAR else want.tasks_per_gpu or 1
    tasks = Tasks(want.cpus_per_task, least, most, want.cpus_on_node, want.tasks < FAR)
    asked = [(one, machine.gres_free(free, one.name, one.kind)) for one in requests_of(want, machine)]
    enforced = want.enforces_binding
    return machine.binding.reach(free.gres, asked, tasks, capacity, cores, threads, first=first, enforced=enforced)


def lacks_devices(want: Want, machine: Machine, free: Free, nodes: Sequence[int], cores: dict[Gres, list[int]]) -> bool:
    """Whether a node lacks devices for the sockets of a job's cores, where it must have them (from 26.05 on)."""
    if not want.sure_of_sockets or machine.binding is None or machine.by_socket is None:
        return False
    sockets, asked = machine.by_socket.used(cores), [one for one in requests_of(want, machine) if one.per_socket]
    there = ((one, machine.gres_free(free, one.name, one.kind)[list(nodes)]) for one in asked)
    return any((has < sockets * one.per_socket).any() for one, has in there)


def with_devices(
    want: Want,
    machine: Machine,
    free: Free,
    nodes: Sequence[int],
    gres: dict[Gres, list[int]],
    threads: Sequence[int],
) -> dict[Gres, list[int]]:
    """What a job gets, with devices near the cores that it has.

    Args:
        want: what it needs.
        machine: the nodes; where no devices are near some sockets nothing changes.
        free: what is free of them.
        nodes: of the job.
        gres: what it gets on each of them, with cores of their sockets.
        threads: CPUs of a core that its tasks may use, of each of them.
    """
    binding, by_socket = machine.binding, machine.by_socket
    if binding is None or by_socket is None:
        return gres
    given = {kind: list(counts) for kind, counts in gres.items()}
    all_of_them = [Request(name, kind, 1, FAR, 0) for name, kind in binding.near] if want.all_gres else None
    for one in requests_of(want, machine) if all_of_them is None else all_of_them:
        kinds = [kind for kind in machine.gres if kind[0] == one.name and one.kind in ("", kind[1])]
        if machine.no_consume.intersection(kinds):
            continue
        counts = np.sum([given.get(kind, [0] * len(nodes)) for kind in kinds], axis=0).tolist()
        if not (binding.by_cpus or one.on_node or one.for_task or one.cpus):
            own = np.array([given[kind] for kind in by_socket.kinds])
            counts = _in_two_rounds(counts, binding.there(free.gres, one, nodes, own))
        for kind in kinds:
            given.pop(kind, None)
        for index, node in enumerate(nodes):
            cores = [given[kind][index] for kind in by_socket.kinds]
            if one.per_socket:
                counts[index] = binding.of_sockets(free.gres, one, node, cores, want.node_sockets)
            elif not counts[index] and not binding.by_cpus:
                counts[index] = binding.elsewhere(free.gres, one, node, cores)
            for kind, share in binding.given(
                free.gres, one, node, counts[index], cores, threads[index], want.cpus_per_task
            ):
                given.setdefault(kind, [0] * len(nodes))[index] += share
    return given


def _in_two_rounds(counts: Sequence[int], there: tuple[Ints, Ints]) -> list[int]:
    """How many devices each node gives: each in turn those near the job's cores, then what is missing (22.05).

    One is left for each node behind. (Asked of 22.05.)

    Args:
        counts: how many they would give if all were near; their sum is what the job has.
        there: of each node those that are near the job's cores, and all.
    """
    missing, given = sum(counts), [0] * len(counts)
    for places in there:
        for index, most in enumerate(places.tolist()):
            behind = sum(not each for each in given[index + 1 :])
            share = max(min(most - given[index], missing - behind), 0)
            given[index] += share
            missing -= share
    return given
