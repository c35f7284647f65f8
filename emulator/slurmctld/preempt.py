"""Who has to make room for a job, in which order, and which of them in the end."""

from __future__ import annotations

from collections import Counter

from emulator.slurmctld import preempt_qos
from emulator.slurmctld.cluster import Cluster
from emulator.slurmctld.job import Job, Partition, State
from emulator.slurmctld.node_select import select_nodes
from emulator.slurmctld.nodes import Mask

BY_QOS = "preempt/qos"


def grace_time(job: Job, cluster: Cluster) -> float:
    """Seconds between the choice of a victim and its end: of its quality of service, or of its partition."""
    assert job.run is not None
    if cluster.parameters.preempt_type == BY_QOS:
        return preempt_qos.grace_of_quality(job)
    return cluster.partitions[job.run.partition].grace_time


def preempt_mode(job: Job, cluster: Cluster) -> str:
    """What becomes of a victim: its partition says, else the cluster (observation P1)."""
    assert job.run is not None
    by_qos = preempt_qos.mode_of_quality(job) if cluster.parameters.preempt_type == BY_QOS else ""
    if by_qos:
        return by_qos
    stated = cluster.partitions[job.run.partition].preempt_mode or cluster.parameters.preempt_mode
    for mode in ("OFF", "CANCEL", "REQUEUE", "CHECKPOINT", "SUSPEND"):
        if mode in stated:
            return mode
    return "OFF"


def may_preempt(cluster: Cluster) -> bool:
    """Whether there may be any candidates at all."""
    named = cluster.policies is not None and cluster.policies.names_victims
    return named or cluster.parameters.preempt_type not in ("", "preempt/none")


def candidates(job: Job, partition: Partition, cluster: Cluster) -> list[Job]:
    """Running jobs that may be preempted for a job in a partition, first to go first (P1 to P3)."""
    parameters, policies = cluster.parameters, cluster.policies
    if policies is not None and policies.names_victims:
        return [other for other in policies.candidates(job, cluster.now) if _can_go(other, cluster)]
    if parameters.preempt_type == BY_QOS:
        # With gang scheduling jobs take turns instead (observation J5).
        return [] if "GANG" in parameters.preempt_mode else _by_qos(job, cluster)
    if parameters.preempt_type in ("", "preempt/none") or not cluster.outranks(partition):
        return []
    if not any(count and cluster.partitions[name].tier < partition.tier for name, count in cluster.in_use.items()):
        return []
    found = [
        other
        for other in cluster.running.values()
        if other.state is State.RUNNING and other.run is not None and not other.vacating
        if cluster.partitions[other.run.partition].tier < partition.tier
        if preempt_mode(other, cluster) != "OFF"
        if _overlaps(other, partition.nodes)
        if other.priority < parameters.preempt_min_exempt_priority
        if cluster.now - other.run.start >= parameters.preempt_exempt_time
    ]
    if parameters.preempt_youngest_first:
        return sorted(found, key=lambda other: (-other.run.start, other.id) if other.run else (0.0, 0))
    return sorted(found, key=lambda other: _rank(other, cluster))


def _by_qos(job: Job, cluster: Cluster) -> list[Job]:
    most = cluster.parameters.preempt_min_exempt_priority
    found = [other for other in preempt_qos.candidates(job, cluster) if other.priority < most]
    found = [other for other in found if preempt_mode(other, cluster) != "OFF"]
    if cluster.parameters.preempt_youngest_first:
        return sorted(found, key=lambda other: (-other.run.start, other.id) if other.run else (0.0, 0))
    return sorted(found, key=preempt_qos.rank)


def _can_go(job: Job, cluster: Cluster) -> bool:
    return (
        job.state is State.RUNNING and job.run is not None and not job.vacating and preempt_mode(job, cluster) != "OFF"
    )


def _rank(job: Job, cluster: Cluster) -> tuple[int, int, int]:
    assert job.run is not None
    return cluster.partitions[job.run.partition].tier, len(job.run.allocation.nodes), job.id


def victims(job: Job, partition: Partition, usable: Mask, cluster: Cluster) -> list[Job]:
    """Whom to preempt so that a job fits; nobody if it would not fit anyway, or soon fits without that (P4, P5)."""
    order = [other for other in candidates(job, partition, cluster) if _overlaps(other, usable)]
    if not order:
        return []
    want, machine = job.wants[partition.name], cluster.machine
    soon = cluster.free_without([other for other in cluster.running.values() if other.vacating])
    if select_nodes(want, machine, soon, usable) is not None:
        return []
    needed: list[Job] = []
    for _ in range(cluster.parameters.preempt_reorder_count + 1):
        free, removed, found = soon.copy(), [], None
        for candidate in order:
            assert candidate.run is not None
            free.release(candidate.run.allocation)
            removed.append(candidate)
            found = select_nodes(want, machine, free, usable)
            if found is not None:
                break
        if found is None:
            return []
        needed = [other for other in removed if _overlaps(other, found.mask(len(machine)))]
        last = removed[-1]
        if order[0] is last:
            break
        order = _reordered(order, removed, usable, cluster)
    return needed


def license_victims(job: Job, partition: Partition, usable: Mask, cluster: Cluster) -> list[Job]:
    """Whom to preempt so that a job has its licences, and nodes; nobody if it would not have them anyway or soon.

    Tried are those who have such licences, in their order; then the others too, for their nodes.
    """
    machine, want = cluster.machine, job.wants[partition.name]
    gone = [other for other in cluster.running.values() if other.vacating]
    lacking = Counter({name: count + cluster.licenses[name][1] for name, count in job.options.licenses})
    lacking.subtract({name: cluster.licenses[name][0] for name in lacking})
    for other in gone:
        lacking.subtract({name: count for name, count in other.options.licenses if name in lacking})
    chosen: list[Job] = []
    order = candidates(job, partition, cluster)
    for other in order:
        has = {name: count for name, count in other.options.licenses if name in lacking}
        if any(lacking[name] > 0 for name in has):
            lacking.subtract(has)
            chosen.append(other)
    if max(lacking.values()) > 0 or not chosen:
        return []
    found = select_nodes(want, machine, cluster.free_without([*gone, *chosen]), usable)
    if found is not None:
        return chosen
    more = [other for other in order if other not in chosen and _overlaps(other, usable)]
    for count in range(1, len(more) + 1):
        found = select_nodes(want, machine, cluster.free_without([*gone, *chosen, *more[:count]]), usable)
        if found is not None:
            nodes = found.mask(len(machine))
            return [*chosen, *(other for other in more[:count] if _overlaps(other, nodes))]
    return []


def _reordered(order: list[Job], removed: list[Job], usable: Mask, cluster: Cluster) -> list[Job]:
    """The order of another attempt: the one first that made it fit.

    Of those that were removed before it who has most nodes that are of use comes next, unless
    the order is to be kept, or was made by a plugin.
    """
    *before, last = removed
    kept = cluster.parameters.preempt_strict_order
    if not kept and not (cluster.policies is not None and cluster.policies.names_victims):
        before.sort(key=lambda other: -_shared(other, usable))
    return [last, *before, *order[len(removed) :]]


def _shared(job: Job, nodes: Mask) -> int:
    assert job.run is not None
    return int(nodes[list(job.run.allocation.nodes)].sum())


def _overlaps(job: Job, nodes: Mask) -> bool:
    assert job.run is not None
    return bool(nodes[list(job.run.allocation.nodes)].any())
