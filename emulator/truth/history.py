"""What became of a job, whatever saw it: its runs, and why it waited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

RAN = ("COMPLETED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED")
"""States that only a run leads to, be it one that began and ended unseen."""
SAME_AS_RUNNING = ("SIGNALING", "CONFIGURING")
"""States that Slurm shows for a moment of a run."""
HELD = ("RESV_DEL_HOLD", "REQUEUE_HOLD", "SPECIAL_EXIT")
"""States of jobs that wait on hold."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What was to be seen of a job from a time on.

    Attributes:
        at: seconds from the start.
        state, reason: in Slurm's words.
    """

    at: float
    state: str
    reason: str


@dataclass(frozen=True, slots=True)
class Share:
    """What a run had of a node.

    Attributes:
        cpus: how many.
        memory: mebibytes; 0 where memory is not managed.
        gres: count by kind, as ``gpu:a``.
    """

    cpus: int
    memory: int = 0
    gres: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Stint:
    """A run; times in seconds.

    Attributes:
        start: when it began, if only suspended.
        end: when its work ended; None if that was not seen.
        gone: when it had left its nodes.
        outcome: the state after it; ``PENDING`` if it was requeued.
        turns: each change between RUNNING and SUSPENDED.
        nodes: names; None where they were not seen.
        shares: what it had, by node; None where that was not seen.
        partition: where; empty where that was not seen.
        limit: its limit; None where that was not seen.
    """

    start: float
    end: float | None = None
    gone: float | None = None
    outcome: str = ""
    turns: list[tuple[float, str]] = field(default_factory=list)
    nodes: frozenset[str] | None = None
    shares: Mapping[str, Share] | None = None
    partition: str = ""
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class ReasonSpan:
    """A reason that stood for a while.

    Attributes:
        reason: in Slurm's words.
        begin, end: in seconds; infinite if its end was not seen.
    """

    reason: str
    begin: float
    end: float


@dataclass(slots=True)
class History:
    """What became of a job.

    Attributes:
        job: how it is called.
        runs: in order.
        reasons: in order; None where they were not seen.
        states: (second, state) of each change.
        priorities: (second, priority) of each change.
    """

    job: str
    runs: list[Stint] = field(default_factory=list)
    reasons: list[ReasonSpan] | None = None
    states: list[tuple[float, str]] = field(default_factory=list)
    priorities: list[tuple[float, int]] = field(default_factory=list)

    @property
    def state(self) -> str:
        """Its last state."""
        return self.states[-1][1] if self.states else ""


def history(job: str, sights: Iterable[Sight]) -> History:
    """The history that sights in the order of time tell."""
    seen = list(sights)
    found = History(job, reasons=_standings(seen))
    current: Stint | None = None
    for sight in seen:
        state = "RUNNING" if sight.state in SAME_AS_RUNNING else "PENDING" if sight.state in HELD else sight.state
        if found.states and found.state == state:
            continue
        waited = found.state in ("PENDING", "COMPLETING")
        found.states.append((sight.at, state))
        if current is None and waited and state in RAN:
            current = Stint(sight.at)
            found.runs.append(current)
        if state in ("RUNNING", "SUSPENDED"):
            if current is None:
                current = Stint(sight.at)
                found.runs.append(current)
            _turn(current, sight.at, state)
        elif current is not None:
            current.end = sight.at if current.end is None else current.end
            if state != "COMPLETING":
                current.gone, current.outcome = sight.at, state
                current = None
    return found


def _turn(run: Stint, at: float, state: str) -> None:
    """Note a change between RUNNING and SUSPENDED; a run that begins running has not changed."""
    if run.turns and run.turns[-1][0] == at:
        run.turns.pop()
    before = run.turns[-1][1] if run.turns else "RUNNING"
    if state != before:
        run.turns.append((at, state))


def _standings(sights: list[Sight]) -> list[ReasonSpan]:
    standings: list[ReasonSpan] = []
    for sight in sights:
        if standings and standings[-1].reason == sight.reason:
            continue
        if standings:
            standings[-1] = ReasonSpan(standings[-1].reason, standings[-1].begin, sight.at)
        standings.append(ReasonSpan(sight.reason, sight.at, float("inf")))
    return standings
