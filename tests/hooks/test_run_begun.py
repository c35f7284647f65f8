"""run_begun and run_ended: told of the beginning and the end of a run, on every machine and clock."""

from __future__ import annotations

from typing import Any

import pytest

from emulator import simulate
from emulator.config.slurm import parse_slurm_conf
from slurm_sim_plugins import PluginError, View, hookimpl
from slurm_sim_plugins.testing import call, cluster, job
from tests.builders.jobs import run, workload
from tests.builders.observers import JOBS, Listening

CONF = """ClusterName=t
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-4] CPUs=1
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE
"""


def test_told_once_each_on_processors() -> None:
    told = run(JOBS, 4, plugins=[Listening]).plugins["observer/listening"].told
    assert told == [("begun", 0, 4, 0, 0), ("ended", 20, 4, 0, 0)]


@pytest.mark.parametrize("clock", ["ideal", "slurm"])
def test_told_once_each_on_nodes(clock: str) -> None:
    done = simulate(workload(JOBS), parse_slurm_conf(CONF), clock=clock, plugins=[Listening])
    (begun, ended) = done.plugins["observer/listening"].told
    assert begun == ("begun", 0, 4, 0, 0)
    assert ended == ("ended", ended[1], 4, 0, 0)
    assert ended[1] >= done.jobs["end"].max()


@pytest.mark.parametrize(("hook", "time"), [("run_begun", 0.0), ("run_ended", 20.0)])
def test_what_it_raises_names_it(hook: str, time: float) -> None:
    def fails(self: Any, view: View) -> None:
        raise ValueError("no")

    plugin = type("Failing", (), {"name": "observer/failing", hook: hookimpl(fails)})
    with pytest.raises(PluginError, match="ValueError: no") as caught:
        run(JOBS, 4, plugins=[plugin])
    assert (caught.value.plugin, caught.value.hook, caught.value.time) == ("observer/failing", hook, time)


def test_in_a_unit_test() -> None:
    plugin, here = Listening(), cluster(4).waiting(job(2))
    assert call(plugin, "run_begun", here) is None
    assert call(plugin, "run_ended", here) is None
    assert [what for what, *_ in plugin.told] == ["begun", "ended"]
