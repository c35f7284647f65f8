"""``sched/builtin``: strict order, and starts predicted as if jobs ran one after the other (observation Q6)."""

from __future__ import annotations

from emulator.slurmctld.cluster import Cluster
from emulator.slurmctld.job import Job, Partition
from emulator.slurmctld.job_mgr import partition_reason
from emulator.slurmctld.node_select import select_nodes
from emulator.slurmctld.queue import queue

MOST_PREDICTED = 50
"""Slurm predicts no more starts at a time."""


def predict(cluster: Cluster) -> None:
    """Note of the first waiting jobs when they are to start: when they fit, but not before the one ahead has ended."""
    after = cluster.now
    for job, partition in queue(cluster)[:MOST_PREDICTED]:
        fits = _fits_from(job, partition, cluster) if partition_reason(job, partition) is None else None
        if fits is not None:
            job.planned_start = max(fits, after)
            after = job.planned_start + job.plan_limit


def _fits_from(job: Job, partition: Partition, cluster: Cluster) -> float | None:
    """When so many of the running jobs will have ended that a job fits."""
    want, usable, free = job.wants[partition.name], cluster.usable(job, partition), cluster.free.copy()
    if select_nodes(want, cluster.machine, free, usable) is not None:
        return cluster.now
    ends = sorted((cluster.planned_end(other), other.id) for other in cluster.running.values())
    for end, number in ends:
        run = cluster.running[number].run
        assert run is not None
        free.release(run.allocation)
        if select_nodes(want, cluster.machine, free, usable) is not None:
            return end
    return None
