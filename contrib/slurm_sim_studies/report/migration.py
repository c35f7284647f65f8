"""The experiments on KEASY, REASY and MEASY: for the terminal, as Markdown, as data and as pictures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from emulator.report import grid as tables
from emulator.report.numbers import UNKNOWN
from emulator.report.style import DASHES, INK, MUTED, SERIES, house_style, new_figure
from slurm_sim_studies.papers.migration import (
    BASE,
    COUNTED,
    JUDGED,
    METRICS,
    MODELS,
    POLICIES,
    SETTINGS,
    Interval,
    Point,
    Points,
    gain,
    gains,
    values,
)
from slurm_sim_studies.papers.migration_claims import COSTS, break_even, of_policy
from slurm_sim_studies.report.claims import claims_in_markdown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.table import Table

    from slurm_sim_studies.papers.claims import Claim

WIDE, HIGH = 10.0, 4.2
"""Inches."""
DODGE = 0.004
"""Of the loads, so that error bars of two policies do not lie on each other."""
GROWING = (
    "* the queue grew to the end: the run lasted more than 5 % longer than the submissions, and the mean says "
    "how long that was."
)
MEANS = "Batch means with 95 % confidence intervals, over load."
SHORT = {
    "phi": "phi 0.43",
    "unknown": "untested",
    "assumed": "100 % assumed",
    "full": "all 100 %",
    **{name: f"{cost:g} s" for cost, name in COSTS.items()},
    BASE: "",
}
"""What a setting is called in a table's heading."""


SECOND = ("phi", "assumed")
"""Settings that are another reading of one before, and drawn dashed."""


@dataclass(frozen=True)
class Grid:
    """A table: its title, headings, rows of cells, and a note below."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


COST_FIGURES = dict(zip((13, 14), MODELS, strict=True))


@dataclass(frozen=True)
class Series:
    """One curve: what it is called, and which runs it is of."""

    label: str
    setting: str
    policy: str


def series_of(figure: int) -> list[Series]:
    """The curves of one of the paper's figures over load, EASY or KEASY first."""
    if figure in COST_FIGURES:
        costs = [Series(f"MEASY, {cost:g} s", name, "MEASY") for cost, name in COSTS.items()]
        return [Series("KEASY", BASE, "KEASY"), *costs]
    if figure in (6, 7):
        found = [Series(policy, BASE, policy) for policy in POLICIES]
    else:
        found = [Series("EASY", BASE, "EASY")]
    for name, setting in SETTINGS.items():
        if name != BASE and figure in setting.figures:
            found += [Series(f"{policy}, {SHORT[name]}", name, policy) for policy in setting.policies]
    return found


def workload_of(figure: int) -> str:
    """The workload of one of the figures over load."""
    return next(
        workload
        for setting in SETTINGS.values()
        for workload, number in zip(MODELS, setting.figures, strict=True)
        if number == figure
    )


def wanted(found: Points, figures: Iterable[int]) -> list[int]:
    """The figures over load for which there are runs."""
    return [
        figure
        for figure in figures
        if figure != COUNTED
        and any(of_policy(found, workload_of(figure), one.setting, one.policy) for one in series_of(figure)[1:])
    ]


# Tables


def grids(found: Points, figures: Sequence[int]) -> list[Grid]:
    """All tables: the averages of the abstract, then each figure."""
    made = [_averages(found)]
    for figure in wanted(found, figures):
        made += [_over_load(found, figure, metric) for metric in JUDGED]
    if COUNTED in figures:
        made.append(_counts(found))
    made += [_break_even(found, [workload for figure, workload in COST_FIGURES.items() if figure in figures])]
    return [grid for grid in made if grid.rows]


def _averages(found: Points) -> Grid:
    rows = []
    for row in gains(found):
        printed = values()["gains"][row.metric] if row.printed else None
        paper = f"{printed['average']} and {printed['most']}" if printed else UNKNOWN
        rows.append((METRICS[row.metric].partition(" (")[0], row.of, f"{row.average:.1f}", f"{row.most:.1f}", paper))
    title = "How far MEASY is below EASY, in percent"
    return Grid(title, ("metric", "of", "average", "most", "paper: average and most"), tuple(rows))


def _over_load(found: Points, figure: int, metric: str) -> Grid:
    workload = workload_of(figure)
    curves = {one.label: of_policy(found, workload, one.setting, one.policy) for one in series_of(figure)}
    curves = {label: points for label, points in curves.items() if points}
    loads = sorted({load for points in curves.values() for load in points})
    rows = tuple((f"{load:g}", *(_cell(points.get(load), metric) for points in curves.values())) for load in loads)
    title = f"Figure {figure}: {METRICS[metric]}, {workload}"
    return Grid(title, ("load", *curves), rows, GROWING if any("*" in cell for row in rows for cell in row) else "")


def _cell(point: Point | None, metric: str) -> str:
    if point is None:
        return UNKNOWN
    return interval_text(point.mean(metric)) + ("*" if point.grows and metric in JUDGED else "")


def interval_text(each: Interval) -> str:
    """Value and half width, with digits that suit the value."""
    digits = 0 if abs(each.value) >= 1000 else 1 if abs(each.value) >= 1 else 3
    half = f" ± {each.half:,.{digits}f}" if math.isfinite(each.half) else ""
    return f"{each.value:,.{digits}f}{half}"


def _counts(found: Points) -> Grid:
    curves = _counted(found)
    loads = sorted({load for points in curves.values() for load in points})
    rows = tuple(
        (f"{load:g}", *(_cell(points.get(load), "migrations") for points in curves.values())) for load in loads
    )
    return Grid(f"Figure {COUNTED}: migrations per job under MEASY", ("load", *curves), rows)


def _counted(found: Points) -> dict[str, Mapping[float, Point]]:
    curves = {
        ", ".join(filter(None, (workload, SHORT[setting]))): of_policy(found, workload, setting, "MEASY")
        for setting in (BASE, "phi")
        for workload in MODELS
    }
    return {label: points for label, points in curves.items() if points}


def _break_even(found: Points, workloads: Sequence[str]) -> Grid:
    """Up to which cost migrations pay, by load."""
    shown = [(workload, metric) for workload in workloads for metric in JUDGED]
    last = next(reversed(COSTS.values()))
    shown = [each for each in shown if of_policy(found, each[0], last, "MEASY")]
    loads = sorted({load for workload, _ in shown for load in of_policy(found, workload, last, "MEASY")})
    rows = tuple((f"{load:g}", *(_cost_text(break_even(found, *each, load)) for each in shown)) for load in loads)
    headings = ("load", *(f"{workload}, {metric}" for workload, metric in shown))
    return Grid(
        "Figures 13 and 14: seconds that a migration may cost until MEASY is no better than KEASY", headings, rows
    )


def _cost_text(cost: float) -> str:
    if math.isnan(cost):
        return UNKNOWN
    return f"{cost:,.0f}" if math.isfinite(cost) else f"above {max(COSTS):,g}"


def table(grid: Grid) -> Table:
    """A grid for the terminal."""
    return tables.table(grid.title, grid.headings, grid.rows, grid.note, left=1)


def markdown(found: Points, claims: Sequence[Claim], figures: Sequence[int], options: Mapping[str, Any]) -> str:
    """The whole reproduction as Markdown."""
    stated = ", ".join(f"{name} {_option(value)}" for name, value in options.items())
    lines = ["# KEASY, REASY and MEASY: the paper's experiments", "", f"{MEANS} Options: {stated}.", ""]
    for grid in grids(found, figures):
        lines += [f"## {grid.title}", "", *tables.markdown_table(grid.headings, grid.rows), ""]
        lines += [grid.note, ""] if grid.note else []
    lines += ["## Claims", "", "Percent by which the first one's mean is lower than the second's, by load.", ""]
    return "\n".join([*lines, *claims_in_markdown(claims), ""])


def _option(value: object) -> str:
    return " ".join(f"{each:g}" for each in value) if isinstance(value, tuple) else f"{value}"


def data(found: Points, claims: Sequence[Claim], options: Mapping[str, Any]) -> dict[str, Any]:
    """The whole reproduction for JSON."""
    return {
        "options": dict(options),
        "settings": {name: setting.words for name, setting in SETTINGS.items()},
        "gains": [vars(row) for row in gains(found)],
        "points": [point.data() for point in found.values()],
        "claims": [vars(claim) for claim in claims],
    }


# Pictures


def pictures(found: Points, figures: Sequence[int]) -> dict[str, Figure]:
    """The figures for which there are runs, by file name without ending."""
    made = {
        f"figure-{figure}": _cost_figure(found, figure) if figure in COST_FIGURES else _load_figure(found, figure)
        for figure in wanted(found, figures)
    }
    if COUNTED in figures and _counted(found):
        made[f"figure-{COUNTED}"] = _count_figure(found)
    return dict(sorted(made.items(), key=lambda item: int(item[0].partition("-")[2])))


TITLES = {
    **dict.fromkeys((6, 7), "policies over load"),
    **dict.fromkeys((9, 10), "CPU use is not known"),
    **dict.fromkeys((11, 12), "all processes use 100 %"),
}


def _load_figure(found: Points, figure: int) -> Figure:
    """Response time and slowdown over load, a curve for each policy."""
    workload = workload_of(figure)
    with house_style():
        drawing = new_figure(WIDE, HIGH)
        for axes, metric in zip(drawing.subplots(1, 2), JUDGED, strict=True):
            curves = series_of(figure)
            for index, one in enumerate(curves):
                points = of_policy(found, workload, one.setting, one.policy)
                _curve(axes, points, metric, one, shift=index - (len(curves) - 1) / 2)
            axes.set_yscale("log")
            _plain_ticks(axes)
            _load_ticks(axes, of_policy(found, workload, BASE, "EASY"))
            axes.set_title(METRICS[metric].capitalize())
            axes.set_xlabel("load")
        return _finished(drawing, axes, f"{workload}: {TITLES[figure]}; 95 % confidence intervals")


def _curve(axes: Axes, points: Mapping[float, Point], metric: str, one: Series, shift: float) -> None:
    if not points:
        return
    loads = sorted(points)
    means = [points[load].mean(metric) for load in loads]
    colour = SERIES[POLICIES.index(one.policy)]
    axes.errorbar(
        [load + shift * DODGE for load in loads],
        [each.value for each in means],
        yerr=_bars(means),
        color=colour,
        linestyle=DASHES[1 if one.setting in SECOND else 0],
        marker="o",
        markersize=3.5,
        linewidth=1.5,
        elinewidth=0.9,
        capsize=2,
        label=one.label,
    )


def _bars(means: Sequence[Interval]) -> list[list[float]]:
    """Below and above; a bar ends above zero, which a logarithmic axis has not."""
    halves = [each.half if math.isfinite(each.half) else 0.0 for each in means]
    return [[min(half, 0.9 * each.value) for each, half in zip(means, halves, strict=True)], halves]


def _plain_ticks(axes: Axes) -> None:
    """A logarithmic axis with numbers as people write them, some five to ten of them."""
    low, high = axes.get_ylim()
    steps = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0) if high < 12 * low else (1.0, 2.0, 5.0) if high < 2000 * low else (1.0,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0**power for power in powers for step in steps]
    ticks = [tick for tick in ticks if low <= tick <= high]
    axes.set_yticks(ticks, [f"{tick:,.10g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(low, high)


def _load_ticks(axes: Axes, points: Mapping[float, Point]) -> None:
    """Ticks where there are runs."""
    if points:
        axes.set_xticks(sorted(points), [f"{load:g}" for load in sorted(points)])


def _count_figure(found: Points) -> Figure:
    """Migrations per job over load, both workloads."""
    with house_style():
        drawing = new_figure(WIDE / 1.6, HIGH)
        axes = drawing.subplots()
        for index, (label, points) in enumerate(_counted(found).items()):
            loads = sorted(points)
            means = [points[load].mean("migrations") for load in loads]
            axes.errorbar(
                [load + (index - 1.5) * DODGE for load in loads],
                [each.value for each in means],
                yerr=_bars(means),
                color=SERIES[index % 2],
                linestyle=DASHES[index // 2],
                marker="o",
                markersize=3.5,
                capsize=2,
                label=label,
            )
        _load_ticks(axes, next(iter(_counted(found).values())))
        axes.set_ylim(bottom=0)
        axes.set_ylabel("migrations per job")
        axes.set_xlabel("load")
        return _finished(drawing, axes, "Migrations under MEASY; 95 % confidence intervals")


def _cost_figure(found: Points, figure: int) -> Figure:
    """How far MEASY is below KEASY, over what a migration costs; a curve for each load."""
    workload = workload_of(figure)
    keasy = of_policy(found, workload, BASE, "KEASY")
    with house_style():
        drawing = new_figure(WIDE, HIGH)
        for axes, metric in zip(drawing.subplots(1, 2), JUDGED, strict=True):
            for index, load in enumerate(sorted(keasy)):
                points = {
                    cost: point
                    for cost, name in COSTS.items()
                    if (point := found.get((workload, load, name, "MEASY"))) is not None
                }
                if len(points) < 2:
                    continue
                saved = [gain(point, keasy[load], metric) for point in points.values()]
                axes.errorbar(
                    [cost + 6 * (index - 2) for cost in points],
                    [each.value for each in saved],
                    yerr=[each.half if math.isfinite(each.half) else 0.0 for each in saved],
                    color=SERIES[index % len(SERIES)],
                    marker="o",
                    markersize=3.5,
                    capsize=2,
                    label=f"load {load:g}",
                )
            axes.axhline(0, color=INK, linewidth=1)
            for cost in values()["cost"][workload].values():
                axes.axvline(cost, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
            axes.set_title(METRICS[metric].partition(" (")[0].capitalize())
            axes.set_xlabel("cost of a migration (s); dashed: the paper's thresholds")
            axes.set_ylabel("% below KEASY")
        return _finished(drawing, axes, f"{workload}: MEASY against KEASY, by the cost of a migration")


def _finished(drawing: Figure, axes: Axes, title: str) -> Figure:
    handles, labels = axes.get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=min(max(len(labels), 1), 5))
    # Long numbers beside an axis would touch the edge.
    drawing.set_layout_engine("constrained", w_pad=0.12)
    drawing.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    return drawing
