"""Real-time jobs: the paper's figures 3 to 7 as tables, as box plots, as Markdown and as data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from emulator.metrics.realtime import ALL
from emulator.report.grid import markdown_table
from emulator.report.numbers import UNKNOWN, printable
from emulator.report.style import INK, MUTED, SERIES, house_style, new_figure, say
from emulator.workload.variations import CATEGORIES
from slurm_sim_studies.papers.realtime import (
    BASELINE,
    BASIC,
    JIT,
    KINDS,
    MEASURES,
    POINTS,
    SCHEMES,
    WHOLE,
    Group,
    values,
)
from slurm_sim_studies.papers.realtime_claims import by_scheme, gain
from slurm_sim_studies.report.claims import claims_in_markdown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slurm_sim_studies.papers.cells import Cell
    from slurm_sim_studies.papers.claims import Claim

COSTS = ("real-time jobs", "scheme", "preemptions", "system: checkpoints", "system: preemption", "jobs: checkpoints")
CELLS = ("figure", "jobs", "what", "paper", "ours")
READINGS = ("reading", "real-time: baseline", "JIT", "less by", "batch: baseline", "JIT", "cost")
NOTE = (
    "Means over the trials, each counting with its jobs. Percentiles are means of the trials' percentiles. "
    "Turnaround in hours."
)
WIDE, HIGH = 11.0, 6.6
"""Inches."""
HOUR = 3600.0


def scheme_names() -> dict[str, str]:
    """What to call each scheme."""
    return SCHEMES | BASIC


def figure_number(category: str) -> int:
    """The paper's figure of a category."""
    return int(values()["figures"][category])


# Tables -------------------------------------------------------------------------------


def cell_rows(cells: Sequence[Cell]) -> list[list[str]]:
    """The paper's numbers beside ours."""
    return [[f"{cell.table}", cell.title, cell.row, f"{cell.printed[0]:g}", _number(cell.ours)] for cell in cells]


def group_headings(groups: Sequence[Group]) -> list[str]:
    """Columns of a figure's table: a kind and measure for each percentage."""
    percents = _percents(groups)
    return ["jobs", "measure", "scheme", *(f"{percent} %" for percent in percents)]


def group_rows(
    groups: Sequence[Group], study: str, variation: str, category: str, *, brief: bool = False
) -> list[list[str]]:
    """One figure as a table: mean, median and 95 % of both measures, of both kinds, by scheme.

    Args:
        groups: what came out.
        study: of which figure.
        variation: of it.
        category: of it.
        brief: leave the medians out, for a terminal.
    """
    of = by_scheme(groups, study, variation)
    schemes = list(dict.fromkeys(scheme for _, scheme in of))
    found = []
    for kind in KINDS:
        for measure in MEASURES:
            for scheme in schemes:
                what = (kind, category, measure)
                texts = [_box_text(of.get((percent, scheme)), what, brief) for percent in _percents(groups)]
                found.append([kind, measure, scheme_names()[scheme], *texts])
    return found


def _box_text(group: Group | None, what: tuple[str, str, str], brief: bool) -> str:
    """Mean (median, 95 %)."""
    if group is None:
        return UNKNOWN
    kind, category, measure = what
    unit = HOUR if measure == "turnaround" else 1.0
    mean, middle, tail = (group.value(kind, category, f"{measure}{end}") / unit for end in ("", "_median", "_p95"))
    if math.isnan(mean):
        return UNKNOWN
    return f"{mean:.2f} ({tail:.1f})" if brief else f"{mean:.2f} ({middle:.2f}, {tail:.1f})"


def _percents(groups: Sequence[Group]) -> list[int]:
    return sorted({group.percent for group in groups})


def cost_rows(groups: Sequence[Group], study: str, variation: str) -> list[list[str]]:
    """Preemptions in a trial, and what they cost, by percentage and scheme."""
    return [
        [
            f"{group.percent} %",
            scheme_names()[group.scheme],
            *(f"{group.numbers.get(name, 0.0):,.0f}" for name in WHOLE),
        ]
        for group in groups
        if (group.study, group.variation) == (study, variation)
    ]


def reading_rows(readings: Mapping[str, Sequence[Group]], study: str, percent: int = 10) -> list[list[str]]:
    """What each reading makes of the headline."""
    rows = []
    for name, groups in readings.items():
        of = by_scheme(groups, study)
        if not {(percent, BASELINE), (percent, JIT)} <= set(of):
            continue
        cells = [name]
        for kind, sign in zip(KINDS, (1, -1), strict=True):
            cells += [_number(of[percent, scheme].value(kind, ALL, "slowdown")) for scheme in (BASELINE, JIT)]
            cells.append(f"{sign * gain(of, percent, kind, ALL):.0f} %")
        rows.append(cells)
    return rows


def markdown(
    groups: Sequence[Group],
    cells: Sequence[Cell],
    claims: Sequence[Claim],
    readings: Mapping[str, Sequence[Group]],
) -> str:
    """The whole reproduction as Markdown."""
    lines = ["# Real-time jobs among batch jobs: figures 3 to 7", ""]
    if cells:
        lines += ["## What the paper prints, beside ours", "", *markdown_table(CELLS, cell_rows(cells)), ""]
    lines += ["## Claims", "", *claims_in_markdown(claims), ""]
    studies = list(dict.fromkeys((group.study, group.variation) for group in groups))
    for study, variation in studies:
        for category in (ALL, *CATEGORIES):
            title = f"## Figure {figure_number(category)} on {printable(study)}, {variation}: {category}"
            rows = group_rows(groups, study, variation, category)
            lines += [title, "", *markdown_table(group_headings(groups), rows), ""]
    lines += ["Mean (median, 95 %). " + NOTE, ""]
    for study, variation in studies:
        lines += [f"## What preemption costs, in node-hours, on {printable(study)}, {variation}", ""]
        lines += [*markdown_table(COSTS, cost_rows(groups, study, variation)), ""]
    for study in dict.fromkeys(study for study, _ in studies) if readings else ():
        lines += [
            f"## Other readings, {printable(study)}, 10 %",
            "",
            *markdown_table(READINGS, reading_rows(readings, study)),
            "",
        ]
    return "\n".join(lines)


def data(
    groups: Sequence[Group],
    cells: Sequence[Cell],
    claims: Sequence[Claim],
    readings: Mapping[str, Sequence[Group]],
) -> dict[str, Any]:
    """Everything, for JSON."""
    return {
        "paper": values(),
        "cells": [cell.data() for cell in cells],
        "claims": [asdict(claim) for claim in claims],
        "groups": [asdict(group) for group in groups],
        "readings": {name: [asdict(group) for group in each] for name, each in readings.items()},
    }


def _number(value: float) -> str:
    return UNKNOWN if math.isnan(value) else f"{value:.2f}"


# Pictures -----------------------------------------------------------------------------


def figures(groups: Sequence[Group]) -> dict[str, Figure]:
    """Figures 3 to 7 of each study and variation, by the name of a file."""
    found = {}
    for study, variation in dict.fromkeys((group.study, group.variation) for group in groups):
        of = by_scheme(groups, study, variation)
        for category in (ALL, *CATEGORIES):
            name = f"figure-{figure_number(category)}-{study.lower()}-{variation}"
            found[name] = _figure(of, f"{study}, {variation}: {'all jobs' if category == ALL else category}", category)
    return found


def _figure(of: Mapping[tuple[int, str], Group], title: str, category: str) -> Figure:
    """Box plots as in the paper: slowdowns above, turnarounds below; real-time jobs left, batch jobs right."""
    percents = sorted({percent for percent, _ in of})
    schemes = list(dict.fromkeys(scheme for _, scheme in of))
    with house_style():
        figure = new_figure(WIDE, HIGH)
        plots = figure.subplots(len(MEASURES), len(KINDS), squeeze=False)
        for row, measure in zip(plots, MEASURES, strict=True):
            for axes, kind in zip(row, KINDS, strict=True):
                _boxes(axes, of, percents, schemes, (kind, category, measure))
                axes.set_title(f"{kind} jobs")
            row[0].set_ylabel("bounded slowdown" if measure == "slowdown" else "turnaround (h)")
        for axes in plots[-1]:
            axes.set_xlabel("real-time jobs")
        figure.legend(
            handles=[_patch(index, scheme) for index, scheme in enumerate(schemes)],
            loc="outside lower center",
            ncols=len(schemes),
        )
        figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
        return figure


def _patch(index: int, scheme: str) -> Any:
    from matplotlib.patches import Patch

    return Patch(facecolor=SERIES[index % len(SERIES)], label=scheme_names()[scheme])


def _boxes(
    axes: Axes,
    of: Mapping[tuple[int, str], Group],
    percents: Sequence[int],
    schemes: Sequence[str],
    what: tuple[str, str, str],
) -> None:
    """A group of boxes for each percentage: whiskers at 5 and 95 %, a dot at the mean."""
    width = 0.8 / len(schemes)
    shown = 0
    for index, scheme in enumerate(schemes):
        stats, positions = [], []
        for number, percent in enumerate(percents):
            if (box := _stats(of.get((percent, scheme)), what)) is not None:
                stats.append(box)
                positions.append(number + (index - (len(schemes) - 1) / 2) * width)
        if stats:
            shown += len(stats)
            axes.bxp(
                stats,
                positions=positions,
                widths=0.85 * width,
                showmeans=True,
                showfliers=False,
                patch_artist=True,
                manage_ticks=False,
                boxprops={"facecolor": SERIES[index % len(SERIES)], "edgecolor": MUTED, "linewidth": 0.7},
                medianprops={"color": INK},
                whiskerprops={"color": MUTED},
                capprops={"color": MUTED},
                meanprops={"marker": "o", "markersize": 3.5, "markerfacecolor": INK, "markeredgecolor": INK},
            )
    if not shown:
        say(axes, "no such job")
        return
    axes.set_xticks(range(len(percents)), [f"{percent} %" for percent in percents])
    axes.set_ylim(bottom=0)


def _stats(group: Group | None, what: tuple[str, str, str]) -> dict[str, float] | None:
    """What matplotlib draws a box of; None where there is no job."""
    if group is None:
        return None
    kind, category, measure = what
    unit = HOUR if measure == "turnaround" else 1.0
    value = {end: group.value(kind, category, f"{measure}{end}") / unit for end in ("", *(f"_{end}" for end in POINTS))}
    if math.isnan(value[""]):
        return None
    names = {"mean": "", "med": "_median", "q1": "_p25", "q3": "_p75", "whislo": "_p5", "whishi": "_p95"}
    return {name: value[end] for name, end in names.items()}
