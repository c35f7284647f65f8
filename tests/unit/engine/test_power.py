"""Power saving: when nodes are powered down and resumed, what it means for jobs, and where it is shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

from emulator.accounting.runfolder import read_run
from emulator.api import simulate
from emulator.cli import slurm_sim
from emulator.config.operation import Operation
from emulator.config.slurm import parse_slurm_conf
from emulator.engine.passes import Passes
from emulator.engine.power import PowerSaving
from emulator.explain.story import tell
from emulator.operator.scontrol import scontrol
from emulator.result import Result
from emulator.views.recorded import RecordedCluster
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from emulator.workload.submissions import Submissions
from slurm_sim_plugins.errors import ConfigurationError, InputError

CONF = """
ClusterName=small
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SuspendProgram=/sbin/suspend
ResumeProgram=/sbin/resume
SuspendTime=100
SuspendTimeout=20
ResumeTimeout=60
SuspendRate=0
NodeName=n[1-3] CPUs=2
PartitionName=lo Nodes=ALL Default=YES MaxTime=INFINITE
"""
Submitted = tuple[float, float, str]


def run(jobs: list[Submitted], conf: str = CONF, clock: str = "ideal", **options: Any) -> Result:
    """Jobs 1, 2, ..., each with its submission, its work and what it asks for."""
    preset = {} if parse_slurm_conf(conf).power is None else {"resume_time": 30.0}
    operation = Operation(**preset | options.pop("operation", {}))
    requests = [
        JobRequest(number, at, work, parse_sbatch(line.split())) for number, (at, work, line) in enumerate(jobs, 1)
    ]
    actions = [(at, partial(scontrol, command)) for at, command in options.pop("commands", ())]
    submissions = Submissions(requests, "jobs", 1_000_000_000)
    return simulate(submissions, parse_slurm_conf(conf), clock=clock, operation=operation, actions=actions, **options)


def starts(result: Result) -> list[float]:
    return [float(each) for each in result.records.jobs["start"]]


def nodes(result: Result) -> list[str]:
    return [str(each) for each in result.records.jobs["nodes"]]


def test_a_job_on_nodes_that_are_powered_down_starts_when_they_have_been_resumed() -> None:
    result = run([(0, 50, "-n1"), (300, 10, "-n6 -t1")])
    # n1 is powered down from 50 + 100 + 20 on, the others from 120 on.
    assert starts(result) == [0, 330]
    assert result.records.jobs["end"].tolist() == [50, 340]
    assert result.about["power"]["resumes"] == 3


@pytest.mark.parametrize("rate", [1, 7, 90_001])
@given(st.lists(st.floats(0.0, 500.0), min_size=1, max_size=4))
@settings(max_examples=10, deadline=None)
@example([1947.3978737])
def test_times_of_many_digits_are_no_reason_to_look_again_and_again(rate: int, ends: list[float]) -> None:
    conf = CONF.replace("SuspendRate=0", f"SuspendRate={rate}\nResumeRate={rate}")
    looks = 0

    def counted(self: PowerSaving, at: float, look: Callable[[PowerSaving, float], None] = PowerSaving.look) -> None:
        nonlocal looks
        looks += 1
        assert looks < 500
        look(self, at)

    with patch.object(PowerSaving, "look", counted):
        result = run([(number / 3, end, "-n2") for number, end in enumerate(ends)] + [(2_500, 1, "-n6")], conf)
    assert result.records.jobs["state"].tolist() == ["COMPLETED"] * (len(ends) + 1)


def test_the_limit_counts_from_the_start() -> None:
    result = run([(300, 100, "-n6 -t1")])
    assert (starts(result), result.records.jobs["end"].tolist()) == ([330], [390])
    assert result.records.jobs["state"].tolist() == ["TIMEOUT"]


def test_under_slurms_clock_the_sweep_finds_out_that_nodes_are_there() -> None:
    result = run([(300, 50, "-n6 -t1")], clock="slurm")
    # Sweeps come at second 29 of each half minute; the nodes are there at about 332.
    assert starts(result) == [359]


def test_nodes_that_are_powering_down_take_no_jobs() -> None:
    # From 100 to 120 all of them are.
    result = run([(110, 10, "-n1")])
    assert starts(result) == [150]
    assert nodes(run([(10, 200, "-n2"), (110, 10, "-n1")])) == ["n1", "n2"]


def test_nodes_that_are_on_go_before_nodes_that_are_powered_down_whatever_their_weight() -> None:
    conf = CONF.replace("NodeName=n[1-3] CPUs=2", "NodeName=n[1-2] CPUs=2\nNodeName=n3 CPUs=2 Weight=9")
    jobs = [(0, 400, "-n1 -wn3"), (200, 10, "-n1"), (205, 10, "-n2")]
    assert nodes(run(jobs, conf)) == ["n3", "n3", "n1"]
    assert starts(run(jobs, conf)) == [0, 200, 235]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("version", "node"), [("22.05", "n1"), ("24.11", "n2")])
def test_weights_of_nodes_that_are_powered_down(version: str, node: str, compiled: bool) -> None:
    conf = CONF.replace("NodeName=n[1-3] CPUs=2", "NodeName=n[1,3] CPUs=2 Weight=9\nNodeName=n2 CPUs=2")
    assert nodes(run([(200, 10, "-n2")], conf, compiled=compiled, slurm_version=version)) == [node]


def test_a_job_may_start_on_a_node_that_is_being_resumed() -> None:
    result = run([(300, 100, "-n1 -wn1"), (310, 100, "-n1 -wn1")])
    assert starts(result) == [330, 330]
    assert result.about["power"]["resumes"] == 1


def test_a_job_on_a_node_that_does_not_resume_is_requeued_and_the_node_is_down() -> None:
    result = run([(300, 10, "-n1"), (300, 10, "-n1 -wn1")], operation={"resume_time": 90.0})
    runs = result.records.runs
    assert runs["outcome"].tolist()[:2] == ["NODE_FAIL", "NODE_FAIL"]
    # No node comes back, one after the other.
    assert result.records.jobs["state"].tolist() == ["PENDING", "PENDING"]
    assert result.about["power"]["resumes_failed"] == 3
    refused = run([(300, 10, "-n1 --no-requeue")], operation={"resume_time": 90.0})
    assert refused.records.jobs["state"].tolist() == ["NODE_FAIL"]


@pytest.mark.slow
def test_failures_are_drawn_from_the_seed() -> None:
    jobs = [(300.0 * number, 10.0, "-n6") for number in range(1, 30)]
    conf = CONF.replace("ClusterName", "SlurmctldParameters=idle_on_node_suspend\nClusterName")
    found = [run(jobs, conf, seed=seed, operation={"resume_failures": 0.1}).about["power"] for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]
    assert 0 < found[0]["resumes_failed"] < 0.3 * found[0]["resumes"]
    with pytest.raises(ConfigurationError, match="share from 0 to 1"):
        Operation(resume_failures=1.5)


def test_the_resume_takes_half_of_its_timeout_where_nothing_is_said() -> None:
    conf = CONF.replace("Default=YES", "Default=YES ResumeTimeout=200")
    assert starts(run([(300, 10, "-n1")], conf, operation={"resume_time": 0.0})) == [400]


def test_rates() -> None:
    conf = CONF.replace("SuspendRate=0", "SuspendRate=60\nResumeRate=2")
    # One each 30 s; before 24.11 two at once.
    assert starts(run([(300, 10, "-n6")], conf)) == [390]
    assert starts(run([(300, 10, "-n6")], conf, slurm_version="22.05")) == [360]
    slow = CONF.replace("SuspendRate=0", "SuspendRate=1")
    # One is powered down at 100, 160 and 220.
    assert nodes(run([(150, 10, "-n2"), (150, 10, "-n2")], slow)) == ["n2", "n3"]


def test_what_is_excepted_stays_on() -> None:
    def resumes(more: str, line: str = "") -> int:
        conf = CONF.replace("ClusterName", f"{more}\nClusterName") + line
        return int(run([(300, 10, "-n6")], conf).about["power"]["resumes"])

    assert [resumes(each) for each in ("SuspendExcNodes=n1", "SuspendExcNodes=n[1-3]:2,n1", "SuspendExcNodes=ALL")] == [
        2,
        1,
        0,
    ]
    assert resumes("SuspendExcParts=some", "PartitionName=some Nodes=n[1-2]\n") == 1
    assert resumes("", "PartitionName=some Nodes=n[1-2] SuspendTime=INFINITE\n") == 1
    assert resumes("", "PartitionName=some Nodes=n[1-2] SuspendTime=350\n") == 1


def test_excepted_states_and_idle_on_node_suspend() -> None:
    drained = [(5.0, "scontrol update NodeName=n1 State=DRAIN")]
    down = [(300, 10, "-n1 -wn1 -t1")]
    kept = CONF.replace("ClusterName", "SuspendExcStates=DRAIN\nClusterName")
    idle = CONF.replace("ClusterName", "SlurmctldParameters=idle_on_node_suspend\nClusterName")
    later = [*drained, (350.0, "scontrol update NodeName=n1 State=RESUME")]
    assert starts(run(down, idle, commands=drained)) == [330]
    # It was on while it was drained, and is powered down now.
    assert starts(run(down, kept, commands=later)) == [350]
    assert starts(run(down, CONF, commands=later)) == [380]


def test_a_partition_powers_its_nodes_down_when_its_jobs_have_left_them() -> None:
    conf = CONF + "PartitionName=once Nodes=n1 PowerDownOnIdle=YES\n"
    jobs = [(0, 10, "-n1 -ponce"), (5, 10, "-n1 -wn1"), (20, 10, "-n1 -wn1")]
    # The second job starts on it nevertheless; from 15 to 35 it is powering down.
    assert starts(run(jobs, conf)) == [0, 5, 65]


def test_cloud_nodes_are_powered_down_at_first() -> None:
    conf = CONF.replace("Nodes=ALL", "Nodes=n[1-3]") + "NodeName=c1 CPUs=2 State=CLOUD\nPartitionName=cloud Nodes=c1\n"
    assert starts(run([(1, 10, "-n1 -pcloud"), (2, 10, "-n1")], conf)) == [31, 2]


def test_operators_power_nodes() -> None:
    def later(*commands: tuple[float, str]) -> list[float]:
        told = [(at, f"scontrol update NodeName=n1 State={state}") for at, state in commands]
        return starts(run([(0, 60, "-n1 -wn1"), (50, 10, "-n1 -wn1 --begin=now+250")], commands=told))

    assert later() == [0, 330]
    assert later((260, "POWER_UP")) == [0, 300]
    assert later((10, "POWER_DOWN"), (90, "POWER_UP")) == [0, 330]
    assert later((10, "POWER_DOWN"), (210, "POWER_UP")) == [0, 300]
    # It takes no other job until it is powered down.
    told = [(10.0, "scontrol update NodeName=n1 State=POWER_DOWN_ASAP")]
    assert starts(run([(0, 60, "-n1 -wn1"), (20, 5, "-n1 -wn1")], commands=told)) == [0, 110]
    told = [(10.0, "scontrol update NodeName=n1 State=POWER_DOWN_FORCE")]
    result = run([(0, 60, "-n1 -wn1 --no-requeue"), (20, 5, "-n1 -wn1")], commands=told)
    assert (result.records.jobs["state"].tolist(), starts(result)) == (["NODE_FAIL", "COMPLETED"], [0, 60])
    always_on = CONF.replace("SuspendTime=100\n", "")
    refused = run([(0, 60, "-n1")], always_on, commands=told).about["refused"]
    assert "no power saving" in next(iter(refused.values()))


def test_a_job_that_is_cancelled_while_it_is_configuring_leaves_its_nodes() -> None:
    result = run([(300, 10, "-n2 -wn1"), (311, 10, "-n2 -wn1")], commands=[(310.0, "scancel 1")])
    assert result.records.jobs["state"].tolist() == ["CANCELLED", "COMPLETED"]
    assert starts(result)[1] == 330


@pytest.mark.parametrize("second", [327.5, 351, 355.25, 358.75])
def test_a_run_that_is_over_is_not_begun_when_its_nodes_are_there(second: float) -> None:
    """It leaves the node that is not lost after its epilog, as the other one has been resumed."""
    lost = [(second, "scontrol update NodeName=n1 State=DOWN Reason=power")]
    jobs = [(0, 50, "-n1"), (300, 10, "-N2 -n4 -t1")]
    runs = run(jobs, clock="slurm", operation={"epilog": 8.0}, commands=lost).records.runs
    assert runs["start"].tolist()[1] == 300.5
    assert runs["end"].tolist()[1] == second


@pytest.mark.parametrize("power", ["SuspendTime=-1\n", "SuspendTime=100000\n", "SuspendTime=100\n"])
def test_prologs_are_over_with_power_saving_as_without(power: str) -> None:
    """Each is once the nodes of its run are on; that changes a record, for which backfill goes round."""
    found: list[float] = []

    def noted(passes: Passes) -> None:
        found.append(passes.cluster.now)

    jobs = [(0.0, 13.0, "-n2 -wn1 -t2"), (300.0, 20.0, "-n2 -wn1 -t2"), (301.0, 20.0, "-n2 -wn2 -t2")]
    with patch.object(Passes, "prolog_over", lambda passes, *_: noted(passes)):
        conf = CONF.replace("SuspendTime=100\n", power)
        result = run(jobs, conf, clock="slurm", operation={"prolog_slurmctld": 8.0})
    assert found == sorted(start + 8 for start in starts(result))


def test_views_show_it(tmp_path: Path) -> None:
    result = run([(300, 10, "-n2")], clock="slurm", out=tmp_path / "out")
    recorded = RecordedCluster.read(tmp_path / "out")
    assert {node.state for node in recorded.nodes(50)} == {"idle"}
    assert {node.state for node in recorded.nodes(115)} == {"idle%"}
    assert [node.state for node in recorded.nodes(320)] == ["allocated#", "idle~", "idle~"]
    assert [node.state for node in recorded.nodes(358)] == ["allocated", "idle~", "idle~"]
    assert [job.state for job in recorded.at(320)] == ["CONFIGURING"]
    assert [job.state for job in recorded.at(360)] == ["RUNNING"]
    runner = CliRunner()

    def told(*words: str) -> str:
        done = runner.invoke(slurm_sim, [*words, str(tmp_path / "out"), "--at", "320"])
        assert done.exit_code == 0, done.output
        return done.output

    assert " CF " in told("squeue")
    assert "idle~" in told("sinfo") and "alloc#" in told("sinfo")
    assert "n[2-3]" in told("sinfo", "-t", "powered_down") and "n1" not in told("sinfo", "-t", "powered_down")
    events = [json.loads(line) for line in (tmp_path / "out" / "events.jsonl").read_text().splitlines()]
    assert [each["event"] for each in events if each.get("job") == 1][-3:] == ["start", "configured", "end"]
    allocated = next(each["time"] for each in events if each["event"] == "start")
    assert result.records.runs["configuring"].tolist() == [starts(result)[0] - allocated]
    story = [step.text for step in tell(read_run(tmp_path / "out"), 1).steps]
    assert "its nodes have been resumed: it starts, and its limit counts from now on" in story
    assert "its node n1 is POWERING_UP from now on" in story


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("SuspendExcNodes=x1", "slurm.conf:2: there is no node or node set x1"),
        ("SuspendExcNodes=n1:b", "slurm.conf:2: SuspendExcNodes: 'n1:b' is not written as NODES or NODES:COUNT"),
        ("SuspendExcParts=hi", "slurm.conf:2: there is no partition 'hi'; there are lo"),
        ("SuspendExcStates=AWAKE", "slurm.conf:2: SuspendExcStates: 'AWAKE' is none of"),
        ("SuspendTime=soon", "slurm.conf:2: SuspendTime: 'soon' is no whole number"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(line: str, wrong: str) -> None:
    with pytest.raises(InputError) as error:
        parse_slurm_conf(CONF.replace("ClusterName=small", line))
    assert str(error.value).startswith(wrong)


def test_without_programs_nodes_stay_on_and_it_is_said() -> None:
    conf = parse_slurm_conf(CONF.replace("ResumeProgram=/sbin/resume\n", ""))
    assert conf.power is None
    assert "slurm.conf:7: power saving is off, as in Slurm, for there is no ResumeProgram" in map(str, conf.notices)
    idle = parse_slurm_conf(CONF.replace("SuspendTime=100\n", ""))
    assert any("SuspendProgram has no effect" in str(notice) for notice in idle.notices)
    by_node = parse_slurm_conf(CONF.replace("SuspendTime=100\n", "").replace("CPUs=2", "CPUs=2 SuspendTime=9"))
    assert by_node.power is not None and by_node.power.times["n2"].suspend == 9


@pytest.mark.parametrize("option", ["resume_time", "resume_failures"])
def test_options_without_power_saving_are_refused(option: str) -> None:
    conf = "NodeName=n1 CPUs=2\nPartitionName=lo Nodes=ALL Default=YES\n"
    with pytest.raises(ConfigurationError, match=rf"operation\.{option}: goes with power saving"):
        run([(0, 10, "-n1")], conf, operation={option: 0.5})
