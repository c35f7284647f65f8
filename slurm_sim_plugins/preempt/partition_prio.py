"""Preemption by the tier of the partition: Slurm's preempt/partition_prio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from slurm_sim_plugins.cluster import mode_of
from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.jobs import Run
from slurm_sim_plugins.views import PreemptView, VictimView


class PartitionPrio:
    """Runs in partitions of a lower PriorityTier make room for a job, if they share nodes with its partition.

    The lowest tier goes first; within a tier the run with the fewest nodes, then the lowest id, of
    runs of an array the one that began first.
    What becomes of a victim its partition says, else the cluster, whatever its QOS says; its grace time the partition.
    So it does of a run that no job may preempt: backfill, which keeps the whole nodes of runs that stay, keeps none for
    it (recorded).

    Args:
        youngest_first: the run that began last goes first, whatever its tier.
        mode: PreemptMode of the cluster.

    Source: Slurm's documentation, preempt; recorded from Slurm 22.05 (observations P1 to P5).
    """

    name: ClassVar[str] = "preempt/partition_prio"
    by_order: ClassVar[bool] = True
    by_partition: ClassVar[bool] = True
    machines: ClassVar[tuple[str, ...]] = ("nodes",)
    reorders: ClassVar[bool] = True
    slurm_conf: ClassVar[Mapping[str, str]] = {
        "youngest_first": "PreemptParameters.youngest_first",
        "mode": "PreemptMode",
    }

    def __init__(self, youngest_first: bool = False, mode: str = "") -> None:
        self._youngest_first = youngest_first
        self._mode = mode_of(mode.upper().split(",")) if mode else None

    @hookimpl
    def preempt_candidates(self, view: PreemptView) -> Sequence[Run] | None:
        own = view.partition
        if own is None or not own.lower_runs:
            return None
        lower = [run for run in view.running if _tier(run) < own.tier and view.shares_nodes(run)]
        if self._youngest_first:
            return sorted(lower, key=lambda run: (-run.start, run.record))
        return sorted(lower, key=lambda run: (_tier(run), run.nodes, run.record))

    @hookimpl
    def preempt_mode(self, view: VictimView) -> str | None:
        own = view.victim.runs_in
        return self._mode if own is None else mode_of(own.preempt_mode) or self._mode

    @hookimpl
    def preempt_grace(self, view: VictimView) -> float | None:
        return view.victim.runs_in.grace_time if view.victim.runs_in is not None else None


def _tier(run: Run) -> float:
    return run.partition.tier if run.partition is not None else 0.0
