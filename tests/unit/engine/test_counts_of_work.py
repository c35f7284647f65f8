"""How often a run does what costs time: numbers that no machine changes, and that are not to grow.

A number that has become smaller is written down here, so that it does not grow again.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.scheduling.plugin_scheduler import PluginScheduler
from emulator.scheduling.windows import Windows
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch

CONF = """
ClusterName=counted
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=30,bf_continue
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightJobSize=500
PriorityMaxAge=1-0
PriorityCalcPeriod=5
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
NodeName=n[1-40] CPUs=16 RealMemory=64000
PartitionName=day Nodes=ALL Default=YES MaxTime=1-0 PriorityTier=1
PartitionName=quick Nodes=n[1-8] MaxTime=4:00:00 PriorityTier=2
"""
GANG = CONF + "PreemptMode=GANG\n"
WHOLE_NODES = CONF.replace("select/cons_tres\nSelectTypeParameters=CR_Core_Memory", "select/linear")
ROWS = GANG.replace("PriorityTier=1", "OverSubscribe=FORCE:2").replace("PriorityTier=2", "OverSubscribe=FORCE:2")
JOBS = 500
COUNTED: dict[str, tuple[type, str]] = {
    "passes of the main loop": (PluginScheduler, "run"),
    "cycles of backfill": (PluginScheduler, "backfill"),
    "plain searches": (Windows, "_hole"),
    "looks beside others": (Windows, "beside"),
}


WORDS = ["-n1", "-n4 --mem-per-cpu=2000", "-N2 -n32", "-n16", "-N8 --exclusive", "-n2 -pquick"]
ON_GPUS = [*WORDS, "-n1 --gres=gpu:1", "-N2 --exclusive --gres=gpu:2"]


def day_of_jobs(asked: list[str]) -> list[JobRequest]:
    """Submissions of a day: bursts, many short jobs, few large ones."""
    draws, requests, second = random.Random(21), [], 0.0
    for number in range(1, JOBS + 1):
        second += draws.choice([0, 1, 5, 60])
        words = draws.choice(asked)
        minutes = draws.choice([5, 20, 60, 240])
        work = minutes * 60 * draws.choice([0.1, 0.5, 0.9])
        requests.append(
            JobRequest(id=number, submit=second, run=work, options=parse_sbatch(f"{words} -t{minutes}".split()))
        )
    return requests


def count_calls(monkeypatch: pytest.MonkeyPatch, counts: Counter[str]) -> None:
    """Have the calls of :data:`COUNTED` counted."""

    def counted(what: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            counts[what] += 1
            return function(*arguments, **named)

        return call

    for what, (owner, name) in COUNTED.items():
        monkeypatch.setattr(owner, name, counted(what, getattr(owner, name)))


FEW_TRIED = CONF.replace("bf_continue", "bf_continue,bf_max_job_test=20")
GPUS = CONF.replace(
    "PartitionName=day", "GresTypes=gpu\nNodeName=g[1-4] CPUs=16 RealMemory=64000 Gres=gpu:2\nPartitionName=day"
)
OTHERS = {"gang": GANG, "rows": ROWS, "whole nodes": WHOLE_NODES, "few tried": FEW_TRIED, "gpus": GPUS}
"""Configurations with which jobs may share what they have, have whole nodes, or GPUs, or few are tried in a cycle."""
MOST = {
    "slurm, plans seen": {"passes of the main loop": 985, "cycles of backfill": 580, "searches": 9568},
    "gang": {"passes of the main loop": 985, "cycles of backfill": 580, "searches": 4331, "looks beside others": 16444},
    "rows": {
        "passes of the main loop": 1106,
        "cycles of backfill": 605,
        "searches": 3916,
        "looks beside others": 13404,
    },
    "whole nodes": {
        "passes of the main loop": 1072,
        "cycles of backfill": 623,
        "searches": 2305,
        "looks beside others": 0,
    },
    "few tried": {"passes of the main loop": 1072, "cycles of backfill": 576, "searches": 1044},
    "gpus": {"passes of the main loop": 1096, "cycles of backfill": 652, "searches": 4546},
    "slurm": {"passes of the main loop": 985, "cycles of backfill": 580, "searches": 2782},
    "ideal, plans seen": {"passes of the main loop": 801, "cycles of backfill": 801, "searches": 13655},
    "ideal": {"passes of the main loop": 801, "cycles of backfill": 801, "searches": 3800},
}


@pytest.mark.slow
@pytest.mark.parametrize("run", list(MOST))
def test_a_run_does_no_more_than_it_did(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock: Any = "ideal" if run.startswith("ideal") else "slurm"
    counts: Counter[str] = Counter(dict.fromkeys(COUNTED, 0))
    count_calls(monkeypatch, counts)
    controller = Controller(
        parse_slurm_conf(OTHERS.get(run, CONF)),
        day_of_jobs(ON_GPUS if run == "gpus" else WORDS),
        compiled=True,
        clock=clock,
        plans_are_seen="plans" in run,
    )
    controller.run()
    assert all(job.over for job in controller.cluster.jobs.values())
    compiled: Any = controller.cluster.compiled
    counts["searches"] = compiled.searches.begun
    none = {"plain searches": 0, "looks beside others": 0}
    assert dict(counts) == none | MOST[run], "write smaller numbers down; larger ones are work that was not done before"
