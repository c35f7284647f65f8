"""The search for holes for plain requests; a :mod:`kernel <slurm_sim_plugins.kernels>`.

What calls this, and why: :mod:`emulator.scheduling.windows_compiled`. What is done millions of times takes columns from
their owners each time, for a name of its own for a column costs more in compiled code than what is done with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from emulator.scheduling.future import FIRST_WINDOW
from emulator.scheduling.outlook_kernel import Outlook, ended, look_on, settle, soonest
from emulator.scheduling.run_rows import CHILD, FIRST, MANY, NODE, PARENT, Reals
from emulator.scheduling.select_kernel import Code, Counts, count, count_pieces, enough, pick, pick_pieces
from emulator.scheduling.select_rows import MACHINE_THREADS, MACHINE_UNITS
from emulator.scheduling.stretches import Stretches, cut
from emulator.scheduling.window_rows import (
    BEGIN,
    CHANGE,
    COUNT,
    DELAY,
    EDGE,
    END,
    FOUND,
    FULL,
    GROW,
    KEPT,
    LEFT,
    MARKS,
    NEVER,
    NO_NODE,
    RANGE,
    RANGED,
    RANGES,
    RESERVED,
    SEEN,
    STARTS,
    UNKNOWN,
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
    ranges: Ints
    marks: Reals
    turns: Ints
    names: Ints
    others: Reals
    until: Reals
    over: Reals
    stretches: Stretches


@dataclass(eq=False)
class Terms:
    """What holds for all that is sought in a cycle.

    Attributes:
        now: the time of the cycle, in seconds.
        horizon: up to when nodes are kept.
        grain: in steps of so many seconds.
        phase: seconds that are added to a start before it is cut to a whole step.
        rounding: the same of an end.
        own_ends: whether a job starts when the last run on its own nodes ends, and not at the end of a window.
        most_marks: how many bounds of slots there may be.
        plans_are_news: whether it matters not what a plan delays, once any nodes are kept.
        by_tries: how windows of runs begin: with the first that has nodes that the job could use, of all in 0, of those
            that end behind the time that is tried in 1 and 2; one that ends at that time is there still in 1.
        goes_on: whether it is tried again where slots leave no more nodes.
        within: seconds behind the end of a window up to which the end of a run is in it.
        grows: by so many seconds a window is longer than the one before; 0 for twice as long, and negative where runs
            are taken one by one.
    """

    now: float
    horizon: float
    grain: float
    phase: float
    rounding: float
    own_ends: int
    most_marks: int
    plans_are_news: int
    by_tries: int
    goes_on: int
    within: float
    grows: float


@dataclass(eq=False)
class Request:
    """What is wanted.

    Attributes:
        code: the request as numbers.
        outlook: what it finds on each node as runs end.
        length: for how long the nodes are wanted.
        terms: those of the cycle.
        near: reservations, by number, that have nodes of the partition.
        there: nodes of the partition that are up, whatever is asked of them.
    """

    code: Code
    outlook: Outlook
    length: float
    terms: Terms
    near: Ints
    there: Bytes


@dataclass(eq=False)
class Work:
    """Room to work in, and how far a search has come; of each piece it is noted at its first node.

    Attributes:
        kept: how many slots keep each node.
        room: units that the job could have on each node if no slot kept it.
        capacity: units that it could have on each node.
        counts: what is counted of them.
        sets: for sets of neighbours.
        taken: nodes that were taken, and the units of each.
        marked: room to mark nodes; none is, when it is not in use.
        starts: of those that have slots.
        cpus: with how many CPUs each of these was planned, if it has whole nodes.
        tried: the time that is tried.
        time: the time of ``room``.
        start: when the job starts that was found to fit then.
        runs: so many have ended by then.
        gone: so many have ended at the time that is tried.
        failed: at the time that is tried it did not fit after so many of them; -1 if that is not known.
        entered, left: so many slots have begun, have ended.
        known: so many slots are known to the search.
        fitted: whether it came to nodes that a slot keeps then, or too late.
        cuts: so many cuts of pieces are known to the search.
        planned: CPUs of the whole nodes that the job was last found to fit on; 0 for none.
    """

    kept: Ints
    room: Ints
    capacity: Ints
    counts: Counts
    sets: Ints
    taken: Ints
    marked: Ints
    starts: Reals
    cpus: Reals
    tried: float = 0.0
    time: float = 0.0
    start: float = 0.0
    runs: int = 0
    gone: int = 0
    failed: int = -1
    entered: int = 0
    left: int = 0
    known: int = 0
    fitted: int = 0
    cuts: int = 0
    planned: float = 0.0


def may_start(request: Request, slots: Columns, capacity: Ints, sets: Ints, taken: Ints) -> int:
    """On how many nodes a job fits now beside the slots that there are; 0 if it does not.

    If the request is not steady, it may be that it does not fit all the same; then -1.
    """
    code, outlook, end = request.code, request.outlook, request.terms.now + request.length
    settle(outlook)
    if outlook.cpus[0] < code.cpus or outlook.nodes[0] < code.min_nodes:
        return 0
    if request.length >= outlook.asked and (outlook.left_cpus < code.cpus or outlook.left_nodes < code.min_nodes):
        return 0
    counts, first, until, stretches = Counts(), outlook.first, slots.until, outlook.machine.stretches
    begins, owner = stretches.begins, stretches.owner
    for piece in range(stretches.count):
        node = begins[piece]
        capacity[node] = first[owner[node]] if until[node] > end else 0
    count_pieces(code, counts, begins, stretches.count, capacity)
    outlook.asked, outlook.left_cpus, outlook.left_nodes = request.length, counts.cpus, counts.nodes
    if not enough(code, counts):
        return 0
    return _picked(request, capacity, sets, taken) if code.steady else -1


def _picked(request: Request, capacity: Ints, sets: Ints, taken: Ints) -> int:
    machine, stretches = request.outlook.machine, request.outlook.machine.stretches
    begins, pieces, room = stretches.begins, stretches.pieces, stretches.room
    return pick_pieces(request.code, machine.rows, machine.weights, begins, pieces, capacity, room, sets, taken)


def fits_alone(request: Request, found: int, capacity: Ints, sets: Ints, taken: Ints, witness: Ints) -> bool:
    """Whether a job that fits on so many nodes fits on them if there are no others: then it fits beside any others."""
    first, counts, machine = request.outlook.first, Counts(), request.outlook.machine
    for node in range(len(capacity)):
        capacity[node] = 0
    for index in range(found):
        witness[index] = taken[0, index]
        capacity[witness[index]] = first[machine.stretches.owner[witness[index]]]
    count(request.code, counts, capacity)
    if not enough(request.code, counts):
        return False
    return pick(request.code, machine.rows, machine.weights, capacity, sets, taken) > 0


def are_left(request: Request, slots: Columns, nodes: Ints, many: int) -> bool:
    """Whether slots keep none of so many nodes from a job that starts now."""
    end, until = request.terms.now + request.length, slots.until
    for index in range(many):  # noqa: SIM110 - a comprehension has no C types
        if until[nodes[index]] <= end:
            return False
    return True


def any_kept(slots: Columns, first: int, counts: Ints, some: bool) -> bool:
    """Whether any node that is kept has some of what is counted; or, with ``some`` false, none.

    Args:
        slots: that keep nodes.
        first: where their nodes begin among all, behind those of reservations.
        counts: of each node.
        some: which of the two.
    """
    members, until = slots.members, slots.until
    if first:
        for index in range(first, slots.sizes[USED]):  # noqa: SIM110 - a comprehension has no C types
            if (counts[members[index]] > 0) == some:
                return True
        return False
    for node in range(len(counts)):  # noqa: SIM110
        if until[node] < inf and (counts[node] > 0) == some:
            return True
    return False


def any_of(counts: Ints) -> bool:
    """Whether any of some numbers is positive."""
    for index in range(len(counts)):  # noqa: SIM110
        if counts[index] > 0:
            return True
    return False


def add_slot(begin: float, end: float, nodes: Ints, many: int, slots: Columns) -> None:
    """Add a slot of so many nodes; there is room for it."""
    keep(begin, end, nodes, many, slots)
    _mark(slots, begin)
    _mark(slots, end)
    _merge(slots, begin, end, nodes, many)


def keep(begin: float, end: float, nodes: Ints, many: int, slots: Columns) -> None:
    """Keep so many nodes from jobs that have no right to them; there is room for that."""
    slot, used = slots.sizes[COUNT], slots.sizes[USED]
    slots.times[BEGIN, slot], slots.times[END, slot] = begin, end
    slots.parts[FIRST, slot], slots.parts[MANY, slot] = used, many
    slots.parts[LEFT, slot] = UNKNOWN
    slots.parts[RANGE, slot], slots.parts[RANGES, slot] = slots.sizes[RANGED], _put_ranges(slots, nodes, many)
    for index in range(many):
        slots.members[used + index] = nodes[index]
        slots.until[nodes[index]] = min(slots.until[nodes[index]], begin)
        if slot >= slots.sizes[RESERVED]:
            slots.over[nodes[index]] = max(slots.over[nodes[index]], end)
    slots.sizes[USED] += many
    for row in range(2):
        _put_in_order(slots, row, slot)
    slots.sizes[COUNT] += 1


def _put_ranges(slots: Columns, nodes: Ints, many: int) -> int:
    """Note the ranges of neighbours that so many nodes make, and cut the pieces there; how many they are."""
    first, last, ranges = slots.sizes[RANGED], slots.sizes[RANGED] - 1, slots.ranges
    for index in range(many):
        node = nodes[index]
        if last >= first and node == ranges[1, last]:
            ranges[1, last] += 1
        else:
            last += 1
            ranges[0, last], ranges[1, last] = node, node + 1
    slots.sizes[RANGED] = last + 1
    _cut(slots, first, last + 1)
    return int(last + 1 - first)


def _cut(slots: Columns, first: int, behind: int) -> None:
    """Cut the pieces where ranges begin and end."""
    for index in range(first, behind):
        cut(slots.stretches, slots.ranges[0, index])
        cut(slots.stretches, slots.ranges[1, index])


def cut_again(slots: Columns) -> None:
    """Cut the pieces of nodes that were divided since."""
    _cut(slots, 0, slots.sizes[RANGED])


def _put_in_order(slots: Columns, row: int, slot: int) -> None:
    behind, time = slot, slots.times[row, slot]
    while behind > 0 and slots.times[row, slots.order[row, behind - 1]] > time:
        slots.order[row, behind] = slots.order[row, behind - 1]
        behind -= 1
    slots.order[row, behind] = slot


def _merge(slots: Columns, begin: float, end: float, nodes: Ints, many: int) -> None:
    """Drop an edge at which what is kept does not change: the first of those from the one before a slot to its end.

    Slurm drops one at most for each slot. The sum of the names of nodes that are kept from then on, less those that are
    no longer, says whether anything changes.
    """
    first, last, change = _later(slots.marks, slots.sizes[MARKS], begin) - 1, 0, 0
    last = _later(slots.marks, slots.sizes[MARKS], end) - 1
    for index in range(many):
        change += slots.names[nodes[index]]
    slots.turns[CHANGE, first] += change
    slots.turns[CHANGE, last] -= change
    slots.turns[EDGE, first] = slots.turns[EDGE, last] = 1
    place = first - 1
    while place > 0 and slots.turns[EDGE, place] == 0:
        place -= 1
    for mark in range(max(place, 0), last + 1):
        if slots.turns[EDGE, mark] and slots.turns[CHANGE, mark] == 0:
            slots.turns[EDGE, mark] = 0
            return


def _mark(slots: Columns, bound: float) -> None:
    """Note a bound, if it is not known."""
    known = slots.sizes[MARKS]
    index = _later(slots.marks, known, bound)
    if index > 0 and slots.marks[index - 1] == bound:
        return
    for behind in range(known, index, -1):
        slots.marks[behind] = slots.marks[behind - 1]
        slots.turns[CHANGE, behind] = slots.turns[CHANGE, behind - 1]
        slots.turns[EDGE, behind] = slots.turns[EDGE, behind - 1]
    slots.marks[index] = bound
    slots.turns[CHANGE, index], slots.turns[EDGE, index] = 0, 1
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


def place(request: Request, slots: Columns, work: Work, goes_on: bool, most: int) -> tuple[int, int, int]:
    """Give slots to jobs alike; how many have got one, what came of the next, and on how many nodes.

    Args:
        request: what each of them wants.
        slots: nodes that are kept for others; theirs are added.
        work: room to work in, and how far the search has come.
        goes_on: whether a search for jobs alike has begun.
        most: how many jobs; 0 to seek a place and add no slot.
    """
    if goes_on:
        _catch_up(request, slots, work)
    else:
        _set_up(request, slots, work, work.tried)
    placed = 0
    while True:
        work.planned = 0.0
        found = _seek(request, slots, work)
        if found == 0:
            work.tried = inf
            return placed, NEVER, 0
        time = work.start
        if most == 0:
            return 0, FOUND, found
        if time <= request.terms.now:
            return placed, STARTS, found
        if time > request.terms.horizon:
            work.fitted = 1
            return placed, NEVER, 0
        work.starts[placed], work.cpus[placed] = time, work.planned
        if _is_full(request.terms, slots):
            return placed, FULL, found
        if slots.sizes[COUNT] == slots.times.shape[1] or slots.sizes[USED] + found > len(slots.members):
            return placed, GROW, found
        begin = np.floor((time + request.terms.phase) / request.terms.grain) * request.terms.grain
        end = _whole(request, time + request.length)
        add_slot(begin, max(end, begin + request.terms.grain), work.taken[0], found, slots)
        placed += 1
        if placed == most:
            return placed, KEPT, 0
        _catch_up(request, slots, work)


def _is_full(terms: Terms, slots: Columns) -> bool:
    """Whether there is no room for another slot: bounds behind the horizon take none."""
    known, most = slots.sizes[MARKS] + 1, terms.most_marks
    return known >= most and _later(slots.marks, known - 1, terms.horizon) + 1 >= most


def _whole(request: Request, end: float) -> float:
    """The whole step at which a slot ends that is kept for a run up to a time."""
    whole: float = np.floor((end + request.terms.rounding) / request.terms.grain) * request.terms.grain
    return whole


def _set_up(request: Request, slots: Columns, work: Work, begin: float) -> None:
    """Begin a search at a time, or at a later one before which nothing can fit: infinite if nothing ever does."""
    settle(request.outlook)
    begin = _hopeful(request, slots, begin, work)
    work.tried = work.time = begin
    if begin == inf:
        return
    outlook, stretches = request.outlook, request.outlook.machine.stretches
    work.runs = work.gone = 0
    work.failed = -1
    _lay_out(outlook, work)
    if begin > request.terms.now:
        work.gone = _gone(request, begin)
        _give(request, work.gone, work, False)
        _fill(outlook, work)
    if request.code.big > 1:
        count_pieces(request.code, work.counts, stretches.begins, stretches.count, work.capacity)
    else:
        work.counts.cpus, work.counts.nodes = outlook.cpus[work.runs], outlook.nodes[work.runs]
        work.counts.big = work.counts.nodes
    work.entered = work.left = 0
    work.known = slots.sizes[COUNT]
    for slot in range(work.known):
        _notice(request, slots, slot, work)


def _lay_out(outlook: Outlook, work: Work) -> None:
    """Note at each piece what there is before any run ends, and that no slot keeps it: the job could have all that."""
    kept, room, capacity = work.kept, work.room, work.capacity
    first, stretches = outlook.first, outlook.machine.stretches
    begins, owner = stretches.begins, stretches.owner
    work.cuts = stretches.many
    for piece in range(stretches.count):
        node = begins[piece]
        room[node] = capacity[node] = first[owner[node]]
        kept[node] = 0


def _fill(outlook: Outlook, work: Work) -> None:
    """The job could have all that there is on each piece after the runs that have ended."""
    room, capacity, stretches = work.room, work.capacity, outlook.machine.stretches
    begins = stretches.begins
    for piece in range(stretches.count):
        capacity[begins[piece]] = room[begins[piece]]


def _cut_as_slots(outlook: Outlook, work: Work) -> None:
    """Take notice of pieces that were cut since: of both parts the same is known."""
    stretches = outlook.machine.stretches
    for index in range(work.cuts, stretches.many):
        parent, child = stretches.cuts[PARENT, index], stretches.cuts[CHILD, index]
        work.kept[child], work.room[child] = work.kept[parent], work.room[parent]
        work.capacity[child] = work.capacity[parent]
    work.cuts = stretches.many


def _hopeful(request: Request, slots: Columns, begin: float, work: Work) -> float:
    """From where a search begins: times that are tried are passed over while too few runs have ended by the next."""
    run = soonest(request.outlook, request.code.cpus, request.code.min_nodes)
    if run < 0:
        return inf
    if run > 0:
        later = _next(request, slots, begin, work)
        while later + request.terms.within < request.outlook.runs.ends[run - 1]:
            begin = later
            later = _next(request, slots, begin, work)
    return begin


def _catch_up(request: Request, slots: Columns, work: Work) -> None:
    """Take notice of slots that were added since.

    What did not fit before them does not fit now, if the request is steady. So the search goes
    on where it was; windows of runs may end at other times now.
    """
    if (work.time > work.tried or work.failed >= 0) and not request.code.steady:
        _set_up(request, slots, work, work.tried)
        return
    _cut_as_slots(request.outlook, work)
    for slot in range(work.known, slots.sizes[COUNT]):
        _notice(request, slots, slot, work)
    work.known = slots.sizes[COUNT]


def _notice(request: Request, slots: Columns, slot: int, work: Work) -> None:
    """Take notice of a slot that no search has come to."""
    if slots.times[BEGIN, slot] <= work.tried + request.length:
        work.entered += 1
        if slots.times[END, slot] <= work.tried:
            work.left += 1
        else:
            _change(request, slots, slot, 1, work)


def _next(request: Request, slots: Columns, begin: float, work: Work) -> float:
    """The time that is tried next: slots leave more nodes, or it is looked again as a reservation keeps nodes now."""
    found = _more_left(request, slots, begin, work)
    if _reserved(request, slots, begin):
        following = _later(slots.others, len(slots.others), begin)
        if following < len(slots.others):
            found = min(found, slots.others[following])
    return found


def _more_left(request: Request, slots: Columns, begin: float, work: Work) -> float:
    """The first time at which slots leave any node that they kept at any time from ``begin`` till then.

    Slurm goes through the spaces between bounds up to the one behind the first that begins when a run from ``begin``
    on is over, and from 24.11 on takes the end of that one if nothing is left before. Nodes that reservations keep
    from such a run do not count.
    """
    many, beyond = slots.sizes[COUNT], _beyond(request, slots, begin)
    last = slots.marks[beyond] if beyond < slots.sizes[MARKS] else inf
    if slots.sizes[RESERVED] < many:
        rank, reserved = _ended(slots, begin), _reserved(request, slots, begin)
        while rank < many:
            slot = slots.order[END, rank]
            time: float = slots.times[END, slot]
            if time >= last:
                break
            if slot >= slots.sizes[RESERVED] and _leaves_any(request, slots, slot, begin, reserved, work):
                return time
            rank += 1
    return last if request.terms.goes_on else inf


def _beyond(request: Request, slots: Columns, begin: float) -> int:
    """The second edge behind the first one behind ``begin`` at which a run from then on is over."""
    many, left = slots.sizes[MARKS], 3
    mark = _later(slots.marks, many, max(begin, begin + request.length))
    while mark < many:
        left -= slots.turns[EDGE, mark]
        if left == 0:
            break
        mark += 1
    return mark


def _ended(slots: Columns, time: float) -> int:
    """How many slots have ended at a time."""
    low, high = 0, slots.sizes[COUNT]
    while low < high:
        middle = (low + high) // 2
        if slots.times[END, slots.order[END, middle]] <= time:
            low = middle + 1
        else:
            high = middle
    return low


def _leaves_any(request: Request, slots: Columns, slot: int, begin: float, reserved: bool, work: Work) -> bool:
    """Whether no other slot keeps one of a slot's nodes when it ends, nor any reservation from a run from ``begin``.

    Slots are added and none is removed: where no node is left, none is later.
    """
    if slots.parts[LEFT, slot] == NO_NODE:
        return False
    if not reserved and (_leaves_it_still(request, slots, slot) or _leaves_for_good(request, slots, slot)):
        return True
    marked, there, part = work.marked, request.there, slots.parts[FIRST, slot]
    if _mark_left(slots, slot, marked) == 0:
        slots.parts[LEFT, slot] = NO_NODE
        return False
    for place in range(len(request.near)):
        other = request.near[place]
        if slots.times[BEGIN, other] <= begin + request.length and slots.times[END, other] > begin:
            _unmark(slots, other, marked)
    found = False
    for index in range(part, part + slots.parts[MANY, slot]):
        node = slots.members[index]
        if marked[node] and there[node]:
            slots.parts[LEFT, slot], slots.parts[SEEN, slot] = node, slots.sizes[COUNT]
            found = True
        marked[node] = 0
    return found


def _mark_left(slots: Columns, slot: int, marked: Ints) -> int:
    """Mark the nodes of a slot that no other keeps when it ends, but reservations; how many they are."""
    many: int = slots.parts[MANY, slot]
    part, time = slots.parts[FIRST, slot], slots.times[END, slot]
    for index in range(part, part + many):
        marked[slots.members[index]] = 1
    for rank in range(slots.sizes[COUNT]):
        other = slots.order[BEGIN, rank]
        if many == 0 or slots.times[BEGIN, other] > time:
            break
        if other >= slots.sizes[RESERVED] and slots.times[END, other] > time:
            many -= _unmark(slots, other, marked)
    return many


def _leaves_it_still(request: Request, slots: Columns, slot: int) -> bool:
    """Whether a node that was left at the end of a slot is so beside those that were added since, and is wanted."""
    left, time = slots.parts[LEFT, slot], slots.times[END, slot]
    if left < 0:
        return False
    for other in range(slots.parts[SEEN, slot], slots.sizes[COUNT]):
        if slots.times[BEGIN, other] <= time < slots.times[END, other] and _has(slots, other, left):
            slots.parts[LEFT, slot] = UNKNOWN
            return False
    slots.parts[SEEN, slot] = slots.sizes[COUNT]
    return bool(request.there[left])


def _has(slots: Columns, slot: int, node: int) -> bool:
    """Whether a slot keeps a node."""
    part = slots.parts[FIRST, slot]
    for index in range(part, part + slots.parts[MANY, slot]):  # noqa: SIM110 - a comprehension has no C types
        if slots.members[index] == node:
            return True
    return False


def _leaves_for_good(request: Request, slots: Columns, slot: int) -> bool:
    """Whether no other slot ends later than this one on one of its nodes: that is soon known, and mostly so."""
    there, over, part = request.there, slots.over, slots.parts[FIRST, slot]
    for index in range(part, part + slots.parts[MANY, slot]):
        node = slots.members[index]
        if there[node] and over[node] <= slots.times[END, slot]:
            slots.parts[LEFT, slot], slots.parts[SEEN, slot] = node, slots.sizes[COUNT]
            return True
    return False


def _unmark(slots: Columns, slot: int, marked: Ints) -> int:
    """How many of the nodes of a slot were marked; they are not any more."""
    found, part = 0, slots.parts[FIRST, slot]
    for index in range(part, part + slots.parts[MANY, slot]):
        found += marked[slots.members[index]]
        marked[slots.members[index]] = 0
    return found


def _reserved(request: Request, slots: Columns, begin: float) -> bool:
    """Whether a reservation keeps nodes of the partition from a run that begins at a time."""
    for index in range(len(request.near)):
        slot = request.near[index]
        if slots.times[BEGIN, slot] <= begin + request.length and slots.times[END, slot] > begin:
            return True
    return False


def _seek(request: Request, slots: Columns, work: Work) -> int:
    """Go on until the job fits; on how many nodes, or 0 if it never does."""
    while work.tried < inf:
        later = _next(request, slots, work.tried, work)
        found = _within(request, work, later)
        if found > 0:
            if request.code.whole:
                work.planned = _cpus_of(request, work, found)
            work.start = _own_end(request, work, found) if request.terms.own_ends else work.time
            if request.terms.now < work.tried == work.start <= request.terms.horizon and _delays_matter(request, slots):
                slots.sizes[DELAY] = _fits_before(request, work)
            later = inf
            if work.start > request.terms.now:
                later = _first_end(slots, work.start, _whole(request, work.start + request.length), work, found)
                if later < inf and work.start > work.tried:
                    # It is tried again from when it would start, beside the slots that keep nodes then.
                    later = work.start
            if later == inf:
                return found
            work.fitted = 1
        if later == inf:
            return 0
        _move(request, slots, work, later)
    return 0


def _move(request: Request, slots: Columns, work: Work, begin: float) -> None:
    """Go on to a later time: other slots keep nodes from a run that begins then, and other runs have ended.

    A slot that begins as such a run ends keeps its nodes from it, too. (Slurm's sources.)
    """
    many, end = slots.sizes[COUNT], begin + request.length
    while work.entered < many and slots.times[BEGIN, slots.order[BEGIN, work.entered]] <= end:
        _change(request, slots, slots.order[BEGIN, work.entered], 1, work)
        work.entered += 1
    while work.left < many and slots.times[END, slots.order[END, work.left]] <= begin:
        _change(request, slots, slots.order[END, work.left], -1, work)
        work.left += 1
    work.gone = 0
    if begin > request.terms.now:
        work.gone = upto = _gone(request, begin)
        _give(request, upto if request.terms.by_tries else max(work.runs, upto), work, True)
    work.tried = work.time = begin
    work.failed = -1


def _gone(request: Request, begin: float) -> int:
    """How many runs have ended at a time that is tried."""
    gone, ends = ended(request.outlook, begin), request.outlook.runs.ends
    while request.terms.by_tries == 1 and gone > 0 and ends[gone - 1] == begin:
        gone -= 1
    return gone


def _change(request: Request, slots: Columns, slot: int, sign: int, work: Work) -> None:
    """A slot begins to keep its nodes from the run, or has ended."""
    first, flips, stretches = slots.parts[RANGE, slot], 1 if sign > 0 else 0, slots.stretches
    for index in range(first, first + slots.parts[RANGES, slot]):
        piece, behind = slots.ranges[0, index], slots.ranges[1, index]
        while piece < behind:
            following = stretches.pieces[piece]
            work.kept[piece] += sign
            if work.kept[piece] == flips:
                there = 0 if flips else work.room[piece]
                _recount(request.code, work.counts, work.capacity[piece], there, following - piece)
                work.capacity[piece] = there
            piece = following


def _give(request: Request, upto: int, work: Work, live: bool) -> None:
    """Runs have ended up to the one before ``upto``: more of them than so far, or fewer."""
    while request.outlook.seen < upto:
        look_on(request.outlook)
    for run in range(work.runs, upto):
        _put(request, run, request.outlook.after, work, live)
    for run in range(work.runs - 1, upto - 1, -1):
        _put(request, run, request.outlook.before, work, live)
    work.runs = upto


def _put(request: Request, run: int, rooms: Ints, work: Work, live: bool) -> None:
    """There is other room on the nodes of a run."""
    machine, stretches = request.outlook.machine, request.outlook.machine.stretches
    first = machine.bounds[run, FIRST]
    for part in range(first, first + machine.bounds[run, MANY]):
        piece, there = machine.parts[NODE, part], rooms[part]
        behind = stretches.wide[piece]
        while piece < behind:
            following = stretches.pieces[piece]
            if live and work.kept[piece] == 0 and there != work.room[piece]:
                _recount(request.code, work.counts, work.room[piece], there, following - piece)
                work.capacity[piece] = there
            work.room[piece] = there
            piece = following


def _recount(code: Code, counts: Counts, cpus: int, there: int, many: int) -> None:
    """Count so many nodes again, on each of which there were so many CPUs and now are others."""
    counts.cpus += (there - cpus) * many
    counts.nodes += (many if there > 0 else 0) - (many if cpus > 0 else 0)
    counts.big += (many if there >= code.big else 0) - (many if cpus >= code.big else 0)


def _within(request: Request, work: Work, later: float) -> int:
    """On how many nodes the job fits up to the second of ``later``, as runs end; 0 if it does not.

    Runs without nodes that the job could use are passed over. A window is over when the run behind one that counts
    ends beyond it; so the one that counts next behind some that were passed over is in it, too.
    """
    by_tries = request.terms.by_tries > 0
    if not by_tries and work.failed < 0 and work.tried > request.terms.now:
        # The select plugin does not know of that time: it begins now.
        _give(request, 0, work, True)
    later += request.terms.within  # In the second in which slots leave more nodes it starts without these.
    ends, run, until = request.outlook.runs.ends, work.gone if by_tries else 0, later if by_tries else inf
    many, first, found = len(ends), -inf, 0
    if work.failed < 0:
        found = _fit(request, work)
        if found == 0:
            work.failed = run
    while found == 0 and run < many:
        last, run, first = _window(request, work, run, first, until)
        if last < 0:
            return 0
        time = max(ends[last], work.tried)
        if time > later:
            return 0
        if last + 1 > work.failed:
            # With fewer runs it did not fit, and there is no more room now.
            _give(request, last + 1, work, True)
            work.time = time
            found = _fit(request, work)
            if found == 0:
                work.failed = last + 1
    return found


def _window(request: Request, work: Work, run: int, first: float, later: float) -> tuple[int, int, float]:
    """The last run of a window that counts, or -1; the one behind it; when the first of all that count ends.

    Args:
        request: what is wanted.
        work: nodes that are kept.
        run: with which the window begins.
        first: when the first run of all that count ends; minus infinity if none has counted yet.
        later: no run counts that ends later.
    """
    outlook, ends, last = request.outlook, request.outlook.runs.ends, -1
    machine, stretches = outlook.machine, outlook.machine.stretches
    until = _window_end(request.terms, ends[run] if first == -inf else first, ends[run])
    while run < len(ends) and ends[run] <= later and (last != run - 1 or last < 0 or ends[run] <= until):
        node = outlook.touched[run] if run < outlook.seen else machine.parts[NODE, machine.bounds[run, FIRST]]
        if node < 0:
            counts = False
        elif machine.bounds[run, MANY] == 1 and stretches.pieces[node] == stretches.wide[node]:
            # Most runs are on one piece: this is asked some ten million times in a log of a week.
            counts = work.kept[node] == 0 and outlook.usable[node] > 0
        else:
            counts = _counts(request, work, run)
        if counts:
            last = run
            if first == -inf:
                first = ends[run]
                until = _window_end(request.terms, first, first)
        run += 1
    return last, run, first


def _counts(request: Request, work: Work, run: int) -> bool:
    """Whether a run has any node that the job could use."""
    outlook = request.outlook
    if run < outlook.seen:
        node = outlook.touched[run]
        if node < 0:
            return False
        if work.kept[node] == 0:
            return True
    machine, stretches = outlook.machine, outlook.machine.stretches
    first = machine.bounds[run, FIRST]
    for part in range(first, first + machine.bounds[run, MANY]):
        piece = machine.parts[NODE, part]
        behind = stretches.wide[piece] if outlook.usable[piece] else piece
        while piece < behind:
            if work.kept[piece] == 0:
                return True
            piece = stretches.pieces[piece]
    return False


def _window_end(terms: Terms, first: float, end: float) -> float:
    """When the window ends in which a run ends; the first of all ends at ``first``."""
    if terms.grows < 0:
        return end
    aligned: float = np.floor(first / FIRST_WINDOW) * FIRST_WINDOW
    window = FIRST_WINDOW
    if aligned <= first:
        # Else the quotient was rounded up to the next whole number.
        aligned += FIRST_WINDOW
    while end > aligned + window + terms.within:
        window += terms.grows if terms.grows > 0 else window
    return aligned + window + terms.within


def _fit(request: Request, work: Work) -> int:
    """On how many nodes the job fits; 0 if it does not."""
    if not enough(request.code, work.counts):
        return 0
    return _picked(request, work.capacity, work.sets, work.taken)


def _delays_matter(request: Request, slots: Columns) -> bool:
    """Whether it is still asked if a plan delays a job."""
    return slots.sizes[DELAY] == 0 and (request.terms.plans_are_news == 0 or slots.sizes[MARKS] == 0)


def _fits_before(request: Request, work: Work) -> bool:
    """Whether the job fits on the same nodes once the last window of runs is over that ends before the time tried."""
    ends, runs, upto = request.outlook.runs.ends, work.runs, 0
    while upto < runs:
        following = ended(request.outlook, _window_end(request.terms, ends[0], ends[upto]))
        if ends[following - 1] >= work.tried:
            break
        upto = following
    if upto == runs:
        return True
    _give(request, upto, work, True)
    fits = _fit(request, work) > 0
    _give(request, runs, work, True)
    _fit(request, work)
    return fits


def _own_end(request: Request, work: Work, found: int) -> float:
    """When the last run ends that has any of the nodes that were taken; not before the time that is tried."""
    ends, machine = request.outlook.runs.ends, request.outlook.machine
    marked, owner, parts, latest = work.marked, machine.stretches.owner, machine.parts, work.tried
    for index in range(found):
        marked[owner[work.taken[0, index]]] = 1
    for run in range(work.runs - 1, -1, -1):
        if ends[run] <= latest:
            break
        first = machine.bounds[run, FIRST]
        for part in range(first, first + machine.bounds[run, MANY]):
            if marked[parts[NODE, part]]:
                latest = ends[run]
                break
    for index in range(found):
        marked[owner[work.taken[0, index]]] = 0
    return latest


def _cpus_of(request: Request, work: Work, found: int) -> int:
    """The CPUs of the nodes that were taken."""
    rows, cpus = request.outlook.machine.rows, 0
    for index in range(found):
        node = work.taken[0, index]
        cpus += rows[MACHINE_UNITS, node] * rows[MACHINE_THREADS, node]
    return cpus


def _mark_taken(work: Work, found: int, mark: int) -> None:
    """Mark the nodes that were taken, or take the marks away."""
    for index in range(found):
        work.marked[work.taken[0, index]] = mark


def _first_end(slots: Columns, begin: float, end: float, work: Work, found: int) -> float:
    """When the first slot ends that keeps one of the nodes at some time between; infinite for none.

    Nodes of slots that begin before a run from the time that is tried would end were not taken,
    so that only those are looked at that begin later. Reservations are none.
    """
    first = inf
    if work.entered == slots.sizes[COUNT]:
        return first
    if slots.times[BEGIN, slots.order[BEGIN, work.entered]] >= end:
        return first
    marked = work.marked
    _mark_taken(work, found, 1)
    for rank in range(work.entered, slots.sizes[COUNT]):
        slot = slots.order[BEGIN, rank]
        if slots.times[BEGIN, slot] >= end:
            break
        if slot >= slots.sizes[RESERVED] and begin < slots.times[END, slot] < first:
            part = slots.parts[FIRST, slot]
            for index in range(part, part + slots.parts[MANY, slot]):
                if marked[slots.members[index]]:
                    first = slots.times[END, slot]
                    break
    _mark_taken(work, found, 0)
    return first
