"""What is true of every finished simulation, whatever the policy.

Everything here is worked out from the records and the workload alone, and shares no code
with the engine. Times are compared in whole microseconds, as the engine keeps them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from emulator.accounting.records import Records
    from emulator.api import Result
    from emulator.workload.workload import Workload

Instants = NDArray[np.int64]
Mask = NDArray[np.bool_]
Rule = Callable[[int], str]

MICROSECONDS = 1_000_000
NOWHEN = np.iinfo(np.int64).min
"""Stands for what has not happened."""


class _Jobs(NamedTuple):
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


class _Runs(NamedTuple):
    """One entry a run, sorted by job and number; times in microseconds."""

    job: NDArray[np.intp]
    """Index of the job."""
    id: NDArray[np.int64]
    number: NDArray[np.int64]
    start: Instants
    end: Instants
    processors: NDArray[np.int64]
    outcome: NDArray[Any]
    first: Mask
    """Whether it is its job's first run."""
    last: Mask
    """Whether it is its job's last run."""


def check_invariants(result: Result, workload: Workload) -> None:
    """Check a finished simulation.

    Never are more processors in use than there are. No job starts before its
    submission; every job ended, or was rejected because it is wider than the machine.
    Each last run is as long as work, limit and kill rule say. The runs of a job follow
    one another, number one more than its requeues, and add up to its processor-seconds.

    Args:
        result: what the simulation gave; all requeues lose all progress.
        workload: what was simulated.

    Raises:
        AssertionError: naming the job and the time in seconds.
    """
    records = result.records
    jobs = _jobs(records)
    _check_jobs_are_those_of(workload, records, jobs)
    _check_every_job_is_over(records, jobs)
    runs = _runs(records, jobs)
    _check_runs_follow_one_another(jobs, runs)
    _check_runs_make_up_jobs(jobs, runs)
    _check_lengths(workload, jobs, runs, kill_at_limit=bool(result.about["simulation"]["kill_at_limit"]))
    _check_processors(runs, records.processors)


def _check_jobs_are_those_of(workload: Workload, records: Records, jobs: _Jobs) -> None:
    if len(records) != len(workload):
        raise AssertionError(f"{len(workload)} jobs were given and {len(records)} are in the records")

    def check(name: str, given: NDArray[Any]) -> None:
        column = records.jobs[name]
        _require(column == given, jobs.id, jobs.submit, lambda job: f"{name} is {column[job]}, it was {given[job]}")

    check("job_id", workload.id)
    check("submit", workload.submit)
    check("processors", workload.processors)
    check("time_limit", workload.time_limit)


def _check_every_job_is_over(records: Records, jobs: _Jobs) -> None:
    state, total = jobs.state, records.processors
    rejected = state == "REJECTED"
    over = rejected | (state == "COMPLETED") | (state == "TIMEOUT")
    _require(over, jobs.id, jobs.submit, lambda job: f"it is {state[job]} although the simulation is over")
    _require(
        rejected == (jobs.processors > total),
        jobs.id,
        jobs.submit,
        lambda job: f"it is {state[job]} and wants {jobs.processors[job]} of {total} processors",
    )

    def check(name: str, times: Instants) -> None:
        right = (times == NOWHEN) == rejected
        _require(right, jobs.id, jobs.submit, lambda job: f"it is {state[job]}, and {name} is {_seconds(times[job])}")

    check("start", jobs.start)
    check("end", jobs.end)
    check("first_start", jobs.first_start)


def _check_runs_follow_one_another(jobs: _Jobs, runs: _Runs) -> None:
    submit = jobs.submit[runs.job]
    _require(
        runs.start >= submit,
        runs.id,
        runs.start,
        lambda run: f"run {runs.number[run]} starts before the submission at {_seconds(submit[run])}",
    )
    _require(
        runs.end >= runs.start,
        runs.id,
        runs.start,
        lambda run: f"run {runs.number[run]} ends before it starts, at {_seconds(runs.end[run])}",
    )
    before = np.concatenate([[NOWHEN], runs.end[:-1]])
    _require(
        runs.first | (runs.start >= before),
        runs.id,
        runs.start,
        lambda run: f"run {runs.number[run]} starts before run {runs.number[run - 1]} has ended",
    )
    expected = np.arange(len(runs.id)) - np.maximum.accumulate(np.where(runs.first, np.arange(len(runs.id)), 0)) + 1
    _require(
        runs.number == expected,
        runs.id,
        runs.start,
        lambda run: f"run {expected[run]} has the number {runs.number[run]}",
    )


def _check_runs_make_up_jobs(jobs: _Jobs, runs: _Runs) -> None:
    count = np.bincount(runs.job, minlength=len(jobs.id))
    wanted = np.where(jobs.state == "REJECTED", 0, jobs.requeues + 1)
    _require(
        count == wanted,
        jobs.id,
        jobs.submit,
        lambda job: f"{jobs.state[job]} with {jobs.requeues[job]} requeues, and {count[job]} runs",
    )
    state = jobs.state[runs.job]
    _require(
        np.where(runs.last, runs.outcome == state, runs.outcome == "PREEMPTED"),
        runs.id,
        runs.end,
        lambda run: f"run {runs.number[run]} of {wanted[runs.job[run]]} is {runs.outcome[run]}, the job {state[run]}",
    )
    sizes = jobs.processors[runs.job]
    _require(
        runs.processors == sizes,
        runs.id,
        runs.start,
        lambda run: f"run {runs.number[run]} takes {runs.processors[run]} processors, the job wants {sizes[run]}",
    )

    def check(which: Mask, name: str, times: Instants, of_job: Instants) -> None:
        its = of_job[runs.job]
        right = ~which | (times == its)
        _require(right, runs.id, times, lambda run: f"run {runs.number[run]}: the job's {name} is {_seconds(its[run])}")

    check(runs.first, "first_start", runs.start, jobs.first_start)
    check(runs.last, "start", runs.start, jobs.start)
    check(runs.last, "end", runs.end, jobs.end)
    length = runs.end - runs.start
    spent = np.zeros(len(jobs.id), dtype=np.int64)
    np.add.at(spent, runs.job, length)
    _require(
        spent == jobs.occupied,
        jobs.id,
        jobs.end,
        lambda job: f"occupied is {_seconds(jobs.occupied[job])} s, its runs last {_seconds(spent[job])} s",
    )
    # Python's integers, because processors times microseconds may exceed 64 bits.
    of_runs = sum(map(int.__mul__, runs.processors.tolist(), length.tolist()))
    of_jobs = sum(map(int.__mul__, jobs.processors.tolist(), jobs.occupied.tolist()))
    if of_runs != of_jobs:
        raise AssertionError(f"the runs take {of_runs} processor-microseconds, the jobs {of_jobs}")


def _check_lengths(workload: Workload, jobs: _Jobs, runs: _Runs, *, kill_at_limit: bool) -> None:
    work, limit = _instants(workload.run), _instants(workload.time_limit)
    killed = (work > limit) & kill_at_limit
    full = np.where(killed, limit, work)[runs.job]
    length = runs.end - runs.start
    _require(
        np.where(runs.last, length == full, length <= full),
        runs.id,
        runs.start,
        lambda run: (
            f"run {runs.number[run]} lasts {_seconds(length[run])} s; alone it would last {_seconds(full[run])} s "
            f"(kill at the limit: {kill_at_limit})"
        ),
    )
    _require(
        (jobs.state == "REJECTED") | ((jobs.state == "TIMEOUT") == killed),
        jobs.id,
        jobs.end,
        lambda job: f"it is {jobs.state[job]}, of {_seconds(work[job])} s work with {_seconds(limit[job])} s limit",
    )


def _check_processors(runs: _Runs, total: int) -> None:
    """Never more in use than there are. What ends at an instant makes room for what starts then."""
    lasting = runs.end > runs.start
    starts, ends = np.argsort(runs.start, kind="stable"), np.argsort(runs.end, kind="stable")
    starts, ends = starts[lasting[starts]], ends[lasting[ends]]
    begun = np.concatenate([[0], np.cumsum(runs.processors[starts])])
    given_back = np.concatenate([[0], np.cumsum(runs.processors[ends])])
    # In use when all that starts at the instant has started; a run of no length adds its own.
    before = begun[np.searchsorted(runs.start[starts], runs.start, side="left")]
    with_these = begun[np.searchsorted(runs.start[starts], runs.start, side="right")]
    gone = given_back[np.searchsorted(runs.end[ends], runs.start, side="right")]
    in_use = np.where(lasting, with_these - gone, before - gone + runs.processors)
    _require(
        in_use <= total,
        runs.id,
        runs.start,
        lambda run: f"{in_use[run]} processors are in use, the machine has {total}",
    )


def _jobs(records: Records) -> _Jobs:
    columns = records.jobs
    return _Jobs(
        id=columns["job_id"],
        submit=_instants(columns["submit"]),
        start=_instants(columns["start"]),
        end=_instants(columns["end"]),
        first_start=_instants(columns["first_start"]),
        occupied=_instants(columns["occupied"]),
        processors=columns["processors"],
        requeues=columns["requeues"],
        state=columns["state"],
    )


def _runs(records: Records, jobs: _Jobs) -> _Runs:
    columns = records.runs
    by_id = np.argsort(jobs.id)
    known = np.isin(columns["job_id"], jobs.id)
    _require(known, columns["job_id"], _instants(columns["start"]), lambda _: "a run of a job that was not given")
    job = by_id[np.searchsorted(jobs.id, columns["job_id"], sorter=by_id)] if len(by_id) else np.zeros(0, dtype=np.intp)
    order = np.lexsort((columns["run"], job))
    job = job[order]
    changes = job[1:] != job[:-1]
    edge = np.ones(min(len(job), 1), dtype=np.bool_)
    return _Runs(
        job=job,
        id=columns["job_id"][order],
        number=columns["run"][order],
        start=_instants(columns["start"][order]),
        end=_instants(columns["end"][order]),
        processors=columns["processors"][order],
        outcome=columns["outcome"][order],
        first=np.concatenate([edge, changes]),
        last=np.concatenate([changes, edge]),
    )


def _require(right: Mask, ids: NDArray[np.int64], times: Instants, rule: Rule) -> None:
    if right.all():
        return
    first = int(np.argmin(right))
    raise AssertionError(f"job {ids[first]}, time {_seconds(times[first])} s: {rule(first)}")


def _instants(seconds: NDArray[Any]) -> Instants:
    times = np.asarray(seconds, dtype=np.float64)
    happened = ~np.isnan(times)
    return np.where(happened, np.rint(np.where(happened, times, 0.0) * MICROSECONDS), NOWHEN).astype(np.int64)


def _seconds(instant: np.int64) -> str:
    if instant == NOWHEN:
        return "unknown"
    return f"{int(instant) / MICROSECONDS:.6f}".rstrip("0").rstrip(".")
