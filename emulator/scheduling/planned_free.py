"""What is planned to be free of the nodes at later times: as runs end, and without what was promised to others."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import numpy as np

from emulator.scheduling.future import Releases, add_up, releases
from emulator.scheduling.run_kernel import write
from emulator.scheduling.run_rows import NODE, Reals
from emulator.state.cluster import Cluster
from emulator.state.job import Job
from emulator.state.partition import Partition
from slurm_sim_plugins.nodes import Allocation, Free, Ints
from slurm_sim_plugins.profile import HALF_A_MICROSECOND


@dataclass(slots=True)
class Promise:
    """What was promised.

    Attributes:
        job, partition: to what.
        time: when it starts, in seconds.
        length: for how long it is planned.
        free: what is free then, as planned.
        allocation: nodes with which the promise can be kept; others may do as well.
    """

    job: Job
    partition: Partition
    time: float
    length: float
    free: Free
    allocation: Allocation

    @property
    def end(self) -> float:
        """When it is planned to end."""
        return self.time + self.length


@dataclass(slots=True)
class Promises:
    """What was promised in a pass, and what of the nodes that takes, as columns.

    Attributes:
        kept: the promises, in the order in which they were made.
        ends: when each is planned to end, in seconds.
    """

    kept: list[Promise] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    _used: int = 0
    _entries: Ints = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    _times: Reals = field(default_factory=lambda: np.zeros((2, 0)))

    def __iter__(self) -> Iterator[Promise]:
        return iter(self.kept)

    def __bool__(self) -> bool:
        return bool(self.kept)

    def add(self, promise: Promise) -> None:
        """One more was made."""
        self.kept.append(promise)
        self.ends.append(promise.end)
        has = promise.allocation
        upto = self._used + len(has.nodes)
        if upto > self._entries.shape[1]:
            self._widen(NODE + 1 + len(promise.free.table), max(64, 2 * upto))
        columns = slice(self._used, upto)
        self._times[:, columns] = [[promise.time], [promise.end]]
        write(self._entries, self._used, has.nodes, has.units, has.memory)
        for row, kind in enumerate(promise.free.gres, NODE + 4):
            self._entries[row, columns] = has.gres.get(kind, 0)
        self._used = upto

    def _widen(self, rows: int, size: int) -> None:
        entries, times = np.zeros((rows, size), dtype=np.int64), np.zeros((2, size))
        if self._used:
            entries[:, : self._used] = self._entries[:, : self._used]
            times[:, : self._used] = self._times[:, : self._used]
        self._entries, self._times = entries, times

    def without(self, job: Job) -> Promises:
        """Those that were not made to a job."""
        others = Promises()
        for promise in self.kept:
            if promise.job is not job:
                others.add(promise)
        return others

    def left(self, free: Free, begin: float, length: float) -> Free:
        """What they leave of what is free, to a job that begins then; never less than nothing.

        Two of them may count on the same node at different times, and both do within that length.
        """
        left = free.copy()
        starts, ends = self._times[:, : self._used]
        columns = np.flatnonzero((starts < begin + length) & (ends > begin))
        if len(columns):
            add_up(left, self._entries[:, columns], -1)
        np.maximum(left.table, 0, out=left.table)
        return left


class PlannedFree:
    """What is free as running jobs end, as they are planned now; nothing else may start while this is in use.

    Args:
        cluster: the cluster state.
        gone: ids of jobs that count as over.

    Attributes:
        ends: when runs are planned to end, ascending, in seconds.
    """

    def __init__(self, cluster: Cluster, gone: Collection[int] = ()) -> None:
        self._cluster, self._gone = cluster, gone
        self._after: dict[int, Free] = {}
        self.ends: list[float]
        if cluster.compiled is not None and not gone and not cluster.suspended:
            ends, offsets, entries = cluster.compiled.runs.in_turn()
            self.ends, self._releases = ends.tolist(), Releases(offsets, entries)
            return
        runs = [one._replace(end=cluster.now) if one.id in gone else one for one in releases(cluster)]
        runs.sort(key=lambda one: one[:2])
        self.ends = [one.end for one in runs]
        of_runs, counted = [one.allocation for one in runs], [one.jobs for one in runs]
        self._releases = Releases.of(of_runs, cluster.machine.gres, counted)

    def at(self, time: float) -> Free:
        """What is free at a time; not to be changed."""
        later = time > self._cluster.now or bool(self._gone)
        ended = bisect_right(self.ends, time + HALF_A_MICROSECOND) if later else 0
        known = self._after.get(ended)
        if known is None:
            known = self._after[ended] = self._releases.added(self._cluster.free, ended)
        return known
