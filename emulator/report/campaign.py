"""Tables and pictures of a campaign."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from emulator.campaign.analysis import metric_of
from emulator.campaign.results import STATES, spent_on
from emulator.campaign.variants import option_name
from emulator.report.grid import table
from emulator.report.numbers import UNKNOWN, digits_of, printable, value_text
from emulator.report.style import DASHES, INK, MUTED, PALE, SERIES, SURFACE, house_style, new_figure, say

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.table import Table

    from emulator.campaign.results import Survey

Row = dict[str, Any]
PLUS_MINUS = "\N{PLUS-MINUS SIGN}"
MARKERS = ("o", "s", "D", "^")
PANEL = 4.6
"""Inches, wide."""
MOST_PANELS = 12
"""More workloads than this are not one picture."""


def status_table(found: Survey) -> Table:
    """How far a campaign is, by workload and policy."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    spent: dict[tuple[str, str], float] = {}
    for run in found.runs:
        case = (str(run.coordinates.get("workload", "")), str(run.coordinates.get("policy", run.name)))
        counts.setdefault(case, Counter())[run.state] += 1
        spent[case] = spent.get(case, 0.0) + float(spent_on(run)["cpu_seconds"] or 0.0)
    title = str(found.about.get("campaign", "runs"))
    rows = [
        (*case, *(f"{count[state]:,}" if count[state] else UNKNOWN for state in STATES), f"{spent[case]:,.1f}")
        for case, count in counts.items()
    ]
    return table(printable(title), ("workload", "policy", *STATES, "CPU s"), rows, left=2)


def means_table(means: pd.DataFrame, metrics: Sequence[str], confidence: float) -> Table:
    """Means with their confidence intervals: one row a workload and policy."""
    rows = []
    for (workload, policy), group in _grouped(as_data(means), "workload", "policy").items():
        by = {row["metric"]: row for row in group}
        numbers = [with_interval(metric, by[metric]["mean"], by[metric]["half"]) for metric in metrics]
        rows.append((workload, policy, f"{max(row['repetitions'] for row in group):,}", *numbers))
    headings = ("workload", "policy", "runs", *map(_heading, metrics))
    return table("", headings, rows, f"mean {PLUS_MINUS} {confidence:.0%} confidence", left=2)


def paired_table(paired: pd.DataFrame, baseline: str, confidence: float) -> Table:
    """Differences to the baseline on the same workload and seed."""
    note = f"on the same workload and seed; mean difference {PLUS_MINUS} {confidence:.0%} confidence; "
    note += "differs: 0 is not in the interval"
    rows = []
    for row in as_data(paired):
        metric = metric_of(row["metric"])
        relative = f"{100 * row['relative']:+.1f} %" if math.isfinite(row["relative"]) else UNKNOWN
        better = f"{row['better']} of {row['repetitions']}" if metric.lower_is_better is not None else UNKNOWN
        difference = with_interval(metric.key, row["mean"], row["half"])
        words = (row["workload"], row["policy"], metric.title, f"{row['repetitions']:,}", difference)
        rows.append((*words, relative, better, "yes" if row["differs"] else "no"))
    headings = ("workload", "policy", "metric", "pairs", "difference", "relative", "better", "differs")
    return table(printable(f"less {baseline}"), headings, rows, note, left=3)


def pareto_table(pareto: pd.DataFrame, metrics: Sequence[str]) -> Table:
    """Means, and which policies are on the front."""
    note = "on the front: no other policy is as good in all and better in one"
    rows = []
    for row in as_data(pareto):
        numbers = [with_interval(metric, row[metric], row[f"{metric} half"]) for metric in metrics]
        rows.append((row["workload"], row["policy"], *numbers, "yes" if row["front"] else "no"))
    headings = ("workload", "policy", *map(_heading, metrics), "on the front")
    return table("Pareto front", headings, rows, note, left=2)


def with_interval(key: str, mean: float, half: float) -> str:
    """``12.3 ± 0.4``; the mean alone where there is no interval."""
    metric = metric_of(key)
    if not math.isfinite(mean):
        return value_text(metric, mean)
    digits = 2 if metric.unit in ("jobs", "times") and mean != round(mean) else digits_of(metric, mean)
    text = value_text(metric, mean, digits)
    if not math.isfinite(half):
        return text
    return f"{text} {PLUS_MINUS} {value_text(metric, half, digits if digits or not half else 2)}"


def means_picture(means: pd.DataFrame, metric: str, confidence: float) -> Figure:
    """One metric of all policies, a panel a workload, with error bars."""
    chosen = [row for row in as_data(means) if row["metric"] == metric]
    panels = list(_grouped(chosen, "workload").items())[:MOST_PANELS]
    with house_style():
        tallest = max((len(group) for _, group in panels), default=1)
        columns = min(max(len(panels), 1), 3)
        rows = math.ceil(max(len(panels), 1) / columns)
        figure = new_figure(PANEL * max(columns, 1.6), rows * (1.1 + 0.34 * tallest))
        every = list(figure.subplots(rows, columns, squeeze=False).flat)
        for axes, ((workload,), group) in zip(every, panels, strict=False):
            _bars(axes, metric, workload, group)
        for axes in every[len(panels) :]:
            axes.set_visible(False)
        if not panels:
            say(every[0], "no run is finished")
        figure.suptitle(
            f"{metric_of(metric).title}: mean, and {confidence:.0%} confidence interval",
            x=0.01,
            ha="left",
            fontsize=12,
            fontweight="bold",
        )
        return _laid_out(figure)


def curves_picture(frame: pd.DataFrame, means: pd.DataFrame, metric: str, option: str) -> Figure | None:
    """One metric against an option that has several numbers, a line a policy and the rest of its options."""
    chosen = [row for row in as_data(means) if row["metric"] == metric]
    lines = _lines(as_data(frame), chosen, option)
    if not lines:
        return None
    with house_style():
        figure = new_figure(PANEL * 2.2, max(4.2, 1.2 + 0.2 * len(lines)))
        axes = figure.subplots()
        axes.set_title(f"{metric_of(metric).title} by {option}, with confidence intervals")
        first, last = (choose(at for points in lines.values() for at, _, _ in points) for choose in (min, max))
        aside = (last - first) / 250
        for index, (label, points) in enumerate(lines.items()):
            at, mean, half = np.array(sorted(points)).T
            # A little beside each other, so that their intervals can be told apart.
            at += (index - (len(lines) - 1) / 2) * aside
            axes.errorbar(
                at, _scaled(metric, mean), yerr=_scaled(metric, half), linestyle=_dash(index), **_look(index, label)
            )
        axes.set_xlabel(option)
        axes.set_ylabel(_heading(metric))
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(_thousands)
        figure.legend(loc="outside right upper", fontsize=8.5)
        return _laid_out(figure)


def pareto_picture(pareto: pd.DataFrame, metrics: Sequence[str]) -> Figure:
    """The first two metrics against each other, a panel a workload; the front is joined."""
    first, second = metrics[:2]
    panels = list(_grouped(as_data(pareto), "workload").items())[:MOST_PANELS]
    with house_style():
        columns = min(max(len(panels), 1), 3)
        rows = math.ceil(max(len(panels), 1) / columns)
        policies = list(dict.fromkeys(str(row["policy"]) for row in as_data(pareto)))
        figure = new_figure(PANEL * max(columns, 1.6) + 1.5, max(3.8 * rows, 1.2 + 0.2 * len(policies)))
        every = list(figure.subplots(rows, columns, squeeze=False).flat)
        for axes, ((workload,), group) in zip(every, panels, strict=False):
            axes.set_title(printable(workload))
            _front(axes, group, (first, second), policies)
        for axes in every[len(panels) :]:
            axes.set_visible(False)
        known = {
            label: handle for axes in every for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        if known:
            figure.legend(known.values(), known.keys(), loc="outside right upper", fontsize=8.5)
        figure.suptitle("Filled and joined: on the Pareto front", x=0.01, ha="left", fontsize=12, fontweight="bold")
        return _laid_out(figure)


def as_data(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as plain data."""
    return [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]


def _grouped(rows: Sequence[Row], *keys: str) -> dict[tuple[str, ...], list[Row]]:
    """Rows that are alike in these, in the order in which they come."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(str(row[key]) for key in keys), []).append(row)
    return groups


def _front(axes: Axes, rows: Sequence[Row], metrics: tuple[str, str], policies: Sequence[str]) -> None:
    """Points with error bars in both directions."""
    first, second = metrics
    on = sorted((row[first], row[second]) for row in rows if row["front"])
    line = np.array(on or [(math.nan, math.nan)]).T
    axes.plot(_scaled(first, line[0]), _scaled(second, line[1]), color=MUTED, linewidth=1, linestyle="--", zorder=1)
    for row in rows:
        look = _look(policies.index(row["policy"]), row["policy"])
        axes.errorbar(
            _scaled(first, row[first]),
            _scaled(second, row[second]),
            xerr=_scaled(first, row[f"{first} half"]),
            yerr=_scaled(second, row[f"{second} half"]),
            linestyle="none",
            markerfacecolor=look["color"] if row["front"] else SURFACE,
            **look,
        )
    axes.set_xlabel(_heading(first))
    axes.set_ylabel(_heading(second))
    axes.margins(0.08)
    axes.xaxis.set_major_formatter(_thousands)
    axes.yaxis.set_major_formatter(_thousands)
    axes.locator_params(axis="x", nbins=5)


def _look(index: int, label: str) -> dict[str, Any]:
    """Colour and marker of a series."""
    return {
        "color": SERIES[index % len(SERIES)],
        "marker": MARKERS[index // len(SERIES) % len(MARKERS)],
        "markersize": 5,
        "capsize": 2.5,
        "linewidth": 1.2,
        "label": printable(label),
    }


def _dash(index: int) -> str:
    return DASHES[index // len(SERIES) % len(DASHES)]


def _scaled(metric: str, value: Any) -> Any:
    """As the axes have it: shares in percent; no interval is one of width 0."""
    return np.nan_to_num(np.asarray(value, float)) * (100 if metric_of(metric).unit == "share" else 1)


def _thousands(value: float, _: object = None) -> str:
    return f"{value:,.10g}"


def _laid_out(figure: Figure) -> Figure:
    """With room around everything; what makes room for one label moves others, so it is done twice."""
    figure.set_layout_engine("constrained", w_pad=0.12, h_pad=0.1)
    figure.draw_without_rendering()
    return figure


def _bars(axes: Axes, metric: str, title: str, rows: Sequence[Row]) -> None:
    at = np.arange(len(rows))[::-1]
    mean = _scaled(metric, [row["mean"] for row in rows])
    half = _scaled(metric, [row["half"] for row in rows])
    axes.barh(at, mean, height=0.62, color=PALE[0])
    axes.errorbar(mean, at, xerr=half, fmt="none", ecolor=INK, elinewidth=1.2, capsize=3)
    axes.set_yticks(at, [printable(row["policy"]) for row in rows])
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x")
    axes.set_title(printable(title))
    axes.set_xlabel(_heading(metric))
    axes.xaxis.set_major_formatter(_thousands)
    axes.locator_params(axis="x", nbins=5)


def _lines(runs: Sequence[Row], means: Sequence[Row], option: str) -> dict[str, list[tuple[float, float, float]]]:
    """Points of each line: value of the option, mean, half; a line is what is alike but for the option."""
    lines: dict[str, list[tuple[float, float, float]]] = {}
    values = {(run["workload"], run["policy"]): run.get(option) for run in runs}
    for row in means:
        value = values[row["workload"], row["policy"]]
        if not isinstance(value, int | float) or isinstance(value, bool) or math.isnan(value):
            continue
        names = {f"{option_name(option)}={each}" for each in (value, f"{value:g}")}
        words = f"{row['workload']} / {row['policy']}".split(" ")
        label = " ".join(word for word in words if word not in names)
        lines.setdefault(label, []).append((float(value), row["mean"], row["half"]))
    return {label: points for label, points in lines.items() if len(points) > 1}


def _heading(key: str) -> str:
    unit = {"s": " (s)", "share": " (%)"}.get(metric_of(key).unit, "")
    return printable(f"{metric_of(key).title}{unit}")


def trouble_lines(found: Survey, most: int = 10) -> list[str]:
    """Failed and damaged runs, and why."""
    lines = [f"{run.state}: {printable(run.name)}: {printable(run.trouble)}" for run in found.runs if run.trouble]
    more = len(lines) - most
    return lines[:most] + ([f"... and {more:,} more"] if more > 0 else [])


def status_line(found: Survey) -> str:
    """How far a campaign is, in a sentence."""
    parts: Mapping[str, int] = {state: found.count(state) for state in STATES}
    words = ", ".join(f"{count:,} {state}" for state, count in parts.items() if count)
    others = f"; {found.others:,} results of other inputs" if found.others else ""
    return f"{len(found.runs):,} runs: {words or 'none'}{others}"
