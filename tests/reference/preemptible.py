"""A machine from which jobs can be sent back to the queue, and what a run is worth then.

As ``cluster.py``, everything is recomputed from plain lists whenever it is asked for. A
job is so much work; a mode says how long a run for some of that work lasts on the
machine, and how much of it is kept when the run is cut short. Give times as integers or
fractions and every number is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from math import ceil, floor
from typing import Literal, NamedTuple, Protocol

from .cluster import JobRow, Passes, Plans

Expired = Literal["limit", "now", "tsafrir"]
Order = Literal["fcfs", "sjf"]

MINUTE, HOUR = 60, 3600
CORRECTIONS = [MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE] + [hours * HOUR for hours in (1, 2, 5, 10, 20, 50, 100)]
"""What is added to an expired plan, time after time."""


class Mode(Protocol):
    """What preemption does to a job's work."""

    def lasts(self, work: float, job: Job) -> float:
        """Seconds on the machine for so many seconds of work of a job, if it starts now."""

    def saved(self, elapsed: float, job: Job) -> float:
        """How much of its work is done for good, if its run is cut short after so many seconds."""


class Restart:
    """All is lost, and nothing has a price."""

    def lasts(self, work: float, job: Job) -> float:
        return work

    def saved(self, elapsed: float, job: Job) -> float:
        return 0


@dataclass(frozen=True)
class Checkpoint:
    """After each interval of work a checkpoint, which takes some time; none when the work is done."""

    interval: float
    cost: float
    restart_cost: float = 0

    def lasts(self, work: float, job: Job) -> float:
        return self._reading(job) + work + self._taken(work) * self.cost

    def saved(self, elapsed: float, job: Job) -> float:
        taken = 0
        while taken < self._taken(job.work_left):
            if self._reading(job) + (taken + 1) * (self.interval + self.cost) > elapsed:
                break
            taken += 1
        return job.saved + taken * self.interval

    def _reading(self, job: Job) -> float:
        return self.restart_cost if job.saved else 0

    def _taken(self, work: float) -> int:
        return max(0, ceil(work / self.interval) - 1)


@dataclass(frozen=True)
class Suspend:
    """Nothing is lost; all work goes slower, and a job that was suspended pays when it resumes.

    A run lasts whole microseconds, or is planned to; half of one counts as one.
    """

    slowdown: float
    cost: float

    def lasts(self, work: float, job: Job) -> float:
        microseconds = work * (1 + self.slowdown) * 1_000_000
        return self._resuming(job) + Fraction(floor(microseconds + Fraction(1, 2)), 1_000_000)

    def saved(self, elapsed: float, job: Job) -> float:
        return job.saved + max(0, elapsed - self._resuming(job)) / (1 + self.slowdown)

    def _resuming(self, job: Job) -> float:
        return self.cost if job.preemptions else 0


@dataclass(eq=False)
class Job:
    """A job, and what has become of its work.

    Attributes:
        given_up: whether a run proved that too short, and it is the limit for good.
        predicted: seconds of work that schedulers think it has, while it waits; at most the limit.
        others: the same for its place in the queue, and while it runs, where they are not the same.
        saved: seconds of its work that are done for good.
        preemptions: how often it was sent back to the queue.
    """

    id: int
    submit: float
    processors: int
    run: float
    limit: float
    predicted: float
    kill_at_limit: bool
    mode: Mode
    others: tuple[float, float] | None = None
    saved: float = 0
    preemptions: int = 0
    given_up: bool = False

    @property
    def queued(self) -> float:
        """By which its place in the queue is found, if shorter jobs go first."""
        return self.others[0] if self.others else self.predicted

    @property
    def work(self) -> float:
        return min(self.run, self.limit) if self.kill_at_limit else self.run

    @property
    def work_left(self) -> float:
        return self.work - self.saved

    @property
    def lasts(self) -> float:
        """How long its next run lasts if it is not cut short."""
        return self.mode.lasts(self.work_left, self)

    @property
    def planned(self) -> float:
        """How long schedulers think that its next run lasts, while it waits."""
        return self.mode.lasts(self._left_of(self.predicted), self)

    @property
    def planned_running(self) -> float:
        """How long they think so once it runs."""
        return self.mode.lasts(self._left_of(self.others[1] if self.others else self.predicted), self)

    @property
    def longest(self) -> float:
        """How long its next run can last by its limit."""
        return self.mode.lasts(self._left_of(self.limit), self)

    def _left_of(self, thought: float) -> float:
        return max(1, thought - self.saved) if self.saved else thought


class Stay(NamedTuple):
    """A run that is over."""

    start: float
    end: float
    outcome: str
    backfilled: bool


Stays = dict[int, list[Stay]]
"""All runs of each job, by id."""


@dataclass(eq=False)
class Running:
    """A job on the machine; ``end`` is when it will really end if it is not cut short."""

    job: Job
    start: float
    end: float
    planned: float
    longest: float
    backfilled: bool

    def planned_ends(self, expired: Expired) -> Iterator[float]:
        """When it is planned to end, and what takes the place of that once it has passed."""
        first, last = self.start + self.planned, self.start + self.longest
        yield first
        if expired == "tsafrir":
            yield from (min(first + added, last) for added in accumulate(CORRECTIONS))
        if expired != "now":
            yield last


@dataclass
class Cluster:
    """The machine and its queue at one instant.

    Attributes:
        running: in the order in which the jobs started.
        submitted: jobs that have arrived, in that order.
        ended: jobs that have left for good, in that order.
        stays: what each job has had of the machine.
        gives_up: whether a preempted job that outlived its prediction is planned with its limit.
    """

    processors: int
    expired: Expired
    order: Order
    now: float = 0
    waiting: list[Job] = field(default_factory=list)
    running: list[Running] = field(default_factory=list)
    submitted: list[Job] = field(default_factory=list)
    ended: list[Job] = field(default_factory=list)
    stays: Stays = field(default_factory=dict)
    gives_up: bool = False

    @property
    def idle(self) -> int:
        return self.processors - sum(run.job.processors for run in self.running)

    def rank(self, job: Job) -> tuple[float, ...]:
        """Lowest goes first, and never changes."""
        return (job.submit, job.id) if self.order == "fcfs" else (job.queued, job.submit, job.id)

    def submit(self, job: Job) -> None:
        self.submitted.append(job)
        self._queue(job)

    def start(self, job: Job, backfilled: bool = False) -> None:
        assert job.processors <= self.idle
        self.waiting.remove(job)
        self.running.append(Running(job, self.now, self.now + job.lasts, job.planned_running, job.longest, backfilled))

    def preempt(self, run: Running) -> None:
        job = run.job
        self.leave(run, "PREEMPTED")
        if self.gives_up and self.now >= run.start + run.planned:
            job.given_up, job.predicted = True, job.limit
        job.saved = job.mode.saved(self.now - run.start, job)
        job.preemptions += 1
        self._queue(job)

    def finish(self, run: Running) -> None:
        self.leave(run, outcome(run.job))
        self.ended.append(run.job)

    def leave(self, run: Running, outcome: str) -> None:
        self.running.remove(run)
        self.stays.setdefault(run.job.id, []).append(Stay(run.start, self.now, outcome, run.backfilled))

    def planned_end(self, run: Running) -> float:
        """The first of its planned ends that has not passed; now, if all have."""
        return next((end for end in run.planned_ends(self.expired) if end > self.now), self.now)

    def _queue(self, job: Job) -> None:
        self.waiting.append(job)
        self.waiting.sort(key=self.rank)


def outcome(job: Job) -> str:
    """How its last run ends."""
    return "TIMEOUT" if job.kill_at_limit and job.run > job.limit else "COMPLETED"


MakePass = Callable[[Cluster], None]
Predict = Callable[[Job, Cluster], float]
"""Seconds of work that schedulers are to think of, for a job that is being submitted."""


def given(predictions: Mapping[int, float] | None) -> Predict:
    """Predictions by id; the limit for who has none."""
    return lambda job, cluster: min((predictions or {}).get(job.id, job.limit), job.limit)


def simulate(
    jobs: Iterable[JobRow],
    processors: int,
    make_pass: MakePass,
    *,
    passes: Passes = "batch",
    kill_at_limit: bool = True,
    predict: Predict | None = None,
    refresh: bool = False,
    mode: Mode | None = None,
    expired: Expired = "limit",
    order: Order = "fcfs",
    gives_up: bool = False,
    plans: Plans | None = None,
) -> Stays:
    """Run all jobs, with ``make_pass`` to start and preempt them.

    Args:
        jobs: the jobs, none wider than the machine.
        processors: size of the machine.
        make_pass: one scheduling pass.
        passes: which order of events and passes.
        kill_at_limit: whether a job ends when it has done as much work as its limit says.
        predict: what schedulers are to think of a job; its limit if nothing is given.
        refresh: whether that is asked again before each pass, for all that wait.
        mode: what preemption does to a job's work; all is lost if nothing is given.
        expired: what takes the place of a planned end that has passed: the limit, now, or
            growing corrections up to the limit.
        order: of the queue: by (submit, id), or by (predicted, submit, id).
        gives_up: whether a preempted job that outlived its prediction is planned with its limit.
        plans: three predictions by id, instead of ``predict``.
    """
    mode, predict = mode or Restart(), predict or given({})
    to_come = [
        Job(id, submit, wanted, run, limit, limit, kill_at_limit, mode)
        for id, submit, wanted, run, limit in sorted(jobs, key=lambda row: (row[1], row[0]))
    ]
    cluster = Cluster(processors, expired, order, gives_up=gives_up)
    at_instant = {"batch": _batch, "event": _event}[passes]

    def arrive(job: Job) -> None:
        job.predicted = predict(job, cluster)
        if plans:
            queued, job.predicted, running = plans[job.id]
            job.others = queued, running
        cluster.submit(job)

    def scheduling_pass() -> None:
        for job in [job for job in cluster.waiting if refresh and not job.given_up]:
            job.predicted = predict(job, cluster)
        make_pass(cluster)

    while to_come or cluster.running:
        next_submission = to_come[0].submit if to_come else float("inf")
        cluster.now = min([next_submission] + [run.end for run in cluster.running])
        arriving = []
        while to_come and to_come[0].submit == cluster.now:
            arriving.append(to_come.pop(0))
        at_instant(cluster, arriving, arrive, scheduling_pass)
    assert not cluster.waiting
    return cluster.stays


def _batch(
    cluster: Cluster, arriving: list[Job], arrive: Callable[[Job], None], scheduling_pass: Callable[[], None]
) -> None:
    """Who has done its work, who is at its limit, and all that is submitted; then one pass."""
    ending = [run for run in cluster.running if run.end == cluster.now]
    for run in sorted(ending, key=lambda run: outcome(run.job) == "TIMEOUT"):
        cluster.finish(run)
    for job in arriving:
        arrive(job)
    scheduling_pass()


def _event(
    cluster: Cluster, arriving: list[Job], arrive: Callable[[Job], None], scheduling_pass: Callable[[], None]
) -> None:
    """Expiring limits give processors back; a pass after each submission; a pass after each end.

    Who could end now, but was preempted in one of the passes, does not end.
    """
    ending = [run for run in cluster.running if run.end == cluster.now]
    expiring = [run for run in ending if run.job.work == run.job.limit]
    for run in expiring:
        cluster.finish(run)
    for job in arriving:
        arrive(job)
        scheduling_pass()
    for run in ending:
        if run in cluster.running:
            cluster.finish(run)
        elif run not in expiring:
            continue
        scheduling_pass()
