"""``slurm-sim optimum``: the best schedule of few jobs, and how far policies are from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli import completion, shared
from emulator.cli.compare import POLICIES, parse_policy, simulate_each
from emulator.cli.run import configure
from slurm_sim_plugins.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from emulator.accounting.records import Records
    from emulator.config.options import Config
    from emulator.workload.workload import Workload
    from slurm_sim_plugins.blocks import Blocks
    from slurm_sim_studies.optimum.files import Case
    from slurm_sim_studies.optimum.optimise import Optimum

TOML = ".toml"
NEVER = "never"
FOR_TRACES = ("midplanes", "blocks", "skip", "jobs", "realtime", "checkpoint")

problem_options = shared.options(
    click.option("--skip", type=click.IntRange(min=0), help="Leave out so many jobs at the beginning of a trace."),
    click.option("--jobs", type=click.IntRange(min=1), help="Take so many jobs of a trace.  [default: all]"),
    click.option(
        "--realtime",
        metavar="ID,ID...",
        callback=shared.comma_list(int, "3,5"),
        help="The real-time jobs of a trace.  [default: none]",
    ),
    click.option(
        "--checkpoint",
        metavar="SECONDS",
        help="What it takes to write a checkpoint of a job of a trace, and to read it; mira: as on Mira; never: no "
        "job can be preempted.  [default: never]",
    ),
    click.option(
        "--midplanes", type=click.IntRange(min=1), help="Blocks of 1, 2, 4 ... of so many midplanes of 512 nodes."
    ),
    click.option("--blocks", type=shared.PATH, help="The blocks of a file, in Cobalt's XML or TOML."),
    click.option(
        "--bound",
        type=float,
        help="Of the real-time jobs' mean slowdown.  [default: what the problem says, else 1.2]",
    ),
    click.option(
        "--loosest",
        type=float,
        default=2.0,
        show_default=True,
        help="Relax a bound that cannot be kept to the next hundredth that can, up to this.",
    ),
)

solver_options = shared.options(
    click.option(
        "--solver",
        type=click.Choice(["cp-sat", "highs"]),
        default="cp-sat",
        show_default=True,
        help="OR-Tools' CP-SAT, or HiGHS through scipy, for comparison: up to 8 jobs.",
    ),
    click.option(
        "--seconds",
        type=click.FloatRange(min=1),
        default=60.0,
        show_default=True,
        help="Time of the solver; whether it was enough is said.",
    ),
    click.option(
        "--workers",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Threads of CP-SAT; with one the same problem takes the same way to its optimum.",
    ),
)


@click.command()
@click.argument("workload", type=shared.PATH)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    type=completion.Plugin(several=True, named=True),
    metavar="[NAME=]PLUGIN,...",
    help="A policy to compare, as for slurm-sim compare. Several times.  [default: FCFS, SJF, EASY, conservative]",
)
@problem_options
@solver_options
@click.option(
    "--picture",
    type=shared.PATH,
    default=Path("slurm-sim-optimum.png"),
    show_default=True,
    help="Where to draw the schedule (PNG or SVG, by the ending).",
)
@shared.page_option
@shared.plugin_options
@shared.trace_options
@shared.machine_options
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON, with the schedule.")
@shared.progress_option
def optimum(
    workload: Path,
    policies: tuple[str, ...],
    bound: float | None,
    loosest: float,
    solver: str,
    seconds: float,
    workers: int,
    picture: Path,
    page: Path | None,
    files: tuple[Path, ...],
    folders: tuple[Path, ...],
    settings: tuple[str, ...],
    as_json: bool,
    progress: bool | None,
    **given: Any,
) -> None:
    """Look for the best schedule of few jobs, all known beforehand, and compare policies with it.

    The batch jobs' mean slowdown is to be the least while the real-time jobs' is within a bound. WORKLOAD is a
    problem in TOML (docs/optimum.md) or a trace. Ten jobs are many.

    \b
    slurm-sim optimum problem.toml
    slurm-sim optimum KTH-SP2.swf.gz --skip 1000 --jobs 7 --policy sched/easy
    """
    from emulator.files import check_writable
    from emulator.report.page.sheet import Picture, write_sheet
    from emulator.report.style import write_picture
    from slurm_sim_studies.optimum.files import exact
    from slurm_sim_studies.optimum.policies import preemption_of, standing
    from slurm_sim_studies.report import optimum as report

    if picture.suffix not in (".png", ".svg"):
        raise ConfigurationError(f"--picture {picture}: name a file that ends in .png or .svg")
    for file in filter(None, (picture, page)):
        check_writable(file)
    wanted = {name: given.pop(name) for name in FOR_TRACES}
    reading = {name: given.pop(name) for name in ("filter", "processors_field", "first_submit", "malformed")}
    config = configure(None, settings, given)
    case, jobs = read(workload, config, wanted, reading)
    if bound is not None:
        case = replace(case, problem=case.problem.with_bound(exact(bound, "--bound")))
    make_sure(case, solver)
    named = named_policies(policies, case)
    config = replace(config, processors=case.problem.capacity, preemption=preemption_of(case.problem))
    if named and not isinstance(case.problem.machine, int):
        config = on_blocks(config, case, wanted["blocks"])
    simulated = simulate_each(named, jobs, config, shared.find_plugins(files, folders), progress)
    results = {name: result.records for name, result in simulated.items()}
    with shared.clocked("the solver", seconds, progress):
        best = solve(case, list(results.values()), solver, seconds, workers, loosest)
    standings = [standing(name, best.problem, records) for name, records in results.items()]
    write_picture(report.gantt(best), picture)
    table = report.optimum_table(best, standings, note=jobs.note)
    if page is not None:
        shown = Picture("When each job runs in the best schedule that was found", report.gantt(best))
        write_sheet(
            page, f"The best schedule of {best.problem.name}", [table, shown, report.jobs_table(best)], report.TERMS
        )
        shared.echo(f"Written: {page}", err=as_json)
    if as_json:
        lost = {"dropped": [vars(each) for each in jobs.dropped], "changed": [vars(each) for each in jobs.changed]}
        shared.print_json({**report.data(best, standings), **lost})
        return
    shared.print_table(table)
    shared.echo(f"Picture: {picture}")


def named_policies(given: Sequence[str], case: Case) -> dict[str, list[str]]:
    """The policies to compare; on blocks none by default.

    Raises:
        ConfigurationError: one that counts processors where there are blocks.
    """
    from slurm_sim_studies.optimum.policies import SELECT

    named = dict(parse_policy(text) for text in given)
    if isinstance(case.problem.machine, int):
        return named or POLICIES
    for name, plugins in named.items():
        if SELECT not in plugins:
            raise ConfigurationError(
                f"--policy {name} counts processors, and the problem has blocks; give one that knows them, such as "
                f"sched/realtime,preempt/realtime,{SELECT}, or leave --policy out"
            )
    return named


def on_blocks(config: Config, case: Case, file: Path | None) -> Config:
    """How policies are simulated on the blocks of the problem."""
    from slurm_sim_studies.optimum.policies import SELECT, options_of_blocks

    options = {**config.plugin_options.get(SELECT, {}), **options_of_blocks(case.problem, file)}
    return replace(config, plugin_options={**config.plugin_options, SELECT: options})


def make_sure(case: Case, solver: str) -> None:
    """Make sure, before policies are simulated, that the solver is there and that the problem is not too large.

    Raises:
        ConfigurationError: it is not installed.
        InputError: the problem is beyond it.
    """
    from slurm_sim_studies.optimum import milp, optimise

    if solver == "highs":
        milp.check_size(case.problem)
        return
    optimise.require_solver()
    optimise.check_size(case.problem)


def solve(case: Case, results: Sequence[Records], solver: str, seconds: float, workers: int, loosest: float) -> Optimum:
    """Ask the solver; what policies did is where the search begins."""
    from slurm_sim_studies.optimum.files import exact
    from slurm_sim_studies.optimum.milp import optimise_milp
    from slurm_sim_studies.optimum.optimise import optimise
    from slurm_sim_studies.optimum.policies import order_of_starts

    most = exact(loosest, "--loosest")
    if solver == "highs":
        return optimise_milp(case.problem, seconds=seconds, loosest=most)
    orders = [order_of_starts(records) for records in results]
    return optimise(case.problem, seconds=seconds, workers=workers, loosest=most, orders=orders)


def read(path: Path, config: Config, wanted: dict[str, Any], reading: dict[str, Any]) -> tuple[Case, Workload]:
    """The problem, and the workload that policies get."""
    from slurm_sim_studies.optimum.files import case_of, marked, part_of, read_case, workload_of

    if path.suffix.lower() == TOML:
        stated = [name for name, value in {**wanted, **reading}.items() if value is not None]
        if config.processors is not None:
            stated.append("processors")
        if stated:
            option = stated[0].replace("_", "-")
            raise ConfigurationError(f"--{option} is for traces; {path.name} says itself what its problem is")
        case = read_case(path)
        return case, workload_of(case)
    whole = shared.read_workload(path, processors=config.processors, **reading)
    jobs = part_of(whole, wanted["skip"] or 0, wanted["jobs"])
    case = case_of(
        jobs,
        machine_of(whole, config, wanted),
        realtime=wanted["realtime"] or (),
        checkpoint=checkpoint_of(wanted["checkpoint"]),
        kill_at_limit=config.kill_at_limit,
    )
    return case, marked(jobs, case.problem)


def machine_of(workload: Workload, config: Config, wanted: dict[str, Any]) -> int | Blocks:
    """The machine of a trace: blocks where they are asked for."""
    from slurm_sim_plugins.blockfiles import read_blocks
    from slurm_sim_studies.optimum.files import blocks_of

    given = [name for name in ("midplanes", "blocks") if wanted[name] is not None]
    if config.processors is not None:
        given.append("processors")
    if len(given) > 1:
        raise ConfigurationError(f"--{given[0]} and --{given[1]} both say what the machine is; give one")
    if wanted["midplanes"] is not None:
        return blocks_of(wanted["midplanes"])
    if wanted["blocks"] is not None:
        return read_blocks(wanted["blocks"])
    if workload.machine is None:
        raise ConfigurationError(f"{workload.name} does not say how large the machine is; give --processors")
    return workload.machine


def checkpoint_of(text: str | None) -> int | str | None:
    """Seconds, or ``mira``; None for ``never``.

    Raises:
        ConfigurationError: it is neither.
    """
    if text is None or text == NEVER:
        return None
    if text == "mira":
        return text
    if not text.isascii() or not text.isdigit():
        raise ConfigurationError(f"--checkpoint {text}: give whole seconds, mira or never")
    return int(text)
