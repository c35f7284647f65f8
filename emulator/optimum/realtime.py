"""The least mean slowdown that the real-time jobs can have: below it no bound can be kept.

Batch jobs can always wait until all real-time jobs are over, so that these alone decide.
All orders are tried in which they can start, each job as soon as there is room after those
before it; one of these is the best, as no job gains by starting later.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from emulator.optimum.problem import Job, Problem

MOST = 8
"""Real-time jobs of which all orders are tried: 8 have 40,320, each with a choice of blocks."""

Running = tuple[tuple[int, int], ...]
"""End, and size or set of what is taken, of each job that has been started."""


def least_mean(problem: Problem) -> Fraction:
    """The least mean slowdown of the real-time jobs; 1 without any."""
    jobs = problem.realtime
    if not jobs:
        return Fraction(1)
    search = _Search(problem)
    search.go_on(jobs, (), min(job.submit for job in jobs), Fraction(0))
    assert search.best is not None
    return search.best / len(jobs)


class _Search:
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.best: Fraction | None = None

    def go_on(self, waiting: tuple[Job, ...], running: Running, now: int, total: Fraction) -> None:
        """Start the waiting jobs in all orders, none before ``now``; slowdowns so far add up to ``total``."""
        if self.best is not None and total + len(waiting) >= self.best:
            return
        if not waiting:
            self.best = total
            return
        for job in waiting:
            rest = tuple(other for other in waiting if other is not job)
            for start, taken in self._starts(job, running, max(now, job.submit)):
                end = start + job.run
                still = tuple(other for other in running if other[0] > start)
                self.go_on(rest, (*still, (end, taken)), start, total + Fraction(end - job.submit, job.run))

    def _starts(self, job: Job, running: Running, ready: int) -> Iterator[tuple[int, int]]:
        """When the job can start, and what it takes: one for each block."""
        if isinstance(self.problem.machine, int):
            yield self._room(job, self.problem.machine, running, ready), job.size
            return
        for block in self.problem.places(job):
            taken = self.problem.takes(block)
            yield max([ready, *(end for end, other in running if other & taken)]), taken

    def _room(self, job: Job, processors: int, running: Running, ready: int) -> int:
        for instant in sorted({ready, *(end for end, _ in running if end > ready)}):
            if sum(size for end, size in running if end > instant) + job.size <= processors:
                return instant
        raise AssertionError("a job that is no wider than the machine fits once all others are over")
