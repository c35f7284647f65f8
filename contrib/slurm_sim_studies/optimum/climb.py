"""Good schedules without a solver: list schedules, improved by moving one entry at a time.

What a solver gets to begin with: a schedule that it has to beat. The random numbers are
seeded, and it ends after so many schedules, not after so much time: the same problem gives
the same schedule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from slurm_sim_studies.optimum.listing import Entries, ListScheduler
from slurm_sim_studies.optimum.problem import Problem
from slurm_sim_studies.optimum.schedule import Schedule

TRIES = 6000
"""Schedules to look at; half a second's worth for seven jobs."""
BEGINNINGS = 300
"""Orders to begin with, at most: a small problem has fewer schedules than tries."""
SLACK = 1e-9
"""Sums of fractions are not exact; so much above the bound is on it."""

Value = tuple[float, float]
"""By how much the real-time jobs' slowdowns exceed the bound in sum, and the batch jobs' sum; less is better."""


@dataclass(frozen=True)
class Found:
    """The best schedule that was found.

    Attributes:
        schedule: it.
        within_bound: whether the real-time jobs' mean slowdown keeps to the bound.
    """

    schedule: Schedule
    within_bound: bool


def climb(problem: Problem, *, tries: int = TRIES, seed: int = 0, orders: Iterable[Sequence[int]] = ()) -> Found:
    """Look for a good schedule.

    Args:
        problem: what to schedule.
        tries: how many schedules to look at.
        seed: of the orders to begin with, once the usual ones are used up, and of the order
            in which moves are tried.
        orders: job ids in orders to begin with before all others, such as those in which
            policies started the jobs.
    """
    climber = _Climber(problem, tries, seed)
    best: tuple[Value, Entries] | None = None
    for order in islice(_beginnings(problem, orders, climber.random), BEGINNINGS):
        if best is not None and climber.tried >= tries:
            break
        found = climber.up_from(climber.lists.entries(order))
        if best is None or found[0] < best[0]:
            best = found
    assert best is not None
    return Found(climber.lists.lay(best[1]).schedule(), best[0][0] == 0)


def _beginnings(
    problem: Problem, orders: Iterable[Sequence[int]], random: np.random.Generator
) -> Iterator[Sequence[int]]:
    """Orders of the jobs, by index in the problem: those given, the usual ones, then random ones without end."""
    jobs = problem.jobs
    index = {job.id: number for number, job in enumerate(jobs)}
    for order in orders:
        yield [index[job] for job in order]
    everyone = range(len(jobs))
    yield sorted(everyone, key=lambda job: (jobs[job].submit, jobs[job].id))
    yield sorted(everyone, key=lambda job: (jobs[job].run, jobs[job].id))
    yield sorted(everyone, key=lambda job: (not jobs[job].realtime, jobs[job].run, jobs[job].id))
    yield sorted(everyone, key=lambda job: (jobs[job].submit + jobs[job].run, jobs[job].id))
    while True:
        yield random.permutation(len(jobs)).tolist()


class _Climber:
    def __init__(self, problem: Problem, tries: int, seed: int) -> None:
        self.lists = ListScheduler(problem)
        self.random = np.random.default_rng(seed)
        self.tried = 0
        self._tries = tries
        self._jobs = problem.jobs
        self._most = float(problem.bound * len(problem.realtime)) + SLACK
        self._known: dict[tuple[int, ...], Value] = {}

    def up_from(self, entries: Entries) -> tuple[Value, Entries]:
        """Move entries as long as that makes the schedule better."""
        value = self._value(entries)
        while self.tried < self._tries:
            better = self._better(entries, value)
            if better is None:
                break
            value, entries = better
        return value, entries

    def _better(self, entries: Entries, value: Value) -> tuple[Value, Entries] | None:
        """The first schedule found that differs by one move and is better."""
        count = len(entries)
        for move in self.random.permutation(count * count).tolist():
            if self.tried >= self._tries:
                return None
            here, there = divmod(move, count)
            moved = _moved(entries, here, there)
            if moved is not None:
                other = self._value(moved)
                if other < value:
                    return other, moved
        return None

    def _value(self, entries: Entries) -> Value:
        key = tuple(entries)
        known = self._known.get(key)
        if known is None:
            self.tried += 1
            known = self._known[key] = self._measure(entries)
        return known

    def _measure(self, entries: Entries) -> Value:
        ends = self.lists.lay(entries).end
        batch = realtime = 0.0
        for job, end in zip(self._jobs, ends, strict=True):
            slowdown = (end - job.submit) / job.run
            if job.realtime:
                realtime += slowdown
            else:
                batch += slowdown
        excess = realtime - self._most
        return (excess if excess > 0 else 0.0), batch


def _moved(entries: Entries, here: int, there: int) -> Entries | None:
    """With one entry elsewhere; None if that changes nothing or puts a second part before its first."""
    if here == there:
        return None
    entry = entries[here]
    moved = entries[:here] + entries[here + 1 :]
    moved.insert(there, entry)
    between = entries[here + 1 : there + 1] if here < there else entries[there:here]
    return None if entry ^ 1 in between else moved
