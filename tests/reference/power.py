"""Power saving as a slow and obvious second: from where runs were, when each node was powered down and resumed.

Of the ideal clock, without rates, failures and operators. Each node is looked at by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Stay = tuple[float, float]
"""When a run got the node, and when it left it."""


@dataclass(frozen=True)
class Times:
    """Of a node, in seconds: idle until it is powered down, powering down, and coming up."""

    suspend: float
    down: float
    up: float


@dataclass(frozen=True)
class NodeHistory:
    """What became of a node.

    Attributes:
        resumed: for each stay, in their order, when the node was there for it.
        off: seconds in which it was powered down.
        resumes: how often it was resumed.
    """

    resumed: tuple[float, ...]
    off: float
    resumes: int


def history(stays: Iterable[Stay], times: Times, end: float, *, cloud: bool = False) -> NodeHistory:
    """The history of a node until the end of a run.

    Args:
        stays: of its runs.
        times: its own.
        end: when the run ended.
        cloud: whether it is powered down at first.

    Raises:
        AssertionError: a run got the node while it was powering down.
    """
    resumed: list[float] = []
    off, resumes = 0.0, 0
    on_since, off_since = (math.inf, 0.0) if cloud else (0.0, math.inf)
    busy: list[float] = []
    for begin, until in sorted(stays):
        idle_since = max([on_since, *(left for left in busy)]) if on_since < math.inf else math.inf
        asleep = min(off_since, idle_since + times.suspend + times.down)
        assert not idle_since + times.suspend < begin < asleep, f"at {begin} it was powering down"
        if begin >= asleep:
            off, resumes = off + begin - asleep, resumes + 1
            on_since, off_since, busy = begin + times.up, math.inf, []
        resumed.append(max(on_since, begin))
        busy.append(until)
    idle_since = max([on_since, *busy]) if on_since < math.inf else math.inf
    asleep = min(off_since, idle_since + times.suspend + times.down)
    return NodeHistory(tuple(resumed), off + max(0.0, end - asleep), resumes)


def starts(where: Sequence[Sequence[int]], stays: Sequence[Stay], histories: Sequence[NodeHistory]) -> list[float]:
    """When each run starts: when all of its nodes are there.

    Args:
        where: the nodes of each run.
        stays: when each got its nodes and left them.
        histories: of each node.
    """
    of_node: list[list[tuple[Stay, int]]] = [[] for _ in histories]
    for run, nodes in enumerate(where):
        for node in nodes:
            of_node[node].append((stays[run], run))
    found = [begin for begin, _ in stays]
    for node, there in enumerate(of_node):
        for (_, run), at in zip(sorted(there), histories[node].resumed, strict=True):
            found[run] = max(found[run], at)
    return found
