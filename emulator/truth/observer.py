"""Looks at the emulated cluster after every event, and notes of each job what has changed."""

from __future__ import annotations

from dataclasses import dataclass

from emulator.state.cluster import Cluster
from emulator.state.job import Job
from emulator.state.run import State
from emulator.truth.history import Sight


@dataclass(slots=True)
class JobObservations:
    """What was seen of a job: (second, value) of each change.

    Attributes:
        sights: state and reason.
        planned: when it was to start; None for not known.
        priorities: its priority.
    """

    sights: list[Sight]
    planned: list[tuple[float, float | None]]
    priorities: list[tuple[float, int]]


class Observer:
    """Notes what changes.

    Attributes:
        notes: by job id.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.notes: dict[int, JobObservations] = {}

    def __call__(self) -> None:
        """Look at every job."""
        now = self._cluster.now
        for job in self._cluster.jobs.values():
            notes = self.notes.get(job.id)
            if notes is None:
                notes = self.notes[job.id] = JobObservations([], [], [])
            state, reason = job.state.value, job.reason
            if not notes.sights or (notes.sights[-1].state, notes.sights[-1].reason) != (state, reason):
                notes.sights.append(Sight(now, state, reason))
            planned = expected_start(job, now)
            if not notes.planned or notes.planned[-1][1] != planned:
                notes.planned.append((now, planned))
            # Before any is tried it is that of the first partition (recorded).
            first = job.number_in(job.partitions[0].name)
            priority = shown_priority(job) if notes.priorities else int(first)
            if not notes.priorities or notes.priorities[-1][1] != priority:
                notes.priorities.append((now, priority))


def shown_priority(job: Job) -> int:
    """Of a job in several partitions that of the one that was tried last (observation P3 of partitions)."""
    if len(job.priorities) < 2 or job.on_hold:
        return int(job.priority)
    return int(min(job.priorities.values()) if job.run is None else job.number_in(job.run.partition))


def expected_start(job: Job, now: float) -> float | None:
    """When a waiting job is to start, as ``StartTime`` says; None for not known.

    Of one that may not start before a time it is that time.
    """
    if job.state is not State.PENDING:
        return None
    if job.begin > now:
        return job.begin
    return job.planned_start if job.eligible is not None else None
