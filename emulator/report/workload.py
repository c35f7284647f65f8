"""What a trace holds, as a table and as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from emulator.report.grid import table
from emulator.workload.models.common import PUBLISHED
from emulator.workload.workload import Workload

if TYPE_CHECKING:
    from rich.table import Table


def describe_workload(workload: Workload) -> dict[str, Any]:
    """Counts, means and what was left out.

    Returns:
        ``jobs``, ``read``, ``dropped`` and ``changed`` (lists of reason, count, first),
        ``machine``, ``load`` on it, ``first_submit`` and ``last_submit`` (seconds),
        ``mean_processors``, ``mean_run`` and ``mean_time_limit`` (seconds), ``overrun``
        (jobs that run longer than their limits), distinct values of each fact.
    """
    count = len(workload)
    return {
        "name": workload.name,
        "jobs": count,
        "read": workload.read,
        "dropped": [vars(dropped) for dropped in workload.dropped],
        "changed": [vars(changed) for changed in workload.changed],
        "machine": workload.machine,
        "epoch": workload.epoch,
        "load": workload.load(workload.machine) if workload.machine else None,
        "first_submit": float(workload.submit[0]) if count else None,
        "last_submit": float(workload.submit[-1]) if count else None,
        "mean_processors": float(workload.processors.mean()) if count else None,
        "mean_run": float(workload.run.mean()) if count else None,
        "mean_time_limit": float(workload.time_limit.mean()) if count else None,
        "overrun": int((workload.run > workload.time_limit).sum()),
        "facts": {name: len(np.unique(values.astype(str))) for name, values in workload.facts.items()},
        "source_sha256": workload.source_hash,
    }


def workload_table(workload: Workload, moments: Mapping[str, float] | None = None) -> Table:
    """The same for people; ``moments`` are a model's own figures, and published ones beside them."""
    about, moments = describe_workload(workload), moments or {}
    rows = [
        ("jobs", f"{about['jobs']:,} of {about['read']:,} records"),
        ("machine", f"{about['machine']:,} processors" if about["machine"] else "not stated"),
        ("load", _number(about["load"], "{:.4f}")),
        ("submitted", f"{_number(about['first_submit'], '{:,.0f}')} to {_number(about['last_submit'], '{:,.0f}')} s"),
        ("mean processors", _number(about["mean_processors"], "{:.4f}") + _published(moments, "mean_parallelism")),
        ("mean run", _number(about["mean_run"], "{:,.1f} s") + _published(moments, "mean_run")),
        ("mean limit", _number(about["mean_time_limit"], "{:,.1f} s")),
        ("longer than their limit", f"{about['overrun']:,} jobs"),
        ("distinct", ", ".join(f"{name} {count:,}" for name, count in about["facts"].items()) or "-"),
    ]
    rows += [("dropped", _notice(notice)) for notice in about["dropped"]]
    rows += [("changed", _notice(notice)) for notice in about["changed"]]
    shares = [name for name in moments if name.endswith("share") and not name.startswith(PUBLISHED)]
    rows += [(name.replace("_", " "), f"{moments[name]:.4f}" + _published(moments, name)) for name in shares]
    grid = table(workload.name, ("", ""), rows, show_header=False)
    grid.columns[0].no_wrap = True
    return grid


def _published(moments: Mapping[str, float], name: str) -> str:
    """What a paper prints of a moment, to stand behind the workload's own."""
    return f" (published: {moments[PUBLISHED + name]:g})" if PUBLISHED + name in moments else ""


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)


def _notice(notice: Mapping[str, Any]) -> str:
    first = f" (first: {Path(notice['first']).name})" if notice["first"] else ""
    return f"{notice['count']:,}: {notice['reason']}{first}"
