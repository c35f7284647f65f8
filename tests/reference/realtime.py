"""Real-time jobs on a machine of blocks: the heuristic of the paper on Mira, slowly and in plain lists.

A block is a set of midplanes. Nothing is kept between two events but what waits, what runs where, how far
each job is, and where checkpoints are being written. Times are whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import fsum, log, log2

from slurm_sim_plugins.blocks import Blocks

from .cluster import Plans

Row = tuple[int, int, int, int, int, bool, bool]
"""(id, submit, processors, true run time, limit, real-time, may be requeued)"""
Piece = tuple[int, int, int, str]
"""(job, start, end, block) of one run."""


@dataclass(frozen=True)
class Rules:
    """The options that matter; thresholds are of narrow-short, narrow-long, wide-short, wide-long jobs."""

    policy: str = "weighted"
    cost: str = "weighted"
    meanwhile: str = "none"
    backfill: str = "reserve"
    order: str = "slowdown"
    factor: str = "unsaved"
    jit: int | None = None
    """Seconds in which a checkpoint is written, and read; None: what is preempted starts over."""
    late: tuple[Fraction, ...] = (Fraction(11, 10), Fraction(6, 5), Fraction(2), Fraction(3, 2))
    spared: tuple[float, ...] = (1.5, 1.25, 17.0, 4.0)
    narrow: int = 2
    short: int = 30
    fresh: int = 10
    soon: int = 10
    wfp: bool = False
    """Whether the queue is in the order of (time in it / planned time)^3 times processors, not of submission."""


@dataclass
class Job:
    id: int
    submit: int
    size: int
    run: int
    limit: int
    realtime: bool
    requeue: bool
    plans: tuple[float, float, float]
    done: int = 0
    back: int = 0


@dataclass
class Running:
    job: Job
    block: int
    start: int
    works: int
    """When it has read its checkpoint, if it has one, and is at work."""
    ends: int
    planned: float
    longest: float


class Realtime:
    """A machine, and the passes of its scheduler."""

    def __init__(self, rows: Sequence[Row], blocks: Blocks, rules: Rules, plans: Plans) -> None:
        self.blocks, self.rules = blocks, rules
        self.sets = [frozenset(n for n in range(len(blocks.midplanes)) if mask >> n & 1) for mask in blocks.masks]
        self.absent = [Job(*row, plans.get(row[0], (row[4],) * 3)) for row in rows]
        self.waiting: list[Job] = []
        self.runs: list[Running] = []
        self.writing: list[tuple[int, frozenset[int]]] = []
        self.pieces: list[Piece] = []
        self.now = 0

    def play(self) -> list[Piece]:
        wakes = set[int]()
        while self.absent or self.waiting or self.runs:
            times = [max(job.submit, job.back) for job in self.absent] + [run.ends for run in self.runs]
            self.now = min(times + [time for time in wakes if time > self.now and self.waiting])
            for run in [run for run in self.runs if run.ends == self.now]:
                self.leave(run)
            for job in [job for job in self.absent if max(job.submit, job.back) <= self.now]:
                self.absent.remove(job)
                self.waiting.append(job)
            self.one_pass()
            if self.rules.policy == "weighted":
                # A real-time job that has waited has a pass when it is late, also if it has started since.
                wakes |= {self.late_at(job) for job in self.waiting if job.realtime}
        return sorted(self.pieces)

    # The pass

    def one_pass(self) -> None:
        rules = self.rules
        urgent = [job for job in self.queue() if self.is_urgent(job)]
        if rules.policy == "weighted" and rules.order == "slowdown":
            urgent.sort(key=lambda job: (-(job.limit + self.now - job.submit) / job.limit, job.submit, job.id))
        if rules.policy == "high_priority":
            self.in_turn(urgent)
        else:
            for job in urgent:
                self.make_room(job)
        if not any(job in self.waiting for job in urgent):
            self.in_turn(self.queue())
        elif rules.meanwhile == "batch":
            self.in_turn([job for job in self.queue() if not job.realtime])

    def queue(self) -> list[Job]:
        return sorted(self.waiting, key=lambda job: (-self.score(job), job.submit, job.id))

    def score(self, job: Job) -> float:
        waited, planned = float(self.now - job.submit), float(self.length(job, job.plans[0]))
        return waited**3 / planned**3 * job.size if self.rules.wfp else 0.0

    def is_urgent(self, job: Job) -> bool:
        if self.rules.policy == "baseline" or not job.realtime:
            return False
        return self.rules.policy != "weighted" or self.late_at(job) <= self.now

    def late_at(self, job: Job) -> int:
        at = job.submit + (self.rules.late[self.category(job)] - 1) * job.limit
        assert at.denominator == 1, "choose limits for which this is whole"
        return int(at)

    def category(self, job: Job) -> int:
        return 2 * (job.size > self.rules.narrow) + (job.limit > self.rules.short)

    def in_turn(self, jobs: Iterable[Job]) -> None:
        shadow: tuple[float, int] | None = None
        for job in jobs:
            away = shadow[1] if shadow is not None and self.now + self.length(job, job.plans[1]) > shadow[0] else None
            free = [b for b in self.right_size(job) if not self.on(b) and (away is None or not self.clash(b, away))]
            if free:
                self.start(job, free[0])
            elif shadow is None and self.rules.backfill == "reserve":
                shadow = min((self.ready(b), b) for b in self.right_size(job))

    def ready(self, block: int) -> float:
        return max([self.planned_end(run) for run in self.on(block)], default=self.now)

    # Algorithm 2

    def make_room(self, job: Job) -> None:
        free = [b for b in self.right_size(job) if not self.on(b)]
        if not free:
            possible = [b for b in self.right_size(job) if all(self.may_go(run, job) for run in self.on(b))]
            if not possible:
                return
            best = min(possible, key=lambda b: (fsum(self.cost(run) for run in self.on(b)), b))
            for run in self.on(best):
                self.preempt(run)
            free = [best]
        self.start(job, free[0])

    def may_go(self, run: Running, preemptor: Job) -> bool:
        if run.job.realtime or not run.job.requeue:
            return False
        if self.blocks.sizes[run.block] > min(size for size in self.blocks.sizes if size >= preemptor.size):
            return False
        estimate = (self.planned_end(run) - run.job.submit) / run.job.limit
        return self.rules.cost == "processors" or estimate <= self.rules.spared[self.category(run.job)]

    def cost(self, run: Running) -> float:
        if self.rules.cost == "processors":
            return float(run.job.size)
        planned = self.planned_end(run)
        cost = run.job.size * log2(2 + (planned - run.job.submit) / run.job.limit)
        since = self.now - run.start
        lost = {"always": since, "never": 0, "unsaved": since if self.rules.jit is None else 0}[self.rules.factor]
        if lost > self.rules.fresh:
            cost *= 1 + log(lost / self.rules.fresh)
        return cost * 5 if planned - self.now <= min(run.job.limit / 4, self.rules.soon) else cost

    # Blocks

    def right_size(self, job: Job) -> list[int]:
        size = min(size for size in self.blocks.sizes if size >= job.size)
        return [b for b, own in enumerate(self.blocks.sizes) if own == size]

    def on(self, block: int) -> list[Running]:
        return [run for run in self.runs if self.clash(run.block, block)]

    def clash(self, one: int, other: int) -> bool:
        return bool(self.sets[one] & self.sets[other])

    # Runs

    def reading(self, job: Job) -> int:
        return self.rules.jit if self.rules.jit is not None and job.done else 0

    def length(self, job: Job, thought: float) -> float:
        """How long its next run lasts, if all its work takes so long."""
        return (max(1, thought - job.done) if job.done else thought) + self.reading(job)

    def planned_end(self, run: Running) -> float:
        """An expired plan gives way to the limit."""
        return run.planned if run.planned > self.now else run.longest

    def start(self, job: Job, block: int) -> None:
        self.waiting.remove(job)
        delay = max([until - self.now for until, where in self.writing if where & self.sets[block]] + [0])
        begins = self.now + delay
        works = begins + self.reading(job)
        planned, longest = (begins + self.length(job, thought) for thought in (job.plans[2], job.limit))
        self.runs.append(Running(job, block, self.now, works, works + job.run - job.done, planned, longest))

    def leave(self, run: Running) -> None:
        self.runs.remove(run)
        self.pieces.append((run.job.id, run.start, self.now, self.blocks.names[run.block]))

    def preempt(self, run: Running) -> None:
        self.leave(run)
        job = run.job
        did = max(0, self.now - run.works) if self.rules.jit is not None else 0
        job.done += did
        if not did or not self.rules.jit:
            self.waiting.append(job)
            return
        job.back = self.now + self.rules.jit
        self.writing.append((job.back, self.sets[run.block]))
        self.absent.append(job)


def realtime(rows: Sequence[Row], blocks: Blocks, rules: Rules, plans: Plans | None = None) -> list[Piece]:
    """All runs, sorted. ``plans`` has the jobs' planned times, where they are not their limits."""
    return Realtime(rows, blocks, rules, plans or {}).play()
