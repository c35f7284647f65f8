"""slurm-sim new-plugin: a package that works as it is written."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from emulator.cli import slurm_sim
from emulator.scaffold import FAMILIES, write_package
from emulator.testing import check_plugin, simulate_jobs
from slurm_sim_plugins import ConfigurationError, OutputError
from slurm_sim_plugins.hookspecs import SPECS
from slurm_sim_plugins.manager import discover
from tests.builders.quick import quick_checks

assert simulate_jobs, "imported here once for all, so that the runs within this process do not each import numpy"

OPTIONS = (
    *("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest", "-k", "not must"),
    *("-p", "slurm_sim_plugins.testing.pytest_plugin", "-p", "emulator.testing.pytest_plugin"),
)


def new(*arguments: str) -> Result:
    return CliRunner().invoke(slurm_sim, ["new-plugin", *arguments])


def test_there_is_a_template_for_every_type() -> None:
    assert set(FAMILIES) == set(SPECS)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_its_tests_pass_and_it_does_what_plugins_must(
    family: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = new(f"my-{family}-2", "--hook", family, "--into", str(pytester.path))
    assert done.exit_code == 0, done.output
    folder = pytester.path / f"my-{family}-2"
    monkeypatch.chdir(folder)
    ran = pytester.runpytest_inprocess("--rootdir", str(folder), str(folder), *OPTIONS)
    assert ran.parseoutcomes()["passed"] >= 1
    assert "failed" not in ran.parseoutcomes()
    quick_checks(monkeypatch)
    (info,) = [
        info for info in discover([folder / f"my_{family}_2.py"], installed=False) if str(pytester.path) in info.origin
    ]
    assert info.name == f"{family}/my_{family}_2"
    check_plugin(info.factory)


def test_what_is_written(tmp_path: Path) -> None:
    done = new("short-first", "--hook", "priority", "--into", str(tmp_path))
    written = [line.removeprefix("Written: ") for line in done.output.splitlines() if line.startswith("Written")]
    assert written == [
        str(tmp_path / "short-first" / name)
        for name in ("pyproject.toml", "README.md", "short_first.py", "tests/test_short_first.py")
    ]
    assert done.output.splitlines()[-1] == f"Next: cd {tmp_path / 'short-first'} && pip install -e '.[test]' && pytest"
    project = tomllib.loads((tmp_path / "short-first" / "pyproject.toml").read_text())
    assert project["project"]["name"] == "short-first"
    assert project["project"]["entry-points"]["slurm_sim_plugins"] == {"short_first": "short_first:ShortFirst"}
    readme = (tmp_path / "short-first" / "README.md").read_text()
    assert "slurm-sim run TRACE --priority priority/short_first" in readme


@pytest.mark.slow
def test_the_tests_that_are_written_run_as_a_user_runs_them(tmp_path: Path) -> None:
    write_package("mine", "observer", tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", *OPTIONS]
    done = subprocess.run(command, cwd=tmp_path / "mine", capture_output=True, text=True, check=False)
    assert "2 passed, 1 deselected" in done.stdout, done.stdout + done.stderr


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    write_package("mine", "priority", tmp_path)
    (tmp_path / "mine" / "mine.py").write_text("# changed\n")
    with pytest.raises(
        OutputError, match="is there already, and nothing is overwritten; choose another name or folder"
    ):
        write_package("mine", "sched", tmp_path)
    assert (tmp_path / "mine" / "mine.py").read_text() == "# changed\n"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("../mine", "cannot be the name of a package"),
        ("Mine", "use lower-case letters, digits and single hyphens"),
        ("a--b", "cannot be the name of a package"),
        ("9lives", "cannot be the name of a package"),
        ("", "cannot be the name of a package"),
        ("mine\n", "cannot be the name of a package"),
        ("class", "would hide another module of the name class"),
        ("queue", "would hide another module of the name queue"),
        ("emulator", "would hide another module of the name emulator"),
        ("sjf", "priority/sjf is bundled already"),
    ],
)
def test_a_name_that_cannot_be(name: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=told.replace("(", r"\(")):
        write_package(name, "priority", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_family_that_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no family 'topology'; families are priority"):
        write_package("mine", "topology", tmp_path)
    assert new("mine", "--hook", "topology").exit_code == 2


def test_a_place_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be made"):
        write_package("mine", "priority", tmp_path / "file")
