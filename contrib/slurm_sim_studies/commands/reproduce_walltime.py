"""``slurm-sim reproduce walltime``: the paper on walltime adjustment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli import shared
from emulator.cli.walltime import put
from emulator.cli.workers import chosen, worker_options
from slurm_sim_studies.commands.reproduce import progress_of, tell_claims, write

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from emulator.walltime.evaluate import Evaluation
    from slurm_sim_studies.papers.claims import Claim
    from slurm_sim_studies.papers.walltime import Gain, Study


@click.command("walltime")
@click.option(
    "--traces",
    type=click.Path(path_type=Path),
    envvar="SLURM_SIM_TRACES",
    help="Folder of the logs (mira_2018-08_2018-12.csv.gz, CTC-SP2-1996-3.1-cln.swf.gz and so on).",
)
@click.option("--workload", "workloads", multiple=True, help="Only this one: Mira, CTC, SDSC-BLUE or CEA-Curie.")
@click.option(
    "--trace",
    "own",
    type=click.Path(path_type=Path),
    multiple=True,
    help="A log of your own instead, such as Intrepid.",
)
@click.option("--others", is_flag=True, help="Also walltime/last_two and walltime/recent_average.")
@click.option("--out", type=click.Path(path_type=Path), help="Write Markdown, JSON and pictures into a folder.")
@click.option("--keep", type=click.Path(path_type=Path), help="Keep results in a folder, to go on from there.")
@worker_options
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.option("--progress/--no-progress", default=None, help="Show a progress bar.  [default: on a terminal]")
def walltime(
    traces: Path | None,
    workloads: tuple[str, ...],
    own: tuple[Path, ...],
    others: bool,
    out: Path | None,
    keep: Path | None,
    as_json: bool,
    progress: bool | None,
    **workers: Any,
) -> None:
    """Walltime adjustment (Tang, Desai, Buettner and Lan, 2013): accuracy, and waits by month.

    Regular and selective adjustment with the percentiles 95, 85 and 70, under WFP and under FCFS with EASY
    backfilling; the paper's values for Intrepid beside them, and whether its trends hold on these logs.
    """
    from emulator.campaign import run_all
    from emulator.files import make_folder
    from emulator.report.style import picture_bytes
    from slurm_sim_studies.papers.walltime import accuracies, gains, specs
    from slurm_sim_studies.papers.walltime_trends import gain_claims, trends
    from slurm_sim_studies.report import walltime as report

    if out is not None:
        make_folder(out)
    studies, evaluations = chosen_studies(traces, workloads, own)
    wanted = specs(studies, others)
    with chosen(**workers) as made, progress_of("runs", len(wanted), progress) as told:
        outcomes = run_all(wanted, workers=made, keep=keep, report=told)
    for outcome in outcomes:
        if outcome.error or outcome.note:
            shared.echo(f"{outcome.name}: {outcome.error or outcome.note}", err=True)
    found = gains(outcomes)
    claims = [claim for study, each in evaluations.items() for claim in trends(study, each)] + gain_claims(found)
    accurate = accuracies(outcomes)
    content = report.data(found, claims, evaluations, accurate)
    if out is not None:
        write(out, report.markdown(found, claims, evaluations, accurate), content)
        for name, figure in report.figures(found, accurate).items():
            put(out / f"{name}.png", picture_bytes(figure, "png"))
    if as_json:
        shared.print_json(content)
    else:
        show(found, claims, evaluations)


def show(gains: Sequence[Gain], claims: Sequence[Claim], evaluations: Mapping[str, Evaluation]) -> None:
    """Print tables, claims and notes."""
    from slurm_sim_studies.report.walltime import gains_table

    if gains:
        shared.print_table(gains_table(gains))
    tell_claims(claims)
    for study, evaluation in evaluations.items():
        for note in evaluation.notes:
            shared.echo(f"{study}: {note}")


def chosen_studies(
    traces: Path | None, workloads: tuple[str, ...], own: tuple[Path, ...]
) -> tuple[list[Study], dict[str, Evaluation]]:
    """The studies, and the paper's grid judged on each."""
    from emulator.walltime.evaluate import evaluate
    from emulator.walltime.log import read_log
    from emulator.workload.read import read_trace
    from slurm_sim_studies.papers.walltime import find_studies, study_of

    if own and workloads:
        raise click.UsageError("--workload chooses from the folder of --traces; with --trace leave it out.")
    if traces is None and not own:
        raise click.UsageError("Name the folder of the logs with --traces, or a log with --trace.")
    studies = [] if own or traces is None else find_studies(traces, workloads)
    logs = {study.name: read_log(read_trace(study.trace)) for study in studies}
    for trace in own:
        log = read_log(read_trace(trace))
        if log.name in logs:
            raise click.UsageError(f"Two logs are called {log.name}; rename one.")
        logs[log.name] = log
        studies.append(study_of(trace, log))
    return studies, {name: evaluate(log) for name, log in logs.items()}
