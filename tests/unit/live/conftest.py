"""Slurm's commands, answered by a file."""

from __future__ import annotations

import pytest
from builders.live_cluster import CONF, FakeSlurm

from emulator.config.slurm import read_slurm_conf
from emulator.live.slurm import NoAnswerError, Slurm


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """A cluster whose commands are answered in this process."""
    cluster = FakeSlurm(tmp_path / "cluster.json")

    def run(self, words, given=None):
        code, output, errors = cluster.answer(list(words), given)
        if code:
            raise NoAnswerError(errors)
        return output

    monkeypatch.setattr(Slurm, "_run", run)
    return cluster


@pytest.fixture
def conf(tmp_path):
    path = tmp_path / "slurm.conf"
    path.write_text(CONF)
    return read_slurm_conf(path)
