"""A running job is work left; between two events nothing ticks.

Work is in microseconds at full speed. What preemption leaves of it, and how long a run
lasts that does the rest, is the affair of a mode: one module each beside this one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from emulator.config.preemption import Preemption
from emulator.execution.checkpoint import NEVER_WRITTEN, IntervalCheckpoint, JustInTimeCheckpoint, spread_over_limit
from emulator.execution.requeue import Requeue
from emulator.execution.suspend import Suspend
from emulator.state.events import FINISH, TIMEOUT
from emulator.state.instants import MICROSECONDS, instant, nearest
from emulator.state.jobs import JobTable
from slurm_sim_plugins.jobs import Run
from slurm_sim_plugins.realtime import is_realtime
from slurm_sim_plugins.views import ClusterState

LEAST_PLANNED = MICROSECONDS
"""A job that has outlived its prediction is planned to need this long still, as the papers' floor is."""


class Mode(Protocol):
    """What preemption does, to a job by its index; times in microseconds, work in parts of them.

    Attributes:
        parts: of a microsecond, so that what is done in whole microseconds is a whole number of them.
    """

    parts: int

    def span(self, index: int, left: int, resumed: bool) -> int:
        """How long a run lasts that does ``left`` of work; ``resumed`` if it goes on from an earlier one."""

    def kept(self, index: int, left: int, elapsed: int, resumed: bool) -> int:
        """How much work survives of a run that was to do ``left`` and is preempted after ``elapsed``."""

    def unsaved(self, index: int, elapsed: int, resumed: bool) -> int:
        """How long ago the last thing was saved that a preemption after ``elapsed`` would leave."""

    def away(self, index: int) -> int:
        """How long its processors and its job are busy after that, if any work survives."""


class Progress:
    """What a run that began now would be like, from the work that is left of each job.

    The limit holds for a job's own work: overhead does not count against it.

    Args:
        table: work and limit of each job.
        preemption: what preemption does.
        kill_at_limit: whether a job that reaches its limit is killed.

    Attributes:
        duration: how long a run that begins now would last, in microseconds, by job.
        ends_by: how it would end, FINISH or TIMEOUT; finishing wins when both fall together.
        useful: work that a job does before it ends, in microseconds, by job.
        overhead: whether runs may last longer than their work.
    """

    __slots__ = (
        *("_kills", "_mode", "_parts", "_preemption", "_resumed", "_saved", "_table"),
        *("duration", "ends_by", "overhead", "useful"),
    )

    def __init__(self, table: JobTable, preemption: Preemption, *, kill_at_limit: bool) -> None:
        work, limit = table.work, table.limit
        self._table, self._preemption, self._kills = table, preemption, kill_at_limit
        killed = limit < work if kill_at_limit else np.zeros(len(work), dtype=bool)
        self.useful: list[int] = np.where(killed, limit, work).tolist()
        self.ends_by: list[int] = np.where(killed, TIMEOUT, FINISH).tolist()
        self.overhead = preemption.overhead
        self.duration: list[int] = self.useful.copy()
        self._mode = make_mode(table, preemption)
        self._parts = parts = self._mode.parts
        self._saved: dict[int, int] = {}
        self._resumed: set[int] = set()
        if self.overhead:
            self.duration = [self._mode.span(index, left * parts, False) for index, left in enumerate(self.useful)]

    def limited(self, index: int) -> None:
        """A job that has not run has another limit now."""
        work, limit = int(self._table.work[index]), int(self._table.limit[index])
        killed = self._kills and limit < work
        self.useful[index] = self.duration[index] = limit if killed else work
        self.ends_by[index] = TIMEOUT if killed else FINISH
        if self.overhead:
            if isinstance(self._mode, IntervalCheckpoint) and not is_realtime(self._table.jobs[index]):
                self._mode.limited(index, lambda write: intervals(self._preemption, [limit], [write])[0])
            self.duration[index] = self._mode.span(index, self.useful[index] * self._parts, False)

    def preempt(self, index: int, elapsed: int) -> tuple[int, int]:
        """A run is preempted after ``elapsed`` microseconds at work.

        Returns:
            The work that it added and that survives, and how long its job and its
            processors stay busy; in microseconds.
        """
        if not self.overhead:
            return 0, 0
        parts = self._parts
        useful, before = self.useful[index] * parts, self._saved.get(index, 0)
        kept = self._mode.kept(index, useful - before, elapsed, index in self._resumed)
        self._saved[index] = saved = min(before + kept, useful)
        if saved or isinstance(self._mode, Suspend):
            self._resumed.add(index)
        self.duration[index] = self._mode.span(index, useful - saved, index in self._resumed)
        # Rounded so that the runs add up to the work, however many there are.
        added = nearest(saved, parts) - nearest(before, parts)
        return added, self._mode.away(index) if added else 0

    def unsaved(self, index: int, elapsed: int) -> int:
        """Microseconds since the last complete checkpoint of a run, or since its beginning; see :class:`Mode`."""
        return self._mode.unsaved(index, elapsed, index in self._resumed)

    def wall(self, index: int, seconds: float) -> float:
        """How long the next run of a job lasts, in seconds, if all its work takes ``seconds``."""
        if not self.overhead:
            return seconds
        work, parts, saved = instant(seconds), self._parts, self._saved.get(index, 0)
        left = work * parts
        if saved:
            left = max(LEAST_PLANNED * parts, left - saved)
        lasts = self._mode.span(index, left, index in self._resumed)
        # What takes no longer than its work takes just as long, without rounding.
        return seconds if lasts == work else lasts / MICROSECONDS


class Unsaved:
    """How much of a run would be lost, in seconds; what :meth:`PreemptView.unsaved` answers.

    Args:
        cluster_state: the current state.
        table: when runs began.
        progress: what preemption leaves.
        delay: microseconds that the current run of a job waited, or waits, on its processors.
    """

    def __init__(
        self, cluster_state: ClusterState, table: JobTable, progress: Progress, delay: Callable[[int], int]
    ) -> None:
        self._cluster_state = cluster_state
        self._table = table
        self._progress = progress
        self._delay = delay

    def seconds(self, run: Run) -> float:
        """Seconds since the last complete checkpoint of a run, or since its beginning."""
        index = run.job.index
        elapsed = instant(self._cluster_state.now) - self._table.start[index] - self._delay(index)
        return self._progress.unsaved(index, max(0, elapsed)) / MICROSECONDS


def make_mode(table: JobTable, preemption: Preemption) -> Mode:
    """The mode of a simulation, with the costs of each job."""
    if preemption.mode == "REQUEUE":
        return Requeue()
    if preemption.mode == "SUSPEND":
        return Suspend(preemption.slowdown, instant(preemption.cost))
    sizes = [job.processors for job in table.jobs]
    costs = {size: (instant(preemption.write_cost(size)), instant(preemption.read_cost(size))) for size in set(sizes)}
    write, read = [costs[size][0] for size in sizes], [costs[size][1] for size in sizes]
    if preemption.checkpoint == "jit":
        return JustInTimeCheckpoint(write, read)
    interval = intervals(preemption, table.limit.tolist(), write)
    for job in filter(is_realtime, table.jobs):
        interval[job.index] = NEVER_WRITTEN
    return IntervalCheckpoint(interval, write, read)


def intervals(preemption: Preemption, limit: Sequence[int], write: Sequence[int]) -> list[int]:
    """Microseconds of progress between two checkpoints, by job, where they are not just in time.

    Args:
        preemption: the options.
        limit: microseconds, by job.
        write: microseconds that one checkpoint takes, by job.
    """
    if preemption.checkpoint == "share":
        return spread_over_limit(limit, write, preemption.share)
    return [instant(preemption.interval)] * len(limit)
