"""Runs on a site's own cluster: what ``run`` and ``compare`` take from a ``slurm.conf``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli import shared
from slurm_sim_plugins.errors import StandstillError

if TYPE_CHECKING:
    from emulator.accounting.records import Records
    from emulator.api import Result
    from emulator.config.experiment import Experiment
    from emulator.config.sacctmgr import Accounts
    from emulator.config.slurm.model import SlurmConf
    from emulator.operator.commands import TimedCommand
    from emulator.truth.inputs import Inputs
    from emulator.workload.submissions import Submissions

cluster_options = shared.options(
    click.option(
        "--slurm-conf", type=shared.PATH, help="Take machine and policy from a slurm.conf, and run in Slurm's timing."
    ),
    click.option(
        "--clock",
        type=click.Choice(["ideal", "slurm"]),
        help="ideal: decisions take no time; slurm: the ticks and delays of Slurm's daemons.  "
        "[default: ideal, with --slurm-conf slurm]",
    ),
    click.option(
        "--accounts",
        type=shared.PATH,
        multiple=True,
        help="With --slurm-conf: accounts and QOS, a dump of sacctmgr or a script of its commands.  [repeatable]",
    ),
    click.option(
        "--commands",
        type=shared.PATH,
        multiple=True,
        help="With --slurm-conf: operators' commands at their times, lines of SECOND COMMAND, such as 3600 scontrol "
        "update NodeName=n1 State=DRAIN.  [repeatable]",
    ),
)


@dataclass(frozen=True)
class Site:
    """A cluster, and what is done on it.

    Attributes:
        conf: its configuration.
        submissions: what is submitted.
        actions: operators' commands, each at its second.
    """

    conf: SlurmConf
    submissions: Submissions
    actions: Sequence[tuple[float, TimedCommand]]
    _scenario: Inputs | None
    _books: tuple[tuple[Path, ...], Experiment | None]

    def accounts(self) -> Accounts | None:
        """Accounts and qualities of service, read each time, as a run may change them; None for none."""
        books = read_books(*self._books)
        return self._scenario.accounts() if books is None and self._scenario is not None else books


def read_site(
    trace: Path,
    slurm_conf: Path | None,
    accounts: tuple[Path, ...],
    commands: tuple[Path, ...],
    reading: Mapping[str, Any],
    study: Experiment | None = None,
) -> Site | None:
    """What there is to run on a cluster; None where there is neither a ``slurm.conf`` nor a scenario."""
    from emulator.config.slurm import read_slurm_conf
    from emulator.operator.commands import TimedCommand, read_commands
    from emulator.workload.submissions import Submissions, read_submissions, refuse_reading

    if slurm_conf is None and not is_scenario(trace):
        return None
    scenario = _scenario(trace) if is_scenario(trace) else None
    if slurm_conf is not None:
        conf = read_slurm_conf(slurm_conf)
    else:
        assert scenario is not None, "else there is nothing to run on a cluster"
        conf = scenario.conf
    for notice in conf.notices:
        shared.echo(f"{notice}", err=True)
    actions = [(command.at, command) for path in commands for command in read_commands(path)]
    stated = {**(study.reading if study is not None else {}), **{k: v for k, v in reading.items() if v is not None}}
    if scenario is not None:
        refuse_reading(trace, stated, "a scenario")
        submissions = Submissions(list(scenario.requests), trace.name.partition(".")[0])
        actions += [(at, TimedCommand(at, text, str(trace))) for at, text in scenario.actions]
    else:
        submissions = read_submissions(trace, conf, stated)
    return Site(conf, submissions, actions, scenario, (accounts, study))


def show_site(
    result: Result, site: Site, accounts: Accounts | None, threshold: float, warm_up: float, as_json: bool
) -> None:
    """Print metrics of a run on a cluster, and waits by partition and QOS."""
    places = {request.id: request.place for request in site.submissions.requests if request.place}
    notes = (
        site.submissions.note,
        _rejected(result.records, places),
        *result.about.get("refused", {}).values(),
        _without_effect(site.conf),
        _without_accounts(site.conf, accounts),
    )
    shared.print_metrics(result, threshold, warm_up, as_json, notes)
    if not as_json:
        from emulator.report.waits import waits_table

        shared.print_table(waits_table(result.records, ("partition", "qos")))


def check_finished(result: Result, whose: str = "") -> None:
    """Refuse to end well where jobs of a cluster have not ended; ``whose`` begins the words.

    Raises:
        StandstillError: there are some.
    """
    if result.about.get("unfinished"):
        waits = "; ".join(f"{why}: {jobs}" for why, jobs in result.about["unfinished"].items())
        why = result.about.get("endless") or "nothing can happen any more"
        raise StandstillError(f"{whose}{why}; unfinished: {waits}")


def is_scenario(trace: Path) -> bool:
    """Whether a trace is a scenario, which has its own configuration and what operators did."""
    return trace.suffix in (".yaml", ".yml")


def is_log(trace: Path) -> bool:
    """Whether a trace is a log, and neither a scenario, nor submission events, nor a dump of ``sacct``."""
    from emulator.workload.events import ENDINGS
    from emulator.workload.sites import is_site_log

    return not (is_scenario(trace) or trace.name.endswith(ENDINGS) or is_site_log(trace))


def _scenario(trace: Path) -> Inputs:
    """What was done in a recorded scenario: configuration, submissions, commands."""
    from emulator.truth import Known
    from emulator.truth.inputs import inputs_of
    from emulator.workload.scenario import read_scenario

    return inputs_of(read_scenario(trace), Known())


def read_books(files: tuple[Path, ...], study: Experiment | None) -> Accounts | None:
    """Accounts and qualities of service from files, and from an experiment; None if neither has any.

    Raises:
        InputError: all that is wrong in a file; or in a command, with its number.
    """
    from emulator.config.sacctmgr import read_accounts
    from emulator.config.sacctmgr.reader import add_accounts

    commands = study.account_commands if study is not None else ()
    all_files = [*(study.account_files if study is not None else ()), *files]
    if not all_files and not commands:
        return None
    accounts = read_accounts(*all_files)
    add_accounts(accounts, commands, "accounts.commands")
    return accounts


def _rejected(records: Records, places: Mapping[int, str]) -> str:
    """How many submissions were refused, why, which was the first, and where it stands."""
    jobs = records.jobs
    refused: dict[str, list[int]] = {}
    for place in (jobs["state"] == "REJECTED").nonzero()[0].tolist():
        refused.setdefault(str(jobs["reason"][place]), []).append(int(jobs["job_id"][place]))
    first = {
        words: f"job {ids[0]}" + (f", {places[ids[0]]}" if ids[0] in places else "") for words, ids in refused.items()
    }
    return "\n".join(f"{len(ids):,} rejected: {words} (first: {first[words]})" for words, ids in refused.items())


def _without_accounts(conf: SlurmConf, accounts: Accounts | None) -> str:
    """What is missed where the configuration speaks of accounts and there are none."""
    if accounts is not None or "AccountingStorageEnforce" not in conf.parameters:
        return ""
    return "no --accounts: limits of accounts and QOS do not hold, and fair share counts for nothing"


def _without_effect(conf: SlurmConf) -> str:
    """Which stated keys have no effect yet."""
    from emulator.config.slurm.vocabulary import Status
    from emulator.report.slurmconf import keys

    names = [key.name for key in keys(conf) if key.status is Status.NOT_YET]
    if not names:
        return ""
    shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more (slurm-sim conf check)" if len(names) > 6 else "")
    return f"stated without effect yet: {shown}"
