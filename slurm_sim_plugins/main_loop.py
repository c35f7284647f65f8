"""The main loop where a scheduler has none of its own, and processors are only counted."""

from __future__ import annotations

from collections.abc import Generator

from slurm_sim_plugins.decisions import Decision, MakeRoom, Start
from slurm_sim_plugins.views import SchedulingView


def in_order(view: SchedulingView, preempts: bool) -> Generator[Decision, bool, None]:
    """Start the queue in its order up to the first job that does not fit.

    Args:
        view: the cluster.
        preempts: whether runs may have to make room.
    """
    while (head := view.head) is not None:
        if head.processors > view.free and not (preempts and (yield MakeRoom(head))):
            return
        yield Start(head)
