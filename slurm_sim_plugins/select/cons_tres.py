"""Consumable resources: a job gets cores, memory and generic resources of nodes that others may use, too.

Nodes form sets of consecutive usable nodes of equal weight; a node that cannot be used
ends a set. Low weights first; of them the tightest set that suffices; if none does, the
largest, and on. Within a set, if one node may do, the one that suffices with least to
spare; else from the lowest index up. (Observations C1 to C6.) Below switches
:mod:`slurm_sim_plugins.topology.tree` says which nodes come first, in blocks
:mod:`slurm_sim_plugins.topology.block`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from slurm_sim_plugins.binding import Reach
from slurm_sim_plugins.gres import gres_given
from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.nodes import (
    FAR,
    Allocation,
    Choice,
    Free,
    Ints,
    Machine,
    Mask,
    NodeView,
    Want,
    shared,
)
from slurm_sim_plugins.select.allocation import allocate
from slurm_sim_plugins.select.capacity import (
    capacity_of,
    core_threads,
    cores_of_sockets,
    counted_gres,
    free_shares,
    units_of,
)
from slurm_sim_plugins.select.near_devices import no_more_than_tasks, reach_of, requests_of
from slurm_sim_plugins.select.picking import Picker

NO_MEMORY_WANTED: dict[str, Any] = {"memory_per_node": 0, "memory_per_cpu": 0, "all_memory": False}
"""What makes of a want one that looks at CPUs and devices alone."""


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
        empty = _without_jobs(want, machine, free)
        return best_fit(want, machine, free, usable) or best_fit(replace(want, whole=True), machine, empty, usable)
    if want.heavier is not None:
        machine = machine.with_heavier(want.heavier)
    if want.most_gpus_first:
        machine = machine.with_most_first(machine.gpus_wanted(want))
    if want.first is not None:
        machine = machine.with_first(want.first)
    if want.some_required and want.required is not None:
        usable, want = usable & want.required, replace(want, required=None)
    if want.node_counts:
        return _with_counts(want, machine, free, usable)
    for choice in want.choices:
        if want.counts_planned and choice.counts:
            return _planned(want, machine, free, usable, choice)
        one: Want | None = want if not choice.counts else _with_named(want, machine, free, usable & choice.mask, choice)
        found = None if one is None else _with_choice(one, machine, free, usable & choice.mask)
        if found is not None:
            return found
    return None


def _with_named(want: Want, machine: Machine, free: Free, usable: Mask, choice: Choice) -> Want | None:
    """A job that must have some nodes for each count beside those that it names; None where there are none for it.

    Those for the first count may be among the nodes that it names, those for others are not (recorded).
    """
    named = np.zeros(len(machine), dtype=bool) if want.required is None else want.required.copy()
    left, share = capacity_of(want, machine, free, usable), free_shares(want, machine, free)
    for mask, count in choice.counts:
        some = _for_count(want, machine, left, share, choice, mask, count)
        if some is None:
            return None
        named[some] = True
        left[named] = 0
    many = int(np.count_nonzero(named))
    if many > min(want.counted_most, FAR if want.most_nodes is None else want.most_nodes):
        return None
    least, target = max(want.min_nodes, many), max(want.target_nodes, many)
    return replace(want, required=named, min_nodes=least, target_nodes=target)


def _for_count(
    want: Want, machine: Machine, left: Ints, share: NDArray[np.float64], choice: Choice, mask: Mask, count: int
) -> list[int] | None:
    """``count`` nodes of a feature: those that a job of as many CPUs on as many nodes would get.

    Out of those that have the first feature, too, then the second as well, and so on. None if there are none, or they
    have no room for tasks that must have it there.
    """
    part = replace(want, min_nodes=count, target_nodes=count, cpus=count, required=None)
    if want.counted_tasks:
        # That all of them are to be on one node (-n2 -N1) does not count.
        part = replace(part, cpus_on_node=min(want.cpus_on_node, want.cpus_per_task))
    picked: dict[int, int] = {}
    others = np.zeros_like(mask)
    for other, _ in choice.counts:
        others = others | other
        some = np.where(mask & others, left, 0)
        picked = picked or Picker(part, machine, some, None, share).pick() or {}
    # Tasks have all CPUs of whole nodes.
    cpus = int(left[list(picked)].sum()) if want.whole else sum(picked.values())
    enough = cpus >= want.counted_tasks * want.cpus_per_task
    return list(picked) if picked and enough else None


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


def _with_choice(want: Want, machine: Machine, free: Free, usable: Mask) -> Allocation | None:
    capacity = capacity_of(want, machine, free, usable)
    if want.required is not None and not capacity[want.required].all():
        return None
    if np.count_nonzero(capacity) < max(want.min_nodes, want.nodes_with_room):
        return None
    if want.switches_of_all and not want.whole and _waits_for_switches(want, machine, free, usable):
        return None
    sizes = capacity_of(replace(want, gres_per_task=()), machine, free, usable) if want.late_gres else None
    if want.whole or not requests_of(want, machine):
        return _given(want, machine, free, capacity, sizes)
    # How many CPUs count is bounded by the tasks that have room near the devices.
    capacity = capacity_of(replace(want, ranked=FAR), machine, free, usable)
    cores, threads = cores_of_sockets(want, machine, free), core_threads(want, machine)
    near = reach_of(want, machine, free, capacity, cores, threads, first=True)
    found = _given(no_more_than_tasks(want), machine, free, near.cpus, sizes, near, again=False)
    if found is not None:
        return found
    if want.gres_total or want.gres_per_task:
        capacity = near.left_of(capacity)
    elif want.least_loaded and not (want.by_looks or want.spread):
        # Those that it names keep none.
        named = np.zeros(len(machine), dtype=bool) if want.required is None else want.required
        capacity = np.where(named, capacity, near.left_of(capacity))
    other = reach_of(want, machine, free, capacity, cores, threads, first=False).after(near)
    return _given(want, machine, free, other.cpus, sizes, other)


def _given(
    want: Want,
    machine: Machine,
    free: Free,
    capacity: Ints,
    sizes: Ints | None,
    near: Reach | None = None,
    *,
    again: bool = True,
) -> Allocation | None:
    """What a job gets of nodes of which it may have so many CPUs each; see :func:`_pick`."""
    if near is not None and want.required is not None and not capacity[want.required].all():
        return None
    picked = _pick(want, machine, free, capacity, sizes, near, again=again)
    if picked is None or _on_too_many_switches(want, list(picked)):
        return None
    if want.by_looks and _counts_beyond(want, capacity, picked):
        return _all_free(want, machine, free, capacity, picked)
    if want.placed > _places(want, machine, list(picked)):
        return None
    given, idle = _distribute(want, machine, picked), []
    if len(given) > want.nodes_with_tasks:
        if want.idle_nodes_lack and want.gres_total:
            return None
        idle = sorted(given)[want.nodes_with_tasks :] if want.idle_nodes_lack and want.nodes_with_room else []
        given = _with_idle(want, capacity, given)
    if want.tasks_of_gpus and not want.first_node and (near is None or not again):
        # Where cores near GPUs were not enough for these tasks do not follow them (asked of 24.11 and 26.05).
        given = _with_tasks_of_gpus(want, machine, free, capacity, given)
    if want.whole_tasks and want.pool and sum(cpus - cpus % want.cpus_per_task for cpus in given.values()) < want.cpus:
        return None
    tasks_on = np.array(list(given.items()), dtype=np.int64)
    nodes, cpus = tasks_on[:, 0], tasks_on[:, 1]
    of_gpus = capacity[nodes] if want.cpus_of_gpus else _enforced(want, machine, free, capacity, nodes, cpus)
    if near is not None and near.least is not None:
        of_gpus = np.maximum(cpus if of_gpus is None else of_gpus, near.least[nodes])
    found = allocate(want, machine, free, nodes, cpus, of_gpus, near)
    return found if found is None or not idle else _and_idle(found, idle)


def _and_idle(found: Allocation, idle: list[int]) -> Allocation:
    """The same with further nodes of which it has nothing."""
    nothing = (0,) * len(idle)
    gres = {kind: counts + nothing for kind, counts in found.gres.items()} or found.gres
    units, memory = found.units + nothing, found.memory + nothing
    return replace(found, nodes=(*found.nodes, *idle), units=units, memory=memory, gres=gres)


def _enforced(want: Want, machine: Machine, free: Free, capacity: Ints, nodes: Ints, cpus: Ints) -> Ints | None:
    """CPUs of nodes of a job with ``--gres-flags=enforce-binding`` whose GPUs are near no cores; None for others.

    All that a node counted with, in whole tasks; where it is known beforehand how many tasks a node has, theirs, but
    one of each socket at least. In 22.05 tasks have theirs where it is not known. (Asked of three versions.)
    """
    with_gres = want.gres or want.gres_total or want.gres_per_task
    if not (want.enforces_binding and with_gres) or want.whole or machine.binding is not None:
        return None
    if want.tasks_on_node == FAR:
        return capacity[nodes] // want.cpus_per_task * want.cpus_per_task if want.each_gives_types else None
    there = capacity_of(replace(want, ranked=FAR), machine, free, np.ones(len(machine), dtype=bool))[nodes]
    sockets: Ints = np.broadcast_to(machine.sockets, len(machine))[nodes]
    return np.minimum(there, np.maximum(cpus, sockets))


def _counts_beyond(want: Want, capacity: Ints, picked: dict[int, int]) -> bool:
    """Whether nodes that count with the CPUs of others lack CPUs: whole nodes together, others each by itself."""
    if want.whole:
        return int(capacity[list(picked)].sum()) < want.cpus
    return sum(picked.values()) < want.cpus or any(count > capacity[node] for node, count in picked.items())


def _all_free(want: Want, machine: Machine, free: Free, capacity: Ints, picked: dict[int, int]) -> Allocation | None:
    """All free CPUs of nodes of which one has not those that it counts with; none where whole cores or nodes are given.

    The job counts with the CPUs that it was to have, and has the memory of these; without that it waits.
    """
    if want.idle_nodes_lack or want.whole or sum(picked.values()) < want.cpus:
        return None
    given = sorted(_distribute(want, machine, picked).items())
    nodes, cpus = np.array(given, dtype=np.int64).T
    found = allocate(want, machine, free, nodes, cpus)
    if found is None or (np.array(found.memory) > free.memory[nodes]).any():
        return None
    had = units_of(want, machine, free, nodes, capacity[nodes])
    return replace(found, units=shared(tuple(had.tolist())), cpus=int(cpus.sum()))


def _with_idle(want: Want, capacity: Ints, given: dict[int, int]) -> dict[int, int]:
    """CPUs by node of a job on more nodes than it has tasks.

    Where whole cores are given those behind its tasks give none; else it gets all that they have free, of nodes
    that it must have for its features.
    """
    nodes = sorted(given)
    if want.idle_nodes_lack:
        return {node: given[node] for node in nodes[: want.nodes_with_tasks]}
    if want.gres_total or want.gres:
        return given
    return given | {node: int(capacity[node]) for node in nodes[want.nodes_with_tasks :]}


def counts_with_too_much(want: Want, machine: Machine, free: Free, usable: Mask) -> bool:
    """Whether a node that counts with the CPUs of another one (``by_looks``) would give more cores than it has."""
    if not want.by_looks or not want.idle_nodes_lack or want.whole:
        return False
    capacity = capacity_of(want, machine, free, usable & want.choices[0].mask)
    picked = _pick(want, machine, free, capacity)
    if picked is None or sum(picked.values()) < want.cpus:
        return False
    # One that lacks memory alone waits (asked of 26.05).
    cores = capacity_of(replace(want, **NO_MEMORY_WANTED), machine, free, usable & want.choices[0].mask)
    return any(count > cores[node] for node, count in picked.items())


def _on_too_many_switches(want: Want, nodes: list[int]) -> bool:
    """Whether nodes are on more leaf switches than the job wants them to be; only where switches count at all."""
    return _goes_by_switches(want) and want.tree is not None and len(want.tree.leaves_of(nodes)) > want.switches


def _goes_by_switches(want: Want) -> bool:
    """Whether it counts on how many leaf switches a job's nodes are."""
    others = want.spread or want.in_use is not None or want.by_looks or want.least_loaded or want.contiguous
    return bool(want.switches) and want.tree is not None and not others


def _waits_for_switches(want: Want, machine: Machine, free: Free, usable: Mask) -> bool:
    """Whether the nodes that a job would get if all their cores were free are on too many switches.

    Slurm 22.05 asks that first, so that such a job waits though others of these nodes would do (recorded).
    """
    if not _goes_by_switches(want):
        return False
    empty = _without_jobs(want, machine, free)
    picked = _pick(want, machine, empty, capacity_of(want, machine, empty, usable))
    return picked is not None and _on_too_many_switches(want, list(picked))


def _without_jobs(want: Want, machine: Machine, free: Free) -> Free:
    """What would be free if all cores were, but no more memory and devices."""
    of_sockets = [] if machine.by_socket is None else [*machine.by_socket.kinds, *machine.by_socket.of_pool(want.pool)]
    of_cores = {("", want.pool), *of_sockets}
    gres = {kind: machine.gres[kind] if kind in of_cores else left for kind, left in free.gres.items()}
    return replace(machine.free(), memory=free.memory, gres=gres)


def _pick(
    want: Want,
    machine: Machine,
    free: Free,
    capacity: Ints,
    sizes: Ints | None = None,
    near: Reach | None = None,
    *,
    again: bool = True,
) -> dict[int, int] | None:
    """CPUs by node; where only so many nodes may be taken, those with least are left out, more and more, till it fits.

    But none that are named, and no more than leave as many as the job must have: of equal ones the last stay. They are
    left out one by one up to ``left_out_singly``, then all that have as much at a time.
    Without that a set of small nodes could be preferred to the one node that is large enough. Nodes that count with
    the CPUs of others (``by_looks``) may do without some of them, too. ``sizes``: the CPUs with which
    nodes count as the one that fits best is chosen, where they are not those of ``capacity``. ``near``: what nodes
    have, where devices are near some sockets. ``again``: whether any are left out at all.
    """
    gres, share = counted_gres(want, machine, free), free_shares(want, machine, free)
    if gres is not None and want.cpus_per_gpu:
        gres = np.minimum(gres, capacity // want.cpus_per_gpu)
    if gres is not None and near is not None:
        gres = np.minimum(gres, sum(near.devices.values()))
    picker = partial(Picker, want, machine, gres=gres, share=share, sizes=sizes, near=near)
    first = picker(capacity)
    picked = first.pick()
    if near is not None:
        near.tried.update(first.taken)
    if picked is not None or not again or (want.most_nodes is None and not want.by_looks):
        return picked
    named = np.zeros(len(machine), dtype=bool) if want.required is None else want.required
    more = int(np.count_nonzero(capacity)) - want.least_nodes
    if more <= 0 or not _may_suffice(want, capacity):
        return None
    for least in _left_out(want, capacity, named, more):
        capacity = capacity.copy()
        capacity[least] = 0
        picked = picker(capacity).pick()
        if picked is not None:
            break
    return picked


def _may_suffice(want: Want, capacity: Ints) -> bool:
    """Whether as many nodes as there may be can have the CPUs at all: else it is not worth the while to try."""
    if want.most_nodes is None or want.by_looks:
        return True
    return int(np.sort(capacity)[::-1][: want.most_nodes].sum()) >= want.cpus


def _left_out(want: Want, capacity: Ints, named: Mask, more: int) -> Iterator[Ints]:
    """Nodes that are left out next, in turn, so many in all: those with least first."""
    nodes = np.flatnonzero((capacity > 0) & ~named)
    nodes = nodes[np.argsort(capacity[nodes], kind="stable")][:more]
    yield from nodes[: want.left_out_singly, None]
    nodes = nodes[want.left_out_singly :]
    for level in np.unique(capacity[nodes]).tolist():
        yield nodes[capacity[nodes] == level]


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
    """CPUs by node, where each has as many tasks as go with the GPUs that it gives, if there is room for them.

    Of several types those of the last count. (Asked of three versions.)
    """
    nodes = sorted(given)
    gres = gres_given(want, machine, free, nodes, [0] * len(nodes))
    if gres is None:
        return given
    kind = want.gres_total[-1][1]
    of_kind = [counts for (name, of), counts in gres.items() if name == "gpu" and kind in ("", of)]
    cpus = {
        node: sum(counts[index] for counts in of_kind) * want.tasks_of_gpus * want.cpus_per_task
        for index, node in enumerate(nodes)
    }
    if len(want.gres_total) > 1 and sum(cpus.values()) != sum(given.values()):
        return given
    return cpus if all(0 < cpus[node] <= capacity[node] for node in nodes) else given
