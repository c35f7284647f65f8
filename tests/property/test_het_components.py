"""Random heterogeneous jobs among others: what holds of all of them, and compiled beside plain."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.state.run import State
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch

CONF = """
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval={interval}{more}
NodeName=n[1-3] CPUs=4 Weight=2
NodeName=n[4-5] CPUs=8
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE PriorityTier=1
PartitionName=q Nodes=n[3-5] MaxTime=INFINITE PriorityTier={tier}
PreemptType={preempt}
PreemptMode={mode}
"""
COMPONENT = st.builds(
    "-N{} -n{} -t{} {}".format,
    st.integers(1, 2),
    st.integers(1, 6),
    st.integers(1, 9),
    st.sampled_from(["", "-pq", "--exclusive", "-wn4", "-pp,q"]),
)
SUBMISSION = st.tuples(
    st.integers(0, 300), st.integers(1, 400), st.lists(COMPONENT, min_size=1, max_size=3), st.sampled_from([0, 0, 1])
)
CLUSTER = st.fixed_dictionaries(
    {
        "interval": st.sampled_from([1, 7, 30]),
        "more": st.sampled_from(["", ",bf_hetjob_immediate", ",bf_hetjob_prio=avg", ",bf_hetjob_prio=max"]),
        "tier": st.sampled_from([1, 2]),
        "preempt": st.sampled_from(["preempt/none", "preempt/partition_prio"]),
    }
)


def played(conf: dict[str, Any], jobs: list[Any], clock: str, version: str, compiled: bool | None) -> Controller:
    requests, number = [], 1
    for submit, run, components, code in sorted(jobs):
        options = parse_sbatch(" : ".join(components).split())
        requests.append(JobRequest(number, float(submit), float(run), options, "ann", code))
        number += len(components)
    mode = "OFF" if conf["preempt"] == "preempt/none" else "REQUEUE"
    controller = Controller(
        parse_slurm_conf(CONF.format(**conf, mode=mode)),
        requests,
        clock=clock,  # type: ignore[arg-type]
        slurm_version=version,
        compiled=compiled,
    )
    controller.run(3000.0)
    return controller


@pytest.mark.compiled
@pytest.mark.slow
@given(
    CLUSTER,
    st.lists(SUBMISSION, min_size=1, max_size=8),
    st.sampled_from(["slurm", "ideal"]),
    st.sampled_from(["22.05", "24.11", "26.05"]),
)
@settings(max_examples=100, deadline=None)
def test_components_start_together_apart_from_each_other(
    conf: dict[str, Any], jobs: list[Any], clock: str, version: str
) -> None:
    controller = played(conf, jobs, clock, version, compiled=None)
    for first, *further in controller.cluster.het_jobs.values():
        for other in further:
            assert [run.start for run in first.runs] == [run.start for run in other.runs]
            for mine, its in zip(first.runs, other.runs, strict=True):
                assert set(mine.allocation.nodes).isdisjoint(its.allocation.nodes)
                if mine.outcome is not None:
                    assert its.end is not None and mine.end is not None
                    assert its.end <= mine.end
            assert other.over or not first.over
            if first.state is State.COMPLETED:
                assert other.state in (State.COMPLETED, State.TIMEOUT)
    plain = played(conf, jobs, clock, version, compiled=False)
    assert _told(plain) == _told(controller)


def _told(controller: Controller) -> list[object]:
    return [
        (
            job.id,
            job.state,
            job.reason,
            job.planned_start,
            [(run.start, run.end, run.allocation.nodes) for run in job.runs],
        )
        for job in controller.cluster.jobs.values()
    ]
