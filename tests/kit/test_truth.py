"""The true run times cannot be reached from what plugins are shown, but through the oracle."""

from __future__ import annotations

import gc
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest

from emulator import Workload, simulate
from emulator.config.preemption import Preemption
from slurm_sim_plugins.interposing import Around, around_every_hook, hooks
from slurm_sim_plugins.manager import Catalogue
from slurm_sim_plugins.testing import HookRecorder
from tests.builders.jobs import JobRow, run

TRUE = [100.000003, 200.000007, 300.000011, 400.000013, 500.000017, 250.000019, 50.000023]
"""Seconds that stand nowhere else."""
JOBS: list[JobRow] = [(job, job * 5.0, 1 + job % 3, TRUE[job - 1], 1000 + job) for job in range(1, 8)]
SECRETS = {*TRUE, *(round(seconds * 1_000_000) for seconds in TRUE)}
CODE = (type, ModuleType, FunctionType, BuiltinFunctionType)


def reachable(thing: Any, *, through_methods: bool) -> list[Any]:
    """All that an object refers to, however far: attributes, also private ones, and what containers hold."""
    seen: dict[int, Any] = {}
    waiting = [thing]
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, CODE) or (isinstance(item, MethodType) and not through_methods):
            continue
        seen[id(item)] = item
        waiting += gc.get_referents(item)
    return list(seen.values())


def secrets_in(items: list[Any]) -> list[Any]:
    """True run times among them, in seconds or microseconds, also in arrays."""
    found = [item for item in items if isinstance(item, int | float) and not isinstance(item, bool) and item in SECRETS]
    arrays = [item for item in items if isinstance(item, np.ndarray) and item.dtype.kind in "if"]
    return found + [array for array in arrays if np.isin(array, list(SECRETS)).any()]


@around_every_hook
class Searching:
    """Searches all that each hook is given."""

    name: ClassVar[str] = "observer/searching"
    through_methods: ClassVar[bool] = False

    def __init__(self) -> None:
        self.found: list[tuple[str, Any]] = []
        self.looked: set[str] = set()

    def around(self, hook: str, values: dict[str, Any]) -> Around:
        answer = yield
        # What has ended is known: its end, and what walltime plugins learn of it.
        given = {name: value for name, value in values.items() if name not in ("now", "ran")}
        items = reachable(list(given.values()), through_methods=self.through_methods)
        self.found += [(hook, secret) for secret in secrets_in(items)]
        self.looked.add(hook)
        return answer


POLICIES: list[dict[str, Any]] = [
    {"scheduler": "sched/easy"},
    {"scheduler": "sched/conservative", "walltime": "walltime/given"},
    {"scheduler": "sched/venture", "preempt": "preempt/shadow_load", "priority": "priority/sjf", "passes": "event"},
]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy["scheduler"])
def test_nothing_that_a_hook_is_given_leads_to_a_true_run_time(policy: dict[str, Any]) -> None:
    # Without a plugin that orders candidates nothing leads out of a view, not even by way of a method.
    members = {"through_methods": True, "backfill_candidates": None}
    looked = run(JOBS, 4, plugins=[type("Searching", (Searching,), members)], **policy).plugins["observer/searching"]
    assert looked.found == []
    assert {"schedule", "priority_set", "walltime_submit", "job_started", "job_ended", "pass_done"} <= looked.looked


def test_neither_does_what_orders_the_candidates() -> None:
    # The one way out is the method that asks the plugin; all else is data.
    options = {"backfill": "backfill/sjf", "scheduler": "sched/venture", "preempt": "preempt/shadow_load"}
    looked = run(JOBS, 4, plugins=[Searching], **options).plugins["observer/searching"]
    assert looked.found == []
    assert "backfill_candidates" in looked.looked


def test_neither_do_blocks_nor_what_a_checkpoint_holds() -> None:
    # Who chooses a block, and what would be lost, are asked by methods, too.
    options = {"scheduler": "sched/realtime", "preempt": "preempt/realtime", "select": "select/blocks"}
    jobs = {name: [row[place] for row in JOBS] for place, name in enumerate(("id", "submit", "processors", "run"))}
    marks = {"time_limit": [row[4] for row in JOBS], "realtime": [job % 2 for job in range(len(JOBS))]}
    result = simulate(
        Workload.from_columns({**jobs, **marks}),
        processors=4,
        plugins=[Searching],
        plugin_options={"sched/realtime": {"policy": "preemptive"}, "preempt/realtime": {"cost": "processors"}},
        preemption=Preemption("CHECKPOINT", cost=1.0, interval=20.0),
        catalogue=Catalogue(),
        **options,
    )
    looked = result.plugins["observer/searching"]
    assert {"select_nodes", "preempt_candidates", "job_requeued"} <= looked.looked
    assert looked.found == []


def test_the_search_finds_what_there_is() -> None:
    looked = run(JOBS, 4, plugins=[Searching], walltime="walltime/virtual").plugins["observer/searching"]
    assert {hook for hook, _ in looked.found} == {"walltime_submit"}
    assert secrets_in(reachable({"deep": [({"er": np.array(TRUE)},)]}, through_methods=False))
    assert secrets_in(reachable([HookRecorder, {"a": [round(TRUE[0] * 1_000_000)]}], through_methods=False))


def test_every_hook_would_be_searched() -> None:
    assert {name for name, _ in hooks()} <= set(vars(Searching))
