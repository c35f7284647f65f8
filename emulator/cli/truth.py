"""``slurm-sim truth``: recorded runs of a real Slurm beside emulated ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from emulator.cli import shared

if TYPE_CHECKING:
    from emulator.workload.scenario import Scenario

DIFFERS = 1
"""Exit code where something differs."""


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="SCENARIO|FOLDER...", type=click.Path(path_type=Path))
@click.option(
    "--known",
    "known_file",
    type=click.Path(path_type=Path),
    help="A list of what is noise in the recordings, and of what they leave out (TOML).",
)
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def truth(paths: tuple[Path, ...], known_file: Path | None, as_json: bool) -> None:
    """Run recorded scenarios through the emulator, and show both timelines side by side.

    A scenario is a YAML file with a configuration, submissions, and what a real Slurm made of them. Exit code 1 if
    they differ in something that counts, or if one of them cannot be run.
    """
    from emulator.report import truth as report
    from emulator.truth import Known, judge, read_known
    from emulator.truth.verdict import why_not_compared
    from slurm_sim_plugins.errors import InputError

    known = read_known(known_file) if known_file is not None else Known()
    verdicts, skipped, failed = [], [], []
    for scenario in _scenarios(paths):
        why = why_not_compared(scenario, known)
        if why:
            skipped.append((scenario.name, why))
            continue
        try:
            verdicts.append(judge(scenario, known, search=True))
        except InputError as error:
            failed.append((scenario.name, f"cannot be run: {error}"))
    agree = not failed and all(verdict.agrees for verdict in verdicts)
    skipped += failed
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


def _scenarios(paths: tuple[Path, ...]) -> Iterator[Scenario]:
    from emulator.workload.scenario import read_scenario, read_scenarios

    for path in paths:
        if path.is_dir():
            yield from read_scenarios(path)
        else:
            yield read_scenario(path)


def _print_notes(notes: list[str]) -> None:
    for note in notes:
        click.echo(note)
