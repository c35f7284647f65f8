"""Mean slowdowns with and without the week that weighs most in them.

A mean over a year of jobs can be carried by one burst: a user submits hundreds of short jobs,
and how long these wait decides whose mean is lower. The heaviest week of a workload is that
of which the jobs' bounded slowdowns add up to most, over all runs that are compared, so that
the same jobs are left out of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from emulator.campaign import Numbers, Outcome
from emulator.metrics.jobs import bounded_slowdown, column

if TYPE_CHECKING:
    from emulator.accounting.records import Records

WEEK = 604800.0
"""Seconds; week 1 begins at second 0 of the log's clock, and a job belongs to that of its submission."""
SUM, JOBS = "week_slowdowns:", "week_jobs:"


@dataclass(frozen=True)
class WithoutWeek:
    """MBS of a run with and without the heaviest week of its workload.

    Attributes:
        column: the workload.
        run: which run.
        week: the heaviest week.
        jobs: submitted in it.
        mbs: mean bounded slowdown of all jobs.
        without: of those of the other weeks; NaN if there are none.
    """

    column: str
    run: str
    week: int
    jobs: int
    mbs: float
    without: float


def by_week(records: Records) -> Numbers:
    """Sum of bounded slowdowns and number of jobs of each week, as a run's numbers."""
    slowdown = bounded_slowdown(records)
    counts = ~np.isnan(slowdown)
    weeks, index = np.unique(column(records, "submit")[counts] // WEEK, return_inverse=True)
    sums, jobs = np.bincount(index, slowdown[counts]), np.bincount(index)
    numbers: dict[str, float] = {}
    for week, total, count in zip((weeks + 1).astype(int).tolist(), sums.tolist(), jobs.tolist(), strict=True):
        numbers |= {f"{SUM}{week}": total, f"{JOBS}{week}": float(count)}
    return numbers


def without_heaviest(outcomes: Sequence[Outcome], columns: Sequence[str]) -> list[WithoutWeek]:
    """MBS with and without the heaviest week, of each run that is not one of many draws."""
    found = []
    for name in columns:
        runs = {
            run: outcome.numbers
            for outcome in outcomes
            for study, _, run in [outcome.name.partition("/")]
            if study == name and not run.startswith("virtual:") and _weeks(outcome.numbers, SUM)
        }
        weights: Counter[int] = Counter()
        for numbers in runs.values():
            weights.update(_weeks(numbers, SUM))
        if weights:
            week = min(weights, key=lambda week: (-weights[week], week))
            found += [_without(name, run, numbers, week) for run, numbers in runs.items()]
    return found


def _without(name: str, run: str, numbers: Numbers, week: int) -> WithoutWeek:
    sums, jobs = _weeks(numbers, SUM), _weeks(numbers, JOBS)
    others = sum(jobs.values()) - jobs.get(week, 0)
    rest = sum(total for other, total in sums.items() if other != week)
    mean = sum(sums.values()) / sum(jobs.values())
    return WithoutWeek(name, run, week, round(jobs.get(week, 0)), mean, rest / others if others else float("nan"))


def _weeks(numbers: Numbers, prefix: str) -> dict[int, float]:
    return {int(key.removeprefix(prefix)): value for key, value in numbers.items() if key.startswith(prefix)}
