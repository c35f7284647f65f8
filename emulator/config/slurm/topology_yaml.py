"""``topology.yaml``: topologies, of which one is the cluster's, as lines of ``topology.conf`` would say them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import yaml

from emulator.config.slurm.lines import Pair, Pairs
from emulator.config.slurm.location import Findings, Location
from emulator.config.slurm.topology import BLOCK, FLAT, TOPOLOGY_YAML, TREE
from slurm_sim_plugins.errors import meant

ABOUT = ("topology", "cluster_default")
KINDS = {"tree": TREE, "block": BLOCK, "flat": FLAT}
OTHERS = ("ring", "torus3d")
"""Kinds that Slurm has and the emulator has not."""


class Section(NamedTuple):
    """A topology of the file.

    Attributes:
        name: by which partitions name it.
        plugin: that reads its lines.
        lines: as in ``topology.conf``.
    """

    name: str
    plugin: str
    lines: list[Pairs]


def read_topology_yaml(content: bytes, findings: Findings, file: str = TOPOLOGY_YAML) -> list[Section]:
    """The topologies, that of the cluster first.

    Args:
        content: the file.
        findings: where problems and notices go.
        file: its name.
    """
    try:
        document = yaml.compose(content, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        findings.problem(Location(file, mark.line + 1 if mark else 1), f"is not YAML: {problem}")
        return []
    return _Reader(file, findings).read(document)


class _Reader:
    """One reading."""

    def __init__(self, file: str, findings: Findings) -> None:
        self._file = file
        self._findings = findings

    def read(self, document: yaml.Node | None) -> list[Section]:
        """The topologies; the first is the cluster's if none is said to be."""
        fields = [self._fields(item, (*ABOUT, *KINDS, *OTHERS)) for item in self._items(document)]
        if isinstance(document, yaml.SequenceNode) and not fields:
            self._problem(document, "there is no topology in it")
        fields.sort(key=lambda one: not _is_true(one.get("cluster_default")))
        return [self._section(one) for one in fields]

    def _section(self, fields: dict[str, Any]) -> Section:
        name = fields.get("topology")
        if not isinstance(name, yaml.ScalarNode) or not name.value:
            self._problem(name, "a topology needs a name: topology: NAME")
            return Section("", FLAT, [])
        kind = next((each for each in (*KINDS, *OTHERS) if each in fields), "")
        if kind in KINDS:
            return Section(str(name.value), KINDS[kind], list(self._lines(kind, fields[kind])))
        if kind:
            self._notice(fields[kind], f"{kind} is not emulated: nodes are taken as if all were on one switch")
        else:
            self._problem(name, f"a topology is one of {', '.join(KINDS)}")
        return Section(str(name.value), FLAT, [])

    def _lines(self, kind: str, node: yaml.Node) -> Iterator[Pairs]:
        if kind == "tree":
            for switch in self._items(self._fields(node, ("switches",)).get("switches")):
                yield self._line(switch, {"switch": "SwitchName", "children": "Switches", "nodes": "Nodes"})
        elif kind == "block":
            fields = self._fields(node, ("blocks", "block_sizes"))
            for block in self._items(fields.get("blocks")):
                yield self._line(block, {"block": "BlockName", "nodes": "Nodes"})
            if "block_sizes" in fields:
                sizes = [str(size.value) for size in self._items(fields["block_sizes"])]
                yield (Pair("BlockSizes", ",".join(sizes), self._location(fields["block_sizes"])),)

    def _line(self, node: yaml.Node, keys: Mapping[str, str]) -> Pairs:
        fields = self._fields(node, tuple(keys))
        for key, value in fields.items():
            if not isinstance(value, yaml.ScalarNode):
                self._problem(value, f"{key} is a text")
        return tuple(
            Pair(keys[key], str(value.value), self._location(value))
            for key, value in sorted(fields.items(), key=lambda field: list(keys).index(field[0]))
            if isinstance(value, yaml.ScalarNode)
        )

    def _items(self, node: Any) -> list[Any]:
        if isinstance(node, yaml.SequenceNode):
            return list(node.value)
        self._problem(node, "is no list")
        return []

    def _fields(self, node: Any, known: tuple[str, ...]) -> dict[str, Any]:
        if not isinstance(node, yaml.MappingNode):
            self._problem(node, "is no mapping")
            return {}
        found = {}
        for key, value in node.value:
            name = str(key.value)
            if name in known:
                found[name] = value
            else:
                self._problem(key, f"there is no key {name!r}{meant(name, known)}; known are {', '.join(known)}")
        return found

    def _location(self, node: Any) -> Location:
        return Location(self._file, node.start_mark.line + 1 if isinstance(node, yaml.Node) else 1)

    def _problem(self, node: Any, text: str) -> None:
        self._findings.problem(self._location(node), text)

    def _notice(self, node: Any, text: str) -> None:
        self._findings.notice(self._location(node), text)


def _is_true(node: Any) -> bool:
    return isinstance(node, yaml.ScalarNode) and str(node.value).lower() in ("true", "yes", "on")
