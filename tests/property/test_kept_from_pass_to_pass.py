"""What is kept from pass to pass is what would be found afresh, whenever it is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from emulator.config.options import Clock
from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.operator.scontrol import scontrol
from emulator.scheduling.counted_nodes import CountedNodes
from emulator.scheduling.job_mgr import make_job
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from tests.builders.one_cpu_nodes import CONF
from tests.builders.random_clusters import COMMANDS, configuration, submission

ON_ONE_CPU = (
    *("scontrol update NodeName=n2 State=DRAIN", "scontrol update NodeName=n2 State=RESUME", "scontrol requeue 3"),
    *("scontrol suspend 5", "scontrol resume 5", "scontrol update JobId=4 TimeLimit=2", "scontrol requeue 6"),
    "scontrol create reservation ReservationName=r StartTime=now+60 Duration=3 Nodes=n1 Users=you Flags=IGNORE_JOBS",
    *("scontrol update PartitionName=p MaxTime=10", "scontrol update PartitionName=p State=DOWN"),
    *("scontrol update PartitionName=p State=UP", "scontrol delete reservation r"),
)
CLOCKS = st.sampled_from(["slurm", "ideal"])
PASSES = st.sampled_from(["batch", "event"])


def controller(text: str, requests: list[JobRequest], commands: Sequence[str], seed: int, **how: Any) -> Controller:
    """With commands at random times, of which some are refused."""
    draws = np.random.default_rng(seed)
    actions = [
        (float(draws.integers(50, 900)), lambda controller, command=str(command): scontrol(command, controller))
        for command in draws.choice(commands, size=int(draws.choice([0, 4, 8])))
    ]
    return Controller(parse_slurm_conf(text), requests, actions, compiled=False, **how)


def on_one_cpu(seed: int, scheduler: str, **how: Any) -> Controller:
    """Jobs on six nodes of one CPU; some want a node by name, which is no matter of counts."""
    draws = np.random.default_rng(seed)
    words = ("-n1", "-n2", "-n3 --time-min=1", "-n6", "-n1 -w n1")
    requests = [
        JobRequest(
            number,
            float(draws.integers(0, 900)),
            float(draws.integers(5, 600)),
            parse_sbatch(
                [*str(draws.choice(words, p=[0.3, 0.3, 0.2, 0.15, 0.05])).split(), f"-t{draws.choice([1, 8])}"]
            ),
            "me",
        )
        for number in range(1, 31)
    ]
    return controller(CONF.format(6) + f"SchedulerType={scheduler}\n", requests, ON_ONE_CPU, seed, **how)


def on_any(seed: int, **how: Any) -> Controller:
    """Jobs of many kinds on a random cluster."""
    draws = np.random.default_rng(seed)
    text = configuration(draws)
    return controller(text, [submission(number, draws) for number in range(1, 31)], COMMANDS, seed, **how)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), CLOCKS, PASSES)
def test_runs_look_the_same_whenever_a_plugin_looks_first(seed: int, clock: Clock, passes: str) -> None:
    seen: list[list[tuple[Any, ...]]] = []

    def shown(of: Controller) -> list[tuple[Any, ...]]:
        facts = ("id", "processors", "backfilled", "requeues", "planned", "planned_running", "priority")
        return [
            (run.planned_end, run.start, *(getattr(run.job, name) for name in facts)) for run in of.policies.running
        ]

    always, seldom = (on_any(seed, clock=clock, passes=passes) for _ in range(2))
    always.run(until=6_000, observe=lambda: seen.append(shown(always)))
    assert any(seen)
    draws, events = np.random.default_rng(seed), iter(seen)

    def look_seldom() -> None:
        before = next(events)
        if draws.random() < 0.1:
            assert shown(seldom) == before

    seldom.run(until=6_000, observe=look_seldom)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["sched/easy", "sched/conservative"]), CLOCKS, PASSES)
def test_nodes_are_counted_as_afresh(seed: int, scheduler: str, clock: Clock, passes: str) -> None:
    kept = on_one_cpu(seed, scheduler, clock=clock, passes=passes)
    counted = []

    def look() -> None:
        fresh = CountedNodes(kept.cluster, kept.starts)
        kept.cluster.run_watchers.remove(fresh)
        pools = [counts.pools().get("p") for counts in (kept.scheduler._counts, fresh)]
        one, other = (None if pool is None else (pool.view.free, pool.view._runs) for pool in pools)
        assert one == other
        counted.append(one is not None)

    kept.run(until=6_000, observe=look)
    assume(any(counted))  # Some draw nothing but jobs for whole nodes; Hypothesis refuses if most do.


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), CLOCKS)
def test_what_is_known_of_a_submission_is_what_a_check_finds(seed: int, clock: Clock) -> None:
    known = []
    draws = np.random.default_rng(seed)

    def look(of: Controller) -> None:
        good = of.cluster.known_good
        if draws.random() > 0.2:
            return  # What is known wrongly stays so until it is looked at.
        for options, found in [*good.items()]:
            del good[options]
            make_job(JobRequest(99, 0.0, 1.0, options, "me"), of.cluster)
            assert good[options] == found
            known.append(found)

    for made in (on_any(seed, clock=clock), on_one_cpu(seed, "sched/easy", clock=clock)):
        made.run(until=6_000, observe=lambda made=made: look(made))
    assert known
