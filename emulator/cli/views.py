"""A finished run as Slurm's commands show a cluster: ``squeue``, ``sinfo``, ``sacct``, ``sprio``, ``sshare``."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli import completion, shared
from slurm_sim_plugins.errors import ConfigurationError, InputError

if TYPE_CHECKING:
    from emulator.views.clock import Clock
    from emulator.views.columns import Style
    from emulator.views.recorded import RecordedCluster

Decorator = Callable[[Callable[..., None]], Callable[..., None]]


def _id(word: str) -> str:
    """An id of a job, of an array or of one of its tasks."""
    if not re.fullmatch(r"\d+(_\d+)?", word):
        raise ConfigurationError(f"{word!r} is no id of a job; give one such as 12, or 12_3 for a task of an array")
    return word


def _hosts(_context: click.Context, _option: click.Parameter, text: str | None) -> tuple[str, ...]:
    from emulator.config.slurm.hostlist import expand

    try:
        return tuple(expand(text or ""))
    except ValueError as error:
        raise ConfigurationError(str(error)) from error


def _only(*names: str, about: str, kind: Callable[[str], Any] = str) -> Decorator:
    """An option that takes a list of what is shown alone."""
    return click.option(
        *names, metavar="LIST", default="", callback=shared.comma_list(kind, "a,b"), help=f"Only {about}"
    )


folder = click.argument("folder", metavar="DIR", type=completion.RUN)
clock_options = shared.options(
    click.option(
        "--at",
        metavar="TIME",
        help="Show the cluster at this second of the run's clock, or at a date such as 2021-12-31T23:59:59.  "
        "[default: the end of the run]",
    ),
    click.option("--zone", default="UTC", show_default=True, help="Of dates, such as Europe/Paris."),
    click.option(
        "--time-format",
        default="standard",
        show_default=True,
        metavar="FORMAT",
        help="As SLURM_TIME_FORMAT: standard, or as for strftime (%s: Unix seconds).",
    ),
)
no_header = click.option("-h", "--noheader", is_flag=True, help="Print no line with the names of the columns.")
as_json = click.option("--json", "json_wanted", is_flag=True, help="Print all that is known as JSON.")
users = _only("-u", "--user", "users", about="jobs of these users.")
jobs = _only("-j", "--jobs", about="these jobs, arrays or tasks.", kind=_id)
accounts = _only("-A", "--account", "accounts", about="jobs of these accounts.")
in_partitions = _only("-p", "--partition", "partitions", about="these partitions.")
qualities = _only("-q", "--qos", about="jobs of these qualities of service.")
parsable = shared.options(
    click.option("-n", "--noheader", is_flag=True, help="Print no line with the names of the columns."),
    click.option("-P", "--parsable2", is_flag=True, help="Print values with | between them, none cut."),
    click.option("-p", "--parsable", is_flag=True, help="Print values with | after each, none cut."),
    click.option("--delimiter", default="|", show_default=True, help="Instead of |."),
)
HELP = {"help_option_names": ["--help"]}
"""As in Slurm, -h is for no header."""


@dataclass(frozen=True)
class Look:
    """What a command looks at.

    Attributes:
        folder: of the run.
        recorded: what became of the cluster.
        clock: how times are written.
        second: that is asked for.
        stated: whether it was; else it is the end of the run.
    """

    folder: Path
    recorded: RecordedCluster
    clock: Clock
    second: float
    stated: bool


def _view(*options: Decorator) -> Callable[[Callable[..., None]], click.Command]:
    """A command that looks at a finished run; it gets ``header``, or ``style`` where values may be parsable."""

    def decorate(show: Callable[..., None]) -> click.Command:
        @functools.wraps(show)
        def command(folder: Path, at: str | None, zone: str, time_format: str, **given: Any) -> None:
            header = not given.pop("noheader")
            if "delimiter" in given:
                given["style"] = _style(header, given.pop("parsable2"), given.pop("parsable"), given.pop("delimiter"))
            else:
                given["header"] = header
            show(_look(folder, at, zone, time_format), **given)

        return click.command(context_settings=HELP)(shared.options(folder, clock_options, *options, as_json)(command))

    return decorate


def _style(header: bool, parsable2: bool, parsable: bool, delimiter: str) -> Style:
    from emulator.views.columns import Style

    return Style(header, 2 if parsable2 else int(parsable), delimiter)


def _look(folder: Path, at: str | None, zone: str, time_format: str) -> Look:
    from emulator.views.clock import STANDARD, Clock
    from emulator.views.recorded import RecordedCluster
    from emulator.workload.sacct.times import zone_of

    recorded = RecordedCluster.read(folder)
    form = STANDARD if time_format == "standard" else time_format
    if "%" not in form:
        raise ConfigurationError(f"--time-format {time_format}: give standard, or a format such as %Y-%m-%dT%H:%M:%S")
    clock = Clock(recorded.epoch or 0, zone_of(zone), form)
    return Look(folder, recorded, clock, recorded.end if at is None else clock.second(at), at is not None)


def _echo(text: str) -> None:
    # Values are printable; what stands between them was stated with the command.
    click.echo(text, nl=False)


@_view(
    click.option("-l", "--long", "long", is_flag=True, help="Show more columns."),
    click.option("-o", "--format", "form", metavar="FORMAT", help="Columns as %.18i %.9P."),
    click.option("-O", "--Format", "listed", metavar="LIST", help="Columns as JobID:10,UserName."),
    click.option("-S", "--sort", metavar="LIST", help="Columns to sort by, as P,t,-p.  [default: P,t,-p]"),
    _only("-t", "--states", about="these states, or all.  [default: PD,R,S]"),
    jobs,
    users,
    accounts,
    in_partitions,
    _only("-n", "--name", "names", about="jobs of these names."),
    qualities,
    click.option("-w", "--nodelist", "nodes", metavar="HOSTS", callback=_hosts, help="Only jobs on these nodes."),
    click.option("-r", "--array", "each_task", is_flag=True, help="Show each task of an array in a line of its own."),
    no_header,
)
def squeue(
    look: Look,
    *,
    long: bool,
    form: str | None,
    listed: str | None,
    sort: str | None,
    states: tuple[str, ...],
    each_task: bool,
    header: bool,
    json_wanted: bool,
    **which: Any,
) -> None:
    """Show the jobs that waited or ran at a time of a finished run, as squeue does."""
    from emulator.views import squeue as view
    from emulator.views.jobs import COMPACT
    from emulator.views.sacct import states as read_states

    found = tuple(COMPACT) if states == ("all",) else read_states(states)
    wanted = view.Wanted(**which, states=found, each_task=each_task or json_wanted)
    rows = view.shown(look.recorded, look.second, wanted, look.clock)
    if json_wanted:
        shared.print_json({"jobs": view.as_json(rows)})
        return
    default = view.LONG if long else view.DEFAULT
    columns = view.FIELDS.listed(listed) if listed else view.FIELDS.lettered(form or default)
    _echo(view.squeue(rows, columns, sort or view.SORT, header))


@_view(
    click.option("-l", "--long", "long", is_flag=True, help="Show more columns."),
    click.option("-N", "--Node", "by_node", is_flag=True, help="Show each node in a line of its own."),
    click.option("-s", "--summarize", is_flag=True, help="Show each partition in one line."),
    click.option("-e", "--exact", is_flag=True, help="Put nodes together only if their numbers are equal."),
    click.option("-o", "--format", "form", metavar="FORMAT", help="Columns as %.6D %N."),
    click.option("-O", "--Format", "listed", metavar="LIST", help="Columns as NodeList:30,CPUsState."),
    click.option("-S", "--sort", metavar="LIST", help="Columns to sort by.  [default: #P,-t; with -N: N]"),
    _only("-t", "--states", about="nodes in these states, such as idle,mix."),
    in_partitions,
    click.option("-n", "--nodes", metavar="HOSTS", callback=_hosts, help="Only these nodes."),
    no_header,
)
def sinfo(
    look: Look,
    *,
    long: bool,
    summarize: bool,
    form: str | None,
    listed: str | None,
    sort: str | None,
    header: bool,
    json_wanted: bool,
    **which: Any,
) -> None:
    """Show partitions and nodes at a time of a finished run, as sinfo does."""
    from emulator.views import sinfo as view

    wanted = view.Wanted(**which)
    if json_wanted:
        shared.print_json(view.as_json(look.recorded, look.second, wanted))
        return
    default = view.default(wanted.by_node, long, summarize)
    columns = view.FIELDS.listed(listed) if listed else view.FIELDS.lettered(form or default)
    rows = view.lines(look.recorded, look.second, wanted, columns)
    _echo(view.sinfo(rows, columns, sort or (view.SORT_BY_NODE if wanted.by_node else view.SORT), header))


@_view(
    click.option(
        "-o",
        "--format",
        "form",
        metavar="LIST",
        help="Columns as JobID%20,Elapsed; ALL shows all, WORKLOAD what a dump needs to be read again.",
    ),
    click.option("-b", "--brief", is_flag=True, help="Show id, state and exit code."),
    click.option("-D", "--duplicates", is_flag=True, help="Show every run of jobs that were requeued."),
    click.option("-X", "--allocations", is_flag=True, expose_value=False, help="Show no steps; the emulator has none."),
    jobs,
    users,
    accounts,
    _only("-r", "--partition", "partitions", about="jobs in these partitions."),
    qualities,
    _only("--name", "names", about="jobs of these names."),
    _only("-s", "--state", "states", about="these states."),
    click.option("-S", "--starttime", "since", metavar="TIME", help="Only what had not ended by then."),
    click.option("-E", "--endtime", "until", metavar="TIME", help="Only what had been submitted by then."),
    parsable,
)
def sacct(
    look: Look,
    *,
    form: str | None,
    brief: bool,
    duplicates: bool,
    states: tuple[str, ...],
    since: str | None,
    until: str | None,
    style: Style,
    json_wanted: bool,
    **which: Any,
) -> None:
    """Show the jobs of a finished run that had been submitted until a time, as sacct does.

    What -P prints with --format WORKLOAD --duplicates can be replayed and run again.
    """
    from emulator.views import sacct as view
    from emulator.views.columns import accounting_table
    from emulator.views.squeue import Wanted

    wanted = Wanted(**which, states=view.states(states))
    window = tuple(None if text is None else look.clock.second(text) for text in (since, until))
    found = view.shown(look.recorded, look.second, wanted, look.clock, duplicates)
    rows = [row for row in found if row.within(*window)]
    if json_wanted:
        shared.print_json({"jobs": view.as_json(rows)})
        return
    columns = view.FIELDS.percented(view.names(form or (view.BRIEF if brief else view.DEFAULT)))
    _echo(accounting_table(columns, rows, style))


@_view(
    click.option("-l", "--long", "long", is_flag=True, help="Show all factors, and the user."),
    click.option("-n", "--norm", "normalised", is_flag=True, help="Show factors without weights."),
    click.option("-w", "--weights", "weights_alone", is_flag=True, help="Show the weights alone."),
    click.option("-o", "--format", "form", metavar="FORMAT", help="Columns as %.15i %.10Y."),
    click.option("-S", "--sort", metavar="LIST", help="Columns to sort by.  [default: i]"),
    jobs,
    users,
    in_partitions,
    no_header,
)
def sprio(
    look: Look,
    *,
    long: bool,
    normalised: bool,
    weights_alone: bool,
    form: str | None,
    sort: str | None,
    header: bool,
    json_wanted: bool,
    **which: Any,
) -> None:
    """Show what the priorities of waiting jobs were worked out from at a time, as sprio does."""
    from emulator.views import sprio as view
    from emulator.views.squeue import Wanted

    try:
        weights = view.weights(look.recorded)
    except InputError as error:
        raise InputError(f"{look.folder}: {error}") from error
    columns = view.FIELDS.lettered(form or view.default(weights, long, normalised))
    if weights_alone:
        _echo(view.sprio_weights(weights, columns, header))
        return
    rows = view.shown(look.recorded, look.second, Wanted(**which))
    if json_wanted:
        shared.print_json({"jobs": view.as_json(rows)})
        return
    _echo(view.sprio(rows, columns, sort or view.SORT, header))


@_view(
    click.option("-a", "--all", "everybody", is_flag=True, help="Show all users, not accounts and root alone."),
    click.option("-l", "--long", "long", is_flag=True, help="Show more columns."),
    click.option("-m", "--partition", "with_partitions", is_flag=True, help="Show partitions of associations."),
    click.option("-U", "--Users", "users_alone", is_flag=True, help="Show users without their accounts."),
    click.option("-o", "--format", "form", metavar="LIST", help="Columns as Account%30,FairShare."),
    _only("-u", "--users", about="these users, and accounts."),
    _only("-A", "--accounts", about="these accounts."),
    parsable,
)
def sshare(
    look: Look, *, long: bool, with_partitions: bool, form: str | None, style: Style, json_wanted: bool, **which: Any
) -> None:
    """Show shares and usage as of the last PriorityCalcPeriod before a time, as sshare does."""
    from emulator.views import sshare as view
    from emulator.views.columns import accounting_table

    # The last of them are noted after the last job.
    second = look.second if look.stated else math.inf
    rows = view.shown(look.recorded, second, view.Wanted(**which))
    if json_wanted:
        shared.print_json({"shares": view.as_json(rows)})
        return
    columns = view.FIELDS.percented(form or view.default(rows, long, with_partitions))
    _echo(accounting_table(columns, rows, style))
