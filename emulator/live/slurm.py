"""Slurm's commands: a few that read, and one door for those that write, which only ``--apply`` opens."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

from emulator.live.sight import Asked, Sight, parse_job, parse_nodes, parse_queue, queue_format
from emulator.record.daemons import end_with_parent
from slurm_sim_plugins.errors import ConfigurationError, InputError

PATIENCE = 60.0
"""Seconds in which a command must have answered."""
MANY = 200
"""So many jobs are asked for by one ``scontrol`` at most."""
REFUSED = re.compile(r"denied|permission|Invalid user|not authorized", re.IGNORECASE)
"""What Slurm says to whom it does not let write."""
AWAY = re.compile(
    r"contact slurm controller|Connection refused|timed out|Zero Bytes|Communication|Socket", re.IGNORECASE
)
"""What the commands say while the controller does not answer."""
_ECHO = "scontrol: "


class NoAnswerError(InputError):
    """The controller does not answer."""


@dataclass(frozen=True, slots=True)
class Look:
    """The cluster as it was seen; ``at`` in Unix seconds of the controller's clock."""

    at: float
    queue: tuple[Sight, ...]
    nodes: dict[str, str]


@dataclass(frozen=True, slots=True)
class About:
    """What the controller says of itself.

    Attributes:
        version: such as ``22.05.8``.
        cluster: its name.
        ahead: by how many seconds its clock is ahead of that of this machine.
        settings: keys of ``scontrol show config``, in lower case.
    """

    version: str
    cluster: str
    ahead: float
    settings: dict[str, str]


class Slurm:
    """Asks Slurm; it can write nothing.

    Attributes:
        ahead: by how many seconds the controller's clock is ahead.
    """

    def __init__(self) -> None:
        self.ahead = 0.0
        # Times come as Unix seconds, and what a user set for these commands does not count.
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SQUEUE_", "SINFO_"))}
        self._environment = {**kept, "SLURM_TIME_FORMAT": "%s", "LC_ALL": "C", "SLURM_BITSTR_LEN": "0"}

    @property
    def now(self) -> float:
        """Unix seconds of the controller's clock."""
        return time.time() + self.ahead

    def about(self) -> About:
        """What the controller says of itself, and of its clock.

        Raises:
            NoAnswerError: it does not answer.
        """
        before = time.time()
        text = self._run(["scontrol", "show", "config"])
        middle = (before + time.time()) / 2
        first, _, rest = text.partition("\n")
        stated = first.rpartition(" ")[2]
        if not stated.isdigit():
            raise InputError(f"scontrol show config begins with {first[:80]!r}, where a time was expected")
        settings = {
            key.strip().lower(): value.strip() for key, equals, value in map(_parted, rest.splitlines()) if equals
        }
        # The controller's clock shows whole seconds.
        ahead = float(stated) + 0.5 - middle
        return About(settings.get("slurm_version", ""), settings.get("clustername", ""), ahead, settings)

    def look(self) -> Look:
        """The queue and the nodes.

        Raises:
            NoAnswerError: the controller does not answer.
            InputError: what was printed cannot be read.
        """
        at, separator = self.now, f"\x1f{os.urandom(8).hex()}\x1f"
        queue = self._run(["squeue", "-h", "-r", "-a", "-o", queue_format(separator)])
        nodes = self._run(["sinfo", "-h", "-N", "-a", "-o", "%N %T"])
        return Look(at, tuple(parse_queue(queue, separator)), parse_nodes(nodes))

    def ask(self, jobs: Sequence[Sight]) -> dict[str, Asked]:
        """What jobs ask for and have, by label; those that vanished meanwhile are left out.

        Raises:
            NoAnswerError: the controller does not answer.
        """
        found: dict[str, Asked] = {}
        for first in range(0, len(jobs), MANY):
            some = jobs[first : first + MANY]
            answers = self._each([f"show job {job.label}" for job in some], ["-d", "-o"])
            for job, answer in zip(some, answers, strict=True):
                if "JobId=" not in answer:
                    _check_answer(answer)
                asked = parse_job(answer, job)
                if asked is not None:
                    found[job.label] = asked
        return found

    def _each(self, commands: Sequence[str], options: Sequence[str] = ()) -> list[str]:
        """What one ``scontrol`` says to each of some commands on its standard input."""
        fence = os.urandom(16).hex()
        fenced = "".join(f"{command}\nshow hostnames {fence}\n" for command in commands)
        text = self._run(["scontrol", *options], fenced)
        answers = re.split(rf"^(?:{_ECHO}[^\n]*\n)?{fence}\n", text, flags=re.MULTILINE)
        if len(answers) != len(commands) + 1:
            raise NoAnswerError(f"scontrol ended after {len(answers) - 1} of {len(commands)} commands: {_last(text)}")
        # It repeats what it was given, in one line, of which a terminal would show a part.
        return [answer.partition("\n")[2] if answer.startswith(_ECHO) else answer for answer in answers[:-1]]

    def _run(self, words: Sequence[str], given: str | None = None) -> str:
        """What a command prints; of one with standard input, its errors in between."""
        try:
            done = subprocess.run(  # noqa: S603 - Slurm's own programs, without a shell
                list(words),
                env=self._environment,
                input=None if given is None else given.encode(),
                stdin=subprocess.DEVNULL if given is None else None,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if given is None else subprocess.STDOUT,
                timeout=PATIENCE,
                # Commands of a process that was killed are not carried out after it.
                preexec_fn=None if given is None else lambda: end_with_parent(signal.SIGKILL),
            )
        except FileNotFoundError as error:
            raise ConfigurationError(f"{words[0]} is not on PATH: run this where Slurm's commands are") from error
        except subprocess.TimeoutExpired as error:
            raise NoAnswerError(f"{words[0]} did not answer within {PATIENCE:g} s") from error
        # Line ends are left as they are: a carriage return is none.
        said, printed = _text(done.stderr), _text(done.stdout)
        if given is None and done.returncode:
            kind = NoAnswerError if AWAY.search(said) else InputError
            raise kind(f"{' '.join(words[:3])}: {_last(said) or f'exit code {done.returncode}'}")
        return printed


def _text(printed: bytes | None) -> str:
    return (printed or b"").decode(errors="replace")


class Hand(Slurm):
    """Asks Slurm, and writes.

    Attributes:
        written: how many commands were given.
    """

    def __init__(self) -> None:
        super().__init__()
        self.written = 0

    def write(self, commands: Sequence[str]) -> list[str]:
        """Give commands to one ``scontrol``; what Slurm says to each, empty where it does that.

        Raises:
            NoAnswerError: the controller does not answer.
            ConfigurationError: this user may not write.
        """
        if not commands:
            return []
        self.written += len(commands)
        answers = [answer.strip() for answer in self._each(commands)]
        for command, answer in zip(commands, answers, strict=True):
            _check_answer(answer)
            if REFUSED.search(answer):
                raise ConfigurationError(
                    f"Slurm refuses {command!r}: {_last(answer)}; --apply needs root, SlurmUser or an operator"
                )
        return [_last(answer) for answer in answers]


def _check_answer(answer: str) -> None:
    """Refuse an answer that is none.

    Raises:
        NoAnswerError: the controller does not answer.
    """
    if AWAY.search(answer):
        raise NoAnswerError(f"scontrol: {_last(answer)}")


def _parted(line: str) -> tuple[str, str, str]:
    return line.partition("=")


def _last(text: str) -> str:
    """The last line that says anything."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
