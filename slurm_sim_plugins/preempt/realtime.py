"""Whose run is sacrificed for a real-time job: those on the block where it costs least."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, log, log2
from typing import ClassVar, Literal

from slurm_sim_plugins.block_state import BlockState
from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.jobs import Run
from slurm_sim_plugins.processors import numbers
from slurm_sim_plugins.realtime import NARROW, SHORT, Chosen, Thresholds, running_slowdown
from slurm_sim_plugins.views import PreemptView


class Realtime:
    """Batch jobs make room for a real-time job, all that are on one block, where the sum of their costs is least.

    Only blocks of the right size count, and none on which a real-time job runs, a job that
    may not be requeued or that holds a larger block than the preemptor wants, or a job whose
    estimated slowdown is above the threshold of its category. Of equal blocks the first one
    is taken. Where there are no blocks, the cheapest runs by processor go first; on a cluster those
    stay whose nodes are of no use to the preemptor.

    Args:
        cost: ``weighted``: the processors of a job, times three factors: log2(2 + its
            estimated slowdown); 1 + the logarithm of the time since its last checkpoint over
            ``fresh``, if that is more than 1; and ``almost_done`` for one that is planned to
            end soon. ``processors``: the processors alone, and no threshold (the schemes of
            the paper's section 4.2).
        narrow_short: the estimated slowdown up to which a narrow and short job may be preempted.
        narrow_long: the same for narrow and long jobs.
        wide_short: for wide and short ones.
        wide_long: for wide and long ones.
        narrow: processors up to which, inclusive, a job is narrow.
        short: seconds of its limit up to which, inclusive, it is short.
        slowdown_factor: whether the first factor counts.
        checkpoint_factor: when the second one counts: ``unsaved``: as far as work would be
            lost, so never with checkpoints just in time; ``always``: since the last
            checkpoint or the beginning of the run, whatever would be lost; ``never``.
        fresh: seconds since the last checkpoint up to which a run costs no more for it.
        almost_done: the third factor, for a run with at most ``soon_share`` of its limit and
            at most ``soon`` seconds to go; 1 for none.
        soon_share: part of the limit.
        soon: seconds.
        jobs: which jobs are real-time jobs; ``sched/realtime`` must be given the same, and says how.

    Source: the paper on real-time jobs on Mira, sections 4.2 and 6.3, algorithm 2. The paper
    gives no numbers; those here are of its authors' public code.
    """

    name: ClassVar[str] = "preempt/realtime"

    def __init__(
        self,
        cost: Literal["weighted", "processors"] = "weighted",
        narrow_short: float = 1.5,
        narrow_long: float = 1.5,
        wide_short: float = 17.31,
        wide_long: float = 4.77,
        narrow: int = NARROW,
        short: float = SHORT,
        slowdown_factor: bool = True,
        checkpoint_factor: Literal["unsaved", "always", "never"] = "unsaved",
        fresh: float = 900.0,
        almost_done: float = 5.0,
        soon_share: float = 0.25,
        soon: float = 900.0,
        jobs: str = "realtime=1",
    ) -> None:
        for name, value in (("fresh", fresh), ("almost_done", almost_done)):
            if not value > 0:
                raise ConfigurationError(f"preempt/realtime.{name} is {value}; give more than 0")
        self._weighted = cost == "weighted"
        self._thresholds = Thresholds(narrow_short, narrow_long, wide_short, wide_long, narrow, short)
        self._slowdown_factor = slowdown_factor
        self._checkpoint_factor = checkpoint_factor
        self._fresh = fresh
        self._almost_done = almost_done
        self._soon_share = soon_share
        self._soon = soon
        self._realtime = Chosen(jobs)
        self.looks_for = self._realtime.looks_for

    @hookimpl
    def preempt_candidates(self, view: PreemptView) -> Sequence[Run] | None:
        if view.block_state is not None:
            return self._on_cheapest_block(view, view.block_state)
        if view.preemptor in self._realtime:
            allowed = [run for run in view.running if self._allowed(run)]
            return sorted(allowed, key=lambda run: (self._cost(view, run) / run.processors, run.sequence))
        return None

    def _on_cheapest_block(self, view: PreemptView, block_state: BlockState) -> list[Run] | None:
        """The runs on the block that it is cheapest to clear."""
        preemptor = view.preemptor
        if preemptor not in self._realtime:
            return None
        blocks, left = block_state.blocks, block_state.choices(preemptor)
        largest = blocks.size_for(preemptor.processors)
        costs: list[tuple[float, int]] = []
        for run in view.running:
            own = block_state.block_of(run.job)
            assert own is not None, "it runs"
            if not self._allowed(run) or blocks.sizes[own] > largest:
                left &= ~blocks.overlaps[own]
            else:
                costs.append((self._cost(view, run), blocks.overlaps[own]))
        if not left:
            return None
        sums = {block: fsum([cost for cost, held in costs if held >> block & 1]) for block in numbers(left)}
        return block_state.on(min(sums, key=lambda block: (sums[block], block)))

    def _allowed(self, run: Run) -> bool:
        """Whether a run may be preempted at all."""
        job = run.job
        if job in self._realtime or not job.may_requeue:
            return False
        return not self._weighted or running_slowdown(run) <= self._thresholds.of(job)

    def _cost(self, view: PreemptView, run: Run) -> float:
        cost = float(run.job.processors)
        if not self._weighted:
            return cost
        if self._slowdown_factor:
            cost *= log2(2 + running_slowdown(run))
        if (lost := self._lost(view, run)) > self._fresh:
            cost *= 1 + log(lost / self._fresh)
        left = run.planned_end - view.now
        return cost * self._almost_done if left <= min(self._soon_share * run.job.time_limit, self._soon) else cost

    def _lost(self, view: PreemptView, run: Run) -> float:
        """Seconds that count as lost if a run is preempted."""
        if self._checkpoint_factor == "never":
            return 0.0
        unsaved = view.unsaved(run)
        return unsaved or view.now - run.start if self._checkpoint_factor == "always" else unsaved
