"""What several commands share: options, reading the workload, progress."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from emulator.cli.completion import Setting
from emulator.cli.kept import Kept, nothing_of, saying
from emulator.cli.lines import Count, lines
from emulator.config.slurm.releases import VERSIONS
from slurm_sim_plugins.errors import ConfigurationError

if TYPE_CHECKING:
    from rich.console import Console

    from emulator.accounting.records import Records
    from emulator.config.experiment import Experiment
    from emulator.config.sacctmgr import Accounts
    from emulator.config.slurm.model import SlurmConf
    from emulator.result import Result
    from emulator.workload.jitter import Band, Jitter
    from emulator.workload.workload import Workload
    from slurm_sim_plugins.manager import Catalogue

Value = TypeVar("Value")
Command = TypeVar("Command", bound=Callable[..., Any])
PATH = click.Path(path_type=Path)
"""Of a file or a folder."""


TICK = 0.5
"""Seconds between two looks at the clock."""


def comma_list(kind: Callable[[str], Any], example: str, *, needed: bool = False) -> Callable[..., Any]:
    """The callback of an option of several values, such as ``--tables 4,5``; None stays None.

    Args:
        kind: makes a value of a word; a ValueError says that it is none.
        example: what the message says of how it is written.
        needed: whether there is to be one at least.
    """

    def values(context: click.Context, option: click.Parameter, text: str | None) -> tuple[Any, ...] | None:
        if text is None:
            return None
        try:
            found = tuple(kind(word.strip()) for word in text.split(",") if word.strip())
        except ValueError:
            found = None
        if found is None or (needed and not found):
            raise click.UsageError(f"{option.opts[0]} {text}: write it as {example}", context)
        return found

    return values


def under(conf: SlurmConf, version: str | None) -> SlurmConf:
    """A configuration under a version of Slurm, if one is named."""
    return conf if version is None else conf.under(version)


def options(*decorators: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several click options as one decorator, in the order in which help lists them."""

    def decorate(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


version_option = click.option(
    "--slurm-version",
    type=click.Choice(VERSIONS),
    help="The version of Slurm whose rules hold on the cluster of a slurm.conf.  "
    "[default: that of a recording, else the newest]",
)
operation_option = click.option(
    "--operation",
    metavar="OPTION=VALUE",
    multiple=True,
    help="With --slurm-conf: what happens to nodes, such as mtbf=2592000, mttr=14400 (failures that are drawn from "
    "--seed, mean seconds between two and until the repair) or node_events=FILE.  [repeatable]",
)
page_option = click.option(
    "--report", "page", type=PATH, help="Also write it all as a page of HTML, with its pictures."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
progress_option = click.option(
    "--progress/--no-progress",
    default=None,
    help="Say on standard error how far it is: a bar on a terminal, elsewhere a line from time to time, the first "
    "after 2 s.  [default: do]",
)

trace_options = options(
    click.option(
        "--processors", type=click.IntRange(min=1), help="Size of the machine.  [default: what the trace states]"
    ),
    click.option(
        "--filter",
        type=click.Choice(["standard", "papers", "raised", "none"]),
        help="Which jobs of a trace to keep: standard cleans and cuts run times at the request; papers keeps runs of "
        "0 s and cuts nothing; raised also raises requests below the run time; none drops only what cannot run.  "
        "[default: standard]",
    ),
    click.option(
        "--processors-field",
        type=click.Choice(["allocated", "requested", "either"]),
        help="Which field of an SWF trace is a job's size.  [default: allocated]",
    ),
    click.option("--first-submit", type=float, metavar="SECOND", help="Shift the trace so that it begins here."),
    click.option(
        "--malformed",
        type=click.Choice(["error", "drop"]),
        help="What to do about a line that is no record.  [default: error]",
    ),
)

machine_options = options(
    click.option(
        "--passes",
        type=click.Choice(["batch", "event"]),
        help="One pass for all that happens at an instant, or one after each event.  [default: batch]",
    ),
    click.option(
        "--kill-at-limit/--no-kill-at-limit", default=None, help="Kill jobs at their limits.  [default: kill]"
    ),
    click.option(
        "--expired",
        type=click.Choice(["limit", "now", "tsafrir", "again"]),
        help="What a run that outlives its planned end is planned with: its limit, now, growing corrections, or its "
        "limit again and again.  "
        "[default: limit]",
    ),
    click.option(
        "--preempt-mode",
        type=click.Choice(["REQUEUE", "CHECKPOINT", "SUSPEND"], case_sensitive=False),
        help="What becomes of a run that is preempted.  [default: REQUEUE]",
    ),
    click.option(
        "--preemption",
        metavar="OPTION=VALUE",
        multiple=True,
        help="A further option of the mode, such as interval=3600 or cost=60; with --slurm-conf of "
        "PreemptMode=CHECKPOINT.",
    ),
    click.option("--seed", type=click.IntRange(min=0), help="Of the random numbers that plugins draw.  [default: 0]"),
    click.option(
        "--compiled/--no-compiled",
        default=None,
        help="Use compiled kernels; the schedule is the same.  [default: if they are compiled, from 100 jobs on]",
    ),
    click.option(
        "--dispatch",
        type=click.Choice(["resolved", "pluggy"]),
        help="Call hooks directly, or through pluggy; the schedule is the same.  [default: resolved]",
    ),
)

log_options = options(
    click.option(
        "--accounts",
        type=PATH,
        multiple=True,
        help="Accounts, QOS and limits: a sacctmgr dump, or a script of sacctmgr.",
    ),
    click.option("--zone", help="Of times in the dump that state none, such as Europe/Paris.  [default: UTC]"),
    click.option("--delimiter", default="|", show_default=True, help="Between the columns of the dump."),
    click.option(
        "--malformed",
        type=click.Choice(["error", "drop"]),
        default="error",
        show_default=True,
        help="What to do about a line that cannot be used: end there, or leave it out and name it.",
    ),
    click.option(
        "--cancelled",
        type=click.Choice(["cancel", "drop"]),
        default="cancel",
        show_default=True,
        help="What to do about a job that was cancelled while it waited: cancel it at the same second, or leave it "
        "out.",
    ),
    click.option(
        "--elsewhere",
        type=click.Choice(["reject", "default"]),
        default="reject",
        show_default=True,
        help="What to do about a job in a partition that the cluster has not: reject it as Slurm does, or send it to "
        "the default partition.",
    ),
)
"""How a dump of a site is read and run again."""

plugin_files = options(
    click.option(
        "--plugin",
        "files",
        type=click.Path(path_type=Path),
        multiple=True,
        help="Load a plugin file. A plugin is code, and it is run.",
    ),
    click.option(
        "--plugins-dir",
        "folders",
        type=click.Path(path_type=Path),
        multiple=True,
        help="Load all plugin files of a folder: *.py, but no _*.py and no tests of pytest.",
    ),
)

plugin_options = options(
    plugin_files,
    click.option(
        "--set",
        "settings",
        multiple=True,
        type=Setting(),
        metavar="PLUGIN.OPTION=VALUE",
        help="Set an option of a plugin, as sched/conservative.compress=never_later.",
    ),
)

metric_options = options(
    click.option(
        "--threshold",
        type=click.FloatRange(min=0),
        default=10.0,
        show_default=True,
        help="Of the bounded slowdown, in seconds.",
    ),
    click.option(
        "--warm-up",
        type=click.FloatRange(0, 1, max_open=True),
        default=0.0,
        show_default=True,
        help="Leave this first share of the jobs out of waits, responses and slowdowns; the rest is of all jobs.",
    ),
)


def find_plugins(files: Sequence[Path], folders: Sequence[Path]) -> Catalogue:
    """All plugins: bundled, installed, and those that were named."""
    from slurm_sim_plugins.manager import discover

    return discover(files, folders)


def plugin_paths(files: Sequence[Path], folders: Sequence[Path]) -> list[Path]:
    """The whole paths of all plugin files that were named, in the order in which they are loaded."""
    from slurm_sim_plugins.manager import plugin_files

    return list(dict.fromkeys(path.resolve() for path in [*files, *plugin_files(folders)]))


def plugin_settings(settings: Sequence[str]) -> dict[str, dict[str, Any]]:
    """``["sched/x.option=3"]`` to ``{"sched/x": {"option": 3}}``; values are as in TOML, or words."""
    parsed: dict[str, dict[str, Any]] = {}
    for setting in settings:
        target, equals, text = setting.partition("=")
        plugin, dot, option = target.rpartition(".")
        if not (equals and dot and plugin and option):
            raise ConfigurationError(f"--set {setting}: write it as PLUGIN.OPTION=VALUE")
        parsed.setdefault(plugin, {})[option] = _value(text)
    return parsed


def preemption_settings(mode: str | None, settings: Sequence[str]) -> dict[str, Any]:
    """``["interval=3600"]`` and the mode to fields of :class:`emulator.config.preemption.Preemption`."""
    from emulator.config.experiment import PREEMPTION

    return {**({"mode": mode} if mode is not None else {}), **_settings("--preemption", PREEMPTION, settings)}


def operation_settings(settings: Sequence[str]) -> dict[str, Any]:
    """``["mtbf=86400"]`` to fields of :class:`emulator.config.operation.Operation`."""
    from emulator.config.operation import KINDS, with_files

    return with_files(_settings("--operation", KINDS, settings))


def _settings(name: str, kinds: Mapping[str, type], settings: Sequence[str]) -> dict[str, Any]:
    """The values of an option of the command line of which each states one of some options."""
    from slurm_sim_plugins.manager import WORDS

    parsed: dict[str, Any] = {}
    for setting in settings:
        option, equals, text = setting.partition("=")
        if option not in kinds or not equals:
            raise ConfigurationError(f"{name} {setting}: write it as OPTION=VALUE; options are {', '.join(kinds)}")
        value = _value(text)
        accepted = (int, float) if kinds[option] is float else kinds[option]
        if not isinstance(value, accepted) or isinstance(value, bool):
            raise ConfigurationError(f"{name} {setting}: {option} takes {WORDS[kinds[option]]}")
        parsed[option] = value
    return parsed


def _value(text: str) -> Any:
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def read_workload(
    trace: Path, experiment: Experiment | None = None, told: bool | None = None, **given: Any
) -> Workload:
    """Read the trace, with what was given on the command line over the experiment file.

    Args:
        trace: the file.
        experiment: what is stated beside the command line.
        told: as ``wanted`` of :func:`progress`.
        given: options of :func:`emulator.workload.read.read_trace`.
    """
    from emulator.workload.read import read_trace

    processors = given.pop("processors", None)
    stated = dict(experiment.reading) if experiment is not None else {}
    stated.update({name: value for name, value in given.items() if value is not None})
    with reading(trace, told):
        return read_trace(trace, machine=processors, **stated)


@contextmanager
def reading(file: Path, wanted: bool | None = None) -> Iterator[None]:
    """How much of a log is read, where that takes longer; ``wanted`` as for :func:`progress`."""
    from emulator.workload.logfile import telling

    with progress(f"reading {file.name} (%)", 100, wanted, nothing_of(file.name)) as report, telling(report):
        yield


def told_of(values: Sequence[Value], report: Callable[[int], None] | None) -> Iterator[Value]:
    """The same values; ``report`` is told how many were taken."""
    for at, value in enumerate(values):
        if report is not None:
            report(at)
        yield value


@contextmanager
def clocked(label: str, seconds: float, wanted: bool | None = None) -> Iterator[None]:
    """The seconds of work that takes so many at most; ``wanted`` as for :func:`progress`."""
    import threading

    over = threading.Event()
    with progress(f"{label} (s)", math.ceil(seconds), wanted, nothing_of(label)) as report:

        def tick() -> None:
            ticks = 0
            while report is not None and not over.wait(TICK):
                ticks += 1
                report(round(min(ticks * TICK, seconds)))

        thread = threading.Thread(target=tick, name="clock", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


@contextmanager
def progress(
    label: str, total: int, wanted: bool | None = None, kept: Kept | None = None
) -> Iterator[Callable[[int], None] | None]:
    """How far a command is, on standard error: a bar on a terminal, elsewhere a line from time to time.

    Args:
        label: of what is done.
        total: how much there is to do; 0 if that is not known.
        wanted: True for a bar wherever it goes, False for nothing.
        kept: what Ctrl-C says is kept of it; by default nothing.

    Yields:
        A function that is called with how much is done, or None.
    """
    import sys

    kept = kept or nothing_of(label)
    if wanted is False:
        with saying(kept):
            yield None
        return
    if not wanted and not sys.stderr.isatty():
        count = Count(label, total or None)
        with saying(kept), lines(count, say):
            yield lambda done: setattr(count, "completed", done)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console(stderr=True), transient=True)
    task = bar.add_task(label, total=total or None)
    with saying(kept), bar:
        yield lambda done: bar.update(task, completed=done)


def say(line: str) -> None:
    """Print a line on standard error."""
    echo(line, err=True)


def read_accounts(files: Sequence[Path]) -> Accounts | None:
    """Read files of accounts, and say what their author should know; None for no files.

    Raises:
        InputError: all that is wrong in them.
    """
    from emulator.config.sacctmgr import read_accounts as read

    accounts = read(*files) if files else None
    if accounts is not None and accounts.remark():
        echo(accounts.remark(), err=True)
    return accounts


def echo(text: object = "", err: bool = False, nl: bool = True) -> None:
    """Print lines in which nothing steers the terminal; every command prints with this or :func:`console`."""
    from emulator.report.numbers import printable_lines

    click.echo(printable_lines(text), err=err, nl=nl)


def console(**options: Any) -> Console:
    """Where rich prints: what it is given does not steer the terminal, its own styles do.

    Args:
        options: of :class:`rich.console.Console`.
    """
    from rich import console
    from rich.segment import Segment

    from emulator.report.numbers import printable_lines

    class Printable(console.Console):
        def render(self, *given: Any, **more: Any) -> Iterator[Segment]:
            for part in super().render(*given, **more):
                yield part if part.control else Segment(printable_lines(part.text), part.style)

    return Printable(**options)


def print_json(data: Mapping[str, Any]) -> None:
    """Print data as JSON; what is not a number is null."""
    import json

    # What is not ASCII is escaped, but for the last of the control characters.
    echo(json.dumps(plain(data), indent=2, allow_nan=False).replace("\x7f", "\\u007f"))


def plain(value: Any) -> Any:
    """As JSON has it: texts as keys, and null for what is not a number."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and value - value != 0:
        return None
    return value


def print_table(table: Any) -> None:
    """Print a rich table, as wide as the terminal; never so narrow that a number would be cut short."""
    import shutil

    console(width=max(shutil.get_terminal_size().columns, 120), highlight=False).print(table)


def print_metrics(
    result: Result,
    threshold: float,
    warm_up: float,
    as_json: bool,
    notes: Sequence[str] = (),
    noise: tuple[Jitter, Mapping[str, Band]] | None = None,
) -> None:
    """Print the metrics of a run, and their bands if it was repeated, as a table with notes under it or as JSON."""
    from emulator.metrics.summary import summarise
    from emulator.report.bands import bands_data, told

    summary = summarise(result.records, threshold=threshold, warm_up=warm_up)
    if as_json:
        measured = {} if noise is None else {"noise": bands_data(noise[1], noise[0])}
        print_json({**result.about, "metrics": summary, **measured})
        return
    from emulator.report.table import run_table

    repeats = "" if noise is None else f"band: {told(noise[0])}"
    note = "\n".join(filter(None, (metric_note(threshold, warm_up), repeats, *notes)))
    print_table(run_table(summary, result.about, note=note, bands=None if noise is None else noise[1]))


def metric_note(threshold: float, warm_up: float) -> str:
    """What is to be said under a table of metrics that were not taken as usual."""
    notes = []
    if threshold != 10:
        notes.append(f"bounded slowdown with {threshold:g} s")
    if warm_up:
        notes.append(f"waits, responses and slowdowns without the first {warm_up:.0%} of the jobs")
    return ", ".join(notes)


def rejected_note(records: Records, refused: Mapping[str, int]) -> str:
    """Which jobs were not taken in, and why; empty if none. ``refused`` were so many for reasons of plugins."""
    jobs = records.jobs
    rejected = records.in_state("REJECTED").nonzero()[0].tolist()
    if refused:
        larger = len(rejected) - sum(refused.values())
        words = {**refused, **({"larger than the machine, or its largest block": larger} if larger else {})}
        return "\n".join(f"{count:,} rejected: {why}" for why, count in words.items())
    if not rejected:
        return ""
    first = rejected[0]
    wide = all(jobs["processors"][index] > records.processors for index in rejected)
    reason = f"the machine of {records.processors:,} processors" if wide else "the largest block of the machine"
    return (
        f"{len(rejected):,} rejected: larger than {reason} "
        f"(first: job {jobs['job_id'][first]}, which needs {jobs['processors'][first]:,})"
    )
