"""Slowdowns as whole numbers, which is all that an integer solver knows.

A slowdown is a number of seconds times 1 / run. With a scale S the solver sees S / run,
rounded. Where S is a multiple of all run times nothing is rounded; otherwise the error of
each weight is known exactly, and with the longest time that a job can take so is the error
of the sum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from slurm_sim_studies.optimum.problem import Job

LARGEST_SUM = 10**15
"""Sums stay below: solvers keep them in 64 bits, and bound them in floating point, which has 53."""


@dataclass(frozen=True)
class Weights:
    """Whole numbers for 1 / run.

    Attributes:
        scale: what stands for a slowdown of 1.
        of: the weight of a second, by job id.
        error: by how much a sum of slowdowns can differ from the weighted sum over ``scale``.
    """

    scale: int
    of: Mapping[int, int]
    error: Fraction


def weights(jobs: Sequence[Job], horizon: int) -> Weights:
    """Weights for the slowdowns of jobs.

    Args:
        jobs: whose slowdowns are added.
        horizon: no job ends after this second.
    """
    longest = {job.id: horizon - job.submit for job in jobs}
    most = sum((Fraction(longest[job.id], job.run) for job in jobs), Fraction(1))
    largest = max(1, math.floor(LARGEST_SUM / most))
    exact = math.lcm(*(job.run for job in jobs))
    scale = exact if exact <= largest else 10 ** (len(str(largest)) - 1)
    of = {job.id: round(Fraction(scale, job.run)) for job in jobs}
    error = sum((abs(Fraction(scale, job.run) - of[job.id]) * longest[job.id] for job in jobs), Fraction(0)) / scale
    return Weights(scale, of, error)
