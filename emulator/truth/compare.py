"""Where a recorded and an emulated run differ.

Times may differ by :data:`TOLERANCE` seconds: a real Slurm acts on a tick of one second,
and was looked at five times a second. What counts is in ``docs/truth.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeVar

from emulator.truth.history import History, ReasonSpan, Share, Stint
from emulator.truth.recorded import Recording

T = TypeVar("T")

TOLERANCE = 2.0
"""Seconds by which an instant may differ, and for which a reason must have stood to count."""
TICK = 1.0
"""Starts that were recorded further apart than this must come in the same order."""
EITHER = {"COMPLETED", "TIMEOUT"}
"""A job whose work is as long as its limit may end as either (observation T4)."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One item in which the two differ.

    Attributes:
        job: name of the job; empty for the scenario as a whole.
        what: such as ``start``, ``nodes`` or ``reason``.
        recorded, emulated: what each says.
    """

    job: str
    what: str
    recorded: str
    emulated: str


@dataclass(frozen=True)
class Pair:
    """A job on both sides.

    Attributes:
        key: its key in the recording.
        name: how it is called.
        recorded: the recorded history.
        emulated: of each emulated job that shares it; several for tasks of an array, or jobs of one name.
        either: whether it may end as COMPLETED or TIMEOUT.
    """

    key: str
    name: str
    recorded: History
    emulated: tuple[History, ...]
    either: bool


def compare(pairs: Sequence[Pair], recording: Recording) -> list[Difference]:
    """All differences in what became of the jobs.

    Args:
        pairs: the jobs that were recorded.
        recording: what a real Slurm did.
    """
    found: list[Difference] = []
    for pair in pairs:
        if not pair.emulated:
            found.append(Difference(pair.name, "job", pair.recorded.state, "was refused"))
        elif len(pair.emulated) > 1:
            found += _shared(pair, recording)
        else:
            found += _Jobs(pair, recording).differences()
    found += _order(pairs)
    return found


class _Jobs:
    """A recorded and an emulated job."""

    def __init__(self, pair: Pair, recording: Recording) -> None:
        self._name = pair.name
        self._pair = pair
        self._recorded = pair.recorded
        self._emulated = pair.emulated[0]
        self._end = recording.end
        self._waiting_only = recording.waiting_only

    def differences(self) -> Iterator[Difference]:
        runs = up_to(self._emulated.runs, self._recorded.runs, self._end)
        if len(runs) != len(self._recorded.runs):
            yield self._difference("runs", _starts(self._recorded.runs), _starts(runs))
        for recorded, emulated in zip(self._recorded.runs, runs, strict=False):
            yield from self._run(recorded, emulated)
        yield from self._state()
        yield from self._reasons()
        yield from self._priority()

    def _difference(self, what: str, recorded: object, emulated: object) -> Difference:
        return Difference(self._name, what, _text(recorded), _text(emulated))

    def _run(self, recorded: Stint, emulated: Stint) -> Iterator[Difference]:
        for what, one, other in (
            ("start", recorded.start, emulated.start),
            ("end", recorded.end, emulated.end),
            ("gone", recorded.gone, emulated.gone),
        ):
            if not self._same_instant(one, other):
                yield self._difference(what, one, other)
        if not self._waiting_only:  # Of these recordings suspensions are not known.
            yield from self._turns(recorded, emulated)
        if recorded.outcome and emulated.outcome and not self._same_state(recorded.outcome, emulated.outcome):
            yield self._difference("outcome", recorded.outcome, emulated.outcome)
        if recorded.nodes is not None and recorded.nodes != emulated.nodes:
            yield self._difference("nodes", recorded.nodes, emulated.nodes)
        elif recorded.shares is not None and recorded.shares != emulated.shares:
            yield self._difference("allocation", recorded.shares, emulated.shares)
        if recorded.partition and recorded.partition != emulated.partition:
            yield self._difference("partition", recorded.partition, emulated.partition)
        if recorded.limit is not None and recorded.limit != emulated.limit:
            yield self._difference("limit", recorded.limit, emulated.limit)

    def _same_instant(self, recorded: float | None, emulated: float | None) -> bool:
        """What was not seen to happen may have happened right at the recording's end."""
        if recorded is None:
            return emulated is None or emulated >= self._end - TOLERANCE
        return emulated is not None and close(recorded, emulated)

    def _turns(self, recorded: Stint, emulated: Stint) -> Iterator[Difference]:
        seen, mine = _lasting(recorded.turns), _lasting(emulated.turns)
        mine = [turn for index, turn in enumerate(mine) if turn[0] <= self._end - TOLERANCE or index < len(seen)]
        same = len(mine) == len(seen) and all(
            one[1] == other[1] and close(one[0], other[0]) for one, other in zip(seen, mine, strict=True)
        )
        if not same:
            yield self._difference("suspension", seen, mine)

    def _same_state(self, one: str, other: str) -> bool:
        return one == other or (self._pair.either and {one, other} <= EITHER)

    def _left_unseen(self) -> bool:
        """Whether it is a task that never ran: if cancelled it leaves the record that it shares, and is not shown."""
        return self._recorded.state == "PENDING" and not self._recorded.runs and "_" in self._pair.name

    def _state(self) -> Iterator[Difference]:
        """The last state that was recorded is the emulated one about then."""
        states = near(self._emulated.states, self._end)
        if states == ["CANCELLED"] and self._left_unseen():
            return
        if not any(self._same_state(self._recorded.state, state) for state in states):
            yield self._difference("state", self._recorded.state, " or ".join(states))

    def _reasons(self) -> Iterator[Difference]:
        recorded, emulated = self._recorded.reasons, self._emulated.reasons or []
        if recorded is None:
            return
        if self._waiting_only:
            emulated = _while_waiting(emulated, self._emulated.states)
        if self._pair.either:
            recorded, emulated = (_without_outcome(spans) for spans in (recorded, emulated))
        emulated = [_cut(one, self._end) for one in emulated if one.begin < self._end]
        recorded = [_cut(one, self._end) for one in recorded if one.begin < self._end]
        missing = [one for one in recorded if lasts(one) and not covered(one, emulated)]
        extra = [one for one in emulated if lasts(one) and one.reason != "None" and not covered(one, recorded)]
        if missing or extra:
            yield self._difference("reason", missing or _about(extra, recorded), extra or _about(missing, emulated))

    def _priority(self) -> Iterator[Difference]:
        for at, priority in self._recorded.priorities:
            mine = near(self._emulated.priorities, at)
            if priority not in mine:
                yield self._difference("priority", f"{priority} at {at:g}", ", ".join(map(str, mine)))
                return


def close(one: float, other: float) -> bool:
    """Whether two instants cannot be told apart."""
    return abs(one - other) <= TOLERANCE


def up_to(emulated: Sequence[Stint], recorded: Sequence[Stint], end: float) -> list[Stint]:
    """Emulated runs that the recording, which ends then, must have seen; and those that it may have."""
    return [run for index, run in enumerate(emulated) if run.start < end - TOLERANCE or index < len(recorded)]


def lasts(standing: ReasonSpan) -> bool:
    """Whether a reason stood long enough to count."""
    return standing.end - standing.begin >= TOLERANCE


def covered(standing: ReasonSpan, others: Iterable[ReasonSpan]) -> bool:
    """Whether the same reason stands in the other history all that time, give or take the tolerance."""
    at = standing.begin
    for other in sorted(others, key=lambda one: one.begin):
        if other.reason == standing.reason and other.begin - TOLERANCE <= at:
            at = max(at, other.end + TOLERANCE)
    return at >= standing.end


def _lasting(turns: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """Turns without those that were taken back within a tick, which need not have been seen."""
    lasting: list[tuple[float, str]] = []
    for turn in turns:
        if lasting and turn[0] - lasting[-1][0] < TICK:
            lasting.pop()
        else:
            lasting.append(turn)
    return lasting


def _cut(standing: ReasonSpan, end: float) -> ReasonSpan:
    return ReasonSpan(standing.reason, standing.begin, min(standing.end, end))


def _without_outcome(reasons: Iterable[ReasonSpan]) -> list[ReasonSpan]:
    """Reasons, but for that of a run which may have ended as COMPLETED or as TIMEOUT."""
    return [replace(one, reason="None") if one.reason == "TimeLimit" else one for one in reasons]


def _while_waiting(reasons: Iterable[ReasonSpan], states: Sequence[tuple[float, str]]) -> list[ReasonSpan]:
    waits = [
        (at, states[index + 1][0] if index + 1 < len(states) else float("inf"))
        for index, (at, state) in enumerate(states)
        if state == "PENDING"
    ]
    parts = [
        ReasonSpan(one.reason, max(one.begin, begin), min(one.end, end)) for one in reasons for begin, end in waits
    ]
    return [part for part in parts if part.end > part.begin]


def _about(standings: Sequence[ReasonSpan], others: Iterable[ReasonSpan]) -> list[ReasonSpan]:
    """What stands in the other history meanwhile."""
    return [other for other in others if any(other.begin < one.end and other.end > one.begin for one in standings)]


def near(values: Sequence[tuple[float, T]], at: float) -> list[T]:
    """Values of which each held from a time on, that held at some time within the tolerance."""
    return [
        value
        for index, (begin, value) in enumerate(values)
        if begin <= at + TOLERANCE and (index + 1 == len(values) or values[index + 1][0] >= at - TOLERANCE)
    ]


def _shared(pair: Pair, recording: Recording) -> Iterator[Difference]:
    """Several jobs in one recorded history, which tells no more than at which instants something happened."""
    seen = pair.recorded.states
    for what, state in (("start", "RUNNING"), ("end", "COMPLETED"), ("end", "FAILED"), ("end", "TIMEOUT")):
        recorded = [at for at, other in seen if other == state]
        emulated = sorted(
            at
            for one in pair.emulated
            for at, other in one.states
            if other == state and (at < recording.end - TOLERANCE or len(recorded))
        )
        if not same_instants(recorded, emulated):
            yield Difference(pair.name, what, _text(recorded), _text(emulated))
    shown = [standing for one in pair.emulated for standing in one.reasons or ()]
    for standing in pair.recorded.reasons or ():
        same = (one for one in shown if one.reason == standing.reason)
        if (
            standing.reason != "None"
            and lasts(standing)
            and not any(one.begin - TOLERANCE <= standing.begin <= one.end + TOLERANCE for one in same)
        ):
            yield Difference(pair.name, "reason", _text(standing), _text(_about([standing], shown)))


def same_instants(recorded: Sequence[float], emulated: Sequence[float]) -> bool:
    """Whether each instant of the one is one of the other."""
    return all(any(close(at, other) for other in emulated) for at in recorded) and all(
        any(close(at, other) for other in recorded) for at in emulated
    )


def _order(pairs: Iterable[Pair]) -> Iterator[Difference]:
    """Starts come in the same order, as far as the recording tells their order."""
    starts = [
        (pair.name, recorded.start, emulated.start)
        for pair in pairs
        if len(pair.emulated) == 1
        for recorded, emulated in zip(pair.recorded.runs, pair.emulated[0].runs, strict=False)
    ]
    for one, other in combinations(sorted(starts, key=lambda start: start[1]), 2):
        if other[1] - one[1] > TICK and other[2] < one[2]:
            yield Difference(
                one[0],
                "order",
                f"{one[1]:g}, before {other[0]} at {other[1]:g}",
                f"{one[2]:g}, after {other[0]} at {other[2]:g}",
            )


def _starts(runs: Sequence[Stint]) -> str:
    return f"{len(runs)} runs, from {', '.join(f'{run.start:g}' for run in runs)}" if runs else "no run"


def _text(value: object) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, ReasonSpan):
        return f"{value.reason} {value.begin:g}-{value.end:g}"
    if isinstance(value, frozenset):
        return ",".join(sorted(value))
    if isinstance(value, Share):
        more = [f"mem{value.memory}"] if value.memory else []
        return ":".join([f"cpu*{value.cpus}", *more, *(f"{kind}*{count}" for kind, count in value.gres.items())])
    if isinstance(value, Mapping):
        return " ".join(f"{name}:{_text(share)}" for name, share in value.items())
    if isinstance(value, tuple | list):
        return ", ".join(" ".join(map(_text, one)) if isinstance(one, tuple) else _text(one) for one in value) or "none"
    return str(value)
