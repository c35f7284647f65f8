"""Campaigns on the clusters of slurm.conf files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.api import simulate
from emulator.campaign import RunSpec, identity, run_all
from emulator.campaign.expand import expand
from emulator.campaign.file import read_campaign
from emulator.campaign.measure import Metrics
from emulator.campaign.results import frame
from emulator.campaign.spec import forget
from emulator.cli import slurm_sim
from emulator.config.sacctmgr import read_accounts
from emulator.config.slurm import read_slurm_conf
from emulator.metrics.jobs import wait
from emulator.replay.emulate import Options, emulate
from emulator.workload.events import read_events
from emulator.workload.models import lublin99
from emulator.workload.sites import read_site_log
from emulator.workload.swf import read_swf, write_swf
from slurm_sim_plugins import ConfigurationError, InputError, SlurmSimError

CONF = """
ClusterName=small
SchedulerType=sched/backfill
SchedulerParameters=bf_window=2880,bf_interval=10
PriorityType=priority/multifactor
PriorityWeightJobSize=0
PriorityWeightFairshare=1000
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=limits
PreemptType=preempt/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
Include nodes.conf
PartitionName=lo Nodes=ALL Default=YES PriorityTier=1 MaxTime=2:00:00
PartitionName=hi Nodes=ALL PriorityTier=5
"""
ACCOUNTS = "add account physics\nadd user ann account=physics\nadd user bob account=physics maxjobs=1\n"
STUDY = """
[campaign]
by = ["partition", "user"]
[workloads.week]
trace = "jobs.events"
[policies.site]
slurm_conf = "slurm.conf"
[policies.oftener]
slurm_conf = "slurm.conf"
set.SchedulerParameters.bf_interval = [30, 300]
set.PriorityWeightJobSize = 500
[policies.SJF]
slurm_conf = "slurm.conf"
use = ["priority/sjf"]
[policies.limited]
slurm_conf = "slurm.conf"
accounts = ["accounts.txt"]
"""
DUMP = """JobID|Submit|State|ElapsedRaw|TimelimitRaw|ReqCPUS|ReqNodes|Start|End|Partition|User
1|2021-03-01T00:00:00|COMPLETED|600|20|8|4|2021-03-01T00:00:00|2021-03-01T00:10:00|lo|ann
2|2021-03-01T00:01:00|CANCELLED|0|20|8|4|Unknown|2021-03-01T00:05:00|lo|bob
3|2021-03-01T00:02:00|COMPLETED|60|20|4|2|2021-03-01T00:10:00|2021-03-01T00:11:00|elsewhere|ann
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "nodes.conf").write_text("NodeName=n[1-4] CPUs=2\n")
    (tmp_path / "accounts.txt").write_text(ACCOUNTS)
    (tmp_path / "march.sacct").write_text(DUMP)
    words = "-dt {}.00 -e submit_batch_job | -sim-walltime {}.00 --uid={} -J a -n {} -t {} {} pseudo.job\n"
    users, hi = ("ann", "bob"), ("", "-p hi")
    runs = [50 + 91 * n % 500 for n in range(20)]
    lines = [
        words.format(7 * n, run, users[n % 2], 1 + 5 * n % 8, run // 60 + 2, hi[n % 5 == 0])
        for n, run in enumerate(runs)
    ]
    (tmp_path / "jobs.events").write_text("".join(lines))
    write_swf(lublin99.generate(30, 8, 1, load=0.8), tmp_path / "jobs.swf")
    return tmp_path


def runs_of(folder: Path, text: str = STUDY) -> dict[str, RunSpec]:
    forget()
    file = folder / "study.toml"
    file.write_text(text)
    return {str(each.coordinates["policy"]): each for each in expand(read_campaign(file))}


def identities(folder: Path, text: str = STUDY) -> dict[str, str]:
    return {name: identity(spec) for name, spec in runs_of(folder, text).items()}


def numbers_of(spec: RunSpec) -> dict[str, float]:
    (outcome,) = run_all([spec])
    assert not outcome.error
    return outcome.numbers


@pytest.mark.slow
def test_versions_of_slurm_are_runs_of_their_own(folder: Path) -> None:
    study = STUDY.partition("[policies.site]")[0] + '[policies.site]\nslurm_conf = "slurm.conf"\nslurm_version = {}\n'
    found = identities(folder, study.format('["22.05", "26.05"]'))
    assert len(set(found.values())) == 2
    for version, spec in zip(
        ("22.05", "26.05"), runs_of(folder, study.format('["22.05", "26.05"]')).values(), strict=True
    ):
        assert spec.cluster is not None
        assert spec.cluster.slurm_version == version
        result = simulate(
            read_events(folder / "jobs.events"), read_slurm_conf(folder / "slurm.conf"), slurm_version=version
        )
        assert same(numbers_of(spec), Metrics(by=("partition", "user"))(result.records))
    with pytest.raises(ConfigurationError, match=r"slurm_version: .*22\.05"):
        identities(folder, study.format('"21.08"'))


def same(numbers: dict[str, float], other: dict[str, float]) -> bool:
    return repr(sorted(numbers.items())) == repr(sorted(other.items()))


@pytest.mark.slow
def test_each_run_is_that_of_its_files_and_plugins(folder: Path) -> None:
    specs = runs_of(folder)
    assert list(specs) == ["site", "oftener bf_interval=30", "oftener bf_interval=300", "SJF", "limited"]
    changed = CONF.replace("bf_interval=10", "bf_interval=300").replace("JobSize=0", "JobSize=500")
    (folder / "changed.conf").write_text(changed)
    requests, conf = read_events(folder / "jobs.events"), read_slurm_conf(folder / "slurm.conf")
    expected: dict[str, Any] = {
        "site": simulate(requests, conf),
        "oftener bf_interval=300": simulate(requests, read_slurm_conf(folder / "changed.conf")),
        "SJF": simulate(requests, conf, slots={"PriorityType": "priority/sjf"}),
        "limited": simulate(requests, conf, accounts=read_accounts(folder / "accounts.txt")),
    }
    measure = Metrics(by=("partition", "user"))
    found = {name: numbers_of(specs[name]) for name in expected}
    for name, result in expected.items():
        assert same(found[name], measure(result.records)), name
    assert len({numbers["mean_wait"] for numbers in found.values()}) == len(found)


@pytest.mark.slow
def test_groups_are_those_of_the_jobs(folder: Path) -> None:
    numbers = numbers_of(runs_of(folder)["site"])
    records = simulate(read_events(folder / "jobs.events"), read_slurm_conf(folder / "slurm.conf")).records
    rows = list(zip(records.jobs["partition"].tolist(), wait(records).tolist(), strict=True))
    hi = [waited for partition, waited in rows if partition == "hi"]
    assert numbers["jobs of partition hi"] == len(hi) == 4
    assert numbers["mean_wait of partition hi"] == pytest.approx(sum(hi) / len(hi))
    assert numbers["max_wait of partition hi"] == max(hi)
    assert numbers["jobs of user ann"] + numbers["jobs of user bob"] == numbers["jobs"] == 20


def test_a_dump_is_run_as_replay_runs_it_and_a_log_as_run_does(folder: Path) -> None:
    policies = '[policies.site]\nslurm_conf = "slurm.conf"\n'
    dump = '[workloads.march]\ntrace = "march.sacct"\nelsewhere = "default"\nzone = "Europe/Paris"\n'
    conf = read_slurm_conf(folder / "slurm.conf")
    log = read_site_log(folder / "march.sacct", zone="Europe/Paris")
    expected = emulate(log, conf, Options(elsewhere="default")).records
    assert expected.jobs["state"].tolist() == ["COMPLETED", "CANCELLED", "COMPLETED"]
    assert same(numbers_of(runs_of(folder, dump + policies)["site"]), Metrics()(expected))
    swf = '[workloads.log]\ntrace = "jobs.swf"\nfilter = "papers"\n'
    workload = read_swf(folder / "jobs.swf", filter="papers", machine=8)
    expected = simulate(workload, conf).records
    assert same(numbers_of(runs_of(folder, swf + policies)["site"]), Metrics()(expected))
    model = '[workloads.model]\nmodel = "lublin99"\njobs = 20\nprocessors = 8\n[policies]\nEASY = ["sched/easy"]\n'
    both = runs_of(folder, model + policies)
    assert {name: numbers_of(spec)["jobs"] for name, spec in both.items()} == {"EASY": 20, "site": 20}


def test_an_identity_is_that_of_what_the_files_say_wherever_they_lie(folder: Path, tmp_path: Path) -> None:
    before = identities(folder)
    assert len(set(before.values())) == 5
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for file in list(folder.iterdir()):
        if file.is_file():
            (moved / file.name).write_bytes(file.read_bytes())
    assert identities(moved) == before
    (folder / "accounts.txt").write_text(ACCOUNTS + "modify user ann set maxjobs=2\n")
    after = identities(folder)
    assert [name for name in before if before[name] != after[name]] == ["limited"]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("slurm.conf", CONF.replace("MaxTime=2", "MaxTime=3")),
        ("nodes.conf", "NodeName=n[1-5] CPUs=2\n"),
        ("gres.conf", "NodeName=n1 Name=gpu Count=0\n"),
        ("topology.conf", "SwitchName=s Nodes=n[1-4]\n"),
        ("jobs.events", "-dt 1.00 -e submit_batch_job | -sim-walltime 9.00 --uid=ann -n 1 -t 1 pseudo.job\n"),
    ],
)
def test_whatever_file_changes_each_run_is_another(folder: Path, file: str, text: str) -> None:
    before = identities(folder)
    (folder / file).write_text(text)
    after = identities(folder)
    assert not set(before.values()) & set(after.values())


def test_a_file_that_changes_while_runs_are_made_is_noticed(folder: Path) -> None:
    spec = runs_of(folder)["limited"]
    identity(spec)
    (folder / "accounts.txt").write_text(ACCOUNTS + "add user eve account=physics\n")
    with pytest.raises(InputError, match="changed while it was read"):
        spec.result()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"slurm.conf"\nuse', '"no.conf"\nuse', "policies.SJF.slurm_conf: there is no file 'no.conf'"),
        ('"slurm.conf"\nuse', '"../slurm.conf"\nuse', "leads out of the folder"),
        ("set.PriorityWeightJobSize", "set.PriorityWeightJobsize", ""),
        ("set.PriorityWeightJobSize", "set.PriorityWeightJob", "set: PriorityWeightJob is no parameter"),
        ("bf_interval", "bf_intervall", "set: bf_intervall is no option of SchedulerParameters .did you mean"),
        ("JobSize = 500", 'JobSize = "much"', "policies.oftener.slurm_conf: set: PriorityWeightJobSize"),
        ("set.PriorityWeightJobSize = 500", 'set.NodeName = "n1"', "is a line of its own; write a changed copy"),
        (
            "set.PriorityWeightJobSize = 500",
            'set.PreemptType = "preempt/no"',
            "set: PreemptType: PreemptType=preempt/no: there is",
        ),
        ("set.PriorityWeightJobSize = 500", "simulation.passes = 'batch'", "oftener.simulation is for ideal timing"),
        (
            '"priority/sjf"',
            '"execution/two_tier"',
            "policies.SJF.use: execution/two_tier: in Slurm's timing plugins can",
        ),
        ('slurm_conf = "slurm.conf"\nacc', "acc", "policies.limited.accounts goes with slurm_conf"),
        ('["accounts.txt"]', "[3]", "policies.limited.accounts"),
        (
            '["accounts.txt"]',
            '"jobs.events"',
            "policies.limited.accounts: .*jobs.events: this is a file of submission events",
        ),
        ('"jobs.events"', '"jobs.events"\nprocessors = 8', "workloads.week.processors: the machine is that of"),
        ('"jobs.events"', '"jobs.events"\nfilter = "papers"', "workloads.week.filter: with slurm_conf nothing else"),
        ('"jobs.events"', '"jobs.swf"\nzone = "UTC"', "workloads.week.zone: with slurm_conf only filter"),
        ('use = ["priority/sjf"]', "[policies.F]\nuse = []", "trace: submission events need a slurm_conf; F has none"),
        ('"partition", ', '"node", ', "campaign.by: node"),
        ("[campaign]", '[campaign]\nmetrics = ["mean_wait of qos a"]', "campaign.metrics: mean_wait of qos a"),
        ("[workloads", "[simulation]\npasses = 'batch'\n[workloads", "simulation.passes is for ideal timing"),
    ],
)
def test_what_cannot_be_is_told_with_file_and_key(folder: Path, old: str, new: str, words: str) -> None:
    assert old in STUDY
    if not words:
        assert len(runs_of(folder, STUDY.replace(old, new, 1))) == 5
        return
    with pytest.raises(SlurmSimError, match=words) as caught:
        runs_of(folder, STUDY.replace(old, new, 1))
    assert "study.toml: " in str(caught.value)


def test_what_is_wrong_in_a_file_is_told_with_its_line_and_links_are_not_followed(folder: Path) -> None:
    (folder / "nodes.conf").write_text("NodeName=n[1-4] CPU=2\n")
    with pytest.raises(InputError, match=r"study.toml: policies.site.slurm_conf: .*nodes.conf:1: CPU is no key"):
        runs_of(folder)
    (folder / "nodes.conf").write_text("NodeName=n[1-4] CPUs=2\n")
    (folder / "site").mkdir()
    (folder / "site" / "slurm.conf").write_text(CONF.replace("Include nodes.conf", "NodeName=n[1-4] CPUs=2"))
    (folder / "gres.conf").write_text("NodeName=n1 Name=gpu Count=0\n")
    (folder / "site" / "gres.conf").symlink_to(folder / "gres.conf")
    with pytest.raises(InputError, match=r"gres.conf: is a link out of"):
        runs_of(folder, STUDY.replace('"slurm.conf"', '"site/slurm.conf"'))


OPTIONS = {"bf_interval": 17, "bf_window": 999, "bf_continue": True, "default_queue_depth": 3}


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(sorted(OPTIONS)), st.booleans()), st.sets(st.sampled_from(sorted(OPTIONS))))
def test_one_option_is_changed_and_the_others_stay(
    tmp_path_factory: pytest.TempPathFactory, stated: dict[str, bool], changes: set[str]
) -> None:
    file = tmp_path_factory.getbasetemp() / "options.conf"
    words = ",".join(name if name == "bf_continue" else f"{name}=5" for name in stated)
    file.write_text(f'SchedulerParameters="{words}"\nNodeName=n1\nPartitionName=p Nodes=n1\n')
    given_ = {f"schedulerparameters.{name.upper()}": OPTIONS[name] for name in changes}
    conf = read_slurm_conf(file, given_)
    found = {
        name.partition(".")[2]: setting.value
        for name, setting in conf.parameters.items()
        if name.startswith("SchedulerParameters.")
    }
    plain = read_slurm_conf(file)
    for name in {*stated, *changes}:
        full = f"SchedulerParameters.{name}"
        text = f"{OPTIONS[name]}" if name in changes else plain.parameters[full].text
        assert conf.parameters[full].text in (text, "YES")
    assert set(found) == {*stated, *changes}
    assert [notice for notice in conf.notices if "again" in notice.text] == []


def test_an_option_can_be_taken_away_and_a_parameter_replaced_in_every_case(folder: Path) -> None:
    changes = {"SchedulerParameters.bf_interval": False, "KILLWAIT": 7, "PreemptExemptTime": "-1", "JobRequeue": False}
    conf = read_slurm_conf(folder / "slurm.conf", changes)
    assert conf.parameters["SchedulerParameters"].text == "bf_window=2880"
    assert "SchedulerParameters.bf_interval" not in conf.parameters
    assert conf.parameters["KillWait"].value == 7
    with pytest.raises(InputError, match="set: x is no option of AuthType"):
        read_slurm_conf(folder / "slurm.conf", {"AuthType.x": 1})


@pytest.mark.slow
def test_the_command_runs_and_resumes_and_compares(folder: Path) -> None:
    study = STUDY.replace(
        "set.PriorityWeightJobSize",
        "set.InactiveLimit = 9\nset.SchedulerParameters.max_rpc_cnt = 100\nset.PriorityWeightJobSize",
    )
    (folder / "study.toml").write_text(study)
    conf = CONF.replace("bf_window=2880", "bf_window=2880,bf_unknown=1")
    (folder / "slurm.conf").write_text(conf)
    first = CliRunner().invoke(slurm_sim, ["campaign", "run", str(folder / "study.toml"), "--processes", "1"])
    assert first.exit_code == 0 and "5 done; 5 made now" in first.output
    assert first.stderr.count("'bf_unknown' is no option") == 2  # As the file has it, and changed.
    again = CliRunner().invoke(slurm_sim, ["campaign", "resume", str(folder / "study")])
    assert "set: SchedulerParameters.max_rpc_cnt is" in first.stderr
    assert "set: InactiveLimit is ignored" in first.stderr and "set: PriorityWeight" not in first.stderr
    assert first.stderr.count("slurm.conf: without accounts") == 1
    assert again.exit_code == 0 and "5 done; 0 made now" in again.output
    table = frame(folder / "study")
    assert table["set.SchedulerParameters.bf_interval"].dropna().tolist() == [30, 300]
    told = ["--metrics", "mean_wait,mean_wait of partition hi", "--plots", str(folder / "plots")]
    shown = CliRunner().invoke(slurm_sim, ["campaign", "results", str(folder / "study"), *told])
    assert shown.exit_code == 0 and "less site" in shown.output and "mean wait of partition" in shown.output
    assert (folder / "plots" / "mean_wait-of-partition-hi.png").exists()
    with pytest.raises(ConfigurationError, match="did you mean"):
        runs_of(folder, STUDY.replace('"partition"', '"partitions"'))


@pytest.mark.slow
def test_nodes_fail_in_campaigns_by_their_seeds(folder: Path) -> None:
    (folder / "down").write_text("10 n1 DOWN\n")
    text = "[operation]\nmtbf = 3000\nnode_events = 'down'\n" + STUDY
    spec = runs_of(folder, text.replace("[campaign]", "[campaign]\nseeds = [7]"))["site"]
    assert (spec.config.seed, spec.config.operation.mtbf) == (7, 3000)
    assert spec.config.operation.node_events[0].nodes == ("n1",)
    assert not same(numbers_of(spec), numbers_of(runs_of(folder)["site"]))
    before = identities(folder, text)
    assert before["site"] != identities(folder)["site"]
    (folder / "down").write_text("20 n1 DOWN\n")
    assert identities(folder, text)["site"] != before["site"]
    varied = STUDY.replace("[policies.SJF]", "[policies.SJF]\noperation.mtbf = [0, 500]")
    assert [each.config.operation.mtbf for name, each in runs_of(folder, varied).items() if "SJF" in name] == [0, 500]
    for wrong in ("[operation]\nmtbs = 3\n", "[operation]\nmtbf = 'x'\n", "[policies.ideal]\noperation.mtbf = 3\n"):
        with pytest.raises(ConfigurationError, match="operation"):
            runs_of(folder, wrong + STUDY)
    with pytest.raises(ConfigurationError, match="operation goes with slurm_conf"):
        runs_of(folder, "[operation]\nmtbf = 3\n[policies.ideal]\n" + STUDY)
