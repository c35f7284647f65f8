"""What is asked most of the lists of runs and of waiting jobs; a :mod:`kernel <slurm_sim_plugins.kernels>`."""

from __future__ import annotations

from typing import Any

Runs = list[Any]
"""Entries (planned end, sequence, processors, start, job), ascending."""
NEVER = float("inf")


def first_fit(processors: int, free: int, runs: Runs, now: float) -> tuple[float, int]:
    """When so many processors are first free at once, and how many are left over then.

    Args:
        processors: how many are wanted.
        free: how many are free now.
        runs: what runs; an end that has passed counts as now.
        now: the current time.
    """
    time, found = now, free >= processors
    for entry in runs:
        end, held = entry[0], entry[2]
        if found and end > time:
            break
        free += held
        if not found and free >= processors:
            found = True
            if end > now:
                time = end
    if not found:
        return NEVER, 0
    return time, free - processors


def free_by(time: float, free: int, runs: Runs) -> int:
    """Processors that are free at a time as planned, if so many are free now."""
    for entry in runs:
        end, held = entry[0], entry[2]
        if end > time:
            break
        free += held
    return free


def fitting(jobs: list[Any], free: int, in_time: float, extra: int) -> list[Any]:
    """Those of some jobs that fit into what is free, and are planned to end in time or want no more than extra."""
    found = []
    for job in jobs:
        if job.processors <= free and (job.planned <= in_time or job.processors <= extra):
            found.append(job)  # noqa: PERF401 - only here does a job have a C type
    return found


def drop(jobs: list[Any], job: Any) -> None:
    """Take a job out of some, if it is there."""
    for place in range(len(jobs)):
        if jobs[place] is job:
            del jobs[place]
            return


def place_of(runs: Runs, end: float, sequence: int) -> int:
    """Where a run stands, or would stand, among others."""
    first, beyond = 0, len(runs)
    while first < beyond:
        middle = (first + beyond) // 2
        entry = runs[middle]
        other = entry[0]
        if other == end:
            number = entry[1]
            earlier = number < sequence
        else:
            earlier = other < end
        if earlier:
            first = middle + 1
        else:
            beyond = middle
    return first
