"""A running job is work left and a rate; between two events nothing ticks.

Work is in microseconds at rate 1. Killing, requeueing, suspending, moving: each changes
work or rate at an instant, and the end follows.
"""

from __future__ import annotations

from emulator.engine.events import FINISH, TIMEOUT


class Progress:
    """Work left of each job, its rate, and since when the rate holds.

    Args:
        work: true work of each job in microseconds; is copied.
        kill_at_limit: whether a job that reaches its limit is killed.
    """

    __slots__ = ("_kill_at_limit", "_total", "left", "rate")

    def __init__(self, work: list[int], *, kill_at_limit: bool) -> None:
        self._total = work
        self._kill_at_limit = kill_at_limit
        self.left = list(work)
        self.rate: dict[int, float] = {}

    def end_of_run(self, index: int, now: int, limit: int) -> tuple[int, int]:
        """When a run that begins now will end, and how.

        Args:
            index: position of the job in the table.
            now: instant of the start, in microseconds.
            limit: the job's limit, in microseconds from its start.

        Returns:
            ``(instant, FINISH or TIMEOUT)``; finishing wins when both fall together.
        """
        duration = self.left[index]
        rate = self.rate.get(index)
        if rate is not None:
            duration = round(duration / rate)
        if self._kill_at_limit and limit < duration:
            return now + limit, TIMEOUT
        return now + duration, FINISH

    def forget(self, index: int) -> None:
        """Lose all progress: the job begins anew (REQUEUE)."""
        self.left[index] = self._total[index]
