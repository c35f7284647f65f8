"""Rows that are noted while a simulation runs: many, so that each takes few bytes."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.accounting.records import Columns

KINDS = {"job": "q", "number": "q", "seconds": "d", "value": "d", "text": "i", "flag": "b"}
"""How values of a kind are held: 8 bytes, the number of a text, or one byte."""


TOGETHER = 4096
"""So many rows are held as they are at most."""


class RowBuffer:
    """Rows of a table.

    Args:
        kinds: by name of column, one of :data:`KINDS`; seconds and values may be None.
    """

    def __init__(self, kinds: Mapping[str, str]) -> None:
        self._columns: dict[str, array[Any]] = {name: array(KINDS[kind]) for name, kind in kinds.items()}
        self._rows: list[tuple[float | str | None, ...]] = []
        self._texts: list[dict[str, int] | None] = [{} if kind == "text" else None for kind in kinds.values()]

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()))) + len(self._rows)

    def add(self, *values: float | str | None) -> None:
        """Add a row."""
        self._rows.append(values)
        if len(self._rows) >= TOGETHER:
            self._take_in()

    def texts(self, name: str) -> dict[str, int]:
        """The numbers of the texts of a column, as :meth:`extend` takes them; new ones may be added."""
        known = self._texts[list(self._columns).index(name)]
        assert known is not None
        return known

    def extend(self, many: int, *values: NDArray[Any] | float) -> None:
        """Add so many rows at once: of each column its values, texts by their numbers, or one value for all rows.

        Raises:
            ValueError: a column has another number of values.
        """
        self._take_in()
        for (name, column), value in zip(self._columns.items(), values, strict=True):
            if isinstance(value, np.ndarray):
                if value.shape != (many,):
                    raise ValueError(f"{name}: {value.shape} values for {many} rows")
                column.frombytes(value.astype(column.typecode, copy=False).tobytes())
            else:
                column.fromlist([value] * many)

    def _take_in(self) -> None:
        """Put rows into columns, many at once: that is a good deal faster than one by one."""
        rows = zip(*self._rows, strict=True)
        for column, texts, values in zip(self._columns.values(), self._texts, rows, strict=False):
            if texts is not None:
                column.extend([texts.setdefault(str(value), len(texts)) for value in values])
                continue
            try:
                column.fromlist([*values])
            except TypeError:
                column.fromlist([math.nan if value is None else value for value in values])
        self._rows.clear()

    def take_columns(self) -> Columns:
        """The rows as columns; from then on it has none: each column is let go before the next one is made."""
        self._take_in()
        found: Columns = {}
        for index, (name, column) in enumerate(self._columns.items()):
            dtype = bool if column.typecode == KINDS["flag"] else column.typecode
            values, texts = np.array(column, dtype=dtype), self._texts[index]
            found[name] = values if texts is None else np.array(list(texts), dtype=object)[values]
            self._columns[name] = array(column.typecode)
            self._texts[index] = None if texts is None else {}
        return found
