"""Which job stood at the head of the queue when, from the records alone.

The order of the queue is that of the priorities at the last start, so for priorities that
change while jobs wait this is an approximation. What happens at one instant is taken
together, as one pass after it sees it.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emulator.metrics.jobs import Floats, Mask, column, in_state

if TYPE_CHECKING:
    from emulator.accounting.records import Records

Rows = NDArray[np.int64]


class HeadSpans(NamedTuple):
    """Spans of time in which a job was left waiting at the head of the queue, in their order.

    Each ends when the job starts, or when one of higher priority comes before it. A job
    may have several.
    """

    job: Rows
    """Row of the job."""
    begin: Floats
    """Seconds on the trace's clock."""
    end: Floats
    """Infinite for one that was left there when a run broke off."""


def head_spans(records: Records) -> HeadSpans:
    """All spans in which a job waited at the head of the queue."""
    rank = ranks(records)
    by_rank = np.argsort(rank)
    times, job, change = _changes(records)
    order = np.argsort(times, kind="stable")
    instants, first = np.unique(times[order], return_index=True)
    bounds = [*first.tolist(), len(order)]
    of_event, changes = rank[job[order]].tolist(), change[order].tolist()

    waiting = [0] * len(rank)
    heap: list[int] = []
    head, since = -1, 0.0
    spans: list[tuple[int, float, float]] = []
    for number, now in enumerate(instants.tolist()):
        for event in range(bounds[number], bounds[number + 1]):
            position = of_event[event]
            waiting[position] += changes[event]
            if changes[event] > 0:
                heappush(heap, position)
        while heap and waiting[heap[0]] < 1:
            heappop(heap)
        front = heap[0] if heap else -1
        if front != head:
            if head >= 0:
                spans.append((head, since, now))
            head, since = front, now
    if head >= 0:
        spans.append((head, since, float("inf")))
    table = np.array(spans, dtype=np.float64).reshape(-1, 3)
    return HeadSpans(by_rank[table[:, 0].astype(np.int64)], table[:, 1], table[:, 2])


def ranks(records: Records) -> Rows:
    """The rank of each job by priority, from 0."""
    order = np.argsort(-column(records, "priority_at_start"), kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank


def rows_of_runs(records: Records) -> Rows:
    """The row of the job of each run."""
    ids = np.asarray(records.jobs["job_id"])
    order = np.argsort(ids, kind="stable")
    found: Rows = order[np.searchsorted(ids[order], np.asarray(records.runs["job_id"]))]
    return found


def own_ends(records: Records) -> Floats:
    """When runs ended that were not preempted, ascending."""
    ends = np.asarray(records.runs["end"], dtype=np.float64)
    return np.sort(ends[~_preempted(records) & ~np.isnan(ends)])


def _changes(records: Records) -> tuple[Floats, Rows, Rows]:
    """Instants, rows of jobs, and 1 for a job that comes to wait, -1 for one that waits no more."""
    came = np.flatnonzero(~(in_state(records, "REJECTED") | in_state(records, "FUTURE")))
    runs, back = rows_of_runs(records), _preempted(records)
    instants = (
        column(records, "submit")[came],
        np.asarray(records.runs["end"], dtype=np.float64)[back],
        np.asarray(records.runs["start"], dtype=np.float64),
    )
    changes = np.repeat([1, 1, -1], [len(part) for part in instants])
    return np.concatenate(instants), np.concatenate([came, runs[back], runs]), changes


def _preempted(records: Records) -> Mask:
    return np.asarray(np.asarray(records.runs["outcome"], dtype=object) == "PREEMPTED", dtype=np.bool_)
