"""What the real cluster did, as records; and a page of both."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from emulator.cli import slurm_sim
from emulator.config.slurm import parse_slurm_conf
from emulator.metrics.machine import jobs_waiting, processors_in_use
from emulator.metrics.summary import summarise
from emulator.replay.emulate import emulate
from emulator.replay.real import real_about, real_records
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from emulator.workload.sitelog import Happened, LoggedJob, LoggedRun, SiteLog

CONF = """
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-2] CPUs=2
PartitionName=p Nodes=ALL Default=YES
"""
DUMP = """JobID|User|Account|Partition|Submit|Start|End|Elapsed|State|AllocCPUS|NodeList|Timelimit|ReqCPUS|ReqNodes
1|ann|a|p|2021-03-01T10:00:00|2021-03-01T10:00:05|2021-03-01T10:10:05|00:10:00|COMPLETED|4|n[1-2]|00:20:00|4|2
2|bob|a|p|2021-03-01T10:00:10|2021-03-01T10:12:00|2021-03-01T10:13:00|00:01:00|COMPLETED|1|n1|00:20:00|1|1
"""


def logged(number: int, submit: float, *runs: LoggedRun, words: str = "-n2") -> LoggedJob:
    request = JobRequest(number, submit, 100, parse_sbatch(["-t10", words]), "ann")
    return LoggedJob(str(number), request, None, Happened("COMPLETED" if runs else "PENDING", submit, runs), number)


def ran(start: float, seconds: float, nodes: str = "n1", cpus: int = 2) -> LoggedRun:
    return LoggedRun(start, start + seconds, seconds, "COMPLETED", nodes, cpus, "p")


def test_starts_ends_and_waits_are_those_of_the_log() -> None:
    jobs = (logged(1, 0, ran(5, 100)), logged(2, 10, ran(20, 30), ran(200, 100, "n[1-2]", 3)), logged(3, 20))
    log = SiteLog("log", "log.sacct", jobs, 0, 3, 0, (), (), "")
    emulated = emulate(log, parse_slurm_conf(CONF))
    real = real_records(log, emulated.records)
    assert real.jobs["job_id"].tolist() == [1, 2, 3]
    np.testing.assert_array_equal(real.jobs["start"], [5, 200, math.nan])
    np.testing.assert_array_equal(real.jobs["first_start"], [5, 20, math.nan])
    assert real.jobs["requeues"].tolist() == [0, 1, 0]
    assert real.jobs["occupied"].tolist() == [100, 130, 0]
    assert real.runs["job_id"].tolist() == [1, 2, 2]
    assert real.runs["outcome"].tolist() == ["COMPLETED", "PREEMPTED", "COMPLETED"]
    assert real.runs["cpus"].tolist() == ["2", "2", "2,1"]
    assert max(processors_in_use(real)[1]) == 4
    assert jobs_waiting(real)[1].tolist()[-1] == 1
    # (105 - 0 - 100) and (300 - 10 - 100)
    assert summarise(real)["mean_wait"] == (5 + 190) / 2
    assert real_about(emulated.about)["run"]["label"] == "real"


def test_a_replay_writes_a_page_of_both(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "log.sacct").write_text(DUMP)
    page = tmp_path / "page.html"
    arguments = ["replay", str(tmp_path / "log.sacct"), "--slurm-conf", str(tmp_path / "slurm.conf")]
    done = CliRunner().invoke(slurm_sim, [*arguments, "--report", str(page), "--out", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    assert "2 policies on log" in page.read_text(encoding="utf-8")
