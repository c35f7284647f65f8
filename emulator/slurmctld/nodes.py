"""The machine: what each node has, and what of it is free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from emulator.config.slurm.model import Node, SlurmConf

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Gres = tuple[str, str]
"""(name, type) of a generic resource."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """What a job has of the machine.

    Attributes:
        nodes: indices, ascending.
        units: cores (or CPUs, where threads do not count) on each.
        memory: mebibytes on each.
        gres: count of each kind, on each.
        whole: whether it has the nodes for itself.
    """

    nodes: tuple[int, ...]
    units: tuple[int, ...]
    memory: tuple[int, ...]
    gres: Mapping[Gres, tuple[int, ...]] = field(default_factory=dict)
    whole: bool = False

    def mask(self, count: int) -> Mask:
        """Its nodes among ``count``."""
        mask = np.zeros(count, dtype=bool)
        mask[list(self.nodes)] = True
        return mask


class Machine:
    """The nodes of a cluster, as columns in the order of the configuration.

    What can be given to jobs are *units*: cores where a node has several threads a core,
    else CPUs.

    Attributes:
        names: of the nodes.
        index: index by name.
        numbers: all indices, for allocations to share: a log of months has millions of nodes in them.
        units, memory: of each node.
        threads: CPUs of a unit.
        weight: low ones are taken first.
        weights: all weights, ascending.
        gres: count of each kind on each node.
        features: of each node.
        up: whether a node takes new jobs.
    """

    def __init__(self, conf: SlurmConf) -> None:
        nodes = conf.nodes
        self.names = [node.name for node in nodes]
        self.index = {name: place for place, name in enumerate(self.names)}
        self.numbers: NDArray[np.object_] = np.arange(len(nodes)).astype(object)
        self.threads: Ints = np.array([_threads(node) for node in nodes], dtype=np.int64)
        self.cpus: Ints = np.array([node.cpus for node in nodes], dtype=np.int64)
        self.units: Ints = np.maximum(self.cpus // self.threads, 1)
        self.memory: Ints = np.array([node.real_memory for node in nodes], dtype=np.int64)
        self.weight: Ints = np.array([node.weight for node in nodes], dtype=np.int64)
        self.weights: Ints = np.unique(self.weight)
        self.features = [frozenset(node.features) for node in nodes]
        self.gres: dict[Gres, Ints] = {}
        for place, node in enumerate(nodes):
            for gres in node.gres:
                counts = self.gres.setdefault((gres.name, gres.type), np.zeros(len(nodes), dtype=np.int64))
                counts[place] += gres.count
        self.up: Mask = np.array([_takes_jobs(node.state) for node in nodes], dtype=bool)

    def __len__(self) -> int:
        return len(self.names)

    def mask_of(self, names: Sequence[str]) -> Mask:
        """Which nodes are named."""
        mask = np.zeros(len(self), dtype=bool)
        mask[[self.index[name] for name in names]] = True
        return mask

    def free(self) -> Free:
        """All of it free."""
        return Free.of(
            np.array([self.units, self.memory, np.zeros_like(self.units), *self.gres.values()]), tuple(self.gres)
        )


def _threads(node: Node) -> int:
    stated = {setting.lower() for setting in node.settings}
    return node.threads_per_core if stated & {"corespersocket", "sockets", "socketsperboard"} else 1


def _takes_jobs(state: str) -> bool:
    return not any(word in state.upper() for word in ("DOWN", "DRAIN", "FAIL", "FUTURE"))


@dataclass(slots=True)
class Free:
    """What is free on each node.

    Attributes:
        units, memory: of each node.
        gres: count of each kind.
        jobs: how many jobs are on each node.
        table: all that as rows: units, memory, jobs, then the kinds.
    """

    units: Ints
    memory: Ints
    gres: dict[Gres, Ints]
    jobs: Ints
    table: Ints

    @classmethod
    def of(cls, table: Ints, kinds: Sequence[Gres]) -> Free:
        """What the rows of a table say; changes of one are changes of the other."""
        return cls(table[0], table[1], dict(zip(kinds, table[3:], strict=True)), table[2], table)

    def copy(self) -> Free:
        """A copy that can be changed."""
        return Free.of(self.table.copy(), tuple(self.gres))

    def take(self, allocation: Allocation) -> None:
        """A job comes."""
        self._change(allocation, -1)

    def release(self, allocation: Allocation) -> None:
        """A job goes."""
        self._change(allocation, 1)

    def _change(self, allocation: Allocation, sign: int) -> None:
        nodes = list(allocation.nodes)
        self.units[nodes] += sign * np.array(allocation.units, dtype=np.int64)
        self.memory[nodes] += sign * np.array(allocation.memory, dtype=np.int64)
        for kind, counts in allocation.gres.items():
            self.gres[kind][nodes] += sign * np.array(counts, dtype=np.int64)
        self.jobs[nodes] -= sign
