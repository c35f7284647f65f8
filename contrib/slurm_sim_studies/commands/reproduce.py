"""``slurm-sim reproduce``: papers' tables and figures, beside ours."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from emulator.cli import shared
from emulator.cli.workers import chosen, worker_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from emulator.campaign import Outcome
    from emulator.campaign.runs import Workers
    from slurm_sim_studies.papers.claims import Claim


@click.group()
def reproduce() -> None:
    """Make a paper's tables and figures again, and print them beside the paper's."""


@reproduce.command("pv-easy")
@click.option(
    "--traces",
    type=click.Path(path_type=Path),
    envvar="SLURM_SIM_TRACES",
    required=True,
    help="Folder of the logs (CTC-SP2-1996-3.1-cln.swf.gz and so on).",
)
@click.option("--workload", "workloads", multiple=True, help="Only this one: CTC, SDSC-BLUE or SDSC-DS.")
@click.option("--tables", default="", metavar="N,N...", help="Only these tables of the papers.  [default: all]")
@click.option("--virtual", is_flag=True, help="Also figure 4, the virtual predictor: 183 runs for each workload.")
@click.option("--search", is_flag=True, help="Also try other readings of what the papers leave open.")
@click.option("--out", type=click.Path(path_type=Path), help="Write Markdown, JSON and pictures into a folder.")
@click.option("--keep", type=click.Path(path_type=Path), help="Keep results in a folder, to go on from there.")
@worker_options
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.option("--progress/--no-progress", default=None, help="Show a progress bar.  [default: on a terminal]")
def pv_easy(
    traces: Path,
    workloads: tuple[str, ...],
    tables: str,
    virtual: bool,
    search: bool,
    out: Path | None,
    keep: Path | None,
    as_json: bool,
    progress: bool | None,
    **workers: Any,
) -> None:
    """PV-EASY (Yuan, Wu, Zheng and Li, 2010 and 2014): tables 1, 2, 4 to 11, and the claims of figures 2 to 8.

    For each cell the paper's value, ours and the difference. Where the papers are silent, the presets
    papers/pv_easy and so on say how they are read here; --search tries other readings.
    """
    from emulator.campaign import run_all
    from emulator.files import make_folder
    from slurm_sim_studies.papers import pv_easy as paper
    from slurm_sim_studies.papers.claims import claims, virtual_claims, virtual_runs
    from slurm_sim_studies.papers.readings import Reading
    from slurm_sim_studies.papers.weeks import without_heaviest
    from slurm_sim_studies.report import papers as report

    if out is not None:
        make_folder(out)
    wanted = parse_tables(tables)
    files = paper.find_traces(traces, workloads)
    runs = paper.runs_of(wanted) + (virtual_runs() if virtual else [])
    specs = paper.specs(files, runs, Reading())
    lines: list[str] = []
    with chosen(**workers) as made:
        with progress_of("runs", len(specs), progress) as told:
            outcomes = run_all(specs, workers=made, keep=keep, report=told)
        if search:
            with progress_of("readings", None, progress) as told:
                lines = search_lines(files, wanted, made, keep, told)
    for outcome in outcomes:
        for trouble in filter(None, (outcome.error, outcome.note)):
            shared.echo(f"{outcome.name}: {trouble}", err=True)
    cells = paper.cells(outcomes, wanted)
    found = claims(outcomes, list(files)) + virtual_claims(outcomes, list(files))
    options = paper.options()
    weeks = without_heaviest(outcomes, list(files))
    data = report.data(cells, found, options, weeks)
    if out is not None:
        write(out, report.markdown(cells, found, options, lines, weeks), data)
        draw(out, outcomes, list(files))
    if as_json:
        shared.print_json(data)
        return
    shared.print_table(report.cells_table(cells, "PV-EASY: papers and ours"))
    shared.echo(report.summary(cells))
    shared.print_table(report.weeks_table(weeks))
    tell_claims(found)
    for line in lines:
        shared.echo(line)


def search_lines(
    files: dict[str, Path],
    tables: tuple[int, ...],
    workers: Workers,
    keep: Path | None,
    told: Callable[[Outcome], None] | None,
) -> list[str]:
    """Search for the reading, and for the rules by which tables 1 and 2 count; what was found, as Markdown."""
    from slurm_sim_studies.papers.pv_easy import runs_of
    from slurm_sim_studies.papers.readings import QUESTIONS, RULES_OF
    from slurm_sim_studies.papers.search import search, search_rules
    from slurm_sim_studies.report import papers as report

    options: dict[str, Any] = {"workers": workers, "keep": keep, "report": told}
    others = [table for table in tables or range(3, 12) if table not in RULES_OF]
    lines = report.search_lines(search(files, runs_of(others), **options), list(files)) if others else []
    for table, names in RULES_OF.items():
        if table in (tables or RULES_OF):
            questions = {name: QUESTIONS[name] for name in names}
            lines += report.rules_lines(
                search_rules(files, table, runs_of([table]), questions, **options), table, names
            )
    return lines


def parse_tables(text: str) -> tuple[int, ...]:
    """``4,5`` to numbers.

    Raises:
        UsageError: it is not a list of numbers.
    """
    try:
        return tuple(int(word) for word in text.split(",") if word.strip())
    except ValueError as error:
        raise click.UsageError(f"--tables {text}: write it as 4,5") from error


def write(out: Path, markdown: str, data: dict[str, Any]) -> None:
    """Write a reproduction into a folder, as Markdown and as JSON."""
    import json

    from emulator.files import write_atomically

    text = json.dumps(shared.plain(data), indent=2, allow_nan=False) + "\n"
    write_atomically(out / "tables.md", lambda stream: stream.write(markdown.encode()))
    write_atomically(out / "tables.json", lambda stream: stream.write(text.encode()))


def tell_claims(claims: Iterable[Claim]) -> None:
    """Print what a paper claims, and whether it holds here."""
    for claim in claims:
        verdict = "holds" if claim.holds else "FAILS"
        shared.echo(f"{verdict}  {claim.source}, {claim.column}: {claim.text} ({claim.figures})")


def draw(out: Path, outcomes: list[Outcome], columns: list[str]) -> None:
    """Draw the figures that the runs suffice for into a folder."""
    from emulator.files import write_atomically
    from emulator.report.style import picture_bytes
    from slurm_sim_studies.report.paperfigures import figures

    for name, figure in figures(outcomes, columns).items():
        write_atomically(out / f"{name}.png", partial(_write, picture_bytes(figure, "png")))


def _write(data: bytes, stream: IO[bytes]) -> None:
    stream.write(data)


@contextmanager
def progress_of(label: str, total: int | None, wanted: bool | None) -> Iterator[Callable[[Outcome], None] | None]:
    """A progress bar over runs, on a terminal."""
    done = 0
    with shared.progress(label, total or 0, wanted) as told:
        if told is None:
            yield None
            return

        def report(_: Outcome) -> None:
            nonlocal done
            done += 1
            told(done)

        yield report
