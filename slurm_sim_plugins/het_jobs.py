"""Components of heterogeneous jobs in Slurm's backfill: each is planned by itself, and all of them start together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from statistics import fmean
from typing import Any

YEAR = 365 * 86_400.0
"""Seconds by which a component lies in the future that found no hole."""


class HetJobs:
    """When the components of heterogeneous jobs can start, in one cycle of backfill.

    A component is not planned for a time before those before it can start.

    Source: recorded from Slurm 22.05, 24.11 and 26.05 (``DebugFlags=Hetjob`` says each step).
    """

    def __init__(self) -> None:
        self._starts: dict[int, dict[int, tuple[float, Any]]] = {}

    def not_before(self, entry: Any) -> float:
        """From when on the other components of an entry's job can start, in seconds."""
        starts = self._starts.get(entry.het_job_id, {})
        return max((start for number, (start, _) in starts.items() if number != entry.id), default=0.0)

    def note(self, entry: Any, start: float) -> None:
        """A component can start at a time; of several partitions the earliest counts."""
        starts = self._starts.setdefault(entry.het_job_id, {})
        if entry.id not in starts or start < starts[entry.id][0]:
            starts[entry.id] = start, entry

    def due(self, now: float, number: int | None = None) -> Iterator[list[Any]]:
        """The entries of each heterogeneous job that can start now with all its components.

        Args:
            now: in seconds.
            number: of the one job that is asked about; None for all.
        """
        for het_job in [*self._starts] if number is None else [number]:
            starts = self._starts[het_job]
            entries = [entry for start, entry in starts.values() if start <= now]
            if entries and all(other in starts for other in entries[0].het_job_id_set) and len(entries) == len(starts):
                yield entries

    def started(self, number: int) -> None:
        """A heterogeneous job has started."""
        del self._starts[number]


OF_ALL: Mapping[str, Callable[[Sequence[float]], float]] = {"MIN": min, "AVG": fmean, "MAX": max}
"""What ``bf_hetjob_prio`` makes of the numbers of components."""


def together(queue: Sequence[Any], by: str, rank: Callable[[Any], tuple[float, float]] | None = None) -> list[Any]:
    """The queue with the components of each heterogeneous job one behind the other, in their order.

    Args:
        queue: entries in their order.
        by: a key of :data:`OF_ALL`: which of their tiers and priorities counts for all.
        rank: the tier of an entry's partition, and its priority; None where the entries say these themselves.
    """
    rank = rank or _rank
    places: dict[int, list[int]] = {}
    for place, entry in enumerate(queue):
        if entry.het_job_id is not None:
            places.setdefault(entry.het_job_id, []).append(place)
    if not places:
        return list(queue)
    found: list[Any] = []
    ranks = {number: [rank(queue[place]) for place in stand] for number, stand in places.items()}
    groups = [
        (tuple(map(OF_ALL[by], zip(*ranks[number], strict=True))), -stand[0], [queue[place] for place in stand])
        for number, stand in places.items()
    ]
    groups.sort(key=itemgetter(0, 1))
    for place, entry in enumerate(queue):
        if entry.het_job_id is None:
            while groups and groups[-1][:2] > (rank(entry), -place):
                found += groups.pop()[2]
            found.append(entry)
    return found + [entry for _, _, some in reversed(groups) for entry in some]


def _rank(entry: Any) -> tuple[float, float]:
    """The tier of the partition, and the priority."""
    tiers = [request.partition.tier for request in entry.job.requests if request.partition.name == entry.partition]
    return tiers[0], entry.priority
