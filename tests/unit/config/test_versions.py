"""What is otherwise in another version of Slurm."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.api import simulate
from emulator.config.options import Config
from emulator.config.slurm import parse_slurm_conf
from emulator.config.slurm.controller import parameters_of
from emulator.config.slurm.releases import VERSIONS
from emulator.config.slurm.versions import KEY_CHANGES, Rules, all_rules, rules_of
from emulator.engine.controller import Controller
from emulator.state.job import Job
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from emulator.workload.scenario_reader import read_scenario
from slurm_sim_plugins.errors import ConfigurationError

CONF = """SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PriorityType=priority/basic
SchedulerParameters=bf_interval=1,bf_resolution=1,sched_interval=1,batch_sched_delay=0
NodeName=n[1-3] CPUs=8 CoresPerSocket=8
PartitionName=p Nodes=n[1-3] Default=YES
PartitionName=q Nodes=n3
"""


def after(version: str, *words: str, conf: str = CONF, compiled: bool = False, until: float = 30) -> list[Job]:
    """Jobs, submitted one a second, after a while under a version."""
    requests = [
        JobRequest(number, number + 0.3, 500, parse_sbatch(each.split())) for number, each in enumerate(words, 1)
    ]
    made = Controller(parse_slurm_conf(conf), requests, slurm_version=version, compiled=compiled)
    made.run(until)
    return list(made.cluster.jobs.values())


def nodes_of(job: Job) -> tuple[int, ...]:
    return job.runs[0].allocation.nodes if job.runs else ()


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.compiled)])
@pytest.mark.parametrize(("version", "node"), [("22.05", 2), ("24.11", 2), ("26.05", 0)])
def test_a_job_of_one_node_gets_the_first_that_has_room(version: str, node: int, compiled: bool) -> None:
    words = ("-N1 -n6 -wn1 -t60", "-N1 -n3 -wn2 -t60", "-N1 -n7 -wn3 -t60", "-n1 -t60")
    assert nodes_of(after(version, *words, compiled=compiled)[-1]) == (node,)


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.compiled)])
def test_of_nodes_of_other_weight_the_lightest_is_the_first(compiled: bool) -> None:
    weighted = CONF.replace("NodeName=n[1-3]", "NodeName=n1 Weight=9 CPUs=8\nNodeName=n[2-3]").replace(
        "CPUs=8 Core", "Core"
    )
    weighted = weighted.replace("CoresPerSocket=8", "CPUs=8 CoresPerSocket=8")
    assert nodes_of(after("26.05", "-N1 -n2 -t60", conf=weighted, compiled=compiled)[0]) == (1,)
    full = ("-N1 -n8 -wn2 -t60", "-N1 -n8 -wn3 -t60", "-N1 -t60")
    assert nodes_of(after("26.05", *full, conf=weighted, compiled=compiled)[-1]) == (0,)


def test_a_job_of_several_nodes_or_of_named_ones_is_placed_as_before() -> None:
    words = ("-N1 -n6 -wn1 -t60", "-N1 -n3 -wn2 -t60", "-N1 -n7 -wn3 -t60", "-N2 -n3 -t60", "-N1 -wn2 -t60")
    before, now = after("24.11", *words), after("26.05", *words)
    assert [nodes_of(job) for job in before] == [nodes_of(job) for job in now]
    assert nodes_of(now[-1]) == (1,)


@pytest.mark.parametrize("version", ["24.11", "26.05"])
def test_tasks_fill_the_least_loaded_node_first(version: str) -> None:
    # 26.05 was asked this very question; where it parts from 24.11, select/answers/lln_looks-26.05.yaml says.
    least = CONF.replace("CR_Core", "CR_Core,CR_LLN")
    words = ("-N1 -n3 -wn1 -t60", "-N1 -n6 -wn2 -t60", "-N1 -n3 -wn3 -t60", "-n7 -t60")
    job = after(version, *words, conf=least)[-1]
    assert (nodes_of(job), tuple(job.runs[0].allocation.units)) == ((0, 2), (5, 2))


@pytest.mark.parametrize(("version", "limit"), [("24.11", 120), ("26.05", 480)])
def test_backfill_leaves_a_job_as_much_of_its_limit_as_the_plan(version: str, limit: int) -> None:
    ahead = ("-N2 --exclusive -t9", "-N3 --exclusive -t9")
    held = after(version, *ahead, "-N1 --exclusive -t60 --time-min=2")[-1]
    assert held.runs[0].limit == limit


def test_a_limit_grows_up_to_a_reservation_only() -> None:
    from functools import partial

    from emulator.operator.scontrol import scontrol

    command = "scontrol create reservation ReservationName=r StartTime=now+5minutes Duration=10 Nodes=n3 Users=root"
    requests = [
        JobRequest(number, float(number), 500, parse_sbatch(words.split()))
        for number, words in enumerate(
            ("-N2 --exclusive -t30 -wn[1-2]", "-N2 -t9 -wn[1-2]", "-N1 -t60 --time-min=2"), 1
        )
    ]
    made = Controller(parse_slurm_conf(CONF), requests, [(0.5, partial(scontrol, command))], slurm_version="26.05")
    made.run(30)
    assert made.refused == []
    assert made.cluster.jobs[3].runs[0].limit == 240


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("22.05", "ReqNodeNotAvail,_UnavailableNodes:n2"),
        ("24.11", "ReqNodeNotAvail,_May_be_reserved_for_other_job"),
        ("26.05", "ReqNodeNotAvail,_May_be_reserved_for_other_job"),
    ],
)
def test_nodes_that_are_kept_for_others_are_not_unavailable(version: str, reason: str) -> None:
    words = ("-N1 --exclusive -wn2 -t9", "-N1 --exclusive -wn2 -t9", "-N1 -xn1,n3 -t9")
    assert after(version, *words)[-1].reason == reason


@pytest.mark.parametrize(("version", "reason"), [("22.05", "Priority"), ("24.11", "None"), ("26.05", "None")])
def test_a_new_job_waits_its_turn_only_behind_jobs_of_its_nodes(version: str, reason: str) -> None:
    apart = CONF.replace("Nodes=n[1-3] Default", "Nodes=n[1-2] Default")
    words = ("-N2 --exclusive -t9", "-N2 --exclusive -t9", "-N1 -pq -t9")
    assert after(version, *words, conf=apart, until=3.3)[-1].reason == reason
    assert after(version, *words, conf=CONF, until=3.3)[-1].reason == "Priority", "p has the nodes of q"


def test_defaults_are_those_of_the_version() -> None:
    conf = parse_slurm_conf("NodeName=n1\nPartitionName=p Nodes=ALL Default=YES\n")
    told = {version: conf.under(version).parameters for version in VERSIONS}
    assert [told[version].text("PriorityType") for version in VERSIONS] == [
        "priority/basic",
        "priority/multifactor",
        "priority/multifactor",
    ]
    assert told["22.05"].text("SelectType") == "select/linear"
    stated = parse_slurm_conf("PriorityType=priority/multifactor\nNodeName=n1\nPartitionName=p Nodes=ALL\n")
    assert stated.under("22.05").parameters.text("PriorityType") == "priority/multifactor"


def test_a_patch_release_is_of_its_version_and_another_version_is_refused() -> None:
    conf = parse_slurm_conf(CONF)
    assert conf.version == VERSIONS[-1]
    assert conf.under("24.11.5").rules == rules_of("24.11") == parameters_of(conf.under("24.11")).rules
    for call in (lambda: conf.under("23.02"), lambda: Config(slurm_version="20.11")):
        with pytest.raises(ConfigurationError, match=r"choose a slurm_version of 22\.05, 24\.11, 26\.05"):
            call()


def test_a_run_says_its_version() -> None:
    jobs = [JobRequest(1, 0.0, 10, parse_sbatch(["-N1", "-t1"]))]
    conf = parse_slurm_conf(CONF)
    assert simulate(jobs, conf).about["simulation"]["slurm_version"] == "26.05"
    assert simulate(jobs, conf, slurm_version="22.05").about["simulation"]["slurm_version"] == "22.05"
    with pytest.raises(ConfigurationError, match=r"slurm_version: goes with a slurm\.conf"):
        simulate("nowhere.swf", 10, slurm_version="22.05")


def test_the_table_of_rules_is_whole() -> None:
    names = [rule.name for rule in all_rules()]
    assert names == list(Rules.__dataclass_fields__)
    for rule in all_rules():
        assert VERSIONS[0] < rule.since <= VERSIONS[-1]
        assert rule.says
        assert rule.before
        assert rule.recordings
    assert rules_of("22.05") == Rules(**dict.fromkeys(names, False))
    assert rules_of("26.05") == Rules(**dict.fromkeys(names, True))


def test_changes_are_of_keys_that_are_known() -> None:
    from emulator.config.slurm.parameters import PARAMETERS
    from emulator.config.slurm.records import LINES
    from emulator.config.slurm.settings import find

    for change in KEY_CHANGES:
        parameter = change.key.partition(".")[0]
        if PARAMETERS.find(parameter) is not None:
            assert find(PARAMETERS, change.key)
        else:
            assert any(LINES[line].find(change.key) for line in ("PartitionName", "NodeName")), change.key
        assert change.kind in ("new", "removed", "default", "meaning")
        assert bool(change.was) == (change.kind == "default")


@pytest.mark.parametrize(
    ("note", "more", "version"),
    [
        ("Slurm 24.11.5. Two jobs.", "timeline: {}\n", "24.11.5"),
        ("two jobs", "timeline: {}\n", "22.05"),
        ("two jobs", "", "26.05"),
        ("Slurm 24.11.5.", "slurm_version: 26.05.1\n", "26.05.1"),
    ],
)
def test_a_scenario_has_a_version(note: str, more: str, version: str, tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    file = tmp_path / "s.yaml"
    file.write_text(f"scenario: s\nnote: {note}\nslurm_conf: ''\njobs: []\n{more}", encoding="utf-8")
    scenario = read_scenario(file)
    assert scenario.slurm_version == version
    assert scenario.configuration().version == version[:5]
