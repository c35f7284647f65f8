"""What was stated, as typed values that know where they stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from emulator.config.slurm.lines import Pair
from emulator.config.slurm.location import Findings, Location
from emulator.config.slurm.values import Value
from emulator.config.slurm.vocabulary import Vocabulary, Word

T = TypeVar("T")


class Setting(NamedTuple):
    """One value that was stated."""

    name: str
    """Under which it is kept, such as ``KillWait`` or ``SchedulerParameters.bf_window``."""
    word: Word
    """The word of the vocabulary; it may be an older name."""
    text: str
    """As it is written."""
    value: Value
    """What it means."""
    location: Location
    """Where it stands."""
    part_of: str = ""
    """The parameter in whose value it stands, or empty."""


@dataclass(frozen=True)
class Settings(Mapping[str, Setting]):
    """Values by name; asked for one that was not stated, the typed getters give Slurm's default.

    Attributes:
        vocabulary: all names that there are.
        stated: what was stated; of two values of one name, the last.
        defaults: those that are not the vocabulary's, as they would be written.
    """

    vocabulary: Vocabulary
    stated: Mapping[str, Setting] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Setting:
        return self.stated[name]

    def __contains__(self, name: object) -> bool:
        return name in self.stated

    def __iter__(self) -> Iterator[str]:
        return iter(self.stated)

    def __len__(self) -> int:
        return len(self.stated)

    def text(self, name: str) -> str:
        """A word or a path; empty where neither stated nor given by default."""
        return self._typed(name, str, "")

    def words(self, name: str) -> tuple[str, ...]:
        """Words; none by default."""
        return self._typed(name, tuple, ())

    def flag(self, name: str) -> bool:
        """Yes or no; no by default."""
        return self._typed(name, bool, False)

    def count(self, name: str) -> int:
        """A whole number; 0 where neither stated nor given by default."""
        return self._typed(name, int, 0)

    def amount(self, name: str) -> float | None:
        """Seconds, mebibytes or a bound, perhaps infinite; None where neither stated nor given by default."""
        value = self._value(name)
        return None if value is None else float(self._checked(name, value, (int, float)))

    def numbers(self, name: str) -> Mapping[str, float]:
        """Numbers by name; none by default."""
        value = self._value(name)
        if value is not None and not isinstance(value, Mapping):
            raise _other_kind(name, value)
        return value or {}

    def value(self, name: str) -> Value | None:
        """What it says, of whatever kind; None where neither stated nor given by default."""
        return self._value(name)

    def location(self, name: str) -> Location | None:
        """Where it is stated, or None."""
        return self.stated[name].location if name in self.stated else None

    def _typed(self, name: str, kind: type[T], missing: T) -> T:
        value = self._value(name)
        return missing if value is None else self._checked(name, value, kind)

    def _checked(self, name: str, value: Value, kind: type[T] | tuple[type[T], ...]) -> T:
        if not isinstance(value, kind):
            raise _other_kind(name, value)
        return value

    def _value(self, name: str) -> Value | None:
        if name in self.stated:
            return self.stated[name].value
        word = find(self.vocabulary, name)
        default = self.defaults.get(word.name, word.default)
        return word.parse(default) if default else None


def _other_kind(name: str, value: Value) -> TypeError:
    return TypeError(f"{name} is {value!r}: ask for it by its own kind")


def find(vocabulary: Vocabulary, name: str) -> Word:
    """The word of a name; that of an option is ``PARAMETER.option``.

    Raises:
        KeyError: there is none.
    """
    parameter, dot, option = name.partition(".")
    words = vocabulary.options[parameter] if dot else vocabulary
    word = words.find(option if dot else parameter)
    if word is None:
        raise KeyError(name)
    return word


def read_pairs(pairs: Iterable[Pair], vocabulary: Vocabulary, findings: Findings) -> list[Setting]:
    """Look up and understand pairs; what is wrong goes to the findings and is left out."""
    settings = []
    for pair in pairs:
        word = vocabulary.find(pair.key)
        if word is None:
            findings.problem(pair.location, f"{pair.key} is no key of {vocabulary.subject}{vocabulary.meant(pair.key)}")
            continue
        setting = _understood(word, word.means or word.name, pair.value, pair.location, findings)
        if setting is None:
            continue
        settings.append(setting)
        if word.name in vocabulary.options:
            settings += _options(setting, vocabulary.options[word.name], findings)
    return settings


def _understood(
    word: Word, name: str, text: str, location: Location, findings: Findings, part_of: str = ""
) -> Setting | None:
    try:
        return Setting(name, word, text, word.parse(text), location, part_of)
    except ValueError as error:
        findings.problem(location, f"{word.name}: {error}")
        return None


def _options(setting: Setting, options: Vocabulary, findings: Findings) -> Iterator[Setting]:
    """The options in a value; of two of one name the first counts, for Slurm looks for the name (recorded)."""
    words, first = setting.value if isinstance(setting.value, tuple) else (), dict[str, str]()
    for written in words:
        name, equals, text = written.partition("=")
        word = options.find(name)
        if word is None:
            unknown = f"{name!r} is no option of {options.subject}{options.meant(name)}"
            if options.strict:
                findings.problem(setting.location, unknown)
            else:
                findings.notice(setting.location, f"{unknown}; Slurm passes over it")
            continue
        # An option without a value is one that is switched on.
        option = _option(word, options.subject, text if equals else "YES", setting.location, findings)
        if option is None or word.several:
            yield from () if option is None else (option,)
        elif word.name not in first:
            first[word.name] = option.text
            yield option
        elif option.text != first[word.name]:
            again = f"{word.name}={option.text} is stated again: the first one counts, {first[word.name]}"
            findings.notice(setting.location, again)


def _option(word: Word, parameter: str, text: str, location: Location, findings: Findings) -> Setting | None:
    name = word.means if "." in word.means else f"{parameter}.{word.means or word.name}"
    option = _understood(word, name, text, location, findings, parameter)
    if option is None or word.in_range(option.value):
        return option
    instead = f", {word.default}" if word.default else ""
    findings.notice(location, f"{word.name}={text} is not {word.range_text}: Slurm takes its default{instead}")
    return None


def latest(settings: Iterable[Setting], findings: Findings) -> dict[str, Setting]:
    """Settings by name; of two of one name the last counts, as in Slurm, and a notice says so."""
    by_name: dict[str, Setting] = {}
    for setting in settings:
        earlier = by_name.get(setting.name)
        if earlier is not None and not setting.word.several:
            findings.notice(setting.location, f"{setting.name} is stated again: this counts, not {earlier.location}")
            by_name = {name: each for name, each in by_name.items() if each.part_of != setting.name}
        by_name[setting.name] = setting
    return by_name
