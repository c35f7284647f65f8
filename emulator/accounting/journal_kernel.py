# cython: boundscheck=True, wraparound=True, nonecheck=True
"""What the journal notes of the jobs that wait; a :mod:`kernel <slurm_sim_plugins.kernels>`.

It looks at all of them after each pass: tens of millions of looks in a log of a week.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from emulator.scheduling.numbers import Answered
from emulator.state.job import Job
from slurm_sim_plugins.nodes import Ints
from slurm_sim_plugins.priority.price_kernel import Floats

MINUTE = 60.0
"""Seconds by which a planned start must move to be noted: plans change with every pass."""
LARGEST = 2**63 - 1
"""Whole numbers in a file have 64 bits."""


def changed_waits(
    jobs: list[Job],
    last: dict[int, tuple[Any, ...]],
    reasons: dict[str, int],
    numbers: Ints,
    codes: Ints,
    priorities: Ints,
    plans: Floats,
) -> int:
    """Those of some jobs that show something else than when they were noted last; how many there are.

    Args:
        jobs: of which.
        last: reason, priority and planned start as they were noted last, by id; these are noted.
        reasons: numbers of reasons; new ones are added.
        numbers: to be filled with the id of each that has changed.
        codes: with the number of its reason.
        priorities: with its priority.
        plans: with when it is planned to start, in seconds; nan if that is not known.
    """
    many = 0
    for job in jobs:
        number, reason, planned, priority = job.id, job.reason, job.planned_start, job.priority
        if priority.__class__ is not int or len(job.priorities) > 1:
            priority = shown_priority(job)
        seen = last.get(number)
        if seen is not None and seen[1] == priority and seen[0] == reason and not _has_moved(seen[2], planned):
            continue
        last[number] = (reason, priority, planned)
        code = reasons.get(reason)
        if code is None:
            code = reasons[reason] = len(reasons)
        numbers[many], codes[many] = number, code
        priorities[many], plans[many] = priority, math.nan if planned is None else planned
        many += 1
    return many


def _has_moved(before: Any, planned: Any) -> bool:
    """Whether a planned start has changed enough to be noted."""
    if before is planned:
        return False
    return before is None or planned is None or abs(before - planned) >= MINUTE


def moved_plans(jobs: Iterable[Job], told: dict[int, float]) -> list[Job]:
    """The jobs whose planned start has moved since it was told last; the new starts are noted as told.

    Args:
        jobs: those that wait.
        told: planned starts as they were told last, in seconds, by id.
    """
    moved: list[Job] = []
    for job in jobs:
        planned = job.planned_start
        if planned is not None and _has_moved(told.get(job.id), planned):
            told[job.id] = planned
            moved.append(job)
    return moved


def shown_priority(job: Job) -> int:
    """The priority that ``squeue`` shows: of a job in several partitions that of the one that is tried last.

    It is cut to a whole number.
    """
    shown = min(job.priorities.values()) if len(job.priorities) > 1 and not job.on_hold else job.priority
    return max(-LARGEST, min(int(shown), LARGEST))


def by_column(jobs: list[Job], column: Answered) -> tuple[list[Job], list[Job]]:
    """Those of some jobs for which the priority plugin answered last in a column, and those that it answered alone."""
    together: list[Job] = []
    alone: list[Job] = []
    for job in jobs:
        if job.seen is None:
            continue
        if job.answer is column:
            together.append(job)
        else:
            alone.append(job)
    return together, alone


def facts_of(jobs: list[Job], partitions: dict[str, int], facts: Ints) -> None:
    """Fill in what jobs are, a column each: id, place in the column, number of the first partition, site factor.

    Args:
        jobs: of which.
        partitions: numbers of names; new ones are added.
        facts: to be filled.
    """
    for index, job in enumerate(jobs):
        name = job.partitions[0].name
        code = partitions.get(name)
        if code is None:
            code = partitions[name] = len(partitions)
        facts[0, index], facts[1, index], facts[2, index], facts[3, index] = job.id, job.place, code, job.site
