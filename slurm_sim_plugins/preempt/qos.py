"""Preemption by quality of service: Slurm's preempt/qos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from slurm_sim_plugins.cluster import Qos, mode_of
from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.jobs import Job, Run
from slurm_sim_plugins.views import PreemptView, VictimView


class QosPreemption:
    """Runs of the QOS that the QOS of a job names in Preempt make room for it.

    With WITHIN in PreemptMode also those of its own QOS and of lower priority. The lowest QOS
    priority goes first; then the run with the fewest nodes, then the lowest id, of runs of an array
    the one that began first. What becomes of a victim, and after which grace time, its QOS says, or
    else the cluster, not the partition, also of a run that no job may preempt.
    With GANG there are no victims if the first would be suspended: the job takes turns with
    those that it could preempt instead.

    Args:
        youngest_first: the run that began last goes first, whatever its QOS.
        mode: PreemptMode of the cluster.

    Source: Slurm's documentation, qos; recorded from Slurm 22.05 (observations P14, J3 to J5).
    """

    name: ClassVar[str] = "preempt/qos"
    machines: ClassVar[tuple[str, ...]] = ("nodes",)
    reorders: ClassVar[bool] = True
    by_qos: ClassVar[bool] = True
    takes_turns: ClassVar[bool] = True
    slurm_conf: ClassVar[Mapping[str, str]] = {
        "youngest_first": "PreemptParameters.youngest_first",
        "mode": "PreemptMode",
    }

    def __init__(self, youngest_first: bool = False, mode: str = "") -> None:
        self._youngest_first = youngest_first
        modes = frozenset(mode.upper().split(",")) - {""}
        self._mode = mode_of(modes)
        self._within = "WITHIN" in modes

    @hookimpl
    def preempt_candidates(self, view: PreemptView) -> Sequence[Run] | None:
        own = view.preemptor.qos
        if own is None or not (own.preempts or self._is_within(own)):
            return None
        found = [run for run in view.running if self._gives_way(run.job, view.preemptor, own)]
        if self._youngest_first:
            return sorted(found, key=lambda run: (-run.start, run.record))
        return sorted(found, key=lambda run: (run.job.qos.priority if run.job.qos else 0, run.nodes, run.record))

    def _gives_way(self, victim: Job, preemptor: Job, own: Qos) -> bool:
        if victim.qos is None:
            return False
        lower = victim.qos is own and victim.priority < preemptor.priority
        return victim.qos.name in own.preempts or (lower and self._is_within(own))

    def _is_within(self, qos: Qos) -> bool:
        return self._within or "WITHIN" in qos.preempt_mode

    @hookimpl
    def preempt_mode(self, view: VictimView) -> str | None:
        own = view.victim.qos
        # One that says OFF says nothing, as one that says CLUSTER (recorded on 22.05, 24.11 and 26.05).
        return self._mode if own is None else mode_of(own.preempt_mode - {"CLUSTER", "OFF"}) or self._mode

    @hookimpl
    def preempt_grace(self, view: VictimView) -> float | None:
        return view.victim.qos.grace_time if view.victim.qos is not None else 0.0
