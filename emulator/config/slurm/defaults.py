"""``DEFAULT`` lines: what a line says holds for all lines of its kind that follow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from emulator.config.slurm.location import Findings, Location
from emulator.config.slurm.settings import Setting, Settings, latest
from emulator.config.slurm.vocabulary import Vocabulary

Record = list[Setting]
"""The settings of one line; the first is its key."""

DEFAULT = "DEFAULT"
_BEFORE = {"CPUs": "CPUs", "OverSubscribe": "OverSubscribe", "Features": "Feature"}
"""Of two names of one thing, in one line, the one that counts."""
_EVEN_OF_DEFAULT = ("CPUs", "OverSubscribe")
"""Of these also where that name stands in a DEFAULT line, and the other one in the line itself."""
_YIELDS = {
    "Sockets": "SocketsPerBoard",
    "PriorityTier": "Priority",
    "PriorityJobFactor": "Priority",
    "DefMemPerCPU": "DefMemPerNode",
    "MaxMemPerCPU": "MaxMemPerNode",
}
"""Of two keys the one that has no effect beside the other, in whichever of line and DEFAULT line they stand."""
_NOT_OF_DEFAULT = {
    "PartitionName": (
        *("ExclusiveUser", "ExclusiveTopo", "DisableRootJobs"),
        *("PowerDownOnIdle", "SelectTypeParameters", "SuspendTime"),
    )
}
"""Keys that Slurm does not look for in DEFAULT lines. All of these: asked of 22.05, 24.11 and 26.05."""


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
        own = latest(_first_names(record, findings), findings)
        begin = own.pop(key)
        if begin.text.upper() == DEFAULT:
            _without_effect(own, _NOT_OF_DEFAULT.get(key, ()), findings)
            defaults = {**defaults, **own}
        else:
            stated = {**defaults, key: begin, **_kept(own, defaults, findings)}
            yield begin.text, begin.location, Settings(vocabulary, _not_yielding(stated, findings))


def _first_names(record: Record, findings: Findings) -> Record:
    """A line without what it says under another name of a thing, beside the one that counts."""
    counting = {one.name: one for one in record if _BEFORE.get(one.name) == one.word.name}
    kept = []
    for one in record:
        first = counting.get(one.name, one)
        if first.word is one.word:
            kept.append(one)
        else:
            _say_vain(one, first, findings)
    return kept


def _kept(own: dict[str, Setting], defaults: dict[str, Setting], findings: Findings) -> dict[str, Setting]:
    """What a line says, without what a DEFAULT line says under the name that counts."""
    vain = [
        name
        for name in _EVEN_OF_DEFAULT
        if name in own and name in defaults and own[name].word.name != name == defaults[name].word.name
    ]
    for name in vain:
        _say_vain(own[name], defaults[name], findings)
    return {name: one for name, one in own.items() if name not in vain}


def _not_yielding(stated: dict[str, Setting], findings: Findings) -> dict[str, Setting]:
    """Settings without those that have no effect beside another one."""
    vain = [name for name in stated if _YIELDS.get(name) in stated]
    for name in vain:
        _say_vain(stated[name], stated[_YIELDS[name]], findings)
    return {name: one for name, one in stated.items() if name not in vain}


def _say_vain(vain: Setting, counting: Setting, findings: Findings) -> None:
    line = "" if counting.location == vain.location else f" ({counting.location})"
    what = f"{vain.word.name}={vain.text} has no effect: {counting.word.name}={counting.text}{line} counts"
    findings.notice(vain.location, what)


def _without_effect(own: dict[str, Setting], names: Iterable[str], findings: Findings) -> None:
    """Take out what has no effect in a DEFAULT line."""
    for name in names:
        one = own.pop(name, None)
        if one is not None:
            text = f"{name} has no effect in a DEFAULT line, as in Slurm: state it in the line of each partition"
            findings.notice(one.location, text)
