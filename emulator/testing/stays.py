"""What is true of every finished simulation with tiers: which run was where, and how much work was done there.

Worked out from the records alone, as all in :mod:`emulator.testing.invariants`; times in
microseconds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emulator.testing.tables import Instants, RunRows, instants, require, seconds

SLACK = 0.501
"""Microseconds of work: the end of a run is rounded, and the work of each of its stays is recorded as a float."""


class Stay(NamedTuple):
    """One stay; instants in microseconds."""

    job: int
    run: int
    start: int
    end: int
    tier: str
    where: int
    work: float
    came: str


def check_stays(columns: Mapping[str, NDArray[Any]], runs: RunRows, left: Instants, total: int, *, exact: bool) -> None:
    """Check all stays.

    The stays of a run follow one another from its start to its end, each on as many
    processors of the machine as the job wants, and they came about as they say. In no tier
    is a processor that of another job at the same time. The work of a run that was not preempted
    is what was left to do.

    Args:
        columns: the stays.
        runs: all runs, each of which ended.
        left: work that was left when each run began.
        total: processors of the machine.
        exact: whether runs do nothing but work; else they may do more.

    Raises:
        AssertionError: naming the job and the time in seconds.
    """
    stays = _stays(columns)
    done = _check_runs(stays, runs, total)
    _check_apart(stays)
    works = np.array(done, dtype=np.float64)
    right = (works >= left - SLACK) & ((works <= left + SLACK) | (not exact))
    require(
        ~runs.last | right,
        runs.id,
        runs.end,
        lambda run: f"run {runs.number[run]} does {works[run] / 1e6:f} s of {seconds(left[run])} s work in its stays",
    )
    require(
        np.where(runs.last, runs.work == left, (runs.work >= 0) & (runs.work <= left)),
        runs.id,
        runs.end,
        lambda run: f"run {runs.number[run]} does {seconds(runs.work[run])} s of {seconds(left[run])} s work",
    )


def _stays(columns: Mapping[str, NDArray[Any]]) -> list[Stay]:
    start, end = instants(columns["start"]).tolist(), instants(columns["end"]).tolist()
    others = (columns[name].tolist() for name in ("tier", "where"))
    work = (np.asarray(columns["work"], dtype=np.float64) * 1e6).tolist()
    ids, numbers = columns["job_id"].tolist(), columns["run"].tolist()
    return list(map(Stay, ids, numbers, start, end, *others, work, columns["came"].tolist()))


def _check_runs(stays: list[Stay], runs: RunRows, total: int) -> list[float]:
    """Check the stays of each run; returns how much work each did."""
    of_run: dict[tuple[int, int], list[Stay]] = defaultdict(list)
    for stay in stays:
        of_run[stay.job, stay.run].append(stay)
    done = []
    rows = zip(runs.id.tolist(), runs.number.tolist(), runs.start.tolist(), runs.end.tolist(), strict=True)
    for (job, number, start, end), size in zip(rows, runs.processors.tolist(), strict=True):
        mine = of_run.pop((job, number), [])
        edges = [start, *(stay.end for stay in mine)]
        _must(bool(mine) and edges[-1] == end, job, end, f"the stays of run {number} do not last until its end")
        for before, stay, begun in zip([None, *mine], mine, edges, strict=False):
            _must(stay.start == begun, job, stay.start, f"a stay of run {number} does not follow the one before")
            _must(0 <= stay.where < 1 << total, job, stay.start, "it is on processors that there are not")
            _must(stay.where.bit_count() == size, job, stay.start, f"it is on {stay.where.bit_count()}, wants {size}")
            _must(stay.came == _came(before, stay), job, stay.start, f"it came by {stay.came}")
            _must(stay.work >= -SLACK, job, stay.start, f"it did {stay.work} of work")
        done.append(sum(stay.work for stay in mine))
    for (job, number), (stay, *_) in of_run.items():
        _must(False, job, stay.start, f"a stay of run {number}, which there is not")
    return done


def _came(before: Stay | None, stay: Stay) -> str:
    if before is None:
        return "start"
    return "swap" if before.where == stay.where and before.tier != stay.tier else "migration"


def _check_apart(stays: list[Stay]) -> None:
    """In no tier two jobs are on one processor at the same time."""
    changes = [
        (time, kind, index) for index, stay in enumerate(stays) for time, kind in ((stay.end, 0), (stay.start, 1))
    ]
    taken: dict[str, int] = defaultdict(int)
    for time, kind, index in sorted(changes):
        stay = stays[index]
        if stay.start == stay.end:
            continue
        if kind:
            _must(not taken[stay.tier] & stay.where, stay.job, time, f"its processors are taken in {stay.tier}")
        taken[stay.tier] ^= stay.where


def _must(right: bool, job: int, time: int, rule: str) -> None:
    if not right:
        raise AssertionError(f"job {job}, time {time / 1e6:f} s: {rule}")
