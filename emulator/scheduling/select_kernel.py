"""Which nodes a plain request gets; a :mod:`kernel <slurm_sim_plugins.kernels>`.

What is plain, and what calls this: :mod:`emulator.scheduling.select_compiled`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from emulator.scheduling import tree_kernel as tree
from emulator.scheduling.select_rows import (
    BEHIND,
    FIRST,
    FREE_GRES,
    FREE_JOBS,
    FREE_MEMORY,
    FREE_UNITS,
    LARGE,
    MACHINE_CORES,
    MACHINE_MEMORY,
    MACHINE_THREADS,
    MACHINE_UNITS,
    MACHINE_WEIGHT,
    ORDER,
    SUM,
    TAKEN,
)
from emulator.scheduling.tree_compiled import BEHIND as LEAF_BEHIND
from emulator.scheduling.tree_compiled import BY_LEAF, LEAF, LEFT, MANY, ROWS, USED, WEIGHT
from emulator.scheduling.tree_compiled import FIRST as LEAF_FIRST
from slurm_sim_plugins.nodes import FAR, Bytes, Ints


@dataclass
class Code:
    """A request as numbers; see :class:`slurm_sim_plugins.nodes.Want`.

    Attributes:
        gres: how many of a generic resource on each node.
        gres_kinds: a bit for each kind that will do.
        big, many_big: so many nodes must each give ``big`` CPUs, or it cannot fit.
        highest: more CPUs than this no node gives.
        plain: whether a node counts with each unit that is free: a unit is a CPU, and memory is not by CPU.
        whole_tasks: of a multiple of so many CPUs; 1 for any.
        singly: it is tried again without so many nodes, one after the other, and then without all that are as small.
        rows: how many rows of what is free it depends on.
        steady: whether it fits wherever it fits with fewer nodes. Where only so many may be
            taken, the wrong ones can be taken first.
    """

    min_nodes: int
    most_nodes: int
    cpus: int
    per_task: int
    on_node: int
    given: int
    per_node: int
    ranked: int
    per_core: int
    whole: int
    memory_per_node: int
    memory_per_cpu: int
    memory_of_core: int
    all_memory: int
    gres: int
    gres_kinds: int
    last_first: int
    first_node: int
    singly: int
    big: int
    many_big: int
    highest: int
    plain: int
    whole_tasks: int
    steady: int
    rows: int


NOT_TAKEN = -1
"""Instead of the CPUs of a node."""
NO_PIECES: Ints = np.empty(0, dtype=np.int64)
"""Where each node is looked at."""


@dataclass
class Counts:
    """What is counted of the nodes.

    Attributes:
        cpus: that a job could have.
        nodes: with some of them.
        big: nodes with many.
    """

    cpus: int = 0
    nodes: int = 0
    big: int = 0


def choose(
    code: Code, usable: Bytes, machine: Ints, weights: Ints, free: Ints, capacity: Ints, sets: Ints, taken: Ints
) -> int:
    """Fill in the nodes that are taken, and the CPUs of each that are counted on; how many they are, or 0."""
    fill(code, usable, machine, free, capacity)
    counts = Counts()
    count(code, counts, capacity)
    return pick(code, machine, weights, capacity, sets, taken) if enough(code, counts) else 0


def are_too_few(code: Code, free: Ints) -> bool:
    """Whether fewer units are free in all than a job wants: mostly so where none of its partition's starts.

    It is not asked of what is not counted by units alone.
    """
    if not code.plain or code.whole:
        return False
    units, there = free[FREE_UNITS], 0
    for node in range(len(units)):
        there += max(units[node], 0)
    return there < code.cpus


def fill(code: Code, usable: Bytes, machine: Ints, free: Ints, capacity: Ints) -> None:
    """Fill in the CPUs that a job could have on each node."""
    units, memory, jobs = free[FREE_UNITS], free[FREE_MEMORY], free[FREE_JOBS]
    if code.plain:
        _fill_plainly(code, usable, machine, free, capacity)
    else:
        for node in range(len(usable)):
            there = room_on(code, machine, node, units[node], memory[node], jobs[node])
            capacity[node] = there if usable[node] else 0
    if code.gres:
        for node in range(len(usable)):
            if capacity[node] and gres_of(code, free, node) < code.gres:
                capacity[node] = 0


def _fill_plainly(code: Code, usable: Bytes, machine: Ints, free: Ints, capacity: Ints) -> None:
    """As :func:`fill` where :func:`_plain_room` says what there is, but for generic resources."""
    units, memory, jobs = free[FREE_UNITS], free[FREE_MEMORY], free[FREE_JOBS]
    all_units, all_memory = machine[MACHINE_UNITS], machine[MACHINE_MEMORY]
    for node in range(len(usable)):
        there = _plain_room(code, units[node], memory[node], jobs[node], all_units[node], all_memory[node])
        capacity[node] = there if usable[node] else 0


def _plain_room(code: Code, units: int, memory: int, jobs: int, all_units: int, all_memory: int) -> int:
    """As :func:`room` where a node counts with each unit: most machines and requests are so.

    It divides nothing, so that a compiler can put it into loops.
    """
    if code.whole:
        units = all_units if jobs == 0 else 0
    if code.memory_per_node and memory < code.memory_per_node:
        return 0
    if code.all_memory and memory < all_memory:
        return 0
    return min(units, code.ranked) if units >= code.on_node else 0


def room_on(code: Code, machine: Ints, node: int, units: int, memory: int, jobs: int) -> int:
    """As :func:`room`, of a node of a machine as rows."""
    if code.plain:
        return _plain_room(code, units, memory, jobs, machine[MACHINE_UNITS, node], machine[MACHINE_MEMORY, node])
    threads, cores = machine[MACHINE_THREADS, node], machine[MACHINE_CORES, node]
    cpus = min(threads, code.per_core * cores)
    with_memory = min(threads, code.memory_of_core * cores)
    all_units, all_memory = machine[MACHINE_UNITS, node], machine[MACHINE_MEMORY, node]
    return room(code, units, memory, jobs, all_units, all_memory, cpus, with_memory)


def room(
    code: Code, units: int, memory: int, jobs: int, all_units: int, all_memory: int, of_unit: int, with_memory: int
) -> int:
    """Free CPUs that a job can use of a node where so much is free, but for generic resources.

    ``of_unit`` CPUs of each unit may be used by tasks; for ``with_memory`` of them memory is given, or, if that is
    0, for those that tasks have.
    """
    if code.whole:
        units = all_units if jobs == 0 else 0
    if code.memory_per_node and memory < code.memory_per_node:
        return 0
    if code.all_memory and memory < all_memory:
        return 0
    # Divisions take as long as all else, and most tasks have one CPU.
    cpus = units * of_unit
    if code.whole_tasks > 1:
        cpus = cpus // code.whole_tasks * code.whole_tasks
    if code.memory_per_cpu:
        there = memory // (code.memory_per_cpu * max(with_memory, 1)) * (of_unit if with_memory else 1)
        if code.whole and there < cpus:
            return 0
        if not code.whole:
            cpus = min(cpus, there)
            if code.per_task > 1:
                cpus = cpus // code.per_task * code.per_task
    # A node that has not as much as is wanted of each is of no use.
    return min(cpus, code.ranked) if cpus >= code.on_node else 0


def gres_of(code: Code, free: Ints, node: int) -> int:
    """How many of the generic resource that is wanted are free on a node."""
    there = 0
    for kind in range(len(free) - FREE_GRES):
        if code.gres_kinds >> kind & 1:
            there += free[FREE_GRES + kind, node]
    return there


def count(code: Code, counts: Counts, capacity: Ints) -> None:
    """Count all nodes, of which each has so many CPUs."""
    cpus = nodes = big = 0
    least = code.big
    for node in range(len(capacity)):
        there = capacity[node]
        if there:
            cpus += there
            nodes += 1
            big += 1 if there >= least else 0
    counts.cpus, counts.nodes, counts.big = cpus, nodes, big


def count_pieces(code: Code, counts: Counts, begins: Ints, pieces: int, capacity: Ints) -> None:
    """As :func:`count`, where the nodes of a piece are alike: see :mod:`emulator.scheduling.stretches`."""
    cpus = nodes = big = 0
    least = code.big
    for piece in range(pieces):
        there, many = capacity[begins[piece]], begins[piece + 1] - begins[piece]
        if there:
            cpus += there * many
            nodes += many
            big += many if there >= least else 0
    counts.cpus, counts.nodes, counts.big = cpus, nodes, big


def enough(code: Code, counts: Counts) -> bool:
    """Whether the nodes could do at all."""
    return counts.cpus >= code.cpus and counts.nodes >= code.min_nodes and counts.big >= code.many_big


def pick(code: Code, machine: Ints, weights: Ints, capacity: Ints, sets: Ints, taken: Ints) -> int:
    """Fill in the nodes that are taken, and the CPUs of each; how many they are, or 0 if they do not do.

    Where only so many nodes may be taken, those with least are left out, more and more, till it fits, but no more than
    leave as many as the job must have: of equal ones the last stay. They are left out one by one, up to ``singly``,
    then all that have as much at a time.

    Args:
        code: the request.
        machine: the machine as rows.
        weights: all weights, ascending.
        capacity: CPUs that it could have on each node.
        sets: room for sets of neighbours.
        taken: room for the answer.
    """
    found = _pick(code, machine, weights, capacity, sets, taken)
    if found or code.most_nodes == FAR or not _may_suffice(code, capacity):
        return found
    rest, more, singly = sets[LARGE], -code.min_nodes, code.singly
    for node in range(len(rest)):
        rest[node] = capacity[node]
        more += 1 if rest[node] > 0 else 0
    while not found and more > 0:
        lowest = FAR
        for node in range(len(rest)):
            if rest[node] > 0:
                lowest = min(lowest, rest[node])
        for node in range(len(rest)):
            if rest[node] == lowest and more > 0:
                rest[node] = 0
                more -= 1
                if singly > 0:
                    singly -= 1
                    break
        found = _pick(code, machine, weights, rest, sets, taken)
    return found


def _may_suffice(code: Code, capacity: Ints) -> bool:
    """Whether as many nodes as there may be can have the CPUs at all: the largest of them, level by level."""
    level, left, missing = FAR, code.most_nodes, code.cpus
    while missing > 0 and left > 0:
        highest, many = 0, 0
        for node in range(len(capacity)):
            if highest < capacity[node] < level:
                highest, many = capacity[node], 0
            many += 1 if capacity[node] == highest else 0
        if highest == 0:
            return False
        many = min(many, left)
        level, left, missing = highest, left - many, missing - many * highest
    return missing <= 0


def pick_pieces(
    code: Code,
    machine: Ints,
    weights: Ints,
    begins: Ints,
    pieces: Ints,
    capacity: Ints,
    room: Ints,
    sets: Ints,
    taken: Ints,
) -> int:
    """As :func:`pick`, where the nodes of a piece are alike: what is known of them is noted at the first one.

    What goes by switches, or has to leave some nodes out, looks at each of them.

    Args:
        code: the request.
        machine: the machine as rows.
        weights: all weights, ascending.
        begins: the first nodes of the pieces, and the number of nodes; see :mod:`emulator.scheduling.stretches`.
        pieces: where each ends, at its first node.
        capacity: CPUs that it could have on each node of a piece.
        room: for a number of each node.
        sets: room for sets of neighbours.
        taken: room for the answer.
    """
    missing, found, by_last = code.cpus, 0, code.last_first > 0 and code.cpus <= 1
    if by_last and _last_of_pieces(code, machine, pieces, capacity, taken):
        return 1
    if code.first_node and not by_last and _first_of_pieces(code, machine, weights[0], pieces, capacity, taken):
        return 1
    if not (by_last or len(machine) == ROWS):
        for rank in range(len(weights)):
            if _done(code, found, missing) or found >= code.most_nodes:
                break
            many = _sets_of_pieces(len(weights) == 1, weights[rank], begins, capacity, machine, sets)
            found, missing = _from_sets(code, machine, pieces, capacity, sets, many, taken, found, missing)
        if _done(code, found, missing):
            return found
        if code.most_nodes == FAR:
            return 0
    _spread(pieces, capacity, room)
    return pick(code, machine, weights, room, sets, taken)


def _spread(pieces: Ints, capacity: Ints, room: Ints) -> None:
    """Note at each node what is known of its piece."""
    first = 0
    while first < len(capacity):
        for node in range(first, pieces[first]):
            room[node] = capacity[first]
        first = pieces[first]


def _sets_of_pieces(any_weight: bool, level: int, begins: Ints, capacity: Ints, machine: Ints, sets: Ints) -> int:
    """Fill in the sets of neighbours, of one weight or of any; how many they are."""
    many, first, units, node, piece = 0, -1, 0, 0, 0
    while node < len(capacity):
        piece += 1
        behind = begins[piece]
        if capacity[node] > 0 and (any_weight or machine[MACHINE_WEIGHT, node] == level):
            if first < 0:
                first, units = node, 0
            units += capacity[node] * (behind - node)
        elif first >= 0:
            sets[FIRST, many], sets[BEHIND, many], sets[SUM, many] = first, node, units
            many, first = many + 1, -1
        node = behind
    if first >= 0:
        sets[FIRST, many], sets[BEHIND, many], sets[SUM, many] = first, node, units
        many += 1
    return many


def _last_of_pieces(code: Code, machine: Ints, pieces: Ints, capacity: Ints, taken: Ints) -> bool:
    """Take the node of :func:`_last_light`; whether there is one, and it is enough."""
    last, cpus, node = -1, 0, 0
    while node < len(capacity):
        if capacity[node] > 0 and (last < 0 or machine[MACHINE_WEIGHT, node] <= machine[MACHINE_WEIGHT, last]):
            last, cpus = pieces[node] - 1, capacity[node]
        node = pieces[node]
    return last >= 0 and _take_one(code, machine, last, cpus, taken)


def _first_of_pieces(code: Code, machine: Ints, lightest: int, pieces: Ints, capacity: Ints, taken: Ints) -> bool:
    """Take the node of :func:`_first_node`; whether there is one."""
    best, node = -1, 0
    if code.cpus > code.per_node:
        return False
    while node < len(capacity):
        if capacity[node] >= code.cpus and _is_lighter(machine, node, best):
            best = node
            if machine[MACHINE_WEIGHT, node] == lightest:
                break
        node = pieces[node]
    if best >= 0:
        _take_one(code, machine, best, capacity[best], taken)
    return best >= 0


def _take_one(code: Code, machine: Ints, node: int, cpus: int, taken: Ints) -> bool:
    """Take a single node, on which there are so many CPUs; whether it is enough."""
    taken[0, 0], taken[1, 0] = node, _share(code, machine, node, cpus, 0, code.cpus)
    return _done(code, 1, code.cpus - taken[1, 0])


def _is_lighter(machine: Ints, node: int, other: int) -> bool:
    """Whether a node has less weight than another, or there is no other."""
    return bool(other < 0 or machine[MACHINE_WEIGHT, node] < machine[MACHINE_WEIGHT, other])


def _last_light(machine: Ints, capacity: Ints) -> int:
    """The last node of the lowest weight of those with room; -1 for none."""
    last = -1
    for node in range(len(capacity) - 1, -1, -1):
        if capacity[node] > 0 and (last < 0 or machine[MACHINE_WEIGHT, node] < machine[MACHINE_WEIGHT, last]):
            last = node
    return last


def _pick(code: Code, machine: Ints, weights: Ints, capacity: Ints, sets: Ints, taken: Ints) -> int:
    missing, found = code.cpus, 0
    if code.last_first and missing <= 1:
        last = _last_light(machine, capacity)
        return 1 if last >= 0 and _take_one(code, machine, last, capacity[last], taken) else 0
    if code.first_node:
        first = _first_node(code, machine, weights[0], capacity)
        if first >= 0:
            _take_one(code, machine, first, capacity[first], taken)
            return 1
    if len(machine) == ROWS:
        return _by_switches(code, machine, weights, capacity, taken)
    for rank in range(len(weights)):
        if _done(code, found, missing) or found >= code.most_nodes:
            break
        many = _sets(capacity, sets) if len(weights) == 1 else _sets_of(weights[rank], capacity, machine, sets)
        found, missing = _from_sets(code, machine, NO_PIECES, capacity, sets, many, taken, found, missing)
    return found if _done(code, found, missing) else 0


def _by_switches(code: Code, table: Ints, weights: Ints, capacity: Ints, taken: Ints) -> int:
    """As :meth:`slurm_sim_plugins.topology.tree.Tree.order`."""
    weight = tree.begin(table, weights, capacity, code.min_nodes, code.cpus)
    if weight < 0:
        return 0
    found, missing = _lighter(code, table, capacity, taken, weight)
    for leaf in range(table[MANY, 0] if found else 0):
        if table[USED, leaf]:
            found, missing = _of_leaf(code, table, capacity, taken, leaf, weight, found, missing)
    tree.count(table, weight, weight, len(capacity))
    while not _done(code, found, missing) and found < code.most_nodes:
        leaf = tree.best_leaf(table, code.min_nodes - found, missing)
        if leaf < 0:
            return 0
        found, missing = _of_leaf(code, table, capacity, taken, leaf, weight, found, missing)
        tree.use(table, leaf)
        if table[MANY, 1]:
            tree.count(table, weight, weight, len(capacity))
    return found if _done(code, found, missing) else 0


def _lighter(code: Code, table: Ints, capacity: Ints, taken: Ints, weight: int) -> tuple[int, int]:
    """Take all nodes that are lighter, for all of them are needed."""
    found, missing = 0, code.cpus
    for node in range(len(capacity)):
        if table[LEFT, node] > 0 and table[WEIGHT, node] < weight:
            if _done(code, found, missing) or found >= code.most_nodes:
                break
            found, missing = _of_tree(code, table, capacity, taken, node, found, missing)
            if not table[USED, table[LEAF, node]]:
                tree.use(table, table[LEAF, node])
    return found, missing


def _of_leaf(
    code: Code, table: Ints, capacity: Ints, taken: Ints, leaf: int, weight: int, found: int, missing: int
) -> tuple[int, int]:
    """Take nodes of a leaf."""
    for index in range(table[LEAF_FIRST, leaf], table[LEAF_BEHIND, leaf]):
        node = table[BY_LEAF, index]
        if _done(code, found, missing) or found >= code.most_nodes:
            break
        if table[LEFT, node] > 0 and table[WEIGHT, node] == weight:
            found, missing = _of_tree(code, table, capacity, taken, node, found, missing)
    return found, missing


def _of_tree(
    code: Code, table: Ints, capacity: Ints, taken: Ints, node: int, found: int, missing: int
) -> tuple[int, int]:
    """Take a node."""
    cpus = _share(code, table, node, capacity[node], found, missing)
    taken[0, found], taken[1, found], table[LEFT, node] = node, cpus, 0
    return found + 1, missing - cpus


def _first_node(code: Code, machine: Ints, lightest: int, capacity: Ints) -> int:
    """The first of the nodes of least weight that have room for all, or -1; none has less than ``lightest``."""
    best, cpus = -1, code.cpus
    if cpus > code.per_node:
        return best
    for node in range(len(capacity)):
        if capacity[node] >= cpus and _is_lighter(machine, node, best):
            best = node
            if machine[MACHINE_WEIGHT, node] == lightest:
                break
    return best


def _from_sets(
    code: Code,
    machine: Ints,
    pieces: Ints,
    capacity: Ints,
    sets: Ints,
    many: int,
    taken: Ints,
    found: int,
    missing: int,
) -> tuple[int, int]:
    """Take sets one after the other until it is enough; ``pieces`` are empty where each node has its own capacity.

    The first that is sought is mostly enough; only if it is not, the sets are put in order.
    """
    best = _best(code, sets, many, found, missing)
    if many:
        found, missing = _from_set(
            code, machine, pieces, capacity, sets[FIRST, best], sets[BEHIND, best], taken, found, missing
        )
        sets[SUM, best] = TAKEN
    if many < 2 or _done(code, found, missing) or found >= code.most_nodes:
        return found, missing
    _put_in_order(sets, many)
    largest = 0
    while largest < many and not _done(code, found, missing) and found < code.most_nodes:
        if sets[SUM, sets[ORDER, largest]] == TAKEN:
            largest += 1
            continue
        best = _best_in_order(code, sets, largest, many, found, missing)
        found, missing = _from_set(
            code, machine, pieces, capacity, sets[FIRST, best], sets[BEHIND, best], taken, found, missing
        )
        sets[SUM, best] = TAKEN
    return found, missing


def _put_in_order(sets: Ints, many: int) -> None:
    """Fill in the order of so many sets: the larger first, of equal ones the first (Shell's sort)."""
    for rank in range(many):
        sets[ORDER, rank] = rank
    gap = many // 2
    while gap > 0:
        for rank in range(gap, many):
            one, behind = sets[ORDER, rank], rank
            while behind >= gap and _before(sets, one, sets[ORDER, behind - gap]):
                sets[ORDER, behind] = sets[ORDER, behind - gap]
                behind -= gap
            sets[ORDER, behind] = one
        gap = max(gap * 5 // 11, 1) if gap > 1 else 0


def _before(sets: Ints, one: int, other: int) -> bool:
    if sets[SUM, one] == sets[SUM, other]:
        return one < other
    return bool(sets[SUM, one] > sets[SUM, other])


def _best_in_order(code: Code, sets: Ints, largest: int, many: int, found: int, missing: int) -> int:
    """As :func:`_best`, of sets in order, of which the largest has a rank: if it lacks CPUs, all others do, too."""
    first: int = sets[ORDER, largest]
    return first if sets[SUM, first] < missing else _best(code, sets, many, found, missing)


def _from_set(
    code: Code,
    machine: Ints,
    pieces: Ints,
    capacity: Ints,
    first: int,
    behind: int,
    taken: Ints,
    found: int,
    missing: int,
) -> tuple[int, int]:
    """Take nodes of a set; see :func:`_from_sets`."""
    in_pieces = len(pieces) > 0
    if code.min_nodes - found <= 1 and 0 < missing <= code.highest:
        alone = _least_sufficient(pieces, capacity, first, behind, missing)
        if alone >= 0:
            first, behind = alone, alone + 1
    while first < behind and not _done(code, found, missing) and found < code.most_nodes:
        following = pieces[first] if in_pieces else first + 1
        for node in range(first, min(following, behind)):
            if _done(code, found, missing) or found >= code.most_nodes:
                break
            if found == code.most_nodes - 1 and min(capacity[first], code.per_node) < missing:
                break  # The last of as many as there may be must give all that is missing.
            units = _share(code, machine, first, capacity[first], found, missing)
            taken[0, found], taken[1, found] = node, units
            found += 1
            missing -= units
        first = following
    return found, missing


def _done(code: Code, found: int, missing: int) -> bool:
    return missing <= 0 and found >= code.min_nodes


def _share(code: Code, machine: Ints, node: int, cpus: int, found: int, missing: int) -> int:
    """What is taken of a node with so many CPUs; a core is left for each other node that is needed."""
    of_unit: int = _core_threads(code, machine, node) * machine[MACHINE_CORES, node]
    others = max(0, code.min_nodes - found - 1) * of_unit
    return min(cpus, code.per_node, max(missing - others, code.on_node))


def _sets(capacity: Ints, sets: Ints) -> int:
    """Fill in the sets of neighbours; how many they are.

    On large machines most of the time would go here: eight nodes are looked at together, for mostly all or none
    of them can be used.
    """
    many, first, units, size = 0, -1, 0, len(capacity)
    for begin in range(0, size, 8):
        if begin + 8 <= size:
            alike = _eight(capacity, begin, first >= 0)
            if alike >= 0:
                units += alike
                continue
        for node in range(begin, min(begin + 8, size)):
            if capacity[node] > 0:
                if first < 0:
                    first, units = node, 0
                units += capacity[node]
            elif first >= 0:
                sets[FIRST, many], sets[BEHIND, many], sets[SUM, many] = first, node, units
                many, first = many + 1, -1
    if first >= 0:
        sets[FIRST, many], sets[BEHIND, many], sets[SUM, many] = first, size, units
        many += 1
    return many


def _eight(capacity: Ints, begin: int, within: bool) -> int:
    """CPUs of eight nodes that all belong to the set within which they begin; 0 outside of one if none is of use.

    -1: the nodes are not alike.
    """
    some, least, total = 0, capacity[begin], 0
    for node in range(begin, begin + 8):
        some |= capacity[node]
        least = min(least, capacity[node])
        total += capacity[node]
    if within:
        return total if least > 0 else -1
    return 0 if some == 0 else -1


def _sets_of(level: int, capacity: Ints, machine: Ints, sets: Ints) -> int:
    """Fill in the sets of neighbours of a weight; how many they are."""
    many, first, units, size = 0, -1, 0, len(capacity)
    for node in range(size + 1):
        if node < size and capacity[node] > 0 and machine[MACHINE_WEIGHT, node] == level:
            if first < 0:
                first, units = node, 0
            units += capacity[node]
        elif first >= 0:
            sets[FIRST, many], sets[BEHIND, many], sets[SUM, many] = first, node, units
            many, first = many + 1, -1
    return many


def _best(code: Code, sets: Ints, many: int, found: int, missing: int) -> int:
    """The tightest set that suffices, else the largest; of equal ones the first.

    A larger one with too few nodes takes the place of one that suffices, if it comes after that.
    """
    best, fits = -1, False
    for index in range(many):
        units = sets[SUM, index]
        if units < 0:
            continue
        suffices = units >= missing and sets[BEHIND, index] - sets[FIRST, index] >= code.min_nodes - found
        if best < 0:
            better = True
        elif suffices:
            better = not fits or units < sets[SUM, best]
        else:
            better = units > sets[SUM, best]
        if better:
            best, fits = index, suffices
    return max(best, 0)


def _least_sufficient(pieces: Ints, capacity: Ints, first: int, behind: int, missing: int) -> int:
    """The node that suffices with least to spare, or -1."""
    best, in_pieces = -1, len(pieces) > 0
    while first < behind:
        if capacity[first] >= missing and (best < 0 or capacity[first] < capacity[best]):
            best = first
        first = pieces[first] if in_pieces else first + 1
    return best


def put_in_order(found: int, taken: Ints, room: Ints) -> None:
    """Put nodes that were taken in their order on the machine, each with its CPUs; ``room`` is for all nodes."""
    first = last = taken[0, 0]
    ascending = True
    for index in range(1, found):
        node = taken[0, index]
        ascending = ascending and node > last
        first, last = min(first, node), max(last, node)
    if ascending:
        return
    for node in range(first, last + 1):
        room[node] = NOT_TAKEN
    for index in range(found):
        room[taken[0, index]] = taken[1, index]
    index = 0
    for node in range(first, last + 1):
        if room[node] != NOT_TAKEN:
            taken[0, index], taken[1, index] = node, room[node]
            index += 1


def nodes_of(found: int, taken: Ints, numbers: Sequence[int]) -> tuple[int, ...]:
    """The nodes that were taken, of the numbers of all nodes."""
    return tuple([numbers[taken[0, index]] for index in range(found)])


def give(code: Code, machine: Ints, found: int, taken: Ints, room: Ints) -> int:
    """Put nodes that were taken in order, and deal tasks onto them.

    Returns:
        The CPUs of each, if they are as many on all of them; else 0.
    """
    put_in_order(found, taken, room)
    deal(code, machine, found, taken)
    for index in range(1, found):
        if taken[1, index] != taken[1, 0]:
            return 0
    return int(taken[1, 0])


def deal(code: Code, machine: Ints, found: int, taken: Ints) -> None:
    """One task for each node that was taken, then onto each in turn as many as a core takes (observation C4).

    Tasks that find no room are put onto the first nodes, as many on each as a core takes; these give the rest of what
    was picked there, if there is any.

    Args:
        code: the request.
        machine: the machine as rows.
        found: how many nodes were taken.
        taken: they, in their order, and the CPUs of each.
    """
    size, picked = code.per_task, taken[1]
    tasks = min(max(code.cpus, found * code.given), found * code.per_node) // size
    room, exact = 0, True
    for index in range(found):
        room += max(1, picked[index] // size)
        exact = exact and picked[index] % size == 0
    if exact and room <= tasks:
        return
    turns = FAR if room <= tasks else _turns(code, machine, found, taken, tasks)
    for index in range(found):
        tasks -= _in_turns(code, machine, taken[0, index], picked[index], turns)
    for index in range(found):
        node, most = taken[0, index], picked[index]
        has = _in_turns(code, machine, node, most, turns)
        if turns < FAR:
            more = min(_in_turns(code, machine, node, most, turns + 1) - has, tasks)
            has, tasks = has + more, tasks - more
        picked[index] = has * size
        if turns == FAR and tasks > 0:
            picked[index] = most
            tasks -= max(1, _core_threads(code, machine, node) // size)


def _in_turns(code: Code, machine: Ints, node: int, picked: int, turns: int) -> int:
    """Tasks that a node has after so many turns."""
    of_core = max(1, _core_threads(code, machine, node) // code.per_task)
    return max(1, min(picked // code.per_task, turns * of_core))


def _turns(code: Code, machine: Ints, found: int, taken: Ints, tasks: int) -> int:
    """Turns that all nodes can have of so many tasks."""
    turns = 0
    while True:
        given = 0
        for index in range(found):
            given += _in_turns(code, machine, taken[0, index], taken[1, index], turns + 1)
        if given > tasks:
            return turns
        turns += 1


def _core_threads(code: Code, machine: Ints, node: int) -> int:
    """CPUs of a core of a node that tasks may use."""
    threads: int = machine[MACHINE_THREADS, node] // machine[MACHINE_CORES, node]
    return max(1, min(threads, code.per_core))
