"""Plan with the share of their limits that a user's last jobs used on average."""

from __future__ import annotations

from collections import deque
from typing import ClassVar

from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.views import WalltimeView
from slurm_sim_plugins.walltime.history import adjusted


class RecentAverage:
    """A job is planned with its limit times the mean accuracy of its user's last jobs that ended.

    A job's accuracy is its run time over its limit, at most 1. While there are fewer jobs,
    those count; without any, and where the user is unknown, it is planned with its limit.

    Args:
        n: how many jobs to look back, 1 or more.
    """

    name: ClassVar[str] = "walltime/recent_average"

    def __init__(self, n: int = 5) -> None:
        if n < 1:
            raise ValueError(f"n is {n}; an average needs 1 job or more")
        self._n = n
        self._shares: dict[object, deque[float]] = {}

    @hookimpl
    def walltime_submit(self, view: WalltimeView) -> float | None:
        job = view.job
        shares = self._shares.get(job.user)
        return adjusted(job.time_limit, sum(shares) / len(shares)) if shares else None

    @hookimpl
    def walltime_learn(self, job: Job, ran: float, now: float) -> None:
        user = job.user
        if user is not None:
            share = min(ran / job.time_limit, 1.0)
            self._shares.setdefault(user, deque(maxlen=self._n)).append(share)
