"""``slurm-sim upgrade-check``: what a newer Slurm makes of a slurm.conf, and of a site's own log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from emulator.cli import shared
from emulator.config.slurm.versions import NEWEST, RELEASES

if TYPE_CHECKING:
    from emulator.accounting.records import Records

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
    from emulator.config.sacctmgr import read_accounts
    from emulator.config.slurm import read_slurm_conf
    from emulator.config.slurm.upgrade import changes
    from emulator.config.slurm.versions import emulated_version
    from emulator.replay.emulate import Options, emulate
    from emulator.report import upgrade
    from emulator.report.diff import diff_records
    from emulator.workload.sites import read_site_log

    if dump is None:
        _of_a_log_only(click.get_current_context())
    conf = read_slurm_conf(slurm_conf)
    for notice in conf.notices:
        shared.echo(f"{notice}", err=True)
    found = changes(conf, old, new)
    starts = None
    if dump is not None:
        for version in (old, new):
            emulated_version(version)
        log = read_site_log(dump, zone=zone, malformed=malformed, separator=delimiter)
        for sentence in log.notices():
            shared.echo(sentence, err=True)
        how, tree = Options(cancelled, elsewhere), read_accounts(*accounts) if accounts else None

        def run(version: str) -> Records:
            with shared.progress(f"{log.name}, {version}", len(log), progress) as report:
                return emulate(log, conf, how, accounts=tree, slurm_version=version, report=report).records

        before, after = run(old), run(new)
        starts = upgrade.Starts(len(before), diff_records(before, after), log.epoch)
    if as_json:
        shared.print_json(upgrade.data(found, starts, limit))
        return
    for table in upgrade.tables(found, starts, limit):
        shared.print_table(table)
    for sentence in upgrade.sentences(found, starts, limit):
        shared.echo(sentence)


def _of_a_log_only(context: click.Context) -> None:
    """Refuse options that say how a log is read or shown where there is none."""
    always = ("slurm_conf", "old", "new", "dump", "as_json", "progress")
    for option in context.command.params:
        given = context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if given and option.name not in always:
            raise click.UsageError(f"{option.opts[0]} is about a log; give one with --log, or leave it out", context)
