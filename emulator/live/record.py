"""What a live plugin saw and decided, as JSON lines; :mod:`emulator.workload.live` reads them as a log."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from emulator.live.mirror import Change, Followed
from emulator.workload.live import FORMAT
from emulator.workload.sbatch_line import submit_line
from slurm_sim_plugins.errors import OutputError


@dataclass(frozen=True, slots=True)
class Done:
    """Something that was done, or came of it.

    Attributes:
        event: what, as the record has it.
        words: the same for people.
        about: the same for programs: the ``job``, its ``nodes``, the job that it is done ``for``.
    """

    event: str
    words: str
    about: Mapping[str, str] = field(default_factory=dict)


class Record:
    """Writes a record; each line is on the disk when the next look is made.

    Args:
        path: a new file, or None for none.

    Raises:
        OutputError: the file is there already, or cannot be written.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._stream: IO[str] | None = None
        if path is not None:
            try:
                self._stream = path.open("x", encoding="utf-8")
            except FileExistsError as error:
                raise OutputError(f"{path} is there already; name a new file") from error
            except OSError as error:
                raise OutputError(f"{path}: {error.strerror}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if self._stream is not None:
            self._stream.close()

    def begin(self, about: Mapping[str, Any]) -> None:
        """The first line: the epoch in Unix seconds, and what else is known of the cluster."""
        self._write({"event": "begin", "format": FORMAT, **about})

    def change(self, change: Change, known: Followed | None, seen: float) -> None:
        """What happened to a job; ``known`` is what is known of it, ``seen`` the second of the look that shows it."""
        line: dict[str, Any] = {
            "event": change.kind,
            "at": round(change.at, 3),
            "seen": round(seen, 3),
            "job": change.job,
        }
        if change.kind == "submitted" and known is not None:
            sight, asked = known.sight, known.asked
            # The name is the user's own, and decides nothing.
            options = replace(asked.options, name="", array=None)
            line |= {"id": sight.number, "user": sight.user, "sbatch": submit_line(options)}
            if asked.options.array is not None:
                line |= {"array": sight.array, "task": sight.task, "at_once": asked.options.array.limit}
            line |= {"held": True} if sight.held else {}
            dependency = re.sub(r"\([a-z]*\)", "", sight.dependency)
            line |= {"dependency": dependency} if dependency else {}
        line |= {"nodes": change.nodes} if change.nodes else {}
        line |= {"cpus": change.cpus} if change.cpus else {}
        line |= {"state": change.state} if change.state else {}
        self._write(line)

    def note(self, at: float, event: str, **values: Any) -> None:
        """What the plugin would do, what was done, or what is to be said."""
        self._write({"event": event, "at": round(at, 3), **values})

    def _write(self, line: Mapping[str, Any]) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(json.dumps(line) + "\n")
            self._stream.flush()
        except OSError as error:
            raise OutputError(f"{self._path}: {error.strerror}") from error
