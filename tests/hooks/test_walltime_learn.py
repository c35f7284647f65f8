"""walltime_learn: how long a job ran; who learns from it, and who draws lots instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from emulator import Workload, simulate
from emulator.config.preemption import Preemption
from slurm_sim_plugins import ConfigurationError, Job, PriorityView, WalltimeView, hookimpl
from slurm_sim_plugins.manager import Catalogue
from tests.builders.jobs import JobRow, column, failing, happenings, line_with, logged, run, workload

BOTH_PASSES = pytest.mark.parametrize("passes", ["batch", "event"])
JOBS: list[JobRow] = [(1, 0, 3, 10, 12), (2, 1, 4, 5, 9), (3, 2, 1, 20, 30)]
"""On four processors, 3 ventures ahead of 2, and has to make room for it when 1 has ended."""
VENTURE: dict[str, Any] = {"scheduler": "sched/venture", "preempt": "preempt/shadow_load"}


class Learning:
    """Notes what it is told."""

    name: ClassVar[str] = "walltime/learning"

    def __init__(self) -> None:
        self.told: list[tuple[int, float, float]] = []

    @hookimpl
    def walltime_learn(self, job: Job, ran: float, now: float) -> str:
        self.told.append((job.id, ran, now))
        return "what it answers is ignored"


def learnt(jobs: list[JobRow], processors: int = 4, **options: Any) -> list[tuple[int, float, float]]:
    options = {"plugins": [Learning], "walltime": "walltime/learning", **options}
    told: list[tuple[int, float, float]] = run(jobs, processors, **options).plugins["walltime/learning"].told
    return told


# What is told


@BOTH_PASSES
def test_told_of_every_job_that_ended_and_of_nobody_else(passes: str) -> None:
    jobs = [(1, 0, 4, 10, 12), (2, 1, 4, 5, 9), (9, 1, 5, 5, 9), (3, 2, 1, 0, 30)]
    assert learnt(jobs, passes=passes) == [(1, 10, 10), (2, 5, 15), (3, 0, 15)]


def test_of_a_killed_job_the_limit() -> None:
    assert learnt([(1, 0, 1, 30, 12)]) == [(1, 12, 12)]
    assert learnt([(1, 0, 1, 30, 12)], kill_at_limit=False) == [(1, 30, 30)]


def test_of_a_job_that_was_requeued_its_last_run() -> None:
    assert learnt(JOBS, **VENTURE) == [(1, 10, 10), (2, 5, 15), (3, 20, 35)]


MODES = {
    "checkpoints": Preemption(mode="CHECKPOINT", interval=4, cost=1, restart_cost=3),
    "just in time": Preemption(mode="CHECKPOINT", checkpoint="jit", cost=3, restart_cost=2),
    "suspension": Preemption(mode="SUSPEND", slowdown=0.05, cost=2),
}
ENDS = {"checkpoints": [12, 18, 35], "just in time": [10, 18, 32], "suspension": [10.5, 15.75, 30.25]}


@BOTH_PASSES
@pytest.mark.parametrize("mode", MODES)
def test_without_overhead_and_without_the_work_of_earlier_runs(mode: str, passes: str) -> None:
    told = learnt(JOBS, passes=passes, preemption=MODES[mode], **VENTURE)
    assert told == list(zip([1, 2, 3], [10, 5, 20], ENDS[mode], strict=True))
    killed = learnt([*JOBS[:2], (3, 2, 1, 99, 20)], passes=passes, preemption=MODES[mode], **VENTURE)
    assert killed == told


# When


def test_in_the_order_of_the_ends() -> None:
    jobs = [(5, 0, 1, 9, 9), (4, 0, 1, 20, 9), (3, 0, 1, 9, 20), (2, 1, 1, 8, 8), (1, 2, 1, 3, 9)]
    told = learnt(jobs, 5)
    ended = [(time, job) for time, event, job in happenings(jobs, 5) if event == "end"]
    assert [(now, job) for job, _, now in told] == ended == [(5, 1), (9, 3), (9, 5), (9, 2), (9, 4)]


class Predicting:
    """Plans with the run time of the job that ended last."""

    name: ClassVar[str] = "walltime/predicting"
    last: float | None = None

    @hookimpl
    def walltime_submit(self, view: WalltimeView) -> float | None:
        return min(self.last, view.job.time_limit) if self.last is not None else None

    @hookimpl
    def walltime_learn(self, ran: float) -> None:
        self.last = ran


@pytest.mark.parametrize(
    ("passes", "limit", "planned"), [("batch", 20, 10), ("event", 20, 90), ("batch", 10, 10), ("event", 10, 10)]
)
def test_before_who_is_submitted_at_that_instant_if_the_end_comes_first(
    passes: str, limit: float, planned: float
) -> None:
    options: dict[str, Any] = {"plugins": [Predicting], "walltime": "walltime/predicting", "passes": passes}
    assert column(run([(1, 0, 1, 10, limit), (2, 10, 1, 50, 90)], 2, **options), "planned")[2] == planned


def test_after_observers() -> None:
    calls: list[str] = []

    class Telling:
        name: ClassVar[str] = "walltime/telling"

        @hookimpl
        def walltime_learn(self, now: float) -> None:
            calls.append(f"learn at {now:g}")

        @hookimpl
        def job_ended(self, now: float) -> None:
            calls.append(f"end at {now:g}")

    run([(1, 0, 1, 3, 9), (2, 0, 1, 5, 9)], 2, plugins=[Telling], walltime="walltime/telling")
    assert calls == ["end at 3", "learn at 3", "end at 5", "learn at 5"]


def test_to_learn_alone_changes_nothing() -> None:
    assert logged(JOBS, 4, plugins=[Learning], walltime="walltime/learning")[1] == logged(JOBS, 4)[1]


@pytest.mark.parametrize("dispatch", ["resolved", "pluggy"])
def test_an_exception_names_the_job_and_the_time(dispatch: str) -> None:
    class Failing:
        name: ClassVar[str] = "walltime/failing"

        @hookimpl
        def walltime_learn(self, job: Job, ran: float) -> None:
            self.accuracy = ran / (job.id - 2)  # fails at job 2

    error = failing(JOBS, 4, plugins=[Failing], walltime="walltime/failing", dispatch=dispatch)
    assert error.message == "ZeroDivisionError: float division by zero"
    assert (error.plugin, error.hook, error.job, error.time) == ("walltime/failing", "walltime_learn", 2, 15.0)
    assert error.where == line_with("fails at job 2", test_an_exception_names_the_job_and_the_time)


# Last Model


def users(jobs: list[JobRow], of: dict[int, int], **options: Any) -> dict[int, float]:
    """What is planned for each job, if it belongs to a user; all jobs fit beside one another."""
    given = workload(jobs)
    given = Workload.from_columns({**given.columns(), "user": [of.get(job, -1) for job in given.id.tolist()]})
    result = simulate(given, processors=100, walltime="walltime/last_model", catalogue=Catalogue(), **options)
    return column(result, "planned")


SAME_USER: list[JobRow] = [
    (1, 0, 1, 50, 100),
    (2, 60, 1, 30, 40),
    (3, 61, 1, 9, 80),
    (4, 62, 1, 5, 10),
    (5, 95, 1, 1, 8),
]


def test_last_model_predicts_with_the_accuracy_of_the_users_last_job() -> None:
    planned = users(SAME_USER, {1: 7, 2: 7, 3: 7, 4: 8, 5: 7})
    # 1 used half; 4 is another user's; 2, which ended last before 95, used three quarters.
    assert planned == {1: 100, 2: 20, 3: 40, 4: 10, 5: 6}


def test_last_model_of_the_job_submitted_last_is_told_the_truth() -> None:
    options = {"plugin_options": {"walltime/last_model": {"last": "submitted"}}}
    # 2 used three quarters of its limit, and 3 is planned so although 2 still runs; 3 used 9 of 80.
    assert users(SAME_USER, {1: 7, 2: 7, 3: 7, 4: 8, 5: 7}, **options) == {1: 100, 2: 20, 3: 60, 4: 10, 5: 1}


def test_last_model_holds_jobs_without_a_user_for_those_of_one() -> None:
    assert users(SAME_USER, {3: 9}) == {1: 100, 2: 20, 3: 80, 4: 5, 5: 6}


def test_last_model_has_a_killed_job_for_accurate_and_plans_a_second_at_least() -> None:
    jobs: list[JobRow] = [(1, 0, 1, 500, 100), (2, 200, 1, 0, 10), (3, 300, 1, 9, 50), (4, 301, 1, 9, 0.5)]
    for kill_at_limit in (True, False):
        assert users(jobs, {}, kill_at_limit=kill_at_limit) == {1: 100, 2: 10, 3: 1, 4: 0.5}


NODES = """\
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PreemptMode=REQUEUE
NodeName=n[1-10] CPUs=1
PartitionName=p Nodes=ALL Default=YES
"""


@pytest.mark.parametrize("on", ["columns", "processors", "nodes"])
def test_last_model_plans_a_preempted_job_with_its_limit_at_once(on: str, tmp_path: Path) -> None:
    # 6 and 7 are preempted for 5 at 34, when 7 has outlived its prediction of 3: of what is idle then, 9 gets it.
    jobs: list[JobRow] = [
        *((1, 2, 2, 6, 60), (2, 2, 1, 1, 8), (3, 4, 3, 30, 30), (4, 4, 3, 4, 4), (5, 6, 8, 16, 16), (6, 8, 5, 30, 30)),
        *((7, 8, 2, 30, 30), (8, 9, 1, 15, 60), (9, 10, 2, 30, 30)),
    ]
    given = Workload.from_columns({**workload(jobs).columns(), "user": [1, 1, 0, 0, 0, 1, 1, 1, 1]})
    own = {"walltime/last_model": {"outlived": "limit"}}
    options: dict[str, Any] = {**VENTURE, "walltime": "walltime/last_model", "plugin_options": own}
    (tmp_path / "slurm.conf").write_text(NODES, encoding="utf-8")
    where: dict[str, Any] = {
        "columns": {"processors": 10},
        "processors": {"processors": 10, "out": tmp_path / "run"},  # With an event log plugins are called.
        "nodes": {"machine": tmp_path / "slurm.conf", "clock": "ideal"},  # Limits are whole minutes there.
    }
    result = simulate(given, catalogue=Catalogue(), **where[on], **options)
    runs = zip(result.records.runs["job_id"].tolist(), result.records.runs["start"].tolist(), strict=True)
    late = [] if on == "nodes" else [(9, 34)]
    assert sorted((job, start) for job, start in runs if job == 7 or (job, start) in late) == [(7, 8), (7, 50), *late]


def test_last_model_cannot_refresh_what_it_is_told() -> None:
    with pytest.raises(ConfigurationError, match="refresh=pass has nothing to learn with last=submitted"):
        users(SAME_USER, {}, plugin_options={"walltime/last_model": {"last": "submitted", "refresh": "pass"}})


# Chance


class Drawing:
    """Draws once for each job that is submitted."""

    name: ClassVar[str] = "walltime/drawing"

    def __init__(self, rng: np.random.Generator, least: float = 0.5) -> None:
        self._rng, self._least = rng, least
        self.drawn: list[float] = []

    @hookimpl
    def walltime_submit(self, view: WalltimeView) -> float:
        self.drawn.append(self._rng.uniform(self._least, 1))
        return view.job.time_limit * self.drawn[-1]


class Drawing2:
    """The same for the queue."""

    name: ClassVar[str] = "priority/drawing"

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self.drawn: list[float] = []

    @hookimpl
    def priority_set(self, view: PriorityView) -> list[float]:
        numbers = [self._rng.uniform(0.5, 1) for _ in view.to_set]
        self.drawn += numbers
        return numbers


MANY: list[JobRow] = [(job, job, 1 + job % 3, 3 + job % 7, 4 + job % 9) for job in range(40)]
DRAWING: dict[str, Any] = {"plugins": [Drawing, Drawing2], "walltime": "walltime/drawing"}


def drawn(plugin: str = "walltime/drawing", **options: Any) -> list[float]:
    numbers: list[float] = run(MANY, 3, **{**DRAWING, **options}).plugins[plugin].drawn
    return numbers


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others() -> None:
    logs = [logged(MANY, 3, seed=seed, **DRAWING)[1] for seed in (0, 0, 1)]
    assert logs[0] == logs[1] != logs[2]
    assert logs[0] == logged(MANY, 3, **DRAWING)[1]
    assert logs[0] == logged(MANY, 3, dispatch="pluggy", **DRAWING)[1]
    draws = [drawn(seed=seed) for seed in (3, 3, 4)]
    assert draws[0] == draws[1]
    assert not set(draws[1]) & set(draws[2])


def test_each_plugin_has_a_stream_of_its_own() -> None:
    alone = drawn()
    both = drawn(priority="priority/drawing")
    other = drawn("priority/drawing", priority="priority/drawing")
    assert alone == both
    assert not set(both) & set(other)


def test_a_generator_is_no_option() -> None:
    with pytest.raises(ConfigurationError, match="walltime/drawing has no option 'rng'; its options: least"):
        drawn(plugin_options={"walltime/drawing": {"rng": 3}})
    assert min(drawn(plugin_options={"walltime/drawing": {"least": 0.99}})) >= 0.99


def test_virtual_is_off_by_its_error_at_most() -> None:
    jobs = [(job, job, 1, 100.0, 1000) for job in range(300)]
    options: dict[str, Any] = {"walltime": "walltime/virtual"}
    off = np.array(list(column(run(jobs, 300, **options), "planned").values())) / 100 - 1
    assert abs(off).max() <= 0.1
    assert abs(off).max() > 0.095 and off.min() < -0.095
    # Evenly: half the error on average.
    assert abs(abs(off).mean() - 0.05) < 0.005


def test_virtual_without_an_error_is_the_truth_and_never_beyond_the_limit() -> None:
    jobs = [(1, 0, 1, 70, 90), (2, 0, 1, 0, 90), (3, 0, 1, 100, 90), (4, 0, 1, 0, 0.5)]
    options: dict[str, Any] = {"walltime": "walltime/virtual", "plugin_options": {"walltime/virtual": {"error": 0}}}
    assert column(run(jobs, 4, **options), "planned") == {1: 70, 2: 1, 3: 90, 4: 0.5}
    options["plugin_options"]["walltime/virtual"]["error"] = 50
    assert all(1 <= planned <= 90 for planned in list(column(run(jobs, 4, **options), "planned").values())[:3])


@pytest.mark.parametrize("error", [-0.1, float("nan"), float("inf")])
def test_virtual_refuses_an_error_that_cannot_be(error: float) -> None:
    with pytest.raises(ConfigurationError, match=r"walltime/virtual: error is .*; give 0 or more"):
        run(JOBS, 4, walltime="walltime/virtual", plugin_options={"walltime/virtual": {"error": error}})
