"""Devices near the cores of one socket, as ``gres.conf`` says (``Cores=``)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from emulator.config.slurm.model import GresLine, Node, SlurmConf
from slurm_sim_plugins.binding import Binding
from slurm_sim_plugins.nodes import Gres, Ints


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
