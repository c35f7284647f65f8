"""What a job needs of the nodes of a partition: what it asks for, the defaults, and what bounds make of both."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from emulator.config.slurm.model import GresCount
from emulator.config.slurm.versions import Rules
from emulator.state.asked import Asked, asked_of
from emulator.state.cluster import Cluster
from emulator.state.features import choices
from emulator.state.machine import ALONE, MARK, has_rows
from emulator.state.near_gres import gives_all_cores
from emulator.state.partition import PARTITION_CONFIG, PARTITION_NODES, Partition
from emulator.workload.request import JobRequest, RejectedError
from emulator.workload.sbatch import GPU, ONE_THREAD, BatchOptions
from slurm_sim_plugins.errors import InputError
from slurm_sim_plugins.nodes import FAR, Choice, Mask, Want
from slurm_sim_plugins.select.capacity import cpus_of_socket
from slurm_sim_plugins.select.linear import is_even
from slurm_sim_plugins.topology.block import Blocks
from slurm_sim_plugins.topology.tree import Tree

MULTITHREAD = "multithread"
"""The one with which it may have several tasks on a core, also with CR_ONE_TASK_PER_CORE (asked of three versions)."""
MOST_SINGLY = 128
"""So many nodes are left out one by one at most: in a large partition more would take a second for each job."""
TOO_MUCH_MEMORY = "MaxMemPerLimit"
BAD_CONSTRAINTS = "BadConstraints"
NO_SWITCH = "Requested topology configuration is not available"


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
    asked = asked_of(request, partition, cluster, fewest)
    want = _with_cpus(_on_nodes(asked), asked)
    for add in (_with_cores, _with_memory, _with_gres, _by_selection, _beside_others, _near_each_other):
        want = add(want, asked)
    return want


def _on_nodes(asked: Asked) -> Want:
    """Which nodes, and how many."""
    tree, options = _tree(asked), asked.options
    of_all = _gpus_in_all(asked) or options.gpus_per_task
    fewest = asked.fewest if _has_idle_nodes(asked) else 0
    ways = _choices(asked)
    no_more = isinstance(tree, Blocks) or of_all or any(way.counts for way in ways)
    return Want(
        min_nodes=max(asked.nodes, fewest),
        most_nodes=asked.bounded,
        # In blocks, of GPUs in all or for tasks, and by counts of features no more nodes are taken than are needed.
        target_nodes=max(asked.nodes if no_more else asked.target, fewest),
        cpus=asked.demand.cpus_shared or asked.cpus,
        choices=ways,
        whole=asked.whole,
        required=asked.named,
        some_required=asked.some,
        node_counts=_node_counts(options),
        tree=tree,
        never=_never(asked),
    )


def _with_cpus(want: Want, asked: Asked) -> Want:
    """How many CPUs of a node."""
    options, demand, rules, per_task = asked.options, asked.demand, asked.rules, asked.per_task
    cpus_free, of_tasks = _cpus_free(asked), _tasks_beside_gpus(asked) * per_task
    on_node = max(demand.cpus_on_node, demand.cpus_free, 0 if cpus_free else options.min_cpus or 0, asked.of_node)
    most_on_node = of_tasks if of_tasks < FAR else FAR
    if options.tasks_per_node is not None:
        most_on_node = max(asked.of_node, on_node, demand.cpus_in_all)
    per_node = most_on_node
    if options.tasks == 1 and options.min_cpus is None:
        # It needs a node with room for as many tasks as there may be, and has one there.
        per_node = min(per_node, max(per_task, demand.cpus_on_node, demand.cpus_in_all))
    if asked.goes_first and asked.whole:
        per_node = FAR
    if _too_few_tasks(asked):
        on_node = FAR
    # A node that has not all is of no use to a job that may have but one.
    on_node = max(on_node, asked.cpus) if asked.most == 1 and not _largest_first(asked) else on_node
    given, ranked = _given(asked), _ranked(asked, most_on_node, on_node)
    of_gpus, in_all = _cpus_of_gpus(asked), _wants_gpus_in_all(asked)
    if of_gpus and not in_all:
        given = ranked = max(demand.cpus_on_node, of_gpus)
    return replace(
        want,
        cpus_per_task=per_task,
        cpus_on_node=on_node,
        cpus_free=cpus_free or 1,
        cpus_of_sockets=_cpus_of_sockets(asked),
        cpus_given=given,
        per_node=per_node,
        ranked=ranked,
        tasks=options.tasks or FAR,
        tasks_on_node=_tasks_known(asked),
        cpus_of_gpus=of_gpus if in_all else 0,
        placed=FAR if _waits_for_more(asked) else _placed(options, asked.nodes, asked.whole, rules),
        dealt=options.placed_tasks * per_task if 0 < options.placed_tasks < (options.tasks or 0) else FAR,
        counted_tasks=0 if asked.whole_nodes else _counted_tasks(options, rules),
        counted_most=_counted_most(asked),
    )


def _cpus_free(asked: Asked) -> int:
    """CPUs of --mincpus that a node needs free, though sockets or GPUs give tasks fewer; 0 where tasks have them.

    Also those of all tasks of a job of one node, where an update says that it has fewer.
    """
    options, rules = asked.options, asked.rules
    if options.stated_tasks > (options.tasks or FAR) and asked.most == 1 and not asked.whole_nodes:
        return options.stated_tasks * asked.per_task
    bounded = options.tasks_per_socket is not None and not rules.SOCKETS_HAVE_TASKS
    of_gpus = bool(options.of_tasks) and not rules.CPUS_COME_WITH_GRES
    bounded = bounded or of_gpus or _tasks_beside_gpus(asked) < FAR
    return options.min_cpus or 0 if bounded else 0


def _tasks_beside_gpus(asked: Asked) -> int:
    """Tasks of a node, beyond which --mincpus gives none of its CPUs to a job with GPUs in all, or for each task."""
    options = asked.options
    if not (options.gpus or options.of_tasks) or options.min_cpus is None or asked.rules.CPUS_COME_WITH_GRES:
        return FAR
    if options.tasks is None and options.of_tasks:
        return 1  # As many tasks as nodes.
    named = 0 if asked.named is None else int(np.count_nonzero(asked.named))
    return _most_tasks_on_node(options, max(asked.nodes, named), asked.most)


def _cpus_of_sockets(asked: Asked) -> int:
    """CPUs with which a node must count: for as many tasks as each of its sockets may have (recorded on 22.05)."""
    options = asked.options
    apart = options.tasks_per_node is not None or options.overcommit or asked.rules.SOCKETS_HAVE_TASKS
    apart = apart or asked.whole_nodes
    return 1 if apart or options.tasks_per_socket is None else options.tasks_per_socket * asked.per_task


def _with_cores(want: Want, asked: Asked) -> Want:
    """Which threads, cores and sockets tasks may use."""
    options, rules, per_task = asked.options, asked.rules, asked.per_task
    # select/linear does not go by tasks of a core or of a socket (asked of three versions).
    of_core, of_socket = (options.tasks_per_core, options.tasks_per_socket) if not asked.whole_nodes else (None, None)
    apart = asked.parameters.one_task_per_core and MULTITHREAD not in options.hint.split(",")
    tasks_per_core = of_core or (1 if apart else FAR)
    by_socket = rules.SOCKETS_HAVE_TASKS
    whole_tasks = rules.WHOLE_TASKS_COUNT or bool(_gres(options))
    return replace(
        want,
        per_core=min(tasks_per_core * per_task, _threads(asked), FAR),
        task_cores=tasks_per_core == 1 and per_task > 1,
        whole_tasks=whole_tasks and per_task > 1 and not asked.whole_nodes,
        per_socket=FAR if by_socket or of_socket is None else of_socket * per_task,
        fills_sockets=_fills_sockets(options, asked.cluster),
        socket_tasks=(of_socket or 0) if by_socket else 0,
        socket_cores=options.cores_per_socket or 1,
        node_sockets=options.sockets or 1,
        of_rounds=_goes_round_sockets(asked),
        stated_on_node=options.tasks_per_node or 0,
        first_cores=rules.FIRST_CORES_FOR_TASKS,
    )


def _with_memory(want: Want, asked: Asked) -> Want:
    """How much memory; none where memory is not given out."""
    demand, given = asked.demand, asked.partition.gives_memory
    return replace(
        want,
        memory_per_node=math.ceil(demand.on_node) if given else 0,
        memory_per_cpu=math.ceil(demand.per_cpu) if given else 0,
        memory_per_gpu=math.ceil(demand.per_gpu) if given else 0,
        memory_of_core=_threads(asked) if asked.parameters.whole_cores else 0,
        all_memory=demand.whole_memory and given,
        tried_in_plans=_with_memory_of_tasks(asked),
        memory_of_first=asked.whole_nodes and demand.whole_memory and given and _memory_differs(asked),
    )


def _memory_differs(asked: Asked) -> bool:
    """Whether nodes of the partition have more memory than others, or some of it is kept for the system."""
    machine, nodes = asked.cluster.machine, asked.partition.nodes
    return len(np.unique(machine.memory[nodes])) > 1 or bool(np.any(nodes & (machine.kept_memory > 0)))


def _with_gres(want: Want, asked: Asked) -> Want:
    """How many GPUs and other generic resources."""
    options, rules, of_all = asked.options, asked.rules, _gpus_in_all(asked)
    of_nodes, of_socket, near = _counts(_gres_of_nodes(options)), _gpus_per_socket(options), _near_cores(asked)
    if of_socket and near:
        # A socket with so many is enough.
        of_nodes = tuple((name, kind, of_socket if name == GPU else count) for name, kind, count in of_nodes)
    return replace(
        want,
        all_gres=asked.alone,
        gres=of_nodes,
        gpus_per_socket=of_socket,
        gpus_near_cores=bool(of_socket) and near,
        sure_of_sockets=bool(of_socket) and near and rules.SOCKETS_NEED_THEIR_GPUS,
        gpus_by_cores=not rules.GPUS_GO_BY_SOCKETS,
        gres_total=of_all,
        gres_per_task=_counts(options.of_tasks),
        each_gives_types=rules.DEVICES_GO_BY_CPUS,
        late_gres=bool(options.of_tasks) and rules.GPUS_OF_TASKS_BOUND_LATE,
        cpus_per_gpu=asked.demand.cpus_per_gpu,
        tasks_per_gpu=options.tasks_per_gpu or 0,
        stated_per_gpu=options.cpus_per_gpu or asked.demand.cpus_per_gpu,
        enforces_binding=options.enforces_binding,
        counted_per_gpu=(options.cpus_per_gpu or 0) if rules.GPUS_COUNT_CPUS else 0,
        nodes_with_tasks=_nodes_with_tasks(asked),
        nodes_with_room=asked.fewest if _below_min_nodes(asked) else 0,
        idle_nodes_lack=asked.parameters.whole_cores,
        tasks_of_gpus=_tasks_of_gpus(options, of_all) if rules.TASKS_FOLLOW_GPUS and not asked.whole else 0,
    )


def _near_cores(asked: Asked) -> bool:
    """Whether GPUs of sockets are taken near cores: where gres.conf says which are."""
    return asked.cluster.machine.binding is not None


def _gpus_per_socket(options: BatchOptions) -> int:
    """GPUs of each socket; 0 for a job that does not say so."""
    in_all = sum(one.count for one in options.gres if one.name == GPU)
    return in_all // (options.sockets or 1) if options.gpus_on_sockets else 0


def _by_selection(want: Want, asked: Asked) -> Want:
    """In which order nodes are taken, as the SelectType and its parameters say."""
    partition, rules, apart = asked.partition, asked.rules, _kind_by_kind(asked)
    kinds = apart and rules.WHOLE_NODES_BY_SIZE and bool(np.any(asked.cluster.machine.kinds))
    # One that is to be spread gets the first node then, whatever others have to spare, and is not spread.
    spread = asked.options.spread and asked.one_node and rules.SPREAD_BY_WEIGHTS
    loads = partition.least_loaded and not spread
    return replace(
        want,
        first_fit=apart and not rules.WHOLE_NODES_BY_SIZE,
        weights_now_only=kinds or (asked.whole_nodes and len(asked.cluster.machine.weights) > 1),
        largest_first=_largest_first(asked),
        by_kinds=kinds,
        by_leaves=asked.whole_nodes and isinstance(want.tree, Tree),
        least_loaded=loads,
        by_looks=loads and rules.LEAST_LOADED_BY_LOOKS,
        # select/linear does neither (recorded).
        last_first=_goes_last(asked),
        first_node=asked.goes_first and not loads and not asked.whole_nodes,
        left_out_singly=MOST_SINGLY if rules.SMALL_NODES_LEFT_OUT_SINGLY and not asked.whole_nodes else 0,
        sure_of_gres=_sure_of_gres(want, asked),
        most_gpus_first=_most_gpus_first(want, asked),
    )


def _goes_last(asked: Asked) -> bool:
    """Whether it is a job of one CPU that is packed at the end (``pack_serial_at_end``).

    CPUs that it gets with GPUs do not count, but from 24.11 on those of ``--cpus-per-gpu`` (asked of three versions).
    """
    demand, of_gpu = asked.demand, asked.options.cpus_per_gpu or 0
    counted = asked.rules.GPUS_COUNT_CPUS and of_gpu and max(of_gpu, demand.cpus_on_node, demand.cpus_in_all) > 1
    per_task = asked.request.cpus_per_task if demand.cpus_per_gpu else asked.per_task
    single = asked.tasks * per_task <= 1 and asked.nodes <= 1
    return asked.parameters.pack_serial_at_end and single and not counted and not asked.whole_nodes


def _most_gpus_first(want: Want, asked: Asked) -> bool:
    """Whether nodes with most GPUs go first, for a job that has all of those of its nodes and asks for some.

    A job that gets the first node with room for it goes by weights alone, unless it is packed at the end. (Asked of
    three versions.)
    """
    first = asked.goes_first and not (asked.partition.least_loaded or _goes_last(asked))
    if not asked.alone or asked.whole_nodes or first:
        return False
    machine = asked.cluster.machine
    gpus, weight = machine.gpus_wanted(want), machine.weight
    suited = asked.partition.nodes & want.suited
    if any(name == GPU for name, _, _ in want.gres):
        suited &= gpus > 0
    # Limits on nodes may make some of them heavier by one as it starts.
    of_weights = (gpus[suited & ((weight == one) | (weight == one + 1))] for one in machine.weights)
    return any(counts.size and np.ptp(counts) > 0 for counts in of_weights)


def _sure_of_gres(want: Want, asked: Asked) -> bool:
    """Whether generic resources that a job wants in all have types: it gets no fewer of these then (recorded)."""
    wanted = {name for name, _, _ in want.gres_total}
    return any(name in wanted and bool(kind) for name, kind in asked.cluster.machine.gres)


def _beside_others(want: Want, asked: Asked) -> Want:
    """Beside which jobs it may be on a node."""
    name, machine = asked.partition.name, asked.cluster.machine
    return replace(
        want,
        # select/linear does not bound what jobs have of a node.
        pool=name if name in machine.pools and not asked.cluster.nodes_for.whole_nodes else "",
        all_of_pool=asked.options.exclusive_to == "user" and not asked.rules.USERS_HAVE_PARTS,
        marks=_marks(asked),
        unmarked=_unmarked(asked),
    )


def _near_each_other(want: Want, asked: Asked) -> Want:
    """How near to each other its nodes must be."""
    options, blocks = asked.options, want.tree if isinstance(want.tree, Blocks) else None
    return replace(
        want,
        contiguous=options.contiguous,
        segment=0 if blocks is None else _segment(options.segment, asked.nodes, blocks, asked.cluster),
        switches=options.switches if blocks is None else 0,
        switches_of_all=not asked.rules.SWITCHES_GO_BY_FREE_CORES,
        # select/linear does not spread jobs.
        spread=0 if asked.whole_nodes else _spread(options, asked.one_node, asked.rules),
    )


def _ranked(asked: Asked, most_on_node: int, on_node: int) -> int:
    """CPUs with which a node counts at most as nodes are compared.

    With select/linear, that is those of the tasks that a node may have (recorded in three versions).
    """
    options, demand, rules = asked.options, asked.demand, asked.rules
    by_tasks = rules.RANKED_BY_TASKS and not asked.whole and not asked.partition.least_loaded
    ranked = most_on_node if by_tasks or asked.whole_nodes else FAR
    if not _gres(options) or (demand.cpus_per_gpu and demand.cpus_in_all) or asked.partition.least_loaded:
        return ranked
    tasks = _most_tasks_on_node(options, asked.nodes, asked.most)
    if tasks == FAR and options.tasks is not None and _bound_by_gres(options, asked):
        tasks = options.tasks
    return min(ranked, max(tasks * asked.per_task, on_node))


def _bound_by_gres(options: BatchOptions, asked: Asked) -> bool:
    """Whether a node with GRES counts with the CPUs of all of a job's tasks at most.

    So it is from 24.11 on where GPUs that a job wants in all go evenly into its tasks, or the CPUs of a task into its
    GPUs, for Slurm tries nodes with as many CPUs for each GPU first; and where each task has GPUs. (Slurm's sources.)
    """
    if asked.rules.TASKS_BIND_NODES_OF_GRES or (asked.rules.GPUS_SHARE_TASKS and options.of_tasks):
        return True
    gpus, tasks = sum(one.count for one in options.gpus), options.tasks
    if not asked.rules.GPUS_SHARE_TASKS or not gpus or not tasks:
        return False
    return not tasks % gpus or (not gpus % tasks and not asked.per_task % (gpus // tasks))


def _gres(options: BatchOptions) -> tuple[GresCount, ...]:
    """What it asks for of generic resources: on each node, else in all, else for each task."""
    return options.gres or options.gpus or options.of_tasks


def _threads(asked: Asked) -> int:
    """Threads of each core that it uses, at most; select/linear does not go by them."""
    if asked.whole_nodes:
        return FAR
    # Of several hints the last one says how many.
    return 1 if asked.options.hint.rpartition(",")[2] in ONE_THREAD else asked.options.threads_per_core or FAR


def _largest_first(asked: Asked) -> bool:
    """Whether whole nodes are chosen by their sizes: of several that are looked at together."""
    together = asked.rules.WHOLE_NODES_BY_SIZE or not _kind_by_kind(asked)
    return asked.whole_nodes and together and not is_even(asked.cluster.machine)


def _kind_by_kind(asked: Asked) -> bool:
    """Whether whole nodes of one weight are looked at kind by kind: if no jobs share or preempt, without switches.

    In 22.05 each node is a kind of its own, as each has a line of its own where Slurm reads them. From 26.05 on
    neither sharing nor preemption matters.
    """
    if not asked.whole_nodes:
        return False
    partition, cluster = asked.partition, asked.cluster
    if asked.rules.SHARED_NODES_BY_KINDS:
        return cluster.machine.tree is None
    shares = asked.options.share and partition.oversubscribe in ("FORCE", "YES")
    shares = shares or (partition.oversubscribe == "FORCE" and has_rows(partition))
    preempts = cluster.conf.parameters.text("PreemptType").lower() not in ("", "preempt/none")
    return not (shares or preempts) and cluster.machine.tree is None


def _cpus_of_gpus(asked: Asked) -> int:
    """CPUs that a node gives at least where it gives those that go with its GPUs; 0 where it does not."""
    gives = bool(asked.demand.cpus_per_gpu) and not asked.whole and asked.rules.GPUS_GIVE_CPUS
    return max(asked.of_node, asked.cpus if asked.most == 1 else 1) if gives else 0


def _wants_gpus_in_all(asked: Asked) -> bool:
    """Whether it says how many GPUs it wants in all, or for each task, but not on how many nodes."""
    return bool(asked.options.gpus_per_task or asked.options.gpus) and not asked.by_gpus


def _gpus_in_all(asked: Asked) -> tuple[tuple[str, str, int], ...]:
    """GPUs that it wants in all, or for its tasks together."""
    options = asked.options
    return () if options.gpus_per_task or asked.by_gpus else _counts(options.gpus) or _gpus_of_tasks(options)


def _too_few_tasks(asked: Asked) -> bool:
    """Whether no nodes suffice: --mincpus asks for more CPUs than the tasks of a node may have, or tasks are too few.

    Where the least loaded nodes are taken, or many (--spread-job), no node goes without a task, also for MinNodes.
    """
    options = asked.options
    if asked.demand.counted_beforehand and asked.rules.TASKS_OF_GPUS_LACK_CPUS and options.gpus:
        return True
    by_tasks = (asked.partition.least_loaded or options.spread) and not asked.whole_nodes
    if by_tasks and options.tasks is not None and options.tasks < max(asked.nodes, asked.fewest):
        return True
    if asked.rules.GRES_WANT_ALL_TASKS and not asked.whole_nodes and _fewer_than_of_node(asked):
        return True
    bound = asked.rules.MIN_CPUS_CHOOSE_NODES and options.tasks_per_node and not asked.whole and not options.gres
    return bool(bound) and (options.min_cpus or 0) > asked.of_node


def _fewer_than_of_node(asked: Asked) -> bool:
    """Whether a job with generic resources states fewer tasks than for a node; one with one GPU in all waits."""
    options = asked.options
    if not _gres(options) or options.tasks is None or options.tasks >= (options.tasks_per_node or 1):
        return False
    alone = options.tasks == sum(one.count for one in options.gpus) == 1
    return not alone or asked.whole


def _spread(options: BatchOptions, one_node: bool, rules: Rules) -> int:
    """With how many nodes a job that is spread ends for good; 0 if it is not spread.

    Where it states the tasks of a node there is no such number.
    """
    if not options.spread:
        return 0
    if not rules.SPREAD_BY_WEIGHTS:
        return 1
    if one_node:
        return 0
    return FAR if options.tasks_per_node else options.tasks or FAR


def _node_counts(options: BatchOptions) -> tuple[int, ...]:
    """Of how many nodes a job may have one number, the largest first; none where any within its bounds will do."""
    counts = options.node_counts
    return counts[::-1] if counts and (counts[0], counts[-1]) == (options.min_nodes, options.max_nodes) else ()


def _tasks_of_gpus(options: BatchOptions, gpus: tuple[tuple[str, str, int], ...]) -> int:
    """Tasks for each of the GPUs that are wanted in all, of several types the last; 0 if they are not dealt evenly."""
    count = gpus[-1][2] if gpus and gpus[-1][0] == GPU else 0
    return options.tasks // count if options.tasks and count and options.tasks % count == 0 else 0


def _goes_round_sockets(asked: Asked) -> bool:
    """Whether tasks that go round the sockets, where these are counted, may have more memory than is counted."""
    demand, machine, given = asked.demand, asked.cluster.machine, asked.partition.gives_memory
    if asked.whole and asked.options.tasks_per_socket is not None:
        return bool(demand.per_cpu) and given  # Its tasks of each socket count, and it gets whole nodes.
    if not demand.per_cpu or not given or asked.whole or demand.cpus_per_task > 1:
        return False
    several = bool((machine.cores[asked.partition.nodes] > 1).any())
    return several and not _fills_sockets(asked.options, asked.cluster)


def _counted_tasks(options: BatchOptions, rules: Rules) -> int:
    """Tasks that must find room on the nodes of each count of features; 0 for none."""
    anywhere = options.overcommit or options.tasks_per_node is not None
    return 0 if anywhere or not rules.COUNTED_NODES_HAVE_TASKS else options.tasks or 0


def _counted_most(asked: Asked) -> int:
    """Nodes for all counts of features that there may be: as many as tasks need at least, one by one or on each.

    Before tasks bound them everywhere those of the least loaded nodes are no more than tasks. (Asked of three.)
    """
    options, rules, on_node = asked.options, asked.rules, asked.options.tasks_per_node
    tasks = on_node if options.tasks is None and options.min_nodes is None else options.tasks
    if tasks is None:
        return FAR
    if rules.TASKS_BOUND_COUNTED_NODES:
        return -(-tasks // (on_node or 1))
    return tasks if asked.partition.least_loaded and not options.spread else FAR


def _below_min_nodes(asked: Asked) -> bool:
    """Whether a job has fewer tasks than MinNodes of its partition, and as many nodes, in versions that take it."""
    rules, tasks = asked.rules, asked.options.tasks
    taken = rules.TASKS_BOUND_MIN_NODES and not rules.TASKS_REACH_MIN_NODES and not asked.whole
    return taken and tasks is not None and asked.nodes < asked.fewest and tasks < asked.fewest


def _has_idle_nodes(asked: Asked) -> bool:
    """Whether such a job is to find MinNodes nodes; where whole cores are given it gets the first of them alone.

    With GRES it waits there for ever.
    """
    return _below_min_nodes(asked) and not (asked.parameters.whole_cores and _gres(asked.options))


def _nodes_with_tasks(asked: Asked) -> int:
    """Nodes beyond which a job has no tasks, where it may have more than it has tasks."""
    options, rules = asked.options, asked.rules
    if options.tasks is not None and _has_idle_nodes(asked):
        return options.tasks
    counted = "*" in options.constraint and rules.COUNTED_NODES_HAVE_TASKS and asked.most is None
    beyond = asked.beyond_tasks or (counted and options.tasks is not None and not rules.TASKS_BOUND_COUNTED_NODES)
    return asked.tasks if beyond and not asked.whole else FAR


def _waits_for_more(asked: Asked) -> bool:
    """Whether one task is to find room for those that it states for a node, as 26.05 has it: it never does.

    Nor do tasks of GPUs on each node, on 24.11, whose CPUs were counted without them, nor tasks that share the CPUs of
    a node's memory, where these are rounded down: 14 tasks on three nodes get four each; nor with --mincpus a job whose
    GPUs bring fewer; nor one with GRES on each node and fewer tasks than MinNodes where whole cores are given.
    """
    shared = asked.demand.cpus_shared
    if shared and not asked.whole and shared * asked.nodes < asked.cpus:
        return True
    options = asked.options
    if asked.demand.counted_beforehand and asked.rules.TASKS_OF_GPUS_LACK_CPUS and not options.gpus:
        return True
    lacks = bool(options.gres or options.gpus) and _below_min_nodes(asked) and asked.parameters.whole_cores
    if _gpus_give_too_few(asked) or lacks:
        return True
    alone = options.tasks == 1 and (options.tasks_per_node or 1) > 1 and not options.overcommit
    return alone and asked.rules.ONE_TASK_WAITS_FOR_MORE and not (asked.whole or asked.whole_nodes)


def _gpus_give_too_few(asked: Asked) -> bool:
    """Whether --mincpus asks for more CPUs than go with the GPUs of a node, of which a job gets no more.

    A number of tasks, all of the node or --overcommit has it take others (recorded).
    """
    options, demand = asked.options, asked.demand
    others = options.tasks or options.tasks_per_node or asked.whole or options.overcommit or demand.cpus_in_all
    bound = asked.rules.GPUS_GIVE_CPUS and demand.cpus_per_gpu and not others
    return bool(bound) and (options.min_cpus or 0) > demand.cpus_on_node


def _placed(options: BatchOptions, nodes: int, whole: bool, rules: Rules) -> int:
    """Tasks that must find CPUs of their own of a job that overcommits, or was given fewer CPUs; 0 for none."""
    if options.placed_tasks > (options.tasks or 0):
        return options.placed_tasks
    if not options.overcommit or not rules.OVERCOMMITTED_ARE_PLACED or (options.cpus_per_task is None and not whole):
        return 0
    return options.tasks or nodes * (options.tasks_per_node or 1)


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


def _given(asked: Asked) -> int:
    """CPUs that a job has on each of its nodes at least: those that go with GPUs or memory there, and with tasks."""
    options, rules, on_node = asked.options, asked.rules, max(asked.demand.cpus_on_node, asked.demand.cpus_shared)
    with_gres = options.tasks is not None and options.gres and options.tasks_per_core is None
    if with_gres and not rules.CPUS_COME_WITH_GRES:
        least = asked.per_task if options.overcommit else 1
        if options.tasks_per_node is not None and not options.overcommit:
            # CPUs that tasks have for their memory do not count.
            least = max(asked.request.cpus_per_task * options.tasks_per_node, on_node)
        return max(_gpus_on_node(options) * asked.demand.cpus_per_gpu, least)
    raised = bool(asked.demand.per_cpu) and asked.per_task > asked.request.cpus_per_task
    # Of a job that states no tasks, and has more CPUs for its memory, tasks have theirs alone.
    goes_by_tasks = raised if options.tasks is None else rules.MIN_CPUS_CHOOSE_NODES
    if not options.overcommit and not goes_by_tasks:
        on_node = max(on_node, options.min_cpus or 0)
    if options.tasks is None or rules.NODES_GIVE_ALL_TASKS or not rules.TASKS_GET_THEIR_CPUS:
        return max(on_node, asked.per_task if options.overcommit else asked.of_node)
    return max(on_node, 1)


def _gpus_on_node(options: BatchOptions) -> int:
    """GPUs that it wants on each node."""
    return sum(one.count for one in options.gres if one.name == GPU)


def _marks(asked: Asked) -> tuple[str, ...]:
    """What a job marks its nodes with."""
    of_partition: tuple[str, ...] = (MARK + asked.partition.name,)
    if not asked.shares:
        of_partition = (ALONE,) if asked.rules.SHARED_BY_JOBS else (ALONE, *of_partition)
    return tuple(mark for mark in of_partition if ("", mark) in asked.cluster.machine.gres)


def _unmarked(asked: Asked) -> tuple[str, ...]:
    """Which marks a job's nodes must not have.

    One that shares goes to no nodes with a job that does not; and that not to nodes with jobs of another partition
    which share or, in older versions, might.
    """
    marks = [mark for name, mark in asked.cluster.machine.gres if not name and mark.startswith(MARK)]
    if asked.shares:
        return (ALONE,) if ALONE in marks else ()
    return tuple(mark for mark in marks if mark not in (ALONE, MARK + asked.partition.name))


def _tree(asked: Asked) -> Tree | Blocks | None:
    """The switches or blocks that it goes by; a job of --contiguous by no switches, but with select/linear."""
    machine = asked.cluster.machine
    tree = machine.named.get(asked.partition.topology, machine.tree)
    optional = isinstance(tree, Tree) and tree.optional and not asked.options.switches
    contiguous = isinstance(tree, Tree) and asked.options.contiguous and not asked.whole_nodes
    return None if optional or contiguous else tree


def _segment(segment: int | None, nodes: int, blocks: Blocks, cluster: Cluster) -> int:
    """Nodes of a segment of a job of so many; 0 if it has none, or from 26.05 on if none is larger than that.

    Raises:
        RejectedError: its nodes are no number of such segments, or they are too large.
    """
    if segment is None or (segment > nodes and cluster.parameters.rules.SEGMENTS_OF_BLOCKS):
        return 0
    larger = cluster.parameters.rules.SEGMENTS_OF_BLOCKS
    if nodes % segment and larger:
        size = f"--segment={segment} does not fit the job size ({nodes})"
        raise RejectedError(f"{size}: node count must be evenly divisible by segment size")
    if nodes % segment or (segment > blocks.sizes[0] and not larger):
        raise RejectedError(NO_SWITCH)
    return segment


def _never(asked: Asked) -> str:
    """Why a job can never start in a partition, which is too small for it; empty if it is not."""
    partition, machine = asked.partition, asked.cluster.machine
    bound = next(one.max_cpus_per_node for one in asked.cluster.conf.partitions if one.name == partition.name)
    # CPUs of memory or of defaults for GPUs do not count here; what of MaxCPUsPerNode a smaller node lacks does.
    cpus, there = asked.tasks * asked.request.cpus_per_task, int(machine.cpus[partition.nodes].sum())
    if asked.rules.GPUS_COUNT_CPUS and asked.options.cpus_per_gpu:
        cpus = max(cpus, asked.options.cpus_per_gpu * asked.options.gpus_on(asked.nodes))
    too_many = bound is not None and cpus > bound * int(partition.nodes.sum())
    if too_many or (cpus > there and cpus > there + _specialized(partition, asked.cluster)):
        return PARTITION_CONFIG
    if asked.nodes > int(partition.nodes.sum()):
        return PARTITION_NODES
    return TOO_MUCH_MEMORY if asked.demand.too_much else ""


def _specialized(partition: Partition, cluster: Cluster) -> int:
    """CPUs of a partition that no job has, with which it counts nevertheless (recorded)."""
    nodes = [cluster.conf.nodes[node] for node in partition.nodes.nonzero()[0].tolist()]
    return sum(node.system_cores * node.cpus_of_core for node in nodes)


def _counts(gres: tuple[GresCount, ...]) -> tuple[tuple[str, str, int], ...]:
    return tuple((one.name, one.type, one.count) for one in gres)


def _gres_of_nodes(options: BatchOptions) -> tuple[GresCount, ...]:
    """Generic resources of each node; GPUs of its tasks are among those that a job states of each node, too."""
    return tuple(one for one in options.gres if one.name != GPU or not options.gpus_per_task)


def _gpus_of_tasks(options: BatchOptions) -> tuple[tuple[str, str, int], ...]:
    """GPUs that a job wants because only so many of its tasks may share one."""
    if options.tasks_per_gpu is None or options.tasks is None or any(one.name == GPU for one in options.gres):
        return ()
    # Of fewer tasks than may share one none wants any (asked of three versions).
    few = options.tasks < options.tasks_per_gpu
    return () if few else ((GPU, "", -(-options.tasks // options.tasks_per_gpu)),)


def _choices(asked: Asked) -> tuple[Choice, ...]:
    """Ways to satisfy its constraint; before them those with what it would rather have, which take its place."""
    options, cluster = asked.options, asked.cluster
    found = _constrained(options.constraint, cluster)
    if options.prefer:
        found = _preferred(options.prefer, cluster) + found
    allowed = large_enough(options, asked.partition, cluster)
    if options.exclude:
        allowed &= ~cluster.machine.mask_of([name for name in options.exclude if name in cluster.machine.index])
    if asked.alone and asked.demand.cpus_per_gpu:
        allowed &= _gives_cpus_of_gpus(asked)
    return tuple(found) if allowed.all() else tuple(Choice(one.mask & allowed, one.counts) for one in found)


def _gives_cpus_of_gpus(asked: Asked) -> Mask:
    """Nodes with the CPUs that go with all of their GPUs, which a job of whole nodes has (asked of three versions)."""
    machine = asked.cluster.machine
    gpus = sum((counts for (name, _), counts in machine.gres.items() if name == GPU), np.zeros_like(machine.cpus))
    suffices: Mask = machine.cpus >= gpus * asked.demand.cpus_per_gpu
    return suffices


def check_features(options: BatchOptions, cluster: Cluster) -> None:
    """Refuse features that no node has.

    Raises:
        RejectedError: there are some, and that is asked.
    """
    _constrained(options.constraint, cluster)
    if options.prefer:
        _preferred(options.prefer, cluster)


def _constrained(constraint: str, cluster: Cluster) -> list[Choice]:
    """Ways to satisfy what a job must have; see :func:`check_features`."""
    unknown = cluster.parameters.ignore_constraint_validation
    try:
        bracketed = cluster.parameters.rules.COUNTS_STAND_IN_BRACKETS
        return choices(constraint, cluster.machine.features, unknown=unknown, bracketed=bracketed)
    except InputError as error:
        raise RejectedError(str(error)) from error


def _preferred(prefer: str, cluster: Cluster) -> list[Choice]:
    """Ways to satisfy what a job would rather have.

    Raises:
        RejectedError: no node has such a feature, and that is asked.
    """
    unknown = cluster.parameters.ignore_prefer_validation
    try:
        bracketed = cluster.parameters.rules.COUNTS_STAND_IN_BRACKETS
        return choices(prefer, cluster.machine.features, unknown=unknown, bracketed=bracketed)
    except InputError as error:
        raise RejectedError("Invalid preferred feature specification") from error


def _fills_sockets(options: BatchOptions, cluster: Cluster) -> bool:
    """Whether its tasks fill a socket before they go to another: always where single CPUs are given (recorded)."""
    parameters = cluster.parameters
    if not parameters.whole_cores:
        return True
    if options.fills_sockets is not None:
        return options.fills_sockets
    counted = bool((cluster.machine.cores > 1).any())
    fills = parameters.rules.TASKS_FILL_SOCKETS and options.tasks_per_node is not None
    return parameters.fill_sockets or (fills and counted)


def _tasks_known(asked: Asked) -> int:
    """How many tasks each node has, where that is known before nodes are chosen."""
    options = asked.options
    if options.tasks_per_node is not None:
        return options.tasks_per_node
    if options.tasks_per_gpu is not None and asked.nodes == 1 and not asked.rules.TASKS_FOLLOW_GPUS:
        return asked.tasks
    tasks = options.tasks
    if tasks is not None and asked.bounded == 1:
        return options.stated_tasks or tasks
    return 1 if tasks is not None and (tasks == 1 or tasks == options.min_nodes == options.max_nodes) else FAR


def memory_of_nodes(options: BatchOptions, partition: Partition, cluster: Cluster) -> float:
    """Memory that a node must have, also where none is given out: as stated, else by default; on each CPU, that of one.

    The default is that of the partition which is named first (asked of three versions).
    """
    if options.memory_per_node is not None:
        return options.memory_per_node
    if per_cpu := _memory_of_cpu(options, partition, cluster):
        return per_cpu
    first = _first_named(options, partition, cluster)
    return 0 if _goes_by_gpus(options, first) or partition.gives_memory else first.default_memory_per_node or 0


def _memory_of_cpu(options: BatchOptions, partition: Partition, cluster: Cluster) -> float:
    """Memory on each CPU, as stated, else by default; 0 for none."""
    first = _first_named(options, partition, cluster)
    return options.memory_per_cpu or (0 if _goes_by_gpus(options, first) else first.default_memory_per_cpu) or 0


def _first_named(options: BatchOptions, partition: Partition, cluster: Cluster) -> Partition:
    return cluster.partitions.get(options.partitions[0] if options.partitions else "", partition)


def _goes_by_gpus(options: BatchOptions, first: Partition) -> bool:
    return bool(options.memory_per_gpu or (first.default_memory_per_gpu and (options.gres or options.gpus)))


def _with_memory_of_tasks(asked: Asked) -> Mask | None:
    """Nodes on which backfill tries a job where memory is not given out: those with that of all CPUs of a task.

    None if all of its nodes have it. The main loop asks for that of one CPU (asked of three versions).
    """
    options, partition, cluster = asked.options, asked.partition, asked.cluster
    if partition.gives_memory or options.memory_per_node is not None or options.fewest_cpus < 2:
        return None
    least = _memory_of_cpu(options, partition, cluster) * options.fewest_cpus
    enough = cluster.machine.memory + np.array([node.system_memory for node in cluster.conf.nodes]) >= least
    return None if enough[partition.nodes].all() else enough


def large_enough(options: BatchOptions, partition: Partition, cluster: Cluster) -> Mask:
    """Nodes with as many CPUs, sockets, cores and threads as it asks for, and as much memory and temporary storage.

    Slurm compares with all that nodes have here, also what is kept for the system.
    """
    nodes, least = (
        cluster.conf.nodes,
        (options.sockets or 0, options.cores_per_socket or 0, options.threads_per_core or 0),
    )
    allowed = np.ones(len(nodes), dtype=bool)
    if any(least):
        shapes = [(node.sockets, node.cores_per_socket, node.cpus_of_core) for node in nodes]
        allowed &= (np.array(shapes) >= np.array(least)).all(axis=1)
    if options.fewest_cpus > 1 and not options.overcommit:
        allowed &= cluster.machine.cpus + cluster.machine.kept >= options.fewest_cpus
    if options.tasks_per_socket and not cluster.nodes_for.whole_nodes:
        allowed &= cpus_of_socket(cluster.machine) >= options.tasks_per_socket
    if cluster.nodes_for.whole_nodes and options.gres:
        allowed &= gives_all_cores(cluster.conf, options.gres)
    if options.tmp_disk:
        allowed &= np.array([node.tmp_disk for node in nodes]) >= options.tmp_disk
    # Where memory is not given out, a node must have what is asked for all the same.
    least_memory = memory_of_nodes(options, partition, cluster)
    if least_memory:
        allowed &= cluster.machine.memory + np.array([node.system_memory for node in nodes]) >= least_memory
    return allowed
