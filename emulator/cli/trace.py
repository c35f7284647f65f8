"""``slurm-sim trace``: look at a trace, or generate one."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli import completion, shared
from slurm_sim_plugins.errors import ConfigurationError, InputError

if TYPE_CHECKING:
    from emulator.workload.models.jann97_parameters import Jann97Parameters
    from emulator.workload.workload import Workload

load_options = shared.options(
    click.option(
        "--load", type=float, help="Offered load; inter-arrival times are scaled to it.  [default: the model's own]"
    ),
    click.option("--overload", is_flag=True, help="Allow a load above 1, under which the queue grows without end."),
    click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the random streams."),
)

limit_options = shared.options(
    click.option(
        "--estimates",
        type=click.Choice(["factor", "exact", "tsafrir05"]),
        default="factor",
        show_default=True,
        help="Time limits: the run time times a random factor; the run time; or few popular values, as users choose.",
    ),
    click.option(
        "--estimate-factor",
        type=float,
        help="With factor: users ask for the run time, times a factor drawn between 1 and this.  [default: 5]",
    ),
    click.option(
        "--largest-estimate",
        type=float,
        metavar="SECONDS",
        help="With tsafrir05: the largest estimate.  [default: the longest run time, in whole hours]",
    ),
    click.option("--cpu-use", is_flag=True, help="Draw how much of a processor each process uses."),
)


@click.group()
def trace() -> None:
    """Look at a trace, or generate one."""


@trace.command()
@click.argument("trace", type=completion.TRACE)
@shared.trace_options
@shared.json_option
def info(trace: Path, processors: int | None, as_json: bool, **reading: Any) -> None:
    """Say what a trace holds, and what was dropped or changed and why."""
    workload = shared.read_workload(trace, processors=processors, **reading)
    from emulator.report.workload import describe_workload, workload_table

    if as_json:
        shared.print_json(describe_workload(workload))
    else:
        shared.print_table(workload_table(workload))


@trace.command()
@click.argument("file", type=shared.PATH)
@click.option(
    "--model",
    type=click.Choice(["lublin99", "feitelson96", "jann97"]),
    default="lublin99",
    show_default=True,
    help="Workload model.",
)
@click.option("--jobs", type=click.IntRange(min=1), default=10_000, show_default=True, help="How many.")
@click.option("--processors", type=click.IntRange(min=1), default=128, show_default=True, help="Size of the machine.")
@load_options
@click.option(
    "--kind",
    type=click.Choice(["combined", "batch", "interactive", "both"]),
    help="Which parameters of lublin99.  [default: combined]",
)
@click.option(
    "--parameters",
    type=shared.PATH,
    help="Parameters of jann97, as trace fit writes them.  [default: those of CTC-SP2, calibrated]",
)
@limit_options
def generate(file: Path, model: str, jobs: int, processors: int, **given: Any) -> None:
    """Generate a workload and write it as SWF (gzipped if the name ends in .gz)."""
    from emulator.files import check_writable
    from emulator.report.workload import workload_table
    from emulator.workload.swf import write_swf

    check_writable(file)
    parameters: Path | None = given.pop("parameters")
    own = _own_options(model, given.pop("kind"), parameters)
    maker = importlib.import_module(f"emulator.workload.models.{model}")
    try:
        workload = _with_limits(lambda **limits: maker.generate(jobs, processors, **own, **limits), **given)
    except InputError as error:
        raise (InputError(f"{parameters}: gives no workload: {error}") if parameters else error) from error
    write_swf(workload, file)
    shared.print_table(workload_table(workload, maker.describe(workload, processors)))
    shared.echo(f"Written: {file} ({model})")


@trace.command()
@click.argument("trace", type=completion.TRACE)
@click.argument("file", type=shared.PATH, required=False)
@shared.trace_options
@click.option("--jobs", type=click.IntRange(min=1), help="How many to imitate.  [default: as many as the trace holds]")
@load_options
@limit_options
@click.option("--parameters", type=shared.PATH, help="Write the fit to this file, as TOML.")
@shared.json_option
def fit(
    trace: Path,
    file: Path | None,
    parameters: Path | None,
    processors: int | None,
    jobs: int | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Fit jann97 to a trace, and write an imitation of it as SWF.

    Prints what trace and imitation are like, range of sizes by range. Without FILE the imitation is not kept.
    """
    from emulator.report.fit import describe_fit, fit_table, loads

    reading = {name: given.pop(name) for name in ("filter", "processors_field", "first_submit", "malformed")}
    for path in (file, parameters):
        _check_writable(path)
    log = shared.read_workload(trace, processors=processors, **reading)
    fitted, imitation = _imitate(log, jobs, given)
    _write_fit(fitted, imitation, parameters, file)
    if as_json:
        shared.print_json(describe_fit(log, imitation))
    else:
        shared.print_table(fit_table(log, imitation))
        notes = [loads(log, imitation), log.note]
        notes += [f"Written: {path}" for path in (parameters, file) if path is not None]
        shared.echo("\n".join(note for note in notes if note))


def _own_options(model: str, kind: str | None, parameters: Path | None) -> dict[str, Any]:
    """The options that only one model has."""
    if kind is not None and model != "lublin99":
        raise ConfigurationError(f"--kind chooses parameters of lublin99; {model} has none")
    if parameters is not None and model != "jann97":
        raise ConfigurationError(f"--parameters are of jann97; {model} takes none from a file")
    if parameters is not None:
        from emulator.workload.models.jann97_parameters import read_parameters

        return {"parameters": read_parameters(parameters)}
    return {} if kind is None else {"kind": kind}


def _with_limits(
    make: Callable[..., Workload],
    *,
    estimates: str,
    estimate_factor: float | None,
    largest_estimate: float | None,
    cpu_use: bool,
    **given: Any,
) -> Workload:
    """The workload of a model, with time limits and CPU use as asked for."""
    from emulator.workload.models import cpu_use as use
    from emulator.workload.models import tsafrir05

    if estimate_factor is not None and estimates != "factor":
        raise ConfigurationError(f"--estimate-factor goes with --estimates factor, not with {estimates}")
    if largest_estimate is not None and estimates != "tsafrir05":
        raise ConfigurationError(f"--largest-estimate goes with --estimates tsafrir05, not with {estimates}")
    if estimate_factor is not None:
        given["estimate_factor"] = estimate_factor
    workload = make(estimates="exact" if estimates == "tsafrir05" else estimates, **given)
    if estimates == "tsafrir05":
        workload = tsafrir05.assign(workload, given["seed"], largest=largest_estimate)
    return use.assign(workload, given["seed"]) if cpu_use else workload


def _imitate(log: Workload, jobs: int | None, given: dict[str, Any]) -> tuple[Jann97Parameters, Workload]:
    """The fit to a log, and a workload made of it for the log's machine."""
    from emulator.workload.models import jann97

    if log.machine is None:
        raise ConfigurationError(f"{log.name} does not state the size of its machine; give it with --processors")
    machine, count = log.machine, len(log) if jobs is None else jobs
    fitted = jann97.fit(log)
    make = partial(jann97.generate, count, machine, parameters=fitted)
    return fitted, _with_limits(make, **given)


def _write_fit(fitted: Jann97Parameters, imitation: Workload, parameters: Path | None, file: Path | None) -> None:
    from emulator.workload.models.jann97_parameters import write_parameters
    from emulator.workload.swf import write_swf

    if parameters is not None:
        write_parameters(fitted, parameters)
    if file is not None:
        write_swf(imitation, file)


def _check_writable(path: Path | None) -> None:
    from emulator.files import check_writable

    if path is not None:
        check_writable(path)
