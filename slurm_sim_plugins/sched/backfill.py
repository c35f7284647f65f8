"""Slurm's backfill: each job in turn keeps the first hole that it fits into; those whose hole is now start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from slurm_sim_plugins.decisions import Decision, MakeRoom, Pause, Reserve, Start
from slurm_sim_plugins.het_jobs import YEAR, HetJobs, together
from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.plan import Hole, WindowPlan
from slurm_sim_plugins.sched.bounds import Bounds
from slurm_sim_plugins.views import SchedulingView


@dataclass
class Backfill:
    """Try the queue in its order: start what fits now, and keep for the others the first hole that they fit into.

    No job is delayed by one behind it, as far as the plan goes: it ends after so many jobs,
    times and minutes. Slurm's main loop makes its own passes before and between these cycles. The
    options have the names, units and defaults of ``SchedulerParameters``, which states them
    where there is a ``slurm.conf``.

    Args:
        bf_interval: seconds between two cycles under Slurm's clock; -1 for no cycles.
        bf_window: minutes; no hole is kept that begins later from now.
        bf_resolution: seconds; holes are kept in whole steps of them.
        bf_node_space_size: times within the window at which a kept hole begins or ends, at most; 0 for
            ``bf_max_job_test``.
        bf_window_linear: seconds by which the windows grow in which ends of runs are taken together; 0: they double.
        bf_max_job_test: jobs that a cycle tries.
        bf_max_job_part: of those, jobs of a partition; 0 for all.
        bf_max_job_user: of those, jobs of a user; 0 for all.
        bf_max_job_user_part: of those, jobs of a user in a partition; 0 for all.
        bf_max_job_assoc: of those, jobs of a user and account; 0 for all.
        bf_max_job_start: jobs that a cycle starts; 0 for all.
        bf_max_job_array_resv: tasks of an array that keep a hole in a partition; the count runs on over its partitions.
            With 0 none is tried at all, but for those that were requeued.
        bf_job_part_count_reserve: jobs of a partition that keep a hole; 0 for all.
        bf_min_prio_reserve: the priority from which on a job keeps a hole.
        bf_min_age_reserve: seconds that a job has to wait before it keeps a hole.
        bf_one_resv_per_job: whether a job in several partitions keeps one hole only.
        bf_licenses: whether licences are planned, too.
        bf_busy_nodes: whether nodes in use are planned with before idle ones.
        bf_topopt_enable: whether a plugin with the hook ``bf_topopt`` may delay a job for a better place.
        bf_topopt_iterations: later holes that it may choose from.
        bf_allow_magnetic_slot: whether a job keeps a hole in a reservation that draws it (``MAGNETIC``), too.
        bf_hetjob_prio: whether the components of a heterogeneous job are tried one behind the other, where the one with
            the least priority stands (``MIN``), the highest (``MAX``), or their average (``AVG``); ``NONE``: no.
        bf_hetjob_immediate: whether a heterogeneous job is started as soon as its last component was tried, and not at
            the end of the cycle; with ``MIN`` if nothing else is said.
        bf_yield_interval: microseconds; when a cycle has worked for so long, it pauses, where looks at jobs take time.
        bf_yield_sleep: microseconds for which it pauses.
        bf_continue: whether it goes on if something has happened meanwhile.
        bf_max_time: seconds that a cycle takes at most, pauses included; 0 for ``bf_interval``.

    Source: slurm.conf(5); recorded from Slurm 22.05 (observations Q2 to Q5, T5, T8, C8, B1 to B3).
    """

    name: ClassVar[str] = "sched/backfill"
    by_order: ClassVar[bool] = True
    het_jobs: ClassVar[bool] = True
    bf_interval: float = 30
    bf_window: float = 1440
    bf_resolution: float = 60
    bf_node_space_size: int = 0
    bf_window_linear: float = 0
    bf_max_job_test: int = 500
    bf_max_job_part: int = 0
    bf_max_job_user: int = 0
    bf_max_job_user_part: int = 0
    bf_max_job_assoc: int = 0
    bf_max_job_start: int = 0
    bf_max_job_array_resv: int = 20
    bf_job_part_count_reserve: int = 0
    bf_min_prio_reserve: int = 0
    bf_min_age_reserve: float = 0
    bf_one_resv_per_job: bool = False
    bf_licenses: bool = False
    bf_busy_nodes: bool = False
    bf_topopt_enable: bool = False
    bf_topopt_iterations: int = 20
    bf_allow_magnetic_slot: bool = False
    bf_hetjob_prio: Literal["NONE", "MIN", "AVG", "MAX"] = "NONE"
    bf_hetjob_immediate: bool = False
    bf_yield_interval: float = 2_000_000
    bf_yield_sleep: float = 500_000
    bf_continue: bool = False
    bf_max_time: float = 0

    @hookimpl
    def backfill(self, view: SchedulingView) -> Generator[Decision, bool, None]:
        self._started = 0
        self._left = self.bf_max_job_test
        self._array: Hashable = None
        self._unwished: Hashable = None
        self._refused = self._now_only = self._began = self._is_over = False
        self._kept: Counter[Hashable] = Counter()
        self._tasks: tuple[Hashable, Hashable, int] = None, None, 0
        self._waiting: Counter[Hashable] = Counter()
        self._begun: Counter[Hashable] = Counter()
        plan = view.window_plan(
            resolution=self.bf_resolution,
            window=60 * self.bf_window,
            size=self.bf_node_space_size or self.bf_max_job_test,
            linear=self.bf_window_linear,
            licenses=self.bf_licenses,
            busy_nodes=self.bf_busy_nodes,
        )
        pace, self._het_jobs = Pace(self, view), HetJobs()
        queue = list(view.queue)
        by = "MIN" if self.bf_hetjob_immediate and self.bf_hetjob_prio == "NONE" else self.bf_hetjob_prio
        if by != "NONE":
            queue = together(queue, by)
        if not self.bf_max_job_array_resv:
            queue = [entry for entry in queue if not _waits_in_array(entry)]
        self._queue: list[Any] = queue
        # Compiled code knows this class alone: a subclass may try them in another order. A copy in which the steps
        # of `_try` or `_in_turn` are others does without it.
        stock = type(self) is Backfill and self._all_keep() and not pace.test_time
        self._counts = self._bounds()
        cycle = plan.cycle(queue, self._counts, self._left) if stock else None
        steps = self._try(queue, plan, pace, view) if cycle is None else self._follow(cycle, plan, view.now)
        try:
            yield from steps
            yield from self._start_het_jobs(plan, view.now)
            yield from pace.end()
        finally:
            self._queue = []

    def _try(
        self, queue: list[Any], plan: WindowPlan, pace: Pace, view: SchedulingView
    ) -> Generator[Decision, bool, None]:
        """Try the entries of the queue, one after the other, until the plan is full.

        Time passes where looks take some.
        """
        all_keep = self._all_keep() and not pace.test_time
        alike = plan.alike(queue) if all_keep else ([entry] for entry in queue)
        for entries in self._in_turn(alike, plan, pace, view.now):
            if pace.test_time and not (yield from pace.look(entries[0], plan)):
                continue
            if entries[0].het_job_id is not None:
                has_room = yield from self._plan_component(entries[0], plan, view.now)
            else:
                has_room = yield from self._try_alike(entries, plan, view.now, all_keep)
            if not has_room:
                return

    def _try_alike(
        self, entries: list[Any], plan: WindowPlan, now: float, all_keep: bool
    ) -> Generator[Decision, bool, bool]:
        """Try entries that ask for the same; False if the plan is full."""
        while entries:
            self._refused = True
            starts, hole = self._holes(entries, plan, all_keep)
            if not (plan.sought or entries[0].drawn_by):
                self._uncount(entries[0], plan)
            if starts:
                self._began = False
                yield Reserve(entries[: len(starts)], starts)
            if hole is None:
                break  # Neither do the others find one that ask for the same.
            entry = entries[len(starts)]
            if self.bf_topopt_enable:
                hole = plan.delayed(hole, self.bf_topopt_iterations)
            if not (yield from self._take(entry, hole, plan, now)):
                return False
            entries = entries[len(starts) + 1 :]
        return True

    def _follow(self, cycle: Any, plan: WindowPlan, now: float) -> Generator[Decision, bool, None]:
        """As :meth:`_try`, with compiled code that tries most jobs and keeps their holes."""
        found = cycle.next()
        while found is not None:
            kept = cycle.kept()
            if kept is not None:
                yield Reserve(*kept)
            entry, hole = found
            self._left = 0
            if entry.het_job_id is not None:
                if not (yield from self._plan_component(entry, plan, now)):
                    return
            else:
                self._refused, self._now_only = True, self._is_now_only(entry, now)
                if hole is None:
                    _, hole = self._holes([entry], plan, True, cycle.left)
                    if not plan.sought:
                        self._uncount(entry, plan)
                if hole is not None and not (yield from self._take(entry, hole, plan, now)):
                    return
                cycle.refused = self._refused
            cycle.left += self._left
            cycle.began = self._began and plan.ends_at_start
            found = cycle.next()
            self._began = cycle.began
        kept = cycle.kept()
        if kept is not None:
            yield Reserve(*kept)

    def _holes(
        self, entries: list[Any], plan: WindowPlan, keep: bool, more: int = 0
    ) -> tuple[list[float], Hole | None]:
        """The holes of entries alike, as ``plan.place`` gives them.

        One that would rather have some nodes is tried there first, for a start now alone. Each of the two tries counts:
        where no more may be made, the second is left out. Tasks behind one that started without the wish are tried
        without it (recorded).

        Args:
            entries: those alike.
            plan: of the cycle.
            keep: whether holes may be kept at once.
            more: how many more may be tried beyond those of ``_left``.
        """
        first = entries[0]
        if plan.prefers(first) and (first.array is None or first.array != self._unwished):
            hole = plan.preferred(first)
            if hole is not None or not plan.sought:
                return [], hole
            again = first.array is None or plan.arrays_are_tried_again
            if not again or self._left + more <= 0 or not self._counts.first_of(entries[:1]):
                return [], None
            self._left -= 1
            self._unwished = first.array
        return plan.place(entries, keep=keep, now_only=self._now_only)

    def _plan_component(self, entry: Any, plan: WindowPlan, now: float) -> Generator[Decision, bool, bool]:
        """Keep the first hole of a component in which the others can start as well, also if it is now.

        False if the plan is full; the component is among those that may start all the same (recorded).
        """
        others = self._het_jobs.not_before(entry)
        self._het_jobs.note(entry, now + YEAR)
        if others > now + 60 * self.bf_window:
            return True
        hole = plan.not_before(entry, max(now, others))
        if not (plan.sought or entry.drawn_by):
            self._uncount(entry, plan)
        if hole is not None and others <= now < hole.start and (place := plan.beside(entry)):
            hole = Hole(now, place, True)
        keeps = self._keeps(entry, now)
        if hole is None or hole.start > now + (60 * self.bf_window if keeps else 0):
            return True
        self._het_jobs.note(entry, hole.start)
        yield Reserve(entry, hole.start)
        # What can start now waits for the others, also where its job is too young to keep anything for later.
        keeps = keeps or now - entry.submit < self.bf_min_age_reserve
        has_room = not (keeps and plan.full)
        if keeps and has_room:
            self._keep(entry, hole, plan)
        elif keeps:
            plan.turn_away(hole)
        if self.bf_hetjob_immediate:
            yield from self._start_het_jobs(plan, now, entry.het_job_id)
        return has_room

    def _start_het_jobs(
        self, plan: WindowPlan, now: float, number: int | None = None
    ) -> Generator[Decision, bool, None]:
        """Start the heterogeneous jobs (one, or all) of which all components can start now.

        Slurm starts one component after the other: the first one for which others have to leave preempts them, and
        all wait for the next cycle unless these have left at once. Behind ``bf_max_job_start`` starts none does.
        """
        for entries in self._het_jobs.due(now, number):
            if self._has_started_most() or not all(map(plan.takes, entries)):
                continue
            places = plan.together(entries)
            while places is None and (room := plan.room_beside(entries)) is not None:
                if not (yield MakeRoom(room[0], where=room[1])):
                    break
                places = plan.together(entries)
            if places is None:
                continue
            self._het_jobs.started(entries[0].het_job_id)
            for entry, place in zip(entries, places, strict=True):
                self._started += 1
                yield Start(entry, where=place)

    def _take(self, entry: Any, hole: Hole, plan: WindowPlan, now: float) -> Generator[Decision, bool, bool]:
        """Start a job now, or keep its hole; False if the plan is full."""
        if hole.vacant and hole.start <= now:
            yield from self._start(entry, hole, plan, now)
        elif place := plan.beside(entry):
            # Rather than that runs have to leave.
            self._refused = False
            self._count_start(entry)
            yield Start(entry, where=place)
        elif hole.start <= now:
            yield from self._start(entry, hole, plan, now)
        elif hole.start <= now + 60 * self.bf_window:
            return (yield from self._reserve(entry, hole, plan, now))
        return True

    def _in_turn(self, alike: Iterable[list[Any]], plan: WindowPlan, pace: Pace, now: float) -> Iterator[list[Any]]:
        """The entries of the queue that are to be tried.

        Tasks of an array are one record in Slurm, of which one task after another is tried until one is refused.
        """
        for entries in alike:
            if pace.over:
                return
            first = entries[0]
            of_array = None if first.array is None else (first.array, first.partition, first.drawn_by)
            goes_on = of_array is not None and of_array == self._array
            if goes_on and self._refused:
                continue
            ends = not goes_on or (self._began and plan.ends_at_start)
            self._array, self._refused, self._began = of_array, False, False
            if (self._left <= 0 and ends) or self._is_over:
                return
            if plan.takes(first):
                if not goes_on:
                    self._now_only = self._is_now_only(first, now)
                if first.drawn_by:  # Slurm does not count them.
                    yield entries
                    continue
                tried = self._counts.first_of(entries)[: max(self._left, 1)]
                self._left -= len(tried)
                if tried:
                    yield tried

    def _uncount(self, entry: Any, plan: WindowPlan) -> None:
        """A job was not tried after all; Slurm looks at limits that hold on any nodes before it counts by kinds."""
        self._left += 1
        if not plan.counts:
            self._counts.uncount(entry)

    def _bounds(self) -> Bounds:
        """How many jobs of each kind are tried."""
        return Bounds(
            {
                ("partition",): self.bf_max_job_part,
                ("user",): self.bf_max_job_user,
                ("user", "partition"): self.bf_max_job_user_part,
                ("user", "account"): self.bf_max_job_assoc,
            }
        )

    def _start(self, entry: Any, hole: Hole, plan: WindowPlan, now: float) -> Generator[Decision, bool, None]:
        """Start a job in a hole that is now; where runs have to leave first, keep it until they have."""
        self._refused = False
        if hole.vacant or (yield MakeRoom(entry, where=hole.place)):
            self._count_start(entry)
            yield Start(entry, where=hole.place)
        elif self._keeps(entry, now):
            self._refused = self._is_last_task(entry)
            plan.keep(hole)
        else:
            plan.keep_in_vain(hole)

    def _count_start(self, entry: Any) -> None:
        """A job that has no components starts; behind it the cycle may be over, as it never is behind components."""
        self._started += 1
        self._began, self._is_over = True, self._has_started_most()
        self._begun[entry.array] += 1

    def _has_started_most(self) -> bool:
        """Whether the cycle has started as many jobs as it may; each component counts."""
        return 0 < self.bf_max_job_start <= self._started

    def _reserve(self, entry: Any, hole: Hole, plan: WindowPlan, now: float) -> Generator[Decision, bool, bool]:
        """Note when a job is to start, and keep its hole unless it may keep none; False if the plan is full.

        One that is tried for a start now alone is planned for no later one.
        """
        if self._now_only:
            return True
        yield Reserve(entry, hole.start)
        if not self._keeps(entry, now):
            return True
        if plan.full:
            plan.turn_away(hole)
            return False
        self._refused, self._began = self._is_last_task(entry), False
        self._keep(entry, hole, plan)
        return True

    def _is_last_task(self, entry: Any) -> bool:
        """Whether no other task of its array is tried in the partition, once one more keeps a hole.

        Slurm counts on where the array is tried in its next partition, as long as no other array kept a hole in
        between: there only the rest of the tasks keep one, at least one of them.
        """
        array, first, kept = self._tasks
        if entry.array is None:
            return False
        first, kept = (first, kept + 1) if entry.array == array else (entry.partition, 1)
        self._tasks = entry.array, first, kept
        if kept >= self.bf_max_job_array_resv:
            return True
        if entry.partition == first:
            return False
        if not self._waiting:
            self._waiting.update((each.array, each.partition) for each in self._queue)
        return kept >= self._waiting[entry.array, entry.partition] - self._begun[entry.array]

    def _keeps(self, entry: Any, now: float) -> bool:
        """Whether a hole may be kept for a job."""
        drawn = entry.drawn_by and not self.bf_allow_magnetic_slot
        return entry.reserves and not drawn and not self._is_now_only(entry, now)

    def _is_now_only(self, entry: Any, now: float) -> bool:
        """Whether a job is tried for a start now alone, as these options let it keep no hole."""
        if self.bf_job_part_count_reserve and self._kept[entry.partition] >= self.bf_job_part_count_reserve:
            return True
        if self.bf_min_prio_reserve and entry.priority < self.bf_min_prio_reserve:
            return True
        return now - entry.submit < self.bf_min_age_reserve or (self.bf_one_resv_per_job and self._kept[entry.id] > 0)

    def _keep(self, entry: Any, hole: Hole, plan: WindowPlan) -> None:
        for which in (entry.partition, entry.id):
            self._kept[which] += 1
        plan.keep(hole)

    def _all_keep(self) -> bool:
        """Whether each job with a hole keeps it, and any number may start: then jobs alike can be tried together."""
        some_only = self.bf_job_part_count_reserve, self.bf_min_prio_reserve, self.bf_min_age_reserve
        return not (any(some_only) or self.bf_max_job_start or self.bf_topopt_enable)


def _waits_in_array(entry: Any) -> bool:
    """Whether a job is one of the tasks of an array that share a record in Slurm: one that was requeued has its own."""
    return entry.array is not None and not entry.job.requeues


class Pace:
    """The time that a cycle takes: each look at a job some, and pauses in between.

    Args:
        options: of the plugin, as it is configured.
        view: of the cycle.

    Attributes:
        test_time: seconds that a look takes.
        over: whether the cycle is to end.
    """

    def __init__(self, options: Backfill, view: Any) -> None:
        self.test_time: float = getattr(view, "job_test_time", 0.0)
        self.over = False
        self._options = options
        self._view = view
        self._begun: float = view.now
        self._worked = 0.0
        self._queue: set[int] | None = None

    def look(self, entry: Any, plan: WindowPlan) -> Generator[Decision, bool, bool]:
        """A job is looked at; False if it waits no longer, or if the cycle is over."""
        yield from self._test()
        still = self._queue is None or (id(entry) in self._queue and plan.takes(entry))
        return still and not self.over

    def _test(self) -> Generator[Decision, bool, None]:
        """A look takes its time, after which the cycle may pause."""
        self._worked += self.test_time
        options = self._options
        longest = options.bf_max_time or options.bf_interval
        self.over = self._view.now + self._worked - self._begun >= longest > 0
        if self.over:
            yield from self.end()
        elif self._worked >= options.bf_yield_interval / 1e6:
            changed = yield from self._pause(options.bf_yield_sleep / 1e6)
            self.over = changed and not options.bf_continue
            if changed:
                self._queue = {id(entry) for entry in self._view.queue}

    def end(self) -> Generator[Decision, bool, None]:
        """The cycle ends, when the time of its last looks has passed."""
        if self._worked:
            yield from self._pause(0.0)

    def _pause(self, sleep: float) -> Generator[Decision, bool, bool]:
        worked, self._worked = self._worked, 0.0
        changed = yield Pause(worked + sleep)
        return bool(changed)
