"""Commands that look at finished runs: ``slurm-sim diff``, ``report`` and ``fairness``."""

from __future__ import annotations

from pathlib import Path

import click

from emulator.cli import completion, shared


@click.command()
@click.argument("first", type=completion.RUN)
@click.argument("second", type=completion.RUN)
@click.option("--limit", type=click.IntRange(min=0), default=20, show_default=True, help="Show this many; 0 shows all.")
def diff(first: Path, second: Path, limit: int) -> None:
    """List the jobs whose start differs between two runs, first difference first."""
    from emulator.accounting.runfolder import read_run
    from emulator.report.diff import diff_runs, diff_table

    one, other = read_run(first), read_run(second)
    differences = diff_runs(one, other)
    shown = differences[:limit] if limit else differences
    if not differences:
        shared.echo(f"All {len(one.records)} jobs start at the same times.")
        return
    shared.print_table(diff_table(shown, one, other))
    shared.echo(f"{len(differences)} jobs differ; shown are {len(shown)}.")


@click.command()
@click.argument("folders", metavar="FOLDER...", type=completion.RUN, nargs=-1, required=True)
@click.option(
    "--to", type=shared.PATH, help="Where to write it.  [default: report.html, of one folder in that, else here]"
)
@click.option(
    "--stories",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Tell of so many jobs of each run why they waited: of those that waited longest.",
)
@shared.progress_option
def report(folders: tuple[Path, ...], to: Path | None, stories: int, progress: bool | None) -> None:
    """Write one page of HTML about runs and campaigns, to be looked at offline.

    \b
    slurm-sim report easy
    slurm-sim report easy fcfs sjf --to compared.html
    slurm-sim report study
    """
    from emulator.report.page.sources import read_sources
    from emulator.report.page.write import write_page

    page = to or (folders[0] / "report.html" if len(folders) == 1 else Path("report.html"))
    with shared.progress("the page", 0, progress):
        write_page(read_sources(folders), page, stories)
    shared.echo(f"Written: {page}")


@click.command()
@click.argument("folder", type=completion.RUN)
@click.option(
    "--sample",
    type=click.IntRange(min=0),
    default=1000,
    show_default=True,
    help="Audit so many jobs, drawn at random; 0 for all.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the draw.")
@click.option("--processes", type=click.IntRange(min=1), help="Forks at once.  [default: one for each core]")
@shared.plugin_files
@click.option("--trace", type=completion.TRACE, help="Of a run on a cluster: what was submitted.")
@click.option("--slurm-conf", type=shared.PATH, help="Of a run on a cluster: its slurm.conf.")
@click.option("--accounts", type=shared.PATH, multiple=True, help="Of a run on a cluster: as run took them.")
@click.option("--commands", type=shared.PATH, multiple=True, help="Of a run on a cluster: as run took them.")
@click.option("--jobs", "table", type=shared.PATH, help="Write what was found of each job, as CSV.")
@shared.json_option
@shared.progress_option
def fairness(
    folder: Path,
    sample: int,
    seed: int,
    processes: int | None,
    files: tuple[Path, ...],
    folders: tuple[Path, ...],
    trace: Path | None,
    slurm_conf: Path | None,
    accounts: tuple[Path, ...],
    commands: tuple[Path, ...],
    table: Path | None,
    as_json: bool,
    progress: bool | None,
) -> None:
    """Say which jobs of a finished run were delayed by jobs of lower priority, and by how much.

    At the head of the queue: a job waited although idle processors and those of lower-priority jobs would have
    sufficed. In the whole: without those of lower priority it would have started earlier; for that the run is made
    again, and forked at the submission of each job that is audited.

    A run on the cluster of a slurm.conf is made again from what it was made of, which is named again:

    \b
    slurm-sim fairness DIR --trace jobs.events --slurm-conf slurm.conf --accounts sacctmgr.dump
    """
    import os

    from emulator.accounting.runfolder import read_run
    from emulator.cli.slurm import read_site
    from emulator.fairness import Site, audit
    from emulator.files import check_writable
    from emulator.kinds import is_scenario
    from emulator.report.fairness import fairness_table, write_audit

    if table is not None:
        check_writable(table)
    run, site = read_run(folder), None
    if (trace is None) != (slurm_conf is None) and not (trace is not None and is_scenario(trace)):
        raise click.UsageError("--trace and --slurm-conf go together: both made the run.")
    if trace is not None and (made_of := read_site(trace, slurm_conf, accounts, commands, {})) is not None:
        site = Site(made_of.conf, made_of.submissions, made_of.accounts(), made_of.actions)
    wanted = min(sample, len(run.records)) or len(run.records)
    with shared.progress(run.label, wanted, progress) as report:
        found = audit(
            run,
            sample=sample,
            seed=seed,
            processes=processes or os.cpu_count() or 1,
            catalogue=shared.find_plugins(files, folders),
            report=report,
            site=site,
        )
    if table is not None:
        write_audit(table, found)
    if as_json:
        shared.print_json({"label": run.label, **found.summary()})
    else:
        shared.print_table(fairness_table(found, run.label))
