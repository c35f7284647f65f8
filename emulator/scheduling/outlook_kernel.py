"""What requests find on the nodes as runs end; a :mod:`kernel <slurm_sim_plugins.kernels>`.

Most jobs ask for the same of a node, and differ in how many nodes they want and for how long. What they find on the
nodes, slots left aside, is worked out once for all of them, and only as far into the future as one of them looks: of
each wide stretch of nodes alike at its first one (:mod:`emulator.scheduling.stretches`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from emulator.scheduling.run_rows import COLUMN, FIRST, MANY, NODE, Reals
from emulator.scheduling.select_kernel import Code, gres_of, room_on
from emulator.scheduling.select_rows import FREE_JOBS, FREE_MEMORY, FREE_UNITS
from emulator.scheduling.stretches import Stretches, divide
from slurm_sim_plugins.nodes import Bytes, Ints


@dataclass(eq=False)
class Runs:
    """Runs; see :class:`emulator.scheduling.runs.RunTable`."""

    ends: Reals
    parts: Ints
    entries: Ints


@dataclass(eq=False)
class Machine:
    """The machine.

    Attributes:
        rows: its rows.
        weights: all weights.
        free: what is free now.
        runs: what will be given back.
        stretches: nodes that are alike.
        parts: stretches of the runs, one run after the other: the first node of each, and its entry.
        bounds: where those of each run begin among them, and how many they are.
    """

    rows: Ints
    weights: Ints
    free: Ints
    runs: Runs
    stretches: Stretches
    parts: Ints
    bounds: Ints


@dataclass(eq=False)
class Outlook:
    """What requests of a kind find on each node; it is noted at the first node of each wide stretch.

    Attributes:
        code: one of these requests.
        usable: nodes that may be used.
        machine: the nodes.
        runs: what was to be given back when the nodes were looked at; they are looked at again if that is other runs.
        state: what is free after the last run that was looked at, in the rows that matter.
        first: CPUs that a job could have on each node before any run ends.
        last: the same after the last run that was looked at.
        before, after: the same of the nodes of each part of a run, before the run ends and after it.
        touched: the first node of a stretch of each run that may be used; -1 for none.
        cpus, nodes: CPUs that a job could have on all nodes, and how many nodes have some, after so many runs.
        seen: how many runs were looked at.
        asked: for how long it was asked what slots leave now, in seconds; infinite if it was not.
        left_cpus, left_nodes: that, as ``cpus`` and ``nodes``: later, or for longer, there is no more.
    """

    code: Code
    usable: Bytes
    machine: Machine
    runs: Runs
    state: Ints
    first: Ints
    last: Ints
    before: Ints
    after: Ints
    touched: Ints
    cpus: Ints
    nodes: Ints
    seen: int = 0
    asked: float = inf
    left_cpus: int = 0
    left_nodes: int = 0


def look(outlook: Outlook, code: Code) -> None:
    """Look at the nodes as they are now, for requests as ``code``; at none of the runs so far."""
    outlook.code, outlook.runs = code, outlook.machine.runs
    first, last, usable, state = outlook.first, outlook.last, outlook.usable, outlook.state
    free, wide = outlook.machine.free, outlook.machine.stretches.wide
    cpus = nodes = node = 0
    while node < len(first):
        there, behind = 0, wide[node]
        for row in range(code.rows):
            state[row, node] = free[row, node]
        if usable[node]:
            there = _there(code, outlook, node)
        first[node] = last[node] = there
        cpus += there * (behind - node)
        nodes += behind - node if there > 0 else 0
        node = behind
    outlook.cpus[0], outlook.nodes[0] = cpus, nodes
    outlook.seen, outlook.asked = 0, inf


def look_later(machine: Machine, runs: Runs) -> None:
    """Other runs are there: the nodes are looked at again when that is wanted."""
    machine.runs = runs
    divide(machine.stretches, machine.free, runs.parts, runs.entries, machine.parts, machine.bounds)


def settle(outlook: Outlook) -> None:
    """Look at the nodes as they are now, unless that was done."""
    if outlook.runs is not outlook.machine.runs:
        look(outlook, outlook.code)


def ask_again(outlook: Outlook) -> None:
    """Other slots are there: what they leave was not asked."""
    outlook.asked = inf


def look_on(outlook: Outlook) -> None:
    """Look at the nodes after one more run."""
    code, machine, stretches, run = outlook.code, outlook.machine, outlook.machine.stretches, outlook.seen
    cpus, nodes = outlook.cpus[run], outlook.nodes[run]
    first, touched = machine.bounds[run, FIRST], -1
    for part in range(first, first + machine.bounds[run, MANY]):
        node, entry = machine.parts[NODE, part], machine.parts[COLUMN, part]
        many = stretches.wide[node] - node
        for row in range(code.rows):
            outlook.state[row, node] += outlook.runs.entries[NODE + 1 + row, entry]
        before, after = outlook.last[node], 0
        if outlook.usable[node]:
            touched = node
            after = _there(code, outlook, node)
        outlook.before[part], outlook.after[part], outlook.last[node] = before, after, after
        cpus += (after - before) * many
        nodes += (many if after > 0 else 0) - (many if before > 0 else 0)
    outlook.seen, outlook.touched[run] = run + 1, touched
    outlook.cpus[run + 1], outlook.nodes[run + 1] = cpus, nodes


def _there(code: Code, outlook: Outlook, node: int) -> int:
    """The CPUs that a job could have on a node after the last run that was looked at."""
    units, memory = outlook.state[FREE_UNITS, node], outlook.state[FREE_MEMORY, node]
    jobs = outlook.state[FREE_JOBS, node]
    there: int = room_on(code, outlook.machine.rows, node, units, memory, jobs)
    return 0 if there > 0 and code.gres > 0 and gres_of(code, outlook.state, node) < code.gres else there


def ended(outlook: Outlook, time: float) -> int:
    """How many runs have ended by a time."""
    ends = outlook.runs.ends
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        if ends[middle] <= time:
            low = middle + 1
        else:
            high = middle
    return low


def soonest(outlook: Outlook, cpus: int, nodes: int) -> int:
    """After how many runs so many CPUs and nodes are there, if no slot keeps any; -1 if they never are."""
    run = 0
    while outlook.cpus[run] < cpus or outlook.nodes[run] < nodes:
        if run == len(outlook.runs.ends):
            return -1
        if run == outlook.seen:
            look_on(outlook)
        run += 1
    return run


def free_after(runs: Runs, many: int, free: Ints) -> None:
    """Add what so many runs give back to what is free now."""
    for run in range(many):
        first = runs.parts[run, FIRST]
        for entry in range(first, first + runs.parts[run, MANY]):
            for row in range(len(free)):
                free[row, runs.entries[NODE, entry]] += runs.entries[NODE + 1 + row, entry]
