"""Submissions: what a job wants of the machine, or why it is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from emulator.config.slurm.model import GresCount
from emulator.slurmctld.cluster import Cluster
from emulator.slurmctld.features import Choice, choices
from emulator.slurmctld.job import NOTHING, Job, Partition
from emulator.slurmctld.node_select import Want, select_nodes
from emulator.slurmctld.nodes import Mask
from emulator.slurmctld.request import UNLIMITED, JobRequest
from emulator.workload.sbatch import BatchOptions
from slurm_sim_plugins.errors import InputError

MINUTE = 60.0
NOT_AVAILABLE = "Requested node configuration is not available"
TOO_MUCH_MEMORY = "Memory specification can not be satisfied"


class RejectedError(InputError):
    """A submission that Slurm refuses, with its words."""


def make_job(request: JobRequest, cluster: Cluster) -> Job:
    """The job of a submission.

    Raises:
        RejectedError: Slurm would refuse it.
    """
    _check_list(request)
    partitions = _partitions(request, cluster)
    lifted = NOTHING if cluster.accounting is None else cluster.accounting.lifted(request, partitions[0].name)
    alike = cluster.classes.setdefault(_alike(request.options, lifted), len(cluster.classes))
    wants = {partition.name: _known_want(alike, request, partition, cluster, lifted) for partition in partitions}
    _check_licenses(request, cluster)
    if not any(_fits_empty(alike, wants[partition.name], partition, cluster) for partition in partitions):
        memory = int(cluster.machine.memory.max(initial=0))
        too_much = all(want.memory_per_node > memory for want in wants.values())
        raise RejectedError(f"{TOO_MUCH_MEMORY}\n{NOT_AVAILABLE}" if too_much else NOT_AVAILABLE)
    partitions = sorted(partitions, key=lambda partition: -partition.tier)
    job = Job(
        request=request,
        partitions=partitions,
        wants=wants,
        limit=_limit(request, partitions[0]),
        time_min=_minutes(request.options.time_min) if request.options.time_min is not None else None,
        nice=request.options.nice,
        submitted=cluster.now,
        alike=alike,
        lifted=lifted,
    )
    _check_limits(job, partitions, cluster)
    if request.options.held:
        job.held_by = "JobHeldUser"
    job.begin = cluster.now + (request.options.begin or 0.0)
    if request.options.deadline is not None:
        job.deadline = cluster.now + request.options.deadline
    return job


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
        array=None,
    )


def _fits_empty(alike: int, want: Want, partition: Partition, cluster: Cluster) -> bool:
    """Whether a job would fit onto all nodes of a partition, the broken ones too, if nobody was there."""
    key = (alike, partition.name, b"")
    if key not in cluster.fits_alone:
        machine = cluster.machine
        cluster.fits_alone[key] = select_nodes(want, machine, machine.free(), partition.nodes) is not None
    return cluster.fits_alone[key]


def partition_reason(job: Job, partition: Partition) -> str | None:
    """Why a partition's own bounds keep a job from it, or None."""
    want = job.wants[partition.name]
    if partition.state in ("DOWN", "INACTIVE"):
        return "PartitionDown" if partition.state == "DOWN" else "PartitionInactive"
    limit = job.time_min if job.time_min is not None else job.limit
    lifted = job.lifted
    if limit > partition.max_time and job.options.time_limit is not None and "PARTITIONTIMELIMIT" not in lifted:
        return "PartitionTimeLimit"
    most = partition.max_nodes
    if most is not None and want.min_nodes > most and "PARTITIONMAXNODES" not in lifted:
        return "PartitionNodeLimit"
    most = want.most_nodes
    if most is not None and most < partition.min_nodes and "PARTITIONMINNODES" not in lifted:
        return "PartitionNodeLimit"
    return None


def _check_list(request: JobRequest) -> None:
    """What ``sbatch`` itself refuses: a list of more nodes than are wanted."""
    listed, most = len(request.options.node_list), request.options.max_nodes
    if most is not None and listed > most:
        raise RejectedError(f"invalid number of nodes (-N {listed}-{most})")


def _partitions(request: JobRequest, cluster: Cluster) -> list[Partition]:
    if not request.options.partitions:
        if cluster.default is None:
            raise RejectedError("No partition specified or system default partition")
        return [cluster.default]
    unknown = [name for name in request.options.partitions if name not in cluster.partitions]
    if unknown:
        raise RejectedError("Invalid partition name specified")
    found = [cluster.partitions[name] for name in request.options.partitions]
    if not any(partition.takes_jobs for partition in found):
        raise RejectedError("Required partition not available (inactive or drain)")
    return found


def _known_want(
    alike: int, request: JobRequest, partition: Partition, cluster: Cluster, lifted: frozenset[str]
) -> Want:
    """What a job needs in a partition: the same as all that ask for the same."""
    key = (alike, partition.name)
    if key not in cluster.wants:
        fewest = 1 if "PARTITIONMINNODES" in lifted else partition.min_nodes
        cluster.wants[key] = _want(request, partition, cluster, fewest)
    return cluster.wants[key]


def _want(request: JobRequest, partition: Partition, cluster: Cluster, fewest: int) -> Want:
    machine, parameters, options = cluster.machine, cluster.parameters, request.options
    threads = int(machine.threads[int(np.argmax(partition.nodes))]) if partition.nodes.any() else 1
    if request.one_thread:
        threads = 1
    nodes = options.min_nodes or max(1, len(options.node_list) if options.tasks is None else 1)
    most = options.max_nodes if options.max_nodes is not None else options.min_nodes
    tasks = options.tasks if options.tasks is not None else nodes
    if options.tasks is not None and options.tasks < nodes:
        nodes = options.tasks if options.max_nodes != options.min_nodes else nodes
    target = max(nodes, min(most or nodes, max(tasks, nodes)))
    memory_per_node, memory_per_unit, all_memory = _memory(request, partition, cluster, threads)
    required = _known_nodes(options.node_list, cluster) if options.node_list else None
    return Want(
        min_nodes=max(nodes, fewest),
        most_nodes=most,
        target_nodes=max(target, fewest),
        units=max(math.ceil(tasks * request.cpus_per_task / threads), nodes),
        per_task=max(1, math.ceil(request.cpus_per_task / threads)),
        choices=_choices(request, cluster),
        per_node=_per_node(request, threads),
        whole=parameters.linear or options.exclusive or partition.oversubscribe == "EXCLUSIVE",
        memory_per_node=memory_per_node,
        memory_per_unit=memory_per_unit,
        all_memory=all_memory,
        gres=_counts(options.gres),
        gres_total=_counts(options.gpus),
        required=required,
        least_loaded=partition.least_loaded,
        last_first=parameters.pack_serial_at_end,
    )


def _counts(gres: tuple[GresCount, ...]) -> tuple[tuple[str, str, int], ...]:
    return tuple((one.name, one.type, one.count) for one in gres)


def _per_node(request: JobRequest, threads: int) -> int | None:
    if request.options.tasks_per_node is None:
        return None
    return math.ceil(request.options.tasks_per_node * request.cpus_per_task / threads)


def _memory(request: JobRequest, partition: Partition, cluster: Cluster, threads: int) -> tuple[int, int, bool]:
    """Mebibytes on each node, for each unit, and whether all of it is wanted."""
    if not cluster.parameters.memory:
        return 0, 0, False
    if request.options.memory_per_node is not None:
        return math.ceil(request.options.memory_per_node), 0, request.options.memory_per_node == 0
    per_cpu = request.options.memory_per_cpu or partition.default_memory_per_cpu
    if per_cpu:
        return 0, math.ceil(per_cpu * threads), False
    if partition.default_memory_per_node:
        return math.ceil(partition.default_memory_per_node), 0, False
    return 0, 0, True


def _choices(request: JobRequest, cluster: Cluster) -> tuple[Choice, ...]:
    try:
        found = choices(request.options.constraint, cluster.machine.features)
    except InputError as error:
        raise RejectedError(str(error)) from error
    if not request.options.exclude:
        return tuple(found)
    allowed = ~_known_nodes(request.options.exclude, cluster)
    return tuple(Choice(choice.mask & allowed, choice.counts) for choice in found)


def _known_nodes(names: tuple[str, ...], cluster: Cluster) -> Mask:
    if any(name not in cluster.machine.index for name in names):
        raise RejectedError("Invalid node name specified")
    return cluster.machine.mask_of(names)


def _check_licenses(request: JobRequest, cluster: Cluster) -> None:
    for name, count in request.options.licenses:
        if name not in cluster.licenses or count > cluster.licenses[name][0]:
            raise RejectedError("Invalid license specification")


def _limit(request: JobRequest, partition: Partition) -> float:
    if request.options.time_limit is not None:
        return _minutes(request.options.time_limit)
    return partition.default_time if partition.default_time is not None else partition.max_time


def _minutes(seconds: float) -> float:
    """Limits are whole minutes, rounded up (observation T1)."""
    return seconds if seconds == UNLIMITED else math.ceil(seconds / MINUTE) * MINUTE


def _check_limits(job: Job, partitions: list[Partition], cluster: Cluster) -> None:
    """EnforcePartLimits: refuse what no (ANY) or not every (ALL, YES) partition would take."""
    enforce = cluster.parameters.enforce_part_limits
    reasons = [partition_reason(job, partition) for partition in partitions]
    exceeded = [reason for reason in reasons if reason in ("PartitionTimeLimit", "PartitionNodeLimit")]
    refuse = exceeded and (enforce in ("ALL", "YES") or (enforce == "ANY" and len(exceeded) == len(partitions)))
    if refuse:
        time = "PartitionTimeLimit" in exceeded
        raise RejectedError(
            "Requested time limit is invalid (missing or exceeds some limit)"
            if time
            else "Node count specification invalid"
        )
