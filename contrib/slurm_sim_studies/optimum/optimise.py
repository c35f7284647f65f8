"""The best schedule, or the best found and a bound on all others.

In turn: whether the bound can be kept at all; a good schedule without a solver, to be
beaten; the best schedules of few batch jobs at a time, whose slowdowns bound those of all;
at last the whole problem.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Literal

from slurm_sim_plugins.errors import ConfigurationError, InputError
from slurm_sim_studies.optimum.climb import TRIES, climb
from slurm_sim_studies.optimum.model import Cut, Ideas, Model, solve
from slurm_sim_studies.optimum.problem import LOOSEST, Job, Problem
from slurm_sim_studies.optimum.realtime import MOST, best_alone, with_batch_after
from slurm_sim_studies.optimum.schedule import Schedule, batch_slowdowns, realtime_slowdown
from slurm_sim_studies.optimum.weights import Weights, weights

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpSolver

Status = Literal["optimal", "feasible"]

SECONDS = 60.0
LEAST_SECONDS = 0.1
"""The whole problem gets so much even if nothing is left."""
SUBSETS_SHARE = 0.25
"""Of the time, for subsets of few batch jobs, and as much for those of more."""
SOON = 2.0
"""So much work for the whole problem before subsets of more jobs are looked at; 5 to 10 s on one core."""
SOON_SHARE = 0.25
"""And no more than this part of the time: the solver can come to a standstill that it does not count as work."""
LARGEST_JOBS = 40
LARGEST_INTERVALS = 20_000
HUNDREDTH = 100
"""A bound that is relaxed is relaxed to the next hundredth."""


@dataclass(frozen=True)
class Optimum:
    """What is known of the best schedule.

    Attributes:
        problem: with the bound that was kept in the end.
        status: ``optimal`` if it is proven that no schedule is better, but for the error of
            rounding, which ``lower`` has taken off. ``feasible`` if the time was not enough.
        schedule: the best that was found.
        objective: its sum of the batch jobs' slowdowns, exactly.
        lower: no schedule has a smaller sum.
        asked: the bound that was asked for, before it was relaxed.
        seconds: of the solver on the wall, as it says itself.
        solver: which.
        cpu_seconds: of processor time while it ran, of all its threads; on a machine that
            others use, too, it says more. NaN if it was not measured.
    """

    problem: Problem
    status: Status
    schedule: Schedule
    objective: Fraction
    lower: Fraction
    asked: Fraction
    seconds: float
    solver: str = "cp-sat"
    cpu_seconds: float = math.nan

    @property
    def gap(self) -> float:
        """By what part of the objective a better schedule could be better at most."""
        return float(1 - self.lower / self.objective)

    @property
    def batch_mean(self) -> float:
        """The batch jobs' mean slowdown."""
        return float(self.objective / len(self.problem.batch))

    @property
    def batch_mean_lower(self) -> float:
        """No schedule has a smaller mean."""
        return float(self.lower / len(self.problem.batch))

    @property
    def realtime_mean(self) -> float:
        """The real-time jobs' mean slowdown; NaN without any."""
        mean = realtime_slowdown(self.problem, self.schedule)
        return math.nan if mean is None else float(mean)


def optimise(
    problem: Problem,
    *,
    seconds: float = SECONDS,
    workers: int = 1,
    ideas: Ideas | None = None,
    loosest: Fraction | None = LOOSEST,
    tries: int = TRIES,
    orders: Iterable[Sequence[int]] = (),
) -> Optimum:
    """Look for the best schedule.

    Args:
        problem: jobs, machine and bound.
        seconds: of the solver, in all.
        workers: its threads. With one the same problem takes the same way to its optimum.
        ideas: what to do to be done sooner; by default all.
        loosest: a bound that cannot be kept is relaxed up to this; None keeps it.
        tries: schedules to look at before the solver starts.
        orders: job ids in orders to begin with, such as those in which policies started them.

    Raises:
        ConfigurationError: OR-Tools is not installed; the bound cannot be kept.
        InputError: the problem is too large to try.
    """
    require_solver()
    ideas = ideas or Ideas()
    check_size(problem)
    asked = problem.bound
    problem, alone = within_reach(problem, loosest, seconds)
    found = climb(problem, tries=tries, orders=orders)
    known = found.schedule if found.within_bound else with_batch_after(problem, alone)
    search = _Search(problem, ideas, seconds, workers)
    return replace(search.best(known), asked=asked)


def require_solver() -> None:
    """Make sure that OR-Tools is there.

    Raises:
        ConfigurationError: it is not; the message says what to install.
    """
    try:
        import ortools.sat.python.cp_model  # noqa: F401
    except ImportError as error:
        raise ConfigurationError(
            f"the optimum needs OR-Tools, which cannot be imported ({error}); "
            "install it with: pip install 'slurm-sim-plugins[optimum]'"
        ) from error


def check_size(problem: Problem) -> None:
    """Make sure that the problem is not beyond what can be tried.

    Raises:
        InputError: it is; the message says which limit.
    """
    jobs = len(problem.jobs)
    if jobs > LARGEST_JOBS:
        raise InputError(
            f"{problem.name}: {jobs:,} jobs are too many to look for an optimum: the limit is {LARGEST_JOBS}, as no "
            "more than about 10 can be proven within minutes and the gap of 40 says little; take a part of the workload"
        )
    intervals = sum((1 + problem.preemptible(job)) * max(1, len(problem.blocks_for(job))) for job in problem.jobs)
    if intervals > LARGEST_INTERVALS:
        raise InputError(
            f"{problem.name}: {jobs} jobs have {intervals:,} positions on this machine, too many for a solver: "
            f"the limit is {LARGEST_INTERVALS:,}; take fewer jobs or a machine with fewer blocks"
        )


def within_reach(problem: Problem, loosest: Fraction | None, seconds: float = SECONDS) -> tuple[Problem, Schedule]:
    """The problem under a bound that can be kept: its own, or the next hundredth that can.

    Args:
        problem: what to schedule.
        loosest: relax up to this at most; None does not relax.
        seconds: of the solver, which is asked only if there are many real-time jobs.

    Returns:
        It, and a schedule of the real-time jobs alone that keeps the bound.

    Raises:
        ConfigurationError: no schedule keeps the bound; the message says which could be kept.
            Or the loosest is below 1.
    """
    if loosest is not None and loosest < 1:
        raise ConfigurationError(
            f"a bound that cannot be kept is relaxed up to {float(loosest):g}, which no schedule can keep: "
            "give 1 or more, such as 2"
        )
    alone = best_alone(problem) if len(problem.realtime) <= MOST else _many_alone(problem, seconds)
    least = realtime_slowdown(problem, alone) or Fraction(1)
    if least <= problem.bound:
        return problem, alone
    relaxed = Fraction(math.ceil(least * HUNDREDTH), HUNDREDTH)
    if loosest is not None and relaxed <= loosest:
        return problem.with_bound(relaxed), alone
    limit = f", nor {float(loosest):g}, to which it may be relaxed," if loosest is not None else ""
    raise ConfigurationError(
        f"{problem.name}: no schedule keeps the real-time jobs' mean slowdown below {float(problem.bound):g}{limit} "
        f"even if no batch job is in their way: the least is {float(least):.4f}; give a bound of {float(relaxed):g}"
    )


def _many_alone(problem: Problem, seconds: float) -> Schedule:
    """As :func:`best_alone`, by the solver; if it is not proven, the best that is known."""
    alone = tuple(replace(job, realtime=False, checkpoint=None) for job in problem.realtime)
    return optimise(Problem(alone, problem.machine, name=problem.name), seconds=seconds).schedule


class _Search:
    """One search; counts the solver's seconds, and those of the processor meanwhile."""

    def __init__(self, problem: Problem, ideas: Ideas, seconds: float, workers: int) -> None:
        self.problem = problem
        self.ideas = ideas
        self.seconds = seconds
        self.workers = workers
        self.spent = 0.0
        self.cpu = 0.0
        self.weighed: Weights = weights(problem.batch, problem.horizon)
        self.cuts: list[Cut] = []
        self.bound = 0.0

    def best(self, known: Schedule) -> Optimum:
        """Beat a schedule, or prove that none does."""
        few, all_but_one = self.ideas.subsets, len(self.problem.batch) - 1
        self._learn(range(1, min(few, all_but_one) + 1))
        if self.ideas.more_subsets and few < all_but_one:
            found = self._attempt(known, SOON, SOON_SHARE * self.seconds)
            if found.status == "optimal" or self.spent >= self.seconds:
                return found
            known = found.schedule
            self._learn(range(few + 1, all_but_one + 1))
        return self._attempt(known)

    def _attempt(self, known: Schedule, work: float = math.inf, seconds: float = math.inf) -> Optimum:
        """The whole problem, with so much work and in so many of the seconds that are left at most."""
        below = self._weighed_sum(known)
        model = Model(self.problem, self.ideas, self.weighed, self.cuts, below if self.ideas.incumbent else None)
        left = max(LEAST_SECONDS, self.seconds - self.spent)
        solver, outcome = self._solve(model, min(left, seconds), work)
        self.bound = max(self.bound, solver.best_objective_bound)
        if outcome in ("OPTIMAL", "FEASIBLE"):
            schedule = model.schedule(solver)
            if outcome == "OPTIMAL" or self._weighed_sum(schedule) <= below:
                return self._optimum(outcome == "OPTIMAL", schedule, self.bound)
        if outcome == "INFEASIBLE":
            if not self.ideas.incumbent:
                raise AssertionError(f"{self.problem.name}: the model has no solution, but the problem has")
            return self._optimum(True, known, below)
        return self._optimum(False, known, min(below, self.bound))

    def _optimum(self, proven: bool, schedule: Schedule, bound: float) -> Optimum:
        lower = max(Fraction(len(self.problem.batch)), self._exact(bound))
        objective = batch_slowdowns(self.problem, schedule)
        status: Status = "optimal" if proven else "feasible"
        return Optimum(
            self.problem,
            status,
            schedule,
            objective,
            min(lower, objective),
            self.problem.bound,
            self.spent,
            cpu_seconds=self.cpu,
        )

    def _exact(self, bound: float) -> Fraction:
        """What a bound on the weighted sum says of the slowdowns; the solver's bounds are whole numbers or less."""
        return Fraction(math.floor(bound), self.weighed.scale) - self.weighed.error

    def _weighed_sum(self, schedule: Schedule) -> int:
        return sum((schedule[job.id].end - job.submit) * self.weighed.of[job.id] for job in self.problem.batch)

    def _learn(self, counts: Iterable[int]) -> None:
        """What the best schedules of so many batch jobs say, as long as there is time for them."""
        until = self.spent + SUBSETS_SHARE * self.seconds
        for count in counts:
            for jobs in combinations(self.problem.batch, count):
                if self.spent >= until:
                    return
                self.cuts.append(self._cut(jobs, until - self.spent))

    def _cut(self, jobs: tuple[Job, ...], seconds: float) -> Cut:
        ids = {job.id for job in jobs}
        known = [cut for cut in self.cuts if ids.issuperset(cut.jobs)]
        part = self.problem.of([job for job in self.problem.jobs if job.realtime or job.id in ids])
        model = Model(part, self.ideas, self.weighed, known)
        solver, _ = self._solve(model, seconds)
        return Cut(tuple(sorted(ids)), math.floor(solver.best_objective_bound))

    def _solve(self, model: Model, seconds: float, work: float = math.inf) -> tuple[CpSolver, str]:
        before = os.times()
        solver, outcome = solve(model, self.workers, seconds, work)
        after = os.times()
        self.spent += solver.wall_time
        self.cpu += after.user + after.system - before.user - before.system
        return solver, outcome
