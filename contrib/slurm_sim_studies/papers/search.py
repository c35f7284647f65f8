"""The search for the reading: which answers to open questions do a paper's numbers support?

First each question alone, the others at the answers that a user would get who gives no
option. Then, together, those that brought the numbers nearer. Then again each alone, the
others at the best answers so far. For this the runs of :data:`CORE` are made, whose cells
are least alike; then all runs for the best of these readings. Readings are ranked by the
mean distance over the cells (see :class:`slurm_sim_studies.papers.cells.Cell`) of all tables but 1
and 2, whose rules of counting are a search of their own. A reading is chosen on all
traces but one, and judged on that one, for each in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from emulator.campaign import Outcome, run_all
from emulator.campaign.runs import Workers
from slurm_sim_studies.papers.cells import COUNTING_RULES, Cell, mean_distance
from slurm_sim_studies.papers.pv_easy import cells, specs
from slurm_sim_studies.papers.readings import COUNTING, QUESTIONS, Reading, possible

MATTERS = 0.0005
"""A question whose answers bring the mean distance down by less than this stays where it is."""
CORE = ("pv", "easy")
"""Runs whose cells a reading is first judged by."""
FINALISTS = 4
"""So many of the nearest readings that are not alike are judged by all runs; besides them the presets, the start,
and the nearest without each trace."""
MOST_TOGETHER = 16
"""Readings tried together, at most; those that differ in counting alone are counted as one."""

Report = Callable[[Outcome], None]


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
class Search:
    """What a search found.

    Attributes:
        presets: the reading of the presets.
        start: where the search began.
        tried: all readings, the nearest first, with the cells of the runs that each was made of.
        finals: the best of them, the nearest first, with the cells of all runs.
    """

    presets: Tried
    start: Tried
    tried: tuple[Tried, ...]
    finals: tuple[Tried, ...] = ()

    @property
    def best(self) -> Tried:
        """The nearest of all."""
        return self.tried[0]


@dataclass(frozen=True)
class LeftOut:
    """What was chosen without one trace, and how it does on that one."""

    column: str
    chosen: Tried
    distance: float
    presets_distance: float


def answer(tried: Tried, question: str) -> Any:
    """How a reading answers a question."""
    return getattr(tried.reading, question)


def search(
    traces: Mapping[str, Path],
    runs: Sequence[str],
    *,
    questions: Mapping[str, Sequence[Any]] = QUESTIONS,
    workers: Workers | None = None,
    keep: Path | None = None,
    report: Report | None = None,
) -> Search:
    """Try readings.

    Args:
        traces: by name of the study.
        runs: the runs whose cells count.
        questions: the answers to try; the search starts from the first of each.
        workers: who makes the runs; None makes them in this process.
        keep: as there.
        report: as there.
    """
    found: dict[Reading, Tried] = {}
    core = [run for run in runs if run in CORE] or runs

    def made(readings: Sequence[Reading], of: Sequence[str]) -> list[Tried]:
        tried = _try(readings, traces, of, workers, keep, report)
        return [
            Tried(one.reading, tuple(cell for cell in one.cells if cell.table not in COUNTING_RULES)) for one in tried
        ]

    def try_all(readings: Sequence[Reading]) -> None:
        new = [reading for reading in dict.fromkeys(readings) if reading not in found and possible(reading)]
        found.update({one.reading: one for one in made(new, core)})

    presets = Reading()
    start = replace(presets, **{name: answers[0] for name, answers in questions.items()})
    try_all([presets, start, *neighbours(start, questions)])
    try_all(_together(found[start], list(found.values()), questions))
    best = min(found.values(), key=Tried.distance)
    try_all(neighbours(best.reading, questions))
    ranked = Search(found[presets], found[start], tuple(sorted(found.values(), key=Tried.distance)))
    # Answers to which these cells are blind would only keep others out.
    unlike = {tuple(cell.ours for cell in one.cells): one.reading for one in reversed(ranked.tried)}
    finalists = [one.reading for one in ranked.tried if one.reading in unlike.values()][:FINALISTS]
    finalists += [left.chosen.reading for left in leave_one_out(ranked, list(traces))]
    finals = made(list(dict.fromkeys([presets, start, *finalists])), runs)
    return replace(ranked, finals=tuple(sorted(finals, key=Tried.distance)))


def search_rules(
    traces: Mapping[str, Path],
    table: int,
    runs: Sequence[str],
    questions: Mapping[str, Sequence[Any]],
    *,
    workers: Workers | None = None,
    keep: Path | None = None,
    report: Report | None = None,
) -> Search:
    """Try all combinations of some answers on one table alone; arguments as above."""
    presets = Reading()
    readings = [
        replace(presets, **dict(zip(questions, values, strict=True))) for values in product(*questions.values())
    ]
    start = readings[0]
    wanted = [reading for reading in dict.fromkeys([presets, *readings]) if possible(reading)]
    tried = _try(wanted, traces, runs, workers, keep, report)
    of_table = [Tried(one.reading, tuple(cell for cell in one.cells if _is_of(cell, table))) for one in tried]
    by_reading = {one.reading: one for one in of_table}
    return Search(by_reading[presets], by_reading[start], tuple(sorted(of_table, key=Tried.distance)))


def neighbours(reading: Reading, questions: Mapping[str, Sequence[Any]]) -> list[Reading]:
    """The readings that answer one question otherwise."""
    changed = [replace(reading, **{name: other}) for name, answers in questions.items() for other in answers]
    return [other for other in changed if other != reading]


def leave_one_out(found: Search, columns: Sequence[str]) -> list[LeftOut]:
    """For each trace: the reading that is best on the others, and its distance on this one.

    If there are finals, out of them, and by the cells of all runs.
    """
    readings = found.finals or found.tried
    (presets,) = (one for one in readings if one.reading == found.presets.reading)
    left = []
    for column in columns:
        others = [other for other in columns if other != column]
        chosen = min(readings, key=lambda one: one.distance(others))
        left.append(LeftOut(column, chosen, chosen.distance([column]), presets.distance([column])))
    return left


def effects(tried: Sequence[Tried], of: Tried) -> Iterator[tuple[str, Any, float, bool]]:
    """Of each answer that alone differs from a reading.

    Yields:
        Question, answer, change of the distance, and whether any cell changed.
    """
    for name in QUESTIONS:
        for one in tried:
            changed = one.differs(of.reading)
            if list(changed) == [name]:
                same = [cell.ours for cell in one.cells] == [cell.ours for cell in of.cells]
                yield name, changed[name], one.distance() - of.distance(), not same


def _together(start: Tried, tried: Sequence[Tried], questions: Mapping[str, Sequence[Any]]) -> list[Reading]:
    """All combinations of the answers that alone bring the numbers nearer, the best questions first."""
    gains: dict[str, list[tuple[float, Any]]] = {}
    for name, value, change, _ in effects(tried, start):
        if change < -MATTERS:
            gains.setdefault(name, []).append((change, value))
    chosen: dict[str, list[Any]] = {}
    size = 1
    for name in sorted(gains, key=lambda name: min(gains[name])[0]):
        better = [value for _, value in sorted(gains[name], key=lambda pair: pair[0])]
        answers = [questions[name][0], *better]
        grown = size * (1 if name in COUNTING else len(answers))
        if grown <= MOST_TOGETHER:
            chosen[name], size = answers, grown
    return [replace(start.reading, **dict(zip(chosen, values, strict=True))) for values in product(*chosen.values())]


def _is_of(cell: Cell, table: int) -> bool:
    return cell.paper == "journal" and cell.table == table


def _try(
    readings: Sequence[Reading],
    traces: Mapping[str, Path],
    runs: Sequence[str],
    workers: Workers | None,
    keep: Path | None,
    report: Report | None,
) -> list[Tried]:
    """Make the runs of all readings, those that are alike once, and count their cells."""
    all_specs = [
        replace(spec, name=f"{index}:{spec.name}", coordinates={})
        for index, reading in enumerate(readings)
        for spec in specs(traces, runs, reading)
    ]
    outcomes = run_all(all_specs, workers=workers, keep=keep, report=report)
    by_reading: dict[int, list[Outcome]] = {}
    for outcome in outcomes:
        number, _, name = outcome.name.partition(":")
        by_reading.setdefault(int(number), []).append(replace(outcome, name=name))
    return [
        Tried(reading, tuple(cells(by_reading.get(index, []), (), reading))) for index, reading in enumerate(readings)
    ]
