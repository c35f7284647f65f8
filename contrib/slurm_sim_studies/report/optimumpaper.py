"""The tables on the offline optimum beside the paper's: for the terminal, as Markdown, and as data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from statistics import median
from typing import TYPE_CHECKING, Any

from emulator.report.grid import markdown_table, table
from emulator.report.numbers import UNKNOWN, duration_text

if TYPE_CHECKING:
    from rich.table import Table

    from slurm_sim_studies.papers.optimum import Row, Timing

TIMES = ("jobs", "midplanes", "paper", "ours, median", "longest", "CPU, median", "longest", "proven", "HiGHS: proven")
MEANS = ("schedule", "batch jobs' slowdown", "real-time jobs'", "bound kept", "proven", "paper")
SOURCES = (
    "Times are the solver's own, on the wall and of the processor; the schedule to begin with takes half a second "
    "more. The paper's are CPLEX on 32 cores. Its logs are not public: ours are other draws of the same sizes.",
    "Means over the logs. A bound that no schedule can keep is relaxed to the next hundredth that can. WCJS, the "
    "paper's heuristic, has just-in-time checkpoints and knows all run times; it may preempt a job twice, and let it "
    "go on on another block. The other policies are simulated on processors and know nothing of real-time jobs.",
)


def timing_rows(timings: Iterable[Timing]) -> list[tuple[str, ...]]:
    """The cells of table 2."""
    return [
        (
            f"{each.batch} + {each.realtime}",
            f"{each.midplanes}",
            _seconds(each.printed),
            _seconds(each.middle),
            _seconds(max(each.seconds)),
            _seconds(median(each.cpu)),
            _seconds(max(each.cpu)),
            f"{each.proven} of {each.logs}",
            UNKNOWN if each.highs is None else f"{each.highs} of {each.logs}",
        )
        for each in timings
    ]


def _seconds(value: float) -> str:
    if not math.isfinite(value):
        return "not proven"
    if value >= 60:
        return duration_text(value)
    return f"{value:.2f} s" if value < 1 else f"{value:.1f} s"


def mean_rows(rows: Iterable[Row], logs: int) -> list[tuple[str, ...]]:
    """The cells of table 3."""
    return [
        (
            row.name,
            f"{row.batch:.3f}",
            f"{row.realtime:.3f}",
            f"{row.kept} of {logs}",
            UNKNOWN if row.proven is None else f"{row.proven} of {logs}",
            UNKNOWN if row.printed is None else f"{row.printed[0]:.2f} and {row.printed[1]:.2f}",
        )
        for row in rows
    ]


def tables(timings: Sequence[Timing], rows: Sequence[Row], logs: int) -> list[Table]:
    """Both, for the terminal; one that was not made is left out."""
    found = []
    if timings:
        found.append(table("Table 2: time to proven optimality", TIMES, timing_rows(timings), SOURCES[0], left=1))
    if rows:
        title = f"Table 3: {logs} random logs of 5 batch and 2 real-time jobs"
        found.append(table(title, MEANS, mean_rows(rows, logs), SOURCES[1], left=1))
    return found


def markdown(timings: Sequence[Timing], rows: Sequence[Row], logs: int) -> str:
    """Both, as Markdown."""
    lines = ["# The offline optimum", ""]
    if timings:
        lines += ["## Table 2: time to proven optimality", ""]
        lines += [*markdown_table(TIMES, timing_rows(timings)), "", SOURCES[0], ""]
    if rows:
        lines += [f"## Table 3: {logs} random logs", ""]
        lines += [*markdown_table(MEANS, mean_rows(rows, logs)), "", SOURCES[1], ""]
    return "\n".join(lines)


def data(timings: Sequence[Timing], rows: Sequence[Row]) -> dict[str, Any]:
    """Both, for JSON."""
    return {"table2": [asdict(each) for each in timings], "table3": [asdict(row) for row in rows]}
