"""CPUs and memory that a job asks for in a partition, with the defaults, and what bounds make of both.

Defaults for GPUs and bounds of memory are those of Slurm's documentation (slurm.conf,
``DefCpuPerGPU``, ``DefMemPerGPU``, ``MaxMemPerCPU``, ``MaxMemPerNode``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from emulator.config.slurm.versions import Rules
from emulator.state.partition import Partition
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import GPU, BatchOptions
from slurm_sim_plugins.nodes import FAR, Machine


@dataclass(slots=True)
class Demand:
    """CPUs and memory that a job asks for; memory in mebibytes, 0 if it is not stated so.

    Attributes:
        cpus_per_task: CPUs of each task.
        cpus_on_node: CPUs on each node, at least.
        cpus_free: that each node must have free, of which its tasks get their own alone.
        cpus_shared: CPUs of each node that tasks on so many nodes share for the memory there; 0 if they share none.
        cpus_in_all: CPUs in all, at least.
        cpus_per_gpu: CPUs that come along with a GPU, whatever the tasks want; 0 if none do.
        cpus_of_memory: CPUs that a node must have for the memory that it wants there; 0 if that bounds none.
        on_node, per_cpu, per_gpu: memory on each node, for each CPU, for each GPU of those wanted in all, or of whole
            nodes.
        whole_memory: whether it wants all memory of its nodes.
        too_much: whether it wants more than the partition gives.
        counted_beforehand: whether its CPUs are those of a task on each node, for those of its GPUs come too late.
    """

    cpus_per_task: int
    cpus_on_node: int = 0
    cpus_free: int = 0
    cpus_shared: int = 0
    cpus_in_all: int = 0
    cpus_per_gpu: int = 0
    cpus_of_memory: int = 0
    on_node: float = 0.0
    per_cpu: float = 0.0
    per_gpu: float = 0.0
    whole_memory: bool = False
    too_much: bool = False
    counted_beforehand: bool = False


def demand_of(request: JobRequest, partition: Partition, machine: Machine, rules: Rules, nodes: int) -> Demand:
    """What a job of so many nodes asks for in a partition.

    Args:
        request: of the job.
        partition: where.
        machine: the nodes of the cluster.
        rules: of the version.
        nodes: that the job has at least.
    """
    options = request.options
    demand = Demand(request.cpus_per_task)
    on_node = sum(one.count for one in options.gres if one.name == GPU)
    in_all = 0 if on_node else options.gpus_on(nodes)
    cpus = _cpus_per_gpu(request, partition)
    demand.counted_beforehand = _counted_beforehand(options, nodes, request.cpus_per_task, rules)
    if demand.counted_beforehand and not options.cpus_per_gpu:
        cpus = 0
    if options.gpus_per_task:
        demand.cpus_per_task = max(demand.cpus_per_task, sum(one.count for one in options.gpus_per_task) * cpus)
    else:
        demand.cpus_in_all = in_all * cpus
    demand.cpus_per_gpu = cpus if (on_node or in_all) and options.tasks_per_gpu is None else 0
    # Of GPUs that are wanted in all each node has one at least.
    demand.cpus_on_node = (on_node or (1 if demand.cpus_in_all else 0)) * cpus
    alone = options.exclusive or partition.oversubscribe == "EXCLUSIVE"
    per_gpu, by_gpus = options.memory_per_gpu or partition.default_memory_per_gpu, False
    if options.memory_per_node is not None:
        demand.on_node, demand.whole_memory = float(options.memory_per_node), options.memory_per_node == 0
    elif options.memory_per_cpu:
        demand.per_cpu = float(options.memory_per_cpu)
    elif per_gpu and (on_node or in_all):
        # One that has its nodes for itself has the memory of all of their GPUs, however many it wants.
        demand.on_node, by_gpus = 0.0 if alone else on_node * per_gpu, True
        demand.per_gpu = per_gpu if in_all or alone else 0.0
    elif partition.default_memory_per_cpu:
        demand.per_cpu = min(partition.default_memory_per_cpu, FAR)
    elif partition.default_memory_per_node:
        # Nodes have less than UNLIMITED: Slurm refuses jobs that say nothing.
        demand.on_node = min(partition.default_memory_per_node, FAR)
    else:
        demand.whole_memory = True
    if not partition.max_memory_per_cpu and not partition.max_memory_per_node:
        return demand
    memory = machine.memory[partition.nodes]
    # Memory that goes by GPUs is not known here: all that the first node has is bounded, as where none is stated.
    all_of_it = demand.whole_memory or by_gpus
    asked = int(memory[0]) if all_of_it and len(memory) else demand.on_node
    first = int(machine.cpus[partition.nodes.argmax()]) if alone else 0
    _bound(demand, options, partition, asked, first)
    if partition.max_memory_per_cpu and asked:
        _with_cpus(demand, options, math.ceil(asked / partition.max_memory_per_cpu), nodes, rules)
    return demand


def _counted_beforehand(options: BatchOptions, nodes: int, cpus_per_task: int, rules: Rules) -> bool:
    """Whether a job's CPUs are those of a task on each node, for the tasks of its GPUs are counted too late.

    That is so where these are no more than the CPUs that are counted without them.

    Args:
        options: of the job.
        nodes: that it has at least.
        cpus_per_task: of each task.
        rules: of the version.
    """
    if rules.TASKS_OF_GPUS_HAVE_CPUS or options.tasks is not None or options.tasks_per_gpu is None:
        return False
    return not options.overcommit and nodes < options.tasks_on(nodes) <= nodes * cpus_per_task


def _cpus_per_gpu(request: JobRequest, partition: Partition) -> int:
    """CPUs that come along with a GPU; 0 if none do."""
    options = request.options
    if options.cpus_per_gpu:
        return options.cpus_per_gpu
    if options.tasks_per_gpu:
        return options.tasks_per_gpu * request.cpus_per_task
    return (partition.default_cpus_per_gpu or 0) if options.cpus_per_task is None else 0


def _bound(demand: Demand, options: BatchOptions, partition: Partition, on_node: float, first: int) -> None:
    """A job that wants more memory a CPU than there may be gets more CPUs for it; more on each node there cannot be.

    Args:
        demand: of the job.
        options: of the job.
        partition: with the bounds.
        on_node: memory on each node; what the first node of the partition has, where the job wants all or says nothing.
        first: CPUs of the partition's first node, if the job has whole nodes.
    """
    most = partition.max_memory_per_cpu
    if most and demand.per_cpu > most:
        times = math.ceil(demand.per_cpu / most)
        demand.cpus_per_task *= times
        demand.per_cpu = math.ceil(demand.per_cpu / times)
    most = partition.max_memory_per_node
    if most:
        tasks = max(options.tasks_per_node or 1, -(-(options.tasks or 0) // (options.max_nodes or FAR)))
        cpus = first or max(tasks * demand.cpus_per_task, options.min_cpus or 0)
        demand.too_much = max(on_node, demand.per_cpu * cpus) > most


def _with_cpus(demand: Demand, options: BatchOptions, cpus: int, nodes: int, rules: Rules) -> None:
    """A job has so many CPUs on each node for its memory; in newer versions its tasks share them."""
    if rules.TASKS_SHARE_CPUS_OF_MEMORY and options.tasks and cpus <= (options.min_cpus or 0):
        return  # --mincpus has it choose its nodes, and its tasks have what they want.
    # sbatch takes --cpus-per-task and --ntasks-per-node for --mincpus, too.
    if rules.TASKS_SHARE_CPUS_OF_MEMORY and cpus > options.fewest_cpus:
        if options.tasks_per_node:
            demand.cpus_per_task = -(-cpus // options.tasks_per_node)
            cpus = max(cpus, demand.cpus_per_task * options.tasks_per_node)
        elif options.tasks:
            demand.cpus_per_task = -(-cpus * nodes // options.tasks)
            demand.cpus_free, cpus = demand.cpus_per_task * options.tasks // nodes, 0
            demand.cpus_shared = demand.cpus_free if options.max_nodes == nodes else 0
        else:
            demand.cpus_per_task = max(demand.cpus_per_task, cpus)
    demand.cpus_of_memory = max(cpus, demand.cpus_free)
    demand.cpus_on_node = max(demand.cpus_on_node, cpus)
