"""What a job needs of the nodes of a partition: what it asks for, the defaults, and what bounds make of both."""

from __future__ import annotations

import math

import numpy as np

from emulator.config.slurm.controller import Parameters
from emulator.config.slurm.model import GresCount
from emulator.config.slurm.versions import Rules
from emulator.state.cluster import Cluster
from emulator.state.demand import Demand, demand_of
from emulator.state.features import choices
from emulator.state.machine import ALONE, MARK, has_rows
from emulator.state.partition import Partition
from emulator.workload.request import JobRequest, RejectedError
from emulator.workload.sbatch import GPU, BatchOptions
from slurm_sim_plugins.devices import SHARED
from slurm_sim_plugins.errors import InputError
from slurm_sim_plugins.nodes import FAR, Choice, Mask, Want
from slurm_sim_plugins.select.linear import is_even
from slurm_sim_plugins.topology.block import Blocks
from slurm_sim_plugins.topology.tree import Tree

ONE_THREAD = frozenset({"nomultithread", "compute_bound", "memory_bound"})
"""Values of ``--hint`` with which a job uses one thread of each core."""
TOO_MUCH_MEMORY = "MaxMemPerLimit"
BAD_CONSTRAINTS = "BadConstraints"
PARTITION_CONFIG, PARTITION_NODES = "PartitionConfig", "PartitionNodeLimit"


def want_of(request: JobRequest, partition: Partition, cluster: Cluster, fewest: int) -> Want:
    """What a job needs in a partition.

    Args:
        request: what it asks for.
        partition: where.
        cluster: the cluster state.
        fewest: nodes that a job must have there.

    Raises:
        RejectedError: it names what there is not.
    """
    parameters, options = cluster.parameters, request.options
    on_gpus = _nodes_by_gpus(options)
    nodes, most = (on_gpus, on_gpus) if on_gpus else _nodes_asked(options)
    _check_gres(options, cluster)
    enough = most or options.tasks or FAR
    named, some = _named(options, enough, cluster)
    if some:
        nodes, most = nodes if most else enough, enough
    tasks = options.tasks_on(nodes)
    if options.tasks is not None and options.tasks < nodes:
        nodes = options.tasks if options.max_nodes != options.min_nodes else nodes
    if most is not None and options.tasks is not None:
        # Nodes without a task are not asked for.
        most = max(nodes, min(most, options.tasks))
    bound = partition.max_nodes
    welcome = (None if options.use_min_nodes else most) or (tasks if options.spread else nodes)
    target = max(nodes, min(welcome, max(_nodes_for_tasks(options, nodes, parameters.rules), nodes)))
    alone = options.exclusive or partition.oversubscribe == "EXCLUSIVE"
    shares = partition.oversubscribe == "FORCE" or (has_rows(partition) and options.share)
    fewest = _fewest(fewest, options, alone, parameters.rules)
    demand = demand_of(request, partition, cluster.machine, parameters.rules, nodes)
    per_task = demand.cpus_per_task
    with_tasks = per_task * (1 if options.overcommit else options.tasks_per_node or 1)
    of_node = per_task * (options.tasks_per_node or 1)
    on_node = max(demand.cpus_on_node, demand.cpus_free, options.min_cpus or 0, of_node)
    given = _given(demand.cpus_on_node, with_tasks, options, parameters.rules)
    nodes = max(nodes, fewest, nodes_by_tasks(options, parameters.rules))
    cpus = max(tasks * per_task, nodes, demand.cpus_in_all)
    per_node = FAR if options.tasks_per_node is None else max(of_node, on_node, demand.cpus_in_all)
    whole = cluster.nodes_for.whole_nodes or alone
    gres = options.gres or options.gpus or options.of_tasks
    whole_tasks = parameters.rules.WHOLE_TASKS_COUNT or bool(gres)
    by_tasks = parameters.rules.RANKED_BY_TASKS and not whole and not partition.least_loaded
    ranked = per_node if by_tasks else FAR
    if options.tasks == 1 and options.min_cpus is None:
        # It needs a node with room for as many tasks as there may be, and has one there.
        per_node = min(per_node, max(per_task, demand.cpus_on_node, demand.cpus_in_all))
    if _too_few_tasks(options, of_node, whole, parameters.rules):
        on_node = FAR
    # A node that has not all is of no use to a job that may have but one.
    on_node = max(on_node, cpus) if most == 1 else on_node
    if gres and not (demand.cpus_per_gpu and demand.cpus_in_all) and not partition.least_loaded:
        ranked = min(ranked, max(_most_tasks_on_node(options, nodes, most) * per_task, on_node))
    tasks_per_core = options.tasks_per_core or (1 if parameters.one_task_per_core else FAR)
    threads = 1 if options.hint in ONE_THREAD else options.threads_per_core or FAR
    one_node = most == 1 or (options.tasks == 1 and nodes == 1)
    if most is None and bound is not None and nodes <= bound < min(cpus, int(partition.nodes.sum())):
        most = bound
    most = _most_with_gpus(options, nodes, most)
    if one_node and whole and parameters.rules.FIRST_NODE_FOR_ONE:
        per_node = FAR
    of_gpus = max(of_node, cpus if most == 1 else 1) if _gpus_give_cpus(demand, whole, parameters.rules) else 0
    in_all = bool(options.gpus_per_task or options.gpus) and not on_gpus
    if of_gpus and not in_all:
        given = ranked = max(demand.cpus_on_node, of_gpus)
    counted = bool(options.cpus_per_gpu) and parameters.rules.GPUS_COUNT_CPUS
    by_socket = parameters.rules.SOCKETS_HAVE_TASKS
    tree = _tree(request, partition, cluster)
    in_blocks = isinstance(tree, Blocks)
    of_all = () if options.gpus_per_task or on_gpus else _counts(options.gpus) or _gpus_of_tasks(options)
    return Want(
        min_nodes=nodes,
        most_nodes=most,
        # In blocks, and of GPUs in all, no more nodes are taken than are needed.
        target_nodes=nodes if in_blocks or of_all else max(target, fewest),
        cpus=cpus,
        choices=_choices(request, cluster),
        cpus_per_task=per_task,
        cpus_on_node=on_node,
        cpus_given=given,
        per_node=per_node,
        ranked=ranked,
        per_core=min(tasks_per_core * per_task, threads, FAR),
        task_cores=tasks_per_core == 1 and per_task > 1,
        whole_tasks=whole_tasks and per_task > 1 and not cluster.nodes_for.whole_nodes,
        per_socket=FAR if by_socket or options.tasks_per_socket is None else options.tasks_per_socket * per_task,
        fills_sockets=_fills_sockets(options, parameters),
        socket_tasks=(options.tasks_per_socket or 0) if by_socket else 0,
        tasks_on_node=_tasks_known(options, most),
        socket_cores=options.cores_per_socket or 1,
        node_sockets=options.sockets or 1,
        whole=whole,
        memory_per_node=math.ceil(demand.on_node) if parameters.memory else 0,
        memory_per_cpu=math.ceil(demand.per_cpu) if parameters.memory else 0,
        memory_per_gpu=math.ceil(demand.per_gpu) if parameters.memory else 0,
        memory_of_core=threads if parameters.whole_cores else 0,
        all_memory=demand.whole_memory and parameters.memory,
        all_gres=alone,
        gres=_counts(options.gres),
        gres_total=of_all,
        gres_per_task=_counts(options.of_tasks),
        cpus_per_gpu=demand.cpus_per_gpu,
        first_fit=cluster.nodes_for.whole_nodes and not parameters.rules.WHOLE_NODES_BY_SIZE,
        weights_now_only=cluster.nodes_for.whole_nodes and len(cluster.machine.weights) > 1,
        largest_first=_largest_first(cluster),
        counted_per_gpu=(options.cpus_per_gpu or 0) if parameters.rules.GPUS_COUNT_CPUS else 0,
        cpus_of_gpus=of_gpus if in_all else 0,
        contiguous=options.contiguous,
        required=named,
        some_required=some,
        least_loaded=partition.least_loaded,
        by_looks=partition.least_loaded and parameters.rules.LEAST_LOADED_BY_LOOKS,
        last_first=parameters.pack_serial_at_end and tasks * per_task <= 1 and nodes <= 1 and not counted,
        first_node=one_node and _takes_first_node(partition, cluster),
        tree=tree,
        segment=_segment(options.segment, nodes, tree, cluster) if isinstance(tree, Blocks) else 0,
        switches=0 if in_blocks else options.switches,
        spread=_spread(options, one_node, parameters.rules),
        node_counts=_node_counts(options),
        counted_tasks=_counted_tasks(options, parameters.rules),
        placed=_placed(options, nodes, whole, parameters.rules),
        tasks_of_gpus=_tasks_of_gpus(options, of_all) if parameters.rules.TASKS_FOLLOW_GPUS and not whole else 0,
        of_rounds=_goes_round_sockets(options, demand, whole, partition, cluster),
        pool=partition.name if partition.name in cluster.machine.pools else "",
        marks=_marks(shares, partition, cluster),
        unmarked=_unmarked(shares, partition, cluster),
        never=_never(tasks * per_task, nodes, partition, cluster) or (TOO_MUCH_MEMORY if demand.too_much else ""),
    )


def _fewest(fewest: int, options: BatchOptions, alone: bool, rules: Rules) -> int:
    """Nodes that a job must have in a partition of so many at least (``MinNodes``)."""
    bound = options.tasks is not None and not alone and (options.overcommit or rules.TASKS_BOUND_MIN_NODES)
    return min(fewest, options.tasks) if bound and options.tasks else fewest


def _takes_first_node(partition: Partition, cluster: Cluster) -> bool:
    """Whether a job that gets one node takes the first with room for it; select/linear does not so (recorded)."""
    first = cluster.parameters.rules.FIRST_NODE_FOR_ONE and not partition.least_loaded
    return first and not cluster.nodes_for.whole_nodes


def _largest_first(cluster: Cluster) -> bool:
    """Whether whole nodes are chosen by their sizes."""
    by_size = cluster.nodes_for.whole_nodes and cluster.parameters.rules.WHOLE_NODES_BY_SIZE
    return by_size and not is_even(cluster.machine)


def _gpus_give_cpus(demand: Demand, whole: bool, rules: Rules) -> bool:
    """Whether nodes give the CPUs that go with their GPUs, however many the tasks want."""
    return bool(demand.cpus_per_gpu) and not whole and rules.GPUS_GIVE_CPUS


def _too_few_tasks(options: BatchOptions, of_node: int, whole: bool, rules: Rules) -> bool:
    """Whether no node suffices, as --mincpus asks for more CPUs than the tasks of a node may have."""
    bound = rules.MIN_CPUS_CHOOSE_NODES and options.tasks_per_node and not whole and not options.gres
    return bool(bound) and (options.min_cpus or 0) > of_node


def _spread(options: BatchOptions, one_node: bool, rules: Rules) -> int:
    """With how many nodes a job that is spread ends for good; 0 if it is not spread."""
    if not options.spread:
        return 0
    if not rules.SPREAD_BY_WEIGHTS:
        return 1
    return 0 if one_node else options.tasks or FAR


def _node_counts(options: BatchOptions) -> tuple[int, ...]:
    """Of how many nodes a job may have one number, the largest first; none where any within its bounds will do."""
    counts = options.node_counts
    return counts[::-1] if counts and (counts[0], counts[-1]) == (options.min_nodes, options.max_nodes) else ()


def _tasks_of_gpus(options: BatchOptions, gpus: tuple[tuple[str, str, int], ...]) -> int:
    """Tasks for each of the GPUs that are wanted in all, if they can be dealt out evenly to them; else 0."""
    count = sum(one[2] for one in gpus) if all(one[0] == GPU for one in gpus) else 0
    return options.tasks // count if options.tasks and count and options.tasks % count == 0 else 0


def _goes_round_sockets(
    options: BatchOptions, demand: Demand, whole: bool, partition: Partition, cluster: Cluster
) -> bool:
    """Whether tasks that go round the sockets, where these are counted, may have more memory than is counted."""
    if not demand.per_cpu or not cluster.parameters.memory or whole or demand.cpus_per_task > 1:
        return False
    return not _fills_sockets(options, cluster.parameters) and bool((cluster.machine.cores[partition.nodes] > 1).any())


def _counted_tasks(options: BatchOptions, rules: Rules) -> int:
    """Tasks that must find room on the nodes of each count of features; 0 for none."""
    return 0 if options.overcommit or not rules.COUNTED_NODES_HAVE_TASKS else options.tasks or 0


def _placed(options: BatchOptions, nodes: int, whole: bool, rules: Rules) -> int:
    """Tasks of a job that overcommits which must find CPUs of their own all the same; 0 for none."""
    if options.placed_tasks:
        return options.placed_tasks
    if not options.overcommit or not rules.OVERCOMMITTED_ARE_PLACED or (options.cpus_per_task is None and not whole):
        return 0
    return options.tasks or nodes * (options.tasks_per_node or 1)


def _nodes_for_tasks(options: BatchOptions, nodes: int, rules: Rules) -> int:
    """On how many nodes tasks would be one by one, if their number is stated or follows; else any number."""
    if options.tasks is not None:
        return options.tasks
    if options.tasks_per_gpu is not None or (options.gpus and options.gpus_per_task):
        return options.tasks_on(nodes)
    if rules.RANGE_IS_FILLED:
        return len(options.node_list) if len(options.node_list) > (options.min_nodes or 1) else FAR
    return FAR if options.tasks_per_node is None else options.tasks_on(nodes)


def _most_tasks_on_node(options: BatchOptions, nodes: int, most: int | None) -> int:
    """Tasks on a node, beyond which its CPUs do not count for a job with GRES."""
    if options.tasks_per_node is not None:
        return options.tasks_per_node
    if options.tasks_per_gpu is not None:
        return max(options.tasks_on(nodes) // nodes, 1)
    if options.tasks is None:
        return FAR
    if most == 1 or options.tasks == 1:
        return options.tasks
    return 1 if options.tasks == nodes == most else FAR


def _most_with_gpus(options: BatchOptions, nodes: int, most: int | None) -> int | None:
    """On how many nodes a job may be at most: GPUs are not shared out among more than there are tasks."""
    return max(nodes, options.tasks) if most is None and options.tasks is not None and options.gpus else most


def nodes_by_tasks(options: BatchOptions, rules: Rules) -> int:
    """How many nodes tasks ask for by so many on each."""
    asks = rules.TASKS_ASK_FOR_NODES or options.overcommit
    if not asks or options.tasks is None or options.max_nodes is not None:
        return 1
    return -(-options.tasks // (options.tasks_per_node or options.tasks))


def _given(on_node: int, with_tasks: int, options: BatchOptions, rules: Rules) -> int:
    """CPUs that a job has on each of its nodes at least.

    Args:
        on_node: CPUs that go with GPUs or memory there.
        with_tasks: CPUs of as many tasks as there may be on a node.
        options: of the job.
        rules: of the version.
    """
    if not options.overcommit and (options.tasks is None or not rules.MIN_CPUS_CHOOSE_NODES):
        on_node = max(on_node, options.min_cpus or 0)
    if options.tasks is None or rules.NODES_GIVE_ALL_TASKS or not rules.TASKS_GET_THEIR_CPUS:
        return max(on_node, with_tasks)
    return max(on_node, 1)


def _marks(shares: bool, partition: Partition, cluster: Cluster) -> tuple[str, ...]:
    """What a job marks its nodes with."""
    of_partition: tuple[str, ...] = (MARK + partition.name,)
    if not shares:
        of_partition = (ALONE,) if cluster.parameters.rules.SHARED_BY_JOBS else (ALONE, *of_partition)
    return tuple(mark for mark in of_partition if ("", mark) in cluster.machine.gres)


def _unmarked(shares: bool, partition: Partition, cluster: Cluster) -> tuple[str, ...]:
    """Which marks a job's nodes must not have.

    One that shares goes to no nodes with a job that does not; and that not to nodes with jobs of another partition
    which share or, in older versions, might.
    """
    marks = [mark for name, mark in cluster.machine.gres if not name and mark.startswith(MARK)]
    if shares:
        return (ALONE,) if ALONE in marks else ()
    return tuple(mark for mark in marks if mark not in (ALONE, MARK + partition.name))


def _tree(request: JobRequest, partition: Partition, cluster: Cluster) -> Tree | Blocks | None:
    machine = cluster.machine
    tree = machine.named.get(partition.topology, machine.tree)
    return None if isinstance(tree, Tree) and tree.optional and not request.options.switches else tree


def _segment(segment: int | None, nodes: int, blocks: Blocks, cluster: Cluster) -> int:
    """Nodes of a segment of a job of so many; 0 if it has none.

    Raises:
        RejectedError: its nodes are no number of such segments, or they are too large.
    """
    if segment is None:
        return 0
    larger = cluster.parameters.rules.SEGMENTS_OF_BLOCKS
    if nodes % segment or (segment > blocks.sizes[0] and not larger):
        raise RejectedError("Requested topology configuration is not available")
    return segment


def _never(cpus: int, nodes: int, partition: Partition, cluster: Cluster) -> str:
    """Why a job is larger than a partition; empty if it is not."""
    machine = cluster.machine
    there = machine.cpus
    if partition.name in machine.pools:
        there = np.minimum(there, machine.pool_cpus(partition.name, machine.gres["", partition.name]))
    more = cpus - int(there[partition.nodes].sum())
    if more > 0 and (partition.name in machine.pools or more > _specialized(partition, cluster)):
        return PARTITION_CONFIG
    return PARTITION_NODES if nodes > int(partition.nodes.sum()) else ""


def _specialized(partition: Partition, cluster: Cluster) -> int:
    """CPUs of a partition that no job has, with which it counts nevertheless (recorded)."""
    nodes = [cluster.conf.nodes[node] for node in partition.nodes.nonzero()[0].tolist()]
    return sum(node.system_cores * node.threads_per_core for node in nodes)


def _named(options: BatchOptions, enough: int, cluster: Cluster) -> tuple[Mask | None, bool]:
    """Nodes that a job names, and whether it gets some of them; else it gets all, or the first that are enough."""
    if not options.node_list:
        return None, False
    named = known_nodes(options.node_list, cluster)
    if len(options.node_list) > enough and cluster.parameters.rules.SOME_OF_NAMED:
        return named, True
    return named & (named.cumsum() <= enough), False


def _counts(gres: tuple[GresCount, ...]) -> tuple[tuple[str, str, int], ...]:
    return tuple((one.name, one.type, one.count) for one in gres)


def _nodes_asked(options: BatchOptions) -> tuple[int, int | None]:
    """Nodes that a job asks for, at least and at most; None for no bound."""
    nodes = options.min_nodes or max(1, len(options.node_list) if options.tasks is None else 1)
    return nodes, options.max_nodes if options.max_nodes is not None else options.min_nodes


def _check_gres(options: BatchOptions, cluster: Cluster) -> None:
    """Refuse resources that the cluster does not know, fewer GPUs than nodes, and what excludes each other.

    Raises:
        RejectedError: there is something of the kind.
    """
    of_devices = options.gpus or options.of_tasks or options.cpus_per_gpu or options.memory_per_gpu
    if of_devices and cluster.nodes_for.whole_nodes:
        raise RejectedError("Requested GRES option unsupported by configured SelectType plugin")
    if options.cpus_per_task and options.cpus_per_gpu:
        raise RejectedError("--cpus-per-task and --cpus-per-gpu are mutually exclusive")
    asked = {one.name for one in (*options.gres, *options.gpus, *options.of_tasks)}
    with_gpus = asked & {GPU} or options.cpus_per_gpu or options.memory_per_gpu
    few = options.gpus and sum(one.count for one in options.gpus) < (options.min_nodes or 1)
    unknown = asked and asked - {name for name, _ in cluster.machine.gres}
    if (
        few
        or (with_gpus and asked & set(SHARED))
        or (unknown and not unknown <= set(cluster.conf.parameters.words("GresTypes")))
    ):
        raise RejectedError("Invalid generic resource (gres) specification")


def _nodes_by_gpus(options: BatchOptions) -> int:
    """Nodes of a job that states GPUs in all and on each node; 0 for one that does not state both.

    Raises:
        RejectedError: there are no such nodes, or as many may not be had.
    """
    in_all, on_node = sum(one.count for one in options.gpus), sum(one.count for one in options.gres if one.name == GPU)
    if not in_all or not on_node:
        return 0
    nodes, rest = divmod(in_all, on_node)
    most = options.max_nodes if options.max_nodes is not None else options.min_nodes or FAR
    if rest or not (options.min_nodes or 1) <= nodes <= most:
        raise RejectedError("Invalid generic resource (gres) specification")
    return nodes


def _gpus_of_tasks(options: BatchOptions) -> tuple[tuple[str, str, int], ...]:
    """GPUs that a job wants because only so many of its tasks may share one."""
    if options.tasks_per_gpu is None or options.tasks is None or any(one.name == GPU for one in options.gres):
        return ()
    return ((GPU, "", -(-options.tasks // options.tasks_per_gpu)),)


def _choices(request: JobRequest, cluster: Cluster) -> tuple[Choice, ...]:
    """Ways to satisfy its constraint; before them those with what it would rather have, which take its place."""
    options, unknown = request.options, cluster.parameters.ignore_constraint_validation
    try:
        found = choices(options.constraint, cluster.machine.features, unknown=unknown)
        preferred = choices(options.prefer, cluster.machine.features, unknown=True) if options.prefer else []
    except InputError as error:
        raise RejectedError(str(error)) from error
    found = preferred + found
    allowed = _shaped(options, cluster)
    if options.exclude:
        allowed &= ~known_nodes(options.exclude, cluster)
    return tuple(found) if allowed.all() else tuple(Choice(one.mask & allowed, one.counts) for one in found)


def _fills_sockets(options: BatchOptions, parameters: Parameters) -> bool:
    """Whether its tasks fill a socket before they go to another."""
    if options.fills_sockets is not None:
        return options.fills_sockets
    return parameters.fill_sockets or (parameters.rules.TASKS_FILL_SOCKETS and options.tasks_per_node is not None)


def _tasks_known(options: BatchOptions, most: int | None) -> int:
    """How many tasks each node has, where that is known before nodes are chosen."""
    if options.tasks_per_node is not None:
        return options.tasks_per_node
    tasks = options.tasks
    if tasks is not None and most == 1:
        return tasks
    return 1 if tasks is not None and (tasks == 1 or tasks == options.min_nodes == options.max_nodes) else FAR


def _shaped(options: BatchOptions, cluster: Cluster) -> Mask:
    """Nodes with as many CPUs, sockets, cores and threads as it asks for, and as much memory and temporary storage."""
    nodes, least = (
        cluster.conf.nodes,
        (options.sockets or 0, options.cores_per_socket or 0, options.threads_per_core or 0),
    )
    allowed = np.ones(len(nodes), dtype=bool)
    if any(least):
        shapes = [(node.sockets, node.cores_per_socket, node.threads_per_core) for node in nodes]
        allowed &= (np.array(shapes) >= np.array(least)).all(axis=1)
    if options.fewest_cpus > 1 and not options.overcommit:
        allowed &= cluster.machine.cpus >= options.fewest_cpus
    if options.tmp_disk:
        allowed &= np.array([node.tmp_disk for node in nodes]) >= options.tmp_disk
    # Where memory is not given out, a node must have what is asked for all the same.
    stated = options.memory_per_node or options.memory_per_cpu
    return allowed & (cluster.machine.memory >= stated) if stated else allowed


def known_nodes(names: tuple[str, ...], cluster: Cluster) -> Mask:
    """Nodes by name.

    Raises:
        RejectedError: one of them does not exist.
    """
    if any(name not in cluster.machine.index for name in names):
        raise RejectedError("Invalid node name specified")
    return cluster.machine.mask_of(names)
