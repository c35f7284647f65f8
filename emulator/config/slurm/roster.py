"""The nodes of a machine, found by the expressions that name them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from emulator.config.slurm.hostlist import MOST_NAMES, expand, split
from emulator.config.slurm.location import Findings, Location
from emulator.config.slurm.model import Node, NodeSet
from slurm_sim_plugins.errors import meant

_FEATURE = re.compile(r"feature\{([^{}]*)\}", re.IGNORECASE)
_SHOWN = 3


class Roster:
    """The names of a machine's nodes, in its order.

    Attributes:
        weights: that the nodes have.

    Args:
        nodes: the nodes.
        findings: where unknown names go, as problems.
    """

    def __init__(self, nodes: Sequence[Node], findings: Findings) -> None:
        self._names = tuple(node.name for node in nodes)
        self._order = {name: position for position, name in enumerate(self._names)}
        self._findings = findings
        self.weights = {node.weight for node in nodes}
        self._sets: dict[str, tuple[str, ...]] = {}
        self._features: dict[str, list[str]] = {}
        for node in nodes:
            for feature in node.features:
                self._features.setdefault(feature, []).append(node.name)

    def __contains__(self, name: str) -> bool:
        return name in self._order

    def __len__(self) -> int:
        return len(self._names)

    def add_set(self, node_set: NodeSet) -> None:
        """Make a node set known by its name."""
        self._sets[node_set.name] = node_set.nodes

    def has_set(self, name: str) -> bool:
        """Whether a node set of that name is known."""
        return name in self._sets

    def with_feature(self, feature: str) -> Sequence[str]:
        """The nodes with a feature."""
        return self._features.get(feature, ())

    def in_order(self, names: Iterable[str]) -> tuple[str, ...]:
        """Known names, each once, in the order of the machine."""
        return tuple(sorted(set(names), key=self._order.__getitem__))

    def find(self, expression: str, location: Location) -> tuple[str, ...]:
        """The nodes of an expression of nodes, node sets, ``feature{...}`` and ``ALL``, in the order of the machine."""
        if expression.upper() == "ALL":
            return self._names
        found: list[str] = []
        unknown: list[str] = []
        try:
            for item in split(expression):
                names = self._of(item, MOST_NAMES - len(found) - len(unknown))
                found += [name for name in names if name in self._order]
                unknown += [name for name in names if name not in self._order]
        except ValueError as error:
            self._findings.problem(location, str(error))
        if unknown:
            guess = meant(unknown[0], [*self._names, *self._sets])
            self._findings.problem(location, f"there is no node or node set {listed(unknown)}{guess}")
        return self.in_order(found)

    def _of(self, item: str, most: int) -> Sequence[str]:
        if item.upper() == "ALL":
            return self._names
        if item in self._sets:
            return self._sets[item]
        feature = _FEATURE.fullmatch(item)
        return self.with_feature(feature.group(1)) if feature is not None else expand(item, most)


def listed(names: Sequence[str]) -> str:
    """The first few names."""
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
