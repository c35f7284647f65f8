"""Host-list expressions: ``n[001-010,012]-ib,login`` is twelve names.

A name may have several brackets; the last one counts fastest. A number is as wide as the
lower end of its range is written, so leading zeros are kept. The same notation names
device files in ``gres.conf``. (Slurm's documentation, slurm.conf, "Node configuration".)
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

MOST_NAMES = 65536
"""Slurm's own bound on the nodes of a system; no expression gives more names."""

# A name is text without blanks, commas and brackets, with bracketed lists of numbers in it.
_NAME = re.compile(r"(?:[^\s,\[\]]|\[[^\s\[\]]*\])+")
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_NUMBERED = re.compile(r"(.*?)([0-9]{1,18})([^0-9]*)", re.DOTALL)


def expand(expression: str, most: int = MOST_NAMES) -> list[str]:
    """The names of an expression, in its order; a name that stands twice comes twice.

    Args:
        expression: names separated by commas, each with any number of brackets. Empty: no name.
        most: how many names it may have.

    Raises:
        ValueError: it is not such an expression, or has too many names; the message says why.
    """
    names: list[str] = []
    for item in split(expression):
        names += _expanded(item, most - len(names))
    return names


def split(expression: str) -> list[str]:
    """The items of an expression, cut at commas outside brackets.

    Raises:
        ValueError: an empty item, a blank, or a bracket without its partner.
    """
    items = []
    position = 0
    while position < len(expression):
        found = _NAME.match(expression, position)
        if found is None or expression[found.end() : found.end() + 1] not in ("", ","):
            raise ValueError(f"{expression!r} is no host list: look at character {position + 1}")
        items.append(found.group())
        position = found.end() + 1
    if expression.endswith(","):
        raise ValueError(f"{expression!r} is no host list: it ends in a comma")
    return items


def _expanded(item: str, most: int) -> Iterator[str]:
    if "[" not in item:
        _bound(1, most)
        return iter((item,))
    # Text has even indices, the content of brackets odd ones.
    parts = re.split(r"\[(.*?)\]", item)
    choices = [_numbers(part, item, most) if index % 2 else [part] for index, part in enumerate(parts)]
    count = 1
    for choice in choices:
        count *= len(choice)
        _bound(count, most)
    return map("".join, itertools.product(*choices))


def _numbers(ranges: str, item: str, most: int) -> list[str]:
    numbers: list[str] = []
    for part in ranges.split(","):
        found = _RANGE.fullmatch(part)
        if found is None:
            raise ValueError(f"{part!r} in {item!r} is neither a number nor a range such as 01-16")
        first, last = found.group(1), found.group(2) or found.group(1)
        if int(last) < int(first):
            raise ValueError(f"{part!r} in {item!r} ends before it begins")
        _bound(len(numbers) + int(last) - int(first) + 1, most)
        numbers += [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
    return numbers


def _bound(count: int, most: int) -> None:
    if count > most:
        raise ValueError(f"a host list of more than {MOST_NAMES:,} names; Slurm has no more nodes than that")


def compress(names: Iterable[str]) -> str:
    """A short expression for names, whose expansion is these names in this order.

    Raises:
        ValueError: a name that no expression can hold (empty, or with a blank, comma or bracket).
    """
    parts = []
    for (prefix, suffix, numbered), group in itertools.groupby(map(_taken_apart, names), key=lambda each: each[0]):
        numbers = [number for _, number in group]
        if not numbered:
            parts += [prefix] * len(numbers)
            continue
        ranges = ",".join(_ranges(numbers))
        parts.append(f"{prefix}{ranges}{suffix}" if ranges.isdigit() else f"{prefix}[{ranges}]{suffix}")
    return ",".join(parts)


def _taken_apart(name: str) -> tuple[tuple[str, str, bool], str]:
    """What stands around the last number of a name, and that number."""
    if not name or re.search(r"[\s,\[\]]", name):
        raise ValueError(f"{name!r} is no name of a node")
    found = _NUMBERED.fullmatch(name)
    if found is None:
        return (name, "", False), ""
    prefix, number, suffix = found.groups()
    return (prefix, suffix, True), number


def _ranges(numbers: Iterable[str]) -> Iterator[str]:
    """``["08", "09", "10", "12"]`` to ``08-10`` and ``12``."""
    first = last = ""
    for number in numbers:
        if first and number == str(int(last) + 1).zfill(len(first)):
            last = number
            continue
        if first:
            yield first if first == last else f"{first}-{last}"
        first = last = number
    if first:
        yield first if first == last else f"{first}-{last}"
