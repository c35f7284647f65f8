"""Venture backfilling: what is idle is put to use, and given back when the head wants it."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, ClassVar

from slurm_sim_plugins.decisions import Decision, MakeRoom, Reserve, Start
from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.jobs import Job, Run
from slurm_sim_plugins.plan import Answer, Entry, SchedulePlan
from slurm_sim_plugins.views import SchedulingView

NOT_ASKED = Answer(None)
"""Of what stands behind a head that waits."""


class Venture:
    """Start the queue in order, making room for its head; fill what is idle with the jobs that fit.

    With ``preempt/shadow_load`` and a prediction it is PV-EASY. When the head does not
    fit, room is asked for; if there is none, the time is found at which it fits once all
    that it outranks has made room. Waiting jobs that are planned to end by then go first,
    shortest first; then every other that fits, in the order of the queue, whatever its
    prediction: it is stopped when the head wants its processors.

    Args:
        single_head: make room for one head in a pass, not for as many as can be served.
        extra: let jobs that take no more than the processors which the head will leave
            over go with those that are planned to end in time.
        restart: let jobs that made room start again in the same pass, where they fit.
        pin_regular: runs that were not backfilled stay whatever their priority; for
            priorities that change in time. ``preempt/shadow_load`` must be given the same.

    Source: the papers on PV-EASY, 2014, section 4.3 and 2010, section 3.
    """

    name: ClassVar[str] = "sched/venture"
    only_starts: ClassVar[bool] = True
    by_order: ClassVar[bool] = True

    def __init__(
        self, single_head: bool = False, extra: bool = False, restart: bool = True, pin_regular: bool = False
    ) -> None:
        self._single_head = single_head
        self._extra = extra
        self._restart = restart
        self._pin_regular = pin_regular
        self._made_room: set[Job] = set()
        self._reserved: tuple[Job, float] | None = None
        self._noted: dict[Entry, float] = {}

    @hookimpl
    def schedule(self, view: SchedulingView) -> Generator[Decision, bool, None]:
        if not view.counted:
            yield from self._by_plan(view)
            return
        served, retry = False, view.changed or bool(self._made_room)
        self._made_room.clear()
        while (head := view.head) is not None:
            if head.processors > view.free:
                # While jobs were only submitted behind it, there is no more room than there was.
                if not view.changed or (served and self._single_head) or not (yield from self._make_room(view, head)):
                    break
                served = True
            yield Start(head)
        if head is None:
            return

        candidates = view.candidates(retry)
        if self._made_room:
            candidates = [job for job in candidates if job not in self._made_room]
        if not candidates and not view.changed:
            return
        time, extra = view.fair_start(head, self._pin_regular)
        if view.changed and self._reserved != (head, time):
            self._reserved = (head, time)
            yield Reserve(head, time)
        yield from self._fill(view, candidates, time, extra)

    def _by_plan(self, view: SchedulingView) -> Generator[Decision, bool, None]:
        """The same pass on any machine: each partition has a head, for which room is made."""
        if self._extra:
            raise ConfigurationError("sched/venture.extra is for counted processors; leave it out")
        plan = view.plan()
        heads = yield from self._serve(view, plan)
        noted, self._noted = self._noted, {}
        in_time = {}
        for partition, head in heads.items():
            self._noted[head] = time = plan.earliest(head, without=self._outranked(view, head))
            in_time[partition] = view.until(time)
            if noted.get(head) != time:
                yield Reserve(head, time)
        behind = [entry for entry in view.candidates() if entry.partition in heads and entry.job not in self._made_room]
        first = [entry for entry in behind if entry.job.planned <= in_time[entry.partition]]
        for entry in (*sorted(first, key=lambda entry: _shortest_first(entry.job)), *behind):
            if place := plan.now(entry).place:
                yield Start(entry, where=place)

    def _serve(self, view: SchedulingView, plan: SchedulePlan) -> Generator[Decision, bool, dict[str, Any]]:
        """Start the queue in order, making room; the heads that have to wait, by partition."""
        heads: dict[str, Any] = {}
        may_ask = True
        self._made_room.clear()
        waiting: list[Any] = list(view.queue)
        while waiting:
            entry = waiting.pop(0)
            answer = plan.now(entry) if entry.partition not in heads else NOT_ASKED
            if answer.blocks and may_ask and (yield from self._make_room(view, entry)):
                answer, may_ask = plan.now(entry), not self._single_head
                # Jobs that made room wait again, some of them ahead of the others.
                waiting = [other for other in view.queue if other is not entry]
            if answer.place:
                yield Start(entry, where=answer.place)
                gone = [name for name, head in heads.items() if head.job is entry.job]
                if gone:
                    # It was the head of another of its partitions.
                    heads = {name: head for name, head in heads.items() if name not in gone}
                    waiting = list(view.queue)
            elif answer.blocks:
                heads[entry.partition] = entry
        return heads

    def _outranked(self, view: SchedulingView, head: Any) -> list[Run]:
        """Runs that would make room for a head."""
        return [
            run
            for run in view.running
            if head.job.outranks(run.job) and run.job.may_requeue and (run.job.backfilled or not self._pin_regular)
        ]

    def _make_room(self, view: SchedulingView, head: Any) -> Generator[Decision, bool, bool]:
        """Ask for room, and note which runs had to make it if it matters."""
        shadow = [] if self._restart else list(view.running)
        there_is = yield MakeRoom(head)
        if shadow and there_is:
            self._made_room.update({run.job for run in shadow}.difference(run.job for run in view.running))
        return there_is

    def _fill(
        self, view: SchedulingView, candidates: list[Job], time: float, extra: int
    ) -> Generator[Decision, bool, None]:
        """Start jobs that are planned to end by ``time``, shortest first, then any that fit."""
        until = view.until(time)
        in_time = [job for job in candidates if job.planned <= until or (self._extra and job.processors <= extra)]
        started = set()
        for job in sorted(in_time, key=_shortest_first):
            if job.processors > view.free:
                continue
            if job.planned > until:
                if job.processors > extra:
                    continue
                extra -= job.processors
            started.add(job)
            yield Start(job)
        for job in candidates:
            if job.processors <= view.free and job not in started:
                yield Start(job)


def _shortest_first(job: Job) -> tuple[float, float, int]:
    return job.planned, job.submit, job.id
