"""Which nodes a job gets, compiled by numba: as :mod:`emulator.slurmctld.node_select`, for plain requests.

The answers are the same, node by node. A request is plain if it names no nodes, takes any
node that its constraint allows, wants resources on each node and not in all, and no more
nodes than needed. The first use compiles the kernels; numba keeps them on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numpy as np

try:
    from numba import njit
except ImportError as error:
    raise ImportError(
        "compiled node selection needs numba, which cannot be imported: pip install slurm-sim-plugins[compiled]"
    ) from error

from emulator.slurmctld.node_select import Want, allocate
from emulator.slurmctld.nodes import Allocation, Free, Ints, Machine, Mask

_P = ParamSpec("_P")
_T = TypeVar("_T")

MIN_NODES, MOST_NODES, UNITS, PER_TASK, PER_NODE, WHOLE, MEMORY_PER_NODE, MEMORY_PER_UNIT = range(8)
ALL_MEMORY, GRES, GRES_KINDS, LAST_FIRST, BIG, MANY_BIG = range(8, 14)
"""Places in a request as numbers. So many nodes must each give ``BIG`` units, or it cannot fit."""
FREE_UNITS, FREE_MEMORY, FREE_JOBS, FREE_GRES = range(4)
"""Rows of what is free; kinds of generic resources follow."""
MACHINE_UNITS, MACHINE_MEMORY, MACHINE_WEIGHT = range(3)
"""Rows of the machine."""
TOTAL, COUNT, BIG_ONES = range(3)
"""What is counted of the nodes: units, nodes with some, nodes with many."""
FIRST, BEHIND, SUM, LARGE = range(4)
"""Rows of sets of neighbours: the first node, the one behind the last, units; and room for the larger nodes."""
MOST_KINDS = 62
"""Kinds of generic resources of which a request can be put as numbers."""
FAR = 2**40
"""More units than there are."""


def compiled(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """A function as a kernel that is kept on disk."""
    kernel: Callable[_P, _T] = njit(cache=True)(function)
    return kernel


def encode(want: Want, machine: Machine) -> Ints | None:
    """A request as numbers, or None if it is not plain."""
    others = want.required is not None or want.least_loaded or want.gres_total or len(want.gres) > 1
    if others or len(want.choices) != 1 or want.choices[0].counts or want.target_nodes > want.min_nodes:
        return None
    if len(machine.gres) > MOST_KINDS:
        return None
    name, kind, count = want.gres[0] if want.gres else ("", "", 0)
    kinds = sum(1 << place for place, (other, of) in enumerate(machine.gres) if other == name and kind in ("", of))
    most_nodes = FAR if want.most_nodes is None else want.most_nodes
    per_node = FAR if want.per_node is None else want.per_node
    highest = max(min(int(machine.units.max()), per_node), 1)
    others_give = FAR if most_nodes == FAR else (most_nodes - 1) * highest
    return np.array(
        [
            want.min_nodes,
            most_nodes,
            want.units,
            want.per_task,
            per_node,
            want.whole,
            want.memory_per_node,
            want.memory_per_unit,
            want.all_memory,
            count,
            kinds,
            want.last_first,
            max(want.units - others_give, 1),
            -(-want.units // highest),
        ],
        dtype=np.int64,
    )


def machine_table(machine: Machine) -> Ints:
    """The machine as rows."""
    return np.array([machine.units, machine.memory, machine.weight], dtype=np.int64)


class Selector:
    """Chooses nodes on a machine; keeps the room that the kernels work in.

    Args:
        machine: the nodes.

    Attributes:
        rows: the machine as rows.
        weights: all weights, ascending.
        capacity: room for the units that a job could have on each node.
        counts: room for what is counted.
        sets: room for sets of neighbours.
        taken: room for nodes, and the units of each.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        size = len(machine)
        self.rows = machine_table(machine)
        self.weights = machine.weights
        self.capacity: Ints = np.empty(size, dtype=np.int64)
        self.counts: Ints = np.empty(3, dtype=np.int64)
        self.sets: Ints = np.empty((4, size), dtype=np.int64)
        self.taken: Ints = np.empty((2, size), dtype=np.int64)

    def select(self, want: Want, code: Ints, free: Free, usable: Mask) -> Allocation | None:
        """As :func:`emulator.slurmctld.node_select.select_nodes`."""
        taken = choose(
            code,
            usable & want.choices[0].mask,
            self.rows,
            self.weights,
            free.table,
            self.capacity,
            self.counts,
            self.sets,
            self.taken,
        )
        return self.allocation(want, code, free, taken) if taken else None

    def allocation(self, want: Want, code: Ints, free: Free, taken: int) -> Allocation | None:
        """What a job gets of the nodes that were taken."""
        deal(code, self.capacity, taken, self.taken)
        nodes, units = self.taken[:, :taken].tolist()
        return allocate(want, self._machine, free, dict(zip(nodes, units, strict=True)))


@compiled
def choose(
    code: Ints,
    usable: Mask,
    machine: Ints,
    weights: Ints,
    free: Ints,
    capacity: Ints,
    counts: Ints,
    sets: Ints,
    taken: Ints,
) -> int:
    """Fill in the nodes that are taken, and the units of each that are counted on; how many they are, or 0."""
    fill(code, usable, machine, free, capacity, counts)
    return pick(code, machine, weights, capacity, sets, taken) if enough(code, counts) else 0


@compiled
def fill(code: Ints, usable: Mask, machine: Ints, free: Ints, capacity: Ints, counts: Ints) -> None:
    """Fill in the units that a job could have on each node, and count them."""
    counts[:] = 0
    for node in range(len(usable)):
        capacity[node] = room(code, machine, free, node) if usable[node] else 0
        count(code, counts, capacity[node], 1)


@compiled
def count(code: Ints, counts: Ints, units: int, sign: int) -> None:
    """Count a node with so many units."""
    if units > 0:
        counts[TOTAL] += sign * units
        counts[COUNT] += sign
        if units >= code[BIG]:
            counts[BIG_ONES] += sign


@compiled
def enough(code: Ints, counts: Ints) -> bool:
    """Whether the nodes could do at all."""
    return bool(
        counts[TOTAL] >= code[UNITS] and counts[COUNT] >= code[MIN_NODES] and counts[BIG_ONES] >= code[MANY_BIG]
    )


@compiled
def room(code: Ints, machine: Ints, free: Ints, node: int) -> int:
    """Units that a job could have on a node."""
    units = free[FREE_UNITS, node]
    if code[WHOLE]:
        units = machine[MACHINE_UNITS, node] if free[FREE_JOBS, node] == 0 else 0
    units = min(_held_by_memory(code, machine, free, node, units), code[PER_NODE])
    # A node that does not hold one task is of no use.
    if units < code[PER_TASK] or (code[GRES] and _gres(code, free, node) < code[GRES]):
        return 0
    return int(units)


@compiled
def _held_by_memory(code: Ints, machine: Ints, free: Ints, node: int, units: int) -> int:
    memory = free[FREE_MEMORY, node]
    if code[MEMORY_PER_NODE] and memory < code[MEMORY_PER_NODE]:
        return 0
    if code[ALL_MEMORY] and memory < machine[MACHINE_MEMORY, node]:
        return 0
    if code[MEMORY_PER_UNIT]:
        return int(min(units, memory // code[MEMORY_PER_UNIT]))
    return int(units)


@compiled
def _gres(code: Ints, free: Ints, node: int) -> int:
    there = 0
    for kind in range(len(free) - FREE_GRES):
        if code[GRES_KINDS] >> kind & 1:
            there += free[FREE_GRES + kind, node]
    return there


@compiled
def pick(code: Ints, machine: Ints, weights: Ints, capacity: Ints, sets: Ints, taken: Ints) -> int:
    """Fill in the nodes that are taken, and the units of each; how many they are, or 0 if they do not do.

    Where only so many nodes may be taken, those with least are left out, more and more, till it fits.

    Args:
        code: the request.
        machine: the machine as rows.
        weights: all weights, ascending.
        capacity: units that it could have on each node.
        sets: room for sets of neighbours.
        taken: room for the answer.
    """
    found = _pick(code, machine, weights, capacity, sets, taken)
    if found or code[MOST_NODES] == FAR:
        return found
    rest = sets[LARGE]
    rest[:] = capacity
    while not found:
        lowest, left = FAR, 0
        for node in range(len(rest)):
            if rest[node] > 0:
                lowest = min(lowest, rest[node])
        for node in range(len(rest)):
            rest[node] = rest[node] if rest[node] > lowest else 0
            left += rest[node] > 0
        if left == 0 or left < code[MIN_NODES]:
            return 0
        found = _pick(code, machine, weights, rest, sets, taken)
    return found


@compiled
def _pick(code: Ints, machine: Ints, weights: Ints, capacity: Ints, sets: Ints, taken: Ints) -> int:
    missing, found = code[UNITS], 0
    if code[LAST_FIRST] and missing <= 1:
        for node in range(len(capacity) - 1, -1, -1):
            if capacity[node] > 0:
                found, missing = _take(code, capacity, node, taken, found, missing)
                break
        return found if _done(code, found, missing) else 0
    for level in weights:
        if _done(code, found, missing) or found >= code[MOST_NODES]:
            break
        many = _sets(capacity, machine, level, sets)
        found, missing = _from_sets(code, capacity, sets, many, taken, found, missing)
    return found if _done(code, found, missing) else 0


@compiled
def _from_sets(
    code: Ints, capacity: Ints, sets: Ints, many: int, taken: Ints, found: int, missing: int
) -> tuple[int, int]:
    """Take sets one after the other until it is enough.

    The first that is sought is mostly enough; only if it is not, the sets are put in order.
    """
    best = _best(code, sets, many, found, missing)
    if many:
        found, missing = _from_set(code, capacity, sets[FIRST, best], sets[BEHIND, best], taken, found, missing)
        sets[SUM, best] = 0
    if many < 2 or _done(code, found, missing) or found >= code[MOST_NODES]:
        return found, missing
    order = np.argsort(-sets[SUM, :many], kind="mergesort")
    largest = 0
    while largest < many and not _done(code, found, missing) and found < code[MOST_NODES]:
        if sets[SUM, order[largest]] == 0:
            largest += 1
            continue
        best = _tightest(code, sets, order[largest:], found, missing)
        found, missing = _from_set(code, capacity, sets[FIRST, best], sets[BEHIND, best], taken, found, missing)
        sets[SUM, best] = 0
    return found, missing


@compiled
def _tightest(code: Ints, sets: Ints, order: Ints, found: int, missing: int) -> int:
    """As :func:`_best`, of sets of which the larger come first."""
    best = order[0]
    fits = False
    for place in order:
        units = sets[SUM, place]
        if units < missing:
            break
        suffices = sets[BEHIND, place] - sets[FIRST, place] >= code[MIN_NODES] - found
        if suffices and (not fits or units < sets[SUM, best]):
            best, fits = place, True
    return int(best)


@compiled
def _from_set(
    code: Ints, capacity: Ints, first: int, behind: int, taken: Ints, found: int, missing: int
) -> tuple[int, int]:
    if code[MIN_NODES] - found <= 1 and missing > 0:
        alone = _least_sufficient(capacity, first, behind, missing)
        if alone >= 0:
            return _take(code, capacity, alone, taken, found, missing)
    for node in range(first, behind):
        if _done(code, found, missing) or found >= code[MOST_NODES]:
            break
        found, missing = _take(code, capacity, node, taken, found, missing)
    return found, missing


@compiled
def _done(code: Ints, found: int, missing: int) -> bool:
    return bool(missing <= 0 and found >= code[MIN_NODES])


@compiled
def _take(code: Ints, capacity: Ints, node: int, taken: Ints, found: int, missing: int) -> tuple[int, int]:
    """Take what the node has, but leave a task for each other node that is still wanted."""
    others = max(0, code[MIN_NODES] - found - 1)
    wanted = max(missing - others * code[PER_TASK], code[PER_TASK])
    taken[0, found] = node
    taken[1, found] = min(capacity[node], wanted)
    return found + 1, missing - taken[1, found]


@compiled
def _sets(capacity: Ints, machine: Ints, level: int, sets: Ints) -> int:
    """Fill in the sets of neighbours of a weight; how many they are."""
    many, inside = 0, False
    for node in range(len(capacity)):
        if capacity[node] > 0 and machine[MACHINE_WEIGHT, node] == level:
            if not inside:
                sets[FIRST, many], sets[SUM, many] = node, 0
                many += 1
                inside = True
            sets[BEHIND, many - 1] = node + 1
            sets[SUM, many - 1] += capacity[node]
        else:
            inside = False
    return many


@compiled
def _best(code: Ints, sets: Ints, many: int, found: int, missing: int) -> int:
    """The tightest set that suffices, else the largest; of equal ones the first."""
    best, lowest = 0, FAR
    for place in range(many):
        units = sets[SUM, place]
        if units < 0:
            continue
        suffices = units >= missing and sets[BEHIND, place] - sets[FIRST, place] >= code[MIN_NODES] - found
        rank = units - FAR if suffices else -units
        if rank < lowest:
            best, lowest = place, rank
    return best


@compiled
def _least_sufficient(capacity: Ints, first: int, behind: int, missing: int) -> int:
    """The node that suffices with least to spare, or -1."""
    best = -1
    for node in range(first, behind):
        if capacity[node] >= missing and (best < 0 or capacity[node] < capacity[best]):
            best = node
    return best


@compiled
def deal(code: Ints, capacity: Ints, found: int, taken: Ints) -> None:
    """Put whole tasks onto the nodes that were taken, one at least onto each (observation C4).

    Tasks that find no room are put onto the first nodes, whose tails they then take.
    """
    per_task = code[PER_TASK]
    tasks = -(-code[UNITS] // per_task)
    for place in range(found):
        others = found - place - 1
        dealt = max(1, min(taken[1, place] // per_task, tasks - others))
        tasks -= dealt
        taken[1, place] = dealt * per_task
    for place in range(found):
        tail = capacity[taken[0, place]] - taken[1, place]
        if tasks > 0 and tail > 0:
            taken[1, place] += tail
            tasks -= 1
