"""What a job asks for in a partition, and what the partition has: resources as plugins see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from emulator.scheduling.job_mgr import least_nodes
from emulator.state.job import Job
from emulator.state.partition import Partition
from slurm_sim_plugins.cluster import Request
from slurm_sim_plugins.nodes import Allocation, Machine

if TYPE_CHECKING:
    from emulator.state.cluster import Cluster


def request_of(job: Job, partition: Partition) -> Request:
    """What a job asks for in a partition; the same for all that ask for the same."""
    tres = tres_amounts(job, partition)
    return Request(partition.seen, _nodes(job, partition), tres["CPU"], tres)


def unasked_memory(partition: Partition, cluster: Cluster) -> float:
    """Mebibytes that count for each node of a job which asks for all, or is given none: those of the first node."""
    return float(cluster.machine.memory[partition.nodes][0]) if partition.nodes.any() else 0.0


def tres_totals(partition: Partition, cluster: Cluster) -> Mapping[str, float]:
    """What a partition has of each resource, by upper-case name."""
    machine, nodes = cluster.machine, partition.nodes
    # Memory that is kept for the system counts, cores that are do not.
    of_system = sum(node.system_memory for node, there in zip(cluster.conf.nodes, nodes.tolist(), strict=True) if there)
    total = {
        "CPU": float(machine.cpus[nodes].sum()),
        "MEM": float(machine.memory[nodes].sum() + of_system),
        "NODE": float(np.count_nonzero(nodes)),
    }
    for kind, counts in machine.gres.items():
        for called in _called(kind):
            total[called] = total.get(called, 0.0) + float(counts[nodes].sum())
    total["BILLING"] = _bill(total, partition)
    return total


def tres_amounts(job: Job, partition: Partition) -> dict[str, float]:
    """What a job wants of each resource, by upper-case name; memory in mebibytes."""
    want, nodes = job.wants[partition.name], _nodes(job, partition)
    wanted = {
        "CPU": _cpus(job, partition),
        "MEM": _memory(job, partition),
        "NODE": float(nodes),
    }
    tasks = -(-want.cpus // want.cpus_per_task)
    for gres, per in ((want.gres, nodes), (want.gres_total, 1), (want.gres_per_task, tasks)):
        for name, kind, count in gres:
            for called in _called((name, kind)):
                wanted[called] = wanted.get(called, 0.0) + count * per
    if want.counted_per_gpu:
        wanted["CPU"] = max(wanted["CPU"], want.counted_per_gpu * wanted.get("GRES/GPU", 0.0))
    wanted["BILLING"] = _bill(wanted, partition)
    return wanted


def tres_of(job: Job, allocation: Allocation, partition: Partition, machine: Machine) -> dict[str, float]:
    """What a job has of each resource, by upper-case name; memory in mebibytes."""
    has = {
        "CPU": float(machine.cpus_of(allocation)),
        "MEM": float(sum(allocation.memory)),
        "NODE": float(len(allocation.nodes)),
    }
    for kind, counts in allocation.gres.items():
        for called in _called(kind):
            has[called] = has.get(called, 0.0) + float(sum(counts))
    has["BILLING"] = _bill(has, partition)
    return has


def _bill(amounts: Mapping[str, float], partition: Partition) -> float:
    """A bill is a whole number."""
    weights = {name.upper(): weight for name, weight in partition.billing.items()} or {"CPU": 1.0}
    return float(int(sum(weight * amounts.get(name, 0.0) for name, weight in weights.items())))


def _called(kind: tuple[str, str]) -> list[str]:
    """How a generic resource is called: by its name, and by name and type if it has one."""
    name, type_ = kind[0].upper(), kind[1].upper()
    return [f"GRES/{name}", f"GRES/{name}:{type_}"] if type_ else [f"GRES/{name}"]


def _memory(job: Job, partition: Partition) -> float:
    """Mebibytes that a job asks for, or is given by default; whether memory is managed does not matter."""
    request, options, nodes = job.request, job.options, _nodes(job, partition)
    first, gpus = _first_named(job, partition), options.gpus_on(nodes)
    if options.memory_per_node is not None:
        return float(options.memory_per_node or first.unasked_memory) * nodes
    per_gpu = options.memory_per_gpu or (first.counted_memory_per_gpu if gpus else 0)
    if per_gpu and not options.memory_per_cpu:
        return float(per_gpu * gpus)
    per_cpu = options.memory_per_cpu or first.default_memory_per_cpu
    if per_cpu:
        return float(per_cpu) * _tasks(job, partition) * request.cpus_per_task
    return float(first.default_memory_per_node or first.unasked_memory) * nodes


def _first_named(job: Job, other: Partition) -> Partition:
    """The partition that a submission names first: its memory counts in all, of a job that asks for none (recorded)."""
    name = job.options.partitions[0] if job.options.partitions else ""
    return next((partition for partition in job.partitions if partition.name == name), other)


def _cpus(job: Job, partition: Partition) -> float:
    want = job.wants[partition.name]
    # CPUs that come along with the GPUs of its tasks do not count before it has them (recorded).
    of_task = job.request.cpus_per_task if job.options.gpus_per_task else want.cpus_per_task
    return float(_tasks(job, partition) * of_task)


def _tasks(job: Job, partition: Partition) -> int:
    """Tasks in all; of a job that states none nor how many a node has, but a range of nodes, it is one (recorded)."""
    options = job.options
    ranged = options.most_stated not in (None, options.min_nodes)
    if ranged and options.tasks is None and options.tasks_per_node is None:
        return options.tasks_on(1)
    return options.tasks_on(_stated_nodes(job) if _has_fewest(job) else job.wants[partition.name].min_nodes)


def _nodes(job: Job, partition: Partition) -> int:
    """Nodes of a job: MinNodes raises their number if it may have so many, but not that of its tasks (recorded)."""
    return max(least_nodes(job), _named(job)) if _has_fewest(job) else job.wants[partition.name].min_nodes


def _has_fewest(job: Job) -> bool:
    return any(partition.min_nodes > 1 for partition in job.partitions)


def _stated_nodes(job: Job) -> int:
    return max(job.options.min_nodes or 1, _named(job))


def _named(job: Job) -> int:
    """Nodes of a list, which counts where no tasks are stated."""
    return len(job.options.node_list) if job.options.tasks is None else 1
