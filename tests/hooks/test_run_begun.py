"""run_begun and run_ended: told of the beginning and the end of a run, on every machine and clock."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from emulator import simulate
from emulator.config.slurm import parse_slurm_conf
from slurm_sim_plugins import PluginError, View, hookimpl
from slurm_sim_plugins.testing import call, cluster, job
from tests.helpers import JobRow, run, workload

JOBS: list[JobRow] = [(1, 5, 3, 10, 60), (2, 6, 4, 5, 60)]
CONF = """ClusterName=t
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-4] CPUs=1
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE
"""


class Listening:
    name: ClassVar[str] = "observer/listening"

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def tell(self, what: str, view: View) -> None:
        self.told.append((what, view.now, view.total, len(view.queue), len(view.running)))

    @hookimpl
    def run_begun(self, view: View) -> None:
        self.tell("begun", view)

    @hookimpl
    def run_ended(self, view: View) -> None:
        self.tell("ended", view)


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
