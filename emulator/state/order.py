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
        """Priorities, tiers or holds of any jobs may have changed: all of them are ordered again."""
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

    def renumbered(self) -> bool:
        """Priorities of any jobs have changed; whether the pairs now come in another order."""
        before, known = self._pairs, not self._stale
        self._order_anew()
        if not known or len(before) != len(self._pairs):
            return True
        return any(old[1] is not new[1] or old[2] is not new[2] for old, new in zip(before, self._pairs, strict=True))

    def _order_anew(self) -> None:
        self._stale = False
        self._pairs = pairs = []
        self._ranks = ranks = {}
        for job in self._waiting.values():
            if _may_be_tried(job):
                of_job = _pairs_of(job)
                pairs += of_job
                ranks[job.id] = [pair[0] for pair in of_job]
        pairs.sort()
        self.kinds = Counter(map(_kind, pairs))


def _may_be_tried(job: Job) -> bool:
    if job.state is not State.PENDING or job.eligible is None:
        return False
    return job.priority != 0 or not job.on_hold


def _pairs_of(job: Job) -> list[Pair]:
    if len(job.partitions) == 1:
        partition = job.partitions[0]
        return [((-partition.tier, -job.priority, *job.place, 0), job, partition)]
    return [
        ((-partition.tier, -job.number_in(partition.name), *job.place, place), job, partition)
        for place, partition in enumerate(job.partitions)
    ]


def _kind(pair: Pair) -> tuple[str, str]:
    return pair[2].name, pair[1].options.reservation
