"""Plan with predictions that came with the workload."""

from __future__ import annotations

from typing import ClassVar

from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.views import WalltimeView


class Given:
    """Plan with the workload's column ``predicted``, at most the limit.

    A job for which it is unknown is planned with its limit.
    """

    name: ClassVar[str] = "walltime/given"

    @hookimpl
    def walltime_submit(self, view: WalltimeView) -> float | None:
        predicted = view.job.predicted
        if predicted is None or predicted != predicted:
            return None
        return min(predicted, view.job.time_limit)
