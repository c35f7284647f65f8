"""``slurm-sim reproduce``: papers' tables and figures, beside ours; one command for each row of a table of papers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli import shared
from emulator.cli.workers import chosen, worker_options

if TYPE_CHECKING:
    from slurm_sim_studies.commands.runs import Made, Runs

Options = Callable[[Callable[..., None]], Callable[..., None]]
AT_LEAST_ONE = click.IntRange(min=1)


@dataclass(frozen=True)
class Study:
    """A paper, or several on one matter.

    Attributes:
        name: of the command.
        about: its help.
        module: of this package; its ``make`` gets the options, and how runs are made.
        options: its own.
        runs: whether the emulator makes runs for it.
    """

    name: str
    about: str
    module: str
    options: Options
    runs: bool = True


def percent(word: str) -> int:
    """A whole number from 1 to 100.

    Raises:
        ValueError: it is none.
    """
    if not (word.isdecimal() and 1 <= int(word) <= 100):
        raise ValueError(word)
    return int(word)


def traces(files: str, required: bool = True) -> Options:
    """Where the logs of a study are."""
    return click.option(
        "--traces", type=shared.PATH, envvar="SLURM_SIM_TRACES", required=required, help=f"Folder of the logs ({files}"
    )


def workloads(names: str) -> Options:
    """Which of the logs to take."""
    return click.option("--workload", "workloads", multiple=True, help=f"Only this one: {names}.")


STUDIES = (
    Study(
        "pv-easy",
        """PV-EASY (Yuan, Wu, Zheng and Li, 2010 and 2014): tables 1, 2, 4 to 11, and the claims of figures 2 to 8.

        For each cell the paper's value, ours and the difference. Where the papers are silent, the presets
        papers/pv_easy and so on say how they are read here; --search tries other readings.
        """,
        "pv_easy",
        shared.options(
            traces("CTC-SP2-1996-3.1-cln.swf.gz and so on)."),
            workloads("CTC, SDSC-BLUE or SDSC-DS"),
            click.option(
                "--tables",
                callback=shared.comma_list(int, "4,5"),
                default="",
                metavar="N,N...",
                help="Only these tables of the papers.  [default: all]",
            ),
            click.option(
                "--virtual", is_flag=True, help="Also figure 4, the virtual predictor: 183 runs for each workload."
            ),
            click.option(
                "--search", "searched", is_flag=True, help="Also try other readings of what the papers leave open."
            ),
        ),
    ),
    Study(
        "walltime",
        """Walltime adjustment (Tang, Desai, Buettner and Lan, 2013): accuracy, and waits by month.

        Regular and selective adjustment with the percentiles 95, 85 and 70, under WFP and under FCFS with EASY
        backfilling; the paper's values for Intrepid beside them, and whether its trends hold on these logs.
        """,
        "walltime",
        shared.options(
            traces("mira_2018-08_2018-12.csv.gz, CTC-SP2-1996-3.1-cln.swf.gz and so on).", required=False),
            workloads("Mira, CTC, SDSC-BLUE or CEA-Curie"),
            click.option(
                "--trace", "own", type=shared.PATH, multiple=True, help="A log of your own instead, such as Intrepid."
            ),
            click.option("--others", is_flag=True, help="Also walltime/last_two and walltime/recent_average."),
        ),
    ),
    Study(
        "optimum",
        """The offline optimum (Nickolay, Jung, Kettimuthu and Foster): tables 2 and 3.

        Table 2 is the time to proven optimality by size, table 3 the best schedules of random logs beside policies.
        """,
        "optimum_paper",
        shared.options(
            click.option(
                "--tables",
                callback=shared.comma_list(int, "2,3"),
                default="2,3",
                show_default=True,
                metavar="N,N",
                help="Only these tables of the paper.",
            ),
            click.option(
                "--seconds",
                type=click.FloatRange(min=0.1),
                default=60.0,
                show_default=True,
                help="Time of a solver for one log; what is not proven then is said.",
            ),
            click.option("--workers", type=AT_LEAST_ONE, default=1, show_default=True, help="Threads of CP-SAT."),
            click.option("--logs", type=AT_LEAST_ONE, default=20, show_default=True, help="Random logs of table 3."),
            click.option(
                "--highs", is_flag=True, help="Also ask HiGHS for table 2, which can take all the time it gets."
            ),
        ),
        runs=False,
    ),
    Study(
        "realtime",
        """Real-time jobs on Mira (Nickolay, Jung, Kettimuthu and Foster): figures 3 to 7.

        Bounded slowdown and turnaround of real-time and batch jobs, by category, for the baseline and three ways of
        checkpointing, on the paper's week of Mira and on a week of Curie; what the paper prints stands beside ours.
        """,
        "realtime",
        shared.options(
            traces("mira_2018-01-21_week.cobalt.log.gz and so on) and of mira_partitions.xml.gz."),
            workloads("Mira or Curie"),
            click.option(
                "--variation",
                "variations",
                type=click.Choice(["default", "90min", "aps"]),
                multiple=True,
                default=["default"],
                help="Which jobs are real-time jobs: any, those below 90 minutes, or further ones like a beamline's.  "
                "[default: default]",
            ),
            click.option(
                "--percents",
                callback=shared.comma_list(percent, "5,10; each from 1 to 100", needed=True),
                default="5,10,15,20",
                show_default=True,
                metavar="N,N",
                help="Shares of real-time jobs.",
            ),
            click.option("--trials", type=AT_LEAST_ONE, default=5, show_default=True, help="Draws of each variation."),
            click.option("--basic", is_flag=True, help="Also the schemes of section 4, without the heuristic."),
            click.option(
                "--readings", is_flag=True, help="Also, at 10 %, other answers to what the paper leaves open."
            ),
        ),
    ),
    Study(
        "migration",
        """KEASY, REASY and MEASY (Liu and others, 2012): figures 6 to 14.

        Response time and bounded slowdown over load on generated workloads, migrations, without CPU use, with CPU use
        of 100 %, and by the cost of a migration; the paper's claims beside ours. All of it takes 45 minutes of
        processor time; fewer --jobs take less.
        """,
        "migration",
        shared.options(
            click.option(
                "--figures",
                callback=shared.comma_list(int, "6,7"),
                default="",
                metavar="N,N...",
                help="Only these figures of the paper, 6 to 14.  [default: all]",
            ),
            click.option(
                "--jobs",
                type=AT_LEAST_ONE,
                default=200_000,
                show_default=True,
                help="Of FWload; JWload has half as many, as in the paper.",
            ),
            click.option(
                "--loads",
                callback=shared.comma_list(float, "0.5,0.9"),
                default="0.5,0.6,0.7,0.8,0.9",
                show_default=True,
                metavar="L,L...",
                help="Offered loads, ascending.",
            ),
            click.option(
                "--trials", type=AT_LEAST_ONE, default=1, show_default=True, help="Workloads of each kind, by seed."
            ),
            click.option(
                "--widest",
                type=click.Choice(["128", "320"]),
                default="128",
                show_default=True,
                help="The most processors that a job of FWload takes; the mean stays that of the paper.",
            ),
        ),
    ),
)

out_option = click.option(
    "--out", type=shared.PATH, help="Write a page of HTML, Markdown, JSON and pictures into a folder."
)
json_option = shared.json_option
run_options = shared.options(
    click.option("--keep", type=shared.PATH, help="Keep results in a folder, to go on from there."),
    worker_options,
    shared.progress_option,
)


@click.group()
def reproduce() -> None:
    """Make a paper's tables and figures again, and print them beside the paper's."""


def _add(study: Study) -> None:
    """Make a study a command."""

    def command(out: Path | None, as_json: bool, **given: Any) -> None:
        from emulator.files import make_folder

        if out is not None:
            make_folder(out)
        make = import_module(f"slurm_sim_studies.commands.{study.module}").make
        with _runs(given) if study.runs else nullcontext() as runs:
            made = make(runs, **given)
        if out is not None:
            _write(out, made)
        if as_json:
            shared.print_json(made.data)
        else:
            _show(made)

    common = [out_option, *([run_options] if study.runs else []), json_option]
    reproduce.command(study.name, help=study.about)(shared.options(study.options, *common)(command))


@contextmanager
def _runs(given: dict[str, Any]) -> Iterator[Runs]:
    """How the options say that runs are made; they are taken out."""
    from slurm_sim_studies.commands.runs import Runs

    keep, progress = given.pop("keep"), given.pop("progress")
    named = {name: given.pop(name) for name in ("processes", "dask", "slurm", "workers", "slurm_set")}
    with chosen(**named) as workers:
        yield Runs(workers, keep, progress)


def _write(out: Path, made: Made) -> None:
    """Write what a study gave into a folder."""
    from emulator.files import write_data
    from emulator.report.page.sheet import Heading, Part, parts_of, pictures_of, write_sheet
    from emulator.report.style import write_picture
    from slurm_sim_studies.report.terms import TERMS

    text = json.dumps(shared.plain(made.data), indent=2, allow_nan=False) + "\n"
    write_data(out / "tables.md", made.page)
    write_data(out / "tables.json", text)
    pictures = made.pictures()
    for name, figure in pictures.items():
        write_picture(figure, out / f"{name}.png")
    parts: list[Part] = list(parts_of(made.page))
    if pictures:
        parts.append(Heading("Pictures"))
    parts += pictures_of(pictures)
    write_sheet(out / "report.html", made.page.partition("\n")[0].lstrip("# "), parts, TERMS)


def _show(made: Made) -> None:
    for each in made.shown:
        if isinstance(each, str):
            shared.echo(each)
        else:
            shared.print_table(each)


for each in STUDIES:
    _add(each)
