"""All that a scheduler can ask for.

A scheduler yields decisions one at a time. Each is validated and applied before
the generator resumes, so the view is always current. ``reason`` is free text for
the event log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from slurm_sim_plugins.views import Job


class Plan(NamedTuple):
    """What a walltime plugin may answer where one number will not do; seconds of a job's own work."""

    queue: float
    """For the order of the queue: what priority plugins read as ``job.planned_queue``."""
    waiting: float
    """While it waits: whether it can be backfilled is judged by ``job.planned``."""
    running: float
    """Once it runs: its planned end is its start and this."""


@dataclass(slots=True)
class Start:
    """Start a waiting job now, on any free processors."""

    job: Job
    reason: str = ""


@dataclass(slots=True)
class Reserve:
    """Note that a waiting job is planned to start at ``time`` (seconds, now or later).

    A reservation binds nobody: to honour it is the scheduler's own affair. The
    latest one computed before it ran out is kept in the job's record.
    """

    job: Job
    time: float
    reason: str = ""


@dataclass(slots=True)
class MakeRoom:
    """Free processors for a waiting job by preemption: all that it needs, or none.

    The plugin in the PreemptType slot names the victims. The answer is what
    ``yield`` returns: True when the job now fits, False when nobody was touched.
    The job is not started; yield :class:`Start` for that.
    """

    job: Job
    reason: str = ""


@dataclass(slots=True)
class Wake:
    """Ask for a pass at ``time`` (seconds, later than now), whatever else happens."""

    time: float
    reason: str = ""


Decision = Start | Reserve | MakeRoom | Wake
