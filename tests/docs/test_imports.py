"""Who imports whom: no large circles of files, and arrows that run one way between packages.

An import counts wherever it stands: at the head of a file, inside a function, and under
``TYPE_CHECKING``, since a reader of the file must know what its types are. What Python imports by
itself, the ``__init__`` of a module's packages, does not count.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LARGEST = 3
"""Files of a circle, at most: a class and what makes it may lie in two files."""
FLOORS = """
slurm_sim_plugins version livelock collector
files kinds fork hooks machines hookwatch
config hooktable scaffold port
workload
state
limits validate
scheduling
execution
accounting
metrics engine slots snapshot
runs fairness operator
truth
record
result api site
emulator testing replay live
campaign resume
walltime
report views explain
cli
slurm_sim_studies
"""
"""The packages and modules of the emulator, from the ground up, and last the studies that are made with it: each may
import those of its line and below."""
UPWARD = {
    ("state", "limits"),  # a job has an account, whose limits ask of partitions and runs
    ("scheduling", "engine"),  # a pass has its decisions applied
    ("accounting", "engine"),  # records are made of a controller
    ("result", "report"),  # a result is shown as tables and pictures
    ("result", "explain"),  # and tells the story of a job
}
"""Arrows that run back up; there may only be fewer."""


def modules() -> dict[str, Path]:
    """Each module of the packages by its dotted name."""
    folders = [ROOT / "emulator", ROOT / "slurm_sim_plugins", ROOT / "contrib" / "slurm_sim_studies"]
    return {dotted(path.relative_to(folder.parent)): path for folder in folders for path in folder.rglob("*.py")}


def dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(source: str, known: set[str]) -> set[str]:
    """The modules among those known that a source imports, anywhere in it."""

    def names() -> Iterator[str]:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, "imports are absolute here"
                whole = f"{node.module}"
                yield from (
                    f"{whole}.{alias.name}" if f"{whole}.{alias.name}" in known else whole for alias in node.names
                )

    return set(names()) & known


@cache
def arrows() -> dict[str, set[str]]:
    files = modules()
    return {name: imported(path.read_text(encoding="utf-8"), set(files)) - {name} for name, path in files.items()}


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Modules that reach each other, the largest circle first."""

    def reached(start: str) -> set[str]:
        seen, ahead = set(), [start]
        while ahead:
            for name in graph[ahead.pop()] - seen:
                seen.add(name)
                ahead.append(name)
        return seen

    reach = {name: reached(name) for name in graph}
    found = {frozenset(other for other in reach[name] if name in reach[other]) for name in graph if name in reach[name]}
    return sorted(map(set, found), key=len, reverse=True)


@pytest.mark.parametrize(
    "source",
    [
        "import emulator.api",
        "from emulator import api",
        "from emulator.api import simulate",
        "if TYPE_CHECKING:\n    from emulator.api import simulate",
        "def run():\n    from emulator.api import simulate",
    ],
)
def test_an_import_counts_wherever_it_stands(source):
    assert imported(source, {"emulator.api", "emulator"}) == {"emulator.api"}


def test_a_circle_is_what_reaches_itself():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert circles(graph) == [{"a", "b", "c"}, {"d", "e"}]


def test_no_large_circle_of_imports():
    graph = arrows()
    for circle in circles(graph):
        inside = [f"{name} -> {other}" for name in sorted(circle) for other in sorted(graph[name] & circle)]
        assert len(circle) <= LARGEST, "\n".join(["these files import each other in a circle:", *inside])


def room(name: str) -> str:
    """The part of the house that a module is in: a package or a module of the emulator, or the plugins as a whole."""
    whole, _, rest = name.partition(".")
    return rest.partition(".")[0] or whole if whole == "emulator" else whole


def test_arrows_run_down_but_for_few():
    floors = {name: floor for floor, line in enumerate(FLOORS.strip().splitlines()) for name in line.split()}
    pairs = {(room(name), room(other)) for name, others in arrows().items() for other in others}
    assert {name for pair in pairs for name in pair} == set(floors)
    assert {(name, other) for name, other in pairs if floors[name] < floors[other]} == UPWARD


def test_nothing_of_the_product_imports_the_studies():
    graph = arrows()
    assert any(name.startswith("slurm_sim_studies.") for name in graph)
    users = {name for name, others in graph.items() if {room(other) for other in others} & {"slurm_sim_studies"}}
    assert {room(name) for name in users} == {"slurm_sim_studies"}


def test_kernels_are_loaded_when_they_are_used():
    code = (
        "import sys, emulator.engine.controller; assert not [name for name in sys.modules if name.endswith('_kernel')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
