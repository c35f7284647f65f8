"""What papers claim, and whether it holds here, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable

from emulator.report.grid import markdown_table
from slurm_sim_studies.papers.claims import Claim

CLAIMS = ("source", "workload", "claim", "holds", "ours")


def claims_in_markdown(claims: Iterable[Claim]) -> list[str]:
    """The lines of a table, a claim a row."""
    rows = [(one.source, one.column, one.text, "yes" if one.holds else "**no**", one.figures) for one in claims]
    return markdown_table(CLAIMS, rows)
