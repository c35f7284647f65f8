"""The bytes of a trace to columns of numbers: a :mod:`kernel <slurm_sim_plugins.kernels>`.

It reads what nearly every trace consists of: lines of 18 decimal numbers, comments, and empty lines. Where anything
else stands it gives up, and :mod:`emulator.workload.swf` reads the file in a way that can tell what is wrong.
"""

from __future__ import annotations

from typing import Any

FIELDS = 18
FRACTION = 100
"""Added to the row of a field that need not be whole; a field that is ignored has a row below 0."""
MOST_DIGITS, MOST_WITH_POINT = 18, 15
"""So many make a 64-bit number; so many, a number that is rounded only once when it is divided."""
NEWLINE, TAB, SPACE, MINUS, POINT, ZERO, NINE, SEMICOLON = 10, 9, 32, 45, 46, 48, 57, 59


def parse(data: Any, places: Any, wholes: Any, fractions: Any, lines: Any, comments: Any) -> int:
    """Fill in the columns.

    Args:
        data: bytes.
        places: the row that each field goes to: of ``wholes``, with :data:`FRACTION` of ``fractions``, below 0 of none.
        wholes: a row for each field that is whole.
        fractions: a row for each field that need not be.
        lines: the number of the line of each record, from 1.
        comments: where the lines begin that are comments.

    Returns:
        The number of records; -1 if there is anything out of the ordinary.
    """
    size, at, line, count, told = len(data), 0, 0, 0, 0
    while at < size:
        line += 1
        byte = data[at]
        if byte == SEMICOLON:
            if told == len(comments):
                return -1
            comments[told] = at
            told += 1
            while at < size and data[at] != NEWLINE:
                at += 1
        elif byte != NEWLINE:
            at = _record(data, at, size, places, wholes, fractions, count)
            if at < 0:
                return -1
            lines[count] = line
            count += 1
        at += 1
    return count


def _record(data: Any, at: int, size: int, places: Any, wholes: Any, fractions: Any, count: int) -> int:
    """Read a line that begins at ``at``; where it ends, or -1."""
    field = 0
    while True:
        while at < size and (data[at] == SPACE or data[at] == TAB):
            at += 1
        if at == size or data[at] == NEWLINE:
            return at if field == FIELDS else -1
        if field == FIELDS:
            return -1
        at = _number(data, at, size, places[field], wholes, fractions, count)
        if at < 0:
            return -1
        field += 1


def _number(data: Any, at: int, size: int, place: int, wholes: Any, fractions: Any, count: int) -> int:
    """Read a number; where it ends, or -1."""
    negative = data[at] == MINUS
    if negative:
        at += 1
    begin, number = at, 0
    while at < size and data[at] >= ZERO and data[at] <= NINE:
        number = 10 * number + data[at] - ZERO
        at += 1
    digits, power = at - begin, 1
    point = at < size and data[at] == POINT
    if point:
        at += 1
        while at < size and data[at] >= ZERO and data[at] <= NINE and digits < MOST_WITH_POINT:
            number = 10 * number + data[at] - ZERO
            power *= 10
            digits += 1
            at += 1
    # What is left of a longer number is no space.
    ended = at == size or data[at] == SPACE or data[at] == NEWLINE or data[at] == TAB
    if not ended or digits == 0 or digits > MOST_DIGITS or (negative and number == 0):
        return -1
    if point and (digits > MOST_WITH_POINT or (place >= 0 and place < FRACTION)):
        return -1
    _write(place, -number if negative else number, power, wholes, fractions, count)
    return at


def _write(place: int, number: int, power: int, wholes: Any, fractions: Any, count: int) -> None:
    """Put a number where it goes, divided by a power of ten."""
    if place >= FRACTION:
        fractions[place - FRACTION, count] = number / power
    elif place >= 0:
        wholes[place, count] = number
