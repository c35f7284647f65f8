"""sched/realtime, preempt/realtime and select/blocks against the reference, run by run, on random workloads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator import Result, Workload, simulate
from emulator.config.preemption import Preemption
from emulator.testing.invariants import check_invariants
from slurm_sim_plugins.blocks import Blocks, aligned
from slurm_sim_plugins.manager import Catalogue
from slurm_sim_plugins.select.blocks import InBlocks
from tests.builders.block_state import check_block_state

from .realtime import Piece, Row, Rules, realtime

CATEGORIES = ("narrow_short", "narrow_long", "wide_short", "wide_long")
MACHINES = {
    "aligned": aligned(8, (1, 2, 4, 8), nodes=1),
    "overlapping": Blocks(
        6,
        [
            *((name, [number]) for name, number in zip("abcd", (0, 1, 2, 4), strict=True)),
            *((name, range(first, first + 2)) for first, name in enumerate(("bc", "cd", "de", "ef"), 1)),
            *((name, range(first, first + 3)) for name, first in zip(("abc", "bcd", "def"), (0, 1, 3), strict=True)),
            ("all", range(6)),
        ],
        nodes=1,
    ),
}


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Row], str]:
    """Crowded; few distinct numbers, so that much happens at one instant."""
    name = draw(st.sampled_from(sorted(MACHINES)))
    largest = MACHINES[name].largest
    latest = draw(st.sampled_from([0, 20, 60]))

    def row(id: int) -> Row:
        limit = draw(st.sampled_from([10, 20, 30, 40, 100]))
        run = draw(st.sampled_from([limit, limit]) | st.integers(1, limit))
        size = draw(st.integers(1, largest) | st.sampled_from([1, 1, 2]))
        return id, draw(st.integers(0, latest)), size, run, limit, draw(st.booleans()), draw(st.integers(0, 5)) > 0

    ids = draw(st.permutations(range(1, draw(st.integers(1, 14)) + 1)))
    return [row(id) for id in ids], name


RULES = st.builds(
    Rules,
    policy=st.sampled_from(["weighted", "weighted", "weighted", "preemptive", "high_priority", "baseline"]),
    cost=st.sampled_from(["weighted", "weighted", "processors"]),
    meanwhile=st.sampled_from(["none", "batch"]),
    backfill=st.sampled_from(["reserve", "reserve", "first_fit"]),
    order=st.sampled_from(["slowdown", "queue"]),
    factor=st.sampled_from(["unsaved", "always", "never"]),
    jit=st.sampled_from([None, 0, 3, 12]),
)


def options_of(rules: Rules) -> dict[str, Any]:
    borders = {"narrow": rules.narrow, "short": rules.short}
    scheduler = dict(zip(CATEGORIES, map(float, rules.late), strict=True)) | borders
    scheduler |= {name: getattr(rules, name) for name in ("policy", "meanwhile", "backfill", "order")}
    preempt = dict(zip(CATEGORIES, rules.spared, strict=True)) | borders
    preempt |= {"cost": rules.cost, "checkpoint_factor": rules.factor, "fresh": rules.fresh, "soon": rules.soon}
    return {"sched/realtime": scheduler, "preempt/realtime": preempt}


def simulated(rows: list[Row], blocks: Blocks, rules: Rules, **options: Any) -> Result:
    names = ("id", "submit", "processors", "run", "time_limit", "realtime", "requeue")
    columns: dict[str, Any] = {name: [int(row[place]) for row in rows] for place, name in enumerate(names)}
    workload = Workload.from_columns(columns)
    own = type("Own", (InBlocks,), {"name": "select/own", "blocks": lambda self, processors: blocks})
    cost = rules.jit
    preemption = (
        Preemption() if cost is None else Preemption("CHECKPOINT", checkpoint="jit", cost=cost, restart_cost=cost)
    )
    result = simulate(
        workload,
        processors=blocks.machine,
        scheduler="sched/realtime",
        preempt="preempt/realtime",
        select="select/own",
        plugins=[own, *options.pop("plugins", ())],
        plugin_options=options_of(rules),
        preemption=preemption,
        catalogue=Catalogue(),
        **options,
    )
    check_invariants(result, workload)
    check_block_state(result.records, blocks)
    return result


def pieces(result: Result) -> list[Piece]:
    names = ("job_id", "start", "end", "block")
    return sorted(zip(*(result.records.runs[name].tolist() for name in names), strict=True))


@pytest.mark.slow
@settings(max_examples=300)
@given(case=cases(), rules=RULES)
def test_every_run_is_that_of_the_reference(case: tuple[list[Row], str], rules: Rules) -> None:
    rows, name = case
    assert pieces(simulated(rows, MACHINES[name], rules)) == realtime(rows, MACHINES[name], rules)


@settings(max_examples=150)
@given(case=cases(), rules=RULES.filter(lambda rules: not rules.jit))
def test_a_preempted_job_stands_at_once_where_its_present_score_puts_it(
    case: tuple[list[Row], str], rules: Rules
) -> None:
    """Without a cost of checkpoints, what is preempted waits in the same pass."""
    rows, name = case
    result = simulated(rows, MACHINES[name], rules, priority="priority/wfp")
    assert pieces(result) == realtime(rows, MACHINES[name], replace(rules, wfp=True))
