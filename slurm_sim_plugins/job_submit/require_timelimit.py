"""No job without a time limit: Slurm's job_submit/require_timelimit."""

from __future__ import annotations

from typing import ClassVar

from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.submission import Reject, SubmitView


class RequireTimelimit:
    """A submission that states no time limit is refused.

    Source: Slurm's documentation, job_submit_plugins.
    """

    name: ClassVar[str] = "job_submit/require_timelimit"

    @hookimpl
    def job_submit(self, view: SubmitView) -> Reject | None:
        if view.submission.time_limit is None:
            return Reject("Time limit specification required, but not provided")
        return None
