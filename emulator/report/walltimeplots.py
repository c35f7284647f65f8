"""An evaluation as pictures: figures 4 to 11 of Tang et al. 2013, for any log.

Figures 4, 5 and 8 to 10 are drawn with the lowest threshold of the grid, figures 6 and 7
compare it with the highest, and figure 11 has the highest and the shortest window.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from emulator.report.numbers import printable
from emulator.report.style import DASHES, INK, MUTED, PALE, RULE, SERIES, house_style, new_figure
from emulator.walltime.evaluate import Evaluation, Outcome
from emulator.walltime.schemes import KEYS
from emulator.workload.workload import Floats
from slurm_sim_plugins.walltime.history import WINDOWS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Accuracies = Mapping[str, Mapping[str, Floats]]
"""The accuracy of every job by label of a curve, by key; the label ``requested`` is of the requests themselves."""

MOST_KEYS = 2
"""Figures with one plot a key show the two most specific ones, as the paper does."""
CLASS_WORDS = {"na": "no adjustment", "oe": "overestimate", "ue": "underestimate", "be": "by 30 min or more"}
CLASS_COLOURS = {"na": RULE, "oe": PALE[0], "ue": PALE[1], "be": SERIES[6]}
WIDE, HIGH = 10.0, 4.2
"""Inches."""


def all_figures(evaluation: Evaluation, accuracies: Accuracies) -> dict[str, Figure]:
    """The figures for which the grid has what they show, by file name without ending.

    Args:
        evaluation: of a grid of one definition.
        accuracies: for figure 11.
    """
    thresholds = _thresholds(evaluation)
    low, high = min(thresholds), max(thresholds)
    keys = [key for key in KEYS if key in _keys(evaluation)][:MOST_KEYS]
    figures: dict[str, Figure] = {
        "fig04-accuracy-by-key": accuracy_by_key(evaluation, low),
        "fig05-classes": classes_by_percentile(evaluation, keys, low),
    }
    if low < high:
        for number, key in enumerate(keys, 6):
            figures[f"fig{number:02}-threshold-{key}"] = threshold_effect(evaluation, key, low, high)
    if len(_windows(evaluation)) > 1:
        for number, (name, words, value) in enumerate(BY_WINDOW, 8):
            figures[f"fig{number:02}-{name}-by-window"] = by_window(evaluation, keys, low, words, value)
    title = _title(evaluation, "Distribution of the accuracy", _shortest(evaluation), high)
    figures["fig11-distribution"] = distribution({key: accuracies[key] for key in keys}, title)
    return figures


def accuracy_by_key(evaluation: Evaluation, threshold: float) -> Figure:
    """Figure 4: mean accuracy by percentile, one line a key, over the longest window."""
    window = _longest(evaluation)
    with house_style():
        figure = new_figure(WIDE, HIGH)
        axes = figure.subplots()
        for number, key in enumerate(_keys(evaluation)):
            chosen = evaluation.of(key=key, window=window, threshold=threshold)
            _line(axes, chosen, lambda outcome: outcome.average, number, key)
        axes.axhline(evaluation.average, color=INK, linewidth=1, linestyle=(0, (4, 3)), label="as requested")
        _finish(figure, [axes], evaluation, "mean accuracy")
        figure.suptitle(_title(evaluation, "Mean accuracy by key", window, threshold), **_HEADING)
        return figure


def classes_by_percentile(evaluation: Evaluation, keys: Sequence[str], threshold: float) -> Figure:
    """Figure 5: shares of the four classes and mean accuracy by percentile, one plot a key."""
    window = _longest(evaluation)
    with house_style():
        figure = new_figure(WIDE, HIGH)
        plots = _plots(figure, keys)
        for axes, key in zip(plots, keys, strict=True):
            chosen = evaluation.of(key=key, window=window, threshold=threshold)
            at, bottom = np.arange(len(chosen)), np.zeros(len(chosen))
            for name, words in CLASS_WORDS.items():
                heights = np.array([getattr(outcome, name) for outcome in chosen])
                axes.bar(at, heights, bottom=bottom, width=0.7, color=CLASS_COLOURS[name], label=words)
                bottom += heights
            axes.plot(at, [outcome.average for outcome in chosen], color=INK, marker="o", label="mean accuracy")
            axes.set_title(f"key {key}")
            axes.set_ylim(0, 1)
        _finish(figure, plots, evaluation, "share of the jobs; accuracy")
        figure.suptitle(_title(evaluation, "Kinds of estimates", window, threshold), **_HEADING)
        return figure


def threshold_effect(evaluation: Evaluation, key: str, low: float, high: float) -> Figure:
    """Figures 6 and 7: underestimates and mean accuracy with and without a threshold, for one key."""
    window = _longest(evaluation)
    with house_style():
        figure = new_figure(WIDE, HIGH)
        left, right = figure.subplots(1, 2)
        for index, threshold in enumerate((low, high)):
            chosen = evaluation.of(key=key, window=window, threshold=threshold)
            at = np.arange(len(chosen)) + (index - 0.5) * 0.38
            under, bad = (np.array([getattr(outcome, name) for outcome in chosen]) for name in ("ue", "be"))
            words = f"threshold {threshold:g}"
            left.bar(at, bad, width=0.36, color=SERIES[6], alpha=0.55 + 0.45 * index)
            left.bar(at, under, bottom=bad, width=0.36, color=(PALE[1], SERIES[1])[index], label=words)
            _line(right, chosen, lambda outcome: outcome.average, index, words)
        right.axhline(evaluation.average, color=INK, linewidth=1, linestyle=(0, (4, 3)), label="as requested")
        left.set_title("Underestimates (red: by 30 min or more)")
        left.set_ylabel("share of the jobs")
        right.set_title("Mean accuracy")
        for axes in (left, right):
            _percentile_axis(axes, evaluation)
            axes.set_ylim(bottom=0)
            axes.legend(loc="best")
        figure.suptitle(_title(evaluation, f"Effect of the threshold, key {key}", window), **_HEADING)
        return figure


def by_window(
    evaluation: Evaluation, keys: Sequence[str], threshold: float, words: str, value: Callable[[Outcome], float]
) -> Figure:
    """Figures 8 to 10: a value by percentile, one line a window, one plot a key."""
    with house_style():
        figure = new_figure(WIDE, HIGH)
        plots = _plots(figure, keys)
        for axes, key in zip(plots, keys, strict=True):
            for number, window in enumerate(_windows(evaluation)):
                chosen = evaluation.of(key=key, window=window, threshold=threshold)
                _line(axes, chosen, value, number, window)
            axes.set_title(f"key {key}")
        _finish(figure, plots, evaluation, words)
        figure.suptitle(_title(evaluation, f"{words[0].upper()}{words[1:]}, by window", "", threshold), **_HEADING)
        return figure


def distribution(accuracies: Accuracies, title: str) -> Figure:
    """Figure 11: which share of the jobs has at most which accuracy, one plot a key."""
    with house_style():
        figure = new_figure(WIDE, HIGH)
        plots = _plots(figure, list(accuracies))
        for axes, (key, curves) in zip(plots, accuracies.items(), strict=True):
            for number, (label, values) in enumerate(curves.items()):
                colour = INK if label == "requested" else SERIES[number - 1]
                axes.ecdf(values, color=colour, label=label, linewidth=1.7)
            axes.set_title(f"key {key}")
            axes.set_xlabel("accuracy")
            axes.set_xlim(0, 1)
            axes.grid(visible=True, axis="x")
        plots[0].set_ylabel("share of the jobs with at most this accuracy")
        _legend(figure, plots)
        figure.suptitle(title, **_HEADING)
        return figure


BY_WINDOW: tuple[tuple[str, str, Callable[[Outcome], float]], ...] = (
    ("accuracy", "mean accuracy", lambda outcome: outcome.average),
    ("bad", "share underestimated by 30 min or more", lambda outcome: outcome.be),
    ("under", "share underestimated by less than 30 min", lambda outcome: outcome.ue),
)
"""Figures 8, 9 and 10."""
_HEADING = {"x": 0.01, "ha": "left", "fontsize": 12, "fontweight": "bold"}


def _keys(evaluation: Evaluation) -> list[str]:
    """The keys, in the order of the grid; so with the next three."""
    return list(dict.fromkeys(outcome.scheme.key for outcome in evaluation.outcomes))


def _windows(evaluation: Evaluation) -> list[str]:
    return list(dict.fromkeys(outcome.scheme.window for outcome in evaluation.outcomes))


def _percentiles(evaluation: Evaluation) -> list[float]:
    return list(dict.fromkeys(outcome.scheme.percentile for outcome in evaluation.outcomes))


def _thresholds(evaluation: Evaluation) -> list[float]:
    return list(dict.fromkeys(outcome.scheme.threshold for outcome in evaluation.outcomes))


def _longest(evaluation: Evaluation) -> str:
    return max(_windows(evaluation), key=lambda window: WINDOWS[window])


def _shortest(evaluation: Evaluation) -> str:
    return min(_windows(evaluation), key=lambda window: WINDOWS[window])


def _title(evaluation: Evaluation, words: str, window: str, threshold: float | None = None) -> str:
    parts = [f"{words} on {printable(evaluation.log)}"]
    parts += [f"window {window}"] if window else []
    parts += [f"threshold {threshold:g}"] if threshold is not None else []
    return ", ".join(parts)


def _plots(figure: Figure, keys: Sequence[str]) -> list[Axes]:
    figure.set_layout_engine("constrained", wspace=0.04)
    plots = figure.subplots(1, len(keys), squeeze=False, sharey=True)
    return list(plots[0])


def _line(axes: Axes, chosen: Sequence[Outcome], value: Callable[[Outcome], float], number: int, label: str) -> None:
    heights = [value(outcome) for outcome in chosen]
    # Lines may lie one upon the other.
    colour, dashes = SERIES[number % len(SERIES)], DASHES[number % len(DASHES)]
    axes.plot(range(len(chosen)), heights, color=colour, linestyle=dashes, marker="o", markersize=4, label=label)


def _percentile_axis(axes: Axes, evaluation: Evaluation) -> None:
    percentiles = _percentiles(evaluation)
    axes.set_xticks(range(len(percentiles)), [_percentile_word(value) for value in percentiles])
    axes.set_xlabel("percentile")


def _percentile_word(percentile: float) -> str:
    return {100.0: "max", 50.0: "median"}.get(percentile, f"{percentile:g}")


def _finish(figure: Figure, plots: Sequence[Axes], evaluation: Evaluation, words: str) -> None:
    for axes in plots:
        _percentile_axis(axes, evaluation)
        axes.set_ylim(bottom=0)
    plots[0].set_ylabel(words, color=MUTED)
    _legend(figure, plots)


def _legend(figure: Figure, plots: Sequence[Axes]) -> None:
    handles, labels = plots[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
