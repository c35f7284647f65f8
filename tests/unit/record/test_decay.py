"""When priorities are worked out, and when rounds begin, as a recording says."""

import pytest

from emulator.engine.controller import Controller
from emulator.truth.emulated import timing_of
from emulator.truth.inputs import inputs_of
from emulator.truth.known import Known
from emulator.workload.scenario_reader import read_scenario

TEXT = """\
scenario: small
note: ""
slurm_version: 26.05.5
slurm_conf: |
  PriorityType=priority/multifactor
  PriorityCalcPeriod=1
  PriorityFlags=ACCRUE_ALWAYS
  AccountingStorageType=accounting_storage/slurmdbd
  PriorityWeightAge=6000
  PriorityMaxAge=0:10:00
  NodeName=c1 CPUs=1
  PartitionName=p Nodes=c1 Default=YES
sacctmgr: [sacctmgr -i add cluster truth, sacctmgr -i add account a, sacctmgr -i add user root account=a]
uptime: 24.0
decay: 24.5
backfill: 24.5
second: 0.0
rounds: [0.994, 1.0001]
rounds_seen: [1.998, 5.999, 8.999]
jobs:
- {name: A, id: 1, submit: 1.0, run: 500, sbatch: [-n1]}
- {name: B, id: 2, submit: 2.0, run: 500, sbatch: [-n1]}
"""


@pytest.fixture
def inputs(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(TEXT)
    scenario = read_scenario(path)
    return inputs_of(scenario, Known().beside(scenario))


def test_priorities_are_worked_out_when_their_thread_wakes_up(inputs):
    controller = Controller(inputs.conf, inputs.requests, (), timing_of(inputs), accounts=inputs.accounts())
    waiting = controller.cluster.jobs
    controller.run(until=35.4)
    before = waiting[2].priority
    controller.run(until=35.6)
    assert waiting[2].priority > before


def test_rounds_that_begin_with_seconds_are_where_they_were_seen(inputs):
    timing = timing_of(inputs)
    assert (timing.round_phase, timing.round) == (pytest.approx(0.999), 1.0)
