"""Slurm's notation for times and sizes.

A time is ``minutes``, ``minutes:seconds``, ``hours:minutes:seconds``, ``days-hours``,
``days-hours:minutes``, ``days-hours:minutes:seconds``, or ``UNLIMITED`` (also ``INFINITE``
and ``-1``). A size of memory is a number of mebibytes, or has a suffix K, M, G, T or P.
(Slurm's documentation, sbatch ``--time`` and ``--mem``, slurm.conf ``MaxTime``.)
"""

from __future__ import annotations

import math
import re

UNLIMITED = ("-1", "INFINITE", "UNLIMITED")
"""How no limit is written, in any case."""

TIME_FORMATS = "minutes, minutes:seconds, hours:minutes:seconds, days-hours[:minutes[:seconds]] or UNLIMITED"
SIZE_FORMATS = "a whole number of mebibytes, or one with a suffix K, M, G, T or P"
COUNT_FORMATS = "a whole number, which may have a suffix K, M, G, T or P (powers of 1024)"

_TIME = re.compile(r"(?:([0-9]{1,9})-)?([0-9]{1,9})(?::([0-9]{1,9}))?(?::([0-9]{1,9}))?")
_SIZE = re.compile(r"([0-9]{1,15})([KMGTP]?)B?", re.IGNORECASE)
_SHIFTS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50}


def is_unlimited(text: str) -> bool:
    """Whether this is one of the words for no limit."""
    return text.upper() in UNLIMITED


def seconds(text: str) -> float:
    """A time in seconds; infinity for no limit.

    Raises:
        ValueError: not a time; the message says what is one.
    """
    if is_unlimited(text):
        return math.inf
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no time; accepted are {TIME_FORMATS}")
    days, *fields = found.groups()
    given = [int(field) for field in fields if field is not None]
    if days is not None:
        hours, minutes, rest = (*given, 0, 0)[:3]
        return float(((int(days) * 24 + hours) * 60 + minutes) * 60 + rest)
    if len(given) == 1:
        return float(given[0] * 60)
    hours, minutes, rest = given if len(given) == 3 else (0, *given)
    return float((hours * 60 + minutes) * 60 + rest)


def limit_seconds(text: str) -> float:
    """A time limit in seconds: Slurm rounds it up to whole minutes; infinity for no limit.

    Raises:
        ValueError: not a time; the message says what is one.
    """
    exact = seconds(text)
    return exact if math.isinf(exact) else math.ceil(exact / 60) * 60.0


def written(time: float) -> str:
    """A time as ``days-hours:minutes:seconds``, without days if there are none.

    Args:
        time: whole seconds from 0 on, or infinity.
    """
    if math.isinf(time):
        return "UNLIMITED"
    minutes, rest = divmod(int(time), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return (f"{days}-" if days else "") + f"{hours:02}:{minutes:02}:{rest:02}"


def megabytes(text: str) -> int:
    """A size of memory in mebibytes, rounded up.

    Raises:
        ValueError: not a size; the message says what is one.
    """
    number, suffix = _sized(text, SIZE_FORMATS)
    in_bytes = number << _SHIFTS[suffix or "M"]
    return -(-in_bytes >> _SHIFTS["M"])


def count(text: str) -> int:
    """How many; ``4G`` is 4 * 1024 ** 3.

    Raises:
        ValueError: not a count; the message says what is one.
    """
    number, suffix = _sized(text, COUNT_FORMATS)
    return number << _SHIFTS[suffix]


def _sized(text: str, formats: str) -> tuple[int, str]:
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no size; accepted is {formats}")
    return int(found.group(1)), found.group(2).upper()
