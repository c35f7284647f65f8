"""Changes of state where the SelectType gives out blocks.

As :mod:`emulator.engine.apply`, of which it is a part that only such simulations load.
"""

from __future__ import annotations

from typing import Any

from emulator.engine.apply import Apply
from emulator.execution.handover import BlockHandover
from emulator.scheduling.selector import Selector
from slurm_sim_plugins.jobs import Job, Run
from slurm_sim_plugins.profile import RunEntry


class BlockApply(Apply):
    """Changes the state, and knows on which block each run is.

    A run holds all nodes of its block. While the checkpoint of the run before is being
    written, a job that takes any of its midplanes waits on them.

    Args:
        args: as :class:`Apply`.
        selector: chooses a block for a start that does not say where.
    """

    _handover: BlockHandover

    def __init__(self, *args: Any, selector: Selector) -> None:
        super().__init__(*args)
        assert self._cluster_state.block_state is not None, "there are no blocks"
        self._block_state = self._cluster_state.block_state
        self._blocks = self._block_state.blocks
        self._selector = selector
        self._handover = BlockHandover()
        self._table.blocks = self._last_block = [-1] * len(self._table)
        self._table.block_names = self._blocks.names

    def submit(self, job: Job) -> None:
        """A job enters the queue, unless no block holds it."""
        largest = self._blocks.largest
        if job.processors > largest:
            self.reject(job, f"needs {job.processors} processors, the largest block has {largest}")
            return
        super().submit(job)

    def _occupy(self, job: Job, where: int | None) -> tuple[Any, ...]:
        """A run begins on a block of which nothing is in use."""
        block = self._selector.choose(job) if where is None else where
        blocks = self._blocks
        entry = self._begin(job, blocks.sizes[block], self._handover.enter(job.index, blocks.takes[block], self.now))
        self._block_state._enter(block, entry)
        self._last_block[job.index] = block
        return entry, None, blocks.names[block]

    def preempt(self, run: Run, preemptor: Job, reason: str = "") -> None:
        """A run is ended by preemption; what checkpoint is to be written, is written on its block."""
        block = self._block_state._of[run.job]
        self._handover.leaving = self._blocks.takes[block]
        super().preempt(run, preemptor, reason)
        self._table.past_blocks.append(block)

    def _leave(self, index: int) -> RunEntry:
        """A run leaves its block."""
        entry = super()._leave(index)
        block = self._block_state._leave(entry[4])
        self._cluster_state.free = self.free = self.free + self._blocks.sizes[block] - entry[2]
        return entry

    def _replanned(self, index: int, entry: RunEntry) -> None:
        """A run is planned to end at another time."""
        super()._replanned(index, entry)
        self._block_state._replan(entry)
