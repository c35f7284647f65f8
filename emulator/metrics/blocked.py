"""How blocked jobs fared, by their size: the papers on PV-EASY, 2014, figures 2 and 3."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from emulator.metrics.averages import mean, weighted
from emulator.metrics.jobs import THRESHOLD, Mask, bounded_slowdown, column

if TYPE_CHECKING:
    from emulator.accounting.records import Records

BIG = 0.25
"""A job with more than this share of the machine is big, in the papers' words."""
EDGES = (0.0, 1 / 32, 1 / 16, 1 / 8, BIG, 1 / 2, 1.0)
"""Shares of the machine that part the sizes; a job belongs to the first that is not below it."""


class SizeGroup(NamedTuple):
    """Blocked jobs of like size."""

    above: float
    """Share of the machine that they exceed."""
    up_to: float
    """Share of the machine that they do not exceed."""
    jobs: int
    mbs: float
    mwbs: float


def by_size(
    records: Records,
    edges: Sequence[float] = EDGES,
    *,
    blocked: Mask | None = None,
    threshold: float = THRESHOLD,
) -> list[SizeGroup]:
    """MBS and MWBS of blocked jobs in groups.

    Args:
        records: what happened.
        edges: shares of the machine, ascending.
        blocked: which jobs; by default those that some pass left at the head of the queue.
        threshold: of the bounded slowdown, in seconds.
    """
    chosen = blocked if blocked is not None else np.asarray(records.jobs["blocked"], dtype=bool)
    processors = column(records, "processors")
    slowdown, share = bounded_slowdown(records, threshold), processors / records.processors
    groups = []
    for above, up_to in pairwise(edges):
        inside = chosen & (share > above) & (share <= up_to) & ~np.isnan(slowdown)
        values, weights = slowdown[inside], processors[inside]
        groups.append(SizeGroup(above, up_to, int(inside.sum()), mean(values), weighted(values, weights)))
    return groups
