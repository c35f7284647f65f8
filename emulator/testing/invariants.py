"""What is true of every finished simulation, whatever the policy.

Everything here is worked out from the records and the workload alone, and shares no code
with the engine. Times are compared in whole microseconds, as the engine keeps them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from emulator.testing.capacity import check_capacity, uses_of
from emulator.testing.modes import check_progress, work_before
from emulator.testing.stays import check_stays
from emulator.testing.tables import (
    NOWHEN,
    Instants,
    JobRows,
    Mask,
    RunRows,
    instants,
    job_rows,
    require,
    run_rows,
    seconds,
)

if TYPE_CHECKING:
    from emulator.accounting.records import Records
    from emulator.result import Result
    from emulator.workload.workload import Workload


def check_invariants(result: Result, workload: Workload) -> None:
    """Check a finished simulation.

    Never are more processors in use than there are. No job starts before its
    submission; every job ended, or was rejected because it is wider than the machine.
    The runs of a job follow one another, number one more than its requeues, and add up to
    its processor-seconds and to the work that run time, limit and kill rule leave it. Each
    lasts as long, and keeps as much when it is preempted, as the mode of preemption says.
    Where the ExecutionType has tiers, all that is true of its stays instead.

    Raises:
        AssertionError: naming the job and the time in seconds.
    """
    records = result.records
    jobs = job_rows(records)
    submitted = bool(result.about["slots"].get("JobSubmitPlugins"))
    _check_jobs_are_those_of(workload, records, jobs, limits=not submitted)
    _check_every_job_is_over(records, jobs, refused=bool(result.about.get("rejected")))
    runs = run_rows(records, jobs)
    _check_runs_follow_one_another(jobs, runs)
    _check_runs_make_up_jobs(jobs, runs)
    work, limit = instants(workload.run), instants(records.jobs["time_limit"])
    killed = (work > limit) & bool(result.about["simulation"]["kill_at_limit"])
    useful = np.where(killed, limit, work)
    if records.stays is None:
        realtime = workload.facts.get("realtime")
        never = None if realtime is None else realtime == 1
        check_progress(result.about["preemption"], runs, useful, limit, records.processors, never)
        check_capacity(uses_of(runs), records.processors)
    else:
        left = useful[runs.job] - work_before(runs)
        exact = result.about["preemption"]["mode"] == "REQUEUE"
        check_stays(records.stays, runs, left, records.processors, exact=exact)
    _check_kills(jobs, work, limit, killed)
    _check_columns(records, jobs, useful)


def _check_jobs_are_those_of(workload: Workload, records: Records, jobs: JobRows, limits: bool) -> None:
    if len(records) != len(workload):
        raise AssertionError(f"{len(workload)} jobs were given and {len(records)} are in the records")

    def check(name: str, given: NDArray[Any]) -> None:
        column = records.jobs[name]
        require(column == given, jobs.id, jobs.submit, lambda job: f"{name} is {column[job]}, it was {given[job]}")

    check("job_id", workload.id)
    check("submit", workload.submit)
    check("processors", workload.processors)
    if limits:
        check("time_limit", workload.time_limit)


def _check_every_job_is_over(records: Records, jobs: JobRows, refused: bool) -> None:
    state, total = jobs.state, records.processors
    rejected = state == "REJECTED"
    over = rejected | (state == "COMPLETED") | (state == "TIMEOUT")
    require(over, jobs.id, jobs.submit, lambda job: f"it is {state[job]} although the simulation is over")
    require(
        # Where there are blocks, the largest may be smaller than the machine; plugins may refuse any job.
        (rejected & (("block" in records.runs) | refused)) | (rejected == (jobs.processors > total)),
        jobs.id,
        jobs.submit,
        lambda job: f"it is {state[job]} and wants {jobs.processors[job]} of {total} processors",
    )

    def check(name: str, times: Instants) -> None:
        right = (times == NOWHEN) == rejected
        require(right, jobs.id, jobs.submit, lambda job: f"it is {state[job]}, and {name} is {seconds(times[job])}")

    check("start", jobs.start)
    check("end", jobs.end)
    check("first_start", jobs.first_start)


def _check_runs_follow_one_another(jobs: JobRows, runs: RunRows) -> None:
    submit = jobs.submit[runs.job]
    require(
        runs.start >= submit,
        runs.id,
        runs.start,
        lambda run: f"run {runs.number[run]} starts before the submission at {seconds(submit[run])}",
    )
    require(
        runs.end >= runs.start,
        runs.id,
        runs.start,
        lambda run: f"run {runs.number[run]} ends before it starts, at {seconds(runs.end[run])}",
    )
    before = np.concatenate([[NOWHEN], runs.end[:-1]])
    require(
        runs.first | (runs.start >= before),
        runs.id,
        runs.start,
        lambda run: f"run {runs.number[run]} starts before run {runs.number[run - 1]} has ended",
    )
    expected = np.arange(len(runs.id)) - np.maximum.accumulate(np.where(runs.first, np.arange(len(runs.id)), 0)) + 1
    require(
        runs.number == expected,
        runs.id,
        runs.start,
        lambda run: f"run {expected[run]} has the number {runs.number[run]}",
    )


def _check_runs_make_up_jobs(jobs: JobRows, runs: RunRows) -> None:
    count = np.bincount(runs.job, minlength=len(jobs.id))
    wanted = np.where(jobs.state == "REJECTED", 0, jobs.requeues + 1)
    require(
        count == wanted,
        jobs.id,
        jobs.submit,
        lambda job: f"{jobs.state[job]} with {jobs.requeues[job]} requeues, and {count[job]} runs",
    )
    state = jobs.state[runs.job]
    require(
        np.where(runs.last, runs.outcome == state, runs.outcome == "PREEMPTED"),
        runs.id,
        runs.end,
        lambda run: f"run {runs.number[run]} of {wanted[runs.job[run]]} is {runs.outcome[run]}, the job {state[run]}",
    )
    sizes = jobs.processors[runs.job]
    require(
        runs.processors == sizes,
        runs.id,
        runs.start,
        lambda run: f"run {runs.number[run]} takes {runs.processors[run]} processors, the job wants {sizes[run]}",
    )

    def check(which: Mask, name: str, times: Instants, of_job: Instants) -> None:
        its = of_job[runs.job]
        right = ~which | (times == its)
        require(right, runs.id, times, lambda run: f"run {runs.number[run]}: the job's {name} is {seconds(its[run])}")

    check(runs.first, "first_start", runs.start, jobs.first_start)
    check(runs.last, "start", runs.start, jobs.start)
    check(runs.last, "end", runs.end, jobs.end)
    length = runs.end - runs.start
    spent = np.zeros(len(jobs.id), dtype=np.int64)
    np.add.at(spent, runs.job, length)
    require(
        spent == jobs.occupied,
        jobs.id,
        jobs.end,
        lambda job: f"occupied is {seconds(jobs.occupied[job])} s, its runs last {seconds(spent[job])} s",
    )
    # Python's integers, because processors times microseconds may exceed 64 bits.
    of_runs = sum(map(int.__mul__, runs.processors.tolist(), length.tolist()))
    of_jobs = sum(map(int.__mul__, jobs.processors.tolist(), jobs.occupied.tolist()))
    if of_runs != of_jobs:
        raise AssertionError(f"the runs take {of_runs} processor-microseconds, the jobs {of_jobs}")


def _check_kills(jobs: JobRows, work: Instants, limit: Instants, killed: Mask) -> None:
    require(
        (jobs.state == "REJECTED") | ((jobs.state == "TIMEOUT") == killed),
        jobs.id,
        jobs.end,
        lambda job: f"it is {jobs.state[job]}, of {seconds(work[job])} s work with {seconds(limit[job])} s limit",
    )


def _check_columns(records: Records, jobs: JobRows, useful: Instants) -> None:
    run = instants(records.jobs["run"])
    require(
        (jobs.state == "REJECTED") | (run == useful),
        jobs.id,
        jobs.end,
        lambda job: f"run is {seconds(run[job])} s, it did {seconds(useful[job])} s of work",
    )
    first, last = records.jobs["first_reserved"], records.jobs["reserved"]
    require(
        np.isnan(first) == np.isnan(last),
        jobs.id,
        jobs.submit,
        lambda job: f"first_reserved is {first[job]} and reserved is {last[job]}",
    )
