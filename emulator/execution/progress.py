"""A running job is work left and a rate; between two events nothing ticks.

Work is in microseconds at rate 1. Killing, requeueing, suspending, moving: each changes
work or rate at an instant, and the end of the run follows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.engine.events import FINISH, TIMEOUT


class Progress:
    """What a run that began now would be like, from the work that is left of each job.

    Args:
        work: true work of each job in microseconds.
        limit: time limit of each job in microseconds.
        kill_at_limit: whether a job that reaches its limit is killed.

    Attributes:
        duration: how long a run that begins now would last, in microseconds, by job.
        ends_by: how it would end, FINISH or TIMEOUT; finishing wins when both fall together.
    """

    __slots__ = ("_kill_at_limit", "_limit", "_work", "duration", "ends_by")

    def __init__(self, work: NDArray[np.int64], limit: NDArray[np.int64], *, kill_at_limit: bool) -> None:
        self._work = work
        self._limit = limit
        self._kill_at_limit = kill_at_limit
        killed = limit < work if kill_at_limit else np.zeros(len(work), dtype=bool)
        self.duration: list[int] = np.where(killed, limit, work).tolist()
        self.ends_by: list[int] = np.where(killed, TIMEOUT, FINISH).tolist()

    def restart(self, index: int) -> None:
        """Lose all progress: the job begins anew (REQUEUE)."""
        self._set_left(index, int(self._work[index]))

    def _set_left(self, index: int, left: int) -> None:
        limit = int(self._limit[index])
        killed = self._kill_at_limit and limit < left
        self.duration[index] = limit if killed else left
        self.ends_by[index] = TIMEOUT if killed else FINISH
