"""A sweep over limits passes over runs that are far from theirs: it ends those that a look at each would find."""

from __future__ import annotations

import math
from typing import Any

import pytest

from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.engine.endings import Endings
from emulator.state.run import State
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch

CONF = """\
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
OverTimeLimit={over}
NodeName=n[1-4] CPUs=4
PartitionName=p Nodes=ALL Default=YES PriorityTier=1 GraceTime=30
PartitionName=q Nodes=ALL PriorityTier=2
"""
JOBS: tuple[tuple[Any, ...], ...] = (
    (0, 500, "-n1 -t1"),
    (2, 500, "-n2 -t2", 30.0),
    (3, 500, "-n1 -t3", 60.0),
    (5, 40, "-n4 -t9"),
    (9, 900, "-N2 -t5"),
    (60, 70, "-pq -N4 -n16 -t2"),
    (61, 500, "-n1 -t1"),
    (230, 70, "-pq -N4 -n16 -t2"),
)


@pytest.mark.parametrize("over", [0, 2])
def test_a_sweep_ends_what_a_look_at_each_run_finds(over: int, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = [
        JobRequest(
            number,
            float(at),
            run,
            parse_sbatch(words.split()),
            "me",
            signal_time=signal[0] if signal else None,
            ignores_term=True,
        )
        for number, (at, run, words, *signal) in enumerate(JOBS, 1)
    ]
    made, sweep = Controller(parse_slurm_conf(CONF.format(over=over)), requests), Endings.sweep_limits
    ended, left_late = set[int](), 0

    def checked(self: Endings) -> None:
        nonlocal left_late
        due = set()
        for job in self.cluster.running.values():
            if job.state is State.RUNNING and job.vacating:
                late = {(job.id, job.sequence)} if self._reached(job.end_limit) else set()
                due, left_late = due | late, left_late + len(late)
            elif job.state is State.RUNNING and self._reached(self.stints.swept_from(job)):
                due.add((job.id, job.sequence))
        sweep(self)
        left = {(job.id, job.sequence) for job in self.cluster.running.values()}
        assert not due & left
        ended.update(number for number, _ in due)
        each = [0.0 if job.vacating else self.stints.swept_from(job) for job in self.cluster.running.values()]
        assert self.stints.next_sweep() == min(each, default=math.inf)

    monkeypatch.setattr(Endings, "sweep_limits", checked)
    made.run(2000)
    assert {1, 2, 3} <= ended
    assert left_late
