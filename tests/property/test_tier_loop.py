"""The loop of two tiers beside the general one on random workloads: every column of every record, and every stay."""

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

SHARES = st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 0.9, 0.96, 1.0]) | st.floats(0, 1)
SCHEDULER = st.fixed_dictionaries(
    {
        "deploy": st.sampled_from(["kill", "reserve", "migrate"]),
        "migration_cost": st.sampled_from([0.0, 0.5, 2.0, 20.0]) | st.floats(0, 10),
        "count_cost": st.booleans(),
        "bf_est": st.sampled_from(["full", "remaining"]),
        "threshold": st.sampled_from([0.96, 0.96, 0.5, 1.0]),
        "cpu_info": st.sampled_from([True, True, False]),
        "no_cpu_info": st.sampled_from(["ignore_test", "assume_100"]),
    }
)
RATES = st.sampled_from(["", "", "", "0.5", "0", "1", "0.1", "1e-30", "2:0.4, 5:0.333333", "0:0.4, 7:0", "-3:0.25"])


@st.composite
def execution(draw: st.DrawFn) -> dict[str, Any]:
    """Options of ``execution/two_tier``."""
    low = draw(st.sampled_from([0.0, 0.005, 1 / 64, 0.3]))
    serial, phi = sorted([draw(SHARES), draw(SHARES)]), sorted([draw(SHARES), draw(SHARES)])
    return {
        "loss_low": low,
        "loss_high": low + draw(st.sampled_from([0.0, 0.035, 0.5])),
        "loss_when": draw(st.sampled_from(["bg_busy", "always"])),
        "serial_low": serial[0],
        "serial_high": serial[1],
        "phi_low": phi[0],
        "phi_high": phi[1],
        "phi_mean": phi[0] + draw(st.sampled_from([0.0, 0.5])) * (phi[1] - phi[0]),
        "phi_sigma": draw(st.sampled_from([0.0, 0.142])),
        "phi_cap": draw(st.sampled_from(["inside", "outside"])),
        "drawn": draw(st.sampled_from(["placement", "process"])),
        "threshold": draw(st.sampled_from([0.96, 0.96, 0.5, 1.0])),
        "bg_rate": draw(RATES),
    }


@st.composite
def workloads(draw: st.DrawFn) -> tuple[Workload, int]:
    """Crowded; few distinct numbers, so that much happens at one instant."""
    processors = draw(st.sampled_from([1, 2, 3, 5, 8, 9, 70]))
    unit = draw(st.sampled_from([1.0, 0.1, 60.0, 2.0**20]))
    latest = draw(st.sampled_from([0, 4, 15, 60]))
    sizes = st.integers(1, min(processors + 1, 6)) | st.sampled_from([1, processors, (processors + 1) // 2])
    use = st.sampled_from([0.4, 0.5, 0.5, 0.9, 0.96, 1.0, 1 / 3]) | st.floats(0.01, 1.0)
    row = st.tuples(st.integers(0, latest), sizes, st.integers(0, 12), st.integers(1, 12), use)
    rows = draw(st.lists(row, min_size=1, max_size=30))
    submit, sizes_of, run, limit, used = (np.array(column) for column in zip(*rows, strict=True))
    if draw(st.booleans()):
        used[:: draw(st.integers(1, 4))] = np.nan
    count = len(rows)
    columns: dict[str, Any] = {
        "id": draw(st.permutations(range(1, count + 1))),
        "submit": submit * unit + draw(st.sampled_from([0.0, -7.0, 1e6])),
        "processors": sizes_of,
        "run": np.where(draw(st.booleans()), np.minimum(run, limit), run) * unit,
        "time_limit": limit * unit,
        "cpu_use": used,
        "user": draw(st.lists(st.integers(-1, 3), min_size=count, max_size=count)),
        "project": draw(st.lists(st.sampled_from(["a", "b"]), min_size=count, max_size=count)),
        "group": draw(st.lists(st.sampled_from([1.0, 2.0, np.nan]), min_size=count, max_size=count)),
    }
    if draw(st.booleans()):
        columns["requeue"] = draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=count, max_size=count))
    return Workload.from_columns(columns), processors


@settings(max_examples=300)
@given(workloads(), SCHEDULER, execution(), HOW, st.integers(0, 2), st.data())
def test_tier_loop(
    case: tuple[Workload, int],
    scheduler: dict[str, Any],
    rates: dict[str, Any],
    how: dict[str, Any],
    seed: int,
    data: st.DataObject,
) -> None:
    workload, processors = case
    slots = {"SchedulerType": "sched/two_tier", "ExecutionType": "execution/two_tier"}
    options = {"sched/two_tier": scheduler, "execution/two_tier": rates}
    other = data.draw(st.sampled_from(["", "", "priority/sjf", "walltime/last_model", "walltime/history"]))
    if other == "priority/sjf":
        slots["PriorityType"] = other
    elif other:
        slots["WalltimeType"] = other
        outlived = {"outlived": data.draw(st.sampled_from(["kept", "limit"]))}
        options[other] = outlived if other == "walltime/last_model" else data.draw(PREDICTIONS)
    config = Config(slots=slots, plugin_options=options, seed=seed, **how)
    # Broken off somewhere, as by Ctrl-C, records are the same, too.
    until = data.draw(st.none() | st.integers(0, 60))

    simulation = Simulation(workload, processors, config, select(Catalogue(), config.slots, options, seed))
    if until is None:
        simulation.run()
    else:
        simulation.advance(until * 10**6)
    expected = collect(simulation.table, workload, processors, simulation.stays)
    assert expected.stays is not None

    policy = stock_policy(select(Catalogue(), config.slots, options, seed), config, workload, None)
    assert policy is not None
    for loop in loops("tier_loop"):
        run = StockRun(workload, processors, config, policy, loop)
        if until is None:
            run.run()
            assert run.cluster_state.now == simulation.cluster_state.now
        else:
            run.advance(until * 10**6)
        found = collect(run.table, workload, processors, run.stays)
        same(found, expected)
        assert found.stays is not None and list(found.stays) == list(expected.stays)
        for name, column in expected.stays.items():
            assert found.stays[name].dtype == column.dtype, name
            assert found.stays[name].tolist() == column.tolist(), name
