"""What a player does while one of its commands goes on."""

from __future__ import annotations

import subprocess
import sys
import time
from itertools import pairwise

from emulator.record import player
from emulator.workload.scenario_reader import read_scenario

SCENARIO = """\
scenario: slow
note: one command takes its time
slurm_conf: |
  NodeName=n1 CPUs=1
  PartitionName=p Nodes=n1 Default=YES
jobs: []
actions:
- [0.1, scancel --signal=TERM 1]
- [0.2, scontrol hold 2]
"""
COMMANDS = {"scancel": "import time; time.sleep(2); print('tried again')", "scontrol": "print('at once')"}


class Commands:
    """In the place of daemons: ``scancel`` takes two seconds, no job is to be seen."""

    def begin(self, argv):
        return subprocess.Popen(
            [sys.executable, "-c", COMMANDS[argv[0]]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self, argv):
        return subprocess.CompletedProcess(argv, 0, "", "")

    def check(self):
        pass


def test_a_command_that_tries_again_holds_up_neither_looks_nor_the_next(tmp_path, monkeypatch):
    path = tmp_path / "slow.yaml"
    path.write_text(SCENARIO)
    monkeypatch.setattr(player, "grain", lambda slurm_conf: 0.01)
    monkeypatch.setattr(player, "LATE", 0.3)
    playing = player.Player(read_scenario(path), Commands())
    looks = []
    monkeypatch.setattr(playing.timeline, "look", lambda at, seen: looks.append(time.time()))
    playing.play(20.0)
    assert [(command, words) for _, command, words in playing.actions] == [
        ("scontrol hold 2", "at once"),
        ("scancel --signal=TERM 1", "tried again"),
    ]
    assert max(later - earlier for earlier, later in pairwise(looks)) < 1.5
