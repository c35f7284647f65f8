"""AllowGroups: who is in which group, and what becomes of jobs of others."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from emulator.api import simulate
from emulator.config.groups import read_groups
from emulator.config.operation import Operation
from emulator.config.slurm import parse_slurm_conf
from emulator.result import Result
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import InputError

CONF = """
ClusterName=small
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
EnforcePartLimits={enforced}
NodeName=n[1-2] CPUs=4
PartitionName=open Nodes=ALL Default=YES MaxTime=60
PartitionName=closed Nodes=ALL MaxTime=60 AllowGroups=physics,mail
"""
GROUPS = {"ann": ("physics",), "bob": ("other",)}
JOBS = [("ann", "closed"), ("bob", "closed"), ("bob", "closed,open"), ("bob", "open,closed"), ("root", "closed")]
REFUSED = "User's group not permitted to use this partition"


def run(enforced: str, version: str, groups: dict[str, tuple[str, ...]] = GROUPS) -> Result:
    requests = [
        JobRequest(number, 1.0 * number, 10.0, parse_sbatch(["-n1", "-t1", f"-p{partitions}"]), user)
        for number, (user, partitions) in enumerate(JOBS, 1)
    ]
    conf = parse_slurm_conf(CONF.format(enforced=enforced))
    return simulate(requests, conf, operation=Operation(groups=groups), slurm_version=version)


@pytest.mark.parametrize(
    ("enforced", "version", "states"),
    [
        ("NO", "22.05", "COMPLETED REJECTED PENDING COMPLETED COMPLETED"),
        ("NO", "26.05", "COMPLETED PENDING COMPLETED COMPLETED COMPLETED"),
        ("ANY", "22.05", "COMPLETED REJECTED REJECTED REJECTED COMPLETED"),
        ("ANY", "26.05", "COMPLETED REJECTED COMPLETED COMPLETED COMPLETED"),
        ("ALL", "22.05", "COMPLETED REJECTED REJECTED REJECTED COMPLETED"),
        ("ALL", "26.05", "COMPLETED REJECTED REJECTED REJECTED COMPLETED"),
    ],
)
def test_what_becomes_of_jobs_as_recorded(enforced: str, version: str, states: str) -> None:
    """As (groups, groups_any, groups_all) were played on 22.05 and 26.05, with users of the machine."""
    result = run(enforced, version)
    jobs = result.records.jobs
    assert jobs["state"].tolist() == states.split()
    assert all(REFUSED in reason for reason in jobs["reason"][jobs["state"] == "REJECTED"].tolist())
    started = dict(zip(jobs["job_id"].tolist(), jobs["partition"].tolist(), strict=True))
    if states.split()[2] == "COMPLETED":
        assert started[3] == "open"
    if enforced == "NO":
        waits = "PartitionNodeLimit" if version == "22.05" else "uid_bob_not_in_group_permitted"
        assert waits in next(iter(result.about["unfinished"]))


def test_without_groups_all_may_use_all_and_it_is_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert set(run("NO", "22.05", {}).records.jobs["state"].tolist()) == {"COMPLETED"}
    assert any("AllowGroups of closed keeps no user out" in record.getMessage() for record in caplog.records)


def test_files_of_groups(tmp_path: Path) -> None:
    file = tmp_path / "groups"
    file.write_text(
        "# now\nphysics:x:10:ann, bob\nmail:x:8:\n\nmail:x:8:ann\ncarl:x:7:8:C:/home/carl:/bin/sh\nd:x:1:99:::\n"
    )
    assert read_groups(file) == {"ann": ("mail", "physics"), "bob": ("physics",), "carl": ("mail",)}
    file.write_text("physics:x:10:ann\nphysics ann\n")
    with pytest.raises(InputError, match=r"groups:2: is neither a group"):
        read_groups(file)
