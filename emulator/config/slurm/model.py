"""What a Slurm configuration says, as typed values.

Times are float seconds, infinite for no limit; memory is in mebibytes. ``settings`` of each
keep what was stated, with file and line, those of ``DEFAULT`` lines included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from emulator.config.slurm.location import Notice
from emulator.config.slurm.releases import NEWEST
from emulator.config.slurm.settings import Setting, Settings
from emulator.config.slurm.versions import Rules, defaults_of, emulated_version, rules_of, unknown_to

TOPOLOGY_YAML = "25.05"
"""From this version on Slurm reads ``topology.yaml``, and prefers it to ``topology.conf``."""


@dataclass(frozen=True, slots=True)
class GresCount:
    """So many of a generic resource on a node.

    Attributes:
        name: such as ``gpu``.
        type: such as ``a100``; empty where none is stated.
        count: how many.
        consumed: false for one that any number of jobs may use at a time.
    """

    name: str
    type: str
    count: int
    consumed: bool = True


@dataclass(frozen=True, slots=True)
class Node:
    """A node.

    Attributes:
        name: its name.
        cpus: CPUs that jobs can be given, those kept for the system included; if no more than cores, a core is one.
        boards: its boards.
        sockets: sockets of all its boards.
        cores_per_socket: cores of each.
        threads_per_core: threads of each.
        real_memory: in mebibytes, that kept for the system included.
        gres: its generic resources.
        features: what jobs may ask for with ``--constraint``.
        weight: nodes of low weight are taken first.
        state: as stated, with what ``DownNodes`` says over it.
        system_cores: cores kept for the system.
        system_memory: mebibytes kept for the system.
        tmp_disk: mebibytes of temporary storage.
        settings: what was stated, one object for all nodes of a line.
    """

    name: str
    cpus: int
    boards: int
    sockets: int
    cores_per_socket: int
    threads_per_core: int
    real_memory: int
    gres: tuple[GresCount, ...]
    features: tuple[str, ...]
    weight: int
    state: str
    system_cores: int
    system_memory: int
    tmp_disk: int
    settings: Settings = field(compare=False, repr=False)

    @property
    def cpus_of_core(self) -> int:
        """How many CPUs of each core jobs can be given."""
        return cpus_of_core(self.cpus, self.sockets * self.cores_per_socket, self.threads_per_core)

    @property
    def ids_of_cpu(self) -> int:
        """How many of ``CPU_IDs``, which are those of all threads, each CPU has."""
        return self.threads_per_core // self.cpus_of_core


def cpus_of_core(cpus: int, cores: int, threads: int) -> int:
    """How many CPUs a core of a node has: one where the node is said to have no more CPUs than cores (recorded).

    Args:
        cpus: of the node.
        cores: of the node.
        threads: of a core.
    """
    return 1 if cpus <= cores else threads


@dataclass(frozen=True, slots=True)
class NodeSet:
    """A name for nodes.

    Attributes:
        name: to be used by partitions.
        nodes: names, in the order of the machine.
        settings: what was stated.
    """

    name: str
    nodes: tuple[str, ...]
    settings: Settings = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DownNodes:
    """Nodes that are not to be used.

    Attributes:
        nodes: names, in the order of the line.
        state: ``DOWN``, ``DRAIN``, ``FAIL``, ``FAILING`` or ``FUTURE``.
        settings: what was stated.
    """

    nodes: tuple[str, ...]
    state: str
    settings: Settings = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition.

    Attributes:
        name: its name.
        nodes: names, in the order of the machine.
        default: whether jobs come here that name no partition.
        state: ``UP``, ``DOWN``, ``DRAIN`` or ``INACTIVE``.
        max_time: longest limit, in seconds.
        default_time: limit of a job that states none, in seconds; None: ``max_time``.
        over_time_limit: seconds by which a job may pass its limit; None: the cluster's.
        max_nodes: most nodes of a job; None for no bound.
        min_nodes: fewest nodes of a job.
        max_cpus_per_node: most CPUs of a node for its jobs; None for no bound.
        max_cpus_per_socket: most CPUs of a socket for its jobs; None for no bound.
        priority_tier: its jobs go before those of lower tiers, and may preempt them.
        priority_job_factor: its share of the partition factor of priorities.
        allow_accounts: accounts that may use it; None for all.
        allow_groups: groups that may use it; None for all.
        allow_qos: qualities of service that may use it; None for all.
        deny_accounts: accounts that may not.
        deny_qos: qualities of service that may not.
        oversubscribe: ``NO``, ``YES``, ``FORCE`` or ``EXCLUSIVE``.
        oversubscribe_jobs: so many jobs may share a resource; 1 unless it is ``YES`` or ``FORCE``.
        exclusive_user: whether a node is for one user at a time.
        preempt_mode: what becomes of its preempted jobs, upper-case words; empty: the cluster's.
        grace_time: seconds between the choice of a victim and its end.
        qos: quality of service whose limits hold here; empty for none.
        requires_reservation: whether a job must name a reservation.
        root_only: whether only root may use it.
        alternate: the partition to use while it is drained; empty for none.
        def_mem_per_cpu: mebibytes for each CPU where a job says nothing; None: the cluster's.
        def_mem_per_node: mebibytes on each node; None: the cluster's.
        def_mem_per_gpu: mebibytes for each GPU; None: the cluster's.
        def_cpu_per_gpu: CPUs for each GPU where a job says nothing; None: the cluster's.
        max_mem_per_cpu: most mebibytes for each CPU, 0 for no bound; None: the cluster's.
        max_mem_per_node: most mebibytes on each node, 0 for no bound; None: the cluster's.
        lln: whether the least loaded nodes are taken first.
        tres_billing_weights: what a unit of each kind of resource costs; of memory, a mebibyte.
        topology: name of the topology that its jobs go by; empty for the cluster's.
        settings: what was stated.
    """

    name: str
    nodes: tuple[str, ...]
    default: bool
    state: str
    max_time: float
    default_time: float | None
    over_time_limit: float | None
    max_nodes: int | None
    min_nodes: int
    max_cpus_per_node: int | None
    max_cpus_per_socket: int | None
    priority_tier: int
    priority_job_factor: int
    allow_accounts: tuple[str, ...] | None
    allow_groups: tuple[str, ...] | None
    allow_qos: tuple[str, ...] | None
    deny_accounts: tuple[str, ...]
    deny_qos: tuple[str, ...]
    oversubscribe: str
    oversubscribe_jobs: int
    exclusive_user: bool
    preempt_mode: tuple[str, ...]
    grace_time: float
    qos: str
    requires_reservation: bool
    root_only: bool
    alternate: str
    def_mem_per_cpu: float | None
    def_mem_per_node: float | None
    def_mem_per_gpu: float | None
    def_cpu_per_gpu: int | None
    max_mem_per_cpu: float | None
    max_mem_per_node: float | None
    lln: bool
    tres_billing_weights: Mapping[str, float] = field(hash=False)
    topology: str
    settings: Settings = field(compare=False, repr=False)

    @property
    def states_memory(self) -> bool:
        """Whether it says what jobs have that ask for none: of each CPU or node, instead of either of the cluster's."""
        return bool(self.def_mem_per_cpu or self.def_mem_per_node)


def with_defaults(parameters: Settings, version: str) -> Settings:
    """Parameters with the defaults of a version; select/cons_tres counts cores and memory if nothing else is stated."""
    parameters = replace(parameters, defaults=defaults_of(version))
    if not parameters.text("SelectType").lower().startswith("select/cons_"):
        return parameters
    return replace(parameters, defaults={**parameters.defaults, "SelectTypeParameters": "CR_Core_Memory"})


@dataclass(frozen=True, slots=True)
class GresLine:
    """A line of ``gres.conf``.

    Attributes:
        nodes: names of the nodes that have it; None for all.
        name: such as ``gpu``.
        type: such as ``a100``; empty where none is stated.
        count: how many each node has.
        files: device files, one for each.
        cores: indices of the cores that are near; empty for any.
        flags: what is special about it.
        settings: what was stated.
    """

    nodes: tuple[str, ...] | None
    name: str
    type: str
    count: int
    files: tuple[str, ...]
    cores: tuple[int, ...]
    flags: tuple[str, ...]
    settings: Settings = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch, or a block of nodes.

    Attributes:
        name: its name.
        nodes: nodes directly below it, in the order of the line.
        switches: switches directly below it.
        block: whether it is a block.
        settings: what was stated.
    """

    name: str
    nodes: tuple[str, ...]
    switches: tuple[str, ...]
    block: bool
    settings: Settings = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Topology:
    """How nodes are wired.

    Attributes:
        name: by which partitions name it; empty for that of ``topology.conf``.
        plugin: ``topology/tree``, ``topology/block`` or another one, lower case.
        switches: switches or blocks, in the order of the file.
        block_sizes: nodes of blocks, ascending: of a base block, and those of which larger ones are made.
    """

    name: str
    plugin: str
    switches: tuple[Switch, ...] = ()
    block_sizes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PowerTimes:
    """Times of the power saving of a node, in seconds.

    Attributes:
        suspend: for so long it is idle before it is powered down; infinite for never.
        down: for so long it is powering down, and takes no job.
        resume: for so long a resume may take; then the node is down.
    """

    suspend: float
    down: float
    resume: float


@dataclass(frozen=True)
class Power:
    """Power saving.

    Attributes:
        times: by node.
        suspend_rate: so many nodes are powered down in a minute; 0 for no bound.
        resume_rate: the same of resumes.
        kept: nodes that are not powered down for being idle: all of these, or so many of them.
        kept_states: upper-case states of nodes that are not powered down for being idle.
        on_idle: partitions whose nodes are powered down as soon as their jobs have left them.
        cloud: nodes that are powered down at first.
        idle_on_suspend: whether nodes that are powered down are no longer down or drained.
        interval: seconds from one look at the nodes to the next.
    """

    times: Mapping[str, PowerTimes]
    suspend_rate: int
    resume_rate: int
    kept: tuple[tuple[tuple[str, ...], int | None], ...]
    kept_states: frozenset[str]
    on_idle: frozenset[str]
    cloud: frozenset[str]
    idle_on_suspend: bool
    interval: float


def _written(setting: Setting) -> str:
    """The key of a setting as it is written; of an option ``PARAMETER.option``."""
    return f"{setting.part_of}.{setting.word.name}" if setting.part_of else setting.word.name


def is_unknown(setting: Setting, version: str) -> bool:
    """Whether a version does not know a key or an option yet."""
    return not unknown_to(version).isdisjoint((_written(setting), setting.part_of))


def known_to(version: str, parameters: Settings) -> Settings:
    """The parameters that a version knows, with its defaults."""
    known = {name: one for name, one in parameters.stated.items() if not is_unknown(one, version)}
    return with_defaults(replace(parameters, stated=known), version)


@dataclass(frozen=True)
class SlurmConf:
    """A configuration.

    Attributes:
        source: name of the main file.
        parameters: those of ``slurm.conf`` by name, and options as ``PARAMETER.option``.
        nodes: in the order of the file.
        partitions: in the order of the file.
        node_sets: in the order of the file.
        down_nodes: in the order of the file.
        gres: lines of ``gres.conf``; none if there is no such file beside the main one.
        topology_conf: what ``topology.conf`` says under ``TopologyPlugin``; nothing if there is no such file.
        topologies: those of ``topology.yaml``, the cluster's first; none if there is no such file.
        power: what holds of power saving; None where nodes are always on.
        entries: everything that was stated, in the order of reading: files one after the
            other, with the kind of line (empty for parameters) and the setting.
        notices: what the author of the files should know, in the order of reading.
        version: of the Slurm that runs on it.
    """

    source: str
    parameters: Settings
    nodes: tuple[Node, ...]
    partitions: tuple[Partition, ...]
    node_sets: tuple[NodeSet, ...]
    down_nodes: tuple[DownNodes, ...]
    gres: tuple[GresLine, ...]
    topology_conf: Topology
    topologies: tuple[Topology, ...]
    power: Power | None
    entries: tuple[tuple[str, Setting], ...]
    notices: tuple[Notice, ...]
    version: str = NEWEST

    def under(self, version: str) -> SlurmConf:
        """The same under a version of Slurm, such as ``24.11`` or ``24.11.5``.

        Raises:
            ConfigurationError: it is not emulated.
        """
        from emulator.config.slurm.partitions import without  # which is made of what is defined here

        version = emulated_version(version)
        lines = (self.parameters, *(one.settings for one in self.partitions))
        unknown = [one for line in lines for one in line.stated.values() if is_unknown(one, version)]
        notices = dict.fromkeys(  # several partitions may have it of one DEFAULT line
            Notice(one.location, f"{_written(one)}: Slurm {version} does not know it, and it has no effect")
            for one in unknown
        )
        keys = {_written(one) for one in unknown}
        power = self.power
        if power is not None and "PowerDownOnIdle" in keys:
            power = replace(power, on_idle=frozenset())
        return replace(
            self,
            version=version,
            parameters=known_to(version, self.parameters),
            partitions=tuple(one if keys.isdisjoint(one.settings) else without(one, keys) for one in self.partitions),
            power=power,
            notices=(*self.notices, *notices),
        )

    @property
    def rules(self) -> Rules:
        """What holds under its version."""
        return rules_of(self.version)

    @property
    def topology(self) -> Topology:
        """How its nodes are wired."""
        return self.named_topologies[0] if self.named_topologies else self.topology_conf

    @property
    def named_topologies(self) -> tuple[Topology, ...]:
        """Those that partitions may name under its version, the cluster's first."""
        return self.topologies if self.version >= TOPOLOGY_YAML else ()

    @cached_property
    def node(self) -> Mapping[str, Node]:
        """The nodes by name."""
        return {node.name: node for node in self.nodes}

    @cached_property
    def partition(self) -> Mapping[str, Partition]:
        """The partitions by name."""
        return {partition.name: partition for partition in self.partitions}
