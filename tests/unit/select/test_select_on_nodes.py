"""The SelectType slot on a cluster with nodes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import emulator.cli
from emulator.api import simulate
from emulator.config.slurm import parse_slurm_conf
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import ConfigurationError, PluginError, hookimpl
from slurm_sim_plugins.nodes import Allocation, NodeView
from slurm_sim_plugins.select.cons_tres import ConsTres, best_fit
from tests.builders.jobs import workload
from tests.builders.random_clusters import configuration, submission

CONF = """
ClusterName=c
SelectType={}
SelectTypeParameters=CR_CPU
NodeName=n[1-3] CPUs=4
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE
"""


class Copy(ConsTres):
    """As the bundled one, but not it: no compiled code answers for it."""

    name = "select/copy"


class WorstFit:
    """One node: the one with the most free units."""

    name = "select/worst_fit"
    machines = ("nodes",)

    @hookimpl
    def select_nodes(self, view: NodeView) -> Allocation | None:
        free = np.where(view.usable, view.free.units, -1)
        most = int(free.argmax())
        return Allocation((most,), (view.want.cpus,), (0,)) if free[most] >= view.want.cpus else None


def jobs(*words: str, count: int = 1, run: float = 100.0) -> list[JobRequest]:
    return [JobRequest(number + 1, float(number), run, parse_sbatch(words), "me") for number in range(count)]


def nodes_of(requests: list[JobRequest], select: str, *plugins: type) -> list[str]:
    done = simulate(requests, parse_slurm_conf(CONF.format(select)), plugins=plugins)
    return list(done.records.jobs["nodes"])


def test_slurms_own_are_plugins(capsys: pytest.CaptureFixture[str]) -> None:
    emulator.cli.slurm_sim(["plugins", "--json"], standalone_mode=False)
    names = json.loads(capsys.readouterr().out)
    assert {"select/cons_tres", "select/linear"} <= set(names)


def test_linear_gives_whole_nodes() -> None:
    assert nodes_of(jobs("-n1", "-t5", count=3), "select/linear") == ["n1", "n2", "n3"]
    assert nodes_of(jobs("-n1", "-t5", count=3), "select/cons_tres") == ["n1", "n1", "n1"]
    assert nodes_of(jobs("-n1", "-t5", count=3), "select/cons_res") == ["n1", "n1", "n1"]


@pytest.mark.parametrize(("words", "nodes"), [("-N3 --ntasks-per-node=1", "a1,a2,b1"), ("-N3", "b3,b4,b5")])
def test_linear_counts_a_node_with_the_cpus_of_the_tasks_that_it_may_have(words: str, nodes: str) -> None:
    """Of neighbours that fit as well the first are taken (asked of three versions)."""
    conf = parse_slurm_conf(
        "SelectType=select/linear\nNodeName=a[1-2] CPUs=4\nNodeName=b[1-5] CPUs=1\n"
        "PartitionName=p Nodes=ALL Default=YES\n"
    ).under("24.11")
    lines = ["-n1 -wb2 -t9", f"{words} -t5"]
    asked = [JobRequest(number, 5.0 * number, 100.0, parse_sbatch(line.split())) for number, line in enumerate(lines)]
    assert list(simulate(asked, conf).records.jobs["nodes"])[1].split(",") == nodes.split(",")


def test_a_users_plugin_chooses_the_nodes() -> None:
    assert nodes_of(jobs("-n1", "-t5", count=4), "select/worst_fit", WorstFit) == ["n1", "n2", "n3", "n1"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_copy_of_best_fit_gives_the_same_schedule(seed: int) -> None:
    draws = np.random.default_rng(seed)
    conf = parse_slurm_conf(configuration(draws))
    requests = [submission(number, draws) for number in range(1, 60)]
    both = [
        simulate(requests, conf, slots=slots, plugins=[Copy], compiled=compiled).records
        for slots, compiled in (({}, None), ({}, False), ({"SelectType": "select/copy"}, None))
    ]
    for other in both[1:]:
        for column in ("start", "end", "nodes", "state"):
            np.testing.assert_array_equal(both[0].jobs[column], other.jobs[column], column)


def answering(answer: Any) -> type:
    class Wrong:
        name = "select/wrong"
        machines = ("nodes",)

        @hookimpl
        def select_nodes(self, view: NodeView) -> Any:
            found = best_fit(view.want, view.machine, view.free, view.usable)
            return answer(found) if found is not None and view.free.jobs.any() else found

    return Wrong


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda found: 3, "it answered 3; answer an Allocation, or None"),
        (lambda found: replace(found, nodes=(7,)), "its nodes are \\[7\\]; answer indices"),
        (lambda found: replace(found, nodes=(1, 1)), "its nodes are \\[1, 1\\]; answer indices"),
        (lambda found: replace(found, units=(9,)), "node n1 has less than it gives out; take no more"),
        (lambda found: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_answers_that_cannot_be_are_refused(answer: Any, message: str) -> None:
    with pytest.raises(PluginError, match=message) as raised:
        nodes_of(jobs("-n1", "-t5", count=3), "select/wrong", answering(answer))
    assert "plugin select/wrong, hook select_nodes, time" in str(raised.value)


def test_a_node_that_is_not_usable_is_refused() -> None:
    conf = parse_slurm_conf(
        "SelectType=select/wrong\nNodeName=n[1-2] CPUs=4\nNodeName=n3 CPUs=4 State=DOWN\n"
        "PartitionName=p Nodes=ALL Default=YES\n"
    )
    wrong = answering(lambda found: replace(found, nodes=(2,)))
    with pytest.raises(PluginError, match="node n3 is not among"):
        simulate(jobs("-n1", "-t5", count=2), conf, plugins=[wrong])


def test_plugins_for_other_machines_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="select/cons_tres is for machines of nodes, and this one is of proc"):
        simulate(workload([(1, 0, 1, 10, 10)]), processors=4, select="select/cons_tres")
    with pytest.raises(ConfigurationError, match="select/blocks is for machines of processors, and this one is of nod"):
        simulate(jobs("-n1"), parse_slurm_conf(CONF.format("select/blocks")))
    with pytest.raises(ConfigurationError, match="select/none"):
        simulate(jobs("-n1"), parse_slurm_conf(CONF.format("select/none")))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Allocation((0,), (-1,), (0,)), "it gives out what is no whole number, or below 0"),
        (Allocation((0,), (1.5,), (0,)), "it gives out what is no whole number, or below 0"),  # type: ignore[arg-type]
        (Allocation((0, 1), (1,), (0,)), "it has 2 nodes; answer as many units, as much memory and as many resources"),
        (Allocation((0,), (3,), (0,)), r"it has 3 CPUs of 4 that are wanted \(view.want.cpus\)"),
        (Allocation((0,), (4,), (0,)), r"it has 1 nodes of 2 that are wanted \(view.want.min_nodes\)"),
        (Allocation((0, 1), (np.int64(2), np.int64(2)), (0, 0)), ""),
    ],
)
def test_an_answer_covers_what_is_wanted(answer: Allocation, words: str) -> None:
    class Always:
        name = "select/always"
        machines = ("nodes",)

        @hookimpl
        def select_nodes(self, view: NodeView) -> Allocation | None:
            return answer if view.usable.all() and (view.free.units >= 4).all() else None

    least = "-N2" if not words or "nodes of 2" in words else "-N1"
    if not words:
        assert nodes_of(jobs(least, "-n4"), "select/always", Always) == ["n1,n2"]
        return
    with pytest.raises(PluginError, match=words):
        nodes_of(jobs(least, "-n4"), "select/always", Always)
