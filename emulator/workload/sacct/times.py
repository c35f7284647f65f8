"""Times of a dump: with a zone or without one, and what a clock change does to them.

``sacct`` prints local times without a zone, unless ``SLURM_TIME_FORMAT`` says otherwise
(``%s``, or ``%Y-%m-%dT%H:%M:%S%z``). When clocks go back an hour comes twice; which of the
two is meant is told by the order of a job's times and by how long it ran.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from emulator.workload.workload import LARGEST_SECONDS
from slurm_sim_plugins.errors import ConfigurationError

NO_TIME = ("", "unknown", "none", "n/a")
_SECONDS = re.compile(r"\d{1,13}(?:\.\d{1,6})?")
_FIRST, _LAST = (np.frombuffer(text, np.uint8) for text in (b"1000-00-00T00:00:00", b"2999-99-99T99:99:99"))
"""Between which characters those of a time lie that is written as Slurm does."""
_ZONE = re.compile(r"([+-]\d\d)(\d\d)$")
EARLIEST = -86_400.0
"""Unix seconds before which no job was submitted: 1970 in any zone."""
SLACK = 2.0
"""Seconds by which the end may miss start and elapsed time: they are rounded, each in its own way."""


class NoTimeError(ValueError):
    """Text that is no time."""


@dataclass(slots=True)
class Span:
    """The times of a run; None for what did not happen. Unix seconds.

    Attributes:
        submit, eligible, start, end: as they came one after the other.
        backwards: which of them lies before its predecessor, as words; empty if none.
        off: seconds that the end lies after start and elapsed time, if that cannot be rounding; else 0.
    """

    submit: float
    eligible: float | None
    start: float | None
    end: float | None
    backwards: str
    off: float


def zone_of(name: str) -> tzinfo:
    """The zone of a name such as ``Europe/Paris``.

    Raises:
        ConfigurationError: there is no such zone.
    """
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (KeyError, OSError, ValueError) as error:
        raise ConfigurationError(f"zone is {name!r}; give one such as UTC or America/Chicago") from error


class Clock(dict[str, tuple[float, ...]]):
    """What times may mean, as :func:`instants` says; of those written as Slurm does it is worked out for all at once.

    Args:
        zone: of times that state none.
        texts: times that will be asked for.
    """

    def __init__(self, zone: tzinfo, texts: Iterable[str]) -> None:
        super().__init__()
        self._zone = zone
        self._plain = _together([text for text in set(texts) if len(text) == len(_FIRST)], zone)

    def __missing__(self, text: str) -> tuple[float, ...]:
        plain = self._plain.get(text)
        found = self[text] = instants(text, self._zone) if plain is None else (plain,)
        return found

    def plainly(self, texts: Iterable[str]) -> NDArray[np.float64]:
        """What some times mean; NaN for no time, and infinity for what is to be looked at by itself."""
        known = self._plain | dict.fromkeys(("", "Unknown", "None"), math.nan)
        return np.array([known.get(text, math.inf) for text in texts], dtype=np.float64)


def _together(texts: Sequence[str], zone: tzinfo) -> dict[str, float]:
    """The instants of those of some texts that are times without a zone, but for such as may mean two instants."""
    signs = np.frombuffer("".join(texts).encode("ascii", "replace"), np.uint8).reshape(-1, len(_FIRST))
    as_slurm = np.flatnonzero(((signs >= _FIRST) & (signs <= _LAST)).all(axis=1))
    texts = [texts[place] for place in as_slurm.tolist()]
    try:
        seconds = signs[as_slurm].view(f"S{len(_FIRST)}")[:, 0].astype("datetime64[s]").astype(np.int64)
    except ValueError:  # One is in no calendar; each is to be looked at.
        return {}
    hours, place = np.unique(seconds // 3600, return_inverse=True)
    east = np.array([_east(hour, zone) for hour in hours.tolist()])[place]
    meant = zip(texts, (seconds - east).astype(float).tolist(), strict=True)
    return {text: second for text, second in meant if second >= EARLIEST}


def _east(hour: int, zone: tzinfo) -> float:
    """How many seconds the clocks of a zone are ahead of UTC in one of their hours since 1970; NaN if that changes."""
    if zone is UTC:
        return 0.0
    begin = datetime(1970, 1, 1) + timedelta(hours=hour)
    ends = (begin.replace(fold=fold) + timedelta(hours=since) for since in (0, 1) for fold in (0, 1))
    first, *others = (zone.utcoffset(moment) for moment in ends)
    return first.total_seconds() if first is not None and others == [first] * 3 else math.nan


@lru_cache(maxsize=4096)
def instants(text: str, zone: tzinfo) -> tuple[float, ...]:
    """What a time may mean, in Unix seconds: nothing, one instant, or the two of an hour that came twice.

    Args:
        text: as in a dump.
        zone: of times that state none.

    Raises:
        NoTimeError: it is no time.
    """
    text = text.strip()
    if text.lower() in NO_TIME:
        return ()
    if _SECONDS.fullmatch(text):
        return (_usable(float(text), text),)
    try:
        # Before 3.11.4 the library wants the colon in a zone.
        moment = datetime.fromisoformat(_ZONE.sub(r"\1:\2", text) if len(text) > 16 else text)
    except ValueError:
        raise NoTimeError(f"{text[:40]!r}, which is no time such as 2021-12-31T23:59:59") from None
    if moment.tzinfo is not None:
        return (_usable(moment.timestamp(), text),)
    if zone is UTC:
        return (_usable(moment.replace(tzinfo=UTC).timestamp(), text),)
    first, second = (_usable(moment.replace(tzinfo=zone, fold=fold).timestamp(), text) for fold in (0, 1))
    # In the hour that clocks pass over the second comes before the first; both name the same clock.
    return (first, second) if first < second else (first,)


def _usable(seconds: float, text: str) -> float:
    if not EARLIEST <= seconds <= LARGEST_SECONDS:
        raise NoTimeError(f"{text[:40]!r}, which is no time from 1970 on that can be counted")
    return seconds


def spans(
    times: Sequence[NDArray[np.float64]], elapsed: NDArray[np.float64], whole: NDArray[np.bool_]
) -> list[Span | None]:
    """The times of runs, worked out for all at once: of those whose times agree; None where :func:`span` has to look.

    Args:
        times: submissions, eligible times, starts and ends, as :meth:`Clock.plainly` says them.
        elapsed: seconds that each ran; NaN for unknown.
        whole: which were not suspended.
    """
    strange = np.isinf(times)
    submit, _, start, end = np.where(strange, np.nan, times)
    since = np.where(np.isnan(start), submit, start)
    over = np.where(np.isnan(end), since, end)
    off = np.where(np.isnan(start) | np.isnan(end), 0.0, np.abs(over - since - elapsed))
    plain = ~(strange.any(axis=0) | np.isnan(submit) | np.isnan(elapsed)) & whole
    agree = plain & (submit <= since) & (since <= over) & (off <= SLACK)
    known = [[None if at != at else at for at in each.tolist()] for each in times]
    read = zip(agree.tolist(), submit.tolist(), *known[1:], strict=True)
    return [Span(asked, free, began, ended, "", 0.0) if one else None for one, asked, free, began, ended in read]


def span(times: Sequence[tuple[float, ...]], elapsed: float | None, suspended: float) -> Span:
    """The times of a run, of those that they may mean the ones that agree with each other.

    Args:
        times: what submission, eligible time, start and end may mean.
        elapsed: seconds that it ran; None for unknown.
        suspended: seconds that it was suspended, which do not count as elapsed.
    """
    if max(map(len, times)) == 1:
        return _span([meant[0] if meant else None for meant in times], elapsed, suspended)
    found = (_span(choice, elapsed, suspended) for choice in itertools.product(*(meant or (None,) for meant in times)))
    return min(found, key=lambda one: bool(one.backwards) + bool(one.off))


def _span(choice: Sequence[float | None], elapsed: float | None, suspended: float) -> Span:
    submit, eligible, start, end = choice
    assert submit is not None
    began = submit if start is None else start
    in_order = submit <= began <= (began if end is None else end)
    off = 0.0
    if start is not None and end is not None and elapsed is not None:
        beyond = end - start - elapsed
        # A suspension may or may not be in the elapsed time, according to the version.
        off = 0.0 if min(abs(beyond), abs(beyond - suspended)) <= SLACK else beyond
    return Span(submit, eligible, start, end, "" if in_order else _backwards(submit, start, end), off)


def _backwards(submit: float, start: float | None, end: float | None) -> str:
    """Which times lie before their predecessors."""
    named = (("Submit", submit), ("Start", start), ("End", end))
    known = [(name, at) for name, at in named if at is not None]
    return ", ".join(
        f"{later} before {earlier}" for (earlier, one), (later, other) in itertools.pairwise(known) if other < one
    )
