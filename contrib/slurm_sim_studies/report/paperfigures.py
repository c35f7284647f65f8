"""The figures of the papers on PV-EASY, drawn from our runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from emulator.report.style import DASHES, MUTED, SERIES, house_style, new_figure, say
from slurm_sim_studies.papers.claims import virtual_means
from slurm_sim_studies.papers.measure import EDGES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from emulator.campaign import Numbers, Outcome

HEIGHT = 3.5
NAMES = {
    "easy": "EASY",
    "easy_last": "EASY-Last",
    "sjf": "SJF-EASY",
    "pv": "PV-EASY",
    **{f"cp{cost}": f"CP, {cost} s" for cost in (60, 120, 180)},
    **{f"vm{cost}": f"VM, {cost} s" for cost in (60, 120, 180)},
}
"""What the papers call each run."""
METRICS = {"mbs": "mean bounded slowdown", "mwbs": "mean weighted bounded slowdown"}


def figures(outcomes: Sequence[Outcome], columns: Sequence[str]) -> dict[str, Figure]:
    """All figures that the runs suffice for, by the name of a file.

    Args:
        outcomes: named ``STUDY/RUN``.
        columns: the workloads, one plot each.
    """
    numbers = {outcome.name: outcome.numbers for outcome in outcomes if not outcome.error}
    drawn = {}
    for name, metric in (("figure-2", "mbs"), ("figure-3", "mwbs")):
        if _all_there(numbers, columns, ("easy", "pv")):
            drawn[name] = _by_size(numbers, columns, metric)
    if all(virtual_means(outcomes, column, "mbs") for column in columns):
        drawn["figure-4"] = _virtual(outcomes, columns)
    for name, metric in (("figure-5", "mbs"), ("figure-6", "mwbs")):
        compared = ("easy", "easy_last", "pv")
        if _all_there(numbers, columns, compared):
            drawn[name] = _bars(numbers, columns, {metric: compared})
    for name, kind in (("figure-7", "cp"), ("figure-8", "vm")):
        runs = ("pv", *(f"{kind}{cost}" for cost in (60, 120, 180)))
        if _all_there(numbers, columns, runs):
            drawn[name] = _bars(numbers, columns, dict.fromkeys(METRICS, runs))
    return drawn


def _all_there(numbers: Mapping[str, Numbers], columns: Sequence[str], runs: Sequence[str]) -> bool:
    return all(f"{column}/{run}" in numbers for column in columns for run in runs)


def _by_size(numbers: Mapping[str, Numbers], columns: Sequence[str], metric: str) -> Figure:
    """Blocked jobs grouped by their share of the machine; big ones are right of the line."""
    with house_style():
        figure = new_figure(1.2 + 3.3 * len(columns), HEIGHT)
        plots = figure.subplots(1, len(columns), squeeze=False)[0]
        at = np.arange(len(EDGES) - 1)
        for axes, column in zip(plots, columns, strict=True):
            for index, run in enumerate(("easy", "pv")):
                of = numbers[f"{column}/{run}"]
                values = [of.get(f"blocked_{metric}_{high:.4f}", 0.0) for high in EDGES[1:]]
                axes.bar(at + 0.4 * (index - 0.5), values, 0.38, color=SERIES[index], label=NAMES[run])
            axes.axvline(EDGES.index(0.25) - 0.5, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
            axes.set_xticks(at, [_share(high) for high in EDGES[1:]])
            axes.set_title(column)
            axes.set_xlabel("share of the machine, up to")
        plots[0].set_ylabel(METRICS[metric])
        _legend(figure, plots[0])
        return _titled(figure, "Blocked jobs by size; the papers call those right of the dashed line big")


def _virtual(outcomes: Sequence[Outcome], columns: Sequence[str]) -> Figure:
    """MBS and MWBS over the largest error of the virtual predictor."""
    with house_style():
        figure = new_figure(1.2 + 3.3 * len(columns), 2 * HEIGHT)
        plots = figure.subplots(len(METRICS), len(columns), squeeze=False, sharex=True)
        for row, (metric, words) in zip(plots, METRICS.items(), strict=True):
            for axes, column in zip(row, columns, strict=True):
                for index, (run, errors) in enumerate(virtual_means(outcomes, column, metric).items()):
                    look = {"color": SERIES[index], "linestyle": DASHES[index]}
                    label = "FCFS-EASY" if run == "easy" else NAMES[run]
                    shares = [100 * error for error in errors]
                    axes.plot(shares, list(errors.values()), marker="o", markersize=3.5, label=label, **look)
                axes.set_ylim(bottom=0)
                if metric == "mbs":
                    axes.set_title(column)
                else:
                    axes.set_xlabel("largest error of a prediction (%)")
            row[0].set_ylabel(words)
        _legend(figure, plots[0][0])
        return _titled(figure, "With the virtual predictor: means over repetitions")


def _bars(numbers: Mapping[str, Numbers], columns: Sequence[str], shown: Mapping[str, Sequence[str]]) -> Figure:
    """A plot for each metric, a group of bars for each workload."""
    with house_style():
        figure = new_figure(5.6 * len(shown), HEIGHT)
        plots = figure.subplots(1, len(shown), squeeze=False)[0]
        for axes, (metric, runs) in zip(plots, shown.items(), strict=True):
            _groups(axes, numbers, columns, metric, runs)
        _legend(figure, plots[0])
        return _titled(figure, "All jobs; lower is better")


def _groups(
    axes: Axes, numbers: Mapping[str, Numbers], columns: Sequence[str], metric: str, runs: Sequence[str]
) -> None:
    at, width = np.arange(len(columns)), 0.82 / len(runs)
    for index, run in enumerate(runs):
        values = [numbers[f"{column}/{run}"].get(metric, 0.0) for column in columns]
        shift = (index - (len(runs) - 1) / 2) * width
        bars = axes.bar(at + shift, values, 0.94 * width, color=SERIES[index], label=NAMES[run])
        axes.bar_label(bars, [f"{value:.1f}" for value in values], fontsize=7, padding=2)
    if not any(numbers[f"{column}/{run}"].get(metric) for column in columns for run in runs):
        say(axes, "no job ended")
        return
    axes.set_xticks(at, list(columns))
    axes.margins(y=0.12)
    axes.set_ylabel(METRICS[metric])


def _legend(figure: Figure, axes: Axes) -> None:
    """One legend for all plots, below them."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=max(len(labels), 1))


def _titled(figure: Figure, text: str) -> Figure:
    figure.suptitle(text, x=0.01, ha="left", fontsize=11, fontweight="bold")
    return figure


def _share(share: float) -> str:
    return "1" if share == 1 else f"1/{round(1 / share)}"
