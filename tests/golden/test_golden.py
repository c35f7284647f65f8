"""The worked schedules: every start, every end, and the mean bounded slowdowns."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from emulator import Result
from emulator.config.preemption import Preemption
from slurm_sim_plugins import Plan, WalltimeView, hookimpl
from tests.builders.jobs import column, run, run_rows, times
from tests.builders.shared import GOLDEN

PV_EASY = {"scheduler": "sched/venture", "preempt": "preempt/shadow_load", "walltime": "walltime/given"}
POLICIES: dict[str, list[dict[str, Any]]] = {
    "fcfs": [{"scheduler": "sched/fcfs"}],
    "sjf": [{"scheduler": "sched/fcfs", "priority": "priority/sjf"}],
    "easy": [{"scheduler": "sched/easy"}],
    "sjf_easy": [{"scheduler": "sched/easy", "backfill": "backfill/sjf"}],
    "easy_last": [{"scheduler": "sched/easy", "walltime": "walltime/given"}],
    "conservative": [
        {"scheduler": "sched/conservative", "plugin_options": {"sched/conservative": {"compress": compress}}}
        for compress in ("rebuild", "never_later")
    ],
    "pv_easy": [PV_EASY],
    "cp_pv_easy": [PV_EASY],
    "vm_pv_easy": [PV_EASY],
}
"""What answers for each policy; where there are several, each must."""


def preemption(case: dict[str, Any]) -> Preemption:
    """What becomes of a run that is preempted."""
    if case["policy"] == "cp_pv_easy":
        return Preemption(mode="CHECKPOINT", interval=case["interval"], cost=case["cost"])
    if case["policy"] == "vm_pv_easy":
        return Preemption(mode="SUSPEND", slowdown=case["slowdown"], cost=case["cost"])
    return Preemption()


def adjustment(case: dict[str, Any]) -> dict[str, Any]:
    """The plugin that plans with the case's ``t_sched``; selective: not the planned ends of runs."""
    if "t_sched" not in case:
        return {}

    class Adjusted:
        name: ClassVar[str] = "walltime/adjusted"

        @hookimpl
        def walltime_submit(self, view: WalltimeView) -> float | Plan:
            seconds = float(case["t_sched"][view.job.id])
            return seconds if case["adjust"] == "regular" else Plan(seconds, seconds, view.job.time_limit)

    return {"walltime": "walltime/adjusted", "plugins": [Adjusted]}


def cases() -> list[Any]:
    if not GOLDEN.is_file():
        reason = f"no worked cases at {GOLDEN}; set SLURM_SIM_SHARED to the folder that holds spec/golden.yaml"
        return [pytest.param({}, {}, marks=pytest.mark.skip(reason=reason))]
    yaml = pytest.importorskip("yaml")
    found = []
    for case in yaml.safe_load(GOLDEN.read_text(encoding="utf-8"))["golden"]:
        for options in POLICIES[case["policy"]]:
            label = "-".join([case["id"], *options.get("plugin_options", {}).get("sched/conservative", {}).values()])
            found.append(pytest.param(case, options, id=label))
    return found


def all_runs(result: Result) -> dict[int, list[list[float]]]:
    """Start and end of every run of each job; all but the last were preempted."""
    runs: dict[int, list[list[float]]] = {}
    for job, _, start, end, outcome in run_rows(result):
        assert (outcome == "PREEMPTED") == (len(runs.get(job, [])) < column(result, "requeues")[job])
        runs.setdefault(job, []).append([start, end])
    return runs


@pytest.mark.parametrize("dispatch", ["resolved", "pluggy"])
@pytest.mark.parametrize(("case", "options"), cases())
def test_worked_case(case: dict[str, Any], options: dict[str, Any], dispatch: str) -> None:
    jobs = [(job, *row[:4]) for job, row in case["jobs"].items()]
    predicted = {job: row[4] for job, row in case["jobs"].items()}

    options = {"preemption": preemption(case), "dispatch": dispatch, **options, **adjustment(case)}
    result = run(jobs, case["procs"], predicted=predicted, **options)

    assert times(result) == {job: tuple(runs[-1]) for job, runs in case["runs"].items()}
    assert all_runs(result) == case["runs"]
    assert column(result, "requeues") == {job: case["kills"].get(job, 0) for job in case["jobs"]}

    from emulator.metrics.summary import summarise

    summary = summarise(result.records)
    assert summary["mbs"] == pytest.approx(case["mbs10"], abs=5e-7)
    assert summary["mwbs"] == pytest.approx(case["mwbs10"], abs=5e-7)
