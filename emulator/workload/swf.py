"""Traces in the Standard Workload Format: reading and writing.

The format: one line of 18 numbers a job, -1 for unknown; lines that begin with ``;`` are
comments, those at the top the header. Its definition is by D. Feitelson, "The Standard
Workload Format", https://www.cs.huji.ac.il/labs/parallel/workload/swf.html.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import math
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from emulator.files import write_data
from emulator.kinds import TRACE, reads
from emulator.workload import swf_kernel
from emulator.workload.filters import Mask, Where, clean, find_filter, start_at
from emulator.workload.logfile import ADVICE, bytes_of, check_malformed, unpacked
from emulator.workload.workload import LARGEST_SECONDS, Changed, Dropped, Floats, Ints, Workload
from slurm_sim_plugins.errors import ConfigurationError, InputError
from slurm_sim_plugins.kernels import why_plain

ProcessorsField = Literal["allocated", "requested", "either"]
Malformed = Literal["error", "drop"]

FIELDS = (
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "average CPU time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding job",
    "think time",
)
"""What the 18 fields of a record are."""

FACTS = {"status": 11, "user": 12, "group": 13, "executable": 14, "queue": 15, "partition": 16}
"""The field of each fact that a workload keeps."""

WHOLE = {"id": 1, "allocated": 5, "requested": 8, **FACTS}
"""The fields that are kept and must be whole numbers."""

TIMES = {"submit": 2, "wait": 3, "run": 4, "time_limit": 9}
"""The fields that are kept and are seconds, with or without a fraction."""

CPU_TIME = 6
"""The field of the seconds of CPU time that a process used on average; kept where it is a CPU use."""

FRACTIONS = {**TIMES, "cpu_time": CPU_TIME}
"""The fields that are kept and need not be whole."""

CPU_USE = "cpu_use"
"""The fact for which that field stands: CPU time over run time, the share of a processor that is used."""

CPU_USE_DECIMALS = 6
"""A CPU use with so many decimals is the same after writing and reading."""

CPU_USE_LINE = "; Note: cpu_use is average CPU time (field 6) over run time (field 4)"
"""The line that marks a file whose CPU times are to be read as CPU use. In a log they are what
the system had measured, and nothing that a scheduler could have known."""

PROCESSORS: dict[str, tuple[str, str | None]] = {
    "allocated": ("allocated", None),
    "requested": ("requested", "allocated"),
    "either": ("allocated", "requested"),
}
"""Which column gives the processors, and which where that one is unknown."""

CONVERTED = "; Note: converted by slurm-sim-plugins; fields that a simulation does not use are -1"
"""The line that marks a file as written here."""

BLOCK_BYTES = 1 << 20
MOST_COMMENTS = 1 << 16
"""Lines of comments that the kernel notes; a trace has a few dozen."""
PLACES = np.full(len(FIELDS), -1, dtype=np.int64)
"""Which row of the kernel's columns each field goes to."""
PLACES[[number - 1 for number in WHOLE.values()]] = range(len(WHOLE))
PLACES[[number - 1 for number in FRACTIONS.values()]] = range(100, 100 + len(FRACTIONS))

# Most traces hold whole numbers but for the average CPU time, and whole numbers parse faster.
LAYOUTS = tuple(
    np.dtype([(f"field {number}", np.int64 if number in whole else np.float64) for number in range(1, 19)])
    for whole in (set(range(1, 19)) - {6}, set())
)


@dataclass(frozen=True)
class HeaderFacts:
    """What a header says.

    Attributes:
        machine: ``MaxProcs``, else ``MaxNodes``; None where neither is stated.
        epoch: ``UnixStartTime``: Unix time in seconds of second 0; None where not stated.
        queues: names of the queues by number.
        partitions: names of the partitions by number.
    """

    machine: int | None = None
    epoch: int | None = None
    queues: dict[int, str] = field(default_factory=dict)
    partitions: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Block:
    """Some lines of a file: its comments, its records and the lines that are neither."""

    header: list[str]
    columns: dict[str, NDArray[Any]]
    lines: Ints
    bad: list[tuple[int, str]]


class _NotARecordError(Exception):
    """A line that is no record; the message says why."""


def header_facts(header: Iterable[str]) -> HeaderFacts:
    """Read the facts in header lines; where one is stated twice, the last statement counts.

    Args:
        header: lines that begin with ``;``.
    """
    header = list(header)
    sizes = (_stated(header, "MaxProcs"), _stated(header, "MaxNodes"))
    return HeaderFacts(
        machine=next((size for size in sizes if size is not None and size > 0), None),
        epoch=_stated(header, "UnixStartTime"),
        queues=_names(header, "Queue"),
        partitions=_names(header, "Partition"),
    )


@reads(TRACE)
def read_swf(
    path: str | os.PathLike[str],
    *,
    filter: str = "standard",
    processors_field: ProcessorsField = "allocated",
    machine: int | None = None,
    first_submit: float | None = None,
    malformed: Malformed = "error",
) -> Workload:
    """Read a trace, plain or compressed with gzip, whatever its name.

    Args:
        path: the file.
        filter: name of a filter, see :mod:`emulator.workload.filters`.
        processors_field: ``allocated`` takes field 5; ``requested`` takes field 8, and
            field 5 where that is unknown; ``either`` takes field 5, and field 8 where that
            is unknown.
        machine: processors of the machine; by default what the header says.
        first_submit: second at which the first job that stays is submitted; by default
            the trace keeps its clock.
        malformed: ``error`` ends at the first line that is neither a comment nor a record
            of 18 numbers, or at the first job number used twice; ``drop`` leaves such lines
            out and counts them.

    Returns:
        The jobs; ``read`` counts all records, so also those counted in ``dropped``.

    Raises:
        InputError: a file that cannot be read, is not in the format, breaks off, or holds
            no job; the message names the file and, where there is one, the line.
        ConfigurationError: an argument that cannot be used.
    """
    rules = find_filter(filter)
    _check_arguments(processors_field, machine, malformed)
    file = os.fspath(path)
    raw = bytes_of(file)
    source_hash = hashlib.sha256(raw).hexdigest()
    data = _text_of(file, raw)
    del raw  # of a log of millions of jobs it is as large as the columns
    records = _parse(file, data, malformed)
    del data
    records, dropped = _without_bad_lines(file, records, malformed)
    read = len(records.lines) + sum(each.count for each in dropped)

    def where(index: int) -> str:
        return f"{file}:{records.lines[index]}"

    facts = header_facts(records.header)
    machine = facts.machine if machine is None else machine
    columns, replaced = _choose_processors(_with_cpu_use(records), processors_field)
    cleaned = clean(columns, rules, machine=machine, where=where)
    dropped += cleaned.dropped
    if not len(cleaned.columns["id"]):
        raise InputError(f"{file}: no job is left of {len(records.lines)}{_because(dropped)}; try another filter")
    workload = Workload.from_columns(
        _without_unknown(cleaned.columns),
        logged=cleaned.logged,
        name=_name_of(file),
        machine=machine,
        epoch=facts.epoch,
        header=tuple(records.header),
        read=read,
        dropped=dropped,
        changed=_replacements(replaced & cleaned.kept, processors_field, where) + cleaned.changed,
        source_hash=source_hash,
    )
    return workload if first_submit is None else start_at(workload, first_submit)


def write_swf(workload: Workload, path: str | os.PathLike[str]) -> None:
    """Write a workload as a trace, compressed with gzip if the name ends in ``.gz``.

    The workload's own header comes first, then what this conversion adds to it. The same
    workload gives the same bytes. Times are written to the microsecond. Facts that are text
    are numbered from 1, and the header names them. CPU use is written as CPU time, to
    :data:`CPU_USE_DECIMALS` decimals of use (not for runs of 0 s); the header names other columns, for which
    the format has no field and which are left out. The file appears whole or not at all.

    Args:
        workload: the jobs.
        path: the file; one that exists is replaced.

    Raises:
        OutputError: the file cannot be written.
    """
    file = os.fspath(path)
    facts, labels = _numbered_facts(workload)
    header = _header_lines(workload, labels)
    data = b"".join(_encoded(line) + b"\n" for line in header) + _record_lines(workload, facts).encode("ascii")
    packed = _compressed(data) if file.endswith(".gz") else data
    write_data(Path(file), packed)


# Reading ------------------------------------------------------------------------------


def _check_arguments(processors_field: str, machine: int | None, malformed: str) -> None:
    if processors_field not in PROCESSORS:
        raise ConfigurationError(f"processors_field is {processors_field!r}; choose one of {', '.join(PROCESSORS)}")
    check_malformed(malformed)
    if machine is not None and machine < 1:
        raise ConfigurationError(f"a machine of {machine} processors runs no job; give 1 or more")


def _text_of(file: str, raw: bytes) -> bytes:
    """The text, still as bytes, with line ends of one kind."""
    data = unpacked(file, raw).removeprefix(codecs.BOM_UTF8)
    if not data or data.isspace():
        raise InputError(f"{file}: the file is empty; a trace has one line of {len(FIELDS)} numbers a job")
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def _parse(file: str, data: bytes, malformed: str) -> _Block:
    """All records of the file; bad lines end it unless they are to be dropped."""
    whole = None if why_plain() else _read_compiled(data)
    if whole is not None:
        return whole
    blocks = []
    for first, lines in _blocks(data):
        block = _read_fast(lines, first) or _read_slowly(lines, first)
        if block.bad and malformed == "error":
            line, problem = block.bad[0]
            # Only a last line without a line end has this number.
            cut = "; the file breaks off there" if line == data.count(b"\n") + 1 else ""
            raise InputError(f"{file}:{line}: {problem}{cut}; {ADVICE}")
        blocks.append(block)
    return _joined(blocks)


def _read_compiled(data: bytes, parse: Callable[..., int] = swf_kernel.parse) -> _Block | None:
    """Read all lines; None if anything about them is out of the ordinary."""
    most = data.count(b"\n") + 1
    wholes = np.empty((len(WHOLE), most), dtype=np.int64)
    fractions = np.empty((len(FRACTIONS), most))
    lines, comments = np.empty(most, dtype=np.int64), np.full(MOST_COMMENTS, -1, dtype=np.int64)
    count = parse(data, PLACES, wholes, fractions, lines, comments)
    if count < 1:
        return None
    columns: dict[str, NDArray[Any]] = {name: wholes[row, :count] for row, name in enumerate(WHOLE)}
    columns |= {name: fractions[row, :count] for row, name in enumerate(FRACTIONS)}
    if any(columns[name].max() > LARGEST_SECONDS or columns[name].min() < -LARGEST_SECONDS for name in TIMES):
        return None
    begins = comments[comments >= 0].tolist()
    header = [data[begin : (data.find(b"\n", begin) + 1 or len(data) + 1) - 1].decode("latin-1") for begin in begins]
    return _Block(header, columns, lines[:count], [])


def _blocks(data: bytes) -> Iterator[tuple[int, list[str]]]:
    """The lines in portions, each with the number of its first line; saves memory."""
    start, number = 0, 1
    while start < len(data):
        end = data.find(b"\n", start + BLOCK_BYTES) + 1 or len(data)
        # Latin-1 knows every byte, and a header may be in any encoding.
        lines = data[start:end].decode("latin-1").removesuffix("\n").split("\n")
        yield number, lines
        start, number = end, number + len(lines)


def _joined(blocks: list[_Block]) -> _Block:
    return _Block(
        header=[line for block in blocks for line in block.header],
        columns={name: np.concatenate([block.columns[name] for block in blocks]) for name in blocks[0].columns},
        lines=np.concatenate([block.lines for block in blocks]),
        bad=[each for block in blocks for each in block.bad],
    )


def _read_fast(lines: list[str], first: int) -> _Block | None:
    """Read lines all at once; None if anything about them is out of the ordinary."""
    numbers = [number for number, line in enumerate(lines, first) if line and line[0] != ";"]
    body = lines if len(numbers) == len(lines) else [lines[number - first] for number in numbers]
    header = [] if body is lines else [line for line in lines if line and line[0] == ";"]
    if not body:
        return None
    for layout in LAYOUTS:
        fields = _loaded(body, layout)
        if fields is not None and len(fields[0]) == len(body) and _usable(fields):
            columns = {name: fields[number - 1].astype(np.int64) for name, number in WHOLE.items()}
            columns |= {name: fields[number - 1].astype(np.float64) for name, number in FRACTIONS.items()}
            return _Block(header, columns, np.array(numbers, dtype=np.int64), [])
    return None


def _loaded(body: list[str], layout: np.dtype[Any]) -> list[NDArray[Any]] | None:
    try:
        with warnings.catch_warnings():
            # Older releases of numpy cut "1.5" down to 1 for an integer, with a warning only.
            warnings.simplefilter("error")
            table = np.loadtxt(body, dtype=layout, comments=None, ndmin=1, encoding=None)
    except (ValueError, Warning):
        return None
    return [table[name] for name in layout.names or ()]


def _usable(fields: list[NDArray[Any]]) -> bool:
    """Whether numbers are finite, times not too large, and counts and names whole."""
    fractions = [values for values in fields if values.dtype.kind == "f"]
    whole = [fields[number - 1] for number in WHOLE.values()]
    whole = [values for values in whole if values.dtype.kind == "f"]
    times = [fields[number - 1] for number in TIMES.values()]
    return (
        all(bool(np.isfinite(values).all()) for values in fractions)
        and all(bool((np.abs(values) <= LARGEST_SECONDS).all()) for values in times)
        # From 2**53 on a float no longer tells neighbouring whole numbers apart.
        and all(bool(((values == np.rint(values)) & (np.abs(values) < 2.0**53)).all()) for values in whole)
    )


def _read_slowly(lines: list[str], first: int) -> _Block:
    """Read lines one by one, to find those that are bad."""
    header: list[str] = []
    numbers: list[int] = []
    records: list[list[float]] = []
    bad: list[tuple[int, str]] = []
    for number, line in enumerate(lines, first):
        text = line.strip()
        if text.startswith(";"):
            header.append(line)
        elif text:
            try:
                records.append(_record(text))
                numbers.append(number)
            except _NotARecordError as problem:
                bad.append((number, str(problem)))
    columns: dict[str, NDArray[Any]] = {
        name: np.array([record[number - 1] for record in records], dtype=np.int64) for name, number in WHOLE.items()
    }
    for name, number in FRACTIONS.items():
        columns[name] = np.array([record[number - 1] for record in records], dtype=np.float64)
    return _Block(header, columns, np.array(numbers, dtype=np.int64), bad)


def _record(text: str) -> list[float]:
    words = text.split()
    if len(words) != len(FIELDS):
        raise _NotARecordError(f"the line has {len(words)} field{'s' * (len(words) != 1)} instead of {len(FIELDS)}")
    return [_number(number, word) for number, word in enumerate(words, 1)]


def _number(number: int, word: str) -> float:
    """The value of one field, an int where the field must be whole."""

    def refuse(why: str) -> _NotARecordError:
        shown = word if len(word) <= 40 else word[:40] + "..."
        return _NotARecordError(f"field {number} ({FIELDS[number - 1]}) is {shown!r}, which is {why}")

    try:
        value = float(word.replace("_", "?"))
    except ValueError:
        raise refuse("not a number") from None
    if not math.isfinite(value):
        raise refuse("not a finite number")
    if number in TIMES.values() and abs(value) > LARGEST_SECONDS:
        raise refuse("too large for a time in seconds")
    if number not in WHOLE.values():
        return value
    if not value.is_integer():
        raise refuse("not a whole number")
    try:
        whole = int(word)
    except ValueError:
        whole = int(value)
    if not -(2**63) <= whole < 2**63:
        raise refuse("too large")
    return whole


def _without_bad_lines(file: str, records: _Block, malformed: str) -> tuple[_Block, tuple[Dropped, ...]]:
    """Leave out job numbers that were used before, and account for bad lines."""
    dropped: list[Dropped] = []
    if records.bad:
        dropped.append(Dropped("malformed line", len(records.bad), f"{file}:{records.bad[0][0]}"))
    again = _used_before(records.columns["id"])
    if again.any():
        first = int(np.argmax(again))
        if malformed == "error":
            job = int(records.columns["id"][first])
            line = int(records.lines[np.argmax(records.columns["id"] == job)])
            raise InputError(f"{file}:{records.lines[first]}: job number {job} stands already in line {line}; {ADVICE}")
        dropped.append(
            Dropped("job number used before", int(np.count_nonzero(again)), f"{file}:{records.lines[first]}")
        )
        columns = {name: values[~again] for name, values in records.columns.items()}
        records = _Block(records.header, columns, records.lines[~again], records.bad)
    if not len(records.lines):
        raise InputError(f"{file}: the file holds no job{_because(tuple(dropped))}; is it a trace in the SWF format?")
    return records, tuple(dropped)


def _used_before(ids: Ints) -> Mask:
    again = np.zeros(len(ids), dtype=np.bool_)
    if (ids[1:] <= ids[:-1]).any():
        again[:] = True
        again[np.unique(ids, return_index=True)[1]] = False
    return again


def _because(dropped: tuple[Dropped, ...]) -> str:
    reasons = [f"{each.count} left out: {each.reason}, first {each.first}" for each in dropped]
    return f" ({'; '.join(reasons)})" if reasons else ""


def _choose_processors(columns: dict[str, NDArray[Any]], choice: str) -> tuple[dict[str, NDArray[Any]], Mask]:
    """Columns with ``processors``, and which of them the second choice gave."""
    columns = dict(columns)
    given = {name: columns.pop(name) for name in ("allocated", "requested")}
    best, other = PROCESSORS[choice]
    if other is None:
        return {**columns, "processors": given[best]}, np.zeros(len(given[best]), dtype=np.bool_)
    replaced = (given[best] <= 0) & (given[other] > 0)
    return {**columns, "processors": np.where(replaced, given[other], given[best])}, replaced


def _with_cpu_use(records: _Block) -> dict[str, NDArray[Any]]:
    """The columns, with CPU use instead of CPU time if the file says that this is what it means."""
    columns = dict(records.columns)
    time, run = columns.pop("cpu_time"), columns["run"]
    if CPU_USE_LINE in (line.strip() for line in records.header):
        known = (time >= 0) & (run > 0)
        share = np.round(np.divide(time, run, out=np.full(len(run), np.nan), where=known), CPU_USE_DECIMALS)
        if known.any():
            columns[CPU_USE] = share
    return columns


def _replacements(replaced: Mask, choice: str, where: Where) -> tuple[Changed, ...]:
    if not replaced.any():
        return ()
    best, other = PROCESSORS[choice]
    reason = f"{best} processors unknown: the {other} ones taken"
    return (Changed(reason, int(np.count_nonzero(replaced)), where(int(np.argmax(replaced)))),)


def _without_unknown(columns: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Without the facts of which nothing is known."""
    return {name: values for name, values in columns.items() if name not in FACTS or (values != -1).any()}


def _name_of(file: str) -> str:
    name = os.path.basename(file)
    for ending in (".gz", ".swf"):
        if name.lower().endswith(ending) and len(name) > len(ending):
            name = name[: -len(ending)]
    return name


def _stated(header: list[str], label: str) -> int | None:
    """The last whole number that the header states under a label; -1 is unknown.

    Words may follow it; what goes on like another number, such as ``1,152``, is not read
    as the number it begins with.
    """
    pattern = re.compile(rf";\s*{label}\s*:\s*(-?\d{{1,18}})(?![.,]?\d)", re.IGNORECASE)
    found = [int(match[1]) for line in header if (match := pattern.match(line.lstrip()))]
    return found[-1] if found and found[-1] != -1 else None


def _names(header: list[str], label: str) -> dict[int, str]:
    pattern = re.compile(rf";\s*{label}\s*:\s*(\d{{1,18}})\s+(\S.*)", re.IGNORECASE)
    found = (pattern.match(line.lstrip()) for line in header)
    return {int(match[1]): match[2].strip() for match in found if match}


# Writing ------------------------------------------------------------------------------


def _numbered_facts(workload: Workload) -> tuple[dict[str, Ints], list[str]]:
    """The facts as numbers, and header lines that name those that were text."""
    facts, labels = {}, []
    for name in FACTS:
        values = workload.facts.get(name)
        if values is None:
            continue
        if values.dtype.kind in "iufb":
            known = np.isfinite(values)
            facts[name] = np.where(known, np.nan_to_num(values), -1).astype(np.int64)
        elif name != "status":  # its numbers have a meaning of their own
            texts = [_one_line(value) for value in values.tolist()]
            number_of = {text: number for number, text in enumerate(sorted(set(texts) - {""}), 1)}
            facts[name] = np.array([number_of.get(text, -1) for text in texts], dtype=np.int64)
            labels += [f"; {name.capitalize()}: {number} {text}" for text, number in number_of.items()]
    return facts, labels


def _one_line(value: object) -> str:
    """A text without line ends; empty for None and NaN, which are unknown."""
    return "" if value is None or value != value else " ".join(str(value).split())


def _header_lines(workload: Workload, labels: list[str]) -> list[str]:
    """The workload's own lines as they are, then those of this conversion that it lacks."""
    lines = [part for line in workload.header for part in line.replace("\r", "\n").split("\n")]
    lines = [line if line.lstrip().startswith(";") else f"; {line}".rstrip() for line in lines]
    added = [CONVERTED]
    added += [f"; Note: jobs left out: {each.count} ({each.reason})" for each in workload.dropped]
    added += [f"; Note: jobs changed: {each.count} ({each.reason})" for each in workload.changed]
    added += [CPU_USE_LINE] if CPU_USE in workload.facts else []
    added += [f"; Note: column left out, for which the format has no field: {name}" for name in _left_out(workload)]
    lines += [line for line in added + labels if line not in lines]
    facts = header_facts(lines)
    if workload.machine is not None and workload.machine != facts.machine:
        lines.append(f"; MaxProcs: {workload.machine}")
    if workload.epoch is not None and workload.epoch != facts.epoch:
        lines.append(f"; UnixStartTime: {workload.epoch}")
    return lines


def _record_lines(workload: Workload, facts: dict[str, Ints]) -> str:
    processors = _words(workload.processors)
    wait = workload.logged.get("wait")
    columns: dict[int, Iterable[str]] = {
        WHOLE["id"]: _words(workload.id),
        TIMES["submit"]: _seconds(workload.submit),
        **({TIMES["wait"]: _seconds(np.where(np.isnan(wait), -1.0, wait))} if wait is not None else {}),
        TIMES["run"]: _seconds(workload.run),
        WHOLE["allocated"]: processors,
        WHOLE["requested"]: processors,
        TIMES["time_limit"]: _seconds(workload.time_limit),
        **{FACTS[name]: _words(values) for name, values in facts.items()},
        **({CPU_TIME: _cpu_times(workload)} if CPU_USE in workload.facts else {}),
    }
    rows = zip(*(columns.get(number, repeat("-1")) for number in range(1, len(FIELDS) + 1)), strict=False)
    return "".join(f"{' '.join(row)}\n" for row in rows)


def _left_out(workload: Workload) -> list[str]:
    """Names of the facts that the format cannot hold, as they may stand in one line."""
    return [_one_line(name) for name in workload.facts if name not in FACTS and name != CPU_USE]


def _cpu_times(workload: Workload) -> list[str]:
    """Seconds of CPU time, -1 where the use is unknown."""
    whole_runs = bool((workload.run == np.rint(workload.run)).all())
    # The product of a whole number and a use has the decimals of the use; of two fractions, those of both.
    decimals = CPU_USE_DECIMALS if whole_runs else 2 * CPU_USE_DECIMALS
    times = np.asarray(workload.facts[CPU_USE], dtype=np.float64) * workload.run
    return [f"{value:.{decimals}f}".rstrip("0").rstrip(".") if value >= 0 else "-1" for value in times.tolist()]


def _words(values: Ints) -> list[str]:
    return list(map(str, values.tolist()))


def _seconds(values: Floats) -> list[str]:
    """Times with as many of 6 decimals as they need."""
    if (values == np.rint(values)).all():
        return _words(values.astype(np.int64))
    return [f"{value:.6f}".rstrip("0").rstrip(".") for value in values.tolist()]


def _encoded(line: str) -> bytes:
    """As it was read; only a header from elsewhere can hold more than Latin-1."""
    try:
        return line.encode("latin-1")
    except UnicodeEncodeError:
        return line.encode("utf-8", errors="replace")


def _compressed(data: bytes) -> bytes:
    packed = io.BytesIO()
    # No name and no time in it: the same jobs give the same bytes.
    with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=packed, mtime=0) as stream:
        stream.write(data)
    return packed.getvalue()
