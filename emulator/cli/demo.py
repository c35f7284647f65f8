"""``slurm-sim demo``: four policies on a generated workload, a table and a picture."""

from __future__ import annotations

from pathlib import Path

import click

from emulator.cli import shared
from emulator.cli.compare import POLICIES, simulate_each
from slurm_sim_plugins.errors import ConfigurationError

JOBS = 5000
PROCESSORS = 128
LOAD = 0.5


@click.command()
@click.option("--jobs", type=click.IntRange(min=1), default=JOBS, show_default=True, help="How many jobs to generate.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the workload model.")
@click.option(
    "--picture",
    type=shared.PATH,
    default=Path("slurm-sim-demo.png"),
    show_default=True,
    help="Where to draw the comparison (PNG or SVG, by the ending).",
)
def demo(jobs: int, seed: int, picture: Path) -> None:
    """Compare four policies on a generated workload: needs no trace.

    The workload is the Lublin-Feitelson model on 128 processors at load 0.5.
    """
    from emulator.config.options import Config
    from emulator.files import check_writable
    from emulator.metrics.summary import summarise
    from emulator.report.plots import compare_picture
    from emulator.report.style import write_picture
    from emulator.report.table import compare_table
    from emulator.workload.models import lublin99
    from slurm_sim_plugins.manager import discover

    if picture.suffix not in (".png", ".svg"):
        raise ConfigurationError(f"--picture {picture}: name a file that ends in .png or .svg")
    check_writable(picture)
    workload = lublin99.generate(jobs, PROCESSORS, seed, load=LOAD)
    shared.echo(f"{jobs} jobs of the Lublin-Feitelson model on {PROCESSORS} processors at load {LOAD}, seed {seed}")
    results = simulate_each(POLICIES, workload, Config(processors=PROCESSORS), discover())
    records = {name: result.records for name, result in results.items()}
    about = {name: result.about for name, result in results.items()}
    shared.print_table(compare_table({name: summarise(each) for name, each in records.items()}, about))
    write_picture(compare_picture(records), picture)
    shared.echo(f"Picture: {picture}")
    shared.echo("Next: slurm-sim run TRACE --scheduler sched/easy, or slurm-sim plugins")
