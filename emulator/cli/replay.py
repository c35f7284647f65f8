"""``slurm-sim replay``: a log of a real Slurm on a configuration, real beside emulated."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli import completion, shared
from emulator.cli.kept import of_run
from emulator.cli.repeats import jitter_of, jitter_options

if TYPE_CHECKING:
    from emulator.result import Result
    from emulator.workload.sitelog import SiteLog


@click.command()
@click.argument("dump", type=completion.TRACE)
@click.option("--slurm-conf", required=True, type=shared.PATH, help="The slurm.conf of the cluster, or another.")
@shared.log_options
@click.option(
    "--clock",
    type=click.Choice(["ideal", "slurm"]),
    default="slurm",
    show_default=True,
    help="slurm: the ticks and delays of Slurm's daemons; ideal: decisions take no time.",
)
@shared.version_option
@shared.operation_option
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    help="Starts that are more than so many seconds apart part.",
)
@click.option(
    "--warm-up",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    show_default=True,
    help="Leave this first share of the jobs out of the comparison: the emulated cluster begins empty.",
)
@click.option(
    "--limit", type=click.IntRange(min=0), default=10, show_default=True, help="Show so many of the jobs that part."
)
@jitter_options
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of all random numbers.")
@click.option("--out", type=shared.PATH, help="Leave the emulated run in a folder, for squeue and others.")
@click.option("--report", "page", type=shared.PATH, help="Write a page of HTML about both, real beside emulated.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
@shared.progress_option
def replay(
    dump: Path,
    slurm_conf: Path,
    accounts: tuple[Path, ...],
    clock: str,
    slurm_version: str | None,
    operation: tuple[str, ...],
    zone: str | None,
    delimiter: str,
    malformed: str,
    cancelled: str,
    elsewhere: str,
    tolerance: float,
    warm_up: float,
    limit: int,
    jitter: float | None,
    repeats: int | None,
    seed: int,
    out: Path | None,
    page: Path | None,
    as_json: bool,
    progress: bool | None,
) -> None:
    """Run a dump of sacct -P (or Eagle's CSV) on a configuration, and compare with what really happened.

    \b
    sacct --allusers --array --starttime 2021-03-01 --format ALL --parsable2 > march.sacct
    slurm-sim replay march.sacct --slurm-conf slurm.conf --zone Europe/Paris
    """
    from emulator.config.operation import Operation
    from emulator.config.sacctmgr import read_accounts
    from emulator.config.slurm import read_slurm_conf
    from emulator.replay.compare import compare
    from emulator.replay.emulate import Options, emulate
    from emulator.replay.noise import noise
    from emulator.workload.sites import read_site_log

    moved = jitter_of(jitter, repeats, seed)
    conf = read_slurm_conf(slurm_conf)
    with shared.reading(dump, progress):
        log = read_site_log(dump, zone=zone, malformed=malformed, separator=delimiter)
    notices = [*(f"{notice}" for notice in conf.notices), *log.notices()]
    if accounts and (remark := read_accounts(*accounts).remark()):
        notices.append(remark)
    for sentence in notices:
        shared.echo(sentence, err=True)
    config: dict[str, Any] = {"clock": clock, "slurm_version": slurm_version, "seed": seed}
    config["operation"] = Operation(**shared.operation_settings(operation))

    def made(jobs: SiteLog, out: Path | None = None) -> Result:
        # Accounts hold the usage of a run: they are read again for each.
        tree = read_accounts(*accounts) if accounts else None
        how = Options(cancelled, elsewhere)
        with shared.progress(jobs.name, len(jobs), progress, of_run(jobs.name, out, resumable=False)) as report:
            return emulate(jobs, conf, how, out, accounts=tree, report=report, **config)

    result = made(log, out)
    if page is not None:
        write_beside(page, log, result)
    found = compare(log, result.records, tolerance, warm_up)
    band = noise(log, found, moved, lambda jobs: made(jobs).records, warm_up) if moved is not None else None
    if as_json:
        about = {"log": log.name, "records": log.read, "steps": log.steps, "unusable": len(log.unusable)}
        shared.print_json({**about, **found.data(limit), **({"noise": band.data()} if band is not None else {})})
        return
    from emulator.report.replay import differences_table, noise_remarks, partings_table, remarks, waits_table

    steps = f", {log.steps:,} steps" if log.steps else ""
    title = f"{log.name}: {len(log):,} jobs of {log.read:,} records{steps}, real and emulated"
    shared.print_table(waits_table(found, title))
    if band is not None:
        shared.print_table(differences_table(band))
    for sentence in [*remarks(found), *(noise_remarks(band) if band is not None else [])]:
        shared.echo(sentence)
    if limit and found.partings():
        shared.print_table(partings_table(found, limit, log.epoch))


def write_beside(page: Path, log: SiteLog, result: Result) -> None:
    """Write a page about a log and its emulation.

    Raises:
        OutputError: it cannot be written.
    """
    from emulator.accounting.runfolder import FinishedRun
    from emulator.replay.real import real_about, real_records
    from emulator.report.page.sources import Sources, source_of
    from emulator.report.page.write import write_page

    folder = result.folder
    emulated = source_of(FinishedRun(result.records, result.about, folder or Path()), folder)
    real = FinishedRun(real_records(log, result.records), real_about(result.about), Path())
    write_page(Sources([source_of(real, folder, told=False), emulated]), page)
