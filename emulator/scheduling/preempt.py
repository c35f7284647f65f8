"""Which runs make room for a job, in which order, and which of them in the end."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from emulator.scheduling.entries import note_full_arrays, of_record
from emulator.scheduling.exempt import is_exempt
from emulator.state.cluster import Cluster
from emulator.state.job import Job
from emulator.state.machine import ALONE, has_rows
from emulator.state.partition import Partition
from emulator.state.run import State
from slurm_sim_plugins.cluster import mode_of
from slurm_sim_plugins.devices import SHARED
from slurm_sim_plugins.nodes import Allocation, Choice, Mask, Want

if TYPE_CHECKING:
    from emulator.scheduling.controls import Controls


def grace_time(job: Job, cluster: Cluster) -> float:
    """Seconds between the choice of a victim and its end: as the plugin says, else its QOS, else its partition."""
    assert job.run is not None
    by_plugin = cluster.policies.grace(job)
    if by_plugin is not None:
        return by_plugin
    quality = job.account.quality if job.account is not None else None
    of_quality = quality.grace_time if quality is not None else 0.0
    return of_quality or cluster.partitions[job.run.partition].grace_time


def preempt_mode(job: Job, cluster: Cluster) -> str:
    """What becomes of a victim: as the plugin says, else the configuration (observation P1)."""
    return cluster.policies.mode(job) or configured_mode(job, cluster)


def configured_mode(job: Job, cluster: Cluster) -> str:
    """What becomes of a victim by its QOS, else its partition, else the cluster."""
    assert job.run is not None
    quality = job.account.quality if job.account is not None else None
    of_quality = mode_of(quality.preempt_mode - {"CLUSTER"}) if quality is not None else None
    of_partition = mode_of(cluster.partitions[job.run.partition].preempt_mode)
    return of_quality or of_partition or mode_of(cluster.parameters.preempt_mode) or "OFF"


def may_be_outranked(job: Job, cluster: Cluster) -> bool:
    """Whether the plugin may name a run as a victim of any job; where it goes by QOS or by tier, these tell."""
    assert job.run is not None
    policies = cluster.policies
    if policies.by_partition:
        return cluster.partitions[job.run.partition].below_another
    if getattr(policies.preempt, "by_qos", False):
        quality = job.account.quality if job.account is not None else None
        modes = (*cluster.parameters.preempt_mode, *(quality.preempt_mode if quality is not None else ()))
        return quality is not None and (quality.preempted or "WITHIN" in modes)
    return policies.names_victims


def make_way(job: Job, chosen: list[Job], controls: Controls, cluster: Cluster, *, again: bool = False) -> bool:
    """Preempt those that were chosen for a job, and whether it could; those whose grace time is over leave.

    It can once in KillWait and MessageTimeout: what it preempted last may not have left before. The tasks of an array
    that wait can so together, as they share a record (recorded).

    Args:
        job: that waits.
        chosen: those that are to leave.
        controls: preempts them.
        cluster: its state.
        again: whether it can though it did so before: in a cycle of backfill each task of an array can.
    """
    last, since = job.made_way, cluster.whole(cluster.now) - cluster.parameters.preempt_pause
    if not chosen or (last is not None and cluster.whole(last) > since and not again):
        return False
    for one in of_record(job, cluster):
        one.made_way = cluster.now
    note_full_arrays(chosen, cluster)
    for victim in chosen:
        controls.preempt(victim, job)
    return True


def candidates(
    job: Job, partition: Partition, cluster: Cluster, again: bool = False, halted: bool = False
) -> list[Job]:
    """Running jobs that may be preempted for a job in a partition, first to go first (P1 to P3).

    Those that the plugin names, but for what the configuration exempts; ``again``: those in their grace time, too;
    ``halted``: those that stand still for others, too.
    With ``PreemptMode=PRIORITY`` that is whatever has a higher priority (recorded).
    """
    if not cluster.policies.names_victims:
        return []
    named = cluster.policies.candidates(job, partition, halted)
    if "PRIORITY" in cluster.parameters.preempt_mode:
        number = job.number_in(partition.name)
        named = [other for other in named if other.run is not None and other.number_in(other.run.partition) <= number]
    return [other for other in named if _can_go(other, cluster, again)]


def _can_go(job: Job, cluster: Cluster, again: bool) -> bool:
    """Whether the configuration lets a run go that a plugin names."""
    if job.state not in (State.RUNNING, State.SUSPENDED) or job.run is None or (job.vacating and not again):
        return False
    if is_exempt(job, cluster) or job.priority > cluster.parameters.preempt_min_exempt_priority:
        return False
    return preempt_mode(job, cluster) != "OFF"


def planned_want(job: Job, partition: Partition, cluster: Cluster, starts: bool = False) -> Want:
    """What a job asks for on nodes that runs have left: from 24.11 on Slurm forgets there which jobs share.

    In 24.11 one of a partition that gives whole nodes is planned on nodes where all jobs share: on idle cores there,
    unless it says --exclusive itself, and where these do not suffice as if no job was there. Nor does a plan know
    there that it would have all CPUs of its nodes, where MaxCPUsPerNode allows it fewer.

    Before 26.05 it also forgets that a GPU is whole or in shares.

    And that tasks have to find room on the nodes of each count of features, and how tasks go round sockets; in 24.11
    that a job which has its nodes for itself, as its partition says, would have their GPUs, and shares of them.
    """
    want, rules = cluster.want(job, partition), cluster.parameters.rules
    forgets_whole = rules.PARTITIONS_ARE_TRIED_APART and not rules.WHOLE_PLANS_KNOW_SHARING
    if forgets_whole and partition.oversubscribe == "EXCLUSIVE" and not job.options.exclusive:
        if any(one[0] in SHARED for one in want.gres):
            want = replace(want, all_gres=False)
        want = want if starts else _within_bound(want, partition, cluster)
    want = replace(want, counts_planned=True) if want.counted_tasks else want
    want = replace(want, of_rounds=False) if want.of_rounds else want
    if not rules.PLANS_KNOW_GPUS and cluster.machine.devices is not None:
        want = replace(want, sharing_forgotten=True)
    if rules.PLANS_FORGET_SHARING and want.unmarked and partition.oversubscribe != "FORCE":
        forgets = rules.WHOLE_PLANS_FORGET_SHARING and not rules.WHOLE_PLANS_KNOW_SHARING
        if partition.oversubscribe == "EXCLUSIVE" and ALONE in want.marks and forgets:
            whole, over_others = bool(job.options.exclusive), not _above(partition, cluster)
            return replace(want, unmarked=(ALONE,), whole=whole, over_others=over_others)
        return replace(want, unmarked=())
    return want


def _within_bound(want: Want, partition: Partition, cluster: Cluster) -> Want:
    """What a job of a partition that gives whole nodes is planned with where MaxCPUsPerNode allows it fewer CPUs.

    It counts with these of each node, though it does not start there: so its nodes are kept in vain.
    """
    machine = cluster.machine
    if not want.pool or want.pool in machine.pools_of_sockets:
        return want
    most = int(machine.pool_cpus(want.pool, machine.gres["", want.pool])[partition.nodes].max(initial=0))
    return replace(want, pool="", per_node=min(want.per_node, most), ranked=min(want.ranked, most))


def _above(partition: Partition, cluster: Cluster) -> bool:
    """Whether there are partitions of a higher tier, whose jobs keep their cores from it."""
    return any(other.tier > partition.tier for other in cluster.partitions.values())


def victims(
    job: Job, partition: Partition, usable: Mask, controls: Controls, cluster: Cluster
) -> tuple[list[Job], Allocation | None]:
    """Which jobs to preempt so that a job fits, also those in their grace time, and what it would have then.

    None if it would not fit (P4, P5).
    """
    leaving = movable(job, partition, cluster)
    if not leaving:
        return [], None
    way = _Way(job, partition, leaving, controls, cluster)
    want = way.with_counts(planned_want(job, partition, cluster, starts=True), usable)
    return ([], None) if want is None else way.victims(want, usable)


class _Way:
    """Makes way for a job: finds the jobs to preempt for what it wants.

    Args:
        job: who preempts.
        partition: where.
        leaving: jobs that would leave their nodes.
        controls: what else decides who may start.
        cluster: its state.
    """

    def __init__(
        self, job: Job, partition: Partition, leaving: list[Job], controls: Controls, cluster: Cluster
    ) -> None:
        self._job, self._partition, self._leaving = job, partition, leaving
        self._controls, self._cluster = controls, cluster

    def with_counts(self, want: Want, usable: Mask) -> Want | None:
        """What is wanted, with nodes for each count of features (``[a*2&b*1]``); None if there are none.

        Those of each count are sought one after the other, and others make way for one only if it has no nodes as they
        are. (Asked of three versions.)
        """
        choice = want.choices[0]
        if not choice.counts or want.required is not None:
            return want
        everywhere, taken = np.ones(len(usable), dtype=bool), self._cluster.no_nodes()
        for mask, count in choice.counts:
            cpus = want.cpus if want.counts_planned else count
            part = replace(want, min_nodes=count, target_nodes=count, cpus=cpus, choices=(Choice(mask),))
            part, left = replace(part, counts_planned=False), usable & mask & ~taken
            found = self._cluster.choose(part, self._cluster.free, left) or self.victims(part, left)[1]
            if found is None:
                return None
            taken |= found.mask(len(taken))
        least = max(want.min_nodes, int(taken.sum()))
        target, choices = max(want.target_nodes, least), (Choice(everywhere),)
        return replace(
            want, required=taken, min_nodes=least, target_nodes=target, choices=choices, counts_planned=False
        )

    def victims(self, want: Want, usable: Mask) -> tuple[list[Job], Allocation | None]:
        """As the function of that name, for what is wanted."""
        cluster, job, partition, rows = self._cluster, self._job, self._partition, self._controls.rows
        # Runs on nodes alone that have not what the job wants of each would be no good to it (recorded).
        order = [other for other in self._leaving if overlaps(other, usable & want.suited)]
        if not order:
            return [], None
        for other in cluster.running.values():
            if other.state is State.COMPLETING and other.run is not None:
                usable = usable & ~other.run.allocation.mask(len(cluster.machine))
        needed: list[Job] = []
        found: Allocation | None = None
        for _ in range(min(_most_tries(cluster), len(self._leaving))):
            free, removed, found = cluster.free.copy(), list[Job](), None
            for candidate in order:
                assert candidate.run is not None
                free.release(left_by(candidate, cluster))
                removed.append(candidate)
                rows.count(free, removed)
                found = cluster.choose(want, free, usable)
                found = found or rows.later(job, partition, usable, free, {other.id for other in removed})
                if found is not None:
                    break
            if found is None:
                return [], None
            nodes = found.mask(len(cluster.machine))
            needed = [other for other in removed if overlaps(other, nodes)]
            last = removed[-1]
            if order[0] is last:
                break
            order = _reordered(order, removed, nodes, cluster)
        return needed, found


def takes_part(job: Job, partition: Partition) -> bool:
    """Whether a job may share resources with others of its partition, as that says."""
    return partition.oversubscribe == "FORCE" or (has_rows(partition) and job.options.share)


def movable(job: Job, partition: Partition, cluster: Cluster, planned: bool = False) -> list[Job]:
    """Those of the candidates that would leave their nodes.

    With GANG what would be suspended is found as rows of cores are compared (SharedRows.over_others). Where jobs take
    turns that could preempt, none leaves if the first would be suspended; but in 22.05 a job that does not share is
    planned as if all did, and keeps these nodes in vain (recorded).
    """
    found = candidates(job, partition, cluster, again=True)
    if "GANG" not in cluster.parameters.preempt_mode:
        return found
    modes = [preempt_mode(other, cluster) for other in found]
    if getattr(cluster.policies.preempt, "takes_turns", False) and modes[:1] == ["SUSPEND"]:
        in_vain = planned and not cluster.parameters.rules.QOS_SUSPENDS_IN_TURN
        return found if in_vain and not takes_part(job, partition) else []
    return [other for other, mode in zip(found, modes, strict=True) if mode != "SUSPEND"]


def left_by(job: Job, cluster: Cluster) -> Allocation:
    """What a job leaves if it is preempted: one that is suspended then keeps memory and generic resources."""
    assert job.run is not None
    return job.run.cores if preempt_mode(job, cluster) == "SUSPEND" else cluster.has(job)


def license_victims(job: Job, partition: Partition, usable: Mask, cluster: Cluster) -> list[Job]:
    """Which jobs to preempt so that a job has its licences, and nodes; none if it would not have them anyway or soon.

    Tried are those that have such licences, in their order; then the others too, for their nodes.
    """
    machine, want = cluster.machine, planned_want(job, partition, cluster, starts=True)
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
    found = cluster.choose(want, cluster.free_without([*gone, *chosen]), usable)
    if found is not None:
        return chosen
    more = [other for other in order if other not in chosen and overlaps(other, usable)]
    for count in range(1, len(more) + 1):
        found = cluster.choose(want, cluster.free_without([*gone, *chosen, *more[:count]]), usable)
        if found is not None:
            nodes = found.mask(len(machine))
            return [*chosen, *(other for other in more[:count] if overlaps(other, nodes))]
    return []


def _most_tries(cluster: Cluster) -> int:
    """How often the order is tried: one that was reordered reorder_count times is so once more.

    select/linear reorders once. (Slurm's sources of 22.05 and 24.11; recorded.)
    """
    return 2 if cluster.nodes_for.whole_nodes else cluster.parameters.preempt_reorder_count + 2


def _reordered(order: list[Job], removed: list[Job], nodes: Mask, cluster: Cluster) -> list[Job]:
    """The order of another attempt: the one first that made it fit.

    Of those that were removed before it the one that has most of the nodes that were found comes next, unless
    the order is to be kept, or the plugin that made it says nothing of that.
    """
    *before, last = removed
    if getattr(cluster.policies.preempt, "reorders", False) and not cluster.parameters.preempt_strict_order:
        before.sort(key=lambda other: -_shared(other, nodes))
    return [last, *before, *order[len(removed) :]]


def _shared(job: Job, nodes: Mask) -> int:
    assert job.run is not None
    return int(nodes[job.run.allocation.where].sum())


def overlaps(job: Job, nodes: Mask) -> bool:
    """Whether a job runs on some of these nodes."""
    assert job.run is not None
    return bool(nodes[job.run.allocation.where].any())
