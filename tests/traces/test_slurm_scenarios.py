"""The recorded scenarios of a real Slurm: each is read, and nothing in it is left out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from emulator.workload.scenario import NOT_SUBMITTED, Outcome, Scenario, Submission
from emulator.workload.scenario_reader import read_scenarios

yaml = pytest.importorskip("yaml")


@pytest.fixture(scope="module")
def folder(traces: Path) -> Path:
    """The recorded scenarios, beside the folder of logs."""
    places = [traces / "slurm-truth", traces.parent / "slurm-truth", traces.parent.parent / "slurm-truth"]
    named = os.environ.get("SLURM_SIM_SCENARIOS")
    for place in [Path(named)] if named else [place / "scenarios" for place in places]:
        if place.is_dir():
            return place
    pytest.skip("no recorded scenarios; set SLURM_SIM_SCENARIOS to the folder that holds them")


@pytest.fixture(scope="module")
def scenarios(folder: Path) -> dict[str, Scenario]:
    return {Path(scenario.source).name: scenario for scenario in read_scenarios(folder)}


def job_as_written(job: Submission) -> dict[str, Any]:
    written = {"name": job.name, "id": job.id, "submit": job.submit, "run": job.run, "sbatch": job.arguments}
    written |= {"user": job.user, "nodes": job.nodes, "partition": job.partition}
    written |= {"priority_requested": job.priority_requested}
    written |= {"ignores_term": job.ignores_term, "exit_code": job.exit_code}
    written = {name: value for name, value in written.items() if value not in (None, "") or name == "run"}
    return written | ({"time_limit": job.time_limit} if job.limit_stated else {})


def outcome_as_written(outcome: Outcome) -> dict[str, Any]:
    names = ("start", "end", "end_state", "nodes", "alloc", "partition")
    runs = [
        {
            name: value
            for name, value in [*((name, getattr(run, name)) for name in names), ("timelimit", run.time_limit)]
            if value not in (None, "")
        }
        for run in outcome.runs
    ]
    reasons = {"reasons": [list(reason) for reason in outcome.reasons]} if outcome.reasons is not None else {}
    return {"name": outcome.name, "state": outcome.state, "runs": runs} | reasons


def as_written(scenario: Scenario) -> dict[str, Any]:
    """A scenario as the plain data that its file must have held."""
    recorded = scenario.recorded
    told: dict[str, Any] = {
        "scenario": scenario.name,
        "note": scenario.note,
        "slurm_conf": scenario.slurm_conf,
        "gres_conf": scenario.gres_conf,
        "sacctmgr": scenario.accounting and [command.text for command in scenario.accounting],
        "jobs": [job_as_written(job) for job in scenario.submissions],
        "actions": scenario.actions
        and [
            [action.at, action.command.text] + ([action.output] if action.output is not None else [])
            for action in scenario.actions
        ],
        "sweep_phase": scenario.sweep_phase,
        "timeline": recorded.timeline
        and {
            job: [[each.at, dict(each.fields) or each.note] for each in seen] for job, seen in recorded.timeline.items()
        },
        "expected": recorded.expected
        and {job: outcome_as_written(outcome) for job, outcome in recorded.expected.items()},
        "rejected": recorded.rejected
        and [
            {"name": each.name, "at": each.at, "sbatch": list(each.arguments), "error": each.error}
            | ({"user": each.user} if each.user else {})
            for each in recorded.rejected
        ],
        "queries": recorded.queries
        and [{"at": each.at, "query": each.command, "out": each.output} for each in recorded.queries],
        "cluster_events": recorded.cluster_events and [list(each) for each in recorded.cluster_events],
    }
    return {name: value for name, value in told.items() if value is not None}


def test_all_scenarios_are_read_and_no_key_is_dropped(folder, scenarios):
    assert len(scenarios) == len(list(folder.glob("*.yaml"))) >= 110
    for name, scenario in scenarios.items():
        written = yaml.load(
            (folder / name).read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        )
        for job in written["jobs"]:
            if "sbatch" in job:
                job["sbatch"] = tuple(job["sbatch"])
        assert as_written(scenario) == written, name


def test_each_configuration_is_read_without_a_notice(scenarios):
    for name, scenario in scenarios.items():
        conf = scenario.configuration()
        assert conf.nodes, name
        assert conf.partitions, name
        assert not conf.notices, name


def test_what_arguments_ask_for_is_in_the_options(scenarios):
    """By a reader that looks for a few letters only."""
    counts = 0
    for scenario in scenarios.values():
        for job in scenario.submissions:
            for argument in job.arguments or ():
                if argument == NOT_SUBMITTED:
                    assert job.made
                elif argument[:2] == "-n":
                    assert job.options.tasks == int(argument[2:])
                elif argument[:2] == "-t" and argument[2:].isdigit():
                    assert job.options.time_limit == int(argument[2:]) * 60
                elif argument[:2] == "-N" and argument[2:].isdigit():
                    assert job.options.min_nodes == job.options.max_nodes == int(argument[2:])
                elif argument[:2] == "-p":
                    assert ",".join(job.options.partitions) == argument[2:]
                else:
                    continue
                counts += 1
    assert counts > 1000


def test_jobs_that_were_recorded_are_jobs_of_the_scenario(scenarios):
    for name, scenario in scenarios.items():
        ids = {str(job.id) for job in scenario.submissions}
        seen = {*(scenario.recorded.timeline or ()), *(scenario.recorded.expected or ())}
        assert {job for job in seen if job.isdigit()} <= ids, name
        for outcome in (scenario.recorded.expected or {}).values():
            assert all(run.end is None or run.end >= run.start for run in outcome.runs), name
