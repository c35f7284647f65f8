"""The waiting jobs in the order of their priority."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from slurm_sim_plugins.views import Job


class JobQueue:
    """Jobs sorted by their order: priority, then (submit, id).

    Args:
        jobs: the list to keep sorted; views show this very list.
    """

    __slots__ = ("_orders", "jobs")

    def __init__(self, jobs: list[Job]) -> None:
        self.jobs = jobs
        self._orders: list[Any] = [job._order for job in jobs]

    def add(self, job: Job) -> int:
        """Put a job into its place; returns the position."""
        order = job._order
        orders = self._orders
        if not orders or order > orders[-1]:
            orders.append(order)
            self.jobs.append(job)
            return len(orders) - 1
        position = bisect_left(orders, order)
        orders.insert(position, order)
        self.jobs.insert(position, job)
        return position

    def remove(self, job: Job) -> int:
        """Take a job out; returns the position that it had."""
        orders = self._orders
        position = bisect_left(orders, job._order)
        del orders[position]
        del self.jobs[position]
        return position
