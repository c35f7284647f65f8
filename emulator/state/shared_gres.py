"""GPUs that jobs share, as ``slurm.conf`` and ``gres.conf`` describe them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from emulator.config.slurm.model import GresLine, Node, SlurmConf
from slurm_sim_plugins.devices import SHARED, SHARING, Devices
from slurm_sim_plugins.nodes import Machine, Want

ONE_SHARING, ALL_SHARING = "one_sharing", "all_sharing"


def devices_of(conf: SlurmConf) -> Devices | None:
    """The GPUs of all nodes, with the shares of each; None if no node has shares of any."""
    nodes = conf.nodes
    shares = [_shares(node, conf.gres) for node in nodes]
    most = max(map(len, shares), default=0)
    if not most:
        return None
    words = {word.upper() for word in conf.parameters.words("SelectTypeParameters")}
    types = [_types(node) for node in nodes]
    # Where the rule does not hold, Slurm knows one GPU from another only by their types.
    kept = [conf.rules.SHARES_KEEP_GPUS or any(of) for of in types]
    return Devices(
        shares=np.array([[*of, *[0] * (most - len(of))] for of in shares], dtype=np.int64).T.copy(),
        types={
            kind: np.array([[kind in of[at : at + 1] for of in types] for at in range(most)])
            for kind in sorted({kind for of in types for kind in of} - {""})
        },
        one=np.array([_share_one(node, conf.gres) for node in nodes]),
        kept=np.array([kept] * most),
        least_loaded="LL_SHARED_GRES" in words,
        several="MULTIPLE_SHARING_GRES_PJ" in words,
        one_task="ONE_TASK_PER_SHARING_GRES" in words,
    )


def counting_shares(want: Want, machine: Machine) -> Want:
    """What a job wants, as it is asked whether idle nodes would do: Slurm does not look at GPUs one by one then."""
    devices = machine.devices
    return want if devices is None else replace(want, gres=devices.of_one(want.gres), all_gres=False)


def _types(node: Node) -> list[str]:
    """The type of each GPU of a node."""
    return [one.type for one in node.gres if one.name == SHARING for _ in range(one.count)]


def _shares(node: Node, lines: Sequence[GresLine]) -> list[int]:
    """Shares of each GPU of a node: as ``gres.conf`` says for its files; what is left goes evenly to the others."""
    gpus = len(_types(node))
    left = sum(one.count for one in node.gres if one.name in SHARED)
    if not gpus or not left:
        return []
    stated = [share for line in _lines_of(node, lines) for share in _evenly(line.count, len(line.files))][:gpus]
    return [*stated, *_evenly(max(left - sum(stated), 0), gpus - len(stated))]


def _evenly(shares: int, gpus: int) -> list[int]:
    """So many shares of each of some GPUs, of the last ones more."""
    return [shares // gpus + (number >= gpus - shares % gpus) for number in range(gpus)]


def _share_one(node: Node, lines: Sequence[GresLine]) -> bool:
    """Whether all jobs share the same GPU of a node: that is the default of MPS (gres.conf, ``Flags``)."""
    flags = {flag.lower() for line in _lines_of(node, lines) for flag in line.flags}
    if flags & {ONE_SHARING, ALL_SHARING}:
        return ONE_SHARING in flags
    return any(one.name == "mps" for one in node.gres)


def _lines_of(node: Node, lines: Sequence[GresLine]) -> list[GresLine]:
    """Lines of ``gres.conf`` about shares of a node's GPUs."""
    return [line for line in lines if line.name in SHARED and (line.nodes is None or node.name in line.nodes)]
