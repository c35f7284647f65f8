"""What is compiled at installation, with which compiler, and what is said where nothing is."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

from slurm_sim_plugins import kernels

ROOT = Path(__file__).parents[2]
MODULE = "slurm_sim_plugins.profile_kernel"


@pytest.fixture
def building(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("setuptools", minversion="77")
    spec = importlib.util.spec_from_file_location("building", ROOT / "contrib" / "building" / "building.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.delenv("CC", raising=False)
    return module


@pytest.fixture
def no_compiler(building: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "_works", lambda command: False)


@pytest.mark.usefixtures("no_compiler")
def test_a_compiler_is_asked_for_where_there_is_none(
    building: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "_headers", lambda: [str(tmp_path)])
    assert "ziglang" not in building.get_requires_for_build_wheel()
    (tmp_path / "Python.h").touch()
    assert "ziglang" in building.get_requires_for_build_wheel()
    assert "ziglang" in building.get_requires_for_build_editable()


def test_no_other_is_asked_for_where_one_works(building: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "_works", lambda command: command == ["cc", "-m64"])
    monkeypatch.setattr(shutil, "which", lambda name: name)
    monkeypatch.setenv("CC", "cc -m64")
    assert building.find_compiler() == ["cc", "-m64"]
    assert "ziglang" not in building.get_requires_for_build_wheel()


@pytest.mark.usefixtures("no_compiler")
def test_what_is_built_without_a_compiler_says_so_in_one_line(
    building: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("Cython")
    for command, told in (("egg_info", ""), ("bdist_wheel", "no C compiler that finds Python.h")):
        monkeypatch.setattr(sys, "argv", ["setup.py", command])
        assert building.extensions() == []
        said = capsys.readouterr().err
        assert told in said
        assert said.count("\n") == bool(told)


def test_every_kernel_has_its_types(building: ModuleType) -> None:
    for name in building.KERNELS:
        assert (ROOT / name.replace(".", "/")).with_suffix(".pxd").is_file(), name


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one kernel that counts as compiled from what lies there."""
    package = tmp_path / "slurm_sim_plugins"
    package.mkdir()
    for suffix in (".py", ".pxd"):
        shutil.copy(ROOT / "slurm_sim_plugins" / f"profile_kernel{suffix}", package)
    kernels.built_list(tmp_path).write_text(json.dumps({MODULE: kernels.digest(MODULE, tmp_path)}))
    monkeypatch.setattr(kernels, "ROOT", tmp_path)
    monkeypatch.delenv(kernels.SWITCH, raising=False)
    for function in (kernels._built, kernels.why_plain):
        monkeypatch.setattr(kernels, function.__name__, function.__wrapped__)
    return package


def test_a_source_that_has_changed_runs_as_plain_python(built: Path) -> None:
    finder = kernels._PlainFinder()
    assert kernels.why_plain() == ""
    assert finder.find_spec(MODULE, None) is None
    for file, text in (("profile_kernel.pxd", "# another type"), ("profile_kernel.py", "changed = True\n")):
        (built / file).write_text(text)
        assert "have changed" in kernels.why_plain()
    found = finder.find_spec(MODULE, None)
    assert found is not None
    assert found.origin == str(built / "profile_kernel.py")


def test_a_kernel_whose_source_is_gone_has_changed(built: Path) -> None:
    (built / "profile_kernel.pxd").unlink()
    assert "have changed" in kernels.why_plain()


def test_plain_python_is_asked_for(
    built: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(kernels.SWITCH, "plain")
    assert kernels.why_plain() == "as SLURM_SIM_KERNELS=plain says"
    assert not kernels.are_compiled("anything")
    assert not caplog.records
    monkeypatch.setenv(kernels.SWITCH, "slow")
    assert kernels.why_plain() == ""
    assert caplog.messages == ["SLURM_SIM_KERNELS=slow is not known; it is plain or empty"]


def test_nothing_that_is_compiled(built: Path) -> None:
    kernels.built_list(built.parent).unlink()
    assert "not compiled; python -m pip install" in kernels.why_plain()
