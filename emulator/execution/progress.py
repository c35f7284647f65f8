"""A running job is work left and a rate; between two events nothing ticks.

Work is in microseconds at rate 1. Killing, requeueing, suspending, moving: each changes
work or rate at an instant, and the end of the run follows.
"""

from __future__ import annotations

from emulator.engine.events import FINISH, TIMEOUT


class Progress:
    """Work left of each job, and what a run that began now would be like.

    Args:
        work: true work of each job in microseconds.
        limit: time limit of each job in microseconds.
        kill_at_limit: whether a job that reaches its limit is killed.

    Attributes:
        duration: how long a run that begins now would last, in microseconds, by job.
        ends_by: how it would end, FINISH or TIMEOUT; finishing wins when both fall together.
    """

    __slots__ = ("_kill_at_limit", "_limit", "_work", "duration", "ends_by", "left")

    def __init__(self, work: list[int], limit: list[int], *, kill_at_limit: bool) -> None:
        self._work = work
        self._limit = limit
        self._kill_at_limit = kill_at_limit
        self.left = list(work)
        if kill_at_limit:
            self.duration = list(map(min, work, limit))
            self.ends_by = bytearray(TIMEOUT if most < done else FINISH for done, most in zip(work, limit, strict=True))
        else:
            self.duration = list(work)
            self.ends_by = bytearray([FINISH]) * len(work)

    def restart(self, index: int) -> None:
        """Lose all progress: the job begins anew (REQUEUE)."""
        self._set_left(index, self._work[index])

    def _set_left(self, index: int, left: int) -> None:
        self.left[index] = left
        killed = self._kill_at_limit and self._limit[index] < left
        self.duration[index] = self._limit[index] if killed else left
        self.ends_by[index] = TIMEOUT if killed else FINISH
