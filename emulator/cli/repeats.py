"""``--jitter`` and ``--repeats`` of ``run``, ``compare`` and ``replay``: the same run with moved submissions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from emulator.cli import shared
from emulator.cli.kept import of_run

if TYPE_CHECKING:
    from pathlib import Path

    from emulator.config.options import Config
    from emulator.result import Result
    from emulator.site import Site
    from emulator.workload.jitter import Jitter
    from emulator.workload.workload import Workload
    from slurm_sim_plugins.manager import Catalogue

REPEATS = 10

jitter_options = shared.options(
    click.option(
        "--jitter",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help="Repeat it with each submission later by up to so many seconds, and show the band of the repeats beside "
        "each number; a difference within its band is called none.",
    ),
    click.option(
        "--repeats",
        type=click.IntRange(min=1),
        metavar="N",
        help=f"With --jitter: so many repeats.  [default: {REPEATS}]",
    ),
)


def jitter_of(seconds: float | None, repeats: int | None, seed: int) -> Jitter | None:
    """What the options say; None for no repeats."""
    from emulator.workload.jitter import Jitter

    if seconds is None:
        if repeats is not None:
            raise click.UsageError("--repeats goes with --jitter, which says how the repeats differ.")
        return None
    return Jitter(seconds, REPEATS if repeats is None else repeats, seed)


def repeated(jobs: Workload | Site, jitter: Jitter | None) -> Iterator[tuple[str, Workload | Site]]:
    """The jobs of each repeat, and what to call it; nothing without a jitter."""
    from emulator.workload.workload import Workload

    if jitter is None:
        return
    for repeat in range(1, jitter.repeats + 1):
        name = f"repeat {repeat} of {jitter.repeats}"
        if isinstance(jobs, Workload):
            yield name, jitter.workload(jobs, repeat)
        else:
            requests = jitter.requests(jobs.submissions.requests, repeat)
            yield name, replace(jobs, submissions=replace(jobs.submissions, requests=requests))


def simulate_jobs(
    name: str,
    jobs: Workload | Site,
    config: Config,
    catalogue: Catalogue,
    progress: bool | None,
    out: Path | None = None,
) -> Result:
    """Run the jobs under one policy.

    Args:
        name: what a progress bar is called.
        jobs: of counted processors, or of a site.
        config: the policy.
        catalogue: plugins that were found.
        progress: whether a bar is shown; None for on a terminal only.
        out: folder that the run is left in, if one is wanted.
    """
    from emulator.api import simulate
    from emulator.workload.workload import Workload

    kept = of_run(name, out, resumable=False)
    if isinstance(jobs, Workload):
        with shared.progress(name, len(jobs), progress, kept) as report:
            return simulate(jobs, config=config, catalogue=catalogue, report=report, out=out)
    with shared.progress(name, len(jobs.submissions.requests), progress, kept) as report:
        accounts = jobs.accounts()
        return simulate(
            jobs.submissions,
            jobs.conf,
            config=config,
            catalogue=catalogue,
            report=report,
            out=out,
            accounts=accounts,
            actions=jobs.actions,
        )
