"""Lines of a Slurm configuration file: comments, continuations, ``Include``, ``KEY=VALUE``.

The rules (Slurm's documentation, slurm.conf): ``#`` begins a comment unless a backslash
stands before it; a backslash at the end of a line joins the next one to it; a value ends
at a blank unless it is in double quotes. A file is data: what it includes is opened only
within the folder of the main file; of an absolute name, the file of its last parts there.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from emulator.config.slurm.location import Findings, Location
from emulator.files import read_input
from slurm_sim_plugins.errors import InputError

LARGEST_FILE = 64
"""MiB; no configuration is larger."""
TOO_LARGE = "no configuration of Slurm is"
MOST_INCLUDES = 1000

_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)#.*")
_INCLUDE = re.compile(r"\s*include\s+(\S.*)", re.IGNORECASE)
_KEY = re.compile(r"\s*([A-Za-z0-9_.]+)\s*=\s*")
_PAIR = re.compile(_KEY.pattern + r'(?:"([^"]*)"(?=\s|\Z)|([^\s"]\S*))')
_TEMPLATE = re.compile(r"\{\{|\{%")
_CONTINUED = re.compile(r"(?<!\\)((?:\\\\)*)\\\s*\Z")


class Pair(NamedTuple):
    """A key and its value, as they are written."""

    key: str
    value: str
    location: Location


Pairs = tuple[Pair, ...]


class _Logical(NamedTuple):
    """A line with its continuations."""

    text: str
    starts: list[int]
    """Where in the text each physical line begins."""
    first: Location

    def location(self, position: int) -> Location:
        """The physical line of a character."""
        if len(self.starts) == 1:
            return self.first
        return Location(self.first.file, self.first.line + bisect.bisect_right(self.starts, position) - 1)


class Lines:
    """The lines of a file and of those that it includes.

    Args:
        main: the main file; what leaves its folder is not read.
        findings: where problems and notices go.
        content: what the main file holds, if it is not a file; then no other is read.
    """

    def __init__(self, main: Path, findings: Findings, content: bytes | None = None) -> None:
        self._main = main
        self._content = content
        self._folder = main.parent.resolve() if content is None else None
        self._findings = findings
        self._includes = 0
        self._cluster = ""

    def __iter__(self) -> Iterator[Pairs]:
        """The pairs of each line that has any.

        Raises:
            InputError: the main file cannot be read.
        """
        if self._content is not None:
            yield from self._file(self._main, self._content, ())
        else:
            yield from self._file(self._main, read_input(self._main, LARGEST_FILE, TOO_LARGE), (self._main.resolve(),))

    def _file(self, path: Path, content: bytes, open_files: tuple[Path, ...]) -> Iterator[Pairs]:
        for line in _logical(path, self._decoded(path, content)):
            if _TEMPLATE.search(line.text) or _is_template_comment(line.text):
                self._findings.notice(line.first, f"template, not a value: {line.text.strip()!r}")
                continue
            include = _INCLUDE.fullmatch(line.text)
            if include is not None:
                yield from self._include(include.group(1).strip(), line.first, open_files)
                continue
            pairs = tuple(self._pairs(line))
            if pairs:
                self._note_cluster(pairs)
                yield pairs

    def _note_cluster(self, pairs: Pairs) -> None:
        if pairs[0].key.lower() == "clustername":
            self._cluster = pairs[0].value

    def _decoded(self, path: Path, content: bytes) -> str:
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            self._findings.notice(Location(str(path), line), "is not UTF-8: odd bytes are replaced")
            return content.decode("utf-8-sig", errors="replace")

    def _include(self, name: str, location: Location, open_files: tuple[Path, ...]) -> Iterator[Pairs]:
        yield (Pair("Include", name, location),)
        # %c stands for the cluster's name (Slurm's documentation, "Include modifiers").
        path = self._main.parent / name.replace("%c", self._cluster)
        try:
            if "\0" in str(path):
                raise InputError(f"{name!r} is no name of a file")
            if Path(name).is_absolute():
                path = self._copy_of(path) or path
            target = path.resolve()
            if self._folder is None or not target.is_relative_to(self._folder):
                beside = "it is not in the folder of"
                self._findings.notice(location, f"{name!r} is not read: {beside} {self._main.name}; copy it there")
                return
            if Path(name).is_absolute():
                self._findings.notice(location, f"{name!r}: {path} is read in its place")
            self._check_include(name, target, open_files)
            content = read_input(path, LARGEST_FILE, TOO_LARGE)
        except (InputError, OSError, RuntimeError) as error:
            # A loop of links is a RuntimeError before Python 3.13.
            self._findings.problem(location, str(error))
            return
        yield from self._file(path, content, (*open_files, target))

    def _copy_of(self, path: Path) -> Path | None:
        """The file in the folder that an absolute name means where the whole folder was copied, if it is there."""
        folder = self._folder
        if folder is None:
            return None
        ends = (self._main.parent.joinpath(*path.parts[begin:]) for begin in range(1, len(path.parts)))
        return next((one for one in ends if one.resolve().is_relative_to(folder) and one.is_file()), None)

    def _check_include(self, name: str, target: Path, open_files: tuple[Path, ...]) -> None:
        self._includes += 1
        if target in open_files:
            raise InputError(f"{name!r} includes itself; take this line out")
        if self._includes > MOST_INCLUDES:
            raise InputError(f"more than {MOST_INCLUDES} files are included; put them together")

    def _pairs(self, line: _Logical) -> Iterator[Pair]:
        text = line.text.rstrip()
        position = 0
        while position < len(text):
            found = _PAIR.match(text, position)
            if found is None:
                self._findings.problem(*_wrong(line, position))
                return
            key, quoted, bare = found.groups()
            yield Pair(key, quoted if bare is None else bare, line.location(found.start(1)))
            position = found.end()


def _wrong(line: _Logical, position: int) -> tuple[Location, str]:
    """Where and why no pair begins at a position."""
    key = _KEY.match(line.text, position)
    if key is None:
        return line.location(position), f"{_short(line.text[position:].strip())} is not written as KEY=VALUE"
    value = line.text[key.end() :]
    if not value.strip():
        why = 'has no value; nothing is written as ""'
    elif value.count('"') < 2:
        why = "lacks the closing quotation mark (a # begins a comment; write \\# for the character)"
    else:
        why = "needs a blank after the closing quotation mark"
    return line.location(key.start(1)), f"{key.group(1)} {why}"


def _logical(path: Path, text: str) -> Iterator[_Logical]:
    """Put continued lines together."""
    parts: list[str] = []
    starts: list[int] = []
    length = first = 0
    lines = text.split("\n")
    for number, physical in enumerate(lines, 1):
        part = physical if _is_template_comment(physical) else _COMMENT.sub(r"\1", physical, count=1)
        continued = _CONTINUED.search(part) if number < len(lines) else None
        if continued is not None:
            part = part[: continued.start()] + continued.group(1)
        part = part.replace("\\#", "#")
        first = first or number
        starts.append(length)
        parts.append(part)
        length += len(part)
        if continued is None:
            yield _Logical("".join(parts), starts, Location(str(path), first))
            parts, starts, length, first = [], [], 0, 0


def _is_template_comment(text: str) -> bool:
    return text.lstrip().startswith("{#")


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}...")
