"""What requests find on the nodes as runs end; a :mod:`kernel <slurm_sim_plugins.kernels>`.

Most jobs ask for the same of a node, and differ in how many nodes they want and for how long. What they find on the
nodes, slots left aside, is worked out once for all of them, and only as far into the future as one of them looks.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from emulator.scheduling.run_rows import FIRST, MANY, NODE, Reals
from emulator.scheduling.select_kernel import Code, fill, gres_of, room_on
from emulator.scheduling.select_rows import FREE_JOBS, FREE_MEMORY, FREE_UNITS
from slurm_sim_plugins.nodes import Bytes, Ints


@dataclass(eq=False)
class Runs:
    """Runs; see :class:`emulator.scheduling.runs.RunTable`."""

    ends: Reals
    parts: Ints
    entries: Ints


@dataclass(eq=False)
class Machine:
    """The machine: its rows, all weights, what is free now, and what will be given back."""

    rows: Ints
    weights: Ints
    free: Ints
    runs: Runs


@dataclass(eq=False)
class Outlook:
    """What requests of a kind find on each node.

    Attributes:
        code: one of these requests.
        usable: nodes that may be used.
        machine: the nodes.
        runs: what was to be given back when the nodes were looked at; they are looked at again if that is other runs.
        state: what is free after the last run that was looked at, in the rows that matter.
        first: CPUs that a job could have on each node before any run ends.
        last: the same after the last run that was looked at.
        before, after: the same of the node of each entry, before the run ends and after it.
        touched: a node of each run that may be used; -1 for none.
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
    first, last = outlook.first, outlook.last
    outlook.state[: code.rows] = outlook.machine.free[: code.rows]
    fill(code, outlook.usable, outlook.machine.rows, outlook.state, first)
    cpus = nodes = 0
    for node in range(len(first)):
        last[node] = first[node]
        cpus += first[node]
        nodes += 1 if first[node] > 0 else 0
    outlook.cpus[0], outlook.nodes[0] = cpus, nodes
    outlook.seen, outlook.asked = 0, inf


def look_later(machine: Machine, runs: Runs) -> None:
    """Other runs are there: the nodes are looked at again when that is wanted."""
    machine.runs = runs


def settle(outlook: Outlook) -> None:
    """Look at the nodes as they are now, unless that was done."""
    if outlook.runs is not outlook.machine.runs:
        look(outlook, outlook.code)


def look_on(outlook: Outlook) -> None:
    """Look at the nodes after one more run."""
    code, rows, state, last = outlook.code, outlook.machine.rows, outlook.state, outlook.last
    run, entries, usable = outlook.seen, outlook.runs.entries, outlook.usable
    cpus, nodes = outlook.cpus[run], outlook.nodes[run]
    first, touched = outlook.runs.parts[run, FIRST], -1
    for entry in range(first, first + outlook.runs.parts[run, MANY]):
        node = entries[NODE, entry]
        for row in range(code.rows):
            state[row, node] += entries[NODE + 1 + row, entry]
        before, after = last[node], 0
        if usable[node]:
            touched = node
            after = room_on(code, rows, node, state[FREE_UNITS, node], state[FREE_MEMORY, node], state[FREE_JOBS, node])
            if after > 0 and code.gres > 0 and gres_of(code, state, node) < code.gres:
                after = 0
        outlook.before[entry], outlook.after[entry], last[node] = before, after, after
        cpus += after - before
        nodes += (1 if after > 0 else 0) - (1 if before > 0 else 0)
    outlook.seen, outlook.touched[run] = run + 1, touched
    outlook.cpus[run + 1], outlook.nodes[run + 1] = cpus, nodes


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
