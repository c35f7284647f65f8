"""One ``simulate`` and one ``compare`` for every machine and clock."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from emulator import Config, Workload, simulate
from emulator.campaign import run_all
from emulator.campaign.expand import expand
from emulator.campaign.file import read_campaign
from emulator.cli import slurm_sim
from emulator.config.preemption import Preemption
from emulator.config.sacctmgr import parse_accounts
from emulator.config.slurm import parse_slurm_conf
from emulator.resume import keeper
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from emulator.workload.submissions import Submissions
from slurm_sim_plugins import ConfigurationError

CONF = """ClusterName=t
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
NodeName=n[1-4] CPUs=4
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE
"""
EVENTS = "".join(
    f"-dt {submit} -e submit_batch_job | -sim-walltime {run} --uid=u{number} -t {limit} -n {tasks} a.job\n"
    for number, (submit, run, limit, tasks) in enumerate([(0, 300, 10, 12), (10, 300, 10, 16), (20, 100, 4, 4)])
)
ROWS = {"id": [1, 2, 3], "submit": [0, 10, 20], "processors": [12, 16, 4], "run": [300, 300, 100]}
"""A job of 12, one of 16 that waits for it, and one of 4 that fits beside the first and is short."""


def log() -> Workload:
    return Workload.from_columns({**ROWS, "time_limit": [600, 600, 240]}, machine=16)


def starts(result: Any) -> list[float]:
    return result.records.jobs["start"].tolist()


def site(folder: Path) -> list[str]:
    (folder / "slurm.conf").write_text(CONF)
    (folder / "jobs.events").write_text(EVENTS)
    return [str(folder / "jobs.events"), "--slurm-conf", str(folder / "slurm.conf")]


def test_the_machine_is_a_number_or_a_configuration_or_its_path(tmp_path: Path) -> None:
    site(tmp_path)
    assert (
        starts(simulate(log(), 16)) == starts(simulate(log(), processors=16)) == starts(simulate(log())) == [0, 300, 20]
    )
    conf = parse_slurm_conf(CONF)
    read = simulate(log(), conf, clock="ideal", scheduler="sched/easy")
    assert starts(read) == [0, 300, 20]
    assert read.about["simulation"]["timing"] == "ideal"
    by_path = simulate(str(tmp_path / "jobs.events"), tmp_path / "slurm.conf")
    assert by_path.about["simulation"]["timing"] == "slurm"
    assert by_path.about["workload"]["name"] == "jobs"
    assert all(0 < start % 300 < 35 for start in starts(by_path))
    requests = [JobRequest(1, 0.0, 10.0, parse_sbatch(["-n1", "-t1"]))]
    assert starts(simulate(requests, conf, clock="ideal")) == [0.0]
    assert simulate(Submissions(requests, "mine", 1600000000), conf).records.epoch == 1600000000


def test_processors_take_slurms_clock() -> None:
    ideal, daemons = simulate(log()), simulate(log(), clock="slurm")
    for result in (ideal, daemons):
        assert result.about["run"]["label"].startswith("sched/easy")
        assert result.records.processors == 16
    late = [second - first for first, second in zip(starts(ideal), starts(daemons), strict=True)]
    assert all(0 < each < 5 for each in late)
    assert starts(simulate(log(), 16, clock="slurm")) == starts(daemons)
    backfill = simulate(log(), clock="slurm", scheduler="sched/backfill")
    assert backfill.about["slots"]["SchedulerType"] == "sched/backfill"
    assert starts(backfill)[2] > starts(daemons)[2]


def test_processors_take_slurms_clock_on_the_command_line(tmp_path: Path) -> None:
    trace = str(tmp_path / "log.swf")
    row = "{} {} -1 {} {} -1 -1 {} {} -1 1 1 -1 -1 1 -1 -1 -1"
    lines = [row.format(n, s, r, p, p, t) for n, s, r, p, t in [(1, 0, 300, 12, 600), (2, 10, 300, 16, 600)]]
    Path(trace).write_text("; MaxProcs: 16\n" + "\n".join(lines) + "\n")
    command = [trace, "--processors", "16", "--clock", "slurm", "--json"]
    run = CliRunner().invoke(slurm_sim, ["run", *command])
    assert run.exit_code == 0, run.output
    about = json.loads(run.stdout)
    assert (about["simulation"]["timing"], about["machine"]["cluster"]) == ("slurm", "flat")
    several = CliRunner().invoke(
        slurm_sim, ["compare", *command, "--policy", "sched/easy", "--policy", "sched/backfill"]
    )
    assert several.exit_code == 0, several.output
    assert {each["simulation"]["timing"] for each in json.loads(several.stdout).values()} == {"slurm"}


def test_the_options_are_those_of_any_machine() -> None:
    first = simulate(
        log(), parse_slurm_conf(CONF), config=Config(slots={"PriorityType": "priority/sjf"}, clock="ideal")
    )
    assert first.about["slots"]["PriorityType"] == "priority/sjf"
    again = simulate(log(), parse_slurm_conf(CONF), priority="priority/sjf", clock="ideal")
    assert again.about == first.about


@pytest.mark.parametrize(
    ("machine", "options", "words"),
    [
        (16, {"clock": "slurm", "kill_at_limit": False}, "kill_at_limit is for the ideal clock"),
        (16, {"clock": "slurm", "execution": "execution/two_tier"}, "ExecutionType=execution/two_tier: in Slurm's"),
        (
            16,
            {"clock": "slurm", "preemption": Preemption(mode="SUSPEND")},
            "preemption with mode SUSPEND is that of virtual machines",
        ),
        (16, {"processors": 8}, "machine is 16 and processors is 8; give one of them"),
        (16, {"accounts": parse_accounts("", "none")}, "accounts: goes with a slurm.conf as the machine"),
        (1.5, {}, "machine is 1.5; give a number of processors, or a slurm.conf"),
        (Config(), {}, "give a number of processors, or a slurm.conf"),
        (0, {}, "a machine of 0 processors cannot run a job"),
        ("conf", {"processors": 8}, "leave out processors, or change the file"),
        ("conf", {"passes": "event"}, "passes is for the ideal clock; leave passes out"),
        ("conf", {"kill_at_limit": False, "expired": "now"}, "leave out expired, kill_at_limit, or change the file"),
        ("conf", {"dispatch": "pluggy"}, "leave out dispatch, or change the file"),
        ("conf", {"scheduler": "sched/two_tier"}, "sched/two_tier is for machines of processors"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(machine: Any, options: dict[str, Any], words: str) -> None:
    given = parse_slurm_conf(CONF) if machine == "conf" else machine
    with pytest.raises(ConfigurationError, match=words):
        simulate(log(), given, **options)


def test_a_snapshot_of_a_cluster_says_of_which(tmp_path: Path) -> None:
    trace = Path(site(tmp_path)[0])
    kept = keeper(1, trace, {}, Config(), [])
    with pytest.raises(ConfigurationError, match="has to say of which; give keeper"):
        simulate(trace, parse_slurm_conf(CONF), out=tmp_path / "run", keeper=kept)
    assert not (tmp_path / "run").exists()


def test_submissions_need_a_cluster() -> None:
    with pytest.raises(ConfigurationError, match=r"submissions go to a cluster; give its slurm\.conf as the machine"):
        simulate([JobRequest(1, 0.0, 10.0, parse_sbatch(["-n1"]))], 16)


@pytest.mark.parametrize("clock", ["ideal", "slurm"])
def test_four_schedulers_on_a_sites_cluster_are_one_command(tmp_path: Path, clock: str) -> None:
    command = ["compare", *site(tmp_path), "--clock", clock]
    shown = CliRunner().invoke(slurm_sim, command)
    assert shown.exit_code == 0, shown.output
    header = next(line for line in shown.stdout.splitlines() if "FCFS" in line)
    assert header.split() == ["metric", "slurm.conf", "FCFS", "SJF", "EASY"]
    assert "not looked at" in shown.stdout
    passes = ", passes=batch" if clock == "ideal" else ""
    assert f"16 CPUs, {clock} timing{passes}, killed at the limit" in shown.stdout
    found = json.loads(CliRunner().invoke(slurm_sim, [*command, "--json"]).stdout)
    assert found["FCFS"]["metrics"]["delayed"] is None
    wait = {name: each["metrics"]["mean_wait"] for name, each in found.items()}
    assert wait["EASY"] < wait["FCFS"]
    for name, words in {"EASY": ["--scheduler", "sched/easy"], "slurm.conf": []}.items():
        alone = CliRunner().invoke(slurm_sim, ["run", *command[1:], *words, "--json"])
        assert json.loads(alone.stdout) == found[name]


def test_policies_of_a_cluster_are_named_as_ever(tmp_path: Path) -> None:
    (tmp_path / "accounts.cfg").write_text("add account a\nadd user u0 account=a\n")
    words = ["--policy", "sched/easy", "--policy", "mine=sched/easy,backfill/sjf", "--json"]
    found = json.loads(CliRunner().invoke(slurm_sim, ["compare", *site(tmp_path), *words]).stdout)
    assert list(found) == ["sched/easy", "mine"]
    assert found["mine"]["slots"]["BackfillType"] == "backfill/sjf"
    refused = CliRunner().invoke(slurm_sim, ["compare", *site(tmp_path), *words, "--passes", "event"])
    assert "leave passes out" in str(refused.exception)
    refused = CliRunner().invoke(slurm_sim, ["compare", str(tmp_path / "jobs.events"), "--accounts", "accounts.cfg"])
    assert refused.exit_code != 0


def test_jobs_that_never_end_are_told_after_the_table(tmp_path: Path) -> None:
    command = ["compare", *site(tmp_path), "--policy", "none=sched/fcfs"]
    (tmp_path / "slurm.conf").write_text(CONF.replace("NodeName=n[1-4] CPUs=4", "NodeName=n[1-4] CPUs=4 State=DOWN"))
    shown = CliRunner().invoke(slurm_sim, command)
    assert "mean wait" in shown.output
    assert "none: nothing can happen any more; unfinished: " in str(shown.exception)


@pytest.mark.slow
def test_what_a_campaign_did_not_look_at_is_no_number(tmp_path: Path) -> None:
    site(tmp_path)
    (tmp_path / "c.toml").write_text(
        '[campaign]\nmetrics = ["mean_wait", "delayed", "mean_delay"]\n[workloads.w]\ntrace = "jobs.events"\n'
        '[policies.site]\nslurm_conf = "slurm.conf"\n'
        '[policies.EASY]\nuse = ["sched/easy"]\nslurm_conf = "slurm.conf"\nclock = "ideal"\n'
    )
    out = str(tmp_path / "out")
    assert CliRunner().invoke(slurm_sim, ["campaign", "run", str(tmp_path / "c.toml"), "--out", out]).exit_code == 0
    for words in ([], ["--pareto", "mean_wait,delayed"], ["--json"]):
        shown = CliRunner().invoke(slurm_sim, ["campaign", "results", out, *words], catch_exceptions=False)
        assert shown.exit_code == 0, shown.output
        assert ("not looked at" in shown.stdout) == ("--json" not in words)


def test_a_campaign_takes_the_clock(tmp_path: Path) -> None:
    site(tmp_path)
    file = tmp_path / "c.toml"
    file.write_text(
        '[workloads.w]\ntrace = "jobs.events"\n'
        '[policies.ideal]\nslurm_conf = "slurm.conf"\nclock = "ideal"\n'
        '[policies.daemons]\nslurm_conf = "slurm.conf"\n'
        '[policies.EASY]\nuse = ["sched/easy"]\nslurm_conf = "slurm.conf"\nclock = "ideal"\n'
    )
    outcomes = {run.coordinates["policy"]: run.numbers for run in run_all(expand(read_campaign(file)))}
    conf = parse_slurm_conf(CONF)
    events = tmp_path / "jobs.events"
    for name, options in {
        "ideal": {"clock": "ideal"},
        "daemons": {"clock": "slurm"},
        "EASY": {"clock": "ideal", "scheduler": "sched/easy"},
    }.items():
        assert outcomes[name]["mean_wait"] == simulate(events, conf, **options).metrics()["mean_wait"], name
    assert outcomes["ideal"] != outcomes["daemons"]
    file.write_text(file.read_text().replace('clock = "ideal"', 'clock = "fast"'))
    with pytest.raises(ConfigurationError, match=r"policies\.ideal\.clock: .*fast"):
        read_campaign(file)
    file.write_text('[workloads.w]\ntrace = "jobs.events"\n[policies.x]\nuse = ["sched/easy"]\nclock = "ideal"\n')
    with pytest.raises(ConfigurationError, match=r"policies\.x\.clock goes with slurm_conf"):
        read_campaign(file)


@pytest.mark.parametrize("clock", ["ideal", "slurm"])
def test_pv_easy_of_the_papers_runs_on_a_sites_cluster(
    tmp_path: Path, clock: str, caplog: pytest.LogCaptureFixture
) -> None:
    command = ["run", *site(tmp_path), "--clock", clock, "--config", "papers/pv_easy", "--json"]
    file = tmp_path / "slurm.conf"
    refused = CliRunner().invoke(slurm_sim, command)
    assert "PreemptMode is OFF in all partitions" in str(refused.exception)
    file.write_text(file.read_text() + "PreemptMode=REQUEUE\nPriorityType=priority/basic\n")
    done = CliRunner().invoke(slurm_sim, command)
    assert done.exit_code == 0, done.output
    about = json.loads(done.stdout)
    assert about["slots"]["SchedulerType"] == "sched/venture"
    assert about["plugins"]["sched/venture"]["options"] == {"restart": False}
    assert (about["unfinished"], about["simulation"]["timing"]) == ({}, clock)
    words = (
        "papers/pv_easy: without effect on the cluster of a slurm.conf, where limits kill and submissions are as they"
    )
    assert f"{words} are: kill_at_limit=false, expired=again, filter=papers" in caplog.text


def test_a_file_of_the_users_own_is_not_changed_in_silence(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[simulation]\nkill_at_limit = false\n")
    done = CliRunner().invoke(slurm_sim, ["run", *site(tmp_path), "--config", str(tmp_path / "mine.toml")])
    assert "leave out kill_at_limit, or change the file" in str(done.exception)


def test_what_virtual_machines_do_is_refused_on_nodes(tmp_path: Path) -> None:
    command = ["run", *site(tmp_path)]
    file = tmp_path / "slurm.conf"
    file.write_text(file.read_text() + "PreemptMode=REQUEUE\n")
    done = CliRunner().invoke(slurm_sim, [*command, "--config", "papers/vm_pv_easy"])
    assert "PreemptMode says what becomes of a victim" in str(done.exception)
