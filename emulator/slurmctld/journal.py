"""Keeps of a run in Slurm's timing what its records do not have, for those who look at it later.

Which job waited for what, with which priority, and when it was planned to start: a row for
each change.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from emulator.accounting.records import Columns
from emulator.slurmctld.controller import Controller
from emulator.slurmctld.job import Job, State

WAIT_COLUMNS: dict[str, str] = {
    "job_id": "the job's id",
    "time": "seconds, from when on this holds",
    "state": "PENDING while it waits; the last state of one that left the queue without a run",
    "reason": "why it waits, in Slurm's words",
    "priority": "its priority",
    "planned_start": "when it is planned to start, to the minute; null if that is not known",
}
"""What the columns of ``waits.parquet`` mean; rows are in the order of (time, job_id) of their making."""

MINUTE = 60.0
"""Seconds by which a planned start must move to be noted: plans change with every pass."""

Seen = tuple[str, int, float | None]


@dataclass
class Journal:
    """Notes the changes of waiting jobs; call it after every event.

    Attributes:
        controller: whose jobs.
        rows: (job, second, state, reason, priority, planned start).
    """

    controller: Controller
    rows: list[tuple[int, float, str, str, int, float | None]] = field(default_factory=list)
    _last: dict[int, Seen] = field(default_factory=dict)

    def __call__(self) -> None:
        """Note what has changed."""
        cluster, last = self.controller.cluster, self._last
        for number, job in cluster.waiting.items():
            seen = last.get(number)
            reason, priority, planned = job.reason, job.priority, job.planned_start
            if seen is not None and seen[0] == reason and seen[1] == priority and not _moved(seen[2], planned):
                continue
            last[number] = (reason, priority, planned)
            self.rows.append((number, cluster.now, State.PENDING.value, reason, priority, planned))
        if len(last) > len(cluster.waiting):
            self._forget(cluster.jobs, cluster.now)

    def _forget(self, jobs: dict[int, Job], now: float) -> None:
        """Jobs that wait no longer: a run tells what became of most of them."""
        waiting = self.controller.cluster.waiting
        for number in [number for number in self._last if number not in waiting]:
            reason, priority, _ = self._last.pop(number)
            job = jobs[number]
            if job.over and not job.runs:
                self.rows.append((number, now, job.state.value, reason, priority, None))

    def columns(self) -> Columns:
        """The rows as columns."""
        rows: list[tuple[Any, ...]] = list(self.rows)
        fields = list(zip(*rows, strict=True)) if rows else [()] * len(WAIT_COLUMNS)
        kinds = (np.int64, np.float64, object, object, np.int64, np.float64)
        return {
            name: np.array([np.nan if value is None else value for value in values], dtype=kind)
            for name, values, kind in zip(WAIT_COLUMNS, fields, kinds, strict=True)
        }


def _moved(before: float | None, planned: float | None) -> bool:
    """Whether a planned start has changed enough to be noted."""
    if before is planned:
        return False
    return before is None or planned is None or abs(before - planned) >= MINUTE
