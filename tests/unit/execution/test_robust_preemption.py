"""Preemption and predictions: what goes wrong ends in words, and keeps what happened before."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from emulator import Config, Result, Workload, simulate
from emulator.accounting.runfolder import read_run
from emulator.config.preemption import Preemption
from emulator.testing.invariants import check_invariants
from slurm_sim_plugins import ConfigurationError, PluginError, hookimpl
from slurm_sim_plugins.manager import Catalogue
from tests.builders.jobs import JobRow, column, line_with, run_rows, workload

JOBS: list[JobRow] = [(1, 0, 3, 10, 12), (2, 1, 4, 5, 9), (3, 2, 1, 20, 30), (4, 25, 1, 1, 2)]
"""On four processors, 3 ventures ahead of 2, and has to make room for it when 1 has ended."""
VENTURE: dict[str, Any] = {"scheduler": "sched/venture", "preempt": "preempt/shadow_load"}


def sim(
    jobs: list[JobRow] = JOBS, processors: int = 4, requeue: dict[int, int] | None = None, **options: Any
) -> Result:
    given = workload(jobs)
    if requeue is not None:
        given = Workload.from_columns({**given.columns(), "requeue": [requeue.get(id, -1) for id in given.id.tolist()]})
    result = simulate(given, processors=processors, catalogue=Catalogue(), **{**VENTURE, **options})
    check_invariants(result, given)
    return result


def failing(**options: Any) -> PluginError:
    with pytest.raises(PluginError) as caught:
        sim(**options)
    assert caught.value.exit_code == 4
    assert "\n" not in str(caught.value)
    return caught.value


def predictor(answer: Callable[[Any], Any], hook: str) -> dict[str, Any]:
    class Mine:
        name: ClassVar[str] = "walltime/mine"

    setattr(Mine, hook, hookimpl(lambda self, view: answer(view)))
    return {"plugins": [Mine], "walltime": "walltime/mine"}


def preemptor(answer: Callable[[Any], Any]) -> dict[str, Any]:
    class Mine:
        name: ClassVar[str] = "preempt/mine"

        @hookimpl
        def preempt_candidates(self, view: Any) -> Any:
            return answer(view)  # the candidates

    return {"plugins": [Mine], "preempt": "preempt/mine"}


def ventured(view: Any) -> list[Any]:
    return [run for run in view.running if run.job.backfilled]


# Predictors


SECONDS = [math.nan, -1, 0, 2.5, math.inf, "2"]


@pytest.mark.parametrize("seconds", SECONDS)
def test_a_prediction_that_cannot_be_keeps_what_was_logged(tmp_path: Path, seconds: Any) -> None:
    options = predictor(lambda view: seconds if view.job.id == 4 else None, "walltime_submit")
    error = failing(out=tmp_path, **options)
    assert f"answered {seconds!r}; a planned time is more than 0 s and at most the limit of 2 s" in error.message
    assert (error.plugin, error.hook, error.job, error.time) == ("walltime/mine", "walltime_submit", 4, 25.0)
    kept(tmp_path, error, [(15, "start", 3)])


@pytest.mark.parametrize("seconds", SECONDS)
def test_a_new_prediction_that_cannot_be_keeps_what_was_logged(tmp_path: Path, seconds: Any) -> None:
    def answer(view: Any) -> Any:
        return [seconds if job.id == 4 else job.time_limit for job in view.waiting] if view.now == 25 else None

    error = failing(out=tmp_path, **predictor(answer, "walltime_pending"))
    assert f"answered {seconds!r}; a planned time is more than 0 s and at most the limit of 2 s" in error.message
    assert (error.plugin, error.hook, error.job, error.time) == ("walltime/mine", "walltime_pending", 4, 25.0)
    kept(tmp_path, error, [(15, "start", 3), (25, "submit", 4)])


def kept(folder: Path, error: PluginError, last: list[tuple[float, str, int]]) -> None:
    """The folder tells what happened until then."""
    read = read_run(folder)
    assert (read.about["run"]["status"], read.about["run"]["error"]) == ("failed", str(error))
    assert read.records.jobs["state"].tolist()[:3] == ["COMPLETED", "COMPLETED", "RUNNING"]
    assert read.records.runs["outcome"].tolist() == ["COMPLETED", "PREEMPTED", "COMPLETED", "RUNNING"]
    lines = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    assert [(line["time"], line["event"], line["job"]) for line in lines][-len(last) :] == last


def test_a_prediction_of_next_to_nothing_is_one() -> None:
    sim(**predictor(lambda view: 1e-300, "walltime_submit"))
    for expired in ("limit", "now", "tsafrir"):
        sim(expired=expired, kill_at_limit=False, **predictor(lambda view: 1e-300, "walltime_submit"))


def test_a_predictor_that_fails_while_it_learns_keeps_what_was_logged(tmp_path: Path) -> None:
    class Mine:
        name: ClassVar[str] = "walltime/mine"

        @hookimpl
        def walltime_learn(self, job: Any, ran: float) -> None:
            raise KeyError(job.id)  # learning fails

    error = failing(plugins=[Mine], walltime="walltime/mine", out=tmp_path)
    assert (error.plugin, error.hook, error.job, error.time) == ("walltime/mine", "walltime_learn", 1, 10.0)
    assert error.where == line_with("learning fails", failing)
    read = read_run(tmp_path)
    assert read.records.jobs["state"].tolist() == ["COMPLETED", "PENDING", "RUNNING", "FUTURE"]
    assert json.loads((tmp_path / "events.jsonl").read_text().splitlines()[-1])["event"] == "end"


# Jobs that may not be requeued


@pytest.mark.parametrize("mode", ["REQUEUE", "CHECKPOINT", "SUSPEND"])
def test_a_job_that_may_not_be_requeued_is_not_preempted(tmp_path: Path, mode: Any) -> None:
    options = preemptor(ventured)
    error = failing(requeue={3: 0}, preemption=Preemption(mode=mode), out=tmp_path, **options)
    assert (
        "named the run of job 3, which may not be requeued; leave out jobs whose may_requeue is False" in error.message
    )
    now = 10.5 if mode == "SUSPEND" else 10.0
    assert (error.plugin, error.hook, error.job, error.time) == ("preempt/mine", "preempt_candidates", 2, now)
    read = read_run(tmp_path)
    assert read.records.jobs["state"].tolist() == ["COMPLETED", "PENDING", "RUNNING", "FUTURE"]
    assert read.records.jobs["requeues"].tolist() == [0] * 4
    last = json.loads((tmp_path / "events.jsonl").read_text().splitlines()[-1])
    assert last == {"time": now, "event": "end", "job": 1, "state": "COMPLETED"}


@pytest.mark.parametrize("requeue", [{}, {3: 1}, {3: -1, 2: 0}])
def test_others_may_be(requeue: dict[int, int]) -> None:
    result = sim(requeue=requeue, **preemptor(ventured))
    assert column(result, "requeues")[3] == 1


@pytest.mark.parametrize("trim", [False, True])
def test_shadow_load_spares_them(trim: bool) -> None:
    options: dict[str, Any] = {"plugin_options": {"preempt/shadow_load": {"trim": trim}}}
    assert column(sim(requeue={3: 0}, **options), "requeues") == {1: 0, 2: 0, 3: 0, 4: 0}
    # Two are needed: 5, the last, and 4. Without 4 the head waits until 3 or 4 has ended.
    jobs = [(1, 0, 2, 10, 12), (2, 1, 4, 5, 9), (3, 2, 1, 20, 30), (4, 3, 1, 20, 30), (5, 4, 1, 20, 30)]
    assert column(sim(jobs, 5, requeue={3: 0}, **options), "requeues") == {1: 0, 2: 0, 3: 0, 4: 1, 5: 1}
    bound = sim(jobs, 5, requeue={3: 0, 4: 0}, **options)
    assert column(bound, "requeues") == {1: 0, 2: 0, 3: 0, 4: 0, 5: 1}
    assert column(bound, "start")[2] == 22


def test_the_head_is_planned_to_start_when_they_have_ended() -> None:
    # The head waits for 3 until 32, so that 5 is planned to end in time, and goes before 4, which is not.
    jobs = [(1, 0, 2, 10, 12), (2, 1, 4, 5, 9), (3, 2, 1, 20, 30), (4, 3, 1, 1, 30), (5, 3, 1, 1, 29)]
    assert column(sim(jobs, 4, requeue={3: 0}), "first_reserved")[2] == 12
    assert column(sim(jobs, 4, requeue={3: 0}), "reserved")[2] == 32
    assert column(sim(jobs, 4), "reserved")[2] == 12
    assert {job: start for job, _, start, *_ in run_rows(sim(jobs, 4, requeue={3: 0}))}[2] == 22


# Options of the modes


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mode": "CANCEL"}, "preemption.mode is one of REQUEUE, CHECKPOINT, SUSPEND, not 'CANCEL'"),
        ({"mode": "requeue"}, "preemption.mode is one of REQUEUE, CHECKPOINT, SUSPEND, not 'requeue'"),
        ({"mode": None}, "preemption.mode is one of REQUEUE, CHECKPOINT, SUSPEND, not None"),
        ({"mode": ["SUSPEND"]}, "preemption.mode is one of REQUEUE, CHECKPOINT, SUSPEND, not ['SUSPEND']"),
        ({"checkpoint": "often"}, "preemption.checkpoint is one of interval, share, jit, not 'often'"),
        ({"interval": 0}, "preemption.interval is 0; give a finite number, at least 0.000001"),
        ({"interval": -5}, "preemption.interval is -5; give a finite number, at least 0.000001"),
        ({"interval": 1e-7}, "preemption.interval is 1e-07; give a finite number, at least 0.000001"),
        ({"interval": math.inf}, "preemption.interval is inf; give a finite number"),
        ({"interval": math.nan}, "preemption.interval is nan; give a finite number"),
        ({"interval": "1h"}, "preemption.interval is '1h'; give a finite number"),
        ({"interval": None}, "preemption.interval is None; give a finite number"),
        ({"interval": True}, "preemption.interval is True; give a finite number"),
        ({"interval": [60]}, "preemption.interval is [60]; give a finite number"),
        ({"cost": -1}, "preemption.cost is -1; give a finite number, 0 or more"),
        ({"cost": math.inf}, "preemption.cost is inf; give a finite number, 0 or more"),
        ({"restart_cost": -0.5}, "preemption.restart_cost is -0.5; give a finite number, 0 or more"),
        ({"slowdown": -0.05}, "preemption.slowdown is -0.05; give a finite number, 0 or more"),
        ({"slowdown": math.nan}, "preemption.slowdown is nan; give a finite number, 0 or more"),
        ({"share": 0}, "preemption.share is 0; give a finite number, more than 0 and at most 1"),
        ({"share": 1.01}, "preemption.share is 1.01; give a finite number, more than 0 and at most 1"),
        ({"share": 10}, "preemption.share is 10; give a finite number, more than 0 and at most 1"),
        ({"share": math.nan}, "preemption.share is nan; give a finite number, more than 0 and at most 1"),
        ({"gb_per_processor": -16}, "preemption.gb_per_processor is -16; give a finite number, 0 or more"),
        ({"gb_per_second": 0}, "preemption.gb_per_second is 0; give a finite number, more than 0"),
        ({"gb_per_second_per_processor": 0}, "preemption.gb_per_second_per_processor is 0; give a finite number"),
    ],
)
def test_options_that_cannot_be_are_refused_in_every_mode(options: dict[str, Any], words: str) -> None:
    for mode in ("REQUEUE", "CHECKPOINT", "SUSPEND"):
        with pytest.raises(ConfigurationError) as caught:
            Preemption(**{"mode": mode, **options})
        assert words in str(caught.value)
        assert caught.value.exit_code == 2


def test_checkpoints_may_not_take_longer_than_what_they_save() -> None:
    with pytest.raises(ConfigurationError, match=r"cost of 61 s is more than the interval of 60 s: .* longer interval"):
        Preemption(mode="CHECKPOINT", interval=60, cost=61)
    Preemption(mode="CHECKPOINT", interval=60, cost=60)
    # Where the interval, or the cost, is not used, they may.
    Preemption(mode="SUSPEND", interval=60, cost=61)
    Preemption(mode="CHECKPOINT", checkpoint="jit", interval=60, cost=61)
    Preemption(mode="CHECKPOINT", interval=30, gb_per_processor=16)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"preemption": "SUSPEND"}, "preemption is 'SUSPEND'; give a Preemption, from emulator.config.preemption"),
        ({"preemption": {"mode": "SUSPEND"}}, "preemption is {'mode': 'SUSPEND'}; give a Preemption"),
        ({"preemption": None}, "preemption is None; give a Preemption"),
        ({"expired": "never"}, "expired is one of limit, now, tsafrir"),
        ({"expired": None}, "expired is one of limit, now, tsafrir"),
        ({"seed": -1}, "seed is -1; give a whole number, 0 or more"),
        ({"seed": 1.5}, "seed is 1.5; give a whole number, 0 or more"),
        ({"seed": "3"}, "seed is '3'; give a whole number, 0 or more"),
        ({"seed": True}, "seed is True; give a whole number, 0 or more"),
        ({"seed": None}, "seed is None; give a whole number, 0 or more"),
    ],
)
def test_options_of_the_simulation_that_cannot_be_are_refused(options: dict[str, Any], words: str) -> None:
    for attempt in (lambda: Config(**options), lambda: sim(**options)):
        with pytest.raises(ConfigurationError) as caught:
            attempt()
        assert words in str(caught.value)


def test_the_largest_seed_and_the_smallest_options_are_accepted() -> None:
    sim(seed=2**200, walltime="walltime/virtual")
    for preemption in (
        Preemption(mode="CHECKPOINT", interval=1e-6, cost=0),
        Preemption(mode="CHECKPOINT", interval=1e-6, cost=1e-6),
        Preemption(mode="CHECKPOINT", checkpoint="share", share=1e-300, cost=1e-300, gb_per_processor=1e-300),
        Preemption(mode="CHECKPOINT", checkpoint="share", share=1, cost=1e-7),
        Preemption(mode="CHECKPOINT", checkpoint="share", cost=0),
        Preemption(mode="SUSPEND", slowdown=0, cost=0),
        Preemption(mode="SUSPEND", slowdown=1e-300, cost=1e-300),
    ):
        sim(preemption=preemption)


def test_the_largest_costs_and_limits_are_held() -> None:
    jobs: list[JobRow] = [(1, 0, 3, 10, 2**31), (2, 1, 4, 5, 2**31), (3, 2, 1, 2**20, 2**31)]
    for preemption in (
        Preemption(mode="CHECKPOINT", interval=2**31, cost=2**31, restart_cost=2**31),
        Preemption(mode="CHECKPOINT", checkpoint="jit", cost=2**31, restart_cost=2**31),
        Preemption(mode="SUSPEND", slowdown=1000, cost=2**31),
    ):
        sim(jobs, preemption=preemption, passes="event")
