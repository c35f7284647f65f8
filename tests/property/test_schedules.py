"""The engine against independent schedulers, job by job, on random workloads."""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slurm_sim_plugins import Decision, MakeRoom, PreemptView, Run, SchedulingView, Start, hookimpl
from tests.builders.jobs import JobRow, logged, run, run_rows, times
from tests.reference.conservative import conservative
from tests.reference.easy import easy
from tests.reference.fcfs import fcfs

HOW = st.fixed_dictionaries({"passes": st.sampled_from(["batch", "event"]), "kill_at_limit": st.booleans()})
MORE = settings(max_examples=200)
"""For tests that draw two conventions, too."""


@dataclass(frozen=True)
class Case:
    """A machine and jobs."""

    processors: int
    jobs: list[JobRow]
    predicted: dict[int, float]

    def simulated(self, **options: Any) -> dict[int, tuple[float, float]]:
        """Starts and ends as the engine has them; nothing planned but the limits."""
        options.setdefault("compiled", False)
        return times(run(self.jobs, self.processors, **options))

    def predicting(self, **options: Any) -> dict[int, tuple[float, float]]:
        """As :meth:`simulated`, planned with the predictions."""
        options.setdefault("compiled", False)
        return times(run(self.jobs, self.processors, predicted=self.predicted, walltime="walltime/given", **options))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Few distinct numbers, so that much happens at one instant; fractions that are exact in binary."""
    processors = draw(st.integers(1, 6))
    unit = draw(st.sampled_from([1, 1, 0.25, 3600]))
    latest = draw(st.sampled_from([0, 3, 12, 40]))
    longest = draw(st.sampled_from([2, 6, 20]))
    sizes = st.integers(1, processors) | st.sampled_from([1, processors])
    kinds = st.sampled_from(["any", "zero", "exact", "early", "over"])

    def job() -> tuple[float, int, float, float]:
        limit = draw(st.integers(1, longest))
        of_kind = {"any": longest, "zero": 0, "exact": limit, "early": limit - 1, "over": limit + 1}
        kind = draw(kinds)
        lasts = draw(st.integers(0, longest)) if kind == "any" else of_kind[kind]
        return draw(st.integers(0, latest)) * unit, draw(sizes), lasts * unit, limit * unit

    rows = [job() for _ in range(draw(st.integers(0, 14)))]
    ids = draw(st.permutations(range(1, len(rows) + 1)))
    jobs = [(id, *row) for id, row in zip(ids, rows, strict=True)]
    predicted = {id: draw(st.integers(1, longest)) * unit for id in ids if draw(st.booleans())}
    return Case(processors, jobs, predicted)


@pytest.mark.slow
@MORE
@given(case=cases(), how=HOW)
def test_fcfs(case: Case, how: dict[str, Any]) -> None:
    expected = fcfs(case.jobs, case.processors, "fcfs", **how)
    assert case.simulated(scheduler="sched/fcfs", **how) == expected


@MORE
@given(case=cases(), how=HOW)
def test_sjf(case: Case, how: dict[str, Any]) -> None:
    expected = fcfs(case.jobs, case.processors, "sjf", **how)
    assert case.simulated(scheduler="sched/fcfs", priority="priority/sjf", **how) == expected


@MORE
@given(case=cases(), how=HOW)
def test_easy(case: Case, how: dict[str, Any]) -> None:
    expected = easy(case.jobs, case.processors, order="queue", **how)
    assert case.simulated(scheduler="sched/easy", **how) == expected


@MORE
@given(case=cases(), how=HOW)
def test_sjf_easy(case: Case, how: dict[str, Any]) -> None:
    expected = easy(case.jobs, case.processors, order="sjf", **how)
    assert case.simulated(backfill="backfill/sjf", **how) == expected


@pytest.mark.slow
@pytest.mark.parametrize("order", ["queue", "sjf"])
@MORE
@given(case=cases(), how=HOW)
def test_easy_with_predictions(case: Case, how: dict[str, Any], order: Any) -> None:
    expected = easy(case.jobs, case.processors, order=order, predictions=case.predicted, **how)
    backfill = {"queue": "backfill/queue_order", "sjf": "backfill/sjf"}[order]
    assert case.predicting(backfill=backfill, **how) == expected


@pytest.mark.parametrize("compress", ["rebuild", "never_later"])
@MORE
@given(case=cases(), how=HOW)
def test_conservative(case: Case, how: dict[str, Any], compress: Any) -> None:
    expected = conservative(case.jobs, case.processors, compress, **how)
    options = {"scheduler": "sched/conservative", "plugin_options": {"sched/conservative": {"compress": compress}}}
    assert case.simulated(**how, **options) == expected


@pytest.mark.slow
@pytest.mark.parametrize("compress", ["rebuild", "never_later"])
@MORE
@given(case=cases(), how=HOW)
def test_conservative_with_predictions(case: Case, how: dict[str, Any], compress: Any) -> None:
    expected = conservative(case.jobs, case.processors, compress, predictions=case.predicted, **how)
    options = {"scheduler": "sched/conservative", "plugin_options": {"sched/conservative": {"compress": compress}}}
    assert case.predicting(**how, **options) == expected


# The same simulation, done another way -------------------------------------------------

POLICIES: dict[str, dict[str, Any]] = {
    "fcfs": {"scheduler": "sched/fcfs"},
    "sjf": {"scheduler": "sched/fcfs", "priority": "priority/sjf"},
    "easy": {"scheduler": "sched/easy"},
    "sjf_easy": {"scheduler": "sched/easy", "backfill": "backfill/sjf"},
    "easy_last": {"scheduler": "sched/easy", "walltime": "walltime/given"},
    "easy_by_size": {"scheduler": "sched/easy", "priority": "priority/sjf", "walltime": "walltime/given"},
    "conservative": {"scheduler": "sched/conservative"},
    "never_later": {
        "scheduler": "sched/conservative",
        "plugin_options": {"sched/conservative": {"compress": "never_later"}},
    },
}
EVERY_POLICY = pytest.mark.parametrize("policy", POLICIES)
PRIORITIES = st.sampled_from(["priority/basic", "priority/sjf", "priority/by_size"])
FEWER = settings(max_examples=40)


@pytest.mark.slow
@EVERY_POLICY
@FEWER
@given(case=cases(), how=HOW, data=st.data())
def test_the_same_simulation_gives_the_same_bytes(
    case: Case, data: st.DataObject, policy: str, how: dict[str, Any]
) -> None:
    """A second time, with calls through pluggy and jobs that are handed over in another order."""
    options = {**POLICIES[policy], **how, "predicted": case.predicted, "compiled": False}
    first, log = logged(case.jobs, case.processors, **options)
    shuffled = data.draw(st.permutations(case.jobs))
    second, same_log = logged(shuffled, case.processors, dispatch="pluggy", **options)
    assert same_log == log
    assert second.about.pop("simulation") == {**first.about.pop("simulation"), "dispatch": "pluggy"}
    assert second.about == first.about
    # As text, in which an unknown number equals an unknown number.
    assert repr(second.records.jobs_table().to_pydict()) == repr(first.records.jobs_table().to_pydict())
    assert repr(second.records.runs_table().to_pydict()) == repr(first.records.runs_table().to_pydict())


@pytest.mark.parametrize("policy", ["conservative", "never_later"])
@given(case=cases(), how=HOW)
def test_compiled_kernels_change_nothing(case: Case, policy: str, how: dict[str, Any]) -> None:
    options = {**how, **POLICIES[policy], "predicted": case.predicted, "walltime": "walltime/given"}
    plain, log = logged(case.jobs, case.processors, compiled=False, **options)
    compiled, same_log = logged(case.jobs, case.processors, compiled=True, **options)
    assert times(compiled) == times(plain)
    assert same_log == log


# Schedulers that take no short cuts ----------------------------------------------------


class PlainEasy:
    """EASY that asks at every pass, remembers nothing and looks at every job again."""

    name = "sched/plain_easy"

    @hookimpl
    def schedule(self, view: SchedulingView) -> Generator[Decision, bool, None]:
        while view.queue and view.queue[0].processors <= view.free:
            yield Start(view.queue[0])
        if not view.queue:
            return
        head = view.queue[0]
        ends = sorted({max(run.planned_end, view.now) for run in view.running})
        free_at = {
            end: view.free + sum(run.processors for run in view.running if run.planned_end <= end) for end in ends
        }
        shadow_time = next(end for end in ends if free_at[end] >= head.processors)
        extra = free_at[shadow_time] - head.processors
        for job in self.order(list(view.queue)[1:]):
            in_time = view.now + job.planned <= shadow_time
            if job.processors <= view.free and (in_time or job.processors <= extra):
                extra -= 0 if in_time else job.processors
                yield Start(job)

    def order(self, jobs: list[Any]) -> list[Any]:
        return jobs


class PlainSjfEasy(PlainEasy):
    """As PlainEasy, the shortest job first."""

    name = "sched/plain_sjf_easy"

    def order(self, jobs: list[Any]) -> list[Any]:
        return sorted(jobs, key=lambda job: (job.planned, job.submit, job.id))


class PlainFcfs:
    """FCFS that is called at every pass."""

    name = "sched/plain_fcfs"

    @hookimpl
    def schedule(self, view: SchedulingView) -> Generator[Decision, bool, None]:
        for job in list(view.queue):
            if job.processors > view.free:
                return
            yield Start(job)


class PlainConservative:
    """Conservative backfilling that rebuilds its whole plan in every pass."""

    name = "sched/plain_conservative"

    @hookimpl
    def schedule(self, view: SchedulingView) -> Generator[Decision, bool, None]:
        jobs, profile = list(view.queue), view.profile()
        slots = profile.place([job.processors for job in jobs], [job.planned for job in jobs], view.now)
        for job, slot in zip(jobs, slots, strict=True):
            if slot <= view.now and job.processors <= view.free:
                yield Start(job)


class BySize:
    """The smallest job first; then the longest."""

    name = "priority/by_size"

    @hookimpl
    def priority_set(self, view: Any) -> list[float]:
        return [-job.processors + job.time_limit / 1e6 for job in view.to_set]


PLAIN: list[tuple[type, dict[str, Any]]] = [
    (PlainFcfs, {"scheduler": "sched/fcfs"}),
    (PlainEasy, {"scheduler": "sched/easy"}),
    (PlainSjfEasy, {"scheduler": "sched/easy", "backfill": "backfill/sjf"}),
    (PlainConservative, {"scheduler": "sched/conservative"}),
]


@pytest.mark.parametrize(("plain", "options"), PLAIN, ids=[plain.name for plain, _ in PLAIN])
@MORE
@given(case=cases(), how=HOW, priority=PRIORITIES)
def test_short_cuts_change_nothing(
    case: Case, plain: Any, options: dict[str, Any], priority: str, how: dict[str, Any]
) -> None:
    common: dict[str, Any] = {"priority": priority, **how}
    common |= {"plugins": [plain, BySize], "predicted": case.predicted, "walltime": "walltime/given", "compiled": False}
    expected = run(case.jobs, case.processors, scheduler=plain.name, **common)
    assert times(run(case.jobs, case.processors, **options, **common)) == times(expected)


# Preemption ------------------------------------------------------------------------------


class Impatient:
    """Tries every job, and asks for room, at most once in a pass, for any that is too wide."""

    name = "sched/impatient"

    @hookimpl
    def schedule(self, view: SchedulingView) -> Generator[Decision, bool, None]:
        asked = False
        for job in list(view.queue):
            fits = job.processors <= view.free
            if not fits and not asked and job.requeues < 2:
                asked = True
                fits = yield MakeRoom(job)
            if fits and job.processors <= view.free:
                yield Start(job)


class Weak:
    """Who runs on the fewest processors goes first, if it was sent back less than three times."""

    name = "preempt/weak"

    @hookimpl
    def preempt_candidates(self, view: PreemptView) -> list[Run]:
        weak = [run for run in view.running if run.job.requeues < 3 and run.processors < view.preemptor.processors]
        return sorted(weak, key=lambda run: (run.processors, run.sequence))


@given(case=cases(), how=HOW, priority=PRIORITIES)
def test_preemption(case: Case, priority: str, how: dict[str, Any]) -> None:
    options: dict[str, Any] = {"plugins": [Impatient, Weak, BySize], "scheduler": "sched/impatient"}
    options |= {"preempt": "preempt/weak", "priority": priority, **how}
    options |= {"predicted": case.predicted, "walltime": "walltime/given"}
    result, log = logged(case.jobs, case.processors, **options)
    rows = [json.loads(line) for line in log.splitlines()]

    # The event log and the tables tell one story.
    started = sorted((row["job"], row["time"]) for row in rows if row["event"] == "start")
    assert started == sorted((job, start) for job, _, start, _, _ in run_rows(result))
    ended = sorted((row["job"], row["time"], row.get("state", "PREEMPTED")) for row in rows if row["event"] in ENDS)
    assert ended == sorted((job, end, outcome) for job, _, _, end, outcome in run_rows(result))
    assert [row["time"] for row in rows] == sorted(row["time"] for row in rows)
    assert logged(case.jobs, case.processors, dispatch="pluggy", **options)[1] == log


ENDS = ("end", "requeue")
