"""Draw a schedule as text: what runs when, on what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from slurm_sim_plugins.decisions import FIRST_TIER
from slurm_sim_plugins.processors import in_words
from slurm_sim_plugins.testing.builders import Cluster
from slurm_sim_plugins.testing.chart import MOST, WIDTH, Bar, Row, chart
from slurm_sim_plugins.testing.scene import Scene


def draw(what: Cluster | Scene | Any, *, width: int = WIDTH, most: int = MOST) -> str:
    """Draw a scene, what a pass made of it, or the result of a simulation.

    One line a job: ``.`` it waits, ``=`` it ran, ``-`` it is planned to run, ``x`` it was
    preempted, ``>`` its reservation; where there are tiers, ``~`` it ran in another than the
    first. A run is drawn on the first processors that are free when it starts, as the machine
    only counts them; where there are tiers, on its own.

    Args:
        what: a description, a scene, what ``play`` returned, or a result.
        width: columns of time, about.
        most: draw so many jobs, the first ones; what is left out is said.
    """
    if isinstance(what, Cluster):
        what = what.scene()
    what = getattr(what, "after", what)
    if hasattr(what, "records"):
        return chart(_rows_of_records(what.records), what.records.processors, None, width, most)
    return chart(what.rows(), what.view.total, what.now, width, most)


def _rows_of_records(records: Any) -> list[Row]:
    columns = (records.jobs[name].tolist() for name in ("job_id", "processors", "submit"))
    rows = {job: Row(job, processors, submit) for job, processors, submit in zip(*columns, strict=True)}
    runs = list(zip(*(records.runs[name].tolist() for name in ("job_id", "start", "end", "outcome")), strict=True))
    latest = max((time for _, start, end, _ in runs for time in (start, end) if time == time), default=0.0)
    for job, start, end, outcome in runs:
        # What still ran when a simulation broke off is drawn as far as anything is known.
        last = end if end == end else latest
        rows[job].bars.append(Bar(start, last, last, outcome == "PREEMPTED"))
    if records.stays is not None:
        _in_stays(rows, records.stays)
    elif "nodes" in records.runs:
        for (job, *_), nodes in zip(runs, records.runs["nodes"].tolist(), strict=True):
            bars = rows[job].bars
            bars[-1] = replace(bars[-1], where=nodes)
    return sorted(rows.values(), key=lambda row: (row.first, row.submit, row.job))


def _in_stays(rows: dict[int, Row], stays: Any) -> None:
    """Draw where each run was, instead of on the first processors that were free."""
    preempted = {(job, bar.end) for job, row in rows.items() for bar in row.bars if bar.preempted}
    for row in rows.values():
        row.bars.clear()
    columns = (stays[name].tolist() for name in ("job_id", "start", "end", "tier", "where"))
    for job, start, end, tier, where in zip(*columns, strict=True):
        behind = tier != FIRST_TIER
        name = f"{tier}:{in_words(where)}" if behind else in_words(where)
        rows[job].bars.append(Bar(start, end, end, (job, end) in preempted, name, behind))
