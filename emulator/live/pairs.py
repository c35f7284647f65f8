"""Runs of a session beside those of its emulation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

NEAR = 2.0
"""Seconds within which two starts are called the same: a look may fall on the other side of an end."""


@dataclass(frozen=True, slots=True)
class Start:
    """A run of a job.

    Attributes:
        job: its name.
        at: the second of the decision on it.
        nodes: where, as a host list.
        preempted: whether it made room for another job.
        decided: whether a plugin decided on it; Slurm started the others by itself.
    """

    job: str
    at: float
    nodes: str
    preempted: bool
    decided: bool = True


@dataclass(frozen=True, slots=True)
class Pair:
    """What was decided on a run of a job, live and emulated; None where there is no such run."""

    live: Start | None
    emulated: Start | None

    @property
    def same(self) -> bool:
        """Whether it is the same start: nodes, outcome, and seconds."""
        one, other = self.live, self.emulated
        return one is not None and other is not None and self.near and one.nodes == other.nodes and self.same_outcome

    @property
    def near(self) -> bool:
        """Whether there are both, within :data:`NEAR`."""
        return self.live is not None and self.emulated is not None and abs(self.apart) <= NEAR

    @property
    def same_outcome(self) -> bool:
        """Whether both, or none, made room for another job."""
        return self.live is not None and self.emulated is not None and self.live.preempted == self.emulated.preempted

    @property
    def job(self) -> str:
        """Whose run it is."""
        start = self.live or self.emulated
        assert start is not None
        return start.job

    @property
    def first(self) -> float:
        """When it was decided first, live or emulated."""
        return min(start.at for start in (self.live, self.emulated) if start is not None)

    @property
    def apart(self) -> float:
        """Seconds by which the emulated start is later; NaN unless there are both."""
        return math.nan if self.live is None or self.emulated is None else self.emulated.at - self.live.at


def pairs_of(live: Mapping[str, list[Start]], emulated: Mapping[str, list[Start]]) -> tuple[Pair, ...]:
    """The runs of each job, by its name, beside each other: in the order of the session; then those only emulated."""
    pairs = []
    for job in live.keys() | emulated.keys():
        ours, theirs = live.get(job, []), emulated.get(job, [])
        for index in range(max(len(ours), len(theirs))):
            one = ours[index] if index < len(ours) else None
            if one is not None and not one.decided:
                continue  # It is given to the emulation, too.
            pairs.append(Pair(one, theirs[index] if index < len(theirs) else None))
    return tuple(sorted(pairs, key=_place))


def _place(pair: Pair) -> tuple[bool, float, str]:
    start = pair.live or pair.emulated
    assert start is not None
    return pair.live is None, start.at, start.job


def told(pair: Pair) -> str:
    """What differs, in words."""
    one, other = pair.live, pair.emulated
    if one is None or other is None:
        start = one or other
        assert start is not None
        return f"{start.job}: only {'live' if one else 'emulated'}, at {start.at:.1f} s on {start.nodes}"
    outcome = "" if pair.same_outcome else f", made room for another only {'live' if one.preempted else 'emulated'}"
    return f"{one.job}: live at {one.at:.1f} s on {one.nodes}, emulated at {other.at:.1f} s on {other.nodes}{outcome}"
