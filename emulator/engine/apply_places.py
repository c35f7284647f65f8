"""Changes of state where the SelectType gives out blocks.

As :mod:`emulator.engine.apply`, of which it is a part that only such simulations load.
"""

from __future__ import annotations

from bisect import insort
from heapq import heappush
from typing import Any

from emulator.engine.apply import Apply
from emulator.execution.handover import PlacedHandover
from emulator.scheduling.selector import Selector
from emulator.state.instants import MICROSECONDS, NEVER, instant
from emulator.state.jobs import RUNNING
from slurm_sim_plugins.jobs import Job, Run
from slurm_sim_plugins.profile import RunEntry

_set = object.__setattr__
"""Writes to a job, which refuses plain assignment."""


class PlacedApply(Apply):
    """Changes the state, and knows on which block each run is.

    A run holds all nodes of its block. While the checkpoint of the run before is being
    written, who takes any of its midplanes waits on them.

    Args:
        args: as :class:`Apply`.
        selector: chooses a block for a start that does not say where.
    """

    _handover: PlacedHandover

    def __init__(self, *args: Any, selector: Selector) -> None:
        super().__init__(*args)
        assert self._situation.places is not None, "the situation has no places"
        self._places = self._situation.places
        self._blocks = self._places.blocks
        self._selector = selector
        self._handover = PlacedHandover()
        self._table.blocks = self._last_block = [-1] * len(self._table)
        self._table.block_names = self._blocks.names

    def submit(self, job: Job) -> None:
        """A job enters the queue, unless no block holds it."""
        largest = self._blocks.largest
        if job.processors > largest:
            self.reject(job, f"needs {job.processors} processors, the largest block has {largest}")
            return
        super().submit(job)

    def start(self, job: Job, reason: str = "", where: int | None = None) -> None:
        """A waiting job starts on a block of which nothing is in use."""
        situation, progress, now, table, index = self._situation, self._progress, self.now, self._table, job.index
        block = self._selector.place(job) if where is None else where
        self.state[index] = RUNNING
        situation.free = self.free = self.free - self._blocks.sizes[block]
        situation._reservation = None
        if situation._plan is not None:
            situation._plan.started(job)
        was_head = self._queue.remove(job)
        if situation._arrived and job in situation._arrived:
            situation._arrived.remove(job)

        self._sequence = sequence = self._sequence + 1
        delay = self._handover.enter(index, self._blocks.takes[block], now)
        start = situation.now
        planned_end = now + instant(job.planned_running) + delay
        if delay or job.planned_running != job.planned:
            self.changed = True
        heappush(self._heap, (now + progress.duration[index] + delay, progress.ends_by[index], sequence, index))
        self.runs[index] = entry = (planned_end / MICROSECONDS, sequence, job.processors, start, job)
        insort(situation._runs, entry)
        self._places._enter(block, entry)

        table.start[index] = now
        self._last_block[index] = block
        if not was_head:
            table.backfilled[index] = True
            _set(job, "backfilled", True)
        elif table.blocked[index] and table.could_start[index] == NEVER:
            table.could_start[index] = now
        if self.watch.head is not None:
            self.watch.started(job)
        if self._start_witness is not None:
            run, name = Run._make(entry), self._blocks.names[block]
            self._start_witness.started(now, run, not was_head, reason, block=name)

    def preempt(self, run: Run, preemptor: Job, reason: str = "") -> None:
        """A run is ended by preemption; what checkpoint is to be written, is written on its block."""
        block = self._places._of[run.job]
        self._handover.leaving = self._blocks.takes[block]
        super().preempt(run, preemptor, reason)
        self._table.past_blocks.append(block)

    def _leave(self, index: int) -> RunEntry:
        """A run leaves its block."""
        entry = super()._leave(index)
        block = self._places._leave(entry[4])
        self._situation.free = self.free = self.free + self._blocks.sizes[block] - entry[2]
        return entry

    def _replanned(self, index: int, entry: RunEntry) -> None:
        """A run is planned to end at another time."""
        super()._replanned(index, entry)
        self._places._replan(entry)
