"""Takes snapshots of a simulation while it runs, and goes on from one.

The file ``snapshot.json.gz`` in the folder of the run holds JSON lines: first how the
simulation was put together, then its state, last the SHA-256 of all lines before. It is
written beside the one before and then replaces it, so that there is always a whole
one; that of a run that has finished does not leave ``unfinished``.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from emulator.accounting.eventlog import EventLog
from emulator.accounting.runfolder import EVENTS, SNAPSHOT, UNFINISHED, open_events
from emulator.config.options import Config
from emulator.files import MALFORMED, open_kept, write_atomically
from emulator.scheduling.searches import Searches
from emulator.snapshot.graph import Graph, Line
from emulator.snapshot.kinds import Classes
from emulator.state.scratch import Scratch
from emulator.workload.workload import Workload
from slurm_sim_plugins.errors import InputError, OutputError
from slurm_sim_plugins.manager import Catalogue, PluginInfo, Selection

if TYPE_CHECKING:
    from collections.abc import Callable

FORMAT = 3
FIXED = (Workload, Config, Selection, Catalogue, PluginInfo, EventLog, Scratch, Searches)
"""Classes of what never changes, or is kept elsewhere."""
BLOCK = 1 << 20
LARGEST_STATE = 1 << 32
"""Bytes of a snapshot, unpacked: a few packed ones can claim any number of them."""


class Interruptible(Protocol):
    """A simulation, on any machine."""

    @property
    def selection(self) -> Selection:
        """Its plugins."""

    @property
    def state(self) -> Mapping[str, Any]:
        """The objects that have its state, by name."""

    @property
    def submits(self) -> Sequence[float]:
        """When jobs are submitted, ascending; as :meth:`advance` takes it."""

    @property
    def can_be_kept(self) -> bool:
        """Whether its state can be kept now: no plugin is in the middle of its decisions."""

    def advance(self, until: Any) -> None:
        """Run up to an instant, but not what happens at it."""

    def run(self, report: Callable[[int], None] | None) -> None:
        """Run to the end."""


class Keeper:
    """Runs a simulation, and keeps a snapshot of it from time to time.

    Args:
        every: after so many submissions.
        about: how the simulation is put together; a snapshot begins with it.
        start: the snapshot to go on from, or None to begin.
    """

    def __init__(self, every: int, about: Mapping[str, Any], start: Snapshot | None = None) -> None:
        self._folder = Path()
        self._every = every
        self._about = dict(about)
        self._start = start
        self._hash = hashlib.sha256()
        self._hashed = 0

    @property
    def of_site(self) -> bool:
        """Whether it knows the cluster of a ``slurm.conf`` and what is done on it."""
        return self._about.get("site") is not None

    @property
    def kept(self) -> tuple[str, ...]:
        """Files aside from which the run goes on, if an earlier process left them there."""
        return (EVENTS, SNAPSHOT) if self._start is not None and self._start.folder.name == UNFINISHED else ()

    def open_events(self, path: Path) -> IO[str]:
        """The event log, in the folder in which snapshots are kept.

        What was logged before the snapshot to go on from is copied, without what was logged after it.

        Raises:
            InputError: it is not what it was when the snapshot was taken.
            OutputError: it cannot be written.
        """
        self._folder = path.parent
        if self._start is None:
            return open_events(path)
        write_atomically(path, self._copy)
        try:
            return path.open("a", encoding="utf-8", newline="\n")
        except OSError as error:
            raise OutputError(f"{path}: cannot be written: {error.strerror}") from error

    def run(
        self,
        simulation: Interruptible,
        log: EventLog,
        others: Mapping[str, Any],
        report: Callable[[int], None] | None,
    ) -> None:
        """Run to the end.

        Args:
            simulation: new, whether there is a snapshot to go on from or not.
            log: its event log.
            others: further objects with a state, by name.
            report: is called from time to time with how many jobs were submitted.

        Raises:
            PluginError: a plugin failed.
            ConfigurationError: something is there that no snapshot can hold; says where.
            InputError: the snapshot to go on from is damaged.
            OutputError: a snapshot cannot be written.
        """
        selection = simulation.selection
        classes = Classes({name: info.factory for name, info in selection.infos.items()}, FIXED)
        plugins = {f"the plugin {name}": plugin for name, plugin in selection.plugins.items()}
        graph = Graph({**simulation.state, **plugins, **others}, classes)
        if self._start is None:
            self._run(simulation, graph, log, 0, report)
            return
        try:
            graph.fill(self._start.state)
            self._run(simulation, graph, log, self._start.submitted, report)
        except MALFORMED as error:
            raise InputError(
                f"{self._folder / SNAPSHOT}: is no state of this simulation ({error}); make the run again"
            ) from error

    def _run(
        self, simulation: Interruptible, graph: Graph, log: EventLog, done: int, report: Callable[[int], None] | None
    ) -> None:
        submits = simulation.submits
        for submitted in range(done + self._every, len(submits), self._every):
            simulation.advance(submits[submitted])
            log.flush()
            if simulation.can_be_kept:
                self._take(graph, submitted)
            if report is not None:
                report(submitted)
        simulation.run(report)

    def _take(self, graph: Graph, submitted: int) -> None:
        events = self._folder / EVENTS
        self._take_in(events, events.stat().st_size)
        head = {
            **self._about,
            "format": FORMAT,
            "every": self._every,
            "submitted": submitted,
            "log_bytes": self._hashed,
            "log_sha256": self._hash.hexdigest(),
        }
        write_atomically(self._folder / SNAPSHOT, lambda stream: _write(stream, head, graph.lines()))

    def _take_in(self, path: Path, size: int, copy: IO[bytes] | None = None) -> None:
        """Go on hashing an event log, up to this many bytes."""
        try:
            with open_kept(path) as stream:
                stream.seek(self._hashed)
                while self._hashed < size and (block := stream.read(min(BLOCK, size - self._hashed))):
                    self._hash.update(block)
                    self._hashed += len(block)
                    if copy is not None:
                        copy.write(block)
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from error

    def _copy(self, stream: IO[bytes]) -> None:
        """Copy the event log up to the snapshot to go on from."""
        assert self._start is not None, "there is one to go on from"
        path = self._start.folder / EVENTS
        self._take_in(path, self._start.log_bytes, stream)
        if self._hash.hexdigest() != self._start.log_sha256:
            raise InputError(f"{path}: is not what it was when the snapshot was taken; make the run again")


class Snapshot:
    """What a snapshot says.

    Args:
        folder: of the run; the snapshot of one that was killed is aside in it, and goes first.

    Attributes:
        folder: in which it is.
        about: how the simulation was put together.
        every: after how many submissions snapshots were taken.
        submitted: how many there had been.
        log_bytes, log_sha256: the event log then.
        state: the state, as :class:`~emulator.snapshot.graph.Graph` takes it.

    Raises:
        InputError: there is none, or it is damaged.
    """

    def __init__(self, folder: Path) -> None:
        aside = folder / UNFINISHED
        self.folder = aside if os.path.lexists(aside / SNAPSHOT) else folder
        path = self.folder / SNAPSHOT
        try:
            lines = _unpacked(path, folder).split(b"\n")
            if hashlib.sha256(b"\n".join(lines[:-2]) + b"\n").hexdigest() != json.loads(lines[-2]):
                raise ValueError("it is not what was written")
            self.about: dict[str, Any] = json.loads(lines[0])
            if self.about["format"] != FORMAT:
                raise ValueError(f"format {self.about['format']!r} is not known here")
            self.every, self.submitted = int(self.about["every"]), int(self.about["submitted"])
            self.log_bytes, self.log_sha256 = int(self.about["log_bytes"]), str(self.about["log_sha256"])
            if self.every < 1 or self.submitted < 1 or self.log_bytes < 0:
                raise ValueError("it cannot have been taken")
            self.state: list[Line] = [json.loads(line) for line in lines[1:-2]]
        except FileNotFoundError as error:
            raise InputError(
                f"{folder}: holds no snapshot: its run is over, or took none (run --snapshot-every does)"
            ) from error
        except (OSError, EOFError, zlib.error, *MALFORMED) as error:
            raise InputError(f"{path}: is damaged ({error}); run it again") from error


def _unpacked(path: Path, folder: Path) -> bytes:
    blocks, size = [], 0
    with open_kept(path, folder) as stream, gzip.GzipFile(fileobj=stream) as packed:
        while block := packed.read(BLOCK):
            blocks.append(block)
            size += len(block)
            if size > LARGEST_STATE:
                raise ValueError(f"it holds more than {LARGEST_STATE:,} bytes")
    return b"".join(blocks)


def _write(stream: IO[bytes], head: Mapping[str, Any], state: Iterator[Line]) -> None:
    """JSON lines, the same bytes for the same state."""
    hashed, size = hashlib.sha256(), 0
    with gzip.GzipFile(filename="", fileobj=stream, mode="wb", compresslevel=1, mtime=0) as packed:
        for line in chain([head], state):
            data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
            size += len(data)
            if size > LARGEST_STATE:
                raise ValueError(f"the state holds more than {LARGEST_STATE:,} bytes; leave --snapshot-every out")
            hashed.update(data)
            packed.write(data)
        packed.write(json.dumps(hashed.hexdigest()).encode() + b"\n")
