"""priority/recent_use: the user with the least recent use of the machine goes first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from slurm_sim_plugins import ConfigurationError, Job, PriorityView, Run, hookimpl


class RecentUse:
    """A job's priority is less the more processor time its user's jobs have used lately.

    What was used counts half after each half-life. Among users who have used nothing, and
    among the jobs of one user, it is first come, first served. Jobs without a user count as
    those of one user. What runs counts when it has ended.

    Args:
        half_life: seconds.
        period: recalculate the priorities of all waiting jobs when so many seconds have passed; 0:
            before each pass.
    """

    name: ClassVar[str] = "priority/recent_use"

    def __init__(self, half_life: float = 7 * 86400.0, period: float = 0.0) -> None:
        if not half_life > 0 or not period >= 0:
            raise ConfigurationError(
                f"priority/recent_use: half_life is {half_life:g} and period {period:g}; give more than 0 s and 0 s "
                "or more"
            )
        self.period = period
        self._half_life = half_life
        self._used: dict[Any, tuple[float, float]] = {}

    @hookimpl
    def priority_set(self, view: PriorityView) -> Sequence[float]:
        return [-self.use_of(job.user, view.now) for job in view.to_set]

    @hookimpl
    def job_requeued(self, job: Job, run: Run, now: float) -> None:
        self._add(job.user, run, now)

    @hookimpl
    def job_ended(self, job: Job, run: Run, now: float) -> None:
        self._add(job.user, run, now)

    def use_of(self, user: Any, now: float) -> float:
        """Processor-seconds that a user's jobs have used, with what lies back counted less."""
        used, when = self._used.get(user, (0.0, now))
        return used * math.exp2((when - now) / self._half_life)

    def _add(self, user: Any, run: Run, now: float) -> None:
        self._used[user] = (self.use_of(user, now) + (now - run.start) * run.processors, now)
