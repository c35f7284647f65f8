"""A hook that takes long, or that Ctrl-C ends, is named."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import emulator.hookwatch
from emulator import cli
from emulator.api import simulate
from emulator.config.slurm import parse_slurm_conf
from emulator.hookwatch import HookWatch
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import ConfigurationError, Decision, PluginError, PriorityView, SchedulingView, Start, hookimpl
from slurm_sim_plugins.manager import Catalogue, PluginInfo, select
from tests.builders.jobs import run, two_tiers, workload

Act = Callable[[], None]


def scheduler(act: Act) -> type:
    class Slow:
        name = "sched/slow"

        @hookimpl
        def schedule(self, view: SchedulingView) -> Iterator[Decision]:
            return self._pass(view)

        def _pass(self, view: SchedulingView) -> Iterator[Decision]:
            act()
            for job in [job for job in view.queue if job.processors <= view.free]:
                yield Start(job)

    return Slow


def priority(act: Act) -> type:
    class Slow:
        name = "priority/slow"

        @hookimpl
        def priority_set(self, view: PriorityView) -> list[float]:
            act()
            return [0.0 for _ in view.to_set]

    return Slow


def selection_of(plugin: type, slot: str) -> Any:
    return select(Catalogue([PluginInfo.of(plugin)]), {slot: plugin.name})  # type: ignore[attr-defined]


def test_a_call_is_told_once_when_it_has_lasted_ten_seconds() -> None:
    told: list[str | None] = []
    clocks = iter([0.0, 9.9, 10.0, 30.0, 0.0, 9.9])

    def act() -> None:
        for _ in range(4 if not told else 2):
            found = watch.look(sys._getframe(), next(clocks))
            told.append(None if found is None else str(found))

    plugin = priority(act)
    selection = selection_of(plugin, "PriorityType")
    watch = HookWatch(selection, lambda: 7.5)
    for _ in range(2):
        selection.plugins["priority/slow"].priority_set(type("View", (), {"to_set": ()})())
        assert watch.look(sys._getframe(), 500.0) is None
    assert told[:2] + told[3:] == [None] * 5
    assert told[2] is not None
    assert told[2].startswith(f"plugin priority/slow, hook priority_set, time 7.5 s, {__file__}:")
    assert "more than 10 s" in told[2]


class Told(logging.Handler):
    """Sets an event when the plugin under test is first told of; on a slow machine others may be, too."""

    def __init__(self) -> None:
        super().__init__()
        self.event = threading.Event()
        self.words = ""

    def emit(self, record: logging.LogRecord) -> None:
        if "/slow, hook" in record.getMessage() and not self.event.is_set():
            self.words = record.getMessage()
            self.event.set()


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    """No call is short enough, and each look comes at once: the hook goes on as soon as it was told of."""
    monkeypatch.setattr(emulator.hookwatch, "LONG", 0.0)
    monkeypatch.setattr(emulator.hookwatch, "OFTEN", 0.001)
    handler = Told()
    log = logging.getLogger("emulator.hookwatch")
    log.addHandler(handler)
    yield handler
    log.removeHandler(handler)


def test_a_simulation_tells_of_it_while_it_goes_on(told: Told) -> None:
    def act() -> None:
        assert told.event.wait(60)

    result = run([(4, 5, 1, 10, 10)], 4, scheduler="sched/slow", catalogue=Catalogue([PluginInfo.of(scheduler(act))]))
    assert result.jobs["start"].tolist() == [5]
    assert told.words.startswith("plugin sched/slow, hook schedule, job 4, time 5 s, ")


def test_a_simulation_in_slurms_timing_tells_of_it_too(told: Told) -> None:
    def act() -> None:
        assert told.event.wait(60)

    request = JobRequest(3, 20.0, 5.0, parse_sbatch(["-n1", "-t5"]), "me")
    conf = parse_slurm_conf(two_tiers("REQUEUE"))
    simulate([request], conf, slots={"PriorityType": "priority/slow"}, plugins=[priority(act)])
    assert told.words.startswith("plugin priority/slow, hook priority_set, job 3, time 20 s, ")


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """Ctrl-C as Python has it; the import of dask_jobqueue, for another test, takes it for itself."""
    taken = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, taken)


def test_ctrl_c_names_the_hook_that_it_ends(tmp_path: Path) -> None:
    def act() -> None:
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(
        KeyboardInterrupt, match=r"plugin sched/slow, hook schedule, job 4, time 5 s, .*:\d+: was being"
    ):
        simulate(workload([(4, 5, 1, 10, 10)]), processors=4, scheduler="sched/slow", plugins=[scheduler(act)])
    request = JobRequest(3, 20.0, 5.0, parse_sbatch(["-n1", "-t5"]), "me")
    with pytest.raises(KeyboardInterrupt, match="plugin priority/slow, hook priority_set, job 3, time 20 s"):
        simulate(
            [request],
            parse_slurm_conf(two_tiers("REQUEUE")),
            slots={"PriorityType": "priority/slow"},
            plugins=[priority(act)],
        )


def test_the_command_line_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "slow.py").write_text(
        "import signal\nfrom slurm_sim_plugins import hookimpl\n\n\nclass Slow:\n    name = 'priority/slow'\n\n"
        "    @hookimpl\n    def priority_set(self, view):\n        signal.raise_signal(signal.SIGINT)\n"
    )
    (tmp_path / "jobs.swf").write_text("1 5 -1 10 1 -1 -1 1 20 -1 1 1 1 -1 -1 -1 -1 -1\n")
    words = ["run", "jobs.swf", "--processors", "4", "--plugin", "slow.py", "--priority", "priority/slow"]
    monkeypatch.setattr(sys, "argv", ["slurm-sim", *words])
    monkeypatch.chdir(tmp_path)
    assert cli._exit_code() == cli.INTERRUPTED
    told = capsys.readouterr().err
    assert "slurm-sim: interrupted; plugin priority/slow, hook priority_set, job 1, time 5 s, " in told
    assert "slow.py:10" in told


def test_a_method_with_a_hooks_name_and_no_mark_is_told() -> None:
    class Marked:
        name = "priority/marked"

        @hookimpl
        def priority_set(self, view: PriorityView) -> list[float]:
            return [0.0 for _ in view.to_set]

    class Unmarked(Marked):
        name = "priority/unmarked"

        def priority_set(self, view: PriorityView) -> list[float]:
            return [1.0 for _ in view.to_set]

    class Observes(Marked):
        name = "priority/observes"

        def job_ended(self) -> None: ...

    for plugin, hook in ((Unmarked, "priority_set"), (Observes, "job_ended")):
        with pytest.raises(PluginError, match=f"plugin {plugin.name}, hook {hook}.*not marked.*put @hookimpl"):
            simulate(workload([(4, 5, 1, 10, 10)]), processors=4, priority=plugin.name, plugins=[plugin])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"processor": 3}, r"no option 'processor' \(did you mean 'processors'\?\)"),
        ({"processors": 3, "schedular": "sched/fcfs"}, r"no option 'schedular' \(did you mean 'scheduler'\?\)"),
        (
            {"processors": 3, "plugin_options": {"sched/easy": {"reservaton": "sticky"}}},
            r"sched/easy has no option 'reservaton' \(did you mean 'reservation'\?\)",
        ),
        (
            {"processors": 3, "plugin_options": {"sched/esy": {}}},
            r"'sched/esy', which is not selected \(did you mean 'sched/easy'\?\)",
        ),
    ],
)
def test_the_right_option_is_proposed(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        simulate(workload([(4, 5, 1, 10, 10)]), **options)
