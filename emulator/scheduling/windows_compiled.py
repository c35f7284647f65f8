"""The search for holes of :mod:`emulator.scheduling.windows`, compiled by numba; the answers are the same.

For a plain request the search goes once through time: what running jobs give back and what
slots keep changes the room on single nodes, so that most instants are refused by three
counts. Nodes are picked only where the counts suffice. Jobs that ask for the same and
follow one another are given their slots in one go. What a search has come to is kept: the
next job that asks for the same goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from emulator.scheduling.compiled import Compiled
from emulator.scheduling.controls import Controls
from emulator.scheduling.future import FIRST_WINDOW
from emulator.scheduling.kernel import compiled
from emulator.scheduling.runs import FIRST, MANY, NODE, Reals
from emulator.scheduling.select_compiled import (
    FREE_JOBS,
    FREE_MEMORY,
    FREE_UNITS,
    Code,
    Counts,
    counted,
    enough,
    fill,
    gres_of,
    pick,
    room_on,
)
from emulator.scheduling.windows import Habits, Windows
from emulator.state.cluster import Cluster
from emulator.state.job import Job
from emulator.state.kept import Slots
from emulator.state.partition import Partition
from emulator.state.reservation import Reservation
from emulator.state.run import YEAR
from emulator.state.scratch import Scratch
from slurm_sim_plugins.nodes import Allocation, Free, Ints, Mask
from slurm_sim_plugins.plan import Entry, Hole

BEGIN, END = range(2)
"""Rows of times of slots."""
COUNT, USED, MARKS = range(3)
"""Sizes of slots: how many, how many nodes they have, how many marks."""
RUNS, ENTERED, LEFT, KNOWN = range(4)
"""How far a search has come: runs that have ended, slots that have begun, that have ended, that are known to it."""
TRIED, TIME = range(2)
"""Its clock: the time that is tried, and the time of what is free."""
NOW, HORIZON, GRAIN, MOST_MARKS, LENGTH = range(5)
"""What is asked of it: now, up to when nodes are kept, in which steps, how many marks there may be, and how long the
nodes are wanted."""
NEVER, FOUND, STARTS, KEPT, FULL, GROW = range(6)
"""What came of it: nothing, a place, a place now, slots for all, no more slots, more room is needed."""
Sought = tuple[int, str, float]
"""What is sought: the class of the jobs, the partition, and for how long."""


class CompiledSlots(Slots):
    """Slots as columns, instead of the plain ones; behind them what reservations keep from most jobs.

    Args:
        nodes: how many there are.
        reservations: those that keep nodes from jobs that do not ask for them.

    Attributes:
        sizes: how many slots, nodes and marks.
        times: when each begins and ends.
        order: slots by their beginnings, and by their ends.
        parts: where the nodes of each begin among ``members``, and how many they are.
        members: nodes of the slots, one slot after the other.
        marks: bounds of slots, ascending.
        others: bounds of reservations, ascending.
        columns: all of these, as kernels take them; see :class:`Columns`.
    """

    def __init__(self, nodes: int, reservations: Sequence[Reservation] = ()) -> None:
        self._nodes = nodes
        self._reservations = len(reservations)
        self.sizes: Ints = np.zeros(3, dtype=np.int64)
        self.times: Reals = np.empty((2, 512))
        self.order: Ints = np.zeros((2, 512), dtype=np.int64)
        self.parts: Ints = np.zeros((2, 512), dtype=np.int64)
        self.members: Ints = np.zeros(8192, dtype=np.int64)
        self.marks: Reals = np.empty(1024)
        bounds = {bound for one in reservations for bound in (one.start, one.end) if bound < np.inf}
        self.others: Reals = np.array(sorted(bounds))
        self._gather()
        for one in reservations:
            members = np.flatnonzero(one.nodes)
            self.grow(len(members))
            keep(one.start, one.end, members, Columns(*self.columns))

    def _gather(self) -> None:
        self.columns = (self.sizes, self.times, self.order, self.parts, self.members, self.marks, self.others)

    @property
    def bounds(self) -> set[float]:
        """Times at which one begins or ends."""
        return set(self.marks[: self.sizes[MARKS]].tolist())

    def nodes(self) -> Ints:
        """Nodes that are kept at any time, ascending."""
        kept = np.zeros(self._nodes, dtype=bool)
        kept[self.members[: self.sizes[USED]]] = True
        return np.flatnonzero(kept)

    def __len__(self) -> int:
        return int(self.sizes[MARKS])

    def add(self, begin: float, end: float, nodes: Sequence[int]) -> None:
        """Keep nodes from ``begin`` to ``end`` (seconds)."""
        self.grow(len(nodes))
        add_slot(begin, end, np.array(nodes, dtype=np.int64), Columns(*self.columns))

    def grow(self, nodes: int) -> None:
        """Make room for another slot of so many nodes."""
        if self.sizes[COUNT] == self.times.shape[1]:
            self.times, self.order, self.parts = (
                np.concatenate([columns, columns], axis=1) for columns in (self.times, self.order, self.parts)
            )
            self.marks = np.concatenate([self.marks, self.marks])
        while self.sizes[USED] + nodes > len(self.members):
            self.members = np.concatenate([self.members, self.members])
        self._gather()

    def kept(self, begin: float, end: float) -> Mask:
        """Nodes that are kept at some time between."""
        mask = np.zeros(self._nodes, dtype=bool)
        for slot in self._overlapping(begin, end):
            mask[self._members(slot)] = True
        return mask

    def first_end(self, begin: float, end: float, nodes: Sequence[int]) -> float | None:
        """When the first slot ends that keeps one of these nodes at some time between."""
        wanted = set(nodes)
        those = [slot for slot in self._overlapping(begin, end) if not wanted.isdisjoint(self._members(slot).tolist())]
        return min((float(self.times[END, slot]) for slot in those), default=None)

    def first_begin(self, after: float, nodes: Sequence[int]) -> float:
        """When the first slot begins from then on that keeps one of these nodes; infinite for none."""
        wanted = set(nodes)
        slots = range(self._reservations, int(self.sizes[COUNT]))
        begins = (
            float(self.times[BEGIN, slot]) for slot in slots if not wanted.isdisjoint(self._members(slot).tolist())
        )
        return min((begin for begin in begins if begin >= after), default=float("inf"))

    def _overlapping(self, begin: float, end: float) -> list[int]:
        begins, ends = self.times[:, self._reservations : self.sizes[COUNT]]
        return (self._reservations + np.flatnonzero((begins < end) & (ends > begin))).tolist()

    def _members(self, slot: int) -> Ints:
        first, many = self.parts[:, slot]
        return self.members[first : first + many]


class Columns(NamedTuple):
    """Slots, for kernels; see :class:`CompiledSlots`."""

    sizes: Ints
    times: Reals
    order: Ints
    parts: Ints
    members: Ints
    marks: Reals
    others: Reals


class Runs(NamedTuple):
    """Runs, for kernels; see :class:`emulator.scheduling.runs.RunTable`."""

    ends: Reals
    parts: Ints
    entries: Ints


class Request(NamedTuple):
    """What is wanted: the request as numbers, nodes that may be used, and what ``NOW`` and so on name."""

    code: Code
    usable: Mask
    asked: tuple[float, float, float, float, float]


class Machine(NamedTuple):
    """The machine: its rows, all weights, and what is free now."""

    rows: Ints
    weights: Ints
    free: Ints


class Work(NamedTuple):
    """Room to work in.

    Attributes:
        state: what is free at the time that is tried, in the rows that matter to the request.
        kept: how many slots keep each node.
        room: units that the job could have on each node if no slot kept it.
        capacity: units that it could have on each node.
        counts: what is counted of them.
        sets: for sets of neighbours.
        taken: nodes that were taken, and the units of each.
        far, clock: how far the search has come.
        starts: of those that have slots.
    """

    state: Ints
    kept: Ints
    room: Ints
    capacity: Ints
    counts: Ints
    sets: Ints
    taken: Ints
    far: Ints
    clock: Reals
    starts: Reals


MOST_TOGETHER = 1024
"""Jobs alike that are given slots in one call of a kernel, at most."""
MOST_SEARCHES = 128
"""So many searches are kept in a cycle: of nodes and resources, some 64 bytes a node each."""


class Search(NamedTuple):
    """A search, as kernels take it.

    Attributes:
        code: the request as numbers.
        usable: nodes that may be used.
        work: see :class:`Work`.
        plain: the same as a plain tuple, which kernels take in a third of the time.
    """

    code: tuple[int, ...]
    usable: Mask
    work: Work
    plain: tuple[Any, ...]


class Searches(Scratch):
    """What the searches of a cycle have come to, by what was sought.

    Args:
        state: as many resources and nodes as there are.

    Attributes:
        known: those that have begun.
    """

    def __init__(self, state: Ints) -> None:
        self._state = state
        self._spare: list[Work] = []
        self.known: dict[Sought, Search] = {}
        self._sets: Ints = np.empty((4, state.shape[1]), dtype=np.int64)
        self._taken: Ints = np.empty((2, state.shape[1]), dtype=np.int64)
        self._starts: Reals = np.empty(MOST_TOGETHER)

    def begin(self, sought: Sought, at: float, code: Code, usable: Mask) -> Search:
        """A search that is to begin at a time."""
        if len(self.known) == MOST_SEARCHES:
            self._spare.append(self.known.pop(next(iter(self.known))).work)
        work = self._spare.pop() if self._spare else self._new()
        work.clock[TRIED] = work.clock[TIME] = at
        self.known[sought] = search = Search(tuple(code), usable, work, tuple(work))
        return search

    def forget(self) -> None:
        """Something has started: all searches start over."""
        self._spare += [search.work for search in self.known.values()]
        self.known.clear()

    def _new(self) -> Work:
        size = self._state.shape[1]
        kept, room, capacity = (np.empty(size, dtype=np.int64) for _ in range(3))
        far, counts = np.zeros(4, dtype=np.int64), np.zeros(3, dtype=np.int64)
        state = np.zeros_like(self._state)
        return Work(state, kept, room, capacity, counts, self._sets, self._taken, far, np.zeros(2), self._starts)


class CompiledWindows(Windows):
    """The plan of one cycle, with compiled code for the search of plain jobs.

    Args:
        cluster: the cluster state.
        controls: reservations, and sharing.
        habits: of the scheduler.
    """

    slots: CompiledSlots

    def __init__(self, cluster: Cluster, controls: Controls, habits: Habits) -> None:
        super().__init__(cluster, controls, habits)
        assert isinstance(cluster.compiled, Compiled)
        self._compiled = cluster.compiled
        selector = cluster.compiled.selector
        self._machine = (selector.rows, selector.weights, cluster.free.table)
        self._searches = cluster.compiled.searches
        self._searches.forget()
        self._runs = self._planned()
        self._stale = self._together = False
        self._usable: dict[tuple[int, str], Mask] = {}
        self._simple: dict[tuple[int, str], bool] = {}
        self._preempts = cluster.policies.names_victims
        by_priority = "PRIORITY" in cluster.parameters.preempt_mode
        alike = not self._preempts or (cluster.policies.by_partition and not by_priority)
        self._by_class = cluster.accounting is None and alike
        self._asked = (cluster.now, cluster.now + habits.window, habits.resolution, float(habits.size))

    def _no_slots(self) -> CompiledSlots:
        standing = self._controls.reservations.standing(self._cluster.now)
        self._moving = any("REPLACE" in one.flags for one in standing)
        return CompiledSlots(len(self._cluster.machine), standing)

    def _planned(self) -> tuple[Reals, Ints, Ints]:
        runs = self._compiled.runs
        return *runs.planned(), runs.entries

    def preempted(self, kept: Mapping[int, Mask] | None = None) -> None:
        """Runs end at other times: all searches start over."""
        super().preempted()
        self._stale = True

    def alike(self, entries: Iterable[Entry]) -> Iterator[list[Entry]]:
        """Together those on which nothing but nodes and time decides, and that ask for the same."""
        group: list[Entry] = []
        sought: Sought = (0, "", 0.0)
        for entry in entries:
            job, partition = entry._pair  # type: ignore[attr-defined]
            this = (job.request_class, partition.name, _length(job))
            if group:
                if this == sought and self._joins(job, partition):
                    group.append(entry)
                    continue
                self._together = True
                yield group
                group = []
            if self._may_be_grouped(job, partition):
                group, sought = [entry], this
            else:
                self._together = False
                yield [entry]
        if group:
            self._together = True
            yield group

    def _joins(self, job: Job, partition: Partition) -> bool:
        """Whether a job can be tried with those before it, which ask for the same."""
        if self._by_class:
            return job.request.options.array is None
        return self._may_be_grouped(job, partition)

    def _may_be_grouped(self, job: Job, partition: Partition) -> bool:
        """Whether nothing but nodes and time decides on the job, so that it gets a slot if it does not start."""
        if len(job.partitions) > 1 or job.options.array is not None:
            return False
        key = (job.request_class, partition.name)
        if key not in self._simple:
            coded = self._compiled.code(job, partition) is not None
            self._simple[key] = coded and not job.options.licenses and self._controls.rows.depth(job, partition) < 2
        if not self._simple[key]:
            return False
        accounting = self._cluster.accounting
        if accounting is not None and (accounting.binds(job) or job.reserves_nothing):
            return False
        return self._plain(job, partition)

    def place(self, entries: Sequence[Entry], keep: bool) -> tuple[list[float], Hole | None]:
        """Seek holes for entries alike, and keep those that are not now."""
        first = entries[0]
        job, partition = first._pair  # type: ignore[attr-defined]
        if not keep or not self._together:
            return super().place(entries, keep)
        sought: Sought = (job.request_class, partition.name, _length(job))
        starts: list[float] = []
        while True:
            most = min(len(entries) - len(starts), MOST_TOGETHER)
            work, placed, outcome, taken = self._place(job, partition, sought, most)
            if work is None:
                return starts, None
            starts += work.starts[:placed].tolist()
            if outcome == GROW:
                self.slots.grow(taken)
            elif outcome in (STARTS, FULL):
                self._victims = []
                start = float(work.clock[TIME])
                allocation = self._allocation(job, partition, work, taken)
                return starts, self._as_hole(entries[len(starts)], start, allocation)
            elif outcome == NEVER or len(starts) == len(entries):
                return starts, None

    def _hole(self, job: Job, partition: Partition, limit: float) -> tuple[float, Allocation] | None:
        if self._compiled.code(job, partition) is None or not self._plain(job, partition):
            return super()._hole(job, partition, limit)
        work, _, outcome, taken = self._place(job, partition, (job.request_class, partition.name, limit), 0)
        if work is None or outcome == NEVER:
            return None
        return float(work.clock[TIME]), self._allocation(job, partition, work, taken)

    def _allocation(self, job: Job, partition: Partition, work: Work, taken: int) -> Allocation:
        code, want = self._compiled.code(job, partition), job.wants[partition.name]
        assert code is not None
        free = Free.of(work.state, tuple(self._cluster.free.gres))
        found = self._compiled.selector.allocation(want, code, free, work.taken[:, :taken])
        assert found is not None
        return found

    def _plain(self, job: Job, partition: Partition) -> bool:
        """Whether no job is suspended, can be preempted, or has exclusive nodes, nor has the job a reservation."""
        cluster = self._cluster
        if cluster.suspended or cluster.exclusive_user or self._moving or job.options.reservation:
            return False
        return not (self._preempts and self._candidates(partition, job))

    def _place(self, job: Job, partition: Partition, sought: Sought, most: int) -> tuple[Work | None, int, int, int]:
        """Give slots to so many jobs alike.

        With ``most=0`` the place of one job is sought and it gets no slot.

        Returns:
            the search, or None if it is known that no job finds a place; how many have got
            a slot, what came of the next, and on how many nodes.
        """
        if self._stale:
            self._runs, self._stale = self._planned(), False
            self._searches.forget()
        at = self._alike.get(sought, self._cluster.now)
        if at == np.inf:
            return None, 0, NEVER, 0
        known = self._searches.known.get(sought)
        code, usable, work, plain = known or self._begin(sought, at, job, partition)
        asked, slots, begun = (*self._asked, sought[2]), self.slots.columns, known is not None
        placed, outcome, taken = place_plain(code, usable, asked, self._machine, self._runs, slots, plain, begun, most)
        self._alike[sought] = work.clock.item(TRIED)
        return work, placed, outcome, taken

    def _begin(self, sought: Sought, at: float, job: Job, partition: Partition) -> Search:
        code = self._compiled.code(job, partition)
        assert code is not None
        usable = self._usable.get(sought[:2])
        if usable is None:
            mask = job.wants[partition.name].choices[0].mask
            usable = self._usable[sought[:2]] = partition.nodes & self._cluster.machine.up & mask
        return self._searches.begin(sought, at, code, usable)


def _length(job: Job) -> float:
    if job.time_min is not None:
        return job.time_min
    return job.limit if job.plan is None and job.limit < YEAR else job.plan_limit


@compiled
def add_slot(begin: float, end: float, nodes: Ints, slots: Columns) -> None:
    """Add a slot; there is room for it."""
    keep(begin, end, nodes, slots)
    _mark(slots, begin)
    _mark(slots, end)


@compiled
def keep(begin: float, end: float, nodes: Ints, slots: Columns) -> None:
    """Keep nodes from jobs that have no right to them; there is room for that."""
    sizes = slots.sizes
    slot, used = sizes[COUNT], sizes[USED]
    slots.times[BEGIN, slot], slots.times[END, slot] = begin, end
    slots.parts[FIRST, slot], slots.parts[MANY, slot] = used, len(nodes)
    for index in range(len(nodes)):
        slots.members[used + index] = nodes[index]
    sizes[USED] += len(nodes)
    for row in range(2):
        _put_in_order(slots.times[row], slots.order[row], slot)
    sizes[COUNT] += 1


@compiled
def _put_in_order(times: Reals, order: Ints, slot: int) -> None:
    behind = slot
    while behind and times[order[behind - 1]] > times[slot]:
        order[behind] = order[behind - 1]
        behind -= 1
    order[behind] = slot


@compiled
def _mark(slots: Columns, bound: float) -> None:
    """Note a bound, if it is not known."""
    known, marks = slots.sizes[MARKS], slots.marks
    index = np.searchsorted(marks[:known], bound)
    if index < known and marks[index] == bound:
        return
    for behind in range(known, index, -1):
        marks[behind] = marks[behind - 1]
    marks[index] = bound
    slots.sizes[MARKS] += 1


@compiled
def place_plain(
    code: tuple[int, ...],
    usable: Mask,
    asked: tuple[float, float, float, float, float],
    machine: tuple[Ints, Ints, Ints],
    runs: tuple[Reals, Ints, Ints],
    slots: tuple[Ints, Reals, Ints, Ints, Ints, Reals, Reals],
    work: tuple[Any, ...],
    goes_on: bool,
    most: int,
) -> tuple[int, int, int]:
    """As :func:`place`, which see, with plain tuples."""
    request = Request(Code(*code), usable, asked)
    return place(request, Machine(*machine), Runs(*runs), Columns(*slots), Work(*work), goes_on, most)


@compiled
def place(
    request: Request, machine: Machine, runs: Runs, slots: Columns, work: Work, goes_on: bool, most: int
) -> tuple[int, int, int]:
    """Give slots to jobs alike; how many have got one, what came of the next, and on how many nodes.

    Args:
        request: what each of them wants.
        machine: the nodes.
        runs: what will be given back.
        slots: nodes that are kept for others; theirs are added.
        work: room to work in, and how far the search has come.
        goes_on: whether a search for jobs alike has begun.
        most: how many jobs; 0 to seek a place and add no slot.
    """
    clock, asked = work.clock, request.asked
    if goes_on:
        _catch_up(request, machine, runs, slots, work)
    else:
        _set_up(request, machine, runs, slots, work, clock[TRIED])
    placed = 0
    while True:
        found = _seek(request, machine, runs, slots, work)
        if not found:
            clock[TRIED] = np.inf
            return placed, NEVER, 0
        time = clock[TIME]
        if most == 0:
            return 0, FOUND, found
        if time <= asked[NOW]:
            return placed, STARTS, found
        if time > asked[HORIZON]:
            return placed, NEVER, 0
        work.starts[placed] = time
        if slots.sizes[MARKS] + 1 >= asked[MOST_MARKS]:
            return placed, FULL, found
        if slots.sizes[COUNT] == slots.times.shape[1] or slots.sizes[USED] + found > len(slots.members):
            return placed, GROW, found
        begin = np.floor(time / asked[GRAIN]) * asked[GRAIN]
        end = np.floor((time + asked[LENGTH]) / asked[GRAIN]) * asked[GRAIN]
        add_slot(begin, max(end, begin + asked[GRAIN]), work.taken[0, :found], slots)
        placed += 1
        if placed == most:
            return placed, KEPT, 0
        _catch_up(request, machine, runs, slots, work)


@compiled
def _set_up(request: Request, machine: Machine, runs: Runs, slots: Columns, work: Work, begin: float) -> None:
    """Begin a search at a time."""
    for row in range(request.code.rows):
        for node in range(len(work.kept)):
            work.state[row, node] = machine.free[row, node]
    work.kept[:] = 0
    work.far[:] = 0
    work.far[KNOWN] = slots.sizes[COUNT]
    _move(request, machine, runs, slots, work, begin, False)
    fill(request.code, request.usable, machine.rows, work.state, work.room)
    kept, capacity, units = work.kept, work.capacity, work.room
    counts = Counts(0, 0, 0)
    for node in range(len(units)):
        capacity[node] = units[node] if kept[node] == 0 else 0
        counts = counted(request.code, counts, capacity[node], 1)
    _note(work, counts)


@compiled
def _catch_up(request: Request, machine: Machine, runs: Runs, slots: Columns, work: Work) -> None:
    """Take notice of slots that were added since.

    What did not fit before them does not fit now, if the request is steady. So the search goes
    on where it was, or at the first time before that at which a slot now begins or ends.
    """
    clock, far, times = work.clock, work.far, slots.times
    if clock[TIME] > clock[TRIED] and not request.code.steady:
        _set_up(request, machine, runs, slots, work, clock[TRIED])
        return
    for slot in range(far[KNOWN], slots.sizes[COUNT]):
        if times[BEGIN, slot] < clock[TRIED] + request.asked[LENGTH]:
            far[ENTERED] += 1
            if times[END, slot] <= clock[TRIED]:
                far[LEFT] += 1
            else:
                _change(request, slots, slot, 1, work, True)
    far[KNOWN] = slots.sizes[COUNT]
    later = _next(slots, clock[TRIED])
    if later <= clock[TIME]:
        upto = far[RUNS]
        while upto and runs.ends[upto - 1] > later:
            upto -= 1
        _give(request, machine, runs, upto, work, True)
        _move(request, machine, runs, slots, work, later, True)


@compiled
def _next(slots: Columns, begin: float) -> float:
    """The next time at which a slot or a reservation begins or ends."""
    known, found = slots.sizes[MARKS], np.inf
    following = np.searchsorted(slots.marks[:known], begin, side="right")
    if following < known:
        found = slots.marks[following]
    following = np.searchsorted(slots.others, begin, side="right")
    if following < len(slots.others):
        found = min(found, slots.others[following])
    return float(found)


@compiled
def _seek(request: Request, machine: Machine, runs: Runs, slots: Columns, work: Work) -> int:
    """Go on until the job fits; on how many nodes, or 0 if it never does."""
    clock = work.clock
    while True:
        later = _next(slots, clock[TRIED])
        found = _within(request, machine, runs, work, later)
        if found:
            later = _first_end(slots, clock[TIME], clock[TIME] + request.asked[LENGTH], work, found)
            if later == np.inf:
                return found
        if later == np.inf:
            return 0
        _move(request, machine, runs, slots, work, later, True)


@compiled
def _move(request: Request, machine: Machine, runs: Runs, slots: Columns, work: Work, begin: float, live: bool) -> None:
    """Go on to a later time: other slots keep nodes from a run that begins then, and other runs have ended."""
    far, times, order, many = work.far, slots.times, slots.order, slots.sizes[COUNT]
    while far[ENTERED] < many and times[BEGIN, order[BEGIN, far[ENTERED]]] < begin + request.asked[LENGTH]:
        _change(request, slots, order[BEGIN, far[ENTERED]], 1, work, live)
        far[ENTERED] += 1
    while far[LEFT] < many and times[END, order[END, far[LEFT]]] <= begin:
        _change(request, slots, order[END, far[LEFT]], -1, work, live)
        far[LEFT] += 1
    if begin > request.asked[NOW]:
        upto = far[RUNS]
        while upto < len(runs.ends) and runs.ends[upto] <= begin:
            upto += 1
        _give(request, machine, runs, upto, work, live)
    work.clock[TRIED] = work.clock[TIME] = begin


@compiled
def _change(request: Request, slots: Columns, slot: int, sign: int, work: Work, live: bool) -> None:
    """A slot begins to keep its nodes from the run, or has ended."""
    first, flips = slots.parts[FIRST, slot], 1 if sign > 0 else 0
    members, kept, capacity, units = slots.members, work.kept, work.capacity, work.room
    counts = _noted(work)
    for index in range(first, first + slots.parts[MANY, slot]):
        node = members[index]
        kept[node] += sign
        if live and kept[node] == flips:
            counts = counted(request.code, counts, units[node], -sign)
            capacity[node] = units[node] * (1 - flips)
    _note(work, counts)


@compiled
def _give(request: Request, machine: Machine, runs: Runs, upto: int, work: Work, live: bool) -> None:
    """Runs have ended up to the one before ``upto``: more of them than so far, or fewer."""
    far = work.far[RUNS]
    sign = 1 if upto > far else -1
    entries, state = runs.entries, work.state
    for run in range(min(far, upto), max(far, upto)):
        first = runs.parts[run, FIRST]
        for entry in range(first, first + runs.parts[run, MANY]):
            node = entries[NODE, entry]
            for row in range(request.code.rows):
                state[row, node] += sign * entries[NODE + 1 + row, entry]
        if live:
            _recount(request, machine, runs, run, work)
    work.far[RUNS] = upto


@compiled
def _recount(request: Request, machine: Machine, runs: Runs, run: int, work: Work) -> None:
    """Other resources are free on the nodes of a run: count them again."""
    first, entries, code = runs.parts[run, FIRST], runs.entries, request.code
    kept, capacity, rooms, state = work.kept, work.capacity, work.room, work.state
    free_units, memory, jobs = state[FREE_UNITS], state[FREE_MEMORY], state[FREE_JOBS]
    counts = _noted(work)
    for entry in range(first, first + runs.parts[run, MANY]):
        node = entries[NODE, entry]
        if not request.usable[node]:
            continue
        units = room_on(code, machine.rows, node, free_units[node], memory[node], jobs[node])
        if units and code.gres and gres_of(code, state, node) < code.gres:
            units = 0
        if units != rooms[node] and kept[node] == 0:
            counts = counted(code, counts, rooms[node], -1)
            counts = counted(code, counts, units, 1)
            capacity[node] = units
        rooms[node] = units
    _note(work, counts)


@compiled
def _noted(work: Work) -> Counts:
    return Counts(work.counts[0], work.counts[1], work.counts[2])


@compiled
def _note(work: Work, counts: Counts) -> None:
    work.counts[0], work.counts[1], work.counts[2] = counts.cpus, counts.nodes, counts.big


@compiled
def _within(request: Request, machine: Machine, runs: Runs, work: Work, later: float) -> int:
    """On how many nodes the job fits before ``later``, as runs end; 0 if it does not."""
    clock, far, ends = work.clock, work.far, runs.ends
    found = _fit(request, machine, work)
    while not found and far[RUNS] < len(ends):
        until, upto = _window_end(ends[0], ends[far[RUNS]]), far[RUNS]
        while upto < len(ends) and ends[upto] <= until:
            upto += 1
        time = max(ends[upto - 1], clock[TRIED])
        if time >= later:
            return 0
        _give(request, machine, runs, upto, work, True)
        clock[TIME] = time
        found = _fit(request, machine, work)
    return found


@compiled
def _window_end(first: float, end: float) -> float:
    """When the window ends in which a run ends; the first of all ends at ``first``."""
    aligned, window = (first // FIRST_WINDOW + 1) * FIRST_WINDOW, FIRST_WINDOW
    while end > aligned + window:
        window *= 2
    return aligned + window


@compiled
def _fit(request: Request, machine: Machine, work: Work) -> int:
    """On how many nodes the job fits; 0 if it does not."""
    if not enough(request.code, _noted(work)):
        return 0
    return pick(request.code, machine.rows, machine.weights, work.capacity, work.sets, work.taken)


@compiled
def _first_end(slots: Columns, begin: float, end: float, work: Work, found: int) -> float:
    """When the first slot ends that keeps one of the nodes at some time between; infinite for none.

    Nodes of slots that begin before a run from the time that is tried would end were not taken,
    so that only those are looked at that begin later.
    """
    first, marked, next_one = np.inf, work.sets[0], work.far[ENTERED]
    if begin <= work.clock[TRIED] or next_one == slots.sizes[COUNT]:
        return float(first)
    if slots.times[BEGIN, slots.order[BEGIN, next_one]] >= end:
        return float(first)
    marked[:] = 0
    for index in range(found):
        marked[work.taken[0, index]] = 1
    for rank in range(next_one, slots.sizes[COUNT]):
        slot = slots.order[BEGIN, rank]
        if slots.times[BEGIN, slot] >= end:
            break
        if begin < slots.times[END, slot] < first:
            part = slots.parts[FIRST, slot]
            for index in range(part, part + slots.parts[MANY, slot]):
                if marked[slots.members[index]]:
                    first = slots.times[END, slot]
                    break
    return float(first)
