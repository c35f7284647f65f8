"""Tables 2 and 3 of the paper on real-time jobs on Mira: the offline optimum of small random logs.

The paper's logs are not public, and how long its jobs run and when they are submitted is
not printed: :func:`slurm_sim_studies.optimum.instances.of_the_paper` draws others of the same
sizes. The paper's heuristic is simulated on blocks. The other policies are simulated on a
machine that counts midplanes; for them the optimum is looked for on such a machine, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from emulator.config.options import Config
from slurm_sim_plugins.manager import Catalogue, slots_for
from slurm_sim_studies.optimum.files import Case, workload_of
from slurm_sim_studies.optimum.instances import as_processors, of_the_paper
from slurm_sim_studies.optimum.milp import optimise_milp
from slurm_sim_studies.optimum.optimise import Optimum, optimise
from slurm_sim_studies.optimum.policies import Standing, order_of_starts, standing
from slurm_sim_studies.optimum.problem import MIRA
from slurm_sim_studies.papers.values import values_of

if TYPE_CHECKING:
    from slurm_sim_studies.optimum.problem import Problem

LOGS = 20
"""Random logs of table 3."""
DRAWS = 5
"""Random logs for each size of table 2, whose instances are not known."""
POLICIES = {
    "FCFS": ("sched/fcfs",),
    "SJF": ("sched/fcfs", "priority/sjf"),
    "EASY": ("sched/easy",),
    "conservative": ("sched/conservative",),
}
"""None of them knows of real-time jobs."""
HEURISTIC = ("sched/realtime", "preempt/realtime", "select/blocks", "priority/wfp")
"""Weighted-cost job scheduling, WCJS, with just-in-time checkpoints and the thresholds of Mira's week."""

Told = Callable[[str], None]
"""Is told what has been solved."""


@dataclass(frozen=True)
class Timing:
    """One row of table 2.

    Attributes:
        batch, realtime, midplanes: the size.
        printed: the paper's seconds.
        seconds: ours, of each log; infinite where the time was not enough.
        cpu: of processor time, for each log, proven or not.
        highs: of how many logs HiGHS proved the optimum in that time; None if it was not asked.
        logs: how many logs there are.
    """

    batch: int
    realtime: int
    midplanes: int
    printed: float
    seconds: tuple[float, ...]
    cpu: tuple[float, ...]
    highs: int | None

    @property
    def logs(self) -> int:
        """How many random logs were solved."""
        return len(self.seconds)

    @property
    def proven(self) -> int:
        """Of how many the optimum was proven."""
        return sum(map(math.isfinite, self.seconds))

    @property
    def middle(self) -> float:
        """Median of the seconds."""
        return median(self.seconds)


@dataclass(frozen=True)
class Row:
    """One row of table 3: means over the logs.

    Attributes:
        name: the optimum or a policy, and on what machine.
        batch: mean of the batch jobs' mean slowdown.
        realtime: of the real-time jobs'.
        kept: in how many logs the bound was kept.
        proven: of how many logs the optimum was proven; None for a policy.
        printed: the paper's two means, where it has the row.
    """

    name: str
    batch: float
    realtime: float
    kept: int
    proven: int | None = None
    printed: tuple[float, float] | None = None


values = partial(values_of, "optimum")
"""What the paper prints."""


def timings(seconds: float, workers: int, *, highs: bool, told: Told | None = None) -> list[Timing]:
    """Table 2: the time to proven optimality by size.

    Args:
        seconds: for each log and solver.
        workers: threads of CP-SAT.
        highs: whether to ask HiGHS, too.
        told: is called with each size.
    """
    found = []
    for batch, realtime, midplanes, printed in values()["table2"]["rows"]:
        problems = [of_the_paper(seed, batch=batch, realtime=realtime, midplanes=midplanes) for seed in _seeds(DRAWS)]
        optima = [optimise(problem, seconds=seconds, workers=workers) for problem in problems]
        others = [optimise_milp(problem, seconds=seconds).status for problem in problems] if highs else None
        count = others.count("optimal") if others is not None else None
        spent, cpu = tuple(map(_spent, optima)), tuple(each.cpu_seconds for each in optima)
        found.append(Timing(batch, realtime, midplanes, float(printed), spent, cpu, count))
        if told is not None:
            told(f"{batch} + {realtime} jobs, {midplanes} midplanes")
    return found


def _spent(optimum: Optimum) -> float:
    return optimum.seconds if optimum.status == "optimal" else math.inf


def _seeds(count: int) -> range:
    return range(1, count + 1)


def comparison(seconds: float, workers: int, logs: int = LOGS, told: Told | None = None) -> list[Row]:
    """Table 3: the optimum, the paper's heuristic, and policies.

    Args:
        seconds: for each log and machine.
        workers: threads of CP-SAT.
        logs: how many random logs.
        told: is called with each log.
    """
    on_blocks, on_processors, heuristic = [], [], []
    policies: dict[str, list[Standing]] = {name: [] for name in POLICIES}
    for seed in _seeds(logs):
        problem = of_the_paper(seed)
        on_blocks.append(optimise(problem, seconds=seconds, workers=workers))
        heuristic.append(_heuristic(problem))
        counted = as_processors(problem)
        standings, orders = _simulated(counted)
        on_processors.append(optimise(counted, seconds=seconds, workers=workers, orders=orders))
        for each in standings:
            policies[each.name].append(each)
        if told is not None:
            told(problem.name)
    printed = {name: (means["batch"], means["realtime"]) for name, means in values()["table3"].items()}
    return [
        _best("optimum on blocks", on_blocks, printed["optimum"]),
        _policy("WCJS on blocks", heuristic, printed["heuristic"]),
        _best("optimum on processors", on_processors, None),
        *(_policy(name, each) for name, each in policies.items()),
    ]


def _heuristic(problem: Problem) -> Standing:
    from emulator.api import simulate

    config = Config(processors=problem.capacity, slots=slots_for(HEURISTIC), preemption=MIRA)
    result = simulate(workload_of(_exact_limits(problem)), config=config, catalogue=Catalogue())
    return standing("WCJS", problem, result.records)


def _exact_limits(problem: Problem) -> Case:
    """What users request is not printed: here it is what they need."""
    return Case(problem, {job.id: float(job.run) for job in problem.jobs})


def _simulated(problem: Problem) -> tuple[list[Standing], list[list[int]]]:
    from emulator.api import simulate

    case = _exact_limits(problem)
    standings, orders = [], []
    for name, plugins in POLICIES.items():
        result = simulate(workload_of(case), slots=slots_for(plugins), catalogue=Catalogue())
        standings.append(standing(name, problem, result.records))
        orders.append(order_of_starts(result.records))
    return standings, orders


def _best(name: str, found: Sequence[Optimum], printed: tuple[float, float] | None) -> Row:
    batch, realtime = (_mean([getattr(each, kind) for each in found]) for kind in ("batch_mean", "realtime_mean"))
    kept = sum(each.problem.bound == each.asked for each in found)
    return Row(name, batch, realtime, kept, sum(each.status == "optimal" for each in found), printed)


def _policy(name: str, found: Sequence[Standing], printed: tuple[float, float] | None = None) -> Row:
    batch, realtime = (_mean([getattr(each, kind) for each in found]) for kind in ("batch_mean", "realtime_mean"))
    return Row(name, batch, realtime, sum(each.keeps_bound for each in found), printed=printed)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan
