"""Job logs of the Argonne Leadership Computing Facility as CSV, plain or gzipped.

One row a job under a line of column names, of which these are read: ``job``, ``user``,
``project``, ``node_num``, ``submit_time`` (Unix seconds), ``wait_time``, ``run_time``,
``wall_time`` (seconds; the last is the request) and, if it is there, ``new_status``. A
processor of the workload is a node.
"""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np

from emulator.workload.filters import find_filter
from emulator.workload.logfile import ADVICE, bytes_of, check_malformed, csv_rows, has_columns, text_of, workload_of
from emulator.workload.workload import LARGEST_SECONDS, Dropped, Workload
from slurm_sim_plugins.errors import InputError

WHOLE = {"id": "job", "user": "user", "project": "project", "processors": "node_num"}
"""Column of the file by column of the workload: whole numbers."""
TIMES = {"submit": "submit_time", "wait": "wait_time", "run": "run_time", "time_limit": "wall_time"}
"""The same for seconds."""
STATUS = "new_status"
MACHINES = {"mira": 49152}
"""Nodes of the machines whose names files begin with."""

Row = dict[str, float | str]


class _NotARecordError(Exception):
    """A line that is no record; the message says why."""


def read_alcf(
    path: str | os.PathLike[str],
    *,
    filter: str = "standard",
    machine: int | None = None,
    first_submit: float | None = None,
    malformed: str = "error",
) -> Workload:
    """Read a log. Second 0 of the workload's clock is that of the first submission.

    Args:
        path: the file.
        filter: name of a filter, see :mod:`emulator.workload.filters`.
        machine: nodes of the machine; by default those of the machine that the file is named after.
        first_submit: second at which the first job that stays is submitted; by default
            the clock stays as it is.
        malformed: ``error`` ends at the first line that is no record or whose job was there
            before; ``drop`` leaves such lines out and counts them.

    Raises:
        InputError: a file that cannot be read, lacks a column, or holds no job; the message
            names the file and, where there is one, the line.
        ConfigurationError: an argument that cannot be used.
    """
    find_filter(filter)  # before the log is read
    check_malformed(malformed)
    file = os.fspath(path)
    raw = bytes_of(file)
    numbers, rows, dropped = _rows(file, text_of(file, raw, "a log as CSV"), malformed)
    machine = _machine(file) if machine is None else machine
    return workload_of(
        file,
        raw,
        _columns(rows),
        numbers,
        dropped,
        name=_name_of(file),
        machine=machine,
        filter=filter,
        first_submit=first_submit,
    )


def looks_like_alcf(head: str) -> bool:
    """Whether the beginning of a file is a line with the names of the columns."""
    return has_columns(head, "submit_time", "wall_time", "node_num")


def _rows(file: str, text: str, malformed: str) -> tuple[list[int], list[Row], tuple[Dropped, ...]]:
    """The records, each with the number of its line, and the lines that were left out."""
    names, lines = csv_rows(file, text, [*WHOLE.values(), *TIMES.values()])
    numbers: list[int] = []
    rows: list[Row] = []
    bad: list[int] = []
    line_of: dict[float | str, int] = {}
    for number, words in lines:
        try:
            row = _record(names, words)
            if row["id"] in line_of:
                raise _NotARecordError(f"job number {row['id']} stands already in line {line_of[row['id']]}")
        except _NotARecordError as problem:
            if malformed == "error":
                raise InputError(f"{file}:{number}: {problem}; {ADVICE}") from problem
            bad.append(number)
            continue
        line_of[row["id"]] = number
        numbers.append(number)
        rows.append(row)
    if not rows:
        raise InputError(f"{file}: the file holds no job; is it a log as CSV?")
    dropped = (Dropped("malformed line or job number used before", len(bad), f"{file}:{bad[0]}"),) if bad else ()
    return numbers, rows, dropped


def _record(names: list[str], words: list[str]) -> Row:
    if len(words) != len(names):
        raise _NotARecordError(f"the line has {len(words)} fields instead of {len(names)}")
    fields = dict(zip(names, words, strict=True))
    row: Row = {name: _whole(column, fields[column]) for name, column in WHOLE.items()}
    row |= {name: _number(column, fields[column]) for name, column in TIMES.items()}
    if STATUS in fields:
        row["status"] = fields[STATUS]
    return row


def _number(column: str, word: str) -> float:
    """Seconds; an empty field is unknown."""
    if not word.strip():
        return -1.0
    try:
        value = float(word.replace("_", "?"))
    except ValueError:
        raise _NotARecordError(f"{column} is {word[:40]!r}, which is not a number") from None
    if not abs(value) <= LARGEST_SECONDS:
        raise _NotARecordError(f"{column} is {word[:40]!r}, which is not a usable time")
    return value


def _whole(column: str, word: str) -> int:
    """A whole number, also if it is written as ``512.0``; an empty field is unknown."""
    match = re.fullmatch(r"(-?\d{1,18})(\.0*)?|", word.strip())
    if match is None:
        raise _NotARecordError(f"{column} is {word[:40]!r}, which is not a whole number")
    return int(match[1] or -1)


def _columns(rows: list[Row]) -> dict[str, np.ndarray[Any, Any]]:
    kinds = {**dict.fromkeys(WHOLE, np.int64), **dict.fromkeys(TIMES, np.float64)}
    columns: dict[str, np.ndarray[Any, Any]] = {
        name: np.array([row[name] for row in rows], dtype=kind) for name, kind in kinds.items()
    }
    if "status" in rows[0]:
        columns["status"] = np.array([row["status"] for row in rows])
    return columns


def _name_of(file: str) -> str:
    return re.sub(r"(\.csv)?(\.gz)?$", "", os.path.basename(file), flags=re.IGNORECASE) or os.path.basename(file)


def _machine(file: str) -> int | None:
    name = os.path.basename(file).lower()
    return next((nodes for machine, nodes in MACHINES.items() if name.startswith(machine)), None)
