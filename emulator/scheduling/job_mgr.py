"""Submissions: what a job wants of the machine, or why it is refused."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from emulator.config.slurm.versions import Rules
from emulator.scheduling.named_partitions import barred, partitions_of, wants_reservation
from emulator.scheduling.no_switch import is_beyond_switches
from emulator.state.asked import INVALID_GRES, check_gres, known_nodes, nodes_by_tasks
from emulator.state.cluster import Cluster
from emulator.state.demand import demand_of
from emulator.state.features import choices
from emulator.state.job import NOTHING, Job
from emulator.state.partition import PARTITION_CONFIG, PARTITION_NODES, Partition
from emulator.state.shared_gres import counting_shares
from emulator.state.wants import (
    BAD_CONSTRAINTS,
    NO_SWITCH,
    TOO_MUCH_MEMORY,
    check_features,
    large_enough,
    memory_of_nodes,
    want_of,
)
from emulator.workload.request import UNLIMITED, JobRequest, RejectedError
from emulator.workload.sbatch import BatchOptions, with_tasks_of_shape
from slurm_sim_plugins.decisions import Plan
from slurm_sim_plugins.nodes import FAR, Allocation, Choice, Mask, Want

if TYPE_CHECKING:
    from emulator.limits.accounting import Accounting

MINUTE = 60.0
NOT_AVAILABLE = "Requested node configuration is not available"
UNAVAILABLE = (NOT_AVAILABLE, NO_SWITCH)
"""Words that end what Slurm says of jobs for which there are no nodes."""
SEVERAL_RESERVATIONS = "Slurm's own main loop alone tries a job in several reservations, not a plugin with schedule"
NOT_ENOUGH_CPUS = "CPU count per node can not be satisfied"
NOT_ENOUGH_MEMORY = "Memory specification can not be satisfied"
PARTITION_TIME = "PartitionTimeLimit"
TIME_MIN_INVALID = "Invalid time-min specification (exceeds job's time or other limits)"
NOT_IN_PARTITION = "Requested nodes not in this partition"
NOT_CONFIGURED = "Requested partition configuration not available now"
REFUSALS = {
    PARTITION_TIME: "Requested time limit is invalid (missing or exceeds some limit)",
    PARTITION_CONFIG: "More processors requested than permitted",
    PARTITION_NODES: "Node count specification invalid",
    TOO_MUCH_MEMORY: "Memory required by task is not available",
}
"""Slurm's words for a submission beyond a partition's bounds, by the reason with which it would wait."""


MOST_KNOWN = 4096
"""So many kinds of submissions are known as good at most."""


def make_job(request: JobRequest, cluster: Cluster, updated: bool = False) -> Job:
    """The job of a submission; where it does not matter who submits, what asks for the same becomes the same.

    Args:
        request: what is asked for.
        cluster: the cluster state.
        updated: that is an update of a job, of which Slurm does not ask whether there are nodes for it.

    Raises:
        RejectedError: Slurm would refuse it.
    """
    options, good = request.options, cluster.known_good
    alike = _are_alike(cluster)
    like = good.get(options) if good and alike else None
    if like is not None:
        partitions, wants, limit, time_min, plan, number = like
        job = Job(request, partitions, wants, limit, time_min, request_class=number, plan=plan)
        job.submitted = cluster.now
    else:
        job = _checked(request, cluster, updated)
        if alike and job.options is options and not (updated or job.unfit or options.reservation):
            if len(good) == MOST_KNOWN:
                good.clear()
            good[options] = job.partitions, job.wants, job.limit, job.time_min, job.plan, job.request_class
    if options.held:
        job.held_by = "JobHeldUser"
    job.begin = cluster.now + options.begin if options.begin else cluster.now
    if options.deadline is not None:
        job.deadline = cluster.second_of(cluster.now + options.deadline)
    return job


def _are_alike(cluster: Cluster) -> bool:
    """Whether submissions of any users that ask for the same become the same; limits of accounts come later."""
    return not cluster.groups and (cluster.accounting is None or not cluster.accounting.lifts)


def _checked(request: JobRequest, cluster: Cluster, updated: bool) -> Job:
    if request.options.hint:
        request = replace(request, options=_beside_hint(request.options, cluster.parameters.rules))
    _check_words(request, cluster)
    most = _fewer_than_named(request.options, cluster)
    if most and not updated:
        raise RejectedError(f"invalid number of nodes (-N {len(request.options.node_list)}-{most})")
    _check_names(request, cluster)
    named = partitions = partitions_of(request, cluster, updated)
    # The bounds of its partitions are looked at before it is refused for features.
    missing = None if updated else _unknown_features(request.options, cluster)
    request = request if missing is None else _without_features(request)
    closed = barred(request, partitions, cluster)
    lifted = NOTHING if cluster.accounting is None else cluster.accounting.lifted(request, partitions[0].name)
    request_class = cluster.classes.setdefault(_alike(request.options, lifted), len(cluster.classes))
    wants = {
        partition.name: _known_want(request_class, request, partition, cluster, lifted) for partition in partitions
    }
    # Another job that an update leaves without nodes is put on hold as the main loop comes to it.
    unchecked = (updated or cluster.parameters.ignore_constraint_validation) and bool(request.options.constraint)
    if unchecked:
        _without_nodes(request_class, wants, partitions, cluster)
    soft = cluster.parameters.time_min_as_soft_limit
    time_min = _minutes(request.options.time_min) if request.options.time_min is not None else None
    partitions = sorted(partitions, key=lambda partition: -partition.tier)
    key: tuple[int | str, ...] = (request_class, *(partition.name for partition in partitions))
    shared_partitions, shared_wants = cluster.shared.setdefault(key, (partitions, wants))
    job = Job(
        request=request,
        partitions=shared_partitions,
        wants=shared_wants,
        limit=limit_of(request, named[0]),
        time_min=None if soft else time_min,
        plan=Plan(time_min, time_min, time_min) if soft and time_min is not None else None,
        submitted=cluster.now,
        request_class=request_class,
        lifted=lifted,
        barred=closed,
    )
    stay_alone(job, partitions[:1], cluster)
    _check_bounds(job, named, None if updated else cluster.accounting, cluster)
    _check_in_turn(job, cluster, missing, updated)
    if missing is not None:
        job.unfit = str(missing)  # What limits deny is looked at before.
        return job
    if most:
        job.unfit = _words_for(job, partitions[-1], cluster)
    unchecked = unchecked or updated or _is_not_asked(job, cluster) or _is_too_long_to_bound(job, cluster)
    fits = _fits_as_preferred(request.options, wants, partitions, cluster)
    if fits is None:
        fits = _fits_in_one(job, partitions, cluster)
    if cluster.parameters.enforce_part_limits == "ALL":
        stay_alone(job, partitions, cluster)
    if not unchecked and not fits and not stops_at_busy(job, partitions[-1], cluster):
        lack = lack_of(job, partitions[-1], cluster, partitions[-1].nodes)
        words = _words_for(job, partitions[-1], cluster)
        job.unfit = f"{lack}\n{words}" if lack else words
        # What it depends on is looked at before its nodes, and whether it may use a reservation.
        at_once = cluster.accounting is None and not (request.options.reservation or request.options.dependencies)
        if at_once and (lack or not _names_nodes(job)):
            raise RejectedError(job.unfit)
    return job


def _beside_hint(options: BatchOptions, rules: Rules) -> BatchOptions:
    """What a hint leaves of sockets and cores that are asked for, or they of it."""
    if options.sockets is None and options.cores_per_socket is None:
        return options
    if rules.SHAPES_OUTDO_HINTS:
        return with_tasks_of_shape(replace(options, hint=""))
    return with_tasks_of_shape(replace(options, sockets=None, cores_per_socket=None))


def take_in(job: Job, changed: Job) -> None:
    """A waiting job asks for what another one asks for, which was made for that."""
    job.request, job.partitions, job.wants = changed.request, changed.partitions, changed.wants
    job.request_class, job.time_min, job.lifted = changed.request_class, changed.time_min, changed.lifted
    job.barred, job.unfit, job.entries = changed.barred, changed.unfit, ()


def _check_bounds(job: Job, named: list[Partition], accounting: Accounting | None, cluster: Cluster) -> None:
    """Refuse a job without an account, one beyond the bounds of partitions, and one whose account they do not take."""
    account = None if accounting is None else accounting.account_of(job)
    _check_limits(job, named, cluster)
    if accounting is not None and account is not None:
        accounting.access.checked(job, account)


def _check_in_turn(job: Job, cluster: Cluster, missing: RejectedError | None, updated: bool) -> None:
    """Refuse a job for any fault but bounds of partitions; the message names the first (asked of three versions).

    Args:
        job: that is submitted, or updated.
        cluster: the cluster state.
        missing: how 22.05 refuses features that no node has.
        updated: that is an update, of which less is asked.
    """
    options, partitions, rules = job.options, job.partitions, cluster.parameters.rules
    early = rules.DEADLINES_LEAVE_TIME
    _check_times(job, partitions)
    if early and not updated:
        _check_deadline(options, partitions[0], early)
    _check_licenses(job.request, cluster)
    _check_gpus(options, partitions, job.lifted, rules)
    _check_tasks(job, cluster)
    known_nodes(options.exclude, cluster)
    if not updated:
        _check_excluded(options)
    if missing is not None and cluster.accounting is None:
        raise missing
    if not (early or updated or missing):
        _check_deadline(options, partitions[0], early)


def _fits_in_one(job: Job, partitions: Iterable[Partition], cluster: Cluster) -> bool:
    """Whether a submission fits into any of its partitions, each with what those before it made of it.

    Of several it fits into none that is too small for it. Before 26.05 one that is too small by MaxNodes lets it wait
    if it is tried last. (Asked of three versions.)
    """
    for partition in partitions:
        stay_alone(job, [partition], cluster)
        if fits_empty(job.request_class, job.wants[partition.name], partition, cluster) and not _is_too_small(
            job, partition
        ):
            return True
    last = job.partitions[-1]
    if len(job.partitions) == 1 or cluster.parameters.rules.LARGE_JOBS_WAIT or _bound(job, last) != PARTITION_NODES:
        return False
    return fits_idle(replace(job.wants[last.name], pool="", never=""), last.nodes, cluster)


def _is_too_small(job: Job, partition: Partition) -> bool:
    """Whether one of several partitions is too small for a job."""
    return len(job.partitions) > 1 and _closed_to(job, partition) in (PARTITION_CONFIG, PARTITION_NODES)


def _names_nodes(job: Job) -> bool:
    """Whether a job names nodes in all of its partitions."""
    return all(job.wants[partition.name].required is not None for partition in job.partitions)


def _is_not_asked(job: Job, cluster: Cluster) -> bool:
    """Whether Slurm does not ask if there are nodes for a job: it is held, or its only partition bars it.

    Or its reservation, which binds it, has yet to begin.
    """
    own = cluster.reservations.get(job.options.reservation)
    to_come = own is not None and "FLEX" not in own.flags and own.start > cluster.now
    return job.options.held or is_barred(job, cluster) or to_come


def _is_too_long_to_bound(job: Job, cluster: Cluster) -> bool:
    """Whether a job is beyond the time of its partition, and so MaxMemPerCPU does not raise its CPUs (recorded).

    Of such a job it is not asked here whether it would fit without that.
    """
    partition = job.partitions[0]
    return bool(partition.max_memory_per_cpu) and partition_reason(job, partition) == PARTITION_TIME


def is_barred(job: Job, cluster: Cluster) -> bool:
    """Whether the bounds of its only partition keep a job waiting, even if there are no nodes for it.

    In 26.05 also those of all its partitions, if each is too small for it.
    """
    rules, partition = cluster.parameters.rules, job.partitions[0]
    if len(job.partitions) > 1:
        sizes = {partition_reason(job, one) for one in job.partitions}
        return rules.LARGE_JOBS_WAIT and sizes <= {PARTITION_CONFIG, PARTITION_NODES}
    reason = partition_reason(job, partition, least=False)
    if reason in (PARTITION_CONFIG, PARTITION_NODES) and rules.LARGE_JOBS_MUST_FIT and not rules.LARGE_JOBS_WAIT:
        want, most = job.wants[partition.name], partition.max_nodes
        if want.most_nodes is not None and want.most_nodes < partition.min_nodes:
            # No node is large enough for it, or it excludes those: so it is refused.
            return any(bool((choice.mask & partition.nodes).any()) for choice in want.choices)
        if most is None or _with_named(want) <= most:
            return False
        return bool((large_enough(job.options, partition, cluster) & partition.nodes).any())
    if rules.LONG_JOBS_MUST_FIT:
        return reason == "PartitionDown" or (reason in REFUSALS and reason not in (PARTITION_TIME, TOO_MUCH_MEMORY))
    return reason in REFUSALS


def stops_at_busy(job: Job, partition: Partition, cluster: Cluster) -> bool:
    """Whether others keep the nodes for a count of a feature from a job: those behind it are not tried then.

    So it waits, though there may not be enough nodes for these, or too many for it (asked of 24.11 and 26.05). From a
    job of whole nodes any other keeps them. Where all share (FORCE) neither is so: a job with whole nodes keeps none.
    """
    want = job.wants[partition.name]
    there = partition.nodes & large_enough(job.options, partition, cluster)
    alone = want.whole and not cluster.shares_whole_nodes(job, partition)
    kept = cluster.free.jobs > 0 if alone else cluster.unshared()
    for mask, count in want.choices[-1].counts:
        left = np.flatnonzero(there & mask & ~kept)
        if len(left) < count:
            one = replace(want, min_nodes=count, target_nodes=count, cpus=count, required=None)
            return fits_unplaced(replace(one, choices=(Choice(there & mask),)), partition.nodes, cluster)
        there[left[:count]] = False
    return False


def _words_for(job: Job, partition: Partition, cluster: Cluster) -> str:
    """In which words a job is refused that fits in none of its partitions: of the last of them."""
    beyond = is_beyond_switches(job.wants[partition.name], partition.nodes, cluster)
    return NO_SWITCH if beyond else NOT_AVAILABLE


def lack_of(job: Job, partition: Partition, cluster: Cluster, nodes: Mask) -> str:
    """What each of some nodes of a partition lacks by itself; of nodes that lack different things, what the last does.

    Nodes without the features that the job wants, or would rather have, do not count. Where it states alternatives in
    brackets, what such nodes lack can be the answer, too. CPUs are also those for memory, where MaxMemPerCPU bounds it.
    Slurm compares with all that nodes have, also what is kept for the system (recorded), and where memory is not
    consumable, too.
    """
    options, rules = job.options, cluster.parameters.rules
    demand = demand_of(job.request, partition, cluster.machine, rules, job.wants[partition.name].min_nodes)
    nodes = nodes & ~known_nodes(options.exclude, cluster)
    asked = "" if cluster.parameters.ignore_prefer_validation else options.prefer
    ways = choices(asked or options.constraint, cluster.machine.features, unknown=True)
    featured = nodes & np.any([way.mask for way in ways], axis=0)
    machine, of_system = cluster.machine, np.array([node.system_memory for node in cluster.conf.nodes])
    # That raises the CPUs of a task, which count where a job states no tasks.
    raised = bool(options.memory_per_cpu) and options.tasks is None and options.tasks_per_node is None
    least = max(options.fewest_cpus, demand.cpus_of_memory, demand.cpus_per_task if raised else 0)
    few = machine.cpus + machine.kept < least
    lacking = few | (machine.memory + of_system < memory_of_nodes(options, partition, cluster))
    told = np.flatnonzero(lacking & (nodes if "[" in options.constraint else featured))
    if not len(told) or (featured & ~lacking).any():
        return ""
    return NOT_ENOUGH_CPUS if few[told[-1]] else NOT_ENOUGH_MEMORY


def ask_for(job: Job, options: BatchOptions, cluster: Cluster) -> None:
    """Let a job ask for other nodes in the same partitions."""
    job.request, job.entries = replace(job.request, options=options), ()
    least = job.least_nodes
    alike = _alike(options, job.lifted), least
    job.request_class = cluster.classes.setdefault(alike if least else alike[0], len(cluster.classes))
    job.wants = {
        partition.name: _known_want(job.request_class, job.request, partition, cluster, job.lifted, least)
        for partition in job.partitions
    }


def stay_alone(job: Job, tried: Iterable[Partition], cluster: Cluster) -> None:
    """A job that is tried in one of several partitions which gives whole nodes gets whole ones in the others, too.

    One that is tried where jobs have to share shares in the others, where it may. From 24.11 on neither is so.
    Where a partition allows fewer nodes than it wants it is not tried that far.
    """
    if len(job.partitions) < 2 or cluster.parameters.rules.PARTITIONS_ARE_TRIED_APART:
        return
    for partition in tried:
        most = partition.max_nodes
        if most is not None and job.wants[partition.name].min_nodes > most and "PARTITIONMAXNODES" not in job.lifted:
            continue
        if partition.oversubscribe == "EXCLUSIVE" and not job.options.exclusive:
            ask_for(job, replace(job.options, exclusive=True), cluster)
        elif partition.oversubscribe == "FORCE" and partition.oversubscribe_jobs > 1 and not job.options.share:
            ask_for(job, replace(job.options, share=True), cluster)


def bound_nodes(job: Job, most: int, cluster: Cluster) -> None:
    """Let a job ask for no more nodes than limits allow; one that needs more waits, whatever nodes there are."""
    if any(job.wants[partition.name].min_nodes > most for partition in job.partitions):
        return
    alike = replace(_alike(job.options, job.lifted), account=f"{most} nodes")
    job.request_class = cluster.classes.setdefault(alike, len(cluster.classes))
    wants = {}
    for partition in job.partitions:
        name, want = partition.name, job.wants[partition.name]
        # A job that says no number gets no more nodes than its partition allows, either.
        bound = want.most_nodes if want.most_nodes is not None else max(partition.max_nodes or most, want.min_nodes)
        bound = min(most, bound)
        bounded = replace(want, most_nodes=bound, target_nodes=min(want.target_nodes, bound))
        wants[name] = cluster.wants.setdefault((job.request_class, name), bounded)
    job.wants = wants
    unchecked = job.unfit or _is_not_asked(job, cluster)
    if not unchecked and not any(
        fits_empty(job.request_class, wants[one.name], one, cluster) for one in job.partitions
    ):
        job.unfit = _words_for(job, job.partitions[-1], cluster)


def move(job: Job, partition: Partition, cluster: Cluster) -> None:
    """A waiting job is of another partition from now on."""
    want = _known_want(job.request_class, job.request, partition, cluster, job.lifted)
    job.partitions, job.wants, job.entries = (partition,), {partition.name: want}, ()
    cluster.order.changed()


@lru_cache(maxsize=4096)
def _alike(options: BatchOptions, lifted: frozenset[str]) -> BatchOptions:
    """What of some options decides on which nodes a job fits."""
    return replace(
        options,
        name="",
        account="",
        qos="PARTITIONMINNODES" if "PARTITIONMINNODES" in lifted else "",
        time_limit=None,
        time_min=None,
        begin=None,
        deadline=None,
        held=False,
        nice=0,
        priority=None,
        requeue=None,
        dependencies=(),
        any_dependency=False,
        kill_on_invalid_dependency=None,
        switches_wait=0.0,
        array=None,
    )


def fits_empty(request_class: int, want: Want, partition: Partition, cluster: Cluster) -> bool:
    """Whether a job would fit onto all nodes of a partition, the broken ones too, if they were idle."""
    key = (request_class, partition.name, b"")
    if key not in cluster.fits_alone:
        cluster.fits_alone[key] = fits_idle(want, partition.nodes, cluster)
    return bool(cluster.fits_alone[key])


def fits_idle(want: Want, nodes: Mask, cluster: Cluster) -> bool:
    """Whether what a job needs would fit onto nodes if they were idle, as it is asked of a submission."""
    # What bounds the jobs of a partition on a node may leave a part of a task.
    return fits_unplaced(replace(want, whole_tasks=want.whole_tasks and not want.pool), nodes, cluster)


def fits_unplaced(want: Want, nodes: Mask, cluster: Cluster) -> bool:
    """Whether what a job needs would fit onto nodes if they were idle."""
    return chosen_idle(want, nodes, cluster) is not None


def chosen_idle(want: Want, nodes: Mask, cluster: Cluster) -> Allocation | None:
    """Which nodes a job would have if all were idle, or None if it would not fit: Slurm places no tasks for this.

    Nor does it look at switches: for nodes on few of them a job waits as it does for nodes in use. select/linear looks
    at no memory then but what is asked of each node.
    """
    if cluster.nodes_for.whole_nodes:
        want = replace(want, memory_per_cpu=0, memory_of_first=False)
    alone = replace(
        want,
        switches=0,
        placed=0,
        counted_tasks=0,
        idle_nodes_lack=False,
        by_looks=False,
        least_loaded=want.least_loaded and not want.by_looks,
        sure_of_sockets=False,
        sure_of_gres=False,
        of_rounds=False,
    )
    choose = cluster.choose if cluster.compiled is None else cluster.compiled.choose
    alone = counting_shares(cluster.before_jobs(alone), cluster.machine)
    return choose(alone, cluster.machine.free(), nodes) if nodes.any() else None


def preferred_part(options: BatchOptions, want: Want, cluster: Cluster, wish: bool = True) -> Want:
    """What a job needs with what it would rather have, as if it had to: its constraint is not looked at then.

    Or what it needs if it had no such wish (``wish`` is False).
    """
    many = len(choices(options.prefer, cluster.machine.features, unknown=True))
    return replace(want, choices=want.choices[:many] if wish else want.choices[many:])


@contextmanager
def wishing(job: Job, partition: Partition, cluster: Cluster, wish: bool) -> Iterator[None]:
    """A job that would rather have some nodes wants these, or what it would without that wish."""
    if cluster.compiled is not None:
        cluster.compiled.note(job, partition)
    wants = job.wants
    job.wants = {**wants, partition.name: preferred_part(job.options, wants[partition.name], cluster, wish)}
    try:
        yield
    finally:
        job.wants = wants


def _fits_as_preferred(
    options: BatchOptions, wants: Mapping[str, Want], partitions: Iterable[Partition], cluster: Cluster
) -> bool | None:
    """Whether a submission fits onto the nodes that it would rather have, as it has to; None if it has no such wish."""
    if not options.prefer or cluster.parameters.ignore_prefer_validation:
        return None
    return any(
        fits_idle(preferred_part(options, want, cluster), one.nodes, cluster)
        for one, want in ((one, wants[one.name]) for one in partitions)
    )


def _without_nodes(request_class: int, wants: dict[str, Want], partitions: list[Partition], cluster: Cluster) -> None:
    """A constraint that no nodes satisfy is taken in; the job waits for ever."""
    for partition in partitions:
        want = wants[partition.name]
        if not want.never and not fits_empty(request_class, want, partition, cluster):
            wants[partition.name] = cluster.wants[request_class, partition.name] = replace(want, never=BAD_CONSTRAINTS)


def partition_reason(job: Job, partition: Partition, least: bool = True) -> str | None:
    """Why a partition's own bounds keep a job from it, or None; its least limit counts, but for Slurm's main loop."""
    if job.barred and partition.name in job.barred:
        return job.barred[partition.name]
    return _closed_to(job, partition, least)


def pass_reason(job: Job, partition: Partition, cluster: Cluster) -> str | None:
    """The same for Slurm's main loop, which finds only as it looks for nodes that account or QOS bar a job."""
    accounting = cluster.accounting
    if job.barred and accounting is not None and partition.name in accounting.access.barred(job):
        return _closed_to(job, partition, least=False)
    return partition_reason(job, partition, least=False)


def plan_reason(job: Job, partition: Partition, cluster: Cluster) -> str | None:
    """The same for backfill: Slurm looks whether a partition takes a job's account only as it is to start."""
    if job.barred and bars_account(job, partition, cluster):
        return _closed_to(job, partition)
    return partition_reason(job, partition)


def bars_account(job: Job, partition: Partition, cluster: Cluster) -> bool:
    """Whether it is its account for which a partition does not take a job."""
    accounting = cluster.accounting
    return partition.name in job.barred and accounting is not None and accounting.access.bars_account(job, partition)


def _closed_to(job: Job, partition: Partition, least: bool = True) -> str | None:
    want = job.wants[partition.name]
    if partition.state in ("DOWN", "INACTIVE"):
        return "PartitionDown" if partition.state == "DOWN" else "PartitionInactive"
    if want.never and want.never != TOO_MUCH_MEMORY:
        return want.never
    # How many nodes there may be is looked at before their memory.
    return _bound(job, partition, least) or want.never or None


def is_queued(job: Job, partition: Partition) -> bool:
    """Whether the main loop has a job in its queue for a partition: not one that is beyond the bounds of this."""
    return partition.state not in ("DOWN", "INACTIVE") and _bound(job, partition, least=False) is None


def _bound(job: Job, partition: Partition, least: bool = True) -> str | None:
    """Which of a partition's bounds on nodes and time a job exceeds, or None."""
    want, lifted = job.wants[partition.name], job.lifted
    most = partition.max_nodes
    if most is not None and max(_with_named(want), want.most_nodes or 0) > most and "PARTITIONMAXNODES" not in lifted:
        return PARTITION_NODES
    # That a job is to be spread bounds its nodes too late for MinNodes (recorded).
    spread = job.options.spread and job.options.max_nodes is None
    most = None if spread else want.most_nodes
    few = partition.min_nodes > 1 and min(most or partition.min_nodes, least_nodes(job)) < partition.min_nodes
    if few and "PARTITIONMINNODES" not in lifted:
        return PARTITION_NODES
    return PARTITION_TIME if _is_too_long(job, partition, least) else None


def _is_too_long(job: Job, partition: Partition, least: bool = False) -> bool:
    """Whether the limit of a job is beyond that of a partition; ``least``: that with which it could do."""
    limit = job.time_min if least and job.time_min is not None else job.limit
    free = job.limit_of_operator or not job.has_limit or "PARTITIONTIMELIMIT" in job.lifted
    return limit > partition.max_time and not free


def _with_named(want: Want) -> int:
    """Nodes that a job must have: as many as it wants, and all that it names unless some of these are enough."""
    named = 0 if want.required is None or want.some_required else int(np.count_nonzero(want.required))
    return max(want.min_nodes, named)


def least_nodes(job: Job) -> int:
    """The nodes that a job wants at least: those that it states, or the least MinNodes of its partitions if it may.

    Partitions with a greater one do not take it; it stays as it is if MinNodes is updated (recorded on 22.05).
    """
    if job.least_nodes:
        return job.least_nodes
    if len(job.partitions) == 1 and job.partitions[0].min_nodes <= 1:
        return job.options.min_nodes or 1
    stated, most = job.options.min_nodes or 1, job.options.max_nodes
    fewest = min(partition.min_nodes for partition in job.partitions)
    return max(stated, fewest) if most is None or most >= fewest else stated


def _check_words(request: JobRequest, cluster: Cluster) -> None:
    """What ``sbatch`` itself refuses: a list of more nodes than are wanted, or words that do not go together."""
    stated = request.options
    if stated.newer and not cluster.parameters.rules.NEWER_OPTIONS_ARE_TAKEN:
        raise RejectedError(f"sbatch: unrecognized option '{stated.newer}'\nTry \"sbatch --help\" for more information")
    if stated.tasks_per_gpu is not None and (beside := _beside_tasks_of_gpus(stated)):
        raise RejectedError(f"{beside} is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU")
    if sum(each is not None for each in (stated.memory_per_node, stated.memory_per_cpu, stated.memory_per_gpu)) > 1:
        raise RejectedError("--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.")
    rules = cluster.parameters.rules
    if stated.both_ways and rules.EXCLUSIVE_IS_NOT_SHARED:
        raise RejectedError("--exclusive and --oversubscribe options are mutually exclusive")
    if stated.cpus_per_gpu and stated.cpus_per_task and rules.CPUS_OF_TASKS_OR_GPUS:
        raise RejectedError("--cpus-per-task, --tres-per-task=cpu:#, and --cpus-per-gpu are mutually exclusive")
    if request.options.node_counts and not cluster.parameters.rules.NODE_COUNTS_ARE_LISTED:
        raise RejectedError(f'"{",".join(map(str, request.options.node_counts))}" is not a valid node count')
    nodes, tasks = stated.min_nodes or 0, stated.tasks or 1
    if stated.plane and tasks // stated.plane < nodes and (nodes - 1) * stated.plane >= tasks:
        raise RejectedError("Too few processes for the requested {plane,node} distribution")
    begin, deadline = request.options.begin, request.options.deadline
    if begin and deadline is not None and deadline < begin:
        raise RejectedError("Incompatible begin and deadline time specification")


def _check_names(request: JobRequest, cluster: Cluster) -> None:
    """What is refused before Slurm looks at partitions: resources, features and nodes that there are not."""
    _check_kinds(request.options, cluster)
    known_nodes(request.options.node_list, cluster)


def _check_kinds(options: BatchOptions, cluster: Cluster) -> None:
    """What is refused before Slurm looks at arrays, too: resources and, from 24.11 on, features."""
    check_gres(options, cluster)
    if cluster.parameters.rules.FEATURES_ARE_ASKED_FIRST:
        check_features(options, cluster)


def _unknown_features(options: BatchOptions, cluster: Cluster) -> RejectedError | None:
    """Why a submission is refused for features that no node has; None if it is not, or would have been before."""
    if cluster.parameters.rules.FEATURES_ARE_ASKED_FIRST or not (options.constraint or options.prefer):
        return None
    try:
        check_features(options, cluster)
    except RejectedError as error:
        return error
    return None


def _without_features(request: JobRequest) -> JobRequest:
    """The same, whatever features nodes have."""
    return replace(request, options=replace(request.options, constraint="", prefer=""))


def _fewer_than_named(options: BatchOptions, cluster: Cluster) -> int:
    """Most nodes of a job that names more than it states, and must have them all; 0 for one that does not."""
    most = options.most_stated or FAR
    return most if len(options.node_list) > most and not cluster.parameters.rules.SOME_OF_NAMED else 0


def _beside_tasks_of_gpus(options: BatchOptions) -> str:
    """The option that does not go with ``--ntasks-per-gpu``, or nothing."""
    if options.gpus_per_task:
        return "--gpus-per-task"
    if options.gpus_on_sockets:
        return "--gpus-per-socket"
    return "--ntasks-per-node" if options.tasks_per_node is not None else ""


def check_count(request: JobRequest, cluster: Cluster) -> None:
    """Arrays have bounds, and so has the number of jobs that are not over.

    Raises:
        RejectedError: a submission is beyond one of them.
    """
    parameters, array = cluster.parameters, request.options.array
    if array is not None and request.het_job_id is not None:
        raise RejectedError("Invalid job array specification")
    if array is not None:
        most = min(parameters.max_array_size, parameters.max_array_tasks)
        if max(array.indices) >= parameters.max_array_size or len(array.indices) > most:
            _check_words(request, cluster)
            _check_kinds(request.options, cluster)
            raise RejectedError("Invalid job array specification")
    tasks = len(array.indices) if array is not None else 1
    there = len(cluster.waiting) + len(cluster.running) + len(cluster.suspended)
    if there + tasks > parameters.max_job_count:
        raise RejectedError("Slurm temporarily unable to accept job: MaxJobCount is reached")


def _known_want(
    request_class: int,
    request: JobRequest,
    partition: Partition,
    cluster: Cluster,
    lifted: frozenset[str],
    least: int = 0,
) -> Want:
    """What a job needs in a partition, on so many nodes at least: the same as all that ask for the same."""
    key = (request_class, partition.name)
    if key not in cluster.wants:
        fewest = max(least, 1 if "PARTITIONMINNODES" in lifted else partition.min_nodes)
        cluster.wants[key] = want_of(request, partition, cluster, fewest)
    return cluster.wants[key]


def _check_licenses(request: JobRequest, cluster: Cluster) -> None:
    some = request.options.licenses_of
    if some and not cluster.parameters.rules.LICENSES_OF_SEVERAL:
        raise RejectedError("Invalid license specification")
    for name, count in some or request.options.licenses:
        too_many = name in cluster.licenses and count > cluster.licenses[name][0]
        if name not in cluster.licenses or (too_many and not cluster.parameters.allow_zero_lic):
            raise RejectedError("Invalid license specification")


def _check_gpus(options: BatchOptions, partitions: Sequence[Partition], lifted: frozenset[str], rules: Rules) -> None:
    """Refuse fewer GPUs in all than nodes that a job has at least, if it does not say how many it wants.

    These are MinNodes of each partition, those that it names, and those that its tasks need, so many on each. In
    versions in which it gets all nodes that it names, these count whatever it says.
    """
    gpus_of_tasks = options.tasks_on(1) * sum(one.count for one in options.gpus_per_task)
    # Of several types there are to be as many of each.
    gpus, named = min((one.count for one in options.gpus), default=gpus_of_tasks), len(options.node_list)
    if options.max_nodes is not None:
        least = 0 if rules.SOME_OF_NAMED else named
    else:
        fewest = 1 if "PARTITIONMINNODES" in lifted else min(partition.min_nodes for partition in partitions)
        least = max(fewest, named, nodes_by_tasks(options, rules) if rules.TASKS_ASK_FOR_NODES else 1)
    if len(options.gpus) > 1:
        least = max(least, options.min_nodes or 1)  # How many there are in all sbatch looks at.
    if 0 < gpus < least:
        raise RejectedError(INVALID_GRES)


def _check_tasks(job: Job, cluster: Cluster) -> None:
    """Refuse fewer tasks than MinNodes of each partition, of a job that does not say how many nodes it wants.

    Any number, if the first partition is for reservations alone.
    """
    options = job.options
    tasks = options.tasks_per_node if options.tasks is None else options.tasks
    if tasks is None or options.min_nodes is not None or not cluster.parameters.rules.TASKS_REACH_MIN_NODES:
        return
    reserved = any(wants_reservation(one, job.request) for one in job.partitions)
    if reserved or tasks < min(partition.min_nodes for partition in job.partitions):
        raise RejectedError("Task count specification invalid")


def _check_excluded(options: BatchOptions) -> None:
    """Refuse a job that names nodes which it excludes."""
    if not set(options.exclude).isdisjoint(options.node_list):
        raise RejectedError("Invalid node name specified")


def limit_of(request: JobRequest, partition: Partition) -> float:
    """The limit that a submission has in a partition, in seconds."""
    if request.options.time_limit is not None:
        return _minutes(request.options.time_limit)
    return partition.default_time if partition.default_time is not None else partition.max_time


def _minutes(seconds: float) -> float:
    """Limits are whole minutes, rounded up (observation T1)."""
    return seconds if seconds == UNLIMITED else math.ceil(seconds / MINUTE) * MINUTE


def _check_times(job: Job, partitions: Sequence[Partition]) -> None:
    """Refuse a least limit that is beyond those of all partitions, or the job's own."""
    longest = max(partition.max_time for partition in partitions)
    if job.time_min is not None and "PARTITIONTIMELIMIT" not in job.lifted and job.time_min > min(longest, job.limit):
        raise RejectedError(TIME_MIN_INVALID)


def _check_deadline(options: BatchOptions, partition: Partition, leave_time: bool) -> None:
    """Refuse a deadline before which the least limit that is stated has no room; its limit, too, if it must have it."""
    if options.deadline is None:
        return
    earliest = options.begin or 0.0 if leave_time else 0.0
    if options.time_min and options.deadline < earliest + _minutes(options.time_min):
        raise RejectedError(TIME_MIN_INVALID)
    stated = partition.default_time if options.time_limit is None else _minutes(options.time_limit)
    limit = stated or 0.0 if leave_time and not options.time_min else 0.0
    if options.deadline < earliest + limit:
        raise RejectedError(REFUSALS[PARTITION_TIME])


def _too_few_stated(job: Job, partition: Partition, cluster: Cluster) -> bool:
    """Whether a submission states fewer nodes than a partition gives, which it would get if that were not enforced.

    One that names nodes states as many, but no more than it has tasks.
    """
    fewest, rules = job.options.min_nodes, cluster.parameters.rules
    if fewest is None and job.options.node_list:
        named = int(np.count_nonzero(known_nodes(job.options.node_list, cluster)))
        fewest = min(named, job.options.tasks or named)
    elif fewest is None and rules.UNSTATED_NODES_ARE_ONE:
        fewest = nodes_by_tasks(job.options, rules)
    if fewest is None or partition.state in ("DOWN", "INACTIVE") or "PARTITIONMINNODES" in job.lifted:
        return False
    return fewest < partition.min_nodes


def _names_others(job: Job, partition: Partition, cluster: Cluster) -> bool:
    """Whether a job names nodes outside of a partition, unless some of those that it names are enough for it."""
    named = job.options.node_list
    if not named or job.wants[partition.name].some_required:
        return False
    return bool((known_nodes(named, cluster) & ~partition.nodes).any())


def _is_spread_too_far(job: Job, partition: Partition) -> bool:
    """Whether a job is to be spread over more nodes than a partition allows, and could do with fewer."""
    most, want = partition.max_nodes, job.wants[partition.name]
    if not job.options.spread or job.options.max_nodes is not None or most is None:
        return False
    return _with_named(want) <= most < (want.most_nodes or 0)


def _submission_reason(job: Job, partition: Partition) -> str | None:
    """Why a partition does not take a submission, or None: one that is down has its bounds all the same (asked)."""
    reason = partition_reason(job, partition, least=False)
    return _bound(job, partition, least=False) if reason == "PartitionDown" else reason


def _check_limits(job: Job, partitions: list[Partition], cluster: Cluster) -> None:
    """EnforcePartLimits: refuse what no (ANY) or not every (ALL, YES) partition would take.

    Slurm looks at partitions as they were named, and gives the first refusal of ALL, the last one of ANY; it looks at
    memory later, and not at ``--time-min``.
    """
    enforce = cluster.parameters.enforce_part_limits
    if enforce not in ("ALL", "YES", "ANY"):
        return
    reasons = [_submission_reason(job, partition) for partition in partitions]
    rules = cluster.parameters.rules
    for index, partition in enumerate(partitions):
        # The number of nodes is looked at before the limit.
        if reasons[index] in (None, PARTITION_TIME) and _too_few_stated(job, partition, cluster):
            reasons[index] = PARTITION_NODES
        # And the nodes that are named before the bounds, though behind those of the partition itself.
        if job.wants[partition.name].never in ("", TOO_MUCH_MEMORY) and _names_others(job, partition, cluster):
            reasons[index] = NOT_IN_PARTITION
    refusals = {**REFUSALS, NOT_IN_PARTITION: NOT_IN_PARTITION}
    exceeded = [reason for reason in reasons if reason in refusals]
    if not exceeded or (enforce == "ANY" and len(exceeded) < len(reasons)):
        return
    bounds = [
        _bound(job, one, least=False) if why == TOO_MUCH_MEMORY else why
        for one, why in zip(partitions, reasons, strict=True)
    ]
    told = [bound for bound in bounds if bound in refusals] or [TOO_MUCH_MEMORY]
    if enforce != "ANY" and told[0] == PARTITION_NODES:
        first = next(one for one, why in zip(partitions, reasons, strict=True) if why in refusals)
        if _is_spread_too_far(job, first) or (first.state == "DOWN" and len(exceeded) < len(reasons)):
            # That is found only as its nodes are sought.
            raise RejectedError(NOT_CONFIGURED)
    # Of a job that states no nodes, and names none, 22.05 finds out later that there are too few.
    unstated = len(partitions) > 1 and PARTITION_NODES in told
    unstated = unstated and job.options.min_nodes is None and not job.options.node_list
    if unstated and not rules.UNSTATED_NODES_ARE_ONE and (enforce == "ANY" or set(told) == {PARTITION_NODES}):
        late = enforce != "ANY" and any(_is_too_long(job, partition) for partition in partitions)
        raise RejectedError(REFUSALS[PARTITION_TIME] if late else NOT_CONFIGURED)
    raise RejectedError(refusals[told[-1 if enforce == "ANY" else 0]])
