"""The folder of a campaign's results: a Parquet data set, partitioned by run.

::

    slurm-sim-campaign.json             marks the folder; held while somebody writes
    campaign.json                       which runs the campaign file named last
    runs/run=<identity>/numbers.parquet one row: what was measured
    runs/run=<identity>/_manifest.json  what made it so, what it cost, the hashes of its files
    records/run=<identity>/*.parquet    job records, if they were wanted
    stints/run=<identity>/runs.parquet  run records, if those were wanted

A result counts when its manifest is there and the files are what it says. The manifest is
written last, each file under another name first; so whatever is interrupted, a result is
there whole or not at all. What is damaged is told, and counts as not there.

All of it is data: reading it runs nothing, and no name of a file comes from a file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from emulator.campaign.hashes import canonical, sha256
from emulator.campaign.work import Made, Numbers
from emulator.files import MALFORMED, PART, clear_parts, make_folder, open_kept, read_kept, try_lock, write_atomically
from slurm_sim_plugins.errors import ConfigurationError, InputError, OutputError

MARK = "slurm-sim-campaign.json"
PLAN = "campaign.json"
NUMBERS = "numbers.parquet"
MANIFEST = "_manifest.json"
STINTS = "runs.parquet"
PARTS = ("runs", "records", "stints")
"""Folders of the store. Each is a data set of its own, of one kind of rows."""
FORMAT = 1
IDENTITY = re.compile(r"[0-9a-f]{64}")
RECORD_FILE = re.compile(r"[a-z]+\.parquet")
"""Names of files that are kept beside the numbers."""


@dataclass(frozen=True)
class Kept:
    """What the store holds of one run.

    Attributes:
        numbers: what was measured; empty if it failed.
        error: why it failed; empty if it did not.
        manifest: all that is known of it.
    """

    numbers: Numbers
    error: str
    manifest: Mapping[str, Any] = field(default_factory=dict)


class DamagedError(Exception):
    """A result that is not what was written; says which file, and what is wrong with it."""


class Store:
    """Results in a folder.

    Args:
        folder: where.

    Raises:
        InputError: there is no such store.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        mark = folder / MARK
        try:
            known = json.loads(read_kept(mark))["format"]
        except (OSError, *MALFORMED) as error:
            raise InputError(f"{folder}: holds no results of a campaign ({error}); run makes them") from error
        if known != FORMAT:
            raise InputError(f"{mark}: format {known!r} is not known here, only {FORMAT}; use another version")

    @classmethod
    def make(cls, folder: Path) -> Store:
        """The store of a folder, which is made if it is not there or empty.

        Raises:
            OutputError: the folder holds something else, or cannot be written.
        """
        make_folder(folder)
        mark = folder / MARK
        if not mark.exists() or not mark.stat().st_size:
            # An empty mark is what a lost machine can leave; then there is nothing else but ours.
            ours = {MARK, PLAN, *PARTS} if mark.exists() else set()
            names = (file.name for file in folder.iterdir())
            others = sorted(name for name in names if name not in ours and not name.endswith(PART))
            if others:
                raise OutputError(
                    f"{folder}: holds {others[0]} and is no folder of a campaign's results; name an empty one"
                )
            write_atomically(mark, lambda stream: _write_through(stream, canonical({"format": FORMAT})))
        return cls(folder)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep others from writing, and clear away what an interrupted write left.

        Raises:
            OutputError: somebody else is writing.
        """
        with open_kept(self.folder / MARK) as stream:
            # On a file system without locks two writers would write the same bytes.
            with suppress(OSError):
                if not try_lock(stream.fileno()):
                    raise OutputError(f"{self.folder}: another campaign writes there; wait for it, or end it")
            self._clear()
            yield

    def runs(self) -> list[str]:
        """Identities of all runs of which there is something."""
        return sorted(
            folder.name.removeprefix("run=")
            for folder in (self.folder / "runs").glob("run=*")
            if IDENTITY.fullmatch(folder.name.removeprefix("run="))
        )

    def look(self, identity: str) -> Kept | None:
        """What is kept of a run, or None.

        Raises:
            DamagedError: it is not what was written.
        """
        folder = self._folder("runs", identity)
        file = folder / MANIFEST
        if not file.exists():
            return None
        try:
            manifest = json.loads(read_kept(file, self.folder))
            stated = manifest.pop("sha256")
            if stated != sha256(canonical(manifest)) or manifest["run"] != identity:
                raise ValueError("it is not what was written")
            error = manifest["error"]
            files = {self._file(identity, name): hashed for name, hashed in manifest["files"].items()}
        except (OSError, *MALFORMED) as problem:
            raise DamagedError(f"{file}: is damaged ({problem})") from problem
        for path, hashed in files.items():
            self._check(path, hashed)
        return Kept({} if error else self._numbers(folder / NUMBERS), error, manifest)

    def keep(self, identity: str, made: Made, about: Mapping[str, Any]) -> None:
        """Keep what was made of a run, or why nothing was.

        Raises:
            OutputError: it cannot be written; what was there before is there still, or counts as damaged.
        """
        files = dict(made.files)
        if not made.error:
            files[NUMBERS] = _table_of(made.numbers)
        manifest = {
            "run": identity,
            **about,
            "error": made.error,
            "files": {name: sha256(data) for name, data in files.items()},
            "spent": {"cpu_seconds": made.cpu_seconds, "peak_memory_mb": made.peak_memory_mb},
        }
        manifest["sha256"] = sha256(canonical(manifest))
        for name, data in files.items():
            self._put(self._file(identity, name), data)
        self._put(self._folder("runs", identity) / MANIFEST, json.dumps(manifest, indent=1, default=str).encode())

    def records(self, identity: str, name: str = "records.parquet") -> Path:
        """Where job records of a run are, if they were kept."""
        return self._file(identity, name)

    def keep_plan(self, plan: Mapping[str, Any]) -> None:
        """Keep which runs the campaign has.

        Raises:
            OutputError: it cannot be written.
        """
        data = json.dumps(plan, default=str).encode()
        write_atomically(self.folder / PLAN, lambda stream: _write_through(stream, data))

    def plan(self) -> dict[str, Any]:
        """Which runs the campaign had when it was last run.

        Raises:
            InputError: it is not there, or damaged.
        """
        file = self.folder / PLAN
        try:
            plan = json.loads(read_kept(file))
            for run in plan["runs"]:
                if not IDENTITY.fullmatch(run["run"]) or not isinstance(run["coordinates"], dict):
                    raise ValueError("it names runs that cannot be")
                str(run["name"])
                for name, value in run["coordinates"].items():
                    if isinstance(value, (dict, list)):
                        raise ValueError(f"its {name} is {value!r}")
        except (OSError, *MALFORMED) as error:
            raise InputError(f"{file}: cannot be read ({error}); name the campaign file instead") from error
        return dict(plan)

    def _folder(self, part: str, identity: str) -> Path:
        if not IDENTITY.fullmatch(identity):
            raise ConfigurationError(f"{identity!r} is no identity of a run")
        return self.folder / part / f"run={identity}"

    def _file(self, identity: str, name: str) -> Path:
        """Where a file of a run is; whatever a manifest says, it is in the store."""
        if name == NUMBERS:
            return self._folder("runs", identity) / NUMBERS
        if not RECORD_FILE.fullmatch(name):
            raise ValueError(f"{name!r} is no file of a run")
        return self._folder("stints" if name == STINTS else "records", identity) / name

    def _put(self, file: Path, data: bytes) -> None:
        for folder in (file.parent, file.parent.parent):
            if folder.is_symlink() and folder != self.folder:
                raise OutputError(f"{folder}: is a link that no campaign made; take it away")
        make_folder(file.parent)
        write_atomically(file, lambda stream: _write(stream, data))

    def _clear(self) -> None:
        """Take away what interrupted writes left: only names that such a write gives, in no folder but this one."""
        folders = [self.folder]
        for part in map(self.folder.joinpath, PARTS):
            if not part.is_symlink():
                folders += [each for each in part.glob("run=*") if not each.is_symlink()]
        for folder in folders:
            clear_parts(folder)

    def _check(self, file: Path, hashed: str) -> None:
        try:
            with open_kept(file, self.folder) as stream:
                same = hashlib.file_digest(stream, "sha256").hexdigest() == hashed
        except OSError as error:
            raise DamagedError(f"{file}: cannot be read: {error.strerror}") from error
        if not same:
            raise DamagedError(f"{file}: is damaged (it is not what was written)")

    def _numbers(self, file: Path) -> Numbers:
        import pyarrow as pa
        import pyarrow.parquet

        try:
            data = pa.BufferReader(read_kept(file, self.folder))
            # One row needs no threads, and there are none then that the end of the process could catch at work.
            table = pyarrow.parquet.ParquetFile(data, pre_buffer=False).read(use_threads=False)
            (row,) = table.to_pylist()
            return {str(name): float(value) for name, value in row.items()}
        except (OSError, ValueError, TypeError, pa.ArrowException) as error:
            raise DamagedError(f"{file}: is damaged ({error})") from error


def _write(stream: IO[bytes], data: bytes) -> None:
    stream.write(data)


def _write_through(stream: IO[bytes], data: bytes) -> None:
    """Write so that it outlasts a power cut; results are not, for their hashes show what is not whole."""
    stream.write(data)
    stream.flush()
    os.fsync(stream.fileno())


def _table_of(numbers: Numbers) -> bytes:
    """One row of float64, as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet

    stream = pa.BufferOutputStream()
    table = pa.table({name: pa.array([value], pa.float64()) for name, value in numbers.items()})
    pyarrow.parquet.write_table(table, stream, compression="none")
    return bytes(stream.getvalue().to_pybytes())
