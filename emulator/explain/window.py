"""Read a part of an event log without reading all of it: its lines are in the order of time."""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from emulator.accounting.schema import LARGEST
from emulator.files import open_kept
from slurm_sim_plugins.errors import InputError

TIME = b'{"time":'
"""How every line begins."""


class Log:
    """An event log in a file.

    Raises:
        InputError: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with open_kept(path) as stream:
                size = os.fstat(stream.fileno()).st_size
                self._data: mmap.mmap | bytes = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}; run with --out writes it") from error

    def beginning(self, time: float) -> int:
        """Where the first line at or after ``time`` (seconds) begins; the end if there is none.

        Raises:
            InputError: the file is not an event log.
        """
        low, high = 0, len(self._data)
        while low < high:
            line = self._data.rfind(b"\n", 0, (low + high) // 2) + 1
            if line < low:
                line = low
            if self._time(line) < time:
                low = self._next(line)
            else:
                high = line
        return low

    def lines(self, beginning: int) -> Iterator[dict[str, Any]]:
        """The events from there on.

        Raises:
            InputError: a line is damaged.
        """
        while beginning < len(self._data):
            end = self._next(beginning)
            yield self._event(beginning, end)
            beginning = end

    def last(self, words: bytes, beginning: int, end: int) -> dict[str, Any] | None:
        """The last event between two offsets in whose line some words stand; None if there is none."""
        offset = self._data.rfind(words, beginning, end)
        if offset < 0:
            return None
        line = self._data.rfind(b"\n", 0, offset) + 1
        return self._event(line, self._next(line))

    def _next(self, offset: int) -> int:
        end = self._data.find(b"\n", offset)
        return len(self._data) if end < 0 else end + 1

    def _time(self, line: int) -> float:
        data = self._data
        begin = line + len(TIME)
        try:
            if data[line:begin] != TIME:
                raise ValueError("it does not begin with a time")
            return float(data[begin : data.find(b",", begin)])
        except ValueError as error:
            raise self._damaged(line, error) from error

    def _event(self, line: int, end: int) -> dict[str, Any]:
        try:
            event: dict[str, Any] = json.loads(self._data[line:end])
            if not isinstance(event["event"], str) or not abs(event["time"]) < LARGEST:
                raise ValueError("it has no event or no time")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise self._damaged(line, error) from error
        return event

    def _damaged(self, line: int, error: Exception) -> InputError:
        number = self._data[:line].count(b"\n") + 1
        return InputError(f"{self._path}:{number}: this is no line of an event log ({error}); make the run again")
