"""What two runs of one case left in their folders, held against each other: tables, event logs, printed data."""

from __future__ import annotations

import gzip
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

KEYS = {
    "records": ("job_id",),
    "runs": ("job_id", "run"),
    "waits": ("job_id", "time"),
    "factors": ("job_id", "time", "partition"),
    "shares": ("time", "account", "user", "partition"),
    "nodes": ("time", "state"),
}
"""What names a row of a table; rows that have the same key are told apart by their order."""
INSTANTS = ("start", "end", "first_start", "reserved", "first_reserved", "could_start", "requeued", "planned_start")
"""Columns whose values are themselves instants."""
WHEN = ("time", "start", "submit")
"""Where the instant of a row is, else."""
OWN = re.compile(r"run\.version|(plugins\..*|slurm_conf)\.(sha256|origin)")
"""Printed data that may differ between commits: versions and hashes of sources."""
PROGRESS = re.compile(r".*: (\d[\d,]*( of \d[\d,]*)? )?after \d+:\d\d:\d\d(, \d+:\d\d:\d\d to go)?")
"""How far a task had come when it was asked: it goes by the machine's load."""
SUMS = ("shares", "factors")
"""Tables of sums of usage that decays: their last digits go by the steps in which it does."""
FINISHED = {0, 6}
"""Exit codes of runs that left all results: 6 leaves jobs over."""


@dataclass
class Difference:
    """One column of one case that differs.

    Attributes:
        case: name of the case.
        column: such as ``runs.start``, ``events``, ``printed.metrics.load``, ``messages`` or ``exit``.
        count: rows, lines or values that differ.
        instant: the first simulated second at which it does; infinite where there is none.
        job: the first job, 0 where there is none.
        base: value of the first difference, as text.
        new: the other value.
        filled: whether the column was null in all rows of the base.
    """

    case: str
    column: str
    count: int
    instant: float
    job: int
    base: str
    new: str
    filled: bool = False

    def __str__(self) -> str:
        at = f" at {self.instant:.12g} s" if math.isfinite(self.instant) else ""
        job = f", job {self.job}" if self.job else ""
        return f"{self.case}: {self.column} ({self.count:,}x), first{at}{job}: {self.base} -> {self.new}"


def compare(
    case: str, base: Path, new: Path, steps: tuple[Any, Any], own: Mapping[Path | str, str]
) -> list[Difference]:
    """All columns that differ between two folders of one case.

    Args:
        case: its name.
        base: folder of the base commit.
        new: the other folder.
        steps: how the steps of both ended.
        own: texts of messages that name a side, such as its environment, and what to read instead.
    """
    found = []
    codes = [[step["code"] for step in side] for side in steps]
    left = any(code < 0 for code in codes[0])  # What was ended leaves parts.
    for number, (was, now) in enumerate(zip_longest(*codes)):
        if was != now:
            told = _last(new, number)
            found.append(
                Difference(case, f"exit.{number}", 1, math.inf, 0, str(was), f"{now} ({told})" if told else str(now))
            )
            left = left or not {was, now} <= FINISHED
            own = {**own, f"{told}\n": ""}
    return found if left else [*found, *_files(case, base, new), *_printed(case, base, new, own)]


def filled(folder: Path) -> set[str]:
    """Columns of the tables of a folder that are not null in all rows."""
    tables = {file.stem: pd.read_parquet(file) for file in folder.rglob("*.parquet")}
    return {f"{stem}.{column}" for stem, table in tables.items() for column in table if table[column].notna().any()}


def _files(case: str, base: Path, new: Path) -> Iterator[Difference]:
    for file in sorted(base.rglob("*")):
        other = new / file.relative_to(base)
        if not file.is_file() or (file.parent == base and file.suffix in (".out", ".err", ".json")):
            continue
        if not other.exists():
            yield Difference(case, file.name, 1, math.inf, 0, "a file", "no file")
        elif file.suffix == ".toml" or file.read_bytes() == other.read_bytes():
            continue
        elif file.suffix == ".parquet":
            yield from tables(case, file.stem, pd.read_parquet(file), pd.read_parquet(other))
        elif file.suffix == ".json":
            yield from _data(case, file.stem, json.loads(file.read_text()), json.loads(other.read_text()))
        elif file.name.endswith(".jsonl.gz"):
            logs = [gzip.decompress(one.read_bytes()) for one in (file, other)]
            yield from events(case, file.name.partition(".")[0], *logs)
        else:
            yield Difference(case, file.name, 1, math.inf, 0, "other bytes", "")


def tables(case: str, name: str, base: pd.DataFrame, new: pd.DataFrame) -> Iterator[Difference]:
    """Columns of a table that differ; those that only the new one has do not."""
    keys = [key for key in KEYS.get(name, ()) if key in base and key in new]
    base, new = (_keyed(table, keys) for table in (base, new))
    both = base.index.intersection(new.index, sort=False)
    for these, those, words in ((base, new, ("a row", "no row")), (new, base, ("no row", "a row"))):
        alone = these.loc[these.index.difference(those.index, sort=False)]
        if len(alone):
            yield _first(case, f"{name}.(rows)", alone, words, _when(alone))
    base, new = base.loc[both], new.loc[both]
    for column in base:
        was = base[column]
        if column not in new:
            if was.notna().any():
                yield _first(case, f"{name}.{column}", base, (was, "no column"), _when(base))
            continue
        now = new[column]
        differ = ~_equal(was, now)
        if name in SUMS:
            differ &= ~_close(was, now)
        if not differ.any():
            continue
        was, now = was[differ], now[differ]
        instants = _when(base[differ])
        if column in INSTANTS:
            instants = pd.concat([was, now], axis=1).apply(pd.to_numeric, errors="coerce").min(axis=1)
        yield _first(case, f"{name}.{column}", base[differ], (was, now), instants, bool(base[column].isna().all()))


def _keyed(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """With rows under their keys, and under their order among those of the same keys."""
    if not keys:
        return table
    again = table.groupby(keys, dropna=False, sort=False).cumcount()
    index = pd.MultiIndex.from_frame(table[keys].assign(again=again).fillna(""))
    return table.set_axis(index, axis=0)


def _equal(was: pd.Series, now: pd.Series) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Where both are null, or have the same value; whole numbers equal fractional ones of the same value."""
    plain = [column.astype(object).where(column.notna(), None).to_numpy() for column in (was, now)]
    return np.asarray(plain[0] == plain[1], dtype=bool)


def _close(was: pd.Series, now: pd.Series) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Where both are numbers that are the same to nine digits."""
    numbers = [pd.to_numeric(column, errors="coerce").astype(float) for column in (was, now)]
    return np.isclose(*numbers, rtol=1e-9, atol=0)


def _when(table: pd.DataFrame) -> pd.Series:
    """The instant of each row."""
    column = next((name for name in WHEN if name in table), None)
    if column is None:
        return pd.Series(math.inf, index=table.index)
    return table[column].fillna(table["submit"]) if "submit" in table else table[column]


def _first(
    case: str, column: str, rows: pd.DataFrame, values: tuple[Any, Any], instants: pd.Series, empty: bool = False
) -> Difference:
    """The difference of these rows, shown by the earliest."""
    times = instants.astype(float).fillna(math.inf).to_numpy()
    index = int(times.argmin())
    job = int(rows["job_id"].iloc[index]) if "job_id" in rows else 0
    shown = [str(value.iloc[index]) if isinstance(value, pd.Series) else value for value in values]
    return Difference(case, column, len(rows), float(times[index]), job, shown[0], shown[1], empty)


def events(case: str, name: str, base: bytes, new: bytes) -> Iterator[Difference]:
    """Whether two event logs are the same bytes; else the first line that differs."""
    if base == new:
        return
    pairs = list(zip_longest(base.splitlines(), new.splitlines(), fillvalue=b"{}"))
    differing = [index for index, (was, now) in enumerate(pairs) if was != now]
    if not differing:
        yield Difference(case, name, 1, math.inf, 0, "other line ends", "")
        return
    was, now = pairs[differing[0]]
    said = [json.loads(line) for line in (was, now)]
    instant = min((float(each["time"]) for each in said if "time" in each), default=math.inf)
    job = next((int(each["job"]) for each in said if isinstance(each.get("job"), int)), 0)
    yield Difference(case, name, len(differing), instant, job, was.decode(), now.decode())


def _printed(case: str, base: Path, new: Path, own: Mapping[Path | str, str]) -> Iterator[Difference]:
    """What was printed: data value by value, text line by line; messages without the sides' own paths."""
    for file in sorted([*base.glob("*.out"), *base.glob("*.err")]):
        texts = [(folder / file.name).read_text(errors="replace") for folder in (base, new)]
        for path, word in own.items():
            texts = [text.replace(str(path), word) for text in texts]
        if file.suffix == ".out" and texts[0][:1] in "{[":
            try:
                data = [json.loads(text) for text in texts]
            except ValueError:
                pass
            else:
                yield from _data(case, "printed", *data)
                continue
        what = "printed" if file.suffix == ".out" else "messages"
        said = [[line for line in text.splitlines() if not PROGRESS.fullmatch(line)] for text in texts]
        lines = [pair for pair in zip_longest(*said) if pair[0] != pair[1]]
        if lines:
            yield Difference(case, what, len(lines), math.inf, 0, *map(str, lines[0]))


def _data(case: str, name: str, base: Any, new: Any) -> Iterator[Difference]:
    """Values of the base that are others now, by their paths; what was null or not there may be filled."""
    others = dict(_flat(new))
    for path, was in _flat(base):
        now = others.get(path, "nothing")
        if was is not None and was != now and not OWN.fullmatch(path):
            yield Difference(case, f"{name}.{path}", 1, math.inf, 0, json.dumps(was), json.dumps(now))


def _flat(data: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Path and value of each leaf."""
    if isinstance(data, (dict, list)) and data:
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from _flat(value, f"{path}.{key}" if path else str(key))
    else:
        yield path, data


def _last(folder: Path, number: int) -> str:
    """The last line that a step said on standard error."""
    file = folder / f"{number}.err"
    lines = file.read_text(errors="replace").strip().splitlines() if file.exists() else []
    return lines[-1] if lines else ""
