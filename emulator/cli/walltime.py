"""``slurm-sim walltime``: walltime adjustment judged on a log, without simulation."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli import completion, shared

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from emulator.walltime.evaluate import Evaluation, Outcome
    from emulator.walltime.log import Log
    from emulator.walltime.schemes import Grid

READING = ("filter", "processors_field", "first_submit", "malformed")


def _list(name: str, kind: Callable[[str], Any], example: str, help: str) -> Callable[[shared.Command], shared.Command]:
    return click.option(name, metavar="LIST", callback=shared.comma_list(kind, example), help=help)


grid_options = shared.options(
    _list("--keys", str, "user,project", help="Which jobs are similar.  [default: triple,double,user,project]"),
    _list("--windows", str, "1m,all", help="How far to look back.  [default: 1m,2m,3m,6m,12m,all]"),
    _list("--percentiles", float, "95,85,70", help="Of what similar jobs used.  [default: 100,95,90,85,80,70,50]"),
    _list("--definitions", str, "cobalt,linear", help="Out of cobalt, nearest, linear.  [default: cobalt]"),
    _list("--thresholds", float, "0,0.5", help="Least shares of a request to plan with.  [default: 0,0.5]"),
    click.option("--min-jobs", type=int, default=10, show_default=True, help="Adjust nothing with fewer similar jobs."),
    click.option("--project", metavar="COLUMN", help="What says a job's project.  [default: project, else group]"),
    click.option("--compiled/--no-compiled", default=None, help="The same sooner.  [default: if kernels are compiled]"),
    shared.json_option,
    shared.progress_option,
)


@click.group()
def walltime() -> None:
    """Plan with less than users request: which scheme fits this log?"""


@walltime.command()
@click.argument("trace", type=completion.TRACE)
@grid_options
@shared.trace_options
@click.option("--csv", "csv_file", type=shared.PATH, help="Write one row a scheme.")
@click.option("--plots", type=shared.PATH, help="Draw the paper's figures 4 to 11 into a folder (PNG).")
@shared.page_option
@click.option("--limit", type=click.IntRange(min=0), default=20, show_default=True, help="Show this many; 0 shows all.")
def evaluate(
    trace: Path,
    project: str | None,
    compiled: bool | None,
    csv_file: Path | None,
    plots: Path | None,
    page: Path | None,
    limit: int,
    as_json: bool,
    progress: bool | None,
    **given: Any,
) -> None:
    """Say how accurate adjusted walltimes would have been on a log, for a grid of schemes.

    \b
    slurm-sim walltime evaluate CEA-Curie.swf.gz
    slurm-sim walltime evaluate KTH-SP2.swf.gz --keys user --windows 1m,all --percentiles 95,85,70
    """
    from emulator.files import check_writable, make_folder, write_data
    from emulator.report.walltimetables import evaluation_table

    grid = make_grid(given)
    if (plots is not None or page is not None) and len(grid.definitions) > 1:
        which = "--plots" if plots is not None else "--report"
        raise click.UsageError(f"{which} draws one definition of a percentile; name one in --definitions.")
    for file in filter(None, (csv_file, page)):
        check_writable(file)
    if plots is not None:
        make_folder(plots)
    log, evaluation, note = evaluated(trace, grid, project, compiled, progress, given)
    if csv_file is not None:
        write_data(csv_file, evaluation.frame().to_csv(index=False, lineterminator="\n"))
    if as_json:
        shared.print_json(described(evaluation))
    else:
        shared.print_table(evaluation_table(evaluation, limit, note))
    figures = drawn(log, evaluation, grid, compiled) if plots is not None or page is not None else {}
    if plots is not None:
        write_pictures(figures, plots)
    if page is not None:
        write_page(page, evaluation, note, figures)
        shared.echo(f"Written: {page}", err=as_json)


@walltime.command()
@click.argument("trace", type=completion.TRACE)
@click.option(
    "--max-under",
    type=click.FloatRange(0, 100),
    default=10.0,
    show_default=True,
    metavar="PERCENT",
    help="So many jobs may run longer than planned.",
)
@grid_options
@shared.trace_options
@click.option("--write", "experiment", type=shared.PATH, help="Write an experiment file (TOML).")
def advise(
    trace: Path,
    max_under: float,
    project: str | None,
    compiled: bool | None,
    experiment: Path | None,
    as_json: bool,
    progress: bool | None,
    **given: Any,
) -> None:
    """Say which scheme would have been best on a log, and what it costs; write the configuration.

    The best is the one of the highest mean accuracy that underestimates few enough jobs.

    \b
    slurm-sim walltime advise CEA-Curie.swf.gz --write curie.toml
    slurm-sim run --experiment curie.toml
    """
    from emulator.files import check_writable
    from emulator.report.walltimetables import outcome_table
    from emulator.walltime.advise import best, best_of_keys, in_words

    grid = make_grid(given)
    if experiment is not None:
        check_writable(experiment)
    log, evaluation, note = evaluated(trace, grid, project, compiled, progress, given)
    chosen = best(evaluation, max_under / 100)
    if as_json:
        shared.print_json(
            {"best": chosen.row(), "requested": {"average": evaluation.average, "median": evaluation.median}}
        )
    else:
        rivals = best_of_keys(evaluation, max_under / 100)
        gain = f"mean accuracy {evaluation.average:.3f} as requested, {chosen.average:.3f} adjusted"
        cost = f"{chosen.under:.1%} of the jobs run longer than planned, {chosen.be:.1%} by 30 min or more"
        title = f"The best scheme of each key on {evaluation.log} with at most {max_under:g} % underestimates"
        shared.print_table(outcome_table(rivals, title, [*evaluation.notes, note]))
        shared.echo(f"Best: {in_words(chosen)}\nGain: {gain}\nCost: {cost}")
    if experiment is not None:
        write_experiment(experiment, chosen, grid, log.project, trace, given)
        shared.echo(f"Written: {experiment}", err=as_json)


def make_grid(given: dict[str, Any]) -> Grid:
    """The grid that the options name; they are taken out."""
    from emulator.walltime.schemes import Grid

    named = ("keys", "windows", "percentiles", "definitions", "thresholds")
    lists = {name: given.pop(name) for name in named}
    stated: dict[str, Any] = {name: values for name, values in lists.items() if values is not None}
    return Grid(**stated, min_jobs=given.pop("min_jobs"))


def evaluated(
    trace: Path, grid: Grid, project: str | None, compiled: bool | None, progress: bool | None, given: dict[str, Any]
) -> tuple[Log, Evaluation, str]:
    """Read a trace and evaluate a grid on it; the note says what reading left out."""
    from emulator.walltime.evaluate import evaluate as evaluate_grid
    from emulator.walltime.log import read_log

    workload = shared.read_workload(trace, told=progress, **given)
    log = read_log(workload, project)
    with shared.progress(workload.name, len(grid), progress) as report:
        evaluation = evaluate_grid(log, grid, compiled=compiled, report=report)
    return log, evaluation, workload.note


def described(evaluation: Evaluation) -> dict[str, Any]:
    """An evaluation as data."""
    return {
        "log": evaluation.log,
        "jobs": evaluation.jobs,
        "requested": {"average": evaluation.average, "median": evaluation.median},
        "notes": list(evaluation.notes),
        "schemes": [outcome.row() for outcome in evaluation.outcomes],
    }


def drawn(log: Log, evaluation: Evaluation, grid: Grid, compiled: bool | None) -> Mapping[str, Figure]:
    """All figures by name."""
    from emulator.report.walltimeplots import all_figures
    from emulator.walltime.evaluate import distributions

    return all_figures(evaluation, distributions(log, grid, compiled))


def write_page(page: Path, evaluation: Evaluation, note: str, figures: Mapping[str, Figure]) -> None:
    """Write a page with all schemes and figures."""
    from emulator.report.page.sheet import pictures_of, write_sheet
    from emulator.report.walltimetables import TERMS, evaluation_table

    title = f"How accurate adjusted walltimes would have been on {evaluation.log}"
    write_sheet(page, title, [evaluation_table(evaluation, 0, note), *pictures_of(figures)], TERMS)


def write_pictures(figures: Mapping[str, Figure], folder: Path) -> None:
    """Write all figures into a folder."""
    from emulator.report.style import write_picture

    for name, figure in figures.items():
        write_picture(figure, folder / f"{name}.png")
        shared.echo(f"Picture: {folder / name}.png", err=True)


def write_experiment(
    file: Path, chosen: Outcome, grid: Grid, project: str | None, trace: Path, given: dict[str, Any]
) -> None:
    """Write the experiment file of a scheme."""
    import tomli_w

    from emulator.files import write_atomically
    from emulator.walltime.advise import experiment

    beside = Path(os.path.relpath(trace.absolute(), file.absolute().parent)).as_posix()
    reading = {name: given[name] for name in READING if given.get(name) is not None}
    machine = {"processors": given["processors"]} if given.get("processors") else {}
    content = experiment(chosen, grid.min_jobs, project, {"trace": beside, **reading}, machine)
    write_atomically(file, lambda stream: tomli_w.dump(content, stream))
