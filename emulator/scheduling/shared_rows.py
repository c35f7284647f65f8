"""Rows of jobs that share cores without taking turns, as select/cons_tres keeps them for each partition.

A partition with ``OverSubscribe=FORCE:n`` or ``YES:n`` has n rows; jobs of a row have cores of their own. A job first
seeks cores that no job has, then those that no job of a partition of its tier has, as few of lower tiers as may be, and
then those that are free in a row of its partition: the fullest row goes first. Cores of higher tiers it gets as well,
unless preemption goes by partition. When a job has left, those of its partition are put into rows again, by
their first core, each into the first row that has room. (Recorded on 22.05, 24.11 and 26.05.)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest

import numpy as np

from emulator.scheduling.exempt import is_exempt
from emulator.state.cluster import Cluster
from emulator.state.job import Job
from emulator.state.machine import has_rows
from emulator.state.partition import Partition
from emulator.state.run import Run
from slurm_sim_plugins.nodes import Allocation, Free, Gres, Mask

Cores = int
"""A set of cores: a bit for each core of the cluster, in the order of its nodes."""


MOST_KNOWN = 16
"""Of so many sets it is kept how many cores are on each node, at most."""


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
        one_more: whether each partition has an additional row, for jobs that could preempt others of it.
    """

    def __init__(self, cluster: Cluster, one_more: bool = False) -> None:
        self._cluster = cluster
        units: list[int] = cluster.machine.units.tolist()
        self._begin: list[int] = np.concatenate([[0], np.cumsum(units)]).tolist()
        self._sockets = _sockets(cluster)
        self._rows = {
            partition.name: [
                Row() for _ in range((partition.oversubscribe_jobs if has_rows(partition) else 1) + one_more)
            ]
            for partition in cluster.partitions.values()
        }
        self._cores: dict[int, Cores] = {}
        self._counted: dict[int, Cores] = {}
        self._pooled: dict[int, Cores] = {}
        self._taken: Cores = 0
        self._avoided: list[Cores] = []
        self._preferred: Mask | None = None
        self._aside: dict[int, Cores] = {}
        self._of_sockets = self._masks_of_sockets()
        self._on_nodes: dict[Cores, list[int]] = {}

    def _masks_of_sockets(self) -> list[list[Cores]]:
        """The cores of each socket of each node; none where the machine does not know them by socket."""
        by_socket = self._cluster.machine.by_socket
        if by_socket is None:
            return []
        return [
            [
                sum(1 << (self._begin[node] + core) for core in sockets[number]) if number < len(sockets) else 0
                for node, sockets in enumerate(self._sockets)
            ]
            for number in range(len(by_socket.kinds))
        ]

    def cores_of(self, job: Job) -> Cores:
        """The cores of a job on the machine."""
        return self._cores[job.id]

    def take(self, job: Job, run: Run) -> None:
        """A job comes: it gets cores of its row, of which it counts those that no other has, or none without a row."""
        rows = self._rows[run.partition]
        used = self._avoided[-run.row - 1] if run.row else self._taken
        self._avoided.clear()
        cores = self._cores[job.id] = self._aside.pop(job.id, 0) or self._given(run, used)
        run.row = 0
        row = next((row for row in rows if not row.cores & cores), None)
        run.rowless = row is None
        self._pooled[job.id] = 0
        if row is not None:
            self._pooled[job.id] = cores & ~self._cores_in(self._cluster.partitions[run.partition])
            row.add(job.id, cores)
        self._count(job, run, 0 if row is None else cores & ~self._taken)
        self._cluster.take(job, run.at_base)

    def release(self, job: Job, run: Run) -> None:
        """A job leaves: others that have its cores count them now."""
        self._cluster.release(job, run.at_base)
        del self._cores[job.id]
        left, own = self._counted.pop(job.id), self._pooled.pop(job.id)
        self._taken &= ~left
        for other in list(self._sharing(left | own)) if _overlaps(self._cores, left | own) else ():
            of = other.run
            assert of is not None
            self._cluster.release(other, of.at_base)
            more = self._cores[other.id] & left
            left &= ~more
            if of.partition == run.partition:
                self._pooled[other.id] |= self._cores[other.id] & own
                own &= ~self._cores[other.id]
            self._count(other, of, self._counted[other.id] | more)
            self._cluster.take(other, of.at_base)
        self._leave_row(job.id, run.partition)

    def set_aside(self, job: Job, run: Run) -> None:
        """A job that is about to leave gets the same cores when it comes back."""
        self._aside[job.id] = self._cores[job.id]

    def leave_aside(self, job: Job, nodes: Collection[int]) -> None:
        """Of the cores that a job is to get again it gives up those of some nodes."""
        for node in nodes:
            begin, end = self._begin[node : node + 2]
            self._aside[job.id] &= ~(((1 << (end - begin)) - 1) << begin)

    def over_others(
        self, job: Job, partition: Partition, usable: Mask, many: int, by_qos: bool
    ) -> tuple[int, Allocation] | None:
        """Where a job finds cores that only jobs of other tiers have or, in one of so many rows, other jobs of its own.

        Where preemption goes by partition it never gets those of higher tiers, nor of partitions that may not be
        preempted. Of cores of lower tiers it leaves those of as many partitions alone as may be, the highest first.

        Returns:
            a number for what it is to avoid if it starts next, and what it gets.
        """
        found = self._over_others(job, partition, usable, many, by_qos, self._cluster.free)
        if found is None:
            return None
        self._avoided.append(found[0])
        return -len(self._avoided), found[1]

    def recount(self, free: Free, gone: Collection[int]) -> None:
        """Count the cores that would be free if some jobs were gone."""
        self._leave(free, self._taken_without(gone))

    def _taken_without(self, gone: Collection[int]) -> Cores:
        """Cores that jobs have in their rows, but for some jobs."""
        taken: Cores = 0
        for job, cores in self._cores.items():
            if job not in gone and not self._is_rowless(job):
                taken |= cores
        return taken

    def _leave(self, free: Free, taken: Cores) -> None:
        """Let all cores be free but those that are taken."""
        machine = self._cluster.machine
        free.units[:] = machine.units - np.array(self._on_each(taken), dtype=np.int64)
        if machine.by_socket is not None:
            self._leave_of(free, machine.by_socket.kinds, taken)

    def _leave_of(self, free: Free, kinds: Sequence[Gres], taken: Cores) -> None:
        """The same of resources that go by the cores of each socket."""
        for masks, kind in zip(self._of_sockets, kinds, strict=True):
            free.gres[kind][:] = [(mask & ~taken).bit_count() for mask in masks]

    def are_counted(self) -> bool:
        """Whether what is free now goes by the cores that jobs have in their rows."""
        used: list[int] = (self._cluster.machine.units - self._cluster.free.units).tolist()
        return self._on_each(self._taken_without(())) == used

    def any_has_same(self) -> bool:
        """Whether several jobs have the same cores, or one is in no row."""
        return self._counted != self._cores

    def given_back(self, jobs: Sequence[int]) -> list[list[int]]:
        """How many cores each of some jobs gives back on its nodes, if they leave in this order: those that are left.

        Args:
            jobs: all that are on the machine.
        """
        left: Cores = 0
        units: list[list[int]] = []
        for job in reversed(jobs):
            cores = 0 if self._is_rowless(job) else self._cores[job]
            run = self._cluster.jobs[job].run
            assert run is not None
            units.append([self._on(node, cores & ~left) for node in run.allocation.nodes])
            left |= cores
        return units[::-1]

    def are_sorted(self, partition: Partition) -> bool:
        """Whether the fullest of the rows of a partition goes first, so that they stay in their order."""
        full = [row.cores.bit_count() for row in self._rows[partition.name]]
        return all(before >= behind for before, behind in pairwise(full))

    def may_be_over_others(self, job: Job, partition: Partition, usable: Mask, many: int, strict: bool) -> bool:
        """Whether :meth:`over_others` might answer, for these nodes or some of them; rows stay in their order.

        Args:
            job: the job.
            partition: where it is tried.
            usable: nodes that it may use.
            many: in how many rows.
            strict: whether it counts, too, where it would have cores that no job has.
        """
        barred, free, taken = self._barred(partition), self._cluster.free, 0
        for cores in self._cores.values():
            taken |= cores
        of_tier = barred
        for other in self._cluster.partitions.values():
            of_tier |= self._cores_in(other) if other.tier == partition.tier else 0
        tried = {of_tier, *(barred | row.cores for row in self._rows[partition.name][:many])}
        return any(
            (strict or taken & ~avoided) and self._choose(job, partition, usable, avoided, free) for avoided in tried
        )

    def instead_of(
        self, job: Job, partition: Partition, usable: Mask, many: int, others: Sequence[Job]
    ) -> tuple[int, Allocation] | None:
        """Where a job finds cores in the additional row, of which as few others as suffice are left out in turn.

        Returns:
            as :meth:`over_others` does.
        """
        free, rows = self._cluster.free, self._rows
        for last in range(1, len(others) + 1):
            gone = [other.id for other in others[:last]]
            self._rows = {name: _without(own, gone) for name, own in rows.items()}
            fits = self._over_others(job, partition, usable, many, True, free)
            self._rows = rows
            if fits is not None:
                avoided = self._barred(partition)
                for row in rows[partition.name]:
                    avoided |= row.cores
                for each in gone:
                    avoided &= ~self._cores[each]
                found = self._choose(job, partition, usable, avoided, free)
                if found is None:
                    return None
                self._avoided.append(avoided)
                return -len(self._avoided), found
        return None

    def in_turn(
        self, job: Job, partition: Partition, usable: Mask, others: Sequence[Job], halted: Sequence[Job]
    ) -> tuple[int, Allocation] | None:
        """Where a job finds nodes on which no other runs, once some are left out in turn, as select/linear does.

        It goes through them a second time: the one with which it fitted goes first then, and those with more nodes.
        Memory that those have that are left out, or stand still, is no obstacle (recorded).

        Args:
            job: the job.
            partition: where it is tried.
            usable: nodes that it may have.
            others: jobs that may be suspended for it, in their order.
            halted: jobs of lower tiers that stand still.

        Returns:
            as :meth:`over_others` does.
        """
        order = list(others)
        if halted and (found := self._choose_without(job, partition, usable, halted)) is not None:
            self._avoided.append(self._cores_but(halted))
            return -len(self._avoided), found
        for attempt in range(2):
            many, found = 0, None
            while found is None and many < len(order):
                many += 1
                found = self._choose_without(job, partition, usable, [*order[:many], *halted])
            if found is None:
                return None
            if attempt or len(order) == 1:
                self._avoided.append(self._cores_but([*order[:many], *halted]))
                return -len(self._avoided), found
            freed = {each.id: self._freed(each, usable, order) for each in order[: many - 1]}
            before = sorted(order[: many - 1], key=lambda each: -freed[each.id])
            order = [order[many - 1], *before, *order[many:]]
        return None

    def _choose_without(self, job: Job, partition: Partition, usable: Mask, gone: Sequence[Job]) -> Allocation | None:
        """The nodes of a job, if some others have neither cores nor memory."""
        free = self._cluster.free.copy()
        for other in gone:
            if other.run is not None:
                free.memory[list(other.run.allocation.nodes)] += np.array(other.run.allocation.memory, dtype=np.int64)
        return self._choose(job, partition, usable, self._cores_but(gone), free)

    def _freed(self, job: Job, usable: Mask, order: Sequence[Job]) -> int:
        """On how many nodes of a job there is no other once it is left out, and those before it."""
        assert job.run is not None
        avoided = self._cores_but(order[: order.index(job) + 1])
        return sum(bool(usable[node]) and not self._on(node, avoided) for node in job.run.allocation.nodes)

    def _cores_but(self, gone: Sequence[Job]) -> Cores:
        """The cores of all jobs but some."""
        without, avoided = {job.id for job in gone}, 0
        for job, cores in self._cores.items():
            avoided |= 0 if job in without else cores
        return avoided

    def later(
        self,
        job: Job,
        partition: Partition,
        usable: Mask,
        many: int,
        free: Free,
        gone: Collection[int],
        first: Mask | None = None,
    ) -> Allocation | None:
        """What a job could get if some jobs were gone, and so much memory and generic resources were free.

        Wherever it is tried, it is tried on the nodes of ``first`` before all that are usable.
        """
        rows, self._preferred = self._rows, first
        self._rows = {name: _without(own, gone) for name, own in rows.items()}
        try:
            found = self._over_others(job, partition, usable, many, False, free)
        finally:
            self._rows, self._preferred = rows, None
        return None if found is None else found[1]

    def without_cores(self, free: Free) -> Free:
        """What is free if no job has cores."""
        free = free.copy()
        self._leave(free, 0)
        free.jobs[:] = 0
        return free

    def _over_others(
        self, job: Job, partition: Partition, usable: Mask, many: int, by_qos: bool, free: Free
    ) -> tuple[Cores, Allocation] | None:
        tiers, barred = self._cluster.partitions.values(), self._barred(partition)
        if self._choose(job, partition, usable, barred, free) is None:
            return None
        avoided = barred
        for other in tiers:
            if other.tier == partition.tier:
                avoided |= self._cores_in(other)
        found = self._choose(job, partition, usable, avoided, free)
        if found is None:
            return self._in_rows(job, partition, usable, many, barred, by_qos, free)
        for other in sorted(tiers, key=lambda each: -each.tier):
            if other.tier < partition.tier:
                more = avoided | self._cores_in(other)
                spared = self._choose(job, partition, usable, more, free)
                if spared is None:
                    break
                avoided, found = more, spared
        return avoided, found

    def _barred(self, partition: Partition) -> Cores:
        """Cores that a job of a partition never gets, where preemption goes by partition."""
        barred: Cores = 0
        own = self._cluster.parameters.rules.OWN_ROWS_ARE_SHARED and partition.oversubscribe_jobs > 1
        if getattr(self._cluster.policies.preempt, "by_partition", False):
            for other in self._cluster.partitions.values():
                if other is partition and own:
                    continue
                if other.tier > partition.tier or _may_not_be_preempted(other):
                    barred |= self._cores_in(other)
                elif other.tier < partition.tier and self._cluster.parameters.rules.EXEMPT_ARE_NOT_SUSPENDED:
                    barred |= self._cores_of_exempt(other)
        return barred

    def _cores_of_exempt(self, partition: Partition) -> Cores:
        """Cores of the jobs of a partition that may not be preempted yet."""
        cores: Cores = 0
        for row in self._rows[partition.name]:
            for number, own in row.jobs.items():
                if is_exempt(self._cluster.jobs[number], self._cluster):
                    cores |= own
        return cores

    def _in_rows(
        self, job: Job, partition: Partition, usable: Mask, many: int, barred: Cores, by_qos: bool, free: Free
    ) -> tuple[Cores, Allocation] | None:
        rows = self._rows[partition.name]
        if len(rows) > 1 and not by_qos:
            _sort(rows)
        for row in rows[:many]:
            avoided = barred | row.cores
            found = self._choose(job, partition, usable, avoided, free)
            if found is not None:
                return avoided, found
            if not row.jobs:
                break
        return None

    def _choose(self, job: Job, partition: Partition, usable: Mask, avoided: Cores, free: Free) -> Allocation | None:
        free, pool = free.copy(), ("", partition.name)
        machine = self._cluster.machine
        self._leave(free, avoided)
        free.jobs[:] = np.minimum(machine.units - free.units, 1)
        if pool in free.gres:
            # Of MaxCPUsPerNode count the partition's own cores that it cannot have.
            own = self._cores_in(partition) & avoided
            free.gres[pool][:] = machine.gres[pool] - np.array(self._on_each(own), dtype=np.int64)
            if machine.by_socket is not None and partition.name in machine.pool_sockets:
                self._leave_of(free, machine.by_socket.of_pool(partition.name), own)
        if self._preferred is not None:
            found = self._cluster.select(job, partition, usable & self._preferred, free)
            if found is not None:
                return found
        return self._cluster.select(job, partition, usable, free)

    def _on_each(self, cores: Cores) -> list[int]:
        """How many of some cores are on each node; the last few answers are kept."""
        known = self._on_nodes.get(cores)
        if known is None:
            if len(self._on_nodes) >= MOST_KNOWN:
                self._on_nodes.clear()
            known = self._on_nodes[cores] = [self._on(node, cores) for node in range(len(self._cluster.machine))]
        return known

    def _cores_in(self, partition: Partition) -> Cores:
        cores: Cores = 0
        for row in self._rows[partition.name]:
            cores |= row.cores
        return cores

    def _given(self, run: Run, used: Cores) -> Cores:
        """Cores of a run's nodes: those that are not used go first, and of these one of each socket in turn."""
        cores, has = 0, run.allocation
        by_socket = self._cluster.machine.by_socket
        rows = [has.gres[kind] for kind in by_socket.kinds] if by_socket is not None else []
        for index, (node, many) in enumerate(zip(has.nodes, has.units, strict=True)):
            begin = self._begin[node]
            unused = [[core for core in own if not used >> (begin + core) & 1] for own in self._sockets[node]]
            others = [[core for core in own if used >> (begin + core) & 1] for own in self._sockets[node]]
            found = [*_in_turn(unused), *_in_turn(others)][:many]
            if rows:
                each = zip(unused, others, (row[index] for row in rows), strict=False)
                found = [core for free, taken, count in each for core in [*free, *taken][:count]]
            for core in found:
                cores |= 1 << (begin + core)
        return cores

    def _count(self, job: Job, run: Run, cores: Cores) -> None:
        """A job is the one that counts for some of its cores."""
        self._counted[job.id] = cores
        self._taken |= cores
        run.counted, run.counted_sockets = self._by_node(job, run, cores)
        run.pooled, run.pooled_sockets = self._by_node(job, run, self._pooled[job.id])

    def _by_node(self, job: Job, run: Run, cores: Cores) -> tuple[tuple[int, ...] | None, list[tuple[int, ...]]]:
        """How many of some of a job's cores are on each of its nodes, and of each socket there; None if all."""
        if cores == self._cores[job.id]:
            return None, []
        nodes = run.allocation.nodes
        of_sockets = [tuple((cores & masks[node]).bit_count() for node in nodes) for masks in self._of_sockets]
        return tuple(self._on(node, cores) for node in nodes), of_sockets

    def _on(self, node: int, cores: Cores) -> int:
        """How many of some cores are on a node."""
        begin, end = self._begin[node : node + 2]
        return (cores >> begin & ((1 << (end - begin)) - 1)).bit_count()

    def _sharing(self, cores: Cores) -> Iterator[Job]:
        """Jobs that have any of some cores in their rows."""
        return (
            self._cluster.jobs[job] for job, own in self._cores.items() if own & cores and not self._is_rowless(job)
        )

    def _is_rowless(self, job: int) -> bool:
        run = self._cluster.jobs[job].run
        return run is not None and run.rowless

    def _leave_row(self, job: int, partition: str) -> None:
        rows = self._rows[partition]
        for row in rows:
            if job in row.jobs:
                row.remove(job)
                if len(rows) > 1:
                    self._rows[partition] = packed(rows)
                return


def _without(rows: Sequence[Row], gone: Collection[int]) -> list[Row]:
    """Rows of which some jobs have left."""
    left = [Row() for _ in rows]
    for row, before in zip(left, rows, strict=True):
        for job, cores in before.jobs.items():
            if job not in gone:
                row.add(job, cores)
    return packed(left) if len(left) > 1 else left


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


def _may_not_be_preempted(partition: Partition) -> bool:
    return tuple(partition.preempt_mode) == ("OFF",)


def _overlaps(all_cores: dict[int, Cores], cores: Cores) -> bool:
    return any(own & cores for own in all_cores.values())


def _sockets(cluster: Cluster) -> list[list[list[int]]]:
    """The cores of each socket of each node, from 0 on."""
    machine = cluster.machine
    if machine.by_socket is not None:
        return [_in_parts(sizes) for sizes in machine.by_socket.cores.T.tolist()]
    sockets = machine.sockets.tolist() if isinstance(machine.sockets, np.ndarray) else [1] * len(machine)
    return [_sockets_of(many, of) for many, of in zip(machine.units.tolist(), sockets, strict=True)]


def _sockets_of(cores: int, sockets: int) -> list[list[int]]:
    """The cores of each socket of a node."""
    own = max(cores // max(sockets, 1), 1)
    return [list(range(first, min(first + own, cores))) for first in range(0, cores, own)]


def _in_parts(sizes: Sequence[int]) -> list[list[int]]:
    """The same of sockets of so many cores each."""
    ends = np.cumsum(sizes).tolist()
    return [list(range(end - size, end)) for size, end in zip(sizes, ends, strict=True)]


def _in_turn(sockets: list[list[int]]) -> list[int]:
    """Cores in the order in which they are given: one of each socket that has any, and so on."""
    return [core for row in zip_longest(*sockets) for core in row if core is not None]
