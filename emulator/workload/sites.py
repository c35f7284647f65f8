"""Logs of a real Slurm of any known format, and a workload for ideal timing made of one."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from emulator.workload.eagle import looks_like_eagle, read_eagle
from emulator.workload.live import looks_like_live, read_live
from emulator.workload.logfile import bytes_of, first_line, workload_of
from emulator.workload.sacct import looks_like_sacct, read_sacct
from emulator.workload.sitelog import LoggedJob, SiteLog
from emulator.workload.workload import Dropped, Workload

UNKNOWN = -1.0
"""Stands for a time that is not known, as in all logs."""


def looks_like_site_log(head: str) -> bool:
    """Whether the first line of a file is that of a dump of ``sacct``, of Eagle's CSV or of a record of live."""
    return looks_like_sacct(head) or looks_like_eagle(head) or looks_like_live(head)


def is_site_log(path: str | os.PathLike[str]) -> bool:
    """Whether a file is such a log, by its first line."""
    return looks_like_site_log(first_line(os.fspath(path)))


def read_site_log(
    path: str | os.PathLike[str], *, zone: str | None = None, malformed: str = "error", separator: str = "|"
) -> SiteLog:
    """Read a dump of ``sacct -P``, Eagle's CSV or a record of live; the first line says which.

    Args:
        path: the file, plain or compressed with gzip.
        zone: of times that state none; by default UTC, or where Eagle stood.
        malformed: ``error`` or ``drop``.
        separator: between the columns of a dump.

    Raises:
        InputError: the file cannot be read as what it seems to be.
        ConfigurationError: an argument that cannot be used.
    """
    if looks_like_live(first_line(os.fspath(path))):
        return read_live(path, malformed=malformed)
    where = {} if zone is None else {"zone": zone}
    if looks_like_eagle(first_line(os.fspath(path))):
        return read_eagle(path, malformed=malformed, **where)
    return read_sacct(path, malformed=malformed, separator=separator, **where)


def read_site_workload(
    path: str | os.PathLike[str],
    *,
    filter: str = "standard",
    machine: int | None = None,
    first_submit: float | None = None,
    malformed: str = "error",
    zone: str | None = None,
) -> Workload:
    """The workload of such a log: as many processors as a job had, or asked for if it never ran.

    The components of a heterogeneous job are one job, of the processors of all: they start together, and end with the
    first.

    Args:
        path: the file.
        filter: name of a filter, see :mod:`emulator.workload.filters`; jobs that never ran are dropped by all.
        machine: processors of the machine; no log states them.
        first_submit: second at which the first job that stays is submitted.
        malformed: ``error`` or ``drop``.
        zone: of times that state none.

    Raises:
        InputError: the file cannot be read as what it seems to be.
        ConfigurationError: an argument that cannot be used.
    """
    log = read_site_log(path, zone=zone, malformed=malformed)
    file = log.file
    first = f"{file}:{log.unusable[0].first}" if log.unusable else ""
    left_out = (Dropped("lines that cannot be used", len(log.unusable), first),) if log.unusable else ()
    rows = _rows(log)
    led = [job for job in log.jobs if job.request.id not in rows]
    if led:
        what = "components of heterogeneous jobs, of which the processors count as those of their first components"
        left_out = (*left_out, Dropped(what, len(led), f"{file}:{led[0].line}"))
    return workload_of(
        file,
        bytes_of(file),
        _columns(list(rows.values())),
        [job.line for job in log.jobs if job.request.id in rows],
        left_out,
        name=log.name,
        machine=machine,
        filter=filter,
        first_submit=first_submit,
    )


def _rows(log: SiteLog) -> dict[int, dict[str, Any]]:
    """A row of each job, by its id; of a heterogeneous job that of its first component that is there."""
    rows: dict[int, dict[str, Any]] = {}
    firsts: dict[int, dict[str, Any]] = {}
    components = [job for job in log.jobs if job.request.het_job_id is not None]
    for job in sorted(components, key=lambda job: job.request.het_job_offset):
        assert job.request.het_job_id is not None
        row = _row(job, log.epoch)
        first = firsts.setdefault(job.request.het_job_id, row)
        if first is not row:
            first["processors"] += row["processors"]
    leading = {row["id"]: row for row in firsts.values()}
    for job in log.jobs:
        if job.request.het_job_id is None:
            rows[job.request.id] = _row(job, log.epoch)
        elif job.request.id in leading:
            rows[job.request.id] = leading[job.request.id]
    return rows


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray[Any, Any]]:
    kinds = {"id": np.int64, "processors": np.int64, "submit": float, "wait": float, "run": float, "time_limit": float}
    return {name: np.array([row[name] for row in rows], dtype=kinds.get(name, object)) for name in rows[0]}


def _row(job: LoggedJob, epoch: int) -> dict[str, Any]:
    request, last = job.request, job.happened.runs[-1] if job.happened.runs else None
    options = request.options
    asked, limit = options.cpus, options.time_limit
    return {
        "id": request.id,
        "submit": request.submit + epoch,
        "wait": UNKNOWN if job.happened.start is None else job.happened.start - request.submit,
        "run": UNKNOWN if last is None or last.end is None else last.elapsed,
        "processors": last.cpus or asked if last is not None else asked,
        "time_limit": UNKNOWN if limit is None or math.isinf(limit) else limit,
        "status": job.happened.state,
        "user": request.user or None,
        "group": options.account or None,
        "account": options.account or None,
        "qos": options.qos or None,
        "partition": ",".join(options.partitions) or None,
    }
