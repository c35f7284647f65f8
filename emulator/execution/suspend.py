"""SUSPEND: a preempted run is frozen, and its job goes on later, on any processors.

As on virtual machines: every run is slower by a fixed share, whether it is ever
preempted or not, and to suspend and resume takes time at the beginning of the next run.
"""

from __future__ import annotations

from fractions import Fraction

from emulator.state.instants import nearest


class Suspend:
    """Runs keep all progress.

    Args:
        slowdown: by how much every run is slowed down; 0.05 for five percent. It is taken
            as the decimal that it is written as.
        cost: microseconds at the beginning of a resumed run.
    """

    def __init__(self, slowdown: float, cost: int) -> None:
        factor = 1 + Fraction(str(slowdown))
        # So many parts of work are done in as many parts of time: both are whole numbers.
        self.parts, self._time_parts = factor.numerator, factor.denominator
        self._cost = cost

    def span(self, index: int, left: int, resumed: bool) -> int:
        """The work, slowed down, after the cost of resuming."""
        return nearest(left, self._time_parts) + (self._cost if resumed else 0)

    def kept(self, index: int, left: int, elapsed: int, resumed: bool) -> int:
        """All that was done since the run went on."""
        working = elapsed - self._cost if resumed else elapsed
        return max(0, working) * self._time_parts

    def unsaved(self, index: int, elapsed: int, resumed: bool) -> int:
        """Nothing is ever lost."""
        return 0

    def away(self, index: int) -> int:
        """The job waits again at once: its cost is charged when it resumes."""
        return 0
