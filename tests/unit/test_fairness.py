"""The fairness auditor, against simulations of the same jobs without the later ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator import simulate
from emulator.accounting.runfolder import read_run
from emulator.cli import slurm_sim
from emulator.fairness import Audit, audit
from slurm_sim_plugins import InputError, PendingView, hookimpl
from slurm_sim_plugins.manager import Catalogue, PluginInfo
from tests.builders.jobs import JobRow, run, starts, workload

A17 = [(1, 0, 3, 3, 3), (2, 0, 3, 1, 1), (3, 1, 1, 3, 3), (4, 1, 1, 1, 1)]
PV = {"scheduler": "sched/venture", "preempt": "preempt/shadow_load"}


def audited(jobs: list[JobRow], processors: int, folder: Path, **options: Any) -> Audit:
    simulate(workload(jobs), processors=processors, catalogue=Catalogue(), out=folder, **options)
    return audit(read_run(folder), processes=2)


def test_a_later_shorter_job_delays_one_that_is_not_head(tmp_path: Path) -> None:
    found = audited(A17, 4, tmp_path, **PV)
    assert found.job_id.tolist() == [1, 2, 3, 4]
    assert found.fair_start.tolist() == [0, 3, 1, 1]
    assert found.delay.tolist() == [0, 0, 1, 0]
    assert not found.head_delay.any()
    assert found.summary()["whole_delayed"] == 1
    assert found.summary()["whole_mean_delay"] == 1


def test_a_backfilled_job_that_outlives_its_prediction_delays_the_head(tmp_path: Path) -> None:
    jobs = [(1, 0, 3, 5, 5), (2, 0, 4, 3, 3), (5, 0, 2, 6, 8)]
    folder = tmp_path / "run"
    predicted = workload(jobs, {1: 5, 2: 3, 5: 4})
    simulate(predicted, processors=5, catalogue=Catalogue(), walltime="walltime/given", out=folder)
    found = audit(read_run(folder))
    assert found.head_delay.tolist() == [0, 1, 0]
    assert found.delay.tolist() == [0, 1, 0]
    assert found.summary()["head_delayed"] == found.summary()["whole_delayed"] == 1


@st.composite
def workloads(draw: st.DrawFn) -> list[JobRow]:
    count = draw(st.integers(1, 10))
    jobs = []
    for job in range(1, count + 1):
        limit = draw(st.integers(1, 12))
        ran = draw(st.integers(0, 14))
        jobs.append((job, draw(st.integers(0, 12)), draw(st.integers(1, 5)), ran, limit))
    return jobs


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scheduler": "sched/conservative"},
        {"scheduler": "sched/fcfs", "passes": "event"},
        {**PV, "walltime": "walltime/last_model"},
        {**PV, "preemption_mode": "SUSPEND"},
    ],
    ids=["easy", "conservative", "fcfs", "pv_easy", "vm_pv_easy"],
)
@settings(max_examples=15)
@given(jobs=workloads())
def test_the_fair_start_is_that_of_a_run_without_the_later_jobs(
    options: dict[str, Any], jobs: list[JobRow], tmp_path_factory: pytest.TempPathFactory
) -> None:
    from emulator.config.preemption import Preemption

    options = dict(options)
    if mode := options.pop("preemption_mode", None):
        options["preemption"] = Preemption(mode=mode, cost=1)
    found = audited(jobs, 5, tmp_path_factory.mktemp("run"), **options)
    ordered = sorted(jobs, key=lambda row: (row[1], row[0]))
    alone = [starts(run(ordered[: place + 1], 5, **options))[row[0]] for place, row in enumerate(ordered)]
    assert found.fair_start.tolist() == alone


def test_jobs_of_higher_priority_go_on_arriving(tmp_path: Path) -> None:
    jobs = [(1, 0, 2, 10, 10), (2, 1, 2, 9, 9), (3, 2, 2, 4, 4), (4, 3, 2, 12, 12)]
    found = audited(jobs, 2, tmp_path, priority="priority/sjf", scheduler="sched/fcfs")
    # The shorter job 3 is above job 2 and still comes before it; job 4 is below and would have come after it anyway.
    assert found.fair_start.tolist() == [0, 14, 10, 23]
    assert not found.delay.any()


def test_waiting_jobs_are_planned_without_the_later_jobs_too(tmp_path: Path) -> None:
    class Pending:
        name: ClassVar[str] = "walltime/pending"

        @hookimpl
        def walltime_pending(self, view: PendingView) -> list[float]:
            assert view.waiting
            return [5.0 if job.id == 3 else job.time_limit for job in view.waiting]

    known = Catalogue()
    known.add(PluginInfo.of(Pending))
    jobs = [(1, 0, 3, 10, 10), (2, 1, 4, 5, 100), (3, 2, 1, 5, 100)]
    simulate(workload(jobs), processors=4, catalogue=known, walltime="walltime/pending", out=tmp_path)
    assert audit(read_run(tmp_path), catalogue=known).fair_start.tolist() == [0, 10, 2]


@pytest.mark.slow
def test_a_sample_is_drawn_by_its_seed(tmp_path: Path) -> None:
    jobs = [(job, job, 1, 5, 5) for job in range(1, 40)]
    simulate(workload(jobs), processors=2, catalogue=Catalogue(), out=tmp_path)
    finished = read_run(tmp_path)
    some = audit(finished, sample=7, seed=1)
    assert len(some.job_id) == 7
    assert some.job_id.tolist() == audit(finished, sample=7, seed=1).job_id.tolist()
    assert some.job_id.tolist() != audit(finished, sample=7, seed=2).job_id.tolist()
    everything = audit(finished)
    chosen = np.isin(everything.job_id, some.job_id)
    assert everything.fair_start[chosen].tolist() == some.fair_start.tolist()
    assert some.summary()["jobs"] == 39


def test_a_run_that_broke_off_cannot_be_audited(tmp_path: Path) -> None:
    simulate(workload(A17), processors=4, catalogue=Catalogue(), out=tmp_path)
    about = tmp_path / "run.toml"
    about.write_text(about.read_text().replace('status = "finished"', 'status = "failed"'))
    with pytest.raises(InputError, match="only finished ones"):
        audit(read_run(tmp_path))


def test_records_that_the_run_does_not_give_are_told(tmp_path: Path) -> None:
    simulate(workload(A17), processors=4, catalogue=Catalogue(), out=tmp_path)
    about = tmp_path / "run.toml"
    about.write_text(about.read_text().replace("sched/easy", "sched/fcfs"))
    with pytest.raises(InputError, match="sched/fcfs has changed since"):
        audit(read_run(tmp_path))
    about.write_text(about.read_text().replace('passes = "batch"', 'passes = "other"'))
    with pytest.raises(Exception, match="passes is one of"):
        audit(read_run(tmp_path))


def test_the_command_prints_a_table_and_writes_each_job(tmp_path: Path) -> None:
    simulate(workload(A17), processors=4, catalogue=Catalogue(), out=tmp_path / "run", **PV)
    file = tmp_path / "jobs.csv"
    done = CliRunner().invoke(slurm_sim, ["fairness", str(tmp_path / "run"), "--jobs", str(file)])
    assert done.exit_code == 0, done.output
    assert "4 of 4" in done.output
    assert file.read_text().splitlines() == [
        "job_id,submit,start,head_delay,fair_start,delay",
        "1,0.0,0.0,0.0,0.0,0.0",
        "2,0.0,3.0,0.0,3.0,0.0",
        "3,1.0,2.0,0.0,1.0,1.0",
        "4,1.0,1.0,0.0,1.0,0.0",
    ]
    told = CliRunner().invoke(slurm_sim, ["fairness", str(tmp_path / "run"), "--json"])
    assert json.loads(told.output)["whole_delayed"] == 1
