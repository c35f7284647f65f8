"""The papers on PV-EASY."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from slurm_sim_studies.commands.runs import Made, Runs, claims_in_words
from slurm_sim_studies.papers import pv_easy as paper
from slurm_sim_studies.papers.claims import claims, virtual_claims, virtual_runs
from slurm_sim_studies.papers.readings import QUESTIONS, RULES_OF, Reading
from slurm_sim_studies.papers.search import search, search_rules
from slurm_sim_studies.papers.weeks import without_heaviest
from slurm_sim_studies.report import papers as report
from slurm_sim_studies.report.paperfigures import figures


def make(
    runs: Runs, *, traces: Path, workloads: Sequence[str], tables: Sequence[int], virtual: bool, searched: bool
) -> Made:
    """Make the tables, judge the claims, and where it is wanted search for the reading."""
    files = paper.find_traces(traces, workloads)
    columns = list(files)
    names = paper.runs_of(tables) + (virtual_runs() if virtual else [])
    outcomes = runs.make(paper.specs(files, names, Reading()))
    lines = search_lines(files, tables, runs) if searched else []
    cells = paper.cells(outcomes, tables)
    found = claims(outcomes, columns) + virtual_claims(outcomes, columns)
    options, weeks = paper.options(), without_heaviest(outcomes, columns)
    return Made(
        report.data(cells, found, options, weeks),
        report.markdown(cells, found, options, lines, weeks),
        [
            report.cells_table(cells, "PV-EASY: papers and ours"),
            report.summary(cells),
            report.weeks_table(weeks),
            *claims_in_words(found),
            *lines,
        ],
        partial(figures, outcomes, columns),
    )


def search_lines(files: dict[str, Path], tables: Sequence[int], runs: Runs) -> list[str]:
    """Search for the reading, and for the rules by which tables 1 and 2 count; what was found, as Markdown."""
    with runs.told("readings") as told:
        options: dict[str, Any] = {"workers": runs.workers, "keep": runs.keep, "report": told}
        others = [table for table in tables or range(3, 12) if table not in RULES_OF]
        lines = report.search_lines(search(files, paper.runs_of(others), **options), list(files)) if others else []
        for table, names in RULES_OF.items():
            if table in (tables or RULES_OF):
                questions = {name: QUESTIONS[name] for name in names}
                found = search_rules(files, table, paper.runs_of([table]), questions, **options)
                lines += report.rules_lines(found, table, names)
    return lines
