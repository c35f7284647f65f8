"""What an upgrade of Slurm changes for a site, as tables and as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.config.slurm.upgrade import ChangedKey, Changes
from emulator.config.slurm.versions import KeyChange
from emulator.report.diff import JobDiff, starts_table
from emulator.report.grid import table

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True, slots=True)
class Starts:
    """What became of a log under both versions.

    Attributes:
        compared: how many jobs it has.
        differ: those that start at another time.
        epoch: unix time of second 0.
        refused: under either, how many jobs were refused for which reason.
    """

    compared: int
    differ: list[JobDiff]
    epoch: int | None
    refused: tuple[Mapping[str, int], Mapping[str, int]]

    def first(self, limit: int) -> list[JobDiff]:
        """The first of them; all with 0."""
        return self.differ[:limit] if limit else self.differ


TERMS = {
    "key": "A key of slurm.conf.",
    "line": "Where the file states it; not stated: the default counts.",
    "since": "The version of Slurm that it changes with.",
    "what it is then": "What the key means, or its default, from that version on, and before.",
    "concerns": "What of the configuration the rule is about.",
    "then": "What the emulator does by the rules of the newer version.",
    "before": "What it did by those of the older one.",
}
"""What the headings mean."""


def tables(found: Changes, starts: Starts | None, limit: int) -> Iterator[Table]:
    """Keys, rules and jobs, each where there is something to show.

    Args:
        found: what changes.
        starts: of a log, if one was run.
        limit: most jobs to show; 0 for all.
    """
    upgrade = f"from Slurm {found.old} to {found.new}"
    keys = [(one.change.key, _lines(one) or "not stated", one.change.since, _says(one.change)) for one in found.keys]
    if keys:
        yield table(f"Keys that change {upgrade}", ("key", "line", "since", "what it is then"), keys)
    rules = [(one.rule.since, one.concerns, one.rule.says, one.rule.before) for one in found.rules if one.concerns]
    if rules:
        yield table(f"Rules that change {upgrade}", ("since", "concerns", "then", "before"), rules)
    if starts is not None and starts.differ:
        yield starts_table(starts.first(limit), (f"Slurm {found.old}", f"Slurm {found.new}"), starts.epoch)


def sentences(found: Changes, starts: Starts | None, limit: int) -> Iterator[str]:
    """What the tables do not show."""
    if not found.keys:
        yield f"No key that the file states, and no default, is known to change from Slurm {found.old} to {found.new}."
    aside = [one.rule.name for one in found.rules if not one.concerns]
    if aside:
        yield f"Rules that concern nothing in the file: {', '.join(aside)}."
    if not found.rules:
        yield "No rule of the emulator differs between the two."
    if starts is not None:
        shown = len(starts.first(limit))
        yield f"{len(starts.differ):,} of {starts.compared:,} jobs start at another time; shown are {shown:,}."
        for version, refused in zip((found.old, found.new), starts.refused, strict=True):
            if refused:
                why = "; ".join(f"{count:,} for {reason}" for reason, count in refused.items())
                yield f"{sum(refused.values()):,} jobs are refused under Slurm {version}: {why}."


def data(found: Changes, starts: Starts | None, limit: int) -> dict[str, Any]:
    """As plain data.

    Returns:
        ``from`` and ``to``; ``keys``: a list of ``key``, ``lines`` (``file:line``; none where the default counts),
        ``since``, ``kind``, ``says`` and ``was``; ``rules``: of ``name``, ``since``, ``says``, ``before`` and
        ``concerns``; ``jobs``, of a log: ``compared``, ``differ``, the ``first``, as in ``slurm-sim diff``, and
        ``refused``: under either version, how many for which reason.
    """
    of_key, of_rule = ("key", "since", "kind", "says", "was"), ("name", "since", "says", "before")
    about: dict[str, Any] = {"from": found.old, "to": found.new}
    about["keys"] = [
        {name: getattr(one.change, name) for name in of_key} | {"lines": [str(line) for line in one.locations]}
        for one in found.keys
    ]
    about["rules"] = [
        {name: getattr(one.rule, name) for name in of_rule} | {"concerns": one.concerns} for one in found.rules
    ]
    if starts is not None:
        first = [asdict(one) for one in starts.first(limit)]
        refused = dict(zip((found.old, found.new), starts.refused, strict=True))
        about["jobs"] = {"compared": starts.compared, "differ": len(starts.differ), "first": first, "refused": refused}
    return about


def _lines(key: ChangedKey) -> str:
    return ", ".join(f"{Path(location.file).name}:{location.line}" for location in key.locations)


def _says(change: KeyChange) -> str:
    kind = "" if change.kind == "meaning" else f"{change.kind}: "
    return f"{kind}{change.says}" + (f"; before: {change.was}" if change.was else "")
