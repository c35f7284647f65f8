"""Every scheduler against its reference where the times planned for queue, waiting jobs and runs differ."""

from __future__ import annotations

from random import Random
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slurm_sim_plugins import Plan, WalltimeView, hookimpl
from tests.builders.jobs import run, times

from .cluster import JobRow, Plans, Schedule
from .conservative import conservative
from .drawing import VARIANTS, Case, Variant, cases, in_floats, modes, runs_of
from .easy import easy
from .fcfs import fcfs
from .pv_easy import pv_easy
from .realtime import Rules as RealtimeRules
from .realtime import realtime
from .test_realtime import MACHINES, RULES, pieces, simulated
from .test_realtime import cases as cases_on_blocks
from .test_two_tier import RULES as TIER_RULES
from .test_two_tier import cases as cases_on_tiers
from .test_two_tier import check
from .two_tier import Rules as TierRules

CASES = settings(max_examples=60)
PASSES = st.sampled_from(["batch", "event"])
RANDOMS = st.randoms(use_true_random=False)


def planning(plans: Plans) -> dict[str, Any]:
    """Options of the emulator for a walltime plugin that answers just these plans."""

    class Planned:
        name: ClassVar[str] = "walltime/planned"

        @hookimpl
        def walltime_submit(self, view: WalltimeView) -> Plan:
            return Plan(*map(float, plans[view.job.id]))

    return {"walltime": "walltime/planned", "plugins": [Planned]}


def drawn(limits: dict[int, float], unit: float, random: Random) -> Plans:
    """Three planned times for each job; that of its run is often its limit, as with selective adjustment."""
    plans = {}
    for id, limit in limits.items():
        queue, waiting, running = (random.randint(1, max(1, round(limit / unit))) * unit for _ in range(3))
        chosen = waiting if random.random() < 0.6 else unit
        plans[id] = min(queue, limit), min(chosen, limit), limit if random.random() < 0.6 else min(running, limit)
    return plans


def plans_of(case: Case, random: Random) -> Plans:
    return drawn({row[0]: row[4] for row in case.jobs}, case.unit, random)


POLICIES: dict[str, tuple[Any, dict[str, Any]]] = {
    "FCFS": (fcfs, {"scheduler": "sched/fcfs"}),
    "SJF": (
        lambda *args, **options: fcfs(*args, order="sjf", **options),
        {"scheduler": "sched/fcfs", "priority": "priority/sjf"},
    ),
    "EASY": (easy, {"scheduler": "sched/easy"}),
    "EASY, sticky": (
        lambda *args, **options: easy(*args, reserve="sticky", **options),
        {"scheduler": "sched/easy", "plugin_options": {"sched/easy": {"reservation": "sticky"}}},
    ),
    "SJF-EASY": (
        lambda *args, **options: easy(*args, order="sjf", **options),
        {"scheduler": "sched/easy", "backfill": "backfill/sjf"},
    ),
    "conservative, rebuild": (conservative, {"scheduler": "sched/conservative"}),
    "conservative, never_later": (
        lambda *args, **options: conservative(*args, "never_later", **options),
        {"scheduler": "sched/conservative", "plugin_options": {"sched/conservative": {"compress": "never_later"}}},
    ),
    "realtime, no jobs of its own": (easy, {"scheduler": "sched/realtime"}),
}
"""Reference, and options of the emulator, by name."""


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
@CASES
@given(case=cases(), passes=PASSES, kill_at_limit=st.booleans(), random=RANDOMS)
def test_plans_that_differ(policy: str, case: Case, passes: Any, kill_at_limit: bool, random: Random) -> None:
    reference, words = POLICIES[policy]
    plans = plans_of(case, random)
    options = {"passes": passes, "kill_at_limit": kill_at_limit}
    expected = reference(case.jobs, case.processors, plans=plans, **options)
    assert times(case.emulated(**options, **words, **planning(plans))) == expected


@CASES
@given(case=cases(), variant=VARIANTS, passes=PASSES, kill_at_limit=st.booleans(), random=RANDOMS, data=st.data())
def test_plans_that_differ_under_pv_easy(
    case: Case, variant: Variant, passes: Any, kill_at_limit: bool, random: Random, data: st.DataObject
) -> None:
    plans = plans_of(case, random)
    mode, preemption = data.draw(modes(case.unit))
    options = {"passes": passes, "kill_at_limit": kill_at_limit}
    expected = pv_easy(case.exact, case.processors, mode=mode, plans=plans, **options, **variant.of_reference())
    result = case.emulated(preemption=preemption, **options, **variant.of_emulator(), **planning(plans))
    assert runs_of(result) == in_floats(expected)


@CASES
@given(case=cases_on_blocks(), rules=RULES, random=RANDOMS)
def test_plans_that_differ_with_realtime_jobs(case: Any, rules: RealtimeRules, random: Random) -> None:
    rows, name = case
    plans = drawn({row[0]: row[4] for row in rows}, 1, random)
    result = simulated(rows, MACHINES[name], rules, **planning(plans))
    assert pieces(result) == realtime(rows, MACHINES[name], rules, plans)


@pytest.mark.parametrize("deploy", ["kill", "reserve", "migrate"])
@CASES
@given(case=cases_on_tiers(), rules=TIER_RULES, random=RANDOMS)
def test_plans_that_differ_on_two_tiers(case: Any, rules: dict[str, Any], deploy: Any, random: Random) -> None:
    rows, processors = case
    plans = drawn({row[0]: row[4] for row in rows}, min(row[4] for row in rows), random)
    check(rows, processors, TierRules(deploy, **rules), plans, **planning(plans))


# id, submit, processors, run, limit; the time planned while it waits. Runs are planned with their limits.
EASY_CASE = [(21, 4, 5, 6, 6, 1), (23, 4, 64, 2, 2, 1), (11, 5, 1, 7, 8, 6), (17, 7, 3, 6, 8, 1), (16, 8, 7, 2, 4, 3)]
CONSERVATIVE_CASE = [(9, 0, 14, 11, 1100, 1), (10, 0, 32, 42, 44, 44), (11, 1, 8, 16, 46, 16)]


@pytest.mark.parametrize(
    ("policy", "processors", "rows", "start"),
    [
        ("EASY", 64, EASY_CASE, 8),
        ("SJF-EASY", 64, EASY_CASE, 8),
        ("conservative, rebuild", 32, CONSERVATIVE_CASE, 1),
        ("conservative, never_later", 32, CONSERVATIVE_CASE, 1),
    ],
)
def test_a_run_with_a_longer_plan_moves_the_reservation(policy: str, processors: int, rows: Any, start: float) -> None:
    """Job 11 was refused; it fits once a job that was planned for less has started and moved the head's reservation."""
    jobs: list[JobRow] = [row[:5] for row in rows]
    plans = {id: (limit, waiting, limit) for id, _, _, _, limit, waiting in rows}
    reference, words = POLICIES[policy]
    expected: Schedule = reference(jobs, processors, plans=plans)
    assert expected[11][0] == start
    assert times(run(jobs, processors, **words, **planning(plans))) == expected
