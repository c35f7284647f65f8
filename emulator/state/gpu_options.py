"""What ``sbatch`` refuses of options that ask for GPUs in several ways, before the controller knows of the job.

(Slurm's sources, ``gres_job_state_validate``; answers of three versions are among the tests.)
"""

from __future__ import annotations

import math

from emulator.config.slurm.versions import Rules
from emulator.workload.sbatch import GPU, BatchOptions

OF_NODE = "--gres=gpu/--gpus-per-node"
NO_LIMIT = 4_294_967_294
"""What Slurm shows for no bound."""


def stated_tasks(options: BatchOptions, rules: Rules) -> int | None:
    """Tasks of a job that states GPUs of tasks, or tasks of GPUs: its own, or those of a stated number of nodes.

    None if they are not known: a range of nodes does not say, nor, from 24.11 on, so many tasks on any nodes.
    """
    if options.tasks is not None:
        return options.tasks
    nodes = options.min_nodes
    if options.tasks_per_node is not None and not rules.GPUS_PER_TASK_NEED_TASKS:
        return (nodes or 1) * options.tasks_per_node
    if nodes is None or options.max_nodes not in (None, nodes):
        return None
    shape = [each for each in (options.sockets, options.cores_per_socket, options.threads_per_core) if each is not None]
    if shape:
        return nodes * math.prod(shape)
    if options.tasks_per_gpu is not None:
        return nodes * options.tasks_per_gpu
    if options.tasks_per_node is not None:
        return nodes * options.tasks_per_node
    return nodes if options.cpus_per_task is None else None


def refused_gpus(options: BatchOptions, rules: Rules) -> str:
    """Why ``sbatch`` refuses what a job asks of GPUs, in its words; empty if it does not."""
    on_node = sum(one.count for one in options.gres if one.name == GPU)
    on_socket, on_node = (on_node, 0) if options.gpus_on_sockets else (0, on_node)
    in_all, of_task = sum(one.count for one in options.gpus), sum(one.count for one in options.gpus_per_task)
    tasks = stated_tasks(options, rules)
    any_gpu = in_all or on_node or on_socket or of_task
    if options.tasks_per_gpu is not None and not any_gpu and tasks is None:
        needs = "--ntasks-per-tres needs either a GRES GPU specification or a node/ntask specification"
        return f"gres_job_state_validate: {needs}"
    of_gpus = _without_gpus(options, rules) if not any_gpu and options.tasks_per_gpu is None else ""
    return (
        of_gpus
        or _out_of_order(in_all, on_node, on_socket, of_task)
        or _beside_other_options(options, on_socket)
        or _of_nodes(options, in_all, on_node)
        or _of_tasks(options, rules, in_all, on_node, of_task, tasks)
        or ("Failed to validate job spec, --gpus < -N" if 0 < in_all < (options.min_nodes or 1) else "")
    )


def _without_gpus(options: BatchOptions, rules: Rules) -> str:
    kind = "gres/gpu" if rules.GPUS_PER_TASK_NEED_TASKS else "gres:gpu"
    if options.memory_per_gpu is not None:
        return f"Requested mem_per_tres={kind}:{options.memory_per_gpu} but did not request any GPU."
    if options.cpus_per_gpu is not None and rules.GPUS_PER_TASK_NEED_TASKS:
        return f"Requested cpus_per_tres={kind}:{options.cpus_per_gpu} but did not request any GPU."
    return ""


def _out_of_order(in_all: int, on_node: int, on_socket: int, of_task: int) -> str:
    if in_all and max(on_node, of_task, on_socket) > in_all:
        return f"Failed to ensure --gpus >= {OF_NODE} >= --gpus-per-socket"
    return "Failed to ensure --gpus >= --gpus-per-task" if on_node and max(of_task, on_socket) > on_node else ""


def _beside_other_options(options: BatchOptions, on_socket: int) -> str:
    if on_socket and options.sockets is None:
        return "--gpus-per-socket option requires --sockets-per-node specification"
    if options.cpus_per_gpu and options.cpus_per_task:
        return "--cpus-per-gpu is mutually exclusive with --cpus-per-task"
    return ""


def _of_nodes(options: BatchOptions, in_all: int, on_node: int) -> str:
    if not in_all or not on_node:
        return ""
    if in_all % on_node:
        return f"Failed to validate job spec, --gpus is not multiple of {OF_NODE}"
    nodes, least = in_all // on_node, options.min_nodes
    most = options.max_nodes if options.max_nodes is not None else NO_LIMIT if least is None else least
    if (least or 0) <= nodes <= most:
        return ""
    bounds = f"min_nodes ({NO_LIMIT if least is None else least}) and max_nodes ({most})"
    needs = f"required nodes ({nodes}) doesn't fall between {bounds} boundaries."
    return f"Failed to validate job spec. Based on --gpu and {OF_NODE} {needs}"


def _of_tasks(options: BatchOptions, rules: Rules, in_all: int, on_node: int, of_task: int, tasks: int | None) -> str:
    words, many = "Failed to validate job spec", options.tasks_per_gpu
    if many and options.tasks is not None and options.tasks > many and options.tasks % many:
        return f"{words}, -n/--ntasks has to be a multiple of --ntasks-per-gpu."
    if not of_task:
        return ""
    if in_all % of_task:
        return f"{words}, --gpus not multiple of --gpus-per-task"
    if in_all and tasks is not None and tasks != in_all // of_task:
        return f"{words}. Based on --gpus and --gpus-per-task number of requested tasks differ from -n/--ntasks."
    if not in_all and tasks is None:
        other = " or --tres-per-task" if rules.GPUS_PER_TASK_NEED_TASKS else ""
        return f"{words}. --gpus-per-task{other} used without either --gpus or -n/--ntasks is not allowed."
    if on_node % of_task:
        return f"{words}, {OF_NODE} not multiple of --gpus-per-task."
    if on_node and options.tasks_per_node not in (None, on_node // of_task):
        needs = "requested number of tasks per node differ from --ntasks-per-node."
        return f"{words}. Based on {OF_NODE} and --gpus-per-task {needs}"
    return ""
