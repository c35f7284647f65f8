"""How real-time jobs fare, and what it costs the others: the measures of the paper on real-time jobs on Mira.

Pure functions of the records, which say by the fact ``realtime`` which jobs are which.
Source: sections 3 and 7.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from emulator.metrics.averages import known, mean, median
from emulator.metrics.jobs import Floats, Mask, column, response, wait
from emulator.workload.variations import CATEGORIES, REALTIME, By, categories
from slurm_sim_plugins.errors import ConfigurationError

if TYPE_CHECKING:
    from emulator.accounting.records import Records

Numerator = Literal["bound", "10"]
NUMERATORS = {"bound": None, "10": 10.0}

BOUND = 600.0
"""Seconds; a shorter job counts as if it ran so long."""
TAIL = 95.0
"""The paper's boxplots and its text tell medians and 95 % values."""
ALL = "all"


@dataclass(frozen=True)
class Fate:
    """How the jobs of one kind and category fared.

    Attributes:
        kind: ``real-time`` or ``batch``.
        category: one of :data:`emulator.workload.variations.CATEGORIES`, or ``all``.
        jobs: how many have ended; the means are over these, NaN where there is none.
        slowdown: mean of the bounded slowdown.
        median_slowdown: its median.
        tail_slowdown: 95 % of the jobs have no larger one.
        turnaround: mean seconds from submission to end.
        median_turnaround: their median.
        tail_turnaround: 95 % of the jobs take no longer.
    """

    kind: str
    category: str
    jobs: int
    slowdown: float
    median_slowdown: float
    tail_slowdown: float
    turnaround: float
    median_turnaround: float
    tail_turnaround: float


def bounded_slowdown(records: Records, *, bound: float = BOUND, numerator: Numerator = "bound") -> Floats:
    """(end - submit - run + max(run, bound)) / max(run, bound): 1 for a job that never waited.

    Overheads of checkpoints and lost work are part of end - submit - run. NaN for a job that
    did not end.

    Args:
        records: what happened.
        bound: seconds, more than 0.
        numerator: ``bound`` has the bound in numerator and denominator; ``10`` has 10 s in the numerator, as
            the paper's formula is printed, which gives short jobs less than 1.

    Raises:
        ConfigurationError: an argument out of its range.
    """
    if numerator not in NUMERATORS:
        raise ConfigurationError(f"numerator is {numerator!r}; choose one of {', '.join(NUMERATORS)}")
    if not bound > 0:
        raise ConfigurationError(f"bound is {bound}; it must be more than 0 s")
    run, other = column(records, "run"), NUMERATORS[numerator]
    return (wait(records) + np.maximum(run, bound if other is None else other)) / np.maximum(run, bound)


def turnaround(records: Records) -> Floats:
    """Seconds from submission to the end; NaN for a job that did not end."""
    return response(records)


def realtime_jobs(records: Records) -> Mask:
    """Which jobs are real-time jobs.

    Raises:
        ConfigurationError: the records do not say it.
    """
    if REALTIME not in records.jobs:
        raise ConfigurationError(
            f"the records have no column {REALTIME}; run a workload that a variation told its real-time jobs"
        )
    return np.asarray(column(records, REALTIME) == 1, dtype=np.bool_)


def job_categories(records: Records, by: By = "time_limit") -> Mask:
    """For each of :data:`~emulator.workload.variations.CATEGORIES` a row: which jobs are of it.

    Args:
        records: what happened.
        by: whether a job is short by its limit or by its run time.

    Raises:
        ConfigurationError: ``by`` is neither.
    """
    if by not in ("time_limit", "run"):
        raise ConfigurationError(f"by is {by!r}; choose time_limit or run")
    found = categories(column(records, "processors"), column(records, by))
    return np.asarray(found == np.arange(len(CATEGORIES))[:, None], dtype=np.bool_)


def fates(
    records: Records,
    *,
    counted: Mask | None = None,
    by: By = "time_limit",
    bound: float = BOUND,
    numerator: Numerator = "bound",
) -> list[Fate]:
    """All jobs and each category, real-time jobs before batch jobs: the paper's figures 3 to 7.

    Args:
        records: what happened.
        counted: which jobs count, by default all; see
            :func:`emulator.workload.variations.counted`.
        by: whether a job is short by its limit or by its run time.
        bound: of the bounded slowdown, in seconds.
        numerator: of :func:`bounded_slowdown`.

    Raises:
        ConfigurationError: the records do not say which jobs are real-time jobs, or an
            argument is out of its range.
    """
    slow, spent = bounded_slowdown(records, bound=bound, numerator=numerator), turnaround(records)
    quick, every = realtime_jobs(records), np.ones(len(records), dtype=np.bool_)
    taken = ~np.isnan(spent) & (every if counted is None else counted)
    groups = zip((ALL, *CATEGORIES), (every, *job_categories(records, by)), strict=True)
    kinds = (("real-time", quick), ("batch", ~quick))
    return [
        _fate(kind, category, slow[taken & of_kind & inside], spent[taken & of_kind & inside])
        for category, inside in groups
        for kind, of_kind in kinds
    ]


def _fate(kind: str, category: str, slow: Floats, spent: Floats) -> Fate:
    measures = [average(values) for values in (slow, spent) for average in (mean, median, _tail)]
    return Fate(kind, category, len(spent), *measures)


def _tail(values: Floats) -> float:
    values = known(values)
    return float(np.percentile(values, TAIL)) if len(values) else float("nan")
