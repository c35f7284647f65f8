"""The pages beyond the README: complete, in the site, and their code runs."""

from __future__ import annotations

import importlib.util
import inspect
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from emulator.cli import slurm_sim
from emulator.testing import CHECKS, simulate_jobs
from slurm_sim_plugins.hookspecs import SPECS
from slurm_sim_plugins.manager import bundled_names
from tests.builders.quick import quick_checks
from tests.docs import run_tutorial
from tests.docs.pages import DOCS, blocks

assert simulate_jobs, "imported here once for all, so that the runs within this process do not each import numpy"

PAGES = (
    "testing.md",
    "howto-priority.md",
    "howto-observer.md",
    "howto-predictor.md",
    "howto-preemption.md",
    "explain.md",
    "report.md",
    "howto-scheduler.md",
)
"""Pages whose blocks run one after the other, in one folder."""
PAGES_OF_OTHER_TESTS = {
    "tutorial.md": "tests/docs/run_tutorial.py",
    "realtime.md": "tests/docs/test_site.py",
    "options.md": "tests/docs/test_documentation.py",
    "porting.md": "tests/docs/test_porting.py",
    "campaigns.md": "tests/unit/campaign/test_campaign_results.py",
    "snapshots.md": "tests/unit/snapshot/test_snapshot.py",
    "job-submit.md": "tests/unit/cli/test_cli_job_submit.py",
}
"""Pages whose blocks other tests run, and where."""
FIXTURES = (
    *("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest", "--rootdir", "."),
    *("-p", "slurm_sim_plugins.testing.pytest_plugin", "-p", "emulator.testing.pytest_plugin"),
)


def text(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def short_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    quick_checks(monkeypatch)


def outcomes_of(pytester: pytest.Pytester, *arguments: str) -> dict[str, int]:
    """How tests end; that some modules were imported before, and are not rewritten, is as it must be here."""
    outcomes = pytester.runpytest_inprocess(*arguments, *FIXTURES).parseoutcomes()
    outcomes.pop("warnings", None)
    return outcomes


def said_by(arguments: list[str]) -> str:
    """What a command prints; it ends well."""
    result = CliRunner().invoke(slurm_sim, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_shows_runs(page: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(pytester.path))
    done = 0
    for block in blocks(page):
        done += 1
        if block.kind in ("file", "test"):
            (pytester.path / block.name).write_text(block.text, encoding="utf-8")
        if block.kind == "test":
            assert set(outcomes_of(pytester, block.name)) == {"passed"}
        if block.kind == "command":
            for command in block.commands:
                program, *arguments = shlex.split(command)
                if program == "python":
                    runpy.run_path(*arguments)
                    continue
                assert program == "slurm-sim"
                said = words(said_by(arguments))
        if block.kind == "output":
            assert [line for line in block.text.splitlines() if words(line) not in said] == []
    assert done


def words(output: str) -> str:
    """A text with single blanks."""
    return " ".join(output.split())


def test_a_scheduler_for_a_cluster_is_short() -> None:
    (plugin,) = [block.text for block in blocks("howto-scheduler.md") if block.name == "slack.py"]
    assert len(plugin.splitlines()) <= 30


def test_labelled_blocks_of_every_page_are_run() -> None:
    labelled = {page.name for page in DOCS.glob("*.md") if blocks(page.name)}
    assert labelled == {*PAGES, *PAGES_OF_OTHER_TESTS}
    for page, file in PAGES_OF_OTHER_TESTS.items():
        source = (DOCS.parent / file).read_text(encoding="utf-8")
        assert page in source


def test_the_experiment_with_realtime_jobs_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (experiment,) = blocks("realtime.md")
    Path(experiment.name).write_text(experiment.text, encoding="utf-8")
    ran = []
    for command in ("trace generate jobs.swf --jobs 200", f"run jobs.swf --experiment {experiment.name} --json"):
        ran.append(CliRunner().invoke(slurm_sim, command.split(), catch_exceptions=False))
        assert ran[-1].exit_code == 0, ran[-1].output
    assert '"SchedulerType": "sched/realtime"' in ran[-1].output


@pytest.mark.slow
def test_the_tutorial_does_what_it_says(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = []

    def do(command: str, folder: Path) -> None:
        monkeypatch.chdir(folder)
        program, *arguments = shlex.split(command)
        if program == "pip":
            # What installing leaves behind: the module on the path, and its entry point.
            assert arguments == ["install", "-e", ".[test]"]
            project = (folder / "pyproject.toml").read_text()
            points = re.search(r"\[project\.entry-points\.(\w+)\]\n(.*?)\n\n", project, re.DOTALL)
            assert points
            about = folder / "small_first-0.1.0.dist-info"
            about.mkdir()
            (about / "METADATA").write_text("Metadata-Version: 2.1\nName: small-first\nVersion: 0.1.0\n")
            (about / "entry_points.txt").write_text(f"[{points.group(1)}]\n{points.group(2).replace(chr(34), '')}\n")
            monkeypatch.syspath_prepend(str(folder))
        elif program == "pytest":
            assert not arguments
            outcomes.append(outcomes_of(pytester))
        else:
            sys.modules.pop("small_first", None)
            ran = CliRunner().invoke(slurm_sim, arguments, catch_exceptions=False)
            assert ran.exit_code == 0, ran.output

    commands, lines = run_tutorial.run(pytester.path, do)
    assert (commands, lines) == (9, 3)
    assert outcomes == [{"passed": 3}, {"passed": 3}]


def test_every_bundled_plugin_has_a_page_that_names_it() -> None:
    rows = re.findall(r"\| `([\w/]+)` \| [^|]+ \| \[[^]]+\]\(([\w-]+\.md)\) \|", text("algorithms.md"))
    assert {name for name, _ in rows} == set(bundled_names())
    for name, page in rows:
        assert f"`{name}`" in text(page) or f"={name}" in text(page) or f"# {name}" in text(page), (name, page)


@pytest.mark.parametrize("page", ["fcfs.md", "easy.md", "conservative.md"])
def test_a_page_about_an_algorithm_gives_its_source(page: str) -> None:
    assert "Source: " in text(page)


def hooks() -> list[str]:
    return [name for spec in SPECS.values() for name in vars(spec) if not name.startswith("_")]


@pytest.mark.parametrize("hook", hooks())
def test_every_hook_is_in_the_porting_guide_with_its_class(hook: str) -> None:
    spec = next(spec for spec in SPECS.values() if hook in vars(spec))
    found = re.search(r"Port class: ([AIN])", vars(spec)[hook].__doc__)
    assert found
    guide = text("porting.md")
    row = next(line for line in guide.splitlines() if line.startswith("| [") and hook in line)
    assert row.split("|")[2].strip() == found.group(1)
    section = re.search(rf"^## {hook}\n\nClass ([AIN])[:.,]", guide, re.MULTILINE)
    if spec is not SPECS["observer"]:
        assert section
        assert section.group(1) == found.group(1)
    else:
        assert f"`{hook}`" in guide.partition("## Observers")[2]


def test_every_check_is_explained() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", text("testing.md").partition("## What every")[2], re.MULTILINE))
    promises = {name: (inspect.getdoc(check) or "").partition("\n\n")[0] for name, check in CHECKS.items()}
    assert {name: rows.get(name) for name in promises} == promises


def test_the_overview_leads_to_the_pages() -> None:
    linked = set(re.findall(r"\]\(([\w.-]+)\.md\)", text("README.md")))
    via = set(re.findall(r"\]\(([\w.-]+)\.md\)", text("algorithms.md")))
    assert {page.stem for page in DOCS.glob("*.md")} - {"README"} <= linked | via


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("sphinx") is None, reason="sphinx is not installed: the extra [docs]")
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-E", "-d", str(tmp_path / "doctrees"), str(DOCS)]
    built = subprocess.run([*command, str(tmp_path / "site")], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    page = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "From an empty folder to a tested package" in page
    listed = re.findall(r'class="toctree-l1[^"]*"><a class="reference internal" href="([\w.-]+)\.html"', page)
    below = re.findall(r'class="toctree-l2[^"]*"><a class="reference internal" href="([\w.-]+)\.html"', page)
    assert len(listed) == len(set(listed))
    assert {*listed, *below} == {page.stem for page in DOCS.glob("*.md")} - {"README"}
    assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="https?://', page), "it needs a network"
