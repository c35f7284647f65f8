"""Dependencies: may a job become eligible, not yet, or never?"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from enum import Enum, auto

from emulator.state.cluster import Cluster
from emulator.state.job import Job
from emulator.state.run import State
from emulator.workload.sbatch import Dependency

PROBLEM, CIRCULAR = "Job dependency problem", "Circular job dependency"
ON_ITS_END = ("afterok", "afternotok")
"""Kinds of dependencies that ask how a job ended, which of one that is not known cannot be said."""


class Met(Enum):
    """Whether a condition is met."""

    YES = auto()
    NOT_YET = auto()
    NEVER = auto()


def dependencies_met(job: Job, cluster: Cluster) -> Met:
    """Whether the dependencies of a job are met: all of them, or with ``?`` one.

    What was found of one once stays so, whatever becomes of the other job, such as that it is requeued (recorded).
    """
    known = cluster.known_dependencies.setdefault(job.id, {})
    for dependency in job.options.dependencies:
        if dependency not in known and (met := _met(dependency, job, cluster)) is not Met.NOT_YET:
            known[dependency] = met
    found = [known.get(dependency, Met.NOT_YET) for dependency in job.options.dependencies]
    if not found:
        return Met.YES
    if job.options.any_dependency:
        if Met.YES in found:
            return Met.YES
        return Met.NOT_YET if Met.NOT_YET in found else Met.NEVER
    if Met.NEVER in found:
        return Met.NEVER
    return Met.NOT_YET if Met.NOT_YET in found else Met.YES


def refusal(job: Job, cluster: Cluster) -> str:
    """Why a new job is refused for its dependencies, in Slurm's words: it waits for itself, or does by way of others.

    So many of the others are looked at as may be. From 24.11 on also if it asks how a job ended which was not submitted
    yet: one with a number higher than all so far.
    """
    own = {job.id if job.request.array is None else job.request.array}  # Tasks get their numbers as they start.
    waits_for, tested = list(job.options.dependencies), set[int]()
    if any(_names(dependency, job, own) for dependency in waits_for):
        return PROBLEM
    if cluster.parameters.rules.UNKNOWN_JOBS_ARE_REFUSED and any(_is_to_come(one, cluster) for one in waits_for):
        return PROBLEM
    while waits_for and len(tested) < cluster.parameters.max_depend_depth:
        dependency = waits_for.pop(0)
        if dependency.kind == "singleton" or dependency.job in tested:
            continue
        if _names(dependency, job, own):
            return CIRCULAR
        tested.add(dependency.job)
        others = [other for other in _jobs_of(dependency, cluster) if other.state is State.PENDING]
        waits_for += [further for other in others[:1] for further in other.options.dependencies]
    return ""


def _is_to_come(dependency: Dependency, cluster: Cluster) -> bool:
    """Whether it asks how a job ended which was not submitted yet; tasks of arrays get numbers only as they start."""
    other = cluster.jobs.get(dependency.job)
    known = dependency.job in cluster.refused or (other is not None and _has_number(other))
    if known or dependency.kind not in ON_ITS_END:
        return False
    return dependency.job > max((each.id for each in cluster.jobs.values() if _has_number(each)), default=0)


def _has_number(job: Job) -> bool:
    return job.request.array in (None, job.id) or not job.waits_with_others


def _names(dependency: Dependency, job: Job, own: Collection[int]) -> bool:
    """Whether a dependency names a job, whose numbers are given."""
    return dependency.kind != "singleton" and dependency.job in own and dependency.task in (None, job.request.task)


def _met(dependency: Dependency, job: Job, cluster: Cluster) -> Met:
    if dependency.kind == "singleton":
        return _singleton(job, cluster)
    if dependency.job in cluster.failed_at_once:
        if dependency.kind == "after" and cluster.failed_at_once[dependency.job]:
            return Met.NOT_YET  # All tasks of the array count as waiting (recorded).
        return Met.NEVER if dependency.kind in ("afterok", "aftercorr") else Met.YES
    others = _jobs_of(dependency, cluster)
    if dependency.kind == "aftercorr":
        others = _partner(others, job)
    if not others:
        return Met.YES  # A job that is not known any more counts as done.
    if dependency.kind == "after" and len(others) > 1:
        return _after_array(dependency, others, cluster)
    found = [_one(dependency, other, cluster) for other in others]
    if Met.NOT_YET in found:
        return Met.NOT_YET
    if dependency.kind == "afternotok":
        return Met.YES if Met.YES in found else Met.NEVER
    return Met.NEVER if Met.NEVER in found else Met.YES


def _after_array(dependency: Dependency, tasks: list[Job], cluster: Cluster) -> Met:
    """Whether all tasks of an array have begun, and it is long enough since the one did that has the array's number."""
    at_once = replace(dependency, delay=0.0)
    if any(_one(at_once, task, cluster) is Met.NOT_YET for task in tasks):
        return Met.NOT_YET
    last = max(tasks, key=lambda task: (_numbered_at(task, cluster), task.request.task))
    return _one(dependency, last, cluster)


def _one(dependency: Dependency, other: Job, cluster: Cluster) -> Met:
    if dependency.kind == "after":
        # One that was requeued counts from its next start.
        started = other.runs[-1].start if other.runs and other.state is not State.PENDING else None
        if other.state is State.CANCELLED and started is None:
            return Met.YES
        return Met.YES if started is not None and cluster.now >= started + dependency.delay else Met.NOT_YET
    if not other.over:
        failed = dependency.kind == "afternotok" and _is_held_by_code(other, cluster)
        return Met.YES if failed else Met.NOT_YET
    done = other.state is State.COMPLETED
    if dependency.kind in ("afterany", "afterburstbuffer"):
        return Met.YES
    wanted = done if dependency.kind in ("afterok", "aftercorr") else not done
    return Met.YES if wanted else Met.NEVER


def _is_held_by_code(job: Job, cluster: Cluster) -> bool:
    """Whether a job is held for what its work ended with (``RequeueExitHold``): so it has failed (recorded)."""
    by_code = job.request.exit_code in cluster.parameters.requeue_exit_hold
    return by_code and job.held_by == "JobHeldUser" and bool(job.runs) and job.runs[-1].outcome is State.FAILED


def _jobs_of(dependency: Dependency, cluster: Cluster) -> list[Job]:
    """The job that is named, or all tasks of that array, or one of them.

    A task gets a number of its own as it starts: before that no job is known by it.
    """
    job = dependency.job
    if job in cluster.tasks:
        return [one for one in cluster.tasks[job] if dependency.task in (None, one.request.task)]
    found = cluster.jobs.get(job)
    return [found] if found is not None and (found.request.array is None or found.runs) else []


def _partner(others: list[Job], job: Job) -> list[Job]:
    """The task of the same index, which is all that ``aftercorr`` of a task waits for; a job without tasks for all."""
    if job.request.array is None:
        return others
    tasks = [other for other in others if other.request.array is not None]
    return [other for other in tasks if other.request.task == job.request.task] or others


def _numbered_before(task: Job, job: Job, cluster: Cluster) -> bool:
    """Whether the number of a job that came before another is lower: not of a task that got its own after that.

    The last task of an array that gets one keeps the array's.
    """
    if task.request.array is None or not job.submitted < _numbered_at(task, cluster) < math.inf:
        return True
    tasks = cluster.tasks[task.request.array]
    if any(other.waits_with_others for other in tasks):
        return False
    numbered = [(at, other.request.task) for other in tasks if (at := _numbered_at(other, cluster)) < math.inf]
    return task.request.task == max(numbered)[1]


def _numbered_at(task: Job, cluster: Cluster) -> float:
    """When a task of an array got a record, and with that a number, of its own; infinite for not yet."""
    return min(cluster.split_at.get(task.id, math.inf), task.runs[0].start if task.runs else math.inf)


def _singleton(job: Job, cluster: Cluster) -> Met:
    """No job of that name and user with a lower number is there; tasks of one array do not wait for each other."""
    others = cluster.named.get((job.request.user, job.name), [])
    # Tasks were submitted under the number of their array; which of its own is lower is known by when they got it.
    own = job.request.array or job.id
    earlier = [other for other in others if (other.request.array or other.id) < own and not other.over]
    earlier = [other for other in earlier if _numbered_before(other, job, cluster)]
    return (
        Met.NOT_YET
        if any(other.request.array is None or other.request.array != job.request.array for other in earlier)
        else Met.YES
    )
