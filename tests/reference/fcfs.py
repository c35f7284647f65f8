"""First come, first served, and shortest job first; no job overtakes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from .cluster import Cluster, Job, JobRow, Passes, Plans, Schedule, simulate


def fcfs(
    jobs: Iterable[JobRow],
    processors: int,
    order: Literal["fcfs", "sjf"] = "fcfs",
    passes: Passes = "batch",
    kill_at_limit: bool = True,
    plans: Plans | None = None,
) -> Schedule:
    """While the head of the queue fits, start it; then stop.

    Args:
        jobs: (id, submit, processors, run, limit) of each.
        processors: size of the machine.
        order: of the queue: by (submit, id), or by (planned for that, submit, id).
        passes: which order of events and passes.
        kill_at_limit: whether a job ends at its limit.
        plans: the three planned times by id; the limits if there are none.
    """

    def key(job: Job) -> tuple[float, ...]:
        return (job.submit, job.id) if order == "fcfs" else (job.queued, job.submit, job.id)

    def make_pass(cluster: Cluster) -> None:
        for job in sorted(cluster.waiting, key=key):
            if job.processors > cluster.idle:
                break
            cluster.start(job)

    return simulate(jobs, processors, make_pass, passes=passes, kill_at_limit=kill_at_limit, plans=plans)
