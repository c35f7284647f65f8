"""How many nodes and CPUs a job asks for in a partition, before it is asked which nodes these are."""

from __future__ import annotations

from dataclasses import dataclass

from emulator.config.slurm.controller import Parameters
from emulator.config.slurm.model import GresCount
from emulator.config.slurm.versions import Rules
from emulator.state.cluster import Cluster
from emulator.state.demand import Demand, demand_of
from emulator.state.gpu_options import refused_gpus
from emulator.state.machine import has_rows
from emulator.state.partition import Partition
from emulator.workload.request import JobRequest, RejectedError
from emulator.workload.sbatch import GPU, BatchOptions
from slurm_sim_plugins.devices import SHARED
from slurm_sim_plugins.nodes import FAR, Mask

INVALID_GRES = "Invalid generic resource (gres) specification"
MIXED_GRES = "Invalid GRES specification (with and without type identification)"


@dataclass(frozen=True, slots=True)
class Asked:
    """How many nodes and CPUs a job asks for in a partition.

    Attributes:
        request: what it asks for.
        partition: where.
        cluster: the cluster state.
        nodes: that it wants at least.
        fewest: that it must have there, however many tasks it has.
        most: and at most; None for no bound.
        target: as many are taken if there are so many.
        named: nodes that it names; None if it names none.
        some: whether some of these are enough.
        tasks: how many it has, on as few nodes as it asks for.
        by_gpus: whether GPUs, in all and on each node, say how many nodes it wants.
        alone: whether it has its nodes for itself.
        demand: CPUs, memory and GRES that go with each other.
    """

    request: JobRequest
    partition: Partition
    cluster: Cluster
    nodes: int
    fewest: int
    most: int | None
    target: int
    named: Mask | None
    some: bool
    tasks: int
    by_gpus: bool
    alone: bool
    demand: Demand

    @property
    def options(self) -> BatchOptions:
        """What it asks for, as ``sbatch`` takes it."""
        return self.request.options

    @property
    def parameters(self) -> Parameters:
        """Those of the cluster."""
        return self.cluster.parameters

    @property
    def rules(self) -> Rules:
        """Those of the version."""
        return self.cluster.parameters.rules

    @property
    def per_task(self) -> int:
        """CPUs of a task."""
        return self.demand.cpus_per_task

    @property
    def of_node(self) -> int:
        """CPUs of the tasks that it states for a node."""
        return self.per_task * (self.options.tasks_per_node or 1)

    @property
    def cpus(self) -> int:
        """CPUs that it wants in all."""
        tasks = self.nodes if self.demand.counted_beforehand else self.tasks
        return max(tasks * self.per_task, self.nodes, self.demand.cpus_in_all)

    @property
    def whole_nodes(self) -> bool:
        """Whether the SelectType gives whole nodes to all jobs."""
        return self.cluster.nodes_for.whole_nodes

    @property
    def whole(self) -> bool:
        """Whether it gets whole nodes."""
        return self.whole_nodes or self.alone

    @property
    def one_node(self) -> bool:
        """Whether it gets one node, as it says, or as MaxNodes of the partition does."""
        return self.most == 1 or (self.nodes == 1 and (self.options.tasks == 1 or self.partition.max_nodes == 1))

    @property
    def goes_first(self) -> bool:
        """Whether, in versions that do so, it gets the first node with room: one is all that it may have.

        So it is also with one that states no more tasks than there are to be on a node, and no number of nodes.
        """
        options = self.options
        together = options.tasks_per_node is not None and (options.tasks or 0) <= options.tasks_per_node
        unstated = options.min_nodes is None and options.max_nodes is None and not options.spread
        by_tasks = self.nodes == 1 and self.most is None and together and unstated
        return self.rules.FIRST_NODE_FOR_ONE and (self.one_node or by_tasks)

    @property
    def shares(self) -> bool:
        """Whether it may have resources that others have."""
        can = has_rows(self.partition) and self.options.share
        return self.partition.oversubscribe == "FORCE" or can

    @property
    def bounded(self) -> int | None:
        """How many nodes it may have at most; None for any number.

        MaxNodes of the partition bounds a job that could do with as many, and one that counts nodes by features. GPUs
        are not shared out among more nodes than there are tasks, but in versions in which they go beyond.
        """
        bound, options = self.partition.max_nodes, self.options
        if self.most is not None:
            return self.most
        in_all = 0 if self.by_gpus else sum(one.count for one in options.gpus)
        beyond = FAR if "*" in options.constraint else max(self.cpus, in_all)
        of_tasks = options.tasks is not None and options.gpus and not self.beyond_tasks
        most = max(self.nodes, options.tasks or 0) if of_tasks else None
        if bound is not None and self.nodes <= bound < min(beyond, int(self.partition.nodes.sum())):
            return bound if most is None else min(bound, most)
        return most

    @property
    def beyond_tasks(self) -> bool:
        """Whether its GPUs may be on more nodes than it has tasks: it states their number, and none of nodes.

        Not where the least loaded nodes are chosen (asked of three versions).
        """
        rules, options = self.rules, self.options
        beyond = rules.GPUS_GO_BEYOND_TASKS and not rules.GPUS_STAY_WITH_TASKS and not self.partition.least_loaded
        return beyond and bool(options.gpus) and options.tasks is not None and self.most is None


def asked_of(request: JobRequest, partition: Partition, cluster: Cluster, fewest: int) -> Asked:
    """How many nodes and CPUs a job asks for in a partition.

    Args:
        request: what it asks for.
        partition: where.
        cluster: the cluster state.
        fewest: nodes that a job must have there.

    Raises:
        RejectedError: it names what there is not.
    """
    options, rules = request.options, cluster.parameters.rules
    check_gres(options, cluster)
    on_gpus = _nodes_by_gpus(options)
    nodes, most = (on_gpus, on_gpus) if on_gpus else _nodes_asked(options)
    apart = options.tasks or options.tasks_per_node
    if options.spread and most is None and apart:
        most = min(apart, len(cluster.machine))
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
    alone = options.exclusive or partition.oversubscribe == "EXCLUSIVE"
    must, fewest = fewest, _fewest(fewest, options, alone, rules)
    return Asked(
        request=request,
        partition=partition,
        cluster=cluster,
        nodes=max(nodes, fewest, nodes_by_tasks(options, rules)),
        fewest=must,
        most=most,
        target=max(_target(options, nodes, most, tasks, rules), fewest),
        named=named,
        some=some,
        tasks=tasks,
        by_gpus=bool(on_gpus),
        alone=alone,
        demand=demand_of(request, partition, cluster.machine, rules, nodes),
    )


def _target(options: BatchOptions, nodes: int, most: int | None, tasks: int, rules: Rules) -> int:
    """How many nodes are taken if there are so many: up to the bound, but no more than tasks need one by one."""
    named = len(options.node_list)
    unstated = most is None and options.tasks is None and options.tasks_per_node is None
    if rules.SPREAD_BEYOND_NAMED and options.spread and named and unstated:
        return max(nodes, named + 1)
    welcome = nodes if options.use_min_nodes else most or nodes
    return max(nodes, min(welcome, max(_nodes_for_tasks(options, nodes, rules), nodes)))


def _fewest(fewest: int, options: BatchOptions, alone: bool, rules: Rules) -> int:
    """Nodes that a job must have in a partition of so many at least (``MinNodes``)."""
    bound = options.tasks is not None and not alone and (options.overcommit or rules.TASKS_BOUND_MIN_NODES)
    return min(fewest, options.tasks) if bound and options.tasks else fewest


def _nodes_asked(options: BatchOptions) -> tuple[int, int | None]:
    """Nodes that a job asks for, at least and at most; None for no bound."""
    nodes = options.min_nodes or max(1, len(options.node_list) if options.tasks is None else 1)
    return nodes, options.max_nodes if options.max_nodes is not None else options.min_nodes


def _nodes_by_gpus(options: BatchOptions) -> int:
    """Nodes of a job that states GPUs in all and on each node; 0 for one that does not state both."""
    in_all, on_node = sum(one.count for one in options.gpus), sum(one.count for one in options.gres if one.name == GPU)
    return in_all // on_node if in_all and on_node else 0


def _nodes_for_tasks(options: BatchOptions, nodes: int, rules: Rules) -> int:
    """On how many nodes tasks would be one by one, if their number is stated or follows; else any number."""
    if options.tasks is not None:
        return options.tasks
    if options.tasks_per_gpu is not None or (options.gpus and options.gpus_per_task):
        return options.tasks_on(nodes)
    if rules.RANGE_IS_FILLED:
        return len(options.node_list) if len(options.node_list) > (options.min_nodes or 1) else FAR
    return FAR if options.tasks_per_node is None else options.tasks_on(nodes)


def nodes_by_tasks(options: BatchOptions, rules: Rules) -> int:
    """How many nodes tasks ask for by so many on each; none if nodes are named, for sbatch takes their number."""
    asks = (rules.TASKS_ASK_FOR_NODES or options.overcommit) and not options.node_list
    if not asks or options.tasks is None or options.max_nodes is not None:
        return 1
    return -(-options.tasks // (options.tasks_per_node or options.tasks))


def _named(options: BatchOptions, enough: int, cluster: Cluster) -> tuple[Mask | None, bool]:
    """Nodes that a job names, and whether it gets some of them; else it gets all, or the first that are enough."""
    if not options.node_list:
        return None, False
    named = known_nodes(options.node_list, cluster)
    if len(options.node_list) > enough and cluster.parameters.rules.SOME_OF_NAMED:
        return named, True
    return named & (named.cumsum() <= enough), False


def check_gres(options: BatchOptions, cluster: Cluster) -> None:
    """Refuse resources that the cluster does not know, and what excludes each other.

    Raises:
        RejectedError: there is something of the kind.
    """
    if refused := refused_gpus(options, cluster.parameters.rules):
        raise RejectedError(f"{refused}\n{INVALID_GRES}")
    if mixes_types(options.gpus) or mixes_types(options.gres):
        raise RejectedError(MIXED_GRES)
    of_devices = options.gpus or options.of_tasks or options.cpus_per_gpu or options.memory_per_gpu
    of_devices = of_devices or options.gpus_on_sockets
    if of_devices and cluster.nodes_for.whole_nodes:
        raise RejectedError("Requested GRES option unsupported by configured SelectType plugin")
    asked = {one.name for one in (*options.gres, *options.gpus, *options.of_tasks)}
    with_gpus = asked & {GPU} or options.cpus_per_gpu or options.memory_per_gpu
    unknown = asked and asked - {name for name, _ in cluster.machine.gres}
    if (with_gpus and asked & set(SHARED)) or (
        unknown and not unknown <= set(cluster.conf.parameters.words("GresTypes"))
    ):
        raise RejectedError(INVALID_GRES)


def mixes_types(gres: tuple[GresCount, ...]) -> bool:
    """Whether some of a kind have a type, and others not."""
    typed = {one.name for one in gres if one.type}
    return any(not one.type and one.name in typed for one in gres)


def known_nodes(names: tuple[str, ...], cluster: Cluster) -> Mask:
    """Nodes by name.

    Raises:
        RejectedError: one of them does not exist.
    """
    if any(name not in cluster.machine.index for name in names):
        raise RejectedError("Invalid node name specified")
    return cluster.machine.mask_of(names)
