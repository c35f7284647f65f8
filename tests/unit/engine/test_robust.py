"""What goes wrong ends in words, and keeps what happened before."""

from __future__ import annotations

import errno
import json
import math
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import emulator.files
from emulator import Result, Workload, simulate
from emulator.accounting.runfolder import read_run
from emulator.files import check_writable, make_folder, write_atomically
from emulator.testing.invariants import check_invariants
from slurm_sim_plugins import (
    ConfigurationError,
    InputError,
    MakeRoom,
    OutputError,
    PluginError,
    Reserve,
    Start,
    Wake,
    hookimpl,
)
from slurm_sim_plugins.manager import Catalogue
from tests.builders.jobs import JobRow, column, line_with, starts, workload

JOBS: list[JobRow] = [(1, 0, 2, 10, 10), (2, 0, 2, 10, 10), (3, 5, 4, 10, 20), (4, 6, 1, 5, 5)]
"""On four processors: 1 and 2 run at once, 3 waits for both, 4 behind it."""
FULL = Path("/dev/full")


def sim(jobs: list[JobRow] | Workload = JOBS, processors: int = 4, **options: Any) -> Result:
    given = jobs if isinstance(jobs, Workload) else workload(jobs)
    options.setdefault("catalogue", Catalogue())
    result = simulate(given, processors=processors, **options)
    check_invariants(result, given)
    return result


def scheduler(schedule: Callable[..., Any]) -> dict[str, Any]:
    """Options that select a scheduler made of one function."""

    class Mine:
        name: ClassVar[str] = "sched/mine"

    Mine.schedule = hookimpl(schedule)  # type: ignore[attr-defined]
    return {"plugins": [Mine], "scheduler": "sched/mine"}


def priority(answer: Callable[..., Any]) -> dict[str, Any]:
    """Options that select a priority plugin made of one function of the view."""

    class Mine:
        name: ClassVar[str] = "priority/mine"

        @hookimpl
        def priority_set(self, view: Any) -> Any:
            return answer(view)

    return {"plugins": [Mine], "priority": "priority/mine"}


def failing(**options: Any) -> PluginError:
    with pytest.raises(PluginError) as caught:
        sim(**options)
    error = caught.value
    assert error.exit_code == 4
    assert "\n" not in str(error)
    assert f"plugin {error.plugin}" in str(error)
    return error


def log_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# Jobs that cannot run, and none at all


@pytest.mark.parametrize("policy", ["sched/fcfs", "sched/easy", "sched/conservative"])
@pytest.mark.parametrize("passes", ["batch", "event"])
def test_a_job_larger_than_the_machine_is_rejected(tmp_path: Path, policy: str, passes: str) -> None:
    jobs = [(1, 0, 4, 10, 10), (2, 1, 5, 10, 10), (3, 2, 1, 10, 10)]
    result = sim(jobs, scheduler=policy, passes=passes, out=tmp_path / "run")
    assert column(result, "state") == {1: "COMPLETED", 2: "REJECTED", 3: "COMPLETED"}
    assert starts(result)[1] == 0 and starts(result)[3] == 10
    assert math.isnan(starts(result).get(2, math.nan))
    rejects = [line for line in log_of(tmp_path / "run" / "events.jsonl") if line["event"] == "reject"]
    assert rejects == [{"time": 1, "event": "reject", "job": 2, "reason": "needs 5 processors, the machine has 4"}]
    assert read_run(tmp_path / "run").records.jobs["state"].tolist() == ["COMPLETED", "REJECTED", "COMPLETED"]


def test_plugins_are_not_asked_about_a_rejected_job() -> None:
    asked: list[int] = []

    def answer(view: Any) -> list[int]:
        asked.extend(job.id for job in view.to_set)
        return [1] * len(view.to_set)

    sim([(1, 0, 4, 10, 10), (2, 0, 5, 10, 10)], **priority(answer))
    assert asked == [1]


def test_jobs_that_are_all_rejected_leave_records() -> None:
    result = sim([(1, 0, 5, 10, 10), (2, 1, 6, 10, 10)])
    assert set(column(result, "state").values()) == {"REJECTED"}
    assert len(result.runs) == 0
    assert column(result, "occupied") == {1: 0, 2: 0}
    assert isinstance(result.metrics(), dict)


def test_an_empty_workload_is_simulated(tmp_path: Path) -> None:
    result = sim([], out=tmp_path / "run")
    assert len(result.records) == len(result.jobs) == len(result.runs) == 0
    assert (tmp_path / "run" / "events.jsonl").read_bytes() == b""
    read = read_run(tmp_path / "run")
    assert len(read.records) == 0
    assert read.about["workload"]["jobs"] == 0
    assert isinstance(result.metrics(), dict)


# A plugin that raises


class Raising:
    """Raises at the second arrival."""

    name: ClassVar[str] = "priority/raising"

    @hookimpl
    def priority_set(self, view: Any) -> list[float]:
        if view.now > 0:
            raise RuntimeError("no more")  # raised here
        return [1.0] * len(view.to_set)


RAISING: dict[str, Any] = {"plugins": [Raising], "priority": "priority/raising"}


@pytest.mark.parametrize("dispatch", ["resolved", "pluggy"])
def test_a_plugin_that_raises_is_told_with_all_that_is_known(dispatch: str) -> None:
    error = failing(**RAISING, dispatch=dispatch)
    where = line_with("raised here", Raising)
    assert (error.plugin, error.hook, error.job, error.time, error.where) == (
        "priority/raising",
        "priority_set",
        3,
        5.0,
        where,
    )
    assert str(error) == f"plugin priority/raising, hook priority_set, job 3, time 5 s, {where}: RuntimeError: no more"
    assert isinstance(error.__cause__, RuntimeError)


def test_a_scheduler_that_raises_is_told() -> None:
    def schedule(self: Any, view: Any) -> Iterator[Any]:
        yield Start(view.head)
        raise KeyError("x")  # scheduler raises

    error = failing(**scheduler(schedule))
    assert (error.plugin, error.hook, error.time) == ("sched/mine", "schedule", 0.0)
    assert error.where == line_with("scheduler raises", Raising)
    assert "KeyError: 'x'" in error.message


@pytest.mark.parametrize("hook", ["job_submitted", "job_started", "job_ended", "pass_done"])
def test_an_observer_that_raises_is_told(hook: str) -> None:
    class Spy:
        name: ClassVar[str] = "observer/spy"

    def fail(self: Any) -> None:
        raise ValueError(hook)  # observer raises

    setattr(Spy, hook, hookimpl(fail))
    error = failing(plugins=[Spy])
    assert (error.plugin, error.hook) == ("observer/spy", hook)
    assert error.where == line_with("observer raises", Raising)
    assert error.time == (10.0 if hook == "job_ended" else 0.0)
    assert error.job == (None if hook == "pass_done" else 1)


def test_a_fault_in_an_observer_is_not_blamed_on_the_scheduler() -> None:
    class Spy:
        name: ClassVar[str] = "observer/spy"

        @hookimpl
        def job_started(self, run: Any, now: float) -> None:
            raise AssertionError("a claim of the observer")

    error = failing(plugins=[Spy], scheduler="sched/conservative")
    assert (error.plugin, error.hook, error.job) == ("observer/spy", "job_started", 1)
    assert "a claim of the observer" in error.message


# Answers that cannot be used


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda view: [math.nan] * len(view.to_set), "answered nan; a priority is a finite number"),
        (lambda view: [math.inf] * len(view.to_set), "answered inf; a priority is a finite number"),
        (lambda view: ["high"] * len(view.to_set), "answered 'high'; a priority is a finite number"),
        (lambda view: [None] * len(view.to_set), "answered None; a priority is a finite number"),
        (lambda view: [10**400] * len(view.to_set), "a priority is a finite number"),
        (lambda view: [1.0], "answered [1.0] for 2 jobs; answer one number for each"),
        (lambda view: [], "answered [] for 2 jobs"),
        (lambda view: 3.0, "answered 3.0 for 2 jobs"),
        (lambda view: {1: 1.0, 2: 2.0}, "for 2 jobs; answer one number for each"),
        (lambda view: {1.0, 2.0}, "for 2 jobs; answer one number for each"),
        (lambda view: (number for number in (1.0, 2.0)), "for 2 jobs; answer one number for each"),
    ],
)
def test_priorities_that_cannot_be_are_refused(answer: Callable[..., Any], words: str) -> None:
    error = failing(**priority(answer))
    assert words in error.message
    assert (error.plugin, error.hook, error.time, error.job) == ("priority/mine", "priority_set", 0.0, 1)


@pytest.mark.parametrize("seconds", [math.nan, 0, -1, 10.5, math.inf, "5", None])
def test_planned_times_that_cannot_be_are_refused(seconds: Any) -> None:
    class Mine:
        name: ClassVar[str] = "walltime/mine"

        @hookimpl
        def walltime_submit(self, view: Any) -> Any:
            return seconds

    options: dict[str, Any] = {"plugins": [Mine], "walltime": "walltime/mine"}
    if seconds is None:
        assert set(column(sim(**options), "planned").values()) == {10.0, 20.0, 5.0}
        return
    error = failing(**options)
    assert "at most the limit of 10 s" in error.message
    assert (error.plugin, error.hook, error.job) == ("walltime/mine", "walltime_submit", 1)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda view: 3, "answered 3; answer a list of jobs"),
        (lambda view: [view.head], "is not in view.to_try"),
        (lambda view: [view.to_try[0]] * 2, "twice"),
        (lambda view: ["job"], "named 'job' which is not in view.to_try"),
    ],
)
def test_orders_that_cannot_be_are_refused(answer: Callable[..., Any], words: str) -> None:
    class Mine:
        name: ClassVar[str] = "backfill/mine"

        @hookimpl
        def backfill_candidates(self, view: Any) -> Any:
            return answer(view)

    jobs = [(1, 0, 2, 10, 10), (2, 1, 4, 10, 10), (3, 2, 1, 5, 5)]
    error = failing(jobs=jobs, plugins=[Mine], backfill="backfill/mine")
    assert words in error.message
    assert (error.plugin, error.hook, error.time) == ("backfill/mine", "backfill_candidates", 2.0)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda view: 3, "answered 3; answer a list of runs"),
        (lambda view: [view.running[0]] * 2, "named the run of job 1 twice"),
        (lambda view: [view.running[0].job], "which is not in view.running"),
        (lambda view: [view.running[0]._replace(sequence=99)], "which is not in view.running"),
    ],
)
def test_victims_that_cannot_be_are_refused(answer: Callable[..., Any], words: str) -> None:
    class Mine:
        name: ClassVar[str] = "preempt/mine"

        @hookimpl
        def preempt_candidates(self, view: Any) -> Any:
            return answer(view)

    def schedule(self: Any, view: Any) -> Iterator[Any]:
        while view.head is not None:
            if view.head.processors > view.free:
                assert (yield MakeRoom(view.head))
            yield Start(view.head)

    options = scheduler(schedule)
    options["plugins"].append(Mine)
    error = failing(preempt="preempt/mine", **options)
    assert words in error.message
    assert (error.plugin, error.hook, error.job, error.time) == ("preempt/mine", "preempt_candidates", 3, 5.0)


# Decisions that cannot be carried out


def kept_job() -> Any:
    """A job of another simulation."""
    kept: list[Any] = []

    def keep(view: Any) -> list[float]:
        kept.extend(view.to_set)
        return [0.0] * len(view.to_set)

    sim(**priority(keep))
    return kept[0]


def decide(decision: Callable[..., Any]) -> Callable[..., Iterator[Any]]:
    """A scheduler that asks for one thing, and then for FCFS."""

    def schedule(self: Any, view: Any) -> Iterator[Any]:
        yield decision(view)  # the decision
        while view.head is not None and view.head.processors <= view.free:
            yield Start(view.head)

    return schedule


@pytest.mark.parametrize(
    ("decision", "words", "job"),
    [
        (lambda view: Start("3"), "Start: '3' is not a job of the queue", None),
        (lambda view: Start(None), "Start: None is not a job of the queue", None),
        (lambda view: Reserve(3, 7.0), "Reserve: 3 is not a job of the queue", None),
        (lambda view: MakeRoom(3), "MakeRoom: 3 is not a job of the queue", None),
        (lambda view: Start(kept_job()), "Start: this job is not of this simulation", 1),
        (lambda view: Reserve(kept_job(), 7.0), "Reserve: this job is not of this simulation", 1),
        (lambda view: Reserve(view.head, -1.0), "Reserve: the time -1.0 is not now (0) or later", 1),
        (lambda view: Reserve(view.head, math.nan), "Reserve: the time nan is not now", 1),
        (lambda view: Reserve(view.head, "soon"), "Reserve: the time 'soon' is not now", 1),
        (lambda view: Wake(view.now), "Wake: the time 0.0 is not later than now (0)", None),
        (lambda view: Wake(-5.0), "Wake: the time -5.0 is not later than now (0)", None),
        (lambda view: Wake(math.nan), "Wake: the time nan is not later than now", None),
        (lambda view: Wake(math.inf), "Wake: the time inf is not later than now", None),
        (lambda view: Wake(1e308), "Wake: the time 1e+308 is later than any instant of the clock", None),
        (lambda view: Wake("soon"), "Wake: the time 'soon' is not later than now", None),
        (
            lambda view: None,
            "yielded None; a scheduler yields decisions: Start, Move, Preempt, Reserve, MakeRoom, Wake",
            None,
        ),
        (lambda view: view.head, "yielded <Job 1: 2 processors", None),
        (lambda view: Start, "yielded <class 'slurm_sim_plugins.start.Start'>", None),
        (lambda view: (view.head, 3.0), "yielded (<Job 1:", None),
    ],
)
def test_a_decision_that_cannot_be_carried_out_is_refused(
    decision: Callable[..., Any], words: str, job: int | None
) -> None:
    error = failing(**scheduler(decide(decision)))
    assert error.message.startswith(words)
    assert (error.plugin, error.hook, error.job, error.time) == ("sched/mine", "schedule", job, 0.0)
    assert error.where == line_with("the decision", decide)


def test_a_job_that_is_started_twice_is_refused() -> None:
    def schedule(self: Any, view: Any) -> Iterator[Any]:
        job = view.head
        yield Start(job)
        yield Start(job)

    error = failing(**scheduler(schedule))
    assert error.message == "Start: the job does not wait, it is RUNNING"
    assert (error.job, error.time) == (1, 0.0)


def test_a_job_that_is_over_is_refused() -> None:
    class Mine:
        name: ClassVar[str] = "sched/mine"

        def __init__(self) -> None:
            self.first: Any = None

        @hookimpl
        def schedule(self, view: Any) -> Iterator[Any]:
            self.first = self.first or view.head
            if view.now == 20:
                yield Start(self.first)
            while view.head is not None and view.head.processors <= view.free:
                yield Start(view.head)

    jobs = [(1, 0, 2, 10, 10), (2, 20, 2, 10, 10)]
    error = failing(jobs=jobs, plugins=[Mine], scheduler="sched/mine")
    assert error.message == "Start: the job does not wait, it is COMPLETED"
    assert (error.job, error.time) == (1, 20.0)


def test_a_job_that_is_not_yet_submitted_is_refused() -> None:
    jobs: list[Any] = []

    def keep(view: Any) -> list[float]:
        jobs.extend(view.to_set)
        return [0.0] * len(view.to_set)

    sim(**priority(keep))
    future = jobs[-1]
    error = failing(**scheduler(decide(lambda view: Start(future))))
    assert "is not of this simulation" in error.message


def test_too_many_processors_are_refused() -> None:
    def schedule(self: Any, view: Any) -> Iterator[Any]:
        for job in list(view.queue):
            yield Start(job)

    error = failing(**scheduler(schedule))
    assert error.message == ("Start: it needs 4 processors and 0 are free; start what fits, or yield MakeRoom first")
    assert (error.job, error.time) == (3, 5.0)


def test_endless_reservations_are_ended() -> None:
    def schedule(self: Any, view: Any) -> Iterator[Any]:
        while True:
            yield Reserve(view.head, view.now)

    error = failing(**scheduler(schedule))
    assert "the pass makes no progress: " in error.message
    assert (error.job, error.time) == (1, 0.0)


def test_an_endless_request_for_room_is_ended() -> None:
    def schedule(self: Any, view: Any) -> Iterator[Any]:
        while view.head is not None and view.head.processors <= view.free:
            yield Start(view.head)
        while view.head is not None:
            yield MakeRoom(view.head)

    error = failing(**scheduler(schedule))
    assert "the pass makes no progress: " in error.message
    assert (error.job, error.time) == (3, 5.0)


def test_many_starts_are_progress() -> None:
    jobs = [(number, 0, 1, 10, 10) for number in range(1, 12_001)]
    assert set(starts(sim(jobs, 12_000, scheduler="sched/fcfs")).values()) == {0.0}


@pytest.mark.parametrize("passes", ["batch", "event"])
def test_jobs_that_are_left_waiting_for_ever_are_told(passes: str) -> None:
    def schedule(self: Any, view: Any) -> Iterator[Any]:
        if view.head.id != 3:
            yield Start(view.head)

    error = failing(**scheduler(schedule), passes=passes)
    assert "jobs still wait and nothing more will happen: 4 of 4 processors are free" in error.message
    assert (error.plugin, error.hook, error.job) == ("sched/mine", "schedule", 3)


def test_a_scheduler_that_answers_none_leaves_jobs_waiting() -> None:
    error = failing(**scheduler(lambda self, view: None))
    assert "4 jobs still wait and nothing more will happen" in error.message
    assert error.job == 1


def test_a_wake_up_brings_the_scheduler_back() -> None:
    def schedule(self: Any, view: Any) -> Iterator[Any]:
        if view.now < 100:
            yield Wake(100.0)
        else:
            while view.head is not None and view.head.processors <= view.free:
                yield Start(view.head)

    assert starts(sim(**scheduler(schedule))) == {1: 100, 2: 100, 3: 110, 4: 120}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda view: [Start(view.head)], "must be a generator: yield each decision"),
        (lambda view: Start(view.head), "must be a generator: yield each decision"),
        (lambda view: 3, "answered 3; it must be a generator"),
        (lambda view: iter([Start(view.head)]), "must be a generator: yield each decision"),
    ],
)
@pytest.mark.parametrize("dispatch", ["resolved", "pluggy"])
def test_what_is_no_generator_is_refused(answer: Callable[..., Any], words: str, dispatch: str) -> None:
    error = failing(**scheduler(lambda self, view: answer(view)), dispatch=dispatch)
    assert words in error.message
    assert (error.plugin, error.hook, error.time) == ("sched/mine", "schedule", 0.0)


# Writing to what is only read


@pytest.mark.parametrize("attribute", ["processors", "time_limit", "planned", "id", "requeues", "new", "_order"])
def test_to_write_to_a_job_is_blamed_on_the_plugin(attribute: str) -> None:
    def answer(view: Any) -> list[float]:
        setattr(view.to_set[0], attribute, 1)
        return []

    error = failing(**priority(answer))
    assert f"AttributeError: Job.{attribute} is read-only" in error.message
    assert (error.plugin, error.hook, error.job, error.time) == ("priority/mine", "priority_set", 1, 0.0)
    assert error.where is not None and error.where.startswith(f"{__file__}:")


@pytest.mark.parametrize("attribute", ["now", "free", "queue", "to_set", "new", "_cluster_state"])
def test_to_write_to_a_view_is_blamed_on_the_plugin(attribute: str) -> None:
    def answer(view: Any) -> list[float]:
        setattr(view, attribute, 1)
        return []

    error = failing(**priority(answer))
    assert f"AttributeError: PriorityView.{attribute} is read-only" in error.message
    assert error.where is not None and error.where.startswith(f"{__file__}:")


def test_to_delete_from_a_job_is_blamed_on_the_plugin() -> None:
    def answer(view: Any) -> list[float]:
        del view.to_set[0].planned
        return []

    assert "AttributeError: Job.planned is read-only" in failing(**priority(answer)).message


@pytest.mark.parametrize(
    "attribute",
    ["new", "free", "now", "total", "head", "queue", "running", "new_jobs"],
)
def test_to_write_to_the_view_of_a_scheduler_is_blamed_on_it(attribute: str) -> None:
    def schedule(self: Any, view: Any) -> Iterator[Any]:
        setattr(view, attribute, 1000)
        for job in list(view._waiting):
            yield Start(job)

    # What is free, and the head, is written again at each start: the first pass may get away with it.
    error = failing(**scheduler(schedule))
    assert f".{attribute}" in error.message or f"'{attribute}'" in error.message
    assert (error.plugin, error.hook) == ("sched/mine", "schedule")


def test_a_scheduler_cannot_give_itself_processors() -> None:
    def schedule(self: Any, view: Any) -> Iterator[Any]:
        view.free = 1000
        for job in list(view.queue):
            yield Start(job)

    error = failing(**scheduler(schedule))
    assert "view.free" in error.message
    assert (error.plugin, error.hook, error.time) == ("sched/mine", "schedule", 5.0)


def test_a_scheduler_that_writes_to_a_job_is_blamed() -> None:
    def schedule(self: Any, view: Any) -> Iterator[Any]:
        view.head.processors = 0  # written here
        yield Start(view.head)

    error = failing(**scheduler(schedule))
    assert "AttributeError: Job.processors is read-only" in error.message
    assert error.where == line_with("written here", Raising)


def test_sequences_of_a_view_cannot_be_changed() -> None:
    def schedule(self: Any, view: Any) -> Iterator[Any]:
        view.queue.clear()
        yield Start(view.head)

    error = failing(**scheduler(schedule))
    assert "AttributeError" in error.message and "clear" in error.message


# What is left of a run that broke off


def test_what_happened_before_a_failure_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "run"
    error = failing(**RAISING, out=folder)
    read = read_run(folder)
    assert read.about["run"]["status"] == "failed"
    assert read.about["run"]["error"] == str(error)
    assert read.label == "sched/easy + priority/raising"
    assert read.records.jobs["state"].tolist() == ["RUNNING", "RUNNING", "FUTURE", "FUTURE"]
    assert read.records.jobs["start"].tolist()[:2] == [0, 0]
    assert np.isnan(read.records.jobs["end"]).all()
    assert read.records.runs["outcome"].tolist() == ["RUNNING", "RUNNING"]
    events = [(line["event"], line["job"]) for line in log_of(folder / "events.jsonl")]
    assert events == [("submit", 1), ("submit", 2), ("start", 1), ("start", 2)]


def test_jobs_that_wait_are_kept_as_pending(tmp_path: Path) -> None:
    def schedule(self: Any, view: Any) -> Iterator[Any]:
        while view.head is not None and view.head.processors <= view.free:
            yield Start(view.head)
        if view.now == 6:
            raise RuntimeError("enough")

    failing(**scheduler(schedule), out=tmp_path)
    assert read_run(tmp_path).records.jobs["state"].tolist() == ["RUNNING", "RUNNING", "PENDING", "PENDING"]


@pytest.mark.parametrize("hook", ["job_started", "job_ended"])
def test_an_interrupted_run_is_kept(tmp_path: Path, hook: str) -> None:
    class Spy:
        name: ClassVar[str] = "observer/spy"

    def interrupt(self: Any, now: float) -> None:
        if now >= (10 if hook == "job_ended" else 20):
            raise KeyboardInterrupt

    setattr(Spy, hook, hookimpl(interrupt))
    with pytest.raises(KeyboardInterrupt):
        sim(plugins=[Spy], out=tmp_path)
    read = read_run(tmp_path)
    assert read.about["run"]["status"] == "interrupted"
    states = read.records.jobs["state"].tolist()
    assert states[0] == "COMPLETED"
    assert states[3] == ("PENDING" if hook == "job_ended" else "RUNNING")
    assert log_of(tmp_path / "events.jsonl")[0] == {"time": 0, "event": "submit", "job": 1}


def test_a_plugin_cannot_end_the_process_unseen(tmp_path: Path) -> None:
    def answer(view: Any) -> list[float]:
        raise SystemExit(0)

    error = failing(**priority(answer), out=tmp_path)
    assert "SystemExit" in error.message
    assert (error.plugin, error.hook) == ("priority/mine", "priority_set")
    assert read_run(tmp_path).about["run"]["status"] == "failed"


def test_a_run_that_fails_leaves_a_later_one_alone(tmp_path: Path) -> None:
    failing(**RAISING, out=tmp_path)
    sim(out=tmp_path)
    read = read_run(tmp_path)
    assert read.about["run"]["status"] == "finished"
    assert "error" not in read.about["run"]
    assert set(read.records.jobs["state"].tolist()) == {"COMPLETED"}


# Output that cannot be written


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("count", [4, 9000])
def test_a_full_disk_under_the_event_log_is_told(count: int) -> None:
    jobs = [(number, 0, 1, 10, 10) for number in range(1, count + 1)]
    with pytest.raises(OutputError, match="/dev/full: the event log cannot be written: No space left") as caught:
        sim(jobs, events=FULL)
    assert caught.value.exit_code == 5


def no_space(*_: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_leaves_what_was_there_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sim(out=tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr(emulator.files.os, "replace", no_space)
    with pytest.raises(OutputError, match=r"records\.parquet: cannot be written: No space left on device"):
        sim(scheduler="sched/fcfs", out=tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before
    assert log_of(tmp_path / "unfinished" / "events.jsonl")[-1]["event"] == "end"


def test_a_write_that_fails_in_the_middle_leaves_no_rest(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")

    def write(stream: Any) -> None:
        stream.write(b"half")
        no_space()

    with pytest.raises(OutputError, match="file: cannot be written: No space left on device"):
        write_atomically(path, write)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    assert path.read_bytes() == b"before"


def test_a_file_is_written_whole_and_readable(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomically(path, lambda stream: stream.write(b"one"))
    write_atomically(path, lambda stream: stream.write(b"two"))
    other = tmp_path / "other"
    other.write_bytes(b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode == other.stat().st_mode


def test_places_are_checked(tmp_path: Path) -> None:
    check_writable(tmp_path / "new")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OutputError, match=r"there is no folder .*missing; make it"):
        check_writable(tmp_path / "missing" / "file")
    with pytest.raises(OutputError, match="is a folder; name a file in it"):
        check_writable(tmp_path)


def test_a_folder_that_cannot_be_made_is_told_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="cannot be made: "):
        make_folder(tmp_path / "file" / "run")
    with pytest.raises(OutputError, match="cannot be made: "):
        sim(**RAISING, out=tmp_path / "file")


def test_an_event_log_without_a_folder_is_told_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written: No such file or directory; name another folder"):
        sim(**RAISING, events=tmp_path / "missing" / "events.jsonl")


def test_an_event_log_replaces_another_when_the_run_is_over(tmp_path: Path) -> None:
    path, there = tmp_path / "log.jsonl", []

    def schedule(self: Any, view: Any) -> Iterator[Start]:
        there.append(path.read_text())
        while view.head is not None and view.head.processors <= view.free:
            yield Start(view.head)

    path.write_text("before")
    sim(events=path, **scheduler(schedule))
    assert set(there) == {"before"} and log_of(path)[-1]["event"] == "end"
    assert [file.name for file in tmp_path.iterdir()] == ["log.jsonl"]


def test_what_was_logged_until_a_plugin_failed_is_in_the_event_log(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("before")
    (tmp_path / "link").symlink_to("log.jsonl")
    with pytest.raises(PluginError):
        sim(**RAISING, events=tmp_path / "link")
    assert log_of(tmp_path / "log.jsonl")[0]["event"] == "submit"
    assert (tmp_path / "link").is_symlink() and len(list(tmp_path.iterdir())) == 2


def test_where_an_event_log_is_that_cannot_take_its_place_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "log.jsonl").write_text("before")
    monkeypatch.setattr(emulator.files.os, "replace", no_space)
    with pytest.raises(OutputError, match=r"log\.jsonl: cannot be written: No space .*its new content is in") as caught:
        sim(events=tmp_path / "log.jsonl")
    assert log_of(Path(str(caught.value).rpartition(" ")[2]))[-1]["event"] == "end"
    assert (tmp_path / "log.jsonl").read_text() == "before"


def test_an_event_log_goes_through_a_pipe(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    sim(events=pipe)
    reader.join()
    assert json.loads(read[0].splitlines()[-1])["event"] == "end"


# Workloads


def test_the_largest_estimates_are_held() -> None:
    jobs: list[JobRow] = [(1, 0, 4, 10, 2**31 - 1), (2, 1, 4, 10, 2**31 - 1), (3, 2**31 - 1, 4, 2**31 - 1, 2**31 - 1)]
    for policy in ("sched/fcfs", "sched/easy", "sched/conservative"):
        assert starts(sim(jobs, scheduler=policy)) == {1: 0, 2: 10, 3: 2**31 - 1}


def test_fractional_times_are_held_to_the_microsecond(tmp_path: Path) -> None:
    jobs: list[JobRow] = [(1, 0.25, 4, 0.1, 0.3), (2, 0.25, 4, 1e-6, 5), (3, 0.3, 4, 1.000001, 5)]
    result = sim(jobs, out=tmp_path)
    assert starts(result) == {1: 0.25, 2: 0.35, 3: 0.350001}
    ends = [line for line in log_of(tmp_path / "events.jsonl") if line["event"] == "end"]
    assert [line["time"] for line in ends] == [0.35, 0.350001, 1.350002]
    assert read_run(tmp_path).records.jobs["end"].tolist() == [0.35, 0.350001, 1.350002]


def test_time_may_begin_before_zero(tmp_path: Path) -> None:
    result = sim([(1, -100.5, 4, 50, 60), (2, -90, 4, 100, 100)], out=tmp_path)
    assert starts(result) == {1: -100.5, 2: -50.5}
    assert log_of(tmp_path / "events.jsonl")[0] == {"time": -100.5, "event": "submit", "job": 1}


def test_a_run_of_no_time_ends_at_once() -> None:
    result = sim([(1, 5, 4, 0, 10), (2, 5, 4, 0, 10), (3, 5, 4, 7, 10)])
    assert starts(result) == {1: 5, 2: 5, 3: 5}
    assert column(result, "end") == {1: 5, 2: 5, 3: 12}


COLUMNS: dict[str, list[Any]] = {
    "id": [7, 8],
    "submit": [0, 1],
    "processors": [1, 2],
    "run": [3, 4],
    "time_limit": [5, 6],
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"id": [7, 7]}, "workload: job id 7 stands in it more than once; make ids unique"),
        ({"id": ["a", "b"]}, "column id does not hold numbers"),
        ({"id": [2**70, 1]}, "column id does not hold numbers"),
        ({"submit": [0, math.nan]}, "workload: job 8: submit is nan, it is not a usable time"),
        ({"submit": [math.inf, 0]}, "workload: job 7: submit is inf, it is not a usable time"),
        ({"submit": [0, 1e300]}, "workload: job 8: submit is 1e+300, it is not a usable time"),
        ({"processors": [1, 0]}, "workload: job 8: processors is 0, it must be 1 or more"),
        ({"processors": [-4, 1]}, "workload: job 7: processors is -4, it must be 1 or more"),
        ({"processors": [1, None]}, "column processors does not hold numbers"),
        ({"run": [3, math.nan]}, "workload: job 8: run is nan, it must be at least 0 s, and at most"),
        ({"run": [-1, 3]}, "workload: job 7: run is -1, it must be at least 0 s, and at most"),
        ({"time_limit": [0, 3]}, "workload: job 7: time_limit is 0, it must be more than 0 s, and at most"),
        ({"time_limit": [3, math.nan]}, "workload: job 8: time_limit is nan, it must be more than 0 s, and at most"),
        ({"run": [3]}, "the workload's columns differ in length"),
        ({"user": ["x"]}, "the workload's columns differ in length"),
    ],
)
def test_columns_that_cannot_be_are_refused(change: dict[str, list[Any]], words: str) -> None:
    with pytest.raises(InputError) as caught:
        Workload.from_columns({**COLUMNS, **change})
    assert words in str(caught.value)
    assert caught.value.exit_code == 3


def test_fractional_processors_are_not_cut_unseen() -> None:
    with pytest.raises(InputError, match="processors"):
        Workload.from_columns({**COLUMNS, "processors": [1.5, 2]})


def test_processors_that_are_not_known_are_not_made_up() -> None:
    with pytest.raises(InputError, match="processors"):
        Workload.from_columns({**COLUMNS, "processors": np.array([math.nan, 2.0])})


def test_a_column_that_is_missing_is_named() -> None:
    with pytest.raises(InputError, match="has no column run, time_limit; it needs id, submit, processors"):
        Workload.from_columns({name: COLUMNS[name] for name in ("id", "submit", "processors")})


def test_jobs_are_put_into_their_order() -> None:
    given = Workload.from_columns({**COLUMNS, "id": [8, 7], "submit": [1, 1], "user": ["b", "a"]})
    assert given.id.tolist() == [7, 8]
    assert given.processors.tolist() == [2, 1]
    assert given.facts["user"].tolist() == ["a", "b"]


def test_a_frame_is_a_workload() -> None:
    given = Workload.from_columns(COLUMNS)
    again = Workload.from_frame(given.frame())
    assert all(np.array_equal(again.columns()[name], column) for name, column in given.columns().items())


# Options


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"schedular": "sched/easy"}, "there is no option 'schedular' (did you mean 'scheduler'?); options are "),
        ({"passes": "both"}, "passes is one of batch, event, not 'both'"),
        ({"clock": "real"}, "clock is one of slurm, ideal, not 'real'"),
        ({"dispatch": "direct"}, "dispatch is one of resolved, pluggy, not 'direct'"),
        ({"processors": 0}, "a machine of 0 processors cannot run a job; give 1 or more"),
        ({"processors": None}, "workload does not say how large the machine is; give the processors"),
        ({"scheduler": "sched/nothing"}, "SchedulerType=sched/nothing: there is no such plugin"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        sim(**{"processors": 4, **options})
    assert words in str(caught.value)
    assert caught.value.exit_code == 2


def test_nothing_is_written_when_an_option_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        sim(scheduler="sched/nothing", out=tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


# Determinism


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["sched/fcfs", "sched/easy", "sched/conservative"])
def test_two_runs_give_the_same_bytes(tmp_path: Path, policy: str) -> None:
    draw = np.random.default_rng(5)
    jobs = [
        (number, int(draw.integers(0, 500)), int(draw.integers(1, 20)), int(draw.integers(1, 90)), 90)
        for number in range(1, 201)
    ]
    folders = [tmp_path / word for word in ("one", "another")]
    for folder in folders:
        sim(jobs, 16, scheduler=policy, out=folder)
    names = sorted(path.name for path in folders[0].iterdir())
    assert names == ["events.jsonl", "records.parquet", "run.toml", "runs.parquet"]
    for name in names:
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes(), name
    assert (folders[0] / "events.jsonl").stat().st_size > 5000


def test_the_collector_is_left_as_it_was() -> None:
    import gc

    assert gc.isenabled()
    failing(**RAISING)
    assert gc.isenabled()
    gc.disable()
    try:
        sim()
        assert not gc.isenabled()
    finally:
        gc.enable()
