"""Runs are put among others, and taken out; a :mod:`kernel <slurm_sim_plugins.kernels>`.

For :class:`emulator.scheduling.runs.RunTable`.
"""

from __future__ import annotations

from collections.abc import Sequence

from emulator.scheduling.run_rows import FIRST, ID, MANY, NODE, PLACE, SPAN, Reals
from slurm_sim_plugins.nodes import Ints


def put_in(ends: Reals, index: Ints, count: int, end: float, job: int, place: int, first: int, many: int) -> None:
    """Put a run where it stands by its planned end, then by the place of its job in the controller's list.

    Args:
        ends: of so many runs; there is room for one more.
        index: a row for each of them.
        count: how many there are.
        end: when it is planned to end.
        job: the id of its job.
        place: that of its job in the list.
        first: where its entries begin.
        many: how many it has.
    """
    row = count
    while row > 0 and (ends[row - 1] > end or (ends[row - 1] == end and index[row - 1, PLACE] > place)):
        ends[row] = ends[row - 1]
        _copy(index, row - 1, row)
        row -= 1
    ends[row] = end
    index[row, FIRST], index[row, MANY], index[row, ID], index[row, PLACE] = first, many, job, place


def take_out(ends: Reals, index: Ints, count: int, end: float, job: int) -> int:
    """Take out the run of a job that was put in with an end; how many entries it had.

    Raises:
        LookupError: there is none.
    """
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if ends[middle] < end:
            low = middle + 1
        else:
            high = middle
    while low < count and index[low, ID] != job:
        low += 1
    if low == count:
        raise LookupError(f"no run of job {job}")
    many: int = index[low, MANY]
    for row in range(low + 1, count):
        ends[row - 1] = ends[row]
        _copy(index, row, row - 1)
    return many


def _copy(index: Ints, row: int, to: int) -> None:
    index[to, FIRST], index[to, MANY] = index[row, FIRST], index[row, MANY]
    index[to, ID], index[to, PLACE] = index[row, ID], index[row, PLACE]


def write(entries: Ints, first: int, nodes: Sequence[int], units: tuple[int, ...], memory: tuple[int, ...]) -> None:
    """Write what a run gives back on its nodes: units, memory, and that there is one job less.

    Args:
        entries: a column for each node of each run.
        first: the first column of the run.
        nodes: that it has.
        units: that it has on each.
        memory: likewise.
    """
    for place in range(len(nodes)):
        column = first + place
        entries[NODE, column] = nodes[place]
        entries[NODE + 1, column] = units[place]
        entries[NODE + 2, column] = memory[place]
        entries[NODE + 3, column] = -1


def span(entries: Ints, first: int, many: int) -> None:
    """Note how many entries of a run are alike, from each on: of neighbours in their order, that give back the same.

    Args:
        entries: a column for each node of each run.
        first: the first column of the run.
        many: how many it has.
    """
    for column in range(first + many - 1, first - 1, -1):
        entries[SPAN, column] = 1
        if column + 1 < first + many and _goes_on(entries, column):
            entries[SPAN, column] += entries[SPAN, column + 1]


def _goes_on(entries: Ints, column: int) -> bool:
    """Whether the entry behind one gives back the same on the next node."""
    if entries[NODE, column + 1] != entries[NODE, column] + 1:
        return False
    for row in range(NODE + 1, len(entries)):  # noqa: SIM110 - a comprehension has no C types
        if entries[row, column + 1] != entries[row, column]:
            return False
    return True
