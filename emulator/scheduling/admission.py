# cython: boundscheck=True, wraparound=True, nonecheck=True
"""What happens when jobs are submitted: refused, planned, given a priority, queued.

A :mod:`kernel <slurm_sim_plugins.kernels>`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.engine.apply import Apply
from emulator.hooks import FAILURES, Hooks
from emulator.scheduling.priorities import Priorities
from emulator.state.instants import MICROSECONDS
from emulator.state.jobs import JobTable
from emulator.validate import Validator
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.submission import submission_of_job
from slurm_sim_plugins.views import ClusterState, Oracle, WalltimeView

if TYPE_CHECKING:
    from emulator.scheduling.submit import SubmitChain

_set = object.__setattr__
"""Writes to a view, which refuses plain assignment."""


class Admission:
    """Takes submissions in.

    Args:
        cluster_state: the current state.
        table: the job table.
        hooks: the walltime and priority plugins' hooks among them.
        apply: queues or rejects the jobs.
        validate: checks the plugins' answers.
        priorities: sets the jobs' priorities.
    """

    __slots__ = (
        *("_apply", "_chain", "_cluster_state", "_hooks", "_jobs", "_plain", "_priorities", "_refused", "_total"),
        *("_validate", "_walltime_submit", "_walltime_view"),
    )

    def __init__(
        self,
        cluster_state: ClusterState,
        table: JobTable,
        hooks: Hooks,
        apply: Apply,
        validate: Validator,
        priorities: Priorities,
    ) -> None:
        self._cluster_state = cluster_state
        self._total = cluster_state.total
        self._jobs = table.jobs
        self._hooks = hooks
        self._apply = apply
        self._validate = validate
        self._priorities = priorities
        self._walltime_view = WalltimeView(cluster_state)
        oracle = Oracle((table.work / MICROSECONDS).tolist()) if hooks.needs_oracle else None
        object.__setattr__(self._walltime_view, "oracle", oracle)
        self._walltime_submit = hooks.walltime_submit
        self._plain = hooks.walltime_submit is None and hooks.priority_set is None
        self._chain: SubmitChain | None = None
        if hooks.job_submit:
            # What reads submissions to a cluster is not imported for runs without such a plugin.
            from emulator.scheduling.submit import SubmitChain

            self._chain = SubmitChain(hooks, cluster_state)
        self._refused = table.refused

    def submit(self, first: int, beyond: int) -> None:
        """Submit, together, the jobs from ``first`` up to ``beyond`` of the table."""
        if self._plain and self._chain is None:
            for index in range(first, beyond):
                self._take_in(self._jobs[index])
            return
        jobs = self._jobs[first:beyond]
        if self._chain is not None:
            jobs = [job for job in jobs if self._goes_in(job, self._chain)]
        if not self._plain:
            self._ask_plugins(jobs)
        for job in jobs:
            self._take_in(job)

    def _take_in(self, job: Job) -> None:
        """Queue a job, unless the machine is too small for it."""
        if job.processors <= self._total:
            self._apply.submit(job)
        else:
            self._apply.reject(job, f"needs {job.processors} processors, the machine has {self._total}")

    def _goes_in(self, job: Job, chain: SubmitChain) -> bool:
        """Whether no job_submit plugin refuses a job; its limit is what they make of it."""
        from emulator.workload.request import RejectedError

        try:
            limit = chain.ask(submission_of_job(job)).time_limit
        except RejectedError as error:
            self._refused[job.index] = str(error)
            self._apply.reject(job, str(error))
            return False
        if limit is not None and limit != job.time_limit:
            self._apply.limit(job, limit)
        return True

    def _ask_plugins(self, jobs: list[Job]) -> None:
        total = self._total
        if self._walltime_submit is not None:
            view, validate, apply = self._walltime_view, self._validate, self._apply
            for job in jobs:
                if job.processors > total:
                    continue
                _set(view, "job", job)
                try:
                    answer = self._walltime_submit(view)
                except FAILURES as error:
                    self._hooks.fail("walltime_submit", error, time=self._cluster_state.now, job=job.id)
                if answer is not None:
                    apply.plan(job, validate.plan(answer, job))
        if self._hooks.priority_set is not None:
            jobs = [job for job in jobs if job.processors <= total]
            if jobs:
                self._priorities.set(jobs)
