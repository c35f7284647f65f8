"""A run leaves a folder; everything that looks at a finished run reads that folder.

``records.parquet`` (one row a job), ``runs.parquet`` (one row a run of a job), where there
are tiers ``stays.parquet`` (one row a stay of a run on the same processors), ``events.jsonl`` and
``run.toml`` (options, versions, hashes, what was dropped), without which it is none. Of a run in Slurm's timing also
``waits.parquet``, ``factors.parquet`` and ``shares.parquet`` (what jobs waited for, what
priorities were worked out from, shares of associations) and ``cluster.json`` (nodes and
partitions). Nothing in it depends on when or where it was written: same input, same bytes.
"""

from __future__ import annotations

import logging
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from emulator.accounting.records import Columns, Records, read_columns, table_of, times_are_whole
from emulator.accounting.schema import LARGEST
from emulator.accounting.stays import from_file
from emulator.files import check_writable, make_folder, read_kept, write_atomically, write_data
from slurm_sim_plugins.errors import InputError, OutputError

RECORDS = "records.parquet"
RUNS = "runs.parquet"
STAYS = "stays.parquet"
WAITS, FACTORS, SHARES, NODES = NOTES = ("waits.parquet", "factors.parquet", "shares.parquet", "nodes.parquet")
"""Of a run in Slurm's timing: what jobs waited for, what priorities were worked out from, shares of associations,
states of nodes."""
CLUSTER = "cluster.json"
SNAPSHOT = "snapshot.json.gz"
EVENTS = "events.jsonl"
ABOUT = "run.toml"
STATED: Mapping[str, Mapping[str, type]] = {
    "run": {"label": str, "status": str},
    "machine": {"processors": int, "epoch": int},
    "workload": {"name": str},
}
"""Kinds of what ``run.toml`` says, where it says it."""
FILES = (RECORDS, RUNS, STAYS, *NOTES, CLUSTER, SNAPSHOT, EVENTS, ABOUT)
"""All that a run leaves, in the order in which the files are moved to their folder."""
ROW_GROUP = 32_768
"""Rows that are made ready and written together: few, for texts take much room; the file is no larger for it."""
UNFINISHED = "unfinished"
"""The folder, in that of the run, in which a run is written until it is whole."""


@dataclass(frozen=True)
class FinishedRun:
    """What a run folder holds.

    Attributes:
        records: job and run records.
        about: the content of ``run.toml``.
        folder: where it was read from.
    """

    records: Records
    about: Mapping[str, Any]
    folder: Path

    @property
    def label(self) -> str:
        """The policy in a few words: the plugins that are not the defaults."""
        return str(self.about["run"]["label"])

    @property
    def on_cluster(self) -> bool:
        """Whether it was made on the nodes and partitions of a ``slurm.conf``."""
        return "slurm_conf" in self.about


def open_events(path: Path) -> IO[str]:
    """Open an event log for writing.

    Raises:
        OutputError: it cannot be written.
    """
    try:
        return path.open("w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}; name another folder") from error


def write_run(folder: Path, records: Records, about: Mapping[str, Any]) -> None:
    """Write records and description into the folder, which is made if need be.

    Raises:
        OutputError: a file cannot be written; what was there before is still there.
    """
    import tomli_w

    make_folder(folder)
    write_jobs(folder / RECORDS, records)
    _write_columns(folder / RUNS, records.runs)
    stays = records.stays_table()
    if stays is not None:
        _write_parquet(folder / STAYS, stays)
    write_data(folder / ABOUT, tomli_w.dumps(about))


def write_notes(folder: Path, tables: Mapping[str, Columns]) -> None:
    """Write what was noted of a run in Slurm's timing.

    Args:
        folder: of the run.
        tables: columns by name of the file, one of :data:`NOTES`.

    Raises:
        OutputError: a file cannot be written.
    """
    for file, columns in tables.items():
        _write_columns(folder / file, columns)


def check_records(path: Path) -> None:
    """Make sure, before the work is done, that job records can be written to a file.

    Raises:
        OutputError: its name says neither Parquet nor CSV, or it cannot be made there.
    """
    if path.suffix not in (".parquet", ".csv") and not path.is_dir():
        raise OutputError(f"{path}: job records are written as Parquet or CSV; name a file in .parquet or .csv")
    check_writable(path)


def write_jobs(path: Path, records: Records) -> None:
    """Write job records as Parquet, or as CSV if the name ends in ``.csv``.

    Raises:
        OutputError: the file cannot be written.
    """
    if path.suffix == ".csv":
        import pyarrow.csv

        write_atomically(path, lambda stream: pyarrow.csv.write_csv(records.jobs_table(), stream))
    else:
        _write_columns(path, records.jobs)


def read_run(folder: Path) -> FinishedRun:
    """Read a run folder; that a later run into it was not finished is logged as a warning.

    Raises:
        InputError: it is not one, holds no whole run, or a file of it is damaged.
    """
    check_whole(folder)
    about = _read_about(folder / ABOUT)
    machine, epoch = about["machine"]["processors"], about["machine"].get("epoch")
    jobs, runs = read_columns(folder / RECORDS), read_columns(folder / RUNS)
    if not np.isin(runs["job_id"], jobs["job_id"]).all():
        raise InputError(f"{folder / RUNS}: has runs of jobs that {RECORDS} does not have; run with --out writes both")
    return FinishedRun(Records(jobs, runs, machine, epoch, _read_stays(folder / STAYS)), about, folder)


def _read_about(path: Path) -> dict[str, Any]:
    """What ``run.toml`` says, with values of the kinds in :data:`STATED`.

    Raises:
        InputError: it is not there, or damaged.
    """
    try:
        about = tomllib.loads(read_kept(path).decode())
        for table, kinds in STATED.items():
            for name, kind in kinds.items():
                value = about.get(table, {}).get(name, kind())
                if type(value) is not kind:
                    raise ValueError(f"{table}.{name} is {value!r}")
        if not 0 < about["machine"]["processors"] <= LARGEST:
            raise ValueError(f"machine.processors is {about['machine']['processors']}")
        about["run"]["label"], about["run"]["status"]
    except KeyError as error:
        raise InputError(f"{path}: does not say {error}; run with --out writes it") from error
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path}: this is not the folder of a run ({error}); run with --out makes one") from error
    return about


def has_finished(folder: Path) -> bool:
    """Whether a description says that its run went to the end."""
    try:
        return bool(_read_about(folder / ABOUT)["run"]["status"] == "finished")
    except InputError:
        return False


def check_whole(folder: Path) -> None:
    """Say what is to be known of a folder in which a run was begun and not completed.

    Raises:
        InputError: there is no other run in it.
    """
    if not (folder / UNFINISHED).is_dir():
        return
    if not os.path.lexists(folder / ABOUT):
        raise InputError(
            f"{folder}: the run in it is not whole: it still goes on, or was killed; make it again, or resume it if it "
            "took snapshots"
        )
    logging.getLogger(__name__).warning(
        "%s: a later run into this folder still goes on, or was killed; this is the one before", folder
    )


def _read_stays(path: Path) -> Columns | None:
    """Stay records, if there are any."""
    if not os.path.lexists(path):
        return None
    columns = read_columns(path)
    try:
        return from_file(columns)
    except ValueError as error:
        raise InputError(f"{path}: these are no stays ({error}); run with --out writes them") from error


def _write_parquet(path: Path, table: Any) -> None:
    import pyarrow.parquet

    write_atomically(path, lambda stream: pyarrow.parquet.write_table(table, stream))


def _write_columns(path: Path, columns: Mapping[str, Any]) -> None:
    """Write columns; of many rows no more than a row group is made ready at a time."""
    import pyarrow.parquet

    rows, whole = len(next(iter(columns.values()))), times_are_whole(columns)

    def part(begin: int) -> Any:
        return table_of({name: column[begin : begin + ROW_GROUP] for name, column in columns.items()}, whole)

    def write(stream: IO[bytes]) -> None:
        first = part(0)
        with pyarrow.parquet.ParquetWriter(stream, first.schema) as writer:
            writer.write_table(first)
            for begin in range(ROW_GROUP, rows, ROW_GROUP):
                writer.write_table(part(begin))

    write_atomically(path, write)
