"""Preemption on random workloads: what is true in every mode, and what is the same in two."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator import Result, Workload, simulate
from emulator.config.preemption import Preemption
from emulator.testing.invariants import check_invariants
from slurm_sim_plugins import MakeRoom, PreemptView, PriorityView, Run, SchedulingView, Start, hookimpl
from slurm_sim_plugins.manager import Catalogue
from tests.builders.jobs import JobRow, run_rows, workload

FEWER = settings(max_examples=40)
FEW = settings(max_examples=20)


@dataclass(frozen=True)
class Case:
    """A machine, its jobs, whose they are, and which may not be requeued."""

    processors: int
    jobs: list[JobRow]
    users: dict[int, int]
    bound: set[int]

    @property
    def workload(self) -> Workload:
        given = workload(self.jobs)
        ids = given.id.tolist()
        facts = {"user": [self.users[id] for id in ids], "requeue": [int(id not in self.bound) for id in ids]}
        return Workload.from_columns({**given.columns(), **facts})

    def simulated(self, **options: Any) -> Result:
        given = self.workload
        options = {"scheduler": "sched/venture", "preempt": "preempt/shadow_load", "compiled": False, **options}
        result = simulate(given, processors=self.processors, catalogue=Catalogue(), **options)
        check_invariants(result, given)
        return result

    def logged(self, **options: Any) -> tuple[Result, str]:
        """As :meth:`simulated`, with the event log."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "events.jsonl"
            return self.simulated(events=file, **options), file.read_text()


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Crowded, so that much is preempted; few distinct numbers, so that much happens at one instant."""
    processors = draw(st.integers(1, 6))
    unit = draw(st.sampled_from([1, 1, 0.7, 3600]))
    longest = draw(st.sampled_from([2, 6, 20]))
    latest = draw(st.sampled_from([0, 3, 12, 30]))
    sizes = st.integers(1, processors) | st.sampled_from([1, processors])

    def job() -> tuple[float, int, float, float]:
        limit = draw(st.integers(1, longest))
        lasts = draw(st.integers(0, longest) | st.sampled_from([0, limit, limit + 1]))
        return draw(st.integers(0, latest)) * unit, draw(sizes), lasts * unit, limit * unit

    rows = [job() for _ in range(draw(st.integers(0, 14)))]
    ids = draw(st.permutations(range(1, len(rows) + 1)))
    users = {id: draw(st.integers(1, 3)) for id in ids}
    bound = set(draw(st.lists(st.sampled_from(ids), max_size=3))) if ids and draw(st.booleans()) else set()
    return Case(processors, [(id, *row) for id, row in zip(ids, rows, strict=True)], users, bound)


PRICES = st.sampled_from([0, 0.3, 1, 2.5, 1000])
MODES: dict[str, st.SearchStrategy[Preemption]] = {
    "requeue": st.just(Preemption()),
    "interval": st.builds(
        lambda interval, part, restart: Preemption(
            mode="CHECKPOINT", interval=interval, cost=interval * part, restart_cost=restart
        ),
        st.sampled_from([0.5, 1, 3, 7.7, 3600]),
        st.sampled_from([0, 0.1, 1]),
        PRICES,
    ),
    "share": st.builds(
        lambda share, cost, restart: Preemption(
            mode="CHECKPOINT", checkpoint="share", share=share, cost=cost, restart_cost=restart
        ),
        st.sampled_from([0.05, 0.1, 0.29, 1]),
        st.sampled_from([0.01, 0.3, 1, 40]),
        PRICES,
    ),
    "jit": st.builds(
        lambda cost, restart: Preemption(mode="CHECKPOINT", checkpoint="jit", cost=cost, restart_cost=restart),
        PRICES,
        PRICES,
    ),
    "jit of memory": st.builds(
        lambda each, all: Preemption(
            mode="CHECKPOINT",
            checkpoint="jit",
            gb_per_processor=2,
            gb_per_second_per_processor=each,
            gb_per_second=all,
        ),
        st.sampled_from([0.5, 1, 2]),
        st.sampled_from([0.5, 1, 3]),
    ),
    "suspend": st.builds(
        lambda slowdown, cost: Preemption(mode="SUSPEND", slowdown=slowdown, cost=cost),
        st.sampled_from([0, 0.05, 1 / 3, 1.7]),
        PRICES,
    ),
}
EVERY_MODE = pytest.mark.parametrize("mode", MODES)


class Upwards:
    """The number of a job is its id: many arrive that outrank those before them."""

    name = "priority/upwards"

    @hookimpl
    def priority_set(self, view: PriorityView) -> list[float]:
        return [job.id for job in view.to_set]


class Impatient:
    """Tries every job, and asks for room, once in a pass, for any that is too wide."""

    name = "sched/impatient"

    @hookimpl
    def schedule(self, view: SchedulingView) -> Any:
        asked = False
        for job in list(view.queue):
            fits = job.processors <= view.free
            if not fits and not asked and job.requeues < 2:
                asked = True
                fits = yield MakeRoom(job)
            if fits and job.processors <= view.free:
                yield Start(job)


class Weak:
    """The youngest run goes first, if it was sent back less than three times; whatever its priority."""

    name = "preempt/weak"

    @hookimpl
    def preempt_candidates(self, view: PreemptView) -> list[Run]:
        weak = [run for run in view.running if run.job.requeues < 3 and run.job.may_requeue]
        return sorted(weak, key=lambda run: -run.sequence)


FRESH = {"walltime/last_model": {"refresh": "pass"}}
POLICIES: dict[str, dict[str, Any]] = {
    "pv_easy": {"walltime": "walltime/last_model"},
    "pv_easy_upwards": {"walltime": "walltime/last_model", "plugin_options": FRESH, "priority": "priority/upwards"},
    "impatient": {"scheduler": "sched/impatient", "preempt": "preempt/weak"},
}
OPTIONS = st.fixed_dictionaries(
    {
        "passes": st.sampled_from(["batch", "event"]),
        "kill_at_limit": st.booleans(),
        "expired": st.sampled_from(["limit", "now", "tsafrir", "again"]),
    }
)


@pytest.mark.slow
@EVERY_MODE
@FEWER
@given(case=cases(), data=st.data())
def test_invariants_and_dispatch_and_bytes(case: Case, data: st.DataObject, mode: str) -> None:
    options = {**data.draw(OPTIONS), **POLICIES[data.draw(st.sampled_from(list(POLICIES)))]}
    options |= {"preemption": data.draw(MODES[mode]), "plugins": [Upwards, Impatient, Weak]}
    result, text = case.logged(**options)

    # The same bytes a second time, through pluggy.
    other, same_text = case.logged(**options, dispatch="pluggy")
    assert same_text == text
    assert repr(other.records.jobs_table().to_pydict()) == repr(result.records.jobs_table().to_pydict())
    assert repr(other.records.runs_table().to_pydict()) == repr(result.records.runs_table().to_pydict())

    # The event log and the tables tell one story.
    check_story([json.loads(line) for line in text.splitlines()], result)
    preempted = {job for job, *_, outcome in run_rows(result) if outcome == "PREEMPTED"}
    assert not preempted & case.bound


def check_story(log: list[dict[str, Any]], result: Result) -> None:
    rows = run_rows(result)
    assert [line["time"] for line in log] == sorted(line["time"] for line in log)

    def told(*kinds: str) -> list[tuple[int, float]]:
        return sorted((line["job"], line["time"]) for line in log if line["event"] in kinds)

    assert told("start") == sorted((job, start) for job, _, start, _, _ in rows)
    assert told("end") == sorted((job, end) for job, _, _, end, outcome in rows if outcome != "PREEMPTED")
    assert told("requeue") == sorted((job, end) for job, _, _, end, outcome in rows if outcome == "PREEMPTED")
    # Who is away comes back before it starts again.
    away: dict[int, float] = {}
    for line in log:
        if line["event"] == "return":
            assert away.pop(line["job"]) < line["time"]
        elif line["event"] == "requeue":
            away[line["job"]] = line["time"]
        elif line["event"] == "start" and line["job"] in away:
            assert just_now(log, line, away.pop(line["job"]), result)


def just_now(log: list[dict[str, Any]], start: dict[str, Any], left: float, result: Result) -> bool:
    """Whether a run that starts without a return was not written: by its mode, or because it had done nothing."""
    preemption = result.about["preemption"]
    if preemption["mode"] != "CHECKPOINT" or preemption["checkpoint"] != "jit":
        return True
    runs = result.records.runs
    ended = (runs["job_id"] == start["job"]) & (runs["end"] == left)
    write = Preemption(**preemption).write_cost(int(runs["processors"][ended][0]))
    return write == 0 or bool((runs["work"][ended] == 0).any())


@FEWER
@given(case=cases(), data=st.data())
def test_checkpoints_that_are_never_written_are_a_requeue(case: Case, data: st.DataObject) -> None:
    options = {**data.draw(OPTIONS), "plugins": [Upwards]}
    options |= data.draw(st.sampled_from([POLICIES["pv_easy"], POLICIES["pv_easy_upwards"]]))
    cost, restart = data.draw(PRICES), data.draw(PRICES)
    never = Preemption(mode="CHECKPOINT", interval=1e6, cost=cost, restart_cost=restart)
    rarely = Preemption(mode="CHECKPOINT", checkpoint="share", share=1e-9, cost=1, restart_cost=restart)
    requeued = run_rows(case.simulated(**options))
    assert run_rows(case.simulated(preemption=never, **options)) == requeued
    assert run_rows(case.simulated(preemption=rarely, **options)) == requeued


@FEWER
@given(case=cases(), data=st.data())
def test_to_suspend_for_nothing_is_to_checkpoint_just_in_time_for_nothing(case: Case, data: st.DataObject) -> None:
    options = {**data.draw(OPTIONS), **POLICIES["pv_easy"]}
    suspended = case.simulated(preemption=Preemption(mode="SUSPEND", slowdown=0, cost=0), **options)
    written = case.simulated(preemption=Preemption(mode="CHECKPOINT", checkpoint="jit", cost=0), **options)
    assert run_rows(suspended) == run_rows(written)
    assert suspended.records.runs["work"].tolist() == written.records.runs["work"].tolist()
    # Nothing is lost, and nothing is paid.
    for job, run, occupied in zip(
        *(suspended.records.jobs[name] for name in ("job_id", "run", "occupied")), strict=True
    ):
        assert occupied == pytest.approx(run, abs=1e-6), job


@EVERY_MODE
@FEW
@given(case=cases(), data=st.data())
def test_without_preemption_a_mode_is_only_its_overhead(case: Case, data: st.DataObject, mode: str) -> None:
    preemption = data.draw(MODES[mode])
    result = case.simulated(preempt="preempt/none", scheduler="sched/easy", preemption=preemption)
    assert set(result.records.jobs["requeues"].tolist()) <= {0}
    if mode in ("requeue", "jit", "jit of memory"):
        plain = case.simulated(preempt="preempt/none", scheduler="sched/easy")
        assert run_rows(result) == run_rows(plain)


@EVERY_MODE
@FEW
@given(case=cases(), data=st.data())
def test_only_who_ventured_is_sent_back(case: Case, data: st.DataObject, mode: str) -> None:
    preemption = data.draw(MODES[mode])
    result = case.simulated(preemption=preemption, walltime="walltime/last_model")
    runs = result.records.runs
    regular = (runs["outcome"] == "PREEMPTED") & ~runs["backfilled"]
    for start, end in zip(runs["start"][regular].tolist(), runs["end"][regular].tolist(), strict=True):
        # It began while the checkpoint of a job that goes before it was written: that job did not wait.
        written = set(runs["job_id"][(runs["outcome"] == "PREEMPTED") & (runs["end"] <= start)].tolist())
        assert preemption.mode == "CHECKPOINT"
        assert written & set(runs["job_id"][runs["start"] == end].tolist())


def test_a_job_whose_checkpoint_is_written_does_not_wait() -> None:
    """Job 10 begins at 4 s while the checkpoint of job 4 is written, which is so until 5 s."""
    others = [(number, 0, 1, 0, 1) for number in (5, 6, 7, 8, 9, 11, 12)]
    jobs = [(1, 0, 2, 4, 4), (2, 0, 1, 1, 1), (3, 0, 4, 1, 1), (4, 0, 1, 2, 2), (10, 0, 2, 2, 2), (13, 0, 1, 1, 1)]
    case = Case(processors=6, jobs=jobs + others, users=dict.fromkeys(range(1, 14), 1), bound=set())
    slow = Preemption("CHECKPOINT", "jit", gb_per_processor=2, gb_per_second_per_processor=0.5, gb_per_second=0.5)
    runs = case.simulated(preemption=slow, walltime="walltime/last_model").records.runs
    regular = (runs["outcome"] == "PREEMPTED") & ~runs["backfilled"]
    assert runs["job_id"][regular].tolist() == [10]
    assert (runs["start"][regular].tolist(), runs["end"][regular].tolist()) == ([4], [5])
