"""Schedules of the offline problem, and what they are worth, exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from slurm_sim_studies.optimum.problem import Job, Problem


class Part(NamedTuple):
    """A stay on the machine without a break, in seconds."""

    start: int
    end: int


@dataclass(frozen=True)
class Stay:
    """Where and when one job is on the machine.

    Attributes:
        parts: one, or two of a job that is preempted.
        block: index of its block; None on a machine of processors.
    """

    parts: tuple[Part, ...]
    block: int | None = None

    @property
    def start(self) -> int:
        """When it first starts."""
        return self.parts[0].start

    @property
    def end(self) -> int:
        """When it is done."""
        return self.parts[-1].end


Schedule = Mapping[int, Stay]
"""By job id."""


def slowdown(job: Job, stay: Stay) -> Fraction:
    """(end - submit) / run: 1 for a job that never waited."""
    return Fraction(stay.end - job.submit, job.run)


def batch_slowdowns(problem: Problem, schedule: Schedule) -> Fraction:
    """The objective: the sum of the batch jobs' slowdowns."""
    return sum((slowdown(job, schedule[job.id]) for job in problem.batch), Fraction(0))


def realtime_slowdown(problem: Problem, schedule: Schedule) -> Fraction | None:
    """The mean slowdown of the real-time jobs, which the bound is for; None without any."""
    if not problem.realtime:
        return None
    total = sum((slowdown(job, schedule[job.id]) for job in problem.realtime), Fraction(0))
    return total / len(problem.realtime)
