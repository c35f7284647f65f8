"""Slurm's backfill on counted processors: the main loop in order, then a hole for one job after the other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from .cluster import Cluster, Job, JobRow, Passes, Plans, Schedule, simulate
from .conservative import Interval, fits


def backfill(
    jobs: Iterable[JobRow],
    processors: int,
    resolution: float = 60,
    window: float = 86_400,
    most_bounds: int = 500,
    most_tested: int = 500,
    passes: Passes = "batch",
    kill_at_limit: bool = True,
    predictions: Mapping[int, float] | None = None,
    plans: Plans | None = None,
) -> Schedule:
    """Start the queue in its order; then seek the first hole for each job, start it if that is now, else keep the hole.

    Args:
        jobs: (id, submit, processors, run, limit) of each.
        processors: size of the machine.
        resolution: a kept hole begins and ends at multiples of it, rounded down, and lasts one at least.
        window: no hole is kept that is to begin later than so many seconds from now.
        most_bounds: distinct times within the window at which kept holes begin or end; the cycle ends where there would
            be more.
        most_tested: jobs that a cycle looks at.
        passes: which order of events and passes.
        kill_at_limit: whether a job ends at its limit.
        predictions: planned seconds by id, where they are not the limit.
        plans: the three planned times by id, where they are not the same.
    """

    def make_pass(cluster: Cluster) -> None:
        while cluster.waiting and cluster.waiting[0].processors <= cluster.idle:
            cluster.start(cluster.waiting[0])
        kept: list[Interval] = []
        for job in cluster.waiting[:most_tested]:
            start = first_start(job, kept, cluster)
            if start == cluster.now and job.processors <= cluster.idle:
                cluster.start(job)
            elif start == cluster.now:
                # Of runs that should be over some are not.
                kept.append((start, start + job.planned, job.processors))
            elif start <= cluster.now + window:
                bounds = {bound for begin, end, _ in kept for bound in (begin, end)}
                if len([bound for bound in bounds if bound <= cluster.now + window]) + 1 >= most_bounds:
                    return
                begin = math.floor(start / resolution) * resolution
                end = math.floor((start + job.planned) / resolution) * resolution
                kept.append((begin, max(end, begin + resolution), job.processors))

    words = {"passes": passes, "kill_at_limit": kill_at_limit, "predictions": predictions, "plans": plans}
    return simulate(jobs, processors, make_pass, **words)  # type: ignore[arg-type]


def first_start(job: Job, kept: list[Interval], cluster: Cluster) -> float:
    """The first time from which on the job fits beside what runs and what is kept."""
    taken = [(cluster.now, cluster.planned_end(run), run.job.processors) for run in cluster.running] + kept
    for time in sorted(
        {cluster.now} | {bound for begin, end, _ in taken for bound in (begin, end) if bound > cluster.now}
    ):
        if fits(job, time, taken, cluster.processors):
            return time
    raise AssertionError("the job is wider than the machine")
