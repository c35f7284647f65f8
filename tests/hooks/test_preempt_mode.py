"""preempt_mode: what becomes of the run that was named."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.api import simulate
from emulator.config.slurm import parse_slurm_conf
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import ConfigurationError, PluginError, PreemptView, Run, VictimView, hookimpl
from slurm_sim_plugins.preempt.partition_prio import PartitionPrio
from slurm_sim_plugins.preempt.qos import QosPreemption
from slurm_sim_plugins.testing import call, cluster, job, partition, qos
from tests.builders.jobs import run, two_tiers

JOBS = [(1, 0, 600, "-n8 -t60 -plo"), (2, 60, 30, "-n2 -t5 -phi")]


class Says:
    """Names lower runs, and says what becomes of them."""

    name = "preempt/says"

    def __init__(self, mode: Any = None) -> None:
        self._mode = mode
        self.victims: list[int] = []

    @hookimpl
    def preempt_candidates(self, view: PreemptView) -> list[Run]:
        return view.outranked()

    @hookimpl
    def preempt_mode(self, view: VictimView) -> Any:
        self.victims.append(view.victim.id)
        return self._mode


def outcome(mode: Any, configured: str = "REQUEUE") -> tuple[str, int]:
    requests = [JobRequest(id, submit, work, parse_sbatch(words.split())) for id, submit, work, words in JOBS]
    result = simulate(
        requests,
        parse_slurm_conf(two_tiers(configured)),
        preempt="preempt/says",
        plugins=[Says],
        plugin_options={"preempt/says": {"mode": mode}},
    )
    assert set(result.plugins["preempt/says"].victims) == {1}
    jobs = result.records.jobs
    return str(jobs["state"][0]), int(jobs["requeues"][0])


def test_the_plugin_says_what_becomes_of_a_victim() -> None:
    assert outcome("CANCEL") == ("PREEMPTED", 0)
    assert outcome("REQUEUE", configured="CANCEL") == ("COMPLETED", 1)


def test_without_an_answer_the_configuration_says_it() -> None:
    assert outcome(None, configured="CANCEL") == ("PREEMPTED", 0)
    assert outcome(None) == ("COMPLETED", 1)


def test_a_run_whose_mode_is_off_stays() -> None:
    assert outcome("OFF") == ("COMPLETED", 0)


@pytest.mark.parametrize("word", ["requeue", "GANG", 3])
def test_other_words_are_refused(word: object) -> None:
    with pytest.raises(PluginError, match=r"preempt/says, hook preempt_mode.*one of OFF, CANCEL, REQUEUE"):
        outcome(word)


def test_on_processors_the_plugin_is_refused() -> None:
    for name in ("preempt/partition_prio", "preempt/qos"):
        with pytest.raises(ConfigurationError, match=f"{name} is for machines of nodes"):
            run([(1, 0, 4, 10, 10)], 4, preempt=name)


def test_a_partition_says_it_to_partition_prio() -> None:
    def mode(**attributes: Any) -> Any:
        return call(PartitionPrio, "preempt_mode", cluster(8).running(job(4, partition=partition(**attributes))))

    assert mode(preempt_mode=("GANG", "SUSPEND")) == "SUSPEND"
    assert mode() is None
    assert mode(preempt_mode=("OFF",)) == "OFF"


def test_a_quality_of_service_says_it_to_qos() -> None:
    def mode(**attributes: Any) -> Any:
        return call(QosPreemption, "preempt_mode", cluster(8).running(job(4, qos=qos(**attributes))))

    assert mode(preempt_mode={"CANCEL"}) == "CANCEL"
    assert mode(preempt_mode={"CLUSTER"}) is None
    assert mode(preempt_mode={"CLUSTER", "WITHIN"}) == "OFF"
