"""Checks every answer of a plugin before it is applied.

An answer that cannot be used ends the simulation with an error that names plugin, hook,
job and simulated time; what was logged so far is kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from typing import Any, NoReturn

from emulator.hooks import Hooks, line_of
from emulator.state.jobs import FUTURE, PENDING, JobState, JobTable
from slurm_sim_plugins.decisions import MakeRoom, Plan, Reserve, Start, Wake
from slurm_sim_plugins.views import Job, Run, Situation

MOST_IDLE_WAKES = 1_000_000
"""So often a scheduler may be woken in a row while nothing runs and nobody is to come, and still start nothing."""


class Validator:
    """Knows what may be asked for in the current situation.

    Args:
        hooks: who is to blame.
        situation: the current state.
        table: the job table.

    Attributes:
        decisions: the generator that is being run, for ``file:line`` in a message.
    """

    def __init__(self, hooks: Hooks, situation: Situation, table: JobTable) -> None:
        self._hooks = hooks
        self._situation = situation
        self._table = table
        self._idle_wakes = self._waiting_with = 0
        self.decisions: Any = None

    def start(self, decision: Start, free: int) -> Job:
        """The job of a start that can be carried out on ``free`` processors."""
        job = self._waiting(decision)
        if job.processors > free:
            self._refuse(
                f"Start: it needs {job.processors} processors and {free} are free; "
                "start what fits, or yield MakeRoom first",
                job,
            )
        return job

    def reserve(self, decision: Reserve) -> Job:
        """The job of a reservation that can be noted; it may be planned for never (infinity)."""
        job = self._waiting(decision)
        try:
            fits = decision.time >= self._situation.now
        except TypeError:
            fits = False
        if not fits:
            self._refuse(
                f"Reserve: the time {_short(decision.time)} is not now ({self._situation.now:g}) or later", job
            )
        return job

    def make_room(self, decision: MakeRoom) -> Job:
        """The job of a request for room."""
        return self._waiting(decision)

    def wake(self, decision: Wake) -> float:
        """The time of a wake-up: finite, and late enough to be another instant than now."""
        time = decision.time
        if not (_is_finite(time) and time >= self._situation.now + 1e-6):
            self._refuse(f"Wake: the time {_short(time)} is not later than now ({self._situation.now:g})", None)
        waiting = len(self._situation.queue)
        if waiting != self._waiting_with or self._situation.running or self._table.state[-1] == FUTURE:
            self._waiting_with, self._idle_wakes = waiting, 0
        self._idle_wakes += 1
        if self._idle_wakes > MOST_IDLE_WAKES:
            self._refuse(
                f"Wake: asked for {self._idle_wakes} times while {waiting} jobs wait, nothing runs and nobody is to "
                "come; start one",
                None,
                job_id=self._situation.queue[0].id if waiting else None,
            )
        return time

    def unknown(self, decision: object) -> None:
        """Something was yielded that is no decision."""
        self._refuse(
            f"yielded {_short(decision)}; a scheduler yields decisions: Start, Reserve, MakeRoom, Wake "
            "from slurm_sim_plugins",
            None,
        )

    def no_progress(self, count: int) -> None:
        """A pass yields and yields."""
        head = self._situation.queue[0].id if self._situation.queue else None
        self._refuse(
            f"the pass makes no progress: {count} decisions and no end; return when there is nothing more to start",
            None,
            job_id=head,
        )

    def view_changed(self) -> None:
        """A scheduler wrote to its view."""
        self._refuse("wrote to view.free, view.now or view.head; a view is only read, ask with a decision", None)

    def stalled(self) -> None:
        """Jobs wait, nothing runs, and nothing more will happen."""
        queue = self._situation.queue
        self._hooks.refuse(
            "schedule",
            f"{len(queue)} jobs still wait and nothing more will happen: {self._situation.free} of "
            f"{self._situation.total} processors are free and the first job needs {queue[0].processors}; "
            "start it, or yield Wake to come back",
            time=self._situation.now,
            job=queue[0].id,
        )

    def priorities(self, answer: Sequence[float], jobs: list[Job]) -> Sequence[float]:
        """One finite number a job."""
        if isinstance(answer, Mapping | Set) or _length(answer) != len(jobs):
            self._refuse_answer(
                "priority_set", f"answered {_short(answer)} for {len(jobs)} jobs; answer one number for each", jobs[0]
            )
        for job, number in zip(jobs, answer, strict=True):
            if not _is_finite(number):
                self._refuse_answer("priority_set", f"answered {_short(number)}; a priority is a finite number", job)
        return list(answer)

    def plan(self, answer: float | Plan, job: Job) -> Plan:
        """Planned seconds, one number for everything or three."""
        if isinstance(answer, Plan):
            return Plan(*(self._planned("walltime_submit", seconds, job) for seconds in answer))
        return Plan(*[self._planned("walltime_submit", answer, job)] * 3)

    def plans(self, answer: Sequence[float], jobs: Sequence[Job]) -> list[Plan]:
        """Planned seconds of each waiting job."""
        if isinstance(answer, Mapping | Set) or _length(answer) != len(jobs):
            self._refuse_answer(
                "walltime_pending",
                f"answered {_short(answer)} for {len(jobs)} jobs; answer seconds for each, or None",
                jobs[0],
            )
        return [
            Plan(*[self._planned("walltime_pending", seconds, job)] * 3)
            for job, seconds in zip(jobs, answer, strict=True)
        ]

    def _planned(self, hook: str, seconds: float, job: Job) -> float:
        """Seconds: more than 0, at most the limit."""
        if not _is_finite(seconds) or not 0 < seconds <= job.time_limit:
            self._refuse_answer(
                hook,
                f"answered {_short(seconds)}; a planned time is more than 0 s and at most the limit of "
                f"{job.time_limit:g} s",
                job,
            )
        return float(seconds)

    def order(self, answer: Sequence[Job], jobs: list[Job]) -> Sequence[Job]:
        """Jobs out of those that were to be tried, each once."""
        if _length(answer) is None:
            self._refuse_answer("backfill_candidates", f"answered {_short(answer)}; answer a list of jobs", None)
        allowed = set(map(id, jobs))
        for job in answer:
            if id(job) not in allowed:
                known = isinstance(job, Job) and any(job is other for other in jobs)
                fault = "twice" if known else "which is not in view.to_try"
                self._refuse_answer("backfill_candidates", f"named {_short(job)} {fault}", job)
            allowed.remove(id(job))
        return answer

    def victims(self, answer: Sequence[Run], preemptor: Job) -> list[Run]:
        """Runs of now, each once."""
        if _length(answer) is None:
            self._refuse_answer("preempt_candidates", f"answered {_short(answer)}; answer a list of runs", preemptor)
        current = set(self._situation.running)
        named = set()
        for run in answer:
            if not isinstance(run, Run) or run not in current:
                self._refuse_answer(
                    "preempt_candidates", f"named {_short(run)}, which is not in view.running", preemptor
                )
            if run in named:
                self._refuse_answer("preempt_candidates", f"named the run of job {run.job.id} twice", preemptor)
            if not run.job.may_requeue:
                self._refuse_answer(
                    "preempt_candidates",
                    f"named the run of job {run.job.id}, which may not be requeued; leave out jobs whose may_requeue "
                    "is False",
                    preemptor,
                )
            named.add(run)
        return list(answer)

    def generator(self, answer: object) -> None:
        """What ``schedule`` answers is a generator."""
        if not hasattr(answer, "send"):
            self._hooks.refuse(
                "schedule",
                f"answered {_short(answer)}; it must be a generator: yield each decision",
                time=self._situation.now,
            )

    def _waiting(self, decision: Start | Reserve | MakeRoom) -> Job:
        """The job of a decision, which must be one that waits."""
        job, kind = decision.job, type(decision).__name__
        if not isinstance(job, Job):
            self._refuse(f"{kind}: {_short(job)} is not a job of the queue", None)
        if job.index >= len(self._table) or self._table.jobs[job.index] is not job:
            self._refuse(f"{kind}: this job is not of this simulation; keep no jobs from another one", job)
        state = self._table.state[job.index]
        if state != PENDING:
            self._refuse(f"{kind}: the job does not wait, it is {JobState(state).name}", job)
        return job

    def _refuse(self, message: str, job: Job | None, job_id: int | None = None) -> NoReturn:
        self._hooks.refuse(
            "schedule",
            message,
            time=self._situation.now,
            job=job.id if job is not None else job_id,
            where=line_of(self.decisions),
        )

    def _refuse_answer(self, hook: str, message: str, job: object) -> NoReturn:
        self._hooks.refuse(hook, message, time=self._situation.now, job=getattr(job, "id", None))


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


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else text[:97] + "..."
