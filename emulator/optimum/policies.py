"""How far policies are from the best schedule of the same jobs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from emulator.optimum.check import TOLERANCE
from emulator.optimum.optimise import Optimum
from emulator.optimum.problem import Job, Problem

if TYPE_CHECKING:
    from emulator.accounting.records import Records


@dataclass(frozen=True)
class Standing:
    """What a policy made of the jobs of a problem.

    Attributes:
        name: of the policy.
        batch_mean: the batch jobs' mean slowdown; NaN if one of them did not end.
        realtime_mean: the real-time jobs'; NaN without any.
        keeps_bound: whether that is within the bound of the problem.
    """

    name: str
    batch_mean: float
    realtime_mean: float
    keeps_bound: bool

    def above(self, optimum: Optimum) -> float:
        """By what part of the best schedule's mean the policy's is larger.

        It can be below 0 for a policy that does not keep the bound, and for one that does
        only if the schedule is not proven to be the best.
        """
        return self.batch_mean / optimum.batch_mean - 1


def standing(name: str, problem: Problem, records: Records) -> Standing:
    """Measure a policy by what its simulation gave; the run times are those of the problem."""
    ends = dict(zip(records.jobs["job_id"].tolist(), np.asarray(records.jobs["end"], float).tolist(), strict=True))
    realtime = _mean(problem.realtime, ends)
    keeps = not realtime > float(problem.bound + TOLERANCE)
    return Standing(name, _mean(problem.batch, ends), realtime, keeps)


def _mean(jobs: tuple[Job, ...], ends: Mapping[int, float]) -> float:
    if not jobs:
        return math.nan
    return math.fsum((ends[job.id] - job.submit) / job.run for job in jobs) / len(jobs)


def order_of_starts(records: Records) -> list[int]:
    """The job ids in the order in which a policy first started them."""
    firsts: dict[int, float] = {}
    for job, start in zip(records.runs["job_id"].tolist(), records.runs["start"].tolist(), strict=True):
        firsts[job] = min(start, firsts.get(job, start))
    return sorted(firsts, key=lambda job: (firsts[job], job))
