"""``gres.conf``: the devices of nodes."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from emulator.config.slurm import duration
from emulator.config.slurm.defaults import Record
from emulator.config.slurm.hostlist import expand
from emulator.config.slurm.location import Findings, Location
from emulator.config.slurm.model import GresLine, Node, Partition
from emulator.config.slurm.nodes import indices
from emulator.config.slurm.partitions import sockets_counted
from emulator.config.slurm.records import GRES
from emulator.config.slurm.roster import Roster, listed
from emulator.config.slurm.settings import Setting, Settings, latest
from slurm_sim_plugins.devices import SHARED, SHARING

T = TypeVar("T")

_cores = partial(indices, what="core")


def read_gres(records: Iterable[Record], roster: Roster, findings: Findings) -> list[GresLine]:
    """The lines that name a resource, in their order."""
    lines = []
    for record in records:
        settings = Settings(GRES, latest(record, findings))
        if "Name" in settings:
            lines.append(_line(settings, roster, findings))
        elif set(settings) - {"AutoDetect", "NodeName"}:
            findings.problem(record[0].location, "a line of gres.conf says which resource it is about: Name=...")
    return lines


def _line(settings: Settings, roster: Roster, findings: Findings) -> GresLine:
    files = _read(settings.get("File"), expand, findings) or []
    several = _read(settings.get("MultipleFiles"), expand, findings) or []
    count = _read(settings.get("Count"), duration.count, findings)
    if files and count is not None and count != len(files) and settings.text("Name") not in SHARED:
        findings.problem(settings["Count"].location, f"Count={count}, but {len(files)} files; leave Count out")
    return GresLine(
        nodes=_nodes(settings, roster, findings),
        name=settings.text("Name"),
        type=settings.text("Type"),
        count=len(files) or 1 if count is None else count,
        files=tuple(files or several),
        cores=tuple(_read(settings.get("Cores"), _cores, findings) or ()),
        flags=settings.words("Flags"),
        settings=settings,
    )


def _read(stated: Setting | None, reader: Callable[[str], T], findings: Findings) -> T | None:
    if stated is None:
        return None
    try:
        return reader(stated.text)
    except ValueError as error:
        findings.problem(stated.location, f"{stated.word.name}: {error}")
        return None


def _nodes(settings: Settings, roster: Roster, findings: Findings) -> tuple[str, ...] | None:
    stated = settings.get("NodeName")
    if stated is None:
        return None
    names = _read(stated, expand, findings) or []
    # One gres.conf may serve several clusters: Slurm passes over nodes that it does not know.
    unknown = [name for name in names if name not in roster]
    if unknown:
        findings.notice(stated.location, f"{listed(unknown)} not in slurm.conf: passed over")
    return roster.in_order(name for name in names if name in roster)


def without_enough(nodes: Sequence[Node], lines: Iterable[GresLine], findings: Findings) -> tuple[Node, ...]:
    """The nodes; those are drained that have fewer devices than their ``NodeName`` line says, as Slurm does.

    More are no harm: jobs get as many as ``slurm.conf`` says.

    Args:
        nodes: all nodes.
        lines: those of ``gres.conf``; a node without a line for a resource has what ``slurm.conf`` says.
        findings: where the notices go.
    """
    there: Counter[tuple[str, str]] = Counter()
    for line in lines:
        for name in [node.name for node in nodes] if line.nodes is None else line.nodes:
            there[name, line.name] += line.count
    short = {node.name: name for node in nodes for name in _lacking(node, there)} if there else {}
    if not short:
        return tuple(nodes)
    by_name = {node.name: node for node in nodes}
    first, name = next(iter(short.items()))
    fewer = f"gres.conf has fewer {name} ({there[first, name]}) than this line"
    findings.notice(
        by_name[first].settings["Gres"].location, f"{listed(list(short))}: {fewer}: Slurm drains such nodes"
    )
    return tuple(replace(node, state="DRAIN") if node.name in short else node for node in nodes)


def _lacking(node: Node, there: Mapping[tuple[str, str], int]) -> Iterator[str]:
    stated: Counter[str] = Counter()
    for gres in node.gres:
        stated[gres.name] += gres.count
    return (name for name, count in stated.items() if there.get((node.name, name), count) < count)


def check_shares(nodes: Iterable[Node], findings: Findings) -> None:
    """Notice nodes that have shares of GPUs, and no GPUs: the shares are counted, as any resource is.

    Args:
        nodes: all nodes.
        findings: where the notices go.
    """
    for node in nodes:
        names = [one.name for one in node.gres]
        if set(names) & set(SHARED) and SHARING not in names:
            text = f"{node.name} has shares ({', '.join(SHARED)}), and no {SHARING}: they are counted on their own"
            findings.notice(node.settings["Gres"].location, text)


def _fits(line: GresLine, node: Node) -> bool:
    """Whether a node has devices of a line's name, which are of its type where both say one."""
    return any(one.name == line.name and ("" in (line.type, one.type) or line.type == one.type) for one in node.gres)


def check_near_cores(
    lines: Sequence[GresLine],
    nodes: Sequence[Node],
    partitions: Sequence[Partition],
    parameters: Settings,
    findings: Findings,
) -> None:
    """Notice where ``Cores=`` has other effects or none, as cores are not given out one by one, and unknown cores.

    Args:
        lines: those of ``gres.conf``.
        nodes: all nodes.
        partitions: all partitions.
        parameters: of ``slurm.conf``.
        findings: where the notice goes.
    """
    for line in lines:
        those = [node for node in nodes if line.cores and (line.nodes is None or node.name in line.nodes)]
        there = [node for node in those if any(one.name == line.name for one in node.gres)]
        few = [node.name for node in there if max(line.cores) >= node.sockets * node.cores_per_socket]
        others = [node.name for node in there if not _fits(line, node)]
        if others:
            text = f"{listed(others)}: no {line.name} of Type={line.type} in slurm.conf: Cores has no effect"
            findings.notice(line.settings["Cores"].location, text)
        if few:
            text = f"{listed(few)}: no core {max(line.cores)}; cores are counted from 0, and not by thread"
            findings.notice(line.settings["Cores"].location, text)
    stated = next((line.settings["Cores"] for line in lines if line.cores), None)
    if stated is not None and parameters.text("SelectType").lower() == "select/linear":
        text = "select/linear gives a job no node with cores that are near none of the devices that it wants"
        findings.notice(stated.location, text)
        return
    why = {
        "cores are not counted": "CR_MEMORY" in (word.upper() for word in parameters.words("SelectTypeParameters")),
        "sockets are counted, and bounded or shared": sockets_counted(parameters, partitions)
        and ("GANG" in map(str.upper, parameters.words("PreemptMode")) or any(map(_bounds_or_shares, partitions))),
        "jobs share GPUs": any(one.name in SHARED for node in nodes for one in node.gres),
    }
    reason = next((reason for reason, holds in why.items() if holds), "")
    if stated is not None and reason:
        findings.notice(stated.location, f"Cores has no effect: {reason}")


def _bounds_or_shares(partition: Partition) -> bool:
    """Whether a partition bounds the CPUs of a socket, or its jobs may share them."""
    return partition.max_cpus_per_socket is not None or partition.oversubscribe in ("FORCE", "YES")


def check_gres_types(
    types: Sequence[str], nodes: Iterable[Node], lines: Iterable[GresLine], findings: Findings
) -> None:
    """Notice resources that ``GresTypes`` does not name: Slurm does not manage them.

    Args:
        types: what ``GresTypes`` names.
        nodes: all nodes.
        lines: those of ``gres.conf``.
        findings: where the notices go.
    """
    on_nodes = ((gres.name, node.settings["Gres"].location) for node in nodes for gres in node.gres)
    in_file = ((line.name, line.settings["Name"].location) for line in lines)
    first: dict[str, Location] = {}
    for name, location in itertools.chain(on_nodes, in_file):
        first.setdefault(name, location)
    for name, location in first.items():
        if name not in types:
            findings.notice(location, f"{name!r} is not in GresTypes: Slurm does not manage it")
