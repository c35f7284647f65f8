"""The earliest starts of a plan on nodes, beside looking at each time with one allocation after the other."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.scheduling.future import releases
from emulator.scheduling.licenses import LicensePlan
from emulator.scheduling.node_plan import NEVER, NodePlan
from emulator.scheduling.planned_free import Promise
from emulator.state.job import Job
from emulator.state.partition import Partition
from slurm_sim_plugins.profile import HALF_A_MICROSECOND
from tests.property.test_schedulers_on_clusters import Watched


def fits(plan: NodePlan, job: Job, partition: Partition, time: float) -> bool:
    """Whether a job fits at a time, worked out from the runs and the promises alone."""
    cluster, length = plan._cluster, job.plan_limit
    if job.options.licenses and LicensePlan(cluster).first(job, time, length) != time:
        return False
    free = cluster.free.copy()
    for one in releases(cluster):
        over = one.id in plan._gone or (one.end <= time + HALF_A_MICROSECOND and (time > cluster.now or plan._gone))
        if over and one.jobs:
            free.release(one.allocation)
        elif over:
            free.yield_up(one.allocation)
    for promise in plan._promises:
        if promise.time < time + length and time < promise.time + promise.length:
            free.take(promise.allocation)
    free.table[free.table < 0] = 0
    usable = cluster.usable(job, partition) & plan._controls.not_reserved(job, time)
    return cluster.select(job, partition, usable, free) is not None


def earliest(plan: NodePlan, job: Job, partition: Partition, begin: float) -> float:
    """When a job fits first, of all times at which more may be free."""
    ends = [max(one.end, plan._cluster.now) for one in releases(plan._cluster)]
    times = {begin, *ends, *(promise.time + promise.length for promise in plan._promises)}
    times |= set(plan._controls.reservations.bounds())
    return next((time for time in sorted(times) if begin <= time < NEVER and fits(plan, job, partition, time)), NEVER)


@pytest.mark.slow
@pytest.mark.parametrize("clock", ["ideal", "slurm"])
@pytest.mark.parametrize("scheduler", ["sched/easy", "sched/conservative", "sched/venture"])
@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_earliest_starts_are_those_of_plain_looks(scheduler: str, clock: str, seed: int, compiled: bool) -> None:
    search = NodePlan._earliest

    def compared(plan: NodePlan, job: Job, partition: Partition, begin: float) -> Promise | None:
        found, slow = search(plan, job, partition, begin), earliest(plan, job, partition, begin)
        assert (NEVER if found is None else found.time) == slow, (job.id, plan._cluster.now)
        return found

    with patch.object(NodePlan, "_earliest", compared):
        assert Watched(seed, scheduler, clock, compiled).run()
