"""A scheduling pass, and making room, where the SelectType gives out blocks."""

from __future__ import annotations

from typing import Any

from emulator.engine.apply_blocks import BlockApply
from emulator.scheduling.room import RoomMaker
from emulator.scheduling.scheduling_pass import SchedulingPass
from emulator.scheduling.selector import Selector
from slurm_sim_plugins.decisions import Decision, Start
from slurm_sim_plugins.jobs import Job


class BlockPass(SchedulingPass):
    """Runs passes whose starts may say on which block.

    A run may outlive its planned end by what it waited for a checkpoint to be written.

    Args:
        args, options: as :class:`SchedulingPass`, with an ``apply`` that knows blocks.
    """

    _apply: BlockApply

    def _check_and_apply(self, decision: Decision) -> bool | None:
        if not isinstance(decision, Start):
            return super()._check_and_apply(decision)
        where = self._validate.start_on_block(decision)
        self._apply.start(decision.job, decision.reason, where)
        return None


class BlockRoomMaker(RoomMaker):
    """Makes room on one block: the plugin in the SelectType slot says on which of those that the candidates hold.

    Args:
        args: as :class:`RoomMaker`.
        selector: asks that plugin.
    """

    def __init__(self, *args: Any, selector: Selector) -> None:
        super().__init__(*args)
        self._selector = selector

    def make(self, job: Job, reason: str = "") -> bool:
        """Preempt the runs that hold anything of a block for ``job``. False, and none is touched, if there is none."""
        if self._selector.find(job) is not None:
            return True
        candidates = self._candidates(job)
        block = self._selector.find(job, candidates=candidates) if candidates else None
        if block is None:
            return False
        block_state = self._cluster_state.block_state
        assert block_state is not None, "there are blocks"
        held = {run.job for run in block_state.on(block)}
        for run in candidates:
            if run.job in held:
                self._apply.preempt(run, job, reason)
        return True
