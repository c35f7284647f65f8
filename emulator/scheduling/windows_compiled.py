"""The search for holes of :mod:`emulator.scheduling.windows`, by a kernel; the answers are the same.

For a plain request the search goes once through time: what running jobs give back and what
slots keep changes the room on single nodes, so that most instants are refused by three
counts. Nodes are picked only where the counts suffice. Jobs that ask for the same and
follow one another are given their slots in one go. What a search has come to is kept: the
next job that asks for the same goes on from there.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np

from emulator.scheduling.alike import alike_until
from emulator.scheduling.compiled import Compiled
from emulator.scheduling.controls import Controls
from emulator.scheduling.cycle import Cycle, Keeping
from emulator.scheduling.outlooks import stretches_of
from emulator.scheduling.preempt import planned_want
from emulator.scheduling.run_rows import FIRST, MANY, Reals
from emulator.scheduling.select_kernel import Code
from emulator.scheduling.stretches import Stretches
from emulator.scheduling.window_rows import (
    BEGIN,
    COUNT,
    DELAY,
    EDGE,
    END,
    MARKS,
    NEVER,
    PARTS,
    RESERVED,
    SIZES,
    USED,
)
from emulator.scheduling.windows import Habits, Kind, Sought, Windows, is_news, marks
from emulator.scheduling.windows_kernel import (
    Columns,
    Request,
    Terms,
    Work,
    add_slot,
    any_kept,
    any_of,
    cut_again,
    keep,
)
from emulator.state.cluster import Cluster
from emulator.state.job import Job
from emulator.state.kept import Slots
from emulator.state.partition import Partition
from emulator.state.reservation import Reservation
from slurm_sim_plugins.nodes import Allocation, Free, Ints, Mask, Want
from slurm_sim_plugins.plan import Entry, Hole, Place
from slurm_sim_plugins.sched.bounds import Bounds

NO_PLAN = -1
"""The number of no plan: where a plan has it, all its searches start over."""


@lru_cache(maxsize=8)
def _names(nodes: int) -> Ints:
    """A random number for each node: no sum of some is that of others, but by rare chance, and none is too large."""
    return np.random.default_rng(0).integers(1, 2**40, nodes, dtype=np.int64)


@lru_cache(maxsize=8)
def _of_none(nodes: int) -> Reals:
    """When the first slot begins that keeps each node, and when the last one ends, where there are none."""
    return np.repeat([[np.inf], [-np.inf]], nodes, axis=1)


class CompiledSlots(Slots):
    """Slots as columns, instead of the plain ones; before them what reservations keep from most jobs.

    Args:
        nodes: how many there are.
        reservations: those that keep nodes from jobs that do not ask for them.
        begins: from when on each of these does.
        tries: when nodes are looked for because of them.
        stretches: nodes that are alike, which the slots cut; None for others.

    Attributes:
        sizes: how many slots, nodes and marks, whether one delays a job, how many are reservations, how many ranges.
        times: when each begins and ends.
        order: slots by their beginnings, and by their ends.
        parts: where the nodes of each begin among ``members``, how many they are, and which is left at its end.
        members: nodes of the slots, one slot after the other.
        ranges: neighbours among these: the first, and the one behind the last.
        marks: bounds of slots, ascending.
        turns: what changes at each of these, see :mod:`emulator.scheduling.window_rows`.
        names: a random number for each node.
        others: when nodes are looked for because of reservations, ascending.
        until: when the first slot begins that keeps each node; infinite for none.
        over: when the last one ends that is no reservation; minus infinity for none.
        columns: all of these, as kernels take them.
    """

    def __init__(
        self,
        nodes: int,
        reservations: Sequence[Reservation] = (),
        begins: Sequence[float] = (),
        tries: Collection[float] = (),
        stretches: Stretches | None = None,
    ) -> None:
        self._nodes = nodes
        self._reservations = len(reservations)
        self.sizes: Ints = np.zeros(SIZES, dtype=np.int64)
        self.sizes[RESERVED] = len(reservations)
        self.times: Reals = np.empty((2, 512))
        self.order: Ints = np.empty((2, 512), dtype=np.int64)
        self.parts: Ints = np.empty((PARTS, 512), dtype=np.int64)
        self.members: Ints = np.empty(max(8192, 8 * nodes), dtype=np.int64)
        self.ranges: Ints = np.empty((2, len(self.members)), dtype=np.int64)
        self.marks: Reals = np.empty(1024)
        self.turns: Ints = np.zeros((2, 1024), dtype=np.int64)
        self.names = _names(nodes)
        self.others: Reals = np.array(sorted(tries), dtype=float)
        self.until: Reals
        self.over: Reals
        self.until, self.over = _of_none(nodes).copy()
        self._gather(stretches or stretches_of(nodes))
        for one, begin in zip(reservations, begins, strict=True):
            members = np.flatnonzero(one.nodes)
            self.grow(len(members))
            # A run may end as a reservation begins, which it may not as a slot does.
            keep(math.nextafter(begin, math.inf), one.end, members, len(members), self.columns)
        self._own = int(self.sizes[USED])

    def clear(self) -> CompiledSlots:
        """Drop all slots, where no reservation is among them; the room for them stays."""
        self.sizes[:] = 0
        self.until[:], self.over[:] = np.inf, -np.inf
        self.of_stock, self.turned_away, self.in_vain, self.noted = False, (), False, False
        return self

    @property
    def delay(self) -> bool:
        """Whether some job has to wait for a bound of one, though its nodes would be free before."""
        return bool(self.sizes[DELAY])

    @delay.setter
    def delay(self, delay: bool) -> None:
        self.sizes[DELAY] = delay

    def _gather(self, stretches: Stretches) -> None:
        rows = (self.sizes, self.times, self.order, self.parts, self.members, self.ranges, self.marks)
        self.columns = Columns(*rows, self.turns, self.names, self.others, self.until, self.over, stretches)

    @property
    def bounds(self) -> set[float]:
        """Times at which one begins or ends."""
        return set(self.marks[: self.sizes[MARKS]].tolist())

    @property
    def edges(self) -> list[float]:
        """Bounds between what Slurm keeps apart, ascending: what is kept before and behind others is one."""
        many = self.sizes[MARKS]
        edges: list[float] = self.marks[:many][self.turns[EDGE, :many] > 0].tolist()
        return edges

    def nodes(self) -> Ints:
        """Nodes that are kept at any time, ascending."""
        if not self._reservations:
            return np.flatnonzero(self.until < np.inf)
        mask = np.zeros(self._nodes, dtype=bool)
        mask[self.members[self._own : self.sizes[USED]]] = True
        return np.flatnonzero(mask)

    def any_has(self, counts: Ints) -> bool:
        """Whether any node that is kept has some of what is counted."""
        return any_kept(self.columns, self._own, counts, True)

    def any_has_none(self, counts: Ints) -> bool:
        """Whether any node that is kept has none of what is counted."""
        return any_kept(self.columns, self._own, counts, False)

    def __len__(self) -> int:
        return int(self.sizes[MARKS])

    def add(self, begin: float, end: float, nodes: Sequence[int]) -> None:
        """Keep nodes from ``begin`` to ``end`` (seconds)."""
        self.grow(len(nodes))
        add_slot(begin, end, np.array(nodes, dtype=np.int64), len(nodes), self.columns)

    def copied_to(self, other: CompiledSlots) -> CompiledSlots:
        """The other ones, which are empty but for what reservations keep, with these slots."""
        for slot in range(self._reservations, int(self.sizes[COUNT])):
            first, many = self.parts[FIRST, slot], self.parts[MANY, slot]
            begin, end = self.times[:, slot].tolist()
            other.add(begin, end, self.members[first : first + many].tolist())
        other.delay, other.turned_away, other.of_stock = self.delay, self.turned_away, False
        other.in_vain, other.noted = self.in_vain, self.noted
        return other

    def grow(self, nodes: int) -> None:
        """Make room for another slot of so many nodes."""
        full, lacking = self.sizes[COUNT] == self.times.shape[1], self.sizes[USED] + nodes > len(self.members)
        if not full and not lacking:
            return
        if full:
            self.times, self.order, self.parts = (
                np.concatenate([columns, columns], axis=1) for columns in (self.times, self.order, self.parts)
            )
            self.marks = np.concatenate([self.marks, self.marks])
            self.turns = np.concatenate([self.turns, self.turns], axis=1)
        while self.sizes[USED] + nodes > len(self.members):
            self.members = np.concatenate([self.members, self.members])
            self.ranges = np.concatenate([self.ranges, self.ranges], axis=1)
        self._gather(self.columns.stretches)

    def kept(self, begin: float, end: float) -> Mask:
        """Nodes that are kept at some time between."""
        mask = np.zeros(self._nodes, dtype=bool)
        first, many = self.parts[:2, self._overlapping(begin, end)]
        upto = np.cumsum(many)
        mask[self.members[np.repeat(first - upto + many, many) + np.arange(many.sum())]] = True
        return mask

    def kept_from_run(self, begin: float, end: float) -> Mask:
        """Nodes that are kept from a run between: a slot that begins as the run ends keeps its nodes from it, too."""
        return self.kept(begin, math.nextafter(end, math.inf))

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
        first, many = self.parts[:2, slot]
        return self.members[first : first + many]


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
        # 24.11 has a run that ends at the time that is tried still there.
        self._windows_behind = self._by_tries * (1 + self._own_ends)
        self._terms = self._terms_of_now()
        self._number = self._searches.begin(self._terms, bool(self._standing))
        self._stale = self._first_look = True
        named, by_priority = cluster.policies.names_victims, "PRIORITY" in cluster.parameters.preempt_mode
        # With gang scheduling jobs of lower tiers that stand still are no obstacle, whether or not any are preempted.
        self._preempts = named or controls.rows.gang is not None
        self._by_partition = not named or (cluster.policies.by_partition and not by_priority)
        self._preempting: dict[str, tuple[Job, Partition, bool]] = {}
        self._look_at_limits()
        self._steady: dict[Kind, bool] = {} if self._decides_again() else cluster.compiled.steady
        self._decided: dict[Kind, bool] = {} if self._preempts else self._steady
        self.now, self.tried = cluster.now, self._alike
        self._together = self._other_victims = False
        self._more: dict[tuple[int, str], bool] = {}
        self._cleared: dict[tuple[int, str], bool] = {}
        self._if_clear: Free | None = None
        self._vain: set[tuple[Sought, float]] = set()
        self._refused: set[Sought] = set()
        self._counts_cores: bool | None = None

    def _look_at_limits(self) -> None:
        """Note whether any limit decides on starts; if none does, jobs that ask for the same are alike."""
        accounting = self._cluster.accounting
        self._accounting = accounting if accounting is not None and accounting.decides else None
        self._by_kind = self._accounting is None and (not self._preempts or self._by_partition)

    def _decides_again(self) -> bool:
        """Whether what decides on jobs of a kind, but for preemption, may be other than in the cycle before."""
        of_others = self._cluster.suspended or self._standing or self._habits.busy_nodes or self._any_goes_over()
        epilogs = self._cluster.epilogs
        # A job is planned on nodes that are being cleared, and waits until they are.
        of_others = of_others or (epilogs is not None and bool(epilogs.any()))
        parted = self._by_users and self._cluster.users_part
        again = bool(of_others or not self._by_kind or parted or self._controls.rows.any_share)
        # Of a job for which too few nodes are up none are sought.
        before, self._compiled.up = self._compiled.up, self._cluster.machine.up.tobytes()
        again = again or before != self._compiled.up
        if again:
            self._compiled.steady.clear()
        return again

    def _no_slots(self) -> CompiledSlots:
        self._standing = standing = self._controls.reservations.standing(self._cluster.now)
        self._nearby: dict[str, Ints] = {}
        self._moving = any("REPLACE" in one.flags or one.cores is not None for one in standing)
        tries = self._controls.reservations.tries(self._habits.resolution)
        begins = [self._controls.reservations.begin_of(one) for one in standing]
        assert isinstance(self._cluster.compiled, Compiled)
        outlooks = self._cluster.compiled.outlooks
        if outlooks.spare_slots and not (standing or tries):
            spare = outlooks.spare_slots.pop()
            assert isinstance(spare, CompiledSlots)
            if spare.columns.stretches is outlooks.stretches:  # Else nodes are others since.
                return spare.clear()
        return CompiledSlots(len(self._cluster.machine), standing, begins, tries, outlooks.stretches)

    def preempted(self, kept: Mapping[int, Mask] | None = None) -> None:
        """Runs end at other times: all searches start over, and more may start."""
        super().preempted()
        self._look_at_limits()
        self._searches.more_may_start()
        if self._cluster.now > self.now:
            self._go_on_from_now()

    def started(self, job: Job) -> None:
        """As it says; where it has nodes for its user alone, these are not counted as such yet."""
        super().started(job)
        if self._by_users and job.options.exclusive_to in ("user", "topo"):
            self._decide_again()

    def _decide_again(self) -> None:
        """What decides on jobs of a kind may be other from now on."""
        self._steady.clear()
        self._decided.clear()

    def _terms_of_now(self) -> Terms:
        """What holds for all searches from now on."""
        cluster, habits = self._cluster, self._habits
        return Terms(
            cluster.now,
            cluster.now + habits.window,
            habits.resolution,
            cluster.second_phase,
            self._rounding,
            self._own_ends,
            habits.size,
            int(self._plans_are_news),
            self._windows_behind,
            int(self._goes_on),
            cluster.rest_of_second,
            # select/linear takes ends one by one (recorded).
            -1.0 if cluster.nodes_for.whole_nodes else habits.linear,
        )

    def _go_on_from_now(self) -> None:
        """A cycle that has paused goes on later: nothing starts before that."""
        self.now = now = self._cluster.now
        self._terms, self._number = self._terms_of_now(), NO_PLAN
        for sought in [sought for sought, time in self.tried.items() if time < now]:
            del self.tried[sought]
        if self._standing or self._controls.reservations.standing(now):
            # From when on reservations keep their nodes goes by the second that it is; others may have come.
            self.slots = self.slots.copied_to(self._no_slots())
            self._decide_again()

    def _other_runs(self) -> None:
        super()._other_runs()
        self._stale = self._other_victims = True
        self._more.clear()
        self._cleared.clear()
        self._if_clear = None
        self._vain.clear()
        self._refused.clear()
        self._counts_cores = None
        parted = self._by_users and self._cluster.users_part
        clearing = self._cluster.epilogs is not None
        if parted or clearing or self._cluster.suspended or self._controls.rows.gang is not None:
            self._decide_again()

    # What the kernel of a cycle asks

    def cycle(self, entries: list[Entry], bounds: Bounds, left: int) -> Cycle | None:
        """The steps of a cycle that start nothing; None where reservations draw jobs, which keep nothing there.

        Where plans are not seen, it ends behind the last job that could start, once it is known whether they are news.
        """
        if self._cluster.order.draws:
            return None
        to_start = not self._cluster.plans_are_seen
        self.slots.of_stock = not (self._standing or len(self.slots.others))
        return Cycle(
            self,
            self._searches,
            Keeping(self, self._searches),
            entries,
            bounds,
            left,
            self._decided,
            self._by_kind,
            to_start,
        )

    @property
    def clears(self) -> bool:
        """Whether nodes are being cleared for any job, which is not tried again."""
        return bool(self._making_way)

    @property
    def by_user(self) -> bool:
        """Whether some nodes are for jobs of one user alone, so that jobs alike are of one user."""
        return self._cluster.users_part

    def _code(self, job: Job, partition: Partition) -> Code | None:
        """What a job is planned with as numbers; None if it is not plain."""
        code = self._compiled.code(job, partition)
        if code is None and self._compiled.planned_code(job, partition) is not None and self._is_even():
            return self._compiled.planned_code(job, partition)
        return code

    def _starts_otherwise(self, job: Job, partition: Partition, work: Work) -> bool:
        """Whether a search found a start now, for a job that takes nodes in another order then."""
        return work.start <= self._cluster.now and self._compiled.code(job, partition) is None

    def request_of(self, job: Job, partition: Partition, length: float) -> Request:
        """What is wanted by a job, and others alike."""
        code = self._code(job, partition)
        assert code is not None
        divided = self._outlooks.divided
        outlook, there = self._outlooks.of(job, partition, code), self._there(job, partition).view(np.uint8)
        if self._outlooks.divided != divided:
            self._searches.begin_again()
            cut_again(self.slots.columns)
        return Request(code, outlook, length, self._terms, self.near(partition), there)

    def near(self, partition: Partition) -> Ints:
        """Reservations that have nodes of a partition."""
        known = self._nearby.get(partition.name)
        if known is None:
            near = [number for number, one in enumerate(self._standing) if (one.nodes & partition.nodes).any()]
            known = self._nearby[partition.name] = np.array(near, dtype=np.int64)
        return known

    def cpus_planned(self, job: Job, partition: Partition) -> float:
        """With how many CPUs a job counts once it is planned: 0 for as many as before, infinite if plans say it."""
        policies = self._cluster.policies
        if not policies.counts_cpus:
            return 0.0
        return math.inf if policies.counts_by_plan(job, partition) else policies.cpus_planned(job, partition)

    def counts_otherwise(self, job: Job, partition: Partition) -> bool:
        """Whether a job counts with other CPUs once it is planned."""
        return self._cluster.policies.counts_otherwise(job, partition)

    def look_at_victims(self) -> None:
        """Jobs are decided on again if those of a partition may preempt any run that could not before, or none now."""
        if not self._other_victims:
            return
        self._other_victims = False
        for name, (job, partition, may) in self._preempting.items():
            if may != bool(self._candidates(partition, job)):
                self._preempting[name] = job, partition, not may
                self._decided.clear()

    def look_again(self) -> None:
        """All searches start over if runs have come, or end at other times."""
        searches = self._searches
        if self._number != searches.cycles:
            # There has been another plan since.
            self._number = searches.begin(self._terms, bool(self._standing))
            self._stale = self._first_look = True
        if self._stale:
            parted = self._cluster.users_part
            given_back = self._controls.rows.given_back
            searches.start_over(self._outlooks.begin(self._first_look, parted, given_back), parted)
            cut_again(self.slots.columns)
            self._stale = self._first_look = False

    def is_news_known(self) -> bool:
        """Whether more that is kept makes no difference to whether another cycle follows."""
        cluster, slots = self._cluster, self.slots
        news = slots.any_noted if cluster.parameters.rules.PLANS_ARE_NEWS else is_news(slots, cluster)
        return news and (marks(slots, cluster) or not any_of(cluster.free.units))

    def alike(self, entries: Sequence[Entry]) -> Iterator[list[Entry]]:
        """Together those on which nothing but nodes and time decides, and that ask for the same."""
        queue, first, joins = list(entries), 0, None if self._by_kind else self.may_be_grouped
        while first < len(queue):
            together = self.may_be_grouped(queue[first])
            until = alike_until(queue, first, joins, self._cluster.users_part) if together else first + 1
            self._together = together
            yield queue[first:until]
            first = until

    def may_be_grouped(self, entry: Entry) -> bool:
        """Whether nothing but nodes and time decides on the job, so that it gets a slot if it does not start."""
        kind: Kind | None = entry._kind
        if kind is None:
            return False
        self.look_at_victims()
        decided = self._decided.get(kind)
        if decided is None:
            decided = self._decides(kind, *entry._pair)
            if self._by_kind and self._controls.rows.are_sorted(entry._pair[1]):
                self._decided[kind] = decided
        return decided

    def _decides(self, kind: Kind, job: Job, partition: Partition) -> bool:
        """The same of a job of a kind."""
        steady = self._steady.get(kind)
        if steady is None:
            steady = self._is_steady(job, partition)
            if self._by_kind and self._controls.rows.are_sorted(partition):
                self._steady[kind] = steady
        return steady and not (self._preempts and self._may_preempt(job, partition))

    def _is_steady(self, job: Job, partition: Partition) -> bool:
        """The same but for preemption, which goes by the runs that there are."""
        accounting = self._accounting
        coded = self._code(job, partition) is not None
        if not coded or job.options.licenses or self._may_have_more(job, partition):
            return False
        if accounting is not None and (accounting.binds(job, partition) or job.reserves_nothing):
            return False
        if self._lacks_nodes(job, partition) or self._controls.rows.counts_in_plans:
            return False
        return self._is_simple(job, partition)

    def _may_have_more(self, job: Job, partition: Partition) -> bool:
        """Whether a job may find resources now that others have, whatever slots keep."""
        rows, cluster = self._controls.rows, self._cluster
        if not rows.shares(job, partition):
            return False
        code = self._code(job, partition)
        if rows.gang is None or code is None or not code.steady or cluster.parts_users(job):
            return True
        key = job.request_class, partition.name
        known = self._more.get(key)
        if known is None:
            if not (rows.goes_by_request and rows.are_sorted(partition)):
                return True
            usable = cluster.settled(self._usable(job, partition))
            # Where jobs have nodes alone, or some are reserved or being cleared, it may start on what no job has, too.
            strict = bool(code.whole or self._standing or cluster.epilogs is not None)
            known = self._more[key] = rows.may_have_more(job, partition, usable, strict)
        return known

    def beside(self, entry: Entry) -> Place | None:
        """As it says; not asked again where jobs alike found nothing, for slots keep only more."""
        job, partition = entry._pair
        if not self._may_have_more(job, partition):
            return None
        sought = self._sought_by(job, partition, entry.shortest)
        if sought in self._refused:
            return None
        found = super().beside(entry)
        by_request = (job.request_class, partition.name) in self._more and not (job.barred or self._standing)
        if found is None and by_request and self._accounting is None:
            self._refused.add(sought)
        return found

    def place(self, entries: Sequence[Entry], keep: bool, now_only: bool = False) -> tuple[list[float], Hole | None]:
        """Seek holes for entries alike, and keep those that are not now; with ``now_only`` none is kept."""
        if not keep or now_only or not self._together:
            return super().place(entries, keep, now_only)
        self.look_again()
        self._sought, keeping = True, Keeping(self, self._searches)
        keeping.keep(list(entries), 0)
        return keeping.times, keeping.hole

    def found(self, entry: Entry, work: Work, taken: int) -> Hole:
        """What a search found for an entry, which keeps no slot."""
        self._open = None
        job, partition = entry._pair
        if self._starts_otherwise(job, partition, work):
            found = super()._hole(job, partition, entry.shortest)
            assert found is not None
            return self._as_hole(entry, *found)
        allocation = self._allocation(job, partition, work, taken)
        self._count_planned(job, partition, allocation)
        return self._found(entry, work, allocation)

    def _count_planned(self, job: Job, partition: Partition, allocation: Allocation) -> None:
        """A job was planned: if plans say with how many CPUs it counts, it is with those that it would have."""
        policies = self._cluster.policies
        if self.counts_cpus and policies.counts_by_plan(job, partition):
            policies.given(job, allocation)

    def _found(self, entry: Entry, work: Work, allocation: Allocation) -> Hole:
        """What was found; nodes that are free now are not asked for again."""
        if work.start > self._cluster.now or work.runs:
            return self._as_hole(entry, work.start, allocation)
        self.last_place = place = self._place_of(entry, allocation)
        return Hole(work.start, place, True)

    def _hole(self, job: Job, partition: Partition, limit: float) -> tuple[float, Allocation] | None:
        coded = self._code(job, partition) is not None
        alone = self._controls.rows.plans_alone(job, partition)
        if not coded or not alone or not self._is_plain(job, partition):
            return super()._hole(job, partition, limit)
        if self._preempts and self._may_preempt(job, partition):
            return super()._hole(job, partition, limit)
        if self._fits_cleared(job, partition) and self._fits_now_if_clear(job, partition, limit):
            return super()._hole(job, partition, limit)
        self.look_again()
        search = self._searches.of(job, partition, limit, self)
        _, outcome, taken = self._searches.place(search, self.slots.columns, 0, self.tried)
        work = search.work
        if work is not None and work.fitted:
            self.fitted.add(search.sought)
        if outcome == NEVER or work is None:
            if work is not None and work.planned and self.cpus_planned(job, partition) == math.inf:
                job.planned_cpus = work.planned
            return None
        if self._starts_otherwise(job, partition, work):
            return super()._hole(job, partition, limit)
        allocation = self._allocation(job, partition, work, taken)
        self._count_planned(job, partition, allocation)
        return work.start, allocation

    def _allocation(self, job: Job, partition: Partition, work: Work, taken: int) -> Allocation:
        code, want = self._code(job, partition), job.wants[partition.name]
        assert code is not None
        free = self._outlooks.free_after(work.runs)
        found = self._compiled.selector.allocation(want, code, free, self._searches.taken, taken)
        assert found is not None
        return found

    def _is_simple(self, job: Job, partition: Partition) -> bool:
        """Whether kernels know all that decides on a job: it is plain, and nodes that are being cleared do not help."""
        return self._is_plain(job, partition) and not self._fits_cleared(job, partition)

    def _is_plain(self, job: Job, partition: Partition) -> bool:
        """Whether no job is suspended, nor has the job a reservation, or nodes for its user alone.

        And its nodes have no limits, and any are as good as those in use. In 22.05 nodes of a user are no obstacle.
        """
        cluster = self._cluster
        if self._habits.busy_nodes or cluster.suspended or self._moving or job.reservation or self._any_goes_over():
            return False
        if self._by_users and cluster.parts_users(job):
            return False
        if self._standing and self._controls.reservations.waited_out(job, partition):
            return False
        if self._counts_cores is None:
            self._counts_cores = self._controls.rows.are_counted
        if not self._counts_cores:
            return False
        return self._accounting is None or self._accounting.heavier(job, partition) is None

    def _fits_cleared(self, job: Job, partition: Partition) -> bool:
        """Whether a job may find nodes now with those that are being cleared, whatever slots keep.

        So may any of its kind, of whatever user, for whom other nodes may be usable.
        """
        cluster, want = self._cluster, job.wants[partition.name]
        if cluster.epilogs is None:
            return False
        if self._goes_by_more(want):
            return True
        key = job.request_class, partition.name
        known = self._cleared.get(key)
        if known is None:
            # Which nodes are chosen goes by those that slots leave: too few of them are too few whatever these are.
            usable, free = cluster.up_in(partition), self._free_if_clear()
            known = self._cleared[key] = self._fitting(planned_want(job, partition, cluster), usable, free)
        return known

    def _fits_now_if_clear(self, job: Job, partition: Partition, limit: float) -> bool:
        """Whether it may find them now, for so long, on nodes that slots leave: the longer the cycle, the fewer."""
        cluster, code, want = self._cluster, self._code(job, partition), job.wants[partition.name]
        if self._goes_by_more(want) or code is None:
            return True
        if self._controls.reservations.first_start(job, partition, cluster.now, limit) > cluster.now:
            return False
        sought = self._sought_by(job, partition, limit), cluster.now
        if sought in self._vain:
            return False
        usable = self._usable(job, partition) & self._unkept(job, cluster.now, limit)
        free = self._free_if_clear()
        found = self._compiled.select(want, code, usable, free)
        if found is None:
            planned = self._rather_clear(planned_want(job, partition, cluster), usable)
            found = cluster.choose(planned, free, usable)
        if found is None:
            self._vain.add(sought)
        return found is not None

    def _goes_by_more(self, want: Want) -> bool:
        """Whether room goes by more than by what is free: by switches, or by the rows of jobs that take turns."""
        return want.tree is not None or self._controls.rows.gang is not None

    def _free_if_clear(self) -> Free:
        """What would be free now if no node were being cleared."""
        self._if_clear = self._if_clear or self._cluster.free_if_clear()
        return self._if_clear

    def _may_preempt(self, job: Job, partition: Partition) -> bool:
        """Whether a job may preempt any run."""
        if not self._by_partition:
            return bool(self._candidates(partition, job))
        self.look_at_victims()
        known = self._preempting.get(partition.name)
        if known is None:
            known = self._preempting[partition.name] = job, partition, bool(self._candidates(partition, job))
        return known[2]
