# cython: boundscheck=True, wraparound=True, nonecheck=True
"""The waiting jobs in the order of their priority; a :mod:`kernel <slurm_sim_plugins.kernels>`."""

from __future__ import annotations

from operator import attrgetter

from slurm_sim_plugins.job_fields import before
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.views import ClusterState

_ORDER = attrgetter("_order")


class JobQueue:
    """Keeps a cluster state's waiting jobs sorted by their order: priority, then (submit, id).

    Priorities are set for all of them or for none.

    Args:
        cluster_state: whose ``waiting`` and ``head`` to keep.
    """

    __slots__ = ("_cluster_state", "_jobs")

    def __init__(self, cluster_state: ClusterState) -> None:
        self._cluster_state = cluster_state
        self._jobs = cluster_state._waiting

    def add(self, job: Job) -> bool:
        """Insert a job in order; says whether it is the head now."""
        jobs = self._jobs
        position = len(jobs)
        if position and not before(jobs[position - 1], job):
            position = self._place(job)
        jobs.insert(position, job)
        if position:
            return False
        self._cluster_state.head = job
        return True

    def remove(self, job: Job) -> bool:
        """Take a job out; says whether it was the head."""
        jobs = self._jobs
        if jobs[0] is not job:
            del jobs[self._place(job)]
            return False
        del jobs[0]
        self._cluster_state.head = jobs[0] if jobs else None
        return True

    def sort(self) -> bool:
        """Sort all jobs again, after their orders have changed; says whether any moved."""
        jobs = self._jobs
        were = jobs.copy()
        jobs.sort(key=_ORDER)
        self._cluster_state.head = jobs[0] if jobs else None
        return jobs != were

    def _place(self, job: Job) -> int:
        """Where a job stands, or would stand."""
        jobs = self._jobs
        first, beyond = 0, len(jobs)
        while first < beyond:
            middle = (first + beyond) // 2
            if before(jobs[middle], job):
                first = middle + 1
            else:
                beyond = middle
        return first
