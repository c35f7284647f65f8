"""Trackable resources (TRES): what jobs are billed for and limits are about, as vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from emulator.config.slurm.model import SlurmConf
from emulator.state.demand import Demand
from emulator.state.partition import Partition
from emulator.workload.sbatch import BatchOptions
from slurm_sim_plugins.nodes import Allocation, Machine, Mask, Want

CPU, MEMORY, NODE, BILLING = range(4)
"""Indices of the resources that there always are."""
ALWAYS = ("cpu", "mem", "node", "billing")
ON_NODES = (CPU, MEMORY)
"""Of these and of generic resources ``MAX_TRES`` bills only the largest."""

Vector = list[float]
"""An amount of each resource; memory in mebibytes."""


class LicenseIndex(int):
    """The index of a licence, whose limits have words of their own."""


class Tres:
    """The resources that a cluster counts.

    Args:
        conf: the configuration; ``AccountingStorageTRES`` names further resources.
        limited: resources that limits name; they are counted too.

    Attributes:
        names: in their order.
        index: index by name.
    """

    def __init__(self, conf: SlurmConf, limited: Iterable[str] = ()) -> None:
        stated = [name.lower() for name in conf.parameters.words("AccountingStorageTRES")]
        self.names: Sequence[str] = tuple(dict.fromkeys([*ALWAYS, *stated, *limited]))
        self.index: Mapping[str, int] = {
            name: LicenseIndex(index) if name.startswith("license/") else index for index, name in enumerate(self.names)
        }
        self._gres = [
            (index, *name.removeprefix("gres/").partition(":")[::2])
            for index, name in enumerate(self.names)
            if name.startswith("gres/")
        ]
        self._licenses = [
            (index, name.removeprefix("license/"))
            for index, name in enumerate(self.names)
            if name.startswith("license/")
        ]
        flags = {flag.upper() for flag in conf.parameters.words("PriorityFlags")}
        self._largest = bool(flags & {"MAX_TRES", "MAX_TRES_GRES"})
        self._gres_added = "MAX_TRES_GRES" in flags
        self._weights: dict[str, list[tuple[int, float]]] = {}

    def wanted(
        self,
        want: Want,
        options: BatchOptions,
        partition: Partition,
        machine: Machine,
        managed: bool,
        cpus: float = 0,
        nodes: int = 0,
    ) -> Vector:
        """What a job asks for before it is placed, with what it needs there; memory only where it is managed.

        Once nodes were found for it, it counts with the CPUs that it would have had there; with ``nodes`` it counts
        with so many of them.
        """
        nodes = max(nodes, want.min_nodes)
        amounts = [0.0] * len(self.names)
        amounts[CPU] = cpus or float(max(options.tasks_on(want.min_nodes) * want.cpus_per_task, want.min_nodes))
        amounts[NODE] = float(nodes)
        if managed:
            amounts[MEMORY] = want.memory_per_node * nodes + want.memory_per_cpu * amounts[CPU]
            amounts[MEMORY] += want.memory_per_gpu * options.gpus_on(nodes)
        for index, kind, type_ in self._gres:
            for gres, per in ((want.gres, nodes), (want.gres_total, 1)):
                amounts[index] += per * sum(
                    count for name, stated, count in gres if name == kind and type_ in ("", stated)
                )
            of_task = sum(one.count for one in options.of_tasks if one.name == kind and type_ in ("", one.type))
            amounts[index] = max(amounts[index], of_task * options.tasks_on(want.min_nodes))
        self._add_licenses(amounts, options)
        amounts[BILLING] = self.bill(amounts, partition)
        return amounts

    def stated(
        self, want: Want, options: BatchOptions, partition: Partition, machine: Machine, demand: Demand
    ) -> Vector:
        """What a submission asks for: with no memory stated, all that the first node of its partition has, on each.

        Asked of three versions.
        """
        amounts, nodes = self.wanted(want, options, partition, machine, managed=False), want.min_nodes
        if demand.whole_memory:
            amounts[MEMORY] = float(machine.memory[partition.nodes.argmax()]) * nodes
        else:
            amounts[MEMORY] = demand.on_node * nodes + demand.per_cpu * amounts[CPU]
            amounts[MEMORY] += demand.per_gpu * options.gpus_on(nodes)
        amounts[BILLING] = self.bill(amounts, partition)
        return amounts

    def allocated(
        self, options: BatchOptions, allocation: Allocation, partition: Partition, machine: Machine
    ) -> Vector:
        """What a job has."""
        amounts = [0.0] * len(self.names)
        amounts[CPU] = float(machine.cpus_of(allocation))
        amounts[MEMORY] = float(sum(allocation.memory))
        amounts[NODE] = float(len(allocation.nodes))
        for index, kind, type_ in self._gres:
            amounts[index] = float(
                sum(
                    sum(counts)
                    for (name, has), counts in allocation.gres.items()
                    if name == kind and type_ in ("", has)
                )
            )
        self._add_licenses(amounts, options)
        amounts[BILLING] = self.bill(amounts, partition)
        return amounts

    def with_gres(self, amounts: Vector, asked: Vector, partition: Partition) -> Vector:
        """Amounts with generic resources as they are asked for."""
        found = list(amounts)
        for index, *_ in self._gres:
            found[index] = asked[index]
        found[BILLING] = self.bill(found, partition)
        return found

    def without_chance_types(self, amounts: Vector, want: Want, options: BatchOptions) -> Vector:
        """Amounts without those generic resources of a type that a job did not ask for, but would happen to get.

        A limit of ``gres/gpu:a`` is held against ``--gpus=a:2`` alone, though ``--gpus=2`` counts as what it got once
        it runs (recorded). A job of whole nodes has all of theirs.
        """
        if want.whole or not any(type_ for _, _, type_ in self._gres):
            return amounts
        named = {(name, type_) for name, type_, _ in (*want.gres, *want.gres_total)}
        named |= {(one.name, one.type) for one in options.of_tasks}
        found = list(amounts)
        for index, kind, type_ in self._gres:
            if type_ and (kind, type_) not in named:
                found[index] = 0.0
        return found

    def of_nodes(self, nodes: Mask, machine: Machine) -> Vector:
        """What some nodes have in all; CPUs are what they bill."""
        amounts = [0.0] * len(self.names)
        amounts[CPU] = amounts[BILLING] = float(machine.cpus[nodes].sum())
        amounts[MEMORY], amounts[NODE] = float(machine.memory[nodes].sum()), float(nodes.sum())
        for index, kind, type_ in self._gres:
            amounts[index] = sum(
                float(counts[nodes].sum())
                for (name, stated), counts in machine.gres.items()
                if name == kind and type_ in ("", stated)
            )
        return amounts

    def _add_licenses(self, amounts: Vector, options: BatchOptions) -> None:
        for index, name in self._licenses:
            amounts[index] = float(sum(count for has, count in options.licenses if has == name))

    def bill(self, amounts: Vector, partition: Partition) -> float:
        """What a partition bills: the weighted sum, or the largest with ``MAX_TRES``; CPUs if it states no weights."""
        weights = self._weights.get(partition.name)
        if weights is None:
            stated = partition.billing or {"cpu": 1.0}
            weights = [(self.index[name], weight) for name, weight in stated.items() if name in self.index]
            self._weights[partition.name] = weights
        if not self._largest:
            return sum(amounts[index] * weight for index, weight in weights)
        gres = {index for index, *_ in self._gres}
        single = set(ON_NODES) if self._gres_added else {*ON_NODES, *gres}
        largest = max((amounts[index] * weight for index, weight in weights if index in single), default=0.0)
        return largest + sum(amounts[index] * weight for index, weight in weights if index not in single)
