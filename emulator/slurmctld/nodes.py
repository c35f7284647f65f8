"""The machine: what each node has, and what of it is free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from emulator.config.slurm.model import Node, Partition, SlurmConf

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Gres = tuple[str, str]
"""(name, type) of a generic resource; without a name, units that the jobs of a partition may have, with its name."""


NO_GRES: Mapping[Gres, tuple[int, ...]] = {}
"""Of a job that has none; never to be changed."""


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
    gres: Mapping[Gres, tuple[int, ...]] = field(default_factory=lambda: NO_GRES)
    whole: bool = False

    def mask(self, count: int) -> Mask:
        """Its nodes among ``count``."""
        mask = np.zeros(count, dtype=bool)
        mask[list(self.nodes)] = True
        return mask


def compact(values: Sequence[int]) -> tuple[int, ...]:
    """Numbers as a tuple: if all are equal, one that allocations share, for a log of months has millions of them."""
    first = values[0] if values else 0
    return _equal(first, len(values)) if values.count(first) == len(values) else tuple(values)


@lru_cache(maxsize=512)
def _equal(value: int, count: int) -> tuple[int, ...]:
    return (value,) * count


class Machine:
    """The nodes of a cluster, as columns in the order of the configuration.

    What can be given to jobs are *units*: sockets where these are counted, cores where a node
    has several threads a core, else CPUs. What is kept for the system is left out.

    Attributes:
        names: of the nodes.
        index: index by name.
        numbers: all indices, for allocations to share: a log of months has millions of nodes in them.
        units, memory: of each node.
        threads: CPUs of a unit.
        cores: cores of a unit.
        weight: low ones are taken first.
        weights: all weights, ascending.
        gres: count of each kind on each node.
        shared: whether any number of jobs may have the same units, for only memory is counted.
        pools: partitions whose jobs may have only so many units of a node together.
        features: of each node.
        up: whether a node takes new jobs.
    """

    def __init__(self, conf: SlurmConf) -> None:
        nodes = conf.nodes
        self.names = [node.name for node in nodes]
        self.index = {name: place for place, name in enumerate(self.names)}
        self.numbers: NDArray[np.object_] = np.arange(len(nodes)).astype(object)
        counted = {word.upper() for word in conf.parameters.words("SelectTypeParameters")}
        sockets = any("SOCKET" in word for word in counted)
        self.shared = "CR_MEMORY" in counted
        self.threads: Ints = np.array([_threads(node, sockets) for node in nodes], dtype=np.int64)
        self.cores: Ints = np.array([node.cores_per_socket if sockets else 1 for node in nodes], dtype=np.int64)
        kept = [node.system_cores * node.threads_per_core for node in nodes]
        self.cpus: Ints = np.array([node.cpus for node in nodes], dtype=np.int64) - np.array(kept, dtype=np.int64)
        self.units: Ints = np.maximum(self.cpus // self.threads, 1)
        self.memory: Ints = np.array([node.real_memory - node.system_memory for node in nodes], dtype=np.int64)
        self.weight: Ints = np.array([node.weight for node in nodes], dtype=np.int64)
        self.weights: Ints = np.unique(self.weight)
        self.features = [frozenset(node.features) for node in nodes]
        self.gres: dict[Gres, Ints] = {}
        for place, node in enumerate(nodes):
            for gres in node.gres:
                counts = self.gres.setdefault((gres.name, gres.type), np.zeros(len(nodes), dtype=np.int64))
                counts[place] += gres.count
        self.pools = [partition.name for partition in conf.partitions if _bounded(partition)]
        for partition in conf.partitions:
            if _bounded(partition):
                self.gres["", partition.name] = self._pool(partition, conf.nodes)
        self.up: Mask = np.array([_takes_jobs(node.state) for node in nodes], dtype=bool)

    def __len__(self) -> int:
        return len(self.names)

    def _pool(self, partition: Partition, nodes: Sequence[Node]) -> Ints:
        """Units of each node that the jobs of a partition may have together."""
        most = np.zeros(len(self), dtype=np.int64)
        for name in partition.nodes:
            node, place = nodes[self.index[name]], self.index[name]
            bounds = [node.cpus]
            if partition.max_cpus_per_node is not None:
                bounds.append(partition.max_cpus_per_node)
            if partition.max_cpus_per_socket is not None:
                bounds.append(partition.max_cpus_per_socket * node.sockets)
            most[place] = min(bounds) // self.threads[place]
        return most

    def mask_of(self, names: Sequence[str]) -> Mask:
        """Which nodes are named."""
        mask = np.zeros(len(self), dtype=bool)
        mask[[self.index[name] for name in names]] = True
        return mask

    def free(self) -> Free:
        """All of it free."""
        return Free.of(
            np.array([self.units, self.memory, np.zeros_like(self.units), *self.gres.values()]),
            tuple(self.gres),
            self.shared,
        )


def _bounded(partition: Partition) -> bool:
    return partition.max_cpus_per_node is not None or partition.max_cpus_per_socket is not None


def _threads(node: Node, sockets: bool) -> int:
    if sockets:
        return max(node.cpus // node.sockets, 1)
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
        shared: whether units are not counted: any number of jobs may have them.
    """

    units: Ints
    memory: Ints
    gres: dict[Gres, Ints]
    jobs: Ints
    table: Ints
    shared: bool = False

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

    def _change(self, allocation: Allocation, sign: int) -> None:
        nodes = list(allocation.nodes)
        if not self.shared:
            self.units[nodes] += sign * np.array(allocation.units, dtype=np.int64)
        self.memory[nodes] += sign * np.array(allocation.memory, dtype=np.int64)
        for kind, counts in allocation.gres.items():
            self.gres[kind][nodes] += sign * np.array(counts, dtype=np.int64)
        self.jobs[nodes] -= sign
