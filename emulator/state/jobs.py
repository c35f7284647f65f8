"""The job table: what is true of each job, and what has happened to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.state.instants import NEVER, instants
from emulator.workload.workload import Workload
from slurm_sim_plugins.jobs import SITE_FACTOR, new_jobs


class JobState(IntEnum):
    """States of a job, in Slurm's words; a rejected job is one that Slurm would not take in."""

    FUTURE = 0
    """Not yet submitted."""
    PENDING = 1
    RUNNING = 2
    COMPLETED = 3
    TIMEOUT = 4
    REJECTED = 5
    REQUEUED = 6
    """Preempted, and its checkpoint is being written; then it is pending again."""
    CANCELLED = 7
    """Taken out of the queue."""


FUTURE, PENDING, RUNNING, COMPLETED, TIMEOUT, REJECTED, REQUEUED, CANCELLED = map(int, JobState)

PastRun = tuple[int, int, int, bool, int]
"""A run that ended by preemption: job index, start, end (microseconds), backfilled, work kept (microseconds)."""


class JobTable:
    """One entry a job in each column, in the order of (submit, id).

    Columns are plain lists, which Python reads and writes fastest. Instants and
    durations are int microseconds; ``NEVER`` where nothing has happened.

    Attributes:
        jobs: what plugins see of each job.
        submit_at: submission.
        work, limit: true work and limit, as arrays.
        state: current :class:`JobState`.
        start, end: of the last run.
        requeues: how often it was sent back.
        blocked: whether it was left at the head of the queue after some pass.
        backfilled: whether its last start went ahead of the head of the queue.
        planned: seconds of work that schedulers plan with, as answered last; the limit if no plugin said otherwise.
        reserved: the last reservation computed before the one before ran out (seconds; NaN if none).
        first_reserved: the first reservation (seconds; NaN if none).
        could_start: of a blocked job: when it was first head of the queue and idle plus
            lower-priority processors sufficed.
        past_runs: runs that ended by preemption, in the order of their ends.
        blocks: where the SelectType gives out blocks: of the last run, -1 if there was none;
            else None.
        past_blocks: the same of ``past_runs``.
        block_names: of all blocks.
        limits: seconds, of the jobs that were submitted with another limit than the workload's, by index.
        refused: why jobs were refused by job_submit plugins, by index.
    """

    def __init__(self, workload: Workload) -> None:
        count = len(workload)
        self.planned: list[float] = workload.time_limit.tolist()
        self.jobs = new_jobs(
            Facts(workload.facts),
            workload.id.tolist(),
            workload.submit.tolist(),
            workload.processors.tolist(),
            self.planned,
        )
        self.submit_at: list[int] = instants(workload.submit).tolist()
        self.work = instants(workload.run)
        self.limit = instants(workload.time_limit)
        self.state = [FUTURE] * count
        self.start = [NEVER] * count
        self.end = [NEVER] * count
        self.could_start = [NEVER] * count
        self.requeues = [0] * count
        self.blocked = [False] * count
        self.backfilled = [False] * count
        self.reserved = [float("nan")] * count
        self.first_reserved = self.reserved.copy()
        self.past_runs: list[PastRun] = []
        self.blocks: list[int] | None = None
        self.past_blocks: list[int] = []
        self.block_names: Sequence[str] = ()
        self.limits: dict[int, float] = {}
        self.refused: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self.jobs)

    def priorities(self) -> NDArray[np.float64]:
        """The number of each job that orders the queue."""
        return np.array([job.priority for job in self.jobs], dtype=np.float64)

    def site_factors(self) -> list[int]:
        """What a site adds to the priority of each job, which jobs show; 0 in the beginning."""
        column = [0] * len(self)
        if self.jobs:
            self.jobs[0]._facts[SITE_FACTOR] = column  # type: ignore[index]
        return column


class Facts(dict[str, list[Any] | None]):
    """The further columns of a workload, each made ready when it is first asked for.

    None stands for -1 in whole numbers, for NaN, and for a column that is not there.
    How a job ended in the log is not for plugins to know.
    """

    def __init__(self, columns: Mapping[str, NDArray[Any]]) -> None:
        super().__init__()
        self._columns = {name: column for name, column in columns.items() if name != "status"}

    def __missing__(self, name: str) -> list[Any] | None:
        self[name] = values = self._ready(name)
        return values

    def _ready(self, name: str) -> list[Any] | None:
        column = self._columns.get(name)
        if column is None:
            return None
        unknown = column == -1 if column.dtype.kind == "i" else column != column
        if unknown.any():
            column = column.astype(object)
            column[unknown] = None
        values: list[Any] = column.tolist()
        return values
