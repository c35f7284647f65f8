# cython: boundscheck=True, wraparound=True, nonecheck=True
"""What a plan answers about an entry of the queue; a :mod:`kernel <slurm_sim_plugins.kernels>`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Place:
    """Where an entry can start; valid in the pass that gave it."""

    _plan: Any = None
    _entry: Any = None
    _allocation: Any = None
    _limit: float | None = None
    _row: int = 0
    _open: Any = None

    @property
    def nodes(self) -> Sequence[str]:
        """Names of the nodes, in the order of the configuration; empty where processors are only counted."""
        return () if self._plan is None else self._plan.names_of(self._allocation)

    @property
    def indices(self) -> Sequence[int]:
        """Where these nodes stand in the configuration, counted from 0, ascending."""
        return () if self._plan is None else tuple(sorted(self._allocation.nodes))


@dataclass(frozen=True, eq=False)
class Answer:
    """Whether an entry can start now: where, or why not.

    Attributes:
        place: where it can start; None if it cannot.
        reason: why it cannot, in the words of ``squeue``, such as ``Resources`` or
            ``AssocMaxJobsLimit``; empty if it can.
        blocks: whether entries behind it have to wait for it, or must not delay it. What lacks
            resources blocks. What is held, depends on another job, lacks a licence or is at
            a limit does not: nothing that the entries behind it leave free helps it.
        overtakes: whether it fits, but would make a promise of this pass late.
    """

    place: Place | None
    reason: str = ""
    blocks: bool = False
    overtakes: bool = False


ANYWHERE = Place()
"""Where processors are only counted: on which of them a job runs does not matter."""
