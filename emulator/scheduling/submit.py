"""Submissions as the plugins of JobSubmitPlugins leave them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from emulator.hooks import FAILURES, Hooks
from emulator.workload.request import JobRequest, RejectedError
from slurm_sim_plugins import answers
from slurm_sim_plugins.cluster import Partition
from slurm_sim_plugins.submission import CHANGE, Reject, Submission, SubmitView
from slurm_sim_plugins.views import ClusterState

_set = object.__setattr__
"""Writes to a view, which refuses plain assignment."""
GPU = "gpu"


class SubmitChain:
    """Asks one plugin after the other.

    Args:
        hooks: the plugins' hooks, in their order, among them.
        cluster_state: the current state.
        partitions: those of a cluster; None where processors are only counted.
    """

    def __init__(self, hooks: Hooks, cluster_state: ClusterState, partitions: Sequence[Partition] | None) -> None:
        self._hooks = hooks
        self._cluster_state = cluster_state
        self._counted = partitions is None
        self._view = SubmitView(cluster_state)
        _set(self._view, "partitions", tuple(partitions or ()))

    def ask(self, submission: Submission) -> Submission:
        """What a submission asks for in the end.

        Raises:
            RejectedError: a plugin refuses it.
            PluginError: a plugin failed, or its answer cannot be used.
        """
        for name, hook in self._hooks.job_submit:
            _set(self._view, "submission", submission)
            try:
                answer: Any = hook(self._view)  # type: ignore[misc]
            except FAILURES as error:
                self._hooks.fail("job_submit", error, time=self._cluster_state.now, job=submission.id)
            if answer is None:
                continue
            try:
                answer = answers.submission(answer, submission, self._counted)
            except answers.Refused as refused:
                self._hooks.refuse(
                    "job_submit", refused.message, time=self._cluster_state.now, job=submission.id, plugin=name
                )
            if isinstance(answer, Reject):
                raise RejectedError(answer.reason)
            submission = answer
        return submission

    def request(self, request: JobRequest) -> JobRequest:
        """A submission to a cluster, as it goes in.

        Raises:
            RejectedError: a plugin refuses it.
        """
        if not self._hooks.job_submit:
            return request
        before = submission_of(request)
        after = self.ask(before)
        changes: dict[str, Any] = {
            name: value for name in CHANGE if (value := getattr(after, name)) != getattr(before, name)
        }
        return replace(request, options=replace(request.options, **changes)) if changes else request


def submission_of(request: JobRequest) -> Submission:
    """A submission to a cluster, as plugins see it."""
    options = request.options
    stated = {name: getattr(options, name) for name in CHANGE}
    return Submission(request.id, request.submit, request.user, options.gpus_on(options.min_nodes or 1), **stated)
