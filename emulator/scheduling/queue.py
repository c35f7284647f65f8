# cython: boundscheck=True, wraparound=True, nonecheck=True
"""The waiting jobs in the order of their priority; a :mod:`kernel <slurm_sim_plugins.kernels>`."""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter
from typing import Any

from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.views import ClusterState

_ORDER = attrgetter("_order")


class JobQueue:
    """Keeps a cluster state's waiting jobs sorted by their order: priority, then (submit, id).

    Args:
        cluster_state: whose ``waiting`` and ``head`` to keep.
    """

    __slots__ = ("_cluster_state", "_jobs", "_orders")

    def __init__(self, cluster_state: ClusterState) -> None:
        self._cluster_state = cluster_state
        self._jobs = cluster_state._waiting
        self._orders: list[Any] = []

    def add(self, job: Job) -> bool:
        """Insert a job in order; says whether it is the head now."""
        order, orders = job._order, self._orders
        if orders and order > orders[-1]:
            orders.append(order)
            self._jobs.append(job)
            return False
        position = bisect_left(orders, order)
        orders.insert(position, order)
        self._jobs.insert(position, job)
        if position:
            return False
        self._cluster_state.head = job
        return True

    def remove(self, job: Job) -> bool:
        """Take a job out; says whether it was the head."""
        jobs, orders = self._jobs, self._orders
        if jobs[0] is not job:
            position = bisect_left(orders, job._order)
            del orders[position], jobs[position]
            return False
        del orders[0], jobs[0]
        self._cluster_state.head = jobs[0] if jobs else None
        return True

    def sort(self) -> bool:
        """Sort all jobs again, after their orders have changed; says whether any moved."""
        jobs = self._jobs
        before = jobs.copy()
        jobs.sort(key=_ORDER)
        self._orders[:] = [job._order for job in jobs]
        self._cluster_state.head = jobs[0] if jobs else None
        return jobs != before
