"""EASY backfilling: only the head of the queue has a reservation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from .cluster import Cluster, Job, JobRow, MakePass, Passes, Plans, Schedule, simulate

Reserve = Literal["recompute", "sticky"]


def easy(
    jobs: Iterable[JobRow],
    processors: int,
    passes: Passes = "batch",
    order: Literal["queue", "sjf"] = "queue",
    kill_at_limit: bool = True,
    predictions: Mapping[int, float] | None = None,
    reserve: Reserve = "recompute",
    plans: Plans | None = None,
) -> Schedule:
    """Start the queue in order until its head does not fit, then backfill.

    Args:
        jobs: (id, submit, processors, run, limit) of each.
        processors: size of the machine.
        passes: which order of events and passes.
        order: in which the jobs behind the head are tried: by (submit, id), or by
            (planned, submit, id).
        kill_at_limit: whether a job ends at its limit.
        predictions: planned seconds by id, where they are not the limit.
        reserve: whether the head's reservation is recomputed in each pass, or never
            earlier than the first one that it had.
        plans: the three planned times by id, where they are not the same.
    """
    words = {"passes": passes, "kill_at_limit": kill_at_limit, "predictions": predictions, "plans": plans}
    return simulate(jobs, processors, backfilling(order, reserve), **words)  # type: ignore[arg-type]


def backfilling(order: Literal["queue", "sjf"] = "queue", reserve: Reserve = "recompute") -> MakePass:
    """The pass of EASY."""
    first_reserved: dict[int, float] = {}

    def key(job: Job) -> tuple[float, ...]:
        return (job.submit, job.id) if order == "queue" else (job.planned, job.submit, job.id)

    def make_pass(cluster: Cluster) -> None:
        while cluster.waiting and cluster.waiting[0].processors <= cluster.idle:
            cluster.start(cluster.waiting[0])
        if not cluster.waiting:
            return
        head, *others = cluster.waiting
        shadow_time = reservation(head, cluster)
        if reserve == "sticky":
            shadow_time = max(shadow_time, first_reserved.setdefault(head.id, shadow_time))
        extra = free_at(shadow_time, cluster) - head.processors
        for job in sorted(others, key=key):
            if job.processors > cluster.idle:
                continue
            if cluster.now + job.planned <= shadow_time:
                cluster.start(job)
            elif job.processors <= extra:
                extra -= job.processors
                cluster.start(job)

    return make_pass


def reservation(head: Job, cluster: Cluster) -> float:
    """The first planned end at which the head fits."""
    ends = sorted({cluster.planned_end(run) for run in cluster.running})
    return next(time for time in ends if free_at(time, cluster) >= head.processors)


def free_at(time: float, cluster: Cluster) -> int:
    """How many processors are planned to be free if nothing else starts."""
    ended = [run for run in cluster.running if cluster.planned_end(run) <= time]
    return cluster.idle + sum(run.job.processors for run in ended)
