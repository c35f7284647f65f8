"""A finished run as Slurm's commands show a cluster: ``squeue``, ``sinfo``, ``sacct``, ``sprio``, ``sshare``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from emulator.cli import shared
from slurm_sim_plugins.errors import ConfigurationError, InputError

if TYPE_CHECKING:
    from emulator.views.clock import Clock
    from emulator.views.situation import Situation

Command = TypeVar("Command", bound=Callable[..., Any])

folder = click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
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
users = click.option("-u", "--user", "users", metavar="LIST", help="Only jobs of these users.")
jobs = click.option("-j", "--jobs", metavar="LIST", help="Only these jobs, arrays or tasks.")
accounts = click.option("-A", "--account", "accounts", metavar="LIST", help="Only jobs of these accounts.")
in_partitions = click.option("-p", "--partition", "partitions", metavar="LIST", help="Only these partitions.")
parsable = shared.options(
    click.option("-n", "--noheader", is_flag=True, help="Print no line with the names of the columns."),
    click.option("-P", "--parsable2", is_flag=True, help="Print values with | between them, none cut."),
    click.option("-p", "--parsable", is_flag=True, help="Print values with | after each, none cut."),
    click.option("--delimiter", default="|", show_default=True, help="In the place of |."),
)
HELP = {"help_option_names": ["--help"]}
"""As in Slurm, -h is for no header."""


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(filter(None, (text or "").split(",")))


def _ids(text: str | None) -> tuple[str, ...]:
    """Ids of jobs, of arrays or of their tasks."""
    found = _words(text)
    wrong = [word for word in found if not re.fullmatch(r"\d+(_\d+)?", word)]
    if wrong:
        raise ConfigurationError(f"{wrong[0]!r} is no id of a job; give one such as 12, or 12_3 for a task of an array")
    return found


def _look(folder: Path, at: str | None, zone: str, time_format: str) -> tuple[Situation, Clock, float]:
    """The run, its clock, and the second that is asked for."""
    from emulator.views.clock import STANDARD, Clock
    from emulator.views.situation import Situation
    from emulator.workload.sacct.times import zone_of

    situation = Situation.read(folder)
    form = STANDARD if time_format == "standard" else time_format
    if "%" not in form:
        raise ConfigurationError(f"--time-format {time_format}: give standard, or a format such as %Y-%m-%dT%H:%M:%S")
    clock = Clock(situation.epoch or 0, zone_of(zone), form)
    return situation, clock, situation.end if at is None else clock.second(at)


def _echo(text: str) -> None:
    # Values are printable; what stands between them was stated with the command.
    click.echo(text, nl=False)


@click.command(context_settings=HELP)
@folder
@clock_options
@click.option("-l", "--long", "long", is_flag=True, help="Show more columns.")
@click.option("-o", "--format", "form", metavar="FORMAT", help="Columns as %.18i %.9P.")
@click.option("-O", "--Format", "listed", metavar="LIST", help="Columns as JobID:10,UserName.")
@click.option("-S", "--sort", metavar="LIST", help="Columns to sort by, as P,t,-p.  [default: P,t,-p]")
@click.option("-t", "--states", metavar="LIST", help="Only these states, or all.  [default: PD,R,S]")
@jobs
@users
@accounts
@in_partitions
@click.option("-n", "--name", "names", metavar="LIST", help="Only jobs of these names.")
@click.option("-q", "--qos", metavar="LIST", help="Only jobs of these qualities of service.")
@click.option("-w", "--nodelist", metavar="HOSTS", help="Only jobs on these nodes.")
@click.option("-r", "--array", "each_task", is_flag=True, help="Show each task of an array in a line of its own.")
@no_header
@as_json
def squeue(
    folder: Path,
    at: str | None,
    zone: str,
    time_format: str,
    long: bool,
    form: str | None,
    listed: str | None,
    sort: str | None,
    states: str | None,
    jobs: str | None,
    users: str | None,
    accounts: str | None,
    partitions: str | None,
    names: str | None,
    qos: str | None,
    nodelist: str | None,
    each_task: bool,
    noheader: bool,
    json_wanted: bool,
) -> None:
    """Show the jobs that waited or ran at a time of a finished run, as squeue does."""
    from emulator.views import squeue as view
    from emulator.views.jobs import COMPACT
    from emulator.views.sacct import states as read_states

    situation, clock, second = _look(folder, at, zone, time_format)
    wanted = view.Wanted(
        _ids(jobs),
        _words(users),
        _words(accounts),
        _words(partitions),
        _words(names),
        _words(qos),
        tuple(COMPACT) if states == "all" else read_states(_words(states)),
        _hosts(nodelist),
        each_task or json_wanted,
    )
    rows = view.shown(situation, second, wanted, clock)
    if json_wanted:
        shared.print_json({"jobs": view.as_json(rows)})
        return
    columns = (
        view.FIELDS.listed(listed) if listed else view.FIELDS.lettered(form or (view.LONG if long else view.DEFAULT))
    )
    _echo(view.squeue(rows, columns, sort or view.SORT, not noheader))


@click.command(context_settings=HELP)
@folder
@clock_options
@click.option("-l", "--long", "long", is_flag=True, help="Show more columns.")
@click.option("-N", "--Node", "by_node", is_flag=True, help="Show each node in a line of its own.")
@click.option("-s", "--summarize", is_flag=True, help="Show each partition in one line.")
@click.option("-e", "--exact", is_flag=True, help="Put nodes together only if their numbers are equal.")
@click.option("-o", "--format", "form", metavar="FORMAT", help="Columns as %.6D %N.")
@click.option("-O", "--Format", "listed", metavar="LIST", help="Columns as NodeList:30,CPUsState.")
@click.option("-S", "--sort", metavar="LIST", help="Columns to sort by.  [default: #P,-t; with -N: N]")
@click.option("-t", "--states", metavar="LIST", help="Only nodes in these states, such as idle,mix.")
@in_partitions
@click.option("-n", "--nodes", metavar="HOSTS", help="Only these nodes.")
@no_header
@as_json
def sinfo(
    folder: Path,
    at: str | None,
    zone: str,
    time_format: str,
    long: bool,
    by_node: bool,
    summarize: bool,
    exact: bool,
    form: str | None,
    listed: str | None,
    sort: str | None,
    states: str | None,
    partitions: str | None,
    nodes: str | None,
    noheader: bool,
    json_wanted: bool,
) -> None:
    """Show partitions and nodes at a time of a finished run, as sinfo does."""
    from emulator.views import sinfo as view

    situation, _, second = _look(folder, at, zone, time_format)
    wanted = view.Wanted(_words(partitions), _hosts(nodes), _words(states), by_node, exact)
    if json_wanted:
        shared.print_json(view.as_json(situation, second, wanted))
        return
    default = view.default(by_node, long, summarize)
    columns = view.FIELDS.listed(listed) if listed else view.FIELDS.lettered(form or default)
    rows = view.lines(situation, second, wanted, columns)
    _echo(view.sinfo(rows, columns, sort or (view.SORT_BY_NODE if by_node else view.SORT), not noheader))


@click.command(context_settings=HELP)
@folder
@clock_options
@click.option(
    "-o",
    "--format",
    "form",
    metavar="LIST",
    help="Columns as JobID%20,Elapsed; ALL shows all, WORKLOAD what a dump needs to be read again.",
)
@click.option("-b", "--brief", is_flag=True, help="Show id, state and exit code.")
@click.option("-D", "--duplicates", is_flag=True, help="Show every run of jobs that were requeued.")
@click.option("-X", "--allocations", is_flag=True, help="Show no steps; the emulator has none.")
@jobs
@users
@accounts
@click.option("-r", "--partition", "partitions", metavar="LIST", help="Only jobs in these partitions.")
@click.option("-q", "--qos", metavar="LIST", help="Only jobs of these qualities of service.")
@click.option("--name", "names", metavar="LIST", help="Only jobs of these names.")
@click.option("-s", "--state", "states", metavar="LIST", help="Only these states.")
@click.option("-S", "--starttime", "since", metavar="TIME", help="Only what had not ended by then.")
@click.option("-E", "--endtime", "until", metavar="TIME", help="Only what had been submitted by then.")
@parsable
@as_json
def sacct(
    folder: Path,
    at: str | None,
    zone: str,
    time_format: str,
    form: str | None,
    brief: bool,
    duplicates: bool,
    allocations: bool,
    jobs: str | None,
    users: str | None,
    accounts: str | None,
    partitions: str | None,
    qos: str | None,
    names: str | None,
    states: str | None,
    since: str | None,
    until: str | None,
    noheader: bool,
    parsable2: bool,
    parsable: bool,
    delimiter: str,
    json_wanted: bool,
) -> None:
    """Show the jobs of a finished run that had been submitted until a time, as sacct does.

    What -P prints with --format WORKLOAD --duplicates can be replayed and run again.
    """
    from emulator.views import sacct as view
    from emulator.views.columns import Style
    from emulator.views.squeue import Wanted

    situation, clock, second = _look(folder, at, zone, time_format)
    wanted = Wanted(
        _ids(jobs),
        _words(users),
        _words(accounts),
        _words(partitions),
        _words(names),
        _words(qos),
        view.states(_words(states)),
    )
    window = tuple(None if text is None else clock.second(text) for text in (since, until))
    rows = [row for row in view.shown(situation, second, wanted, clock, duplicates) if row.within(*window)]
    if json_wanted:
        shared.print_json({"jobs": view.as_json(rows)})
        return
    columns = view.FIELDS.percented(view.names(form or (view.BRIEF if brief else view.DEFAULT)))
    _echo(view.sacct(rows, columns, Style(not noheader, 2 if parsable2 else int(parsable), delimiter)))


@click.command(context_settings=HELP)
@folder
@clock_options
@click.option("-l", "--long", "long", is_flag=True, help="Show all factors, and the user.")
@click.option("-n", "--norm", "normalised", is_flag=True, help="Show factors without weights.")
@click.option("-w", "--weights", "weights_alone", is_flag=True, help="Show the weights alone.")
@click.option("-o", "--format", "form", metavar="FORMAT", help="Columns as %.15i %.10Y.")
@click.option("-S", "--sort", metavar="LIST", help="Columns to sort by.  [default: i]")
@jobs
@users
@in_partitions
@no_header
@as_json
def sprio(
    folder: Path,
    at: str | None,
    zone: str,
    time_format: str,
    long: bool,
    normalised: bool,
    weights_alone: bool,
    form: str | None,
    sort: str | None,
    jobs: str | None,
    users: str | None,
    partitions: str | None,
    noheader: bool,
    json_wanted: bool,
) -> None:
    """Show what the priorities of waiting jobs were worked out from at a time, as sprio does."""
    from emulator.views import sprio as view
    from emulator.views.squeue import Wanted

    situation, _, second = _look(folder, at, zone, time_format)
    try:
        weights = view.weights(situation)
    except InputError as error:
        raise InputError(f"{folder}: {error}") from error
    columns = view.FIELDS.lettered(form or view.default(weights, long, normalised))
    if weights_alone:
        _echo(view.sprio_weights(weights, columns, not noheader))
        return
    rows = view.shown(situation, second, Wanted(_ids(jobs), _words(users), partitions=_words(partitions)))
    if json_wanted:
        shared.print_json({"jobs": view.as_json(rows)})
        return
    _echo(view.sprio(rows, columns, sort or view.SORT, not noheader))


@click.command(context_settings=HELP)
@folder
@clock_options
@click.option("-a", "--all", "everybody", is_flag=True, help="Show all users, not accounts and root alone.")
@click.option("-l", "--long", "long", is_flag=True, help="Show more columns.")
@click.option("-m", "--partition", "with_partitions", is_flag=True, help="Show partitions of associations.")
@click.option("-U", "--Users", "users_alone", is_flag=True, help="Show users without their accounts.")
@click.option("-o", "--format", "form", metavar="LIST", help="Columns as Account%30,FairShare.")
@click.option("-u", "--users", metavar="LIST", help="Only these users, and accounts.")
@click.option("-A", "--accounts", metavar="LIST", help="Only these accounts.")
@parsable
@as_json
def sshare(
    folder: Path,
    at: str | None,
    zone: str,
    time_format: str,
    everybody: bool,
    long: bool,
    with_partitions: bool,
    users_alone: bool,
    form: str | None,
    users: str | None,
    accounts: str | None,
    noheader: bool,
    parsable2: bool,
    parsable: bool,
    delimiter: str,
    json_wanted: bool,
) -> None:
    """Show shares and usage as of the last PriorityCalcPeriod before a time, as sshare does."""
    from emulator.views import sshare as view
    from emulator.views.columns import Style

    situation, _, second = _look(folder, at, zone, time_format)
    # The last of them are noted after the last job.
    second = math.inf if at is None else second
    rows = view.shown(situation, second, view.Wanted(everybody, _words(users), _words(accounts), users_alone))
    if json_wanted:
        shared.print_json({"shares": view.as_json(rows)})
        return
    columns = view.FIELDS.percented(form or view.default(rows, long, with_partitions))
    _echo(view.sshare(rows, columns, Style(not noheader, 2 if parsable2 else int(parsable), delimiter)))


def _hosts(text: str | None) -> tuple[str, ...]:
    from emulator.config.slurm.hostlist import expand

    try:
        return tuple(expand(text or ""))
    except ValueError as error:
        raise ConfigurationError(str(error)) from error
