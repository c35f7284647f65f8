# cython: boundscheck=True, wraparound=True, nonecheck=True
"""The queue, kept in order while jobs come and go: pairs of job and partition as they are tried.

A :mod:`kernel <slurm_sim_plugins.kernels>`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, KeysView, Mapping, Sequence, Set
from typing import Generic, Protocol, TypeVar

from emulator.state.job import EMPTY, Job
from emulator.state.partition import Partition
from emulator.state.run import State
from slurm_sim_plugins.nodes import Ints

Rank = tuple[float, float, float, float, int, int, int]
Pair = tuple[int, Job, Partition]
"""A job and one of its partitions, and which of them that is; behind these come those of reservations that draw it."""
Key = TypeVar("Key")


class Magnet(Protocol):
    """A reservation that draws jobs, as far as the queue goes by it.

    Attributes:
        name: its name.
        start: when it begins, in seconds.
    """

    name: str
    start: float

    def admits(self, job: Job) -> bool:
        """Whether a job may use it."""


SPLITS = 28
"""Bits of a place in the controller's list for the records that were added behind the one of that number."""


class Listed:
    """Where jobs stand in the controller's list: as they were submitted, one record for an array.

    A task that starts keeps the record of its array. What is left of that gets another one, at the end of the list.
    What is equal otherwise goes by it: runs that end together, and those that are preempted.
    """

    def __init__(self) -> None:
        self._last = 0
        self._splits = 0
        self._own: dict[int, int] = {}
        self._left: dict[int, int] = {}

    def place(self, job: Job) -> int:
        """The place of a job's record: a number that is below those of what stands behind it."""
        array = job.request.array
        if array is None:
            return job.id << SPLITS
        return self._own.get(job.id) or self._left.get(array, array << SPLITS)

    def submitted(self, job: Job) -> None:
        """A job comes to the end."""
        self._last = max(self._last, job.request.array or job.id)

    def started(self, job: Job) -> bool:
        """A job starts; whether what is left of its array has another place now."""
        if job.request.array is None or job.id in self._own:
            return False
        self._own[job.id] = self.place(job)
        self._splits += 1
        self._left[job.request.array] = (self._last << SPLITS) + self._splits
        return True


class Order:
    """Waiting jobs that may be scheduled: by tier of the partition, priority, and what breaks ties (observation Q7).

    Those in a reservation go before all others; but what may preempt another job goes before that one.

    Args:
        waiting: waiting jobs by id; kept by the cluster.
        reservations: by name; kept by the cluster.

    Attributes:
        tiers_first: whether jobs may preempt those of a lower tier, so that tiers go before reservations.
        preempts: whether one job may preempt another by their QOS; None where none may.
        takes: whether a partition takes a job by its bounds, where that matters.
        listed: where jobs stand in the controller's list.
        by_list: whether that orders the queue, whatever the numbers of jobs.
        magnets: reservations that draw jobs, by their begin: a job that may use one and names none is tried there, too.
        several: whether a job names several reservations: it is tried in each of them, and nowhere else.
    """

    __slots__ = (
        *("_classes", "_kinds", "_lent", "_many", "_pairs", "_reservations", "_stale", "_waiting"),
        *("by_list", "listed", "magnets", "preempts", "several", "takes", "tiers_first"),
    )

    def __init__(self, waiting: Mapping[int, Job], reservations: Collection[str] = ()) -> None:
        self._reservations = reservations
        self.tiers_first = False
        self.preempts: Callable[[Job, Job], bool] | None = None
        self.takes: Callable[[Job, Partition], bool] = _takes_any
        self.listed, self.by_list = Listed(), False
        self.magnets: Sequence[Magnet] = ()
        self.several = False
        self._kinds, self._classes = _Tally(_kind), _Tally(_class)
        self._waiting = waiting
        self._pairs: list[Pair] = []
        self._many: dict[int, int] = {}
        self._stale = self._lent = False

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self._as_they_are())

    def changed(self) -> None:
        """Priorities, tiers or holds of any jobs may have changed: all of them are ordered again."""
        self._stale = True

    def settle(self, job: Job) -> None:
        """Insert a job that may be scheduled, or take one out that may not."""
        if self._stale:
            return
        pairs = self._pairs_of(job) if job.id in self._waiting and _may_be_tried(job) else []
        if len(pairs) == self._many.get(job.id, 0) and all(map(self._stands, pairs)):
            return
        self.discard(job)
        if pairs:
            self._many[job.id] = len(pairs)
            self._keep_lent()
        for pair in pairs:
            self._pairs.insert(self._first_behind(pair), pair)
            self._kinds.add(pair)
            self._classes.add(pair)

    def discard(self, job: Job) -> None:
        """Take a job out."""
        many = self._many.pop(job.id, 0)
        if self._stale or not many:
            return
        found = [self._place(pair) for pair in self._pairs_of(job)]
        places = [place for place in found if place is not None]
        if len(places) != many or len(found) != many:
            # It was put there with other numbers, or in other partitions.
            places = [place for place, (_, other, _) in enumerate(self._pairs) if other is job]
        self._keep_lent()
        for place in sorted(places, reverse=True):
            pair = self._pairs.pop(place)
            self._kinds.remove(pair)
            self._classes.remove(pair)

    def _keep_lent(self) -> None:
        """A pair comes or goes: the list that was given away stays as it is."""
        if self._lent:
            self._pairs = self._pairs.copy()
            self._lent = False

    def _stands(self, pair: Pair) -> bool:
        """Whether a pair, whose rank may have changed, is between one before and one behind it."""
        place = self._place(pair)
        if place is None:
            return False
        pairs = self._pairs
        # The search may have met the pair itself, so that it has not compared those beside it.
        above = place == 0 or self._goes_before(pairs[place - 1], pair)
        return above and (place + 1 == len(pairs) or self._goes_before(pair, pairs[place + 1]))

    def _place(self, pair: Pair) -> int | None:
        """Where a pair is, if a search by its rank meets it."""
        pairs, (index, job, partition) = self._pairs, pair
        # The first is the one that starts most often.
        place = 0 if not pairs or pairs[0][1] is job else self._first_from(pair)
        if place == len(pairs):
            return None
        there = pairs[place]
        return place if there[1] is job and there[2] is partition and there[0] == index else None

    def _first_from(self, pair: Pair) -> int:
        """The place of the first of the pairs that does not go before this one."""
        low, high = 0, len(self._pairs)
        while low < high:
            middle = (low + high) // 2
            if self._goes_before(self._pairs[middle], pair):
                low = middle + 1
            else:
                high = middle
        return low

    def _first_behind(self, pair: Pair) -> int:
        """The place of the first of the pairs that this one goes before."""
        low, high = 0, len(self._pairs)
        # Most come to the end.
        middle = high - 1
        while low < high:
            if self._goes_before(pair, self._pairs[middle]):
                high = middle
            else:
                low = middle + 1
            middle = (low + high) // 2
        return low

    def started(self, job: Job) -> None:
        """A job starts."""
        if self.listed.started(job) and self.by_list:
            self.changed()

    def submitted(self, job: Job) -> None:
        """A job comes to the end of the controller's list."""
        self.listed.submitted(job)

    def pairs(self) -> list[Pair]:
        """All of them, in order, as they are now; a list that stays so, and is not to be changed."""
        pairs = self._as_they_are()
        if self.preempts is not None:
            return self._preempting_first(pairs, self.preempts)
        self._lent = True
        return pairs

    def by_rank(self) -> Iterator[Pair]:
        """All of them by their ranks alone, whichever may preempt others, while none comes or goes."""
        return iter(self._as_they_are())

    def __iter__(self) -> Iterator[Pair]:
        """All of them, in order, while none comes or goes."""
        return iter(self._as_they_are() if self.preempts is None else self.pairs())

    def _preempting_first(self, pairs: list[Pair], preempts: Callable[[Job, Job], bool]) -> list[Pair]:
        """The pairs as Slurm sorts them: of two jobs the one that may preempt the other goes first, else by rank.

        One that may preempt only some may stand between two that are ordered otherwise, so that what is compared
        with what matters: jobs come as they lie in the controller's list, and two halves are merged. Tasks of an array
        that have not run are one of them; those that are beyond the bounds of their partition are not among them, and
        stand before the others.
        """
        takes = self.takes
        queue = [pair for pair in pairs if takes(*pair[1:])]
        if len(queue) < len(pairs):
            return [pair for pair in pairs if not takes(*pair[1:])] + self._preempting_first(queue, preempts)
        ones = {id(job.account.quality): job for _, job, _ in pairs if job.account is not None}.values()
        if not any(preempts(one, other) for one in ones for other in ones):
            return pairs.copy()

        def goes_before(one: Pair, other: Pair) -> bool:
            if preempts(one[1], other[1]) or preempts(other[1], one[1]):
                return preempts(one[1], other[1])
            return self.rank(one) <= self.rank(other)

        def merged(some: list[Pair]) -> list[Pair]:
            if len(some) < 2:
                return some
            first, second = merged(some[: len(some) // 2]), merged(some[len(some) // 2 :])
            both: list[Pair] = []
            place = behind = 0
            while place < len(first) and behind < len(second):
                if goes_before(first[place], second[behind]):
                    both.append(first[place])
                    place += 1
                else:
                    both.append(second[behind])
                    behind += 1
            return both + first[place:] + second[behind:]

        records: dict[tuple[int, int], list[Pair]] = {}
        place = self.listed.place
        for pair in sorted(pairs, key=lambda pair: (place(pair[1]), pair[1].id, pair[0])):
            job = pair[1]
            record = -(job.request.array or 0) if job.waits_with_others else job.id
            records.setdefault((record, pair[0]), []).append(pair)
        parts = [sorted(some, key=self.rank) for some in records.values()]
        part_of = {id(some[0]): some for some in parts}
        return [pair for first in merged([some[0] for some in parts]) for pair in part_of[id(first)]]

    def ranks(self, job: Job) -> Iterable[Rank]:
        """By what the entries of a job are ordered."""
        return map(self.rank, self.entries_of(job))

    def entries_of(self, job: Job) -> Sequence[Pair]:
        """The entries of a job, one in each of its partitions."""
        return self._pairs_of(job) if job.id in self._many else ()

    def rank(self, pair: Pair) -> Rank:
        """By what an entry is ordered, as its job is now."""
        index, job, partition = pair
        if self.by_list:
            return (0, 0, 0, 0, self.listed.place(job), index, job.request.task)
        drawn = index >= len(job.partitions)
        above = drawn or (bool(self._reservations) and job.request.options.reservation in self._reservations)
        number = job.number_in(partition.name) if job.priorities else job.priority
        first = (-partition.tier, -above) if self.tiers_first else (-above, -partition.tier)
        # Tasks of an array are one record, which is tried in one partition after the other.
        return (*first, -number, job.came, job.first, index, job.task)

    def kinds(self) -> Set[tuple[str, str]]:
        """Of which partitions and reservations there are pairs."""
        if self.draws:
            of_magnets = {(pair[2].name, self.drawn_by(pair)) for pair in self._as_they_are()}
            return of_magnets | self._kinds.of(self._as_they_are())
        return self._kinds.of(self._as_they_are())

    def drawn_by(self, pair: Pair) -> str:
        """The name of the reservation that draws a job, in which an entry stands for it; empty if none does."""
        index, job, _ = pair
        many = len(job.partitions)
        return "" if index < many else self.magnets_of(job)[index // many - 1]

    @property
    def draws(self) -> bool:
        """Whether jobs may be tried in reservations by further entries."""
        return self.several or bool(self.magnets)

    def magnets_of(self, job: Job) -> Sequence[str]:
        """Names of the reservations that draw a job: none a component, nor one that names a reservation.

        Of one that names several these, in its order.
        """
        if job.names_several:
            return job.reservations if self._reservations else ()
        if not self.magnets or self.by_list:
            return ()
        if job.request.options.reservation or job.request.het_job_id is not None:
            return ()
        return [one.name for one in self.magnets if one.admits(job)]

    def classes(self) -> KeysView[tuple[int, str]]:
        """Of which request classes and partitions there are pairs; -1 is the class of a job in several partitions."""
        return self._classes.of(self._as_they_are())

    def classes_met(self) -> int:
        """A number that is another one if there may be classes and partitions that there were not before."""
        self._as_they_are()
        return self._classes.met

    def renumbered(self, answer: object = None, numbers: Ints | None = None) -> bool:
        """Priorities of any jobs have changed; whether the pairs now come in another order.

        Args:
            answer: the column that the priority plugin answered last, as jobs have it; None if it answered none.
            numbers: whole numbers, those of the jobs that have this answer, by their places.
        """
        if self._stale:
            return True
        if numbers is not None and self._is_in_order(answer, numbers):
            return False
        stays: list[Pair] = []
        moved: list[Pair] = []
        for pair in self._pairs:
            if not stays or self._goes_before(stays[-1], pair):
                stays.append(pair)
            else:
                # Which of the two has moved is not known.
                moved += stays.pop(), pair
        if not moved:
            return False
        # Few stand otherwise than before.
        moved.sort(key=self.rank)
        self._pairs, self._lent = self._merged(stays, moved), False
        return True

    def _is_in_order(self, answer: object, numbers: Ints) -> bool:
        """Whether the pairs come as they stand; false if the numbers of a column do not say."""
        if self.by_list or self._reservations:
            return False
        before = 0
        last: Pair | None = None
        for pair in self._pairs:
            job = pair[1]
            if job.answer is not answer or job.lift or job.priorities is not EMPTY:
                return False
            number = numbers[job.place]
            if last is None or last[2] is not pair[2] or last[0] != pair[0]:
                if last is not None and not self._goes_before(last, pair):
                    return False
            elif number >= before:
                other: Job = last[1]
                if number > before or not _breaks_tie(other, job):
                    return False
            last, before = pair, number
        return True

    def _merged(self, one: list[Pair], other: list[Pair]) -> list[Pair]:
        """The pairs of two lists that are in order."""
        merged: list[Pair] = []
        many, place = len(one), 0
        for pair in other:
            while place < many and self._goes_before(one[place], pair):
                merged.append(one[place])
                place += 1
            merged.append(pair)
        return merged + one[place:]

    def _goes_before(self, one: Pair, other: Pair) -> bool:
        """Whether the rank of one pair is below that of another."""
        job, behind = one[1], other[1]
        # A job in one partition has no other numbers but its priority.
        plain = one[2] is other[2] and one[0] == other[0] and job.priorities is EMPTY and behind.priorities is EMPTY
        if not plain or self.by_list or self._reservations:
            return self.rank(one) < self.rank(other)
        if job.priority > behind.priority:
            return True
        return bool(job.priority == behind.priority) and _breaks_tie(job, behind)

    def _as_they_are(self) -> list[Pair]:
        if self._stale:
            self._order_anew()
            self._kinds.forget()
            self._classes.forget()
        return self._pairs

    def _order_anew(self) -> None:
        self._stale = self._lent = False
        self._pairs = pairs = []
        self._many = many = {}
        for job in self._waiting.values():
            if _may_be_tried(job):
                of_job = self._pairs_of(job)
                pairs += of_job
                many[job.id] = len(of_job)
        pairs.sort(key=self.rank)

    def _pairs_of(self, job: Job) -> list[Pair]:
        pairs = [(index, job, partition) for index, partition in enumerate(job.partitions)]
        many, several = len(pairs), job.names_several and len(self._reservations) > 0
        self.several = self.several or several
        for _ in self.magnets_of(job) if self.draws else ():
            pairs += [(len(pairs) + index, job, partition) for index, partition in enumerate(job.partitions)]
        return pairs[many:] if several else pairs


def rank_in_queue(job: Job) -> tuple[float, float, float, int, int]:
    """The rank of a job in the queue as plugins see it: tier of its first partition, number there, what breaks ties."""
    return -job.partitions[0].tier, -_number(job), job.came, job.first, job.task


def first_in_queue(jobs: Iterable[Job]) -> Job | None:
    """The job of the highest rank, without sorting all; None if there is none."""
    first: Job | None = None
    for job in jobs:
        if first is None or _goes_first(job, first):
            first = job
    return first


def many_before(job: Job, jobs: Iterable[Job]) -> int:
    """How many of some jobs have a higher rank in the queue than a job."""
    many = 0
    for other in jobs:
        if _goes_first(other, job):
            many += 1
    return many


def _goes_first(one: Job, other: Job) -> bool:
    """Whether one has a higher rank in the queue than the other."""
    if one.partitions[0] is not other.partitions[0] and one.partitions[0].tier != other.partitions[0].tier:
        return one.partitions[0].tier > other.partitions[0].tier
    number, behind = _number(one), _number(other)
    return number > behind if number != behind else _breaks_tie(one, other)


def _number(job: Job) -> float:
    return job.priority if len(job.partitions) == 1 else job.number_in(job.partitions[0].name)


def _breaks_tie(one: Job, other: Job) -> bool:
    """Whether one goes before the other of equal priority; most jobs of a queue have the number of their neighbours."""
    if one.came != other.came:
        return one.came < other.came
    return one.first < other.first if one.first != other.first else one.task < other.task


def _takes_any(job: Job, partition: Partition) -> bool:
    """Whether any partition takes a job."""
    return True


def _may_be_tried(job: Job) -> bool:
    if job.state is not State.PENDING or job.eligible is None:
        return False
    return job.priority != 0 or not job.on_hold


def _kind(pair: Pair) -> tuple[str, str]:
    return pair[2].name, pair[1].options.reservation


def _class(pair: Pair) -> tuple[int, str]:
    return pair[1].request_class if len(pair[1].partitions) == 1 else -1, pair[2].name


class _Tally(Generic[Key]):
    """Pairs counted by a key, from when on that is asked for.

    Attributes:
        met: how often a key may have come that there was not.
    """

    def __init__(self, key: Callable[[Pair], Key]) -> None:
        self._key = key
        self.met = 0
        self._counts: dict[Key, int] | None = None

    def of(self, pairs: list[Pair]) -> KeysView[Key]:
        """The keys that there are."""
        if self._counts is None:
            self._counts = dict(Counter(map(self._key, pairs)))
        return self._counts.keys()

    def add(self, pair: Pair) -> None:
        """One more."""
        if self._counts is not None:
            key = self._key(pair)
            before = self._counts.get(key, 0)
            self._counts[key] = before + 1
            self.met += not before

    def remove(self, pair: Pair) -> None:
        """One less."""
        if self._counts is not None:
            key = self._key(pair)
            self._counts[key] -= 1
            if not self._counts[key]:
                del self._counts[key]

    def forget(self) -> None:
        """Any may have come or gone."""
        self._counts = None
        self.met += 1
