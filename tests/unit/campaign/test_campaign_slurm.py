"""Workers that Dask starts as jobs of a real Slurm: slurmctld and slurmd on the loopback interface."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("dask_jobqueue", reason="the extra dask is not installed")
PROGRAMS = ("slurmctld", "slurmd", "sbatch", "scancel", "sinfo")
pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, PROGRAMS)) or not hasattr(os, "geteuid") or os.geteuid() != 0,
    reason="needs Debian's slurmctld, slurmd and slurm-client, and to be root",
)

CONF = """
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0
ReturnToService=2
KillWait=2
PropagateResourceLimits=NONE
SlurmctldPort={port}
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/slurmctld.log
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdSpoolDir={folder}/spool
SlurmdPidFile={folder}/slurmd.pid
SlurmdLogFile={folder}/slurmd.log
SlurmdParameters=config_overrides
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={node_port} CPUs=2 RealMemory=100000 State=UNKNOWN
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
STUDY = """
[campaign]
repetitions = 3
[workloads.model]
model = "lublin99"
jobs = 300
processors = 64
[policies]
EASY = ["sched/easy"]
FCFS = ["sched/fcfs"]
"""


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@pytest.fixture
def slurm(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment in which Slurm's commands find this cluster."""
    folder = tmp_path / "slurm"
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    port, node_port = free_ports(2)
    host = socket.gethostname().partition(".")[0]
    conf = folder / "slurm.conf"
    conf.write_text(CONF.format(host=host, port=port, node_port=node_port, folder=folder))
    root = str(Path(__file__).parents[3])
    environment = {**os.environ, "SLURM_CONF": str(conf), "PYTHONPATH": root, "PYTHONWARNINGS": "ignore"}
    programs = (["slurmctld", "-D", "-i", "-f", str(conf)], ["slurmd", "-D", "-c", "-N", "n1", "-f", str(conf)])
    daemons = [
        subprocess.Popen(
            program,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for program in programs
    ]
    try:
        until = time.monotonic() + 30
        while _sinfo(environment) != "idle":
            if time.monotonic() > until or any(daemon.poll() is not None for daemon in daemons):
                pytest.skip(f"Slurm does not start here: {_last_lines(folder)}")
            time.sleep(0.2)
        yield environment
    finally:
        subprocess.run(["scancel", "-s", "KILL", "--user=root"], env=environment, timeout=20, check=False)
        for daemon in daemons:
            daemon.send_signal(signal.SIGTERM)
        for daemon in daemons:
            try:
                daemon.wait(timeout=20)
            except subprocess.TimeoutExpired:
                daemon.kill()


def _sinfo(environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["sinfo", "-h", "-N", "-o", "%t"], env=environment, capture_output=True, text=True, timeout=20, check=False
    )
    return done.stdout.strip()


def _last_lines(folder: Path) -> str:
    return " | ".join(file.read_text()[-300:] for file in folder.glob("*.log"))


def data(folder: Path) -> dict[str, bytes]:
    return {file.parent.name: file.read_bytes() for file in folder.rglob("numbers.parquet")}


@pytest.mark.slow
def test_workers_are_jobs_of_slurm_and_give_the_same_bytes(slurm: dict[str, str], tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    command = [sys.executable, "-c", "from emulator.cli import main; main()", "campaign", "run", str(study)]
    on_slurm = ["--slurm", "--workers", "2", "--slurm-set", "interface=lo", "--slurm-set", "memory=1GiB"]
    on_slurm += ["--slurm-set", "walltime=00:10:00", "--slurm-set", f"local_directory={tmp_path}"]
    done = subprocess.run(
        [*command, *on_slurm], env=slurm, cwd=tmp_path, capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    assert "6 runs: 6 done" in done.stdout
    here = [*command, "--processes", "1", "--out", str(tmp_path / "here")]
    subprocess.run(here, env=slurm, check=True, capture_output=True, timeout=180)
    assert data(tmp_path / "study") == data(tmp_path / "here")
    assert len(list(tmp_path.glob("slurm-*.out"))) == 2
