"""Daemons that end while a scenario is played, and the database that they start with."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import PurePosixPath

import pytest

from emulator.record.conf import Site, Written
from emulator.record.daemons import Cluster, Root, empty_database, free_ports
from slurm_sim_plugins.errors import InputError


@pytest.mark.parametrize(("ends", "why"), [("os.kill(os.getpid(), 11)", r"crashed \(SIGSEGV\)"), ("exit(3)", "ended")])
def test_a_daemon_that_ended_is_told(ends, why):
    cluster = Cluster(Root(None), Site(PurePosixPath("/tmp/none"), 0, "root", "here", (22, 5)), Written({}, (), False))
    cluster.check()
    daemon = subprocess.Popen([sys.executable, "-c", f"import os; {ends}"])
    cluster._processes.append(daemon)
    daemon.wait()
    with pytest.raises(InputError, match=why):
        cluster.check()
    cluster.stop()


def test_databases_that_are_made_at_once_share_no_temporary_folder(tmp_path, monkeypatch):
    asked = []

    def run(words, **_):
        asked.append(words)
        return subprocess.CompletedProcess(words, 0)

    monkeypatch.setattr(subprocess, "run", run)
    folder = empty_database(Root(None), tmp_path)
    assert f"--tmpdir={folder}" in asked[0]


def test_ports_are_none_that_linux_gives_to_outgoing_connections():
    assert 1024 < free_ports(150) <= 32_768 - 150


def test_jobs_heed_signals_whatever_started_the_recorder() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # As under nohup.
    try:
        prepare = Root().enter(PurePosixPath("/"), bound=True)
        status = subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True, preexec_fn=prepare).stdout
    finally:
        signal.signal(signal.SIGHUP, before)
    ignored = int(next(line for line in status.splitlines() if line.startswith("SigIgn")).split()[1], 16)
    assert not ignored & (1 << (signal.SIGHUP - 1) | 1 << (signal.SIGINT - 1) | 1 << (signal.SIGQUIT - 1))
