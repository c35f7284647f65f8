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
    pytest.mark.skipif(
        "SLURM_SIM_LIVE" not in os.environ or shutil.which("slurmctld") is None or os.geteuid() != 0,
        reason="needs Slurm, root, a machine that does nothing else, and SLURM_SIM_LIVE to say so",
    ),
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
    words = ["-N", str(nodes), "--exclusive", "-t10", "-o", "/dev/null", "--wrap", f"sleep {seconds}"]
    return ask("sbatch", "--parsable", *words).strip()


def wait_for(condition):
    until = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_scheduler_acts_is_killed_and_hands_back(slurm):
    state, record, printed = slurm / "live.json", slurm / "live.jsonl", slurm / "printed.txt"
    live = [sys.executable, "-c", "from emulator.cli import main; main()", "live"]
    words = [*live, "--scheduler", "sched/easy", "--apply", "--only", "partition=batch", "--state", str(state)]
    # What it prints goes into a file: to wait for a line of a pipe would have no end.
    with printed.open("w") as out:
        running = subprocess.Popen([*words, "--poll", "0.3", "--record", str(record)], stdout=out)
    try:
        wait_for(lambda: "decisions are carried out" in printed.read_text())
        first = submit(2, 200)  # It has the nodes until it is cancelled, however slow the machine is.
        wait_for(lambda: f"{first} runs on" in printed.read_text())
        second = submit(2, 1)
        wait_for(lambda: f"held: {second}" in printed.read_text())
        refused = subprocess.run(words, capture_output=True, text=True)
        assert "runs already" in refused.stderr
    finally:
        running.kill()
        running.wait()
    assert second in state.read_text()
    assert "1 held jobs are released" in ask(*live, "--hand-back", "--state", str(state))
    ask("scancel", first)
    wait_for(lambda: not ask("squeue", "-h"))
    assert not state.exists()
    log = read_site_log(record, malformed="drop")
    assert [job.label for job in log.jobs] == [first, second]
    assert "sched" in (slurm / "log" / "slurmctld.log").read_text()
