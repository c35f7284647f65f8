"""Records that contradict themselves or the workload are found out."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import asdict, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from emulator import Result, Workload, simulate
from emulator.config.preemption import Preemption
from emulator.testing.invariants import check_invariants
from slurm_sim_plugins import Decision, MakeRoom, SchedulingView, Start, hookimpl
from slurm_sim_plugins.manager import Catalogue
from tests.builders.jobs import run_rows, workload

JOBS = [(10, 0, 2, 50, 40), (20, 0, 2, 30, 60), (30, 5, 3, 5, 9), (40, 6, 5, 1, 1), (50, 7, 1, 0, 9)]
"""On four processors: 30 takes those of 10 and 20; 40 is too wide; 50 runs for no time."""


class Urgent:
    name: ClassVar[str] = "sched/urgent"

    @hookimpl
    def schedule(self, view: SchedulingView) -> Generator[Decision, bool, None]:
        for job in sorted(view.queue, key=lambda job: job.id != 30):
            if job.processors <= view.free or (job.id == 30 and (yield MakeRoom(job))):
                yield Start(job)


class Anybody:
    name: ClassVar[str] = "preempt/anybody"

    @hookimpl
    def preempt_candidates(self, view: Any) -> list[Any]:
        return list(view.running)


@pytest.fixture
def given() -> Workload:
    return workload(JOBS)


@pytest.fixture
def result(given: Workload) -> Result:
    options: dict[str, Any] = {"scheduler": "sched/urgent", "preempt": "preempt/anybody", "catalogue": Catalogue()}
    return simulate(given, processors=4, plugins=[Urgent, Anybody], **options)


def changed(result: Result, table: str, column: str, place: int, value: Any) -> Result:
    columns = dict(getattr(result.records, table))
    values = columns[column].copy()
    values[place] = value
    return replace(result, records=replace(result.records, **{table: {**columns, column: values}}))


def without(result: Result, run: int) -> Result:
    runs = {name: np.delete(values, run) for name, values in result.records.runs.items()}
    return replace(result, records=replace(result.records, runs=runs))


def test_a_good_one_passes(result: Result, given: Workload) -> None:
    check_invariants(result, given)
    assert run_rows(result) == [
        (10, 1, 0, 5, "PREEMPTED"),
        (20, 1, 0, 5, "PREEMPTED"),
        (30, 1, 5, 10, "COMPLETED"),
        (50, 1, 7, 7, "COMPLETED"),
        (10, 2, 10, 50, "TIMEOUT"),
        (20, 2, 10, 40, "COMPLETED"),
    ]


NAN = float("nan")
WRONG: dict[str, tuple[str, str, int, Any, str]] = {
    "another job": ("jobs", "job_id", 0, 11, "job_id is 11, it was 10"),
    "another submission": ("jobs", "submit", 2, 4.0, "job 30, time 4 s: submit is 4.0, it was 5.0"),
    "another size": ("jobs", "processors", 2, 2, "job 30, time 5 s: processors is 2, it was 3"),
    "another limit": ("jobs", "time_limit", 2, 8.0, "time_limit is 8.0, it was 9.0"),
    "still waiting": ("jobs", "state", 2, "PENDING", "it is PENDING although the simulation is over"),
    "still running": ("jobs", "state", 2, "RUNNING", "it is RUNNING although the simulation is over"),
    "rejected though it fits": ("jobs", "state", 2, "REJECTED", "it is REJECTED and wants 3 of 4 processors"),
    "taken though too wide": ("jobs", "state", 3, "COMPLETED", "it is COMPLETED and wants 5 of 4 processors"),
    "no start": ("jobs", "start", 2, NAN, "it is COMPLETED, and start is unknown"),
    "no end": ("jobs", "end", 2, NAN, "it is COMPLETED, and end is unknown"),
    "a start though rejected": ("jobs", "start", 3, 6.0, "it is REJECTED, and start is 6"),
    "another first start": ("jobs", "first_start", 0, 1.0, "run 1: the job's first_start is 1"),
    "another start": ("jobs", "start", 0, 11.0, "job 10, time 10 s: run 2: the job's start is 11"),
    "another end": ("jobs", "end", 0, 51.0, "job 10, time 50 s: run 2: the job's end is 51"),
    "too few requeues": ("jobs", "requeues", 0, 0, "TIMEOUT with 0 requeues, and 2 runs"),
    "too many requeues": ("jobs", "requeues", 2, 1, "COMPLETED with 1 requeues, and 1 runs"),
    "another occupied": ("jobs", "occupied", 0, 40.0, "occupied is 40 s, its runs last 45 s"),
    "killed too often": ("jobs", "state", 1, "TIMEOUT", "run 2 of 2 is COMPLETED, the job TIMEOUT"),
    "run too early": ("runs", "start", 2, 4.0, "job 30, time 4 s: run 1 starts before the submission at 5"),
    "run backwards": ("runs", "end", 2, 4.0, "job 30, time 5 s: run 1 ends before it starts, at 4"),
    "run of a stranger": ("runs", "job_id", 2, 31, "job 31, time 5 s: a run of a job that was not given"),
    "run twice numbered": ("runs", "run", 2, 2, "run 1 has the number 2"),
    "run too wide": ("runs", "processors", 2, 4, "run 1 takes 4 processors, the job wants 3"),
    "run not preempted": ("runs", "outcome", 0, "COMPLETED", "run 1 of 2 is COMPLETED, the job TIMEOUT"),
    "runs overlap": ("runs", "end", 0, 11.0, "job 10, time 10 s: run 2 starts before run 1 has ended"),
    "run too long": ("runs", "end", 2, 11.0, "job 30, time 11 s: run 1: the job's end is 10"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_value(result: Result, given: Workload, case: str) -> None:
    table, column, place, value, told = WRONG[case]
    with pytest.raises(AssertionError) as caught:
        check_invariants(changed(result, table, column, place, value), given)
    assert told in str(caught.value)


def test_a_run_that_is_missing(result: Result, given: Workload) -> None:
    with pytest.raises(AssertionError, match="job 20, time 10 s: run 1 has the number 2"):
        check_invariants(without(result, 1), given)
    with pytest.raises(AssertionError, match="job 20, time 0 s: COMPLETED with 1 requeues, and 1 runs"):
        check_invariants(without(result, 5), given)


def test_a_job_that_is_missing(result: Result) -> None:
    with pytest.raises(AssertionError, match="6 jobs were given and 5 are in the records"):
        check_invariants(result, workload([*JOBS, (60, 8, 1, 1, 1)]))


@pytest.mark.parametrize(
    ("end", "told"),
    [(11.0, "run 1 lasts 6 s; alone it would last 5 s"), (9.0, "run 1 lasts 4 s; alone it would last 5 s")],
)
def test_a_run_of_another_length(result: Result, given: Workload, end: float, told: str) -> None:
    wrong = changed(changed(result, "runs", "end", 2, end), "jobs", "end", 2, end)
    with pytest.raises(AssertionError, match=told):
        check_invariants(changed(wrong, "jobs", "occupied", 2, end - 5), given)


def test_a_preempted_run_longer_than_the_job(given: Workload) -> None:
    rows = workload([(1, 0, 1, 5, 9)])
    good = simulate(rows, processors=1, catalogue=Catalogue())
    jobs = {**good.records.jobs, "requeues": np.array([1]), "occupied": np.array([11.0]), "start": np.array([6.0])}
    jobs["end"] = np.array([11.0])
    runs = {name: np.repeat(values, 2) for name, values in good.records.runs.items()}
    runs |= {"run": np.array([1, 2]), "start": np.array([0.0, 6.0]), "end": np.array([6.0, 11.0])}
    runs["outcome"] = np.array(["PREEMPTED", "COMPLETED"], dtype=object)
    wrong = replace(good, records=replace(good.records, jobs=jobs, runs=runs))
    with pytest.raises(AssertionError, match="job 1, time 0 s: run 1 lasts 6 s; alone it would last 5 s"):
        check_invariants(wrong, rows)


def test_the_kill_rule(given: Workload) -> None:
    killing = simulate(given, processors=4, catalogue=Catalogue())
    check_invariants(killing, given)
    about = {**killing.about, "simulation": {**killing.about["simulation"], "kill_at_limit": False}}
    with pytest.raises(AssertionError, match="run 1 lasts 40 s; alone it would last 50 s"):
        check_invariants(replace(killing, about=about), given)
    sparing = simulate(given, processors=4, kill_at_limit=False, catalogue=Catalogue())
    check_invariants(sparing, given)
    with pytest.raises(AssertionError, match="it is TIMEOUT, of 30 s work with 60 s limit"):
        check_invariants(
            changed(changed(sparing, "jobs", "state", 1, "TIMEOUT"), "runs", "outcome", 1, "TIMEOUT"), given
        )


def shifted(rows: list[tuple[int, float, int, float, float]], starts: dict[int, float]) -> tuple[Result, Workload]:
    """A result on a roomy machine, with other starts, said to be of four processors."""
    given = workload(rows)
    good = simulate(given, processors=100, catalogue=Catalogue())
    jobs, runs = dict(good.records.jobs), dict(good.records.runs)
    at = {job: (start, start + run) for job, start, run in zip(jobs["job_id"], jobs["start"], jobs["run"], strict=True)}
    at |= {job: (start, start + next(row[3] for row in rows if row[0] == job)) for job, start in starts.items()}
    for table in (jobs, runs):
        table["start"] = np.array([float(at[job][0]) for job in table["job_id"]])
        table["end"] = np.array([float(at[job][1]) for job in table["job_id"]])
    jobs["first_start"] = jobs["start"]
    return replace(good, records=replace(good.records, jobs=jobs, runs=runs, processors=4)), given


def test_too_many_processors_in_use() -> None:
    check_invariants(*shifted([(1, 0, 3, 5, 9), (2, 0, 2, 5, 9)], {2: 5}))
    with pytest.raises(AssertionError, match="job 2, time 4 s: 5 processors are in use, the machine has 4"):
        check_invariants(*shifted([(1, 0, 3, 5, 9), (2, 0, 2, 5, 9)], {2: 4}))


def test_a_run_of_no_length_needs_its_processors_too() -> None:
    check_invariants(*shifted([(1, 0, 3, 5, 9), (2, 0, 2, 0, 9)], {2: 5}))
    check_invariants(*shifted([(1, 3, 3, 5, 9), (2, 0, 4, 0, 9)], {2: 3}))
    check_invariants(*shifted([(1, 3, 4, 0, 9), (2, 0, 4, 0, 9)], {2: 3}))
    with pytest.raises(AssertionError, match="job 2, time 4 s: 5 processors are in use, the machine has 4"):
        check_invariants(*shifted([(1, 0, 3, 5, 9), (2, 0, 2, 0, 9)], {2: 4}))


# Modes of preemption ---------------------------------------------------------------------

PREEMPTED: list[tuple[int, float, int, float, float]] = [(1, 0, 3, 10, 12), (2, 1, 4, 5, 9), (3, 2, 1, 20, 30)]
"""On four processors, 3 ventures ahead of 2, and has to make room for it when 1 has ended."""
MODES = {
    "requeue": Preemption(),
    "interval": Preemption(mode="CHECKPOINT", interval=4, cost=1, restart_cost=3),
    "share": Preemption(mode="CHECKPOINT", checkpoint="share", share=0.2, cost=2),
    "jit": Preemption(mode="CHECKPOINT", checkpoint="jit", cost=3, restart_cost=2),
    "suspend": Preemption(mode="SUSPEND", slowdown=0.05, cost=2),
}


def in_mode(mode: str) -> Result:
    options: dict[str, Any] = {"scheduler": "sched/venture", "preempt": "preempt/shadow_load", "catalogue": Catalogue()}
    return simulate(workload(PREEMPTED), processors=4, preemption=MODES[mode], **options)


def ending(result: Result, job: int, later: float) -> Result:
    """The last run of a job ends later, and all that follows from it."""
    place = result.records.jobs["job_id"].tolist().index(job)
    (rows,) = np.nonzero(result.records.runs["job_id"] == job)
    for table, column, row in (("jobs", "end", place), ("jobs", "occupied", place), ("runs", "end", rows[-1])):
        result = changed(result, table, column, row, getattr(result.records, table)[column][row] + later)
    return result


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_passes(mode: str) -> None:
    check_invariants(in_mode(mode), workload(PREEMPTED))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("later", [-0.00001, 0.00001, 1])
def test_a_last_run_of_another_length(mode: str, later: float) -> None:
    with pytest.raises(AssertionError, match=r"job 3, time .*: run 2 (lasts|waits)"):
        check_invariants(ending(in_mode(mode), 3, later), workload(PREEMPTED))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("more", [-1, -0.00001, 0.00001, 1])
def test_work_that_was_not_kept(mode: str, more: float) -> None:
    result = in_mode(mode)
    work = result.records.runs["work"]
    row = int(np.flatnonzero(result.records.runs["outcome"] == "PREEMPTED")[0])
    last = int(np.flatnonzero(result.records.runs["job_id"] == 3)[-1])
    wrong = changed(changed(result, "runs", "work", row, work[row] + more), "runs", "work", last, work[last] - more)
    with pytest.raises(AssertionError, match="job 3, time "):
        check_invariants(wrong, workload(PREEMPTED))


@pytest.mark.parametrize("mode", MODES)
def test_runs_that_do_not_add_up(mode: str) -> None:
    result = in_mode(mode)
    for row, work in enumerate(result.records.runs["work"].tolist()):
        with pytest.raises(AssertionError, match=r"job [123], time "):
            check_invariants(changed(result, "runs", "work", row, work - 0.5), workload(PREEMPTED))
    with pytest.raises(AssertionError, match="run 1 has no work"):
        check_invariants(changed(result, "runs", "work", 0, NAN), workload(PREEMPTED))


@pytest.mark.parametrize("mode", MODES)
def test_another_modes_options(mode: str) -> None:
    result = in_mode(mode)
    for other in MODES:
        if other != mode:
            wrong = replace(result, about={**result.about, "preemption": asdict(MODES[other])})
            with pytest.raises(AssertionError, match=r"run [12] "):
                check_invariants(wrong, workload(PREEMPTED))


def waiting_on_processors(start: float, end: float, again: float) -> tuple[Result, Workload]:
    """Job 1 is preempted at 10 and written until 13; 2 takes its place, and then it goes on."""
    rows = [(1, 0, 1, 20, 30), (2, 10, 1, 5, 9)]
    given = workload(rows)
    good = simulate(given, processors=1, preemption=MODES["jit"], catalogue=Catalogue())
    jobs, runs = dict(good.records.jobs), dict(good.records.runs)
    jobs |= {"start": np.array([again, start]), "end": np.array([again + 12, end]), "requeues": np.array([1, 0])}
    jobs |= {"first_start": np.array([0, start]), "occupied": np.array([22, end - start])}
    order = [0, 1, 0]
    runs = {name: column[order] for name, column in runs.items()}
    runs |= {"run": np.array([1, 1, 2]), "start": np.array([0, start, again]), "work": np.array([10.0, 5, 10])}
    runs |= {"end": np.array([10, end, again + 12])}
    runs["outcome"] = np.array(["PREEMPTED", "COMPLETED", "COMPLETED"], dtype=object)
    return replace(good, records=replace(good.records, jobs=jobs, runs=runs)), given


def test_who_does_not_wait_for_a_checkpoint() -> None:
    check_invariants(*waiting_on_processors(10.0, 18.0, 18.0))
    check_invariants(*waiting_on_processors(13.0, 18.0, 18.0))
    check_invariants(*waiting_on_processors(14.0, 19.0, 19.0))
    with pytest.raises(AssertionError, match="job 2, time 10 s: 2 processors are in use, the machine has 1"):
        check_invariants(*waiting_on_processors(10.0, 15.0, 15.0))
    with pytest.raises(AssertionError, match="job 2, time 10 s: run 1 waits 2 s, and no checkpoint is complete then"):
        check_invariants(*waiting_on_processors(10.0, 17.0, 17.0))
    with pytest.raises(AssertionError, match="job 2, time 13 s: run 1 waits 3 s, and no checkpoint is complete then"):
        check_invariants(*waiting_on_processors(13.0, 21.0, 21.0))


def test_who_goes_on_before_its_checkpoint_is_written() -> None:
    with pytest.raises(AssertionError, match="job 1, time 10 s: it starts again at 12, before its checkpoint, at 13"):
        check_invariants(*waiting_on_processors(24.0, 29.0, 12.0))


def test_columns_that_contradict_one_another(result: Result, given: Workload) -> None:
    with pytest.raises(AssertionError, match=r"job 10, time 50 s: run is 50 s, it did 40 s of work"):
        check_invariants(changed(result, "jobs", "run", 0, 50.0), given)
    with pytest.raises(AssertionError, match=r"job 30, time 5 s: first_reserved is 7.0 and reserved is nan"):
        check_invariants(changed(result, "jobs", "first_reserved", 2, 7.0), given)


def test_of_no_jobs() -> None:
    nothing = workload([])
    check_invariants(simulate(nothing, processors=1, catalogue=Catalogue()), nothing)
