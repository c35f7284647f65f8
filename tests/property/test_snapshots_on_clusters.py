"""A run on a random cluster that is interrupted goes on to the same bytes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from contrib.differential.clusters import files_of
from emulator import Config, simulate
from emulator.accounting.runfolder import SNAPSHOT
from emulator.config.operation import Operation
from emulator.config.options import Clock
from emulator.operator.commands import read_commands
from emulator.resume import keeper, resume
from emulator.site import Site, read_site
from emulator.snapshot.keeper import Keeper
from slurm_sim_plugins import PluginError

FAILING = Operation(mtbf=1000.0, mttr=100.0, prolog=2.0, epilog=10.0, epilog_slurmctld=15.0)
CONFIGS = (
    Config(clock="slurm", explain=True),
    Config(clock="ideal"),
    Config(clock="ideal", passes="event"),
    Config(clock="slurm", slots={"SchedulerType": "sched/easy"}),
    Config(clock="slurm", slots={"SchedulerType": "sched/conservative"}, compiled=False),
    Config(clock="slurm", compiled=False, slots={"PriorityType": "priority/wfp"}),
    Config(clock="slurm", operation=FAILING),
)
EVERY = 5
"""Submissions; clusters of this kind have some 40."""


class Killed(Exception):
    """The run is killed."""


class Mortal(Keeper):
    """Is killed when it has taken so many snapshots."""

    left = 0

    def _take(self, *about):
        super()._take(*about)
        self.left -= 1
        if not self.left:
            raise Killed


def site_of(seed: int, folder: Path) -> Site:
    for name, text in files_of(seed).items():
        (folder / name).write_text(text, encoding="utf-8")
    files = [folder / name for name in ("accounts", "accounts.dump") if (folder / name).exists()]
    site = read_site(folder / "jobs.events", folder / "slurm.conf", {}, files)
    orders = read_commands(folder / "commands") if (folder / "commands").exists() else []
    return replace(site, actions=[(order.at, order) for order in orders])


def content(folder: Path) -> dict[str, bytes]:
    """Of all files; of a run that has failed the snapshot stays."""
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name != SNAPSHOT}


def check(seed: int, config: Config, snapshots: int, folder: Path) -> bool:
    """Compare a whole run with one that is killed after some snapshots; whether there were so many."""
    site = site_of(seed, folder)

    def run(out: str, kept: Keeper | None = None) -> None:
        options = {"accounts": site.accounts(), "actions": site.actions, "out": folder / out, "keeper": kept}
        simulate(site.submissions, site.conf, config=config, **options)

    # A run in which a plugin fails comes to the same end, too.
    with suppress(PluginError):
        run("whole")
    made = keeper(EVERY, folder / "jobs.events", {}, config, (), site=site)
    made.__class__, made.left = Mortal, snapshots  # type: ignore[assignment,attr-defined]
    killed = False
    with suppress(PluginError):
        try:
            run("killed", made)
        except Killed:
            killed = True
            resume(folder / "killed")
    assert content(folder / "killed") == content(folder / "whole")
    return killed


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(CONFIGS), st.integers(1, 6))
@example(3280387012, CONFIGS[2], 2)  # priorities of many jobs with accounts, worked out as columns
@example(4294967296, CONFIGS[6], 1)  # a job that never starts, failures of nodes, and work without end that was ended
def test_a_run_that_is_killed_goes_on_to_the_same_bytes(seed: int, config: Config, snapshots: int) -> None:
    with TemporaryDirectory() as folder:
        check(seed, config, snapshots, Path(folder))


@pytest.mark.parametrize(("clock", "operation"), [("ideal", Operation()), ("slurm", Operation()), ("slurm", FAILING)])
def test_runs_are_killed_at_all(tmp_path: Path, clock: Clock, operation: Operation) -> None:
    assert check(3, Config(clock=clock, operation=operation), 2, tmp_path)
