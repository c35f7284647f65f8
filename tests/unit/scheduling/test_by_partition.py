"""A plugin that looks at no more of a preemptor than its partition is asked about one of many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from emulator import simulate
from emulator.config.slurm import parse_slurm_conf
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import PreemptView, Run, hookimpl
from slurm_sim_plugins.preempt.partition_prio import PartitionPrio

CONF = """ClusterName=t
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=bf_interval=30
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=n[1-2] CPUs=4
PartitionName=low Nodes=ALL PriorityTier=1
PartitionName=high Nodes=ALL PriorityTier=2 Default=YES
"""
asked: list[int] = []


class Counted(PartitionPrio):
    """As its class, and names the runs itself: it has not promised anything."""

    name = "preempt/counted"

    @hookimpl
    def preempt_candidates(self, view: PreemptView) -> Sequence[Run] | None:
        asked.append(view.preemptor.id)
        return super().preempt_candidates(view)


class Promising(Counted):
    """The same, which promises it."""

    name = "preempt/promising"
    by_partition = True

    @hookimpl
    def preempt_candidates(self, view: PreemptView) -> Sequence[Run] | None:
        return super().preempt_candidates(view)


def requests() -> list[JobRequest]:
    """Long jobs on all CPUs, then many alike behind them."""
    words = ["-n4 -t60"] * 2 + ["-n4 -t20"] * 12 + ["-n2 -t5 -plow"] * 6
    return [
        JobRequest(number, float(number > 2), 600.0, parse_sbatch(each.split()), "me")
        for number, each in enumerate(words, 1)
    ]


@pytest.mark.compiled
def test_it_is_asked_less_and_the_schedule_is_the_same() -> None:
    found: dict[str, tuple[int, Any]] = {}
    for plugin in (Counted, Promising):
        asked.clear()
        done = simulate(
            requests(), parse_slurm_conf(CONF), slots={"PreemptType": plugin.name}, plugins=[plugin], compiled=True
        )
        found[plugin.name] = len(asked), done.jobs.to_dict()
    (often, one), (seldom, other) = found.values()
    assert 0 < seldom < often
    assert str(one) == str(other)


@pytest.mark.compiled
def test_the_promise_does_not_count_where_priorities_decide() -> None:
    conf = parse_slurm_conf(CONF.replace("PreemptMode=REQUEUE", "PreemptMode=REQUEUE,PRIORITY"))
    often = []
    for plugin in (Counted, Promising):
        asked.clear()
        simulate(requests(), conf, slots={"PreemptType": plugin.name}, plugins=[plugin], compiled=True)
        often.append(len(asked))
    assert often[0] == often[1] > 0
