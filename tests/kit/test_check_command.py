"""slurm-sim check: by name, by file, by folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from emulator.cli import slurm_sim
from slurm_sim_plugins import ConfigurationError

GOOD = '''
from slurm_sim_plugins import hookimpl


class Good:
    """Largest first."""

    name = "priority/good"

    def __init__(self, sign: float = 1.0) -> None:
        self._sign = sign

    @hookimpl
    def priority_set(self, view):
        return [self._sign * job.processors for job in view.to_set]
'''
BAD = GOOD.replace("good", "bad").replace("Good", "Bad").replace("* job", "/ (view.total - 1) * job")


def check(*arguments: str) -> Result:
    return CliRunner().invoke(slurm_sim, ["check", *arguments])


def test_a_bundled_plugin_by_its_name() -> None:
    done = check("priority/sjf", "--only", "answers", "--only", "sizes")
    assert done.exit_code == 0
    assert done.output.splitlines() == [
        "priority/sjf (bundled)",
        "  passed     answers",
        "  passed     sizes",
        "priority/sjf: 2 checks: 2 passed",
    ]


def test_a_file_that_fails(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(BAD)
    done = check(str(tmp_path / "bad.py"), "--only", "sizes")
    assert done.exit_code == 4
    assert "failed     sizes: with a cluster of one processor: plugin priority/bad" in done.output
    assert f"{tmp_path / 'bad.py'}:15: ZeroDivisionError" in done.output


def test_a_folder_of_files(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(BAD)
    (tmp_path / "good.py").write_text(GOOD)
    done = check(str(tmp_path), "--only", "sizes")
    assert done.exit_code == 4
    assert done.output.splitlines()[-2:] == ["priority/bad: 1 checks: 1 failed", "priority/good: 1 checks: 1 passed"]


def test_an_expected_failure(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(BAD)
    done = check(str(tmp_path / "bad.py"), "--only", "sizes", "--expect", "sizes=made for more")
    assert done.exit_code == 0
    assert "expected   sizes: made for more" in done.output


def test_options_and_json(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GOOD)
    done = check(str(tmp_path / "good.py"), "--set", "priority/good.sign=-1.0", "--only", "loads", "--json")
    assert done.exit_code == 0
    assert json.loads(done.output)["priority/good"]["loads"]["status"] == "passed"
    done = check(str(tmp_path / "good.py"), "--set", "priority/good.sine=-1.0", "--only", "loads")
    assert done.exit_code == 4
    assert "has no option 'sine' (did you mean 'sign'?)" in done.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["priority/nothing"],
            "there is no plugin 'priority/nothing'; give a file that ends in .py, a folder",
        ),
        (["missing.py"], "the plugin file missing.py is not there"),
        ([], "Missing argument"),
        (["priority/sjf", "--only", "speed"], "there is no check 'speed'"),
        (["priority/sjf", "--expect", "sizes"], "write it as CHECK=REASON, with the reason why it fails"),
        (["priority/sjf", "--set", "sched/easy.a=1"], "checked are priority/sjf, and no other plugin"),
    ],
)
def test_what_cannot_be_checked(arguments: list[str], told: str) -> None:
    done = check(*arguments)
    assert done.exit_code != 0
    assert told in (str(done.exception) if isinstance(done.exception, ConfigurationError) else done.output)


def test_an_empty_folder(tmp_path: Path) -> None:
    assert "holds no plugin file" in str(check(str(tmp_path)).exception)
