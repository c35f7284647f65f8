"""Where two runs differ: the jobs that start at another time, first difference first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from emulator.accounting.records import Records
from emulator.accounting.runfolder import FinishedRun
from emulator.metrics.jobs import Floats, column
from emulator.report.caption import table
from emulator.report.grid import empty
from emulator.report.numbers import UNKNOWN, duration_text, instant_text, printable, seconds_text

if TYPE_CHECKING:
    from rich.table import Table

TERMS = {
    "job": "Its number.",
    "processors": "That the job has, in a cluster its CPUs.",
    "start": "When the job starts; a date in UTC, or seconds on the clock of the log.",
    "later by": "How much later the job starts in the second run, in h:mm:ss; sooner where it is negative.",
}
"""What the headings mean."""


@dataclass(frozen=True, slots=True)
class JobDiff:
    """A job that starts at another time in the second run.

    Attributes:
        job_id: the trace's job id.
        processors: processors it took.
        first: start in the first run, in seconds on the trace's clock; None if it never started there.
        second: start in the second run.
        only_in: the run that alone has the job, or None if both have it.
    """

    job_id: int
    processors: int
    first: float | None
    second: float | None
    only_in: Literal["first", "second"] | None = None

    @property
    def later(self) -> float | None:
        """Seconds by which the second run starts it later; None unless both start it."""
        return None if self.first is None or self.second is None else self.second - self.first


def diff_runs(a: FinishedRun, b: FinishedRun, limit: int | None = None) -> list[JobDiff]:
    """As :func:`diff_records`, of runs that were left in folders."""
    return diff_records(a.records, b.records, limit)


def diff_records(a: Records, b: Records, limit: int | None = None) -> list[JobDiff]:
    """The jobs whose (last) start differs, and those that only one run has.

    Args:
        a: records of the first run.
        b: records of the second run.
        limit: at most so many; by default all.

    Returns:
        In the order of the earlier of the two starts, then of the id; a job that starts in
        neither run but is in one only comes last.
    """
    ids, in_first, in_second = _aligned(a, b)
    first, second = _starts(a, in_first), _starts(b, in_second)
    alike = (first == second) | (np.isnan(first) & np.isnan(second))
    differ = np.flatnonzero(~alike | (in_first < 0) | (in_second < 0))
    order = differ[np.lexsort((ids[differ], np.fmin(first, second)[differ]))][:limit]
    processors = np.where(in_first >= 0, _processors(a, in_first), _processors(b, in_second))
    only = np.where(in_second < 0, "first", np.where(in_first < 0, "second", ""))
    rows = zip(*(values[order].tolist() for values in (ids, processors, first, second, only)), strict=True)
    return [
        JobDiff(job, count, _or_none(one), _or_none(other), alone or None) for job, count, one, other, alone in rows
    ]


def diff_table(diffs: Sequence[JobDiff], a: FinishedRun, b: FinishedRun) -> Table:
    """Differences between two runs as a table for the terminal.

    Args:
        diffs: as from :func:`diff_runs`.
        a: the first run.
        b: the second run.
    """
    epoch = a.records.epoch if a.records.epoch == b.records.epoch else None
    return starts_table(diffs, _labels(a, b), epoch, "\n".join(_notes(a, b)))


def starts_table(diffs: Sequence[JobDiff], labels: Sequence[str], epoch: int | None, note: str = "") -> Table:
    """The starts of jobs in two runs as a table for the terminal.

    Args:
        diffs: as from :func:`diff_records`.
        labels: of the first run and of the second.
        epoch: unix time of second 0; None shows seconds.
        note: stands under it.
    """
    from rich.text import Text

    unit = "s" if epoch is None else "UTC"
    grid = empty(note=note)
    grid.add_column("job", justify="right", no_wrap=True)
    grid.add_column("processors", justify="right", no_wrap=True)
    for label in labels:
        grid.add_column(Text(f"start ({unit}) in {label}"), justify="right", overflow="fold")
    grid.add_column("later by", justify="right", no_wrap=True)
    for each in diffs:
        starts = (_start_text(each, each.first, "second", epoch), _start_text(each, each.second, "first", epoch))
        grid.add_row(str(each.job_id), f"{each.processors:,}", *starts, _later_text(each.later))
    return grid


def _aligned(a: Records, b: Records) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """All job ids, ascending, and the row of each in either run; -1 where it has none."""
    first, second = np.asarray(a.jobs["job_id"]), np.asarray(b.jobs["job_id"])
    ids = np.union1d(first, second)
    return ids, _rows(ids, first), _rows(ids, second)


def _rows(ids: NDArray[Any], mine: NDArray[Any]) -> NDArray[np.int64]:
    rows = np.full(len(ids), -1, dtype=np.int64)
    rows[np.searchsorted(ids, mine)] = np.arange(len(mine))
    return rows


def _starts(records: Records, rows: NDArray[np.int64]) -> Floats:
    starts = np.append(column(records, "start"), np.nan)
    return np.where(rows >= 0, starts[rows], np.nan)


def _processors(records: Records, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    processors: NDArray[np.int64] = np.append(np.asarray(records.jobs["processors"], dtype=np.int64), 0)[rows]
    return processors


def _or_none(start: float) -> float | None:
    return None if start != start else start


def _labels(a: FinishedRun, b: FinishedRun) -> tuple[str, str]:
    """The policies' labels; the folders' names if those are alike."""
    labels = printable(a.label), printable(b.label)
    names = printable(a.folder.name), printable(b.folder.name)
    return labels if labels[0] != labels[1] else names if names[0] != names[1] else ("the first", "the second")


def _notes(a: FinishedRun, b: FinishedRun) -> list[str]:
    """What makes two runs hard to compare."""
    notes = []
    sources = [table(run.about, "workload").get("source_sha256") for run in (a, b)]
    if all(sources) and sources[0] != sources[1]:
        notes.append("The runs are of different workloads.")
    if a.records.processors != b.records.processors:
        notes.append(f"The machines differ: {a.records.processors:,} and {b.records.processors:,} processors.")
    return notes


def _later_text(seconds: float | None) -> str:
    if seconds is None:
        return UNKNOWN
    return duration_text(seconds) if seconds == round(seconds) else f"{seconds_text(seconds)} s"


def _start_text(diff: JobDiff, start: float | None, absent_if_only_in: str, epoch: int | None) -> str:
    if diff.only_in == absent_if_only_in:
        return "no such job"
    return "never" if start is None else instant_text(start, epoch)
