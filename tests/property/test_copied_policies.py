"""A user's copy of each of Slurm's policies, under another name, gives the same schedule."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.api import simulate
from emulator.config.sacctmgr import parse_accounts
from emulator.config.slurm import parse_slurm_conf
from emulator.operator.commands import TimedCommand
from slurm_sim_plugins.manager import bundled_names, discover
from slurm_sim_plugins.preempt.partition_prio import PartitionPrio
from slurm_sim_plugins.preempt.qos import QosPreemption
from slurm_sim_plugins.priority.multifactor import Multifactor
from slurm_sim_plugins.sched.backfill import Backfill
from tests.builders.random_clusters import COMMANDS, configuration, submission

BOOKS = """\
add qos low Priority=1 GraceTime=20
add qos high Priority=9 Preempt=low PreemptMode=REQUEUE
add account a Fairshare=3
add account b Fairshare=1
add user ann account=a qos=low,high,normal
add user bob account=b qos=low,high,normal
"""
FURTHER = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=limits,qos
PriorityCalcPeriod=1
PriorityMaxAge=30:00
PriorityWeightAge=900
PriorityWeightFairshare=3000
PriorityWeightPartition=700
PriorityWeightQOS=500
PriorityWeightTRES=CPU=300,Mem=.2
"""
SLOTS = {
    Multifactor: "PriorityType",
    PartitionPrio: "PreemptType",
    QosPreemption: "PreemptType",
    Backfill: "SchedulerType",
}
USUAL = {
    "PriorityType": "priority/multifactor",
    "PreemptType": "preempt/partition_prio",
    "SchedulerType": "sched/backfill",
}
WITHOUT = {"PriorityType": "priority/basic", "PreemptType": "preempt/none", "SchedulerType": "sched/builtin"}


def copied(plugin: type, folder: Path) -> str:
    """Copy the file of a plugin, and give it another name; returns that."""
    name = plugin.name.replace("/", "/my_")  # type: ignore[attr-defined]
    source = Path(inspect.getsourcefile(plugin) or "").read_text()
    (folder / "mine.py").write_text(source.replace(f'"{plugin.name}"', f'"{name}"'))  # type: ignore[attr-defined]
    return name


def records(seed: int, slots: dict[str, str], **more: Any) -> Any:
    draws = np.random.default_rng(seed)
    text = configuration(draws)
    for slot, name in slots.items():
        text = re.sub(rf"{slot}=\S+", f"{slot}={name}", text)
    requests = [submission(number, draws) for number in range(1, 61)]
    requests = [
        replace(
            each,
            options=replace(each.options, qos=str(draws.choice(["low", "high"]))),
            user=str(draws.choice(["ann", "bob"])),
        )
        for each in requests
    ]
    said = [str(command) for command in draws.choice(COMMANDS, size=4)]
    actions = [
        (at, TimedCommand(at, text, "test")) for at, text in zip((100.0, 200.0, 300.0, 400.0), said, strict=True)
    ]
    conf = parse_slurm_conf(text + FURTHER)
    accounts, compiled = parse_accounts(BOOKS), seed % 2 == 0
    return simulate(requests, conf, actions=actions, accounts=accounts, compiled=compiled, **more).records


@cache
def known_records(seed: int, *slots: tuple[str, str]) -> Any:
    """Those of bundled policies, which several tests ask for."""
    return records(seed, dict(slots))


@pytest.mark.slow
@pytest.mark.parametrize("plugin", SLOTS)
def test_a_copy_under_another_name_gives_the_same_schedule(plugin: type, tmp_path: Path) -> None:
    name, slot = copied(plugin, tmp_path), SLOTS[plugin]
    bundled = {**USUAL, slot: plugin.name}  # type: ignore[attr-defined]
    matters = False
    for seed in range(4):
        catalogue = discover([tmp_path / "mine.py"])
        ours = known_records(seed, *bundled.items())
        theirs = records(seed, {**bundled, slot: name}, catalogue=catalogue)
        for column in ours.jobs:
            np.testing.assert_array_equal(ours.jobs[column], theirs.jobs[column], err_msg=f"{seed}: {column}")
        if not matters:
            other = known_records(seed, *{**bundled, slot: WITHOUT[slot]}.items())
            matters = not np.array_equal(ours.jobs["start"], other.jobs["start"], equal_nan=True)
    assert matters


def test_a_plugin_lies_where_its_name_says() -> None:
    for info in discover(installed=False):
        kind, _, name = info.name.partition("/")
        assert Path(inspect.getsourcefile(info.factory) or "").parts[-2:] == (kind, f"{name}.py")
    assert {*(plugin.name for plugin in SLOTS), "priority/basic", "preempt/none"} <= set(bundled_names())  # type: ignore[attr-defined]
