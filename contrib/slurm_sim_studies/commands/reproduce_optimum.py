"""``slurm-sim reproduce optimum``: the offline optimum of the paper on real-time jobs on Mira."""

from __future__ import annotations

from pathlib import Path

import click

from emulator.cli import shared
from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_studies.commands.reproduce import parse_tables, write

TABLES = (2, 3)


@click.command("optimum")
@click.option("--tables", default="2,3", show_default=True, metavar="N,N", help="Only these tables of the paper.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0.1),
    default=60.0,
    show_default=True,
    help="Time of a solver for one log; what is not proven then is said.",
)
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Threads of CP-SAT.")
@click.option("--logs", type=click.IntRange(min=1), default=20, show_default=True, help="Random logs of table 3.")
@click.option("--highs", is_flag=True, help="Also ask HiGHS for table 2, which can take all the time it gets.")
@click.option("--out", type=click.Path(path_type=Path), help="Write Markdown and JSON into a folder.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def optimum(tables: str, seconds: float, workers: int, logs: int, highs: bool, out: Path | None, as_json: bool) -> None:
    """The offline optimum (Nickolay, Jung, Kettimuthu and Foster): tables 2 and 3.

    Table 2 is the time to proven optimality by size, table 3 the best schedules of random logs beside policies.
    """
    from emulator.files import make_folder
    from slurm_sim_studies.optimum.optimise import require_solver
    from slurm_sim_studies.papers import optimum as paper
    from slurm_sim_studies.report import optimumpaper as report

    wanted = parse_tables(tables)
    unknown = [table for table in wanted if table not in TABLES]
    if unknown or not wanted:
        raise ConfigurationError(f"--tables {tables}: of the optimum there are tables 2 and 3")
    require_solver()
    if out is not None:
        make_folder(out)
    timings = paper.timings(seconds, workers, highs=highs, told=_tell) if 2 in wanted else []
    rows = paper.comparison(seconds, workers, logs, told=_tell) if 3 in wanted else []
    content = report.data(timings, rows)
    if out is not None:
        write(out, report.markdown(timings, rows, logs), content)
    if as_json:
        shared.print_json(content)
        return
    for table in report.tables(timings, rows, logs):
        shared.print_table(table)


def _tell(done: str) -> None:
    """Say on a terminal what has been solved."""
    import sys

    if sys.stderr.isatty():
        shared.echo(done, err=True)
