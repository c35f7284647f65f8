"""What happens when jobs are submitted: refused, planned, given a priority, queued."""

from __future__ import annotations

from emulator.engine.apply import Apply
from emulator.engine.clock import MICROSECONDS
from emulator.hooks import FAILURES, Hooks
from emulator.scheduling.priorities import Priorities
from emulator.state.jobs import JobTable
from emulator.validate import Validator
from slurm_sim_plugins.views import Job, Oracle, Situation, WalltimeView


class Admission:
    """Takes submissions in.

    Args:
        situation: the current state.
        table: the job table.
        hooks: the walltime and priority plugins' hooks among them.
        apply: queues or rejects the jobs.
        validate: checks the plugins' answers.
        priorities: sets the jobs' priorities.
    """

    def __init__(
        self,
        situation: Situation,
        table: JobTable,
        hooks: Hooks,
        apply: Apply,
        validate: Validator,
        priorities: Priorities,
    ) -> None:
        self._situation = situation
        self._total = situation.total
        self._jobs = table.jobs
        self._hooks = hooks
        self._apply = apply
        self._validate = validate
        self._priorities = priorities
        self._walltime_view = WalltimeView(situation)
        oracle = Oracle((table.work / MICROSECONDS).tolist()) if hooks.needs_oracle else None
        object.__setattr__(self._walltime_view, "oracle", oracle)
        self._plain = hooks.walltime_submit is None and hooks.priority_set is None

    def submit(self, first: int, beyond: int) -> None:
        """Submit, together, the jobs from ``first`` up to ``beyond`` of the table."""
        if not self._plain:
            self._ask_plugins(self._jobs[first:beyond])
        while first < beyond:
            job = self._jobs[first]
            first += 1
            if job.processors <= self._total:
                self._apply.submit(job)
            else:
                self._apply.reject(job, f"needs {job.processors} processors, the machine has {self._total}")

    def _ask_plugins(self, jobs: list[Job]) -> None:
        jobs = [job for job in jobs if job.processors <= self._total]
        if self._hooks.walltime_submit is not None:
            for job in jobs:
                self._plan(job)
        if self._hooks.priority_set is not None and jobs:
            self._priorities.set(jobs)

    def _plan(self, job: Job) -> None:
        object.__setattr__(self._walltime_view, "job", job)
        try:
            answer = self._hooks.walltime_submit(self._walltime_view)  # type: ignore[misc]
        except FAILURES as error:
            self._hooks.fail("walltime_submit", error, time=self._situation.now, job=job.id)
        if answer is not None:
            self._apply.plan(job, self._validate.plan(answer, job))
