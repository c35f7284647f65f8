"""``slurm-sim resume``: go on with an interrupted run."""

from __future__ import annotations

from pathlib import Path

import click

from emulator.cli import shared
from emulator.cli.completion import Place
from emulator.cli.kept import of_run
from emulator.cli.run import show
from emulator.cli.slurm import check_finished, show_site


@click.command()
@click.argument("folder", type=Place(Path.is_dir, file_okay=False))
@click.option("--trace", type=shared.PATH, help="The trace, if it is not any more where it was.")
@shared.plugin_files
@shared.metric_options
@click.option("--json", "as_json", is_flag=True, help="Print the metrics as JSON.")
@shared.progress_option
def resume(
    folder: Path,
    trace: Path | None,
    files: tuple[Path, ...],
    folders: tuple[Path, ...],
    threshold: float,
    warm_up: float,
    as_json: bool,
    progress: bool | None,
) -> None:
    """Go on with a run that was made with --snapshot-every and interrupted, to the same bytes.

    Plugin files are named again: a folder never decides what code is run.
    """
    from emulator.resume import resume as go_on
    from emulator.site import Site

    with shared.progress(folder.name, 0, progress, of_run(folder.name, folder)) as report:
        result, jobs = go_on(folder, trace=trace, files=shared.plugin_paths(files, folders), report=report)
    if isinstance(jobs, Site):
        show_site(result, jobs, jobs.accounts(), threshold, warm_up, as_json)
    else:
        show(result, jobs, threshold, warm_up, as_json)
    check_finished(result)
