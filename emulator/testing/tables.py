"""Job and run records as whole microseconds, and what is said of the first row that is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from emulator.accounting.records import Records

Instants = NDArray[np.int64]
Mask = NDArray[np.bool_]
Rule = Callable[[int], str]

MICROSECONDS = 1_000_000
NOWHEN = np.iinfo(np.int64).min
"""Stands for what has not happened."""


class JobRows(NamedTuple):
    """One entry a job; times in microseconds."""

    id: NDArray[np.int64]
    submit: Instants
    start: Instants
    end: Instants
    first_start: Instants
    occupied: Instants
    processors: NDArray[np.int64]
    requeues: NDArray[np.int64]
    state: NDArray[Any]


class RunRows(NamedTuple):
    """One entry a run, sorted by job and number; times in microseconds."""

    job: NDArray[np.intp]
    """Index of the job."""
    id: NDArray[np.int64]
    number: NDArray[np.int64]
    start: Instants
    end: Instants
    processors: NDArray[np.int64]
    work: Instants
    """What it did of its job's work, and was not lost."""
    outcome: NDArray[Any]
    first: Mask
    """Whether it is its job's first run."""
    last: Mask
    """Whether it is its job's last run."""

    @property
    def length(self) -> Instants:
        """How long it lasted."""
        return self.end - self.start


def job_rows(records: Records) -> JobRows:
    """The job records."""
    columns = records.jobs
    return JobRows(
        id=columns["job_id"],
        submit=instants(columns["submit"]),
        start=instants(columns["start"]),
        end=instants(columns["end"]),
        first_start=instants(columns["first_start"]),
        occupied=instants(columns["occupied"]),
        processors=columns["processors"],
        requeues=columns["requeues"],
        state=columns["state"],
    )


def run_rows(records: Records, jobs: JobRows) -> RunRows:
    """The run records.

    Raises:
        AssertionError: a run of a job that is not in the job records.
    """
    columns = records.runs
    by_id = np.argsort(jobs.id)
    known = np.isin(columns["job_id"], jobs.id)
    require(known, columns["job_id"], instants(columns["start"]), lambda _: "a run of a job that was not given")
    job = by_id[np.searchsorted(jobs.id, columns["job_id"], sorter=by_id)] if len(by_id) else np.zeros(0, dtype=np.intp)
    order = np.lexsort((columns["run"], job))
    job = job[order]
    changes = job[1:] != job[:-1]
    edge = np.ones(min(len(job), 1), dtype=np.bool_)
    return RunRows(
        job=job,
        id=columns["job_id"][order],
        number=columns["run"][order],
        start=instants(columns["start"][order]),
        end=instants(columns["end"][order]),
        processors=columns["processors"][order],
        work=instants(columns["work"][order]),
        outcome=columns["outcome"][order],
        first=np.concatenate([edge, changes]),
        last=np.concatenate([changes, edge]),
    )


def require(right: Mask, ids: NDArray[np.int64], times: Instants, rule: Rule) -> None:
    """Name the first row that is wrong, if there is one.

    Args:
        right: whether each row is.
        ids: job of each row.
        times: when to say that it was.
        rule: says of a row, by its index, what is wrong.

    Raises:
        AssertionError: naming the job and the time in seconds.
    """
    if right.all():
        return
    first = int(np.argmin(right))
    raise AssertionError(f"job {ids[first]}, time {seconds(times[first])} s: {rule(first)}")


def instants(values: NDArray[Any]) -> Instants:
    """Seconds to microseconds, ``NOWHEN`` for NaN."""
    times = np.asarray(values, dtype=np.float64)
    happened = ~np.isnan(times)
    return np.where(happened, np.rint(np.where(happened, times, 0.0) * MICROSECONDS), NOWHEN).astype(np.int64)


def seconds(instant: np.int64) -> str:
    """Microseconds as seconds, in words."""
    if instant == NOWHEN:
        return "unknown"
    return f"{int(instant) / MICROSECONDS:.6f}".rstrip("0").rstrip(".")
