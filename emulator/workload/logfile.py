"""What readers of logs share: the bytes of a file, its text, and a workload made of what was read."""

from __future__ import annotations

import codecs
import csv
import gzip
import hashlib
import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from emulator.files import read_input
from emulator.workload.filters import clean, find_filter, start_at
from emulator.workload.workload import Dropped, Workload
from slurm_sim_plugins.errors import ConfigurationError, InputError

GZIP_MAGIC = b"\x1f\x8b"
HEAD_BYTES = 4096
"""So much of a file is looked at to tell what it is."""
MALFORMED = ("error", "drop")
"""What to do with a line that is no record: end there, or leave it out and count it."""
ADVICE = 'correct the line, or leave such lines out with --malformed drop (in Python: malformed="drop")'
"""What to do about such a line."""


Line = TypeVar("Line")
STRIDE = 4096
"""So many lines are read between two words about it."""
_told: ContextVar[Callable[[int], None] | None] = ContextVar("told", default=None)


@contextmanager
def telling(report: Callable[[int], None] | None) -> Iterator[None]:
    """Have ``report`` be told, while logs are read, how much of one is read, in percent of its lines."""
    token = _told.set(report)
    try:
        yield
    finally:
        _told.reset(token)


def counted(lines: Sequence[Line]) -> Iterator[Line]:
    """The same lines; who wants to know is told how many were taken."""
    report = _told.get()
    for at, line in enumerate(lines):
        if report is not None and not at % STRIDE:
            report(100 * at // len(lines))
        yield line


def bytes_of(file: str) -> bytes:
    """All of a file.

    Raises:
        InputError: it cannot be read.
    """
    return read_input(Path(file))


def unpacked(file: str, raw: bytes) -> bytes:
    """The data of a file, which may be compressed with gzip whatever its name.

    Raises:
        InputError: the gzip data breaks off or is damaged; the message says up to which line it is readable.
    """
    if not raw.startswith(GZIP_MAGIC):
        return raw
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{file}: the gzip data is incomplete or damaged ({error}): it is readable up to line "
            f"{_readable_lines(raw)}; get the file again"
        ) from error


def text_of(file: str, raw: bytes, kind: str) -> str:
    """The text of a file.

    Args:
        file: its name, for messages.
        raw: its bytes, plain or compressed.
        kind: what it should be, such as ``a log of Cobalt``.

    Raises:
        InputError: damaged gzip data, or a line that is not text.
    """
    return _decoded(file, unpacked(file, raw), kind).removeprefix("\ufeff")


def utf8_of(file: str, raw: bytes) -> tuple[bytes, list[int]]:
    """What stands in a file, for readers of all lines at once; odd bytes are replaced, as they come with names of jobs.

    Returns:
        Text in UTF-8, and the lines that were not, counted from 1.

    Raises:
        InputError: damaged gzip data.
    """
    data = unpacked(file, raw).removeprefix(codecs.BOM_UTF8)
    try:
        data.decode()
    except UnicodeDecodeError:
        odd = [number for number, line in enumerate(data.split(b"\n"), 1) if not _is_utf8(line)]
        return data.decode(errors="replace").encode(), odd
    return data, []


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _decoded(file: str, data: bytes, kind: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{file}:{line}: the line is not text in UTF-8; is it {kind}?") from error


def csv_rows(file: str, text: str, needed: Sequence[str]) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """The names of the columns of a log as CSV, and its lines that are not empty, each with its number.

    Args:
        file: its name, for messages.
        text: what is in it.
        needed: columns that there must be.

    Raises:
        InputError: a column is missing, or (while lines are taken) a line is not CSV.
    """
    lines = _csv_lines(file, text)
    names = next(lines, (0, []))[1]
    missing = [name for name in needed if name not in names]
    if missing:
        raise InputError(
            f"{file}:1: there is no column {', '.join(missing)}; the first line names the columns, "
            f"among them {', '.join(needed)}"
        )
    return names, lines


def _csv_lines(file: str, text: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(counted(text.splitlines(keepends=True)), strict=True)
    try:
        for words in reader:
            if words:
                yield reader.line_num, words
    except csv.Error as error:
        raise InputError(f"{file}:{reader.line_num}: the line is not CSV: {error}") from error


def first_line(file: str) -> str:
    """The first line of a file, as far as it can be read; the reader will say what is wrong with it."""
    try:
        with Path(file).open("rb") as stream:
            data = stream.read(HEAD_BYTES)
        if data.startswith(GZIP_MAGIC):
            data = zlib.decompressobj(31).decompress(data, HEAD_BYTES)
    except (OSError, ValueError, zlib.error):
        return ""
    return data.decode("utf-8-sig", errors="replace").partition("\n")[0]


def has_columns(line: str, *names: str) -> bool:
    """Whether a line names these columns of CSV."""
    return set(names) <= set(next(csv.reader(line.splitlines()[:1]), []))


def check_malformed(malformed: str) -> None:
    """Refuse what is no way to deal with malformed lines.

    Raises:
        ConfigurationError: it is none.
    """
    if malformed not in MALFORMED:
        raise ConfigurationError(f"malformed is {malformed!r}; choose {' or '.join(MALFORMED)}")


def workload_of(
    file: str,
    raw: bytes,
    columns: dict[str, np.ndarray[Any, Any]],
    lines: Sequence[int],
    left_out: tuple[Dropped, ...],
    *,
    name: str,
    machine: int | None,
    filter: str,
    first_submit: float | None,
) -> Workload:
    """The workload of a log that counts seconds since 1970. Second 0 of its clock is that of the first submission.

    Args:
        file: name of the log.
        raw: its bytes, for the hash.
        columns: of the jobs, with ``submit`` in Unix seconds.
        lines: where each job stands in the file.
        left_out: what reading left out.
        name: of the workload.
        machine: processors, if known.
        filter: name of a filter, see :mod:`emulator.workload.filters`.
        first_submit: second at which the first job that stays is submitted; None leaves the clock as it is.

    Raises:
        InputError: the filter leaves no job, or a job does not fit the machine.
        ConfigurationError: there is no such filter.
    """
    epoch = math.floor(columns["submit"].min())
    columns["submit"] -= epoch
    cleaned = clean(columns, find_filter(filter), machine=machine, where=lambda index: f"{file}:{lines[index]}")
    if not len(cleaned.columns["id"]):
        reasons = "; ".join(f"{each.count} {each.reason}" for each in cleaned.dropped)
        raise InputError(f"{file}: no job is left of {len(lines)} ({reasons}); try another filter")
    workload = Workload.from_columns(
        cleaned.columns,
        logged=cleaned.logged,
        name=name,
        machine=machine,
        epoch=epoch,
        read=len(lines) + sum(each.count for each in left_out),
        dropped=left_out + cleaned.dropped,
        changed=cleaned.changed,
        source_hash=hashlib.sha256(raw).hexdigest(),
    )
    return workload if first_submit is None else start_at(workload, first_submit)


def _readable_lines(raw: bytes) -> int:
    """How many whole lines come out of gzip data before it breaks."""
    lines, inflate = 0, zlib.decompressobj(31)
    for start in range(0, len(raw), 256):
        piece = raw[start : start + 256]
        try:
            while piece:
                lines += inflate.decompress(piece).count(b"\n")
                piece = inflate.unused_data
                if inflate.eof:
                    inflate = zlib.decompressobj(31)
        except zlib.error:
            break
    return lines
