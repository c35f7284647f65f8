"""``slurm-sim reproduce migration``: the paper on KEASY, REASY and MEASY."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli import shared
from emulator.cli.walltime import put
from emulator.cli.workers import chosen, worker_options
from slurm_sim_studies.commands.reproduce import progress_of, tell_claims, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from emulator.campaign.runs import Workers
    from slurm_sim_studies.papers.claims import Claim
    from slurm_sim_studies.papers.migration import Plan, Points


@click.command("migration")
@click.option(
    "--figures", default="", metavar="N,N...", help="Only these figures of the paper, 6 to 14.  [default: all]"
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=200_000,
    show_default=True,
    help="Of FWload; JWload has half as many, as in the paper.",
)
@click.option(
    "--loads", default="0.5,0.6,0.7,0.8,0.9", show_default=True, metavar="L,L...", help="Offered loads, ascending."
)
@click.option(
    "--trials", type=click.IntRange(min=1), default=1, show_default=True, help="Workloads of each kind, by seed."
)
@click.option(
    "--widest",
    type=click.Choice(["128", "320"]),
    default="128",
    show_default=True,
    help="The most processors that a job of FWload takes; the mean stays that of the paper.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Write Markdown, JSON and pictures into a folder.")
@click.option("--keep", type=click.Path(path_type=Path), help="Keep results in a folder, to go on from there.")
@worker_options
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.option("--progress/--no-progress", default=None, help="Show a progress bar.  [default: on a terminal]")
def migration(
    figures: str,
    jobs: int,
    loads: str,
    trials: int,
    widest: str,
    out: Path | None,
    keep: Path | None,
    as_json: bool,
    progress: bool | None,
    **workers: Any,
) -> None:
    """KEASY, REASY and MEASY (Liu and others, 2012): figures 6 to 14.

    Response time and bounded slowdown over load on generated workloads, migrations, without CPU use, with CPU use of
    100 %, and by the cost of a migration; the paper's claims beside ours. All of it takes 45 minutes of processor
    time; fewer --jobs take less.
    """
    from emulator.files import make_folder
    from emulator.report.style import picture_bytes
    from slurm_sim_studies.papers.migration import FIGURES, Plan
    from slurm_sim_studies.papers.migration_claims import claims
    from slurm_sim_studies.report import migration as report

    plan = Plan(_whole(figures) or FIGURES, jobs, _numbers(loads), trials, int(widest))
    if out is not None:
        make_folder(out)
    with chosen(**workers) as made:
        found = _run(plan, keep, made, progress)
    judged = claims(found)
    content = report.data(found, judged, vars(plan))
    if out is not None:
        write(out, report.markdown(found, judged, plan.figures, vars(plan)), content)
        for name, figure in report.pictures(found, plan.figures).items():
            put(out / f"{name}.png", picture_bytes(figure, "png"))
    if as_json:
        shared.print_json(content)
    else:
        _show(found, judged, plan)


def _run(plan: Plan, keep: Path | None, workers: Workers, progress: bool | None) -> Points:
    """Make all runs, and say what went wrong."""
    from emulator.campaign import run_all
    from slurm_sim_studies.papers.migration import points, specs

    wanted = specs(plan)
    with progress_of("runs", len(wanted), progress) as told:
        outcomes = run_all(wanted, workers=workers, keep=keep, report=told)
    for outcome in outcomes:
        if outcome.error or outcome.note:
            shared.echo(f"{outcome.name}: {outcome.error or outcome.note}", err=True)
    return points(outcomes)


def _show(found: Points, claims: Sequence[Claim], plan: Plan) -> None:
    """Print tables and claims."""
    from slurm_sim_studies.report import migration as report

    for grid in report.grids(found, plan.figures):
        shared.print_table(report.table(grid))
    tell_claims(claims)


def _whole(text: str) -> tuple[int, ...]:
    return tuple(_list(text, int, "--figures", "6,7"))


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(_list(text, float, "--loads", "0.5,0.9"))


def _list(text: str, kind: type[Any], option: str, example: str) -> list[Any]:
    try:
        return [kind(word) for word in text.split(",") if word.strip()]
    except ValueError as error:
        raise click.UsageError(f"{option} {text}: write it as {example}") from error
