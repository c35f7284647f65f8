"""Why a job waits for nodes, in Slurm's words (observations Q7, Q12, N2, P2 of partitions)."""

from __future__ import annotations

import numpy as np

from emulator.config.slurm.hostlist import compress
from emulator.scheduling.job_mgr import chosen_idle, least_nodes
from emulator.state.cluster import Cluster
from emulator.state.job import RESERVED_FOR_HIGHER, RESOURCES, Job
from emulator.state.partition import Partition
from emulator.state.reservations import has_all
from slurm_sim_plugins.nodes import Mask

NODE_NOT_AVAILABLE = "ReqNodeNotAvail"
MAY_BE_RESERVED = f"{NODE_NOT_AVAILABLE},_May_be_reserved_for_other_job"
FOR_MAINTENANCE = f"{NODE_NOT_AVAILABLE},_Reserved_for_maintenance"
FOR_OTHERS = f"{NODE_NOT_AVAILABLE},_Reserved_for_other_reservations"
UNAVAILABLE = f"{NODE_NOT_AVAILABLE},_UnavailableNodes:"


def reason_of_nodes(
    job: Job, partition: Partition, cluster: Cluster, unreserved: Mask, kept: Mask, enters: bool = False
) -> str:
    """Why the nodes of a partition do not do for a job now.

    Args:
        job: the job that waits.
        partition: where.
        cluster: the cluster state.
        unreserved: nodes that no reservation keeps from it.
        kept: nodes that are kept for jobs before it.
        enters: whether it is submitted: how many nodes are up is not counted then.
    """
    if _is_overlapped(job, partition, cluster, unreserved):
        said = cluster.parameters.rules.OTHER_RESERVATIONS_ARE_SAID and not _is_maintained(job, partition, cluster)
        return FOR_OTHERS if said else FOR_MAINTENANCE
    up = partition.nodes & cluster.machine.up
    available = up & unreserved & ~kept
    if fits_alone(job, partition, cluster, available):
        return RESOURCES
    reserved = not fits_alone(job, partition, cluster, up & unreserved) and fits_alone(job, partition, cluster, up)
    wanted = job.wants[partition.name].required
    if wanted is None and not reserved and not enters and int((up & ~kept).sum()) < least_nodes(job):
        return RESERVED_FOR_HIGHER
    if _may_be_closed(cluster) and (wanted is None or not (wanted & ~available).any()):
        suitable = job.wants[partition.name].suited
        if some_closed(job, partition, cluster, suitable & available):
            return RESOURCES
    if reserved and _all_reserved(job, partition, cluster, unreserved):
        return FOR_MAINTENANCE
    unavailable = ~cluster.machine.up | kept
    if cluster.parameters.rules.HEALTHY_NODES_ARE_AVAILABLE:
        unavailable = ~cluster.machine.up & ~_drained(cluster)
    if wanted is None:
        wanted = partition.nodes & job.wants[partition.name].suited
    away = np.flatnonzero(wanted & unavailable)
    return UNAVAILABLE + compress([cluster.machine.names[node] for node in away]) if len(away) else MAY_BE_RESERVED


def _is_overlapped(job: Job, partition: Partition, cluster: Cluster, unreserved: Mask) -> bool:
    """Whether other reservations overlap that of a job, and have all of its nodes."""
    own = cluster.reservations.get(job.reservation) if job.options.reservation else None
    if own is None or own.flags & {"ANY_NODES", "FLEX"}:
        return False
    nodes = partition.nodes & own.nodes
    return bool(nodes.any()) and not (nodes & unreserved).any()


def _is_maintained(job: Job, partition: Partition, cluster: Cluster) -> bool:
    """Whether one for maintenance overlaps the reservation of a job while the job would run there."""
    own, until = cluster.reservations[job.reservation], cluster.now + job.plan_limit
    nodes = partition.nodes & own.nodes
    return any(
        one is not own and "MAINT" in one.flags and one.start < until and one.end > cluster.now
        for one in cluster.reservations.values()
        if (one.nodes & nodes).any()
    )


def _all_reserved(job: Job, partition: Partition, cluster: Cluster, unreserved: Mask) -> bool:
    """Whether a reservation that overlaps a job's run has all nodes of its partition, of which none is left.

    It is one for maintenance, of all nodes, or of all of the partition.
    """
    now, until = cluster.now, cluster.now + job.plan_limit
    return not (partition.nodes & unreserved).any() and any(
        has_all(one, partition) for one in cluster.reservations.values() if one.start < until and one.end > now
    )


def _may_be_closed(cluster: Cluster) -> bool:
    """Whether jobs can close nodes at all: where there is preemption Slurm looks at those nodes, too."""
    return cluster.parameters.preempt_mode == ("OFF",)


def some_closed(job: Job, partition: Partition, cluster: Cluster, nodes: Mask) -> bool:
    """Whether any of these nodes is closed to a job for now: by a job that has all of it, or by any if it wants all.

    Then Slurm waits for that, and says nothing of reservations. Where all share (FORCE) no job closes any.
    """
    if job.wants[partition.name].whole and not cluster.shares_whole_nodes(job, partition):
        return bool((nodes & (cluster.free.jobs > 0)).any())
    return any(
        other.run is not None
        and other.wants[other.run.partition].whole
        and not cluster.shares_whole_nodes(other, cluster.partitions[other.run.partition])
        and bool(nodes[list(other.run.allocation.nodes)].any())
        for other in cluster.running.values()
    )


def _drained(cluster: Cluster) -> Mask:
    drained = cluster.no_nodes()
    drained[[node for node, state in cluster.admin_states.items() if state == "DRAIN"]] = True
    return drained


def fits_alone(job: Job, partition: Partition, cluster: Cluster, nodes: Mask) -> bool:
    """Whether a job would fit onto these nodes if they were idle."""
    return nodes_alone(job, partition, cluster, nodes) > 0


def nodes_alone(job: Job, partition: Partition, cluster: Cluster, nodes: Mask) -> int:
    """On how many of these nodes a job would run if they were idle; 0 if it does not fit."""
    key = (job.request_class, partition.name, nodes.tobytes())
    known = cluster.fits_alone.get(key)
    if known is None:
        found = chosen_idle(job.wants[partition.name], nodes, cluster)
        known = 0 if found is None else len(found.nodes)
        cluster.fits_alone[key] = known
    return known
