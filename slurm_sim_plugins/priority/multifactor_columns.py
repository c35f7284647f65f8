"""priority/multifactor for many jobs at once: the same sums as for one, as columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from slurm_sim_plugins.cluster import Association, Qos, Request
from slurm_sim_plugins.decisions import Priorities
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.priority.multifactor_factors import AccountFactors, JobPriority, RequestFactors

Floats = NDArray[np.float64]
EXACT = 2.0**53
"""Up to here each whole number is a float."""


class Columns:
    """Points of requests that were seen, and priorities of many jobs.

    Args:
        of_account: the factors of an association and a QOS.
    """

    def __init__(self, of_account: Callable[[Association | None, Qos | None], AccountFactors]) -> None:
        self._of_account = of_account
        self._rows: dict[Request, int] = {}
        self._factors: list[RequestFactors] = []
        self._points = np.empty((3, 0))

    def priced(
        self, jobs: Sequence[Job], of_request: Callable[[Job, Request], RequestFactors], ages: Floats, age_weight: float
    ) -> Priorities | None:
        """The priorities of jobs of one request each; None where a sum is beyond what a float counts.

        Args:
            jobs: of which.
            of_request: the factors of what a job asks for; asked once for each request.
            ages: their age factors.
            age_weight: the weight of these.
        """
        requests, accounts, factors = self._requests(jobs, of_request), [], []
        rows: dict[tuple[Association | None, Qos | None], int] = {}
        for job in jobs:
            whose = job.association, job.qos
            row = rows.get(whose)
            if row is None:
                row = rows[whose] = len(rows)
                factors.append(self._of_account(*whose))
            accounts.append(row)
        association, share, qos = np.array([each[3:] for each in factors], dtype=float).T[:, accounts]
        size, partition, resources = self._points[:, requests]
        # In the order of one job's sum: on that depends what floats add up to.
        points = age_weight * ages + association + share
        points = points + size + partition + qos
        points = points + resources
        if not (np.abs(points) < EXACT).all():
            return None
        totals = points.astype(np.int64)
        offsets = np.array([job.site - job.nice for job in jobs], dtype=np.int64)
        numbers = np.maximum(1, totals + offsets)
        known = self._factors

        def one(index: int) -> JobPriority:
            number, total, offset = int(numbers[index]), int(totals[index]), int(offsets[index])
            account, request = factors[accounts[index]], known[requests[index]]
            return JobPriority(number, total, offset, float(ages[index]), account, request)

        return Priorities(numbers, one)

    def _requests(self, jobs: Sequence[Job], of_request: Callable[[Job, Request], RequestFactors]) -> list[int]:
        """The row of what each job asks for."""
        rows, known = self._rows, len(self._factors)
        requests = [job.requests[0] for job in jobs]
        for job, request in zip(jobs, requests, strict=True):
            if request not in rows:
                rows[request] = len(rows)
                self._factors.append(of_request(job, request))
        if len(rows) > known:
            new = [(each.size_points, each.partition_points, each.resource_points) for each in self._factors[known:]]
            self._points = np.hstack([self._points, np.array(new, dtype=float).T])
        return [rows[request] for request in requests]
