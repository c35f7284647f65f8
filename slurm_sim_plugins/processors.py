"""Sets of particular processors, as whole numbers: bit p is processor p.

Python's own operators are those of sets: ``a & b``, ``a | b``, ``a & ~b``; ``bit_count()``
is their size. A set takes 8 bytes for 60 processors, and two of them meet in no time.
"""

from __future__ import annotations

from collections.abc import Iterable

Processors = int
"""A set of processors: bit p stands for processor p, from 0 on."""

LARGEST = 1 << 24
"""No number in words is as large: a set takes a bit for each below its highest."""


def all_processors(count: int) -> Processors:
    """Processors 0 to ``count`` - 1."""
    return (1 << count) - 1


def processors(numbers: Iterable[int]) -> Processors:
    """The set of these numbers.

    Raises:
        ValueError: a negative number.
    """
    found = 0
    for number in numbers:
        found |= 1 << number
    return found


def numbers(of: Processors) -> list[int]:
    """The numbers of a set, ascending."""
    return [index for index, bit in enumerate(reversed(f"{of:b}")) if bit == "1"]


def highest(of: Processors, count: int) -> Processors:
    """The ``count`` highest of a set; all of it if there are no more.

    The cost grows with the logarithm of the machine, not with the count.
    """
    surplus = of.bit_count() - count
    if surplus <= 0:
        return of
    low, high = 0, of.bit_length()
    while low < high:
        middle = (low + high + 1) // 2
        if (of >> middle).bit_count() >= count:
            low = middle
        else:
            high = middle - 1
    return (of >> low) << low


def in_words(of: Processors) -> str:
    """A set in Slurm's notation, such as ``0-3,7``."""
    spans: list[str] = []
    first = 0
    while of:
        zeros = (of & -of).bit_length() - 1
        first, of = first + zeros, of >> zeros
        ones = (~of & (of + 1)).bit_length() - 1
        spans.append(str(first) if ones == 1 else f"{first}-{first + ones - 1}")
        first, of = first + ones, of >> ones
    return ",".join(spans)


def from_words(text: str) -> Processors:
    """The set that :func:`in_words` wrote.

    Raises:
        ValueError: it is not in that notation.
    """
    found = 0
    for span in text.split(",") if text else []:
        first, dash, last = span.partition("-")
        low, high = int(first), int(last) if dash else int(first)
        if not 0 <= low <= high < LARGEST:
            raise ValueError(f"{span!r} is no span of processors, which are below {LARGEST:,}")
        found |= ((1 << (high - low + 1)) - 1) << low
    return found
