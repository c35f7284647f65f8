"""The queue, kept in order while jobs come and go: pairs of job and partition as they are tried."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Mapping

from emulator.state.job import Job
from emulator.state.partition import Partition
from emulator.state.run import State

Rank = tuple[float, float, int, int, int]
Pair = tuple[Rank, Job, Partition]


class Order:
    """Waiting jobs that may be scheduled: by tier of the partition, then priority, then id (observation Q7).

    Args:
        waiting: waiting jobs by id; kept by the cluster.

    Attributes:
        kinds: how many pairs there are of each partition and reservation.
    """

    def __init__(self, waiting: Mapping[int, Job]) -> None:
        self.kinds: Counter[tuple[str, str]] = Counter()
        self._waiting = waiting
        self._pairs: list[Pair] = []
        self._ranks: dict[int, list[Rank]] = {}
        self._stale = False

    def __bool__(self) -> bool:
        """Whether there is any."""
        if self._stale:
            self._order_anew()
        return bool(self._pairs)

    def changed(self) -> None:
        """Priorities, tiers or holds of any jobs may have changed: all of them are ordered anew."""
        self._stale = True

    def settle(self, job: Job) -> None:
        """Put a job that may be scheduled into its place, or take one out that may not."""
        if self._stale:
            return
        self.discard(job)
        if job.id in self._waiting and _may_be_tried(job):
            self._ranks[job.id] = []
            for pair in _pairs_of(job):
                insort(self._pairs, pair)
                self._ranks[job.id].append(pair[0])
                self.kinds[_kind(pair)] += 1

    def discard(self, job: Job) -> None:
        """Take a job out."""
        for rank in self._ranks.pop(job.id, ()):
            pair = self._pairs.pop(bisect_left(self._pairs, (rank,)))
            self.kinds[_kind(pair)] -= 1
            if not self.kinds[_kind(pair)]:
                del self.kinds[_kind(pair)]

    def pairs(self) -> list[Pair]:
        """All of them, in order, as they are now."""
        if self._stale:
            self._order_anew()
        return self._pairs.copy()

    def ranks(self, job: Job) -> Iterable[Rank]:
        """The places of a job, one in each of its partitions."""
        return self._ranks.get(job.id, ())

    def _order_anew(self) -> None:
        self._stale = False
        self._pairs = [pair for job in self._waiting.values() if _may_be_tried(job) for pair in _pairs_of(job)]
        self._pairs.sort()
        self._ranks = {}
        for rank, job, _ in self._pairs:
            self._ranks.setdefault(job.id, []).append(rank)
        self.kinds = Counter(map(_kind, self._pairs))


def _may_be_tried(job: Job) -> bool:
    if job.state is not State.PENDING or job.eligible is None:
        return False
    return job.priority != 0 or not job.on_hold


def _pairs_of(job: Job) -> list[Pair]:
    return [(_rank(job, place), job, partition) for place, partition in enumerate(job.partitions)]


def _rank(job: Job, place: int) -> Rank:
    partition = job.partitions[place]
    return (-partition.tier, -job.number_in(partition.name), *job.place, place)


def _kind(pair: Pair) -> tuple[str, str]:
    return pair[2].name, pair[1].options.reservation
