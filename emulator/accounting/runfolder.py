"""A run leaves a folder; everything that looks at a finished run reads that folder.

``records.parquet`` (one row a job), ``runs.parquet`` (one row a run of a job),
``events.jsonl`` and ``run.toml`` (options, versions, hashes, what was dropped). Nothing
in it depends on when or where it was written: same input, same bytes.
"""

from __future__ import annotations

import os
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from emulator.accounting.records import Records, read_columns
from slurm_sim_plugins.errors import InputError, OutputError

RECORDS = "records.parquet"
RUNS = "runs.parquet"
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
    """Open an event log for writing; its folder is made if need be.

    Raises:
        OutputError: it cannot be made or written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}; name another place") from error


def write_run(folder: Path, records: Records, about: Mapping[str, Any]) -> None:
    """Write records and description into the folder.

    Raises:
        OutputError: a file cannot be written; what was there before is still there.
    """
    import tomli_w

    write_jobs(folder / RECORDS, records)
    _write_parquet(folder / RUNS, records.runs_table())
    write_atomically(folder / ABOUT, lambda stream: stream.write(tomli_w.dumps(about).encode()))


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
    return FinishedRun(Records(jobs, runs, machine, epoch), about, folder)


def write_atomically(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file under another name beside it, then put it in its place.

    Raises:
        OutputError: it cannot be written; what was there before is still there.
    """
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as stream:
            temporary = Path(stream.name)
            write(stream)
        temporary.chmod(0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error


def _write_parquet(path: Path, table: Any) -> None:
    import pyarrow.parquet

    write_atomically(path, lambda stream: pyarrow.parquet.write_table(table, stream))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
