"""What jobs of priority/multifactor add up to; a :mod:`kernel <slurm_sim_plugins.kernels>`.

At the end of each period all jobs that wait are priced: millions in a log of a week.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slurm_sim_plugins.priority.price_rows import ACCOUNT, NUMBER, OFFSET, REQUEST, TOTAL

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EXACT = 2.0**53
"""Up to here each whole number is a float."""


def are_at(jobs: list[Any], known: list[Any], rows: Ints) -> bool:
    """Whether jobs are those that are known at these places; none is at a place that there is not."""
    many = len(known)
    for place in range(len(jobs)):  # noqa: SIM110 - a generator has no C types
        if not 0 <= rows[place] < many or known[rows[place]] is not jobs[place]:
            return False
    return True


def price(
    rows: Ints,
    facts: Ints,
    of_accounts: Floats,
    of_requests: Floats,
    waited: Floats,
    max_age: float,
    age_weight: float,
    ages: Floats,
    priced: Ints,
) -> bool:
    """Work out the priorities of jobs.

    Args:
        rows: of each job, its column of ``facts``.
        facts: of jobs, as :mod:`.price_rows` names them.
        of_accounts: the points of association, share and QOS, by ``ACCOUNT``.
        of_requests: the points of size, partition and resources, by ``REQUEST``.
        waited: seconds for which its age counts; nan where it does not.
        max_age: seconds after which the age counts no more.
        age_weight: of the age; at 0 there are no ages.
        ages: to be filled with the age factors.
        priced: to be filled, below the facts of each job, with its points and its priority.

    Returns:
        Whether all sums are whole numbers that a float counts.
    """
    for job in range(len(rows)):
        age, time, row = 0.0, waited[job], rows[job]
        if age_weight != 0 and time > 0:
            age = time / max_age if time < max_age else 1.0
        offset, request, account = facts[OFFSET, row], facts[REQUEST, row], facts[ACCOUNT, row]
        # In the order of one job's sum: on that depends what floats add up to.
        points = age_weight * age + of_accounts[0, account] + of_accounts[1, account]
        points = points + of_requests[0, request] + of_requests[1, request] + of_accounts[2, account]
        points = points + of_requests[2, request]
        if not -EXACT < points < EXACT:
            return False
        total = int(points)
        ages[job] = age
        priced[OFFSET, job], priced[REQUEST, job], priced[ACCOUNT, job] = offset, request, account
        priced[TOTAL, job], priced[NUMBER, job] = total, max(1, total + offset)
    return True
