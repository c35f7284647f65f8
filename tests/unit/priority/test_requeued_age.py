"""Of what age a job is that is requeued."""

from pathlib import Path

import pytest

from emulator.truth.emulated import controller_of
from emulator.truth.inputs import inputs_of
from emulator.truth.known import Known
from emulator.workload.scenario_reader import read_scenario

pytest.importorskip("yaml")

RECORDED = Path(__file__).parents[2] / "truth" / "recorded"


@pytest.mark.parametrize("version", ["22", "24", "26"])
def test_a_requeued_job_is_of_no_age(version: str) -> None:
    """Recorded: it has the number that it had as it was submitted, also where it gets a new one at once."""
    scenario = read_scenario(RECORDED / f"requeued_age_{version}.yaml")
    controller = controller_of(inputs_of(scenario, Known().beside(scenario)))
    controller.run(until=24.0)
    job = controller.cluster.jobs[1]
    assert job.restarts == 1
    assert job.priority == 1000
