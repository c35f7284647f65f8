"""Job records: one row a job, and one row a run of a job."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from emulator.accounting.schema import SCHEMAS, check
from emulator.accounting.stays import stay_columns, to_words
from emulator.files import open_kept
from emulator.state.instants import MICROSECONDS, NEVER
from emulator.state.jobs import JobState, JobTable
from emulator.workload.workload import Workload
from slurm_sim_plugins.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow

    from emulator.accounting.stays import StayTable
    from emulator.engine.stock import StockTable

Columns = dict[str, NDArray[Any]]
FEW = 100
"""Different texts in a column, of which each is encoded once."""
MOST_VALUES = 1 << 30
"""Values in a file of records that is read: a few bytes of Parquet can claim any number of them."""

TIMES = (
    "submit",
    "start",
    "end",
    "first_start",
    "reserved",
    "first_reserved",
    "could_start",
    "run",
    "time_limit",
    "planned",
    "occupied",
    "work",
    "eligible",
    "requeued",
    "dies_in",
    "limit",
    "time",
    "planned_start",
)
"""Columns in seconds. In one file all of them are int64 if every value is whole, else float64."""

JOB_COLUMNS: dict[str, str] = {
    "job_id": "the trace's job id",
    "submit": "first submission, in seconds on the trace's clock, as all times",
    "start": "start of the last run; null if it never ran",
    "end": "end of the last run; null if it did not end",
    "processors": "processors it took",
    "state": "COMPLETED, TIMEOUT, REJECTED; in a run that broke off also RUNNING, PENDING, REQUEUED, FUTURE",
    "run": "seconds of work: the true run time; if the job was killed before, at its limit or otherwise, what it did",
    "time_limit": "requested seconds",
    "planned": "seconds of work that schedulers planned with, as answered last",
    "first_start": "start of the first run",
    "requeues": "how often it was sent back to the queue",
    "occupied": "seconds on processors over all its runs",
    "backfilled": "whether its last start went ahead of the head of the queue",
    "blocked": "whether it was left waiting at the head of the queue after some pass",
    "reserved": "the last reservation computed at or before the one before it expired",
    "first_reserved": "the first reservation; null if it never had one",
    "could_start": "first time it was head and idle plus lower-priority processors sufficed",
    "priority_at_start": "the number that ordered the queue",
}
"""What the columns of a job record mean; the workload's facts (user, group ...) follow."""

RUN_COLUMNS: dict[str, str] = {
    "job_id": "the trace's job id",
    "run": "number of the run of this job, from 1",
    "start": "seconds on the trace's clock",
    "end": "seconds; null if it did not end",
    "processors": "processors it took",
    "work": "seconds of the job's own work that this run did and that were not lost; null if it did not end",
    "backfilled": "whether it went ahead of the head of the queue",
    "outcome": "COMPLETED, TIMEOUT, PREEMPTED; in a run that broke off also RUNNING",
    "block": "only where the SelectType gives out blocks: name of the one it was on",
}
"""What the columns of a run record mean; rows are in the order of (start, job_id)."""


@dataclass(frozen=True)
class Records:
    """What happened, as columns.

    Attributes:
        jobs: by name, in the order of (submit, id); floats with NaN where nothing happened.
        runs: by name, in the order of (start, job_id).
        processors: size of the machine.
        epoch: Unix time of second 0, or None.
        stays: by name, as :data:`emulator.accounting.stays.STAY_COLUMNS` says, of stays that
            are over; None if the ExecutionType has no tiers.
    """

    jobs: Mapping[str, NDArray[Any]]
    runs: Mapping[str, NDArray[Any]]
    processors: int
    epoch: int | None = None
    stays: Mapping[str, NDArray[Any]] | None = None

    def __len__(self) -> int:
        return len(self.jobs["job_id"])

    def __repr__(self) -> str:
        return f"Records({len(self):,} jobs, {len(self.runs['job_id']):,} runs, {self.processors:,} processors)"

    @cached_property
    def _states(self) -> tuple[list[Any], NDArray[np.int64]]:
        """The states that jobs are in, and the number of that of each job."""
        states = np.asarray(self.jobs["state"], dtype=object).tolist()
        number = {state: index for index, state in enumerate(dict.fromkeys(states))}
        return list(number), np.fromiter(map(number.__getitem__, states), np.int64, len(states))

    def in_state(self, state: str) -> NDArray[np.bool_]:
        """Which jobs are in a state, such as ``REJECTED``."""
        names, states = self._states
        return states == names.index(state) if state in names else np.zeros(len(states), dtype=np.bool_)

    def jobs_table(self) -> pyarrow.Table:
        """Job records as an Arrow table."""
        return _table(self.jobs)

    def runs_table(self) -> pyarrow.Table:
        """Run records as an Arrow table."""
        return _table(self.runs)

    def stays_table(self) -> pyarrow.Table | None:
        """Stay records as an Arrow table, processors in words; None if there are none."""
        return _table(to_words(self.stays)) if self.stays is not None else None

    def jobs_frame(self) -> pd.DataFrame:
        """Job records as a pandas frame."""
        return _frame(self.jobs)

    def runs_frame(self) -> pd.DataFrame:
        """Run records as a pandas frame."""
        return _frame(self.runs)


def collect(
    table: JobTable | StockTable, workload: Workload, processors: int, stays: StayTable | None = None
) -> Records:
    """Make the records of a simulation, finished or broken off."""
    jobs = _job_columns(table, workload)
    where = stay_columns(stays, workload.id) if stays is not None else None
    ran_once = not table.past_runs and table.blocks is None
    return Records(jobs, _only_runs(jobs) if ran_once else _run_columns(table, jobs), processors, workload.epoch, where)


def read_columns(path: Path, folder: Path | None = None) -> Columns:
    """Read a Parquet file of records back into columns.

    Args:
        path: the file.
        folder: which nothing may lead out of; by default the one that holds the file.

    Raises:
        InputError: the file is not there, is not such a file, or does not hold what
            :data:`~emulator.accounting.schema.SCHEMAS` says of its name.
    """
    import pyarrow
    import pyarrow.parquet

    columns: Columns = {}
    try:
        with open_kept(path, folder) as stream:
            # Threads that still read as the process ends stop it now and then (apache/arrow issues 34314 and 50482).
            file = pyarrow.parquet.ParquetFile(stream, pre_buffer=False)
            if file.metadata.num_rows * file.metadata.num_columns > MOST_VALUES:
                raise InputError(f"{path}: holds more than {MOST_VALUES:,} values; it cannot be the records of a run")
            texts = [each.name for each in file.schema_arrow if pyarrow.types.is_string(each.type)]
            again = {"metadata": file.metadata, "read_dictionary": texts, "pre_buffer": False}
            table = pyarrow.parquet.ParquetFile(stream, **again).read(use_threads=False)
        for name in table.column_names:
            columns[name] = _values(table[name])
    except (OSError, ValueError, KeyError, pyarrow.ArrowException) as error:
        raise InputError(f"{path}: cannot be read as records: {error}") from error
    if path.name in SCHEMAS:
        check(path, columns, SCHEMAS[path.name])
    return columns


def _job_columns(table: JobTable | StockTable, workload: Workload) -> Columns:
    states = np.asarray(table.state, dtype=np.int8)
    start, end = _instants(table.start), _instants(table.end)
    blocked = np.asarray(table.blocked, dtype=bool)
    backfilled = np.asarray(table.backfilled, dtype=bool)
    # Columns that are alike are one array, in memory and in what is written.
    first_start = start.copy() if len(table.past_runs) else start
    occupied = np.nan_to_num(end - start, nan=0.0, copy=False)
    for index, began, ended, *_ in table.past_runs:
        first_start[index] = np.fmin(first_start[index], began / MICROSECONDS)
        occupied[index] += (ended - began) / MICROSECONDS
    killed = states == JobState.TIMEOUT
    names = np.array([state.name for state in JobState], dtype=object)
    ordinary = ~blocked & ~backfilled
    limits = workload.time_limit
    if table.limits:
        limits = limits.copy()
        limits[list(table.limits)] = list(table.limits.values())
    return {
        "job_id": workload.id,
        "submit": workload.submit,
        "start": start,
        "end": end,
        "processors": workload.processors,
        "state": names[states],
        "run": np.where(killed, np.minimum(workload.run, limits), workload.run) if killed.any() else workload.run,
        "time_limit": limits,
        "planned": np.asarray(table.planned, dtype=np.float64),
        "first_start": first_start,
        "requeues": np.asarray(table.requeues, dtype=np.int64),
        "occupied": occupied,
        "backfilled": backfilled,
        "blocked": blocked,
        "reserved": np.asarray(table.reserved, dtype=np.float64),
        "first_reserved": np.asarray(table.first_reserved, dtype=np.float64),
        "could_start": np.where(ordinary, start, _instants(table.could_start)),
        "priority_at_start": table.priorities(),
        **{name: column for name, column in workload.facts.items() if name not in JOB_COLUMNS},
    }


class Later(Mapping[str, NDArray[Any]]):
    """Columns that are worked out when they are asked for, and kept then.

    Args:
        columns: what works each out, by name.
    """

    def __init__(self, columns: Mapping[str, Callable[[], NDArray[Any]]]) -> None:
        self._columns, self._known = columns, dict[str, NDArray[Any]]()

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._known:
            self._known[name] = self._columns[name]()
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __reduce__(self) -> tuple[type[Columns], tuple[Columns]]:
        return dict, (dict(self),)


def _only_runs(jobs: Columns) -> Later:
    """The runs where no job ran twice: those of the jobs, in another order."""

    @cache
    def order() -> NDArray[np.int64]:
        ran = np.flatnonzero(~np.isnan(jobs["start"]))
        found: NDArray[np.int64] = ran[np.lexsort((jobs["job_id"][ran], jobs["start"][ran]))]
        return found

    def of_jobs(name: str) -> Callable[[], NDArray[Any]]:
        return lambda: jobs[name][order()]

    names = {"job_id": "job_id", "run": "requeues", "start": "start", "end": "end", "processors": "processors"}
    names |= {"work": "run", "backfilled": "backfilled", "outcome": "state"}
    columns = {name: of_jobs(source) for name, source in names.items()}
    columns["run"] = lambda: jobs["requeues"][order()] + 1
    columns["work"] = lambda: np.where(np.isnan(jobs["end"]), np.nan, jobs["run"])[order()]
    return Later(columns)


def _run_columns(table: JobTable | StockTable, jobs: Columns) -> Columns:
    past = np.array([(*run[:3], run[4]) for run in table.past_runs], dtype=np.int64).reshape(-1, 4)
    last = np.flatnonzero(~np.isnan(jobs["start"]))
    index = np.concatenate([past[:, 0], last])
    number = np.concatenate([_count_up(past[:, 0]), jobs["requeues"][last] + 1])
    start = np.concatenate([past[:, 1] / MICROSECONDS, jobs["start"][last]])
    outcome = np.concatenate([np.full(len(past), "PREEMPTED", dtype=object), jobs["state"][last]])
    past_backfilled = np.array([run[3] for run in table.past_runs], dtype=bool)
    kept = np.zeros(len(table))
    np.add.at(kept, past[:, 0], past[:, 3] / MICROSECONDS)
    rest = np.where(np.isnan(jobs["end"]), np.nan, jobs["run"] - kept)[last]
    columns = {
        "job_id": jobs["job_id"][index],
        "run": number,
        "start": start,
        "end": np.concatenate([past[:, 2] / MICROSECONDS, jobs["end"][last]]),
        "processors": jobs["processors"][index],
        "work": np.concatenate([past[:, 3] / MICROSECONDS, rest]),
        "backfilled": np.concatenate([past_backfilled, jobs["backfilled"][last]]),
        "outcome": outcome,
    }
    if table.blocks is not None:
        numbers = [*table.past_blocks, *(table.blocks[index] for index in last.tolist())]
        columns["block"] = np.array([table.block_names[number] for number in numbers], dtype=object)
    # A requeued job that waits again when a run breaks off still shows its last start.
    waits = (outcome == JobState.PENDING.name) | (outcome == JobState.REQUEUED.name)
    order = np.lexsort((columns["job_id"], start))
    order = order[~waits[order]]
    return {name: column[order] for name, column in columns.items()}


def _instants(column: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float64]:
    """Microseconds to seconds, NaN for what has not happened."""
    instants = np.asarray(column, dtype=np.int64)
    return np.where(instants == NEVER, np.nan, instants / MICROSECONDS)


def _count_up(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The how-manieth of its value each element is, from 1."""
    order = np.argsort(values, kind="stable")
    counts = np.empty(len(values), dtype=np.int64)
    ordered = values[order]
    first = np.searchsorted(ordered, ordered)
    counts[order] = np.arange(len(values)) - first + 1
    return counts


def table_of(columns: Mapping[str, NDArray[Any]], whole: bool | None = None) -> pyarrow.Table:
    """Columns as an Arrow table.

    Args:
        columns: by name.
        whole: whether times become whole numbers; by default they do if all of them are whole.
    """
    return _table(columns, whole)


def _table(columns: Mapping[str, NDArray[Any]], whole: bool | None = None) -> pyarrow.Table:
    import pyarrow

    whole = times_are_whole(columns) if whole is None else whole
    arrays: dict[str, pyarrow.Array] = {}
    made: dict[Any, pyarrow.Array] = {}
    for name, column in columns.items():
        time = name in TIMES and column.dtype.kind == "f"
        # Some columns are one and the same.
        key = (column.__array_interface__["data"][0], len(column), column.dtype.str, time)
        if key not in made:
            made[key] = _arrow_times(column, whole) if time else _arrow(column)
        arrays[name] = made[key]
    return pyarrow.table(arrays)


def times_are_whole(columns: Mapping[str, NDArray[Any]]) -> bool:
    """Whether all times in these columns are whole numbers of seconds."""
    known = {id(columns[name]): columns[name] for name in TIMES if name in columns}
    return all(map(_is_whole, known.values()))


def _values(column: pyarrow.ChunkedArray) -> NDArray[Any]:
    """A column of Arrow, made from its bytes: Arrow's own conversion would import pandas.

    Whole numbers with nulls become floats, of which those are nan.
    """
    from pyarrow import types

    kind = column.type
    read: Callable[[Any], NDArray[Any]] | None
    if types.is_dictionary(kind) and types.is_string(kind.value_type):
        read = _texts
    elif types.is_boolean(kind) and not column.null_count:
        read = _flags
    elif types.is_integer(kind) or types.is_float32(kind) or types.is_float64(kind):
        read = _numbers
    else:
        read = None
    chunks = [read(chunk) for chunk in column.chunks if len(chunk)] if read is not None else []
    if not chunks:
        converted: NDArray[Any] = column.to_numpy()
        return converted
    return chunks[0] if len(chunks) == 1 else np.concatenate(chunks)


def _texts(chunk: pyarrow.DictionaryArray) -> NDArray[Any]:
    names = np.array([*chunk.dictionary.to_pylist(), None], dtype=object)
    places = _numbers(chunk.indices)
    words: NDArray[Any] = names[np.nan_to_num(places, nan=len(names) - 1).astype(np.int64)]
    return words


def _flags(chunk: pyarrow.BooleanArray) -> NDArray[np.bool_]:
    return _bits(chunk.buffers()[1], chunk)


def _bits(buffer: pyarrow.Buffer, chunk: pyarrow.Array) -> NDArray[np.bool_]:
    bits = np.unpackbits(np.frombuffer(buffer, dtype=np.uint8), bitorder="little")
    return bits[chunk.offset : chunk.offset + len(chunk)].astype(np.bool_)


def _numbers(chunk: pyarrow.Array) -> NDArray[Any]:
    whole = np.frombuffer(chunk.buffers()[1], dtype=chunk.type.to_pandas_dtype())
    values = whole[chunk.offset : chunk.offset + len(chunk)]
    if not chunk.null_count:
        return values
    return np.where(_bits(chunk.buffers()[0], chunk), values, np.nan)


def _arrow_times(column: NDArray[Any], whole: bool) -> pyarrow.Array:
    known = np.isfinite(column)
    values = column if known.all() else np.where(known, column, 0)
    return _arrow(values.astype(np.int64) if whole else values, known)


def _arrow(values: NDArray[Any], known: NDArray[np.bool_] | None = None) -> pyarrow.Array:
    """A column for Arrow, made from its bytes: Arrow's own conversion would import pandas."""
    import pyarrow

    if values.dtype.kind not in "bif":
        return _arrow_text(values)
    if values.dtype.kind == "b":
        kind, data = pyarrow.bool_(), np.packbits(values, bitorder="little")
    else:
        kind, data = pyarrow.from_numpy_dtype(values.dtype), np.ascontiguousarray(values)
    return pyarrow.Array.from_buffers(kind, len(values), [_validity(known), pyarrow.py_buffer(data)])


def _arrow_text(values: NDArray[Any]) -> pyarrow.Array:
    import pyarrow

    words = values.tolist()
    distinct = set(words) if all(type(word) is str for word in words) else set()
    if distinct and len(distinct) <= FEW:
        # States, partitions: each word is encoded once.
        encoded = {word: word.encode() for word in distinct}
        known, text = np.ones(len(words), dtype=bool), b"".join(map(encoded.__getitem__, words))
        lengths = {word: len(code) for word, code in encoded.items()}
        ends = np.zeros(len(words) + 1, dtype=np.int32)
        np.cumsum(np.fromiter(map(lengths.__getitem__, words), np.int32, len(words)), out=ends[1:])
        buffers = [_validity(known), pyarrow.py_buffer(ends), pyarrow.py_buffer(text)]
        return pyarrow.Array.from_buffers(pyarrow.string(), len(words), buffers)
    return _arrow_texts(words)


def _arrow_texts(values: Sequence[Any]) -> pyarrow.Array:
    """Any texts, and None."""
    import pyarrow

    known = np.array([value is not None for value in values], dtype=bool)
    ends = np.zeros(len(values) + 1, dtype=np.int32)
    # One text after the other: lists of nodes in a log of years are a hundred megabytes.
    text = bytearray()
    for index, value in enumerate(values, 1):
        if value is not None:
            text += str(value).encode()
        ends[index] = len(text)
    buffers = [_validity(known), pyarrow.py_buffer(ends), pyarrow.py_buffer(text)]
    return pyarrow.Array.from_buffers(pyarrow.string(), len(values), buffers)


def _validity(known: NDArray[np.bool_] | None) -> pyarrow.Buffer | None:
    import pyarrow

    return None if known is None or known.all() else pyarrow.py_buffer(np.packbits(known, bitorder="little"))


def _frame(columns: Mapping[str, NDArray[Any]]) -> pd.DataFrame:
    import pandas as pd

    whole = all(_is_whole(columns[name]) for name in TIMES if name in columns)
    frame = {}
    for name, column in columns.items():
        convert = whole and name in TIMES and column.dtype.kind == "f" and bool(np.isfinite(column).all())
        frame[name] = column.astype(np.int64) if convert else column
    return pd.DataFrame(frame)


def _is_whole(column: NDArray[Any]) -> bool:
    if column.dtype.kind != "f":
        return True
    known = column[np.isfinite(column)]
    return bool(np.array_equal(known, np.rint(known)) and (np.abs(known) < 2.0**63).all())
