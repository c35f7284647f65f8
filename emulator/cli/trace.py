"""``slurm-sim trace``: look at a trace, or generate one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from emulator.cli import shared


@click.group()
def trace() -> None:
    """Look at a trace, or generate one."""


@trace.command()
@click.argument("trace", type=click.Path(path_type=Path))
@shared.trace_options
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def info(trace: Path, processors: int | None, as_json: bool, **reading: Any) -> None:
    """Say what a trace holds, and what was dropped or changed and why."""
    workload = shared.read_workload(trace, processors=processors, **reading)
    from emulator.report.workload import describe_workload, workload_table

    if as_json:
        shared.print_json(describe_workload(workload))
    else:
        shared.print_table(workload_table(workload))


@trace.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--model", type=click.Choice(["lublin99"]), default="lublin99", show_default=True, help="Workload model.")
@click.option("--jobs", type=click.IntRange(min=1), default=10_000, show_default=True, help="How many.")
@click.option("--processors", type=click.IntRange(min=1), default=128, show_default=True, help="Size of the machine.")
@click.option(
    "--load", type=float, help="Offered load; inter-arrival times are scaled to it.  [default: the model's own]"
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random streams.")
@click.option(
    "--kind",
    type=click.Choice(["combined", "batch", "interactive", "both"]),
    default="combined",
    show_default=True,
    help="Which parameters of the model.",
)
@click.option(
    "--estimate-factor",
    type=float,
    default=5.0,
    show_default=True,
    help="Users ask for the run time, times a factor drawn between 1 and this.",
)
def generate(file: Path, model: str, jobs: int, processors: int, **given: Any) -> None:
    """Generate a workload and write it as SWF (gzipped if the name ends in .gz)."""
    from emulator.report.workload import workload_table
    from emulator.workload.models import lublin99
    from emulator.workload.swf import write_swf

    workload = lublin99.generate(jobs, processors, given.pop("seed"), **given)
    write_swf(workload, file)
    shared.print_table(workload_table(workload, lublin99.describe(workload, processors)))
    click.echo(f"Written: {file} ({model})")
