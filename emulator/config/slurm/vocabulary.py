"""The words of a configuration: what each is, and what the emulator makes of it.

The tables themselves are in :mod:`emulator.config.slurm.parameters`,
:mod:`emulator.config.slurm.options` and :mod:`emulator.config.slurm.records`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache

from emulator.config.slurm.values import PARSERS, Kind, Value
from slurm_sim_plugins.errors import meant


class Status(Enum):
    """What the emulator does about a key."""

    HONOURED = "honoured"
    NOT_YET = "not yet honoured"
    IGNORED = "ignored"


HONOURED, NOT_YET, IGNORED = Status

_UNITS = {Kind.MINUTES: 60.0, Kind.MICROSECONDS: 1e-6}


@dataclass(frozen=True)
class Word:
    """A key of a configuration file, or an option in the value of one.

    Attributes:
        name: as Slurm's documentation writes it; case does not matter in files.
        status: what the emulator does about it.
        note: what it governs or, if it is ignored, why.
        kind: how its value is written.
        default: the value where none is stated, as it would be written; empty if there is none.
        choices: the only values (of WORDS: words) that there are, in upper case; empty for any.
        least: no value of an option is below this; Slurm takes the default instead.
        most: no value of an option is above this; Slurm takes the default instead.
        disabled: a value that switches the option off and is outside least and most, or None.
        means: the name under which the value is kept, if this is an older name of it.
        several: whether it may stand in several lines, each adding a value.
    """

    name: str
    status: Status
    note: str
    kind: Kind = Kind.TEXT
    default: str = ""
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    disabled: int | None = None
    means: str = ""
    several: bool = False

    def parse(self, text: str) -> Value:
        """The value of a text.

        Raises:
            ValueError: it is not written as it must be; the message says what is accepted.
        """
        if self.disabled is not None and text == str(self.disabled):
            return self.disabled
        value = self._parser(text)
        if self.choices:
            words = value if isinstance(value, tuple) else (str(value),)
            for word in words:
                if word.upper() not in self.choices:
                    raise ValueError(f"{word!r} is none of {', '.join(self.choices)}{meant(word, self.choices)}")
            return tuple(word.upper() for word in words) if isinstance(value, tuple) else str(value).upper()
        return value

    @cached_property
    def _parser(self) -> Callable[[str], Value]:
        # Thousands of lines may say the same.
        return lru_cache(maxsize=128)(PARSERS[self.kind])

    def in_range(self, value: Value) -> bool:
        """Whether an option's number, in the unit in which it is written, is one that Slurm takes."""
        if not isinstance(value, int | float) or value == self.disabled:
            return True
        number = value / _UNITS.get(self.kind, 1)
        return (self.least is None or number >= self.least) and (self.most is None or number <= self.most)

    @property
    def range_text(self) -> str:
        """``"from 1 to 10800"``."""
        low = f"from {self.least or 0:.0f}"
        return f"{low} to {self.most:.0f}" if self.most is not None else f"{low} on"


@dataclass(frozen=True)
class Vocabulary:
    """The words that one kind of line or parameter may have.

    Attributes:
        subject: what that is, such as ``a NodeName line``.
        words: all of them.
        options: vocabularies of the options that stand in the value of a word, by its name.
        strict: whether Slurm refuses a word that it does not know; else it passes over it.
    """

    subject: str
    words: tuple[Word, ...]
    options: Mapping[str, Vocabulary]
    strict: bool = True

    @cached_property
    def by_name(self) -> Mapping[str, Word]:
        """The words by lower-case name."""
        return {word.name.lower(): word for word in self.words}

    def find(self, name: str) -> Word | None:
        """The word of that name, in whatever case."""
        return self.by_name.get(name.lower())

    def meant(self, name: str) -> str:
        """What was probably meant by an unknown word, as the end of a sentence."""
        return meant(name, (word.name for word in self.words))

    def __iter__(self) -> Iterator[Word]:
        return iter(self.words)


def vocabulary(
    subject: str, *groups: Iterable[Word], options: Mapping[str, Vocabulary] | None = None, strict: bool = True
) -> Vocabulary:
    """Put groups of words together; no name may come twice."""
    words = tuple(word for group in groups for word in group)
    names = [word.name.lower() for word in words]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"{subject}: defined twice: {', '.join(sorted(twice))}")
    return Vocabulary(subject, words, options or {}, strict)


def ignored(why: str, names: str, *, several: bool = False) -> tuple[Word, ...]:
    """Words that are ignored for one reason; the names have blanks between them."""
    return tuple(Word(name, IGNORED, why, several=several) for name in names.split())
