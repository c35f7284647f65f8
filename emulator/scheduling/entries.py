"""The queue: pairs of job and partition in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain

import numpy as np

from emulator.config.slurm.versions import Rules
from emulator.scheduling.dependency import Met, dependencies_met
from emulator.scheduling.job_mgr import REFUSALS, partition_reason
from emulator.scheduling.reasons import fits_alone, reason_of_nodes
from emulator.state.cluster import Cluster, of_one_user
from emulator.state.job import RESOURCES, Job
from emulator.state.partition import PARTITION_CONFIG, Partition
from emulator.state.reservations import Reservations
from emulator.state.run import State
from emulator.state.wants import BAD_CONSTRAINTS

Pair = tuple[Job, Partition]
NEVER_SATISFIED = "DependencyNeverSatisfied"
TOO_LONG = "MaxWallDurationPerJobLimit"
"""How the reasons end that say of a job that an association or a quality of service allows none so long."""


def refresh_eligibility(cluster: Cluster, reservations: Reservations) -> Iterator[Job]:
    """Say of each waiting job whether it may be scheduled, and why not.

    Yields those that never can be: they must go before the next is looked at, which may wait for their end.
    """
    for job in list(cluster.unsettled.values()):
        refresh(job, cluster, reservations)
        cluster.order.settle(job)
        if job.eligible is not None and job.options.array is None and not _is_bounded(job):
            del cluster.unsettled[job.id]
        if is_given_up(job, cluster):
            yield job


def is_given_up(job: Job, cluster: Cluster) -> bool:
    """Whether what a job depends on cannot be any more, and it ends then.

    Of a job on hold Slurm finds that out as it purges jobs.
    """
    asked = job.options.kill_on_invalid_dependency
    if not (cluster.parameters.kill_invalid_depend if asked is None else asked):
        return False
    on_hold = bool(job.held_by and job.request.options.dependencies)
    return dependencies_met(job, cluster) is Met.NEVER if on_hold else job.reason == NEVER_SATISFIED


def forget_settled(job: Job, cluster: Cluster) -> None:
    """Of a job that was just submitted and may be scheduled, nothing is left to be found out."""
    options = job.request.options
    waits_for_more = options.dependencies or options.reservation or options.array is not None or _is_bounded(job)
    if job.eligible is not None and not waits_for_more and job.reason not in PASSING:
        del cluster.unsettled[job.id]


def refresh(job: Job, cluster: Cluster, reservations: Reservations, enters: bool = False) -> None:
    """Say of a waiting job whether it may be scheduled, and why not.

    Args:
        job: the job.
        cluster: the cluster state.
        reservations: by name.
        enters: whether it was just submitted: whether an array may be scheduled only a pass asks, so it grows no older.
    """
    reason = _obstacle(job, cluster, reservations)
    if reason:
        job.reason = reason
        job.eligible = job.eligible if reason == "JobArrayTaskLimit" else None
        return
    if job.eligible is None:
        # The pass that finds it out may come later.
        job.eligible = job.begin if job.reason == "BeginTime" else cluster.now
        if not (enters and job.options.array is not None):
            _grow_older(job, cluster, job.eligible)
    elif job.accrue is None and job.options.array is not None:
        _grow_older(job, cluster, cluster.now)
    bounds = [partition_reason(job, partition) for partition in job.partitions]
    if enters and not all(bounds):
        bounds = [None]  # Which partitions do not take it, only a pass says.
    for bound in bounds:
        if bound is not None:
            job.reason = bound
        elif job.reason in PASSING and job.reason != "JobArrayTaskLimit":
            # That stays until a task is tried.
            job.reason = "None"


def _is_bounded(job: Job) -> bool:
    """Whether some of several partitions do not take a job: each time that it is queued it shows the last that says so.

    One that takes it and goes behind these takes that away again.
    """
    return len(job.partitions) > 1 and any(partition_reason(job, partition) for partition in job.partitions)


def _grow_older(job: Job, cluster: Cluster, since: float) -> None:
    """A job's age counts from a time on, unless a limit keeps it from that."""
    if job.accrue is None and (cluster.accounting is None or cluster.accounting.ageing.may(job)):
        job.accrue = since


def first_reason(job: Job, cluster: Cluster, reservations: Reservations) -> str:
    """What a job shows that was just submitted, before it is tried; of several reservations it is in the first."""
    with drawn(job, job.reservations[0] if job.names_several else ""):
        return _first_reason(job, cluster, reservations)


def _first_reason(job: Job, cluster: Cluster, reservations: Reservations) -> str:
    refresh(job, cluster, reservations, enters=True)
    if job.reason in ("BeginTime", "Dependency") and all(partition_reason(job, each) for each in job.partitions):
        return PARTITION_CONFIG  # Bounds of partitions are looked at whether or not it may be scheduled.
    if job.reason not in ("None", "BeginTime", "Dependency"):
        # Which bound it is, only a pass says.
        return PARTITION_CONFIG if job.reason in REFUSALS else job.reason
    limited = _limit(job, cluster)
    # Whether it is too long is known before nodes are looked for, other limits behind that (recorded).
    if not limited.endswith(TOO_LONG) and _lacks_open_nodes(job, cluster):
        return RESOURCES
    if limited:
        return limited  # A pass says again that it waits for others or its time.
    if job.reason != "None":
        return job.reason
    if cluster.parts_users(job) and _lacks_nodes_of_others(job, cluster):
        return RESOURCES
    if reservations.by_name or not cluster.machine.all_up:
        unreserved = ~reservations.kept_from(job, cluster.now, job.plan_limit)
        reason = reason_of_nodes(job, job.partitions[0], cluster, unreserved, cluster.no_nodes(), enters=True)
        if reason != RESOURCES:
            return reason
    if job.options.array is not None or job.request.het_job_id is not None:
        return "None"  # Whether tasks or components stand behind others is not asked (recorded).
    return "Priority" if _is_behind(job, cluster) else "None"


def _is_behind(job: Job, cluster: Cluster) -> bool:
    """Whether a new job is found to stand behind another; that is not asked where nothing would be tried now."""
    rules = cluster.parameters.rules
    if cluster.parameters.defer or any(cluster.just_ended()):
        return False
    if not (rules.LACKING_LICENSES_ARE_RANKED or cluster.licenses_free(job)):
        return False
    lowest, age = min(each.tier for each in job.partitions), cluster.parameters.bf_min_age_reserve
    not_ahead = (*NOT_AHEAD, *AT_MAXIMA) if rules.PRIORITY_WHERE_NODES_OVERLAP else NOT_AHEAD
    # One of the highest rank is the likeliest, and any one is enough.
    ranked = (other for _, other, _ in cluster.order.by_rank())
    # The cheapest question comes first: most new jobs are asked about all that wait.
    for other in chain(ranked, cluster.waiting.values()):
        if other.eligible is None or not _goes_before(other, job, lowest, rules):
            continue
        if not other.reason.startswith(not_ahead) and (not age or waited(other, cluster) >= age):
            return True
    return False


def _goes_before(other: Job, job: Job, lowest: int, rules: Rules) -> bool:
    """Whether a waiting job goes before a new one: by the tiers of their partitions, then by their numbers.

    From 24.11 on the highest tier of the one and the lowest of the other count, and of equal numbers the older one goes
    before; where their partitions have no node in common, neither does.
    """
    if not rules.PRIORITY_WHERE_NODES_OVERLAP:
        return other.priority > job.priority
    partitions = other.partitions
    highest = partitions[0].tier if len(partitions) == 1 else max(each.tier for each in partitions)
    if highest < lowest or (highest == lowest and other.priority < job.priority):
        return False
    if (other.options.reservation or "") != (job.options.reservation or ""):
        return False
    if partitions == job.partitions:
        return True
    return any(_share_nodes(one, each) for one in partitions for each in job.partitions)


def waited(job: Job, cluster: Cluster) -> float:
    """For how long a job may have started, in whole seconds."""
    return cluster.whole(cluster.now) - cluster.whole(job.submitted if job.eligible is None else job.eligible)


def _limit(job: Job, cluster: Cluster) -> str:
    """The limit that keeps a new job waiting, or keeps it from as many nodes as it needs; empty for none."""
    accounting, first = cluster.accounting, job.partitions[0]
    if accounting is None:
        return ""
    limited = accounting.obstacle(job, first)
    if not limited and accounting.most_nodes(job, first) < job.wants[first.name].min_nodes:
        limited = accounting.refusal(job, first)
    return limited


def _lacks_nodes_of_others(job: Job, cluster: Cluster) -> bool:
    """Whether a job has too few nodes because others of its partition are for jobs of one other user alone."""
    first = job.partitions[0]
    fewest, open_nodes = job.wants[first.name].min_nodes, cluster.usable(job, first)
    return int(np.count_nonzero(open_nodes)) < fewest <= int(np.count_nonzero(cluster.up_in(first)))


def _lacks_open_nodes(job: Job, cluster: Cluster) -> bool:
    """Whether too few nodes are open to a job: Slurm looks for these before all else (recorded).

    Those are without jobs of other users, where a user has nodes alone; idle for a job that wants whole nodes and does
    not share them; for any other, where nothing may be preempted, those that no job has for itself.
    """
    first = job.partitions[0]
    want = job.wants[first.name]
    if want.required is not None and (want.required & ~cluster.machine.up).any():
        return False  # That nodes it names are down or drained is found before.
    one_user, preempts = of_one_user(job, first), cluster.parameters.preempt_mode != ("OFF",)
    if not (want.whole or one_user) and (preempts or not cluster.any_unshared):
        return False  # As of most jobs, of which no nodes are asked.
    of_user = cluster.usable(job, first)
    if want.whole and not cluster.shares_whole_nodes(job, first):
        idle = of_user & (cluster.free.jobs == 0)
        return int(np.count_nonzero(idle)) < want.min_nodes or int(cluster.machine.cpus[idle].sum()) < want.cpus
    if one_user and int(np.count_nonzero(of_user)) < want.min_nodes:
        return True
    if preempts:
        return False
    unshared = first.nodes & cluster.unshared()
    if want.whole:
        return int(np.count_nonzero(of_user & ~unshared)) < want.min_nodes
    return bool(unshared.any()) and not fits_alone(job, first, cluster, of_user & ~unshared)


NOT_AHEAD = (
    *("Assoc", "QOS", "ReqNodeNotAvail", "JobArrayTaskLimit"),
    *("PartitionDown", "PartitionInactive", "PartitionNodeLimit", "PartitionTimeLimit"),
)
"""Reasons of jobs behind which a new one does not stand, by their beginnings."""
AT_MAXIMA = ("Max",)
"""More of them from 24.11 on: of limits of a user's or an account's jobs, such as ``MaxJobsPerAccount``."""


def _share_nodes(one: Partition, other: Partition) -> bool:
    return one is other or bool((one.nodes & other.nodes).any())


OBSTACLES = (
    "JobHeldUser",
    "JobHeldAdmin",
    "BeginTime",
    "Dependency",
    NEVER_SATISFIED,
    "JobArrayTaskLimit",
    "Reservation",
    "ReservationDeleted",
)
BOUNDS = ("PartitionDown", "PartitionInactive", BAD_CONSTRAINTS, *REFUSALS)
PASSING = frozenset((*OBSTACLES, *BOUNDS))


def _obstacle(job: Job, cluster: Cluster, reservations: Reservations) -> str:
    options = job.request.options
    if job.held_by:
        own = reservations.of(job) if job.held_by == BAD_CONSTRAINTS else None
        if own is not None and cluster.now >= own.end + 1.0:
            # It was held for its reservation, which has been over for a second (recorded on 22.05).
            job.held_by = "JobHeldAdmin"
        return job.held_by
    if options.dependencies and (met := dependencies_met(job, cluster)) is not Met.YES:
        return "Dependency" if met is Met.NOT_YET else NEVER_SATISFIED
    if options.array is not None and array_full(job, cluster):
        return "JobArrayTaskLimit"
    if job.begin > cluster.now:
        return "BeginTime"
    if options.reservation and reservations.lacks(job):
        return "ReservationDeleted"
    own = reservations.of(job) if options.reservation else None
    if own is not None and "FLEX" not in own.flags and not own.start <= cluster.now < own.end + 1.0:
        return "Reservation"  # It has yet to begin, or is over, and the next sweep removes it.
    if own is not None and not own.admits(job):
        return "Reservation"  # An operator has changed whose it is (recorded on 22.05).
    return ""


@contextmanager
def drawn(job: Job, reservation: str) -> Iterator[None]:
    """A job is tried in a reservation that draws it, or in none (an empty name); it stays there if it starts.

    So is one that names several, in each of them.

    One that has started in the same pass stands in others of its entries, too.
    """
    if job.state is State.PENDING:
        job.drawn = reservation
    try:
        yield
    finally:
        if job.state is State.PENDING:
            job.drawn = ""


def of_record(job: Job, cluster: Cluster) -> list[Job]:
    """The jobs of a record: tasks of an array that have not run share one."""
    array = job.request.array
    if array is None or not job.waits_with_others:
        return [job]
    return [one for one in cluster.tasks[array] if one.waits_with_others and one.id in cluster.waiting]


def first_of_record(job: Job, cluster: Cluster) -> Job:
    """The job that starts where a task is found room for: of those that share a record, and may start, the first.

    Backfill may have planned that for later, as its nodes are being cleared, and then found others for the next one.
    """
    if not job.waits_with_others:
        return job
    tasks = cluster.tasks[job.request.array or 0]
    place = tasks.index(job)
    while place and _may_start_of_record(tasks[place - 1], cluster):
        place -= 1
    return tasks[place]


def _may_start_of_record(job: Job, cluster: Cluster) -> bool:
    return job.waits_with_others and job.eligible is not None and job.id in cluster.waiting


def leave_record(job: Job, cluster: Cluster) -> None:
    """A job starts: the record that the other tasks of its array get has preempted none."""
    if job.made_way is None or job.request.array is None:
        return
    for other in cluster.tasks[job.request.array]:
        if other.waits_with_others:
            other.made_way = None


def array_full(job: Job, cluster: Cluster, planned: int = 0) -> bool:
    """Whether as many tasks of its array are on the machine, or planned, as may be (observation Q11).

    Also where that was so as the pass, or the cycle, began in which some of them are preempted (recorded).
    """
    array, number = job.request.options.array, job.request.array or 0
    if array is None or not array.limit:
        return False
    return array.limit <= cluster.array_tasks[number] + planned or cluster.freed_arrays.get(number) == cluster.now


def note_full_arrays(victims: Sequence[Job], cluster: Cluster) -> None:
    """Jobs are about to be preempted: other tasks of arrays of which no more may run wait for the next pass."""
    for victim in victims:
        if array_full(victim, cluster):
            cluster.freed_arrays[victim.request.array or 0] = cluster.now


def queue(cluster: Cluster) -> list[Pair]:
    """Eligible jobs: by tier of the partition, then priority, then id (observation Q7)."""
    return [(job, partition) for _, job, partition in cluster.order.pairs()]


def still_waits(job: Job, cluster: Cluster) -> bool:
    """Whether it has not been started since the queue was made, nor as many other tasks of its array as may be."""
    if job.state is not State.PENDING:
        return False
    return job.request.options.array is None or not array_full(job, cluster)
