"""``sched/backfill``: every job in turn gets the first hole that it fits into, and keeps it from those behind.

Reservations are of whole nodes. A cycle ends when it has tested as many jobs, or keeps as
many slots of time, as it may. (Observations Q2 to Q5, T5, T8, C8, B1 to B3.)
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from emulator.slurmctld.cluster import Cluster
from emulator.slurmctld.controls import Controls
from emulator.slurmctld.job import Job, Partition
from emulator.slurmctld.job_mgr import partition_reason
from emulator.slurmctld.node_select import select_nodes
from emulator.slurmctld.nodes import Allocation, Mask
from emulator.slurmctld.preempt import candidates, victims
from emulator.slurmctld.queue import queue, still_waits

FIRST_WINDOW = 30.0
"""Seconds: runs that end within it of one another are thought away together while a start is sought; it doubles."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Nodes that are kept for a job, in seconds."""

    begin: float
    end: float
    nodes: Mask


def backfill(cluster: Cluster, controls: Controls) -> None:
    """Make one cycle.

    Args:
        cluster: the situation.
        controls: starts and preempts.
    """
    _Cycle(cluster, controls).run()


class _Cycle:
    def __init__(self, cluster: Cluster, controls: Controls) -> None:
        self._cluster = cluster
        self._controls = controls
        self._parameters = cluster.parameters
        self._slots: list[Slot] = []
        self._tested = self._started = 0
        self._by_partition: Counter[str] = Counter()
        self._by_user: Counter[str] = Counter()
        self._reserved_in: Counter[str] = Counter()
        self._reserved: set[int] = set()
        self._bounds: set[float] = set()
        self._victims: list[Job] = []
        self._table_full = False

    def run(self) -> None:
        parameters = self._parameters
        for job, partition in queue(self._cluster):
            if self._tested >= parameters.bf_max_job_test:
                return
            if self._table_full:
                return
            if parameters.bf_max_job_start and self._started >= parameters.bf_max_job_start:
                return
            if not still_waits(job, self._cluster) or partition_reason(job, partition) is not None:
                continue
            if self._enough_tested(job, partition):
                continue
            self._tested += 1
            self._try(job, partition)

    def _enough_tested(self, job: Job, partition: Partition) -> bool:
        parameters, user = self._parameters, job.request.user
        for counter, name, most in (
            (self._by_partition, partition.name, parameters.bf_max_job_part),
            (self._by_user, user, parameters.bf_max_job_user),
        ):
            if most and counter[name] >= most:
                return True
        self._by_partition[partition.name] += 1
        self._by_user[user] += 1
        return False

    def _try(self, job: Job, partition: Partition) -> None:
        cluster, self._victims = self._cluster, []
        if not cluster.licenses_free(job):
            return
        limit = job.time_min if job.time_min is not None else job.plan_limit
        at = cluster.now
        while True:
            planned = self._earliest(job, partition, at, limit)
            if planned is None:
                return
            start, allocation = planned
            clash = self._clash(start, limit, allocation)
            if clash is None:
                break
            at = clash
        if start <= cluster.now:
            self._start(job, partition, allocation, limit)
        elif self._share(job, partition, limit):
            return
        elif start <= cluster.now + self._parameters.bf_window:
            self._reserve(job, partition, start, limit, allocation)

    def _share(self, job: Job, partition: Partition, limit: float) -> bool:
        """Start a job beside others on the resources that they share, if it may."""
        cluster = self._cluster
        usable = cluster.usable(job, partition) & self._controls.not_reserved(job) & ~self._kept(cluster.now, limit)
        shared = self._controls.rows.select(job, partition, usable)
        if shared is not None:
            self._controls.start(job, partition, shared[1], limit, shared[0])
        return shared is not None

    def _kept(self, begin: float, limit: float) -> Mask:
        """Nodes that slots keep from a run."""
        kept = self._cluster.no_nodes()
        for slot in self._slots:
            if slot.begin < begin + limit and slot.end > begin:
                kept |= slot.nodes
        return kept

    def _earliest(self, job: Job, partition: Partition, at: float, limit: float) -> tuple[float, Allocation] | None:
        """The first start from ``at`` on, and the nodes, with the nodes that no slot keeps."""
        cluster = self._cluster
        bounds = [*self._bounds, *self._controls.reservations.bounds()]
        changes = sorted({bound for bound in bounds if bound > at})
        for begin in [at, *changes]:
            usable = cluster.usable(job, partition) & self._controls.not_reserved(job, begin, limit)
            usable &= ~self._kept(begin, limit)
            found = self._will_run(job, partition, begin, usable)
            later = next((change for change in changes if change > begin), None)
            if found is not None and (later is None or found[0] < later):
                return found
        return None

    def _will_run(self, job: Job, partition: Partition, begin: float, usable: Mask) -> tuple[float, Allocation] | None:
        """When the job fits on these nodes as running jobs end, from ``begin`` on."""
        cluster, want = self._cluster, job.wants[partition.name]
        free, ends = cluster.free.copy(), []
        for other in cluster.running.values():
            if other.run is None or other.run.row:
                continue
            end = cluster.planned_end(other)
            if end <= begin and begin > cluster.now:
                free.release(other.run.allocation)
            else:
                ends.append((end, other.id, other.run.allocation))
        found = select_nodes(want, cluster.machine, free, usable)
        if found is not None:
            return begin, found
        if begin <= cluster.now:
            chosen = victims(job, partition, usable, cluster)
            now = select_nodes(want, cluster.machine, cluster.free_without(chosen), usable) if chosen else None
            if now is not None:
                self._victims = chosen
                return begin, now
        # Later on, whoever could be preempted is no obstacle either.
        for other in candidates(job, partition, cluster):
            if other.run is None or other.run.row:
                continue
            ends = [entry for entry in ends if entry[1] != other.id]
            free.release(other.run.allocation)
        ends.sort(key=lambda entry: entry[:2])
        place, window = 0, FIRST_WINDOW
        while place < len(ends):
            until = ends[place][0] + window
            while place < len(ends) and ends[place][0] <= until:
                free.release(ends[place][2])
                place += 1
            found = select_nodes(want, cluster.machine, free, usable)
            if found is not None:
                return max(ends[place - 1][0], begin), found
            window *= 2
        return None

    def _clash(self, start: float, limit: float, allocation: Allocation) -> float | None:
        """When to try again because the nodes are kept for somebody during the run; None if they are not."""
        nodes = list(allocation.nodes)
        ends = [
            slot.end
            for slot in self._slots
            if slot.begin < start + limit and slot.end > start and slot.nodes[nodes].any()
        ]
        return min(ends) if ends else None

    def _start(self, job: Job, partition: Partition, allocation: Allocation, limit: float) -> None:
        cluster, self._started = self._cluster, self._started + 1
        for victim in self._victims:
            self._controls.preempt(victim, job)
        nodes = allocation.mask(len(cluster.machine))
        now = select_nodes(job.wants[partition.name], cluster.machine, cluster.free, nodes)
        if now is not None:
            self._controls.start(job, partition, now, limit)
        else:
            self._keep(cluster.now, cluster.now + limit, allocation)

    def _reserve(self, job: Job, partition: Partition, start: float, limit: float, allocation: Allocation) -> None:
        parameters = self._parameters
        job.planned_start = start
        most = parameters.bf_job_part_count_reserve
        if most and self._reserved_in[partition.name] >= most:
            return
        if job.priority < parameters.bf_min_prio_reserve:
            return
        if parameters.bf_min_age_reserve and self._cluster.now - job.submitted < parameters.bf_min_age_reserve:
            return
        if parameters.bf_one_resv_per_job and job.id in self._reserved:
            return
        if len(self._bounds) + 1 >= parameters.bf_node_space_size:
            self._table_full = True
            return
        self._reserved.add(job.id)
        self._reserved_in[partition.name] += 1
        grain = parameters.bf_resolution
        self._keep(math.floor(start / grain) * grain, math.ceil((start + limit) / grain) * grain, allocation)

    def _keep(self, begin: float, end: float, allocation: Allocation) -> None:
        self._slots.append(Slot(begin, end, allocation.mask(len(self._cluster.machine))))
        self._bounds |= {begin, end}
