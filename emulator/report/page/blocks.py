"""Data inside a page: columns as bytes, compressed, each content once.

``script/columns.js`` reads what is written here, and decodes a column when it is first looked at: a page of many runs
opens as fast as one of few.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

BASES = {
    "start": "submit",
    "end": "start",
    "first_start": "start",
    "could_start": "start",
    "reserved": "start",
    "first_reserved": "start",
    "planned": "time_limit",
    "occupied": "run",
}
"""Columns that are kept as their distance from another one, which is often the same and always smaller."""
SCALES = (1, 10, 100, 1000, 1_000_000)
"""Parts of a second in which times are whole; instants are whole microseconds at the finest."""
KINDS = (("i8", np.int8), ("i16", np.int16), ("i32", np.int32))
"""Whole numbers, the smallest first; the least of each stands for an unknown one."""
LEVEL = 6
"""Of the compression: 9 takes three times as long for one part in a hundred."""


class Blocks:
    """The data of a page, as numbered blocks of bytes."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}

    def add(self, data: bytes) -> int:
        """The number of a block; the same bytes have the same one."""
        return self._numbers.setdefault(data, len(self._numbers))

    def add_json(self, value: object) -> int:
        """The number of a block that holds plain data."""
        return self.add(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode())

    def texts(self) -> list[str]:
        """Each block for HTML: gzip in base64, which holds no character that means something there."""
        return [packed(data) for data in self._numbers]


def packed(data: bytes) -> str:
    """Bytes as gzip in base64; the same bytes give the same text."""
    # wbits 31 is gzip, whose header zlib writes without a time and without a name.
    compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, 31)
    return base64.b64encode(compressor.compress(data) + compressor.flush()).decode()


def encode_table(columns: Mapping[str, NDArray[Any]], blocks: Blocks) -> dict[str, dict[str, Any]]:
    """How each column of a table is kept: what ``script/columns.js`` needs to decode it.

    Args:
        columns: by name, all of one length.
        blocks: takes their bytes.
    """
    return {name: _encoded(name, columns, blocks) for name in columns}


def _encoded(name: str, columns: Mapping[str, NDArray[Any]], blocks: Blocks) -> dict[str, Any]:
    values = np.asarray(columns[name])
    if values.dtype.kind == "b":
        return {"kind": "i8", "flag": True, "block": blocks.add(values.astype(np.int8).tobytes())}
    if values.dtype.kind not in "iuf":
        return _words(values, blocks)
    numbers = values.astype(np.float64)
    base = BASES.get(name, "")
    if base in columns:
        numbers = numbers - np.nan_to_num(np.asarray(columns[base], dtype=np.float64), nan=0.0)
    return {**({"base": base} if base in columns else {}), **_numbers(numbers, blocks)}


def _numbers(numbers: NDArray[np.float64], blocks: Blocks) -> dict[str, Any]:
    """Numbers as small whole ones where they are whole on some scale, else as they are."""
    known = np.isfinite(numbers)
    scale = next((scale for scale in SCALES if _whole(numbers[known], scale)), 0)
    if not scale:
        return {"kind": "f64", "block": blocks.add(_planes(numbers.astype("<f8")))}
    scaled = np.round(numbers * scale)
    rising = bool(known.all()) and len(scaled) > 0 and bool(np.all(np.diff(scaled) >= 0))
    steps = np.diff(scaled, prepend=0.0) if rising else scaled
    for kind, dtype in KINDS:
        least = np.iinfo(dtype).min
        if np.all(np.abs(steps[known]) < -float(least)):
            filled = np.where(known, steps, float(least)).astype(np.dtype(dtype).newbyteorder("<"))
            return {"kind": kind, "scale": scale, "rising": rising, "block": blocks.add(_planes(filled))}
    return {"kind": "f64", "block": blocks.add(_planes(numbers.astype("<f8")))}


def _whole(numbers: NDArray[np.float64], scale: int) -> bool:
    """Whether these are whole on a scale: off by less than half a microsecond, the noise of floats."""
    scaled = numbers * scale
    return bool(np.all(np.abs(scaled) < 2.0**53) and np.all(np.abs(scaled - np.round(scaled)) < 4e-7 * scale))


def _planes(values: NDArray[Any]) -> bytes:
    """The first bytes of all values, then the second ones: like bytes beside like compress best."""
    return np.ascontiguousarray(values.view(np.uint8).reshape(len(values), values.itemsize).T).tobytes()


def _words(values: NDArray[Any], blocks: Blocks) -> dict[str, Any]:
    """Texts as numbers of a list of the different ones, in the order in which they come."""
    numbers: dict[str, int] = {}
    codes = [-1 if value is None else numbers.setdefault(str(value), len(numbers)) for value in values.tolist()]
    encoded = _numbers(np.array([np.nan if code < 0 else code for code in codes], dtype=np.float64), blocks)
    return {**encoded, "words": blocks.add_json(list(numbers))}
