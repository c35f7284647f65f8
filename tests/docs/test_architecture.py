"""Rules of the house that a reader relies on."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import emulator
import slurm_sim_plugins

ROOT = Path(__file__).parents[2]
MODULES = sorted([*(ROOT / "slurm_sim_plugins").rglob("*.py"), *(ROOT / "emulator").rglob("*.py")])
SITUATION = {"free", "head", "_waiting", "_runs", "_arrived", "_reservation"}
"""Attributes of a situation that only engine/apply, and the queue that it keeps, may assign."""
WRITERS = {
    "emulator/engine/apply.py",
    "emulator/engine/apply_places.py",
    "emulator/engine/apply_tiers.py",
    "emulator/scheduling/queue.py",
    "slurm_sim_plugins/views.py",
    # The situations of unit tests, which no simulation has a part in.
    "slurm_sim_plugins/testing/scene.py",
    # What plugins see of a cluster in Slurm's timing; the controller has a state of its own.
    "emulator/slurmctld/policies.py",
}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def top_level_imports(path: Path) -> set[str]:
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return {
        name.partition(".")[0]
        for node in body
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_plugins_never_import_the_emulator(path):
    if name_of(path).startswith("slurm_sim_plugins/"):
        assert not [name for name in imports(path) if name.partition(".")[0] == "emulator"]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_nothing_reads_the_wall_clock_or_a_global_random_source(path):
    assert not imports(path) & {"time", "random", "datetime.now", "secrets", "uuid"}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_apply_changes_the_situation(path):
    if name_of(path) in WRITERS:
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
        )
        for target in targets:
            if isinstance(target, ast.Attribute) and target.attr in SITUATION:
                owner = ast.unparse(target.value)
                assert owner == "self", f"{name_of(path)}:{node.lineno} assigns {ast.unparse(target)}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_heavy_libraries_are_imported_where_they_are_used(path):
    assert not top_level_imports(path) & {"pandas", "matplotlib", "rich", "jinja2", "pyarrow", "tomli_w"}


def test_public_names_are_pinned():
    assert set(slurm_sim_plugins.__all__) == {
        "BackfillView",
        "Blocks",
        "ConfigurationError",
        "Decision",
        "InputError",
        "Job",
        "MakeRoom",
        "Move",
        "Oracle",
        "OutputError",
        "PendingView",
        "Places",
        "Plan",
        "PluginError",
        "Preempt",
        "PreemptView",
        "PriorityView",
        "Profile",
        "RateView",
        "Reserve",
        "Run",
        "SchedulingView",
        "SelectView",
        "Situation",
        "SlurmSimError",
        "Start",
        "Stay",
        "Tiers",
        "View",
        "Wake",
        "WalltimeView",
        "earliest_start",
        "hookimpl",
    }
    assert set(emulator.__all__) == {"Config", "Result", "Workload", "read_swf", "simulate", "write_swf"}


@pytest.mark.parametrize("name", emulator.__all__)
def test_public_names_are_there(name):
    assert getattr(emulator, name).__name__ == name
