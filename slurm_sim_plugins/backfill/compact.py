"""Delay a job in the plan of backfill for nodes that lie together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.plan import Hole
from slurm_sim_plugins.views import TopoptView


class Compact:
    """The hole whose nodes are in the fewest pieces; of equal ones the first.

    A piece is a row of nodes that are next to one another in the order of the configuration. Jobs are still tried in
    the order of the queue.

    Args:
        most: seconds by which a job is delayed at most. A longer delay rarely pays: it is the job's own, and that of
            the jobs behind it.
    """

    name: ClassVar[str] = "backfill/compact"
    machines: ClassVar[tuple[str, ...]] = ("nodes",)

    def __init__(self, most: float = 600.0) -> None:
        self.most = most

    @hookimpl
    def bf_topopt(self, view: TopoptView) -> Hole:
        best = first = next(view.holes)
        fewest = _pieces(first.place.indices)
        for hole in view.holes:
            if fewest == 1 or hole.start > first.start + self.most:
                break
            pieces = _pieces(hole.place.indices)
            if pieces < fewest:
                best, fewest = hole, pieces
        return best


def _pieces(nodes: Sequence[int]) -> int:
    """Rows of nodes that are next to one another."""
    return 1 + sum(after > before + 1 for before, after in pairwise(nodes))
