"""What happens when jobs are submitted: refused, planned, given a priority, queued."""

from __future__ import annotations

from emulator.engine.apply import Apply
from emulator.engine.clock import MICROSECONDS
from emulator.hooks import FAILURES, Hooks
from emulator.state.jobs import JobTable
from emulator.validate import Validator
from slurm_sim_plugins.views import FIRST_PRIORITY, Job, Oracle, PriorityView, Situation, WalltimeView


class Admission:
    """Takes submissions in.

    Args:
        situation: the current state.
        table: the job table.
        hooks: the walltime and priority plugins' hooks among them.
        apply: queues or rejects the jobs.
        validate: checks the plugins' answers.
    """

    def __init__(self, situation: Situation, table: JobTable, hooks: Hooks, apply: Apply, validate: Validator) -> None:
        self._situation = situation
        self._total = situation.total
        self._jobs = table.jobs
        self._hooks = hooks
        self._apply = apply
        self._validate = validate
        self._walltime_view = WalltimeView(situation)
        oracle = Oracle((table.work / MICROSECONDS).tolist()) if hooks.needs_oracle else None
        object.__setattr__(self._walltime_view, "oracle", oracle)
        self._priority_view = PriorityView(situation)
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
            self._set_priorities(jobs)

    def _plan(self, job: Job) -> None:
        object.__setattr__(self._walltime_view, "job", job)
        try:
            answer = self._hooks.walltime_submit(self._walltime_view)  # type: ignore[misc]
        except FAILURES as error:
            self._hooks.fail("walltime_submit", error, time=self._situation.now, job=job.id)
        if answer is not None:
            self._apply.plan(job, self._validate.plan(answer, job))

    def _set_priorities(self, jobs: list[Job]) -> None:
        object.__setattr__(self._priority_view, "to_set", tuple(jobs))
        try:
            answer = self._hooks.priority_set(self._priority_view)  # type: ignore[misc]
        except FAILURES as error:
            self._hooks.fail("priority_set", error, time=self._situation.now, job=jobs[0].id)
        numbers = None if answer is None else self._validate.priorities(answer, jobs)
        for place, job in enumerate(jobs):
            number = float(numbers[place]) if numbers is not None else float(FIRST_PRIORITY - job.index)
            object.__setattr__(job, "_order", (-number, job.index))
