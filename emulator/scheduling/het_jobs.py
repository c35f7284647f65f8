"""Heterogeneous jobs on a cluster: which jobs are components of one, and which schedulers may start them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from slurm_sim_plugins.errors import ConfigurationError, InputError

if TYPE_CHECKING:
    from emulator.state.cluster import Cluster
    from emulator.state.job import Job
    from emulator.workload.request import JobRequest

NOT_ONE = "Operation not permitted on individual component of heterogeneous job"
NO_LEADER = "Job not heterogeneous job leader"
LAUNCH_FAILURE = "JobLaunchFailure"
"""What a component shows whose first component was killed at its limit (recorded)."""
NOT_SUPPORTED = "Requested operation not supported on this system"
"""How Slurm refuses heterogeneous jobs where ``SchedulerType`` is not ``sched/backfill`` (recorded)."""
MOST_NAMED = 5


def components_of(job: Job, cluster: Cluster) -> Sequence[Job]:
    """All components of the heterogeneous job that a job is of, the first of them first; or the job itself."""
    number = job.request.het_job_id
    return [job] if number is None else cluster.het_jobs[number]


def led_by(job: Job, cluster: Cluster) -> Sequence[Job]:
    """The further components of a heterogeneous job of which a job is the first; empty for all others.

    The script runs there: when it ends all of them end.
    """
    if job.request.het_job_id is None:
        return ()
    first, *further = cluster.het_jobs[job.request.het_job_id]
    return further if first is job else ()


def is_led(job: Job, cluster: Cluster) -> bool:
    """Whether a job is a further component of a heterogeneous job."""
    return job.request.het_job_id is not None and cluster.het_jobs[job.request.het_job_id][0] is not job


def gathered(requests: Iterable[JobRequest]) -> dict[int, list[JobRequest]]:
    """Components that stand by themselves, as logs have them, by their heterogeneous job."""
    found: dict[int, list[JobRequest]] = {}
    for request in requests:
        if request.het_job_id is not None:
            found.setdefault(request.het_job_id, []).append(request)
    for components in found.values():
        components.sort(key=lambda request: request.het_job_offset)
    return found


def check_numbers(requests: Sequence[JobRequest]) -> set[int]:
    """Numbers of all components that are not written out.

    Raises:
        InputError: another job has one of them.
    """
    whole = [request for request in requests if request.options.components]
    taken = {request.id: request for request in requests} if whole else {}
    numbers: set[int] = set()
    for request in whole:
        for component in request.components()[1:]:
            other = taken.get(component.id)
            if other is not None:
                raise InputError(
                    f"{other.location or 'the workload'}: job {other.id} has the number of component "
                    f"{request.id}+{component.het_job_offset}; a heterogeneous job of "
                    f"{1 + len(request.options.components)} components takes as many numbers, as in Slurm: give this "
                    "job a higher one"
                )
            numbers.add(component.id)
    return numbers


def takes_het_jobs(requests: Sequence[JobRequest], scheduler: object, name: str) -> bool:
    """Whether heterogeneous jobs are taken in: whether the scheduler says that it plans them.

    Raises:
        ConfigurationError: there are heterogeneous jobs, and the scheduler, which says nothing of them, would start one
            component without the others.
    """
    says = getattr(scheduler, "het_jobs", None)
    if says is not None:
        return bool(says)
    found = [
        one for one in requests if one.options.components or (one.het_job_id is not None and not one.het_job_offset)
    ]
    if found:
        named = ", ".join(str(one.id) for one in found[:MOST_NAMED]) + (", ..." if len(found) > MOST_NAMED else "")
        where = f"{found[0].location}: " if found[0].location else ""
        raise ConfigurationError(
            f"{where}{len(found)} heterogeneous jobs ({named}): {name} does not start their components together; take "
            "sched/backfill, or leave these jobs out; a plugin that does says het_jobs = True"
        )
    return False
