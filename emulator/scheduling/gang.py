"""Sharing: jobs in rows over the same nodes, and gang scheduling, which lets one row run at a time.

A partition with ``OverSubscribe=FORCE:n``, or ``YES:n`` for jobs that ask to share, puts
up to n jobs onto a CPU; memory and generic resources are not shared. With ``PreemptMode=GANG``
those that overlap take turns, a time slice each, on a tick that is common to all; without it all
of them run.
(Observations P4 of sharing, P11, P12.)
"""

from __future__ import annotations

from emulator.scheduling.shared_rows import SharedRows
from emulator.state.cluster import Cluster
from emulator.state.job import Job
from emulator.state.machine import MARK, has_rows
from emulator.state.partition import Partition
from emulator.state.run import Run
from slurm_sim_plugins.nodes import Allocation, Free, Mask


class Rows:
    """The rows above the first; the first is the cluster's own.

    Attributes:
        slices: whether rows take turns.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._free: list[Free] = []
        self._jobs: dict[int, Job] = {}
        self._active = 0
        self.slices = "GANG" in cluster.parameters.preempt_mode
        self._shared: SharedRows | None = None
        if not self.slices and not cluster.free.shared and any(map(has_rows, cluster.partitions.values())):
            self._shared = SharedRows(cluster)

    @property
    def _one_more(self) -> bool:
        return self.slices and getattr(self._cluster.policies.preempt, "takes_turns", False)

    def depth(self, job: Job, partition: Partition) -> int:
        """How many jobs may be on the resources that this one takes there."""
        if partition.oversubscribe == "FORCE" or (partition.oversubscribe == "YES" and job.options.share):
            return partition.oversubscribe_jobs + self._one_more
        return 1

    def select(self, job: Job, partition: Partition, usable: Mask) -> tuple[int, Allocation] | None:
        """The first row above the first in which a job fits, and its nodes there."""
        depth = self.depth(job, partition)
        quality = job.account.quality if job.account is not None else None
        if self._one_more and not (quality is not None and quality.preempts):
            # The additional slot is for jobs that could preempt (observation J5).
            depth -= 1
        if depth < 2:
            return None
        sharing = usable & ~self._not_shared()
        above = ((row, self._free_in(row)) for row in range(1, depth))
        for row, free in above if self._shared is None else self._shared.free_in(partition):
            found = self._cluster.choose(self._cluster.want(job, partition), free, sharing)
            if found is not None:
                return row, found
        return None

    def take(self, job: Job, run: Run) -> None:
        """A job comes to the row of its run."""
        self._jobs[job.id] = job
        self._cluster.partitions[run.partition].running += 1
        if self._shared is not None:
            self._shared.take(job, run)
            return
        self._cluster.take(job, run.at_base)
        if run.row:
            self._free_of(run.row).take(run.allocation)

    def release(self, job: Job, run: Run) -> None:
        """A job leaves its row."""
        del self._jobs[job.id]
        self._cluster.partitions[run.partition].running -= 1
        if self._shared is not None:
            self._shared.release(job, run)
            return
        self._cluster.release(job, run.at_base)
        if run.row:
            self._free_of(run.row).release(run.allocation)

    def _rows(self) -> list[int]:
        """Rows that are not empty."""
        return sorted({job.run.row for job in self._jobs.values() if job.run is not None})

    def settled(self) -> bool:
        """Whether the end of a time slice changes nothing: all jobs are in the row that is active."""
        return not self.slices or (self._rows() or [0]) == [self._active]

    def next_slice(self) -> None:
        """Let the next row that is not empty have its turn."""
        rows = self._rows()
        if len(rows) > 1:
            self._active = next((row for row in rows if row > self._active), rows[0])

    def due(self, jobs: list[Job]) -> list[Job]:
        """Which of the jobs on the machine are to run now: the active row, and what fits beside it."""
        rows = self._rows()
        if self._active not in rows:
            self._active = rows[0] if rows else 0
        if not self.slices or len(rows) < 2:
            return jobs
        order = [row for row in rows if row >= self._active] + [row for row in rows if row < self._active]
        left, running = self._cluster.machine.free(), []
        for row in order:
            for job in sorted((job for job in jobs if job.run and job.run.row == row), key=lambda job: job.id):
                assert job.run is not None
                nodes = list(job.run.allocation.nodes)
                if all(left.units[node] >= units for node, units in zip(nodes, job.run.allocation.units, strict=True)):
                    left.take(job.run.allocation)
                    running.append(job)
        return running

    def _free_of(self, row: int) -> Free:
        while len(self._free) < row:
            self._free.append(self._cluster.machine.free())
        return self._free[row - 1]

    def _free_in(self, row: int) -> Free:
        """What is free for a job in a row: its CPUs, and of the rest what jobs of all rows leave."""
        free, own = self._cluster.free.copy(), self._free_of(row)
        free.units[:], free.jobs[:] = own.units, own.jobs
        for kind in own.gres:
            if not kind[0] and not kind[1].startswith(MARK):
                free.gres[kind][:] = own.gres[kind]
        return free

    def _not_shared(self) -> Mask:
        """Nodes on which there is a job that does not share."""
        nodes = self._cluster.no_nodes()
        for job in [*self._cluster.running.values(), *self._cluster.suspended.values()]:
            if job.run is not None and self.depth(job, self._cluster.partitions[job.run.partition]) < 2:
                nodes |= job.run.allocation.mask(len(nodes))
        return nodes
