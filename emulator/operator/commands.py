"""Operators' commands at their times, from a file.

.. code-block:: text

    # second  command
    86400     scontrol create reservation ReservationName=repair Nodes=n[1-32] StartTime=now Duration=4:00:00 Users=root
    172800.5  scontrol update NodeName=n7 State=DOWN
    172900    scancel 4711

Seconds are those of the submissions. Commands are data: they are parsed, and never run by a shell.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from emulator.kinds import COMMANDS, reads
from emulator.operator.scontrol import check, scontrol
from emulator.workload.events import seconds_of
from emulator.workload.logfile import bytes_of, text_of
from slurm_sim_plugins.errors import InputError

if TYPE_CHECKING:
    from emulator.engine.controller import Controller


@dataclass(frozen=True)
class TimedCommand:
    """A command at its time; called with a controller, it is carried out.

    Attributes:
        at: in seconds.
        text: the command.
        location: where it stands.
    """

    at: float
    text: str
    location: str

    def __call__(self, controller: Controller) -> None:
        """Carry it out.

        Raises:
            InputError: that is not possible (with file and line).
        """
        try:
            scontrol(self.text, controller)
        except InputError as error:
            raise InputError(f"{self.location}: {error}") from error


@reads(COMMANDS)
def read_commands(path: str | os.PathLike[str]) -> list[TimedCommand]:
    """Read a file of commands, a line each: the second, and the command. Empty lines and ``#`` are passed over.

    Raises:
        InputError: the file cannot be read, or a line has no second or no command that is known (with file and line).
    """
    file = os.fspath(path)
    return list(_commands(text_of(file, bytes_of(file), "a file of commands").splitlines(), file))


def _commands(lines: list[str], name: str) -> Iterator[TimedCommand]:
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        location = f"{name}:{number}"
        second, _, command = line.strip().partition(" ")
        try:
            at = seconds_of("a line is SECOND COMMAND", second)
            check(command)
        except InputError as error:
            raise InputError(f"{location}: {error}") from error
        yield TimedCommand(at, command.strip(), location)
