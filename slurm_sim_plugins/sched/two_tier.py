"""KEASY, REASY, MEASY: EASY in the foreground of all processors, short jobs in the background."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar, Literal

from slurm_sim_plugins.decisions import Decision, Move, Preempt, Reserve, Start
from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.processors import Processors, highest
from slurm_sim_plugins.tiers import Stay, Tiers
from slurm_sim_plugins.views import SchedulingView

UNKNOWN = 2.0
"""Stands for a CPU use that is not known: more than any that is."""
Decisions = Generator[Decision, bool, None]


class TwoTier:
    """Run EASY on the foreground with all that is not in it, then put short waiting jobs behind what runs.

    Jobs in the background are candidates for the foreground beside those that wait. Where
    the foreground of its own processors is idle, a job comes to it as it is. Else
    ``deploy`` says what is done.

    Args:
        deploy: ``kill``: it is started over on other processors (KEASY). ``reserve``: it
            stays, and if it is the head of all, the processors that it is on are reserved
            (REASY). ``migrate``: it is moved to other processors (MEASY).
        migration_cost: seconds without progress after a migration.
        count_cost: whether backfilling counts these seconds to the length of a job that
            would migrate, and its planned end too.
        bf_est: how long a job in the background is planned to run in the foreground:
            ``full``, as if it had done nothing; ``remaining``, what is left of that.
        threshold: CPU use from which on nothing is put behind a process.
        cpu_info: whether CPU use is known.
        no_cpu_info: what holds for jobs of which it is not known: ``ignore_test``: others
            are put behind them, after those that are known to use less; ``assume_100``: they
            use all of their processors.

    Source: the paper on KEASY, REASY and MEASY, sections 2.2, 2.3 and 3.5.1.
    """

    name: ClassVar[str] = "sched/two_tier"
    machines: ClassVar[tuple[str, ...]] = ("processors",)
    needs_tiers: ClassVar[tuple[str, ...]] = ("fg", "bg")

    def __init__(
        self,
        deploy: Literal["kill", "reserve", "migrate"] = "migrate",
        migration_cost: float = 20.0,
        count_cost: bool = False,
        bf_est: Literal["full", "remaining"] = "full",
        threshold: float = 0.96,
        cpu_info: bool = True,
        no_cpu_info: Literal["ignore_test", "assume_100"] = "ignore_test",
    ) -> None:
        if not 0 <= migration_cost < float("inf"):
            raise ConfigurationError(f"sched/two_tier: migration_cost is {migration_cost}; give seconds, 0 or more")
        if not 0 < threshold <= 1:
            raise ConfigurationError(f"sched/two_tier: threshold is {threshold}; give a share above 0, such as 0.96")
        self._deploy = deploy
        self._cost = float(migration_cost)
        self._counted = float(migration_cost) if count_cost else 0.0
        self._remaining = bf_est == "remaining"
        self._threshold = threshold
        self._cpu_info = cpu_info
        self._unknown = 1.0 if no_cpu_info == "assume_100" else UNKNOWN
        self._reserved: tuple[Job, float] | None = None

    @hookimpl
    def schedule(self, view: SchedulingView) -> Decisions:
        tiers = view.tiers
        assert tiers is not None, "the class says needs_tiers"
        if view.new_jobs or "fg" in tiers.left:
            yield from self._foreground(view, tiers)
        elif "bg" not in tiers.left:
            return
        yield from self._background(view, tiers)

    def _foreground(self, view: SchedulingView, tiers: Tiers) -> Decisions:
        """EASY, with the jobs that wait and those in the background in one queue."""
        while (head := self._head(view, tiers)) is not None:
            where = self._fit(head, tiers, tiers.idle("fg"))
            if where is None:
                break
            yield from self._bring(head, where, tiers)
        if head is None:
            return

        shadow = self._shadow(view, tiers, head)
        if tiers.stay(head) is None and self._reserved != (head, shadow.time):
            self._reserved = (head, shadow.time)
            yield Reserve(head, shadow.time)
        for job in self._others(view, tiers, head, shadow):
            where = self._ahead(job, tiers, shadow)
            if where is not None:
                yield from self._bring(job, where, tiers)

    def _head(self, view: SchedulingView, tiers: Tiers) -> Job | None:
        """The first of all jobs that are not in the foreground."""
        first = min([stay.job for stay in tiers.stays("bg")], key=_queue_order, default=None)
        head = view.head
        return first if head is None or (first is not None and first.outranks(head)) else head

    def _others(self, view: SchedulingView, tiers: Tiers, head: Job, shadow: _Shadow) -> list[Job]:
        """Which jobs may go ahead of the head as things are now, in the order of the queue."""
        free, in_time = view.free, shadow.in_time
        if not free:
            return []
        extra = shadow.extra if shadow.beside is None else free
        waiting = [
            job
            for job in view.queue
            if job.processors <= free and (job.processors <= extra or job.planned <= in_time) and job is not head
        ]
        behind = [stay.job for stay in tiers.stays("bg") if stay.job.processors <= free and stay.job is not head]
        return sorted(waiting + behind, key=_queue_order) if behind else waiting

    def _ahead(self, job: Job, tiers: Tiers, shadow: _Shadow) -> Processors | None:
        """Where a job can come to without delaying the head, or None; notes what it takes of the extra processors."""
        idle = tiers.idle("fg")
        swaps = self._swaps(tiers.stay(job), idle)
        if self._length(job, tiers, swaps) <= shadow.in_time:
            return self._fit(job, tiers, idle)
        if shadow.beside is not None:
            return self._fit(job, tiers, idle & shadow.beside)
        if job.processors > shadow.extra:
            return None
        where = self._fit(job, tiers, idle)
        if where is not None:
            shadow.extra -= job.processors
        return where

    @staticmethod
    def _swaps(stay: Stay | None, idle: Processors) -> bool:
        """Whether the foreground is idle where a job is in the background."""
        return stay is not None and not stay.where & ~idle

    def _fit(self, job: Job, tiers: Tiers, idle: Processors) -> Processors | None:
        """Where among idle processors of the foreground a job can come to, or None."""
        stay = tiers.stay(job)
        if stay is not None:
            if self._swaps(stay, idle):
                return stay.where
            if self._deploy == "reserve":
                return None
        return highest(idle, job.processors) if job.processors <= idle.bit_count() else None

    def _bring(self, job: Job, where: Processors, tiers: Tiers) -> Decisions:
        """Bring a job to the foreground."""
        stay = tiers.stay(job)
        if stay is None:
            yield Start(job, where=where)
        elif where == stay.where:
            yield Move(job, planned=self._length(job, tiers, True))
        elif self._deploy == "migrate":
            yield Move(job, where, cost=self._cost, planned=self._length(job, tiers, False))
        else:
            yield Preempt(job)
            yield Start(job, where=where)

    def _length(self, job: Job, tiers: Tiers, swaps: bool) -> float:
        """For how long a job is planned to be in the foreground, to which it comes by a swap or otherwise."""
        stay = tiers.stay(job)
        if stay is None or (self._deploy == "kill" and not swaps):
            return job.planned
        length = job.planned_running
        if self._remaining:
            length = max(1.0, length - tiers.progress(stay))
        return length if swaps else length + self._counted

    def _shadow(self, view: SchedulingView, tiers: Tiers, head: Job) -> _Shadow:
        """When the head is to come to the foreground, and what it leaves over."""
        stay = tiers.stay(head)
        if stay is None or self._deploy != "reserve":
            time, extra = view.earliest_start(head)
            return _Shadow(time, view.until(time), extra)
        fronts = {front.job for front in tiers.on(stay.where, "fg")}
        ends = [run.planned_end for run in view.running if run.job in fronts]
        time = max([view.now, *ends])
        return _Shadow(time, view.until(time), 0, ~stay.where)

    def _background(self, view: SchedulingView, tiers: Tiers) -> Decisions:
        """Put waiting jobs behind what runs, shortest first."""
        empty = tiers.idle("bg")
        groups = self._groups(tiers, empty)
        room = sum([group.bit_count() for group in groups])
        for job in sorted([job for job in view.queue if job.processors <= room], key=_shortest_first):
            if job.processors > room or (self._deploy == "kill" and not job.may_requeue):
                continue
            where = _take(groups, job.processors)
            room -= job.processors
            yield Start(job, where=where, tier="bg")

    def _groups(self, tiers: Tiers, empty: Processors) -> list[Processors]:
        """The processors whose background can take a job, by the use of their foreground, the least first."""
        by_use = {0.0: tiers.idle("fg") & empty}
        for stay in tiers.stays("fg"):
            use = self._use(stay.job)
            if use < self._threshold or use == UNKNOWN:
                by_use[use] = by_use.get(use, 0) | (stay.where & empty)
        return [by_use[use] for use in sorted(by_use)]

    def _use(self, job: Job) -> float:
        """The share of a processor that a process of a job uses, as far as is known."""
        known = job.fact("cpu_use") if self._cpu_info else None
        return self._unknown if known is None else known


@dataclass(slots=True)
class _Shadow:
    """The reservation of the head.

    Attributes:
        time: when it is to come to the foreground.
        in_time: a job that is planned for no more seconds than these ends by then.
        extra: how many processors it leaves over then.
        beside: of a head that stays where it is instead: the processors that it is not on.
    """

    time: float
    in_time: float
    extra: int
    beside: Processors | None = None


def _take(groups: list[Processors], count: int) -> Processors:
    """Take processors out of groups, from the first group on, the highest of each first."""
    taken = 0
    for index, group in enumerate(groups):
        part = highest(group, count - taken.bit_count())
        groups[index] = group & ~part
        taken |= part
        if taken.bit_count() == count:
            break
    return taken


def _queue_order(job: Job) -> tuple[float, int]:
    return -job.priority, job.index


def _shortest_first(job: Job) -> tuple[float, float, int]:
    return job.planned, job.submit, job.id
