"""Heterogeneous jobs in what is kept of a run, and in Slurm's commands about it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from emulator import simulate
from emulator.cli import slurm_sim
from emulator.config.slurm import parse_slurm_conf
from emulator.workload.events import read_events
from emulator.workload.sacct import read_sacct
from emulator.workload.submissions import Submissions

CONF = """
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-4] CPUs=4
PartitionName=p Nodes=ALL Default=YES MaxTime=2:00:00
"""
EVENTS = """
-dt 1 -e submit_batch_job | -sim-walltime 100 --uid=ann -J whole -n2 -t5 : -n1 -t9 job.sh
-dt 2 -e submit_batch_job | -sim-walltime 50 --uid=ann -J alone -n1 -t5 job.sh
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("het") / "run"
    events = folder.parent / "jobs.events"
    events.write_text(EVENTS)
    simulate(Submissions(read_events(events), epoch=1614592800), parse_slurm_conf(CONF), out=folder)
    return folder


def ask(command: str, folder: Path, *arguments: str) -> str:
    done = CliRunner().invoke(slurm_sim, [command, str(folder), *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_each_component_is_a_record_with_its_place(run: Path) -> None:
    import pyarrow.parquet as pq

    table = pq.read_table(run / "records.parquet").to_pydict()
    shown = list(zip(table["job_id"], table["het_job_id"], table["het_job_offset"], table["name"], strict=True))
    assert shown == [(1, 1, 0, "whole"), (2, 1, 1, "whole"), (3, -1, -1, "alone")]


def test_components_are_shown_by_number_and_place(run: Path) -> None:
    lines = ask("squeue", run, "--at", "40", "-h", "-o", "%i %A %F").splitlines()
    assert lines == ["1+0 1 1", "1+1 2 2", "3 3 3"]
    assert ask("squeue", run, "--at", "40", "-h", "-o", "%i", "-j", "1").splitlines() == ["1+0", "1+1"]
    jobs = json.loads(ask("squeue", run, "--at", "40", "--json"))["jobs"]
    assert [(one["het_job_id"], one["het_job_offset"]) for one in jobs] == [(1, 0), (1, 1), (0, None)]
    assert [line.split("|")[0] for line in ask("sacct", run, "-n", "-P").splitlines()] == ["1+0", "1+1", "3"]


def test_a_dump_of_the_run_makes_the_same_run(run: Path, tmp_path: Path) -> None:
    (tmp_path / "jobs.sacct").write_text(ask("sacct", run, "-P", "-o", "WORKLOAD"))
    log = read_sacct(tmp_path / "jobs.sacct")
    assert [(job.request.het_job_id, job.request.het_job_offset) for job in log.jobs] == [(1, 0), (1, 1), (None, 0)]
    again = simulate(Submissions(log.requests, epoch=log.epoch), parse_slurm_conf(CONF), out=tmp_path / "again")
    first, second, _ = again.records.jobs["first_start"]
    assert first == second
    assert ask("sacct", tmp_path / "again", "-P") == ask("sacct", run, "-P")
