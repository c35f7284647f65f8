"""Which jobs an operator's command names, and what else its words say."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from emulator.operator.het_jobs import named
from emulator.state.job import Job
from emulator.workload.request import PartlyRefusedError
from emulator.workload.sbatch import array_of
from slurm_sim_plugins.errors import InputError

if TYPE_CHECKING:
    from emulator.engine.controller import Controller
    from emulator.state.cluster import Cluster

LIST = re.compile(r",(?![^\[]*\])")
"""What separates jobs: no comma within brackets."""
OF_AN_ARRAY = re.compile(r"(\d+)_(\d+|\[[-:,\d]+\])")
"""Tasks of an array, as ``ID_INDEX`` or ``ID_[INDICES]``."""
NO_WORDS: Mapping[str, str] = {}
Takes = Callable[[str], bool]
Some = TypeVar("Some")


def _nothing(_: str) -> bool:
    return False


def fields_in(words: list[str], alone: Mapping[str, str] = NO_WORDS, takes: Takes = _nothing) -> dict[str, str]:
    """What ``KEY=VALUE`` states, by key in small letters; a word without ``=`` that is no key has none.

    Args:
        words: of the command.
        alone: keys that need no value, in small letters, and what they state then.
        takes: whether a word without ``=``, in small letters, is a key, of which the next word is the value.

    Raises:
        InputError: there is more than one word that is no key.
    """
    fields, rest = {}, list(reversed(words))
    while rest:
        word = rest.pop()
        key, equals, value = word.partition("=")
        key = key.lower()
        if not equals:
            if key in alone:
                value = alone[key]
            elif rest and takes(key):
                value = rest.pop()
            else:
                key, value = "", word
                if key in fields:
                    raise no_field(word)
        fields[key] = value
    return fields


def no_field(word: str) -> InputError:
    """That a word of a command is no field."""
    return InputError(f"Invalid input: {word} (a field is written as NAME=VALUE)")


def jobs_named(words: list[str], controller: Controller, apart: bool = True) -> list[Job]:
    """Jobs by id, list of ids, or name; ``apart``: tasks that are named get records of their own."""
    found: list[Job] = []
    for word in words:
        key, equals, value = word.partition("=")
        if equals and key.lower() in ("jobname", "name"):
            called = [job for job in controller.cluster.jobs.values() if value and job.name == value]
            if not called:
                raise InputError(f"No jobs with name {value!r}")
            found += called
            continue
        for text in LIST.split(value if equals else word):
            found += _named(text, controller, apart)
    return found


def _named(text: str, controller: Controller, apart: bool) -> list[Job]:
    """A job, array or heterogeneous job by its id, parts as ``ID_INDEX``, ``ID_[INDICES]`` or ``ID+OFFSET``.

    Or else all jobs of a name.
    """
    known = controller.cluster.jobs.values()
    tasks = OF_AN_ARRAY.fullmatch(text)
    if of_het_job := named(text, controller.cluster):
        found = list(of_het_job)
    elif text.isdigit():
        found = [job for job in known if int(text) in (job.id, job.request.array)]
    elif tasks is not None:
        found = _tasks(int(tasks[1]), array_of(tasks[2].strip("[]")).indices, controller.cluster, apart)
    else:
        found = []
    found = found or [job for job in known if text and job.name == text]
    if not found:
        raise InputError(f"there is no job {text!r}")
    return found


def _tasks(array: int, indices: Sequence[int], cluster: Cluster, apart: bool) -> list[Job]:
    """Tasks of an array by their indices: each that waits with others gets a record of its own, which goes first.

    Not where that is of no use, for those that wait are refused (recorded).
    """
    of_array, named = [job for job in cluster.jobs.values() if job.request.array == array], set(indices)
    found = [job for job in of_array if job.request.task in named]
    shared = any(job.waits_with_others and job.request.task not in named for job in of_array)
    for job in found if apart and shared else ():
        if job.waits_with_others:
            cluster.split_at[job.id] = cluster.now
        job.split_off()
        cluster.order.changed()
    return found


def to_all(found: Sequence[Some], do: Callable[[Some], None]) -> None:
    """Do something to each; that one is refused does not keep it from the others.

    Raises:
        PartlyRefusedError: some are refused, in the words for the first of them.
        InputError, ValueError: all are.
    """
    refusals: list[Exception] = []
    for one in found:
        try:
            do(one)
        except (InputError, ValueError) as refusal:
            refusals.append(refusal)
    if len(refusals) < len(found) and refusals:
        raise PartlyRefusedError(str(refusals[0])) from refusals[0]
    if refusals:
        raise refusals[0]


def words_in(text: str) -> tuple[str, ...]:
    """What stands between commas."""
    return tuple(word for word in text.split(",") if word)
