"""Submissions as the plugins of JobSubmitPlugins leave them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from emulator.config.slurm.model import GresCount
from emulator.config.slurm.nodes import gres_count
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
        for name, read in _READ.items():
            if name in changes:
                try:
                    changes[name] = tuple(map(read, changes[name]))
                except ValueError as error:
                    raise RejectedError(f"{name}: {error}") from None
        return replace(request, options=replace(request.options, **changes)) if changes else request


def submission_of(request: JobRequest) -> Submission:
    """A submission to a cluster, as plugins see it."""
    options = request.options
    stated = {name: getattr(options, name) for name in CHANGE}
    stated["gres"] = tuple(map(_gres, options.gres))
    stated["licenses"] = tuple(f"{name}:{count}" for name, count in options.licenses)
    joint = "?" if options.any_dependency else ","
    return Submission(
        request.id,
        request.submit,
        request.user,
        options.gpus_on(options.min_nodes or 1),
        tres_per_job=",".join(f"gres:{_gres(one)}" for one in options.gpus),
        tres_per_task=",".join(f"gres:{_gres(one)}" for one in options.gpus_per_task),
        dependency=joint.join(one.kind + (f":{one.job}" if one.job else "") for one in options.dependencies),
        array="" if options.array is None else _ranges(options.array.indices),
        begin=options.begin,
        **stated,
    )


def _gres(one: GresCount) -> str:
    return ":".join([one.name, *([one.type] if one.type else []), str(one.count)])


def _ranges(indices: Sequence[int]) -> str:
    """Indices as sbatch writes them: ``1-3,7``."""
    bounds = [at for at in range(1, len(indices)) if indices[at] != indices[at - 1] + 1]
    parts = [indices[begin:end] for begin, end in pairwise([0, *bounds, len(indices)])]
    return ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def _license(word: str) -> tuple[str, int]:
    name, _, count = word.partition(":")
    return name, int(count or 1)


_READ: Mapping[str, Callable[[str], Any]] = {"gres": gres_count, "licenses": _license}
"""How what plugins write as text is understood."""
