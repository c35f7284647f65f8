"""Commands that look at finished runs: ``slurm-sim diff`` and ``slurm-sim report``."""

from __future__ import annotations

from pathlib import Path

import click

from emulator.cli import shared


@click.command()
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@click.option("--limit", type=click.IntRange(min=0), default=20, show_default=True, help="Show this many; 0 shows all.")
def diff(first: Path, second: Path, limit: int) -> None:
    """List the jobs whose start differs between two runs, first difference first."""
    from emulator.accounting.runfolder import read_run
    from emulator.report.diff import diff_runs, diff_table

    one, other = read_run(first), read_run(second)
    differences = diff_runs(one, other)
    shown = differences[:limit] if limit else differences
    if not differences:
        click.echo(f"All {len(one.records)} jobs start at the same times.")
        return
    shared.print_table(diff_table(shown, one, other))
    click.echo(f"{len(differences)} jobs differ; shown are {len(shown)}.")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--to", type=click.Path(path_type=Path), help="Where to write it.  [default: FOLDER/report.html]")
def report(folder: Path, to: Path | None) -> None:
    """Write one page of HTML about a run, to be read offline."""
    from emulator.accounting.runfolder import read_run
    from emulator.report.page import write_page

    page = to or folder / "report.html"
    write_page(read_run(folder), page)
    click.echo(f"Written: {page}")
