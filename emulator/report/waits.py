"""Waits by groups of jobs: partitions, qualities of service, users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from emulator.metrics.averages import largest, mean, median
from emulator.metrics.jobs import column
from emulator.report.numbers import duration_text, printable

if TYPE_CHECKING:
    from rich.table import Table

    from emulator.accounting.records import Records


def waits_table(records: Records, by: Sequence[str]) -> Table:
    """How long jobs waited for their first start, by the values of some columns.

    Args:
        records: what happened.
        by: columns of the job records; one that holds nothing is left out.
    """
    from rich.table import Table
    from rich.text import Text

    grid = Table(title="Waits until the first start (h:mm:ss)")
    grid.add_column("", no_wrap=True)
    for heading in ("jobs", "started", "mean", "median", "longest"):
        grid.add_column(heading, justify="right", no_wrap=True)
    waits = column(records, "first_start") - column(records, "submit")
    for name in by:
        values = np.asarray(records.jobs.get(name, ()), dtype=object)
        groups = sorted({str(value) for value in values if value})
        for index, value in enumerate(groups):
            group = waits[values == value]
            grid.add_row(
                Text(printable(f"{name} {value}")),
                f"{len(group):,}",
                f"{int(np.sum(~np.isnan(group))):,}",
                *(duration_text(measure(group)) for measure in (mean, median, largest)),
                end_section=index + 1 == len(groups),
            )
    return grid
