"""The job table: what is true of each job, and what has happened to it."""

from __future__ import annotations

from array import array
from enum import IntEnum

from emulator.engine.clock import NEVER, instants
from emulator.workload.workload import Workload


class JobState(IntEnum):
    """States of a job, in Slurm's words; a rejected job is one that Slurm would not take in."""

    FUTURE = 0
    """Not yet submitted."""
    PENDING = 1
    RUNNING = 2
    COMPLETED = 3
    TIMEOUT = 4
    REJECTED = 5


LEGAL: dict[JobState, frozenset[JobState]] = {
    JobState.FUTURE: frozenset({JobState.PENDING, JobState.REJECTED}),
    JobState.PENDING: frozenset({JobState.RUNNING}),
    JobState.RUNNING: frozenset({JobState.COMPLETED, JobState.TIMEOUT, JobState.PENDING}),
    JobState.COMPLETED: frozenset(),
    JobState.TIMEOUT: frozenset(),
    JobState.REJECTED: frozenset(),
}
"""The states that may follow each state."""

FUTURE, PENDING, RUNNING, COMPLETED, TIMEOUT, REJECTED = map(int, JobState)

PastRun = tuple[int, int, int, bool]
"""A run that ended by preemption: job index, start, end (microseconds), backfilled."""


class JobTable:
    """One entry a job in each column, in the order of (submit, id).

    Plain lists where the engine reads, arrays where it writes: a list gives the quickest
    access to Python integers, an array holds them in eight bytes. Instants and durations
    are int microseconds; ``NEVER`` where nothing has happened.

    Attributes:
        ids, submit, processors, time_limit: as the workload has them (seconds as float).
        submit_at, work, limit: submission, true work and limit in microseconds.
        state: current :class:`JobState`.
        start, end: of the last run. ``first_start``: of the first.
        occupied: time on processors over the runs that are over.
        requeues: how often it was sent back.
        blocked: 1 if it was left at the head of the queue after some pass.
        backfilled: 1 if its last start went ahead of the head of the queue.
        reserved: the last reservation computed before the one before ran out (seconds; NaN if none).
        could_start: when it was first head of the queue and idle plus lower-priority
            processors sufficed.
        priority: at its last start. planned: seconds planned at submission.
        past_runs: runs that ended by preemption, in the order of their ends.
    """

    def __init__(self, workload: Workload) -> None:
        count = len(workload)
        self.ids: list[int] = workload.id.tolist()
        self.submit: list[float] = workload.submit.tolist()
        self.processors: list[int] = workload.processors.tolist()
        self.time_limit: list[float] = workload.time_limit.tolist()
        self.submit_at: list[int] = instants(workload.submit).tolist()
        self.work: list[int] = instants(workload.run).tolist()
        self.limit: list[int] = instants(workload.time_limit).tolist()
        self.state = bytearray(count)
        never = array("q", [NEVER])
        self.start = never * count
        self.end = never * count
        self.first_start = never * count
        self.could_start = never * count
        self.occupied = array("q", bytes(8 * count))
        self.requeues = array("l", bytes(array("l").itemsize * count))
        self.blocked = bytearray(count)
        self.backfilled = bytearray(count)
        self.reserved = array("d", [float("nan")]) * count
        self.priority = array("d", [float("nan")]) * count
        self.planned = array("d", workload.time_limit.tobytes())
        self.past_runs: list[PastRun] = []

    def __len__(self) -> int:
        return len(self.ids)
