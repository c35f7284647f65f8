"""Logs of the Cobalt scheduler, plain or gzipped.

One event a line, ``MM/DD/YYYY HH:MM:SS;event;job;key=value key=value ...``; ``S`` is a start,
``E`` an end. Read are ``qtime`` (the submission), ``start`` and ``end`` (Unix seconds),
``Resource_List.nodect`` (nodes), ``Resource_List.walltime`` (the request) and, where they
are, ``user``, ``project`` or ``account``, ``queue_name`` or ``queue``, ``exec_host``. A
processor of the workload is a node.

The two events of a job are put together. The end repeats what the start said, so an end alone
is enough; a job that has none did not end within the log, and cannot be simulated.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Any

import numpy as np

from emulator.workload.alcf import MACHINES
from emulator.workload.filters import find_filter
from emulator.workload.logfile import ADVICE, bytes_of, check_malformed, counted, text_of, workload_of
from emulator.workload.sacct.times import zone_of
from emulator.workload.workload import LARGEST_SECONDS, Dropped, Workload
from slurm_sim_plugins.errors import InputError

LINE = re.compile(r"(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d);([A-Z]{1,4});([^;]*);(.*)")
DATE = "%m/%d/%Y %H:%M:%S"
NODES, WALLTIME = "Resource_List.nodect", "Resource_List.walltime"
FACTS = {"user": ("user",), "project": ("project", "account"), "queue": ("queue_name", "queue")}
"""Keys of each fact; the first that a line has counts. A log that was prepared for a simulation
has one ``queue`` for all jobs, and in ``queue_name`` where they really were."""
LOCATION = "location"
TEXTS = {**FACTS, LOCATION: ("exec_host",)}
EVENTS = {"S": "start", "E": "end"}


class _NotARecordError(Exception):
    """A line that is no record; the message says why."""


@dataclass
class _JobEvents:
    """What the log says of one job.

    Attributes:
        first: the line that named it first.
        lines: the line of its start and of its end, by letter.
        numbers: columns of the workload, as the keys have them.
        texts: facts.
        dates: the dates of the start and of the end; they count where there is no key.
    """

    first: int
    lines: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    dates: dict[str, float] = field(default_factory=dict)

    def number(self, column: str) -> float:
        """A value; -1 for unknown."""
        return self.numbers.get(column, self.dates.get(column, -1.0))


def read_cobalt(
    path: str | os.PathLike[str],
    *,
    filter: str = "standard",
    machine: int | None = None,
    first_submit: float | None = None,
    malformed: str = "error",
    zone: str = "UTC",
    locations: bool = False,
) -> Workload:
    """Read a log. Second 0 of the workload's clock is that of the first submission.

    When a job started in the log is kept in ``logged["wait"]``, for how long it ran in
    ``logged["run"]`` or, where no filter changed one, ``run``; :func:`logged_span` has both.

    Args:
        path: the file.
        filter: name of a filter, see :mod:`emulator.workload.filters`.
        machine: nodes of the machine; by default those of the machine that stands in the
            file's name, such as ``mira``.
        first_submit: second at which the first job that stays is submitted; by default
            the clock stays as it is.
        malformed: ``error`` ends at the first line that is no record or does not agree
            with the others of its job; ``drop`` leaves such lines out and counts them.
        zone: of the dates at the beginning of the lines, such as ``America/Chicago``. They
            count only where a line lacks ``start`` or ``end``, which have no zone.
        locations: whether where a job ran is a fact, ``location``. It is what happened in
            the log, which a scheduler could not have known; so it is left out unless wanted.

    Raises:
        InputError: a file that cannot be read or holds no job that ended; the message
            names the file and, where there is one, the line.
        ConfigurationError: an argument that cannot be used.
    """
    find_filter(filter)  # before the log is read
    check_malformed(malformed)
    file = os.fspath(path)
    raw = bytes_of(file)
    log = _Log(file, zone_of(zone), malformed == "drop")
    log.read(text_of(file, raw, "a log of Cobalt"))
    jobs, dropped = log.ended()
    machine = _machine(file) if machine is None else machine
    numbers = [job.lines.get("S", job.first) for job in jobs.values()]
    return workload_of(
        file,
        raw,
        _columns(jobs, locations),
        numbers,
        dropped,
        name=_name_of(file),
        machine=machine,
        filter=filter,
        first_submit=first_submit,
    )


def looks_like_cobalt(head: str) -> bool:
    """Whether the first line of a file is an event."""
    return LINE.match(head) is not None


def logged_span(workload: Workload) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """When each job started and ended in its log, in seconds on the workload's clock; NaN for unknown."""
    unknown = np.full(len(workload), np.nan)
    start = workload.submit + workload.logged.get("wait", unknown)
    return start, start + workload.logged.get("run", workload.run)


# Events -------------------------------------------------------------------------------


class _Log:
    """Puts the events of each job together."""

    def __init__(self, file: str, zone: tzinfo, lenient: bool) -> None:
        self._file = file
        self._zone = zone
        self._lenient = lenient
        self._jobs: dict[int, _JobEvents] = {}
        self._bad: list[int] = []

    def read(self, text: str) -> None:
        for number, line in enumerate(counted(text.split("\n")), 1):
            if not line.strip():
                continue
            try:
                self._take(number, line)
            except _NotARecordError as problem:
                if not self._lenient:
                    raise InputError(f"{self._file}:{number}: {problem}; {ADVICE}") from problem
                self._bad.append(number)

    def ended(self) -> tuple[dict[int, _JobEvents], tuple[Dropped, ...]]:
        """The jobs that ended, and what was left out and why."""
        dropped = [Dropped("malformed line", len(self._bad), self._location(self._bad[0]))] if self._bad else []
        ended = {job: events for job, events in self._jobs.items() if "E" in events.lines}
        for reason, started in (("no end in the log", True), ("neither start nor end in the log", False)):
            firsts = [
                each.first for each in self._jobs.values() if "E" not in each.lines and bool(each.lines) == started
            ]
            if firsts:
                dropped.append(Dropped(reason, len(firsts), self._location(firsts[0])))
        if not ended:
            reasons = "; ".join(f"{each.count} left out: {each.reason}, first {each.first}" for each in dropped)
            raise InputError(
                f"{self._file}: the file holds no job that ended{f' ({reasons})' if reasons else ''}; "
                "is it a log of Cobalt?"
            )
        return ended, tuple(dropped)

    def _location(self, line: int) -> str:
        return f"{self._file}:{line}"

    def _take(self, number: int, line: str) -> None:
        match = LINE.fullmatch(line.rstrip())
        if match is None:
            raise _NotARecordError("the line is not written date;event;job;key=value ...")
        date, event, name, message = match.groups()
        if re.fullmatch(r"\d{1,18}", name) is None:
            raise _NotARecordError(f"job is {name[:40]!r}, which is not a whole number")
        job = self._jobs.get(int(name))
        if event not in EVENTS:
            # Such as Q for queued: what it says stands in the other events, too.
            self._jobs.setdefault(int(name), _JobEvents(number))
            return
        moment, pairs = self._seconds(date), _pairs(message)
        values = _numbers(pairs)
        if job is None:
            job = self._jobs[int(name)] = _JobEvents(number)
        _agree(job, event, name, values)
        job.lines[event] = number
        job.numbers.update(values)
        job.texts.update(_texts(pairs))
        job.dates[EVENTS[event]] = moment

    def _seconds(self, date: str) -> float:
        try:
            return datetime.strptime(date, DATE).replace(tzinfo=self._zone).timestamp()
        except (ValueError, OverflowError):
            raise _NotARecordError(f"the date is {date!r}, which is no time in a calendar") from None


def _numbers(pairs: Mapping[str, str]) -> dict[str, float]:
    if "qtime" not in pairs:
        raise _NotARecordError("there is no qtime, which is the submission")
    readers = {"submit": ("qtime", _time), "start": ("start", _time), "end": ("end", _time)}
    readers |= {"processors": (NODES, _whole), "time_limit": (WALLTIME, _duration)}
    return {column: read(key, pairs[key]) for column, (key, read) in readers.items() if key in pairs}


def _texts(pairs: Mapping[str, str]) -> dict[str, str]:
    given = {fact: next((pairs[key] for key in keys if pairs.get(key)), None) for fact, keys in TEXTS.items()}
    return {fact: value for fact, value in given.items() if value is not None}


def _agree(job: _JobEvents, event: str, name: str, values: Mapping[str, float]) -> None:
    """Refuse a second start or end of a job, and an end that tells of another start."""
    if event in job.lines:
        raise _NotARecordError(f"job {name} has its {EVENTS[event]} already in line {job.lines[event]}")
    for column, value in values.items():
        before = job.numbers.get(column, value)
        if value != before:
            other = next(iter(job.lines.values()))
            raise _NotARecordError(f"{column} of job {name} is {value:.15g} here and {before:.15g} in line {other}")


def _pairs(message: str) -> dict[str, str]:
    """The keys and their values; a value may stand in double quotes, and then hold spaces."""
    pairs = {}
    for word in re.findall(r'(?:[^\s"]|"[^"]*")+|"', message):
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise _NotARecordError(f"{word[:40]!r} is not written key=value")
        pairs[key] = value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value
    return pairs


def _time(key: str, word: str) -> float:
    try:
        value = float(word.replace("_", "?"))
    except ValueError:
        raise _NotARecordError(f"{key} is {word[:40]!r}, which is not a number") from None
    if not 0 <= value <= LARGEST_SECONDS:
        raise _NotARecordError(f"{key} is {word[:40]!r}, which is not a usable time")
    return value


def _whole(key: str, word: str) -> float:
    if re.fullmatch(r"\d{1,15}", word) is None:  # as many digits as a float holds
        raise _NotARecordError(f"{key} is {word[:40]!r}, which is not a whole number")
    return float(word)


def _duration(key: str, word: str) -> float:
    """Seconds of ``HH:MM:SS``, where the hours may be more than a day, or of seconds alone."""
    match = re.fullmatch(r"(?:(\d{1,9}):([0-5]\d):)?(\d{1,12})", word)
    if match is None or (match[1] is not None and not re.fullmatch(r"[0-5]\d", match[3])):
        raise _NotARecordError(f"{key} is {word[:40]!r}, which is not written HH:MM:SS")
    return float(int(match[1] or 0) * 3600 + int(match[2] or 0) * 60 + int(match[3]))


# Columns ------------------------------------------------------------------------------


def _columns(jobs: Mapping[int, _JobEvents], locations: bool) -> dict[str, np.ndarray[Any, Any]]:
    def numbers(column: str) -> np.ndarray[Any, Any]:
        return np.array([job.number(column) for job in jobs.values()], dtype=np.float64)

    submit, start = numbers("submit"), numbers("start")
    columns = {
        "id": np.array(list(jobs), dtype=np.int64),
        "submit": submit,
        "wait": start - submit,
        "run": numbers("end") - start,
        "processors": numbers("processors").astype(np.int64),
        "time_limit": numbers("time_limit"),
    }
    # An end that does not say when the run began is all that is known of it.
    columns["run"][start < 0] = columns["wait"][start < 0] = -1.0
    for fact in (*FACTS, *([LOCATION] if locations else [])):
        given = [job.texts.get(fact) for job in jobs.values()]
        if any(value is not None for value in given):
            columns[fact] = np.array(given, dtype=object)
    return columns


# Files --------------------------------------------------------------------------------


def _name_of(file: str) -> str:
    name = re.sub(r"(\.cobalt)?(\.log)?(\.gz)?$", "", os.path.basename(file), flags=re.IGNORECASE)
    return name or os.path.basename(file)


def _machine(file: str) -> int | None:
    words = re.split(r"[^a-z]+", os.path.basename(file).lower())
    return next((nodes for machine, nodes in MACHINES.items() if machine in words), None)
