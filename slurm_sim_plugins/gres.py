"""Generic resources: what nodes give of them to a job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from slurm_sim_plugins.devices import OF_GPUS, SHARED, SHARING, is_device
from slurm_sim_plugins.nodes import Free, Gres, Ints, Machine, Want

NO_GRES_WANTED: Mapping[str, Any] = {
    "gres": (),
    "gres_total": (),
    "gres_per_task": (),
    "all_gres": False,
    "cpus_of_gpus": 0,
    "memory_per_gpu": 0,
}
"""What makes of a want one that looks at no generic resources, nor at what comes along with them."""


def gres_given(
    want: Want,
    machine: Machine,
    free: Free,
    nodes: list[int],
    tasks: list[int],
    most: Mapping[Gres, Ints] | None = None,
) -> dict[Gres, list[int]] | None:
    """How many of each kind a job gets on nodes that have so many of its tasks; None if they lack some.

    Args:
        want: what it needs.
        machine: the nodes.
        free: what is free of them.
        nodes: of the job.
        tasks: on each of them.
        most: how many of what it wants in all it may have of each node, where that is bounded.
    """
    gres: dict[Gres, list[int]] = {}
    for index, node in enumerate(nodes):
        wanted = [(*one, 0) for one in want.gres] + [(*one, tasks[index]) for one in want.gres_per_task]
        if not all(_give(gres, machine, free, one, node, index, len(nodes)) for one in wanted):
            return None
    for name, kind, count in want.gres_total:
        missing = count
        for index, node in enumerate(nodes):
            have = int(machine.gres_free(free, name, kind)[node])
            have = have if most is None or (name, kind) not in most else min(have, int(most[name, kind][node]))
            # One is left for each other node; where there are not so many, nodes give all that they have (recorded),
            # but not those with types.
            rest, typed = missing - (len(nodes) - index - 1), _has_types(machine, name, node)
            # Where some are near the cores of a socket, or have types, each node gives one in any case (24.11).
            each = most is not None and machine.binding is not None and machine.binding.by_cpus
            each = each or (typed and want.each_gives_types)
            share = have if rest < 0 and not typed else min(have, max(rest, int(each)))
            if share > 0:
                _give(gres, machine, free, (name, kind, share, 0), node, index, len(nodes))
                missing -= share
        lacks = missing == count if want.first_node and not want.sure_of_gres else missing > 0
        if lacks:
            return None
    if want.all_gres:
        has = dict(_of_whole_nodes(machine, any(name in SHARED for name, *_ in wanted)))
        # Nodes are chosen before it is asked whether jobs that stand still, or with which it shares the nodes, have
        # some of them; no GPU may be in shares then, and none of them whole (recorded).
        apart = () if machine.devices is None else (*machine.devices.of_whole, *machine.devices.of_shares)
        if any((free.gres[kind][nodes] < machine.gres[kind][nodes]).any() for kind in (*has, *apart)):
            return None
        return {kind: counts[nodes].tolist() for kind, counts in has.items() if counts[nodes].any()}
    return gres


def with_gpus_of_sockets(
    want: Want, machine: Machine, free: Free, nodes: list[int], parts: list[list[int]], gres: dict[Gres, list[int]]
) -> dict[Gres, list[int]]:
    """What a job gets, with GPUs of so many sockets of each node, if it wants some of each; no others change.

    It gets none of a node that has not so many free. GPUs without types go by cores in 22.05. (Asked of three
    versions.)

    Args:
        want: what it needs.
        machine: the nodes.
        free: what is free of them.
        nodes: of the job.
        parts: cores of each of them, and sockets that these are of.
        gres: what it gets besides.
    """
    if not want.gpus_per_socket or want.gpus_near_cores or want.all_gres:
        return gres
    gres = {kind: counts for kind, counts in gres.items() if kind[0] != SHARING}
    for name, kind, _ in want.gres:
        there = machine.gres_free(free, name, kind)
        for index, (node, cores, sockets) in enumerate(zip(nodes, *parts, strict=True)):
            by_cores = want.gpus_by_cores and not _has_types(machine, name, node)
            count = want.gpus_per_socket * (cores if by_cores else sockets)
            if name == SHARING and count <= there[node]:
                _give(gres, machine, free, (name, kind, count, 0), node, index, len(nodes))
    return gres


def with_sharing_forgotten(want: Want, machine: Machine, free: Free) -> Free:
    """What is free for a job, if it wants shares of GPUs, as if none was given whole; if it wants GPUs, in shares."""
    devices = machine.devices
    names = {name for name, *_ in (*want.gres, *want.gres_total, *want.gres_per_task)}
    shares = not names.isdisjoint(SHARED)
    if devices is None or shares == (SHARING in names):
        return free
    left = free.copy()
    for kind in devices.of_whole if shares else devices.of_shares:
        left.gres[kind][:] = machine.gres[kind]
    return left


def _has_types(machine: Machine, name: str, node: int) -> bool:
    """Whether a node's devices of a name have types."""
    return any(other == name and kind and counts[node] for (other, kind), counts in machine.gres.items())


def _of_whole_nodes(machine: Machine, shares: bool) -> Iterator[tuple[Gres, Ints]]:
    """Generic resources of a job that has all of its nodes'; of GPUs that jobs share the shares, if it wants any."""
    devices = machine.devices
    for kind, counts in machine.gres.items():
        if devices is not None and (is_device(kind) or kind[0] in OF_GPUS):
            taken = (kind in devices.of_shares or kind[0] in SHARED) == shares
        else:
            taken = bool(kind[0])
        if taken:
            yield kind, counts


def _give(
    gres: dict[Gres, list[int]],
    machine: Machine,
    free: Free,
    wanted: tuple[str, str, int, int],
    node: int,
    index: int,
    nodes: int,
) -> bool:
    """Note what a node gives of a resource; False if that is not enough.

    Args:
        gres: how many of each kind the job gets on each of its nodes; is changed.
        machine: the nodes.
        free: what is free of them.
        wanted: name, type, count; and how many tasks want so many each, or 0.
        node: where.
        index: of the node among those of the job.
        nodes: that the job has.
    """
    name, kind, count, tasks = wanted
    if machine.devices is not None and machine.devices.has(name, node):
        parts = machine.devices.given(free.gres, name, kind, node, count, tasks)
    else:
        parts = _parts(free, name, kind, node, count * max(tasks, 1))
    left = count * max(tasks, 1)
    for of, share in parts:
        gres.setdefault(of, [0] * nodes)[index] += share
        left -= share if of[0] else 0
    return left <= 0


def _parts(free: Free, name: str, kind: str, node: int, count: int) -> Iterator[tuple[Gres, int]]:
    """What of a node so many of a resource are: one without type may be mixed from several types."""
    for (other, of), counts in free.gres.items():
        share = min(count, int(counts[node])) if other == name and kind in ("", of) else 0
        if share > 0:
            yield (other, of), share
            count -= share
