"""Keeps of a run what the state of its nodes goes by beside the jobs on them: reservations, plans, operators."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from emulator.accounting.records import Columns
from emulator.accounting.row_buffer import RowBuffer
from emulator.engine.controller import Controller
from emulator.engine.power import SHOWN
from slurm_sim_plugins.nodes import Ints

NODE_COLUMNS: dict[str, str] = {
    "time": "seconds, from when on this holds",
    "state": "PLANNED (by backfill, for jobs that wait), RESERVED, MAINT (reserved for that), DOWN, DRAIN or UP "
    "(as an operator has said, a list of node events, or failures that were drawn); with power saving POWERING_DOWN, "
    "POWERED_DOWN or POWERING_UP",
    "nodes": "all nodes of that state: their indices in the machine, such as 0-3,7",
}
"""What the columns of ``nodes.parquet`` mean; rows are in the order of time."""


class NodeNotes:
    """Notes changes."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._notes = RowBuffer({"time": "value", "state": "text", "nodes": "text"})
        self._last: dict[str, bytes] = {}

    def __call__(self) -> None:
        """Note what has changed."""
        for state, nodes in self._now():
            written = nodes.tobytes()
            if self._last.get(state, b"") != written:
                self._last[state] = written
                self._notes.add(self._controller.cluster.now, state, _indices(nodes))

    def _now(self) -> Iterator[tuple[str, Ints]]:
        cluster = self._controller.cluster
        if cluster.planned is not None:
            yield "PLANNED", cluster.planned.nodes()
        reservations = self._controller.reservations.by_name.values()
        for state, kept_up in (("RESERVED", False), ("MAINT", True)):
            nodes = cluster.no_nodes()
            for one in reservations:
                if one.active(cluster.now) and ("MAINT" in one.flags) is kept_up:
                    nodes |= one.nodes
            if reservations or state in self._last:
                yield state, np.flatnonzero(nodes)
        power = self._controller.power
        if power is not None:
            yield from ((powered.value, power.nodes_of(powered)) for powered in SHOWN)
        for state in ("DOWN", "DRAIN", "UP") if cluster.admin_states else ():
            said = [node for node, word in cluster.admin_states.items() if word == state]
            yield state, np.array(sorted(said), dtype=np.int64)

    def take_columns(self) -> Columns:
        """What was noted, which is handed over."""
        return self._notes.take_columns()


def _indices(nodes: Ints) -> str:
    """Ascending numbers, those that follow one another together."""
    if not len(nodes):
        return ""
    cuts = np.flatnonzero(np.diff(nodes) != 1) + 1
    firsts, lasts = nodes[np.concatenate([[0], cuts])], nodes[np.concatenate([cuts - 1, [len(nodes) - 1]])]
    pairs = zip(firsts.tolist(), lasts.tolist(), strict=True)
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in pairs)
