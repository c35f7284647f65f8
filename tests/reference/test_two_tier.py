"""sched/two_tier against the reference, job by job, on random workloads with fixed rates."""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from emulator import Result, Workload, simulate
from emulator.testing.invariants import check_invariants
from slurm_sim_plugins.manager import Catalogue
from tests.builders.jobs import column

from .cluster import Plans
from .two_tier import SECOND, Row, Rules, two_tier

SOME = settings(max_examples=60)
DEPLOY = pytest.mark.parametrize("deploy", ["kill", "reserve", "migrate"])


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Row], int]:
    """Crowded; few distinct numbers, so that much happens at one instant."""
    processors = draw(st.integers(1, 6))
    unit = draw(st.sampled_from([1, 1, 0.25, 60]))
    latest = draw(st.sampled_from([0, 4, 15]))
    longest = draw(st.sampled_from([3, 8, 20]))
    sizes = st.integers(1, processors) | st.just(1)

    def row(id: int) -> Row:
        est = draw(st.integers(1, longest))
        run = draw(st.sampled_from([est, est]) | st.integers(0, longest))
        use = draw(st.sampled_from([0.4, 0.5, 0.5, 0.9, 0.96, 1.0]))
        return id, draw(st.integers(0, latest)) * unit, draw(sizes), run * unit, est * unit, use

    ids = draw(st.permutations(range(1, draw(st.integers(1, 14)) + 1)))
    return [row(id) for id in ids], processors


RATES = st.sampled_from([0.5, 0.25, 0.75, 0.0, 1.0, 1 / 3, 0.6]) | st.floats(0.001, 1)
STEPS = st.lists(st.tuples(st.integers(1, 12), RATES), max_size=2, unique_by=lambda step: step[0]).map(sorted)
RULES = st.builds(
    lambda first, steps, **others: {"steps": ((0, first), *steps), **others},
    RATES,
    STEPS,
    cost=st.sampled_from([0, 0.5, 2, 20]),
    count_cost=st.booleans(),
    remaining=st.booleans(),
    known=st.sampled_from([True, True, False]),
    test=st.booleans(),
    loss=st.sampled_from([0, 1 / 64, 0.25]) | st.floats(0, 0.9),
    always=st.booleans(),
)
THIRDS = {"steps": ((0, 1 / 3), (5, 0.6)), "cost": 0.5}
MINUTES = [(1, 1, 180, 0.96), (2, 1, 60, 0.4), (3, 3, 60, 0.4), (4, 1, 120, 0.4), (5, 1, 60, 0.4), (6, 2, 60, 0.4)]
MINUTES += [(id, 1, 60, 0.4) for id in range(7, 14)]
# At 145.333333 job 12 is planned to end just when job 4 is: two sums that differ as floats.
END_TOGETHER = [(id, 0, processors, time, time, use) for id, processors, time, use in MINUTES], 4

# Behind job 1 a microsecond of work takes 2.5 as floats are divided, and less by the value that 0.4 has as a float.
HALF = [(1, 0, 1, 10, 10, 0.5), (2, 0, 1, 0.000001, 1, 0.5)], 1


def options_of(rules: Rules) -> dict[str, Any]:
    scheduler = {
        "deploy": rules.deploy,
        "migration_cost": rules.cost,
        "count_cost": rules.count_cost,
        "bf_est": "remaining" if rules.remaining else "full",
        "cpu_info": rules.known,
        "no_cpu_info": "assume_100" if rules.test else "ignore_test",
    }
    execution = {
        "loss_low": rules.loss,
        "loss_high": rules.loss,
        "loss_when": "always" if rules.always else "bg_busy",
        "bg_rate": ", ".join(f"{time}:{rate!r}" for time, rate in rules.steps),
    }
    return {
        "scheduler": "sched/two_tier",
        "execution": "execution/two_tier",
        "plugin_options": {"sched/two_tier": scheduler, "execution/two_tier": execution},
    }


def simulated(rows: list[Row], processors: int, rules: Rules, **more: Any) -> Result:
    names = ("id", "submit", "processors", "run", "time_limit", "cpu_use")
    jobs = Workload.from_columns({name: [row[place] for row in rows] for place, name in enumerate(names)})
    result = simulate(jobs, processors=processors, catalogue=Catalogue(), **options_of(rules), **more)
    check_invariants(result, jobs)
    return result


def check(rows: list[Row], processors: int, rules: Rules, plans: Plans | None = None, **options: Any) -> None:
    result = simulated(rows, processors, rules, **options)
    expected = two_tier(rows, processors, rules, plans)
    assert column(result, "end") == {job.id: float(job.finish) / SECOND for job in expected}
    assert column(result, "requeues") == {job.id: job.kills for job in expected}
    stays = result.records.stays
    assert stays is not None
    moved = stays["job_id"][stays["came"] == "migration"].tolist()
    assert {job.id: moved.count(job.id) for job in expected} == {job.id: job.migrations for job in expected}


@DEPLOY
@SOME
@given(case=cases(), rules=RULES)
@example(case=HALF, rules={"steps": ((0, 0.4),)})
def test_every_job_ends_when_the_reference_says(
    case: tuple[list[Row], int], rules: dict[str, Any], deploy: Any
) -> None:
    check(*case, Rules(deploy, **rules))


@DEPLOY
@settings(max_examples=25)
@given(case=cases())
@example(case=END_TOGETHER)
def test_with_rates_that_are_no_binary_fractions(case: tuple[list[Row], int], deploy: Any) -> None:
    check(*case, Rules(deploy, **THIRDS))  # type: ignore[arg-type]


@DEPLOY
@settings(max_examples=25)
@given(case=cases(), drawn=st.sampled_from(["placement", "process"]), seed=st.integers(0, 3))
def test_the_rate_adds_up_to_the_work_of_every_job(
    case: tuple[list[Row], int], drawn: str, seed: int, deploy: Any
) -> None:
    rows, processors = case
    rules = Rules(deploy)
    plugins = {"sched/two_tier": {"deploy": deploy}, "execution/two_tier": {"drawn": drawn}}
    more = {**options_of(rules), "plugin_options": plugins, "seed": seed}
    names = ("id", "submit", "processors", "run", "time_limit", "cpu_use")
    jobs = Workload.from_columns({name: [row[place] for row in rows] for place, name in enumerate(names)})
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "events.jsonl"
        result = simulate(jobs, processors=processors, catalogue=Catalogue(), events=file, **more)
        log = [json.loads(line) for line in file.read_text().splitlines()]
    check_invariants(result, jobs)
    done = integrals(log, cost=20.0)
    work = {id: min(run, est) for id, _, _, run, est, _ in rows}
    assert done == pytest.approx(work, abs=1e-6)


def integrals(log: list[dict[str, Any]], cost: float) -> dict[int, float]:
    """What the last run of each job did, added up from the rates in the event log."""
    done: dict[int, float] = defaultdict(float)
    rate: dict[int, tuple[float, float]] = {}
    place: dict[int, str] = {}

    def until(job: int, time: float) -> None:
        since, speed = rate[job]
        done[job] += max(0.0, time - since) * speed

    for line in log:
        job, time, event = line["job"], line["time"], line["event"]
        if event == "start":
            done[job], rate[job], place[job] = 0.0, (time, 0.0), line["where"]
        elif event == "rate":
            until(job, time)
            rate[job] = max(time, rate[job][0]), line["rate"]
        elif event == "move":
            until(job, time)
            rate[job] = time + (cost if line["where"] != place[job] else 0.0), 0.0
            place[job] = line["where"]
        elif event == "end":
            until(job, time)
    return done
