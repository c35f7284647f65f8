"""The checks of a plugin: each finds its fault, names the line and the mend; what is bundled passes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from emulator.testing import CHECKS, check_plugin, simulate_jobs
from emulator.testing.conformance import Report, run_checks, running
from slurm_sim_plugins import ConfigurationError, PluginError
from slurm_sim_plugins.manager import Catalogue, bundled_names
from slurm_sim_plugins.priority.sjf import Sjf
from slurm_sim_plugins.testing import job
from tests.builders.jobs import line_with
from tests.builders.quick import quick_checks
from tests.kit import bad_plugins as bad

FILE = Path(bad.__file__)
FAULTS: list[tuple[str, Any, str | None, str]] = [
    ("loads", bad.Nameless, "no name", "a plugin's name is a type and a word, such as 'priority/nameless'"),
    ("loads", bad.NotANumber(), "was made of this", "is an instance; give its class, of which each simulation makes"),
    ("loads", bad.Demanding, "a parameter without default", "give factor a default, or a value to be checked with"),
    ("loads", bad.Exploding, "fails when it is made", "cannot be made: RuntimeError: no such file"),
    ("hooks", bad.Misspelt, "misspelt", "there is no hook 'priority_sett' (did you mean 'priority_set'?)"),
    ("hooks", bad.WrongArgument, "wrong argument", "priority_set takes view, not queue"),
    ("hooks", bad.Unmarked, "not marked", "so that it would never be called; put @hookimpl"),
    ("hooks", bad.OtherType, "of another type", "asked only of plugins of type preempt/...; move it into one"),
    ("answers", bad.NotANumber, "answers nan", "answered nan; a priority is a finite number"),
    ("answers", bad.Twice, "names a job twice", "twice; name each job once"),
    ("sizes", bad.Dividing, "divides by nothing", "with a cluster of one processor: "),
    ("long_queue", bad.Slow, "of every pair", "do no work that grows with the square of the queue"),
    ("only_starts", bad.Impatient, "not true", "take only_starts away, or let it depend on nothing but queue"),
    ("same_answers", bad.Counting, "counts on", "keep what is remembered on self"),
    ("own_state", bad.ClassState, "on the class", "the class attribute users changed in a simulation"),
    ("own_state", bad.ClassState, "on the class", "make it in __init__: self.users = ..."),
    ("own_state", bad.DefaultState, "in a default", "a default of __init__ changed in a simulation"),
    ("own_state", bad.ModuleState, "a global that changes", "the global SEEN changed in a simulation"),
    ("own_state", bad.Hidden, None, "after a simulation of other jobs it schedules otherwise than before it"),
    ("keeps_no_view", bad.Keeping, "keeps it", "self.last keeps a Jobs after the hook has returned"),
    ("side_by_side", bad.Resetting, None, "two simulations that take turns disturb one another"),
    ("views_unchanged", bad.Writing, "writes to a job", "backfill_candidates changed what it was shown: job "),
    ("views_unchanged", bad.Turning, "turns the queue over", "schedule changed what it was shown: view.queue was"),
    ("only_by_answers", bad.Acting, None, "let it have no effect but by what it answers"),
    ("no_livelock", bad.Everybody, "everybody", "name only runs that the preemptor outranks"),
    (
        "on_clusters",
        bad.CountsOnly,
        "processors that are free",
        "on a cluster with nodes and partitions ask view.plan()",
    ),
    ("no_foresight", bad.Cheating, "cheats", "it reads true run times: do not, or say needs_oracle = True"),
]


@pytest.fixture(autouse=True)
def small_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "BUDGET", 0.08)
    sys.__dict__.pop("_seen_by_hidden", None)


@pytest.mark.parametrize(
    ("check", "plugin", "marker", "words"), FAULTS, ids=[f"{fault[0]}-{fault[3][:20]}" for fault in FAULTS]
)
def test_the_check_finds_the_fault(check: str, plugin: Any, marker: str | None, words: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check_plugin(plugin, checks=[check])
    message = str(caught.value)
    assert words in message
    assert (str(FILE) if marker is None else line_with(marker, FILE)) in message


def test_every_check_has_a_plugin_that_it_finds_wrong() -> None:
    assert {fault[0] for fault in FAULTS} | {"random_workloads"} == set(CHECKS)


@pytest.mark.slow
def test_the_smallest_example_is_told_as_a_test_that_can_be_run() -> None:
    with pytest.raises(AssertionError) as caught:
        check_plugin(bad.Pairs, checks=["random_workloads"])
    message = str(caught.value)
    assert "AssertionError: two wide jobs at once" in message
    assert line_with("two at once", FILE) in message
    line = message.splitlines()[-1].strip()
    assert line == (
        "simulate_jobs([job(2, submit=0, run=0, limit=1, user=1, requeue=0), "
        'job(2, submit=0, run=0, limit=1, user=1, requeue=0)], 2, plugins=[Pairs], priority="priority/pairs")'
    )
    with pytest.raises(PluginError, match="two wide jobs at once"):
        eval(line, {"simulate_jobs": simulate_jobs, "job": job, "Pairs": bad.Pairs})


def test_who_sends_everybody_back_is_stopped_too() -> None:
    report = run_checks(bad.Insisting, checks=["no_livelock"])
    assert [outcome.status for outcome in report] == ["passed"]


@pytest.mark.slow
def test_all_failures_are_listed() -> None:
    with pytest.raises(AssertionError) as caught:
        check_plugin(bad.ClassState, examples=3)
    message = str(caught.value)
    assert message.startswith("priority/class_state: 16 checks: ")
    assert {"own_state", "same_answers", "side_by_side"} <= {
        line.split()[1].strip(":") for line in message.splitlines()
    }


def test_what_cannot_be_loaded_is_not_tried() -> None:
    report = run_checks(bad.Misspelt)
    assert [outcome.status for outcome in report][:3] == ["passed", "failed", "not run"]
    assert all(outcome.status == "not run" for outcome in list(report)[2:])
    assert [outcome.check for outcome in run_checks(bad.Misspelt, checks=["sizes"])] == ["hooks", "sizes"]


def test_a_failure_that_is_expected() -> None:
    report = check_plugin(bad.Dividing, expected_failures={"sizes": "made for large clusters"}, checks=["sizes"])
    assert [(outcome.status, outcome.message) for outcome in report] == [("expected", "made for large clusters")]


def test_an_expected_failure_that_passes_is_wrong() -> None:
    with pytest.raises(AssertionError, match=r"it passes, and was said to fail \(old\); take it off the list"):
        check_plugin(Sjf, expected_failures={"sizes": "old"}, checks=["sizes"])


def test_a_check_that_there_is_not() -> None:
    with pytest.raises(ConfigurationError, match="there is no check 'speed'; checks are loads, hooks"):
        check_plugin(Sjf, checks=["speed"])


def test_options_are_passed_on() -> None:
    assert check_plugin(bad.Demanding, options={"factor": 2.0}, checks=["loads"]).failures == []
    failed = run_checks(bad.Demanding, options={"factors": 2.0}, checks=["loads"]).failures
    assert "has no option 'factors' (did you mean 'factor'?)" in failed[0].message


def test_without_hypothesis_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'slurm-sim-plugins\[test\]'"):
        check_plugin(Sjf, checks=["random_workloads"])


@pytest.mark.slow
@pytest.mark.parametrize("name", bundled_names())
def test_bundled_plugins_pass(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "job_submit/lua":
        pytest.importorskip("lupa", reason="the extra lua is not installed")
        (tmp_path / "job_submit.lua").write_text(
            "function slurm_job_submit() return slurm.SUCCESS end\n"
            "function slurm_job_modify() return slurm.SUCCESS end\n"
        )
        monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "BUDGET", 10.0)
    quick_checks(monkeypatch)
    info = Catalogue().get(name)
    assert info is not None
    check_plugin(info.factory)


@pytest.mark.slow
def test_a_whole_run_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "BUDGET", 10.0)
    before = os.times().user
    report = check_plugin(Sjf)
    assert os.times().user - before < 15
    assert isinstance(report, Report)
    assert str(report).splitlines()[-1] == "priority/sjf: 16 checks: 15 passed, 1 left out"
