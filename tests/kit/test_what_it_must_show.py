"""What is promised to authors of plugins, in figures."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from emulator.testing import play
from slurm_sim_plugins.priority.sjf import Sjf
from slurm_sim_plugins.sched.easy import Easy
from slurm_sim_plugins.testing import call, cluster, job

CALLS = 300
HERE = cluster(10).running(job(6, limit=100), since=-20).waiting(*[job(1 + size % 4) for size in range(10)])
SCENE, SJF = HERE.scene(), Sjf()


@pytest.mark.parametrize(
    "once",
    [lambda: call(SJF, "priority_set", SCENE), lambda: call(Sjf, "priority_set", HERE), lambda: play(Easy, HERE)],
    ids=["call", "call with a new scene", "play"],
)
def test_a_hook_call_costs_less_than_a_millisecond(once: Callable[[], object]) -> None:
    once()
    before = os.times().user
    for _ in range(CALLS):
        once()
    assert (os.times().user - before) / CALLS < 0.001
