"""What checkpoints and preemption cost, and which jobs: the equations of the paper on real-time jobs on Mira.

Source: section 4.2, equations 1 to 20. Worked out from the run records and the options of
preemption; checkpoints that were written count, as they were.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from emulator.execution.checkpoint import spread_over_limit
from emulator.metrics.jobs import Floats, column

if TYPE_CHECKING:
    from emulator.accounting.records import Records
    from emulator.config.preemption import Preemption

HOUR = 3600.0
SECOND = 1_000_000
"""Microseconds."""


@dataclass(frozen=True)
class Overheads:
    """What preemption made of each job, in seconds.

    Attributes:
        checkpoint: spent on writing checkpoints: t_ckpt of the paper.
        preemption: spent on reading them, and on work that was lost: t_pre.
        booked: to whom writing is charged: ``job`` where jobs checkpoint themselves
            (``share``, APP-CKPT), else ``system``.
        processors: of each job.
    """

    checkpoint: Floats
    preemption: Floats
    booked: str
    processors: Floats

    def processor_hours(self) -> dict[str, float]:
        """What the system loses to checkpoints and to preemption, and what jobs are charged, in processor-hours."""
        writing = float(np.sum(self.checkpoint * self.processors)) / HOUR
        system = writing if self.booked == "system" else 0.0
        lost = float(np.sum(self.preemption * self.processors)) / HOUR
        return {"system:checkpoint": system, "system:preemption": lost, "job:checkpoint": writing - system}


def overheads(records: Records, preemption: Preemption) -> Overheads:
    """What checkpoints and preemption cost each job.

    Without checkpoints it is the runs that were aborted; with suspension what its runs took
    beyond their work.

    Args:
        records: what happened; every job ended.
        preemption: as it was simulated.
    """
    jobs = column(records, "job_id")
    row_of = {job: index for index, job in enumerate(jobs.tolist())}
    sizes = column(records, "processors")
    write = np.array([preemption.write_cost(int(size)) for size in sizes])
    read = np.array([preemption.read_cost(int(size)) for size in sizes])
    counts = _counts(records, preemption, write, row_of)
    writing, lost, saved = np.zeros(len(jobs)), np.zeros(len(jobs)), np.zeros(len(jobs))
    names = ("job_id", "start", "end", "work", "outcome")
    rows = zip(*(records.runs[name].tolist() for name in names), counts, strict=True)
    for job, start, end, work, outcome, count in rows:
        index, length, aborted = row_of[job], end - start, outcome == "PREEMPTED"
        reading = min(read[index], length) if saved[index] and preemption.mode == "CHECKPOINT" else 0.0
        writing[index] += count * write[index]
        inside = count * write[index] if preemption.checkpoint != "jit" else 0.0
        wasted = length - work - inside - reading if aborted or preemption.mode == "SUSPEND" else 0.0
        # A run that waited on its processors for another's checkpoint lost no work by that.
        lost[index] += reading + (0.0 if _keeps_all(preemption) else wasted)
        saved[index] += work
    booked = "job" if preemption.mode == "CHECKPOINT" and preemption.checkpoint == "share" else "system"
    return Overheads(writing, np.maximum(np.round(lost, 6), 0.0), booked, sizes)


def _keeps_all(preemption: Preemption) -> bool:
    return preemption.mode == "CHECKPOINT" and preemption.checkpoint == "jit"


def _counts(records: Records, preemption: Preemption, write: Floats, row_of: dict[int, int]) -> list[int]:
    """How many checkpoints each run wrote: as recorded in Slurm's timing, else as it must have been."""
    if "checkpoints" in records.runs:
        return [int(count) for count in records.runs["checkpoints"]]
    interval = _intervals(records, preemption, write)
    names = ("job_id", "work", "outcome")
    return [
        _written(preemption, work, interval[row_of[job]], outcome == "PREEMPTED")
        for job, work, outcome in zip(*(records.runs[name].tolist() for name in names), strict=True)
    ]


def _written(preemption: Preemption, work: float, interval: float, aborted: bool) -> int:
    """How many checkpoints a run wrote, that kept ``work`` or came to its end."""
    if preemption.mode != "CHECKPOINT" or not work:
        return 0
    if preemption.checkpoint == "jit":
        return int(aborted)
    pieces = work / interval
    return round(pieces) if aborted else max(0, int(np.ceil(pieces)) - 1)


def _intervals(records: Records, preemption: Preemption, write: Floats) -> Floats:
    """Seconds of progress between two checkpoints, by job."""
    if preemption.checkpoint != "share":
        return _never_for_realtime(records, np.full(len(write), preemption.interval))
    limit = np.rint(column(records, "time_limit") * SECOND).astype(np.int64).tolist()
    costs = np.rint(write * SECOND).astype(np.int64).tolist()
    return _never_for_realtime(records, np.array(spread_over_limit(limit, costs, preemption.share)) / SECOND)


def _never_for_realtime(records: Records, interval: Floats) -> Floats:
    """Real-time jobs write none."""
    return np.where(records.jobs["realtime"] == 1, np.inf, interval) if "realtime" in records.jobs else interval
