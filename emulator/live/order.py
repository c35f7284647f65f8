"""What one look of a session showed, in the order in which Slurm did it.

A session hears of what happened between two looks at one instant, and follows it in Slurm's order: a plugin that learns
from a run which ended just before a submission plans the new job with that. Events of an emulation that come at one
instant have no such order; so they come a few microseconds before it, and the passes wait for the look.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, replace

from emulator.workload.sitelog import LoggedJob, SiteLog

STEP = 1e-6
"""Seconds between two events of a look."""
MOMENT = 1e-3
"""Seconds before a look that belong to it; more events of one look than that has steps come together."""


@dataclass(frozen=True, slots=True)
class Looks:
    """When a session made a pass, as far as something was seen or decided then."""

    seconds: tuple[float, ...]

    @classmethod
    def of(cls, log: SiteLog) -> Looks:
        """The looks of a record, read at the times at which the session saw it."""
        looks: set[float | None] = set()
        for job in log.jobs:
            looks |= {job.request.noticed, job.cancel_at}
            for run in (*job.happened.runs, *job.happened.not_started):
                looks |= {run.start, run.seen, run.end}
            looks.add(_over(job))
        return cls(tuple(sorted({round(at, 6) for at in looks if at is not None})))

    def __contains__(self, at: float) -> bool:
        place = bisect_right(self.seconds, at)
        return place > 0 and self.seconds[place - 1] == at

    def is_just_before(self, at: float) -> bool:
        """Whether a look comes in a moment, with the rest of what it shows."""
        place = bisect_right(self.seconds, at)
        return place < len(self.seconds) and self.seconds[place] - at < MOMENT and at not in self


def in_slurms_order(log: SiteLog, happened: SiteLog) -> SiteLog:
    """The log in which submissions and ends that one look showed come one after the other.

    Args:
        log: at the times at which the session saw it.
        happened: the same jobs, at Slurm's times.
    """
    shown: dict[float, list[tuple[float, int, int]]] = defaultdict(list)
    for place, (job, real) in enumerate(zip(log.jobs, happened.jobs, strict=True)):
        shown[job.request.noticed].append((job.request.submit, 1, place))
        over, runs = _over(job), real.happened.runs
        if over is not None and runs and runs[-1].end is not None:
            shown[over].append((runs[-1].end, 0, place))
    jobs = list(log.jobs)
    # Nothing goes before the first look.
    for look in sorted(shown)[1:]:
        for before, (_, is_submission, place) in enumerate(sorted(shown[look], reverse=True)):
            sooner = min(before * STEP, MOMENT / 2)
            jobs[place] = _submitted(jobs[place], sooner) if is_submission else _ended(jobs[place], sooner)
    return replace(log, jobs=tuple(jobs))


def _over(job: LoggedJob) -> float | None:
    """When the last run of a job was seen to have left its nodes; None if the job was not over."""
    runs, epilogs = job.happened.runs, job.request.epilogs
    if not runs or runs[-1].end is None or runs[-1].state == "REQUEUED":
        return None
    return runs[-1].end + (epilogs[len(runs) - 1] if len(epilogs) == len(runs) else 0.0)


def _submitted(job: LoggedJob, sooner: float) -> LoggedJob:
    noticed = max(job.request.noticed - sooner, job.request.submit)
    return replace(job, request=replace(job.request, noticed=noticed))


def _ended(job: LoggedJob, sooner: float) -> LoggedJob:
    """The last run of a job leaves its nodes sooner."""
    request = job.request
    if request.epilogs and request.epilogs[-1] > MOMENT:
        return replace(job, request=replace(request, epilogs=(*request.epilogs[:-1], request.epilogs[-1] - sooner)))
    cancel_at = None if job.cancel_at is None else job.cancel_at - sooner
    return replace(job, request=replace(request, run=request.run - sooner), cancel_at=cancel_at)
