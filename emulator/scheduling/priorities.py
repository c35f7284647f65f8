"""Asks the priority plugin for numbers, and puts jobs where they belong."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from emulator.engine.apply import Apply
from emulator.hooks import FAILURES, Hooks
from emulator.state.jobs import JobTable
from emulator.validate import Validator
from slurm_sim_plugins.jobs import FIRST_PRIORITY, Job
from slurm_sim_plugins.views import ClusterState, PriorityView

_INDEX = attrgetter("index")


class Priorities:
    """Sets priorities: of jobs that arrive and, if the plugin has a period, of all that wait.

    Args:
        cluster_state: the current state.
        table: the job table.
        hooks: the priority plugin's hook among them.
        apply: puts the queue into its new order.
        validate: checks the plugin's answers.
    """

    def __init__(
        self, cluster_state: ClusterState, table: JobTable, hooks: Hooks, apply: Apply, validate: Validator
    ) -> None:
        self._cluster_state = cluster_state
        self._hooks = hooks
        self._apply = apply
        self._validate = validate
        self._view = PriorityView(cluster_state)
        self._site = table.site_factors() if hooks.site_factor is not None else None
        self._due = float("-inf")

    def set(self, jobs: Sequence[Job]) -> None:
        """Give a number to each of some jobs, which come in the order of (submit, id)."""
        object.__setattr__(self._view, "to_set", tuple(jobs))
        if self._site is not None:
            self._ask_site(jobs, self._site)
        try:
            answer = self._hooks.priority_set(self._view)  # type: ignore[misc]
        except FAILURES as error:
            self._hooks.fail("priority_set", error, time=self._cluster_state.now, job=jobs[0].id)
        numbers = None if answer is None else self._validate.priorities(answer, list(jobs))
        for index, job in enumerate(jobs):
            number = float(numbers[index]) if numbers is not None else float(FIRST_PRIORITY - job.index)
            object.__setattr__(job, "_order", (-number, job.index))

    def _ask_site(self, jobs: Sequence[Job], site: list[int]) -> None:
        """Let the site's plugin give numbers for the priority."""
        try:
            answer = self._hooks.site_factor(self._view)  # type: ignore[misc]
        except FAILURES as error:
            self._hooks.fail("site_factor", error, time=self._cluster_state.now, job=jobs[0].id)
        if answer is not None:
            for job, number in zip(jobs, self._validate.site_factors(answer, jobs), strict=True):
                site[job.index] = number

    def renew(self) -> None:
        """Set all waiting jobs' numbers, unless less than the period has passed since."""
        now = self._cluster_state.now
        if now < self._due or not self._cluster_state.queue:
            return
        self._due = now + (self._hooks.priority_period or 0.0)
        self.set(sorted(self._cluster_state.queue, key=_INDEX))
        self._apply.reorder()
