"""HookRecorder: all calls of the hooks of a simulation, and their answers."""

from __future__ import annotations

from typing import Any

import pytest

from emulator import simulate
from emulator.config.slurm import parse_slurm_conf
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import MakeRoom, Reserve, Start
from slurm_sim_plugins.hookspecs import SPECS
from slurm_sim_plugins.testing import HookRecorder
from tests.builders.jobs import JobRow, logged, run

JOBS: list[JobRow] = [(1, 0, 3, 10, 20), (2, 1, 4, 5, 10), (3, 2, 1, 5, 5), (4, 2, 2, 5, 5)]
POLICY: dict[str, Any] = {
    "scheduler": "sched/venture",
    "preempt": "preempt/shadow_load",
    "priority": "priority/sjf",
    "backfill": "backfill/sjf",
    "walltime": "walltime/last_model",
}


def recorded(**options: Any) -> HookRecorder:
    plugins = run(JOBS, 4, plugins=[HookRecorder], **options).plugins
    recorder = plugins["observer/hook_recorder"]
    assert isinstance(recorder, HookRecorder)
    return recorder


def test_every_hook_is_recorded() -> None:
    hooks = {name for spec in SPECS.values() for name in vars(spec) if not name.startswith("_")}
    assert {name for name in vars(HookRecorder) if name in hooks} == hooks


def test_the_simulation_is_the_same() -> None:
    assert logged(JOBS, 4, plugins=[HookRecorder], **POLICY)[1] == logged(JOBS, 4, **POLICY)[1]
    assert logged(JOBS, 4, plugins=[HookRecorder])[1] == logged(JOBS, 4)[1]


def test_answers_are_kept_with_ids_in_the_place_of_jobs() -> None:
    recorder = recorded(**POLICY)
    assert [(each.time, each.about, each.answer) for each in recorder.of("priority_set")] == [
        (0, (1,), [-20]),
        (1, (2,), [-10]),
        (2, (3, 4), [-5, -5]),
    ]
    assert recorder.of("preempt_candidates")[0].answer == [1]
    assert [each.answer for each in recorder.of("walltime_submit")] == [20, 10, 5, 5]
    assert all(each.answer is None for each in recorder.of("job_ended"))


def test_candidates_in_their_new_order() -> None:
    jobs: list[JobRow] = [(1, 0, 2, 10, 20), (2, 1, 4, 5, 10), (3, 2, 1, 5, 9), (4, 2, 1, 5, 5)]
    calls = run(jobs, 4, plugins=[HookRecorder], backfill="backfill/sjf").plugins["observer/hook_recorder"]
    assert [(each.time, each.about, each.answer) for each in calls.of("backfill_candidates")] == [(2, (3, 4), [4, 3])]


def test_the_decisions_of_each_pass() -> None:
    passes = recorded(**POLICY).of("schedule")
    assert [each.about for each in passes[:3]] == [(1,), (2,), (3, 4, 1)]
    assert [type(each) for each in passes[0].answer] == [Start]
    assert [type(each) for each in passes[1].answer] == [MakeRoom, Start, MakeRoom, Reserve]


def test_calls_come_in_their_order() -> None:
    hooks = [each.hook for each in recorded()]
    assert hooks[:7] == [
        "run_begun",
        "walltime_submit",
        "priority_set",
        "job_submitted",
        "walltime_pending",
        "schedule",
        "job_started",
    ]
    assert hooks[-1] == "run_ended"
    assert len(recorded()) == len(hooks)


CLUSTER = """
ClusterName=c
NodeName=n[1-2] CPUs=4
PartitionName=p Nodes=ALL Default=YES
"""


@pytest.mark.parametrize("clock", ["ideal", "slurm"])
def test_on_a_cluster_with_nodes(clock: str) -> None:
    words = ("-N2 -t2", "-N1 -n4 -t5", "-N2 -n8 -t1")
    jobs = [JobRequest(number, float(number), 50.0, parse_sbatch(each.split())) for number, each in enumerate(words, 1)]
    conf = parse_slurm_conf(CLUSTER)
    policy: dict[str, Any] = {"scheduler": "sched/easy", "clock": clock}
    result = simulate(jobs, conf, plugins=[HookRecorder], **policy)
    recorder = result.plugins["observer/hook_recorder"]
    assert isinstance(recorder, HookRecorder)
    assert [each.about for each in recorder.of("priority_set")] == [(1,), (2,), (3,)]
    assert [each.time for each in recorder] == sorted(each.time for each in recorder)
    assert len(recorder.of("select_nodes")) >= 3
    plain = simulate(jobs, conf, **policy).records.jobs
    assert {name: list(column) for name, column in plain.items() if name in ("start", "end", "state")} == {
        name: list(result.records.jobs[name]) for name in ("start", "end", "state")
    }
