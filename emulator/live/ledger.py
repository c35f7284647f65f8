"""What was changed of jobs, and what it was before: in a file that is written before anything is done.

So the process after one that was killed knows all that may have to be undone.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO

from emulator.files import make_folder, read_input, try_lock, write_data
from slurm_sim_plugins.errors import ConfigurationError, InputError

MINUTE = 60.0


@dataclass(slots=True)
class Entry:
    """What was done to a job, and what it was before; None and False for what was left alone.

    Attributes:
        held: whether it is to be on hold, or is on its way to it.
        released: the nodes on which it was let start, and has not been seen yet.
        required: its ReqNodeList.
        size: for how many nodes it asks, such as ``1-4``, where it was given one number.
        priority: its priority.
        numbered: whether it was given a Priority; ``site``: the SiteFactor that it was given.
        limit, time_min: its limits in seconds; 0 for no TimeMin.
        suspended: whether its run was suspended.
        leaving: whether its run was told to go back to the queue.
    """

    held: bool = False
    released: str = ""
    required: str = ""
    size: str = ""
    priority: int = 0
    numbered: bool = False
    site: int | None = None
    limit: float | None = None
    time_min: float | None = None
    suspended: bool = False
    leaving: bool = False

    @property
    def nodes(self) -> str:
        """What binds it to nodes again as its user did, in words of ``scontrol update``."""
        return f"ReqNodeList={self.required}" + (f" NumNodes={self.size}" if self.size else "")


class Ledger:
    """The entries of jobs by label, and their file; one process has it at a time.

    Args:
        path: of the file.

    Raises:
        ConfigurationError: another process has it.
        InputError: the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.jobs: dict[str, Entry] = {}
        make_folder(path.parent)
        self._lock = self._locked(path.with_name(f"{path.name}.lock"))
        try:
            self.jobs = _read(path) if path.exists() else {}
        except InputError:
            self._lock.close()
            raise

    def _locked(self, path: Path) -> IO[str]:
        stream = path.open("a+", encoding="utf-8")
        if not try_lock(stream.fileno()):
            stream.seek(0)
            other = stream.read().strip() or "unknown"
            stream.close()
            raise ConfigurationError(
                f"slurm-sim live --apply runs already, as process {other}, with {self.path}: end that one first, or "
                "name another --state where it has to do with other jobs"
            )
        stream.truncate(0)
        stream.write(f"{os.getpid()}\n")
        stream.flush()
        return stream

    def of(self, label: str) -> Entry:
        """The entry of a job; a new one if there is none."""
        return self.jobs.setdefault(label, Entry())

    def save(self) -> None:
        """Write it down.

        Raises:
            OutputError: it cannot be written.
        """
        write_data(self.path, json.dumps({label: asdict(entry) for label, entry in self.jobs.items()}, indent=1) + "\n")

    def close(self) -> None:
        """Give the file back; an empty one is removed."""
        if not self.jobs:
            self.path.unlink(missing_ok=True)
        self._lock.close()


def _read(path: Path) -> dict[str, Entry]:
    known = {one.name for one in fields(Entry)}
    try:
        data = json.loads(read_input(path))
        return {str(label): Entry(**{key: entry[key] for key in known & entry.keys()}) for label, entry in data.items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise InputError(f"{path}: is no state of slurm-sim live ({error}); see what is held with squeue") from error


def minutes_of(limit: float) -> str:
    """A limit as ``scontrol`` takes it."""
    return "UNLIMITED" if math.isinf(limit) else str(math.ceil(limit / MINUTE))
