"""A scheduling pass where the ExecutionType has tiers."""

from __future__ import annotations

from typing import Any

from emulator.engine.apply_tiers import TieredApply
from emulator.scheduling.scheduling_pass import SchedulingPass
from slurm_sim_plugins.decisions import Decision, Move, Start


class TieredPass(SchedulingPass):
    """Runs passes, and has the runs' rates found at the end of each instant.

    A pass is made, too, when no job waits but jobs run in other tiers than the first. Any
    run may outlive its planned end, since rates may be below 1.

    Args:
        args, options: as :class:`SchedulingPass`, with an ``apply`` that knows tiers.
    """

    _apply: TieredApply

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "may_overrun": True})
        assert self._view.tiers is not None, "the cluster_state has no tiers"
        self._tiers = self._view.tiers
        self._behind = self._tiers._behind
        self.always = True

    def run(self) -> None:
        """Make one pass, if there is anything for it to do, and settle the rates."""
        self._apply.change_by_time()
        super().run()
        self._tiers._left.clear()
        self._apply.settle()

    def _check_and_apply(self, decision: Decision) -> bool | None:
        if not isinstance(decision, Start):
            return super()._check_and_apply(decision)
        where = self._validate.start_in_tier(decision)
        self._apply.start(decision.job, decision.reason, (decision.tier, where, decision.setup))
        return None

    def _move(self, decision: Move) -> None:
        """Check and carry out a move."""
        stay, where = self._validate.move(decision)
        self._apply.move(decision, stay, where)
