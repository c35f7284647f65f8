"""``slurm-sim truth``: recorded runs of a real Slurm beside emulated ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from emulator.cli import shared

DIFFERS = 1
"""Exit code where something differs."""


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="SCENARIO|FOLDER...", type=shared.PATH)
@click.option(
    "--known",
    "known_file",
    type=shared.PATH,
    help="A list of what is noise in the recordings, and of what they leave out (TOML).",
)
@shared.version_option
@shared.page_option
@shared.json_option
@shared.progress_option
def truth(  # noqa: C901 - one case after the other
    paths: tuple[Path, ...],
    known_file: Path | None,
    slurm_version: str | None,
    page: Path | None,
    as_json: bool,
    progress: bool | None,
) -> None:
    """Run recorded scenarios through the emulator, and show both timelines side by side.

    A scenario is a YAML file with a configuration, submissions, and what a real Slurm made of them. Exit code 1 if
    they differ in something that counts, or if one of them cannot be read or run.
    """
    from emulator.files import check_writable
    from emulator.report import truth as report
    from emulator.report.page.sheet import write_sheet
    from emulator.truth import Known, judge, read_known
    from emulator.truth.verdict import why_not_compared
    from emulator.workload.scenario_reader import read_scenario
    from slurm_sim_plugins.errors import ConfigurationError, InputError

    if page is not None:
        check_writable(page)
    known = read_known(known_file) if known_file is not None else Known()
    verdicts, skipped, failed = [], [], []
    files = _files(paths)
    with shared.progress("scenarios", len(files), progress) as told:
        for done, file in enumerate(files):
            if told is not None:
                told(done)
            try:
                scenario = read_scenario(file)
            except InputError as error:
                if len(files) == 1:
                    raise
                failed.append((file.stem, f"cannot be read: {error}"))
                continue
            scenario = replace(scenario, slurm_version=slurm_version or scenario.slurm_version)
            if why := why_not_compared(scenario, known):
                skipped.append((scenario.name, why))
                continue
            try:
                verdicts.append(judge(scenario, known, search=True))
            except (ConfigurationError, InputError) as error:
                failed.append((scenario.name, f"cannot be run: {error}"))
    agree = not failed and all(verdict.agrees for verdict in verdicts)
    skipped += failed
    if page is not None:
        write_sheet(page, "A real Slurm and the emulator", report.parts(verdicts, known, skipped), report.TERMS)
    if as_json:
        described = [report.describe(verdict, known) for verdict in verdicts]
        shared.print_json({"agree": agree, "scenarios": described, "not_compared": dict(skipped)})
    else:
        for verdict in verdicts:
            if len(verdicts) == 1 or not verdict.agrees:
                shared.print_table(report.timeline_table(verdict))
                _print_notes(report.notes(verdict, known))
        shared.print_table(report.summary_table(verdicts, known, skipped))
    if not agree:
        raise click.exceptions.Exit(DIFFERS)


def _files(paths: tuple[Path, ...]) -> list[Path]:
    from emulator.workload.scenario_reader import scenario_files

    return [file for path in paths for file in (scenario_files(path) if path.is_dir() else [path])]


def _print_notes(notes: list[str]) -> None:
    for note in notes:
        shared.echo(note)
