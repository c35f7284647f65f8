"""The command, with Slurm's commands as programs on PATH."""

from __future__ import annotations

import pytest
from builders.live_cluster import CONF, FakeSlurm
from click.testing import CliRunner

from emulator.cli import slurm_sim


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A cluster whose commands are on PATH."""
    fake = FakeSlurm(tmp_path / "cluster.json")
    fake.executables(tmp_path)
    (tmp_path / "slurm.conf").write_text(CONF)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("FAKE_SLURM", str(fake.path))
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    return fake


def live(*words):
    return CliRunner().invoke(slurm_sim, ["live", *map(str, words)])


PLUGIN = """
from slurm_sim_plugins import hookimpl


class Last:
    \"\"\"The last job first.\"\"\"

    name = "priority/last"

    @hookimpl
    def priority_set(self, view):
        return [float(job.id) for job in view.to_set]
"""


def test_a_plugin_file_takes_the_slot_of_its_type(site, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(PLUGIN)
    site.job("1")
    monkeypatch.chdir(tmp_path)
    done = live("mine.py", "--for", "0", "--record", tmp_path / "a.jsonl")
    assert done.exit_code == 0, done.output
    assert "fake, Slurm 22.05.8: 1 jobs, 4 nodes; shadow mode" in done.output
    assert "would give 1 the priority 1" in done.output
    assert '"event": "would"' in (tmp_path / "a.jsonl").read_text()
    assert site.written == []


def test_what_is_missing_is_told(site, tmp_path):
    assert "Name a plugin file" in live("--for", "0").output
    assert "KEY=VALUE" in str(live("--scheduler", "sched/easy", "--only", "x").exception)
    (tmp_path / "squeue").unlink()
    assert "squeue is not on PATH" in str(live("--scheduler", "sched/easy", "--for", "0").exception)
