"""Devices near the cores of one socket, as ``gres.conf`` says (``Cores=``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from emulator.config.slurm.model import GresCount, GresLine, Node, SlurmConf
from slurm_sim_plugins.binding import Binding
from slurm_sim_plugins.nodes import Gres, Ints, Mask


def has_near_cores(conf: SlurmConf) -> bool:
    """Whether any devices are near the cores of one socket of several."""
    return any(True for node in conf.nodes for _ in _near(node, conf))


def binding_of(conf: SlurmConf) -> Binding | None:
    """The devices of all nodes that are near one socket each; None if there are none."""
    sockets = max((node.sockets for node in conf.nodes), default=1)
    near: dict[Gres, Ints] = {}
    for index, node in enumerate(conf.nodes):
        left = {(gres.name, gres.type): gres.count for gres in node.gres}
        for kind, socket, count in _near(node, conf):
            counts = near.setdefault(kind, np.zeros((sockets, len(conf.nodes)), dtype=np.int64))
            # More than slurm.conf says are left alone.
            counts[socket, index] += min(count, left[kind])
            left[kind] -= min(count, left[kind])
    return Binding(near, conf.rules.DEVICES_GO_BY_CPUS, conf.rules.DEVICES_GO_BY_TASKS) if near else None


def gives_all_cores(conf: SlurmConf, wanted: Iterable[GresCount]) -> Mask:
    """Nodes on which so many devices are near all cores together: select/linear gives a job no others.

    Devices are taken one by one, those first that are near most further cores. (Recorded on 22.05, 24.11 and 26.05.)

    Args:
        conf: the configuration.
        wanted: what a job asks for on each node.
    """
    several = [one for one in wanted if one.count and any(line.cores and line.name == one.name for line in conf.gres)]
    return np.array([all(_reaches_all(node, one, conf) for one in several) for node in conf.nodes], dtype=bool)


def _reaches_all(node: Node, wanted: GresCount, conf: SlurmConf) -> bool:
    """Whether so many devices of a node are near all of its cores; no line says of which cores: of all."""
    left = set(range(node.sockets * node.cores_per_socket))
    lines = [line for line in conf.gres if line.nodes is None or node.name in line.nodes]
    kinds = [(line, _kind(line, node)) for line in lines if line.name == wanted.name]
    near = [set(line.cores) or left for line, kind in kinds if kind is not None and wanted.type in ("", kind[1])]
    for _ in range(min(wanted.count, len(near))):
        left = left - max(near, key=lambda cores: len(cores & left))
    return not left or not near


def _near(node: Node, conf: SlurmConf) -> Iterator[tuple[Gres, int, int]]:
    """Kinds of devices, sockets of a node, and how many are near each."""
    for line in conf.gres:
        socket = _socket(line, node) if line.nodes is None or node.name in line.nodes else None
        kind = None if socket is None else _kind(line, node)
        if socket is not None and kind is not None:
            yield kind, socket, line.count


def _kind(line: GresLine, node: Node) -> Gres | None:
    """What the devices of a line are called in ``slurm.conf``: by their type, or by their name alone."""
    kinds = [(gres.name, gres.type) for gres in node.gres if gres.name == line.name]
    named = [kind for kind in kinds if line.type == kind[1]] or [kind for kind in kinds if "" in (line.type, kind[1])]
    return named[0] if named else None


def _socket(line: GresLine, node: Node) -> int | None:
    """The socket that devices are near: the first one; None where each socket has cores that are near."""
    cores = node.cores_per_socket
    near = {core // cores for core in line.cores if core // cores < node.sockets}
    return min(near) if near and len(near) < node.sockets else None
