"""Jobs and reservations as a controller's records have them, for plugins that judge submissions and changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from slurm_sim_plugins.submission import Submission, submission_of_job
from slurm_sim_plugins.views import ClusterState


class JobRecord(NamedTuple):
    """A job as it is now."""

    submission: Submission
    """What it asks for now. Its ``id`` is that of the record: of the array where tasks share one."""
    state: str = "PENDING"
    """In Slurm's words."""
    priority: float = 0.0
    """The number that orders the queue; 0 on hold."""
    fixed_priority: bool = False
    """Whether an operator gave it, by a hold or a number."""
    site_factor: int = 0
    """What an operator adds to the priority."""
    eligible: float | None = None
    """Since when it may be scheduled, in seconds; None while it may not."""
    start: float | None = None
    """When its run started, or is planned to, in seconds; None where nothing is planned."""
    end: float | None = None
    """When its run is to end at its limit, in seconds; None while it waits."""
    nodes: tuple[str, ...] = ()
    """Names of the nodes that its run has."""
    cpus: int = 0
    """CPUs that its run has, in all."""
    restarts: int = 0
    """How often it was requeued."""
    array: int | None = None
    """Id of the array that it is a task of, or None."""
    task: int | None = None
    """Index in that array; None for several tasks that share a record."""
    tasks: int = 0
    """How many tasks share the record: those that have not left the array yet; 0 for one job."""
    het_job_id: int | None = None
    """Id of the first component of the heterogeneous job that it is a component of, or None."""
    het_job_offset: int = 0
    """Its place among the components."""
    het_job_id_set: tuple[int, ...] = ()
    """Ids of all components; empty if there are none."""


class ReservationRecord(NamedTuple):
    """A reservation that holds now or will hold."""

    name: str
    """Its name."""
    start: float
    """When it begins, in seconds."""
    end: float
    """When it ends, in seconds."""
    nodes: tuple[str, ...] = ()
    """Names of its nodes."""
    users: tuple[str, ...] = ()
    """Who may use it; empty for any."""
    accounts: tuple[str, ...] = ()
    """For which accounts; empty for any."""
    flags: frozenset[str] = frozenset()
    """Upper-case words, such as ``MAINT``."""


class CountedRecords:
    """Those where processors are only counted, and nothing is reserved.

    Args:
        cluster_state: the current state.
    """

    def __init__(self, cluster_state: ClusterState) -> None:
        self._cluster_state = cluster_state

    def jobs(self) -> Mapping[int, JobRecord]:
        """Of the jobs that wait or run, by id."""
        state = self._cluster_state
        known = [JobRecord(submission_of_job(job), priority=job.priority) for job in state.queue]
        known += [
            JobRecord(
                submission_of_job(run.job),
                "RUNNING",
                run.job.priority,
                eligible=run.job.eligible,
                start=run.start,
                end=run.start + run.job.time_limit,
                cpus=run.processors,
            )
            for run in state.running
        ]
        return {record.submission.id: record for record in sorted(known, key=lambda record: record.submission.id)}

    def reservations(self) -> list[ReservationRecord]:
        """None."""
        return []
