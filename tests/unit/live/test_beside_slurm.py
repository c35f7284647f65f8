"""A real Slurm on the loopback interface, where one is installed."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path, PurePosixPath

import pytest

from emulator.record.conf import Site, write_conf
from emulator.record.daemons import Cluster, Root, free_ports, short
from emulator.workload.sites import read_site_log

CONF = """
SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0,sched_min_interval=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PriorityType=priority/basic
NodeName=n[1-2] CPUs=2 RealMemory=1000 State=UNKNOWN
PartitionName=batch Nodes=ALL Default=YES MaxTime=60
"""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("slurmctld") is None or os.geteuid() != 0, reason="needs Slurm, and root"),
]


@pytest.fixture
def slurm(monkeypatch):
    """A cluster of two nodes."""
    root = Root()
    with tempfile.TemporaryDirectory(prefix="slurm-sim-live-") as private:
        folder = Path(private)
        folder.chmod(0o755)
        host = socket.gethostname().partition(".")[0]
        site = Site(PurePosixPath(folder), free_ports(4), getpass.getuser(), host, short(root.version()))
        cluster = Cluster(root, site, write_conf(CONF, None, site))
        monkeypatch.setenv("SLURM_CONF", str(folder / "slurm.conf"))
        try:
            # No phase of the controller's clock matters here.
            cluster.start([], -time.time() % 60 - 0.5)
            yield folder
        finally:
            cluster.stop()


def ask(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def submit(nodes, seconds):
    words = ["-N", str(nodes), "--exclusive", "-t1", "-o", "/dev/null", "--wrap", f"sleep {seconds}"]
    return ask("sbatch", "--parsable", *words).strip()


def wait_for(condition):
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_scheduler_acts_is_killed_and_hands_back(slurm):
    state, record = slurm / "live.json", slurm / "live.jsonl"
    live = [sys.executable, "-c", "from emulator.cli import main; main()", "live"]
    words = [*live, "--scheduler", "sched/easy", "--apply", "--only", "partition=batch", "--state", str(state)]
    running = subprocess.Popen([*words, "--poll", "0.3", "--record", str(record)], stdout=subprocess.PIPE, text=True)
    try:
        assert "decisions are carried out" in running.stdout.readline()
        first = submit(2, 4)
        wait_for(lambda: f"{first} runs on" in running.stdout.readline())
        second = submit(2, 1)
        wait_for(lambda: f"held: {second}" in running.stdout.readline())
        refused = subprocess.run(words, capture_output=True, text=True)
        assert "runs already" in refused.stderr
    finally:
        running.kill()
        running.communicate()
    assert second in state.read_text()
    assert "1 held jobs are released" in ask(*live, "--hand-back", "--state", str(state))
    wait_for(lambda: not ask("squeue", "-h"))
    assert not state.exists()
    log = read_site_log(record, malformed="drop")
    assert [job.label for job in log.jobs] == [first, second]
    assert "sched" in (slurm / "log" / "slurmctld.log").read_text()
