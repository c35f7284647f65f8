"""What the fairness auditor found, as a table and as a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from emulator.files import write_data
from emulator.report.numbers import duration_text, printable

if TYPE_CHECKING:
    from rich.table import Table

    from emulator.fairness import Audit

CAPTION = (
    "head: waited at the head of the queue although idle and lower-priority processors sufficed. "
    "whole: started later than it would have without the jobs of lower priority."
)


def fairness_table(audit: Audit, label: str) -> Table:
    """How many jobs were delayed by others of lower priority, in both senses."""
    from rich.table import Table
    from rich.text import Text

    found = audit.summary()
    grid = Table(title=Text(f"Fairness of {printable(label)}"), caption=Text(CAPTION), caption_justify="left")
    grid.add_column("of the audited jobs", no_wrap=True)
    grid.add_column("head", justify="right", no_wrap=True)
    grid.add_column("whole", justify="right", no_wrap=True)
    grid.add_row("audited", *[f"{found['audited']:,} of {found['jobs']:,}"] * 2)
    grid.add_row("delayed", *(_shown(found[f"{sense}_delayed"], "{:,}") for sense in ("head", "whole")))
    grid.add_row("share", *(_shown(100 * found[f"{sense}_share"], "{:.2f} %") for sense in ("head", "whole")))
    for kind in ("mean", "median", "max"):
        grid.add_row(
            f"{kind} delay (h:mm:ss)", *(duration_text(found[f"{sense}_{kind}_delay"]) for sense in ("head", "whole"))
        )
    grid.add_row("gained", "", f"{found['gained']:,}")
    return grid


def _shown(value: float, form: str) -> str:
    return "not looked at" if value != value else form.format(value)


def write_audit(path: Path, audit: Audit) -> None:
    """Write one row a job, as CSV.

    Raises:
        OutputError: the file cannot be written.
    """
    import pandas as pd

    text = pd.DataFrame(audit.columns()).to_csv(index=False, lineterminator="\n")
    write_data(path, text)
