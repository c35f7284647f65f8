"""What is kept of a job that plugins see: storage that only its owner writes to.

A :mod:`kernel <slurm_sim_plugins.kernels>`: compiled, the numbers are those of C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

JobFacts = Mapping[str, Sequence[Any] | None]
"""Columns of the workload by name, one value a job, in the order of (submit, id); None for
a column that the workload does not have."""


class JobFields:
    """Storage of :class:`Job`; only the owner of the cluster state writes to it.

    A job's order is what the queue is sorted by: the position in (submit, id), or, once a
    priority plugin gave a number, (-number, position).
    """

    __slots__ = (
        "_facts",
        "_order",
        "backfilled",
        "id",
        "index",
        "longest",
        "planned",
        "planned_queue",
        "planned_running",
        "processors",
        "requeues",
        "submit",
        "time_limit",
    )

    def __init__(self, facts: JobFacts, index: int, id: int, submit: float, processors: int, time_limit: float) -> None:
        self._facts = facts
        self._order: Any = index
        self.index = index
        self.id = id
        self.submit = submit
        self.processors = processors
        self.time_limit = time_limit
        self.planned = self.planned_queue = self.planned_running = self.longest = time_limit
        self.requeues = 0
        self.backfilled = False


def before(job: JobFields, other: JobFields) -> bool:
    """Whether a job goes before another one; numbers are set for all jobs or for none."""
    if type(job._order) is int:
        return job.index < other.index
    return bool(job._order < other._order)
