"""What is said of an account, a user or a quality of service: ``GrpTRES=cpu=8``, ``qos+=debug``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from emulator.config.sacctmgr.database import Accounts, Association, Record
from emulator.config.sacctmgr.words import FLAGS, LISTS, OLD_RESOURCES, find
from emulator.config.slurm.values import Value
from emulator.config.slurm.vocabulary import Status, Vocabulary, Word
from slurm_sim_plugins.errors import InputError, meant

_STATEMENT = re.compile(r"([A-Za-z]+)([+-]?)=(.*)", re.DOTALL)
_CLEARED = ("", "-1")


class Statement(NamedTuple):
    """One thing that is said."""

    word: Word
    """The word; it may be an older name."""
    sign: str
    """``+`` adds to a list, ``-`` takes away from it; empty: this and nothing else."""
    text: str
    """The value as it is written."""
    value: Value | None
    """What it means; None where it clears what was said before."""

    @property
    def name(self) -> str:
        """Under which it is kept."""
        return self.word.means or self.word.name

    @property
    def words(self) -> tuple[str, ...]:
        """Its words, if it is a list."""
        return self.value if isinstance(self.value, tuple) else ()


def statement(text: str, vocabulary: Vocabulary) -> Statement:
    """Understand ``KEY=VALUE``, ``KEY+=VALUE`` or ``KEY-=VALUE``.

    Raises:
        InputError: it is not written so, there is no such key, or its value is of another kind.
    """
    found = _STATEMENT.fullmatch(text)
    if found is None:
        raise InputError(f"{text!r} is not written as KEY=VALUE")
    key, sign, written = found.groups()
    word = find(vocabulary, key)
    if word is None:
        raise InputError(f"{key} is nothing that is said of {vocabulary.subject}{vocabulary.meant(key)}")
    name = word.means or word.name
    if sign and name not in LISTS:
        raise InputError(f"{key}{sign}=: only {', '.join(LISTS)} can be added to and taken away from")
    if written in _CLEARED and word.status is not Status.IGNORED:
        return Statement(word, sign, written, () if name in LISTS and sign else None)
    try:
        value = word.parse(written)
        unknown = [flag for flag in written.split(",") if name == "Flags" and flag.upper() not in FLAGS]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is none of {', '.join(FLAGS)}{meant(unknown[0], FLAGS)}")
        if name == "Fairshare" and not (written.isdecimal() or written.lower() == "parent"):
            raise ValueError(f"{written!r} is neither a whole number from 0 on nor parent")
        if name == "RawUsage" and value != 0:
            raise ValueError(f"{written} cannot be set, 0 can")
    except ValueError as error:
        raise InputError(f"{word.name}: {error}") from None
    return Statement(word, sign, written, _as_now(word, value))


def _as_now(word: Word, value: Value) -> Value | None:
    """Older words name the resource: ``GrpCPUs=8`` is ``GrpTRES=cpu=8``; no limit is no value."""
    if isinstance(value, int | float) and not isinstance(value, bool) and "TRES" in word.means:
        resource = next(name for name, part in OLD_RESOURCES.items() if part in word.name)
        return {resource: float(value)}
    if isinstance(value, float) and math.isinf(value):
        return None
    if isinstance(value, tuple):
        return tuple(one.lower() for one in value)
    return None if value == -1 else value


def state(record: Record, statements: Iterable[Statement], accounts: Accounts) -> None:
    """Say something of an account, a user or a quality of service."""
    for one in statements:
        if one.word.status is Status.IGNORED:
            continue
        value = _joined(record, one, accounts)
        if value is None:
            record.stated.pop(one.name, None)
        else:
            record.stated[one.name] = value


def _joined(record: Record, one: Statement, accounts: Accounts) -> Value | None:
    """With what was said before: resources are kept that are not named, lists grow and shrink."""
    if isinstance(one.value, Mapping):
        amounts = {**record.tres(one.name), **one.value}
        return {name: amount for name, amount in amounts.items() if amount >= 0} or None
    if not one.sign:
        return one.value
    before = record.words(one.name)
    if before is None and one.name == "QOS" and isinstance(record, Association):
        before = accounts.qos_of(record)
    if one.sign == "+":
        return tuple(dict.fromkeys([*(before or ()), *one.words]))
    return tuple(word for word in before or () if word not in one.words)
