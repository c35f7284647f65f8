"""Records by hand, for tests of what looks at finished runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from emulator.accounting.records import Records
from emulator.accounting.runfolder import FinishedRun

NAN = float("nan")
Jobs = Mapping[int, Sequence[float]]
Runs = Mapping[int, Sequence[tuple[float, float]]]
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{ 7 * 7 }}\x1b[31m\x00"

ABOUT: dict[str, Any] = {
    "run": {"label": "sched/easy", "status": "finished", "version": "0.1.0"},
    "machine": {"processors": 4},
    "simulation": {"timing": "ideal", "passes": "batch", "kill_at_limit": True, "seed": 0},
    "slots": {"SchedulerType": "sched/easy", "WalltimeType": "walltime/virtual"},
    "plugins": {
        "sched/easy": {"origin": "bundled", "sha256": "ab" * 32, "options": {}},
        "walltime/virtual": {"origin": "bundled", "sha256": "cd" * 32, "options": {"error": 0.1}},
    },
    "workload": {
        "name": "KTH-SP2",
        "source": "KTH-SP2.swf.gz",
        "source_sha256": "ef" * 32,
        "read": 28476,
        "jobs": 28467,
        "dropped": [{"reason": "run time unknown or 0 s", "count": 8, "first": "KTH-SP2.swf.gz:2476"}],
        "changed": [{"reason": "run time beyond the request", "count": 1475, "first": "KTH-SP2.swf.gz:137"}],
    },
}


def records_of(
    jobs: Jobs,
    runs: Runs,
    processors: int,
    *,
    epoch: int | None = None,
    states: Mapping[int, str] | None = None,
    backfilled: Sequence[int] = (),
    blocked: Sequence[int] = (),
    **columns: Mapping[int, Any],
) -> Records:
    """Records of a schedule.

    Args:
        jobs: by id: submit, processors, run and (or twice the run) limit.
        runs: by id start and end of each run, NaN if it did not end; each but the last was preempted.
        processors: of the machine.
        epoch: Unix time of second 0.
        states: of jobs that are not COMPLETED, or TIMEOUT because of their limit.
        backfilled: ids of jobs whose last start was.
        blocked: ids of jobs that were.
        columns: further columns, or other values for these, by id.
    """
    ids = sorted(jobs, key=lambda job: (jobs[job][0], job))
    states = {job: _state(jobs[job], (states or {}).get(job)) for job in ids}
    mine = {job: [tuple(map(float, run)) for run in runs.get(job, ())] for job in ids}
    table: dict[str, list[Any]] = {
        "job_id": ids,
        "submit": [float(jobs[job][0]) for job in ids],
        "start": [mine[job][-1][0] if mine[job] else NAN for job in ids],
        "end": [mine[job][-1][1] if mine[job] else NAN for job in ids],
        "processors": [int(jobs[job][1]) for job in ids],
        "state": [states[job] for job in ids],
        "run": [min(_run(jobs[job]), _limit(jobs[job])) for job in ids],
        "time_limit": [_limit(jobs[job]) for job in ids],
        "planned": [_limit(jobs[job]) for job in ids],
        "first_start": [mine[job][0][0] if mine[job] else NAN for job in ids],
        "requeues": [max(len(mine[job]) - 1, 0) for job in ids],
        "occupied": [float(np.nansum([end - start for start, end in mine[job]])) for job in ids],
        "backfilled": [job in backfilled for job in ids],
        "blocked": [job in blocked for job in ids],
        "reserved": [NAN for _ in ids],
        "could_start": [mine[job][-1][0] if mine[job] else NAN for job in ids],
        "priority_at_start": [float(2**32 - place) for place, _ in enumerate(ids)],
    }
    arrays = {name: np.array(values, dtype=_dtype(name)) for name, values in table.items()}
    for name, given in columns.items():
        values = arrays.get(name, np.full(len(ids), None, dtype=object)).copy()
        for job, value in given.items():
            values[ids.index(job)] = value
        arrays[name] = values
    return Records(arrays, _runs(mine, arrays), processors, epoch)


def run_of(records: Records, about: Mapping[str, Any] | None = None, folder: str = "run") -> FinishedRun:
    """A finished run that never was in a folder."""
    return FinishedRun(records, {"run": {"label": "sched/easy"}, **(about or {})}, Path(folder))


def _state(job: Sequence[float], given: str | None) -> str:
    return given or ("TIMEOUT" if _run(job) > _limit(job) else "COMPLETED")


def _run(job: Sequence[float]) -> float:
    return float(job[2])


def _limit(job: Sequence[float]) -> float:
    return float(job[3]) if len(job) > 3 else 2 * float(job[2])


def _dtype(name: str) -> type:
    if name in ("job_id", "processors", "requeues", "run_number"):
        return np.int64
    return {"state": object, "outcome": object, "backfilled": bool, "blocked": bool}.get(name, np.float64)


def _runs(mine: Mapping[int, Sequence[tuple[float, ...]]], jobs: Mapping[str, Any]) -> dict[str, Any]:
    rows = []
    for place, (job, runs) in enumerate(mine.items()):
        for number, (start, end) in enumerate(runs, start=1):
            last = number == len(runs)
            outcome = jobs["state"][place] if last else "PREEMPTED"
            ahead = bool(jobs["backfilled"][place]) and last
            rows.append((job, number, start, end, int(jobs["processors"][place]), ahead, outcome))
    # A job that waits again when a run broke off has no run that goes on.
    rows = [(*row[:6], "PREEMPTED") if row[6] == "PENDING" else row for row in rows]
    rows.sort(key=lambda row: (row[2], row[0]))
    names = ("job_id", "run", "start", "end", "processors", "backfilled", "outcome")
    columns = list(zip(*rows, strict=True)) or [() for _ in names]
    kinds = (np.int64, np.int64, np.float64, np.float64, np.int64, bool, object)
    return {name: np.array(column, dtype=kind) for name, column, kind in zip(names, columns, kinds, strict=True)}


A10 = records_of(
    {0: (0, 3, 10, 10), 1: (1, 4, 5, 5), 2: (2, 1, 12, 20)},
    {0: [(0, 10)], 1: [(10, 15)], 2: [(2, 10), (15, 27)]},
    4,
    blocked=[1],
)
"""A job that ventured ahead is sent back at 10."""

EMPTY = records_of({}, {}, 4)


def many(count: int, seed: int = 1, epoch: int | None = None) -> Records:
    """Jobs with random waits; more of them run at once than the machine could."""
    draw = np.random.default_rng(seed)
    submit = np.sort(draw.integers(0, 400 * count, count))
    start = submit + draw.integers(0, 9000, count) * (draw.random(count) < 0.5)
    run, size = draw.integers(1, 7000, count), 2 ** draw.integers(0, 6, count)
    rows = zip(submit.tolist(), size.tolist(), run.tolist(), start.tolist(), strict=True)
    table = dict(enumerate(rows, start=1))
    return records_of(
        {job: (submit, size, run, 2 * run) for job, (submit, size, run, _) in table.items()},
        {job: [(start, start + run)] for job, (_, _, run, start) in table.items()},
        128,
        epoch=epoch,
        backfilled=list(range(1, count, 3)),
    )


def strange() -> dict[str, Records]:
    """Runs of all kinds that are seldom, by what is strange about them."""
    one = {1: (0, 1, 5)}
    return {
        "empty": EMPTY,
        "one job of no length": records_of({1: (5, 1, 0, 1)}, {1: [(5, 5)]}, 1),
        "rejected": records_of({1: (0, 9, 5), 2: (3, 9, 5)}, {}, 1, states={1: "REJECTED", 2: "REJECTED"}),
        "nothing started": records_of({1: (0, 1, 5), 2: (9, 1, 5)}, {}, 1, states={1: "PENDING", 2: "PENDING"}),
        "running": records_of({1: (0, 1, 5), 2: (9, 1, 5)}, {1: [(0, NAN)]}, 1, states={1: "RUNNING", 2: "PENDING"}),
        "far future": records_of({**one, 2: (2.0**43, 1, 5)}, {1: [(0, 5)], 2: [(2.0**43, 2.0**43 + 5)]}, 1, epoch=0),
        "before Christ": records_of(one, {1: [(0, 5)]}, 1, epoch=-(10**11)),
        "year 9999": records_of(one, {1: [(0, 5)]}, 1, epoch=253402300000),
        "microseconds": records_of({1: (0, 1, 1e-6)}, {1: [(0, 1e-6)]}, 1, epoch=0),
        "preempted": A10,
        "decades": records_of(one, {1: [(10**9, 10**9 + 5)]}, 1, epoch=0),
    }
