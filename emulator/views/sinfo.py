"""``sinfo``: partitions and their nodes at a time.

Nodes of a partition are one line if all that is shown of them is alike; numbers that differ
are shown as the least with a plus sign, unless each is wanted exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from emulator.accounting.cluster import KeptPartition
from emulator.config.slurm.hostlist import compress, expand
from emulator.views.clock import short
from emulator.views.columns import Column, Field, Fields, constant, ordered, table
from emulator.views.recorded import POWER_MARKS, NodeAt, RecordedCluster
from slurm_sim_plugins.errors import ConfigurationError

DEFAULT = "%#P %.5a %.10l %.6D %.6t %N"
LONG = "%#P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N"
SUMMARY = "%#P %.5a %.10l %.16F %N"
BY_NODE = "%#N %.6D %#P %6t"
BY_NODE_LONG = "%#N %.6D %#P %.11T %.4c %.8z %.6m %.8d %.6w %.8f %20E"
SORT = "#P,-t"
SORT_BY_NODE = "N"
COMPACT = {
    "idle": "idle",
    "planned": "plnd",
    "reserved": "resv",
    "maint": "maint",
    "allocated": "alloc",
    "allocated$": "alloc$",
    "mixed": "mix",
    "mixed-": "mix-",
    "mixed$": "mix$",
    "down": "down",
    "drained": "drain",
    "draining": "drng",
    "future": "futr",
}
"""States as ``%t`` shows them."""
OF_POWER = {"powering_down": "POWERING_DOWN", "powered_down": "POWERED_DOWN", "powering_up": "POWERING_UP"}
"""Words by which nodes are chosen that are not on."""
ORDER = (
    *("down", "idle", "planned", "reserved", "maint", "allocated", "allocated$", "mixed", "mixed-", "mixed$"),
    *("future", "drained", "draining"),
)
"""States in Slurm's order."""
MARKS = "".join(POWER_MARKS.values())
AVAILABLE = {"UP": "up", "DOWN": "down", "DRAIN": "drain", "INACTIVE": "inact"}
KEYS: Mapping[str, Callable[[NodeAt], object]] = {
    "t": lambda node: node.state,
    "T": lambda node: node.state,
    "f": lambda node: node.about.features,
    "b": lambda node: node.about.features,
    "G": lambda node: node.about.gres,
    "n": lambda node: node.name,
    "o": lambda node: node.name,
    "E": lambda node: node.about.state,
}
"""By what nodes are told apart if the column is shown."""
EXACT: Mapping[str, Callable[[NodeAt], object]] = {
    "c": lambda node: node.about.cpus,
    "m": lambda node: node.about.memory,
    "w": lambda node: node.about.weight,
    "X": lambda node: node.about.sockets,
    "Y": lambda node: node.about.cores,
    "Z": lambda node: node.about.threads,
    "z": lambda node: (node.about.sockets, node.about.cores, node.about.threads),
}
"""The same if numbers are wanted exactly."""


@dataclass(frozen=True)
class Line:
    """A line: nodes of a partition.

    Attributes:
        partition: which.
        index: its index in the configuration.
        nodes: its nodes; none if it has none.
        cluster: name of the cluster.
    """

    partition: KeptPartition
    index: int
    nodes: tuple[NodeAt, ...]
    cluster: str = ""

    def least(self, value: Callable[[NodeAt], int]) -> str:
        """A number of the nodes; the least with a plus sign where they differ."""
        values = [value(node) for node in self.nodes]
        if not values:
            return "0"
        return f"{min(values)}{'+' if max(values) > min(values) else ''}"

    def counts(self) -> tuple[int, int, int, int]:
        """Nodes that are allocated, idle, other, and all."""
        allocated = sum(node.base in ("allocated", "mixed", "draining") for node in self.nodes)
        idle = sum(node.base == "idle" for node in self.nodes)
        return allocated, idle, len(self.nodes) - allocated - idle, len(self.nodes)

    def cpus(self) -> tuple[int, int, int, int]:
        """CPUs that are allocated, idle, other, and all."""
        allocated = sum(node.cpus for node in self.nodes)
        total = sum(node.about.cpus for node in self.nodes)
        usable = [node for node in self.nodes if node.base in ("idle", "allocated", "mixed")]
        idle = sum(node.about.cpus - node.cpus for node in usable)
        return allocated, idle, total - allocated - idle, total

    @property
    def state(self) -> str:
        """Of its nodes."""
        return self.nodes[0].state if self.nodes else "n/a"


def _slashes(numbers: Sequence[int]) -> str:
    return "/".join(map(str, numbers))


def _time(seconds: float | None, none: str) -> str:
    return none if seconds is None else short(seconds)


def _size(line: Line) -> str:
    low, high = line.partition.min_nodes, line.partition.max_nodes
    return f"{low}" if low == high else f"{low}-{'infinite' if high is None else high}"


def _sct(line: Line) -> str:
    parts = (line.least(lambda node: node.about.sockets), line.least(lambda node: node.about.cores))
    return ":".join((*parts, line.least(lambda node: node.about.threads)))


def _used_gres(line: Line) -> str:
    totals: dict[str, int] = {}
    for node in line.nodes:
        for word in filter(None, node.about.gres.split(",")):
            kind = word.rpartition(":")[0]
            totals[kind] = totals.get(kind, 0) + node.gres.get(kind, 0)
    return ",".join(f"{kind}:{count}" for kind, count in totals.items()) or "(null)"


def _names(line: Line) -> str:
    return compress(node.name for node in line.nodes)


def _first(value: Callable[[NodeAt], str]) -> Callable[[Line], str]:
    return lambda line: (value(line.nodes[0]) if line.nodes else "") or "(null)"


def _least(value: Callable[[NodeAt], int]) -> Callable[[Line], str]:
    return lambda line: line.least(value)


def _state_number(line: Line) -> int:
    state = line.state.rstrip(MARKS)
    return ORDER.index(state) if state in ORDER else -1


def compact(state: str) -> str:
    """A state as ``%t`` shows it."""
    plain = state.rstrip(MARKS)
    return COMPACT.get(state) or COMPACT.get(plain, plain) + state[len(plain) :]


FIELDS: Fields[Line] = Fields(
    "sinfo",
    (
        Field(
            "AVAIL", lambda line: AVAILABLE.get(line.partition.state, line.partition.state.lower()), "a", ("Available",)
        ),
        Field("NODES(A/I)", lambda line: _slashes(line.counts()[:2]), "A", ("NodeAI",)),
        Field("ACTIVE_FEATURES", _first(lambda node: node.about.features), "b", ("features_act",)),
        Field(
            "MAX_CPUS_PER_NODE",
            lambda line: str(line.partition.max_cpus_per_node or "UNLIMITED"),
            "B",
            ("MaxCPUsPerNode",),
        ),
        Field("CPUS", _least(lambda node: node.about.cpus), "c", ("CPUs",)),
        Field("CPUS(A/I/O/T)", lambda line: _slashes(line.cpus()), "C", ("CPUsState",)),
        Field("TMP_DISK", constant("0"), "d", ("Disk",)),
        Field("NODES", lambda line: str(len(line.nodes)), "D", ("Nodes",), sort=lambda line: len(line.nodes)),
        Field("FREE_MEM", _least(lambda node: node.about.memory - node.memory), "e", ("FreeMem",)),
        Field("REASON", constant("none"), "E", ("Reason",)),
        Field("AVAIL_FEATURES", _first(lambda node: node.about.features), "f", ("Features",)),
        Field("NODES(A/I/O/T)", lambda line: _slashes(line.counts()), "F", ("NodeAIOT",)),
        Field("GROUPS", lambda line: line.partition.groups or "all", "g", ("Groups",)),
        Field("GRES", _first(lambda node: node.about.gres), "G", ("Gres",)),
        Field("GRES_USED", _used_gres, "", ("GresUsed",)),
        Field("OVERSUBSCRIBE", lambda line: line.partition.oversubscribe, "h", ("OverSubscribe",)),
        Field("TIMESTAMP", constant("Unknown"), "H", ("TimeStamp",)),
        Field("RESERVATION", constant(""), "i", ()),
        Field("PRIO_JOB_FACTOR", lambda line: str(line.partition.job_factor), "I", ("PriorityJobFactor",)),
        Field("TIMELIMIT", lambda line: _time(line.partition.max_time, "infinite"), "l", ("Time",)),
        Field("DEFAULTTIME", lambda line: _time(line.partition.default_time, "n/a"), "L", ("DefaultTime",)),
        Field("MEMORY", _least(lambda node: node.about.memory), "m", ("Memory",)),
        Field("ALLOCMEM", _least(lambda node: node.memory), "", ("AllocMem",)),
        Field("PREEMPT_MODE", lambda line: line.partition.preempt_mode or "OFF", "M", ("PreemptMode",)),
        Field("HOSTNAMES", _names, "n", ("NodeHost",)),
        Field("NODELIST", _names, "N", ("NodeList",), sort=lambda line: line.nodes[0].name if line.nodes else ""),
        Field("NODE_ADDR", _names, "o", ("NodeAddr",)),
        Field("CPU_LOAD", constant("N/A"), "O", ("CPUsLoad",)),
        Field("PRIO_TIER", lambda line: str(line.partition.tier), "p", ("PriorityTier", "Priority")),
        Field(
            "PARTITION",
            lambda line: f"{line.partition.name}{'*' if line.partition.default else ''}",
            "P",
            ("Partition",),
        ),
        Field("ROOT", lambda line: "yes" if line.partition.root_only else "no", "r", ("Root",)),
        Field("PARTITION", lambda line: line.partition.name, "R", ("PartitionName",)),
        Field("JOB_SIZE", _size, "s", ("Size",)),
        Field("ALLOCNODES", constant("all"), "S", ("AllocNodes",)),
        Field("STATE", lambda line: compact(line.state), "t", ("StateCompact",), sort=_state_number),
        Field("STATE", lambda line: line.state, "T", ("StateLong", "StateComplete"), sort=_state_number),
        Field("USER", constant("Unknown"), "u", ("User",)),
        Field("USER", constant("Unknown"), "U", ("UserLong",)),
        Field("VERSION", constant("N/A"), "v", ("Version",)),
        Field("CLUSTER", lambda line: line.cluster, "V", ("Cluster",)),
        Field("WEIGHT", _least(lambda node: node.about.weight), "w", ("Weight",)),
        Field("SOCKETS", _least(lambda node: node.about.sockets), "X", ("Sockets",)),
        Field("CORES", _least(lambda node: node.about.cores), "Y", ("Cores",)),
        Field("THREADS", _least(lambda node: node.about.threads), "Z", ("Threads",)),
        Field("S:C:T", _sct, "z", ("SocketCoreThread",)),
    ),
)
"""The columns, by letter and by name."""


def default(by_node: bool, long: bool, summary: bool) -> str:
    """The format where none is stated."""
    if by_node:
        return BY_NODE_LONG if long else BY_NODE
    return SUMMARY if summary else LONG if long else DEFAULT


@dataclass(frozen=True)
class Wanted:
    """What is shown.

    Attributes:
        partitions: by name; none for all.
        nodes: by name; none for all.
        states: in full or compact words; none for all.
        by_node: a line for each node of each partition.
        exact: whether nodes whose numbers differ are told apart.
    """

    partitions: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    by_node: bool = False
    exact: bool = False

    def __post_init__(self) -> None:
        known = {word for pair in COMPACT.items() for word in pair} | set(OF_POWER)
        unknown = [word for word in self.states if word.lower() not in known]
        if unknown:
            raise ConfigurationError(
                f"there is no state {unknown[0]!r} of nodes; take some of {', '.join((*COMPACT, *OF_POWER))}"
            )

    def takes(self, node: NodeAt) -> bool:
        """Whether a node is shown."""
        if self.nodes and node.name not in self.nodes:
            return False
        state = node.state
        words = {state, compact(state), node.base, COMPACT[node.base], "drain" if state.startswith("drain") else state}
        words |= {word for word, flag in OF_POWER.items() if flag in node.flags}
        return not self.states or bool(words & {word.lower() for word in self.states})


def lines(recorded: RecordedCluster, time: float, wanted: Wanted, columns: Sequence[Column[Line]]) -> list[Line]:
    """The lines, in the order of partitions and nodes."""
    nodes = {node.name: node for node in recorded.nodes(time)}
    shown = {column.field.letter or column.field.names[0] for column in columns}
    keys = [key for letter, key in KEYS.items() if letter in shown]
    keys += [key for letter, key in EXACT.items() if letter in shown and wanted.exact]
    found = []
    for index, partition in enumerate(recorded.cluster.partitions):
        if wanted.partitions and partition.name not in wanted.partitions:
            continue
        groups: dict[object, list[NodeAt]] = {}
        for name in expand(partition.nodes):
            node = nodes[name]
            if wanted.takes(node):
                key = node.name if wanted.by_node else tuple(key(node) for key in keys)
                groups.setdefault(key, []).append(node)
        if not groups and not (wanted.nodes or wanted.states):
            groups[()] = []
        found += [Line(partition, index, tuple(group), recorded.cluster.name) for group in groups.values()]
    return found


def sinfo(rows: Sequence[Line], columns: Sequence[Column[Line]], sort: str = SORT, header: bool = True) -> str:
    """The table."""
    return table(columns, ordered(FIELDS, rows, sort, {"#P": lambda line: line.index}), header)


def as_json(recorded: RecordedCluster, time: float, wanted: Wanted) -> dict[str, Any]:
    """Nodes and partitions with the names that Slurm's JSON gives their properties."""
    member: dict[str, list[str]] = {}
    for partition in recorded.cluster.partitions:
        for name in expand(partition.nodes):
            member.setdefault(name, []).append(partition.name)
    nodes = [node for node in recorded.nodes(time) if wanted.takes(node)]
    if wanted.partitions:
        nodes = [node for node in nodes if set(member.get(node.name, ())) & set(wanted.partitions)]
    return {"nodes": [_node(node, member.get(node.name, [])) for node in nodes]}


def _node(node: NodeAt, partitions: list[str]) -> dict[str, Any]:
    about = node.about
    return {
        "name": node.name,
        "state": node.state,
        "partitions": partitions,
        "cpus": about.cpus,
        "alloc_cpus": node.cpus,
        "idle_cpus": about.cpus - node.cpus if node.base in ("idle", "allocated", "mixed") else 0,
        "sockets": about.sockets,
        "cores": about.cores,
        "threads": about.threads,
        "real_memory": about.memory,
        "alloc_memory": node.memory,
        "features": about.features,
        "gres": about.gres,
        "gres_used": ",".join(f"{kind}:{count}" for kind, count in node.gres.items()),
        "weight": about.weight,
    }
