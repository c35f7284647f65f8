"""The search for the reading: which answers to open questions do a paper's numbers support?

First each question alone, the others at the answers of the presets; then, together, those
that matter. Readings are ranked by the mean distance over the cells (see
:class:`emulator.papers.cells.Cell`). A reading is chosen on all traces but one, and judged
on that one, for each in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from emulator.campaign import Outcome, run_all
from emulator.papers.cells import Cell, mean_distance
from emulator.papers.pv_easy import QUESTIONS, Reading, cells, specs

MATTERS = 0.001
"""A question whose answers change the mean distance by less than this stays at its default."""
MOST_TOGETHER = 8
"""Readings tried together, at most."""


@dataclass(frozen=True)
class Tried:
    """A reading, and the cells that it gives."""

    reading: Reading
    cells: tuple[Cell, ...]

    def distance(self, columns: Sequence[str] = ()) -> float:
        """Mean distance over the cells of some columns; of all by default."""
        return mean_distance([cell for cell in self.cells if not columns or cell.column in columns])

    def differs(self, other: Reading) -> dict[str, Any]:
        """Its answers where they are not another reading's."""
        return {name: getattr(self.reading, name) for name in QUESTIONS if answer(self, name) != getattr(other, name)}


@dataclass(frozen=True)
class LeftOut:
    """What was chosen without one trace, and how it does on that one."""

    column: str
    chosen: Tried
    distance: float
    default_distance: float


def answer(tried: Tried, question: str) -> Any:
    """How a reading answers a question."""
    return getattr(tried.reading, question)


def search(
    traces: Mapping[str, Path],
    runs: Sequence[str],
    *,
    questions: Mapping[str, Sequence[Any]] = QUESTIONS,
    processes: int = 1,
    keep: Path | None = None,
    report: Callable[[Outcome], None] | None = None,
) -> list[Tried]:
    """Try readings; the first is the default's, the others follow by distance.

    Args:
        traces: by name of the study.
        runs: the runs whose cells count.
        questions: the answers to try, the default's first.
        processes: as for :func:`emulator.campaign.run_all`.
        keep: as there.
        report: as there.
    """

    def tried(readings: Sequence[Reading]) -> list[Tried]:
        return _try(readings, traces, runs, processes, keep, report)

    default = Reading(**{name: answers[0] for name, answers in questions.items()})
    alone = [replace(default, **{name: other}) for name, answers in questions.items() for other in answers[1:]]
    first = tried([default, *alone])
    together = [reading for reading in _together(first, questions) if reading not in [one.reading for one in first]]
    rest = sorted([*first[1:], *tried(together)], key=lambda one: one.distance())
    return [first[0], *rest]


def leave_one_out(tried: Sequence[Tried], columns: Sequence[str]) -> list[LeftOut]:
    """For each trace: the reading that is best on the others, and its distance on this one."""
    found = []
    for column in columns:
        others = [other for other in columns if other != column]
        chosen = min(tried, key=lambda one: one.distance(others))
        found.append(LeftOut(column, chosen, chosen.distance([column]), tried[0].distance([column])))
    return found


def effects(tried: Sequence[Tried]) -> Iterator[tuple[str, Any, float, bool]]:
    """Of each answer that was tried alone: question, answer, change of the distance, and whether anything changed."""
    default = tried[0]
    for one in tried[1:]:
        changed = one.differs(default.reading)
        if len(changed) == 1:
            ((name, value),) = changed.items()
            same = [cell.ours for cell in one.cells] == [cell.ours for cell in default.cells]
            yield name, value, one.distance() - default.distance(), not same


def _together(first: Sequence[Tried], questions: Mapping[str, Sequence[Any]]) -> list[Reading]:
    """All combinations of the answers that alone bring the numbers nearer, the best questions first."""
    gains: dict[str, list[tuple[float, Any]]] = {}
    for name, value, change, _ in effects(first):
        if change < -MATTERS:
            gains.setdefault(name, []).append((change, value))
    order = sorted(gains, key=lambda name: min(gains[name])[0])
    chosen: dict[str, list[Any]] = {}
    size = 1
    for name in order:
        answers = [questions[name][0], *(value for _, value in sorted(gains[name], key=lambda pair: pair[0]))]
        if size * len(answers) > MOST_TOGETHER:
            continue
        chosen[name], size = answers, size * len(answers)
    default = first[0].reading
    return [replace(default, **dict(zip(chosen, values, strict=True))) for values in product(*chosen.values())]


def _try(
    readings: Sequence[Reading],
    traces: Mapping[str, Path],
    runs: Sequence[str],
    processes: int,
    keep: Path | None,
    report: Callable[[Outcome], None] | None,
) -> list[Tried]:
    all_specs = [
        replace(spec, name=f"{place}:{spec.name}")
        for place, reading in enumerate(readings)
        for spec in specs(traces, runs, reading)
    ]
    outcomes = run_all(all_specs, processes=processes, keep=keep, report=report)
    by_reading: dict[int, list[Outcome]] = {}
    for outcome in outcomes:
        number, _, name = outcome.name.partition(":")
        by_reading.setdefault(int(number), []).append(replace(outcome, name=name))
    return [Tried(reading, tuple(cells(by_reading.get(place, [])))) for place, reading in enumerate(readings)]
