"""What of a scenario may be played on a real Slurm."""

import pytest

from emulator.record.checks import argv, checked, sbatch_arguments
from emulator.record.player import may_suspend, script
from emulator.workload.scenario_reader import read_scenario
from slurm_sim_plugins.errors import InputError

pytest.importorskip("yaml")

SCENARIO = """\
scenario: small
note: ''
slurm_conf: |
  NodeName=n1 CPUs=1
  PartitionName=p Nodes=ALL Default=YES
jobs:
- {{name: {name}, id: 1, submit: 0, run: 5, exit_code: 3, sbatch: {sbatch}}}
- {{name: after, id: 2, submit: 0, run: 5, nodes: 2, time_limit: '1', sbatch: [-d, 'afterok:1:4,after:1+60']}}
actions:
- [1, {action}]
"""


@pytest.fixture
def scenario(tmp_path):
    def read(name="J", sbatch="[-n1]", action="scontrol hold 1"):
        path = tmp_path / "small.yaml"
        path.write_text(SCENARIO.format(name=name, sbatch=sbatch, action=action))
        return read_scenario(path)

    return read


def test_a_usual_scenario_is_taken(scenario):
    checked(scenario())


@pytest.mark.parametrize("action", ["scontrol shutdown", "scontrol write config /tmp/x", "sacctmgr load file=x"])
def test_commands_that_change_no_job_node_or_account_are_refused(scenario, action):
    with pytest.raises(InputError, match="cannot be played"):
        checked(scenario(action=action))


def test_a_command_that_names_a_file_is_refused(scenario):
    with pytest.raises(InputError, match="names a file"):
        checked(scenario(action="scontrol update JobId=1 StdOut=/etc/passwd"))


def test_a_job_is_named_by_plain_letters(scenario):
    with pytest.raises(InputError, match="is no name"):
        checked(scenario(name="'a;b'"))


def test_ids_are_those_of_the_recording():
    ids = {1: 11, 3: 33}
    assert argv("scontrol hold 1,3", ids) == ["scontrol", "hold", "11,33"]
    assert argv("scontrol update JobId=3_1 Priority=1 Dependency=afterok:1", ids) == [
        *("scontrol", "update", "JobId=33_1", "Priority=1", "Dependency=afterok:11")
    ]
    assert argv("scontrol update NodeName=n1 State=DRAIN Reason='3 tests'", ids)[-1] == "Reason=3 tests"
    assert argv("scancel 3", ids) == ["scancel", "33"]
    assert argv("sacctmgr -i modify user 1 set MaxJobs=3", ids) == [
        *("sacctmgr", "-i", "modify", "user", "1", "set", "MaxJobs=3")
    ]


def test_dependencies_are_renumbered(scenario):
    job = scenario().submissions[1]
    assert sbatch_arguments(job, {1: 5, 4: 8, 60: 7}) == [
        *("--job-name=after", "-N2", "--time=1", "-d", "afterok:5:8,after:5+60")
    ]


def test_scripts_hold_numbers_only(scenario):
    job = scenario().submissions[0]
    assert script(job, stops=False) == "sleep 5; exit 3"
    assert script(job, stops=True).endswith("' 5 3")


def test_work_is_counted_where_jobs_may_be_suspended(scenario):
    assert not may_suspend(scenario())
    assert may_suspend(scenario(action="scontrol suspend 1"))
