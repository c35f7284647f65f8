"""Delays that a job owes to jobs of lower priority.

One value a job; NaN for a job that the measure does not concern.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from emulator.metrics.heads import HeadSpans, Rows, head_spans, own_ends, ranks, rows_of_runs
from emulator.metrics.jobs import THRESHOLD, Floats, Mask, column

if TYPE_CHECKING:
    from emulator.accounting.records import Records

Reference = Literal["latest", "first"]
RESERVED: dict[str, str] = {"latest": "reserved", "first": "first_reserved"}
"""The column of each reservation that a violation can refer to."""


def unfair_delay(records: Records) -> Floats:
    """Seconds that a blocked job waited although it could have started.

    That is since it first was head of the queue while idle processors and those of
    lower-priority jobs sufficed; only delays above 0 count.
    """
    delay = column(records, "start") - column(records, "could_start")
    return np.where(_blocked(records) & (delay > 0), delay, np.nan)


def looked_at(records: Records) -> bool:
    """Whether the run looked at when heads of the queue could have started; in Slurm's timing none does."""
    started = ~np.isnan(column(records, "start"))
    return not started.any() or not np.isnan(column(records, "could_start")[started]).all()


def overtaken_delay(records: Records, spans: HeadSpans | None = None) -> Floats:
    """Seconds that a blocked job waited because others were started past it.

    Its next start, less :func:`unhindered_start`; only delays above 0 count. Jobs that had
    been started before it came to the head do not count against it, as they do in
    :func:`unfair_delay`.

    Args:
        records: what happened.
        spans: as from :func:`emulator.metrics.heads.head_spans`, if they are known.
    """
    spans = spans if spans is not None else head_spans(records)
    delay = _next_start(records, spans) - unhindered_start(records, spans)
    return np.where(delay > 0, delay, np.nan)


def unhindered_start(records: Records, spans: HeadSpans | None = None) -> Floats:
    """When a blocked job would have fitted, had no job been started past it since it was first left at the head.

    The runs that were there by then hold their processors until they end, as they did.
    """
    spans = spans if spans is not None else head_spans(records)
    job, begin = _first_spans(spans)
    runs, rank = rows_of_runs(records), ranks(records)
    start, end = (np.asarray(records.runs[name], dtype=np.float64) for name in ("start", "end"))
    end, held = np.where(np.isnan(end), np.inf, end), np.asarray(records.runs["processors"])
    wanted = np.asarray(records.jobs["processors"])
    bounds = np.searchsorted(start, begin, side="right").tolist()
    found = np.full(len(rank), np.nan)
    there: Rows = np.empty(0, dtype=np.int64)
    taken = 0
    for row, now, bound in zip(job.tolist(), begin.tolist(), bounds, strict=True):
        there = np.concatenate([there, np.arange(taken, bound)])
        taken = bound
        there = there[end[there] > now]
        before = there[(start[there] < now) | (rank[runs[there]] < rank[row])]
        found[row] = _fits_at(now, records.processors - int(wanted[row]), end[before], held[before])
    return found


def reservation_violated(records: Records, reference: Reference = "latest", able: Floats | None = None) -> Mask:
    """Which blocked jobs started after their reservation although they could have started by then.

    Args:
        records: what happened.
        reference: the ``latest`` reservation before the last one ran out, or the ``first``.
        able: when each job could have started; by default when it was head while idle
            processors and those of lower-priority jobs sufficed.
    """
    reserved = column(records, RESERVED[reference])
    able = able if able is not None else column(records, "could_start")
    return _blocked(records) & (column(records, "start") > reserved) & (able <= reserved)


def reservation_delay(records: Records, reference: Reference = "latest", able: Floats | None = None) -> Floats:
    """DTR: seconds from reservation to start of each violated one; arguments as above."""
    delay = column(records, "start") - column(records, RESERVED[reference])
    return np.where(reservation_violated(records, reference, able), delay, np.nan)


def slowdown_increase(
    records: Records,
    threshold: float = THRESHOLD,
    reference: Reference = "latest",
    able: Floats | None = None,
) -> Floats:
    """SI: bounded slowdown, less what it would be had the job started at its reservation."""
    return reservation_delay(records, reference, able) / np.maximum(column(records, "run"), threshold)


def blocked_after_end(records: Records, spans: HeadSpans | None = None) -> Mask:
    """Which jobs were left at the head of the queue by a pass in which a run had ended by itself.

    A job that only submissions left there, and that the next end let start, does not count.
    """
    spans = spans if spans is not None else head_spans(records)
    ends = own_ends(records)
    met = np.searchsorted(ends, spans.end, side="left") > np.searchsorted(ends, spans.begin, side="left")
    mask = np.zeros(len(records), dtype=np.bool_)
    mask[spans.job[met]] = True
    return mask


def _first_spans(spans: HeadSpans) -> tuple[Rows, Floats]:
    """The jobs that were at the head, and when each of them was first left there, in that order."""
    _, first = np.unique(spans.job, return_index=True)
    first.sort()
    return spans.job[first], spans.begin[first]


def _next_start(records: Records, spans: HeadSpans) -> Floats:
    """Of each job that was at the head, the first start after it was first left there."""
    job, begin = _first_spans(spans)
    since = np.full(len(records), np.inf)
    since[job] = begin
    runs, start = rows_of_runs(records), np.asarray(records.runs["start"], dtype=np.float64)
    later = start >= since[runs]
    following = np.full(len(records), np.inf)
    np.minimum.at(following, runs[later], start[later])
    return np.where(np.isfinite(following), following, np.nan)


def _fits_at(now: float, room: int, end: Floats, held: Rows) -> float:
    """The first instant from now on at which these runs hold at most ``room`` processors."""
    if held.sum() <= room:
        return now
    order = np.argsort(-end, kind="stable")
    # Of those that end last, as many as fit beside the job; the next one has to end.
    staying = int(np.searchsorted(np.cumsum(held[order]), room, side="right"))
    return float(end[order[staying]])


def _blocked(records: Records) -> Mask:
    return np.asarray(records.jobs["blocked"], dtype=bool)
