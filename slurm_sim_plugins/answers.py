"""What a plugin may answer: the rules that an emulator and a unit test hold it to.

Each function takes an answer and gives it back in the form in which it is used, or
refuses it. Who is to blame, and when, is for the caller to add.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from typing import Any

from slurm_sim_plugins.decisions import MakeRoom, Plan, Reserve, Start, Wake
from slurm_sim_plugins.views import Job, Run

State = Callable[[Job], str | None]
"""From a job to the word for its state, PENDING if it waits; None if it is no job of this simulation."""


class Refused(Exception):  # noqa: N818 - it is a verdict
    """An answer that cannot be used.

    Attributes:
        message: what was wrong and what to do.
        job: id of the job concerned, or None.
    """

    def __init__(self, message: str, job: object | None = None) -> None:
        self.message = message
        self.job: object | None = getattr(job, "id", None)
        super().__init__(message)


def priorities(answer: Sequence[float], jobs: Sequence[Job]) -> list[float]:
    """One finite number a job.

    Raises:
        Refused: another length, or what is no finite number.
    """
    if _is_unordered(answer) or _length(answer) != len(jobs):
        raise Refused(f"answered {short(answer)} for {len(jobs)} jobs; answer one number for each", jobs[0])
    for job, number in zip(jobs, answer, strict=True):
        if not _is_finite(number):
            raise Refused(f"answered {short(number)}; a priority is a finite number", job)
    return list(answer)


def plan(answer: float | Plan, job: Job) -> Plan:
    """Planned seconds of a job, one number for everything or three.

    Raises:
        Refused: one of them is not more than 0 and at most the job's limit.
    """
    if isinstance(answer, Plan):
        return Plan(*(_planned(seconds, job) for seconds in answer))
    return Plan(*[_planned(answer, job)] * 3)


def plans(answer: Sequence[float], jobs: Sequence[Job]) -> list[Plan]:
    """Planned seconds of each waiting job.

    Raises:
        Refused: another length, or as :func:`plan`.
    """
    if _is_unordered(answer) or _length(answer) != len(jobs):
        raise Refused(f"answered {short(answer)} for {len(jobs)} jobs; answer seconds for each, or None", jobs[0])
    return [Plan(*[_planned(seconds, job)] * 3) for job, seconds in zip(jobs, answer, strict=True)]


def order(answer: Sequence[Job], to_try: Sequence[Job]) -> list[Job]:
    """Jobs out of those that are to be tried, each once.

    Raises:
        Refused: no list, a job that is not among them, a job twice.
    """
    if _length(answer) is None:
        raise Refused(f"answered {short(answer)}; answer a list of jobs")
    allowed = set(map(id, to_try))
    for job in answer:
        if id(job) not in allowed:
            known = isinstance(job, Job) and any(job is other for other in to_try)
            fault = "twice; name each job once" if known else "which is not in view.to_try"
            raise Refused(f"named {short(job)} {fault}", job)
        allowed.remove(id(job))
    return list(answer)


def victims(answer: Sequence[Run], preemptor: Job, running: Collection[Run]) -> list[Run]:
    """Runs of now that may be preempted, each once.

    Raises:
        Refused: no list, a run that is over, a run twice, a job that may not be requeued.
    """
    if _length(answer) is None:
        raise Refused(f"answered {short(answer)}; answer a list of runs", preemptor)
    current = set(running)
    named = set()
    for run in answer:
        if not isinstance(run, Run) or run not in current:
            raise Refused(f"named {short(run)}, which is not in view.running", preemptor)
        if run in named:
            raise Refused(f"named the run of job {run.job.id} twice; name each run once", preemptor)
        if not run.job.may_requeue:
            raise Refused(
                f"named the run of job {run.job.id}, which may not be requeued; leave out jobs whose may_requeue "
                "is False",
                preemptor,
            )
        named.add(run)
    return list(answer)


def start(decision: Start, state: State, free: int) -> Job:
    """The job of a start that can be carried out on ``free`` processors.

    Raises:
        Refused: it does not wait, or does not fit.
    """
    job = waiting(decision, state)
    if job.processors > free:
        raise Refused(
            f"Start: it needs {job.processors} processors and {free} are free; "
            "start what fits, or yield MakeRoom first",
            job,
        )
    return job


def reserve(decision: Reserve, state: State, now: float) -> Job:
    """The job of a reservation that can be noted; it may be planned for never (infinity).

    Raises:
        Refused: it does not wait, or the time has passed.
    """
    job = waiting(decision, state)
    try:
        fits = decision.time >= now
    except TypeError:
        fits = False
    if not fits:
        raise Refused(f"Reserve: the time {short(decision.time)} is not now ({now:g}) or later", job)
    return job


def wake(decision: Wake, now: float) -> float:
    """The time of a wake-up: finite, and late enough to be another instant than now.

    Raises:
        Refused: it is not.
    """
    if not (_is_finite(decision.time) and decision.time >= now + 1e-6):
        raise Refused(f"Wake: the time {short(decision.time)} is not later than now ({now:g})")
    return decision.time


def waiting(decision: Start | Reserve | MakeRoom, state: State) -> Job:
    """The job of a decision, which must be one that waits.

    Raises:
        Refused: it is no job, not of this simulation, or does not wait.
    """
    job, kind = decision.job, type(decision).__name__
    if not isinstance(job, Job):
        raise Refused(f"{kind}: {short(job)} is not a job of the queue")
    word = state(job)
    if word is None:
        raise Refused(f"{kind}: this job is not of this simulation; keep no jobs from another one", job)
    if word != "PENDING":
        raise Refused(f"{kind}: the job does not wait, it is {word}", job)
    return job


def no_decision(yielded: object) -> Refused:
    """What is to be said of something that was yielded and is no decision."""
    return Refused(
        f"yielded {short(yielded)}; a scheduler yields decisions: Start, Reserve, MakeRoom, Wake from slurm_sim_plugins"
    )


def no_generator(answer: object) -> Refused:
    """What is to be said of an answer of ``schedule`` that is no generator."""
    return Refused(f"answered {short(answer)}; it must be a generator: yield each decision")


def short(value: object) -> str:
    """A value in at most 100 characters."""
    text = repr(value)
    return text if len(text) <= 100 else text[:97] + "..."


def _planned(seconds: float, job: Job) -> float:
    if not _is_finite(seconds) or not 0 < seconds <= job.time_limit:
        raise Refused(
            f"answered {short(seconds)}; a planned time is more than 0 s and at most the limit of {job.time_limit:g} s",
            job,
        )
    return float(seconds)


def _is_unordered(answer: object) -> bool:
    return isinstance(answer, Mapping | Set)


def _length(answer: Any) -> int | None:
    try:
        return len(answer)
    except TypeError:
        return None


def _is_finite(number: Any) -> bool:
    try:
        return math.isfinite(number)
    except (TypeError, ValueError, OverflowError):
        return False
