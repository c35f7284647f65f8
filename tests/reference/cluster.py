"""A machine, its queue, and the two usual orders in which things happen at one instant.

Everything is recomputed from plain lists whenever it is asked for. A job waits in the
order of (submit, id).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

JobRow = tuple[int, float, int, float, float]
"""(id, submit, processors, true run time, limit)."""
Passes = Literal["batch", "event"]
Schedule = dict[int, tuple[float, float]]
"""Start and end of each job, by id."""
Plans = Mapping[int, tuple[float, float, float]]
"""What schedulers think of each run time, by id: for the order of the queue, while the job waits, while it runs."""


@dataclass(frozen=True)
class Job:
    """A job; for how long schedulers think that it runs: ``queued`` for its place, ``planned`` while it waits."""

    id: int
    submit: float
    processors: int
    run: float
    limit: float
    queued: float
    planned: float
    planned_running: float


@dataclass(frozen=True)
class Running:
    """A job on the machine, and when it will really end."""

    job: Job
    start: float
    end: float


@dataclass
class Cluster:
    """The machine and its queue at one instant.

    Attributes:
        running: in the order in which the jobs started.
        started: in this pass, or in the last one.
        last_pass: when the last pass was made.
        replanned: whether, in it or since then, a job has given its processors back, or has
            started that is planned for another time than while it waited.
        held: what each job has had of the machine, for all that have started.
    """

    processors: int
    kill_at_limit: bool
    now: float = 0.0
    waiting: list[Job] = field(default_factory=list)
    running: list[Running] = field(default_factory=list)
    started: list[Job] = field(default_factory=list)
    last_pass: float = 0.0
    replanned: bool = False
    schedule: Schedule = field(default_factory=dict)

    @property
    def idle(self) -> int:
        return self.processors - sum(run.job.processors for run in self.running)

    def submit(self, job: Job) -> None:
        self.waiting.append(job)
        self.waiting.sort(key=lambda job: (job.submit, job.id))

    def start(self, job: Job) -> None:
        assert job.processors <= self.idle
        self.waiting.remove(job)
        lasts = min(job.run, job.limit) if self.kill_at_limit else job.run
        self.running.append(Running(job, self.now, self.now + lasts))
        self.schedule[job.id] = self.now, self.now + lasts
        self.started.append(job)

    def remove(self, run: Running) -> None:
        self.running.remove(run)
        self.replanned = True

    def planned_end(self, run: Running) -> float:
        """When it is planned to end; an expired plan gives way to the limit, an expired limit to now."""
        return self._planned_end_as_of(self.now, run)

    def overdue(self, run: Running) -> bool:
        """Whether it should have ended by now, as it was planned in the last pass."""
        return self._planned_end_as_of(self.last_pass, run) <= self.now

    @staticmethod
    def _planned_end_as_of(time: float, run: Running) -> float:
        for end in (run.start + run.job.planned_running, run.start + run.job.limit):
            if end > time:
                return end
        return time


MakePass = Callable[[Cluster], None]


def simulate(
    jobs: Iterable[JobRow],
    processors: int,
    make_pass: MakePass,
    *,
    passes: Passes = "batch",
    kill_at_limit: bool = True,
    predictions: Mapping[int, float] | None = None,
    plans: Plans | None = None,
) -> Schedule:
    """Run all jobs, with ``make_pass`` to start them.

    Args:
        jobs: the jobs, none wider than the machine.
        processors: size of the machine.
        make_pass: one scheduling pass.
        passes: which order of events and passes.
        kill_at_limit: whether a job ends at its limit.
        predictions: planned seconds by id, where they are not the limit; at most the limit.
        plans: the three planned times by id, where they are not the same.
    """
    known = {id: (seconds,) * 3 for id, seconds in (predictions or {}).items()} | dict(plans or {})
    to_come = [
        Job(id, submit, wanted, run, limit, *(min(seconds, limit) for seconds in known.get(id, (limit,) * 3)))
        for id, submit, wanted, run, limit in sorted(jobs, key=lambda row: (row[1], row[0]))
    ]
    cluster = Cluster(processors, kill_at_limit)
    at_instant = {"batch": _batch, "event": _event}[passes]

    def scheduling_pass() -> None:
        cluster.started.clear()
        make_pass(cluster)
        cluster.last_pass = cluster.now
        cluster.replanned = any(job.planned != job.planned_running for job in cluster.started)

    while to_come or cluster.running:
        next_submission = to_come[0].submit if to_come else float("inf")
        cluster.now = min([next_submission] + [run.end for run in cluster.running])
        arriving = []
        while to_come and to_come[0].submit == cluster.now:
            arriving.append(to_come.pop(0))
        at_instant(cluster, arriving, scheduling_pass)
    assert not cluster.waiting
    return cluster.schedule


def _batch(cluster: Cluster, arriving: list[Job], scheduling_pass: Callable[[], None]) -> None:
    """All that ends, then all that is submitted, then one pass."""
    for run in _ending(cluster):
        cluster.remove(run)
    for job in arriving:
        cluster.submit(job)
    scheduling_pass()


def _event(cluster: Cluster, arriving: list[Job], scheduling_pass: Callable[[], None]) -> None:
    """Expiring limits give processors back; a pass after each submission; a pass after each end."""
    ending = _ending(cluster)
    for run in ending:
        if run.start + run.job.limit == cluster.now:
            cluster.remove(run)
    for job in arriving:
        cluster.submit(job)
        scheduling_pass()
    for run in ending:
        if run in cluster.running:
            cluster.remove(run)
        scheduling_pass()


def _ending(cluster: Cluster) -> list[Running]:
    """What ends now, in the order in which it started."""
    return [run for run in cluster.running if run.end == cluster.now]
