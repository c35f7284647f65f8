"""The documentation says what is so: its commands run, its code is the code, its lists are complete."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from click.testing import CliRunner

from emulator.cli import slurm_sim
from emulator.config.options import Config
from emulator.workload.filters import FILTERS
from slurm_sim_plugins.hookspecs import SPECS
from slurm_sim_plugins.manager import Catalogue

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
OPTIONS = (ROOT / "docs" / "options.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def block(text: str, label: str) -> str:
    """The code block under ``<!-- label -->``."""
    found = re.search(rf"<!-- {re.escape(label)} -->\n```\w*\n(.*?)```", text, re.DOTALL)
    assert found, f"there is no block <!-- {label} -->"
    return found.group(1)


def test_generated_pages_are_what_the_code_says():
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_scheduler_in_the_readme_is_the_bundled_one():
    path = "slurm_sim_plugins/sched/easy.py"
    assert block(README, f"excerpt: {path}") in (ROOT / path).read_text(encoding="utf-8")


def test_the_python_example_in_the_readme_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    example = re.search(r"or from Python:\n\n```python\n(.*?)```", README, re.DOTALL)
    assert example
    exec(compile(example.group(1), "README.md", "exec"), {})
    assert "backfilled" in capsys.readouterr().out
    assert Path("use.png").stat().st_size > 1000


def test_the_plugin_in_the_readme_changes_the_schedule(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("largest.py").write_text(block(README, "file: largest.py"), encoding="utf-8")
    for line in block(README, "command: plugin").splitlines():
        command = line.partition("#")[0].split()
        assert command[0] == "slurm-sim"
        done = CliRunner().invoke(slurm_sim, command[1:], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    assert "jobs differ" in done.output


def test_the_experiment_in_the_options_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(block(OPTIONS, "file: study.toml"), encoding="utf-8")
    runner = CliRunner()
    runner.invoke(slurm_sim, ["trace", "generate", "jobs.swf", "--jobs", "200"], catch_exceptions=False)
    done = runner.invoke(slurm_sim, ["run", "--experiment", "study.toml", "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert '"compress": "never_later"' in done.output


@pytest.mark.parametrize(
    "option", [item.name for item in fields(Config) if item.name not in ("slots", "plugin_options")]
)
def test_every_option_has_a_place_in_the_documentation(option):
    assert f"| `{option}` |" in OPTIONS


def test_every_plugin_option_has_a_place_in_the_documentation():
    for info in Catalogue():
        for option in info.options():
            assert f"| `{info.name}.{option}` |" in OPTIONS


@pytest.mark.parametrize("name", FILTERS)
def test_every_filter_has_a_place_in_the_documentation(name):
    assert f"`{name}`" in OPTIONS


def own_hooks() -> list[str]:
    return [name for spec in SPECS.values() for name in vars(spec) if not name.startswith("_")]


@pytest.mark.parametrize("hook", own_hooks())
def test_every_hook_has_tests(hook):
    assert (ROOT / "tests" / "hooks" / f"test_{hook}.py").exists()


@pytest.mark.parametrize("hook", own_hooks())
def test_every_hook_says_what_it_must(hook):
    spec = next(spec for spec in SPECS.values() if hook in vars(spec))
    text = vars(spec)[hook].__doc__
    assert re.search(r"Port class: [AIN]\b", text)
    if spec is not SPECS["observer"]:
        for part in ("Called:", "Answers:", "None:", "Rejected:", "Cost:", "Mirrors:"):
            assert part in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith("https://"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
