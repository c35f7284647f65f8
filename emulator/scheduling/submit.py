"""Submissions and operators' changes as the plugins of JobSubmitPlugins leave them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from emulator.config.slurm.nodes import gres_count
from emulator.hooks import FAILURES, Hooks
from emulator.scheduling.submission_of import submission_of
from emulator.workload.request import JobRequest, RejectedError
from slurm_sim_plugins import answers
from slurm_sim_plugins.cluster import Partition
from slurm_sim_plugins.job_update import JobUpdate, ModifyView
from slurm_sim_plugins.records import CountedRecords, JobRecord
from slurm_sim_plugins.submission import CHANGE, Reject, Submission, SubmitView
from slurm_sim_plugins.views import ClusterState, View

if TYPE_CHECKING:
    from emulator.scheduling.records import Records

_set = object.__setattr__
"""Writes to a view, which refuses plain assignment."""
OPERATOR = "root"
"""Whose commands change jobs."""


class SubmitChain:
    """Asks one plugin after the other.

    Args:
        hooks: the plugins' hooks, in their order, among them.
        cluster_state: the current state.
        partitions: those of a cluster; empty where processors are only counted.
        records: of a cluster; None where processors are only counted.
        slurm_version: whose rules hold on a cluster, such as ``24.11``.
    """

    def __init__(
        self,
        hooks: Hooks,
        cluster_state: ClusterState,
        partitions: Sequence[Partition] = (),
        records: Records | None = None,
        slurm_version: str = "",
    ) -> None:
        self._hooks = hooks
        self._cluster_state = cluster_state
        self._counted = records is None
        self._submit, self._modify = SubmitView(cluster_state), ModifyView(cluster_state)
        self.records = CountedRecords(cluster_state) if records is None else records
        for view in (self._submit, self._modify):
            _set(view, "partitions", tuple(partitions))
            _set(view, "slurm_version", slurm_version)
            _set(view, "_jobs", self.records.jobs)
            _set(view, "_reservations", self.records.reservations)
        _set(self._modify, "user", OPERATOR)

    @property
    def judges_changes(self) -> bool:
        """Whether a plugin has ``job_modify``."""
        return bool(self._hooks.job_modify)

    def ask(self, submission: Submission) -> Submission:
        """What a submission asks for in the end.

        Raises:
            RejectedError: a plugin refuses it.
            PluginError: a plugin failed, or its answer cannot be used.
        """
        for name, hook in self._hooks.job_submit:
            _set(self._submit, "submission", submission)
            check = partial(answers.submission, before=submission, counted=self._counted)
            submission = self._one("job_submit", name, hook, self._submit, submission.id, check) or submission
        return submission

    def modified(self, update: JobUpdate, record: JobRecord) -> JobUpdate:
        """What a command changes of a job in the end.

        Raises:
            RejectedError: a plugin refuses it.
            PluginError: a plugin failed, or its answer cannot be used.
        """
        _set(self._modify, "job", record)
        for name, hook in self._hooks.job_modify:
            _set(self._modify, "update", update)
            check = partial(answers.update, before=update, job=record.submission)
            answer = self._one("job_modify", name, hook, self._modify, record.submission.id, check)
            update = update if answer is None else answer
        return update

    def _one(self, hook: str, plugin: str, asked: Any, view: View, job: int, check: Callable[[Any], Any]) -> Any:
        """What one plugin answers, or None."""
        now = self._cluster_state.now
        try:
            answer: Any = asked(view)
        except FAILURES as error:
            self._hooks.fail(hook, error, time=now, job=job)
        if answer is None:
            return None
        try:
            answer = check(answer)
        except answers.Refused as refused:
            self._hooks.refuse(hook, refused.message, time=now, job=job, plugin=plugin)
        if isinstance(answer, Reject):
            raise RejectedError(answer.reason)
        return answer

    def request(self, request: JobRequest) -> JobRequest:
        """A submission to a cluster, as it goes in.

        Raises:
            RejectedError: a plugin refuses it.
        """
        if not self._hooks.job_submit:
            return request
        request = request.named()
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


def _license(word: str) -> tuple[str, int]:
    name, _, count = word.partition(":")
    return name, int(count or 1)


_READ: Mapping[str, Callable[[str], Any]] = {"gres": gres_count, "licenses": _license}
"""How what plugins write as text is understood."""
