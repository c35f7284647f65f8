"""Lines of a dump that are records by themselves: told of all lines at once, by Arrow, before anything is Python's.

Such a line has as many separators as stand between the columns, and each value is one of its column. So it begins a
record whatever stands before it, and where another one follows, its record ends with it. Nearly all lines are such,
and most of these are of steps, of which nothing is wanted but their number. The lines of jobs are read as CSV.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.workload.sacct.columns import Column, line_pattern, step_pattern

FIRST = 2
"""The number of the line after the one that names the columns."""
WORTH = 1 << 22
"""Of dumps of fewer bytes no line is found here: they are read line by line sooner than Arrow is loaded."""

SEPARATORS = "|;,:^~#!%&@/\\ \t"
"""With others, such as those that a job's id may have in it, all is read line by line."""
MOST_AT_ONCE = (1 << 31) - 1
"""Arrow reads so many bytes of CSV together at the most."""


class Lines:
    """The lines of a dump, and which of them are records by themselves.

    Args:
        data: all of the dump, in UTF-8; the line that names the columns is none of the lines.
        names: of the columns, in lower case.
        columns: what their values look like.
        separator: between them.
    """

    def __init__(self, data: bytes, names: Sequence[str], columns: Sequence[Column], separator: str) -> None:
        self._data, self._names, self._separator = data, names, separator
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1
        self._edges = ends if data.endswith(b"\n") else np.append(ends, len(data))
        self._alone = self._of_steps = np.zeros(len(self), dtype=bool)
        if len(data) >= WORTH and separator in SEPARATORS:
            self._look(columns)

    def __len__(self) -> int:
        return len(self._edges) - 1

    @property
    def steps(self) -> int:
        """How many of the records are of steps."""
        return int(np.count_nonzero(self._alone & self._of_steps))

    def jobs(self, wanted: Collection[str]) -> tuple[list[int], dict[str, list[str]]]:
        """The other records: the numbers of their lines, and their values by name of column, equal ones as one object.

        Args:
            wanted: names of columns; those that are not there are left out.
        """
        chosen = np.flatnonzero(self._alone & ~self._of_steps)
        # Of columns of one name the last counts.
        places = {name: str(place) for place, name in enumerate(self._names) if name in wanted}
        if not len(chosen):
            return [], {name: [] for name in places}
        columns = _csv(b"".join(self._of(chosen)), self._separator, len(self._names), list(places.values()))
        return (chosen + FIRST).tolist(), dict(zip(places, columns, strict=True))

    def others(self) -> Iterator[tuple[int, list[str]]]:
        """The lines that are no records by themselves, as they follow each other: the number of the first, and all."""
        places = np.flatnonzero(~self._alone)
        runs = np.split(places, np.flatnonzero(np.diff(places) != 1) + 1)
        for run in runs if len(places) else ():
            yield int(run[0]) + FIRST, [line.decode().removesuffix("\n") for line in self._of(run)]

    def _of(self, places: NDArray[np.int64]) -> Iterator[bytes]:
        return map(self._data.__getitem__, map(slice, self._edges[places].tolist(), self._edges[places + 1].tolist()))

    def _look(self, columns: Sequence[Column]) -> None:
        """Find the lines that are records, and those of steps."""
        import pyarrow as pa

        edges = pa.py_buffer(self._edges.astype(np.int64))
        lines = pa.LargeStringArray.from_buffers(len(self), edges, pa.py_buffer(self._data))
        place = max(at for at, name in enumerate(self._names) if name == _id_of(self._names))
        try:
            plain = _matching(lines, line_pattern(columns, self._separator))
            self._of_steps = _matching(lines, step_pattern(place, self._separator))
        except pa.ArrowInvalid:  # More columns than its patterns can have.
            return
        if self._separator != "|":  # Which is in no value that the pattern takes.
            signs = np.flatnonzero(np.frombuffer(self._data, np.uint8) == ord(self._separator))
            plain &= np.diff(np.searchsorted(signs, self._edges)) == len(columns) - 1
        self._alone = plain & np.append(plain[1:], self._data.endswith(b"\n"))


def _id_of(names: Collection[str]) -> str:
    """The column that says which job it is."""
    return "jobid" if "jobid" in names else "jobidraw"


def _matching(lines: Any, pattern: str) -> NDArray[np.bool_]:
    """Which of some lines match; Arrow's own way to an array of numpy would load pandas."""
    import pyarrow.compute as pc

    bits = pc.match_substring_regex(lines, pattern).buffers()[1]
    return np.unpackbits(np.frombuffer(bits, np.uint8), count=len(lines), bitorder="little").astype(bool)


def _csv(data: bytes, separator: str, size: int, wanted: list[str]) -> list[list[str]]:
    """The wanted ones of so many columns, which are named by their place."""
    import pyarrow as pa
    from pyarrow import csv

    text = pa.dictionary(pa.int32(), pa.string())
    block = min(len(data) + 1, MOST_AT_ONCE)  # One, if it can be, so that each column has one dictionary.
    table = csv.read_csv(
        pa.BufferReader(data),
        csv.ReadOptions(use_threads=False, block_size=block, column_names=[str(at) for at in range(size)]),
        csv.ParseOptions(delimiter=separator, quote_char=False, double_quote=False),
        csv.ConvertOptions(include_columns=wanted, column_types=dict.fromkeys(wanted, text)),
    )
    return [_texts(column.unify_dictionaries().combine_chunks()) for column in table.columns]


def _texts(column: Any) -> list[str]:
    """The values of a column, equal ones as one object."""
    return list(map(column.dictionary.to_pylist().__getitem__, column.indices.to_pylist()))
