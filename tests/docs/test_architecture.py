"""Rules of the house that a reader relies on."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

import emulator
import slurm_sim_plugins

ROOT = Path(__file__).parents[2]
FOLDERS = ("slurm_sim_plugins", "emulator", "contrib/slurm_sim_studies")
MODULES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
STATE = {"free", "head", "_waiting", "_runs", "_arrived", "_reservation"}
"""Attributes of a cluster state that only engine/apply, and the queue that it keeps, may assign."""
WRITERS = {
    "emulator/engine/apply.py",
    "emulator/engine/apply_blocks.py",
    "emulator/engine/apply_tiers.py",
    "emulator/scheduling/queue.py",
    "slurm_sim_plugins/counts.py",
    # The states of unit tests, which no simulation has a part in.
    "slurm_sim_plugins/testing/scene.py",
    # The counts of nodes that a plan goes by, made for one pass.
    "emulator/scheduling/counted_nodes.py",
}


OF_DAEMONS = {
    "emulator/record/daemons.py",
    "emulator/record/player.py",
    "emulator/record/record.py",
    "emulator/live/handback.py",
    "emulator/live/session.py",
    "emulator/live/slurm.py",
}
"""What runs real daemons, or stands beside them, waits for them by the clock."""


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(parsed(path)))


def imported(nodes: Iterable[ast.AST]) -> set[str]:
    """The modules that some statements import."""
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def imports(path: Path) -> set[str]:
    return imported(nodes(path))


def top_level_imports(path: Path) -> set[str]:
    return {name.partition(".")[0] for name in imported(parsed(path).body)}


def test_plugins_never_import_the_emulator():
    plugins = [path for path in MODULES if name_of(path).startswith("slurm_sim_plugins/")]
    assert not [name_of(path) for path in plugins if "emulator" in {name.partition(".")[0] for name in imports(path)}]


def test_nothing_reads_the_wall_clock_or_a_global_random_source():
    read = {}
    for path in MODULES:
        allowed = {"time"} if name_of(path) in OF_DAEMONS else set()
        read[name_of(path)] = (imports(path) - allowed) & {"time", "random", "datetime.now", "secrets", "uuid"}
    assert not {name: names for name, names in read.items() if names}


def assigned(path: Path) -> list[tuple[str, ast.Attribute]]:
    """Attributes of a cluster state that a module assigns, each with the place."""
    found = []
    for node in nodes(path):
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AugAssign | ast.AnnAssign)
            else []
        )
        attributes = [target for target in targets if isinstance(target, ast.Attribute) and target.attr in STATE]
        found += [(f"{name_of(path)}:{node.lineno}", target) for target in attributes]
    return found


def test_only_few_modules_change_the_situation():
    changed = {name_of(path): assigned(path) for path in MODULES}
    idle = sorted(name for name in WRITERS if not changed[name])
    assert not idle, "they change nothing: take them from the list"
    others = [each for name, found in changed.items() if name not in WRITERS for each in found]
    wrong = [f"{place} assigns {ast.unparse(each)}" for place, each in others if ast.unparse(each.value) != "self"]
    assert not wrong


def test_contributing_names_the_modules_of_the_emulator_that_do():
    rules = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    patterns = [*re.findall(r"`(emulator/[\w/*.]+\.py)`", rules), "emulator/scheduling/queue.py"]
    named = {name for name in map(name_of, MODULES) if any(fnmatch(name, pattern) for pattern in patterns)}
    assert named == {name for name in WRITERS if name.startswith("emulator/")}


def test_heavy_libraries_are_imported_where_they_are_used():
    heavy = {"pandas", "matplotlib", "rich", "jinja2", "pyarrow", "tomli_w"}
    assert not [name_of(path) for path in MODULES if top_level_imports(path) & heavy]


def test_public_names_are_pinned():
    assert set(slurm_sim_plugins.__all__) == {
        "API",
        "Answer",
        "Association",
        "Entry",
        "Hole",
        "Place",
        "SchedulePlan",
        "WindowPlan",
        "BackfillView",
        "Blocks",
        "ConfigurationError",
        "Decision",
        "InputError",
        "Job",
        "JobRecord",
        "JobUpdate",
        "MakeRoom",
        "ModifyView",
        "Move",
        "Oracle",
        "OutputError",
        "Partition",
        "Pause",
        "PendingView",
        "BlockState",
        "Plan",
        "PluginError",
        "Preempt",
        "PreemptView",
        "Priorities",
        "Priority",
        "PriorityView",
        "Profile",
        "Qos",
        "RateView",
        "Reject",
        "Request",
        "ReservationRecord",
        "Reserve",
        "Run",
        "SchedulingView",
        "SelectView",
        "ClusterState",
        "SlurmSimError",
        "Start",
        "Stay",
        "Submission",
        "SubmitView",
        "Tiers",
        "VictimView",
        "View",
        "Wake",
        "WalltimeView",
        "earliest_start",
        "hookimpl",
    }
    names = {"Config", "Result", "Workload", "compare", "load", "read_swf", "simulate", "write_swf"}
    assert set(emulator.__all__) == names


@pytest.mark.parametrize("name", emulator.__all__)
def test_public_names_are_there(name):
    assert getattr(emulator, name).__name__ == name
