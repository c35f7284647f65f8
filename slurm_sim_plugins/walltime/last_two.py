"""Plan with the mean run time of a user's last two jobs."""

from __future__ import annotations

from typing import ClassVar, Literal

from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.views import WalltimeView

LEAST_PLANNED = 1.0
"""Seconds that any job is planned with at least, unless its limit is shorter."""


class LastTwo:
    """A job is planned with the mean run time of the last two jobs of its user that ended.

    It is at most the limit. A job whose user is unknown is planned with its limit. The
    authors correct a prediction that a run outlives: that is the simulation's option
    ``expired="tsafrir"``.

    Source: Tsafrir, Etsion, Feitelson 2007 (IEEE TPDS 18).

    Args:
        fewer: what to plan with while only one job of the user has ended: its ``limit``,
            or that ``last`` one's run time.
    """

    name: ClassVar[str] = "walltime/last_two"

    def __init__(self, fewer: Literal["limit", "last"] = "limit") -> None:
        self._enough = 2 if fewer == "limit" else 1
        self._ran: dict[object, tuple[float, ...]] = {}

    @hookimpl
    def walltime_submit(self, view: WalltimeView) -> float | None:
        job = view.job
        ran = self._ran.get(job.user, ())
        if len(ran) < self._enough:
            return None
        return min(max(sum(ran) / len(ran), LEAST_PLANNED), job.time_limit)

    @hookimpl
    def walltime_learn(self, job: Job, ran: float, now: float) -> None:
        user = job.user
        if user is not None:
            self._ran[user] = (*self._ran.get(user, ())[-1:], ran)
