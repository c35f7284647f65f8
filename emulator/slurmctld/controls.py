"""What the loops may ask of the controller."""

from __future__ import annotations

from typing import Protocol

from emulator.slurmctld.job import Job, Partition
from emulator.slurmctld.nodes import Allocation, Mask


class Controls(Protocol):
    """The controller, as the loops see it."""

    def start(self, job: Job, partition: Partition, allocation: Allocation, limit: float | None = None) -> None:
        """Start a waiting job now; ``limit`` replaces its limit."""

    def preempt(self, job: Job, preemptor: Job) -> None:
        """Make a running job give way."""

    def not_reserved(self, job: Job, at: float | None = None, length: float | None = None) -> Mask:
        """Nodes that no reservation keeps from a job from ``at`` (now) on, for ``length`` seconds (its limit)."""
