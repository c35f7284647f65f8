"""Last Model: a job is as accurate as the last one of its user was."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, ClassVar, Literal

from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.jobs import Job, Run
from slurm_sim_plugins.views import PendingView, WalltimeView

FLOOR = 1.0
"""Seconds; no prediction is shorter, unless the limit is."""


class LastModel:
    """Predict the limit, times run time over limit of the user's last job; the limit if there was none.

    Jobs without a user count as those of one user.

    Args:
        last: which job is the last: the last that has ended (``finished``), or the one
            that was submitted before (``submitted``), whose run time only an oracle knows.
        refresh: predict at submission only (``submit``), or again for all that wait when
            something was learnt (``pass``).
        outlived: what a preempted job is planned with, if its run outlived its prediction:
            that prediction again (``kept``), or the limit (``limit``), since it is known
            to be too short.

    Source: the papers on PV-EASY, 2014, section 3.2; they do not say which job is the last.
    """

    name: ClassVar[str] = "walltime/last_model"

    def __init__(
        self,
        last: Literal["finished", "submitted"] = "finished",
        refresh: Literal["submit", "pass"] = "submit",
        outlived: Literal["kept", "limit"] = "kept",
    ) -> None:
        if last == "submitted" and refresh == "pass":
            raise ConfigurationError("walltime/last_model: refresh=pass has nothing to learn with last=submitted")
        self.needs_oracle = last == "submitted"
        self._refresh = refresh == "pass"
        self._gives_up = outlived == "limit"
        self._accuracy: dict[Any, float] = {}
        self._predicted: dict[int, float] = {}
        self._planned_end: dict[int, float] = {}
        self._outlived: set[int] = set()
        self._learnt = False

    @hookimpl
    def walltime_submit(self, view: WalltimeView) -> float:
        job = view.job
        self._predicted[job.id] = planned = self._predict(job)
        if view.oracle is not None:
            self._accuracy[job.user] = _accuracy(job, view.oracle.run_time(job))
        return planned

    @hookimpl
    def walltime_pending(self, view: PendingView) -> Sequence[float] | None:
        if not self._learnt:
            return None
        self._learnt = False
        return [self._plan(job) for job in view.waiting]

    @hookimpl
    def walltime_learn(self, job: Job, ran: float) -> None:
        self._predicted.pop(job.id, None)
        self._planned_end.pop(job.id, None)
        self._outlived.discard(job.id)
        if not self.needs_oracle:
            self._accuracy[job.user] = _accuracy(job, ran)
            self._learnt = self._learnt or self._refresh

    @hookimpl
    def job_started(self, run: Run) -> None:
        if self._gives_up:
            self._planned_end[run.job.id] = run.planned_end

    @hookimpl
    def job_requeued(self, job: Job, now: float) -> None:
        if self._planned_end.get(job.id, inf) <= now and job.id not in self._outlived:
            self._outlived.add(job.id)
            self._learnt = True

    def _plan(self, job: Job) -> float:
        if job.id in self._outlived:
            return job.time_limit
        return self._predict(job) if self._refresh else self._predicted[job.id]

    def _predict(self, job: Job) -> float:
        planned = job.time_limit * self._accuracy.get(job.user, 1.0)
        return min(max(planned, FLOOR), job.time_limit)


def _accuracy(job: Job, ran: float) -> float:
    return min(ran / job.time_limit, 1.0)
