"""The commands of slurm-sim: its own, and those of other packages, are listed and called alike, and imported late."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from emulator.cli import added, own, slurm_sim
from slurm_sim_plugins import PluginError


@click.command()
def hello() -> None:
    """Say hello."""
    click.echo("hello")


def invoke(monkeypatch: pytest.MonkeyPatch, value: str, *words: str, name: str = "hello") -> str:
    """What a command line prints where a package adds a command."""
    entry = EntryPoint(name, value, added.GROUP)
    monkeypatch.setattr(added, "_added", lambda: {name: entry})
    return CliRunner().invoke(slurm_sim, words, catch_exceptions=False).output


def test_it_is_listed_and_called(monkeypatch: pytest.MonkeyPatch) -> None:
    here = f"{__name__}:hello"
    assert "\n  hello Say hello.\n" in re.sub("hello +", "hello ", invoke(monkeypatch, here, "--help"))
    assert invoke(monkeypatch, here, "hello") == "hello\n"


def test_the_emulators_own_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Look at a trace" in invoke(monkeypatch, "nowhere:at_all", "trace", "--help", name="trace")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("nowhere_at_all:hello", "'nowhere_at_all:hello' cannot be loaded .ModuleNotFoundError: .* repair the package"),
        (f"{__name__}:no_such_name", "cannot be loaded .AttributeError"),
        (f"{__name__}:invoke", "is no command of click"),
    ],
)
def test_one_that_cannot_be_loaded_is_named(monkeypatch: pytest.MonkeyPatch, value: str, words: str) -> None:
    with pytest.raises(PluginError, match=words):
        invoke(monkeypatch, value, "hello")


@pytest.mark.slow
def test_other_commands_do_not_load_it() -> None:
    code = "import sys; from emulator.cli import slurm_sim; slurm_sim(['plugins'], standalone_mode=False)"
    check = "assert not [name for name in sys.modules if name.startswith('slurm_sim_studies')]"
    subprocess.run([sys.executable, "-c", f"{code}; {check}"], check=True, stdout=subprocess.DEVNULL)


def test_commands_of_the_distribution_are_called_what_they_are() -> None:
    file = Path(__file__).parents[3] / "pyproject.toml"
    entries = tomllib.loads(file.read_text(encoding="utf-8"))["project"]["entry-points"][added.GROUP]
    loaded = {name: EntryPoint(name, value, added.GROUP).load() for name, value in entries.items()}
    assert {name: command.name for name, command in loaded.items()} == {name: name for name in entries}
    assert set(entries) <= set(slurm_sim.list_commands(click.Context(slurm_sim))), "pip install -e . is to be run again"


def test_a_misspelt_command_is_answered_with_the_right_one() -> None:
    ran = CliRunner().invoke(slurm_sim, ["optimm"])
    assert ran.exit_code == 2
    assert "No such command 'optimm' (did you mean 'optimum'?)" in ran.output


@pytest.mark.parametrize("name", own.OWN)
def test_the_emulators_own_are_listed_as_they_are(name: str) -> None:
    command = own.load(name)
    assert (command.name, command.hidden) == (name, False)
    assert own.listed(name).get_short_help_str(200) == command.get_short_help_str(200)


def test_the_emulators_own_are_not_imported_to_be_listed() -> None:
    code = "import sys; from emulator.cli import slurm_sim; slurm_sim(['--help'], standalone_mode=False)"
    check = "assert not {'emulator.cli.live', 'emulator.cli.views', 'slurm_sim_plugins.views'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", f"{code}; {check}"], check=True, stdout=subprocess.DEVNULL)
