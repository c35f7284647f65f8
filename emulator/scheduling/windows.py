"""The plan of Slurm's backfill on nodes: the first hole that a job fits into, beside the nodes that are kept.

Whole nodes are kept, from and to whole steps of the resolution. (Observations Q2 to Q5, T5, T8,
C8, B1 to B3.)
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from operator import itemgetter

import numpy as np

from emulator.scheduling.alike import count_alike
from emulator.scheduling.controls import Controls
from emulator.scheduling.entries import array_full
from emulator.scheduling.future import Future
from emulator.scheduling.job_mgr import bars_account, plan_reason, wishing
from emulator.scheduling.licenses import LicensePlan
from emulator.scheduling.preempt import candidates, left_by, movable, planned_want, preempt_mode
from emulator.state.asked import known_nodes
from emulator.state.cluster import Cluster
from emulator.state.job import LICENSES, RESOURCES, Job
from emulator.state.kept import Slots
from emulator.state.partition import Partition
from emulator.state.run import YEAR, State
from emulator.workload.request import UNLIMITED
from slurm_sim_plugins.gres import NO_GRES_WANTED
from slurm_sim_plugins.nodes import Allocation, Choice, Free, Ints, Mask, Want
from slurm_sim_plugins.plan import Answer, Entry, Hole, Place, WindowPlan
from slurm_sim_plugins.select.capacity import capacity_of
from slurm_sim_plugins.select.linear import is_even

SOON = 500.0
"""Seconds after which Slurm plans a job that a limit keeps from starting, where nothing else says when."""
OFTEN = 5.0
"""Seconds from one pass over the whole queue to the next that come before long."""
MINUTE = 60.0
"""Seconds; limits are whole minutes."""


Kind = tuple[int, str, frozenset[str], str]
"""What a job asks of a partition but for how long: the class of the job, the partition, bounds that are lifted.

And the user of one that wants nodes for its user alone.
"""
Sought = tuple[int, str, float, str]
"""What is sought: the class of the jobs, the partition, for how long, and the user where users have nodes alone."""
Found = tuple[float, Allocation] | None
"""When a run could start, and on which nodes; None for never."""


@lru_cache(maxsize=65_536)
def _kept(kind: Kind) -> Kind:
    """The one that is kept of all that are equal, so that they are compared by what they are."""
    return kind


def kind_of(job: Job, partition: Partition) -> Kind | None:
    """The kind of an entry; None if it may not be placed together with others of its kind."""
    if len(job.partitions) > 1 or job.options.array is not None or job.options.reservation or job.barred:
        return None
    if job.request.het_job_id is not None or job.deadline < UNLIMITED or job.options.prefer:
        return None
    whose = job.request.user if job.options.exclusive_to else ""
    return _kept((job.request_class, partition.name, job.lifted, whose))


def is_news(kept: Slots, cluster: Cluster) -> bool:
    """Whether what a cycle kept has another come: Slurm notes which idle nodes it keeps, or when jobs start.

    Where it does not note all starts it does those that what is kept delays.
    """
    if kept.delay or (kept.any_noted and cluster.parameters.rules.PLANS_ARE_NEWS):
        return True
    return _plans_idle(kept, cluster)


def marks(kept: Slots, cluster: Cluster) -> bool:
    """Whether nodes are marked as planned that a cycle kept: the next one takes that back, and Slurm notes it.

    Those are marked of which no job has anything, from 24.11 on also those of which jobs have a part.
    """
    partly = cluster.parameters.rules.PLANS_ARE_NEWS and kept.any_noted and kept.any_has(cluster.free.units)
    return partly or _plans_idle(kept, cluster)


def _plans_idle(kept: Slots, cluster: Cluster) -> bool:
    """Whether nodes are planned of which no job has anything, also for a job that the plan has no room for."""
    jobs = _jobs(cluster)
    return (kept.any_noted and kept.any_has_none(jobs)) or any(jobs[node] == 0 for node in kept.turned_away)


def _jobs(cluster: Cluster) -> Ints:
    """How many jobs each node has, but for those of which it is being cleared."""
    return cluster.free.jobs if cluster.epilogs is None else cluster.free.jobs - cluster.epilogs


@dataclass(frozen=True)
class Habits:
    """What a scheduler asks of a plan that keeps nodes.

    Attributes:
        resolution: nodes are kept in whole steps of so many seconds.
        window: holes later than so many seconds from now are not kept.
        size: bounds of what is kept, at most.
        linear: the growth, in seconds, of the windows in which ends of runs are taken together; 0: they double.
        licenses: whether licences are planned.
        busy_nodes: whether nodes in use are planned with before idle ones.
    """

    resolution: float = 60.0
    window: float = 86_400.0
    size: int = 500
    linear: float = 0.0
    licenses: bool = False
    busy_nodes: bool = False


class Windows(WindowPlan):
    """The plan of one cycle, in plain Python.

    Attributes:
        slots: what is kept for jobs.
        last_place: the last place at which an entry can start now; None once something has started or was preempted.
        before_room: components that could start before the one for which others have to leave.
        counts_cpus: whether numbers depend on how many CPUs jobs have.
        fitted: what was sought and found where a slot keeps it, or too late.
    """

    def __init__(self, cluster: Cluster, controls: Controls, habits: Habits) -> None:
        self._cluster = cluster
        self._controls = controls
        self._habits = habits
        rules = cluster.parameters.rules
        # Slurm's times are whole seconds of its clock.
        rounds = rules.SLOTS_END_ON_NEXT_STEP and habits.resolution > 1
        self._rounding = cluster.second_phase + (habits.resolution - 1 if rounds else 0.0)
        self._own_ends = int(rules.ENDS_OF_OWN_NODES)
        self._by_users = rules.USERS_PART_BY_PLANS
        self._by_tries = rules.WINDOWS_BEHIND_TRIES
        self._goes_on = rules.TRIES_GO_ON
        self._plans_are_news = rules.PLANS_ARE_NEWS
        self.slots: Slots = self._no_slots()
        self.last_place: Place | None = None
        self.before_room: list[Job] = []
        self._licensed: list[tuple[Job, float, float]] = []
        self._licenses: LicensePlan | None = None
        self._open: Mask | None = None
        self._making_way: set[int] = set()
        self._tried_as_preferred = False
        self._tasks: Counter[tuple[int | None, str]] = Counter()
        self._task: tuple[int | None, str, str] | None = None
        self._sought = self._counted = True
        self._lacked: dict[tuple[int, str], bool] = {}
        self._even: bool | None = None
        self._alike: dict[Sought, float] = {}
        self.counts_cpus = cluster.policies.counts_cpus
        self.fitted: set[Sought] = set()
        self._futures: dict[int, Future] = {}
        self._goes_over: bool | None = None
        self._in_use: Mask | None = cluster.free.jobs > 0 if habits.busy_nodes else None
        if cluster.parameters.bf_running_job_reserve:
            for job in cluster.running.values():
                self._keep_run(job)

    def _keep_run(self, job: Job) -> None:
        """A run that has whole nodes keeps them up to the step of its end, unless it may be preempted.

        One that completes or is suspended keeps none (Slurm's sources, and the controller's log).
        """
        cluster = self._cluster
        if job.state in (State.COMPLETING, State.SUSPENDED):
            return
        if job.run is None or not job.run.allocation.whole or cluster.nodes_for.whole_nodes:
            return
        if preempt_mode(job, cluster) == "OFF":
            end = self._step(cluster.planned_end(job))
            if end > cluster.now and not self.full:
                self.slots.add(cluster.now, end, job.run.allocation.nodes)

    @property
    def sought(self) -> bool:
        """Whether it was asked for nodes, and not only for limits and licences."""
        return self._sought

    @property
    def counts(self) -> bool:
        """Whether the last entry counts in bounds; one does not that a limit keeps from starting on any nodes."""
        return self._counted

    @property
    def ends_at_start(self) -> bool:
        """Whether a cycle that has tried as many as it may tries no further task of an array of which one started."""
        return self._cluster.parameters.rules.STARTED_TASKS_ARE_TESTS

    @property
    def full(self) -> bool:
        """Whether there is no room for another slot; bounds behind the window take none, for it is the last."""
        size, horizon = self._habits.size, self._cluster.now + self._habits.window
        return len(self.slots) + 1 >= size and sum(bound <= horizon for bound in self.slots.bounds) + 1 >= size

    def takes(self, entry: Entry) -> bool:
        """Whether it waits still, and its partition takes it.

        What follows is asked of it in the reservation of the entry, which is to have begun.
        """
        job, partition = entry._pair
        job.drawn = entry._tried_in if job.state is State.PENDING else job.drawn
        if job.request.het_job_id is not None and job.reason == "None" and job.state is State.PENDING:
            job.reason = RESOURCES
        own = self._controls.reservations.of(job) if job.drawn else None
        if own is not None and "FLEX" not in own.flags and own.start > self._cluster.now:
            job.reason = "Reservation"
            return False
        if self._controls.reservations.is_over_early(job, job.shortest):
            return False
        if job.state is not State.PENDING or job.id in self._making_way:
            return False
        if plan_reason(job, partition, self._cluster) is not None:
            return False
        planned = self._tasks[job.request.array, partition.name]
        return job.request.options.array is None or not array_full(job, self._cluster, planned)

    def alike(self, entries: Sequence[Entry]) -> Iterator[list[Entry]]:
        """Each by itself, and all of them: compiled code takes them together."""
        for entry in entries:
            yield [entry]

    def prefers(self, entry: Entry) -> bool:
        """Whether it would rather have some nodes."""
        return bool(entry._pair[0].options.prefer)

    @property
    def arrays_are_tried_again(self) -> bool:
        """Whether an array is tried without what it would rather have, once it was refused."""
        return self._cluster.parameters.rules.ARRAYS_ARE_TRIED_AGAIN

    def preferred(self, entry: Entry) -> Hole | None:
        """Where it can start now on those; a plan for later is none (recorded)."""
        delayed, known = self.slots.delay, self._alike
        self._alike = {}  # From when on jobs alike fit is known of those without the wish.
        with wishing(*entry._pair, self._cluster, wish=True):
            hole, wished = self._first(entry), self._chosen(*entry._pair)
        self.slots.delay, self._alike, self._tried_as_preferred = delayed, known, True
        if hole is None or hole.start > self._cluster.now:
            return None
        if hole.place._open is not None:
            hole = replace(hole, place=replace(hole.place, _open=hole.place._open & wished))
        return hole

    def place(self, entries: Sequence[Entry], keep: bool, now_only: bool = False) -> tuple[list[float], Hole | None]:
        """The hole of the first; none is kept.

        Where the scheduler does not try those with a wish by themselves, it is on what they would rather have, if any.
        """
        delayed, job = self.slots.delay, entries[0]._pair[0]
        cpus = job.planned_cpus
        if self._tried_as_preferred and self.prefers(entries[0]):
            with wishing(*entries[0]._pair, self._cluster, wish=False):
                hole = self._first(entries[0])
        else:
            hole = self._first(entries[0])
        if now_only:
            # Slurm tries such a job at no later time, and so notes nothing of one, nor of its CPUs.
            self.slots.delay, job.planned_cpus = delayed, cpus
        return [], hole

    def _with_row(self, job: Job, partition: Partition, usable: Mask) -> tuple[int, Allocation | None]:
        """What a job can have now, if not alone then beside others on their resources, and in which row."""
        found = self._cluster.select(job, partition, usable)
        if found is not None:
            return 0, found
        return self._controls.rows.select(job, partition, usable) or (0, None)

    def beside(self, entry: Entry) -> Place | None:
        """Where it can start now on resources that it shares."""
        job, partition = entry._pair
        if not self._controls.rows.shares(job, partition) or partition.name in job.barred:
            return None
        cluster, limit = self._cluster, entry.shortest
        if not cluster.licenses_free(job):
            return None
        usable = self._usable(job, partition) & self._controls.not_reserved(job) & ~self._kept(cluster.now, limit)
        if self._in_row_if_clear(job, partition, usable) is not None:
            return None
        shared = self._controls.rows.select(job, partition, cluster.settled(usable), planned=True)
        if shared is None or self._at_limit(job, partition) or self._over_limit(job, partition, shared[1]):
            return None
        self.last_place = place = self._place_of(entry, shared[1], row=shared[0])
        return place

    def holes(self, first: Hole, most: int) -> Iterator[Hole]:
        """A hole, and later ones of the same entry: sought from the next change of what is free or kept on."""
        found: Hole | None = first
        for _ in range(most):
            if found is None:
                return
            yield found
            found = self._after(found)
        if found is not None:
            yield found

    def delayed(self, first: Hole, most: int = 1) -> Hole:
        """As the plugin says; runs that have to leave are chosen for the first hole, which then stays."""
        if first.start <= self._cluster.now and not first.vacant:
            return first
        job: Job = first.place._entry._pair[0]
        if not self._cluster.policies.chooses_holes:
            return self._of_last_try(first, most) if first.start <= self._cluster.now else first
        return self._cluster.policies.chosen(job, self.holes(first, most), first)

    def _of_last_try(self, first: Hole, most: int) -> Hole:
        """A hole that is now, where no plugin chooses: on nodes that are there at the last of the later times.

        Slurm tries those as well (``bf_topopt_enable``), up to so many holes, and keeps to the first; but it starts the
        job on nodes out of those that it tried last, whatever is kept on them now (recorded).
        """
        entry, open_ = first.place._entry, self._open
        job, partition = entry._pair
        limit, bounds, chosen = entry.shortest, self.slots.edges, self._chosen(job, partition)
        future, begin, last, found = self._future(job, partition), self._cluster.now, self._cluster.now, 1
        while found < most and (begin := self._next_try(job, partition, begin, limit, bounds)) < math.inf:
            later, last = self._next_try(job, partition, begin, limit, bounds), begin
            usable = self._usable(job, partition) & self._unkept(job, begin, limit)
            ends = future.of_nodes(begin, later, usable & chosen)
            found += self._will_run(job, partition, later, usable, ends) is not None
        self._open = open_
        place = self._place_now(entry, last) if last > self._cluster.now else None
        return Hole(first.start, place, True) if place is not None else first

    def keep_in_vain(self, hole: Hole) -> None:
        """Keep its nodes, which is no news."""
        noted = self.slots.noted
        self.keep(hole)
        self.slots.noted, self.slots.in_vain = noted, True

    def keep(self, hole: Hole) -> None:
        """Keep its nodes, and licences if they are planned; of a hole that is now the nodes alone."""
        start, place = hole.start, hole.place
        self.slots.noted = True
        job = place._entry._pair[0]
        nodes = self._cluster.with_blocks(job, place._allocation)
        limit = job.granted if start <= self._cluster.now else job.shortest
        grain = self._habits.resolution
        # Steps, and the second in which it starts, are those of Slurm's clock.
        begin = math.floor((start + self._cluster.second_phase) / grain) * grain
        end = max(self._step(start + limit), begin + grain)
        partition = place._entry._pair[1].name
        self._tasks[job.request.array, partition] += self._cluster.parameters.rules.TASKS_ARE_PLANNED_IN_TURN
        if start <= self._cluster.now and job.request.het_job_id is None:
            if job.made_way == self._cluster.now:
                self._making_way.add(job.id)
            self.slots.add(self._cluster.now, end, nodes)
            return
        self.slots.add(begin, end, nodes)
        if self._habits.licenses and job.options.licenses:
            self._licenses_planned().keep(job, begin, end)
            self._licensed.append((job, begin, end))

    def turn_away(self, hole: Hole) -> None:
        """Note its nodes, which Slurm marks as planned before it finds that there is no room (recorded)."""
        place = hole.place
        self.slots.turned_away = self._cluster.with_blocks(place._entry._pair[0], place._allocation)

    def again(self, entry: Entry, place: Place) -> Answer:
        """Whether an entry can start on the nodes of a place as they are now."""
        job, partition = entry._pair
        nodes = place._allocation.mask(len(self._cluster.machine)) if place._open is None else place._open
        row, found = self._with_row(job, partition, self._cluster.settled(nodes))
        if found is None:
            job.reason = RESOURCES
            return Answer(None, RESOURCES)
        if job.wants[partition.name].by_looks and found.nodes == place._allocation.nodes:
            found = place._allocation  # How tasks are dealt goes by all nodes that could be used.
        self.last_place = self._place_of(entry, found, row=row)
        return Answer(self.last_place)

    def names_of(self, allocation: Allocation) -> list[str]:
        """Names of its nodes."""
        return [self._cluster.machine.names[node] for node in allocation.nodes]

    def started(self, job: Job) -> None:
        """A run has begun: for the rest of the cycle it keeps whole nodes as with ``bf_running_job_reserve``."""
        self._other_runs()
        self._keep_run(job)

    def preempted(self, kept: Mapping[int, Mask] | None = None) -> None:
        """Runs are to end at other times."""
        self._other_runs()

    def _other_runs(self) -> None:
        """Runs end at other times, and other licences are in use."""
        self._licenses = self.last_place = self._goes_over = None
        self._futures = {}

    # The first hole

    def _first(self, entry: Entry) -> Hole | None:
        """The first hole; None if there is none, or limits or licences keep the job from it, or it is too late for one.

        One that cannot be over by its deadline is given up.
        """
        job, partition = entry._pair
        self._open = None
        planned = bool(job.options.licenses) and self._habits.licenses
        stops = self._cluster.accounting is not None and self._cluster.accounting.stops
        again = self._is_next_task(entry)
        at_limit = not again and not stops and self._at_limit(job, partition)
        self._counted = not at_limit
        self._sought = not at_limit and (planned or self._cluster.licenses_free(job))
        if not self._sought or self._needs_more_nodes(job, partition):
            return None
        if self._lacks_nodes(job, partition):
            self._sought = False
            return None
        if self._controls.give_up_late(job):
            self._sought = False
            return None
        limit = entry.shortest
        found = self._licensed_hole(job, partition, limit) if planned else self._hole(job, partition, limit)
        if stops:
            found = found and self._in_spite_of_limits(job, partition, limit, *found)
        elif found is not None and self._over_limit(job, partition, found[1], planned=found[0] > self._cluster.now):
            if self.counts_cpus:
                self._cluster.policies.planned(job, partition)
            return None
        elif again and found is not None and found[0] <= self._cluster.now and self._at_limit(job, partition):
            return None
        if found is None:
            self.no_hole([entry])
            place = self.beside(entry)
            return None if place is None else Hole(self._cluster.now, place, True)
        if found[0] > self._cluster.now + self._habits.window:
            self.fitted.add(self._sought_by(job, partition, limit))
            self.no_hole([entry])
        return self._as_hole(entry, *found)

    def _is_next_task(self, entry: Entry) -> bool:
        """Whether the last entry was a task of the same array, for all of which Slurm looks at the limits of jobs once.

        Such a task is planned for later beyond the limit that the one before has reached (Slurm 22.05 to 26.05).
        """
        shared = entry.array is not None and not entry._pair[0].runs
        before, self._task = self._task, (entry.array, entry.partition, entry._tried_in) if shared else None
        return before is not None and before == self._task

    def no_hole(self, entries: list[Entry]) -> None:
        """Entries alike have no hole to keep: their jobs count with the CPUs of a plan all the same if they fitted."""
        job, partition = entries[0]._pair
        if self.counts_cpus and self._sought_by(job, partition, entries[0].shortest) in self.fitted:
            count_alike(entries, self._cluster.policies.cpus_planned(job, partition))

    def _in_spite_of_limits(
        self, job: Job, partition: Partition, limit: float, start: float, allocation: Allocation
    ) -> tuple[float, Allocation] | None:
        """What is kept for a job with ``assoc_limit_stop``, whatever limits say: if it cannot start now, a later start.

        Slurm takes for it the next time at which a node is kept no longer, else one soon (recorded). One whose nodes
        are still being cleared is planned for the next second, for which no limit is looked at.
        """
        now, epilogs = self._cluster.now, self._cluster.epilogs
        if start <= now and epilogs is not None and (epilogs[list(allocation.nodes)] > 0).any():
            return now + 1, allocation
        if start > now or not (self._at_limit(job, partition) or self._over_limit(job, partition, allocation)):
            return start, allocation
        usable = self._usable(job, partition) & self._controls.not_reserved(job, now, limit)
        opens = self._more_left(usable, now, limit, self.slots.edges)
        later = self._following(job, partition, now, limit, opens)
        later = later if later < math.inf else now + SOON
        clash = self.slots.first_end(later, self._step(later + limit), allocation.nodes)
        self._open = None
        return (later, allocation) if clash is None else self._later_from(self._hole_from, job, partition, limit, clash)

    def not_before(self, entry: Entry, time: float) -> Hole | None:
        """The first hole that begins then or later; its job shows from now on that it waits for resources."""
        waits: Job = entry._pair[0]
        waits.reason = RESOURCES if waits.reason == "None" else waits.reason
        if time <= self._cluster.now:
            return self._first(entry)
        limited = self._at_limit(waits, entry._pair[1])
        self._open, self._counted = None, not limited
        self._sought = not (limited or self._controls.give_up_late(waits))
        return self._from(entry, time) if self._sought else None

    def together(self, entries: Sequence[Entry]) -> list[Place] | None:
        """Where entries can start now, all of them, none on a node of another, within limits that bind all."""
        places, _ = self._one_by_one(entries)
        return places if len(places) == len(entries) else None

    def room_beside(self, entries: Sequence[Entry]) -> tuple[Entry, Place] | None:
        """The first of entries that does not fit beside those before it, and where runs may have to leave for it."""
        places, room = self._one_by_one(entries)
        self.before_room = [entry._pair[0] for entry in entries[: len(places)]]
        return room

    def _one_by_one(self, entries: Sequence[Entry]) -> tuple[list[Place], tuple[Entry, Place] | None]:
        """Where the first entries can start now, up to one that cannot; that one, and the nodes that it may have."""
        cluster, places, taken = self._cluster, list[Place](), self._cluster.no_nodes()
        room: tuple[Entry, Place] | None = None
        accounting, counted, licenses = cluster.accounting, list[Job](), Counter[str]()
        for entry in entries:
            job, partition = entry._pair
            usable = cluster.settled(self._usable(job, partition)) & self._controls.not_reserved(job) & ~taken
            licenses.update(dict(job.options.licenses))
            free = all(
                count <= cluster.licenses[name][0] - cluster.licenses[name][1] for name, count in licenses.items()
            )
            if not free or self._at_limit(job, partition):
                break
            row, found = self._with_row(job, partition, usable)
            if found is None:
                room = entry, Place(self, entry, Allocation((), (), ()), _open=usable)
                break
            if self._over_limit(job, partition, found):
                break
            places.append(self._place_of(entry, found, row=row))
            taken |= found.mask(len(cluster.machine))
            if accounting is not None:
                accounting.count(job, partition, found)
                counted.append(job)
        for job in counted:
            assert accounting is not None
            accounting.uncount(job)
        return places, room

    def _after(self, hole: Hole) -> Hole | None:
        """The first hole of the same entry that begins after another one."""
        entry = hole.place._entry
        job, partition = entry._pair
        changes = [
            *(bound for bound in self.slots.bounds if bound > hole.start),
            *(bound for bound in self._controls.reservations.tries(self._habits.resolution) if bound > hole.start),
            *(end for end in self._future(job, partition).ends if end > hole.start),
        ]
        if not changes:
            return None
        # What there would be then is asked, in all versions.
        own, self._by_tries = self._by_tries, True
        found = self._from(entry, min(changes))
        self._by_tries = own
        return found

    def _from(self, entry: Entry, at: float) -> Hole | None:
        """The first hole from a time on."""
        job, partition = entry._pair
        planned = bool(job.options.licenses) and self._habits.licenses
        seek = self._licensed_hole_from if planned else self._hole_from
        found = self._later_from(seek, job, partition, entry.shortest, at)
        return None if found is None or self._over_limit(job, partition, found[1]) else self._as_hole(entry, *found)

    def _later_from(
        self,
        seek: Callable[[Job, Partition, float, float], Found],
        job: Job,
        partition: Partition,
        limit: float,
        at: float,
    ) -> Found:
        """What is found from a later time on: of jobs alike, from when on they fit, it says nothing."""
        known, self._alike = self._alike, {}
        found = seek(job, partition, limit, at)
        self._alike = known
        return found

    def _as_hole(self, entry: Entry, start: float, allocation: Allocation) -> Hole:
        job, partition = entry._pair
        if job.barred and bars_account(job, partition, self._cluster):
            return Hole(start, self._place_of(entry, allocation), False)  # No others have to leave for it.
        place = self._place_of(entry, allocation, self._open)
        now = None
        if start <= self._cluster.now and self._open is None:
            now = self._place_now(entry) or self.beside(entry)
        return Hole(start, now or place, now is not None)

    def _place_now(self, entry: Entry, tried: float | None = None) -> Place | None:
        """Where an entry starts now: Slurm chooses once more out of all nodes that it could be planned on.

        Args:
            entry: what is to start.
            tried: when those nodes were there, in seconds; None for now.
        """
        job, partition = entry._pair
        tried = self._cluster.now if tried is None else tried
        usable = self._usable(job, partition) & self._unkept(job, tried, entry.shortest)
        found = self._cluster.select(job, partition, self._cluster.settled(usable))
        if found is None:
            job.reason = RESOURCES
            return None
        self.last_place = place = self._place_of(entry, found)
        return place

    def _place_of(self, entry: Entry, allocation: Allocation, nodes: Mask | None = None, row: int = 0) -> Place:
        """A place; ``nodes``: those on which others may have to leave for it."""
        return Place(self, entry, allocation, self._limit(entry, allocation), row, nodes)

    def _limit(self, entry: Entry, allocation: Allocation) -> float:
        """For how long a job may run that starts now on these nodes."""
        job, _ = entry._pair
        grows = self._cluster.parameters.rules.TIME_MIN_GROWS and not job.tries_a_minute
        if job.time_min is None or not grows:
            granted: float = job.granted
            return granted
        now, nodes = self._cluster.now, list(allocation.nodes)
        limit = min(job.limit, YEAR, self._cluster.partitions[entry.partition].max_time)
        kept = [self.slots.first_begin(now, nodes), *(at for at in self._controls.reservations.bounds() if at > now)]
        for at in sorted(kept):
            if at - now < limit and (
                at == kept[0] or not self._controls.not_reserved(job, now, at - now + 1)[nodes].all()
            ):
                limit = (at - now) // MINUTE * MINUTE
                break
        return float(max(job.time_min, limit))

    def _at_limit(self, job: Job, partition: Partition) -> bool:
        """Whether a limit keeps a job from starting whatever nodes there are."""
        accounting = self._cluster.accounting
        if accounting is None:
            return False
        reason = accounting.obstacle(job, partition)
        if reason:
            job.reason = reason
        elif not accounting.stops:
            # A pass over the whole queue says Priority; it is left out where it finds nothing else.
            soon = self._cluster.parameters.sched_interval <= OFTEN
            accounting.forget(job, "Priority" if soon else "None")
        return bool(reason)

    def _lacks_nodes(self, job: Job, partition: Partition) -> bool:
        """Whether too few nodes are up for a job, or not those that it names: none are sought then."""
        if self._cluster.machine.all_up:
            return False
        want, up = job.wants[partition.name], self._cluster.up_in(partition)
        if want.required is not None and not want.some_required and bool((want.required & ~up).any()):
            return True
        if not self._cluster.parameters.rules.UNFIT_NODES_ARE_LACKED:
            if job.options.exclude:
                up = up & ~known_nodes(job.options.exclude, self._cluster)
            return int(up.sum()) < want.min_nodes
        key = job.request_class, partition.name
        if key not in self._lacked:
            want = replace(want, **NO_GRES_WANTED)  # They are not asked for here (recorded).
            self._lacked[key] = not any(self._fitting(want, up & choice.mask) for choice in want.choices)
        return self._lacked[key]

    def _fitting(self, want: Want, up: Mask, free: Free | None = None) -> bool:
        """Whether as many nodes as a job needs are among some, with what is free; by default whatever others have."""
        machine = self._cluster.machine
        room = capacity_of(want, machine, machine.free() if free is None else free, up)
        return int((room > 0).sum()) >= want.min_nodes

    def _needs_more_nodes(self, job: Job, partition: Partition) -> bool:
        """Whether limits allow a job fewer nodes than it needs, whatever others have: none are sought then."""
        accounting = self._cluster.accounting
        if accounting is None or accounting.most_nodes(job, partition) >= job.wants[partition.name].min_nodes:
            return False
        job.reason, self._sought = accounting.refusal(job, partition) or job.reason, False
        return True

    def _over_limit(self, job: Job, partition: Partition, allocation: Allocation, planned: bool = False) -> bool:
        """Whether what a job would have is beyond a limit: nothing is kept for it then (observation E4).

        Limits on minutes count it with as little as it takes (``--time-min``), for Slurm tries it with that (recorded).
        """
        accounting = self._cluster.accounting
        if accounting is None:
            return False
        reason = accounting.refusal(job, partition, allocation, planned, least=True)
        if reason:
            job.reason = reason
        return bool(reason)

    def _hole(self, job: Job, partition: Partition, limit: float) -> tuple[float, Allocation] | None:
        """The first start of a run that takes no nodes that are kept for others, and the nodes; or None."""
        return self._hole_from(job, partition, limit, self._cluster.now)

    def _hole_from(self, job: Job, partition: Partition, limit: float, at: float) -> tuple[float, Allocation] | None:
        while True:
            planned = self._earliest(job, partition, at, limit)
            if planned is None:
                return None
            start, allocation = planned
            if self.counts_cpus and self._cluster.policies.counts_by_plan(job, partition):
                self._cluster.policies.given(job, allocation)
            nodes = self._cluster.with_blocks(job, allocation)
            clash = self.slots.first_end(start, self._step(start + limit), nodes)
            if clash is None:
                return planned
            # It is tried again from when it would start, beside the slots that keep nodes then.
            self.fitted.add(self._sought_by(job, partition, limit))
            at = start if start > at else clash

    def _step(self, end: float) -> float:
        """The whole step with which a slot ends: the last one before its end, in newer versions the next."""
        grain = self._habits.resolution
        return math.floor((end + self._rounding) / grain) * grain

    def _licensed_hole(self, job: Job, partition: Partition, limit: float) -> tuple[float, Allocation] | None:
        """The first start at which nodes and licences are there, and the nodes; or None."""
        return self._licensed_hole_from(job, partition, limit, self._cluster.now)

    def _licensed_hole_from(
        self, job: Job, partition: Partition, limit: float, at: float
    ) -> tuple[float, Allocation] | None:
        """As it says; of licences of which a job wants one alone it gets the one that is there first."""
        if not job.options.licenses_of:
            return self._with_licenses(job, partition, limit, at)
        best: tuple[float, Allocation] | None = None
        chosen, known = job.options.licenses, self._alike
        for one in job.options.licenses_of:
            _give(job, (one,))
            self._alike = {}  # From when on jobs alike fit is known of those that want the same licences.
            found = self._with_licenses(job, partition, limit, at)
            if found is not None and (best is None or found[0] < best[0]):
                best, chosen = found, (one,)
        _give(job, chosen)
        self._alike = known
        return best

    def _with_licenses(
        self, job: Job, partition: Partition, limit: float, at: float
    ) -> tuple[float, Allocation] | None:
        licenses = self._licenses_planned()
        while True:
            free_from = licenses.first(job, at, limit)
            if free_from != at and self._cluster.parameters.rules.PLANS_SHOW_LICENSES:
                job.reason = LICENSES
            found = None
            if free_from is not None:
                nodes_from = licenses.nodes_from(free_from)
                if self._by_tries and free_from > at:
                    nodes_from = math.nextafter(nodes_from, math.inf)
                found = self._hole_from(job, partition, limit, nodes_from)
            if found is None or licenses.first(job, found[0], limit) == found[0]:
                return found
            at = found[0]

    def _licenses_planned(self) -> LicensePlan:
        """What is planned of licences."""
        if self._licenses is None:
            self._licenses = LicensePlan(self._cluster, self._step, self._habits.resolution)
            for job, begin, end in self._licensed:
                self._licenses.keep(job, begin, end)
        return self._licenses

    def _kept(self, begin: float, limit: float) -> Mask:
        """Nodes that slots keep from a run."""
        return self.slots.kept_from_run(begin, begin + limit)

    def _earliest(self, job: Job, partition: Partition, at: float, limit: float) -> tuple[float, Allocation] | None:
        """The first start from ``at`` on, and the nodes, with the nodes that no slot keeps.

        Tried are ``at``, each time at which slots leave more nodes, and the end of a reservation that keeps nodes from
        a run that begins at the time that is tried. What would start when the second of the next of them is over is
        tried from there again, as there are more nodes then; what starts in that second does without these (recorded).
        So it is planned in spite of a reservation that begins once a run from the time tried would be over.
        """
        alike = self._sought_by(job, partition, limit)
        begin = at if job.drawn else max(at, self._alike.get(alike, at))
        future = self._future(job, partition)
        blocks = self._cluster.parts_blocks(job)
        if self._by_users and self._cluster.parts_users(job) and not blocks:
            return self._earliest_of_user(job, partition, begin, limit, future)
        bounds, chosen = self.slots.edges, self._chosen(job, partition)
        allowed = self._usable(job, partition, blocks)
        while begin < math.inf:
            begin = self._controls.reservations.first_start(job, partition, begin, limit)
            later = self._next_try(job, partition, begin, limit, bounds)
            usable = allowed & self._unkept(job, begin, limit)
            want = self._with_counts(job, partition, begin, later, usable)
            starts = (
                self._will_run(job, partition, later, usable, ends, one)
                for mask, one in _each_choice(want, chosen)
                for ends in (future.of_nodes(begin, later, usable & mask, self._by_tries),)
            )
            found = min(filter(None, starts), key=itemgetter(0), default=None)
            if found is not None:
                self._note_delay(job, partition, begin, found[0], usable, future)
                self._note(alike, begin, job, partition)
                return found
            begin = later
        self._note(alike, math.inf, job, partition)
        return None

    def _next_try(self, job: Job, partition: Partition, begin: float, limit: float, bounds: Sequence[float]) -> float:
        """The time that is tried behind another one, as slots leave more nodes then; infinite for none."""
        free = self._there(job, partition) & self._controls.not_reserved(job, begin, limit)
        return self._following(job, partition, begin, limit, self._more_left(free, begin, limit, bounds))

    def _usable(self, job: Job, partition: Partition, blocks: bool = False) -> Mask:
        """Nodes on which a job may start, of those on which backfill tries it; not to be changed.

        With ``blocks``, which a job has for itself, all that are up: these are looked at later.
        """
        usable = self._cluster.up_in(partition) if blocks else self._cluster.usable(job, partition)
        tried = job.wants[partition.name].tried_in_plans
        return usable if tried is None else usable & tried

    def _there(self, job: Job, partition: Partition) -> Mask:
        """Nodes that slots may leave for a job, as Slurm goes on: features do not matter; not to be changed."""
        blocks = self._cluster.parts_blocks(job)
        usable = self._usable(job, partition, blocks)
        if not job.options.exclude or not self._goes_on:
            return usable
        return usable & ~known_nodes(job.options.exclude, self._cluster)

    def _chosen(self, job: Job, partition: Partition) -> Mask:
        """Nodes with the features that a job asks for."""
        chosen = self._cluster.no_nodes()
        for choice in job.wants[partition.name].choices:
            chosen |= choice.mask
        return chosen

    def _following(self, job: Job, partition: Partition, begin: float, limit: float, bounds: Sequence[float]) -> float:
        """The time that is tried next: the first of some bounds behind ``begin``, or the end of a reservation.

        Infinite for none.
        """
        reservations, index = self._controls.reservations, bisect_right(bounds, begin)
        later = bounds[index] if index < len(bounds) else math.inf
        if reservations.by_name and reservations.overlap(job, partition.nodes, begin, limit):
            tries = (each for each in reservations.tries(self._habits.resolution) if each > begin)
            later = min(later, min(tries, default=math.inf))
        return later

    def _earliest_of_user(
        self, job: Job, partition: Partition, begin: float, limit: float, future: Future
    ) -> tuple[float, Allocation] | None:
        """The same where users have nodes alone: it may use those of others once the last run there has ended.

        That is tried once no slot is to begin or end, or if there are too few nodes before.
        """
        fewest, bounds = self._cluster.want(job, partition).min_nodes, self.slots.edges
        while begin < math.inf:
            begin = self._controls.reservations.first_start(job, partition, begin, limit)
            usable, left = self._cluster.usable_from(job, partition, begin, fewest)
            later = self._following(job, partition, begin, limit, self._more_left(usable, begin, limit, bounds))
            found = None
            if usable.sum() < fewest:
                later = left
            else:
                usable &= self._unkept(job, begin, limit)
                later = left if later == math.inf else later
                found = self._will_run(job, partition, later, usable, future.of_nodes(begin, later, usable))
            if found is not None:
                self._note_delay(job, partition, begin, found[0], usable, future)
                return found
            begin = later
        return None

    def _more_left(self, usable: Mask, begin: float, limit: float, bounds: Sequence[float]) -> list[float]:
        """The first time at which slots leave any of some nodes that they kept at any time from ``begin`` till then.

        Slurm goes through the spaces between bounds up to the one behind the first that begins when a run from
        ``begin`` on is over. From 24.11 on it takes the end of that one if nothing is left before.
        """
        edges, kept = [begin, *bounds[bisect_right(bounds, begin) :], math.inf], self._cluster.no_nodes()
        now = self.slots.kept(begin, edges[1])
        for index, (middle, last) in enumerate(pairwise(edges[1:])):
            if index > 1 and edges[index - 1] > begin + limit:
                return [middle] if self._goes_on else []
            kept |= usable & now
            now = self.slots.kept(middle, last)
            if (kept & ~now).any():
                return [middle]
        return []

    def _unkept(self, job: Job, begin: float, limit: float) -> Mask:
        """Nodes that neither slots nor reservations keep from a run."""
        return self._controls.not_reserved(job, begin, limit) & ~self._kept(begin, limit)

    def _sought_by(self, job: Job, partition: Partition, limit: float) -> Sought:
        whose = job.request.user if self._cluster.parts_users(job) else ""
        return job.request_class, partition.name, limit, whose

    def _note(self, alike: Sought, begin: float, job: Job, partition: Partition) -> None:
        """Jobs that ask for the same need not be tried before this: what is free only shrinks in a cycle.

        That is, but for ends of runs that counted as one with later ones, and might
        be looked at by themselves now that other slots begin and end; this is passed over. And
        unless a run can be preempted, or is suspended.
        """
        if not self._candidates(partition, job) and not self._cluster.suspended and not job.drawn:
            self._alike[alike] = begin

    def _note_delay(
        self, job: Job, partition: Partition, begin: float, start: float, usable: Mask, future: Future
    ) -> None:
        """Note whether a job could start before the time that is tried as far as runs go, so that slots delay it.

        Slurm's select plugin knows nothing of that time, and says when the window of runs has ended in which the nodes
        become free. Slurm notes a job as changed if that is earlier, also where nothing is kept for it then. It tries
        no time that is later than nodes are kept (``bf_window``).
        """
        now, matters = self._cluster.now, not self.slots.delay and not (self._plans_are_news and len(self.slots))
        if now < begin == start <= now + self._habits.window and matters:
            time, free = future.last_before(begin)
            left = self._cluster.beside_suspended(free, partition) if time <= self._cluster.now else free
            found = self._cluster.choose(planned_want(job, partition, self._cluster), left, usable)
            found = found or self._shared_later(job, partition, usable, time, free)
            self.slots.delay = found is not None

    def _with_counts(self, job: Job, partition: Partition, begin: float, later: float, usable: Mask) -> Want | None:
        """What a job is planned with, with nodes for each count of features (``[a*2&b*1]``); None if there are none.

        Those for each count are the first that it would have by itself, whenever that is, and so are the others. (Asked
        of three versions.)
        """
        want = planned_want(job, partition, self._cluster)
        choice = want.choices[0]
        if not choice.counts or (want.required is not None and not want.counts_planned):
            return want
        everywhere, taken = np.ones(len(usable), dtype=bool), self._cluster.no_nodes()
        future = self._future(job, partition)
        for mask, count in (*choice.counts, (everywhere, want.min_nodes)):
            count = want.min_nodes - int(taken.sum()) if mask is everywhere else count
            if count <= 0:
                continue
            part = replace(want, min_nodes=count, target_nodes=count, choices=(Choice(mask),))
            left = usable & mask & ~taken
            found = self._will_run(job, partition, later, left, future.of_nodes(begin, later, left), part)
            if found is None:
                return None
            taken |= found[1].mask(len(taken))
        least = max(want.min_nodes, int(taken.sum()))
        return replace(
            want, required=taken, min_nodes=least, target_nodes=least, most_nodes=None, choices=(Choice(everywhere),)
        )

    def _will_run(
        self,
        job: Job,
        partition: Partition,
        later: float,
        usable: Mask,
        ends: Iterator[tuple[float, Free]],
        want: Want | None = None,
    ) -> tuple[float, Allocation] | None:
        """When the job fits on these nodes as running jobs end, at one of some times up to the second of ``later``.

        Suspended jobs keep their nodes now, but are left out of plans (observation P11).
        """
        cluster, begin, preempting, all_usable = self._cluster, math.inf, False, usable
        blocks = cluster.parts_blocks(job)
        want = planned_want(job, partition, cluster) if want is None else want
        for index, (time, free) in enumerate(ends):
            if not index:
                begin, preempting = time, time <= cluster.now and bool(self._candidates(partition, job))
            late = time > later + cluster.rest_of_second
            if late and not self._any_goes_over():
                return None
            if index == 1 and preempting:
                over = self._as_others_leave(want, job, partition, free, usable, begin)
                if over is not None:
                    return over
                continue  # A job that could be preempted is no obstacle later on, but none is preempted in vain.
            usable = cluster.apart(job, all_usable, free, time) if blocks else all_usable
            want = cluster.with_cores(want, job, begin, time) if cluster.cores_are_reserved else want
            if not index and not preempting and time <= cluster.now:
                found = self._fits(want, job, partition, usable, time, cluster.free)
                placed = self._or_cleared(job, partition, usable, found, want)
                if placed is not None:
                    return placed
                continue
            found = self._fits(want, job, partition, usable, time, free)
            if found is not None:
                start = self._start(job, partition, found, begin, time, now=preempting and not index)
                return None if late else (start, found)
        return None

    def _any_goes_over(self) -> bool:
        """Whether a run is past its limit, so that what is there with a later one may be there before; asked once."""
        if self._goes_over is None:
            self._goes_over = self._cluster.any_goes_over()
        return self._goes_over

    def _as_others_leave(
        self, want: Want, job: Job, partition: Partition, free: Free, usable: Mask, begin: float
    ) -> tuple[float, Allocation] | None:
        """When and where a job starts that is tried at a time and for which others make way, or are being cleared."""
        left = self._where_victims_left(want, job, partition, free, usable)
        if left is not None:
            return begin, left
        cleared = self._once_clear(job, partition, usable)
        return None if cleared is None else (begin + 1, cleared)

    def _where_victims_left(
        self, want: Want, job: Job, partition: Partition, free: Free, usable: Mask
    ) -> Allocation | None:
        """Where a job starts if others make way: on nodes that all of them left; which leave is another question."""
        leaving = movable(job, partition, self._cluster, planned=True)
        left = self._cluster.free_without(self._future(job, partition).dead)
        for other in leaving:
            left.release(left_by(other, self._cluster))
        self._controls.rows.count(left, leaving)
        now = self._cluster.choose(want, left, usable) if leaving else None
        if leaving and now is None:
            now = self._controls.rows.later(job, partition, usable, left, {other.id for other in leaving})
        if now is None:
            return self._over_suspended(want, job, partition, free, usable)
        self._open = usable
        return now

    def _once_clear(self, job: Job, partition: Partition, usable: Mask) -> Allocation | None:
        """Where a job starts beside jobs that stand still for it, as soon as nodes are clear of runs that have ended.

        Slurm's select plugin has the cores of a run back as it ends, and no job starts there before they are clear.
        """
        dead, rows = self._future(job, partition).dead, self._controls.rows
        if not dead:
            return None
        left = self._cluster.free_without(dead)
        rows.count(left, dead)
        return rows.once_clear(job, partition, usable, left, {other.id for other in dead})

    def _start(
        self, job: Job, partition: Partition, found: Allocation, begin: float, time: float, *, now: bool
    ) -> float:
        """When a job starts that fits at a time: not before its nodes are clear, nor, in 24.11, before they are there.

        Args:
            job: the job.
            partition: where.
            found: its nodes.
            begin: from when on it is tried.
            time: when it fits.
            now: whether that is now, and it might preempt others otherwise.
        """
        if now and self._future(job, partition).clearing(found):
            return begin + 1
        if not self._own_ends or time <= begin:
            return time
        return max(begin, self._future(job, partition).last_end(self._cluster.with_blocks(job, found)))

    def _over_suspended(
        self, want: Want, job: Job, partition: Partition, free: Free, usable: Mask
    ) -> Allocation | None:
        """Where a job would start if those stood still that it may suspend, also if it cannot, for these share.

        Args:
            want: what it is planned with.
            job: the job.
            partition: where it is planned.
            free: what is free without those that may be suspended.
            usable: nodes that it may use.
        """
        rows = self._controls.rows
        over = rows.select(job, partition, usable, planned=True) if rows.gang is not None else None
        if over is not None or rows.gang is None:
            return None if over is None else over[1]
        forgets = self._cluster.parameters.rules.PLANS_FORGET_SHARING and partition.oversubscribe != "FORCE"
        shares = not job.wants[partition.name].unmarked
        return self._cluster.choose(want, free, usable) if forgets and not shares else None

    def _fits(
        self, want: Want, job: Job, partition: Partition, usable: Mask, time: float, free: Free
    ) -> Allocation | None:
        """Where a job fits with what will be free at a time."""
        cluster = self._cluster
        if self._controls.rows.counts_in_plans:
            free, others = self._controls.rows.by_counts(job, partition, free, self._gone_at(time))
            by_size = want.largest_first or (want.first_fit and not self._is_even())
            want = replace(want, unweighed=True, first_fit=False, largest_first=by_size, unmarked=())
            return cluster.choose(want, free, usable & others)
        if self._habits.busy_nodes and free is not cluster.free:
            want = replace(want, in_use=self._in_use, by_looks=False)
        if time > cluster.now and (want.weights_now_only or want.first_fit):
            # It is planned on all nodes at once.
            by_size = want.largest_first or (want.first_fit and not self._is_even())
            want = replace(want, unweighed=True, first_fit=False, largest_first=by_size)
        if time <= cluster.now:
            if want.sharing_forgotten and free is cluster.free and not cluster.parameters.rules.PLANS_FORGET_GPUS:
                want = replace(want, sharing_forgotten=False)
            want = cluster.with_limits(want, job, partition)
            return cluster.choose(want, cluster.beside_suspended(free, partition), usable)
        found = cluster.choose(want, free, usable)
        return found or self._shared_later(job, partition, usable, time, free)

    def _or_cleared(
        self, job: Job, partition: Partition, usable: Mask, found: Allocation | None, want: Want
    ) -> tuple[float, Allocation] | None:
        """When and where a job starts that is tried now: where it could, or rather on nodes that are being cleared.

        Slurm's select plugin has the cores of a run back as it ends, and no job starts there before they are clear.
        From 24.11 on such nodes go behind others of their weight (recorded).

        Args:
            job: the job.
            partition: where it is tried.
            usable: nodes that it may use.
            found: where it could start now; None for nowhere.
            want: what it is planned with.
        """
        cluster, weight = self._cluster, self._cluster.machine.weight
        now = None if found is None else (cluster.now, found)
        if cluster.epilogs is None:
            return now
        cleared, behind = usable & (cluster.epilogs > 0), cluster.parameters.rules.CLEAR_NODES_GO_FIRST
        if not cleared.any():
            return now
        if found is not None and behind and weight[cleared].min() >= weight[found.where].max():
            return now
        want = cluster.with_limits(want, job, partition)
        want = want if found is not None else self._rather_clear(want, usable)
        free = cluster.free_if_clear()
        other = cluster.choose(want, cluster.beside_suspended(free, partition), usable)
        if found is None and other is None:
            other = self._in_row_if_clear(job, partition, usable)
        if other is None or not cleared[other.where].any():
            return now
        if found is not None and behind and np.array_equal(np.sort(weight[other.where]), np.sort(weight[found.where])):
            return now
        return cluster.now + 1, other

    def _in_row_if_clear(self, job: Job, partition: Partition, usable: Mask) -> Allocation | None:
        """Where a job would share cores now if nodes that are being cleared were clear; None if it needs none of them.

        Rows come before nodes: one of which some nodes are being cleared is not passed over for another row. With
        select/linear jobs have no rows, and those nodes are passed over. (Recorded.)
        """
        cluster = self._cluster
        if cluster.epilogs is None or self._controls.rows.counts_in_plans:
            return None
        clearing = usable & (cluster.epilogs > 0)
        if not clearing.any():
            return None
        gone = {other.id for other in cluster.running.values() if other.is_cleared}
        first = ~clearing if cluster.parameters.rules.CLEAR_NODES_GO_FIRST else None
        found = self._controls.rows.later(job, partition, usable, cluster.free_if_clear(), gone, first)
        return found if found is not None and clearing[found.where].any() else None

    def _rather_clear(self, want: Want, usable: Mask) -> Want:
        """What is sought among nodes that are being cleared, and others, which go before them from 24.11 on."""
        cluster = self._cluster
        if not cluster.parameters.rules.CLEAR_NODES_GO_FIRST or want.in_use is not None or cluster.epilogs is None:
            return want
        return replace(want, in_use=usable & (cluster.epilogs == 0), by_looks=False)

    def _is_even(self) -> bool:
        """Whether all nodes are of one size and weight; it is asked once in a plan."""
        if self._even is None:
            self._even = is_even(self._cluster.machine)
        return self._even

    def _shared_later(self, job: Job, partition: Partition, usable: Mask, time: float, free: Free) -> Allocation | None:
        """Where a job fits later beside others on their resources; where it does now :meth:`beside` says."""
        rows = self._controls.rows
        if not rows.shares(job, partition):
            return None
        return rows.later(job, partition, usable, free, self._gone_at(time))

    def _gone_at(self, time: float) -> set[int]:
        """Runs that are over at a time, as they are planned."""
        cluster = self._cluster
        if time <= cluster.now:
            return set()
        end_of = cluster.end_by_limit if self._any_goes_over() else cluster.planned_end
        return {other.id for other in cluster.running.values() if end_of(other) <= time}

    def _future(self, job: Job, partition: Partition) -> Future:
        """What will be free, for jobs of a partition."""
        found = self._candidates(partition, job)
        key = partition.tier if found else -1
        if key not in self._futures:
            self._futures[key] = Future(self._cluster, found, self._habits.linear, self._controls.rows.recount)
        return self._futures[key]

    def _candidates(self, partition: Partition, job: Job) -> list[Job]:
        """Runs that are no obstacle later on: those that may be preempted, and that are suspended for a higher tier."""
        found = candidates(job, partition, self._cluster, again=True)
        if self._controls.rows.gang is not None:
            partitions = self._cluster.partitions
            for other in self._cluster.running.values():
                lower = other.run is not None and partitions[other.run.partition].tier < partition.tier
                if other.state is State.SUSPENDED and lower and other not in found:
                    found.append(other)
        return found

    def _no_slots(self) -> Slots:
        return Slots(len(self._cluster.machine))


def _each_choice(want: Want | None, chosen: Mask) -> Iterator[tuple[Mask, Want]]:
    """What a job is planned with, and the nodes that have the features for it: of ``[a|b]`` each by itself.

    All nodes share one of them then, and it is planned where it can start first. (Asked of three versions.)
    """
    if want is None:
        return
    if len(want.choices) == 1:
        yield chosen, want
        return
    for choice in want.choices:
        yield choice.mask, replace(want, choices=(choice,))


def _give(job: Job, licenses: tuple[tuple[str, int], ...]) -> None:
    """A job that wants licences of several is to have these."""
    job.request = replace(job.request, options=replace(job.options, licenses=licenses))
