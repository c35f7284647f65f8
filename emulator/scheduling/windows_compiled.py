"""The search for holes of :mod:`emulator.scheduling.windows`, by a kernel; the answers are the same.

For a plain request the search goes once through time: what running jobs give back and what
slots keep changes the room on single nodes, so that most instants are refused by three
counts. Nodes are picked only where the counts suffice. Jobs that ask for the same and
follow one another are given their slots in one go. What a search has come to is kept: the
next job that asks for the same goes on from there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from emulator.scheduling.alike import alike_until, length_of
from emulator.scheduling.compiled import Compiled
from emulator.scheduling.controls import Controls
from emulator.scheduling.hopes import Hopes, Question
from emulator.scheduling.run_rows import Reals
from emulator.scheduling.select_kernel import Counts
from emulator.scheduling.select_rows import SETS
from emulator.scheduling.window_rows import BEGIN, COUNT, END, FULL, GROW, MARKS, NEVER, STARTS, USED
from emulator.scheduling.windows import Habits, Kind, Sought, Windows, is_news, marks
from emulator.scheduling.windows_kernel import Columns, Request, Work, add_slot, keep, place
from emulator.state.cluster import Cluster, of_one_user
from emulator.state.job import Job
from emulator.state.kept import Slots
from emulator.state.partition import Partition
from emulator.state.reservation import Reservation
from emulator.state.scratch import Scratch
from slurm_sim_plugins.nodes import Allocation, Ints, Mask
from slurm_sim_plugins.plan import Entry, Hole


class CompiledSlots(Slots):
    """Slots as columns, instead of the plain ones; behind them what reservations keep from most jobs.

    Args:
        nodes: how many there are.
        reservations: those that keep nodes from jobs that do not ask for them.
        begins: from when on each of these does.
        tries: when nodes are looked for because of them.

    Attributes:
        sizes: how many slots, nodes and marks.
        times: when each begins and ends.
        order: slots by their beginnings, and by their ends.
        parts: where the nodes of each begin among ``members``, and how many they are.
        members: nodes of the slots, one slot after the other.
        marks: bounds of slots, ascending.
        others: when nodes are looked for because of reservations, ascending.
        until: when the first slot begins that keeps each node; infinite for none.
        columns: all of these, as kernels take them.
    """

    def __init__(
        self,
        nodes: int,
        reservations: Sequence[Reservation] = (),
        begins: Sequence[float] = (),
        tries: Collection[float] = (),
    ) -> None:
        self._nodes = nodes
        self._reservations = len(reservations)
        self.sizes: Ints = np.zeros(3, dtype=np.int64)
        self.times: Reals = np.empty((2, 512))
        self.order: Ints = np.zeros((2, 512), dtype=np.int64)
        self.parts: Ints = np.zeros((2, 512), dtype=np.int64)
        self.members: Ints = np.zeros(8192, dtype=np.int64)
        self.marks: Reals = np.empty(1024)
        self.others: Reals = np.array(sorted(tries))
        self.until: Reals = np.full(nodes, np.inf)
        self._gather()
        for one, begin in zip(reservations, begins, strict=True):
            members = np.flatnonzero(one.nodes)
            self.grow(len(members))
            keep(begin, one.end, members, len(members), self.columns)
        self._own = int(self.sizes[USED])

    def ends(self) -> Reals:
        """When they end, and reservations."""
        return self.times[1, : self.sizes[0]]

    def _gather(self) -> None:
        rows = (self.sizes, self.times, self.order, self.parts, self.members, self.marks, self.others, self.until)
        self.columns = Columns(*rows)

    @property
    def bounds(self) -> set[float]:
        """Times at which one begins or ends."""
        return set(self.marks[: self.sizes[MARKS]].tolist())

    def nodes(self) -> Ints:
        """Nodes that are kept at any time, ascending."""
        if not self._reservations:
            return np.flatnonzero(self.until < np.inf)
        mask = np.zeros(self._nodes, dtype=bool)
        mask[self.members[self._own : self.sizes[USED]]] = True
        return np.flatnonzero(mask)

    def __len__(self) -> int:
        return int(self.sizes[MARKS])

    def add(self, begin: float, end: float, nodes: Sequence[int]) -> None:
        """Keep nodes from ``begin`` to ``end`` (seconds)."""
        self.grow(len(nodes))
        add_slot(begin, end, np.array(nodes, dtype=np.int64), len(nodes), self.columns)

    def grow(self, nodes: int) -> None:
        """Make room for another slot of so many nodes."""
        if self.sizes[COUNT] == self.times.shape[1]:
            self.times, self.order, self.parts = (
                np.concatenate([columns, columns], axis=1) for columns in (self.times, self.order, self.parts)
            )
            self.marks = np.concatenate([self.marks, self.marks])
        while self.sizes[USED] + nodes > len(self.members):
            self.members = np.concatenate([self.members, self.members])
        self._gather()

    def kept(self, begin: float, end: float) -> Mask:
        """Nodes that are kept at some time between."""
        mask = np.zeros(self._nodes, dtype=bool)
        for slot in self._overlapping(begin, end):
            mask[self._members(slot)] = True
        return mask

    def first_end(self, begin: float, end: float, nodes: Sequence[int]) -> float | None:
        """When the first slot ends that keeps one of these nodes at some time between."""
        wanted = set(nodes)
        those = [slot for slot in self._overlapping(begin, end) if not wanted.isdisjoint(self._members(slot).tolist())]
        return min((float(self.times[END, slot]) for slot in those), default=None)

    def first_begin(self, after: float, nodes: Sequence[int]) -> float:
        """When the first slot begins from then on that keeps one of these nodes; infinite for none."""
        wanted = set(nodes)
        slots = range(self._reservations, int(self.sizes[COUNT]))
        begins = (
            float(self.times[BEGIN, slot]) for slot in slots if not wanted.isdisjoint(self._members(slot).tolist())
        )
        return min((begin for begin in begins if begin >= after), default=float("inf"))

    def _overlapping(self, begin: float, end: float) -> list[int]:
        begins, ends = self.times[:, self._reservations : self.sizes[COUNT]]
        return (self._reservations + np.flatnonzero((begins < end) & (ends > begin))).tolist()

    def _members(self, slot: int) -> Ints:
        first, many = self.parts[:, slot]
        return self.members[first : first + many]


MOST_TOGETHER = 1024
"""Jobs alike that are given slots in one call of a kernel, at most."""
MOST_SEARCHES = 128
"""So many searches are kept in a cycle, some 24 bytes a node each."""


class Search(NamedTuple):
    """A search: for what, and how far it has come."""

    request: Request
    work: Work


class Searches(Scratch):
    """What the searches of a cycle have come to, by what was sought.

    Args:
        nodes: how many there are.

    Attributes:
        known: those that have begun.
        capacity: room for a number of each node.
        sets: room for sets of neighbours.
        taken: the nodes that the last one took, and the units of each.
        starts: when those start to which the last one gave slots.
    """

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._spare: list[Work] = []
        self.known: dict[Sought, Search] = {}
        self.capacity: Ints = np.empty(nodes, dtype=np.int64)
        self.sets: Ints = np.empty((SETS, nodes), dtype=np.int64)
        self.taken: Ints = np.empty((2, nodes), dtype=np.int64)
        self.starts: Reals = np.empty(MOST_TOGETHER)

    def begin(self, sought: Sought, at: float, request: Request) -> Search:
        """A search that is to begin at a time."""
        if len(self.known) == MOST_SEARCHES:
            self._spare.append(self.known.pop(next(iter(self.known))).work)
        work = self._spare.pop() if self._spare else self._new()
        work.tried = work.time = at
        self.known[sought] = search = Search(request, work)
        return search

    def forget(self) -> None:
        """Something has started: all searches start over."""
        self._spare += [search.work for search in self.known.values()]
        self.known.clear()

    def _new(self) -> Work:
        kept, room, capacity = (np.empty(self._nodes, dtype=np.int64) for _ in range(3))
        return Work(kept, room, capacity, Counts(), self.sets, self.taken, self.starts)


class CompiledWindows(Windows):
    """The plan of one cycle, with compiled code for the search of plain jobs.

    Args:
        cluster: the cluster state.
        controls: reservations, and sharing.
        habits: of the scheduler.
    """

    slots: CompiledSlots

    def __init__(self, cluster: Cluster, controls: Controls, habits: Habits) -> None:
        super().__init__(cluster, controls, habits)
        assert isinstance(cluster.compiled, Compiled)
        self._compiled = cluster.compiled
        self._searches, self._outlooks = cluster.compiled.searches, cluster.compiled.outlooks
        self._stale, self._together = True, False
        self._simple: dict[Kind, bool] = {}
        self._decided: dict[Kind, bool] = {}
        self._last: int | None = None
        self._preempts = cluster.policies.names_victims
        by_priority = "PRIORITY" in cluster.parameters.preempt_mode
        self._by_partition = cluster.policies.by_partition and not by_priority
        self._preempting: dict[str, bool] = {}
        self._by_class = cluster.accounting is None and (not self._preempts or self._by_partition)
        self._hopes = Hopes(self._searches.capacity, self._searches.sets, self._searches.taken)
        self._asked = (
            cluster.now,
            cluster.now + habits.window,
            habits.resolution,
            self._rounding,
            self._own_ends,
            habits.size,
        )

    def _no_slots(self) -> CompiledSlots:
        standing = self._controls.reservations.standing(self._cluster.now)
        self._moving = any("REPLACE" in one.flags for one in standing)
        tries = self._controls.reservations.tries(self._habits.resolution)
        begins = [self._controls.reservations.begin_of(one) for one in standing]
        return CompiledSlots(len(self._cluster.machine), standing, begins, tries)

    def preempted(self, kept: Mapping[int, Mask] | None = None) -> None:
        """Runs end at other times: all searches start over, and more may start."""
        super().preempted()
        self._hopes.more_may_start()
        self._last = None

    def _other_runs(self) -> None:
        super()._other_runs()
        self._stale = True
        self._preempting.clear()
        self._decided.clear()
        self._hopes.other_runs()

    def alike(self, entries: Sequence[Entry], to_start: bool = False) -> Iterator[list[Entry]]:
        """Together those on which nothing but nodes and time decides, and that ask for the same.

        Where plans are not seen, they end behind the last that could start, once it is known whether they are news.
        """
        queue, given, decides = list(entries), 0, None if self._by_class else self._may_be_grouped
        if not to_start or self._cluster.plans_are_seen:
            yield from self._together_in(queue)
            return
        for group in self._together_in(queue):
            self._look_again()
            last = len(queue) if self._last is None else self._last
            self._hopes.by_user = self._cluster.users_part
            self._last = self._hopes.last(queue, last, self.slots.columns, self._question, decides)
            if given >= self._last and self._is_news_known():
                return
            given += len(group)
            yield group

    def _question(self, entry: Entry, length: float) -> Question | None:
        """What the kernel is asked of jobs alike until another run starts; None if it is not for it to say."""
        job, partition = entry._pair  # type: ignore[attr-defined]
        if not self._may_be_grouped(entry) or self._cluster.policies.counts_otherwise(job, partition):
            return None
        code = self._compiled.code(job, partition)
        assert code is not None
        return Question(code, self._outlooks.of(job, partition, code), self._cluster.now + length)

    def _is_news_known(self) -> bool:
        """Whether more that is kept makes no difference to whether another cycle follows."""
        cluster, slots = self._cluster, self.slots
        news = len(slots) > 0 if cluster.parameters.rules.PLANS_ARE_NEWS else is_news(slots, cluster)
        return news and (marks(slots, cluster) or not (cluster.free.units > 0).any())

    def _together_in(self, entries: list[Entry]) -> Iterator[list[Entry]]:
        first, joins = 0, None if self._by_class else self._may_be_grouped
        while first < len(entries):
            together = self._may_be_grouped(entries[first])
            by_user = together and self._cluster.users_part
            until = alike_until(entries, first, joins, by_user) if together else first + 1
            self._together = together
            yield entries[first:until]
            first = until

    def _may_be_grouped(self, entry: Entry) -> bool:
        """Whether nothing but nodes and time decides on the job, so that it gets a slot if it does not start."""
        kind: Kind | None = entry._kind  # type: ignore[attr-defined]
        if kind is None:
            return False
        decided = self._decided.get(kind)
        if decided is None:
            decided = self._decides(kind, *entry._pair)  # type: ignore[attr-defined]
            if self._by_class:
                self._decided[kind] = decided
        return decided

    def _decides(self, kind: Kind, job: Job, partition: Partition) -> bool:
        """The same of a job of a kind."""
        if kind not in self._simple:
            coded = self._compiled.code(job, partition) is not None
            self._simple[kind] = coded and not job.options.licenses and self._controls.rows.depth(job, partition) < 2
        if not self._simple[kind]:
            return False
        accounting = self._cluster.accounting
        if accounting is not None and (accounting.binds(job) or job.reserves_nothing):
            return False
        return self._plain(job, partition)

    def place(self, entries: Sequence[Entry], keep: bool) -> tuple[list[float], Hole | None]:
        """Seek holes for entries alike, and keep those that are not now."""
        first = entries[0]
        job, partition = first._pair  # type: ignore[attr-defined]
        if not keep or not self._together:
            return super().place(entries, keep)
        self._sought = True
        sought = self._sought_by(job, partition, length_of(job))
        starts: list[float] = []
        while True:
            most = min(len(entries) - len(starts), MOST_TOGETHER)
            work, placed, outcome, taken = self._place(job, partition, sought, most)
            if work is None:
                return starts, None
            starts += self._searches.starts[:placed].tolist()
            self._note_delay(self._searches.starts[:placed])
            if outcome == GROW:
                self.slots.grow(taken)
            elif outcome in (STARTS, FULL):
                self._open = None
                allocation = self._allocation(job, partition, work, taken)
                return starts, self._found(entries[len(starts)], work, allocation)
            elif outcome == NEVER or len(starts) == len(entries):
                return starts, None

    def _found(self, entry: Entry, work: Work, allocation: Allocation) -> Hole:
        """What was found; one node that is free now is not asked for again."""
        cluster = self._cluster
        if work.start > cluster.now or work.runs or len(allocation.nodes) > 1 or cluster.epilogs is not None:
            return self._as_hole(entry, work.start, allocation)
        self.last_place = place = self._place_of(entry, allocation)
        return Hole(work.start, place, True)

    def _hole(self, job: Job, partition: Partition, limit: float) -> tuple[float, Allocation] | None:
        if self._compiled.code(job, partition) is None or not self._plain(job, partition):
            return super()._hole(job, partition, limit)
        work, _, outcome, taken = self._place(job, partition, self._sought_by(job, partition, limit), 0)
        if work is None or outcome == NEVER:
            return None
        self._note_delay(np.array([work.start]))
        return work.start, self._allocation(job, partition, work, taken)

    def _note_delay(self, starts: Reals) -> None:
        """Note whether one of these starts is the end of what is kept."""
        slots = self.slots
        if not slots.delay and not self._cluster.parameters.rules.PLANS_ARE_NEWS:
            ends = slots.ends()
            slots.delay = bool(np.isin(starts, ends[ends > self._cluster.now]).any())

    def _allocation(self, job: Job, partition: Partition, work: Work, taken: int) -> Allocation:
        code, want = self._compiled.code(job, partition), job.wants[partition.name]
        assert code is not None
        free = self._outlooks.free_after(work.runs)
        found = self._compiled.selector.allocation(want, code, free, self._searches.taken, taken)
        assert found is not None
        return found

    def _plain(self, job: Job, partition: Partition) -> bool:
        """Whether no job is suspended or can be preempted, nor has the job a reservation, or nodes for its user alone.

        And any nodes are as good as those in use. In 22.05 a user's nodes are no obstacle.
        """
        cluster = self._cluster
        if self._habits.busy_nodes or cluster.suspended or self._moving or job.options.reservation:
            return False
        if self._by_users and of_one_user(job, partition):
            return False
        return not (self._preempts and self._may_preempt(job, partition))

    def _may_preempt(self, job: Job, partition: Partition) -> bool:
        """Whether a job may preempt any run."""
        if not self._by_partition:
            return bool(self._candidates(partition, job))
        known = self._preempting.get(partition.name)
        if known is None:
            known = self._preempting[partition.name] = bool(self._candidates(partition, job))
        return known

    def _place(self, job: Job, partition: Partition, sought: Sought, most: int) -> tuple[Work | None, int, int, int]:
        """Give slots to so many jobs alike.

        With ``most=0`` the place of one job is sought and it gets no slot.

        Returns:
            the search, or None if it is known that no job finds a place; how many have got
            a slot, what came of the next, and on how many nodes.
        """
        self._look_again()
        at = self._alike.get(sought, self._cluster.now)
        if at == np.inf:
            return None, 0, NEVER, 0
        known = self._searches.known.get(sought)
        request, work = known or self._begin(sought, at, job, partition)
        begun = known is not None
        placed, outcome, taken = place(request, self.slots.columns, work, begun, most)
        self._alike[sought] = work.tried
        return work, placed, outcome, taken

    def _look_again(self) -> None:
        """All searches start over if runs have come, or end at other times."""
        if self._stale:
            self._stale = False
            self._outlooks.begin()
            self._searches.forget()

    def _begin(self, sought: Sought, at: float, job: Job, partition: Partition) -> Search:
        code = self._compiled.code(job, partition)
        assert code is not None
        outlook = self._outlooks.of(job, partition, code)
        return self._searches.begin(sought, at, Request(code, outlook, *self._asked, sought[2]))
