"""job_resumed: told when a run that stood still goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from emulator.api import simulate
from emulator.config.slurm import parse_slurm_conf
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import Job, Run, hookimpl

CONF = """ClusterName=t
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PreemptType=preempt/partition_prio
PreemptMode=SUSPEND,GANG
NodeName=n[1-4] CPUs=4
PartitionName=lo Nodes=ALL PriorityTier=1 MaxTime=INFINITE OverSubscribe=@
PartitionName=hi Nodes=ALL PriorityTier=2 MaxTime=INFINITE
"""


class Listens:
    name: ClassVar[str] = "observer/listens"

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    @hookimpl
    def job_resumed(self, job: Job, run: Run, cause: str, now: float) -> str:
        assert run.job is job
        self.told.append((now, job.id, cause, run.start, run.processors))
        return "what it answers is ignored"


def simulated(out: Path, partition: str, shared: str, clock: str) -> tuple[list[tuple[Any, ...]], Any]:
    """What was told of two jobs of the whole machine, and the runs."""
    requests = [
        JobRequest(1, 0.0, 100.0, parse_sbatch(["-N4", "-n16", "-t60", "-plo"])),
        JobRequest(2, 5.0, 100.0, parse_sbatch(["-N4", "-n16", "-t60", f"-p{partition}"])),
    ]
    conf = parse_slurm_conf(CONF.replace("@", shared))
    result = simulate(requests, conf, out=out, plugins=[Listens], clock=clock)
    return result.plugins["observer/listens"].told, result.runs


def ends(runs: Any) -> list[float]:
    """When runs went on, as recorded."""
    pauses = [part.split("-") for text in runs.suspended for part in text.split(",") if part]
    return sorted(float(end) for _, end in pauses)


@pytest.mark.parametrize("clock", ["slurm", "ideal"])
def test_told_of_preemption(tmp_path: Path, clock: str) -> None:
    told, runs = simulated(tmp_path, "hi", "NO", clock)
    assert told == [(ends(runs)[0], 1, "preemption", runs.start[0], 16)]


@pytest.mark.parametrize("clock", ["slurm", "ideal"])
def test_told_of_turns_of_time_slicing_which_are_not_logged(tmp_path: Path, clock: str) -> None:
    told, runs = simulated(tmp_path, "lo", "FORCE:2", clock)
    assert {cause for _, _, cause, *_ in told} == {"time slice"}
    assert sorted(now for now, *_ in told) == ends(runs)
    assert len(told) > 2
    assert '"resume"' not in (tmp_path / "events.jsonl").read_text()
