"""The offline optimum second by second: at each, every job there goes on, starts, stops or waits.

It rests on no argument about when jobs start or stop. What has been looked at once is not looked at
again by a way that came there at no lower cost.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from slurm_sim_studies.optimum.problem import Job, Problem

WAITING, FIRST, STOPPED, SECOND, DONE = range(5)


class Now(NamedTuple):
    """One job: what it does, its seconds in the first part or left of the second, and what it takes."""

    phase: int
    seconds: int
    takes: int


State = tuple[Now, ...]


def better(problem: Problem, limit: Fraction | None = None) -> Fraction | None:
    """The least sum of the batch jobs' slowdowns below a limit; None if there is none."""
    search = _Search(problem, limit)
    first = min(job.submit for job in problem.jobs)
    search.go(first, (Now(WAITING, 0, 0),) * len(problem.jobs), 0, 0)
    return search.found


class _Search:
    def __init__(self, problem: Problem, limit: Fraction | None) -> None:
        self.jobs = problem.jobs
        lengths = sum(job.run + 2 * (job.checkpoint or 0) for job in self.jobs)
        self.horizon = max(job.submit for job in self.jobs) + lengths
        self.scale = math.lcm(*(job.run for job in self.jobs))
        self.weight = [self.scale // job.run for job in self.jobs]
        self.below = math.ceil(limit * self.scale) if limit is not None else math.inf
        self.budget = math.floor(problem.bound * len(problem.realtime) * self.scale)
        self.problem = problem
        self.found: Fraction | None = None
        self.seen: dict[tuple[int, State], list[tuple[int, int]]] = {}
        machine = problem.machine
        if isinstance(machine, int):
            self.places = [(job.size,) for job in self.jobs]
        else:
            self.places = [tuple(machine.takes[block] for block in machine.blocks_for(job.size)) for job in self.jobs]

    def go(self, now: int, state: State, cost: int, spent: int) -> None:
        if not self._hopeful(now, state, cost, spent) or self._known(now, state, cost, spent):
            return
        if all(each.phase == DONE for each in state):
            self.below, self.found = cost, Fraction(cost, self.scale)
            return
        for chosen in self._choices(now, state, 0, 0, ()):
            after = tuple(_a_second_later(job, each) for job, each in zip(self.jobs, chosen, strict=True))
            slowdowns = [0, 0]
            for place, (each, later) in enumerate(zip(chosen, after, strict=True)):
                if later.phase == DONE != each.phase:
                    job = self.jobs[place]
                    slowdowns[job.realtime] += (now + 1 - job.submit) * self.weight[place]
            self.go(now + 1, after, cost + slowdowns[0], spent + slowdowns[1])

    def _hopeful(self, now: int, state: State, cost: int, spent: int) -> bool:
        slowdowns = [cost, spent]
        for place, each in enumerate(state):
            if each.phase != DONE:
                job = self.jobs[place]
                end = max(now, job.submit) + _left(job, each)
                if end > self.horizon:
                    return False
                slowdowns[job.realtime] += (end - job.submit) * self.weight[place]
        return slowdowns[0] < self.below and slowdowns[1] <= self.budget

    def _known(self, now: int, state: State, cost: int, spent: int) -> bool:
        ways = self.seen.setdefault((now, state), [])
        if any(paid <= cost and used <= spent for paid, used in ways):
            return True
        ways[:] = [way for way in ways if not (cost <= way[0] and spent <= way[1])]
        ways.append((cost, spent))
        return False

    def _choices(self, now: int, state: State, place: int, used: int, chosen: State) -> Iterator[State]:
        if place == len(state):
            yield chosen
            return
        for each in self._ways(now, place, state[place]):
            taken = used
            if each.phase in (FIRST, SECOND):
                if isinstance(self.problem.machine, int):
                    taken = used + each.takes
                    fits = taken <= self.problem.machine
                else:
                    taken = used | each.takes
                    fits = not used & each.takes
                if not fits:
                    continue
            yield from self._choices(now, state, place + 1, taken, (*chosen, each))

    def _ways(self, now: int, place: int, each: Now) -> Iterator[Now]:
        job = self.jobs[place]
        if each.phase == WAITING and job.submit <= now:
            yield from (Now(FIRST, 0, takes) for takes in self.places[place])
        if each.phase == STOPPED:
            yield Now(SECOND, each.seconds, each.takes)
        yield each
        if each.phase == FIRST and not job.realtime and job.checkpoint is not None:
            work = each.seconds - job.checkpoint
            if min(work, job.run - work) >= max(self.problem.least_part * job.run, 1):
                left = job.run - work + job.checkpoint
                yield Now(STOPPED, left, each.takes)
                yield Now(SECOND, left, each.takes)


def _left(job: Job, each: Now) -> int:
    if each.phase == WAITING:
        return job.run
    return job.run - each.seconds if each.phase == FIRST else each.seconds


def _a_second_later(job: Job, each: Now) -> Now:
    if each.phase not in (FIRST, SECOND):
        return each
    after = each._replace(seconds=each.seconds + (1 if each.phase == FIRST else -1))
    return after if _left(job, after) else Now(DONE, 0, 0)
