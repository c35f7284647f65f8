"""The offline optimum by trying everything: every start, every instant of preemption, every block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

from slurm_sim_studies.optimum.problem import Job, Problem

WIDTH = 12
"""Bits of a counter of processors, one for each second."""


class Choice(NamedTuple):
    """One way to run a job: what it is worth, and what it takes."""

    slowdown: Fraction
    used: int


def best(problem: Problem) -> Fraction | None:
    """The least sum of the batch jobs' slowdowns; None if the bound cannot be kept."""
    jobs = [*problem.realtime, *problem.batch]
    horizon = max(job.submit for job in jobs) + sum(job.run + 2 * (job.checkpoint or 0) for job in jobs)
    choices = [sorted(_choices(problem, job, horizon)) for job in jobs]
    budget = problem.bound * len(problem.realtime)
    least = list(accumulate((own[0].slowdown for own in reversed(choices)), initial=Fraction(0)))[::-1]
    search = _Search(problem, choices, least, len(problem.realtime), horizon)
    search.go(0, 0, Fraction(0), budget)
    return search.found


class _Search:
    def __init__(
        self,
        problem: Problem,
        choices: Sequence[Sequence[Choice]],
        least: Sequence[Fraction],
        realtime: int,
        horizon: int,
    ) -> None:
        self.choices, self.least, self.realtime = choices, least, realtime
        self.found: Fraction | None = None
        self._counted = isinstance(problem.machine, int)
        ones = sum(1 << WIDTH * second for second in range(horizon))
        self._room = ((1 << WIDTH - 1) - 1 - problem.capacity) * ones if self._counted else 0
        self._full = (1 << WIDTH - 1) * ones

    def go(self, number: int, used: int, cost: Fraction, budget: Fraction) -> None:
        if number == len(self.choices):
            self.found = cost
            return
        for choice in self.choices[number]:
            if number < self.realtime:
                if choice.slowdown > budget:
                    return
                spent, paid = choice.slowdown, Fraction(0)
            else:
                spent, paid = Fraction(0), choice.slowdown
                if self.found is not None and cost + paid + self.least[number + 1] >= self.found:
                    return
            if self._fits(used, choice.used):
                together = used + choice.used if self._counted else used | choice.used
                self.go(number + 1, together, cost + paid, budget - spent)

    def _fits(self, used: int, more: int) -> bool:
        if self._counted:
            return not (used + more + self._room) & self._full
        return not used & more


def _choices(problem: Problem, job: Job, horizon: int) -> Iterator[Choice]:
    for spans in _spans(problem, job, horizon):
        slowdown = Fraction(spans[-1][1] - job.submit, job.run)
        seconds = [second for start, end in spans for second in range(start, end)]
        if isinstance(problem.machine, int):
            yield Choice(slowdown, sum(job.size << WIDTH * second for second in seconds))
        else:
            width = len(problem.machine.midplanes)
            for block in problem.machine.blocks_for(job.size):
                mask = problem.machine.masks[block]
                yield Choice(slowdown, sum(mask << width * second for second in seconds))


def _spans(problem: Problem, job: Job, horizon: int) -> Iterator[list[tuple[int, int]]]:
    for start in range(job.submit, horizon - job.run + 1):
        yield [(start, start + job.run)]
    if job.realtime or job.checkpoint is None:
        return
    cost = job.checkpoint
    for work in range(1, job.run):
        if min(work, job.run - work) < problem.least_part * job.run:
            continue
        first, second = work + cost, job.run - work + cost
        for start in range(job.submit, horizon - first - second + 1):
            for again in range(start + first, horizon - second + 1):
                yield [(start, start + first), (again, again + second)]
