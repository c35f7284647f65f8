"""The command ``scontrol top``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from emulator.operator.jobs import lift
from emulator.operator.which import jobs_named
from emulator.state.job import Job
from emulator.state.run import State
from slurm_sim_plugins.errors import InputError

if TYPE_CHECKING:
    from emulator.engine.controller import Controller
    from emulator.state.cluster import Cluster

UNSIGNED = 2**32
"""How many priorities there are."""


def top(words: list[str], controller: Controller) -> None:
    """Jobs get the highest priorities of their user's jobs alike, in their order; the others lose as much.

    What would fall below 0 of those comes to stand just below the last of the jobs, for priorities are unsigned; what
    it gains so is taken for a loss without a sign, and those behind it come to stand there, too, mostly.
    (Observation K3; recorded on 24.11 and 26.05.)
    """
    named = list(dict.fromkeys(jobs_named(words, controller)))
    several = next((job for job in named if len(job.partitions) > 1), None)
    if several is not None:
        raise InputError(f"job {several.id} is in several partitions: only one in a single partition goes to the top")
    jobs = [job for job in named if job.state is State.PENDING and not job.on_hold]
    if not jobs:
        raise InputError("none of these jobs waits without being on hold: no other has a priority to change")
    others = [other for other in controller.cluster.pending() if _moves_with(jobs[0], other) and other not in jobs]
    tops, rest = _records(jobs), sorted(_records(others), key=lambda record: _listed(record[0], controller.cluster))
    priorities = sorted((int(one[0].priority) for one in (*tops, *rest)), reverse=True)
    last, lost = math.inf, 0
    for record, highest in zip(tops, priorities, strict=False):
        last = highest - 1 if highest == last > 2 else highest
        lost += _set_by_nice(record, last)
    for number, record in enumerate(rest):
        priority = (int(record[0].priority) - int(lost / (len(rest) - number))) % UNSIGNED
        gain = _set_by_nice(record, priority if priority < last else last - 1)
        lost += gain - UNSIGNED if gain > 0 and priority >= last else gain


def _records(jobs: list[Job]) -> list[list[Job]]:
    """Jobs by the controller's records: the tasks of an array that have not run share one."""
    records: dict[tuple[int, bool], list[Job]] = {}
    for job in jobs:
        shared = job.request.array is not None and job.waits_with_others
        records.setdefault((job.request.array or 0, True) if shared else (job.id, False), []).append(job)
    return list(records.values())


def _listed(job: Job, cluster: Cluster) -> tuple[float, int]:
    """Where the record of a job stands in the controller's list: by when it was made, then by number.

    A task that starts keeps the record of its array, and what is left of that gets another one.
    """
    array = job.request.array
    if array is None:
        return job.request.submit, job.id
    own = math.inf if job.waits_with_others or not job.runs else job.runs[0].start
    starts = (task.runs[0].start for task in cluster.tasks[array] if task.runs and task is not job)
    return max((start for start in starts if start < own), default=job.request.submit), array


def _moves_with(job: Job, other: Job) -> bool:
    """Whether another job loses priority where a job gains some."""
    same = other.partitions == job.partitions and len(other.partitions) == 1 and other.request.user == job.request.user
    same = same and (other.options.account, other.options.qos) == (job.options.account, job.options.qos)
    return same and not other.on_hold and other.priority > 1


def _set_by_nice(record: list[Job], priority: float) -> int:
    """Change the priority of the jobs of a record by their nice value; by how much it grows."""
    gain = int(priority) - int(record[0].priority)
    for job in record:
        lift(job, gain)
    return gain
