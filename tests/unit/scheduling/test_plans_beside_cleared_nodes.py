"""What backfill keeps for jobs that find nodes only where a run is being cleared, or as others make way (recorded)."""

from __future__ import annotations

from pathlib import Path

import pytest

from contrib.differential.plans import Plan, emulated
from emulator.truth.inputs import inputs_of
from emulator.truth.known import Known
from emulator.workload.scenario_reader import read_scenario

pytest.importorskip("yaml")

RECORDED = Path(__file__).parents[2] / "truth" / "recorded"


@pytest.fixture(scope="module")
def plans() -> dict[int, list[Plan]]:
    scenario = read_scenario(RECORDED / "nodes_being_cleared_22.yaml")
    return {int(one.at): one.plans for one in emulated(scenario, inputs_of(scenario, Known().beside(scenario)))}


def test_a_job_is_planned_in_a_second_on_nodes_that_are_being_cleared(plans: dict[int, list[Plan]]) -> None:
    assert [(one.job, round(one.start), one.nodes) for one in plans[26]][1:3] == [
        ("P2", 28, ("c1", "c2")),
        ("P3", 600, ("c1",)),
    ]


def test_nodes_are_kept_to_a_whole_step_for_a_job_for_which_others_make_way(plans: dict[int, list[Plan]]) -> None:
    found = {one.job: one for one in plans[26]}
    assert (round(found["H"].start), found["M"].start) == (27, 120)


def test_a_job_is_planned_in_a_second_beside_one_that_stands_still_for_it() -> None:
    scenario = read_scenario(RECORDED / "cleared_beside_suspended_22.yaml")
    cycles = emulated(scenario, inputs_of(scenario, Known().beside(scenario)))
    (cycle,) = [one for one in cycles if 71.9 < one.at < 72]
    found = {one.job: one for one in cycle.plans}
    assert (round(found["H2"].start), found["H2"].nodes) == (73, ("n1", "n2", "n3", "n4"))
    assert not cycle.started
