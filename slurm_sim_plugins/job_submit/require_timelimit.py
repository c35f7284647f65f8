"""No job without a time limit: Slurm's job_submit/require_timelimit."""

from __future__ import annotations

import math
from typing import ClassVar

from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.job_update import ModifyView
from slurm_sim_plugins.submission import Reject, SubmitView


class RequireTimelimit:
    """A submission that states no time limit is refused, and a change that takes the limit away.

    Source: Slurm's documentation, job_submit_plugins; the plugin of Slurm 22.05.8, asked.
    """

    name: ClassVar[str] = "job_submit/require_timelimit"

    @hookimpl
    def job_submit(self, view: SubmitView) -> Reject | None:
        if view.submission.time_limit is None:
            return Reject("Time limit specification required, but not provided")
        return None

    @hookimpl
    def job_modify(self, view: ModifyView) -> Reject | None:
        if view.update.time_limit is not None and math.isinf(view.update.time_limit):
            return Reject("Requested time limit is invalid (missing or exceeds some limit)")
        return None
