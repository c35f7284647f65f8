"""Nodes that a plan keeps for jobs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from slurm_sim_plugins.nodes import Ints, Mask


class Slots:
    """Nodes that are kept for jobs, each for a while.

    Args:
        nodes: how many there are.

    Attributes:
        delay: whether some job has to wait for a bound of one, though its nodes would be free before.
        turned_away: nodes that a job would have for which there was no room.
        in_vain: whether some were kept in vain, of which Slurm notes nothing; and
        noted: whether others were kept one by one.
        of_stock: whether the bundled plugin alone has seen the plan: once the next has come, nothing asks this one.
    """

    delay = False
    turned_away: Sequence[int] = ()
    in_vain = noted = False
    of_stock = False

    def __init__(self, nodes: int) -> None:
        self._bounds: set[float] = set()
        self._count = 0
        self._times = np.empty((2, 64))
        self._masks: Mask = np.zeros((64, nodes), dtype=bool)
        self._changes: dict[float, Ints] = {}
        self._edges: set[float] = set()

    @property
    def any_noted(self) -> bool:
        """Whether any are kept of which Slurm notes that they are."""
        return len(self) > 0 and (self.noted or not self.in_vain)

    @property
    def bounds(self) -> set[float]:
        """Times at which one begins or ends."""
        return self._bounds

    @property
    def edges(self) -> list[float]:
        """Bounds between what Slurm keeps apart, ascending: what is kept before and behind others is one."""
        return sorted(self._edges)

    def nodes(self) -> Ints:
        """Nodes that are kept at any time, ascending."""
        return np.flatnonzero(self._masks[: self._count].any(axis=0))

    def any_has(self, counts: Ints) -> bool:
        """Whether any node that is kept has some of what is counted."""
        return bool((counts[self.nodes()] > 0).any())

    def any_has_none(self, counts: Ints) -> bool:
        """Whether any node that is kept has none of what is counted."""
        return bool((counts[self.nodes()] == 0).any())

    def __len__(self) -> int:
        """How many bounds there are."""
        return len(self.bounds)

    def add(self, begin: float, end: float, nodes: Sequence[int]) -> None:
        """Keep nodes from ``begin`` to ``end`` (seconds)."""
        if self._count == self._times.shape[1]:
            self._times = np.concatenate([self._times, self._times], axis=1)
            self._masks = np.concatenate([self._masks, np.zeros_like(self._masks)])
        self._times[:, self._count] = begin, end
        self._masks[self._count, np.asarray(nodes, dtype=np.intp)] = True
        self._count += 1
        self._bounds |= {begin, end}
        self._merge(begin, end, self._masks[self._count - 1])

    def _merge(self, begin: float, end: float, nodes: Mask) -> None:
        """Drop an edge at which what is kept does not change: the first of those from the one before a slot to its end.

        Slurm drops one at most for each slot. Slots that keep the same nodes at the same time count one by one.
        """
        for bound, more in ((begin, 1), (end, -1)):
            self._changes[bound] = self._changes.get(bound, np.zeros(len(nodes), dtype=np.int64)) + more * nodes
        before = max((edge for edge in self._edges if edge < begin), default=begin)
        self._edges |= {begin, end}
        for edge in self.edges:
            if before <= edge <= end and not self._changes[edge].any():
                self._edges.remove(edge)
                return

    def kept(self, begin: float, end: float) -> Mask:
        """Nodes that are kept at some time between."""
        return np.asarray(self._masks[self._between(begin, end)].any(axis=0), dtype=bool)

    def kept_from_run(self, begin: float, end: float) -> Mask:
        """Nodes that are kept from a run between: a slot that begins as the run ends keeps its nodes from it, too.

        (Slurm's sources of 22.05 and 24.11, and the controller's log.)
        """
        begins, ends = self._times[:, : self._count]
        return np.asarray(self._masks[: self._count][(begins <= end) & (ends > begin)].any(axis=0), dtype=bool)

    def first_end(self, begin: float, end: float, nodes: Sequence[int]) -> float | None:
        """When the first slot ends that keeps one of these nodes at some time between."""
        those = self._between(begin, end)
        those = those[self._masks[np.ix_(those, np.asarray(nodes, dtype=np.intp))].any(axis=1)]
        return float(self._times[1, those].min()) if len(those) else None

    def first_begin(self, after: float, nodes: Sequence[int]) -> float:
        """When the first slot begins from then on that keeps one of these nodes; infinite for none."""
        masks = self._masks[: self._count][:, np.asarray(nodes, dtype=np.intp)].any(axis=1)
        begins = self._times[0, : self._count][masks]
        return float(begins[begins >= after].min(initial=np.inf))

    def _between(self, begin: float, end: float) -> NDArray[np.intp]:
        begins, ends = self._times[:, : self._count]
        return np.flatnonzero((begins < end) & (ends > begin))
