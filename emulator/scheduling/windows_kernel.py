"""The search for holes for plain requests; a :mod:`kernel <slurm_sim_plugins.kernels>`.

What calls this, and why: :mod:`emulator.scheduling.windows_compiled`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from emulator.scheduling.future import FIRST_WINDOW
from emulator.scheduling.runs import FIRST, MANY, NODE, Reals
from emulator.scheduling.select_kernel import Code, Counts, count, enough, fill, gres_of, pick, recount, room_on
from emulator.scheduling.select_rows import FREE_JOBS, FREE_MEMORY, FREE_UNITS
from emulator.scheduling.window_rows import (
    BEGIN,
    COUNT,
    END,
    FOUND,
    FULL,
    GROW,
    KEPT,
    MARKS,
    NEVER,
    STARTS,
    USED,
)
from slurm_sim_plugins.nodes import Bytes, Ints


@dataclass(eq=False)
class Columns:
    """Slots; see :class:`emulator.scheduling.windows_compiled.CompiledSlots`."""

    sizes: Ints
    times: Reals
    order: Ints
    parts: Ints
    members: Ints
    marks: Reals
    others: Reals


@dataclass(eq=False)
class Runs:
    """Runs; see :class:`emulator.scheduling.runs.RunTable`."""

    ends: Reals
    parts: Ints
    entries: Ints


@dataclass(eq=False)
class Machine:
    """The machine: its rows, all weights, and what is free now."""

    rows: Ints
    weights: Ints
    free: Ints


@dataclass(eq=False)
class Request:
    """What is wanted.

    Attributes:
        code: the request as numbers.
        usable: nodes that may be used.
        now: the time of the cycle, in seconds.
        horizon: up to when nodes are kept.
        grain: in steps of so many seconds.
        most_marks: how many bounds of slots there may be.
        length: for how long the nodes are wanted.
    """

    code: Code
    usable: Bytes
    now: float
    horizon: float
    grain: float
    most_marks: int
    length: float


@dataclass(eq=False)
class Work:
    """Room to work in, and how far a search has come.

    Attributes:
        state: what is free at the time that is tried, in the rows that matter to the request.
        kept: how many slots keep each node.
        room: units that the job could have on each node if no slot kept it.
        capacity: units that it could have on each node.
        counts: what is counted of them.
        sets: for sets of neighbours.
        taken: nodes that were taken, and the units of each.
        starts: of those that have slots.
        tried: the time that is tried.
        time: the time of what is free.
        runs: so many have ended.
        entered, left: so many slots have begun, have ended.
        known: so many slots are known to the search.
    """

    state: Ints
    kept: Ints
    room: Ints
    capacity: Ints
    counts: Counts
    sets: Ints
    taken: Ints
    starts: Reals
    tried: float = 0.0
    time: float = 0.0
    runs: int = 0
    entered: int = 0
    left: int = 0
    known: int = 0


def add_slot(begin: float, end: float, nodes: Ints, many: int, slots: Columns) -> None:
    """Add a slot of so many nodes; there is room for it."""
    keep(begin, end, nodes, many, slots)
    _mark(slots, begin)
    _mark(slots, end)


def keep(begin: float, end: float, nodes: Ints, many: int, slots: Columns) -> None:
    """Keep so many nodes from jobs that have no right to them; there is room for that."""
    slot, used = slots.sizes[COUNT], slots.sizes[USED]
    slots.times[BEGIN, slot], slots.times[END, slot] = begin, end
    slots.parts[FIRST, slot], slots.parts[MANY, slot] = used, many
    for index in range(many):
        slots.members[used + index] = nodes[index]
    slots.sizes[USED] += many
    for row in range(2):
        _put_in_order(slots, row, slot)
    slots.sizes[COUNT] += 1


def _put_in_order(slots: Columns, row: int, slot: int) -> None:
    behind, time = slot, slots.times[row, slot]
    while behind > 0 and slots.times[row, slots.order[row, behind - 1]] > time:
        slots.order[row, behind] = slots.order[row, behind - 1]
        behind -= 1
    slots.order[row, behind] = slot


def _mark(slots: Columns, bound: float) -> None:
    """Note a bound, if it is not known."""
    known = slots.sizes[MARKS]
    index = _later(slots.marks, known, bound)
    if index > 0 and slots.marks[index - 1] == bound:
        return
    for behind in range(known, index, -1):
        slots.marks[behind] = slots.marks[behind - 1]
    slots.marks[index] = bound
    slots.sizes[MARKS] += 1


def _later(bounds: Reals, many: int, time: float) -> int:
    """The place of the first of so many bounds that is later."""
    low, high = 0, many
    while low < high:
        middle = (low + high) // 2
        if bounds[middle] <= time:
            low = middle + 1
        else:
            high = middle
    return low


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
    if goes_on:
        _catch_up(request, machine, runs, slots, work)
    else:
        _set_up(request, machine, runs, slots, work, work.tried)
    placed = 0
    while True:
        found = _seek(request, machine, runs, slots, work)
        if found == 0:
            work.tried = inf
            return placed, NEVER, 0
        time = work.time
        if most == 0:
            return 0, FOUND, found
        if time <= request.now:
            return placed, STARTS, found
        if time > request.horizon:
            return placed, NEVER, 0
        work.starts[placed] = time
        if slots.sizes[MARKS] + 1 >= request.most_marks:
            return placed, FULL, found
        if slots.sizes[COUNT] == slots.times.shape[1] or slots.sizes[USED] + found > len(slots.members):
            return placed, GROW, found
        begin = np.floor(time / request.grain) * request.grain
        end = np.floor((time + request.length) / request.grain) * request.grain
        add_slot(begin, max(end, begin + request.grain), work.taken[0], found, slots)
        placed += 1
        if placed == most:
            return placed, KEPT, 0
        _catch_up(request, machine, runs, slots, work)


def _set_up(request: Request, machine: Machine, runs: Runs, slots: Columns, work: Work, begin: float) -> None:
    """Begin a search at a time."""
    rows = request.code.rows
    work.state[:rows] = machine.free[:rows]
    work.kept[:] = 0
    work.runs = work.entered = work.left = 0
    work.known = slots.sizes[COUNT]
    _move(request, machine, runs, slots, work, begin, False)
    fill(request.code, request.usable, machine.rows, work.state, work.room)
    capacity, kept, room = work.capacity, work.kept, work.room
    for node in range(len(kept)):
        capacity[node] = room[node] if kept[node] == 0 else 0
    count(request.code, work.counts, capacity)


def _catch_up(request: Request, machine: Machine, runs: Runs, slots: Columns, work: Work) -> None:
    """Take notice of slots that were added since.

    What did not fit before them does not fit now, if the request is steady. So the search goes
    on where it was, or at the first time before that at which a slot now begins or ends.
    """
    if work.time > work.tried and not request.code.steady:
        _set_up(request, machine, runs, slots, work, work.tried)
        return
    for slot in range(work.known, slots.sizes[COUNT]):
        if slots.times[BEGIN, slot] < work.tried + request.length:
            work.entered += 1
            if slots.times[END, slot] <= work.tried:
                work.left += 1
            else:
                _change(request, slots, slot, 1, work, True)
    work.known = slots.sizes[COUNT]
    later = _next(slots, work.tried)
    if later <= work.time:
        upto = work.runs
        while upto > 0 and runs.ends[upto - 1] > later:
            upto -= 1
        _give(request, machine, runs, upto, work, True)
        _move(request, machine, runs, slots, work, later, True)


def _next(slots: Columns, begin: float) -> float:
    """The next time at which a slot or a reservation begins or ends."""
    known, found = slots.sizes[MARKS], inf
    following = _later(slots.marks, known, begin)
    if following < known:
        found = slots.marks[following]
    following = _later(slots.others, len(slots.others), begin)
    if following < len(slots.others):
        found = min(found, slots.others[following])
    return found


def _seek(request: Request, machine: Machine, runs: Runs, slots: Columns, work: Work) -> int:
    """Go on until the job fits; on how many nodes, or 0 if it never does."""
    while True:
        later = _next(slots, work.tried)
        found = _within(request, machine, runs, work, later)
        if found > 0:
            later = _first_end(slots, work.time, work.time + request.length, work, found)
            if later == inf:
                return found
        if later == inf:
            return 0
        _move(request, machine, runs, slots, work, later, True)


def _move(request: Request, machine: Machine, runs: Runs, slots: Columns, work: Work, begin: float, live: bool) -> None:
    """Go on to a later time: other slots keep nodes from a run that begins then, and other runs have ended."""
    many, end = slots.sizes[COUNT], begin + request.length
    while work.entered < many and slots.times[BEGIN, slots.order[BEGIN, work.entered]] < end:
        _change(request, slots, slots.order[BEGIN, work.entered], 1, work, live)
        work.entered += 1
    while work.left < many and slots.times[END, slots.order[END, work.left]] <= begin:
        _change(request, slots, slots.order[END, work.left], -1, work, live)
        work.left += 1
    if begin > request.now:
        upto = work.runs
        while upto < len(runs.ends) and runs.ends[upto] <= begin:
            upto += 1
        _give(request, machine, runs, upto, work, live)
    work.tried = work.time = begin


def _change(request: Request, slots: Columns, slot: int, sign: int, work: Work, live: bool) -> None:
    """A slot begins to keep its nodes from the run, or has ended."""
    first, flips = slots.parts[FIRST, slot], 1 if sign > 0 else 0
    for index in range(first, first + slots.parts[MANY, slot]):
        node = slots.members[index]
        work.kept[node] += sign
        if live and work.kept[node] == flips:
            recount(request.code, work.counts, work.room[node], -sign)
            work.capacity[node] = 0 if flips else work.room[node]


def _give(request: Request, machine: Machine, runs: Runs, upto: int, work: Work, live: bool) -> None:
    """Runs have ended up to the one before ``upto``: more of them than so far, or fewer."""
    sign = 1 if upto > work.runs else -1
    for run in range(min(work.runs, upto), max(work.runs, upto)):
        first = runs.parts[run, FIRST]
        for entry in range(first, first + runs.parts[run, MANY]):
            node = runs.entries[NODE, entry]
            for row in range(request.code.rows):
                work.state[row, node] += sign * runs.entries[NODE + 1 + row, entry]
        if live:
            _recount(request, machine, runs, run, work)
    work.runs = upto


def _recount(request: Request, machine: Machine, runs: Runs, run: int, work: Work) -> None:
    """Other resources are free on the nodes of a run: count them again."""
    first, code, state = runs.parts[run, FIRST], request.code, work.state
    for entry in range(first, first + runs.parts[run, MANY]):
        node = runs.entries[NODE, entry]
        if request.usable[node] == 0:
            continue
        units, memory, jobs = state[FREE_UNITS, node], state[FREE_MEMORY, node], state[FREE_JOBS, node]
        there = room_on(code, machine.rows, node, units, memory, jobs)
        if there > 0 and code.gres > 0 and gres_of(code, work.state, node) < code.gres:
            there = 0
        if there != work.room[node] and work.kept[node] == 0:
            recount(code, work.counts, work.room[node], -1)
            recount(code, work.counts, there, 1)
            work.capacity[node] = there
        work.room[node] = there


def _within(request: Request, machine: Machine, runs: Runs, work: Work, later: float) -> int:
    """On how many nodes the job fits before ``later``, as runs end; 0 if it does not."""
    many = len(runs.ends)
    found = _fit(request, machine, work)
    while found == 0 and work.runs < many:
        until, upto = _window_end(runs.ends[0], runs.ends[work.runs]), work.runs
        while upto < many and runs.ends[upto] <= until:
            upto += 1
        time = max(runs.ends[upto - 1], work.tried)
        if time >= later:
            return 0
        _give(request, machine, runs, upto, work, True)
        work.time = time
        found = _fit(request, machine, work)
    return found


def _window_end(first: float, end: float) -> float:
    """When the window ends in which a run ends; the first of all ends at ``first``."""
    aligned, window = first - first % FIRST_WINDOW + FIRST_WINDOW, FIRST_WINDOW
    while end > aligned + window:
        window *= 2
    return aligned + window


def _fit(request: Request, machine: Machine, work: Work) -> int:
    """On how many nodes the job fits; 0 if it does not."""
    if not enough(request.code, work.counts):
        return 0
    return pick(request.code, machine.rows, machine.weights, work.capacity, work.sets, work.taken)


def _first_end(slots: Columns, begin: float, end: float, work: Work, found: int) -> float:
    """When the first slot ends that keeps one of the nodes at some time between; infinite for none.

    Nodes of slots that begin before a run from the time that is tried would end were not taken,
    so that only those are looked at that begin later.
    """
    first = inf
    if begin <= work.tried or work.entered == slots.sizes[COUNT]:
        return first
    if slots.times[BEGIN, slots.order[BEGIN, work.entered]] >= end:
        return first
    marked = work.sets[0]
    for node in range(len(marked)):
        marked[node] = 0
    for index in range(found):
        marked[work.taken[0, index]] = 1
    for rank in range(work.entered, slots.sizes[COUNT]):
        slot = slots.order[BEGIN, rank]
        if slots.times[BEGIN, slot] >= end:
            break
        if begin < slots.times[END, slot] < first:
            part = slots.parts[FIRST, slot]
            for index in range(part, part + slots.parts[MANY, slot]):
                if marked[slots.members[index]]:
                    first = slots.times[END, slot]
                    break
    return first
