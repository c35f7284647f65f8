"""Submission events: lines of the Slurm simulator of UB, one ``sbatch`` each.

.. code-block:: text

    -dt 10.50 -e submit_batch_job | -sim-walltime 84805.00 --uid=user001 -J a -N 1 -n 32 -t 3-00 -p debug pseudo.job

``-dt`` is the second of the submission, ``-sim-walltime`` how long the job works (negative:
until its limit ends it), ``--uid`` for whom; the rest is for ``sbatch``, as
:mod:`emulator.workload.sbatch` reads it.
"""

from __future__ import annotations

import gzip
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from emulator.slurmctld.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins.errors import InputError

SUBMISSION = "submit_batch_job"
FOREVER = 1e9
"""Seconds of work of a job that runs into its limit."""
ENDINGS = (".events", ".events.gz")


def read_events(path: str | os.PathLike[str]) -> list[JobRequest]:
    """Read submission events, plain or compressed with gzip; job ids count from 1.

    Raises:
        InputError: the file cannot be read, or a line is no submission (with file and line).
    """
    file = Path(path)
    try:
        with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as stream:
            return list(_requests(stream, os.fspath(path)))
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: cannot be read: {error}") from error


def _requests(stream: TextIO, name: str) -> Iterator[JobRequest]:
    number = 0
    for place, line in enumerate(stream, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        number += 1
        try:
            yield _request(number, line)
        except (InputError, ValueError, IndexError, KeyError) as error:
            raise InputError(f"{name}:{place}: is no submission: {error}") from error


def _request(number: int, line: str) -> JobRequest:
    event, bar, submission = line.partition("|")
    if not bar:
        raise InputError("there is no | between the event and what is submitted")
    words = event.split()
    stated = dict(zip(words[::2], words[1::2], strict=False))
    if stated.get("-e") != SUBMISSION:
        raise InputError(f"the event is {stated.get('-e')!r}, not {SUBMISSION}")
    arguments, user, run = [], "", 0.0
    rest = iter(shlex.split(submission)[:-1])
    for word in rest:
        if word == "-sim-walltime":
            run = float(next(rest, "nothing"))
        elif word.startswith("--uid="):
            user = word.partition("=")[2]
        else:
            arguments.append(word)
    return JobRequest(number, float(stated["-dt"]), run if run >= 0 else FOREVER, parse_sbatch(arguments), user)
