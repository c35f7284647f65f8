"""Real-time jobs among batch jobs: who is late goes first, and may have others preempted."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import ClassVar, Literal

from slurm_sim_plugins.decisions import Decision, MakeRoom, Reserve, Start, Wake
from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.realtime import NARROW, SHORT, Thresholds, is_realtime, waiting_slowdown
from slurm_sim_plugins.views import SchedulingView

INSTANT = 1e-6
"""Seconds; the clock knows nothing shorter."""
Decisions = Generator[Decision, bool, None]


class Realtime:
    """Serve real-time jobs that are late, then the others in the order of the queue.

    Real-time jobs are those with the fact ``realtime`` of 1. Late is one whose estimated
    slowdown, if it started now, has reached the threshold of its category; a pass is made
    when that comes. The other jobs, real-time jobs that are not late among them, start in
    the order of the queue wherever there is room, see ``backfill``.

    Args:
        policy: ``weighted``: late jobs go first, and where there is no room the plugin in
            the PreemptType slot makes some (the paper's heuristic). ``preemptive``: the same
            for all real-time jobs from the beginning (the schemes of section 4.2).
            ``high_priority``: all real-time jobs go first, and nobody is preempted.
            ``baseline``: real-time jobs are jobs like others.
        narrow_short: the estimated slowdown at which a narrow and short job is late.
        narrow_long: the same for narrow and long jobs.
        wide_short: for wide and short ones.
        wide_long: for wide and long ones.
        narrow: processors up to which, inclusive, a job is narrow.
        short: seconds of its limit up to which, inclusive, it is short.
        late: whether a job is late when it reaches its threshold (``at``), or only above it
            (``above``), as the paper's text has it.
        order: of the late jobs: ``slowdown``, the largest estimate first; ``queue``.
        meanwhile: who of the others may start while late jobs still wait: ``nobody``, as in
            the paper's algorithm 1; ``batch``: batch jobs, as in its authors' code.
        backfill: how the others go past one that finds no room: ``reserve``: the first such
            job gets the block that is planned to be free first, and whoever comes after it
            must be planned to end by then or stay off that block; ``first_fit``: freely, as
            the paper's words can be read.

    Source: the paper on real-time jobs on Mira, sections 4.1, 4.2 and 6, algorithm 1. The
    paper gives no thresholds; those here are of its authors' public code, for Mira's week.
    """

    name: ClassVar[str] = "sched/realtime"
    machines: ClassVar[tuple[str, ...]] = ("processors",)
    knows_places: ClassVar[bool] = True

    def __init__(
        self,
        policy: Literal["weighted", "preemptive", "high_priority", "baseline"] = "weighted",
        narrow_short: float = 1.1,
        narrow_long: float = 1.1,
        wide_short: float = 2.0,
        wide_long: float = 1.59,
        narrow: int = NARROW,
        short: float = SHORT,
        late: Literal["at", "above"] = "at",
        order: Literal["slowdown", "queue"] = "slowdown",
        meanwhile: Literal["nobody", "batch"] = "nobody",
        backfill: Literal["reserve", "first_fit"] = "reserve",
    ) -> None:
        self._policy = policy
        self._thresholds = Thresholds(narrow_short, narrow_long, wide_short, wide_long, narrow, short)
        self._margin = INSTANT if late == "above" else -INSTANT
        self._by_slowdown = order == "slowdown" and policy == "weighted"
        self._batch_goes_on = meanwhile == "batch"
        self._reserves = backfill == "reserve"
        self._asked: set[Job] = set()

    @hookimpl
    def schedule(self, view: SchedulingView) -> Decisions:
        urgent = self._urgent(view)
        if self._policy == "high_priority":
            yield from self._in_turn(view, urgent)
        else:
            for job in urgent:
                if _fits(view, job) or (yield MakeRoom(job, "late")):
                    yield Start(job)
        waiting = list(view.queue)
        left = set(urgent).intersection(waiting)
        if not left:
            yield from self._in_turn(view, waiting)
        elif self._batch_goes_on:
            yield from self._in_turn(view, [job for job in waiting if not is_realtime(job)])
        yield from self._wake(view)

    def _urgent(self, view: SchedulingView) -> list[Job]:
        """The real-time jobs that go before all others, in their order."""
        if self._policy == "baseline":
            return []
        jobs = [job for job in view.queue if is_realtime(job)]
        if self._policy == "weighted":
            now = view.now - self._margin
            jobs = [job for job in jobs if self._late_at(job) <= now]
        if self._by_slowdown:
            jobs.sort(key=lambda job: (-waiting_slowdown(job, view.now), job.submit, job.id))
        return jobs

    def _late_at(self, job: Job) -> float:
        """When a job's estimated slowdown reaches its threshold."""
        return job.submit + (self._thresholds.of(job) - 1) * job.time_limit

    def _wake(self, view: SchedulingView) -> Decisions:
        """Ask for a pass when a job is late that is not so yet."""
        if self._policy != "weighted":
            return
        for job in view.queue:
            if job in self._asked or not is_realtime(job):
                continue
            self._asked.add(job)
            time = self._late_at(job) + max(0.0, 2 * self._margin)
            if time >= view.now + INSTANT:
                yield Wake(time, "late from then on")

    def _in_turn(self, view: SchedulingView, jobs: Iterable[Job]) -> Decisions:
        """Start jobs in their order, and behind the first that finds no room those that do not delay it."""
        if view.places is None:
            yield from self._in_turn_by_count(view, jobs)
            return
        places, full = view.places, set()
        shadow: tuple[float, int] | None = None
        for job in jobs:
            ahead = shadow is not None and job.planned > view.until(shadow[0])
            beside = shadow[1] if shadow is not None and ahead else None
            # Where one job of a size finds no block, no other does.
            asked = (places.choices(job), beside)
            if asked in full:
                continue
            block = places.find(job, beside)
            if block is not None:
                yield Start(job, where=block)
                continue
            full.add(asked)
            if shadow is None and self._reserves:
                shadow = places.earliest(job)
                yield Reserve(job, shadow[0])

    def _in_turn_by_count(self, view: SchedulingView, jobs: Iterable[Job]) -> Decisions:
        """The same where processors are counted: EASY backfilling."""
        shadow: tuple[float, int] | None = None
        for job in jobs:
            if job.processors > view.free:
                if shadow is None and self._reserves:
                    shadow = view.earliest_start(job)
                    yield Reserve(job, shadow[0])
                continue
            if shadow is not None and job.planned > view.until(shadow[0]):
                if job.processors > shadow[1]:
                    continue
                shadow = shadow[0], shadow[1] - job.processors
            yield Start(job)


def _fits(view: SchedulingView, job: Job) -> bool:
    """Whether there is room for a job now."""
    if view.places is None:
        return job.processors <= view.free
    return view.places.find(job) is not None
