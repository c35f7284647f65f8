"""A recorded run of a real Slurm and the emulated one, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from emulator.report.grid import add, table
from emulator.report.numbers import printable
from emulator.report.page.sheet import Heading
from emulator.truth.compare import Pair, lasts
from emulator.truth.history import History, Stint
from emulator.truth.known import Known
from emulator.truth.verdict import Verdict

if TYPE_CHECKING:
    from rich.table import Table

AGREES, DIFFERS, EXCUSED = "", "differs", "noise"
_STYLES = {AGREES: "", DIFFERS: "bold red", EXCUSED: "yellow"}
_OF_START = ("runs", "start", "nodes", "allocation", "partition", "limit", "order", "job")
_OF_END = ("end", "gone", "outcome")


@dataclass(frozen=True)
class Row:
    """A line of the timeline.

    Attributes:
        job: whose.
        event: what happened.
        recorded, emulated: when and how, on either side; empty where it did not.
        mark: ``differs``, ``noise`` (excused) or nothing.
    """

    job: str
    event: str
    recorded: str
    emulated: str
    mark: str = AGREES


def state_of(verdict: Verdict, known: Known) -> tuple[str, str]:
    """Whether a scenario agrees, and what there is to be said of it."""
    noise = f"noise: {len(verdict.excused)}" if verdict.excused else ""
    if verdict.agrees:
        return "agrees", "; ".join(filter(None, [noise, *verdict.supplied]))
    open_cause = known.open_in(verdict.scenario.name)
    return "differs", open_cause.reason if open_cause else f"differences: {len(verdict.differences)}"


def describe(verdict: Verdict, known: Known) -> dict[str, Any]:
    """A verdict as plain data."""
    state, remark = state_of(verdict, known)
    return {
        "scenario": verdict.scenario.name,
        "source": verdict.scenario.source,
        "state": state,
        "remark": remark,
        "differences": [
            {"job": one.job, "what": one.what, "recorded": one.recorded, "emulated": one.emulated}
            for one in verdict.differences
        ],
        "noise": [
            {"job": one.job, "what": one.what, "recorded": one.recorded, "emulated": one.emulated, "reason": why.reason}
            for one, why in verdict.excused
        ],
        "supplied": list(verdict.supplied),
        "not_compared": list(verdict.not_compared),
        "timeline": [
            {"job": row.job, "event": row.event, "recorded": row.recorded, "emulated": row.emulated, "mark": row.mark}
            for row in rows(verdict)
        ],
    }


def timeline_table(verdict: Verdict, *, once: bool = True) -> Table:
    """The timeline, job by job; what differs is marked.

    Args:
        verdict: whose.
        once: name each job in its first row only.
    """
    title = printable(f"{verdict.scenario.name}: {'agrees' if verdict.agrees else 'differs'}")
    grid = table(title, ("job", "event", "recorded", "emulated", "verdict"), (), pad_edge=False)
    before = ""
    for row in rows(verdict):
        cells = ("" if once and row.job == before else row.job, row.event, row.recorded, row.emulated, row.mark)
        add(grid, cells, _STYLES[row.mark])
        before = row.job
    return grid


def rows(verdict: Verdict) -> list[Row]:
    """The timeline: each job's runs, suspensions, last state and reasons; then what else differs."""
    marks = {(one.job, one.what): EXCUSED for one, _ in verdict.excused}
    marks |= {(one.job, one.what): DIFFERS for one in verdict.differences}
    shown: list[Row] = []
    used: set[tuple[str, str]] = set()
    for pair in verdict.pairs:
        for row, whats in _rows(pair):
            keys = {(pair.name, what) for what in whats} & set(marks)
            used |= keys
            mark = max((marks[key] for key in keys), key=[AGREES, EXCUSED, DIFFERS].index, default=AGREES)
            shown.append(Row(row.job, row.event, row.recorded, row.emulated, mark))
    rest = [*verdict.differences, *(one for one, _ in verdict.excused)]
    return shown + [
        Row(one.job, one.what, one.recorded, one.emulated, marks[one.job, one.what])
        for one in rest
        if (one.job, one.what) not in used
    ]


def _rows(pair: Pair) -> Iterator[tuple[Row, Sequence[str]]]:
    if len(pair.emulated) != 1:
        yield from _shared_rows(pair)
        return
    emulated = pair.emulated[0]
    for recorded, other in zip_longest(pair.recorded.runs, emulated.runs):
        yield Row(pair.name, "start", _start(recorded), _start(other)), _OF_START
        turns = (recorded.turns if recorded else [], other.turns if other else [])
        for one, two in zip_longest(*turns, fillvalue=None):
            event = "suspended" if (one or two or (0, ""))[1] == "SUSPENDED" else "goes on"
            yield Row(pair.name, event, _at(one), _at(two)), ("suspension",)
        yield Row(pair.name, "end", _end(recorded), _end(other)), _OF_END
    yield Row(pair.name, "state", pair.recorded.state, emulated.state), ("state",)
    if pair.recorded.reasons is not None:
        yield Row(pair.name, "reasons", _reasons(pair.recorded), _reasons(emulated)), ("reason",)


def _shared_rows(pair: Pair) -> Iterator[tuple[Row, Sequence[str]]]:
    for event, states, whats in (("starts", ("RUNNING",), ("start", "job")), ("ends", _OVER, ("end",))):
        recorded = [at for at, state in pair.recorded.states if state in states]
        emulated = sorted({at for one in pair.emulated for at, state in one.states if state in states})
        yield Row(pair.name, event, _times(recorded), _times(emulated)), whats


_OVER = ("COMPLETED", "FAILED", "TIMEOUT")


def _times(instants: Sequence[float]) -> str:
    return ", ".join(f"{at:.1f}" for at in instants)


def _at(turn: tuple[float, str] | None) -> str:
    return "" if turn is None else f"{turn[0]:.1f}"


def _start(run: Stint | None) -> str:
    if run is None:
        return ""
    return f"{run.start:.1f} {','.join(sorted(run.nodes or ()))}".strip()


def _end(run: Stint | None) -> str:
    if run is None or run.end is None:
        return ""
    return f"{run.end:.1f} {run.outcome}".strip()


def _reasons(history: History) -> str:
    return ", ".join(
        f"{one.begin:.1f} {one.reason}" for one in history.reasons or () if lasts(one) and one.reason != "None"
    )


def notes(verdict: Verdict, known: Known) -> list[str]:
    """What is to be said below a timeline."""
    open_cause = known.open_in(verdict.scenario.name)
    lines = [f"known: {open_cause.reason}"] if open_cause else []
    lines += [f"noise: {one.job} {one.what}: {why.reason}" for one, why in verdict.excused]
    lines += [f"supplied: {text}" for text in verdict.supplied]
    lines += [f"not compared: {text}" for text in verdict.not_compared]
    return [printable(line) for line in lines]


TERMS = {
    "scenario": "A configuration, submissions, and what a real Slurm made of them.",
    "state": "agrees: nothing that counts differs; differs: something does; not compared: the remark says why.",
    "remark": "Causes that are known, what is noise in the recording, and what was supplied to the emulator.",
    "job": "The name of the job in the scenario.",
    "event": "What happened to the job; in seconds from the beginning of the recording, with its nodes.",
    "recorded": "When and how it happened under the real Slurm.",
    "emulated": "When and how it happened in the emulator.",
    "verdict": "Nothing where both agree; differs; or noise: what differs between repeats of the recording, too.",
}
"""What the headings of the page mean."""


def parts(
    verdicts: Sequence[Verdict], known: Known, skipped: Sequence[tuple[str, str]] = ()
) -> Iterator[Table | Heading | str]:
    """Of a page: the scenarios, then the timeline of each, those that differ first."""
    yield summary_table(verdicts, known, skipped)
    if verdicts:
        yield Heading("Timelines")
    for verdict in sorted(verdicts, key=lambda verdict: verdict.agrees):
        yield timeline_table(verdict, once=False)
        yield from notes(verdict, known)


def summary_table(verdicts: Sequence[Verdict], known: Known, skipped: Sequence[tuple[str, str]] = ()) -> Table:
    """One line a scenario: does it agree?

    Args:
        verdicts: of the scenarios that were compared.
        known: causes that are known.
        skipped: (name, why) of those that were not.
    """
    note = f"{sum(verdict.agrees for verdict in verdicts)} of {len(verdicts)} agree"
    grid = table("", ("scenario", "state", "remark"), (), note, pad_edge=False)
    for verdict in verdicts:
        add(grid, (verdict.scenario.name, *state_of(verdict, known)), "" if verdict.agrees else _STYLES[DIFFERS])
    for name, why in skipped:
        add(grid, (name, "not compared", why), "dim")
    return grid


def markdown(verdicts: Sequence[Verdict], known: Known, skipped: Sequence[tuple[str, str]] = ()) -> str:
    """The same as a table in Markdown, and the reasons of what is excused and supplied.

    Args:
        verdicts: of the scenarios that were compared.
        known: causes that are known.
        skipped: (name, why) of those that were not.
    """
    agree = sum(verdict.agrees for verdict in verdicts)
    lines = [f"{agree} of {len(verdicts)} agree; {len(skipped)} are not compared.", ""]
    lines += ["| scenario | state | remark |", "|---|---|---|"]
    states = {verdict.scenario.name: (state_of(verdict, known)[0], _remark(verdict, known)) for verdict in verdicts}
    states |= {name: ("not compared", why) for name, why in skipped}
    lines += [f"| `{name}` | {state} | {remark} |" for name, (state, remark) in sorted(states.items())]
    return "\n".join(lines)


def _remark(verdict: Verdict, known: Known) -> str:
    open_cause = known.open_in(verdict.scenario.name)
    parts = [open_cause.reason] if open_cause else []
    parts += [f"noise, {one.job} {one.what}: {why.reason}" for one, why in verdict.excused]
    parts += [f"supplied, {text}" for text in verdict.supplied]
    parts += [f"not compared: `{text}`" for text in verdict.not_compared]
    return "; ".join(parts).replace("|", "\\|")
