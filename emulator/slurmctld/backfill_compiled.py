"""The search for holes of :mod:`emulator.slurmctld.backfill`, compiled by numba; the answers are the same.

For a plain request the search goes once through time: what running jobs give back and what
slots keep changes the room on single nodes, so that most instants are refused by three
counts. Nodes are picked only where the counts suffice.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emulator.slurmctld.backfill import Cycle, Slots
from emulator.slurmctld.cluster import Cluster
from emulator.slurmctld.controls import Controls
from emulator.slurmctld.future import FIRST_WINDOW
from emulator.slurmctld.job import Job, Partition
from emulator.slurmctld.nodes import Allocation, Free, Ints, Mask
from emulator.slurmctld.runs import FIRST, MANY, NODE, Reals
from emulator.slurmctld.select_compiled import compiled, count, enough, pick, room

BEGIN, END = range(2)
"""Rows of times of slots."""
RUNS, ENTERED, LEFT = range(3)
"""How far a search has come: runs that have ended, slots that have begun, slots that have ended."""


class CompiledSlots(Slots):
    """Slots as columns, beside those of the plain ones.

    Args:
        nodes: how many there are.

    Attributes:
        times: when each begins and ends.
        order: slots by their beginnings, and by their ends.
        parts: where the nodes of each begin among ``members``, and how many they are.
        members: nodes of the slots, one slot after the other.
        marks: bounds of slots, ascending; so many as ``bounds`` has.
    """

    def __init__(self, nodes: int) -> None:
        super().__init__(nodes)
        self.times: Reals = self._times
        self.order: Ints = np.zeros((2, 64), dtype=np.int64)
        self.parts: Ints = np.zeros((2, 64), dtype=np.int64)
        self.members: Ints = np.zeros(1024, dtype=np.int64)
        self.marks: Reals = np.empty(128)
        self._used = 0

    def add(self, begin: float, end: float, nodes: Sequence[int]) -> None:
        """Keep nodes from ``begin`` to ``end`` (seconds)."""
        place, known = self.count, len(self.bounds)
        super().add(begin, end, nodes)
        self.times = self._times
        if place == self.order.shape[1]:
            self.order = np.concatenate([self.order, self.order], axis=1)
            self.parts = np.concatenate([self.parts, self.parts], axis=1)
            self.marks = np.concatenate([self.marks, self.marks])
        upto = self._used + len(nodes)
        if upto > len(self.members):
            self.members = np.resize(self.members, 2 * upto)
        self.members[self._used : upto] = nodes
        self.parts[:, place] = self._used, len(nodes)
        self._used = upto
        put_in_order(self.times, self.order, place)
        mark(self.marks, known, begin, end)


class CompiledCycle(Cycle):
    """One cycle of backfill, with compiled code for the search of plain jobs.

    Args:
        cluster: the situation.
        controls: starts and preempts.
    """

    def __init__(self, cluster: Cluster, controls: Controls) -> None:
        super().__init__(cluster, controls)
        assert cluster.compiled is not None
        self._compiled = cluster.compiled
        self._slots: CompiledSlots = CompiledSlots(len(cluster.machine))
        self._state: Ints = np.empty_like(cluster.free.table)
        self._kept_by: Ints = np.empty(len(cluster.machine), dtype=np.int64)
        self._planned = self._compiled.runs.planned()
        self._planned_of = 0

    def _hole(self, job: Job, partition: Partition, limit: float) -> tuple[float, Allocation] | None:
        code = self._compiled.code(job, partition)
        if code is None or not self._plain(job, partition):
            return super()._hole(job, partition, limit)
        alike = (job.alike, partition.name, limit)
        at = max(self._cluster.now, self._alike.get(alike, self._cluster.now))
        if at == np.inf:
            return None
        start, begin, taken = self._search(job, partition, code, at, limit)
        self._alike[alike] = begin
        if not taken:
            return None
        free = Free.of(self._state, tuple(self._cluster.free.gres))
        found = self._compiled.selector.allocation(job.wants[partition.name], code, free, taken)
        assert found is not None
        return start, found

    def _plain(self, job: Job, partition: Partition) -> bool:
        """Whether nobody is suspended, can be preempted, or has nodes to himself, and nothing is reserved."""
        cluster = self._cluster
        if cluster.suspended or cluster.exclusive_user or self._controls.reservations.by_name:
            return False
        return not self._candidates(partition, job)

    def _search(self, job: Job, partition: Partition, code: Ints, at: float, limit: float) -> tuple[float, float, int]:
        """When the job fits, from which time on that was tried, and on how many nodes."""
        cluster, selector, slots = self._cluster, self._compiled.selector, self._slots
        if self._planned_of != self._started:
            self._planned, self._planned_of = self._compiled.runs.planned(), self._started
        ends, index = self._planned
        found: tuple[float, float, int] = search(
            code,
            (cluster.now, at, limit),
            partition.nodes & cluster.machine.up & job.wants[partition.name].choices[0].mask,
            (selector.rows, selector.weights),
            cluster.free.table,
            (ends, index, self._compiled.runs.entries),
            (slots.count, slots.times, slots.order, slots.parts, slots.members, slots.marks[: len(slots.bounds)]),
            (self._state, self._kept_by, selector.capacity, selector.counts, selector.sets, selector.taken),
        )
        return found


Fixed = tuple[Ints, Ints]
"""The machine: its rows, all weights."""
Runs = tuple[Reals, Ints, Ints]
"""Runs: planned ends; where the entries of each begin, and how many they are; the entries."""
Kept = tuple[int, Reals, Ints, Ints, Ints, Reals]
"""Slots: how many, times, order, parts, members, marks."""
Work = tuple[Ints, Ints, Ints, Ints, Ints, Ints]
"""Room to work in: what is free, how many slots keep each node, capacities, counts, sets, and the nodes taken."""


@compiled
def put_in_order(times: Reals, order: Ints, place: int) -> None:
    """Put a new slot among the others, by its beginning and by its end."""
    for row in range(2):
        behind = place
        while behind and times[row, order[row, behind - 1]] > times[row, place]:
            order[row, behind] = order[row, behind - 1]
            behind -= 1
        order[row, behind] = place


@compiled
def mark(marks: Reals, known: int, begin: float, end: float) -> None:
    """Note two bounds, if they are not known."""
    for bound in (begin, end):
        place = np.searchsorted(marks[:known], bound)
        if place < known and marks[place] == bound:
            continue
        for behind in range(known, place, -1):
            marks[behind] = marks[behind - 1]
        marks[place] = bound
        known += 1


@compiled
def search(
    code: Ints,
    when: tuple[float, float, float],
    usable: Mask,
    machine: Fixed,
    free: Ints,
    runs: Runs,
    slots: Kept,
    work: Work,
) -> tuple[float, float, int]:
    """When a job fits, from which time on that was tried, and on how many nodes; 0 for never.

    Args:
        code: the request.
        when: now; the first time to try; how long the nodes are wanted.
        usable: nodes that it may use.
        machine: the nodes.
        free: what is free now.
        runs: what will be given back.
        slots: nodes that are kept for others.
        work: room to work in; the last of it is the answer.
    """
    now, begin, length = when
    far = np.zeros(3, dtype=np.int64)
    _set_up(free, work)
    _move(code, usable, machine, runs, slots, now, begin, length, work, far, False)
    _fill(code, usable, machine, work)
    while begin < np.inf:
        later = _next(slots[5], begin)
        time, found = _within(code, usable, machine, runs, begin, later, work, far)
        if found:
            later = _first_end(slots, time, time + length, work[5], found, work[4])
            if later == np.inf:
                return time, begin, found
        begin = later
        if begin < np.inf:
            _move(code, usable, machine, runs, slots, now, begin, length, work, far, True)
    return np.inf, np.inf, 0


@compiled
def _set_up(free: Ints, work: Work) -> None:
    state, kept = work[0], work[1]
    state[:] = free
    kept[:] = 0


@compiled
def _fill(code: Ints, usable: Mask, machine: Fixed, work: Work) -> None:
    """Fill in the units that the job could have on each node, and count them."""
    state, kept, capacity, counts = work[0], work[1], work[2], work[3]
    counts[:] = 0
    for node in range(len(usable)):
        capacity[node] = room(code, machine[0], state, node) if usable[node] and kept[node] == 0 else 0
        count(code, counts, capacity[node], 1)


@compiled
def _next(marks: Reals, begin: float) -> float:
    """The next time at which a slot begins or ends."""
    place = np.searchsorted(marks, begin, side="right")
    return float(marks[place]) if place < len(marks) else np.inf


@compiled
def _update(code: Ints, usable: Mask, machine: Fixed, work: Work, node: int) -> None:
    """Something has changed on a node: count it anew."""
    state, kept, capacity, counts = work[0], work[1], work[2], work[3]
    if not usable[node]:
        return
    units = room(code, machine[0], state, node) if kept[node] == 0 else 0
    if units != capacity[node]:
        count(code, counts, capacity[node], -1)
        count(code, counts, units, 1)
        capacity[node] = units


@compiled
def _move(
    code: Ints,
    usable: Mask,
    machine: Fixed,
    runs: Runs,
    slots: Kept,
    now: float,
    begin: float,
    length: float,
    work: Work,
    far: Ints,
    live: bool,
) -> None:
    """Go on to a later time: other slots keep nodes from a run that begins then, and other runs have ended."""
    many, times, order = slots[0], slots[1], slots[2]
    while far[ENTERED] < many and times[BEGIN, order[BEGIN, far[ENTERED]]] < begin + length:
        _change(code, usable, machine, slots, order[BEGIN, far[ENTERED]], 1, work, live)
        far[ENTERED] += 1
    while far[LEFT] < many and times[END, order[END, far[LEFT]]] <= begin:
        _change(code, usable, machine, slots, order[END, far[LEFT]], -1, work, live)
        far[LEFT] += 1
    if begin > now:
        upto = far[RUNS]
        while upto < len(runs[0]) and runs[0][upto] <= begin:
            upto += 1
        _give_back(code, usable, machine, runs, upto, work, far, live)


@compiled
def _change(
    code: Ints, usable: Mask, machine: Fixed, slots: Kept, slot: int, sign: int, work: Work, live: bool
) -> None:
    """A slot begins to keep its nodes from the run, or has ended."""
    kept, parts, members = work[1], slots[3], slots[4]
    for place in range(parts[FIRST, slot], parts[FIRST, slot] + parts[MANY, slot]):
        node = members[place]
        kept[node] += sign
        if live and kept[node] == (1 if sign > 0 else 0):
            _update(code, usable, machine, work, node)


@compiled
def _give_back(
    code: Ints, usable: Mask, machine: Fixed, runs: Runs, upto: int, work: Work, far: Ints, live: bool
) -> None:
    """Runs end, up to the one before ``upto``."""
    index, entries, state = runs[1], runs[2], work[0]
    for run in range(far[RUNS], upto):
        for entry in range(index[FIRST, run], index[FIRST, run] + index[MANY, run]):
            node = entries[NODE, entry]
            for row in range(len(state)):
                state[row, node] += entries[NODE + 1 + row, entry]
            if live:
                _update(code, usable, machine, work, node)
    far[RUNS] = upto


@compiled
def _within(
    code: Ints, usable: Mask, machine: Fixed, runs: Runs, begin: float, later: float, work: Work, far: Ints
) -> tuple[float, int]:
    """When the job fits, from ``begin`` on and before ``later``, as runs end; and on how many nodes, 0 for none."""
    found = _fit(code, machine, work)
    if found:
        return begin, found
    ends, window = runs[0], FIRST_WINDOW
    while far[RUNS] < len(ends):
        until, upto = ends[far[RUNS]] + window, far[RUNS]
        while upto < len(ends) and ends[upto] <= until:
            upto += 1
        time = max(ends[upto - 1], begin)
        if time >= later:
            break
        _give_back(code, usable, machine, runs, upto, work, far, True)
        found = _fit(code, machine, work)
        if found:
            return time, found
        window *= 2
    return np.inf, 0


@compiled
def _fit(code: Ints, machine: Fixed, work: Work) -> int:
    """On how many nodes the job fits; 0 if it does not."""
    return pick(code, machine[0], machine[1], work[2], work[4], work[5]) if enough(code, work[3]) else 0


@compiled
def _first_end(slots: Kept, begin: float, end: float, taken: Ints, found: int, sets: Ints) -> float:
    """When the first slot ends that keeps one of the nodes at some time between; infinite for none."""
    times, parts, members = slots[1], slots[3], slots[4]
    first, marked = np.inf, sets[0]
    marked[:] = 0
    for place in range(found):
        marked[taken[0, place]] = 1
    for slot in range(slots[0]):
        if times[BEGIN, slot] < end and begin < times[END, slot] < first:
            for place in range(parts[FIRST, slot], parts[FIRST, slot] + parts[MANY, slot]):
                if marked[members[place]]:
                    first = times[END, slot]
                    break
    return float(first)
