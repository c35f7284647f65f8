"""Which nodes runs were on, for the Gantt chart of a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from emulator.accounting.cluster import read_cluster
from emulator.accounting.records import Records
from emulator.accounting.runfolder import CLUSTER
from emulator.config.slurm.hostlist import expand


def nodes_of(records: Records, folder: Path | None) -> dict[str, Any] | None:
    """Nodes by name with their CPUs, and where each host list of the runs lies; None where that is not known.

    Args:
        records: of the run.
        folder: that it was left in, or None.

    Returns:
        ``names`` and ``cpus`` in the order of the machine; ``lists``, by host list the indices of its nodes.

    Raises:
        InputError: the description of the cluster is damaged.
    """
    if folder is None or "nodes" not in records.runs or not (folder / CLUSTER).exists():
        return None
    nodes = list(read_cluster(folder).each_node())
    places = {name: index for index, (name, _) in enumerate(nodes)}
    different = dict.fromkeys(str(each) for each in np.asarray(records.runs["nodes"], dtype=object).tolist() if each)
    lists = {each: [places[name] for name in expand(each) if name in places] for each in different}
    return {"names": list(places), "cpus": [group.cpus for _, group in nodes], "lists": lists}
