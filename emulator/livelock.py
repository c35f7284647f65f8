"""A run that goes on and gets nowhere: jobs are sent back again and again, and nothing else happens.

A run makes progress when a job is submitted, when an operator's command comes, when a job ends, and when less is left
of a job than ever before at the moment at which it is sent back. A run on the machine that is not disturbed will end,
so that it is progress, too. Where time stands still there is none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

TIMES = 1000
"""How often a job is sent back without any progress before the run counts as one that gets nowhere."""

MOST_IDLE_WAKES = 1_000_000
"""So often a scheduler may be woken in a row while nothing runs and nothing is to come, and still start nothing."""


class IdleWakes:
    """Counts how often a scheduler asked to be woken, and nothing else happened."""

    def __init__(self) -> None:
        self._count = self._waiting = 0

    def too_many(self, waiting: int, busy: bool) -> str:
        """Note that it asks once more; returns what to say if it has asked too often.

        Args:
            waiting: how many jobs wait.
            busy: whether anything runs or is to come.
        """
        if waiting != self._waiting or busy:
            self._waiting, self._count = waiting, 0
        self._count += 1
        if self._count <= MOST_IDLE_WAKES:
            return ""
        return (
            f"Wake: asked for {self._count} times while {waiting} jobs wait, nothing runs and nothing is to come; "
            "start one"
        )


class Livelock:
    """Watches jobs that are sent back: preempted, or requeued."""

    def __init__(self) -> None:
        self._times: Counter[int] = Counter()
        self._least: dict[int, float] = {}
        self._further = 0
        self._last: dict[int, tuple[float, int, int, bool]] = {}

    def sent_back(self, job: int, left: float) -> bool:
        """Note that a job was sent back; says whether it is time to look for progress (:meth:`stuck`).

        Args:
            job: its id.
            left: what was left of its work then, in any unit; infinite for work without end.
        """
        if left < self._least.get(job, math.inf):
            self._least[job] = left
            self._further += 1
        self._times[job] += 1
        return self._times[job] % TIMES == 0

    def stuck(self, job: int, now: float, ended: int, starts: Iterable[float], to_come: bool = False) -> bool:
        """Whether there was no progress since the job was looked at before.

        Args:
            job: its id.
            now: the time.
            ended: how many jobs have ended so far.
            starts: when the runs began that are on the machine and have an end.
            to_come: whether submissions or commands are to come, which are progress unless time stands still.
        """
        before = self._last.get(job)
        self._last[job] = now, ended, self._further, to_come
        if before is None or before[1:3] != (ended, self._further):
            return False
        if before[0] == now:
            return True
        return not (to_come or before[3]) and all(start > before[0] for start in starts)


def standstill(now: float, job: int, how: str) -> str:
    """The message for a run without progress: when that was found, and of which job."""
    return (
        f"time {now:g} s: job {job} was {how} {TIMES} times while no job ended or got further than before; "
        "see which jobs preempt each other, and what is kept of their work"
    )
