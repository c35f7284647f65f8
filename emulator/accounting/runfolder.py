"""A run leaves a folder; everything that looks at a finished run reads that folder.

``records.parquet`` (one row a job), ``runs.parquet`` (one row a run of a job), where there
are tiers ``stays.parquet`` (one row a stay of a run in one place), ``events.jsonl`` and
``run.toml`` (options, versions, hashes, what was dropped). Of a run in Slurm's timing also
``waits.parquet``, ``factors.parquet`` and ``shares.parquet`` (what jobs waited for, what
priorities were worked out from, shares of associations) and ``cluster.json`` (nodes and
partitions). Nothing in it depends on when or where it was written: same input, same bytes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from emulator.accounting.records import Columns, Records, read_columns, table_of
from emulator.accounting.stays import from_file
from emulator.files import make_folder, write_atomically
from slurm_sim_plugins.errors import InputError, OutputError

RECORDS = "records.parquet"
RUNS = "runs.parquet"
STAYS = "stays.parquet"
WAITS, FACTORS, SHARES, NODES = NOTES = ("waits.parquet", "factors.parquet", "shares.parquet", "nodes.parquet")
"""Of a run in Slurm's timing: what jobs waited for, what priorities were worked out from, shares of associations,
states of nodes."""
EVENTS = "events.jsonl"
ABOUT = "run.toml"


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


def open_events(path: Path) -> IO[str]:
    """Open an event log for writing.

    Raises:
        OutputError: it cannot be written.
    """
    try:
        return path.open("w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}; name another place") from error


def write_run(folder: Path, records: Records, about: Mapping[str, Any]) -> None:
    """Write records and description into the folder, which is made if need be.

    Raises:
        OutputError: a file cannot be written; what was there before is still there.
    """
    import tomli_w

    make_folder(folder)
    write_jobs(folder / RECORDS, records)
    _write_parquet(folder / RUNS, records.runs_table())
    stays = records.stays_table()
    if stays is not None:
        _write_parquet(folder / STAYS, stays)
    else:
        # Of an earlier run in this folder.
        (folder / STAYS).unlink(missing_ok=True)
    write_atomically(folder / ABOUT, lambda stream: stream.write(tomli_w.dumps(about).encode()))


def write_notes(folder: Path, tables: Mapping[str, Columns]) -> None:
    """Write what was noted of a run in Slurm's timing; what an earlier run left of the kind goes.

    Args:
        folder: of the run.
        tables: columns by name of the file, one of :data:`NOTES`.

    Raises:
        OutputError: a file cannot be written.
    """
    for file in NOTES:
        if file in tables:
            _write_parquet(folder / file, table_of(tables[file]))
        else:
            (folder / file).unlink(missing_ok=True)


def write_jobs(path: Path, records: Records) -> None:
    """Write job records as Parquet, or as CSV if the name ends in ``.csv``.

    Raises:
        OutputError: the file cannot be written.
    """
    if path.suffix == ".csv":
        import pyarrow.csv

        write_atomically(path, lambda stream: pyarrow.csv.write_csv(records.jobs_table(), stream))
    else:
        _write_parquet(path, records.jobs_table())


def read_run(folder: Path) -> FinishedRun:
    """Read a run folder.

    Raises:
        InputError: it is not one, or a file of it is damaged.
    """
    path = folder / ABOUT
    try:
        about = tomllib.loads(path.read_text(encoding="utf-8"))
        machine, epoch = int(about["machine"]["processors"]), about["machine"].get("epoch")
        str(about["run"]["label"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: this is not the folder of a run ({error}); run with --out makes one") from error
    jobs, runs = read_columns(folder / RECORDS), read_columns(folder / RUNS)
    return FinishedRun(Records(jobs, runs, machine, epoch, _read_stays(folder / STAYS)), about, folder)


def _read_stays(path: Path) -> Columns | None:
    """Stay records, if there are any."""
    if not path.exists():
        return None
    try:
        return from_file(read_columns(path))
    except (ValueError, KeyError) as error:
        raise InputError(f"{path}: these are no stays ({error}); run with --out writes them") from error


def _write_parquet(path: Path, table: Any) -> None:
    import pyarrow.parquet

    write_atomically(path, lambda stream: pyarrow.parquet.write_table(table, stream))
