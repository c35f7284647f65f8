"""Kinds of values: how a value is written, and what becomes of it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from types import MappingProxyType

from emulator.config.slurm import duration

Value = str | int | float | bool | tuple[str, ...] | Mapping[str, float]
"""What a value can become: text, whole number, number or seconds, yes or no, words, numbers by name."""

MOST_OF_SMALL = 65535
"""Slurm keeps such numbers in 16 bits, and refuses what is larger."""
_YES = ("1", "YES", "TRUE", "UP")
_NO = ("0", "NO", "FALSE", "DOWN")
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_COUNTED = re.compile(r"([^\s:*,]+)(?:[:*]([0-9]{1,9}))?")
_WEIGHED = re.compile(r"([A-Za-z][\w/:.-]*)=(-?(?:[0-9]+\.?[0-9]*|\.[0-9]+))([KMGTP]?)", re.ASCII)
_DECIMAL = re.compile(r"[0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18}")
_RESOURCE = re.compile(r"[A-Za-z][\w/:.-]*", re.ASCII)
_RESOURCES = {"cpus": "cpu", "nodes": "node", "memory": "mem"}
"""Other ways to write the name of a resource."""
# Memory is counted in mebibytes, so a weight per gibibyte is 1024 times smaller per unit.
_PER_UNIT = {"": 1.0, "K": 1024.0, "M": 1.0, "G": 1 / 1024, "T": 1 / 1024**2, "P": 1 / 1024**3}


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.split(",") if word)


def _flag(text: str) -> bool:
    if text.upper() in _YES + _NO:
        return text.upper() in _YES
    raise ValueError(f"{text!r} is neither YES nor NO")


def _whole(text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text!r} is no whole number (of 18 digits at most)")
    return int(text)


def _count(text: str) -> int:
    number = _whole(text)
    if number < 0:
        raise ValueError(f"{text!r} is below 0")
    return number


def _small(text: str) -> int:
    number = _count(text)
    if number > MOST_OF_SMALL:
        raise ValueError(f"{text!r} is above {MOST_OF_SMALL}, as large as Slurm takes it")
    return number


def _bound(text: str) -> float:
    if duration.is_unlimited(text):
        return math.inf
    try:
        return float(_count(text))
    except ValueError as error:
        raise ValueError(f"{error}; accepted is a whole number from 0 on, or UNLIMITED") from None


def _seconds(text: str) -> float:
    return _bound(text)


def _minutes(text: str) -> float:
    return _bound(text) * 60


def _microseconds(text: str) -> float:
    return _bound(text) / 1e6


def _memory(text: str) -> float:
    """Mebibytes; a K behind the number is 1024 of them, and no other unit is taken (asked of three versions)."""
    if duration.is_unlimited(text):
        return math.inf
    number, thousands = (text[:-1], 1024) if text[-1:] in ("k", "K") else (text, 1)
    if not number.isdecimal():
        raise ValueError(f"{text!r} is no whole number of mebibytes, as slurm.conf has it: 4 GiB are 4096 or 4K")
    return float(_count(number) * thousands)


def _limit_count(text: str) -> int:
    """A whole number; -1 for no limit."""
    if duration.is_unlimited(text):
        return -1
    return _count(text)


def _number(text: str) -> float:
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"{text!r} is no number")
    return float(text)


def _tres(text: str) -> Mapping[str, float]:
    """``"cpu=8,mem=4G"`` to counts by lower-case name, memory in mebibytes; -1 is for no limit."""
    amounts: dict[str, float] = {}
    for word in _words(text):
        name, equals, amount = word.rpartition("=")
        if not equals or not _RESOURCE.fullmatch(name):
            raise ValueError(f"{word!r} is not written as TYPE=COUNT, such as cpu=8, mem=4G or gres/gpu=2")
        read = duration.megabytes if name.lower() == "mem" else duration.count
        amounts[_RESOURCES.get(name.lower(), name.lower())] = -1.0 if amount == "-1" else float(read(amount))
    return MappingProxyType(amounts)


def _each(text: str, form: re.Pattern[str], written: str) -> Iterator[re.Match[str]]:
    """The words of a text, each of which is written in one form."""
    for word in _words(text):
        found = form.fullmatch(word)
        if found is None:
            raise ValueError(f"{word!r} is not written as {written}")
        yield found


def _counts(text: str) -> Mapping[str, float]:
    """``"foo:4,bar"`` to ``{"foo": 4, "bar": 1}``."""
    counts: dict[str, float] = {}
    for found in _each(text, _COUNTED, "NAME or NAME:COUNT"):
        counts[found.group(1)] = counts.get(found.group(1), 0) + int(found.group(2) or 1)
    return MappingProxyType(counts)


def _weights(text: str) -> Mapping[str, float]:
    """``"CPU=1,Mem=0.25G"`` to weights by lower-case name; that of memory is per mebibyte."""
    weights: dict[str, float] = {}
    for found in _each(text, _WEIGHED, "TYPE=WEIGHT, such as CPU=1 or Mem=0.25G"):
        weights[found.group(1).lower()] = float(found.group(2)) * _PER_UNIT[found.group(3)]
    return MappingProxyType(weights)


class Kind(Enum):
    """How a value is written; the text says it to people."""

    TEXT = "text"
    WORDS = "words with commas between them"
    FLAG = "YES or NO"
    COUNT = "a whole number from 0 on"
    SMALL = "a whole number from 0 to 65535"
    WHOLE = "a whole number"
    BOUND = "a whole number from 0 on, or UNLIMITED"
    SECONDS = "whole seconds, or UNLIMITED"
    MINUTES = "whole minutes, or UNLIMITED"
    MICROSECONDS = "whole microseconds, or UNLIMITED"
    TIME = "a time"
    LIMIT = "a time, rounded up to minutes"
    MEMORY = "whole mebibytes, or UNLIMITED"
    COUNTS = "NAME or NAME:COUNT, with commas between them"
    WEIGHTS = "TYPE=WEIGHT, with commas between them"
    LIMIT_COUNT = "a whole number from 0 on, or -1 for no limit"
    NUMBER = "a number from 0 on"
    TRES = "TYPE=COUNT, with commas between them; -1 for no limit"


PARSERS: Mapping[Kind, Callable[[str], Value]] = {
    Kind.TEXT: str,
    Kind.WORDS: _words,
    Kind.FLAG: _flag,
    Kind.COUNT: _count,
    Kind.SMALL: _small,
    Kind.WHOLE: _whole,
    Kind.BOUND: _bound,
    Kind.SECONDS: _seconds,
    Kind.MINUTES: _minutes,
    Kind.MICROSECONDS: _microseconds,
    Kind.TIME: duration.seconds,
    Kind.LIMIT: duration.limit_seconds,
    Kind.MEMORY: _memory,
    Kind.COUNTS: _counts,
    Kind.WEIGHTS: _weights,
    Kind.LIMIT_COUNT: _limit_count,
    Kind.NUMBER: _number,
    Kind.TRES: _tres,
}
"""What each kind makes of a text; raises ValueError with what is wrong."""
