"""EASY backfilling: the head of the queue gets a reservation, the others may overtake it."""

from __future__ import annotations

from collections.abc import Generator
from typing import ClassVar, Literal

from slurm_sim_plugins.decisions import Decision, Reserve, Start
from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.plan import Entry
from slurm_sim_plugins.views import SchedulingView


class Easy:
    """Start the queue in order; when its head does not fit, start the jobs that do not delay it.

    A later job may start if it is planned to end by the head's reservation (to end just
    then is allowed), or if it takes no more than the processors that the head will leave
    over. On a cluster with nodes each partition has a head, and the plan of the pass says what
    can start without delaying one.

    Args:
        reservation: ``recompute`` makes a head's reservation again in each pass;
            ``sticky`` never makes it earlier than it was when the head was first left
            waiting; ``ratchet`` never makes it earlier than it ever was, which differs
            where runs outlive their planned ends.

    Source: Lifka 1995; Mu'alem and Feitelson 2001, section 2.1. Sticky reservations fit
    the papers on PV-EASY better, which do not say.
    """

    name: ClassVar[str] = "sched/easy"
    only_starts: ClassVar[bool] = True
    by_order: ClassVar[bool] = True

    def __init__(self, reservation: Literal["recompute", "sticky", "ratchet"] = "recompute") -> None:
        self._kept = reservation
        self._reserved: tuple[Job, float] | None = None
        self._promised: tuple[Job, float] | None = None
        self._promises: dict[Entry | Job, float] = {}
        self._noted: dict[Entry | Job, float] = {}

    @hookimpl
    def schedule(self, view: SchedulingView) -> Generator[Decision, bool, None]:
        if not view.counted:
            yield from self._by_plan(view)
            return
        while (head := view.head) is not None and head.processors <= view.free:
            yield Start(head)
        if head is None:
            return

        shadow_time, extra = view.earliest_start(head)
        if self._kept != "recompute":
            shadow_time, extra = self._never_earlier(view, head, shadow_time)
        changed = view.changed
        if changed and self._reserved != (head, shadow_time):
            self._reserved = (head, shadow_time)
            yield Reserve(head, shadow_time)

        in_time = view.until(shadow_time)
        # Unless the view has changed, a job that was refused before would be refused again.
        for job in view.overtaking(in_time, extra, changed):
            if job.planned <= in_time:
                yield Start(job)
            elif job.processors <= extra:
                extra -= job.processors
                yield Start(job)

    def _never_earlier(self, view: SchedulingView, head: Job, shadow_time: float) -> tuple[float, int]:
        """When the head is to start that would fit at a time, but was promised another; and the extra processors then.

        Args:
            view: the cluster.
            head: the job.
            shadow_time: when it would fit first, in seconds.
        """
        if self._promised is None or self._promised[0] is not head:
            self._promised = (head, shadow_time)
        shadow_time = max(shadow_time, self._promised[1])
        if self._kept == "ratchet":
            self._promised = (head, shadow_time)
        return shadow_time, view.free_at(shadow_time) - head.processors

    def _by_plan(self, view: SchedulingView) -> Generator[Decision, bool, None]:
        """The same pass, on any machine; counted processors need no plan but the two numbers above."""
        plan = view.plan()
        kept, self._promises = self._promises, {}
        noted, self._noted = self._noted, {}
        for entry in plan.heads():
            answer = plan.now(entry)
            if answer.place:
                yield Start(entry, where=answer.place)
            elif answer.blocks:
                self._noted[entry] = time = plan.promise(entry, kept.get(entry, 0.0))
                if self._kept != "recompute":
                    self._promises[entry] = time if self._kept == "ratchet" else kept.get(entry, time)
                if noted.get(entry) != time:
                    yield Reserve(entry, time)
        for entry in plan.fitting(view.candidates(view.changed)):
            if place := plan.now(entry).place:
                yield Start(entry, where=place)
