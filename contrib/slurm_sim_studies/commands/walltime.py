"""The paper on walltime adjustment."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from emulator.walltime.evaluate import Evaluation, evaluate
from emulator.walltime.log import read_log
from emulator.workload.read import read_trace
from slurm_sim_studies.commands.runs import Made, Runs, claims_in_words
from slurm_sim_studies.papers.walltime import Study, accuracies, find_studies, gains, specs, study_of
from slurm_sim_studies.papers.walltime_trends import gain_claims, trends
from slurm_sim_studies.report import walltime as report


def make(runs: Runs, *, traces: Path | None, workloads: Sequence[str], own: Sequence[Path], others: bool) -> Made:
    """Judge the paper's grid on each log, make the runs, and judge the trends."""
    studies, evaluations = chosen_studies(traces, workloads, own)
    outcomes = runs.make(specs(studies, others))
    found, accurate = gains(outcomes), accuracies(outcomes)
    claims = [claim for study, each in evaluations.items() for claim in trends(study, each)] + gain_claims(found)
    return Made(
        report.data(found, claims, evaluations, accurate),
        report.markdown(found, claims, evaluations, accurate),
        [
            *([report.gains_table(found)] if found else []),
            *claims_in_words(claims),
            *(f"{study}: {note}" for study, evaluation in evaluations.items() for note in evaluation.notes),
        ],
        partial(report.figures, found, accurate),
    )


def chosen_studies(
    traces: Path | None, workloads: Sequence[str], own: Sequence[Path]
) -> tuple[list[Study], dict[str, Evaluation]]:
    """The studies, and the paper's grid judged on each."""
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
