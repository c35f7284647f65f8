"""Which nodes runs were on, and when nodes could not be used, for the Gantt chart of a cluster."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from emulator.accounting.cluster import read_cluster
from emulator.accounting.records import Records, read_columns
from emulator.accounting.runfolder import CLUSTER, NODES, RUNS
from emulator.config.slurm.hostlist import expand
from slurm_sim_plugins.errors import InputError
from slurm_sim_plugins.processors import from_words, numbers

SHOWN = ("RESERVED", "MAINT", "DRAIN", "DOWN")
"""States of nodes that keep jobs away; what is planned, and what is up again, does not."""


def nodes_of(records: Records, folder: Path | None) -> dict[str, Any] | None:
    """Nodes by name with their CPUs, and where each host list of the runs lies; None where that is not known.

    Args:
        records: of the run.
        folder: that it was left in, or None.

    Returns:
        ``names`` and ``cpus`` in the order of the machine; ``lists``, by host list the indices of its nodes;
        ``spells``, of which each has state, from when, until when (None for ever) and the indices of the nodes.

    Raises:
        InputError: the description of the cluster is damaged.
    """
    if folder is None or "nodes" not in records.runs or not (folder / CLUSTER).exists():
        return None
    nodes = list(read_cluster(folder).each_node())
    places = {name: index for index, (name, _) in enumerate(nodes)}
    different = dict.fromkeys(str(each) for each in np.asarray(records.runs["nodes"], dtype=object).tolist() if each)
    lists = {each: [places[name] for name in _names(each) if name in places] for each in different}
    return {
        "names": list(places),
        "cpus": [group.cpus for _, group in nodes],
        "lists": lists,
        "spells": _spells(folder),
    }


def _names(hosts: str) -> list[str]:
    """Names of a host list.

    Raises:
        InputError: it is none.
    """
    try:
        return expand(hosts)
    except ValueError as error:
        raise InputError(f"{RUNS}: {hosts!r} is no host list ({error}); make the run again") from error


def _spells(folder: Path) -> list[list[Any]]:
    """When nodes were down, drained or reserved."""
    if not (folder / NODES).exists():
        return []
    columns = read_columns(folder / NODES)
    rows = list(zip(*(columns[name].tolist() for name in ("time", "state", "nodes")), strict=True))
    spells = []
    for state in SHOWN:
        changes = [*((time, nodes) for time, each, nodes in rows if each == state), (None, "")]
        spells += [[state, time, end, _indices(nodes)] for (time, nodes), (end, _) in pairwise(changes) if nodes]
    return spells


def _indices(text: str) -> list[int]:
    """Numbers of such as 0-3,7.

    Raises:
        InputError: it is no such text.
    """
    try:
        return numbers(from_words(text))
    except ValueError as error:
        raise InputError(f"{NODES}: {text!r} are no nodes ({error}); make the run again") from error
