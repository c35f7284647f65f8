"""What the paper on real-time jobs on Mira prints and claims of figures 3 to 7, beside what comes out here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from emulator.metrics.realtime import ALL
from emulator.workload.variations import CATEGORIES
from slurm_sim_studies.papers.cells import Cell
from slurm_sim_studies.papers.claims import Claim
from slurm_sim_studies.papers.realtime import BASELINE, JIT, KINDS, SCHEMES, Group, values

PAPER = "real-time jobs on Mira"
THIRD = 100 / 3
NEAR_COST = 10.0
"""Points of percent by which our cost to batch jobs may differ from the paper's 10 %."""
LITTLE = 10.0
"""Percent."""
PERCENT = 10
By = Mapping[tuple[int, str], Group]
"""The groups of a study and variation by percentage and scheme."""


def by_scheme(groups: Sequence[Group], study: str, variation: str = "default") -> dict[tuple[int, str], Group]:
    """The groups of one study and variation."""
    return {
        (group.percent, group.scheme): group for group in groups if (group.study, group.variation) == (study, variation)
    }


def gain(of: By, percent: int, kind: str, category: str, scheme: str = JIT) -> float:
    """By how many percent the mean slowdown is less than without the heuristic."""
    ours, before = (of[percent, each].value(kind, category, "slowdown") for each in (scheme, BASELINE))
    return 100 * (1 - ours / before)


def cells(groups: Sequence[Group], study: str = "Mira") -> list[Cell]:
    """Every number that the text on figures 3 to 7 prints, beside ours; none if the runs are not there.

    Args:
        groups: what came out.
        study: the paper's own week; of the other it prints nothing.
    """
    of, printed = by_scheme(groups, study), values()
    percent = int(printed["percent"])
    if not {(percent, BASELINE), (percent, JIT)} <= set(of):
        return []
    found = []
    for scheme in (BASELINE, JIT):
        for name, value in printed[scheme].items():
            kind, category, measure = name.split(":")
            row = f"{SCHEMES[scheme]}, {kind}, {measure.replace('_', ', ')}"
            found.append(_cell(category, row, study, float(value), of[percent, scheme].value(kind, category, measure)))
    for name, value in printed["gain"].items():
        kind, category = name.split(":")
        row = f"{SCHEMES[JIT]}, {kind}, slowdown less by (%)"
        found.append(_cell(category, row, study, float(value), gain(of, percent, kind, category)))
    return sorted(found, key=lambda cell: cell.table)


def _cell(category: str, row: str, study: str, printed: float, ours: float) -> Cell:
    title = "all jobs" if category == ALL else category
    return Cell(PAPER, int(values()["figures"][category]), title, row, study, (printed,), ours)


def claims(groups: Sequence[Group], study: str, variation: str = "default") -> list[Claim]:
    """The claims that the runs of a study decide."""
    of = by_scheme(groups, study, variation)
    percents = sorted({percent for percent, scheme in of if scheme == BASELINE and (percent, JIT) in of})
    column = study if variation == "default" else f"{study}, {variation}"
    found: list[Claim] = []
    if PERCENT in percents:
        found += _headline(of, column) + _categories(of, column)
    if percents:
        found += _all_percentages(of, percents, column)
    if {(percent, scheme) for percent in percents for scheme in SCHEMES} <= set(of) and percents:
        found += _checkpoints(of, percents, column)
    return found


def _headline(of: By, column: str) -> list[Claim]:
    gained, cost = gain(of, PERCENT, KINDS[0], ALL), -gain(of, PERCENT, KINDS[1], ALL)
    means = {kind: [of[PERCENT, scheme].value(kind, ALL, "slowdown") for scheme in (BASELINE, JIT)] for kind in KINDS}
    words = [f"{before:.2f} to {ours:.2f}" for before, ours in means.values()]
    return [
        Claim(
            "figure 3",
            "at 10 %, JIT lowers the mean slowdown of real-time jobs by a third or more",
            column,
            gained >= THIRD,
            f"{words[0]}: {gained:.0f} % less; printed for Mira 1.94 to 1.25: 35 %",
        ),
        Claim(
            "figure 3",
            "at a cost to batch jobs near 10 %",
            column,
            abs(cost - 10) <= NEAR_COST,
            f"{words[1]}: {cost:+.0f} %; printed for Mira 2.26 to 2.51: 10 %",
        ),
    ]


def _categories(of: By, column: str) -> list[Claim]:
    known = [each for each in CATEGORIES if of[PERCENT, JIT].value(KINDS[0], each, "jobs") > 0]
    gains = {each: gain(of, PERCENT, KINDS[0], each) for each in known}
    means = {each: of[PERCENT, JIT].value(KINDS[0], each, "slowdown") for each in known}
    costs = {each: -gain(of, PERCENT, KINDS[1], each) for each in CATEGORIES}
    return [
        Claim(
            "figures 4 to 7",
            "at 10 %, JIT costs the batch jobs of all but narrow-short jobs less than 10 %",
            column,
            all((cost < LITTLE) == (name != "narrow-short") for name, cost in costs.items()),
            ", ".join(f"{name} {cost:+.0f} %" for name, cost in costs.items()),
        ),
        Claim(
            "figures 4 to 7",
            "at 10 %, JIT helps the real-time jobs of every category",
            column,
            all(value > 0 for value in gains.values()),
            ", ".join(f"{name} {value:.0f} %" for name, value in gains.items()),
        ),
        Claim(
            "figures 4 to 7",
            "wide-short real-time jobs remain the slowest, narrow-long ones the fastest",
            column,
            bool(means)
            and max(means, key=lambda each: means[each]) == "wide-short"
            and min(means, key=lambda each: means[each]) == "narrow-long",
            ", ".join(f"{name} {value:.2f}" for name, value in means.items()),
        ),
    ]


def _all_percentages(of: By, percents: Sequence[int], column: str) -> list[Claim]:
    quick = {each: gain(of, each, KINDS[0], ALL) for each in percents}
    batch = {each: -gain(of, each, KINDS[1], ALL) for each in percents}
    found = [
        Claim(
            "figure 3",
            "JIT is better than the baseline for real-time jobs and worse for batch jobs, whatever their share",
            column,
            all(value > 0 for value in quick.values()) and all(value > 0 for value in batch.values()),
            ", ".join(f"{each} %: {quick[each]:.0f} % less and {batch[each]:+.0f} %" for each in percents),
        )
    ]
    if len(percents) > 1:
        first, last = (of[each, JIT].value(KINDS[1], ALL, "slowdown") for each in (percents[0], percents[-1]))
        text = "the more real-time jobs there are, the slower are batch jobs"
        figures = f"{first:.2f} at {percents[0]} %, {last:.2f} at {percents[-1]} %"
        found.append(Claim("figure 3", text, column, last > first, figures))
    return found


def _checkpoints(of: By, percents: Sequence[int], column: str) -> list[Claim]:
    """Less checkpointing is better: 5 % than 10 %, and just in time than both."""
    found = []
    for better, worse in (("app5", "app10"), (JIT, "app5")):
        for kind in KINDS:
            pairs = [
                (of[each, better].value(kind, ALL, "slowdown"), of[each, worse].value(kind, ALL, "slowdown"))
                for each in percents
            ]
            figures = ", ".join(
                f"{each} %: {ours:.2f} to {other:.2f}" for each, (ours, other) in zip(percents, pairs, strict=True)
            )
            text = f"{SCHEMES[better]} is better than {SCHEMES[worse]} for {kind} jobs"
            found.append(Claim("figure 3", text, column, all(ours <= other for ours, other in pairs), figures))
    return found
