"""A real cluster of Dask on the loopback interface: scheduler and workers as separate processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from emulator.campaign.results import survey
from emulator.cli import slurm_sim
from slurm_sim_plugins import ConfigurationError

pytest.importorskip("distributed", reason="the extra dask is not installed")
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

STUDY = """
[campaign]
repetitions = 4
[workloads.model]
model = "lublin99"
jobs = 1500
processors = 64
load = [0.6, 0.9]
[policies]
EASY = ["sched/easy"]
conservative = ["sched/conservative"]
"""
RUNS = 16
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(Path(__file__).parents[3]),
    "DASK_DISTRIBUTED__WORKER__DAEMON": "False",
    "PYTHONWARNINGS": "ignore",
}


def start(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]],
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Address of the scheduler, and the workers' processes."""
    file = folder / "scheduler.json"
    scheduler = start(
        "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)
    )
    processes = [scheduler]
    try:
        until = time.monotonic() + 60
        while not file.exists() and time.monotonic() < until:
            time.sleep(0.05)
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(folder)]
        for _ in range(workers):
            processes.append(start("dask_worker", "--scheduler-file", str(file), "--host", "127.0.0.1", *options))
        yield json.loads(file.read_text())["address"], processes[1:]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(slurm_sim, ["campaign", *words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def data(folder: Path) -> dict[str, bytes]:
    return {file.parent.name: file.read_bytes() for file in folder.rglob("numbers.parquet")}


@pytest.fixture
def study(tmp_path: Path) -> Path:
    file = tmp_path / "study.toml"
    file.write_text(STUDY)
    return file


@pytest.mark.slow
def test_a_cluster_gives_the_same_bytes_though_a_worker_is_killed_in_mid_run(tmp_path: Path, study: Path) -> None:
    with cluster(tmp_path, 2) as (address, workers):
        command = [sys.executable, "-c", "from emulator.cli import main; main()", "campaign", "run", str(study)]
        campaign = subprocess.Popen([*command, "--dask", address], env=ENVIRONMENT, stdout=subprocess.PIPE)
        until = time.monotonic() + 120
        while len(data(tmp_path / "study")) < 2 and time.monotonic() < until:
            time.sleep(0.02)
        workers[0].send_signal(signal.SIGKILL)
        at_kill = len(data(tmp_path / "study"))
        out, _ = campaign.communicate(timeout=120)
    assert campaign.returncode == 0, out
    assert 2 <= at_kill < RUNS
    assert run("run", str(study), "--out", str(tmp_path / "here"), "--processes", "1")[0] == 0
    assert data(tmp_path / "study") == data(tmp_path / "here")
    assert len(data(tmp_path / "here")) == RUNS
    assert survey(tmp_path / "study").count("done") == RUNS


def test_a_scheduler_that_is_not_there_is_told(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulator.campaign.cluster.CONNECT_SECONDS", 0.5)
    with pytest.raises(ConfigurationError, match="no scheduler of Dask answers there"):
        run("run", str(study), "--dask", "tcp://127.0.0.1:9")


def test_the_job_script_of_a_worker_is_what_slurm_is_given() -> None:
    pytest.importorskip("dask_jobqueue")
    words = ["queue=long", "walltime=02:00:00", "account=physics", "memory=3GiB", "interface=lo"]
    words += [
        "job_extra_directives=--nodes=1",
        "job_extra_directives=--nice=5",
        "job_script_prologue=module load python",
    ]
    code, script = run(
        "run", "study.toml", "--slurm", "--print-job-script", *(w for word in words for w in ("--slurm-set", word))
    )
    assert code == 0
    lines = script.splitlines()
    assert lines[0].startswith("#!")
    for wanted in (
        "-p long",
        "-A physics",
        "-t 02:00:00",
        "-n 1",
        "--cpus-per-task=1",
        "--mem=3G",
        "--nodes=1",
        "--nice=5",
    ):
        assert f"#SBATCH {wanted}" in lines
    assert "module load python" in lines
    (command,) = [line for line in lines if "distributed.cli.dask_worker" in line]
    assert command.startswith(sys.executable) and "--nthreads 1" in command and "tcp://127.0.0.1:" in command


def test_options_that_dask_jobqueue_does_not_have_are_told() -> None:
    with pytest.raises(ConfigurationError, match="--slurm-set colour=red"):
        run("run", "study.toml", "--slurm", "--print-job-script", "--slurm-set", "colour=red")


def test_the_ways_to_make_runs_exclude_each_other(study: Path) -> None:
    for words in (["--dask", "x", "--slurm"], ["--processes", "2", "--slurm"], ["--slurm-set", "queue=x"]):
        code, output = run("run", str(study), *words)
        assert code == 2 and "--slurm" in output
    assert not (study.parent / "study").exists()
