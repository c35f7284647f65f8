"""``slurm-sim upgrade-check``: what a newer Slurm makes of a slurm.conf, and of a site's own log."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from emulator.cli import shared
from emulator.config.slurm.releases import NEWEST, VERSIONS
from emulator.config.slurm.versions import RELEASES, emulated_version
from slurm_sim_plugins.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from emulator.accounting.records import Records
    from emulator.config.slurm.model import SlurmConf
    from emulator.config.slurm.upgrade import Changes
    from emulator.replay.emulate import Options
    from emulator.report.upgrade import Starts

_release = click.Choice(RELEASES)


@click.command("upgrade-check")
@click.argument("slurm_conf", type=shared.PATH)
@click.option("--from", "old", type=_release, required=True, help="The version that runs now.")
@click.option("--to", "new", type=_release, default=NEWEST, show_default=True, help="The version to upgrade to.")
@click.option("--log", "dump", type=shared.PATH, help="A dump of sacct -P, to be run under both versions.")
@shared.log_options
@click.option(
    "--limit", type=click.IntRange(min=0), default=10, show_default=True, help="Show so many of the jobs; 0 shows all."
)
@shared.page_option
@shared.json_option
@shared.progress_option
def upgrade_check(
    slurm_conf: Path,
    old: str,
    new: str,
    dump: Path | None,
    accounts: tuple[Path, ...],
    zone: str | None,
    delimiter: str,
    malformed: str,
    cancelled: str,
    elsewhere: str,
    limit: int,
    page: Path | None,
    as_json: bool,
    progress: bool | None,
) -> None:
    """Say what changes for a slurm.conf with an upgrade of Slurm.

    Lists the keys of the file whose meaning or default changes, and the emulator's rules that begin to hold. With --log
    the submissions of a dump of sacct are run under both versions, and the jobs that start at another time are listed.

    \b
    slurm-sim upgrade-check /etc/slurm/slurm.conf --from 22.05 --to 26.05
    slurm-sim upgrade-check slurm.conf --from 22.05 --log march.sacct --zone Europe/Paris
    """
    from emulator.config.slurm import read_slurm_conf
    from emulator.config.slurm.upgrade import changes
    from emulator.files import check_writable
    from emulator.replay.emulate import Options
    from emulator.report import upgrade

    if page is not None:
        check_writable(page)
    if dump is None:
        _of_a_log_only(click.get_current_context())
    conf = read_slurm_conf(slurm_conf)
    for notice in conf.notices:
        shared.echo(f"{notice}", err=True)
    found = changes(conf, old, new)
    how = {"zone": zone, "malformed": malformed, "separator": delimiter}
    options = Options(cancelled, elsewhere)
    starts = _starts(dump, conf, (old, new), how, options, accounts, progress) if dump is not None else None
    if page is not None:
        write_page(page, f"{slurm_conf.name}: an upgrade from Slurm {old} to {new}", found, starts)
        shared.echo(f"Written: {page}", err=as_json)
    if as_json:
        shared.print_json(upgrade.data(found, starts, limit))
        return
    for table in upgrade.tables(found, starts, limit):
        shared.print_table(table)
    for sentence in upgrade.sentences(found, starts, limit):
        shared.echo(sentence)


def _starts(
    dump: Path,
    conf: SlurmConf,
    versions: tuple[str, str],
    reading: Mapping[str, Any],
    how: Options,
    accounts: Sequence[Path],
    progress: bool | None,
) -> Starts:
    """What becomes of a log under both versions."""
    from emulator.config.sacctmgr import read_accounts
    from emulator.replay.emulate import emulate
    from emulator.report.diff import diff_records
    from emulator.report.upgrade import Starts
    from emulator.workload.sites import read_site_log

    for version in versions:
        _check_emulated(version)
    with shared.reading(dump, progress):
        log = read_site_log(dump, **reading)
    for sentence in log.notices():
        shared.echo(sentence, err=True)
    shared.read_accounts(accounts)

    def run(version: str) -> Records:
        tree = read_accounts(*accounts) if accounts else None  # A run may change them.
        with shared.progress(f"{log.name}, {version}", len(log), progress) as report:
            return emulate(log, conf, how, accounts=tree, slurm_version=version, report=report).records

    before, after = map(run, versions)
    return Starts(len(before), diff_records(before, after), log.epoch, (_refused(before), _refused(after)))


def _check_emulated(version: str) -> None:
    """Refuse a version under which no log can be run.

    Raises:
        ConfigurationError: it is such a version.
    """
    try:
        emulated_version(version)
    except ConfigurationError:
        known = ", ".join(VERSIONS)
        raise ConfigurationError(
            f"no log can be run under Slurm {version}; with --log give --from and --to one of {known}"
        ) from None


def _refused(records: Records) -> dict[str, int]:
    """How many jobs were refused for which reason, the most frequent first."""
    states, reasons = records.jobs["state"], records.jobs["reason"]
    refused = (str(reason) for state, reason in zip(states, reasons, strict=True) if state == "REJECTED")
    return dict(Counter(refused).most_common())


def write_page(page: Path, title: str, found: Changes, starts: Starts | None) -> None:
    """Write what changes as a page, with all jobs.

    Raises:
        OutputError: it cannot be written.
    """
    from emulator.report import upgrade
    from emulator.report.diff import TERMS
    from emulator.report.page.sheet import Part, write_sheet

    parts: list[Part | Table] = [*upgrade.sentences(found, starts, 0), *upgrade.tables(found, starts, 0)]
    write_sheet(page, title, parts, {**TERMS, **upgrade.TERMS})


def _of_a_log_only(context: click.Context) -> None:
    """Refuse options that say how a log is read or shown where there is none."""
    always = ("slurm_conf", "old", "new", "dump", "page", "as_json", "progress")
    for option in context.command.params:
        given = context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if given and option.name not in always:
            raise click.UsageError(f"{option.opts[0]} is about a log; give one with --log, or leave it out", context)
