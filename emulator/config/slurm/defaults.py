"""``DEFAULT`` lines: what a line says holds for all lines of its kind that follow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from emulator.config.slurm.location import Findings, Location
from emulator.config.slurm.settings import Setting, Settings, latest
from emulator.config.slurm.vocabulary import Vocabulary

Record = list[Setting]
"""The settings of one line; the first is its key."""

DEFAULT = "DEFAULT"
_EITHER = {"Sockets": "SocketsPerBoard", "SocketsPerBoard": "Sockets"}
"""Two ways to say one thing: the line's own puts that of a DEFAULT line out of force."""


def with_defaults(
    records: Iterable[Record], key: str, vocabulary: Vocabulary, findings: Findings
) -> Iterator[tuple[str, Location, Settings]]:
    """The lines that are no DEFAULT lines, with what those say.

    A DEFAULT line adds to the ones before it and replaces what they said of the same key.

    Args:
        records: the lines of one kind, in order.
        key: with which they begin, such as ``NodeName``.
        vocabulary: their keys.
        findings: where a key that is stated twice in a line goes.

    Yields:
        Value and location of the key, and all settings of the line.
    """
    defaults: dict[str, Setting] = {}
    for record in records:
        own = latest(record, findings)
        begin = own.pop(key)
        if begin.text.upper() == DEFAULT:
            defaults = {**_not_replaced(defaults, own), **own}
        else:
            yield begin.text, begin.location, Settings(vocabulary, {**_not_replaced(defaults, own), key: begin, **own})


def _not_replaced(defaults: dict[str, Setting], own: dict[str, Setting]) -> dict[str, Setting]:
    return {name: setting for name, setting in defaults.items() if _EITHER.get(name) not in own}
