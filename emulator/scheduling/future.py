"""What will be free as running jobs end, as they are planned."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from itertools import takewhile
from math import inf
from typing import NamedTuple

import numpy as np

from emulator.scheduling.preempt import left_by
from emulator.scheduling.run_rows import NODE
from emulator.state.cluster import Cluster
from emulator.state.job import Job
from slurm_sim_plugins.nodes import Allocation, Free, Gres, Ints, Mask

FIRST_WINDOW = 30.0
"""Seconds: runs that end in a window count as ended together while a start is sought.

Windows end so long after the first multiple of it that follows the first end of a run, and then twice, four times,
... as long after it; or each is ``bf_window_linear`` longer than the one before."""


class Release(NamedTuple):
    """What a job gives back when it ends; ``jobs`` is 0 if it is suspended, and does not count on its nodes.

    Those that end together come in the order of the controller's list, where they have a ``place``.
    """

    end: float
    place: int
    id: int
    allocation: Allocation
    jobs: int


def releases(cluster: Cluster, left_out: Container[int] = ()) -> list[Release]:
    """What jobs on the machine give back, in the order in which they are planned to end."""
    place = cluster.order.listed.place
    ends = [
        Release(cluster.planned_end(job), place(job), job.id, job.run.at_base, 1)
        for job in cluster.running.values()
        if job.run is not None and job.id not in left_out
    ]
    ends += [
        Release(cluster.planned_end(job), place(job), job.id, job.run.held, 0)
        for job in cluster.suspended.values()
        if job.run is not None
    ]
    return sorted(ends, key=lambda one: one[:2])


def free_in_turn(cluster: Cluster) -> Iterator[Free]:
    """What is free now, and window by window as running jobs end, as Slurm's select plugin tries it."""
    return (free for _, free in Future(cluster).from_(cluster.now))


class Future:
    """The nodes from now on, if no other job starts.

    Args:
        cluster: the cluster state.
        preemptable: running jobs that are no obstacle to a later start.
        linear: growth of the windows in seconds; 0: they double.
        recount: counts cores that are free without some jobs, where several may have the same; None where none may.
    """

    def __init__(
        self,
        cluster: Cluster,
        preemptable: Sequence[Job] = (),
        linear: float = 0.0,
        recount: Callable[[Free, Collection[int]], None] | None = None,
    ) -> None:
        self._cluster = cluster
        self._linear = linear
        self._within = cluster.rest_of_second
        self._recount = recount
        # select/linear takes ends one by one (recorded).
        self._one_by_one = cluster.nodes_for.whole_nodes
        self._gone = gone = {job.id for job in preemptable}
        spare = [left_by(job, cluster) for job in cluster.running.values() if job.id in gone]
        # What runs that have ended had is free at once, although no job starts on their nodes before these are clear.
        some = gone or cluster.epilogs is not None
        self.dead = [job for job in cluster.running.values() if job.is_cleared] if some else []
        self._base = cluster.free_without(self.dead) if self.dead else cluster.free
        self._dead = {job.id for job in self.dead}
        ends = releases(cluster, {*gone, *self._dead})
        self._ends = self._said = [one.end for one in ends]
        if cluster.any_goes_over():
            ends = sorted(ends, key=lambda one: (_in_turn(one, cluster), one.place))
            self._ends, self._said = [_in_turn(one, cluster) for one in ends], [one.end for one in ends]
        self._ids = [one.id for one in ends]
        kinds = cluster.machine.gres
        self._released = Releases.of([one.allocation for one in ends], kinds, [one.jobs for one in ends])
        self._spare = Releases.of(spare, kinds)
        self._on = [one.allocation.nodes for one in ends]
        self._after: dict[tuple[int, int], Free] = {}
        self._known: list[tuple[float, Free]] = []
        self._rest = self._windows()
        self._counted = 0

    def clearing(self, allocation: Allocation) -> bool:
        """Whether any of the nodes of an allocation are still being cleared of a run that has ended."""
        return any(node in other.run.allocation.nodes for other in self.dead if other.run for node in allocation.nodes)

    @property
    def ends(self) -> Sequence[float]:
        """When runs end, as they are planned; seconds."""
        return self._said

    def from_(self, begin: float) -> Iterator[tuple[float, Free]]:
        """(time, what is free then) now, and window by window as runs end; no time is before ``begin``."""
        known, index = self._known, 0
        while True:
            if index == len(known):
                following = next(self._rest, None)
                if following is None:
                    return
                known.append(following)
            time, free = known[index]
            yield max(time, begin), free
            index += 1

    def last_before(self, time: float) -> tuple[float, Free]:
        """When the last window is over that ends before a time, which is later than now, and what is free then."""
        windows = self.from_(self._cluster.now)
        return list(takewhile(lambda window: window[0] < time, windows))[-1]

    def _windows(self) -> Iterator[tuple[float, Free]]:
        """(time, what is free then) now, without runs that may be preempted, and window by window as runs end."""
        count, index = len(self._ends), 0
        base, now = self._base, self._cluster.now
        yield now, base
        if self._spare.count:
            yield now, self._free_after(0, self._spare.count)
        while index < count:
            until = self._window_end(self._ends[index], self._ends[0])
            while index < count and self._ends[index] <= until:
                index += 1
            yield max(self._said[index - 1], now), self._free_after(index, self._spare.count)

    def of_nodes(self, begin: float, later: float, nodes: Mask, by_tries: bool = True) -> Iterator[tuple[float, Free]]:
        """The same from ``begin`` on for some nodes: runs without any are passed over, and none counts that ends later.

        A window is over when the run behind one that counts ends beyond it; so the one that counts next behind some
        that were passed over is in it, too. In 24.11 a run that ends at ``begin`` is there still.

        Not ``by_tries``, windows begin with the first of all runs: in 22.05 Slurm's select plugin, which seeks this,
        does not know from when on the nodes are there. A job gets those that are free first, and has them later
        (recorded).
        """
        ends, many = self._ends, len(self._ends)
        ended = bisect_right if self._cluster.parameters.rules.ENDS_OF_OWN_NODES else bisect_left
        index = ended(ends, begin) if begin > self._cluster.now and by_tries else 0
        last_end = later + self._within if by_tries else inf
        self._counted = index
        yield begin, self._free_after(index, 0)
        if self._spare.count:
            yield begin, self._free_after(index, self._spare.count)
        count, first = self._released.any_on(nodes), None
        while index < many:
            last, until = None, self._window_end(ends[index], ends[index] if first is None else first)
            while index < many and ends[index] <= last_end and (last != index - 1 or ends[index] <= until):
                if count[index]:
                    last = index
                    if first is None:
                        first = ends[index]
                        until = self._window_end(first, first)
                index += 1
            if last is None:
                return
            self._counted = last + 1
            yield max(self._said[last], begin), self._free_after(last + 1, self._spare.count)

    def _free_after(self, many: int, spare: int) -> Free:
        """What is free after so many runs, and so many of those that are no obstacle."""
        known = self._after.get((many, spare))
        if known is None:
            base = self._spare.added(self._base, spare)
            known = self._after[many, spare] = self._released.added(base, many)
            if self._recount is not None and known is not self._cluster.free:
                self._recount(known, {*self._dead, *self._ids[:many], *(self._gone if spare else ())})
        return known

    def last_end(self, nodes: Iterable[int]) -> float:
        """When the last run ends that has any of some nodes, of those that the window given last counts; 0 for none.

        One that ends in the same second behind it does not count (recorded on 26.05).
        """
        own, many = frozenset(nodes), self._counted
        ends = zip(reversed(self._ends[:many]), reversed(self._on[:many]), strict=True)
        return next((end for end, those in ends if not own.isdisjoint(those)), 0.0)

    def _window_end(self, end: float, first: float) -> float:
        """When the window ends in which a run ends; the first of all at ``first``."""
        if self._one_by_one:
            return end
        aligned, window = (first // FIRST_WINDOW + 1) * FIRST_WINDOW, FIRST_WINDOW
        while end > aligned + window + self._within:
            window += self._linear or window
        return aligned + window + self._within


def _in_turn(one: Release, cluster: Cluster) -> float:
    """By what end a job is looked at in turn: that of its limit, also where it is past that and may go on for a while.

    What it gives back is there with that of others which end later, and before that of it alone (Slurm 22.05).
    """
    return cluster.end_by_limit(cluster.jobs[one.id])


class Releases:
    """What is given back to the nodes, one release after the other, as columns.

    Args:
        offsets: where the entries of each release begin; then where those of the last one end.
        entries: a column for each node of each release; its rows are in :mod:`emulator.scheduling.run_rows`.
    """

    def __init__(self, offsets: Ints, entries: Ints) -> None:
        self.count = len(offsets) - 1
        self._offsets, self._entries = offsets, entries

    @classmethod
    def of(cls, allocations: Sequence[Allocation], kinds: Collection[Gres], counted: Sequence[int] = ()) -> Releases:
        """Those of allocations.

        Args:
            allocations: of jobs, in the order in which they are given back.
            kinds: of generic resources that the machine has, in its order.
            counted: 1 for each whose job is on its nodes, 0 for one that is suspended; all are, if there are none.
        """
        pairs = list(zip(allocations, counted or (1,) * len(allocations), strict=True))
        rows = [
            [1 for one in allocations for _ in one.nodes],
            [node for one in allocations for node in one.nodes],
            [units for one in allocations for units in one.units],
            [memory for one in allocations for memory in one.memory],
            [-count for one, count in pairs for _ in one.nodes],
        ]
        rows += [[many for one in allocations for many in one.gres.get(kind, (0,) * len(one.nodes))] for kind in kinds]
        return cls(np.cumsum([0, *(len(one.nodes) for one in allocations)]), np.array(rows, dtype=np.int64))

    def any_on(self, nodes: Mask) -> list[bool]:
        """Which of them have any of some nodes."""
        if not self.count:
            return []
        found: list[bool] = np.logical_or.reduceat(nodes[self._entries[NODE]], self._offsets[:-1]).tolist()
        return found

    def added(self, free: Free, count: int) -> Free:
        """What is free once the first ``count`` are given back."""
        upto = int(self._offsets[count])
        if not upto:
            return free
        later = free.copy()
        add_up(later, self._entries[:, :upto])
        return later


def add_up(free: Free, entries: Ints, sign: int = 1) -> None:
    """Add what entries say of each node to what is free, or take it away; for the entries see :class:`Releases`."""
    nodes, size = entries[NODE], len(free.units)
    for row in range(NODE + 1, len(entries)):
        if (row > NODE + 1 or not free.shared) and entries[row].any():
            sums = np.bincount(nodes, weights=entries[row], minlength=size)
            free.table[row - NODE - 1] += sign * sums.astype(np.int64)
