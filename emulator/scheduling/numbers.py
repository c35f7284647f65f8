# cython: boundscheck=True, wraparound=True, nonecheck=True
"""Numbers that the priority plugin gives to jobs; a :mod:`kernel <slurm_sim_plugins.kernels>`.

At the end of each period all jobs that wait have new ones: millions in a log of a week.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from emulator.state.job import EMPTY, Job
from slurm_sim_plugins.answers import number as number_of
from slurm_sim_plugins.decisions import Priorities
from slurm_sim_plugins.nodes import Ints


def renewable(jobs: Mapping[int, Job]) -> list[Job]:
    """Those of some jobs that get new numbers: not those on hold, nor those that were given a priority."""
    found: list[Job] = []
    for job in jobs.values():
        if not (job.fixed_priority or job.held_by):
            found.append(job)  # noqa: PERF401 - a comprehension has no C types
    return found


def counted_otherwise(jobs: list[Job]) -> list[Job]:
    """Those of some jobs whose next number counts other CPUs than their last."""
    found: list[Job] = []
    for job in jobs:
        if job.planned_cpus != job.counted_cpus:
            found.append(job)  # noqa: PERF401
    return found


def seen_of(jobs: list[Job]) -> list[Any] | None:
    """Jobs as plugins see them; None if there is one at which none has looked."""
    found: list[Any] = []
    for job in jobs:
        if job.seen is None:
            return None
        found.append(job.seen)
    return found


def rows_of(jobs: list[Job]) -> Ints:
    """The rows in which the priority plugin keeps what it knows of jobs."""
    found = np.empty(len(jobs), dtype=np.int64)
    rows = found
    for place, job in enumerate(jobs):
        rows[place] = job.row
    return found


class Answered:
    """The last column that the priority plugin answered, and the jobs that it was for."""

    __slots__ = ("column", "jobs")

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.column: Any = None

    def of(self, job: Job) -> Any:
        """What was answered for one of these jobs."""
        return self.column[job.place]

    def renew(self, jobs: list[Job], column: Priorities) -> bool:
        """Give jobs the numbers of another column; whether any has another one than before.

        Jobs that it is not for keep what was answered for them last.
        """
        changed, many = False, len(jobs)
        numbers: list[float] = column.numbers.tolist()
        for place, job in enumerate(jobs):
            number = numbers[place]
            if job.lift:
                number = lifted(job, number)
            if job.priority != number:
                job.priority, changed = number, True
            job.priorities, job.answer, job.place = EMPTY, self, place
        for job in self.jobs:
            if job.answer is self and (job.place >= many or jobs[job.place] is not job):
                job.answer = (self.column[job.place],)
        self.jobs, self.column = jobs, column
        return changed


def answered(job: Job) -> Sequence[Any]:
    """What the priority plugin answered for a job last, in each of its partitions."""
    answer = job.answer
    return (answer.of(job),) if isinstance(answer, Answered) else answer


def put(jobs: list[Job], answer: Sequence[Any]) -> bool:
    """Give jobs the numbers that were answered for them one by one; whether any has another one than before."""
    changed = False
    for job, each in zip(jobs, answer, strict=True):
        known = answered(job)
        if known and known[0] is each:
            continue
        before = job.priority
        if isinstance(each, list):
            job.answer = each
            numbers = [lifted(job, number_of(one)) for one in each]
            job.priorities = {part.name: number for part, number in zip(job.partitions, numbers, strict=True)}
            job.priority = max(numbers)
        else:
            job.answer = (each,)
            job.priority, job.priorities = lifted(job, number_of(each)), EMPTY
        changed = changed or before != job.priority
    return changed


def share_cpus(tasks: list[Job], cpus: float) -> None:
    """Those of some tasks that share a record count with so many CPUs from their next numbers on."""
    for job in tasks:
        if job.planned_cpus != cpus and job.waits_with_others:
            job.planned_cpus = cpus


def lifted(job: Job, number: float) -> float:
    """A number with what operators gave to the job, but not less than 1."""
    return max(1, number + job.lift) if job.lift else number
