"""KEASY, REASY and MEASY, with a list of processors and exact numbers.

Written from the description of the algorithms alone. Everything is recomputed whenever it
is asked for; times are fractions of microseconds; ends, and the time that is planned, are whole ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor
from typing import Literal

from .cluster import Plans

Deploy = Literal["kill", "reserve", "migrate"]
Row = tuple[int, float, int, float, float, float]
"""(id, submit, processors, true run time, estimate, CPU use)."""
SECOND = 1_000_000
NEVER = Fraction(10**30)


@dataclass(frozen=True)
class Rules:
    """How to read the description.

    Attributes:
        steps: (time, rate) behind a busy process that uses less than the threshold, from that time on.
        known: whether the scheduler knows what processes use.
        test: whether it assumes, if it does not, that they use everything.
    """

    deploy: Deploy
    cost: float = 20
    count_cost: bool = False
    remaining: bool = False
    known: bool = True
    test: bool = False
    threshold: float = 0.96
    loss: float = 0
    always: bool = False
    steps: tuple[tuple[float, float], ...] = ((0, 0.5),)


@dataclass(eq=False)
class Job:
    id: int
    submit: Fraction
    n: int
    work: Fraction
    est: Fraction
    use: float
    waiting: Fraction
    running: Fraction
    tier: str = ""
    where: list[int] = field(default_factory=list)
    done: Fraction = Fraction(0)
    came: Fraction = Fraction(0)
    planned_end: Fraction = Fraction(0)
    stalled: Fraction = Fraction(0)
    kills: int = 0
    migrations: int = 0
    finish: Fraction = Fraction(-1)

    @property
    def rank(self) -> tuple[Fraction, int]:
        return self.submit, self.id


class Machine:
    """The processors, and all jobs that have come and are not over."""

    def __init__(self, processors: int, rules: Rules) -> None:
        self.rules = rules
        self.now = Fraction(0)
        self.fg: list[Job | None] = [None] * processors
        self.bg: list[Job | None] = [None] * processors
        self.jobs: list[Job] = []

    # Progress

    def rate(self, job: Job) -> Fraction:
        if self.now < job.stalled:
            return Fraction(0)
        if job.tier == "fg":
            disturbed = self.rules.always or any(self.bg[p] is not None for p in job.where)
            return Fraction(1 - self.rules.loss) if disturbed else Fraction(1)
        return min(self.behind(self.fg[p]) for p in job.where)

    def behind(self, front: Job | None) -> Fraction:
        if front is None:
            return Fraction(1)
        if front.use >= self.rules.threshold:
            return Fraction(0)
        return Fraction([rate for time, rate in self.rules.steps if time * SECOND <= self.now][-1])

    def end(self, job: Job) -> Fraction:
        """When it will be done if nothing changes, rounded."""
        begin = max(self.now, job.stalled)
        left = job.work - job.done
        if left <= 0:
            return begin
        before, self.now = self.now, begin
        rate = self.rate(job)
        self.now = before
        return Fraction(floor(begin + left / rate + Fraction(1, 2))) if rate else NEVER

    def let_pass(self, until: Fraction) -> None:
        for job in self.running():
            begin = max(self.now, job.stalled)
            if until > begin:
                before, self.now = self.now, begin
                job.done += (until - begin) * self.rate(job)
                self.now = before
        self.now = until

    def running(self, tier: str = "") -> list[Job]:
        return [job for job in self.jobs if job.tier and tier in ("", job.tier)]

    def waiting(self) -> list[Job]:
        return [job for job in self.jobs if not job.tier]

    # Places

    def idle(self) -> list[int]:
        return [p for p, job in enumerate(self.fg) if job is None]

    def put(self, job: Job, tier: str, where: Iterable[int]) -> None:
        self.remove(job)
        job.tier, job.where = tier, list(where)
        tiers = self.fg if tier == "fg" else self.bg
        for p in job.where:
            assert tiers[p] is None
            tiers[p] = job

    def remove(self, job: Job) -> None:
        for tier in (self.fg, self.bg):
            for p in job.where:
                if tier[p] is job:
                    tier[p] = None
        job.tier, job.where = "", []

    # The algorithms

    def place(self, job: Job, among: list[int]) -> list[int] | None:
        """Where in the foreground it can be deployed, or None."""
        if job.tier == "bg":
            if set(job.where) <= set(among):
                return job.where
            if self.rules.deploy == "reserve":
                return None
        return sorted(among)[-job.n :] if len(among) >= job.n else None

    def length(self, job: Job, where: list[int]) -> Fraction:
        rules = self.rules
        swap = where == job.where
        if not job.tier or (rules.deploy == "kill" and not swap):
            return job.waiting
        length = max(Fraction(SECOND), job.running - round(job.done)) if rules.remaining else job.running
        return length + (rules.cost * SECOND if rules.count_cost and not swap else 0)

    def expected_end(self, job: Job) -> Fraction:
        """As planned; who outlives that is planned with its whole estimate, and who outlives that ends now."""
        return job.planned_end if job.planned_end > self.now else max(self.now, job.came + job.est)

    def deploy(self, job: Job, where: list[int]) -> None:
        moves = job.tier == "bg" and where != job.where
        begins = not job.tier or (moves and self.rules.deploy == "kill")
        length = job.running if begins else self.length(job, where)
        if moves and self.rules.deploy == "kill":
            job.done = Fraction(0)
            job.kills += 1
        elif moves:
            job.stalled = self.now + Fraction(str(self.rules.cost)) * SECOND
            job.migrations += 1
        self.put(job, "fg", where)
        job.came, job.planned_end = self.now, self.now + length

    def candidates(self) -> list[Job]:
        return sorted(self.waiting() + self.running("bg"), key=lambda job: job.rank)

    def foreground(self) -> None:
        while True:
            queue = self.candidates()
            if not queue:
                return
            where = self.place(queue[0], self.idle())
            if where is None:
                break
            self.deploy(queue[0], where)
        head, *others = queue
        ends = {job: self.expected_end(job) for job in self.running("fg")}
        own = None
        extra = 0
        if head.tier == "bg" and self.rules.deploy == "reserve":
            own = set(head.where)
            shadow = max([end for job, end in ends.items() if own & set(job.where)], default=self.now)
        else:
            shadow, extra = self.reservation(head, ends)
        for job in others:
            where = self.place(job, self.idle())
            if where is None:
                continue
            if self.now + self.length(job, where) <= shadow:
                self.deploy(job, where)
            elif own is not None:
                where = self.place(job, [p for p in self.idle() if p not in own])
                if where is not None:
                    self.deploy(job, where)
            elif job.n <= extra:
                extra -= job.n
                self.deploy(job, where)

    def reservation(self, head: Job, ends: dict[Job, Fraction]) -> tuple[Fraction, int]:
        for time in sorted({self.now, *ends.values()}):
            free = len(self.idle()) + sum(job.n for job, end in ends.items() if end <= time)
            if free >= head.n:
                return time, free - head.n
        raise AssertionError("it fits on the empty machine")

    def background(self) -> None:
        for job in sorted(self.waiting(), key=lambda job: (job.waiting, job.rank)):
            open_to: list[tuple[float, int]] = []
            for p, front in enumerate(self.fg):
                use = self.seems_to_use(front)
                if self.bg[p] is None and use is not None:
                    open_to.append((use, -p))
            if len(open_to) >= job.n:
                self.put(job, "bg", [-p for _, p in sorted(open_to)[: job.n]])
                job.where.sort()

    def seems_to_use(self, front: Job | None) -> float | None:
        """What stands before the background of a processor, or None if that keeps everybody out."""
        if front is None:
            return 0.0
        if not self.rules.known:
            return None if self.rules.test else 1.0
        return front.use if front.use < self.rules.threshold else None


def microseconds(seconds: float) -> Fraction:
    return Fraction(str(seconds)) * SECOND


def two_tier(rows: Iterable[Row], processors: int, rules: Rules, plans: Plans | None = None) -> list[Job]:
    """Run all jobs; none is wider than the machine. ``plans`` has their planned times, where they are not estimates."""
    to_come = []
    for id, submit, n, run, est, use in rows:
        _, waiting, running = (plans or {}).get(id, (est, est, est))
        times = [microseconds(time) for time in (min(run, est), est, waiting, running)]
        to_come.append(Job(id, microseconds(submit), n, *times[:2], use, *times[2:]))
    to_come.sort(key=lambda job: job.rank)
    machine = Machine(processors, rules)
    over: list[Job] = []
    changes = [Fraction(time) * SECOND for time, _ in rules.steps]
    while to_come or machine.jobs:
        ends = {job: machine.end(job) for job in machine.running()}
        later = [time for time in changes if time > machine.now]
        time = min([*ends.values(), *(job.submit for job in to_come[:1]), *later])
        assert time < NEVER
        machine.let_pass(time)
        left = set()
        for job in [job for job, end in ends.items() if end == time]:
            left.add(job.tier)
            job.finish = time
            machine.remove(job)
            machine.jobs.remove(job)
            over.append(job)
        arrived = [job for job in to_come if job.submit == time]
        to_come = to_come[len(arrived) :]
        machine.jobs += arrived
        if arrived or "fg" in left:
            machine.foreground()
        if arrived or left:
            machine.background()
    return over
