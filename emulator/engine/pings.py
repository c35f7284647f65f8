"""When nodes answer the controller's pings, which backfill takes for news.

The controller pings nodes every third of ``SlurmdTimeout``, but not those that it has heard of in that time, as a job
started or ended there, or at the ping before. It also does so in the round after an operator has resumed a node, and
counts from there.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from emulator.config.slurm.controller import Timing
from slurm_sim_plugins.nodes import Allocation

FIRST = 3.0
"""Seconds from the controller's start to its first ping; all nodes have registered shortly before."""
REGISTERED = 1.0
"""How long before it."""
ANSWERS = 0.05
"""Seconds until a node answers the controller's question whether it is there."""


class Pings:
    """Which nodes the controller has not heard of for a while.

    Args:
        nodes: how many there are.
        interval: seconds from one ping to the next.
        timing: the clocks of the daemons.
    """

    def __init__(self, nodes: int, interval: float, timing: Timing) -> None:
        self._timing, self._interval = timing, interval
        self._first = FIRST - timing.uptime
        self._heard = [self._first - REGISTERED] * nodes

    def heard(self, allocation: Allocation, now: float) -> None:
        """The nodes of a run have answered something."""
        for node in allocation.nodes:
            self._heard[node] = now

    def heard_at(self, node: int) -> float:
        """When something was heard of a node last, as a run began or ended there."""
        return self._heard[node]

    def out_of_turn(self, at: float) -> None:
        """Nodes are pinged in a round that is to come, and from then on at each interval."""
        self._heard = [self._last_heard(heard, at) for heard in self._heard]
        self._first = at

    def _last_heard(self, heard: float, now: float) -> float:
        """When something was heard of a node last before a time, with its answers to pings."""
        first, last = int(self._first_ping(np.array(heard))), math.floor((now - self._first) / self._interval)
        return heard if last < first else self._first + (last - (last - first) % 2) * self._interval + ANSWERS

    def _first_ping(self, heard: NDArray[np.float64]) -> NDArray[np.float64]:
        """The number of the first ping that nodes get if nothing is heard of them after some times."""
        due = np.ceil((heard + self._interval - self._first) / self._interval + 1e-9)
        first: NDArray[np.float64] = np.maximum(due, 0)
        return first

    def next(self, now: float) -> float:
        """When nodes answer the controller's next ping."""
        behind = -(now - self._first) % self._interval
        return self._timing.round_at(now + behind) + ANSWERS

    def answer_of(self, node: int, now: float) -> float:
        """When a node answers the next ping that it gets if nothing is heard of it before."""
        return self.next(max(now, self._heard[node] + self._interval))

    def answered(self, now: float) -> bool:
        """Whether any node answers a ping now."""
        heard = np.array(self._heard)
        silent = heard[heard <= now - self._interval - 1]
        behind = np.round((now - self._first) / self._interval) - self._first_ping(silent)
        return bool((behind % 2 == 0).any())
