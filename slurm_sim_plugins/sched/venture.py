"""Venture backfilling: what is idle is put to use, and given back when the head wants it."""

from __future__ import annotations

from collections.abc import Generator
from typing import ClassVar

from slurm_sim_plugins.decisions import Decision, MakeRoom, Reserve, Start
from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.views import Job, SchedulingView


class Venture:
    """Start the queue in order, making room for its head; fill what is idle with whoever fits.

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

    def __init__(
        self, single_head: bool = False, extra: bool = False, restart: bool = True, pin_regular: bool = False
    ) -> None:
        self._single_head = single_head
        self._extra = extra
        self._restart = restart
        self._pin_regular = pin_regular
        self._made_room: set[Job] = set()
        self._reserved: tuple[Job, float] | None = None

    @hookimpl
    def schedule(self, view: SchedulingView) -> Generator[Decision, bool, None]:
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

    def _make_room(self, view: SchedulingView, head: Job) -> Generator[Decision, bool, bool]:
        """Ask for room, and note who had to make it if it matters."""
        shadow = [] if self._restart else list(view.running)
        there_is = yield MakeRoom(head)
        if shadow and there_is:
            self._made_room.update({run.job for run in shadow}.difference(run.job for run in view.running))
        return there_is

    def _fill(
        self, view: SchedulingView, candidates: list[Job], time: float, extra: int
    ) -> Generator[Decision, bool, None]:
        """Start who is planned to end by ``time``, shortest first, then whoever fits."""
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
