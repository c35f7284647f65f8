"""Running jobs by planned end, as columns for compiled code."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import numpy as np

from emulator.scheduling.run_kernel import put_in, span, take_out, write
from emulator.scheduling.run_rows import FIRST, ID, MANY, NODE, PLACE, Reals
from emulator.state.job import Job
from emulator.state.run import YEAR
from slurm_sim_plugins.nodes import Allocation, Ints

if TYPE_CHECKING:
    from emulator.state.cluster import Cluster


class RunTable:
    """Runs in the order of (planned end, place in the controller's list), and what each gives back on which node.

    The order is kept as runs come and go. While the planned end of some run depends on more
    than its limit, the table is rebuilt whenever it is wanted.

    Attributes:
        count: how many there are.
        ends: when each is planned to end, in seconds.
        index: a row for each; see :mod:`emulator.scheduling.run_rows`.
        entries: a column for each node of each.
        changes: how often any of that became another.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._kinds = list(cluster.machine.gres)
        self.count = self._used = self._wasted = self.changes = 0
        self.ends: Reals = np.empty(256)
        self.index: Ints = np.zeros((256, 4), dtype=np.int64)
        self.entries: Ints = np.zeros((NODE + 4 + len(self._kinds), 1024), dtype=np.int64)
        self._raw: dict[int, float] = {}
        self._odd: set[int] = set()
        self._stale = True
        cluster.run_watchers.append(self)

    def changed(self) -> None:
        """Limits of runs may have changed."""
        self._stale = True

    def odd(self, job: Job) -> None:
        """The planned end of a run depends on more than its limit, from now on."""
        self._odd.add(job.id)
        self._stale = True

    def add(self, job: Job) -> None:
        """A run begins."""
        assert job.run is not None
        if job.plan is not None or job.run.suspensions:
            self.odd(job)
        if not self._stale:
            self._insert(job, job.run.start + min(job.run.limit, YEAR))

    def remove(self, job: Job) -> None:
        """A run ends."""
        self._odd.discard(job.id)
        if self._stale:
            return
        self.changes += 1
        self._wasted += take_out(self.ends, self.index, self.count, self._raw.pop(job.id), job.id)
        self.count -= 1
        if self._wasted > 4096 and 2 * self._wasted > self._used:
            self._stale = True

    def planned(self) -> tuple[Reals, Ints]:
        """Planned ends as of now, ascending, and the index in that order.

        A run past its limit ends later than it was to end (observation T5).
        """
        now = self._cluster.now
        if self._stale or self._odd:
            self._make()
        ends, index = self.ends[: self.count], self.index[: self.count]
        if self.is_late():
            late = int(ends.searchsorted(now, side="right"))
            ends = ends.copy()
            ends[:late] = [self._cluster.planned_end(self._cluster.running[job]) for job in index[:late, ID].tolist()]
            order = np.lexsort((index[:, PLACE], ends))
            ends, index = ends[order], index[order]
        return ends, index

    def is_late(self) -> bool:
        """Whether any run is past its limit: its planned end goes by what time it is."""
        return bool(self.count and self.ends[0] <= self._cluster.now)

    def in_turn(self) -> tuple[Reals, Ints, Ints]:
        """Planned ends as of now, ascending; where the columns of each begin, and the last ones end; these columns."""
        ends, index = self.planned()
        many = index[:, MANY]
        offsets = np.concatenate([[0], np.cumsum(many)])
        columns = np.repeat(index[:, FIRST] - offsets[:-1], many) + np.arange(offsets[-1])
        return ends, offsets, self.entries[:, columns]

    def first_end(self) -> float:
        """When the first of them is planned to end as of now; infinite if there are none."""
        if self._stale or self._odd:
            self._make()
        if self.count and self.ends[0] > self._cluster.now:
            return float(self.ends[0])
        late = int(self.ends[: self.count].searchsorted(self._cluster.now, side="right"))
        ends = [self._cluster.planned_end(self._cluster.running[job]) for job in self.index[:late, ID].tolist()]
        return min(ends + self.ends[late : min(late + 1, self.count)].tolist(), default=inf)

    def _make(self) -> None:
        self.count = self._used = self._wasted = 0
        self._raw.clear()
        self._stale = bool(self._odd)
        self.changes += 1
        runs = [job for job in self._cluster.running.values() if job.run is not None]
        place = self._cluster.order.listed.place
        for end, _, job in sorted((self._end(job), place(job), job) for job in runs):
            self._insert(job, end)

    def _end(self, job: Job) -> float:
        if self._odd:
            return self._cluster.planned_end(job)
        assert job.run is not None
        return job.run.start + min(job.run.limit, YEAR)

    def _insert(self, job: Job, end: float) -> None:
        assert job.run is not None
        if self.count == len(self.ends):
            self.ends = np.resize(self.ends, 2 * self.count)
            self.index = np.concatenate([self.index, np.zeros_like(self.index)])
        self.changes += 1
        place, many = self._cluster.order.listed.place(job), len(job.run.allocation.nodes)
        put_in(self.ends, self.index, self.count, end, job.id, place, self._used, many)
        self.count += 1
        self._raw[job.id] = end
        self._write(job.run.at_base)

    def _write(self, allocation: Allocation) -> None:
        upto = self._used + len(allocation.nodes)
        while upto > self.entries.shape[1]:
            self.entries = _wider(self.entries)
        write(self.entries, self._used, allocation.nodes, allocation.units, allocation.memory)
        for row, kind in enumerate(self._kinds, NODE + 4):
            self.entries[row, self._used : upto] = allocation.gres.get(kind, 0)
        span(self.entries, self._used, len(allocation.nodes))
        self._used = upto


def _wider(table: Ints) -> Ints:
    return np.concatenate([table, np.zeros_like(table)], axis=1)
