"""What the plugins for real-time jobs share: which jobs are meant, categories, estimated slowdowns.

Source: the paper on real-time jobs on Mira, sections 6.1 and 7.1.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.jobs import Job, Run

FACT = "realtime"
"""The fact of a job that says it: 1 for a real-time job."""
NARROW = 4096
"""Processors (Mira's nodes) up to which, inclusive, a job is narrow."""
SHORT = 7200.0
"""Seconds of the limit up to which, inclusive, a job is short."""


def is_realtime(job: Job) -> bool:
    """Whether the workload says of a job that it is a real-time job; not one of which nothing is known."""
    return bool(job.fact(FACT) == 1)


class Chosen:
    """The real-time jobs of a run.

    Args:
        which: ``FACT=VALUE``: the jobs with this value of a fact, such as ``realtime=1``, ``user=7``; on a
            cluster ``qos=urgent`` or ``partition=beam``, for jobs of which one of the partitions is that.

    Attributes:
        looks_for: the fact and its value.

    Raises:
        ConfigurationError: it is written in another way.
    """

    def __init__(self, which: str) -> None:
        self._fact, _, value = map(str.strip, which.partition("="))
        if not (self._fact and value):
            raise ConfigurationError(f"jobs is {which!r}; write FACT=VALUE, such as realtime=1 or qos=urgent")
        self.looks_for = {self._fact: value}
        self._values: tuple[str | float, ...] = (value,)
        with suppress(ValueError):
            self._values = (value, float(value))

    def __contains__(self, job: Job) -> bool:
        if self._fact == "partition":
            partitions = [request.partition for request in job.requests if request.partition is not None]
            if partitions:
                return any(partition.name in self._values for partition in partitions)
        if self._fact == "qos" and job.qos is not None:
            return job.qos.name in self._values
        return job.fact(self._fact) in self._values


@dataclass(frozen=True, slots=True)
class Thresholds:
    """An estimated slowdown for each category of jobs.

    Attributes:
        narrow_short, narrow_long, wide_short, wide_long: the slowdowns, 1 or more.
        narrow: processors up to which, inclusive, a job is narrow.
        short: seconds of its limit up to which, inclusive, it is short.

    Raises:
        ConfigurationError: a slowdown below 1, or a border that is no border.
    """

    narrow_short: float
    narrow_long: float
    wide_short: float
    wide_long: float
    narrow: int = NARROW
    short: float = SHORT

    def __post_init__(self) -> None:
        for name in ("narrow_short", "narrow_long", "wide_short", "wide_long"):
            if not getattr(self, name) >= 1:
                raise ConfigurationError(f"{name} is {getattr(self, name)}; a slowdown is 1 or more")
        for name in ("narrow", "short"):
            if not getattr(self, name) > 0:
                raise ConfigurationError(f"{name} is {getattr(self, name)}; give more than 0")

    def of(self, job: Job) -> float:
        """The threshold of a job's category."""
        if job.processors <= self.narrow:
            return self.narrow_short if job.time_limit <= self.short else self.narrow_long
        return self.wide_short if job.time_limit <= self.short else self.wide_long


def waiting_slowdown(job: Job, now: float) -> float:
    """What a job's slowdown would be if it started now and ran until its limit (equation 56)."""
    return (job.time_limit + now - job.submit) / job.time_limit


def running_slowdown(run: Run) -> float:
    """What a job's slowdown will be if it runs until its planned end (equations 57 and 58)."""
    return (run.planned_end - run.job.submit) / run.job.time_limit
