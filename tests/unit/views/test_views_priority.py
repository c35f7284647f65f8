"""A finished run as sprio and sshare show it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from emulator.api import simulate
from emulator.cli import slurm_sim
from emulator.config.sacctmgr import parse_accounts
from emulator.config.slurm import parse_slurm_conf
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins.errors import InputError

CONF = """
AccountingStorageType=accounting_storage/slurmdbd
SchedulerType=sched/backfill
PriorityType=priority/multifactor
PriorityWeightJobSize=1000
PriorityWeightFairshare=10000
PriorityWeightTRES=CPU=100
PriorityCalcPeriod=1
PriorityDecayHalfLife=0
AccountingStorageEnforce=limits
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-4] CPUs=2
PartitionName=p Nodes=ALL Default=YES
PartitionName=q Nodes=ALL
"""
ACCOUNTS = """
sacctmgr -i add account dept fairshare=3
sacctmgr -i add account lab parent=dept
sacctmgr -i add user ann account=lab fairshare=2
sacctmgr -i add user bob account=lab
"""
JOBS = [
    JobRequest(1, 0, 100, parse_sbatch(["-n8", "-t5", "-Alab"]), "ann"),
    JobRequest(2, 10, 30, parse_sbatch(["-n4", "-t5", "-Alab"]), "ann"),
    JobRequest(3, 20, 30, parse_sbatch(["-n8", "-t5", "-Alab", "--nice=7", "-pp,q"]), "bob"),
    JobRequest(4, 30, 30, parse_sbatch(["-n1", "-t5", "-Alab", "-H"]), "bob"),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("priority") / "run"
    simulate(JOBS, parse_slurm_conf(CONF), accounts=parse_accounts(ACCOUNTS, "accounts"), out=folder)
    return folder


def ask(command: str, folder: Path, *arguments: str) -> str:
    done = CliRunner().invoke(slurm_sim, [command, str(folder), *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_factors_that_have_a_weight_are_shown(run: Path) -> None:
    assert ask("sprio", run, "--at", "50").splitlines() == [
        "          JOBID PARTITION   PRIORITY       SITE  FAIRSHARE    JOBSIZE        NICE TRES                ",
        "              2 p              10425          0      10000        375           0 cpu=50              ",
        "              3 p              10718          0      10000        625           7 cpu=100             ",
        "              3 q              10718          0      10000        625           7 cpu=100             ",
    ]
    # At the end of a period who has run is favoured less.
    assert ask("sprio", run, "-h", "--at", "90", "-o", "%i %r %Y %f %y").splitlines() == [
        "2 p 3758 0.3333333 0.00000087",
        "3 p 7384 0.6666667 0.00000171",
        "3 q 7384 0.6666667 0.00000171",
    ]


def test_weights_alone(run: Path) -> None:
    header, weights = ask("sprio", run, "-w").splitlines()
    assert header.split() == ["JOBID", "PARTITION", "PRIORITY", "SITE", "FAIRSHARE", "JOBSIZE", "NICE", "TRES"]
    assert weights.split() == ["Weights", "10000", "1000", "cpu=100"]


def test_shares_in_slurms_default_columns(run: Path) -> None:
    shown = ask("sshare", run, "--at", "50", "-a").splitlines()
    assert shown[0] == "Account                    User  RawShares  NormShares    RawUsage  EffectvUsage  FairShare "
    assert shown[1] == "-------------------- ---------- ---------- ----------- ----------- ------------- ---------- "
    assert [line.split()[:3] for line in shown[2:]] == [
        ["root", "0.000000", shown[2].split()[2]],
        ["root", "root", "1"],
        ["dept", "3", "0.750000"],
        ["lab", "1", "1.000000"],
        ["lab", "ann", "2"],
        ["lab", "bob", "1"],
    ]


def test_shares_of_some(run: Path) -> None:
    assert ask("sshare", run, "-n", "-P", "-U", "-u", "bob", "-o", "User,RawShares,NormShares") == "bob|1|0.333333\n"
    assert ask("sshare", run, "-n", "-P", "-A", "dept", "-o", "Account%5") == " dept\n"
    assert [line.split("|")[1] for line in ask("sshare", run, "-n", "-P").splitlines()] == ["", "root", "", ""]
    assert "LevelFS" in ask("sshare", run, "-l", "-P").splitlines()[0]


def test_usage_is_that_of_the_records(run: Path) -> None:
    (root, *_) = json.loads(ask("sshare", run, "--json"))["shares"]
    used = sum(
        job["time"]["elapsed"] * job["required"]["CPUs"] for job in json.loads(ask("sacct", run, "--json"))["jobs"]
    )
    assert root["usage"] == pytest.approx(used, rel=0.02)


def test_json_of_priorities(run: Path) -> None:
    jobs = json.loads(ask("sprio", run, "--at", "50", "--json"))["jobs"]
    assert [(job["job_id"], job["partition"], job["priority"]) for job in jobs] == [
        (2, "p", 10425),
        (3, "p", 10718),
        (3, "q", 10718),
    ]


def test_runs_without_factors_or_accounts(tmp_path: Path) -> None:
    conf = "PriorityType=priority/basic\nSelectType=select/linear\nNodeName=n1 CPUs=1\n"
    conf += "PartitionName=p Nodes=ALL Default=YES\n"
    simulate([JobRequest(1, 0, 5, parse_sbatch(["-t1"]), "u")], parse_slurm_conf(conf), out=tmp_path)
    for command, said in (("sprio", "did not have"), ("sshare", "accounts, which this run did not have at that time")):
        done = CliRunner().invoke(slurm_sim, [command, str(tmp_path)])
        assert isinstance(done.exception, InputError)
        assert said in str(done.exception)


def test_what_an_earlier_run_noted_does_not_stay(run: Path, tmp_path: Path) -> None:
    simulate(JOBS, parse_slurm_conf(CONF), accounts=parse_accounts(ACCOUNTS, "accounts"), out=tmp_path)
    assert (tmp_path / "shares.parquet").exists()
    simulate(JOBS, parse_slurm_conf(CONF.replace("multifactor", "basic")), out=tmp_path)
    assert not (tmp_path / "shares.parquet").exists()
    assert not (tmp_path / "factors.parquet").exists()
