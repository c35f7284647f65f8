"""Real-time jobs among batch jobs: a late one goes first, and may have others preempted."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import Any, ClassVar, Literal

from slurm_sim_plugins.block_state import BlockState
from slurm_sim_plugins.decisions import Decision, MakeRoom, Reserve, Start, Wake
from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.plan import SchedulePlan
from slurm_sim_plugins.realtime import NARROW, SHORT, Chosen, Thresholds, waiting_slowdown
from slurm_sim_plugins.views import SchedulingView

INSTANT = 1e-6
"""Seconds; the clock knows nothing shorter."""
Decisions = Generator[Decision, bool, None]


class Realtime:
    """Serve real-time jobs that are late, then the others in the order of the queue.

    Late is a real-time job whose estimated slowdown, if it started now, has reached the
    threshold of its category; a pass is made when that comes. The other jobs, real-time
    jobs that are not late among them, start in the order of the queue wherever there is
    room, see ``backfill``. On a cluster with nodes each partition has a queue of its own in
    this, and CPUs count as processors.

    Args:
        policy: ``weighted``: late jobs go first, and where there is no room the plugin in
            the PreemptType slot makes some (the paper's heuristic). ``preemptive``: the same
            for all real-time jobs from the beginning (the schemes of section 4.2).
            ``high_priority``: all real-time jobs go first, and no run is preempted.
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
        meanwhile: which of the others may start while late jobs still wait: ``none``, as in
            the paper's algorithm 1; ``batch``: batch jobs, as in its authors' code.
        backfill: how the others go past one that finds no room: ``reserve``: the first such
            job gets the block that is planned to be free first, and each job that comes after it
            must be planned to end by then or stay off that block (without blocks: not delay
            it, as in EASY); ``first_fit``: freely, as the paper's words can be read.
        jobs: which jobs are real-time jobs, ``FACT=VALUE``: ``realtime=1`` those of which the workload
            says so; on a cluster also ``qos=urgent`` or ``partition=beam``, ``account=`` or ``user=``.
            ``preempt/realtime`` must be given the same.

    Source: the paper on real-time jobs on Mira, sections 4.1, 4.2 and 6, algorithm 1. The
    paper gives no thresholds; those here are of its authors' public code, for Mira's week.
    """

    name: ClassVar[str] = "sched/realtime"
    knows_blocks: ClassVar[bool] = True
    old_values: ClassVar[Mapping[str, Mapping[str, str]]] = {"meanwhile": {"nobody": "none"}}

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
        meanwhile: Literal["none", "batch"] = "none",
        backfill: Literal["reserve", "first_fit"] = "reserve",
        jobs: str = "realtime=1",
    ) -> None:
        self._policy = policy
        self._thresholds = Thresholds(narrow_short, narrow_long, wide_short, wide_long, narrow, short)
        self._margin = INSTANT if late == "above" else -INSTANT
        self._by_slowdown = order == "slowdown" and policy == "weighted"
        self._batch_goes_on = meanwhile == "batch"
        self._reserves = backfill == "reserve"
        self._realtime = Chosen(jobs)
        self.looks_for = self._realtime.looks_for
        self._asked: set[Job] = set()

    @hookimpl
    def schedule(self, view: SchedulingView) -> Decisions:
        if view.counted and view.block_state is not None:
            yield from self._on_blocks(view, view.block_state)
        else:
            yield from self._by_plan(view)
        if self._policy == "weighted":
            yield from self._wake(view)

    def _urgent(self, view: SchedulingView) -> list[Any]:
        """The entries of real-time jobs that go before all others, in their order."""
        if self._policy == "baseline":
            return []
        entries: list[Any] = [entry for entry in view.queue if entry.job in self._realtime]
        if self._policy == "weighted":
            now = view.now - self._margin
            entries = [entry for entry in entries if self._late_at(entry.job) <= now]
        if self._by_slowdown:
            entries.sort(key=lambda each: (-waiting_slowdown(each.job, view.now), each.job.submit, each.id))
        return entries

    def _late_at(self, job: Job) -> float:
        """When a job's estimated slowdown reaches its threshold."""
        return job.submit + (self._thresholds.of(job) - 1) * job.time_limit

    def _wake(self, view: SchedulingView) -> Decisions:
        """Ask for a pass when a job is late that is not so yet."""
        for job in (entry.job for entry in view.queue):
            if job in self._asked or job not in self._realtime:
                continue
            self._asked.add(job)
            time = self._late_at(job) + max(0.0, 2 * self._margin)
            if time >= view.now + INSTANT:
                yield Wake(time, "late from then on")

    # Processors and nodes: the plan knows what can start

    def _by_plan(self, view: SchedulingView) -> Decisions:
        """One pass; each partition of a cluster has a head, where counted processors have one."""
        plan, heads = view.plan(), set[str]()
        late = yield from self._serve(view, plan, self._urgent(view), heads, self._policy != "high_priority")
        waiting: list[Any] = list(view.queue)
        if late and self._batch_goes_on:
            waiting = [entry for entry in waiting if entry.job not in self._realtime]
        elif late:
            closed = {_lane(view, entry) for entry in late}
            waiting = [entry for entry in waiting if _lane(view, entry) not in closed]
            for entry in late:
                plan.bar(entry)
        yield from self._serve(view, plan, waiting, heads, makes_room=False)

    def _serve(
        self, view: SchedulingView, plan: SchedulePlan, entries: list[Any], heads: set[str], makes_room: bool
    ) -> Generator[Decision, bool, list[Any]]:
        """Start entries in their order, and make room for them or give the first of a partition a reservation.

        Returns:
            Those that wait for resources; not those at a limit, say, which no job delays.
        """
        left = []
        for entry in entries:
            answer = plan.now(entry)
            if answer.blocks and makes_room and (yield MakeRoom(entry, "late")):
                answer = plan.now(entry)
            if answer.place:
                yield Start(entry, where=answer.place)
            elif answer.blocks or answer.overtakes:
                left.append(entry)
                lane = _lane(view, entry)
                if answer.blocks and self._reserves and not makes_room and lane not in heads:
                    heads.add(lane)
                    yield Reserve(entry, plan.promise(entry))
        return left

    # Blocks

    def _on_blocks(self, view: SchedulingView, block_state: BlockState) -> Decisions:
        """One pass where the machine is given out in blocks."""
        urgent = self._urgent(view)
        if self._policy == "high_priority":
            yield from self._in_turn(view, block_state, urgent)
        else:
            for job in urgent:
                if block_state.find(job) is not None or (yield MakeRoom(job, "late")):
                    yield Start(job)
        waiting = list(view.queue)
        if not set(urgent).intersection(waiting):
            yield from self._in_turn(view, block_state, waiting)
        elif self._batch_goes_on:
            yield from self._in_turn(view, block_state, [job for job in waiting if job not in self._realtime])

    def _in_turn(self, view: SchedulingView, block_state: BlockState, jobs: Iterable[Job]) -> Decisions:
        """Start jobs in their order, and behind the first that finds no room those that do not delay it."""
        full = set()
        shadow: tuple[float, int] | None = None
        for job in jobs:
            ahead = shadow is not None and job.planned > view.until(shadow[0])
            beside = shadow[1] if shadow is not None and ahead else None
            # Where one job of a size finds no block, no other does.
            asked = (block_state.choices(job), beside)
            if asked in full:
                continue
            block = block_state.find(job, beside)
            if block is not None:
                yield Start(job, where=block)
                continue
            full.add(asked)
            if shadow is None and self._reserves:
                shadow = block_state.earliest(job)
                yield Reserve(job, shadow[0])


def _lane(view: SchedulingView, entry: Any) -> str:
    """What has a head of its own: a partition of a cluster, or the machine."""
    return "" if view.counted else str(entry.partition)
