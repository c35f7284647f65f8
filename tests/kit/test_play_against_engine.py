"""play() decides what the engine decides: each pass of random simulations is described and played."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator import Workload, simulate
from emulator.testing import play
from slurm_sim_plugins import Plan, Start, hookimpl
from slurm_sim_plugins.backfill.sjf import Sjf
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.manager import Catalogue
from slurm_sim_plugins.preempt.realtime import Realtime as Sacrifice
from slurm_sim_plugins.preempt.shadow_load import ShadowLoad
from slurm_sim_plugins.sched.conservative import Conservative
from slurm_sim_plugins.sched.easy import Easy
from slurm_sim_plugins.sched.fcfs import Fcfs
from slurm_sim_plugins.sched.realtime import Realtime
from slurm_sim_plugins.sched.venture import Venture
from slurm_sim_plugins.select.blocks import InBlocks
from slurm_sim_plugins.testing import Cluster, JobSpec, cluster, job
from slurm_sim_plugins.views import SchedulingView
from tests.builders.jobs import run


class Replaying:
    """Describes what a scheduler sees before each pass, and what it then does."""

    name: ClassVar[str] = "observer/replaying"

    def __init__(self) -> None:
        self.passes: list[tuple[Cluster, list[int], list[int]]] = []

    @hookimpl(wrapper=True)
    def schedule(self, view: SchedulingView) -> Generator[None, Any, Any]:
        seen = described(view)
        answer = yield
        return self._noted(seen, answer)

    def _noted(self, seen: Cluster, decisions: Any) -> Generator[Any, Any, None]:
        started: list[int] = []
        self.passes.append((seen, started, preempted := []))
        self._preempted = preempted
        answer = None
        while True:
            try:
                decision = decisions.send(answer)
            except StopIteration:
                return
            if isinstance(decision, Start):
                started.append(decision.job.id)
            answer = yield decision

    @hookimpl
    def job_requeued(self, job: Job) -> None:
        self._preempted.append(job.id)


def described(view: SchedulingView) -> Cluster:
    """The scene, as a test would write it."""
    block_state = view.block_state
    here = cluster(view.total, now=view.now, changed=view.changed, blocks=block_state.blocks if block_state else None)
    for each in sorted(view.running, key=lambda run: run.sequence):
        there = {"block": block_state.block_of(each.job)} if block_state else {}
        here = here.running(spec(each.job), since=each.start, until=each.planned_end, **there)
    new = {each.id for each in view.new_jobs}
    here = here.waiting(*(spec(each) for each in view.queue if each.id not in new))
    return here.arriving(*(spec(each) for each in view.new_jobs))


def spec(of: Job) -> JobSpec:
    return job(
        of.processors,
        id=of.id,
        submit=of.submit,
        limit=of.time_limit,
        planned=Plan(of.planned_queue, of.planned, of.planned_running),
        priority=of.priority,
        backfilled=of.backfilled,
        realtime=of.fact("realtime"),
    )


SIZES = st.integers(1, 6)
ROWS = st.lists(st.tuples(st.integers(0, 15), SIZES, st.integers(0, 12), st.integers(1, 12)), max_size=14)


@pytest.mark.parametrize(
    ("scheduler", "backfill", "preempt", "priority"),
    [
        (Fcfs, None, None, "priority/sjf"),
        (Easy, None, None, "priority/basic"),
        (Easy, Sjf, None, "priority/sjf"),
        (Conservative, None, None, "priority/basic"),
        (Venture, None, ShadowLoad, "priority/sjf"),
    ],
    ids=["sjf", "easy", "sjf_easy", "conservative", "pv"],
)
@settings(max_examples=15)
@given(rows=ROWS)
def test_every_pass(scheduler: Any, backfill: Any, preempt: Any, priority: str, rows: Any) -> None:
    jobs = [(number, *row) for number, row in enumerate(rows, 1)]
    options = {"backfill": backfill, "preempt": preempt}
    slots = {kind: plugin.name for kind, plugin in options.items() if plugin is not None}
    result = run(jobs, 6, plugins=[Replaying], scheduler=scheduler.name, priority=priority, compiled=False, **slots)
    for here, started, preempted in result.plugins["observer/replaying"].passes:
        played = play(scheduler, here, backfill=backfill, preempt=preempt)
        assert (played.started, played.preempted) == (started, preempted), here


@settings(max_examples=15)
@given(rows=ROWS, policy=st.sampled_from(["weighted", "preemptive", "high_priority"]))
def test_every_pass_on_blocks(rows: Any, policy: str) -> None:
    names = ("submit", "processors", "run", "time_limit")
    columns: dict[str, Any] = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    numbers = list(range(1, len(rows) + 1))
    jobs = Workload.from_columns({**columns, "id": numbers, "realtime": [number % 2 for number in numbers]})
    options: dict[str, dict[str, Any]] = {
        "sched/realtime": {"policy": policy, "wide_short": 1.5},
        "preempt/realtime": {"wide_short": 3.0},
    }
    slots = {"scheduler": "sched/realtime", "preempt": "preempt/realtime", "select": "select/blocks"}
    result = simulate(
        jobs, processors=6, plugins=[Replaying], plugin_options=options, catalogue=Catalogue(), compiled=False, **slots
    )
    for here, started, preempted in result.plugins["observer/replaying"].passes:
        scheduler, preempt = Realtime(**options["sched/realtime"]), Sacrifice(**options["preempt/realtime"])
        played = play(scheduler, here, preempt=preempt, select=InBlocks)
        assert (played.started, played.preempted) == (started, preempted), here
