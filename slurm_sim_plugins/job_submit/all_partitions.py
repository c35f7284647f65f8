"""Jobs that name no partition may run in any: Slurm's job_submit/all_partitions."""

from __future__ import annotations

from typing import ClassVar

from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.submission import Submission, SubmitView


class AllPartitions:
    """A submission that names no partition names all of the cluster, where there are any.

    Source: Slurm's documentation, job_submit_plugins.
    """

    name: ClassVar[str] = "job_submit/all_partitions"

    @hookimpl
    def job_submit(self, view: SubmitView) -> Submission | None:
        if view.submission.partitions or not view.partitions:
            return None
        return view.submission._replace(partitions=tuple(partition.name for partition in view.partitions))
