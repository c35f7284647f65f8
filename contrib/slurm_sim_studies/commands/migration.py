"""The paper on KEASY, REASY and MEASY."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from slurm_sim_studies.commands.runs import Made, Runs, claims_in_words
from slurm_sim_studies.papers.migration import FIGURES, Plan, points, specs
from slurm_sim_studies.papers.migration_claims import claims
from slurm_sim_studies.report import migration as report


def make(runs: Runs, *, figures: Sequence[int], jobs: int, loads: Sequence[float], trials: int, widest: str) -> Made:
    """Make the runs of the figures, and judge the claims."""
    plan = Plan(tuple(figures) or FIGURES, jobs, tuple(loads), trials, int(widest))
    found = points(runs.make(specs(plan)))
    judged = claims(found)
    return Made(
        report.data(found, judged, vars(plan)),
        report.markdown(found, judged, plan.figures, vars(plan)),
        [*map(report.table, report.grids(found, plan.figures)), *claims_in_words(judged)],
        partial(report.pictures, found, plan.figures),
    )
