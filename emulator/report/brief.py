"""A run in a few lines, for an interpreter or a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.metrics.catalogue import METRICS
from emulator.report.caption import About, caption, table
from emulator.report.numbers import printable, value_text

if TYPE_CHECKING:
    from emulator.accounting.records import Records
    from emulator.report.table import Summary

SHOWN = ("mean_wait", "mean_bounded_slowdown", "utilisation")
LONGEST = 120
"""Letters of a text that comes from outside, such as a workload's name."""


def brief(records: Records, about: About, summary: Summary) -> str:
    """Policy and workload, rows, machine and a few metrics: three lines, under 1,000 characters."""
    names = (table(about, "run").get("label"), table(about, "workload").get("name"))
    metrics = [
        f"{METRICS[key].title} {value_text(METRICS[key], summary[key])}{' s' if METRICS[key].unit == 's' else ''}"
        for key in SHOWN
    ]
    rows = f"{len(records):,} jobs, {len(records.runs['job_id']):,} runs"
    return "\n    ".join(
        [" on ".join(_cut(name) for name in names if name), f"{rows}, {_cut(caption(about))}", ", ".join(metrics)]
    )


def _cut(text: object) -> str:
    shown = printable(text)
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 3]}..."
