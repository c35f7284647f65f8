"""The main loop's pass: start the queue in order; what blocks a partition blocks it for those behind.

A partition is left at its first job that does not fit; its nodes are then kept from jobs
of other partitions, too. A job that wants particular nodes, features or licences blocks
only its own nodes. (Observations Q1, Q6, Q7, B4, P2.)
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from emulator.slurmctld.cluster import Cluster
from emulator.slurmctld.controls import Controls
from emulator.slurmctld.job import Job, Partition
from emulator.slurmctld.job_mgr import partition_reason
from emulator.slurmctld.node_select import select_nodes
from emulator.slurmctld.nodes import Mask
from emulator.slurmctld.preempt import victims
from emulator.slurmctld.queue import queue, still_waits

RESERVED_FOR_HIGHER = "Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority_partitions"

MAY_BE_RESERVED = "ReqNodeNotAvail,_May_be_reserved_for_other_job"


def schedule(cluster: Cluster, controls: Controls) -> None:
    """Make one pass.

    Args:
        cluster: the situation.
        controls: starts and preempts.
    """
    _Pass(cluster, controls).run()


class _Pass:
    def __init__(self, cluster: Cluster, controls: Controls) -> None:
        self._cluster = cluster
        self._controls = controls
        self._failed: set[tuple[str, str]] = set()
        self._kept = cluster.no_nodes()
        self._tried: Counter[str] = Counter()
        self._blocked: set[int] = set()

    def run(self) -> None:
        parameters = self._cluster.parameters
        for tried, (job, partition) in enumerate(queue(self._cluster)):
            if tried > parameters.default_queue_depth:
                return
            if not still_waits(job, self._cluster) or self._over_depth(partition):
                continue
            if (partition.name, job.options.reservation) in self._failed:
                self._behind(job)
                continue
            self._try(job, partition)

    def _over_depth(self, partition: Partition) -> bool:
        depth = self._cluster.parameters.partition_job_depth
        if depth and self._tried[partition.name] >= depth:
            return True
        self._tried[partition.name] += 1
        return False

    def _behind(self, job: Job) -> None:
        if job.id not in self._blocked:
            job.reason = "Priority"

    def _try(self, job: Job, partition: Partition) -> None:
        cluster = self._cluster
        reason = partition_reason(job, partition)
        if reason is not None:
            job.reason = reason
            return
        if not cluster.licenses_free(job):
            job.reason = "Licenses"
            self._blocked.add(job.id)
            return
        usable = cluster.usable(job, partition) & self._controls.not_reserved(job)
        # Who runs in a reservation is not held up by who waits outside.
        allowed = usable if job.options.reservation else usable & ~self._kept
        want = job.wants[partition.name]
        found = select_nodes(want, cluster.machine, cluster.free, allowed)
        if found is not None:
            self._controls.start(job, partition, found)
            return
        shared = self._controls.rows.select(job, partition, allowed)
        if shared is not None:
            self._controls.start(job, partition, shared[1], row=shared[0])
            return
        chosen = victims(job, partition, allowed, cluster)
        for victim in chosen:
            self._controls.preempt(victim, job)
        if chosen and self._start_at_once(job, partition, allowed):
            return
        self._fail(job, partition, usable, allowed)

    def _start_at_once(self, job: Job, partition: Partition, allowed: Mask) -> bool:
        """A suspended victim gives way at once."""
        found = select_nodes(job.wants[partition.name], self._cluster.machine, self._cluster.free, allowed)
        if found is None:
            return False
        self._controls.start(job, partition, found)
        return True

    def _fail(self, job: Job, partition: Partition, usable: Mask, allowed: Mask) -> None:
        self._blocked.add(job.id)
        cluster, want = self._cluster, job.wants[partition.name]
        fits_when_idle = select_nodes(want, cluster.machine, cluster.machine.free(), allowed) is not None
        if fits_when_idle:
            job.reason = "Resources"
        elif select_nodes(want, cluster.machine, cluster.machine.free(), usable) is not None:
            job.reason = RESERVED_FOR_HIGHER
        else:
            job.reason = MAY_BE_RESERVED
            return
        picky = want.required is not None or bool(job.options.constraint) or bool(job.options.exclude)
        if picky:
            own = np.logical_or.reduce([choice.mask for choice in want.choices]) & usable
            self._kept |= own if want.required is None else want.required
        else:
            self._failed.add((partition.name, job.options.reservation))
            if not job.options.reservation:
                self._kept |= partition.nodes
