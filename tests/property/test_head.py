"""What the records say of the head of the queue, against a scheduler that looks for itself."""

from __future__ import annotations

import math
from collections.abc import Generator
from contextlib import suppress
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurm_sim_plugins import Decision, MakeRoom, PreemptView, Run, SchedulingView, Start, hookimpl
from slurm_sim_plugins.sched.easy import Easy
from tests.builders.jobs import column, run

PROCESSORS = 6


class Looking(Easy):
    """EASY that notes, before and after each pass, who is blocked and who could start."""

    name: ClassVar[str] = "sched/looking"
    only_starts: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self.blocked: set[int] = set()
        self.could_start: dict[int, float] = {}

    @hookimpl
    def schedule(self, view: SchedulingView) -> Generator[Decision, bool, None]:
        self.look(view)
        decisions, answer = self.decide(view), None
        with suppress(StopIteration):
            while True:
                decision = decisions.send(answer)
                if isinstance(decision, Start) and decision.job is view.head:
                    self.could_start.setdefault(decision.job.id, view.now)
                answer = yield decision
        if view.head is not None:
            self.blocked.add(view.head.id)
            self.look(view)

    def decide(self, view: SchedulingView) -> Generator[Decision, bool, None]:
        yield from super().schedule(view)

    def look(self, view: SchedulingView) -> None:
        head = view.head
        assert head is not None
        lower = sum(running.processors for running in view.running if head.outranks(running.job))
        if view.free + lower >= head.processors:
            self.could_start.setdefault(head.id, view.now)


class Preempting(Looking):
    """Starts whatever fits, and takes it back when the head could start without it."""

    name: ClassVar[str] = "sched/preempting"

    def decide(self, view: SchedulingView) -> Generator[Decision, bool, None]:
        while (head := view.head) is not None and (yield MakeRoom(head)):
            yield Start(head)
        for job in view.candidates():
            if job.processors <= view.free:
                yield Start(job)


class LowerFirst:
    """Who is below the preemptor may be preempted, the lowest first."""

    name: ClassVar[str] = "preempt/lower_first"

    @hookimpl
    def preempt_candidates(self, view: PreemptView) -> list[Run]:
        lower = [running for running in view.running if view.preemptor.outranks(running.job)]
        return sorted(lower, key=lambda running: -running.job.index)


jobs = st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, PROCESSORS), st.integers(0, 8), st.integers(1, 9)), max_size=14
).map(lambda rows: [(number, *row) for number, row in enumerate(rows, 1)])


@pytest.mark.slow
@pytest.mark.parametrize("passes", ["batch", "event"])
@pytest.mark.parametrize("scheduler", [Looking, Preempting])
@pytest.mark.parametrize("priority", ["priority/basic", "priority/sjf"])
@given(rows=jobs)
def test_blocked_and_could_start(rows, priority, scheduler, passes):
    result = run(
        rows,
        PROCESSORS,
        plugins=[scheduler, LowerFirst],
        scheduler=scheduler.name,
        preempt=LowerFirst.name,
        priority=priority,
        passes=passes,
    )
    seen = result.plugins[scheduler.name]
    assert {job for job, blocked in column(result, "blocked").items() if blocked} == seen.blocked
    noted = column(result, "could_start")
    for job in seen.blocked:
        assert noted[job] == seen.could_start.get(job, math.nan) or (
            math.isnan(noted[job]) and job not in seen.could_start
        )


@given(rows=jobs)
def test_who_never_was_blocked_could_start_when_it_started_in_its_turn(rows):
    result = run(rows, PROCESSORS)
    starts, backfilled, blocked = (column(result, name) for name in ("start", "backfilled", "blocked"))
    for job, could in column(result, "could_start").items():
        if not backfilled[job] and not blocked[job]:
            assert could == starts[job]
        if backfilled[job] and not blocked[job]:
            assert math.isnan(could)
