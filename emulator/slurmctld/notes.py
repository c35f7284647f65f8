"""Rows that are noted while a simulation runs: many, so that each takes few bytes."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping

import numpy as np

from emulator.accounting.records import Columns

KINDS = {"job": "q", "number": "q", "seconds": "d", "value": "d", "text": "i", "flag": "b"}
"""How values of a kind are held: 8 bytes, the number of a text, or one byte."""


class Notes:
    """Rows of a table.

    Args:
        kinds: by name of column, one of :data:`KINDS`; seconds and values may be None.
    """

    def __init__(self, kinds: Mapping[str, str]) -> None:
        self._columns = {name: array(KINDS[kind]) for name, kind in kinds.items()}
        self._texts: list[dict[str, int] | None] = [{} if kind == "text" else None for kind in kinds.values()]

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def add(self, *values: float | str | None) -> None:
        """Add a row."""
        for column, texts, value in zip(self._columns.values(), self._texts, values, strict=True):
            if texts is not None:
                column.append(texts.setdefault(str(value), len(texts)))
            else:
                column.append(math.nan if value is None else value)  # type: ignore[arg-type]

    def columns(self) -> Columns:
        """The rows as columns."""
        found: Columns = {}
        for (name, column), texts in zip(self._columns.items(), self._texts, strict=True):
            values = np.array(column, dtype=bool if column.typecode == KINDS["flag"] else column.typecode)
            found[name] = values if texts is None else np.array(list(texts), dtype=object)[values]
        return found
