"""The machine that a ``slurm.conf`` describes."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Protocol

import numpy as np

from emulator.config.slurm.model import Node, Partition, SlurmConf, Topology
from emulator.config.slurm.partitions import of_whole_sockets, sockets_counted
from emulator.config.slurm.topology import BLOCK, TREE
from emulator.state.near_gres import binding_of, has_near_cores
from emulator.state.shared_gres import devices_of
from slurm_sim_plugins.nodes import Gres, Ints, Machine
from slurm_sim_plugins.sockets import Sockets, columns, with_system_cores
from slurm_sim_plugins.topology.block import Blocks
from slurm_sim_plugins.topology.tree import Tree

MARK = "+"
"""What marks begin with: resources without a name that each job of a kind has one of, on each of its nodes."""
ALONE = MARK
"""The mark of jobs that share with no others."""
MANY = 1_000_000
"""More jobs than a node has."""


class _Shared(Protocol):
    @property
    def oversubscribe(self) -> str: ...

    @property
    def oversubscribe_jobs(self) -> int: ...


def with_sorted_nodes(conf: SlurmConf) -> SlurmConf:
    """A configuration with its nodes by name, as Slurm has them wherever the file names them: ``n9`` before ``n10``.

    Recorded on 22.05, 24.11 and 26.05.
    """
    return replace(conf, nodes=tuple(sorted(conf.nodes, key=lambda node: _by_name(node.name))))


def _by_name(name: str) -> list[tuple[int, int]]:
    """A key by which numbers in names are compared as numbers, and other characters by their codes."""
    parts = re.split(r"([0-9]+)", name)
    return [
        key
        for place, part in enumerate(parts)
        for key in ([(ord("0"), int(part))] if place % 2 else [(ord(letter), 0) for letter in part])
    ]


def machine_of(
    conf: SlurmConf, by_socket: bool = False, in_file: Sequence[Node] = (), bounded_later: Collection[str] = ()
) -> Machine:
    """The nodes of a configuration, with what jobs can have of them.

    Args:
        conf: the configuration.
        by_socket: whether any job asks for something by socket.
        in_file: its nodes in the order of the file, if they are in another one.
        bounded_later: partitions of which a command bounds the CPUs of each node.
    """
    nodes = conf.nodes
    counted = {word.upper() for word in conf.parameters.words("SelectTypeParameters")}
    of_whole = of_whole_sockets(conf.partitions, conf.parameters)
    if of_whole and _each_socket(conf, False) is None:
        of_whole = frozenset()
    sockets = _by_sockets(conf) if not of_whole else [False] * len(nodes)
    threads = _column([_threads(node, each) for node, each in zip(nodes, sockets, strict=True)])
    linear = conf.parameters.text("SelectType").lower() == "select/linear"
    # select/linear gives all CPUs of a node, also those that are kept for the system.
    kept = _column([0 if linear else node.system_cores * node.cpus_of_core for node in nodes])
    cpus = _column([node.cpus for node in nodes]) - kept
    later = {*of_whole, *bounded_later}
    bounded = [partition for partition in conf.partitions if _bounded(partition) or partition.name in later]
    gres = _gres(nodes)
    index = {node.name: number for number, node in enumerate(nodes)}
    of_sockets = {one.name: one.max_cpus_per_socket for one in bounded if one.max_cpus_per_socket is not None}
    of_sockets = dict.fromkeys(of_whole, MANY) | of_sockets
    devices = devices_of(conf)
    near = devices is None and has_near_cores(conf)
    by_socket = by_socket or bool(of_sockets) or near or _sharing_goes_by_core(conf)
    if any(sockets):
        # Whole sockets are counted: which of them a job has matters for the devices near them alone.
        by_socket = near and all(sockets) and not of_sockets and not _sharing_goes_by_core(conf)
    each_socket = _each_socket(conf, any(sockets)) if by_socket else None
    if each_socket is not None:
        for name in of_sockets:
            gres.update(zip(each_socket.of_pool(name), each_socket.cores.copy(), strict=True))
    most = {partition.name: _most_cpus(partition, nodes, index, each_socket is None) for partition in bounded}
    gres.update({("", name): -(-many // threads) for name, many in most.items()})
    beyond = {name: -many % threads for name, many in most.items()}
    gres.update({("", mark): np.full(len(nodes), MANY, dtype=np.int64) for mark in _marks(conf.partitions)})
    binding = None if each_socket is None or devices is not None else binding_of(conf)
    for rows in (each_socket, devices, binding):
        gres.update(rows.rows() if rows is not None else {})
    return Machine(
        names=[node.name for node in nodes],
        units=np.maximum(cpus // threads, 1),
        memory=_column([node.real_memory - node.system_memory for node in nodes]),
        cpus=cpus,
        threads=threads,
        cores=_column([node.cores_per_socket if each else 1 for node, each in zip(nodes, sockets, strict=True)]),
        weight=_column([node.weight for node in nodes]),
        up=np.array([takes_jobs(node.state) for node in nodes], dtype=bool),
        features=[frozenset(node.features) for node in nodes],
        gres=gres,
        devices=devices,
        by_socket=each_socket,
        binding=binding,
        no_consume=frozenset((one.name, one.type) for node in nodes for one in node.gres if not one.consumed),
        pools=[partition.name for partition in bounded],
        pools_of_cores=frozenset() if each_socket is not None else frozenset(of_sockets),
        pools_of_sockets=frozenset() if each_socket is not None else _of_sockets_alone(bounded) - later,
        pool_sockets=of_sockets if each_socket is not None else {},
        of_whole_sockets=of_whole,
        pool_excess={name: excess for name, excess in beyond.items() if excess.any()},
        shared="CR_MEMORY" in counted and not linear,
        sockets=_column([node.sockets for node in nodes]),
        kept=kept,
        kept_memory=_column([node.system_memory for node in nodes]),
        in_file=_in_file(nodes, in_file or nodes),
        kinds=_kinds(nodes, in_file or nodes),
        tree=_wiring(conf.topology, conf, index),
        named={one.name: _wiring(one, conf, index) for one in conf.named_topologies},
    )


def _each_socket(conf: SlurmConf, whole: bool) -> Sockets | None:
    """The cores of each socket; None where cores are not counted, or are given thread by thread.

    And where no socket has more than one, so that sockets with free cores are as many as cores are free.

    Args:
        conf: the configuration.
        whole: whether sockets are counted.
    """
    parameters = conf.parameters
    if "CR_MEMORY" in {word.upper() for word in parameters.words("SelectTypeParameters")}:
        return None
    if any(_threads(node, False) < node.cpus_of_core for node in conf.nodes):
        return None
    if parameters.text("SelectType").lower() == "select/linear":
        return None
    sockets = Sockets(columns(with_system_cores(*_sockets_of(node)) for node in conf.nodes), whole)
    return sockets if (sockets.cores > 1).any() else None


def _sharing_goes_by_core(conf: SlurmConf) -> bool:
    """Whether it matters which cores of a node a job has, as others may have the same: so it does of which sockets."""
    gang = any(word.upper() == "GANG" for word in conf.parameters.words("PreemptMode"))
    return (gang or share_cores(conf.partitions)) and any(node.sockets > 1 for node in conf.nodes)


def share_cores(partitions: Sequence[Partition]) -> bool:
    """Whether several jobs may have the same cores: of one partition, or of two in which jobs have to share."""
    forced = [set(one.nodes) for one in partitions if one.oversubscribe == "FORCE"]
    return any(map(has_rows, partitions)) or any(one & other for one, other in combinations(forced, 2))


def _sockets_of(node: Node) -> tuple[int, int, int]:
    """Sockets of a node, cores of each (or CPUs, where threads do not count), and how many are kept for the system."""
    threads = _threads(node, False)
    return (
        node.sockets,
        max(node.cpus // threads // node.sockets, 1),
        node.system_cores * node.cpus_of_core // threads,
    )


def _by_sockets(conf: SlurmConf) -> list[bool]:
    """Whether sockets are counted on each node."""
    of: dict[str, list[int]] = {node.name: [] for node in conf.nodes}
    for number, partition in enumerate(conf.partitions):
        for name in partition.nodes:
            of[name].append(number)

    @cache
    def counted(numbers: tuple[int, ...]) -> bool:
        return sockets_counted(conf.parameters, [conf.partitions[number] for number in numbers])

    return [counted(tuple(numbers)) for numbers in of.values()]


def _wiring(topology: Topology, conf: SlurmConf, index: Mapping[str, int]) -> Tree | Blocks | None:
    """The switches or blocks; None if any nodes are as good as others."""
    plugin = topology.plugin
    switches = [switch for switch in topology.switches if switch.block == (plugin == BLOCK)]
    if plugin not in (TREE, BLOCK) or not any(switch.nodes for switch in switches):
        return None
    numbers = {switch.name: number for number, switch in enumerate(switches)}
    below = np.zeros((len(switches), len(index)), dtype=bool)
    for number, switch in enumerate(switches):
        below[number, [index[name] for name in switch.nodes]] = True
    names = [switch.name for switch in switches]
    if plugin == BLOCK:
        return Blocks(names, below, topology.block_sizes)
    return Tree.of(
        names,
        [[numbers[name] for name in switch.switches] for switch in switches],
        below,
        by_cpus=conf.rules.SWITCHES_BY_CPUS,
        optional=conf.parameters.flag("TopologyParam.TopoOptional"),
    )


def _column(values: Sequence[float]) -> Ints:
    return np.array(values, dtype=np.int64)


def _in_file(nodes: Sequence[Node], in_file: Sequence[Node]) -> Ints:
    """Where the file names each node, among all of them."""
    places = {node.name: place for place, node in enumerate(in_file)}
    return _column([places[node.name] for node in nodes])


def _kinds(nodes: Sequence[Node], in_file: Sequence[Node]) -> Ints:
    """Of what kind each node is: nodes of which the file says the same are of one; they go in its order."""
    known: dict[Node, int] = {}
    for node in in_file:
        known.setdefault(replace(node, name="", state=""), len(known))
    return _column([known[replace(node, name="", state="")] for node in nodes])


def _gres(nodes: Sequence[Node]) -> dict[Gres, Ints]:
    """Count of each kind on each node."""
    found: dict[Gres, Ints] = {}
    for index, node in enumerate(nodes):
        for gres in node.gres:
            found.setdefault((gres.name, gres.type), np.zeros(len(nodes), dtype=np.int64))[index] += gres.count
    return found


def _most_cpus(partition: Partition, nodes: Sequence[Node], index: Mapping[str, int], by_sockets: bool) -> Ints:
    """CPUs of each node that the jobs of a partition may have together.

    Args:
        partition: the partition.
        nodes: all nodes.
        index: index by name.
        by_sockets: whether the bounds of all sockets of a node are one bound.
    """
    most = np.zeros(len(nodes), dtype=np.int64)
    for name in partition.nodes:
        number = index[name]
        node = nodes[number]
        bounds = [node.cpus]
        if partition.max_cpus_per_node is not None:
            bounds.append(partition.max_cpus_per_node)
        if by_sockets and partition.max_cpus_per_socket is not None:
            bounds.append(partition.max_cpus_per_socket * node.sockets)
        most[number] = min(bounds)
    return most


def pool_of(partition: Partition, conf: SlurmConf, machine: Machine) -> tuple[Ints, Ints]:
    """Units of each node that the jobs of a partition may have together, and CPUs of the last that they may not."""
    most = _most_cpus(partition, conf.nodes, machine.index, machine.by_socket is None)
    return -(-most // machine.threads), -most % machine.threads


def _of_sockets_alone(partitions: Sequence[Partition]) -> frozenset[str]:
    """Those partitions that bound the CPUs of each socket, and not those of each node."""
    return frozenset(one.name for one in partitions if one.max_cpus_per_node is None)


def _marks(partitions: Sequence[Partition]) -> list[str]:
    """What jobs mark their nodes with, where some share their resources and others do not."""
    forced = [partition.oversubscribe == "FORCE" for partition in partitions]
    rows = [partition.name for partition in partitions if has_rows(partition)]
    if all(forced) or not (any(forced) or rows):
        return []
    return [ALONE, *(MARK + name for name in rows)]


def has_rows(partition: _Shared) -> bool:
    """Whether several jobs of a partition may have the same resources."""
    return partition.oversubscribe in ("FORCE", "YES") and partition.oversubscribe_jobs > 1


def _bounded(partition: Partition) -> bool:
    return partition.max_cpus_per_node is not None or partition.max_cpus_per_socket is not None


def _threads(node: Node, sockets: bool) -> int:
    if sockets:
        return max(node.cpus // node.sockets, 1)
    stated = {setting.lower() for setting in node.settings}
    return node.cpus_of_core if stated & {"corespersocket", "sockets", "socketsperboard"} else 1


def takes_jobs(state: str) -> bool:
    """Whether a node of a configured state takes jobs."""
    return not any(word in state.upper() for word in ("DOWN", "DRAIN", "FAIL", "FUTURE"))
