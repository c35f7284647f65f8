"""Waiting time over walltime, to a power: short and large jobs rise as they wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.views import PriorityView

POWERS: dict[str, tuple[int, int]] = {"wfp": (3, 3), "wfp2": (2, 3)}
"""Of the time in the queue and of the planned time, by name of the score."""


class Wfp:
    """A job's priority is (time in the queue / planned time)^3 times its processors.

    It grows while the job waits, so all priorities are set before each pass. Jobs
    of equal priority, such as those that arrive just now, stand in the order of (submit, id).

    Source: Tang et al. 2013 (JPDC 73), equation 5. ``wfp2``, waited^2 / planned^3 times
    processors, is the score of the Mira simulations of Nickolay et al. (their public code).

    Args:
        score: ``wfp`` or ``wfp2``.
    """

    name: ClassVar[str] = "priority/wfp"
    period: ClassVar[float | None] = 0.0

    def __init__(self, score: Literal["wfp", "wfp2"] = "wfp") -> None:
        self._waited, self._planned = POWERS[score]

    @hookimpl
    def priority_set(self, view: PriorityView) -> Sequence[float]:
        now, waited, planned = view.now, self._waited, self._planned
        return [(now - job.submit) ** waited / job.planned_queue**planned * job.processors for job in view.to_set]
