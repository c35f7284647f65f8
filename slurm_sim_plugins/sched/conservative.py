"""Conservative backfilling: every waiting job has a reservation, and none is delayed."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from operator import gt
from typing import ClassVar, Literal

from slurm_sim_plugins.decisions import Decision, Reserve, Start
from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.profile import Profile
from slurm_sim_plugins.views import SchedulingView


@dataclass
class Conservative:
    """Give every waiting job the earliest hole in the plan; start those whose slot is now.

    Args:
        compress: what to do with the plan when something other than a submission
            happened. ``rebuild`` rebuilds it, in the order of the queue: simple, and
            a job's slot may move later. ``never_later`` moves one job after the other
            to an earlier slot if there is one. No slot moves later, unless a run outlives
            its plan or is planned for longer than its job was while it waited; then the
            plan is rebuilt.

    Source: Mu'alem and Feitelson 2001, section 2.2; Feitelson and Weil 1998.
    """

    name: ClassVar[str] = "sched/conservative"
    compress: Literal["rebuild", "never_later"] = "rebuild"
    _slots: dict[Job, float] = field(default_factory=dict, init=False, repr=False)
    _profile: Profile | None = field(default=None, init=False, repr=False)

    @hookimpl
    def schedule(self, view: SchedulingView) -> Generator[Decision, bool, None]:
        if not view.counted:
            yield from self._by_plan(view)
            return
        jobs = list(view.new_jobs)
        if view.changed or self._profile is None or view.queue[-len(jobs) :] != jobs:
            jobs = list(view.queue)
            slots = self._plan(view, jobs)
        else:
            # The plan stands; jobs that came behind all others find their places in it.
            slots = self._place(self._profile, jobs, view.now)

        for job, slot in zip(jobs, slots, strict=True):
            if slot <= view.now and job.processors <= view.free:
                self._slots.pop(job, None)
                yield Start(job)
            elif self._slots.get(job) != slot:
                self._slots[job] = slot
                yield Reserve(job, slot)

    def _by_plan(self, view: SchedulingView) -> Generator[Decision, bool, None]:
        """The plan rebuilt, on any machine: each entry of the queue starts, or is promised the earliest start."""
        if self.compress == "never_later":
            raise ConfigurationError("sched/conservative.compress is never_later, which is for counted processors")
        plan, promised = view.plan(), {}
        for entry in view.queue:
            answer = plan.now(entry)
            if answer.place:
                yield Start(entry, where=answer.place)
            elif (answer.blocks or answer.overtakes) and entry.job not in promised:
                # In its further partitions a job may start, and has no second reservation.
                promised[entry.job] = time = plan.promise(entry)
                if self._slots.get(entry.job) != time:
                    yield Reserve(entry, time)
        self._slots = promised

    def _plan(self, view: SchedulingView, jobs: list[Job]) -> list[float]:
        """A slot for each waiting job."""
        self._profile = view.profile()
        if self.compress == "never_later":
            slots = self._moved_earlier(self._profile, jobs, view.now)
            if slots is not None:
                return slots
            self._profile = view.profile()
        return self._place(self._profile, jobs, view.now)

    def _moved_earlier(self, profile: Profile, jobs: list[Job], now: float) -> list[float] | None:
        """As :meth:`_plan`; None if what runs has outlived its plan, so that promises cannot be kept."""
        placed = [job for job in jobs if job in self._slots]
        held = [max(self._slots[job], now) for job in placed]
        moved = profile.compress([job.processors for job in placed], [job.planned for job in placed], held, now)
        if any(map(gt, moved, held)):
            return None
        slots = dict(zip(placed, moved, strict=True))
        fresh = [job for job in jobs if job not in slots]
        slots.update(zip(fresh, self._place(profile, fresh, now), strict=True))
        return [slots[job] for job in jobs]

    @staticmethod
    def _place(profile: Profile, jobs: list[Job], now: float) -> list[float]:
        return profile.place([job.processors for job in jobs], [job.planned for job in jobs], now)
