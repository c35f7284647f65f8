"""CHECKPOINT: a preempted run is lost but for what its last checkpoint holds.

A checkpoint stops the run while it is written, on all its processors; one that is not
complete when the run is preempted is lost, one that is complete at that instant counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

NEVER_WRITTEN = 2**62
"""An interval, in microseconds of progress, that no run is long enough for."""


class IntervalCheckpoint:
    """Checkpoints after equal pieces of progress, none where no work is left to save.

    Args:
        interval: microseconds of progress between two checkpoints, by job.
        write: microseconds that one takes, by job.
        read: microseconds that a run takes to go on from one, by job.
    """

    parts = 1

    def __init__(self, interval: list[int], write: Sequence[int], read: Sequence[int]) -> None:
        self._interval = interval
        self._write = write
        self._read = read

    def limited(self, index: int, interval: Callable[[int], int]) -> None:
        """A job has another limit: ``interval`` says the one between its checkpoints, from what one takes."""
        self._interval[index] = interval(self._write[index])

    def span(self, index: int, left: int, resumed: bool) -> int:
        """The work and its checkpoints, after reading the last one of the run before."""
        return left + self._count(index, left) * self._write[index] + (self._read[index] if resumed else 0)

    def kept(self, index: int, left: int, elapsed: int, resumed: bool) -> int:
        """What the complete checkpoints of this run hold."""
        return self.written(index, left, elapsed, resumed) * self._interval[index]

    def written(self, index: int, left: int, elapsed: int, resumed: bool) -> int:
        """How many checkpoints this run has completed."""
        return min(self._working(index, elapsed, resumed) // self._cycle(index), self._count(index, left))

    def done(self, index: int, left: int, elapsed: int, resumed: bool) -> int:
        """What this run has done of its work, saved or not."""
        complete = self.written(index, left, elapsed, resumed)
        since = self._working(index, elapsed, resumed) - complete * self._cycle(index)
        # The next checkpoint may be half written.
        since = min(since, self._interval[index])
        return min(left, complete * self._interval[index] + since)

    def unsaved(self, index: int, elapsed: int, resumed: bool) -> int:
        """How long ago the last complete checkpoint was written, or the run began to work."""
        # Of a run that goes on every checkpoint so far was one that it had to write.
        return self._working(index, elapsed, resumed) % self._cycle(index)

    def _working(self, index: int, elapsed: int, resumed: bool) -> int:
        """For how long the run has worked and written, after reading."""
        return max(0, elapsed - self._read[index] if resumed else elapsed)

    def _cycle(self, index: int) -> int:
        return self._interval[index] + self._write[index]

    def _count(self, index: int, left: int) -> int:
        """How many checkpoints a run writes that does ``left`` of work."""
        return max(0, -(-left // self._interval[index]) - 1)

    def away(self, index: int) -> int:
        """The job waits again at once."""
        return 0


class JustInTimeCheckpoint:
    """One checkpoint, when the run is preempted; nothing is lost.

    The processors are handed over at once, but are not at work before it is written. A
    run that has done nothing since it began, or read the last one, writes none.

    Args:
        write: microseconds that a checkpoint takes, by job.
        read: microseconds that a run takes to go on from one, by job.
    """

    parts = 1

    def __init__(self, write: Sequence[int], read: Sequence[int]) -> None:
        self._write = write
        self._read = read

    def span(self, index: int, left: int, resumed: bool) -> int:
        """The work, after reading the last checkpoint."""
        return left + (self._read[index] if resumed else 0)

    def kept(self, index: int, left: int, elapsed: int, resumed: bool) -> int:
        """All that was done since the last checkpoint was read."""
        return max(0, elapsed - self._read[index] if resumed else elapsed)

    def written(self, index: int, left: int, elapsed: int, resumed: bool) -> int:
        """None while the run lasts."""
        return 0

    def done(self, index: int, left: int, elapsed: int, resumed: bool) -> int:
        """What this run has done of its work."""
        return min(left, self.kept(index, left, elapsed, resumed))

    def unsaved(self, index: int, elapsed: int, resumed: bool) -> int:
        """Nothing is ever lost."""
        return 0

    def away(self, index: int) -> int:
        """The job waits again when its checkpoint is written."""
        return self._write[index]


def spread_over_limit(limit: Sequence[int], write: Sequence[int], share: float) -> list[int]:
    """Intervals of progress with which checkpoints take at most a share of the limit.

    As many checkpoints as fit into that share, evenly spaced over the limit; a job whose
    share holds none is never checkpointed. The share is taken as the decimal that it is
    written as: 0.29 of 100 s holds 29 checkpoints of 1 s. One that takes no time counts as
    a microsecond.

    Args:
        limit: microseconds, by job.
        write: microseconds that one checkpoint takes, by job.
        share: more than 0, at most 1.

    Source: the paper on real-time jobs on Mira, section 4.2, APP-CKPT.
    """
    part = Fraction(str(share))
    intervals = []
    for allowed, cost in zip(limit, write, strict=True):
        count = allowed * part.numerator // (part.denominator * max(cost, 1))
        intervals.append(-(-allowed // (count + 1)) if count else NEVER_WRITTEN)
    return intervals
