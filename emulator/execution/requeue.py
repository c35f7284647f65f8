"""REQUEUE: a preempted run is lost, and its job begins anew."""

from __future__ import annotations


class Requeue:
    """Runs are as long as their work; nothing survives preemption."""

    def span(self, index: int, left: float, resumed: bool) -> float:
        """The work itself."""
        return left

    def kept(self, index: int, left: float, elapsed: int, resumed: bool) -> float:
        """Nothing."""
        return 0

    def unsaved(self, index: int, elapsed: int, resumed: bool) -> int:
        """All of it."""
        return elapsed

    def away(self, index: int) -> int:
        """The job waits again at once."""
        return 0
