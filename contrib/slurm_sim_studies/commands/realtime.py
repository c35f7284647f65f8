"""The paper on real-time jobs on Mira."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.report.grid import table
from slurm_sim_studies.commands.runs import Made, Runs, claims_in_words
from slurm_sim_studies.papers.realtime import BASELINE, BASIC, JIT, SCHEMES, Group, find_studies, groups, specs
from slurm_sim_studies.papers.realtime_claims import cells, claims
from slurm_sim_studies.papers.realtime_readings import Reading, others
from slurm_sim_studies.report import realtime as report

if TYPE_CHECKING:
    from rich.table import Table

    from emulator.campaign import Outcome, RunSpec
    from slurm_sim_studies.papers.realtime import Study


def make(
    runs: Runs,
    *,
    traces: Path,
    workloads: Sequence[str],
    variations: Sequence[Any],
    percents: Sequence[int],
    trials: int,
    basic: bool,
    readings: bool,
) -> Made:
    """Make the runs of the figures, and where it is wanted those of other readings."""
    studies = find_studies(traces, workloads)
    schemes = (*SCHEMES, *BASIC) if basic else tuple(SCHEMES)
    shares = tuple(dict.fromkeys(percents))
    wanted = specs(studies, variations=variations, percents=shares, schemes=schemes, trials=trials)
    outcomes = runs.make([*wanted, *(reading_specs(studies, trials) if readings else [])])
    found, read = groups(outcomes[: len(wanted)]), by_reading(outcomes[len(wanted) :])
    printed = cells(found)
    decided = [claim for study in studies for each in variations for claim in claims(found, study.name, each)]
    names = [study.name for study in studies]
    shown: list[Table | str] = []
    for name in names:
        for each in variations:
            title = f"Figure 3 on {name}, {each}: all jobs, mean (95 %)"
            rows = report.group_rows(found, name, each, "all", brief=True)
            shown.append(table(title, report.group_headings(found), rows, report.NOTE, left=3))
    if printed:
        shown.append(table("Paper and ours", report.CELLS, report.cell_rows(printed), left=3))
    shown += claims_in_words(decided)
    for name in names if read else ():
        shown.append(table(f"Other readings, {name}, 10 %", report.READINGS, report.reading_rows(read, name), left=1))
    return Made(
        report.data(found, printed, decided, read),
        report.markdown(found, printed, decided, read),
        shown,
        partial(report.figures, found),
    )


def reading_specs(studies: Sequence[Study], trials: int) -> list[RunSpec]:
    """The runs of all other readings, at 10 %, and of the one that is taken."""
    wanted = {"as taken": Reading(), **others()}
    return [
        spec
        for name, reading in wanted.items()
        for spec in specs(studies, percents=(10,), schemes=(BASELINE, JIT), trials=trials, reading=reading, name=name)
    ]


def by_reading(outcomes: Sequence[Outcome]) -> dict[str, list[Group]]:
    """The groups of each reading."""
    names = dict.fromkeys(outcome.name.partition("/")[0] for outcome in outcomes)
    return {name: groups([outcome for outcome in outcomes if outcome.name.partition("/")[0] == name]) for name in names}
