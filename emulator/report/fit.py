"""A log beside its imitation, range of sizes by range."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from emulator.report.grid import empty
from emulator.workload.models.jann97 import RangeMoments, moments_by_range, range_moments
from emulator.workload.workload import Workload

if TYPE_CHECKING:
    from rich.table import Table


def describe_fit(log: Workload, imitation: Workload) -> dict[str, Any]:
    """Moments of both.

    Returns:
        For ``log`` and ``imitation`` each: ``name``, ``jobs``, ``load`` on the stated machine,
        ``mean_processors``, ``mean_run`` (seconds), ``serial_share``, and ``ranges``, a list with the
        fields of :class:`~emulator.workload.models.jann97.RangeMoments`.
    """
    return {"log": _described(log), "imitation": _described(imitation)}


def fit_table(log: Workload, imitation: Workload) -> Table:
    """The same for people: two rows a range, and two for all jobs."""
    table = empty(f"{log.name}, and jann97 fitted to it", collapse_padding=True, pad_edge=False)
    for heading in ("sizes", "of"):
        table.add_column(heading, no_wrap=True)
    for heading in ("jobs", "mean", "gap s", "CV", "skew", "run s", "CV", "skew"):
        table.add_column(heading, justify="right", no_wrap=True)
    found = {source: {each.least: each for each in moments_by_range(jobs)} for source, jobs in _both(log, imitation)}
    for least in sorted(found["log"] | found["imitation"]):
        for source in found:
            if least in found[source]:
                table.add_row(_sizes(found[source][least]), source, *_cells(found[source][least]))
    table.add_section()
    for source, jobs in _both(log, imitation):
        table.add_row("all", source, *_cells(range_moments(jobs)))
    return table


def loads(log: Workload, imitation: Workload) -> str:
    """The loads of both, in a sentence."""
    described = (f"{source} {_described(jobs)['load']:.4f}" for source, jobs in _both(log, imitation))
    return f"Load on {log.machine:,} processors: {', '.join(described)}"


def _both(log: Workload, imitation: Workload) -> tuple[tuple[str, Workload], ...]:
    return (("log", log), ("imitation", imitation))


def _described(jobs: Workload) -> dict[str, Any]:
    return {
        "name": jobs.name,
        "jobs": len(jobs),
        "load": jobs.load(jobs.machine or 1),
        "mean_processors": float(jobs.processors.mean()),
        "mean_run": float(jobs.run.mean()),
        "serial_share": float((jobs.processors == 1).mean()),
        "ranges": [asdict(each) for each in moments_by_range(jobs)],
    }


def _sizes(moments: RangeMoments) -> str:
    return f"{moments.least}" if moments.least == moments.most else f"{moments.least}-{moments.most}"


def _cells(moments: RangeMoments) -> list[str]:
    shapes = [f"{value:,.0f}" if index == 0 else f"{value:.2f}" for index, value in enumerate(moments.gaps)]
    shapes += [f"{value:,.0f}" if index == 0 else f"{value:.2f}" for index, value in enumerate(moments.runs)]
    return [
        f"{moments.jobs:,}",
        f"{moments.mean_size:.2f}",
        *("-" if text == "nan" else text for text in shapes),
    ]
