"""The best that the real-time jobs can have: below it no bound can be kept.

Batch jobs can always wait until all real-time jobs are over, so that these alone decide.
All orders are tried in which they can start, each job as soon as there is room after those
before it; one of these is the best, as no job gains by starting later.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from slurm_sim_studies.optimum.problem import Job, Problem
from slurm_sim_studies.optimum.schedule import Part, Schedule, Stay, realtime_slowdown

MOST = 8
"""Real-time jobs of which all orders are tried: 8 have 40,320, each with a choice of blocks."""

Started = tuple[tuple[Job, int, int | None], ...]
"""Jobs that have been started, when, and on which block."""


def best_alone(problem: Problem) -> Schedule:
    """Where and when the real-time jobs run if their mean slowdown is to be the least."""
    jobs = problem.realtime
    search = _Search(problem)
    search.go_on(jobs, (), min((job.submit for job in jobs), default=0), Fraction(0))
    return {job.id: Stay((Part(start, start + job.run),), block) for job, start, block in search.best}


def least_mean(problem: Problem) -> Fraction:
    """The least mean slowdown of the real-time jobs; 1 without any."""
    return realtime_slowdown(problem, best_alone(problem)) or Fraction(1)


def with_batch_after(problem: Problem, alone: Schedule) -> Schedule:
    """A schedule that keeps whatever the real-time jobs' schedule keeps: batch jobs follow one by one."""
    found = dict(alone)
    now = max((stay.end for stay in alone.values()), default=0)
    for job in sorted(problem.batch, key=lambda job: (job.run, job.submit, job.id)):
        start = max(now, job.submit)
        now = start + job.run
        found[job.id] = Stay((Part(start, now),), next(iter(problem.blocks_for(job)), None))
    return found


class _Search:
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.best: Started = ()
        self._least: Fraction | None = None

    def go_on(self, waiting: tuple[Job, ...], started: Started, now: int, total: Fraction) -> None:
        """Start the waiting jobs in all orders, none before ``now``; slowdowns so far add up to ``total``."""
        if self._least is not None and total + len(waiting) >= self._least:
            return
        if not waiting:
            self._least, self.best = total, started
            return
        for job in waiting:
            rest = tuple(other for other in waiting if other is not job)
            for start, block in self._starts(job, started, max(now, job.submit)):
                slowdown = Fraction(start + job.run - job.submit, job.run)
                self.go_on(rest, (*started, (job, start, block)), start, total + slowdown)

    def _starts(self, job: Job, started: Started, ready: int) -> Iterator[tuple[int, int | None]]:
        """When the job can start: once, or on each block."""
        problem = self.problem
        if isinstance(problem.machine, int):
            yield self._room(job, problem.machine, started, ready), None
            return
        for block in problem.blocks_for(job):
            in_the_way = [
                start + other.run
                for other, start, its in started
                if its is not None and problem.machine.overlap(its, block)
            ]
            yield max([ready, *in_the_way]), block

    def _room(self, job: Job, processors: int, started: Started, ready: int) -> int:
        ends = [(start + other.run, other.size) for other, start, _ in started]
        for instant in sorted({ready, *(end for end, _ in ends if end > ready)}):
            if sum(size for end, size in ends if end > instant) + job.size <= processors:
                return instant
        raise AssertionError("a job that is no wider than the machine fits once all others are over")
