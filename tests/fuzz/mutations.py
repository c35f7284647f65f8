"""Damage to files: byte by byte, word by word, and in what they hold."""

from __future__ import annotations

import copy
import gzip
import hashlib
import io
import json
import re
import tomllib
import zlib
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import tomli_w
import yaml

NUMBERS: tuple[Any, ...] = (
    *(0, -0.0, -1, 0.5, 1e-320, 1e308, -1e308, 1e19, float("nan"), float("inf"), float("-inf")),
    *(2**31, 2**63 - 1, 2**63, 2**64, 10**30, -(2**63), 10**9, 65537),
)
FITTING = (0, 1, -1, 2, 10**9, 2**53 + 2, 2**63 - 1, -(2**63))
"""Numbers that any column of numbers takes."""
TEXTS = (
    *(
        "",
        " ",
        "-",
        ",",
        ":",
        "=",
        "|",
        "[",
        "]",
        "'",
        '"',
        "\\",
        "#",
        "%d%s",
        "\x1b[31m",
        "\x00",
        "a\x00b",
        "é",
        "\ufeff",
    ),
    *(
        "²",
        "١٢",
        "1_000",
        "0x10",
        "1e5",
        "1e308",
        "1e400",
        "nan",
        "inf",
        "-inf",
        "true",
        "null",
        "None",
        "~",
        "9" * 5000,
    ),
    *(
        "n[1-999999999]",
        "n[1-2",
        "n[2-1]",
        "n[[1]]",
        "n[1-99][1-99][1-99]",
        "[" * 3000,
        "n[1-3],,n4",
        "1-",
        "-5",
        "1-2-3",
    ),
    *("UNLIMITED", "99999999-0", "0-0:0:0", "-1", "1:2:3:4", "100P", "999999999999999P", "1K1"),
    *("2038-01-19T03:14:08", "9999-12-31T23:59:59", "0001-01-01T00:00:00", "2021-02-30T00:00:00", "Unknown"),
    *("../../etc/passwd", "/dev/zero", "gpu:a:1(IDX:0-", "cpu=1,mem=", "COMPLETED", "PENDING", "a" * 70000),
)
BYTES = (
    b"\x00",
    b"\xff\xfe",
    b"\xc3\x28",
    b"\n\n",
    b"\r",
    b"\x1f\x8b",
    b"\xef\xbb\xbf",
    b"\t",
    b"\x0c",
    b"\xe2\x80\xa8",
)
ALIASES = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
UNWRITTEN = (
    *(ValueError, TypeError, AttributeError, OverflowError, RecursionError, OSError, EOFError, IndexError),
    *(zlib.error, yaml.YAMLError, pa.ArrowException),
)
"""Nine levels of nine aliases: 9 ** 9 values, if they are followed."""
_WORD = re.compile(rb"[\w.+-]+")


def mutated(form: str, data: bytes, rng: Random) -> bytes:
    """A file of this form, damaged once to three times; ``text`` is any form that has lines."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        inside = _INSIDE.get(form)
        try:
            data = inside(data, rng) if inside and rng.random() < 0.7 else _as_bytes(form, data, rng)
        except UNWRITTEN:
            # It is damaged already, or cannot be written in this form.
            data = _as_bytes(form, data, rng)
    return data


def _as_bytes(form: str, data: bytes, rng: Random) -> bytes:
    if form == "parquet" or rng.random() < 0.15:
        return rng.choice((_truncated, _flipped, _spliced, _cut_out, _nothing))(data, rng)
    return rng.choice((_word, _word, _word, _line, _line, _spliced, _cut_out, _truncated))(data, rng)


def _truncated(data: bytes, rng: Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _nothing(data: bytes, rng: Random) -> bytes:
    return rng.choice((b"", b"\n", b"\x00" * 100, gzip.compress(data)[:-9], b"[" * 100_000, b"{" * 100_000, data * 2))


def _flipped(data: bytes, rng: Random) -> bytes:
    found = bytearray(data)
    for _ in range(rng.choice((1, 2, 8))):
        if found:
            found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
    return bytes(found)


def _spliced(data: bytes, rng: Random) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + rng.choice(BYTES) + data[place:]


def _cut_out(data: bytes, rng: Random) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + data[place + rng.choice((1, 1, 2, 10)) :]


def _word(data: bytes, rng: Random) -> bytes:
    words = list(_WORD.finditer(data))
    if not words:
        return data
    found, other = rng.choice(words), rng.choice(words)
    new = rng.choice((rng.choice(TEXTS).encode(), str(rng.choice(NUMBERS)).encode(), other.group()))
    return data[: found.start()] + new + data[found.end() :]


def _line(data: bytes, rng: Random) -> bytes:
    lines = data.split(b"\n")
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(5):
        case 0:
            del lines[one]
        case 1:
            lines.insert(other, lines[one])
        case 2:
            lines[one], lines[other] = lines[other], lines[one]
        case 3:
            lines[one] = lines[one] * rng.choice((2, 100))
        case _:
            lines[one] = lines[one][: rng.randrange(len(lines[one]) + 1)]
    return b"\n".join(lines)


def _in_tree(read: Callable[[bytes], Any], write: Callable[[Any], bytes]) -> Callable[[bytes, Random], bytes]:
    def mutate(data: bytes, rng: Random) -> bytes:
        tree = read(data)
        holder, key = rng.choice(list(_places({"": tree}, set())))
        _change(holder, key, rng)
        return write(tree)

    return mutate


def _places(value: Any, seen: set[int]) -> Iterator[tuple[Any, Any]]:
    """Every place in a tree whose value may be changed; what is shared is gone into once."""
    seen.add(id(value))
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        if key != "":
            yield value, key
        if isinstance(value[key], dict | list) and id(value[key]) not in seen:
            yield from _places(value[key], seen)


def _change(holder: Any, key: Any, rng: Random) -> None:
    match rng.randrange(10):
        case 0:
            del holder[key]
        case 1:
            holder[key] = [holder[key]] if rng.random() < 0.5 else {"a": holder[key]}
        case 2:
            holder[key] = rng.choice(([], {}, [[]], [{}], {"": {}}, True, None, _deep(rng.choice((50, 400)))))
        case 3 if isinstance(holder, list):
            holder.insert(rng.randrange(len(holder) + 1), copy.deepcopy(holder[key]))
        case 3:
            holder[rng.choice(TEXTS[:-1])] = copy.deepcopy(holder[key])
        case 4 | 5 | 6:
            holder[key] = rng.choice(NUMBERS)
        case _:
            holder[key] = rng.choice(TEXTS)


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def _yaml(data: bytes, rng: Random) -> bytes:
    if rng.random() < 0.03:
        return ALIASES.encode() + data
    if rng.random() < 0.05:
        place = rng.choice([found.start() for found in re.finditer(rb"(?<=: )", data)] or [0])
        return (
            data[:place]
            + rng.choice((b"&x ", b"*x ", b"!!python/name:os.system ", b"!!int ", b"!x ", b"? "))
            + data[place:]
        )
    tree = _in_tree(yaml.safe_load, lambda value: yaml.safe_dump(value, sort_keys=False).encode())
    return tree(data, rng)


def _snapshot(data: bytes, rng: Random) -> bytes:
    """A line of a snapshot, whose hash is right again afterwards."""
    lines = gzip.decompress(data).split(b"\n")[:-2]
    place = 0 if rng.random() < 0.5 else rng.randrange(len(lines))
    lines[place] = _json(lines[place], rng)
    whole = b"".join(line + b"\n" for line in lines)
    return gzip.compress(whole + json.dumps(hashlib.sha256(whole).hexdigest()).encode() + b"\n", mtime=0)


_TYPES = (
    *(pa.string(), pa.float64(), pa.float32(), pa.int64(), pa.int8(), pa.uint64(), pa.bool_(), pa.timestamp("s")),
    *(pa.decimal128(38, 3), pa.list_(pa.int64()), pa.dictionary(pa.int32(), pa.string()), pa.binary(), pa.null()),
    pa.struct([("a", pa.int64())]),
)


def _parquet(data: bytes, rng: Random) -> bytes:
    table = pyarrow.parquet.read_table(io.BytesIO(data))
    place = rng.randrange(table.num_columns)
    name, values = table.column_names[place], table.column(place).to_pylist()
    match rng.randrange(9):
        case 0:
            table = table.drop_columns([name])
        case 1:
            table = table.rename_columns(
                [rng.choice(("x", "", "job_id")) if one == name else one for one in table.column_names]
            )
        case 2 | 3:
            kind = rng.choice(_TYPES)
            table = table.set_column(place, name, pa.array([_as(kind, value) for value in values], kind))
        case 4:
            table = table.append_column(name, table.column(place))
        case 5:
            table = table.slice(*sorted((rng.randrange(len(values) + 1), rng.randrange(len(values) + 1))))
        case 6 if values:
            table = table.take([rng.randrange(len(values)) for _ in range(len(values) + rng.choice((-1, 0, 1)))])
        case _ if values:
            kind = table.schema.types[place]
            numeric = pa.types.is_floating(kind) or pa.types.is_integer(kind)
            pool = FITTING if numeric else TEXTS
            for _ in range(rng.choice((1, len(values)))):
                new = None if rng.random() < 0.2 else rng.choice(NUMBERS if pa.types.is_floating(kind) else pool)
                values[rng.randrange(len(values))] = new
            table = table.set_column(place, name, pa.array(values, kind))
    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out)
    return out.getvalue()


def _as(kind: pa.DataType, value: Any) -> Any:
    """A value in another type, where there is one."""
    try:
        return pa.scalar(value, kind).as_py()
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        number = 1 if value is None else len(str(value))
        return {"string": str(value), "bool": True, "null": None, "binary": str(value).encode()}.get(
            str(kind), [number] if pa.types.is_list(kind) else {"a": 1} if pa.types.is_struct(kind) else number
        )


_json = _in_tree(json.loads, lambda value: json.dumps(value).encode())
_INSIDE: dict[str, Callable[[bytes, Random], bytes]] = {
    "toml": _in_tree(lambda data: tomllib.loads(data.decode()), lambda value: tomli_w.dumps(value).encode()),
    "yaml": _yaml,
    "json": _json,
    "parquet": _parquet,
    "snapshot": _snapshot,
}
