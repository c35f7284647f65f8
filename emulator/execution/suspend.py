"""SUSPEND: a preempted run is frozen, and its job goes on later, on any processors.

As on virtual machines: every run is slower by a fixed share, whether it is ever
preempted or not, and to suspend and resume takes time at the beginning of the next run.
"""

from __future__ import annotations


class Suspend:
    """Runs keep all progress.

    Args:
        slowdown: by how much every run is slowed down; 0.05 for five percent.
        cost: microseconds at the beginning of a resumed run.
    """

    def __init__(self, slowdown: float, cost: int) -> None:
        self._factor = 1 + slowdown
        self._cost = cost

    def span(self, index: int, left: float, resumed: bool) -> float:
        """The work, slowed down, after the cost of resuming."""
        return left * self._factor + (self._cost if resumed else 0)

    def kept(self, index: int, left: float, elapsed: int, resumed: bool) -> float:
        """All that was done since the run went on."""
        working = elapsed - self._cost if resumed else elapsed
        return max(0, working) / self._factor

    def unsaved(self, index: int, elapsed: int, resumed: bool) -> int:
        """Nothing is ever lost."""
        return 0

    def away(self, index: int) -> int:
        """The job waits again at once: its cost is charged when it resumes."""
        return 0
