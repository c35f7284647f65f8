"""priority/multifactor for many jobs at once: the same sums as for one, as columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slurm_sim_plugins.cluster import Association, Qos, Request
from slurm_sim_plugins.decisions import Priorities
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.priority.multifactor_factors import AccountFactors, JobPriority, RequestFactors

Floats = NDArray[np.float64]
EXACT = 2.0**53
"""Up to here each whole number is a float."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Of what the numbers of some jobs are made; a plain object, so that a snapshot can keep it.

    Attributes:
        numbers, totals, offsets, ages: of each job.
        of_accounts: the factors of its association and QOS.
        of_requests, requests: the factors of requests, and which of these are its own.
    """

    numbers: NDArray[np.int64]
    totals: NDArray[np.int64]
    offsets: NDArray[np.int64]
    ages: Floats
    of_accounts: list[AccountFactors]
    of_requests: list[RequestFactors]
    requests: list[int]

    def __call__(self, index: int) -> JobPriority:
        """Those of one job."""
        number, total, offset = int(self.numbers[index]), int(self.totals[index]), int(self.offsets[index])
        request = self.of_requests[self.requests[index]]
        return JobPriority(number, total, offset, float(self.ages[index]), self.of_accounts[index], request)


class Columns:
    """Points of requests that were seen, and priorities of many jobs."""

    def __init__(self) -> None:
        self._rows: dict[Request, int] = {}
        self._factors: list[RequestFactors] = []
        self._points = np.empty((3, 0))

    def priced(
        self,
        jobs: Sequence[Job],
        of_request: Callable[[Job, Request], RequestFactors],
        of_account: Callable[[Association | None, Qos | None], AccountFactors],
        ages: Floats,
        age_weight: float,
    ) -> Priorities | None:
        """The priorities of jobs of one request each; None where a sum is beyond what a float counts.

        Args:
            jobs: of which.
            of_request: the factors of what a job asks for; asked once for each request.
            of_account: the factors of an association and a QOS.
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
                factors.append(of_account(*whose))
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
        whose_factors = [factors[row] for row in accounts]
        return Priorities(numbers, Parts(numbers, totals, offsets, ages, whose_factors, self._factors, requests))

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
