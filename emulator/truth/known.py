"""What is known of recordings: noise that is visible in them, what they leave out, what the emulator gets wrong.

A TOML file, each entry with its reason::

    [[noise]]               # this one item is not held against the emulator; all else is compared
    scenario = "b21_multipart"
    job = "X"
    what = "nodes"
    reason = "n1 was still being cleared when X was placed: NodeList n1 at 5.9"

    [[work]]                # seconds of work, where the submissions do not say it, or noise stretched it
    scenario = "g_i1_array_deps"
    job = "A"
    runs = [6, 15, 26, 36]  # of each task; one number for a job
    exits = [0, 0, 1, 0]
    dies_in = 7             # seconds from SIGTERM to the end, if it is killed
    reason = "..."

    [[clock]]               # seconds from the controller's start to that of the recording, and when seconds are full
    scenario = "g_f1_fairtree"
    uptime = 9.4
    second = 0.4
    time_slice = 5          # how long before its first multiple a time slice of gang scheduling ends
    reason = "..."

    [[action]]              # a command that was given, although it is not among the actions
    scenario = "b13_tie_order"
    at = 12.0
    command = "scontrol release 1"
    reason = "..."

    [[open]]                # the emulator does not do this yet
    scenario = "..."
    reason = "..."
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from emulator.config.tables import read_toml
from emulator.workload.scenario import Scenario
from emulator.workload.yaml_tree import LONGEST
from slurm_sim_plugins.errors import InputError

T = TypeVar("T")

A_MILLISECOND = 0.001
RECORDED = "as recorded"
"""The reason of a clock that the recording itself says."""
LARGEST_EXIT = 255
"""No exit code is larger."""


@dataclass(frozen=True, slots=True)
class Noise:
    """A difference that cannot be told from chance.

    Attributes:
        scenario, job: where; an empty job is the scenario as a whole.
        what: which item, as in a :class:`~emulator.truth.compare.Difference`.
        reason: what shows it in the recording.
    """

    scenario: str
    what: str
    reason: str
    job: str = ""


@dataclass(frozen=True, slots=True)
class Work:
    """How long a job's work took.

    Attributes:
        scenario, job: whose.
        reason: where that is seen.
        runs: seconds; of each task, if it is an array; empty for what the submission says.
        exits: exit codes, likewise.
        dies_in: seconds from SIGTERM to its end; None for what the submission says.
    """

    scenario: str
    job: str
    reason: str
    runs: tuple[float, ...] = ()
    exits: tuple[int, ...] = ()
    dies_in: float | None = None


@dataclass(frozen=True, slots=True)
class Clock:
    """How the clock of a recording stood.

    Attributes:
        scenario: where.
        uptime: seconds for which the controller had run when the recording began; from then
            ``PriorityCalcPeriod`` counts.
        second: the part of a second that had passed then; usage and ages are counted in whole seconds.
        time_slice: seconds by which slices of gang scheduling end before multiples of their length; None for any.
        sweep: when the sweep over time limits falls, in seconds modulo its period; None for what the recording says.
        backfill: seconds for which backfill's thread had run when the recording began; None where that is not known.
        decay: the same of the thread that works out priorities; None for as long as the controller.
        overhead: seconds by which runs outlasted their work; None where that is not known.
        rounds: when the controller's loop went round first, and every how many seconds; None where that is not known.
        rounds_seen: when it went round and made a pass, ascending.
        glances: the same of backfill's thread, which may look each second whether anything is new.
        glances_seen: when it went round, ascending.
        reason: what shows it in the recording.
    """

    scenario: str
    reason: str
    uptime: float | None = None
    second: float = 0.0
    time_slice: float | None = None
    backfill: float | None = None
    decay: float | None = None
    overhead: float | None = None
    rounds: tuple[float, float] | None = None
    glances: tuple[float, float] | None = None
    rounds_seen: tuple[float, ...] = ()
    glances_seen: tuple[float, ...] = ()
    sweep: float | None = None


@dataclass(frozen=True, slots=True)
class Given:
    """A command that was given and not recorded.

    Attributes:
        scenario: where.
        at: seconds from the start.
        command: as for ``scontrol``.
        reason: what shows it in the recording.
    """

    scenario: str
    at: float
    command: str
    reason: str


@dataclass(frozen=True, slots=True)
class Open:
    """What the emulator does otherwise than Slurm.

    Attributes:
        scenario: where.
        reason: the cause.
    """

    scenario: str
    reason: str


@dataclass(frozen=True)
class Known:
    """All that is known.

    Attributes:
        noise, work, actions, open, clocks: the entries of each kind.
    """

    noise: tuple[Noise, ...] = ()
    work: tuple[Work, ...] = ()
    actions: tuple[Given, ...] = ()
    open: tuple[Open, ...] = ()
    clocks: tuple[Clock, ...] = ()

    def beside(self, scenario: Scenario) -> Known:
        """What is known here, and what the recording itself says: its noise, and how its clock stood."""
        noise = (Noise(scenario.name, one.what, one.reason, one.job) for one in scenario.recorded.noise)
        clocks = self.clocks
        if scenario.uptime is not None and self.clock_of(scenario.name) is None:
            backfill = scenario.uptime if scenario.backfill is None else scenario.backfill
            measured = {"backfill": backfill, "decay": scenario.decay, "overhead": scenario.overhead}
            second, rounds, seen = scenario.second, scenario.rounds, scenario.rounds_seen
            if scenario.configuration().rules.ROUNDS_ON_SECONDS:
                # The log tells seconds better than the recorder, which sees the controller's clock from outside.
                first = -second % 1 if rounds is None else _first_of(rounds[0], seen)
                second, rounds, seen = _of_rounds(first, scenario.second), (first, 1.0), ()
            clock = Clock(
                scenario.name,
                RECORDED,
                scenario.uptime,
                second,
                **measured,
                rounds=rounds,
                glances=scenario.glances,
                rounds_seen=seen,
                glances_seen=scenario.glances_seen,
            )
            clocks = (*clocks, clock)
        return replace(self, noise=(*self.noise, *noise), clocks=clocks)

    def clock_of(self, scenario: str) -> Clock | None:
        """How the clock of a recording stood, if that is said here."""
        return next((one for one in self.clocks if one.scenario == scenario), None)

    def work_of(self, scenario: str, job: str) -> Work | None:
        """How long a job's work took, if that is said here."""
        return next((one for one in self.work if (one.scenario, one.job) == (scenario, job)), None)

    def actions_of(self, scenario: str) -> tuple[Given, ...]:
        """Commands that were given in a scenario."""
        return tuple(one for one in self.actions if one.scenario == scenario)

    def open_in(self, scenario: str) -> Open | None:
        """What the emulator does otherwise in a scenario, if that is known."""
        return next((one for one in self.open if one.scenario == scenario), None)

    def noise_of(self, scenario: str, job: str, what: str) -> Noise | None:
        """Why an item may differ, if it may."""
        wanted = (scenario, job, what)
        return next((one for one in self.noise if (one.scenario, one.job, one.what) == wanted), None)


def _first_of(first: float, seen: Sequence[float]) -> float:
    """The part of a second at which rounds begin that begin with seconds of a clock, by those that were seen."""
    return (first + median((at - first + 0.5) % 1 - 0.5 for at in seen)) % 1 if seen else first


def _of_rounds(first: float, recorded: float) -> float:
    """The part of a second that had passed at the start, where rounds begin with the seconds of the controller's clock.

    The log has them a few milliseconds later; what the recorder saw says on which side of a second the start was.

    Args:
        first: when the first round was.
        recorded: the part of a second, as the recorder saw it.
    """
    second = -first % 1 + A_MILLISECOND
    return second if second < recorded + 0.5 else max(second - 1.0, 0.0)


def read_known(path: str | os.PathLike[str]) -> Known:
    """Read a list of what is known.

    Raises:
        InputError: it cannot be read, or an entry is not as it should be.
    """
    path = Path(path)
    content = read_toml(path)
    kinds = ("noise", "work", "action", "open", "clock")
    unknown = sorted(set(content) - set(kinds))
    if unknown:
        raise InputError(f"{path}: cannot hold {unknown[0]!r}; known are {', '.join(kinds)}")
    work: dict[str, Callable[[Any], object]] = {"runs": _each(_number), "exits": _each(_whole), "dies_in": _number}
    clock: dict[str, Callable[[Any], object]] = {"uptime": _number, "second": _number, "time_slice": _number}
    return Known(
        _entries(path, content, "noise", Noise, scenario=_text, job=_text, what=_text, reason=_text),
        _entries(path, content, "work", Work, scenario=_text, job=_text, reason=_text, **work),
        _entries(path, content, "action", Given, scenario=_text, at=_number, command=_text, reason=_text),
        _entries(path, content, "open", Open, scenario=_text, reason=_text),
        _entries(path, content, "clock", Clock, scenario=_text, reason=_text, **clock),
    )


def _entries(
    path: Path, content: Mapping[str, Any], kind: str, make: Callable[..., T], **types: Callable[[Any], object]
) -> tuple[T, ...]:
    made = []
    entries = content.get(kind, [])
    if not isinstance(entries, list):
        raise InputError(f"{path}: {kind} is no list of tables; write [[{kind}]]")
    for number, entry in enumerate(entries, 1):
        location = f"{path}: [[{kind}]] number {number}"
        if not isinstance(entry, Mapping):
            raise InputError(f"{location}: is no table")
        unknown = sorted(set(entry) - set(types))
        if unknown:
            raise InputError(f"{location}: has no key {unknown[0]!r}; known are {', '.join(types)}")
        needed = {item.name for item in fields(make) if item.default is item.default_factory}  # type: ignore[arg-type]
        missing = sorted(needed - set(entry))
        if missing:
            raise InputError(f"{location}: needs {missing[0]!r}")
        made.append(make(**{name: _value(location, name, types[name], value) for name, value in entry.items()}))
    return tuple(made)


def _value(location: str, name: str, read: Callable[[Any], object], value: Any) -> object:
    try:
        return read(value)
    except ValueError as error:
        raise InputError(f"{location}: {name}: {value!r} cannot be taken: {error}") from error


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a text is needed")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not abs(value) <= LONGEST:
        raise ValueError(f"a number of seconds up to {LONGEST:g} is needed")
    return float(value)


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= LARGEST_EXIT:
        raise ValueError(f"a whole number from 0 to {LARGEST_EXIT} is needed")
    return value


def _each(read: Callable[[Any], T]) -> Callable[[Any], tuple[T, ...]]:
    def values(given: Any) -> tuple[T, ...]:
        if not isinstance(given, list) or not given:
            raise ValueError("a list of numbers is needed")
        return tuple(map(read, given))

    return values
