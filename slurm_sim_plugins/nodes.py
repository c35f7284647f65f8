"""A machine of nodes: what each node has, what of it is free, and what a job wants of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from slurm_sim_plugins.binding import Binding
from slurm_sim_plugins.devices import OF_GPUS, SHARING, Devices
from slurm_sim_plugins.node_table import add
from slurm_sim_plugins.sockets import Sockets
from slurm_sim_plugins.topology.block import Blocks
from slurm_sim_plugins.topology.tree import Tree

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
"""A mask, as kernels take it."""
Gres = tuple[str, str]
"""(name, type) of a generic resource; without a name, units that the jobs of a partition may have, with its name, and
what else jobs have of nodes that is not shown: marks, and GPUs one by one."""


NO_GRES: Mapping[Gres, tuple[int, ...]] = {}
"""Of a job that has none; never to be changed."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """What a job has of the machine.

    Attributes:
        nodes: indices, ascending; a range where they are many and follow one another, as they mostly do.
        units: cores (or CPUs, where threads do not count) on each.
        memory: mebibytes on each.
        gres: count of each kind, on each.
        whole: whether it has the nodes for itself.
        cpus: with how many CPUs it counts, where not all of its cores' do (CR_CPU); 0 for those of its units.
    """

    nodes: Sequence[int]
    units: tuple[int, ...]
    memory: tuple[int, ...]
    gres: Mapping[Gres, tuple[int, ...]] = field(default_factory=lambda: NO_GRES)
    whole: bool = False
    cpus: int = 0

    def mask(self, count: int) -> Mask:
        """Its nodes among ``count``."""
        mask = np.zeros(count, dtype=bool)
        mask[self.where] = True
        return mask

    @property
    def where(self) -> slice | Ints:
        """Its nodes, as an index into a column of all nodes."""
        nodes = self.nodes
        return slice(nodes.start, nodes.stop) if isinstance(nodes, range) else np.array(nodes, dtype=np.intp)


def neighbours(nodes: Sequence[int]) -> Sequence[int]:
    """Nodes, ascending, in few bytes, for a log of months has millions of them in allocations."""
    many = len(nodes)
    return range(nodes[0], nodes[0] + many) if many > FEW and nodes[-1] - nodes[0] == many - 1 else tuple(nodes)


FEW = 8
"""So many take no more room as a tuple."""


@lru_cache(maxsize=4096)
def shared(values: tuple[int, ...]) -> tuple[int, ...]:
    """The same numbers, which allocations share: most jobs are not the first to have them."""
    return values


@lru_cache(maxsize=4096)
def alike(value: int, many: int) -> tuple[int, ...]:
    """The same number so many times, which allocations share."""
    return shared((value,) * many)


@dataclass(eq=False)
class Machine:
    """The nodes of a cluster, as columns in the order of the configuration.

    What can be given to jobs are *units*: sockets where these are counted, cores where a node
    has several threads a core, else CPUs. What is kept for the system is left out.

    Attributes:
        names: of the nodes.
        units, memory: of each node.
        cpus: of each node.
        threads: CPUs of a unit.
        cores: cores of a unit.
        sockets: of each node.
        kept: CPUs of each node that are kept for the system.
        kept_memory: mebibytes of each node that are kept for the system, beside those of ``memory``.
        in_file: where the file names each node, among all of them.
        kinds: of what kind each node is; nodes of which ``slurm.conf`` says the same are of one kind.
        weight: low ones are taken first.
        up: whether a node takes new jobs.
        features: of each node.
        gres: count of each kind on each node.
        devices: GPUs one by one; None where jobs do not share them.
        by_socket: their cores socket by socket; None where nothing goes by sockets.
        binding: devices that are near the cores of some sockets; None where there are none.
        no_consume: kinds of which any number of jobs may have as many as there are.
        pools: partitions whose jobs may have only so many units of a node together.
        pools_of_cores: those of them in which a core counts with all its threads, also where a job does not use all.
        pools_of_sockets: those of them that only bound with how many CPUs a node counts for a job that takes all of it.
        pool_sockets: CPUs of each socket that the jobs of a partition may have, where cores are known socket by socket.
        of_whole_sockets: those of them whose jobs have whole sockets, where jobs of others have cores of them.
        pool_excess: CPUs of these units of each node that they may not have, where some of the last unit are left out.
        shared: whether any number of jobs may have the same units, for only memory is counted.
        tree: the switches above the nodes, or their blocks; None where all are as near to each other.
        named: the same of other topologies, by their names, which partitions may go by.
        index: index by name.
        numbers: all indices, for allocations to share: a log of months has millions of nodes in them.
        weights: all weights, ascending.
        one_thread: whether each unit is one CPU.
        core_threads: CPUs of a core of each node.
    """

    names: list[str]
    units: Ints
    memory: Ints
    cpus: Ints
    threads: Ints
    cores: Ints
    weight: Ints
    up: Mask
    features: Sequence[frozenset[str]]
    gres: dict[Gres, Ints] = field(default_factory=dict)
    devices: Devices | None = None
    by_socket: Sockets | None = None
    binding: Binding | None = None
    no_consume: frozenset[Gres] = frozenset()
    pools: Sequence[str] = ()
    pools_of_cores: frozenset[str] = frozenset()
    pools_of_sockets: frozenset[str] = frozenset()
    pool_sockets: Mapping[str, int] = field(default_factory=dict)
    of_whole_sockets: frozenset[str] = frozenset()
    pool_excess: Mapping[str, Ints] = field(default_factory=dict)
    shared: bool = False
    sockets: Ints | int = 1
    kept: Ints | int = 0
    kept_memory: Ints | int = 0
    in_file: Ints | int = 0
    kinds: Ints | int = 0
    tree: Tree | Blocks | None = None
    named: Mapping[str, Tree | Blocks | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.index = {name: index for index, name in enumerate(self.names)}
        self.numbers: NDArray[np.object_] = np.arange(len(self.names)).astype(object)
        self.weights: Ints = np.unique(self.weight)
        self.one_thread = bool((self.threads == 1).all())
        self.core_threads: Ints = np.maximum(self.threads // self.cores, 1)

    def __len__(self) -> int:
        return len(self.names)

    def with_first(self, nodes: Mask) -> Machine:
        """The same machine, on which some nodes go before all others."""
        heaviest = int(self.weights[-1]) + 1 if len(self.weights) else 0
        return replace(self, weight=np.where(nodes, self.weight, self.weight + heaviest))

    def with_heavier(self, nodes: Mask) -> Machine:
        """The same machine, on which some nodes are heavier by one."""
        return replace(self, weight=self.weight + nodes)

    def with_most_first(self, counts: Ints) -> Machine:
        """The same machine, on which of nodes of one weight those are lighter that have more of something."""
        _, ranks = np.unique(np.stack([self.weight, -counts]), axis=1, return_inverse=True)
        return replace(self, weight=ranks.reshape(-1))

    def pool_cpus(self, pool: str, units: Ints) -> Ints:
        """CPUs of each node that the jobs of a partition may have of those units that they may still have."""
        excess = self.pool_excess.get(pool)
        return units * self.threads if excess is None else np.maximum(units * self.threads - excess, 0)

    @property
    def all_up(self) -> bool:
        """Whether every node takes new jobs."""
        return b"\0" not in self.up.tobytes()

    def cpus_of(self, allocation: Allocation) -> int:
        """With how many CPUs an allocation counts."""
        if allocation.cpus:
            return allocation.cpus
        if self.one_thread:
            return sum(allocation.units)
        return int((self.threads[allocation.where] * list(allocation.units)).sum())

    def mask_of(self, names: Sequence[str]) -> Mask:
        """Which nodes are named."""
        mask = np.zeros(len(self), dtype=bool)
        mask[[self.index[name] for name in names]] = True
        return mask

    def gres_free(self, free: Free, name: str, kind: str) -> Ints:
        """How much of a generic resource one job may have of each node; any type will do if none is named."""
        if self.devices is not None and name in OF_GPUS:
            return self.devices.counts(free.gres, name, kind)
        counts = [count for (other, of), count in free.gres.items() if other == name and kind in ("", of)]
        return np.sum(counts, axis=0) if counts else np.zeros(len(self), dtype=np.int64)

    def gpus_wanted(self, want: Want) -> Ints:
        """GPUs of each node, in use or not, of the types that a job asks for."""
        asked = {
            (name, kind) for name, kind, _ in (*want.gres, *want.gres_total, *want.gres_per_task) if name == SHARING
        }
        empty, none = self.free(), np.zeros(len(self), dtype=np.int64)
        return sum((self.gres_free(empty, *one) for one in asked), none)

    def gres_tasks(self, free: Free, name: str, kind: str, count: int) -> Ints:
        """How many tasks of one job each node has so many of a generic resource for."""
        if self.devices is not None and name in OF_GPUS:
            return self.devices.tasks(free.gres, name, kind, count)
        return self.gres_free(free, name, kind) // count

    def free(self) -> Free:
        """All of it free."""
        return Free.of(
            np.array([self.units, self.memory, np.zeros_like(self.units), *self.gres.values()]),
            tuple(self.gres),
            self.shared,
        )


@dataclass(slots=True)
class Free:
    """What is free on each node.

    Attributes:
        units, memory: of each node.
        gres: count of each kind.
        jobs: how many jobs are on each node.
        table: all that as rows: units, memory, jobs, then the kinds.
        shared: whether units are not counted: any number of jobs may have them.
        changes: how often a job came or went.
    """

    units: Ints
    memory: Ints
    gres: dict[Gres, Ints]
    jobs: Ints
    table: Ints
    shared: bool = False
    changes: int = 0

    @classmethod
    def of(cls, table: Ints, kinds: Sequence[Gres], shared: bool = False) -> Free:
        """What the rows of a table say; changes of one are changes of the other."""
        return cls(table[0], table[1], dict(zip(kinds, table[3:], strict=True)), table[2], table, shared)

    def copy(self) -> Free:
        """A copy that can be changed."""
        return Free.of(self.table.copy(), tuple(self.gres), self.shared)

    def take(self, allocation: Allocation) -> None:
        """A job comes."""
        self._change(allocation, -1)

    def release(self, allocation: Allocation) -> None:
        """A job goes."""
        self._change(allocation, 1)

    def hold(self, allocation: Allocation) -> None:
        """What a job has is taken, but it does not count as a job on its nodes."""
        self._change(allocation, -1, jobs=0)

    def yield_up(self, allocation: Allocation) -> None:
        """What was held is given back."""
        self._change(allocation, 1, jobs=0)

    def _change(self, allocation: Allocation, sign: int, jobs: int = 1) -> None:
        self.changes += 1
        if type(allocation.nodes) is tuple:
            add(self.table, allocation.nodes, allocation.units, allocation.memory, sign, -sign * jobs, self.shared)
            for kind, counts in allocation.gres.items():
                self.gres[kind][allocation.where] += sign * _as_column(counts)
            return
        nodes = allocation.where
        if not self.shared:
            self.units[nodes] += sign * _as_column(allocation.units)
        if any(allocation.memory):
            self.memory[nodes] += sign * _as_column(allocation.memory)
        for kind, counts in allocation.gres.items():
            self.gres[kind][nodes] += sign * _as_column(counts)
        self.jobs[nodes] -= sign * jobs


def _as_column(counts: tuple[int, ...]) -> int | Ints:
    """What is added to a column: one number where all are the same, as they mostly are."""
    first = counts[0]
    return first if counts.count(first) == len(counts) else np.array(counts, dtype=np.int64)


@dataclass(frozen=True)
class Choice:
    """One way to satisfy a constraint.

    Attributes:
        mask: nodes that may be used.
        counts: (nodes, how many of them are wanted at least).
    """

    mask: Mask
    counts: tuple[tuple[Mask, int], ...] = ()

    @cached_property
    def takes_all(self) -> bool:
        """Whether any node may be used."""
        return bool(self.mask.all())


FAR = 2**40
"""More units than there are."""


@dataclass(frozen=True, slots=True)
class Want:
    """What a job needs of the machine, in CPUs: how many units of a node these are depends on the node's threads.

    Attributes:
        min_nodes, most_nodes: bounds; ``most_nodes`` is None for no bound.
        target_nodes: as many are taken if there are so many.
        node_counts: of how many it may have one, the largest first; empty for any number within these bounds.
        cpus: in all.
        cpus_per_task: of one task.
        cpus_on_node: that a node must have, at least.
        cpus_free: that a node must have free, of which its tasks may use fewer on each socket.
        cpus_of_sockets: with which a node must count, for as many tasks as a socket may have; the job may use fewer.
        cpus_given: of each node, at least.
        per_node: most on a node.
        ranked: CPUs with which a node counts at most as nodes are compared.
        per_core: of each core that its tasks may use, at most.
        task_cores: whether a task has its cores for itself.
        whole_tasks: whether a node counts with the CPUs of whole tasks, not with what is left over by them.
        per_socket: of each socket that its tasks may use, at most.
        fills_sockets: whether tasks fill a socket before another one is used.
        socket_tasks: tasks of each socket of which a node counts, if it has CPUs for so many; 0 for no bound.
        tasks: that it states; a large number if it states none.
        tasks_on_node: tasks that a node may have, where that is known before nodes are chosen.
        socket_cores: free cores that a socket must have to be of use.
        node_sockets: sockets of that kind that a node must have.
        whole: whether it takes whole idle nodes.
        memory_per_node, memory_per_cpu, memory_per_gpu: mebibytes; all 0 where memory is not managed.
        memory_of_core: for so many CPUs of each core it is given memory, at most; 0: for those that its tasks have.
        all_memory: whether it takes all memory of its nodes.
        memory_of_first: whether, as it takes all memory, each node must have as much as the first that is looked at.
        in_reach: nodes of jobs that it may preempt, which are looked at, too; None for none.
        all_gres: whether it takes all generic resources of its nodes.
        gres: of each kind on each node; a kind without type takes any.
        stated_on_node: tasks that it states for a node (``--ntasks-per-node``); 0 if it does not.
        first_cores: whether it gets the first cores of a node that are those of whole tasks.
        gpus_per_socket: GPUs of each socket of which it has cores; 0 where they do not go by sockets.
        gpus_near_cores: whether these are taken near its cores, of sockets that have so many.
        gpus_by_cores: whether it gets as many of each of these cores, where GPUs have no types.
        gres_total: of each kind in all.
        gres_per_task: of each kind for each task.
        cpus_per_gpu: that go with a GPU; 0 if none do.
        tasks_per_gpu: that go with a GPU; 0 if that is not stated.
        stated_per_gpu: CPUs that are stated for a GPU, for the job or its partition; 0 if none are.
        enforces_binding: whether it has no cores of sockets that are not near its devices, where any are near some.
        first_fit: whether nodes are taken one by one, the lightest first and then in the order of the file, and not as
            neighbours.
        weights_now_only: whether weights count for a start alone, and not as a later one is planned.
        unweighed: whether weights do not count.
        largest_first: whether nodes with most CPUs go first where the smallest do not suffice.
        by_kinds: whether nodes of one weight are looked at kind by kind.
        by_leaves: whether it takes leaves of the lowest switch that has enough, those with fewest CPUs first.
        counted_per_gpu: with which a job counts for each GPU before it has any, unless its tasks want more.
        cpus_of_gpus: CPUs that a node gives at least where it gives those of its GPUs; 0: as many as are wanted.
        contiguous: whether the nodes must be neighbours.
        required: nodes that it must have, as a mask, or None.
        some_required: whether some of these are enough, but it has no others.
        choices: ways to satisfy its constraint.
        least_loaded: whether nodes with the most free units go first.
        by_looks: whether a least loaded node counts with the CPUs of the one that was looked at last.
        last_first: whether the last nodes go first, for a single CPU.
        first_node: whether one node is enough, and the first with room for all is taken.
        first: nodes that go before all others, whatever their weight, or None.
        most_gpus_first: whether of nodes of one weight those go first that have most of the GPUs that it wants.
        tried_in_plans: nodes on which backfill tries it, or None for all.
        heavier: nodes that are heavier for it by one, or None.
        in_use: nodes that go before others of their weight, or None.
        pool: the partition whose jobs may have only so many units of a node together, or empty.
        pool_of_all: whether the jobs of other partitions count there, too, and what is kept for the system.
        all_of_pool: whether a node is of no use to it that has more units free than these jobs may have together.
        withheld: units of each node that reservations keep from it, or None.
        granted: units of each node that its reservation has left for it, or None for any.
        marks: what it marks its nodes with, where some jobs share their resources and others do not.
        unmarked: marks that its nodes must not have.
        over_others: whether, if it does not fit, it is planned on whole nodes whatever runs there, but for what
            ``unmarked`` keeps away.
        tree: the switches or blocks that it goes by, or None.
        segment: nodes of each of its segments, which are in one block each; 0 if it has none.
        switches: leaf switches on which its nodes may be at most; 0 for any number.
        switches_of_all: whether that is first asked of the nodes that it would get if all their cores were free.
        spread: with so many nodes one that is spread ends for good, else each weight gives it one; 0: it is not spread.
        counted_tasks: tasks that must find room on the nodes of each count of features (``[a*2&b*1]``) by themselves.
        counted_most: nodes for these counts together that there may be.
        counts_planned: whether the nodes of each count must have all CPUs by themselves, as they are planned.
        sharing_forgotten: whether GPUs that jobs have whole or in part are no obstacle to shares, or to having them
            whole, as it is planned.
        placed: tasks that must find CPUs of their own, of a job that overcommits; 0 for any number.
        dealt: CPUs of its nodes that its tasks get at most, where these are fewer than ``cpus``.
        nodes_with_room: nodes that must have room for it, though it gets fewer.
        nodes_with_tasks: of more nodes than these the last ones give CPUs, and memory that is wanted on each node, for
            a job that has not all of them.
        idle_nodes_lack: whether it gets no more nodes than these, for whole cores are given to tasks alone; if it wants
            GPUs in all it does not start then.
        tasks_of_gpus: tasks for each of its GPUs, if these are wanted in all and it has as many tasks for each.
        late_gres: whether resources of its tasks do not bound the CPUs with which a node counts as the one that fits
            best is chosen.
        each_gives_types: whether each node on which generic resources have types gives one of those wanted in all.
        sure_of_sockets: whether each node must have the GPUs of all sockets of which the job has cores there.
        sure_of_gres: whether that node must have all generic resources that are wanted in all, though those of nodes
            before it count for the choice (they have types).
        left_out_singly: without so many nodes, one after the other, it is tried again where there may be only so many;
            then, or if that is 0, without all that are as small.
        of_rounds: whether the memory of all CPUs that it is given must be free, where its tasks go round the sockets
            and more of these are given than have been counted, or it has whole nodes for tasks of sockets; as it is
            planned that does not matter.
        never: why it can never start in the partition, or empty.
    """

    min_nodes: int
    most_nodes: int | None
    target_nodes: int
    cpus: int
    choices: tuple[Choice, ...]
    cpus_per_task: int = 1
    cpus_on_node: int = 1
    cpus_free: int = 1
    cpus_of_sockets: int = 1
    cpus_given: int = 1
    per_node: int = FAR
    ranked: int = FAR
    per_core: int = FAR
    task_cores: bool = False
    whole_tasks: bool = False
    per_socket: int = FAR
    socket_tasks: int = 0
    tasks: int = FAR
    tasks_on_node: int = FAR
    socket_cores: int = 1
    node_sockets: int = 1
    whole: bool = False
    memory_per_node: int = 0
    memory_per_cpu: int = 0
    memory_per_gpu: int = 0
    memory_of_core: int = FAR
    all_memory: bool = False
    memory_of_first: bool = False
    in_reach: Mask | None = None
    all_gres: bool = False
    gres: tuple[tuple[str, str, int], ...] = ()
    stated_on_node: int = 0
    first_cores: bool = False
    gpus_per_socket: int = 0
    gpus_near_cores: bool = False
    gpus_by_cores: bool = False
    gres_total: tuple[tuple[str, str, int], ...] = ()
    gres_per_task: tuple[tuple[str, str, int], ...] = ()
    cpus_per_gpu: int = 0
    tasks_per_gpu: int = 0
    stated_per_gpu: int = 0
    enforces_binding: bool = False
    first_fit: bool = False
    weights_now_only: bool = False
    unweighed: bool = False
    largest_first: bool = False
    by_kinds: bool = False
    by_leaves: bool = False
    counted_per_gpu: int = 0
    cpus_of_gpus: int = 0
    contiguous: bool = False
    required: Mask | None = None
    some_required: bool = False
    least_loaded: bool = False
    by_looks: bool = False
    last_first: bool = False
    first_node: bool = False
    first: Mask | None = None
    most_gpus_first: bool = False
    tried_in_plans: Mask | None = None
    heavier: Mask | None = None
    in_use: Mask | None = None
    pool: str = ""
    pool_of_all: bool = False
    all_of_pool: bool = False
    withheld: Ints | None = None
    granted: Ints | None = None
    marks: tuple[str, ...] = ()
    unmarked: tuple[str, ...] = ()
    over_others: bool = False
    tree: Tree | Blocks | None = None
    segment: int = 0
    switches: int = 0
    switches_of_all: bool = False
    spread: int = 0
    nodes_with_room: int = 0
    node_counts: tuple[int, ...] = ()
    fills_sockets: bool = False
    counted_tasks: int = 0
    counted_most: int = FAR
    counts_planned: bool = False
    sharing_forgotten: bool = False
    placed: int = 0
    dealt: int = FAR
    nodes_with_tasks: int = FAR
    idle_nodes_lack: bool = False
    tasks_of_gpus: int = 0
    late_gres: bool = False
    each_gives_types: bool = False
    sure_of_sockets: bool = False
    sure_of_gres: bool = False
    left_out_singly: int = 0
    of_rounds: bool = False
    never: str = ""

    @property
    def suited(self) -> Mask:
        """Nodes that any of its choices has."""
        nodes: Mask = np.logical_or.reduce([choice.mask for choice in self.choices])
        return nodes

    @property
    def least_nodes(self) -> int:
        """Nodes that it needs at least: as many as it wants, or as ``per_node`` makes of its CPUs."""
        return max(self.min_nodes, -(-self.cpus // self.per_node))


@dataclass(frozen=True, slots=True)
class NodeView:
    """What ``select_nodes`` sees on a cluster with nodes. The columns belong to the emulator: copy what you change.

    Attributes:
        want: what a job needs.
        machine: the nodes.
        free: what is free of them, now or as planned for a later time.
        usable: which of them the job may use: those of its partition that are up, not reserved, and not kept.
    """

    want: Want
    machine: Machine
    free: Free
    usable: Mask
