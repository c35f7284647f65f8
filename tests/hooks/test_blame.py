"""Who failed is named: plugin, hook, job, simulated time, file and line."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from slurm_sim_plugins import PluginError, SlurmSimError, hookimpl
from slurm_sim_plugins.manager import discover
from tests.builders.jobs import failing, line_with, run

JOBS = [(7, 2, 4, 10, 10), (8, 3, 4, 9, 9)]

PRIORITY = """
from slurm_sim_plugins import hookimpl

class Mine:
    name = "priority/mine"

    @hookimpl
    def priority_set(self, view):
        {body}  # in the hook

def helper(jobs):
    return [1 / (job.id - 8) for job in jobs]  # in the helper
"""

SCHED = """
from slurm_sim_plugins import Start, Wake, hookimpl

class Mine:
    name = "sched/mine"

    @hookimpl
    def schedule(self, view):
        while view.head is not None and view.head.processors <= view.free:
            yield Start(view.head)
        {body}  # in the hook

def helper(jobs):
    for job in jobs:
        raise LookupError(job.id)  # in the helper
    yield from ()
"""


def loaded(tmp_path: Path, source: str, body: str) -> tuple[Path, dict[str, Any]]:
    file = tmp_path / "mine.py"
    file.write_text(source.replace("{body}", body))
    return file, {"catalogue": discover([file], installed=False)}


@pytest.mark.parametrize("dispatch", ["resolved", "pluggy"])
@pytest.mark.parametrize(
    ("body", "marker", "message"),
    [
        ("return [1 / 0 for job in view.to_set]", "in the hook", "ZeroDivisionError: division by zero"),
        ("return helper(view.to_set)", "in the helper", "ZeroDivisionError: division by zero"),
        ("return view.jobs", "in the hook", "AttributeError: 'PriorityView' object has no attribute 'jobs'"),
        ("raise SystemError", "in the hook", "SystemError"),
        ("raise SystemExit(0)", "in the hook", "SystemExit: 0"),
        ("assert False, 'never'", "in the hook", "AssertionError: never"),
        ("raise StopIteration(5)", "in the hook", "StopIteration: 5"),
    ],
)
def test_an_exception_in_a_plugin(tmp_path: Path, body: str, marker: str, message: str, dispatch: str) -> None:
    file, options = loaded(tmp_path, PRIORITY, body)
    error = failing(JOBS[1:], 4, priority="priority/mine", dispatch=dispatch, **options)
    assert error.message == message
    assert (error.plugin, error.hook, error.job, error.time) == ("priority/mine", "priority_set", 8, 3.0)
    assert error.where == line_with(marker, file)
    assert str(error) == f"plugin priority/mine, hook priority_set, job 8, time 3 s, {error.where}: {message}"
    assert isinstance(error.__cause__, BaseException)


@pytest.mark.parametrize("dispatch", ["resolved", "pluggy"])
@pytest.mark.parametrize(
    ("body", "marker", "message"),
    [
        ("yield Wake(view.now + 1 / 0)", "in the hook", "ZeroDivisionError: division by zero"),
        ("yield from helper(view.queue)", "in the helper", "LookupError: 8"),
        ("next(iter(()))", "in the hook", "RuntimeError: generator raised StopIteration"),
    ],
)
def test_an_exception_in_a_generator(tmp_path: Path, body: str, marker: str, message: str, dispatch: str) -> None:
    file, options = loaded(tmp_path, SCHED, body)
    error = failing(JOBS, 4, scheduler="sched/mine", dispatch=dispatch, **options)
    assert error.message == message
    assert (error.plugin, error.hook) == ("sched/mine", "schedule")
    assert error.time in (2.0, 3.0)
    assert error.where == line_with(marker, file)


def test_an_exception_in_a_second_file_names_the_line_that_led_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "second_file_of_a_plugin.py").write_text("def fail(view):\n    raise OSError('elsewhere')\n")
    monkeypatch.syspath_prepend(tmp_path)
    body = "import second_file_of_a_plugin; second_file_of_a_plugin.fail(view)"
    file, options = loaded(tmp_path, PRIORITY, body)
    error = failing(JOBS, 4, priority="priority/mine", **options)
    assert error.message == "OSError: elsewhere"
    assert (error.plugin, error.job, error.time) == ("priority/mine", 7, 2.0)
    assert error.where == line_with("in the hook", file)


def test_an_exception_in_a_library_names_the_line_that_led_there(tmp_path: Path) -> None:
    file, options = loaded(tmp_path, PRIORITY, "import json; return json.loads('{')")
    error = failing(JOBS, 4, priority="priority/mine", **options)
    assert error.message.startswith("JSONDecodeError: Expecting property name")
    assert error.where == line_with("in the hook", file)


def test_a_plugin_called_within_another_ones_pass_is_to_blame(tmp_path: Path) -> None:
    file = tmp_path / "back.py"
    file.write_text(
        "from slurm_sim_plugins import hookimpl\n"
        "class Back:\n"
        "    name = 'backfill/back'\n"
        "    @hookimpl\n"
        "    def backfill_candidates(self, view):\n"
        "        return view.to_try[5]  # too far\n"
    )
    jobs = [(1, 0, 3, 10, 10), (2, 1, 4, 9, 9), (3, 4, 1, 1, 1)]
    error = failing(jobs, 4, backfill="backfill/back", catalogue=discover([file], installed=False))
    assert (error.plugin, error.hook, error.time) == ("backfill/back", "backfill_candidates", 4.0)
    assert error.where == line_with("too far", file)


def test_a_plugin_error_of_a_plugin_passes_as_it_is() -> None:
    raised = PluginError("my own words", plugin="priority/mine", hook="priority_set", job=99)

    class Mine:
        name: ClassVar[str] = "priority/mine"

        @hookimpl
        def priority_set(self, view: Any) -> Any:
            raise raised

    assert failing(JOBS, 4, priority="priority/mine", plugins=[Mine]) is raised


def test_who_interrupts_is_not_blamed() -> None:
    class Mine:
        name: ClassVar[str] = "priority/mine"

        @hookimpl
        def priority_set(self, view: Any) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(JOBS, 4, priority="priority/mine", plugins=[Mine])


def test_the_time_has_as_many_decimals_as_it_needs() -> None:
    class Mine:
        name: ClassVar[str] = "priority/mine"

        @hookimpl
        def priority_set(self, view: Any) -> Any:
            raise ValueError

    shown = {}
    for submit in (0, 1.5, -2, 1234567.000001, 100):
        error = failing([(1, submit, 1, 1, 1)], 1, priority="priority/mine", plugins=[Mine])
        assert error.time == submit
        shown[submit] = str(error).partition("time ")[2].partition(" s,")[0]
    assert shown == {0: "0", 1.5: "1.5", -2: "-2", 1234567.000001: "1234567.000001", 100: "100"}


def test_the_error_is_one_of_ours() -> None:
    assert issubclass(PluginError, SlurmSimError)
    assert PluginError("words", plugin="a/b").exit_code == 4
    assert str(PluginError("words", plugin="a/b")) == "plugin a/b: words"
