"""Shadow load preemption: every run that the head of the queue outranks can be preempted for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.jobs import Run
from slurm_sim_plugins.views import PreemptView


class ShadowLoad:
    """Runs of lower priority than the preemptor are its shadow load; the lowest goes first.

    Jobs that may not be requeued are spared.

    Args:
        trim: of the victims, spare those that are not needed after all, highest priority
            first: a larger one of higher priority may make them needless. On a cluster with
            nodes the machine spares those whose nodes are of no use.
        pin_regular: runs that were not backfilled are no shadow load, whatever their
            priority; for priorities that change in time.

    Source: the papers on PV-EASY, 2014, sections 4.1 and 4.2.
    """

    name: ClassVar[str] = "preempt/shadow_load"

    def __init__(self, trim: bool = False, pin_regular: bool = False) -> None:
        self._trim = trim
        self._pin_regular = pin_regular

    @hookimpl
    def preempt_candidates(self, view: PreemptView) -> Sequence[Run] | None:
        if not view.counted:
            # Whose nodes are of use to the preemptor, the machine knows.
            return [run for run in view.outranked(self._pin_regular) if run.job.may_requeue]
        missing = view.preemptor.processors - view.free
        if view.outranked_processors(self._pin_regular) < missing:
            return None
        shadow = [run for run in view.outranked(self._pin_regular) if run.job.may_requeue]
        return _needed(shadow, missing) if self._trim else shadow


def _needed(shadow: list[Run], missing: int) -> list[Run]:
    """The shortest beginning that frees ``missing`` processors, without those that are not needed."""
    victims = []
    for run in shadow:
        if missing <= 0:
            break
        victims.append(run)
        missing -= run.processors
    spare = -missing
    for run in reversed(victims.copy()):
        if run.processors <= spare:
            spare -= run.processors
            victims.remove(run)
    return victims
