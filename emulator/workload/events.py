"""Submission events: lines of the Slurm simulator of UB, one ``sbatch`` each.

.. code-block:: text

    -dt 10.50 -e submit_batch_job | -sim-walltime 84805.00 --uid=user001 -J a -N 1 -n 32 -t 3-00 -p debug pseudo.job

``-dt`` is the second of the submission, ``-sim-walltime`` how long the job works (negative:
until its limit ends it), ``--uid`` for whom, ``-jid`` with which id; the rest is for ``sbatch``, as
:mod:`emulator.workload.sbatch` reads it.
"""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from emulator.kinds import EVENTS, reads
from emulator.workload.het_job import SEPARATOR
from emulator.workload.logfile import bytes_of, counted, text_of
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import BatchOptions, parse_sbatch
from slurm_sim_plugins.errors import InputError

SUBMISSION = "submit_batch_job"
QUOTES = re.compile(r"""["'\\]|[^\x20-\x7e\t\r\n]""")
"""What a shell does not leave alone, and blanks of which only Python takes notice."""
TIMED = re.compile("--b|--d|-b")
"""How the options begin that may state a time of day, which depends on the submission."""
SOME_NAME = "\x00"
"""Stands for the names of jobs that ask for the same."""
FOREVER = 1e9
"""Seconds of work of a job that runs into its limit."""
LONGEST = 1e10
"""Seconds; no log is as long, and microseconds can still be told apart."""
LARGEST_ID = 1 << 40
"""No id of a job is as large."""
ENDINGS = (".events", ".events.gz")


@reads(EVENTS)
def read_events(path: str | os.PathLike[str]) -> list[JobRequest]:
    """Read submission events, plain or compressed with gzip; job ids that are not stated count from 1.

    Raises:
        InputError: the file cannot be read, or a line is no submission (with file and line).
    """
    file = os.fspath(path)
    return list(_requests(counted(text_of(file, bytes_of(file), "a file of submission events").splitlines()), file))


def _requests(texts: Iterable[str], name: str) -> Iterator[JobRequest]:
    lines: dict[int, int] = {}
    number = 0
    for line_number, line in enumerate(texts, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            request = _request(number + 1, line, f"{name}:{line_number}")
            if request.id in lines:
                raise InputError(f"there is a job {request.id} already, in line {lines[request.id]}")
            lines[request.id], number = line_number, max(number, request.id + len(request.options.components))
            yield request
        except (InputError, ValueError, IndexError, KeyError) as error:
            raise InputError(f"{name}:{line_number}: is no submission: {error}") from error


def words_of(text: str) -> list[str]:
    """What a shell makes of it; without quotes these are the words between blanks, found far sooner."""
    return shlex.split(text) if QUOTES.search(text) else text.split()


def _request(number: int, line: str, location: str) -> JobRequest:
    event, bar, submission = line.partition("|")
    if not bar:
        raise InputError("there is no | between the event and what is submitted")
    words = event.split()
    stated = dict(zip(words[::2], words[1::2], strict=False))
    if stated.get("-e") != SUBMISSION:
        raise InputError(f"the event is {stated.get('-e')!r}, not {SUBMISSION}")
    arguments, user, run = [], "", 0.0
    rest = iter(words_of(submission)[:-1])
    for word in rest:
        if word == "-sim-walltime":
            run = seconds_of(word, next(rest, "nothing"))
        elif word == "-jid":
            number = _id(next(rest, "nothing"))
        elif word.startswith("--uid="):
            user = word.partition("=")[2]
        else:
            arguments.append(word)
    submit = seconds_of("-dt", stated.get("-dt", "nothing"))
    options, name = _options(tuple(arguments), submit)
    return JobRequest(number, submit, run if run >= 0 else FOREVER, options, user, location=location, called=name)


def _options(arguments: tuple[str, ...], submit: float) -> tuple[BatchOptions, str]:
    """What arguments ask for, and the job's name if it is not in that: jobs that ask for the same share it."""
    at = arguments.index("-J") + 1 if "-J" in arguments else len(arguments)
    shared = SEPARATOR not in arguments and not any(map(TIMED.match, arguments))
    if at < len(arguments) and arguments[at] and shared:
        try:
            like = _asked((*arguments[:at], SOME_NAME, *arguments[at + 1 :]))
        except ValueError:
            return parse_sbatch(arguments, submit), ""  # It says what of these is wrong.
        if like is not None:
            return like, arguments[at]
    return parse_sbatch(arguments, submit), ""


@lru_cache(maxsize=4096)
def _asked(arguments: tuple[str, ...]) -> BatchOptions | None:
    """What arguments ask for, without the name; None if what stands for the name is none."""
    options = parse_sbatch(arguments)
    return replace(options, name="") if options.name == SOME_NAME else None


def _id(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < LARGEST_ID:
        raise InputError(f"-jid {text}: is no id of a job, a whole number from 1 on")
    return int(text)


def seconds_of(what: str, text: str) -> float:
    """A number of seconds, at most :data:`LONGEST`.

    Raises:
        InputError: it is none; ``what`` says of what.
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not abs(seconds) <= LONGEST:
        raise InputError(f"{what}: {text!r} is no number of seconds up to {LONGEST:g}")
    return seconds
