"""Evaluations as tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from emulator.report.grid import table
from emulator.report.numbers import printable
from emulator.walltime.evaluate import Evaluation, Outcome

if TYPE_CHECKING:
    from rich.table import Table

COLUMNS = ("no adj. %", "over %", "under %", "bad %")

TERMS = {
    "key": "Which jobs are similar: those of the same user, of the same project, of both (double), or of both with the "
    "same request (triple).",
    "window": "How far back similar jobs are looked for, in months; all: since the beginning of the log.",
    "percentile": "Of the shares of their requests that similar jobs used, in percent.",
    "threshold": "Least share of a request that is planned with; lower shares are raised to it.",
    "mean": "Mean accuracy: the smaller of run time and estimate over the larger; 1 is exact.",
    "median": "Median of the same accuracy.",
    "no adj. %": "Jobs that are planned with what they requested, in percent of all jobs.",
    "over %": "Jobs that run shorter than their adjusted estimate, in percent.",
    "under %": "Jobs that run longer than their adjusted estimate, by less than 30 min, in percent.",
    "bad %": "Jobs that run longer than their adjusted estimate by 30 min or more, in percent.",
    "definition": "How the percentile of few numbers is taken.",
}
"""What the headings mean."""


def evaluation_table(evaluation: Evaluation, limit: int = 0, note: str = "") -> Table:
    """The schemes, the most accurate first.

    Args:
        evaluation: what to show.
        limit: show this many; 0 shows all.
        note: a further line of the caption.
    """
    ranked = sorted(evaluation.outcomes, key=lambda outcome: -outcome.average)
    shown = ranked[:limit] if limit else ranked
    count = f"{len(shown)} of {len(ranked)} schemes, " if len(shown) < len(ranked) else ""
    return outcome_table(
        shown,
        f"Walltime adjustment on {evaluation.log}, {evaluation.jobs:,} jobs",
        [
            f"{count}by mean accuracy; the requests themselves have {evaluation.average:.3f}, "
            f"median {evaluation.median:.3f}",
            "under: run time beyond the estimate by less than 30 min; bad: by more",
            *evaluation.notes,
            note,
        ],
    )


def outcome_table(outcomes: Sequence[Outcome], title: str, notes: Sequence[str]) -> Table:
    """Outcomes, one a row."""
    several = len({outcome.scheme.definition for outcome in outcomes}) > 1
    headings = ("key", "window", "percentile", "threshold", "mean", "median", *COLUMNS)
    rows = ((*_cells(outcome), *([outcome.scheme.definition] if several else [])) for outcome in outcomes)
    note = "\n".join(printable(line) for note in notes for line in note.splitlines())
    grid = table(printable(title), (*headings, *(["definition"] if several else [])), rows, note, left=2)
    if several:
        grid.columns[-1].justify = "left"
    return grid


def _cells(outcome: Outcome) -> list[str]:
    scheme = outcome.scheme
    shares = (outcome.na, outcome.oe, outcome.ue, outcome.be)
    return [
        scheme.key,
        scheme.window,
        f"{scheme.percentile:g}",
        f"{scheme.threshold:g}",
        f"{outcome.average:.3f}",
        f"{outcome.median:.3f}",
        *(f"{100 * share:.1f}" for share in shares),
    ]
