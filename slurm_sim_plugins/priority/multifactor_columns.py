"""priority/multifactor for many jobs at once: the same sums as for one, as columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slurm_sim_plugins.cluster import Association, Qos, Request
from slurm_sim_plugins.decisions import Priorities
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.priority.multifactor_factors import AccountFactors, JobPriority, RequestFactors
from slurm_sim_plugins.priority.price_kernel import Floats, Ints, are_at, price
from slurm_sim_plugins.priority.price_rows import ACCOUNT, NUMBER, REQUEST

Account = tuple[Association | None, Qos | None]
SOME = 1024
"""Rows that there is room for at first."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Of what the numbers of some jobs are made; a plain object, so that a snapshot can keep it.

    Attributes:
        priced: of each job, as :mod:`.price_rows` names the rows.
        ages: of each job.
        of_accounts, of_requests: factors of associations and QOS, and of requests.
    """

    priced: Ints
    ages: Floats
    of_accounts: Mapping[int, AccountFactors]
    of_requests: list[RequestFactors]

    def __call__(self, index: int) -> JobPriority:
        """Those of one job."""
        offset, request, account, total, number = self.priced[:, index].tolist()
        of_account, of_request = self.of_accounts[account], self.of_requests[request]
        return JobPriority(number, total, offset, float(self.ages[index]), of_account, of_request)

    @property
    def requests(self) -> Ints:
        """Which of the factors of requests are those of each job."""
        requests: Ints = self.priced[REQUEST]
        return requests

    def factors(self) -> Floats:
        """Factors without weights, a row for each of :data:`~.multifactor_factors.FACTORS`, a column a job."""
        accounts, requests = self.priced[ACCOUNT], self.priced[REQUEST]
        of_accounts = np.zeros((3, max(self.of_accounts) + 1))
        for account, each in self.of_accounts.items():
            of_accounts[:, account] = each[:3]
        of_requests = np.array([each[:2] for each in self.of_requests], dtype=float).T
        association, share, qos = of_accounts[:, accounts]
        size, partition = of_requests[:, requests]
        return np.array([self.ages, association, share, size, partition, qos])


class Columns:
    """What the numbers of many jobs are worked out from, a row a job; read again once a job shows something else."""

    def __init__(self) -> None:
        self._request_of: dict[Request, int] = {}
        self._factors: list[RequestFactors] = []
        self._points = np.empty((3, 0))
        self._account_of: dict[Account, int] = {}
        self._clear(0)

    def _clear(self, first: int) -> None:
        """Forget all rows; those to come have higher numbers."""
        self._first = first
        self._jobs: list[Job] = []
        self._since = np.empty(SOME)
        self._facts = np.empty((ACCOUNT + 1, SOME), dtype=np.int64)

    def rows(
        self, jobs: Sequence[Job], stated: Ints, of_request: Callable[[Job, Request], RequestFactors]
    ) -> Ints | None:
        """The rows of jobs; None if one of them has several requests.

        Args:
            jobs: of which.
            stated: which rows they had last; those that are forgotten are read again.
            of_request: the factors of what a job asks for; asked once for each request.
        """
        if len(self._jobs) > SOME + 2 * len(jobs):
            self._clear(self._first + len(self._jobs))
        rows = stated - self._first
        if are_at(list(jobs), self._jobs, rows):
            return rows
        new = (rows < 0) | (rows >= len(self._jobs))
        if not self._read_new(jobs, rows, new, of_request):
            return None
        if not are_at(list(jobs), self._jobs, rows):
            # Others, which another plugin keeps.
            self._clear(self._first + len(self._jobs))
            self._read_new(jobs, rows, np.ones_like(new), of_request)
        return rows

    def _read_new(
        self,
        jobs: Sequence[Job],
        rows: Ints,
        new: NDArray[np.bool_],
        of_request: Callable[[Job, Request], RequestFactors],
    ) -> bool:
        """Put in the rows of jobs that are new; false if one of them has several requests."""
        for place in np.flatnonzero(new).tolist():
            if len(jobs[place].requests) != 1:
                return False
            rows[place] = self._read(jobs[place], of_request)
        return True

    def _read(self, job: Job, of_request: Callable[[Job, Request], RequestFactors]) -> int:
        """The row of a job that has none."""
        row = len(self._jobs)
        if row == len(self._since):
            self._since = np.concatenate([self._since, self._since])
            self._facts = np.concatenate([self._facts, self._facts], axis=1)
        self._jobs.append(job)
        job.keep_row(self._first + row)
        since, request = job.accrued, job.requests[0]
        if request not in self._request_of:
            self._request_of[request] = len(self._factors)
            self._factors.append(of_request(job, request))
        account = self._account_of.setdefault((job.association, job.qos), len(self._account_of))
        self._since[row] = np.nan if since is None else since
        self._facts[:, row] = job.site - job.nice, self._request_of[request], account
        return row

    def accrued(self, rows: Ints) -> Floats:
        """From when on their ages count; nan where they do not."""
        return self._since[rows]

    def priced(
        self,
        rows: Ints,
        of_account: Callable[[Association | None, Qos | None], AccountFactors],
        waited: Floats,
        max_age: float,
        age_weight: float,
    ) -> Priorities | None:
        """The priorities of jobs; None where a sum is beyond what a float counts.

        Args:
            rows: of which.
            of_account: the factors of an association and a QOS.
            waited: seconds for which the ages of the jobs count; nan where they do not.
            max_age: seconds after which they count no more.
            age_weight: the weight of the age factors.
        """
        whose = list(self._account_of)
        used = [0]
        if len(whose) > 1:
            used = np.flatnonzero(np.bincount(self._facts[ACCOUNT].take(rows), minlength=len(whose))).tolist()
        factors = {each: of_account(*whose[each]) for each in used}
        of_accounts = np.zeros((3, len(whose)))
        of_accounts[:, used] = np.array([each[3:] for each in factors.values()], dtype=float).T
        ages, priced = np.empty(len(rows)), np.empty((NUMBER + 1, len(rows)), dtype=np.int64)
        of_requests = self._points_of_requests()
        if not price(rows, self._facts, of_accounts, of_requests, waited, max_age, age_weight, ages, priced):
            return None
        return Priorities(priced[NUMBER], Parts(priced, ages, factors, self._factors))

    def _points_of_requests(self) -> Floats:
        known = self._points.shape[1]
        if len(self._factors) > known:
            new = [(each.size_points, each.partition_points, each.resource_points) for each in self._factors[known:]]
            self._points = np.ascontiguousarray(np.hstack([self._points, np.array(new, dtype=float).T]))
        return self._points
