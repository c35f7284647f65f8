"""What the loops may ask of the controller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from emulator.scheduling.gang import Rows
from emulator.state.job import Job
from emulator.state.partition import Partition
from emulator.state.reservations import Reservations
from slurm_sim_plugins.nodes import Allocation, Mask


class Controls(Protocol):
    """The controller, as the loops see it.

    Attributes:
        rows: jobs that share resources.
        reservations: nodes that are kept for some.
    """

    rows: Rows
    reservations: Reservations

    def start(
        self,
        job: Job,
        partition: Partition,
        allocation: Allocation,
        limit: float | None = None,
        row: int = 0,
        reason: str = "",
        backfilled: bool = False,
    ) -> None:
        """Start a waiting job now; ``limit`` replaces its limit, ``row`` is that of gang scheduling.

        ``reason`` is the scheduler's, for the event log; ``backfilled`` says that it goes ahead of one that waits.
        """

    def give_up_late(self, job: Job) -> bool:
        """Give up a job that waits, if it cannot be over by its deadline any more; whether it was."""

    def preempt(self, job: Job, preemptor: Job) -> None:
        """Preempt a running job."""

    def put_back(self, job: Job) -> None:
        """Have a component wait for a while which started, but of which another one could not."""

    def not_reserved(self, job: Job, at: float | None = None, length: float | None = None) -> Mask:
        """Nodes that no reservation keeps from a job from ``at`` (now) on, for ``length`` seconds (its limit)."""


class Loops(Protocol):
    """What the controller asks of a scheduler."""

    @property
    def has_main_loop(self) -> bool:
        """Whether its plugin makes the passes of the main loop."""

    def run(self, submitted: Sequence[Job] | None = None, full: bool = False) -> bool:
        """Make a pass of the main loop; whether it left out no job."""

    @property
    def pause(self) -> float | None:
        """For how many seconds a cycle of backfill pauses; None if none has begun that is not over."""

    def backfill(self, changed: bool = False) -> None:
        """Make a cycle of backfill, or go on with one that has paused; ``changed``: whether anything has happened."""

    def started(self, job: Job) -> None:
        """A job has started."""
