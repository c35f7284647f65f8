"""Conservative backfilling: every waiting job has a slot in the plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from .cluster import Cluster, Job, JobRow, Passes, Plans, Schedule, simulate

Interval = tuple[float, float, int]
"""(start, end, processors) that are taken."""


def conservative(
    jobs: Iterable[JobRow],
    processors: int,
    compress: Literal["rebuild", "never_later"] = "rebuild",
    passes: Passes = "batch",
    kill_at_limit: bool = True,
    predictions: Mapping[int, float] | None = None,
    plans: Plans | None = None,
) -> Schedule:
    """Give every waiting job the earliest hole, and start those whose slot is now.

    Args:
        jobs: (id, submit, processors, run, limit) of each.
        processors: size of the machine.
        compress: ``rebuild``: in each pass the whole plan is made from nothing, in the
            order of the queue. ``never_later``: a waiting job keeps its slot. In a pass
            before which something has ended, or should have ended as it was planned in
            the pass before, or which follows a start of a run that is planned otherwise
            than its job was, one job after the other, in the order of the queue, is
            lifted out and set to the earliest hole that all the others leave. Jobs
            without a slot come last, in the order of the queue. If somebody's slot
            would have to move later, because a run has outlived its plan, the promises
            cannot be kept, and the whole plan is made from nothing.
        passes: which order of events and passes.
        kill_at_limit: whether a job ends at its limit.
        predictions: planned seconds by id, where they are not the limit.
        plans: the three planned times by id, where they are not the same.
    """
    slots: dict[Job, float] = {}

    def make_pass(cluster: Cluster) -> None:
        if compress == "rebuild":
            slots.clear()
        elif cluster.replanned or any(cluster.overdue(run) for run in cluster.running):
            move_earlier(slots, cluster)
        for job in cluster.waiting:
            if job not in slots:
                slots[job] = earliest_hole(job, slots, cluster)
        for job in list(cluster.waiting):
            # Where a run has outlived its plan, the processors of a slot may not be there.
            if slots[job] <= cluster.now and job.processors <= cluster.idle:
                del slots[job]
                cluster.start(job)

    words = {"passes": passes, "kill_at_limit": kill_at_limit, "predictions": predictions, "plans": plans}
    return simulate(jobs, processors, make_pass, **words)  # type: ignore[arg-type]


def move_earlier(slots: dict[Job, float], cluster: Cluster) -> None:
    """Lift out one waiting job after the other, and set it to the earliest hole."""
    for job in slots:
        slots[job] = max(slots[job], cluster.now)
    promised = dict(slots)
    for job in cluster.waiting:
        if job in slots:
            others = {other: slot for other, slot in slots.items() if other != job}
            slots[job] = earliest_hole(job, others, cluster)
    if any(slots[job] > promised[job] for job in slots):
        slots.clear()


def earliest_hole(job: Job, slots: dict[Job, float], cluster: Cluster) -> float:
    """The first time from which on the job fits beside what runs and what has a slot."""
    taken = [(cluster.now, cluster.planned_end(run), run.job.processors) for run in cluster.running]
    taken += [(slot, slot + other.planned, other.processors) for other, slot in slots.items()]
    for time in sorted({cluster.now} | {end for _, end, _ in taken if end > cluster.now}):
        if fits(job, time, taken, cluster.processors):
            return time
    raise AssertionError("the job is wider than the machine")


def fits(job: Job, time: float, taken: list[Interval], processors: int) -> bool:
    """Whether enough processors are free from ``time`` on, for as long as the job is planned.

    It is enough to look where something is taken: in between, ever more is free.
    """
    moments = [time] + [start for start, _, _ in taken if time < start < time + job.planned]
    return all(
        job.processors + sum(wanted for start, end, wanted in taken if start <= moment < end) <= processors
        for moment in moments
    )
