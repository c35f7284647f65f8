"""bf_topopt: whether backfill delays a job for a better place."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.api import simulate
from emulator.config.slurm import parse_slurm_conf
from emulator.testing import call
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import ConfigurationError, PluginError, hookimpl
from slurm_sim_plugins.backfill.compact import Compact
from slurm_sim_plugins.testing import cluster, job
from tests.builders.jobs import run

CONF = """
ClusterName=six
PriorityType=priority/basic
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-6] CPUs=1
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE
SchedulerParameters=sched_interval=-1,bf_interval=10,bf_resolution=1,{}
"""
SCATTERED = [(1, 0, 100, "-wn1 -t2"), (2, 0, 50, "-wn3 -t1"), (3, 0, 900, "-wn5 -t15"), (4, 20, 60, "-N2 -t1")]
"""Free are n2, n4, n6 until job 2 leaves n3."""
Topopt = Callable[[Any], Any]


def simulated(rows: list[tuple[int, float, float, str]], words: str = "bf_topopt_enable", **options: Any) -> Any:
    requests = [JobRequest(number, at, lasts, parse_sbatch(text.split()), "me") for number, at, lasts, text in rows]
    return simulate(requests, parse_slurm_conf(CONF.format(words)), slurm_version="24.11", **options)


def starts(result: Any) -> dict[int, float]:
    return dict(zip(result.jobs["job_id"], result.jobs["start"], strict=True))


def answering(topopt: Topopt) -> type:
    hook = hookimpl(lambda self, view: topopt(view))
    return type("Answering", (), {"name": "backfill/answering", "bf_topopt": hook})


@pytest.mark.parametrize("compiled", [False, True])
def test_a_job_is_delayed_for_nodes_that_lie_together(compiled: bool) -> None:
    at_once = simulated(SCATTERED, "", compiled=compiled)
    delayed = simulated(SCATTERED, backfill="backfill/compact", compiled=compiled)
    assert starts(at_once)[4] < 50 < starts(delayed)[4] < 80
    assert delayed.jobs.set_index("job_id").loc[4, "nodes"] == "n2,n3"
    nothing = simulated(SCATTERED, backfill="backfill/compact", plugin_options={"backfill/compact": {"most": 20.0}})
    assert starts(nothing)[4] == starts(at_once)[4]


def test_the_first_hole_is_taken_where_the_answer_is_none() -> None:
    nothing = answering(lambda view: None)
    result = simulated(SCATTERED, backfill="backfill/answering", plugins=[nothing])
    assert starts(result) == starts(simulated(SCATTERED, ""))


def test_holes_begin_one_after_the_other_and_are_as_many_as_was_asked_for() -> None:
    seen: list[list[float]] = []
    looking = answering(lambda view: seen.append([hole.start for hole in view.holes]))
    simulated(SCATTERED, "bf_topopt_enable,bf_topopt_iterations=2", backfill="backfill/answering", plugins=[looking])
    assert max(map(len, seen)) == 3
    assert all(before < after for starts in seen for before, after in itertools.pairwise(starts))


def test_a_hole_that_was_not_offered_is_refused() -> None:
    old: list[Any] = []

    def stale(view: Any) -> Any:
        old.extend(view.holes)
        return old[0]

    with pytest.raises(PluginError, match=r"answer a hole that view\.holes gave in this call") as caught:
        simulated(SCATTERED, backfill="backfill/answering", plugins=[answering(stale)])
    assert (caught.value.plugin, caught.value.hook) == ("backfill/answering", "bf_topopt")


def test_who_asks_and_who_answers_belong_together(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    simulated(SCATTERED, "", backfill="backfill/compact")
    assert "backfill/compact has the hook bf_topopt, for which sched/backfill does not ask" in caplog.text
    caplog.clear()
    simulated(SCATTERED)
    assert "bf_topopt_enable is without effect" in caplog.text
    with pytest.raises(ConfigurationError, match="machines of nodes"):
        run([], 4, backfill="backfill/compact")


def test_one_question_can_be_asked_in_a_test() -> None:
    busy = cluster(nodes=4).running(job(1, limit=120, nodelist="n1"), job(1, limit=60, nodelist="n3"))
    here = busy.waiting(job(2, limit=60))
    hole = call(Compact, "bf_topopt", here)
    assert (hole.start, list(hole.place.nodes)) == (60, ["n2", "n3"])
    with pytest.raises(ConfigurationError, match="nodes"):
        call(Compact, "bf_topopt", cluster(4).waiting(job(2, limit=60)))


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_whatever_is_chosen_no_node_is_given_out_twice(seed: int) -> None:
    import numpy as np

    draws = np.random.default_rng(seed)
    rows = []
    for number in range(1, 16):
        lasts = int(draws.integers(5, 200))
        words = f"-N{draws.integers(1, 5)} -t{1 + lasts // 60 + int(draws.integers(0, 3))}"
        rows.append((number, float(draws.integers(0, 200)), float(lasts), words))
    chosen = answering(lambda view: list(view.holes)[int(draws.integers(0, 2)) * -1])
    result = simulated(rows, backfill="backfill/answering", plugins=[chosen], compiled=bool(seed % 2))
    assert (result.jobs["state"] == "COMPLETED").all()
    runs = result.runs.sort_values("start")
    at = sorted({*runs["start"]})
    for instant in at:
        now = runs[(runs["start"] <= instant) & (runs["end"] > instant)]
        assert now["processors"].sum() <= 6
