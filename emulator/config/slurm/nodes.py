"""``NodeName``, ``NodeSet`` and ``DownNodes`` lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from emulator.config.slurm import duration
from emulator.config.slurm.defaults import Record, with_defaults
from emulator.config.slurm.hostlist import MOST_NAMES, expand
from emulator.config.slurm.lines import Pair
from emulator.config.slurm.location import Findings, Location
from emulator.config.slurm.model import DownNodes, GresCount, Node, NodeSet, cpus_of_core
from emulator.config.slurm.records import DOWN_NODES, NODE, NODE_SET
from emulator.config.slurm.roster import Roster, listed
from emulator.config.slurm.settings import Settings, latest, read_pairs

_PARTS = ("CPUs", "Boards", "Sockets", "SocketsPerBoard", "CoresPerSocket", "ThreadsPerCore")
_NOT_CONSUMED = "no_consume"
_INDICES = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")


@dataclass(frozen=True)
class _Layout:
    """CPUs of a node and what they are parts of."""

    cpus: int
    boards: int
    sockets: int
    cores_per_socket: int
    threads_per_core: int

    @property
    def threads(self) -> int:
        return self.sockets * self.cores_per_socket * self.threads_per_core

    @property
    def cpus_of_core(self) -> int:
        return cpus_of_core(self.cpus, self.sockets * self.cores_per_socket, self.threads_per_core)


def read_nodes(records: Iterable[Record], findings: Findings) -> list[Node]:
    """The nodes of ``NodeName`` lines, in their order."""
    nodes: list[Node] = []
    defined: dict[str, Location] = {}
    for expression, location, settings in with_defaults(records, "NodeName", NODE, findings):
        names = _names(expression, location, findings)
        twice = [name for name in names if name in defined]
        if twice:
            findings.problem(location, f"node {listed(twice)} is defined already at {defined[twice[0]]}")
        new = [name for name in dict.fromkeys(names) if name not in defined]
        if len(new) < len(names) and not twice:
            findings.problem(location, f"{expression!r} names a node twice")
        defined.update(dict.fromkeys(new, location))
        nodes += _nodes_of_line(new, location, settings, findings)
        if len(nodes) > MOST_NAMES:
            findings.problem(location, f"{len(nodes):,} nodes; Slurm has no more than {MOST_NAMES:,}")
            break
    return nodes


def _names(expression: str, location: Location, findings: Findings) -> list[str]:
    try:
        names = expand(expression)
    except ValueError as error:
        findings.problem(location, str(error))
        return []
    if not names or any(name.upper() == "ALL" for name in names):
        findings.problem(location, f"NodeName={expression!r} names no node; ALL means those of all other lines")
        return []
    return names


def updated(nodes: Iterable[Node], stated: Mapping[str, str]) -> list[Node]:
    """Nodes of which an operator has stated the weight or the features again.

    Args:
        nodes: as they were.
        stated: values of Weight and Features.

    Raises:
        InputError: a value that cannot be understood.
    """
    findings = Findings()
    pairs = [Pair(key, value, Location("scontrol", 0)) for key, value in stated.items()]
    new = Settings(NODE, latest(read_pairs(pairs, NODE, findings), findings))
    findings.check()
    return [
        replace(
            node,
            weight=new.count("Weight") if "Weight" in new else node.weight,
            features=new.words("Features") if "Features" in new else node.features,
        )
        for node in nodes
    ]


def _nodes_of_line(names: Sequence[str], location: Location, settings: Settings, findings: Findings) -> list[Node]:
    layout = _layout(location, settings, findings)
    gres = _gres(settings, findings)
    memory = int(settings.amount("RealMemory") or 0) if _finite("RealMemory", settings, findings) else 0
    system_cores = _system_cores(layout, settings, findings)
    system_memory = _system_memory(memory, settings, findings)
    tmp_disk = int(settings.amount("TmpDisk") or 0) if _finite("TmpDisk", settings, findings) else 0
    return [
        Node(
            name,
            layout.cpus,
            layout.boards,
            layout.sockets,
            layout.cores_per_socket,
            layout.threads_per_core,
            memory,
            gres,
            settings.words("Features"),
            settings.count("Weight"),
            settings.text("State"),
            system_cores,
            system_memory,
            tmp_disk,
            settings,
        )
        for name in names
    ]


def _system_cores(layout: _Layout, settings: Settings, findings: Findings) -> int:
    """Cores kept for the system: so many, or those of the CPUs that are listed."""
    stated = settings.get("CpuSpecList") or settings.get("CoreSpecCount")
    if stated is None:
        return 0
    if "CpuSpecList" in settings and "CoreSpecCount" in settings:
        findings.problem(stated.location, "CoreSpecCount and CpuSpecList are two ways to say one thing; state one")
        return 0
    cores = settings.count("CoreSpecCount")
    if "CpuSpecList" in settings:
        try:
            cores = len({cpu // layout.cpus_of_core for cpu in indices(stated.text, "CPU")})
        except ValueError as error:
            findings.problem(stated.location, f"CpuSpecList: {error}")
    if cores * layout.cpus_of_core >= layout.cpus:
        findings.problem(stated.location, f"{stated.name}={stated.text} leaves no CPU of {layout.cpus} for jobs")
        return 0
    return cores


def _system_memory(memory: int, settings: Settings, findings: Findings) -> int:
    kept = int(settings.amount("MemSpecLimit") or 0) if _finite("MemSpecLimit", settings, findings) else 0
    if kept and kept >= memory:
        findings.problem(settings["MemSpecLimit"].location, f"MemSpecLimit={kept} leaves none of {memory} MiB for jobs")
        return 0
    return kept


def indices(text: str, what: str) -> list[int]:
    """``"0-3,8"`` to indices.

    Raises:
        ValueError: it is written otherwise.
    """
    found: list[int] = []
    for part in text.split(","):
        matched = _INDICES.fullmatch(part)
        if matched is None:
            raise ValueError(f"{part!r} is neither a {what} nor a range such as 0-17")
        first, last = int(matched.group(1)), int(matched.group(2) or matched.group(1))
        if last < first or len(found) + last - first >= MOST_NAMES:
            raise ValueError(f"{part!r} is no range of {what}s")
        found += range(first, last + 1)
    return found


def _finite(name: str, settings: Settings, findings: Findings) -> bool:
    stated = settings.get(name)
    if stated is None or not duration.is_unlimited(stated.text):
        return True
    findings.problem(stated.location, f"{name} is a size, not {stated.text}")
    return False


def _layout(location: Location, settings: Settings, findings: Findings) -> _Layout:
    """CPUs, sockets and cores; what is not stated follows from what is (slurm.conf, ``CPUs`` and ``Sockets``)."""
    given = {part: settings.count(part) for part in _PARTS if part in settings}
    for part, count in given.items():
        if count < 1:
            findings.problem(settings[part].location, f"{part} is 1 or more, not {count}")
            return _Layout(1, 1, 1, 1, 1)
    boards, cores, threads = given.get("Boards", 1), given.get("CoresPerSocket", 1), given.get("ThreadsPerCore", 1)
    cpus = given.get("CPUs", 0)
    per_board = given.get("SocketsPerBoard") or given.get("Sockets")
    sockets = boards * per_board if per_board else max(boards, cpus // (cores * threads))
    layout = _Layout(cpus or sockets * cores * threads, boards, sockets, cores, threads)
    if layout.cpus in (sockets, sockets * cores, layout.threads):
        return layout
    if cores == threads == 1:
        findings.notice(location, f"CPUs={cpus} does not fit Sockets={sockets}: Slurm takes {cpus} sockets")
        return replace(layout, sockets=cpus)
    findings.notice(
        location,
        f"CPUs={cpus} is neither the {sockets} sockets, nor the {sockets * cores} cores, nor the {layout.threads} "
        f"threads: Slurm takes {layout.threads}",
    )
    return replace(layout, cpus=layout.threads)


def _gres(settings: Settings, findings: Findings) -> tuple[GresCount, ...]:
    stated = settings.get("Gres")
    if stated is None:
        return ()
    counts = []
    for word in stated.text.split(","):
        if not word:
            continue
        try:
            counts.append(gres_count(word))
        except ValueError as error:
            findings.problem(stated.location, str(error))
    return tuple(counts)


def gres_count(word: str) -> GresCount:
    """``gpu:a100:4`` as typed values; the count is 1 where none is stated.

    Raises:
        ValueError: not written as ``NAME[:TYPE][:no_consume][:COUNT]``.
    """
    name, *parts = word.split(":")
    rest = [part for part in parts if part.lower() != _NOT_CONSUMED]
    count = duration.count(rest.pop()) if rest and rest[-1][:1].isdecimal() else 1
    if not name or len(rest) > 1 or "" in rest:
        raise ValueError(f"{word!r} is not written as NAME[:TYPE][:{_NOT_CONSUMED}][:COUNT]")
    return GresCount(name, rest[0] if rest else "", count, _NOT_CONSUMED not in word.lower().split(":"))


def read_node_sets(records: Iterable[Record], roster: Roster, findings: Findings) -> list[NodeSet]:
    """The node sets of ``NodeSet`` lines; the roster knows them afterwards."""
    sets = []
    for name, location, settings in with_defaults(records, "NodeSet", NODE_SET, findings):
        if name in roster or roster.has_set(name):
            what = "a node" if name in roster else "a node set already"
            findings.problem(location, f"{name!r} is the name of {what}; choose another")
            continue
        nodes = roster.find(settings.text("Nodes"), settings["Nodes"].location) if "Nodes" in settings else ()
        node_set = NodeSet(name, roster.in_order([*nodes, *roster.with_feature(settings.text("Feature"))]), settings)
        if not node_set.nodes:
            findings.notice(location, f"node set {name!r} is empty")
        roster.add_set(node_set)
        sets.append(node_set)
    return sets


def read_down_nodes(records: Iterable[Record], roster: Roster, findings: Findings) -> list[DownNodes]:
    """What ``DownNodes`` lines say."""
    return [
        DownNodes(roster.find(expression, location), settings.text("State"), settings)
        for expression, location, settings in with_defaults(records, "DownNodes", DOWN_NODES, findings)
    ]


def with_states(nodes: Sequence[Node], down: Iterable[DownNodes]) -> tuple[Node, ...]:
    """Nodes in the state that ``DownNodes`` lines give them; the last line counts."""
    states = {name: line.state for line in down for name in line.nodes}
    if not states:
        return tuple(nodes)
    return tuple(replace(node, state=states[node.name]) if node.name in states else node for node in nodes)
