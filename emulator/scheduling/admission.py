"""What happens when jobs are submitted: refused, planned, given a priority, queued."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.engine.apply import Apply
from emulator.hooks import Hooks
from emulator.state.jobs import JobTable
from emulator.validate import Validator
from slurm_sim_plugins.views import Job, JobFacts, PriorityView, Situation, WalltimeView, new_job

FIRST_PRIORITY = 4294901759
"""Slurm's priority/basic counts down from here, one for each submission (observation Q8)."""


class Admission:
    """Takes submissions in.

    Args:
        situation: the current state.
        table: the job table.
        facts: the further columns that a job shows.
        hooks: the walltime and priority plugins' hooks among them.
        apply: queues or rejects the jobs.
        validate: checks the plugins' answers.
    """

    def __init__(
        self,
        situation: Situation,
        table: JobTable,
        facts: JobFacts,
        hooks: Hooks,
        apply: Apply,
        validate: Validator,
    ) -> None:
        self._situation = situation
        self._table = table
        self._facts = facts
        self._hooks = hooks
        self._apply = apply
        self._validate = validate
        self._walltime_view = WalltimeView(situation)
        self._priority_view = PriorityView(situation)

    def submit(self, indices: Sequence[int]) -> None:
        """Submit the jobs at these positions of the table, together."""
        jobs = [self._new_job(index) for index in indices if self._fits(index)]
        if self._hooks.walltime_submit is not None:
            for job in jobs:
                self._plan(job)
        if self._hooks.priority_set is not None and jobs:
            self._set_priorities(jobs)
        self._apply.submit(jobs)

    def _fits(self, index: int) -> bool:
        wanted, total = self._table.processors[index], self._situation.total
        if wanted <= total:
            return True
        self._apply.reject(index, f"needs {wanted} processors, the machine has {total}")
        return False

    def _new_job(self, index: int) -> Job:
        table = self._table
        return new_job(
            self._facts,
            index,
            table.ids[index],
            table.submit[index],
            table.processors[index],
            table.time_limit[index],
            FIRST_PRIORITY - index,
            index,
        )

    def _plan(self, job: Job) -> None:
        object.__setattr__(self._walltime_view, "job", job)
        try:
            answer = self._hooks.walltime_submit(self._walltime_view)  # type: ignore[misc]
        except Exception as error:
            self._hooks.fail("walltime_submit", error, time=self._situation.now, job=job.id)
        if answer is not None:
            object.__setattr__(job, "planned", self._validate.planned(answer, job))

    def _set_priorities(self, jobs: list[Job]) -> None:
        object.__setattr__(self._priority_view, "to_set", tuple(jobs))
        try:
            answer = self._hooks.priority_set(self._priority_view)  # type: ignore[misc]
        except Exception as error:
            self._hooks.fail("priority_set", error, time=self._situation.now, job=jobs[0].id)
        numbers = None if answer is None else self._validate.priorities(answer, jobs)
        for place, job in enumerate(jobs):
            number = float(numbers[place]) if numbers is not None else float(FIRST_PRIORITY - job.index)
            object.__setattr__(job, "priority", number)
            object.__setattr__(job, "_order", (-number, job.index))
