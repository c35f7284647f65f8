"""Rows of jobs that share cores without taking turns, as select/cons_tres keeps them for each partition.

A partition with ``OverSubscribe=FORCE:n`` or ``YES:n`` has n rows; jobs of a row have cores of their own. A job first
seeks cores that no job has, then those that are free in a row of its partition: the fullest row goes first. When a
job has left, those of its partition are put into rows again, by their first core, each into the first row that has
room. (Recorded on 22.05, 24.11 and 26.05.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from emulator.state.cluster import Cluster
from emulator.state.job import Job
from emulator.state.machine import has_rows
from emulator.state.partition import Partition
from emulator.state.run import Run
from slurm_sim_plugins.nodes import Free

Cores = int
"""A set of cores: a bit for each core of the cluster, in the order of its nodes."""


@dataclass(slots=True)
class Row:
    """Jobs of a partition with cores of their own, by id, in the order in which they came.

    Attributes:
        jobs: the cores of each.
        cores: of all.
    """

    jobs: dict[int, Cores] = field(default_factory=dict)
    cores: Cores = 0

    def add(self, job: int, cores: Cores) -> None:
        """A job comes."""
        self.jobs[job] = cores
        self.cores |= cores

    def remove(self, job: int) -> None:
        """A job leaves."""
        self.cores &= ~self.jobs.pop(job)


class SharedRows:
    """The rows of each partition, and which cores each job has.

    Args:
        cluster: the cluster state.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        units: list[int] = cluster.machine.units.tolist()
        self._begin: list[int] = np.concatenate([[0], np.cumsum(units)]).tolist()
        self._order = [_core_order(many, sockets) for many, sockets in zip(units, _sockets(cluster), strict=True)]
        self._rows = {
            partition.name: [Row() for _ in range(partition.oversubscribe_jobs if has_rows(partition) else 1)]
            for partition in cluster.partitions.values()
        }
        self._cores: dict[int, Cores] = {}
        self._counted: dict[int, Cores] = {}
        self._taken: Cores = 0

    def take(self, job: Job, run: Run) -> None:
        """A job comes: it gets cores of its row, of which it counts those that no other has."""
        rows = self._rows[run.partition]
        used = rows[run.row - 1].cores if 0 < run.row <= len(rows) else self._taken
        cores = self._cores[job.id] = self._given(run, used)
        run.row = 0
        row = next((row for row in rows if not row.cores & cores), None)
        if row is not None:
            row.add(job.id, cores)
        self._count(job, run, cores & ~self._taken)
        self._cluster.take(job, run.at_base)

    def release(self, job: Job, run: Run) -> None:
        """A job leaves: others that have its cores count them now."""
        self._cluster.release(job, run.at_base)
        del self._cores[job.id]
        left = self._counted.pop(job.id)
        self._taken &= ~left
        for other in list(self._sharing(left)) if _overlaps(self._cores, left) else ():
            of = other.run
            assert of is not None
            self._cluster.release(other, of.at_base)
            more = self._cores[other.id] & left
            left &= ~more
            self._count(other, of, self._counted[other.id] | more)
            self._cluster.take(other, of.at_base)
        self._leave_row(job.id, run.partition)

    def free_in(self, partition: Partition) -> Iterator[tuple[int, Free]]:
        """For a job of a partition: (number of a row, what is free there), the fullest row first."""
        rows = self._rows[partition.name]
        _sort(rows)
        for number, row in enumerate(rows, 1):
            free = self._cluster.free.copy()
            free.units[:] = self._cluster.machine.units
            free.jobs[:] = 0
            pool = free.gres.get(("", partition.name))
            if pool is not None:
                pool[:] = self._cluster.machine.gres["", partition.name]
            for job in row.jobs:
                of = self._cluster.jobs[job].run
                assert of is not None
                nodes = list(of.allocation.nodes)
                units = np.array(of.allocation.units, dtype=np.int64)
                free.units[nodes] -= units
                free.jobs[nodes] += 1
                if pool is not None:
                    pool[nodes] -= units
            yield number, free

    def _given(self, run: Run, used: Cores) -> Cores:
        """Cores of a run's nodes: those that are not used go first."""
        cores = 0
        for node, many in zip(run.allocation.nodes, run.allocation.units, strict=True):
            begin = self._begin[node]
            places = sorted(self._order[node], key=lambda core: used >> (begin + core) & 1)
            for core in places[:many]:
                cores |= 1 << (begin + core)
        return cores

    def _count(self, job: Job, run: Run, cores: Cores) -> None:
        """A job is the one that counts for some of its cores."""
        self._counted[job.id] = cores
        self._taken |= cores
        run.counted = None
        if cores != self._cores[job.id]:
            run.counted = tuple(self._on(node, cores) for node in run.allocation.nodes)

    def _on(self, node: int, cores: Cores) -> int:
        """How many of some cores are on a node."""
        begin, end = self._begin[node : node + 2]
        return (cores >> begin & ((1 << (end - begin)) - 1)).bit_count()

    def _sharing(self, cores: Cores) -> Iterator[Job]:
        """Jobs that have any of some cores."""
        return (self._cluster.jobs[job] for job, own in self._cores.items() if own & cores)

    def _leave_row(self, job: int, partition: str) -> None:
        rows = self._rows[partition]
        for row in rows:
            if job in row.jobs:
                row.remove(job)
                if len(rows) > 1:
                    self._rows[partition] = packed(rows)
                return


def packed(rows: Sequence[Row]) -> list[Row]:
    """Jobs in rows again: by their first core, each in the first row with room, of which the fullest goes first.

    If that leaves a job without a row, all stay where they are.
    """
    found = [Row() for _ in rows]
    jobs = [pair for row in rows for pair in row.jobs.items()]
    for job, cores in sorted(jobs, key=lambda pair: pair[1] & -pair[1]):
        row = next((row for row in found if not row.cores & cores), None)
        if row is None:
            return list(rows)
        row.add(job, cores)
        _sort(found)
    return found


def _sort(rows: list[Row]) -> None:
    """The fullest first; among equals as an exchange of neighbours in turn leaves them."""
    for place in range(len(rows)):
        for other in range(place + 1, len(rows)):
            if rows[other].cores.bit_count() > rows[place].cores.bit_count():
                rows[place], rows[other] = rows[other], rows[place]


def _overlaps(all_cores: dict[int, Cores], cores: Cores) -> bool:
    return any(own & cores for own in all_cores.values())


def _sockets(cluster: Cluster) -> list[int]:
    sockets = cluster.machine.sockets
    return sockets.tolist() if isinstance(sockets, np.ndarray) else [1] * len(cluster.machine)


def _core_order(cores: int, sockets: int) -> list[int]:
    """Cores in the order in which they are given: those of each socket in turn."""
    own = max(cores // max(sockets, 1), 1)
    return sorted(range(cores), key=lambda core: (core % own, core // own))
