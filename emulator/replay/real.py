"""What the real cluster did, as records of a run: so that whatever looks at runs can look at both."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.accounting.records import Records
from emulator.config.slurm.hostlist import expand
from emulator.workload.sitelog import LoggedJob, LoggedRun, SiteLog

LABEL = "real"
UNKNOWN = ("reserved", "first_reserved", "could_start", "priority_at_start", "requeued")
"""Columns of which a log says nothing."""


def real_records(log: SiteLog, emulated: Records) -> Records:
    """Records of the real cluster, of the jobs that were run again.

    Args:
        log: what happened.
        emulated: records of its emulation; submissions, limits and sizes are taken from there.
    """
    happened = {job.request.id: job for job in log.jobs}
    ids = emulated.jobs["job_id"].tolist()
    jobs = [happened[number] for number in ids]
    return Records(_jobs(jobs, emulated), _runs(ids, jobs, emulated), emulated.processors, emulated.epoch)


def real_about(about: Mapping[str, Any]) -> dict[str, Any]:
    """The description of the real run, from that of its emulation."""
    kept = {name: about[name] for name in ("machine", "workload", "slurm_conf") if name in about}
    return {"run": {"label": LABEL, "status": "finished"}, **kept}


def _jobs(jobs: list[LoggedJob], emulated: Records) -> dict[str, NDArray[Any]]:
    known = dict(emulated.jobs)
    runs = [job.happened.runs for job in jobs]
    last = [each[-1] if each else None for each in runs]
    said: dict[str, list[Any]] = {
        "start": [math.nan if run is None else run.start for run in last],
        "end": [_end(run) for run in last],
        "first_start": [each[0].start if each else math.nan for each in runs],
        "run": [math.nan if run is None else run.elapsed for run in last],
        "occupied": [sum(run.elapsed for run in each) for each in runs],
        "requeues": [max(len(each) - 1, 0) for each in runs],
        "state": [job.happened.state for job in jobs],
        "reason": [job.happened.reason for job in jobs],
        "partition": [
            partition if run is None or not run.partition else run.partition
            for run, partition in zip(last, known["partition"], strict=True)
        ],
        "nodes": ["" if run is None else run.nodes for run in last],
        "processors": [
            processors if run is None or not run.cpus else run.cpus
            for run, processors in zip(last, known["processors"].tolist(), strict=True)
        ],
        **{name: [math.nan] * len(jobs) for name in UNKNOWN},
        **{name: [False] * len(jobs) for name in ("backfilled", "blocked")},
    }
    columns = {name: np.array(said[name], dtype=_kind(known[name])) for name in said if name in known}
    return {name: columns.get(name, column) for name, column in known.items()}


def _kind(column: NDArray[Any]) -> Any:
    """Times that were whole in the emulation need not be so here, or can be unknown."""
    return np.float64 if column.dtype.kind == "f" else column.dtype


def _end(run: LoggedRun | None) -> float:
    return math.nan if run is None or run.end is None else run.end


def _runs(ids: list[int], jobs: list[LoggedJob], emulated: Records) -> dict[str, NDArray[Any]]:
    """One row a run, in the order of (start, job); each but a job's last was sent back to the queue."""
    rows = []
    for number, job, asked in zip(ids, jobs, emulated.jobs["processors"].tolist(), strict=True):
        runs = job.happened.runs
        for place, run in enumerate(runs, start=1):
            outcome = job.happened.state if place == len(runs) else "PREEMPTED"
            cpus = run.cpus or asked
            rows.append(
                (number, place, run.start, _end(run), cpus, run.elapsed, False, outcome, run.nodes, _shares(run, cpus))
            )
    rows.sort(key=lambda row: (row[2], row[0]))
    kinds = {
        "job_id": np.int64,
        "run": np.int64,
        "start": np.float64,
        "end": np.float64,
        "processors": np.int64,
        "work": np.float64,
        "backfilled": bool,
        "outcome": object,
        "nodes": object,
        "cpus": object,
    }
    columns: list[Any] = list(zip(*rows, strict=True)) or [() for _ in kinds]
    return {name: np.array(values, dtype=kind) for (name, kind), values in zip(kinds.items(), columns, strict=True)}


def _shares(run: LoggedRun, cpus: int) -> str:
    """CPUs on each of the nodes: a log does not say them, so they are dealt out evenly."""
    try:
        count = len(expand(run.nodes))
    except ValueError:
        return ""
    return ",".join(str(cpus // count + (place < cpus % count)) for place in range(count))
