"""The command line: exit codes, messages, files."""

from __future__ import annotations

import csv
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import pyarrow.parquet
import pytest

import emulator.cli
from emulator.accounting.runfolder import read_run
from emulator.cli.compare import parse_policy
from emulator.cli.shared import plugin_settings
from slurm_sim_plugins import ConfigurationError
from slurm_sim_plugins.kernels import why_plain

COMMAND = Path(sys.executable).parent / "slurm-sim"
FULL = Path("/dev/full")

TRACE = """\
; MaxProcs: 4
1 0 -1 10 2 -1 -1 -1 10 -1 1 1 1 -1 1 -1 -1 -1
2 0 -1 10 2 -1 -1 -1 10 -1 1 2 1 -1 1 -1 -1 -1
3 5 -1 10 4 -1 -1 -1 20 -1 1 1 1 -1 1 -1 -1 -1
4 6 -1 5 1 -1 -1 -1 5 -1 1 2 1 -1 1 -1 -1 -1
"""
"""Under FCFS, SJF and EASY job 4 starts at 20; sizes 2, 2, 4, 1 on 4 processors."""

PREEMPTED = """\
; MaxProcs: 4
1 0 -1 10 3 -1 -1 -1 12 -1 1 1 1 -1 1 -1 -1 -1
2 1 -1 5 4 -1 -1 -1 9 -1 1 2 1 -1 1 -1 -1 -1
3 2 -1 20 1 -1 -1 -1 30 -1 1 1 1 -1 1 -1 -1 -1
"""
"""Job 3 ventures ahead of 2, and has to make room for it when 1 has ended."""

RAISING = """\
from slurm_sim_plugins import hookimpl


class Raising:
    name = "priority/raising"

    @hookimpl
    def priority_set(self, view):
        if view.now == 5:
            raise RuntimeError("no more")
        return [1.0] * len(view.to_set)
"""

SPINNING = """\
from pathlib import Path

from slurm_sim_plugins import Start, hookimpl


class Spinning:
    name = "sched/spinning"

    def __init__(self, sign: str):
        self.sign = Path(sign)

    @hookimpl
    def schedule(self, view):
        if view.running:
            self.sign.touch()
            while True:
                pass
        while view.head is not None and view.head.processors <= view.free:
            yield Start(view.head)
"""

OPTIONAL = """\
from typing import Literal

from slurm_sim_plugins import hookimpl


class Optional:
    name = "priority/optional"

    def __init__(self, weight: float = 1.0, mode: Literal["up", "down"] = "up"):
        self.weight = weight

    @hookimpl
    def priority_set(self, view):
        return [self.weight * job.id for job in view.to_set]
"""


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Cli = Callable[..., Done]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """The command line in this process, in a folder that holds a trace."""
    (tmp_path / "trace.swf").write_text(TRACE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")

    def call(*words: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["slurm-sim", *map(str, words)])
        capsys.readouterr()
        code = emulator.cli._exit_code()
        return Done(code, *capsys.readouterr())

    return call


def write(name: str, text: str) -> Path:
    path = Path(name)
    path.write_text(text)
    return path


def starts(path: Path) -> dict[int, int]:
    table = pyarrow.parquet.read_table(path)
    return dict(zip(table["job_id"].to_pylist(), table["start"].to_pylist(), strict=True))


# The installed command


def installed(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, *map(str, words)], capture_output=True, text=True, timeout=120, check=False, **options
    )


@pytest.mark.slow
def test_the_installed_command_leaves_with_the_codes_that_it_promises(tmp_path: Path) -> None:
    (tmp_path / "raising.py").write_text(RAISING)
    (tmp_path / "trace.swf").write_text(TRACE)
    calls = {
        0: ["run", "trace.swf", "--json"],
        2: ["run", "trace.swf", "--scheduler", "sched/nothing"],
        3: ["run", "missing.swf"],
        4: ["run", "trace.swf", "--plugin", "raising.py", "--priority", "priority/raising"],
        5: ["run", "trace.swf", "--records", "missing/records.csv"],
    }
    for code, words in calls.items():
        done = installed(*words, cwd=tmp_path)
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        assert bool(done.stderr.startswith("slurm-sim: ")) is (code != 0)
        assert bool(done.stdout) is (code == 0)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_its_folder(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "spinning.py").write_text(SPINNING)
    (tmp_path / "trace.swf").write_text(TRACE)
    sign = tmp_path / "sign"
    words = ["run", "trace.swf", "--plugin", "spinning.py", "--scheduler", "sched/spinning", "--out", "spun"]
    # A shell that starts us in the background may have told us to ignore the signal.
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(
            [COMMAND, *words, "--set", f"sched/spinning.sign={sign}"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
        )
    finally:
        signal.signal(signal.SIGINT, previous)
    try:
        until = time.monotonic() + 60
        while not sign.exists() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        assert sign.exists(), process.communicate()[1] if process.poll() is not None else "it did not begin"
        process.send_signal(how)
        error = process.communicate(timeout=60)[1]
    finally:
        process.kill()
    assert process.returncode == 130
    assert "slurm-sim: interrupted" in error and "Traceback" not in error
    assert "; what happened until then is in spun; to be gone on with, a run needs --snapshot-every\n" in error
    read = read_run(tmp_path / "spun")
    assert read.about["run"]["status"] == "interrupted"
    assert read.records.jobs["state"].tolist() == ["RUNNING", "RUNNING", "PENDING", "FUTURE"]
    events = [json.loads(line)["event"] for line in (tmp_path / "spun" / "events.jsonl").read_text().splitlines()]
    assert events == ["submit", "submit", "start", "start", "submit"]


@pytest.mark.parametrize("words", ["['--help']", "['run', '--help']", "['--version']"])
def test_help_imports_no_heavy_libraries(words: str) -> None:
    code = f"""
import sys
sys.argv = ["slurm-sim", *{words}]
import emulator.cli
try:
    emulator.cli.main()
except SystemExit as leave:
    assert not leave.code, leave.code
heavy = [name for name in ("numpy", "pandas", "pyarrow", "matplotlib", "rich") if name in sys.modules]
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "slurm-sim" in done.stdout


@pytest.mark.parametrize("words", [["--help"], ["plugins"], ["plugins", "--json"]])
def test_a_reader_who_leaves_is_no_error(words: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [COMMAND, *words], stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("words", [["--help"], ["plugins"]])
def test_standard_output_that_is_full_is_told(words: list[str]) -> None:
    with FULL.open("w") as full:
        done = subprocess.run(
            [COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert done.returncode == 5
    assert done.stderr == "slurm-sim: standard output cannot be written: No space left on device\n"


# 0


def test_version_and_help(cli: Cli) -> None:
    from emulator.version import version

    form = f"plain Python: {why_plain()}" if why_plain() else "compiled"
    assert cli("--version") == Done(0, f"slurm-sim {version()}\nkernels: {form}\n", "")
    code, out, _ = cli("--help")
    assert code == 0
    for command in ("run", "compare", "demo", "trace", "plugins", "diff", "report"):
        assert f"\n  {command} " in out
        assert cli(command, "--help").code == 0


def commands(group: click.Group, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """All commands, each with the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*words, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*words, name))


@pytest.mark.parametrize(
    ("words", "command"), [pytest.param(*pair, id=" ".join(pair[0])) for pair in commands(emulator.cli.slurm_sim)]
)
def test_help_shows_each_example_in_a_line_of_its_own(cli: Cli, words: tuple[str, ...], command: click.Command) -> None:
    out = cli(*words, "--help").out
    examples = [line.strip() for line in (command.help or "").splitlines() if line.startswith(("slurm-sim ", "sacct "))]
    assert set(examples) <= {line.strip() for line in out.splitlines()}
    assert "\b" not in out
    assert "\\b" not in out


def test_run_prints_metrics_and_how_they_came_about(cli: Cli) -> None:
    code, out, err = cli("run", "trace.swf")
    assert (code, err) == (0, "")
    assert "sched/easy on trace" in out
    assert "mean wait" in out
    words = " ".join(out.split())
    assert "4 processors, ideal timing, passes=batch, killed at the limit" in words
    assert "rejected:" not in words


def test_run_says_what_is_not_usual(cli: Cli) -> None:
    options = (
        "--processors",
        3,
        "--filter",
        "none",
        "--passes",
        "event",
        "--no-kill-at-limit",
        "--threshold",
        5,
        "--warm-up",
        0.25,
    )
    code, out, _ = cli("run", "trace.swf", *options)
    words = " ".join(out.split())
    assert code == 0
    assert "3 processors, ideal timing, passes=event, not killed at the limit" in words
    assert "bounded slowdown with 5 s, waits, responses and slowdowns without the first 25% of the jobs" in words
    assert "1 rejected: larger than the machine of 3 processors (first: job 3, which needs 4)" in words


def test_run_as_json(cli: Cli) -> None:
    about = cli("run", "trace.swf", "--json", "--scheduler", "sched/fcfs").json
    assert about["run"]["label"] == "sched/fcfs"
    assert about["slots"]["SchedulerType"] == "sched/fcfs"
    assert about["simulation"] == {
        "timing": "ideal",
        "passes": "batch",
        "kill_at_limit": True,
        "expired": "limit",
        "seed": 0,
        "dispatch": "resolved",
    }
    assert about["preemption"] == {
        "mode": "REQUEUE",
        "checkpoint": "interval",
        "interval": 3600,
        "share": 0.1,
        "cost": 60,
        "restart_cost": 0,
        "gb_per_processor": 0,
        "gb_per_second_per_processor": 0.03125,
        "gb_per_second": 216,
        "slowdown": 0.05,
    }
    assert about["workload"]["jobs"] == about["metrics"]["jobs"] == about["metrics"]["completed"] == 4
    assert about["metrics"]["mean_wait"] == (0 + 0 + 5 + 14) / 4


VENTURE = ("--scheduler", "sched/venture", "--preempt", "preempt/shadow_load")


def test_what_preemption_does_reaches_the_run(cli: Cli) -> None:
    Path("trace.swf").write_text(PREEMPTED)
    suspend = ("--preempt-mode", "suspend", "--preemption", "slowdown=0.5", "--preemption", "cost=2")
    ends = {
        (): [10, 15, 35],
        ("--preempt-mode", "CHECKPOINT", "--preemption", "interval=4", "--preemption", "cost=1"): [12, 18, 32],
        ("--preempt-mode", "checkpoint", "--preemption", "checkpoint=jit", "--preemption", "cost=3"): [10, 18, 30],
        suspend: [15, 22.5, 41.5],
    }
    for words, expected in ends.items():
        assert cli("run", "trace.swf", *VENTURE, *words, "--out", "out").code == 0
        assert read_run(Path("out")).records.jobs["end"].tolist() == expected
    about = cli("run", "trace.swf", *VENTURE, *suspend, "--expired", "tsafrir", "--seed", 7, "--json").json
    assert (about["preemption"]["mode"], about["preemption"]["slowdown"]) == ("SUSPEND", 0.5)
    assert (about["simulation"]["expired"], about["simulation"]["seed"]) == ("tsafrir", 7)


def test_what_preemption_does_reaches_every_policy_that_is_compared(cli: Cli) -> None:
    Path("trace.swf").write_text(PREEMPTED)
    words = ("--policy", "sched/fcfs", "--policy", "PV=sched/venture,preempt/shadow_load", "--preempt-mode", "suspend")
    compared = cli("compare", "trace.swf", *words, "--preemption", "slowdown=0.5", "--json").json
    assert {about["preemption"]["mode"] for about in compared.values()} == {"SUSPEND"}
    assert {about["preemption"]["slowdown"] for about in compared.values()} == {0.5}


def test_the_seed_reaches_the_plugins(cli: Cli) -> None:
    def logged(*words: object) -> bytes:
        options = ("--walltime", "walltime/virtual", "--set", "walltime/virtual.error=0.5", "--out", "out")
        assert cli("run", "many.swf", *options, *words).code == 0
        return Path("out/records.parquet").read_bytes()

    assert cli("trace", "generate", "many.swf", "--jobs", 50, "--processors", 8, "--load", 1).code == 0
    first = logged()
    assert first == logged("--seed", 0) != logged("--seed", 1)


def test_what_is_not_a_number_is_null(cli: Cli) -> None:
    done = cli("run", "trace.swf", "--json", "--filter", "none", "--processors", 1, "--warm-up", 0.9)
    assert done.code == 0
    assert "NaN" not in done.out and "null" in done.out
    assert done.json["metrics"]["rejected"] == 3


def test_every_slot_has_an_option(cli: Cli) -> None:
    words = ("--priority", "priority/sjf", "--backfill", "backfill/sjf", "--walltime", "walltime/none")
    words += ("--execution", "execution/plain", "--select", "select/count")
    about = cli("run", "trace.swf", "--json", "--preempt", "preempt/none", *words).json
    assert about["slots"] == {
        "PriorityType": "priority/sjf",
        "SchedulerType": "sched/easy",
        "BackfillType": "backfill/sjf",
        "PreemptType": "preempt/none",
        "SelectType": "select/count",
        "WalltimeType": "walltime/none",
        "ExecutionType": "execution/plain",
    }
    assert about["run"]["label"] == "sched/easy + priority/sjf + backfill/sjf"


def test_compiled_and_dispatch_give_the_same_schedule(cli: Cli) -> None:
    results = [
        cli("run", "trace.swf", "--json", "--scheduler", "sched/conservative", *words).json["metrics"]
        for words in ([], ["--no-compiled"], ["--dispatch", "pluggy"])
    ]
    assert results[0] == results[1] == results[2]


def test_reading_options_reach_the_reader(cli: Cli) -> None:
    write("bad.swf", TRACE + "not a record\n")
    assert cli("run", "bad.swf").code == 3
    about = cli("run", "bad.swf", "--json", "--malformed", "drop", "--first-submit", "100", "--out", "out").json
    assert about["workload"]["dropped"][0]["count"] == 1
    assert read_run(Path("out")).records.jobs["submit"].tolist() == [100, 100, 105, 106]


def test_a_progress_bar_goes_to_standard_error(cli: Cli) -> None:
    done = cli("run", "trace.swf", "--json", "--progress")
    assert done.json["metrics"]["jobs"] == 4
    assert cli("run", "trace.swf", "--no-progress").err == ""


# 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("nothing", "No such command 'nothing'"),
        ("run", "Name a trace, or an experiment file that names one"),
        ("run trace.swf --nothing", "No such option '--nothing'"),
        ("run trace.swf --processors 0", "--processors"),
        ("run trace.swf --processors many", "--processors"),
        ("run trace.swf --passes both", "--passes"),
        ("run trace.swf --warm-up 1", "--warm-up"),
        ("run trace.swf --threshold -1", "is not in the range x>=0"),
        ("run trace.swf --scheduler sched/esay", "(did you mean 'sched/easy'?)"),
        ("run trace.swf --scheduler priority/sjf", "this slot takes a plugin of type sched/..."),
        ("run trace.swf --plugin missing.py", "the plugin file missing.py is not there"),
        ("run trace.swf --plugins-dir missing", "the plugin folder missing is not a folder"),
        ("run trace.swf --set x", "--set x: write it as PLUGIN.OPTION=VALUE"),
        ("run trace.swf --set sched/easy=3", "--set sched/easy=3: write it as PLUGIN.OPTION=VALUE"),
        ("run trace.swf --set sched/easy.x", "--set sched/easy.x: write it as PLUGIN.OPTION=VALUE"),
        ("run trace.swf --set .x=3", "--set .x=3: write it as PLUGIN.OPTION=VALUE"),
        ("run trace.swf --set sched/easy.x=3", "sched/easy has no option 'x'; its options: reservation"),
        ("run trace.swf --set backfill/queue_order.x=3", "backfill/queue_order has no option 'x'; its options: none"),
        ("run trace.swf --expired never", "'never' is not one of 'limit', 'now', 'tsafrir'"),
        ("run trace.swf --seed -1", "-1 is not in the range x>=0"),
        ("run trace.swf --seed 1.5", "'1.5' is not a valid integer"),
        ("run trace.swf --preempt-mode cancel", "'--preempt-mode': 'cancel' is not one of"),
        ("run trace.swf --preemption 60", "--preemption 60: write it as OPTION=VALUE; options are mode, checkpoint,"),
        ("run trace.swf --preemption intervall=60", "--preemption intervall=60: write it as OPTION=VALUE"),
        ("run trace.swf --preemption interval", "--preemption interval: write it as OPTION=VALUE"),
        ("run trace.swf --preemption =60", "--preemption =60: write it as OPTION=VALUE"),
        ("run trace.swf --preemption interval=often", "--preemption interval=often: interval takes a number"),
        ("run trace.swf --preemption interval=true", "--preemption interval=true: interval takes a number"),
        ("run trace.swf --preemption interval=[60]", "--preemption interval=[60]: interval takes a number"),
        ("run trace.swf --preemption interval=", "--preemption interval=: interval takes a number"),
        ("run trace.swf --preemption checkpoint=3", "--preemption checkpoint=3: checkpoint takes text"),
        ("run trace.swf --preemption interval=0", "preemption.interval is 0; give a finite number, at least 0.000001"),
        ("run trace.swf --preemption interval=nan", "preemption.interval is nan; give a finite number"),
        (
            "run trace.swf --preemption share=2",
            "preemption.share is 2; give a finite number, more than 0 and at most 1",
        ),
        ("run trace.swf --preemption slowdown=-1", "preemption.slowdown is -1; give a finite number, 0 or more"),
        ("run trace.swf --preemption checkpoint=late", "checkpoint is one of interval, share, jit, not 'late'"),
        ("run trace.swf --preemption mode=suspend", "mode is one of REQUEUE, CHECKPOINT, SUSPEND, not 'suspend'"),
        ("run trace.swf --preempt-mode checkpoint --preemption cost=4000", "is more than the interval of 3600 s"),
        ("compare trace.swf --preempt-mode cancel", "'cancel' is not one of"),
        ("compare trace.swf --preemption interval=0", "preemption.interval is 0"),
        ("run trace.swf --walltime walltime/virtual --set walltime/virtual.error=-1", "walltime/virtual: error is -1"),
        ("run trace.swf --walltime walltime/virtual --set walltime/virtual.rng=1", "has no option 'rng'"),
        ("run trace.swf --set sched/fcfs.x=3", "options are given for 'sched/fcfs', which is not selected"),
        ("compare trace.swf --policy easy", "'easy' is not the name of a plugin"),
        ("compare trace.swf --policy sched/esay", "(did you mean 'sched/easy'?)"),
        ("compare trace.swf --policy =sched/easy", "write it as [NAME=]PLUGIN,PLUGIN..."),
        ("compare trace.swf --policy A=", "write it as [NAME=]PLUGIN,PLUGIN..."),
        ("compare trace.swf --policy sched/easy,sched/fcfs", "are both for SchedulerType; name one"),
        ("compare trace.swf --policy A=sched/easy --policy A=sched/fcfs", "Two policies have one name"),
        ("compare trace.swf --set priority/x.a=1", "options are given for 'priority/x', which no policy has"),
        ("trace generate x.swf --jobs 0", "--jobs"),
        ("trace generate x.swf --model other", "--model"),
        ("trace generate x.swf --load 0", "load is 0.0"),
        ("diff one", "Missing argument 'SECOND'"),
        ("demo --jobs 0", "--jobs"),
        ("demo --jobs 5 --picture x.jpg", "--picture x.jpg: name a file that ends in .png or .svg"),
    ],
)
def test_usage(cli: Cli, words: str, message: str) -> None:
    code, out, err = cli(*words.split())
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())
    assert sorted(path.name for path in Path().iterdir()) == ["trace.swf"]


def test_settings_are_as_in_toml_or_words() -> None:
    words = ["a/b.x=3", "a/b.y=0.5", "a/b.z=true", "a/b.w=never_later", 'a/b.q="3"', "a/c.l=[1, 2]", "a/c.e=a=b"]
    assert plugin_settings(words) == {
        "a/b": {"x": 3, "y": 0.5, "z": True, "w": "never_later", "q": "3"},
        "a/c": {"l": [1, 2], "e": "a=b"},
    }
    assert plugin_settings(["a/b.x=1", "a/b.x=2"]) == {"a/b": {"x": 2}}
    assert plugin_settings(["a/b.x="]) == {"a/b": {"x": ""}}


def test_settings_reach_the_plugin(cli: Cli) -> None:
    words = ("run", "trace.swf", "--json", "--scheduler", "sched/conservative")
    about = cli(*words, "--set", "sched/conservative.compress=never_later").json
    assert about["plugins"]["sched/conservative"]["options"] == {"compress": "never_later"}
    code, _, err = cli(*words, "--set", "sched/conservative.compress=never")
    assert code == 2
    assert "compress is one of rebuild, never_later, not 'never'" in err


def test_settings_reach_a_plugin_file(cli: Cli) -> None:
    write("optional.py", OPTIONAL)
    words = ("run", "trace.swf", "--plugin", "optional.py", "--priority", "priority/optional", "--json")
    assert cli(*words, "--set", "priority/optional.weight=-1").code == 0
    code, _, err = cli(*words, "--set", "priority/optional.weight=heavy")
    assert (code, "priority/optional.weight takes a number, not 'heavy'" in err) == (2, True)


# Experiments


EXPERIMENT = """\
[workload]
trace = "trace.swf"
first_submit = 50

[slots]
SchedulerType = "sched/conservative"
PriorityType = "priority/sjf"

[plugins."sched/conservative"]
compress = "never_later"

[simulation]
processors = 8
passes = "event"
kill_at_limit = false
expired = "tsafrir"
seed = 3

[preemption]
mode = "CHECKPOINT"
interval = 600
cost = 20.5
"""


def test_an_experiment_says_what_to_run(cli: Cli) -> None:
    Path("deep").mkdir()
    Path("trace.swf").rename("deep/trace.swf")
    write("deep/e.toml", EXPERIMENT)
    about = cli("run", "--experiment", "deep/e.toml", "--json", "--out", "out").json
    assert about["slots"]["SchedulerType"] == "sched/conservative"
    assert about["slots"]["PriorityType"] == "priority/sjf"
    assert about["plugins"]["sched/conservative"]["options"] == {"compress": "never_later"}
    assert about["machine"]["processors"] == 8
    assert about["simulation"]["passes"] == "event"
    assert about["simulation"]["kill_at_limit"] is False
    assert (about["simulation"]["expired"], about["simulation"]["seed"]) == ("tsafrir", 3)
    assert [about["preemption"][name] for name in ("mode", "interval", "cost")] == ["CHECKPOINT", 600, 20.5]
    assert read_run(Path("out")).records.jobs["submit"].tolist() == [50, 50, 55, 56]


def test_the_command_line_goes_over_an_experiment(cli: Cli) -> None:
    write("e.toml", EXPERIMENT)
    write("other.swf", TRACE.replace("\n1 0 ", "\n9 0 "))
    words = ("--processors", 5, "--passes", "batch", "--kill-at-limit", "--priority", "priority/basic", "--seed", 4)
    more = ("--set", "sched/conservative.compress=rebuild", "--first-submit", 7, "--out", "out")
    more += ("--preempt-mode", "suspend", "--preemption", "interval=70", "--expired", "now")
    about = cli("run", "other.swf", "--experiment", "e.toml", "--json", *words, *more).json
    assert (about["simulation"]["expired"], about["simulation"]["seed"]) == ("now", 4)
    assert [about["preemption"][name] for name in ("mode", "interval", "cost")] == ["SUSPEND", 70, 20.5]
    assert about["workload"]["name"] == "other"
    assert about["machine"]["processors"] == 5
    assert about["simulation"]["passes"] == "batch"
    assert about["simulation"]["kill_at_limit"] is True
    assert about["slots"]["SchedulerType"] == "sched/conservative"
    assert about["slots"]["PriorityType"] == "priority/basic"
    assert about["plugins"]["sched/conservative"]["options"] == {"compress": "rebuild"}
    assert read_run(Path("out")).records.jobs["submit"].tolist() == [7, 7, 12, 13]


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("[workloads]\n", 2, "e.toml: there is no key workloads (did you mean 'workload'?)"),
        ("[simulation]\nprocesors = 3\n", 2, "no key simulation.procesors (did you mean 'processors'?)"),
        ("[workload]\nfilters = 'x'\n", 2, "no key workload.filters (did you mean 'filter'?)"),
        ("[simulation]\nprocessors = 'many'\n", 2, "simulation.processors takes a whole number, not 'many'"),
        ("[simulation]\nprocessors = true\n", 2, "simulation.processors takes a whole number, not True"),
        ("[simulation]\nprocessors = 4.0\n", 2, "simulation.processors takes a whole number, not 4.0"),
        ("[simulation]\nkill_at_limit = 1\n", 2, "simulation.kill_at_limit takes true or false, not 1"),
        ("[simulation]\npasses = 'both'\n", 2, "passes is one of batch, event, not 'both'"),
        ("[simulation]\nprocessors = -1\n", 2, "-1 processors"),
        ("[workload]\ntrace = 3\n", 2, "workload.trace is a file name, not 3"),
        ("[workload]\nfilter = 'other'\n", 2, "other"),
        ("[simulation]\nseed = -1\n", 2, "seed is -1; give a whole number, 0 or more"),
        ("[simulation]\nseed = 1.5\n", 2, "simulation.seed takes a whole number, not 1.5"),
        ("[simulation]\nexpired = 'never'\n", 2, "expired is one of limit, now, tsafrir"),
        ("[preemption]\nmodus = 'x'\n", 2, "no key preemption.modus (did you mean 'mode'?)"),
        ("[preemption]\nmode = 'CANCEL'\n", 2, "preemption.mode is one of REQUEUE, CHECKPOINT, SUSPEND, not 'CANCEL'"),
        ("[preemption]\nmode = 3\n", 2, "preemption.mode takes text, not 3"),
        ("[preemption]\ninterval = 0\n", 2, "preemption.interval is 0; give a finite number"),
        ("[preemption]\ninterval = 'long'\n", 2, "preemption.interval takes a number, not 'long'"),
        ("[preemption]\ninterval = true\n", 2, "preemption.interval takes a number, not True"),
        ("[preemption]\nshare = inf\n", 2, "preemption.share is inf; give a finite number"),
        ("preemption = 'SUSPEND'\n", 2, "e.toml: preemption is a table, [preemption], not 'SUSPEND'"),
        ("slots = 3\n", 2, "e.toml: slots is a table, [slots], not 3"),
        ("[slots]\nSchedulerType = 3\n", 2, "slots.SchedulerType takes text, not 3"),
        ("[slots]\nSchedulrType = 'sched/easy'\n", 2, "unknown slot 'SchedulrType' (did you mean 'SchedulerType'?)"),
        ("[plugins]\n'sched/easy' = 3\n", 2, "plugins.sched/easy is a table"),
        ("[plugins.'sched/easy']\nx = 3\n", 2, "sched/easy has no option 'x'"),
        ("[workload\n", 3, "e.toml: is not TOML: "),
        ("a = 1\na = 2\n", 3, "line 2"),
        ("\xff", 3, "e.toml: is not TOML: "),
    ],
)
def test_an_experiment_that_cannot_be_is_told(cli: Cli, text: str, code: int, message: str) -> None:
    Path("e.toml").write_bytes(text.encode("latin-1"))
    done = cli("run", "trace.swf", "--experiment", "e.toml")
    assert (done.code, done.out) == (code, "")
    assert message in done.err


def test_an_experiment_loads_no_code(cli: Cli) -> None:
    write("raising.py", "open('was_run', 'w').close()\n")
    write("e.toml", "[slots]\nSchedulerType = 'raising.py'\n")
    assert cli("run", "trace.swf", "--experiment", "e.toml").code == 2
    assert not Path("was_run").exists()


# 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("run missing.swf", "missing.swf: cannot be read: No such file or directory"),
        ("run --experiment missing.toml", "missing.toml: cannot be read: No such file or directory"),
        ("run .", "cannot be read: Is a directory"),
        ("compare missing.swf", "missing.swf: cannot be read"),
        ("trace info missing.swf", "missing.swf: cannot be read"),
        ("run bad.swf", "bad.swf:3: "),
        ("compare bad.swf", "bad.swf:3: "),
        ("trace info bad.swf", "bad.swf:3: "),
        ("run broken.swf.gz", "broken.swf.gz"),
        ("diff folder missing", "run.toml: this is not the folder of a run"),
        ("diff trace.swf trace.swf", "run.toml: this is not the folder of a run"),
        ("report folder", "run.toml: this is not the folder of a run"),
        ("report damaged", "run.toml: does not say 'processors'"),
        ("report halved", "records.parquet: cannot be read as records"),
    ],
)
def test_input(cli: Cli, words: str, message: str) -> None:
    write("bad.swf", "; MaxProcs: 4\n" + TRACE.splitlines()[1] + "\n1 2 three\n")
    Path("broken.swf.gz").write_bytes(gzip.compress(TRACE.encode(), mtime=0)[:-20])
    for folder in ("folder", "damaged", "halved"):
        Path(folder).mkdir()
    write("damaged/run.toml", "[run]\nlabel = 'x'\n[machine]\n")
    write("halved/run.toml", "[run]\nlabel = 'x'\nstatus = 'finished'\n[machine]\nprocessors = 4\n")
    write("halved/records.parquet", "PAR1")
    code, out, err = cli(*words.split())
    assert (code, out) == (3, "")
    assert message in err
    assert err.startswith("slurm-sim: ") and err.count("\n") == 1


# 4


def test_a_plugin_that_raises_is_told_with_all_that_is_known(cli: Cli, tmp_path: Path) -> None:
    write("raising.py", RAISING)
    words = ("run", "trace.swf", "--plugin", "raising.py", "--priority", "priority/raising", "--out", "out")
    code, out, err = cli(*words)
    assert (code, out) == (4, "")
    line = RAISING.splitlines().index('            raise RuntimeError("no more")') + 1
    assert err == (
        f"slurm-sim: plugin priority/raising, hook priority_set, job 3, time 5 s, {tmp_path / 'raising.py'}:{line}: "
        "RuntimeError: no more\n"
    )
    assert read_run(Path("out")).about["run"]["status"] == "failed"


@pytest.mark.parametrize("command", ["run trace.swf", "compare trace.swf", "plugins"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import there_is_no_such_module\n", "broken.py:1: cannot be imported: ModuleNotFoundError"),
        ("\nclass\n", "broken.py:2: cannot be imported: SyntaxError"),
        ("x = 1\n", "plugin broken.py: no plugin was found in it"),
    ],
)
def test_a_plugin_file_that_cannot_be_used_is_told(cli: Cli, command: str, text: str, message: str) -> None:
    write("broken.py", text)
    code, out, err = cli(*command.split(), "--plugin", "broken.py")
    assert (code, out) == (4, "")
    assert message in err


# 5


@pytest.mark.parametrize("option", ["--records", "--events"])
def test_a_place_that_is_not_there_is_refused_before_the_run(cli: Cli, option: str) -> None:
    write("raising.py", RAISING)
    plugin = ("--plugin", "raising.py", "--priority", "priority/raising")
    code, out, err = cli("run", "trace.swf", *plugin, option, "missing/file")
    assert (code, out) == (5, "")
    assert "missing/file" in err


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
def test_a_full_disk_is_told(cli: Cli) -> None:
    code, out, err = cli("run", "trace.swf", "--events", FULL)
    assert (code, out) == (5, "")
    assert "/dev/full: the event log cannot be written: No space left on device" in err


@pytest.mark.parametrize(
    "words",
    [
        "run trace.swf --out trace.swf",
        "run trace.swf --records .",
        "run trace.swf --records out.xls",
        "trace generate missing/x.swf --jobs 5",
        "demo --jobs 5 --picture missing/x.png",
    ],
)
def test_output(cli: Cli, words: str) -> None:
    code, out, err = cli(*words.split())
    assert (code, out) == (5, "")
    assert err.startswith("slurm-sim: ")
    assert Path("trace.swf").read_text() == TRACE


# Files that a run leaves


COLUMNS = ["job_id", "submit", "start", "end", "processors", "state", "run", "time_limit", "planned", "first_start"]


def test_records_as_csv(cli: Cli) -> None:
    assert cli("run", "trace.swf", "--records", "out.csv").code == 0
    with Path("out.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0])[: len(COLUMNS)] == COLUMNS
    assert [(row["job_id"], row["start"], row["end"], row["state"]) for row in rows] == [
        ("1", "0", "10", "COMPLETED"),
        ("2", "0", "10", "COMPLETED"),
        ("3", "10", "20", "COMPLETED"),
        ("4", "20", "25", "COMPLETED"),
    ]


def test_records_as_parquet(cli: Cli) -> None:
    assert cli("run", "trace.swf", "--records", "out.parquet", "--processors", 3, "--filter", "none").code == 0
    table = pyarrow.parquet.read_table("out.parquet")
    assert table.column_names[: len(COLUMNS)] == COLUMNS
    assert {"requeues", "occupied", "backfilled", "user", "group"} <= set(table.column_names)
    assert table["state"].to_pylist() == ["COMPLETED", "COMPLETED", "REJECTED", "COMPLETED"]
    assert table["start"].to_pylist() == [0, 10, None, 6]


def test_an_event_log_without_a_folder(cli: Cli) -> None:
    assert cli("run", "trace.swf", "--events", "log.jsonl").code == 0
    events = [json.loads(line) for line in Path("log.jsonl").read_text().splitlines()]
    assert [line["job"] for line in events if line["event"] == "start"] == [1, 2, 3, 4]


def test_two_runs_are_told_apart(cli: Cli) -> None:
    write("five.swf", TRACE.replace("; MaxProcs: 4", "; MaxProcs: 5"))
    for folder, policy in {"a": "sched/fcfs", "b": "sched/easy", "c": "sched/easy"}.items():
        done = cli("run", "five.swf", "--scheduler", policy, "--out", folder)
        assert done.code == 0
        assert sorted(path.name for path in Path(folder).iterdir()) == [
            "events.jsonl",
            "records.parquet",
            "run.toml",
            "runs.parquet",
        ]
    code, out, _ = cli("diff", "a", "b")
    assert code == 0
    assert "1 jobs differ; shown are 1." in out
    row = next(line.split() for line in out.splitlines() if line.split()[:2] == ["4", "1"])
    assert row[2:4] == ["10", "6"]
    assert cli("diff", "b", "c") == Done(0, "All 4 jobs start at the same times.\n", "")
    for name in ("events.jsonl", "records.parquet", "run.toml", "runs.parquet"):
        assert (Path("b") / name).read_bytes() == (Path("c") / name).read_bytes()


def test_diff_shows_as_many_as_wanted(cli: Cli) -> None:
    assert cli("trace", "generate", "many.swf", "--jobs", 100, "--processors", 8, "--load", 1).code == 0
    assert cli("run", "many.swf", "--out", "a").code == 0
    assert cli("run", "many.swf", "--scheduler", "sched/fcfs", "--out", "b").code == 0
    line = cli("diff", "a", "b", "--limit", 3).out.splitlines()[-1]
    total = int(line.split()[0])
    assert line == f"{total} jobs differ; shown are 3." and total > 20
    assert cli("diff", "a", "b").out.splitlines()[-1] == f"{total} jobs differ; shown are 20."
    assert cli("diff", "a", "b", "--limit", 0).out.splitlines()[-1] == f"{total} jobs differ; shown are {total}."


@pytest.mark.slow
def test_a_report_is_written(cli: Cli) -> None:
    assert cli("run", "trace.swf", "--out", "a").code == 0
    assert cli("report", "a") == Done(0, f"Written: {Path('a/report.html')}\n", "")
    assert "sched/easy" in Path("a/report.html").read_text()
    assert cli("report", "a", "--to", "page.html").code == 0
    assert Path("page.html").read_bytes() == Path("a/report.html").read_bytes()
    code, _, err = cli("report", "a", "--to", "missing/page.html")
    assert (code, "missing/page.html" in err) == (5, True)


# plugins


def test_plugins_are_listed(cli: Cli) -> None:
    write("optional.py", OPTIONAL)
    code, out, _ = cli("plugins", "--plugin", "optional.py")
    assert code == 0
    for name in ("sched/easy", "sched/conservative", "compress=rebuild", "priority/optional", "optional.py", "mode=up"):
        assert name in out


@pytest.mark.parametrize("name", ["test_optional.py", "optional_test.py", "conftest.py", "_shared.py"])
@pytest.mark.parametrize("command", ["plugins", "run trace.swf", "check"])
def test_tests_beside_a_plugin_are_not_loaded(cli: Cli, name: str, command: str) -> None:
    Path("folder").mkdir()
    write(f"folder/{name}", "raise RuntimeError('this is no plugin')\n")
    where = ["folder", "--only", "hooks"] if command == "check" else ["--plugins-dir", "folder"]
    code, _, err = cli(*command.split(), *where)
    assert code == 2
    assert "the folder folder holds no plugin file" in err
    write("folder/optional.py", OPTIONAL)
    assert cli(*command.split(), *where)[::2] == (0, "")


def test_plugins_as_json(cli: Cli) -> None:
    Path("folder").mkdir()
    write("folder/optional.py", OPTIONAL)
    write("folder/spinning.py", SPINNING)
    found = cli("plugins", "--json", "--plugins-dir", "folder").json
    assert found["priority/optional"] == {
        "slot": "PriorityType",
        "origin": str(Path("folder/optional.py")),
        "summary": "",
        "hooks": ["priority_set"],
        "options": {"weight": "1.0", "mode": "up"},
    }
    assert found["sched/spinning"]["options"] == {"sign": "required"}
    assert found["sched/easy"]["origin"] == "bundled"
    assert found["sched/easy"]["hooks"] == ["schedule"]


# trace


def test_trace_info(cli: Cli) -> None:
    code, out, _ = cli("trace", "info", "trace.swf")
    assert code == 0
    assert "4 of 4 records" in out and "4 processors" in out
    about = cli("trace", "info", "trace.swf", "--json").json
    assert (about["jobs"], about["machine"], about["first_submit"], about["last_submit"]) == (4, 4, 0, 6)
    assert about["mean_processors"] == 2.25
    assert about["facts"]["user"] == 2


def test_trace_info_says_what_was_left_out(cli: Cli) -> None:
    write("more.swf", TRACE + "5 7 -1 -1 1 -1 -1 -1 5 -1 0 2 1 -1 1 -1 -1 -1\n")
    about = cli("trace", "info", "more.swf", "--json").json
    assert (about["read"], about["jobs"]) == (5, 4)
    assert [(dropped["count"], Path(dropped["first"]).name) for dropped in about["dropped"]] == [(1, "more.swf:6")]
    assert "more.swf:6" in cli("trace", "info", "more.swf").out


def test_a_trace_is_generated(cli: Cli) -> None:
    words = ("--jobs", 50, "--processors", 32, "--load", 0.7)
    for name, seed in {"a.swf": 3, "b.swf": 3, "c.swf": 4, "a.swf.gz": 3, "b.swf.gz": 3}.items():
        code, out, _ = cli("trace", "generate", name, *words, "--seed", seed)
        assert (code, f"Written: {name} (lublin99)" in out) == (0, True)
    data = {path.name: path.read_bytes() for path in Path().glob("?.swf*")}
    assert data["a.swf"] == data["b.swf"] != data["c.swf"]
    assert data["a.swf.gz"] == data["b.swf.gz"]
    assert gzip.decompress(data["a.swf.gz"]) == data["a.swf"]
    about = cli("trace", "info", "a.swf.gz", "--json").json
    assert (about["jobs"], about["machine"]) == (50, 32)
    assert about["load"] == pytest.approx(0.7, rel=1e-3)


# compare and demo


def test_four_policies_are_compared_unless_others_are_named(cli: Cli) -> None:
    code, out, _ = cli("compare", "trace.swf")
    assert code == 0
    assert next(line.split() for line in out.splitlines() if "FCFS" in line) == [
        "metric",
        "FCFS",
        "SJF",
        "EASY",
        "conservative",
    ]
    assert "4 processors, ideal timing, passes=batch, killed at the limit" in " ".join(out.split())
    results = cli("compare", "trace.swf", "--json").json
    assert {name: about["run"]["label"] for name, about in results.items()} == {
        "FCFS": "sched/fcfs",
        "SJF": "sched/fcfs + priority/sjf",
        "EASY": "sched/easy",
        "conservative": "sched/conservative",
    }


def test_policies_may_be_named(cli: Cli) -> None:
    words = ("--policy", "SJF-EASY=sched/easy,backfill/sjf", "--policy", "sched/fcfs, priority/sjf")
    results = cli("compare", "trace.swf", "--json", *words).json
    assert list(results) == ["SJF-EASY", "sched/fcfs + priority/sjf"]
    assert results["SJF-EASY"]["slots"]["BackfillType"] == "backfill/sjf"
    assert results["sched/fcfs + priority/sjf"]["slots"]["PriorityType"] == "priority/sjf"
    metrics = {name: about["metrics"]["mean_wait"] for name, about in results.items()}
    alone = cli("run", "trace.swf", "--json", "--backfill", "backfill/sjf").json["metrics"]
    assert metrics["SJF-EASY"] == alone["mean_wait"]


def test_options_go_to_the_policies_that_have_the_plugin(cli: Cli) -> None:
    results = cli("compare", "trace.swf", "--json", "--set", "sched/conservative.compress=never_later").json
    assert results["conservative"]["plugins"]["sched/conservative"]["options"] == {"compress": "never_later"}
    assert "sched/conservative" not in results["EASY"]["plugins"]


def test_a_policy_is_parsed() -> None:
    assert parse_policy("a=sched/x,priority/y") == ("a", ["sched/x", "priority/y"])
    assert parse_policy("sched/x") == ("sched/x", ["sched/x"])
    assert parse_policy("k=3=sched/x") == ("k=3", ["sched/x"])
    with pytest.raises(ConfigurationError):
        parse_policy("")


@pytest.mark.slow
@pytest.mark.parametrize(("file", "magic"), [("x.png", b"\x89PNG\r\n"), ("x.svg", b"<?xml")])
def test_demo(cli: Cli, file: str, magic: bytes) -> None:
    code, out, _ = cli("demo", "--jobs", 50, "--picture", file)
    assert code == 0
    assert "50 jobs of the Lublin-Feitelson model on 128 processors at load 0.5, seed 1" in out
    assert "conservative" in out and f"Picture: {file}" in out
    data = Path(file).read_bytes()
    assert data.startswith(magic) and len(data) > 5000
