"""Last Model: a job is as accurate as the last one of its user was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.views import Job, PendingView, WalltimeView

FLOOR = 1.0
"""Seconds; no prediction is shorter, unless the limit is."""


class LastModel:
    """Predict the limit, times run time over limit of the user's last job; the limit if there was none.

    Jobs without a user count as those of one user.

    Args:
        last: which job is the last: the last that has ended (``finished``), or the one
            that was submitted before (``submitted``), whose run time only an oracle knows.
        refresh: predict at submission only (``submit``), or anew for all that wait when
            something was learnt (``pass``).

    Source: the papers on PV-EASY, 2014, section 3.2; they do not say which job is the last.
    """

    name: ClassVar[str] = "walltime/last_model"

    def __init__(
        self, last: Literal["finished", "submitted"] = "finished", refresh: Literal["submit", "pass"] = "submit"
    ) -> None:
        if last == "submitted" and refresh == "pass":
            raise ConfigurationError("walltime/last_model: refresh=pass has nothing to learn with last=submitted")
        self.needs_oracle = last == "submitted"
        self._refresh = refresh
        self._accuracy: dict[Any, float] = {}
        self._learnt = False

    @hookimpl
    def walltime_submit(self, view: WalltimeView) -> float:
        job = view.job
        planned = self._predict(job)
        if view.oracle is not None:
            self._accuracy[job.user] = _accuracy(job, view.oracle.run_time(job))
        return planned

    @hookimpl
    def walltime_pending(self, view: PendingView) -> Sequence[float] | None:
        if self._refresh != "pass" or not self._learnt:
            return None
        self._learnt = False
        return [self._predict(job) for job in view.waiting]

    @hookimpl
    def walltime_learn(self, job: Job, ran: float) -> None:
        if not self.needs_oracle:
            self._accuracy[job.user] = _accuracy(job, ran)
            self._learnt = True

    def _predict(self, job: Job) -> float:
        planned = job.time_limit * self._accuracy.get(job.user, 1.0)
        return min(max(planned, FLOOR), job.time_limit)


def _accuracy(job: Job, ran: float) -> float:
    return min(ran / job.time_limit, 1.0)
