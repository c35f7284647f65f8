"""Measure how soon the best schedules of few jobs are proven. See README.md beside this file."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import median, quantiles
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as slurm-sim does, before numpy is imported

import click
from slurm_sim_studies.optimum.check import faults
from slurm_sim_studies.optimum.instances import as_processors, contended, of_the_paper
from slurm_sim_studies.optimum.milp import optimise_milp
from slurm_sim_studies.optimum.model import Ideas
from slurm_sim_studies.optimum.optimise import Optimum, optimise
from slurm_sim_studies.optimum.problem import Problem

PAPER = "11 h 52 min (CPLEX, 32 cores, 4 + 3 jobs on 16 midplanes)"
NONE = Ideas(
    incumbent=False,
    subsets=0,
    more_subsets=False,
    propagation=False,
    symmetry=False,
    preemption=False,
    cliques=False,
)
"""The model alone; such a model left most of these instances open after a minute."""
VARIANTS = {
    "all": Ideas(),
    "without incumbent": Ideas(incumbent=False),
    "without subsets": Ideas(subsets=0, more_subsets=False),
    "without propagation": Ideas(propagation=False),
    "without symmetry": Ideas(symmetry=False),
    "without preemption": Ideas(preemption=False),
    "without cliques": Ideas(cliques=False),
    "none": NONE,
    "only incumbent": replace(NONE, incumbent=True),
    "only subsets": replace(NONE, subsets=Ideas().subsets),
    "only propagation": replace(NONE, propagation=True),
    "only symmetry": replace(NONE, symmetry=True),
    "only preemption": replace(NONE, preemption=True),
    "only cliques": replace(NONE, cliques=True),
}


class Outcome(NamedTuple):
    """Whether it was proven, the seconds of processor and on the wall, and what is left open."""

    proven: bool
    cpu: float
    wall: float
    gap: float


def seven(count: int) -> Iterator[Problem]:
    """Contended instances of 7 jobs: 5 batch and 2 real-time jobs, or 4 and 3, in turn."""
    for seed in range(1, count + 1):
        yield contended(seed) if seed % 2 else contended(seed, batch=4, realtime=3)


def timed(solve: Callable[[], Optimum]) -> tuple[Optimum, float, float]:
    """What came out, seconds on the wall and seconds of processor time, of everything."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = solve()
    return found, time.perf_counter() - wall, time.process_time() - cpu


def solved(problems: Iterator[Problem], seconds: float, ideas: Ideas | None = None, *, tell: bool = False) -> str:
    """Solve all, check each, and say how it went."""
    outcomes = []
    for problem in problems:
        found, wall, cpu = timed(lambda problem=problem: optimise(problem, seconds=seconds, ideas=ideas))
        wrong = faults(found.problem, found.schedule, objective=found.objective)
        if wrong:
            raise SystemExit(f"{problem.name}: {wrong[0]}")
        outcomes.append(Outcome(found.status == "optimal", cpu, wall, found.gap))
        if tell:
            click.echo(
                f"  {problem.name:14} {len(problem.batch)} + {len(problem.realtime)}  {found.status:8} "
                f"gap {100 * found.gap:5.1f} %  mean slowdown {found.batch_mean:7.4f}  "
                f"{cpu:6.1f} CPU s  {wall:6.1f} s on the wall"
            )
    return summary(outcomes)


def summary(outcomes: list[Outcome]) -> str:
    """How many are proven, and the distribution of the times."""
    proven = [each for each in outcomes if each.proven]
    text = f"{len(proven)} of {len(outcomes)} proven"
    if len(proven) > 1:
        text += f", in {spread([each.cpu for each in proven])} CPU s, {spread([each.wall for each in proven])} s"
    text += f"; {sum(each.cpu for each in outcomes):.0f} CPU s for all"
    gap = max((each.gap for each in outcomes if not each.proven), default=0.0)
    return text + (f"; largest gap {100 * gap:.0f} %" if gap else "")


def spread(values: list[float]) -> str:
    """Least, median, ninth tenth and largest."""
    ninth = quantiles(values, n=10, method="inclusive")[-1]
    return " / ".join(f"{value:.1f}" for value in (min(values), median(values), ninth, max(values)))


def distribution(count: int, seconds: float) -> None:
    click.echo(f"distribution: {count} contended instances of 7 jobs on 16 midplanes, {seconds:g} s; paper: {PAPER}")
    click.echo(f"  {solved(seven(count), seconds, tell=True)}")


def ideas(count: int, seconds: float) -> None:
    click.echo(f"ideas: {count} of these, {seconds:g} s, with one idea left out at a time")
    for name, variant in VARIANTS.items():
        click.echo(f"  {name:22} {solved(seven(count), seconds, variant)}")


def reach(count: int, seconds: float) -> None:
    click.echo(f"reach: more jobs, {count} instances of each, {seconds:g} s")
    for batch, realtime in ((6, 2), (7, 2), (8, 2), (10, 3)):
        for kind in (contended, of_the_paper):
            problems = (kind(seed, batch=batch, realtime=realtime) for seed in range(1, count + 1))
            click.echo(f"  {batch:2} + {realtime}  {kind.__name__:12} {solved(problems, seconds)}")


def processors(count: int, seconds: float) -> None:
    click.echo(f"processors: the same jobs on 16 processors, any of which will do, {seconds:g} s")
    click.echo(f"  contended    {solved(map(as_processors, seven(count)), seconds)}")
    paper = (as_processors(of_the_paper(seed)) for seed in range(1, count + 1))
    click.echo(f"  of_the_paper {solved(paper, seconds)}")


def highs(count: int, seconds: float) -> None:
    click.echo(f"highs: the mixed-integer program, random logs as in the paper, {seconds:g} s")
    for batch, realtime, midplanes in ((2, 2, 16), (3, 2, 16), (4, 3, 16)):
        outcomes = []
        for seed in range(1, count + 1):
            problem = of_the_paper(seed, batch=batch, realtime=realtime, midplanes=midplanes)
            found, wall, cpu = timed(lambda problem=problem: optimise_milp(problem, seconds=seconds))
            outcomes.append(Outcome(found.status == "optimal", cpu, wall, found.gap))
        click.echo(f"  {batch} + {realtime} on {midplanes}  {summary(outcomes)}")


PARTS: dict[str, tuple[Callable[[int, float], None], int, float]] = {
    "distribution": (distribution, 50, 60.0),
    "ideas": (ideas, 10, 30.0),
    "reach": (reach, 5, 60.0),
    "processors": (processors, 10, 60.0),
    "highs": (highs, 5, 60.0),
}
"""What it is, how many instances, and the limit in seconds."""


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice(list(PARTS)))
@click.option("--count", type=click.IntRange(min=2), help="Instances, instead of the part's own number.")
@click.option("--seconds", type=float, help="For each instance, instead of the part's own limit.")
def main(parts: tuple[str, ...], count: int | None, seconds: float | None) -> None:
    """Measure the named parts, or all."""
    click.echo(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, one thread for the solver")
    click.echo("seconds: least / median / 90 % / longest of what is proven")
    for name in parts or PARTS:
        part, instances, limit = PARTS[name]
        part(count or instances, seconds or limit)


if __name__ == "__main__":
    main()
