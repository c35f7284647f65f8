"""The loop of stock plugins beside the general one on random workloads: every column of every record."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator import Config, Workload
from emulator.accounting.records import collect
from emulator.engine.simulation import Simulation
from emulator.engine.stock import StockRun, stock_policy
from slurm_sim_plugins.manager import Catalogue, select
from tests.builders.stock_loops import HOW, PREDICTIONS, loops, same

OPTIONS = st.sampled_from(
    [
        {"SchedulerType": "sched/fcfs"},
        {"SchedulerType": "sched/easy"},
        {"SchedulerType": "sched/easy", "BackfillType": "backfill/sjf"},
        {"SchedulerType": "sched/conservative"},
        {"SchedulerType": "sched/venture", "PreemptType": "preempt/shadow_load"},
        {"SchedulerType": "sched/venture", "PreemptType": "preempt/shadow_load"},
    ]
)


@st.composite
def workloads(draw: st.DrawFn) -> tuple[Workload, int]:
    """Much happens at one instant; some jobs want the whole machine or more, some run for 0 s or beyond the limit."""
    processors = draw(st.integers(1, 8))
    unit = draw(st.sampled_from([1.0, 0.1, 3600.0, 2.0**31]))
    latest = draw(st.sampled_from([0, 3, 12, 40]))
    sizes = st.integers(1, processors + 1) | st.sampled_from([1, processors])
    rows = draw(
        st.lists(
            st.tuples(st.integers(0, latest), sizes, st.integers(0, 12), st.integers(1, 12)), min_size=1, max_size=24
        )
    )
    submit, sizes_of, run, limit = (np.array(column) for column in zip(*rows, strict=True))
    ids = draw(st.permutations(range(1, len(rows) + 1)))
    columns: dict[str, Any] = {
        "id": ids,
        "submit": submit * unit + draw(st.sampled_from([0.0, -7.0, 1e6])),
        "processors": sizes_of,
        "run": run * unit,
        "time_limit": limit * unit,
    }
    if draw(st.booleans()):
        columns["user"] = draw(st.lists(st.integers(-1, 3), min_size=len(rows), max_size=len(rows)))
    columns["project"] = draw(st.lists(st.sampled_from(["a", "b"]), min_size=len(rows), max_size=len(rows)))
    columns["group"] = draw(st.lists(st.sampled_from([1.0, 2.0, np.nan]), min_size=len(rows), max_size=len(rows)))
    return Workload.from_columns(columns), processors


@settings(max_examples=300)
@given(workloads(), OPTIONS, HOW, st.sampled_from(["priority/basic", "priority/sjf"]), st.integers(0, 2), st.data())
def test_stock_loop(
    case: tuple[Workload, int],
    slots: dict[str, str],
    how: dict[str, Any],
    priority: str,
    reservation: int,
    data: st.DataObject,
) -> None:
    workload, processors = case
    options: dict[str, dict[str, Any]] = {}
    if slots["SchedulerType"] == "sched/easy":
        options["sched/easy"] = {"reservation": ("recompute", "sticky", "ratchet")[reservation]}
    slots = dict(slots)
    if slots["SchedulerType"] == "sched/venture":
        priority = "priority/basic"
        options["sched/venture"] = {"restart": data.draw(st.booleans()), "single_head": data.draw(st.booleans())}
    if priority == "priority/basic" and "BackfillType" not in slots and data.draw(st.booleans()):
        if "user" not in workload.facts or data.draw(st.booleans()):
            slots["WalltimeType"] = "walltime/last_model"
            options["walltime/last_model"] = {"outlived": data.draw(st.sampled_from(["kept", "limit"]))}
        else:
            slots["WalltimeType"] = "walltime/history"
            options["walltime/history"] = data.draw(PREDICTIONS)
    config = Config(slots={**slots, "PriorityType": priority}, plugin_options=options, **how)
    # Broken off somewhere, as by Ctrl-C, records are the same, too.
    until = data.draw(st.none() | st.integers(0, 60))

    simulation = Simulation(workload, processors, config, select(Catalogue(), config.slots, options))
    if until is None:
        simulation.run()
    else:
        simulation.advance(until * 10**6)
    expected = collect(simulation.table, workload, processors)

    policy = stock_policy(select(Catalogue(), config.slots, options), config, workload, None)
    assert policy is not None
    for loop in loops():
        run = StockRun(workload, processors, config, policy, loop)
        if until is None:
            run.run()
            assert run.cluster_state.now == simulation.cluster_state.now
        else:
            run.advance(until * 10**6)
        same(collect(run.table, workload, processors), expected)
