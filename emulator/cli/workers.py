"""Options that name workers for many runs, and those workers."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from emulator.cli import shared

if TYPE_CHECKING:
    from emulator.campaign.runs import Workers

worker_options = shared.options(
    click.option("--processes", type=click.IntRange(min=1), help="Runs side by side.  [default: one for each core]"),
    click.option("--dask", metavar="ADDRESS", help="Have the workers of this scheduler of Dask make the runs."),
    click.option("--slurm", is_flag=True, help="Have Dask start workers as jobs of your Slurm."),
    click.option(
        "--workers", type=click.IntRange(min=1), default=4, show_default=True, help="With --slurm: how many jobs."
    ),
    click.option(
        "--slurm-set",
        metavar="OPTION=VALUE",
        multiple=True,
        help="With --slurm: an option of dask-jobqueue, such as queue=long or walltime=02:00:00.",
    ),
)


@contextmanager
def chosen(
    processes: int | None, dask: str | None, slurm: bool, workers: int, slurm_set: tuple[str, ...]
) -> Iterator[Workers]:
    """The workers that were asked for."""
    if sum((processes is not None, dask is not None, slurm)) > 1:
        raise click.UsageError("--processes, --dask and --slurm are three ways to make the runs; choose one.")
    if slurm_set and not slurm:
        raise click.UsageError("--slurm-set goes with --slurm.")
    if dask is not None:
        from emulator.campaign.cluster import dask_workers

        with dask_workers(dask) as found:
            _quieten()
            yield found
    elif slurm:
        from emulator.campaign.cluster import slurm_settings, slurm_workers

        with slurm_workers(workers, slurm_settings(slurm_set)) as found:
            _quieten()
            yield found
    else:
        from emulator.campaign.processes import Processes

        yield Processes(processes or os.cpu_count() or 1)


def _quieten() -> None:
    """What goes wrong is told in one message; what Dask logs of it is shown from --log-level info on."""
    if logging.getLogger().level > logging.INFO:
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
