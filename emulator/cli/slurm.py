"""Runs on a site's own cluster: what ``run`` and ``compare`` take from a ``slurm.conf``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli import shared
from slurm_sim_plugins.errors import StandstillError

if TYPE_CHECKING:
    from emulator.accounting.records import Records
    from emulator.config.experiment import Experiment
    from emulator.config.sacctmgr import Accounts
    from emulator.config.slurm.model import SlurmConf
    from emulator.result import Result
    from emulator.site import Site
    from emulator.workload.jitter import Band, Jitter

_CONF = "Take machine and policy from a slurm.conf, and run in Slurm's timing."
conf_option = click.option("--slurm-conf", type=shared.PATH, help=_CONF)
confs_option = click.option(
    "--slurm-conf",
    "slurm_confs",
    type=shared.PATH,
    multiple=True,
    help=f"{_CONF} Several are compared with each other.  [repeatable]",
)
cluster_options = shared.options(
    click.option(
        "--clock",
        type=click.Choice(["ideal", "slurm"]),
        help="ideal: decisions take no time; slurm: the ticks and delays of Slurm's daemons.  "
        "[default: ideal, with --slurm-conf slurm]",
    ),
    shared.version_option,
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
    shared.operation_option,
)


def read_site(
    trace: Path,
    slurm_conf: Path | None,
    accounts: tuple[Path, ...],
    commands: tuple[Path, ...],
    reading: Mapping[str, Any],
    study: Experiment | None = None,
    told: bool | None = None,
) -> Site | None:
    """What there is to run on a cluster; None where there is neither a ``slurm.conf`` nor a scenario.

    ``told`` is ``wanted`` of :func:`emulator.cli.shared.progress`, for the reading.
    """
    from emulator.kinds import is_scenario

    if slurm_conf is None and not is_scenario(trace):
        return None
    from emulator.operator.commands import read_commands
    from emulator.site import read_site as read

    stated = {**(study.reading if study is not None else {}), **{k: v for k, v in reading.items() if v is not None}}
    files = (*(study.account_files if study is not None else ()), *accounts)
    with shared.reading(trace, told):
        site = read(trace, slurm_conf, stated, files, study.account_commands if study is not None else ())
    for notice in site.conf.notices:
        shared.echo(f"{notice}", err=True)
    timed = [(command.at, command) for path in commands for command in read_commands(path)]
    return replace(site, actions=[*timed, *site.actions])


def show_site(
    result: Result,
    site: Site,
    accounts: Accounts | None,
    threshold: float,
    warm_up: float,
    as_json: bool,
    noise: tuple[Jitter, Mapping[str, Band]] | None = None,
) -> None:
    """Print metrics of a run on a cluster, and waits by partition and QOS."""
    locations = {request.id: request.location for request in site.submissions.requests if request.location}
    notes = (
        site.submissions.note,
        _rejected(result.records, locations),
        *result.about.get("refused", {}).values(),
        _without_effect(site.conf),
        _without_accounts(site.conf, accounts),
        accounts.remark() if accounts is not None else "",
    )
    shared.print_metrics(result, threshold, warm_up, as_json, notes, noise)
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


def is_log(trace: Path) -> bool:
    """Whether a trace is a log, and neither a scenario, nor submission events, nor a dump of ``sacct``."""
    from emulator.kinds import is_scenario
    from emulator.workload.events import ENDINGS
    from emulator.workload.sites import is_site_log

    return not (is_scenario(trace) or trace.name.endswith(ENDINGS) or is_site_log(trace))


def _rejected(records: Records, locations: Mapping[int, str]) -> str:
    """How many submissions were refused, why, which was the first, and where it stands."""
    jobs = records.jobs
    refused: dict[str, list[int]] = {}
    for row in (jobs["state"] == "REJECTED").nonzero()[0].tolist():
        refused.setdefault(str(jobs["reason"][row]), []).append(int(jobs["job_id"][row]))
    first = {
        words: f"job {ids[0]}" + (f", {locations[ids[0]]}" if ids[0] in locations else "")
        for words, ids in refused.items()
    }
    return "\n".join(f"{len(ids):,} rejected: {words} (first: {first[words]})" for words, ids in refused.items())


def _without_accounts(conf: SlurmConf, accounts: Accounts | None) -> str:
    """What is missed where the configuration speaks of accounts and there are none."""
    spoken_of = "AccountingStorageEnforce" in conf.parameters or any(
        each.qos or each.allow_qos or each.deny_qos or each.allow_accounts or each.deny_accounts
        for each in conf.partitions
    )
    if accounts is not None or not spoken_of:
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
