"""What the shell completes: plugins by kind, settings, traces and folders of runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from emulator.cli import slurm_sim
from emulator.cli.completion import TRACES


def completed(*words: str) -> list[str]:
    *before, begun = words
    return [each.value for each in ShellComplete(slurm_sim, {}, "slurm-sim", "_X").get_completions(before, begun)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("runs/easy", "runs/fcfs", "logs/of/1996", "study", ".hidden"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("runs/easy/run.toml", "runs/fcfs/run.toml", "study/slurm-sim-campaign.json", "notes.txt"):
        (tmp_path / name).touch()
    (tmp_path / "logs/of/1996/KTH.swf.gz").touch()
    return tmp_path


def test_plugins_are_completed_by_their_kind() -> None:
    assert "sched/easy" in completed("run", "jobs.swf", "--scheduler", "sched/")
    assert completed("run", "jobs.swf", "--scheduler", "priority/") == []
    assert completed("check", "sched/conserv") == ["sched/conservative"]


def test_plugins_of_a_list_and_of_a_policy_with_a_name() -> None:
    assert completed("compare", "x", "--policy", "mine=sched/easy,priority/sj") == ["mine=sched/easy,priority/sjf"]
    assert completed("run", "x", "--scheduler", "sched/easy,sched/eas") == []


def test_options_of_plugins() -> None:
    assert completed("run", "x", "--set", "sched/conservative.comp") == ["sched/conservative.compress="]


def test_a_trace_and_the_only_way_to_it(folder: Path) -> None:
    assert completed("run", "") == ["logs/", "runs/", "study/"]
    assert completed("run", "lo") == ["logs/of/1996/KTH.swf.gz"]
    for ending in TRACES:
        (folder / f"another{ending}").touch()
        assert f"another{ending}" in completed("compare", "another")


def test_runs_and_campaigns(folder: Path) -> None:
    assert completed("report", "runs/easy", "runs/f") == ["runs/fcfs"]
    assert completed("campaign", "status", "st") == ["study"]
    assert completed("explain", "runs/") == ["runs/easy", "runs/fcfs"]


def test_where_nothing_fits_the_shell_names_all_files(folder: Path) -> None:
    assert completed("run", "not") == ["not"]
