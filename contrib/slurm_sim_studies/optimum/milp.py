"""The offline problem as a mixed-integer program for HiGHS, through scipy: for comparison.

Disjunctive: for each pair of parts a binary says that the first is over before the second
starts. On a machine of blocks the pair needs it where both jobs are on the same midplanes;
on a machine of processors these are handed from part to part as a flow, and a part hands
on only to those that start after its end (Artigues, Michelon and Reusser, 2003). None of the
ideas of :mod:`slurm_sim_studies.optimum.model` is in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from slurm_sim_plugins.errors import InputError
from slurm_sim_studies.optimum.optimise import SECONDS, Optimum, Status, within_reach
from slurm_sim_studies.optimum.problem import LOOSEST, Job, Problem
from slurm_sim_studies.optimum.realtime import with_batch_after
from slurm_sim_studies.optimum.schedule import Part, Schedule, Stay, batch_slowdowns
from slurm_sim_studies.optimum.symmetry import exclusive, pieces

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LARGEST_JOBS = 8
OPTIMAL, INFEASIBLE = 0, 2
"""What scipy calls these outcomes."""

Terms = Mapping[int, float]
"""A linear expression: factors by the number of a variable."""


def optimise_milp(problem: Problem, *, seconds: float = SECONDS, loosest: Fraction | None = LOOSEST) -> Optimum:
    """As :func:`slurm_sim_studies.optimum.optimise.optimise`, by HiGHS.

    Args:
        problem: jobs, machine and bound.
        seconds: of the solver.
        loosest: a bound that cannot be kept is relaxed up to this; None keeps it.

    Raises:
        ConfigurationError: the bound cannot be kept.
        InputError: the problem is too large to try.
    """
    check_size(problem)
    asked = problem.bound
    problem, alone = within_reach(problem, loosest, seconds)
    program = _Program(problem)
    values, bound, proven = program.solve(seconds)
    schedule = with_batch_after(problem, alone) if values is None else program.schedule(values)
    objective = batch_slowdowns(problem, schedule)
    lower = min(max(Fraction(bound), Fraction(len(problem.batch))), objective)
    status: Status = "optimal" if proven else "feasible"
    return Optimum(problem, status, schedule, objective, lower, asked, float("nan"), "highs")


def check_size(problem: Problem) -> None:
    """Make sure that the problem is not beyond what can be tried.

    Raises:
        InputError: it is; the message says which limit.
    """
    if len(problem.jobs) > LARGEST_JOBS:
        raise InputError(
            f"{problem.name}: {len(problem.jobs)} jobs are too many for the mixed-integer program: the limit is "
            f"{LARGEST_JOBS}, beyond which it proves nothing within minutes; take the other solver"
        )


@dataclass(frozen=True)
class _Part:
    """One part: the variables of start and length, and of its presence (None: it always is)."""

    job: Job
    start: int
    length: int
    present: int | None


class _Program:
    """The program: variables by number, and rows ``low <= terms <= high``."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._low: list[float] = []
        self._high: list[float] = []
        self._rows: list[tuple[Terms, float, float]] = []
        self._continuous: set[int] = set()
        self._blocks = {job.id: {block: self._binary() for block in problem.blocks_for(job)} for job in problem.jobs}
        self._parts = {job.id: self._of_job(job) for job in problem.jobs}
        for own in self._blocks.values():
            if own:
                self._row(dict.fromkeys(own.values(), 1.0), 1, 1)
        self._use_machine()
        self._keep_bound()

    def solve(self, seconds: float) -> tuple[Floats | None, float, bool]:
        """Values of the variables if any were found, a bound on the objective, and whether they are proven best."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import coo_array

        entries = [(row, at, by) for row, (terms, _, _) in enumerate(self._rows) for at, by in terms.items()]
        rows, columns, factors = zip(*entries, strict=True)
        matrix = coo_array((factors, (rows, columns)), shape=(len(self._rows), len(self._low)))
        demands = LinearConstraint(matrix.tocsr(), [row[1] for row in self._rows], [row[2] for row in self._rows])
        whole = np.array([0 if number in self._continuous else 1 for number in range(len(self._low))])
        costs, constant = self._objective()
        outcome = milp(
            costs,
            integrality=whole,
            bounds=Bounds(self._low, self._high),
            constraints=demands,
            options={"time_limit": seconds, "mip_rel_gap": 0.0},
        )
        if outcome.status == INFEASIBLE:
            raise AssertionError(f"{self.problem.name}: the program has no solution, but the problem has")
        bound = 0.0 if outcome.mip_dual_bound is None else float(outcome.mip_dual_bound) + constant
        return outcome.x, bound, outcome.status == OPTIMAL

    def schedule(self, values: Floats) -> Schedule:
        """The schedule that the values stand for."""
        found = {}
        for number, parts in self._parts.items():
            spans = [
                Part(round(values[part.start]), round(values[part.start]) + round(values[part.length]))
                for part in parts
                if part.present is None or values[part.present] > 0.5
            ]
            block = next((block for block, chosen in self._blocks[number].items() if values[chosen] > 0.5), None)
            found[number] = Stay(tuple(spans), block)
        return found

    # Variables and rows -------------------------------------------------------------------

    def _variable(self, low: float, high: float) -> int:
        self._low.append(low)
        self._high.append(high)
        return len(self._low) - 1

    def _binary(self) -> int:
        return self._variable(0, 1)

    def _row(self, terms: Terms, low: float = -np.inf, high: float = np.inf) -> None:
        self._rows.append((terms, low, high))

    def _of_job(self, job: Job) -> list[_Part]:
        problem, last = self.problem, self.problem.horizon
        start = self._variable(job.submit, last)
        if not problem.preemptible(job):
            return [_Part(job, start, self._variable(job.run, job.run), None)]
        cost, least, run = job.checkpoint or 0, problem.least(job), job.run
        preempted, resume = self._binary(), self._variable(job.submit, last)
        length, left = self._variable(0, run + cost), self._variable(0, run + cost)
        self._row({length: 1, left: 1, preempted: -2 * cost}, run, run)
        self._row({left: 1, preempted: -(least + cost)}, low=0)
        self._row({left: 1, preempted: -(run - least + cost)}, high=0)
        self._row({resume: 1, start: -1, length: -1}, low=0)
        return [_Part(job, start, length, None), _Part(job, resume, left, preempted)]

    # Machine ------------------------------------------------------------------------------

    def _use_machine(self) -> None:
        parts = [part for own in self._parts.values() for part in own]
        before = {pair: self._before(*pair) for pair in permutations(parts, 2)}
        if isinstance(self.problem.machine, int):
            self._hand_on(parts, before, self.problem.machine)
            return
        for (one, other), first in before.items():
            if one.job.id < other.job.id:
                self._exclude(one, other, {first: 1.0, before[other, one]: 1.0})

    def _before(self, one: _Part, other: _Part) -> int:
        """A binary: one part is over before the other starts."""
        first, most = self._binary(), self.problem.horizon - min(job.submit for job in self.problem.jobs)
        self._row({other.start: 1, one.start: -1, one.length: -1, first: -most}, low=-most)
        return first

    def _exclude(self, one: _Part, other: _Part, either: Terms) -> None:
        """One is before the other where both are on the same midplanes."""
        terms = dict(either)
        least = 1.0
        for part in (one, other):
            if part.present is not None:
                terms[part.present] = -1.0
                least -= 1
        if exclusive(self.problem, one.job, other.job):
            self._row(terms, low=least)
            return
        for piece in pieces(self.problem):
            on = [*self._on(one.job, piece), *self._on(other.job, piece)]
            self._row({**terms, **dict.fromkeys(on, -1.0)}, low=least - 2)

    def _on(self, job: Job, piece: int) -> list[int]:
        return [chosen for block, chosen in self._blocks[job.id].items() if piece & self.problem.takes(block)]

    def _hand_on(self, parts: list[_Part], before: Mapping[tuple[_Part, _Part], int], processors: int) -> None:
        """Processors come from a store and from parts that are over."""
        flows: dict[tuple[_Part, _Part], int] = {}
        for (one, other), first in before.items():
            most = min(one.job.size, other.job.size)
            flows[one, other] = self._flow(most)
            self._row({flows[one, other]: 1, first: -most}, high=0)
        store = {part: self._flow(part.job.size) for part in parts}
        self._row(dict.fromkeys(store.values(), 1.0), high=processors)
        for part in parts:
            gets = {store[part]: 1.0, **{flows[other, part]: 1.0 for other in parts if other is not part}}
            gives = {flows[part, other]: 1.0 for other in parts if other is not part}
            size = float(part.job.size)
            if part.present is None:
                self._row(gets, size, size)
                self._row(gives, high=size)
            else:
                self._row({**gets, part.present: -size}, 0, 0)
                self._row({**gives, part.present: -size}, high=0)

    def _flow(self, most: float) -> int:
        flow = self._variable(0, most)
        self._continuous.add(flow)
        return flow

    # Bound and objective ------------------------------------------------------------------

    def _keep_bound(self) -> None:
        jobs = self.problem.realtime
        if jobs:
            most = float(self.problem.bound * len(jobs) - sum(Fraction(job.run - job.submit, job.run) for job in jobs))
            self._row({self._parts[job.id][0].start: 1 / job.run for job in jobs}, high=most)

    def _objective(self) -> tuple[Floats, float]:
        """Factors of the variables, and a constant."""
        costs, constant = np.zeros(len(self._low)), 0.0
        for job in self.problem.batch:
            last = self._parts[job.id][-1]
            costs[last.start] += 1 / job.run
            costs[last.length] += 1 / job.run
            constant -= job.submit / job.run
        return costs, constant
