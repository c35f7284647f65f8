"""On nodes of one CPU in one partition, under the ideal clock, a scheduler does what it does on counted processors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator import Workload, simulate
from emulator.config.options import Config
from emulator.config.slurm import SlurmConf, parse_slurm_conf
from emulator.config.slurm.flat import flat_cluster
from emulator.scheduling.counted_nodes import CountedNodes
from slurm_sim_plugins.manager import Catalogue
from tests.builders.jobs import workload
from tests.builders.one_cpu_nodes import CONF, rows

COLUMNS = ("job_id", "run", "start", "end", "outcome", "backfilled")
PV_EASY = ("sched/venture", "preempt/shadow_load")
POLICIES: list[tuple[tuple[str, ...], dict[str, dict[str, Any]]]] = [
    (("sched/fcfs",), {}),
    (("sched/easy",), {}),
    (("sched/easy",), {"sched/easy": {"reservation": "sticky"}}),
    (("sched/easy", "priority/sjf"), {}),
    (("sched/easy", "backfill/sjf"), {}),
    (("sched/conservative",), {}),
    (("sched/conservative", "priority/sjf"), {}),
    (PV_EASY, {}),
    ((*PV_EASY, "priority/sjf"), {}),
    (PV_EASY, {"sched/venture": {"restart": False}}),
    (PV_EASY, {"sched/venture": {"single_head": True}}),
    (PV_EASY, {"sched/venture": {"pin_regular": True}, "preempt/shadow_load": {"pin_regular": True}}),
]
REALTIME = ("sched/realtime", "preempt/realtime")
EARLY = {"narrow": 2, "short": 200.0, "narrow_short": 1.5, "narrow_long": 1.1, "wide_short": 2.0, "wide_long": 1.0}
POLICIES += [
    (REALTIME, {"sched/realtime": {"policy": policy, **EARLY}, "preempt/realtime": {"narrow": 2, "cost": cost}})
    for policy, cost in (*(("weighted", "weighted"), ("preemptive", "processors"), ("high_priority", "weighted")),)
]
POLICIES += [
    ((*REALTIME, "priority/sjf"), {"sched/realtime": {"meanwhile": "batch", "order": "queue", **EARLY}}),
    (REALTIME, {"sched/realtime": {"policy": "high_priority", "meanwhile": "batch"}}),
    (REALTIME, {"sched/realtime": {"backfill": "first_fit", **EARLY}}),
]
SLOTS = {
    "sched": "SchedulerType",
    "priority": "PriorityType",
    "preempt": "PreemptType",
    "backfill": "BackfillType",
}


def both(
    seed: int,
    names: tuple[str, ...],
    options: dict[str, Any],
    jobs: int = 40,
    passes: str = "batch",
    conf: Callable[[int], SlurmConf] = lambda processors: parse_slurm_conf(CONF.format(processors)),
) -> list[list[list[Any]]]:
    """The runs on counted processors and on nodes, as columns."""
    processors = int(np.random.default_rng(seed).choice([1, 3, 6, 12]))
    given = workload(rows(seed, processors, jobs))
    given = Workload.from_columns({**given.columns(), "realtime": [int(job % 4 == 0) for job in given.id]})
    slots = {SLOTS[name.partition("/")[0]]: name for name in names}
    catalogue = Catalogue()
    how = {"slots": slots, "plugin_options": options, "catalogue": catalogue, "passes": passes, "clock": "ideal"}
    flat, nodes = (simulate(given, machine, **how) for machine in (processors, conf(processors)))
    found = []
    for runs in (flat.records.runs, nodes.records.runs):
        # Of a real-time job that goes first it is not asked on nodes whether another waits for resources.
        columns = [list(runs[name]) for name in (COLUMNS[:-1] if "sched/realtime" in names else COLUMNS)]
        found.append([list(row) for row in sorted(zip(*columns, strict=True))])
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("names", "options"), POLICIES)
@settings(max_examples=12, deadline=None)
@given(passes=st.sampled_from(["batch", "event"]), seed=st.integers(0, 2**32))
def test_every_run_is_the_same(names: tuple[str, ...], options: dict[str, Any], passes: str, seed: int) -> None:
    if passes == "event" and options.get("sched/venture") == {"restart": False}:
        # Until the next pass it keeps who made room; on nodes a pass follows where counts say that it finds nothing.
        return
    flat, nodes = both(seed, names, options, passes=passes)
    assert flat == nodes


def test_no_pass_follows_the_planned_end_of_a_preempted_run() -> None:
    """It would come between an end at a limit and the other ends of that time, before their processors are free."""
    flat, nodes = both(8737605, PV_EASY, {"sched/venture": {"single_head": True}}, passes="event")
    assert flat == nodes


@pytest.mark.slow
@pytest.mark.parametrize("names", [("sched/fcfs",), ("sched/easy",), ("sched/easy", "priority/sjf")])
def test_one_node_that_has_all_cpus_is_counted_processors(names: tuple[str, ...]) -> None:
    for seed in range(20):
        flat, node = both(seed, names, {}, conf=lambda processors: flat_cluster(processors, Config())[0])
        assert flat == node


@pytest.mark.parametrize(("names", "options"), POLICIES)
def test_it_is_the_same_where_each_node_is_looked_at(
    names: tuple[str, ...], options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CountedNodes, "pools", lambda self: {})
    if {"preempt/shadow_load", "preempt/realtime"} & set(names):
        pytest.skip("on nodes those victims stay whose nodes are of no use")
    for seed in range(4):
        flat, nodes = both(seed, names, options)
        assert flat == nodes
