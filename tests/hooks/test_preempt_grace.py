"""preempt_grace: how long a victim has."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.api import simulate
from emulator.config.slurm import parse_slurm_conf
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import PluginError, PreemptView, Run, VictimView, hookimpl
from slurm_sim_plugins.preempt.partition_prio import PartitionPrio
from slurm_sim_plugins.preempt.qos import QosPreemption
from slurm_sim_plugins.testing import call, cluster, job, partition, qos
from tests.builders.jobs import two_tiers

JOBS = [(1, 0, 900, "-n8 -t60 -plo"), (2, 60, 30, "-n2 -t5 -phi")]


class Waits:
    """Names lower runs, and says how long they have."""

    name = "preempt/waits"

    def __init__(self, seconds: Any = None) -> None:
        self._seconds = seconds

    @hookimpl
    def preempt_candidates(self, view: PreemptView) -> list[Run]:
        return view.outranked()

    @hookimpl
    def preempt_grace(self, view: VictimView) -> Any:
        return self._seconds


def second_start(seconds: Any, grace: str = "") -> float:
    requests = [JobRequest(id, submit, work, parse_sbatch(words.split())) for id, submit, work, words in JOBS]
    jobs = simulate(
        requests,
        parse_slurm_conf(two_tiers("REQUEUE").replace("PartitionName=lo", f"PartitionName=lo {grace}")),
        preempt="preempt/waits",
        plugins=[Waits],
        plugin_options={"preempt/waits": {"seconds": seconds}},
        clock="ideal",
    ).records.jobs
    return float(jobs["start"][1])


def test_the_plugin_says_how_long_a_victim_has() -> None:
    assert second_start(0) == 60
    assert second_start(100) == 160


def test_without_an_answer_the_partition_says_it() -> None:
    assert second_start(None) == 60
    assert second_start(None, grace="GraceTime=40") == 100


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf"), "60"])
def test_what_is_no_time_is_refused(seconds: object) -> None:
    with pytest.raises(PluginError, match=r"preempt/waits, hook preempt_grace.*a grace time is finite seconds"):
        second_start(seconds)


def test_partition_and_quality_of_service_say_it_to_slurms_plugins() -> None:
    lo = job(4, partition=partition("lo", grace_time=30.0))
    assert call(PartitionPrio, "preempt_grace", cluster(8).running(lo)) == 30.0
    low = job(4, qos=qos("low", grace_time=45.0))
    assert call(QosPreemption, "preempt_grace", cluster(8).running(low)) == 45.0
    assert call(QosPreemption, "preempt_grace", cluster(8).running(job(4))) == 0.0
