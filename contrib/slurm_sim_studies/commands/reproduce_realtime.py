"""``slurm-sim reproduce realtime``: the paper on real-time jobs on Mira."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli import shared
from emulator.cli.walltime import put
from slurm_sim_studies.commands.reproduce import progress_of, tell_claims, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from emulator.campaign import Outcome, RunSpec
    from slurm_sim_studies.papers.cells import Cell
    from slurm_sim_studies.papers.claims import Claim
    from slurm_sim_studies.papers.realtime import Group, Study

NAMES = ("default", "90min", "aps")


@click.command("realtime")
@click.option(
    "--traces",
    type=click.Path(path_type=Path),
    envvar="SLURM_SIM_TRACES",
    required=True,
    help="Folder of the logs (mira_2018-01-21_week.cobalt.log.gz and so on) and of mira_partitions.xml.gz.",
)
@click.option("--workload", "workloads", multiple=True, help="Only this one: Mira or Curie.")
@click.option(
    "--variation",
    "variations",
    type=click.Choice(NAMES),
    multiple=True,
    help="Which jobs are real-time jobs: any, those below 90 minutes, or further ones like a beamline's.  "
    "[default: default]",
)
@click.option("--percents", default="5,10,15,20", show_default=True, metavar="N,N", help="Shares of real-time jobs.")
@click.option("--trials", type=click.IntRange(min=1), default=5, show_default=True, help="Draws of each variation.")
@click.option("--basic", is_flag=True, help="Also the schemes of section 4, without the heuristic.")
@click.option("--readings", is_flag=True, help="Also, at 10 %, other answers to what the paper leaves open.")
@click.option("--out", type=click.Path(path_type=Path), help="Write Markdown, JSON and pictures into a folder.")
@click.option("--keep", type=click.Path(path_type=Path), help="Keep results in a folder, to go on from there.")
@click.option("--processes", type=click.IntRange(min=1), help="Runs side by side.  [default: one for each core]")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.option("--progress/--no-progress", default=None, help="Show a progress bar.  [default: on a terminal]")
def realtime(
    traces: Path,
    workloads: tuple[str, ...],
    variations: tuple[str, ...],
    percents: str,
    trials: int,
    basic: bool,
    readings: bool,
    out: Path | None,
    keep: Path | None,
    processes: int | None,
    as_json: bool,
    progress: bool | None,
) -> None:
    """Real-time jobs on Mira (Nickolay, Jung, Kettimuthu and Foster): figures 3 to 7.

    Bounded slowdown and turnaround of real-time and batch jobs, by category, for the baseline and three ways of
    checkpointing, on the paper's week of Mira and on a week of Curie; what the paper prints stands beside ours.
    """
    import os

    from emulator.campaign import run_all
    from emulator.files import make_folder
    from emulator.report.grid import table
    from emulator.report.style import picture_bytes
    from slurm_sim_studies.papers.realtime import BASIC, SCHEMES, find_studies, groups, specs
    from slurm_sim_studies.papers.realtime_claims import cells, claims
    from slurm_sim_studies.report import realtime as report

    shares = parse_percents(percents)
    if out is not None:
        make_folder(out)
    studies = find_studies(traces, workloads)
    wanted: Any = variations or NAMES[:1]
    schemes = (*SCHEMES, *BASIC) if basic else tuple(SCHEMES)
    made = specs(studies, variations=wanted, percents=shares, schemes=schemes, trials=trials)
    further = reading_specs(studies, trials) if readings else []
    with progress_of("runs", len(made) + len(further), progress) as told:
        options: dict[str, Any] = {"processes": processes or os.cpu_count() or 1, "keep": keep, "report": told}
        outcomes = run_all(made, **options)
        others = run_all(further, **options) if further else []
    tell_troubles([*outcomes, *others])
    found = groups(outcomes)
    printed = cells(found)
    decided = [claim for study in studies for each in wanted for claim in claims(found, study.name, each)]
    read = by_reading(others)
    content = report.data(found, printed, decided, read)
    if out is not None:
        write(out, report.markdown(found, printed, decided, read), content)
        for name, figure in report.figures(found).items():
            put(out / f"{name}.png", picture_bytes(figure, "png"))
    if as_json:
        shared.print_json(content)
        return
    for study in studies:
        for each in wanted:
            rows = report.group_rows(found, study.name, each, "all", brief=True)
            title = f"Figure 3 on {study.name}, {each}: all jobs, mean (95 %)"
            shared.print_table(table(title, report.group_headings(found), rows, report.NOTE, left=3))
    show(printed, decided, read, [study.name for study in studies])


def tell_troubles(outcomes: Sequence[Outcome]) -> None:
    """Say of each run that failed, or had to be made again, why."""
    for outcome in outcomes:
        if outcome.error or outcome.note:
            shared.echo(f"{outcome.name}: {outcome.error or outcome.note}", err=True)


def show(
    cells: Sequence[Cell], claims: Sequence[Claim], readings: dict[str, list[Group]], studies: Sequence[str]
) -> None:
    """Print what the paper prints beside ours, the claims, and what other readings give."""
    from emulator.report.grid import table
    from slurm_sim_studies.report import realtime as report

    if cells:
        shared.print_table(table("Paper and ours", report.CELLS, report.cell_rows(cells), left=3))
    tell_claims(claims)
    for study in studies if readings else ():
        title = f"Other readings, {study}, 10 %"
        shared.print_table(table(title, report.READINGS, report.reading_rows(readings, study)))


def parse_percents(text: str) -> tuple[int, ...]:
    """``5,10`` to numbers.

    Raises:
        UsageError: it is not a list of whole numbers between 1 and 100.
    """
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() and 1 <= int(word) <= 100 for word in words):
        raise click.UsageError(f"--percents {text}: write it as 5,10; each from 1 to 100")
    return tuple(dict.fromkeys(map(int, words)))


def reading_specs(studies: Sequence[Study], trials: int) -> list[RunSpec]:
    """The runs of all other readings, at 10 %, and of the one that is taken."""
    from slurm_sim_studies.papers.realtime import BASELINE, JIT, specs
    from slurm_sim_studies.papers.realtime_readings import Reading, others

    wanted = {"as taken": Reading(), **others()}
    return [
        spec
        for name, reading in wanted.items()
        for spec in specs(studies, percents=(10,), schemes=(BASELINE, JIT), trials=trials, reading=reading, name=name)
    ]


def by_reading(outcomes: Sequence[Outcome]) -> dict[str, list[Group]]:
    """The groups of each reading."""
    from slurm_sim_studies.papers.realtime import groups

    names = dict.fromkeys(outcome.name.partition("/")[0] for outcome in outcomes)
    return {name: groups([outcome for outcome in outcomes if outcome.name.partition("/")[0] == name]) for name in names}
