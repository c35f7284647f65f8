"""Another distribution's package of the name ``emulator`` is recognised, and the message names it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from slurm_sim_plugins.neighbour import foreign_emulator

ROOT = Path(__file__).parents[2]


def python(*words: str, found_first: Path) -> subprocess.CompletedProcess[str]:
    """Python with a folder from which packages are imported before ours."""
    path = f"import sys; sys.path[:0] = [{str(found_first)!r}, {str(ROOT)!r}]; sys.argv = ['slurm-sim', '--version']; "
    return subprocess.run([sys.executable, "-c", path + "; ".join(words)], capture_output=True, text=True, check=False)


def other_package(folder: Path) -> Path:
    """A package that is like that of slurm-emulator where it matters."""
    package = folder / "emulator"
    package.mkdir()
    (package / "__init__.py").write_text('"""SLURM Emulator"""\n__version__ = "0.9"\n')
    return package / "__init__.py"


def test_our_own_is_ours() -> None:
    assert foreign_emulator() is None


def test_another_one_is_named_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = other_package(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "emulator")
    said = foreign_emulator()
    assert said is not None
    assert f"is not that of slurm-sim-plugins: {other}." in said
    assert "install slurm-sim-plugins in an environment of its own" in said


def test_the_command_says_so_and_leaves(tmp_path: Path) -> None:
    other = other_package(tmp_path)
    ran = python("import slurm_sim", "slurm_sim.main()", found_first=tmp_path)
    assert ran.returncode == 2
    assert ran.stderr.startswith("slurm-sim: the package emulator that Python finds is not that of slurm-sim-plugins")
    assert ran.stderr.count(str(other)) == 1
    assert len(ran.stderr.splitlines()) == 1


def test_the_command_runs_where_all_is_well() -> None:
    ran = python("import slurm_sim", "slurm_sim.main()", found_first=ROOT)
    assert ran.stdout.startswith("slurm-sim 0.")
    assert ran.stderr == ""


def test_importing_the_plugins_warns(tmp_path: Path) -> None:
    other_package(tmp_path)
    ran = python("import slurm_sim_plugins", found_first=tmp_path)
    assert ran.returncode == 0
    assert "RuntimeWarning: the package emulator that Python finds is not that of slurm-sim-plugins" in ran.stderr


def test_a_mere_folder_of_that_name_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "emulator").mkdir()
    monkeypatch.delitem(sys.modules, "emulator")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(sys, "meta_path", [finder for finder in sys.meta_path if finder.__class__ is type])
    assert f"slurm-sim-plugins: {tmp_path / 'emulator'}." in (foreign_emulator() or "")
