"""REQUEUE: a preempted run is lost, and its job starts over."""

from __future__ import annotations


class Requeue:
    """Runs are as long as their work; nothing survives preemption."""

    parts = 1

    def span(self, index: int, left: int, resumed: bool) -> int:
        """The work itself."""
        return left

    def kept(self, index: int, left: int, elapsed: int, resumed: bool) -> int:
        """Nothing."""
        return 0

    def unsaved(self, index: int, elapsed: int, resumed: bool) -> int:
        """All of it."""
        return elapsed

    def away(self, index: int) -> int:
        """The job waits again at once."""
        return 0
