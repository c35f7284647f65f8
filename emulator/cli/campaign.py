"""``slurm-sim campaign``: many runs, interrupted and resumed, and what they say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli import shared
from emulator.cli.completion import Place, is_run
from emulator.cli.kept import of_campaign, saying
from emulator.cli.workers import chosen, worker_options

if TYPE_CHECKING:
    import pandas as pd

    from emulator.campaign.file import Campaign
    from emulator.campaign.results import Survey

SOME_FAILED = 1
"""Exit code of a campaign of which runs failed."""
FOLDER = Place(is_run, file_okay=False)

common_options = shared.options(
    click.option(
        "--traces",
        type=click.Path(path_type=Path, file_okay=False),
        multiple=True,
        envvar="SLURM_SIM_TRACES",
        help="A further folder in which the files lie that the campaign file names. Several times.",
    ),
    shared.plugin_files,
    worker_options,
    shared.progress_option,
)


@click.group()
def campaign() -> None:
    """Many runs from one file: workloads times policies times options times seeds.

    Results lie in a folder, and are never made twice: an interrupted campaign goes on where it stopped.
    """


@campaign.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--out", type=FOLDER, help="Folder of the results.  [default: beside the file, called as it is without .toml]"
)
@common_options
@click.option("--dry-run", is_flag=True, help="List the runs, and make none.")
@click.option("--print-job-script", is_flag=True, help="With --slurm: print a worker's job script, and make no run.")
def run(
    file: Path,
    out: Path | None,
    traces: tuple[Path, ...],
    files: tuple[Path, ...],
    folders: tuple[Path, ...],
    dry_run: bool,
    print_job_script: bool,
    progress: bool | None,
    **workers: Any,
) -> int:
    """Make all runs of a campaign file that are not made yet.

    \b
    slurm-sim campaign run study.toml --traces logs
    slurm-sim campaign run study.toml --dask tcp://node1:8786
    slurm-sim campaign run study.toml --slurm --workers 20 --slurm-set queue=long
    """
    from emulator.campaign.file import read_campaign

    if print_job_script:
        return _print_job_script(workers)
    plugins = shared.plugin_paths(files, folders)
    return _make(read_campaign(file, traces), out or beside(file), plugins, dry_run, progress, workers)


@campaign.command()
@click.argument("folder", type=FOLDER)
@common_options
def resume(
    folder: Path,
    traces: tuple[Path, ...],
    files: tuple[Path, ...],
    folders: tuple[Path, ...],
    progress: bool | None,
    **workers: Any,
) -> int:
    """Make the runs that are missing in a folder of results: as run, with the campaign file that it was begun with.

    Files that it names are looked for beside the folder, where run puts it, and in those of --traces. Plugin files
    are named again: a folder of results never decides what code is run.
    """
    from emulator.campaign.file import parse_campaign
    from emulator.campaign.store import Store
    from slurm_sim_plugins.errors import InputError

    plan = Store(folder).plan()
    if not isinstance(plan.get("text"), str):
        raise InputError(f"{folder}: was not made from a campaign file; the command that made it goes on with --keep")
    plugins = shared.plugin_paths(files, folders)
    wanted = [str(name) for name in plan.get("plugin_files", [])]
    if sorted(wanted) != sorted(plugin.name for plugin in plugins):
        raise click.UsageError(
            f"The campaign was begun with {_plugin_words(wanted)}; name the same ones, or begin another with run."
        )
    file = folder.absolute().parent / Path(str(plan.get("file", "campaign.toml"))).name
    return _make(parse_campaign(plan["text"], file, traces), folder, plugins, False, progress, workers)


@campaign.command()
@click.argument("folder", type=FOLDER)
@shared.json_option
def status(folder: Path, as_json: bool) -> None:
    """Say how far a campaign is; every result is compared with its hash."""
    from emulator.campaign.results import STATES, survey
    from emulator.report import campaign as report

    found = survey(folder)
    if as_json:
        runs = [
            {"run": each.run, "name": each.name, "state": each.state, "trouble": each.trouble} for each in found.runs
        ]
        shared.print_json({**{state: found.count(state) for state in STATES}, "others": found.others, "runs": runs})
        return
    shared.print_table(report.status_table(found))
    shared.echo(report.status_line(found))
    for line in report.trouble_lines(found):
        shared.echo(line)


@campaign.command()
@click.argument("folder", type=FOLDER)
@click.option("--metrics", metavar="KEY,KEY...", help="What to show.  [default: what the campaign file names]")
@click.option("--baseline", metavar="POLICY", help="What to compare with.  [default: what the campaign file names]")
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Of the intervals.",
)
@click.option("--pareto", metavar="KEY,KEY...", help="Which policies no other one beats in these metrics.")
@click.option("--csv", type=shared.PATH, help="Write one row a run, with all metrics.")
@click.option("--plots", type=FOLDER, help="Draw pictures into a folder.")
@shared.json_option
def results(
    folder: Path,
    metrics: str | None,
    baseline: str | None,
    confidence: float,
    pareto: str | None,
    csv: Path | None,
    plots: Path | None,
    as_json: bool,
) -> None:
    """Means over the repetitions with confidence intervals, and what differs from the baseline on the same seeds.

    \b
    slurm-sim campaign results study --metrics mean_wait,mbs --baseline EASY
    slurm-sim campaign results study --pareto mean_wait,max_wait --plots pictures
    """
    from emulator.campaign import analysis
    from emulator.campaign.results import frame_of, survey
    from slurm_sim_plugins.errors import InputError

    found = survey(folder)
    frame = frame_of(found)
    if frame.empty:
        raise InputError(f"{folder}: no run is finished; slurm-sim campaign status says more")
    stated = [str(key) for key in found.about.get("metrics", ())]
    measured = next(each.numbers for each in found.runs if each.state == "done")
    keys = _keys(metrics) or stated or list(measured)[:3]
    base = baseline or str(found.about.get("baseline", frame["policy"].iloc[0]))
    tables = {"means": analysis.means(frame, keys, confidence)}
    if frame["policy"].nunique() > 1:
        tables["paired"] = analysis.paired(frame, keys, base, confidence)
    if pareto:
        tables["pareto"] = analysis.pareto(frame, _keys(pareto), confidence)
    if csv is not None:
        _write_csv(csv, frame)
    if plots is not None:
        _draw(plots, frame, tables, keys, _keys(pareto), confidence)
    _show(found, tables, keys, base, _keys(pareto), confidence, as_json)


def beside(file: Path) -> Path:
    """The folder of a campaign file's results, where nothing else is said."""
    return file.with_suffix("") if file.suffix else file.with_name(f"{file.name}.results")


def _make(
    study: Campaign, out: Path, plugins: Sequence[Path], dry_run: bool, progress: bool | None, workers: dict[str, Any]
) -> int:
    """Make the runs, and say what became of them."""
    from emulator.campaign import run_all
    from emulator.campaign.expand import expand
    from emulator.campaign.results import survey
    from emulator.campaign.slurm import notices
    from emulator.cli.board import board
    from emulator.report import campaign as report
    from emulator.report.numbers import printable

    specs = expand(study, plugins)
    for sentence in notices(spec.cluster for spec in specs if spec.cluster is not None):
        shared.echo(sentence, err=True)
    if dry_run:
        for spec in specs:
            shared.echo(printable(spec.name))
        shared.echo(f"{len(specs):,} runs")
        return 0
    about = {**study.about(), "plugin_files": [plugin.name for plugin in plugins]}
    with saying(of_campaign(out)), chosen(**workers) as found, board(specs, study.metrics[0], progress) as told:
        outcomes = run_all(specs, keep=out, report=told, workers=found, about=about)
    made = [outcome for outcome in outcomes if not outcome.kept]
    for outcome in made:
        if outcome.note:
            shared.echo(f"{outcome.name}: {outcome.note}", err=True)
    seen = survey(out)
    for line in report.trouble_lines(seen):
        shared.echo(line, err=True)
    spent = sum(outcome.cpu_seconds for outcome in made)
    shared.echo(f"{report.status_line(seen)}; {len(made):,} made now, in {spent:,.1f} CPU s. Results: {out}")
    return 0 if seen.count("done") == len(seen.runs) else SOME_FAILED


def _print_job_script(workers: dict[str, Any]) -> int:
    from emulator.campaign.cluster import job_script, slurm_settings

    if not workers["slurm"]:
        raise click.UsageError("--print-job-script goes with --slurm.")
    shared.echo(job_script(slurm_settings(workers["slurm_set"])))
    return 0


def _plugin_words(names: Sequence[str]) -> str:
    return " ".join(f"--plugin {name}" for name in names) or "no plugin files"


def _keys(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def _write_csv(file: Path, frame: pd.DataFrame) -> None:
    from emulator.files import check_writable, write_data

    check_writable(file)
    write_data(file, frame.to_csv(index=False))


def _draw(
    folder: Path,
    frame: pd.DataFrame,
    tables: dict[str, pd.DataFrame],
    metrics: Sequence[str],
    pareto: Sequence[str],
    confidence: float,
) -> None:
    """Each metric of all policies, and against each option that has several numbers; the front."""
    from emulator.campaign.analysis import metric_of
    from emulator.files import make_folder
    from emulator.report import campaign as report
    from emulator.report.style import write_picture

    make_folder(folder)
    pictures = {metric: report.means_picture(tables["means"], metric, confidence) for metric in metrics}
    not_options = {"run", "workload", "policy", "seed", "cpu_seconds", "peak_memory_mb"}
    for option in [str(each) for each in frame.columns if each not in not_options and not metric_of(each).group]:
        for metric in metrics:
            curves = report.curves_picture(frame, tables["means"], metric, option)
            if curves is not None:
                pictures[f"{metric}-by-{option.rpartition('.')[2]}"] = curves
    if pareto:
        pictures["pareto"] = report.pareto_picture(tables["pareto"], pareto)
    for name, figure in pictures.items():
        # A metric may be that of a partition or a user, of whatever name.
        write_picture(figure, folder / (re.sub(r"[^\w.-]+", "-", name) + ".png"))


def _show(
    found: Survey,
    tables: dict[str, pd.DataFrame],
    metrics: Sequence[str],
    baseline: str,
    pareto: Sequence[str],
    confidence: float,
    as_json: bool,
) -> None:
    from emulator.report import campaign as report

    if as_json:
        shared.print_json({name: report.as_data(table) for name, table in tables.items()})
        return
    shared.print_table(report.means_table(tables["means"], metrics, confidence))
    if "paired" in tables and len(tables["paired"]):
        shared.print_table(report.paired_table(tables["paired"], baseline, confidence))
    if "pareto" in tables:
        shared.print_table(report.pareto_table(tables["pareto"], pareto))
    alike = tables["means"][tables["means"]["alike"]]
    if len(alike):
        shared.echo("Where the interval is 0, all repetitions gave one number: nothing in them is random.")
    if found.count("done") < len(found.runs):
        shared.echo(report.status_line(found))
