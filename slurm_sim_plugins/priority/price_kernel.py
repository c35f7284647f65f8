"""What jobs of priority/multifactor add up to; a :mod:`kernel <slurm_sim_plugins.kernels>`.

At the end of each period all jobs that wait are priced: millions in a log of a week.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def are_at(jobs: list[Any], known: list[Any], rows: Ints) -> bool:
    """Whether jobs are those that are known at these places; none is at a place that there is not."""
    many = len(known)
    for place in range(len(jobs)):  # noqa: SIM110 - a generator has no C types
        if not 0 <= rows[place] < many or known[rows[place]] is not jobs[place]:
            return False
    return True


def price(
    accounts: Ints,
    requests: Ints,
    of_accounts: Floats,
    of_requests: Floats,
    waited: Floats,
    max_age: float,
    age_weight: float,
    ages: Floats,
    points: Floats,
) -> None:
    """Add up the points of jobs, less their offsets.

    Args:
        accounts: of each job, a column of ``of_accounts``.
        requests: of each job, a column of ``of_requests``.
        of_accounts: the points of association, share and QOS.
        of_requests: the points of size, partition and resources.
        waited: seconds for which its age counts; nan where it does not.
        max_age: seconds after which the age counts no more.
        age_weight: of the age; at 0 there are no ages.
        ages: to be filled with the age factors.
        points: to be filled with the sums.
    """
    for job in range(len(points)):
        age, time = 0.0, waited[job]
        if age_weight != 0 and time > 0:
            age = time / max_age if time < max_age else 1.0
        account, request = accounts[job], requests[job]
        # In the order of one job's sum: on that depends what floats add up to.
        total = age_weight * age + of_accounts[0, account] + of_accounts[1, account]
        total = total + of_requests[0, request] + of_requests[1, request] + of_accounts[2, account]
        ages[job], points[job] = age, total + of_requests[2, request]
