"""What is promised to authors of plugins, in figures."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from emulator.testing import play
from slurm_sim_plugins.priority.sjf import Sjf
from slurm_sim_plugins.sched.easy import Easy
from slurm_sim_plugins.testing import call, cluster, job

HERE = cluster(10).running(job(6, limit=100), since=-20).waiting(*[job(1 + size % 4) for size in range(10)])
SCENE, SJF = HERE.scene(), Sjf()
MOST = 3000
"""So many calls of functions take less than a millisecond on a usual machine; they do not depend on its load."""


@pytest.mark.parametrize(
    "once",
    [lambda: call(SJF, "priority_set", SCENE), lambda: call(Sjf, "priority_set", HERE), lambda: play(Easy, HERE)],
    ids=["call", "call with a new scene", "play"],
)
def test_a_hook_call_costs_less_than_a_millisecond(once: Callable[[], object]) -> None:
    calls = 0

    def count(frame: FrameType, event: str, about: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    once()
    sys.setprofile(count)
    try:
        once()
    finally:
        sys.setprofile(None)
    assert 0 < calls < MOST
