"""What commands showed in a recording, cell by cell beside what they show of the emulated cluster."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from emulator.truth.compare import Difference
from emulator.workload.scenario import Query, Scenario

Table = Mapping[tuple[str, ...], Mapping[str, str]]
"""Cells by column, by what a row is known by."""
_SPRIO = re.compile(r"^ *JOBID PARTITION +USER.*$", re.M)


def asked(scenario: Scenario) -> list[Query]:
    """What was asked in a scenario, by time; tables of ``sprio`` may also stand among the notes."""
    questions = list(scenario.recorded.queries or ())
    for at, text in scenario.recorded.cluster_events or ():
        questions += [Query(at, *table) for table in _tables_of_sprio(text)]
    return sorted(questions, key=lambda question: question.at)


def _tables_of_sprio(text: str) -> Iterator[tuple[str, str]]:
    lines = text.splitlines()
    for index, line in enumerate(lines):
        if _SPRIO.match(line):
            table = [line]
            for row in lines[index + 1 :]:
                if not re.match(r" +\d+ \S+ +\S+ ", row):
                    break
                table.append(row)
            yield ("sprio -l" if "SITE" in line else "sprio -n -l"), "\n".join(table)


def disagreements(questions: Sequence[Query], answers: Iterable[str | None]) -> Iterator[Difference]:
    """Where the answers differ; one that the emulator does not know is passed over."""
    for question, answer in zip(questions, answers, strict=True):
        if answer is not None:
            yield from _disagreement(question, read_table(question.output), read_table(answer))


def _disagreement(question: Query, recorded: Table, emulated: Table) -> Iterator[Difference]:
    for row in sorted({*recorded, *emulated}):
        one, other = recorded.get(row), emulated.get(row)
        if one is None or other is None:
            yield Difference("", _what(question), _row(row, one), _row(row, other))
            continue
        differ = {name: value for name, value in one.items() if name in other and other[name] != value}
        if differ:
            yield Difference("", _what(question), _row(row, differ), _row(row, {name: other[name] for name in differ}))


def _what(question: Query) -> str:
    return f"{question.command} at {question.at:g}"


def _row(row: tuple[str, ...], cells: Mapping[str, str] | None) -> str:
    shown = "not there" if cells is None else " ".join(f"{name}={value}" for name, value in cells.items())
    return f"{' '.join(row)}: {shown}"


def read_table(text: str) -> Table:
    """The cells of a table with a line of headers, or of lines of ``NAME=VALUE``."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return {}
    if lines[0].startswith("Account|"):
        return _shares(lines)
    if lines[0].startswith("ReservationName="):
        return {(line.split()[0].partition("=")[2],): _fields(line) for line in lines}
    names = lines[0].split()
    if names[0] != "JOBID":
        return {}
    keys = 2 if names[:2] == ["JOBID", "PARTITION"] else 1
    table = {}
    for line in lines[1:]:
        cells = line.split(maxsplit=len(names) - 1)
        missing = [""] * (len(names) - len(cells))
        table[tuple(cells[:keys])] = dict(zip(names, [*cells, *missing], strict=True))
    return table


def _shares(lines: Sequence[str]) -> Table:
    """Of ``sshare -P``: rows by account and user."""
    names = lines[0].split("|")
    rows = [[cell.strip() for cell in line.split("|")] for line in lines[1:]]
    return {tuple(cells[:2]): dict(zip(names, cells, strict=False)) for cells in rows}


def _fields(line: str) -> Mapping[str, str]:
    fields = dict(word.split("=", 1) for word in line.split() if "=" in word)
    return {name: fields[name] for name in ("Nodes", "State") if name in fields}
