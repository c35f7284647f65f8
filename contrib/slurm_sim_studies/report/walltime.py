"""The experiments on walltime adjustment: for the terminal, as Markdown, as data and as pictures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from emulator.report.grid import empty
from emulator.report.numbers import printable
from emulator.report.style import DASHES, INK, MUTED, SERIES, house_style, new_figure
from slurm_sim_studies.papers.walltime import METRICS, POLICIES, USES, Gain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.table import Table

    from emulator.walltime.evaluate import Evaluation
    from slurm_sim_studies.papers.claims import Claim

HEADINGS = ("workload", "policy", "scheme", *METRICS)
WIDE, HIGH = 10.0, 6.4
"""Inches."""
Accuracies = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Mean accuracy by study, scheme and month."""
_HEADING: dict[str, Any] = {"x": 0.01, "ha": "left", "fontsize": 12, "fontweight": "bold"}


def rows(gains: Iterable[Gain]) -> list[list[str]]:
    """One row a scheme: mean gains in percent, with the paper's in brackets."""
    cells: dict[tuple[str, str, str], dict[str, str]] = {}
    for gain in gains:
        scheme = f"{gain.use} {gain.scheme}".strip()
        printed = f" [{gain.printed:+g}]" if gain.printed is not None else ""
        text = f"{gain.mean:+.1f}{printed}" if gain.mean == gain.mean else "-"
        cells.setdefault((gain.study, gain.policy, scheme), {})[gain.metric] = text
    return [[*name, *(row.get(metric, "-") for metric in METRICS)] for name, row in cells.items()]


def gains_table(gains: Sequence[Gain]) -> Table:
    """Mean gains for the terminal."""
    months = {gain.study: len(gain.months) for gain in gains}
    counts = ", ".join(f"{study} {count}" for study, count in months.items())
    title = "Gain over requested times in percent, mean over months [the paper's, of Intrepid]"
    grid = empty(title, f"months: {printable(counts)}; higher is better")
    for index, heading in enumerate(HEADINGS):
        grid.add_column(heading.replace("_", " "), justify="left" if index < 3 else "right", no_wrap=True)
    body = rows(gains)
    for index, row in enumerate(body):
        last = index + 1 == len(body) or body[index + 1][:2] != row[:2]
        grid.add_row(*map(printable, row), end_section=last)
    return grid


def markdown(
    gains: Sequence[Gain], claims: Sequence[Claim], evaluations: Mapping[str, Evaluation], accuracies: Accuracies
) -> str:
    """The whole reproduction as Markdown."""
    lines = ["# Walltime adjustment: the paper's experiments on other logs", ""]
    lines += ["Gain over requested times in percent, mean over months; in brackets the paper's, of Intrepid.", ""]
    lines += _table([heading.replace("_", " ") for heading in HEADINGS], rows(gains))
    lines += ["", "## Claims", ""]
    lines += _table(
        ["source", "workload", "claim", "holds", "ours"],
        [[one.source, one.column, one.text, "yes" if one.holds else "**no**", one.figures] for one in claims],
    )
    for study, evaluation in evaluations.items():
        if evaluation.notes:
            lines += ["", f"{study}: {'; '.join(evaluation.notes)}."]
    for study, schemes in accuracies.items():
        months = list(next(iter(schemes.values())))
        lines += ["", f"## Mean accuracy by month on {printable(study)} (figure 13)", ""]
        body = [[month, *(f"{values[month]:.3f}" for values in schemes.values())] for month in months]
        lines += _table(["month", *schemes], body)
    lines += ["", "## Months", ""]
    body = [
        [*_names(gain), month, f"{before:.5g}", f"{after:.5g}", f"{change:+.1f}"]
        for gain in gains
        for month, before, after, change in zip(gain.months, gain.baseline, gain.adjusted, gain.by_month, strict=True)
    ]
    headings = ["workload", "policy", "scheme", "metric", "month", "requested", "adjusted", "gain %"]
    return "\n".join([*lines, *_table(headings, body), ""])


def _names(gain: Gain) -> list[str]:
    return [gain.study, gain.policy, f"{gain.use} {gain.scheme}".strip(), gain.metric.replace("_", " ")]


def _table(headings: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    return lines + ["| " + " | ".join(printable(cell).replace("|", "\\|") for cell in row) + " |" for row in body]


def data(
    gains: Sequence[Gain], claims: Sequence[Claim], evaluations: Mapping[str, Evaluation], accuracies: Accuracies
) -> dict[str, Any]:
    """The whole reproduction as data."""
    return {
        "accuracy_by_month": accuracies,
        "gains": [gain.data() for gain in gains],
        "claims": [vars(claim) for claim in claims],
        "evaluations": {
            study: {
                "requested": {"average": evaluation.average, "median": evaluation.median},
                "notes": list(evaluation.notes),
                "schemes": [outcome.row() for outcome in evaluation.outcomes],
            }
            for study, evaluation in evaluations.items()
        },
    }


def figures(gains: Sequence[Gain], accuracies: Accuracies) -> dict[str, Figure]:
    """The paper's figures 13 to 17 for each log, by file name without ending."""
    found = {f"fig13-{study}".lower(): accuracy_by_month(study, schemes) for study, schemes in accuracies.items()}
    for study in dict.fromkeys(gain.study for gain in gains):
        numbers = iter(range(14, 18))
        for policy in POLICIES:
            for use in USES:
                chosen = [gain for gain in gains if (gain.study, gain.policy, gain.use) == (study, policy, use)]
                number = next(numbers)
                if chosen:
                    found[f"fig{number}-{study}-{policy}-{use}".lower()] = by_month(chosen)
    return found


def accuracy_by_month(study: str, schemes: Mapping[str, Mapping[str, float]]) -> Figure:
    """Figure 13: mean accuracy of the planned times, one line a scheme."""
    with house_style():
        figure = new_figure(WIDE, HIGH / 1.7)
        axes = figure.subplots()
        for number, (scheme, values) in enumerate(schemes.items()):
            _line(axes, number, scheme, list(values.values()))
        _month_axis(axes, list(next(iter(schemes.values()))))
        axes.set_ylabel("mean accuracy", color=MUTED)
        figure.legend(loc="outside lower center", ncols=len(schemes))
        figure.suptitle(f"Accuracy of planned times on {printable(study)}", **_HEADING)
        return figure


def by_month(gains: Sequence[Gain]) -> Figure:
    """Three metrics by month, the baseline at 100, and mean gains: one of figures 14 to 17."""
    first = gains[0]
    with house_style():
        figure = new_figure(WIDE, HIGH)
        axes = figure.subplots(2, 2).flatten().tolist()
        for plot, metric in zip(axes, ("wait", "slowdown", "weighted_wait"), strict=False):
            _months(plot, [gain for gain in gains if gain.metric == metric])
        _means(axes[3], gains)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        title = f"{first.use.capitalize()} adjustment under {first.policy} on {printable(first.study)}"
        figure.suptitle(title, **_HEADING)
        return figure


def _months(axes: Axes, gains: Sequence[Gain]) -> None:
    for number, gain in enumerate(gains):
        _line(axes, number, gain.scheme, [100 - change for change in gain.by_month])
    axes.axhline(100, color=INK, linewidth=1)
    _month_axis(axes, gains[0].months)
    axes.set_title(METRICS[gains[0].metric].partition(" (")[0].capitalize())
    axes.set_ylabel("% of requested times", color=MUTED)


def _line(axes: Axes, number: int, label: str, heights: Sequence[float]) -> None:
    colour, dashes = SERIES[number % len(SERIES)], DASHES[number % len(DASHES)]
    axes.plot(range(len(heights)), heights, color=colour, linestyle=dashes, marker="o", markersize=3.5, label=label)


def _month_axis(axes: Axes, names: Sequence[str]) -> None:
    step = -(-len(names) // 6)
    axes.set_xticks(range(0, len(names), step), names[::step])
    axes.set_ylim(bottom=0)


def _means(axes: Axes, gains: Sequence[Gain]) -> None:
    metrics = list(dict.fromkeys(gain.metric for gain in gains))
    schemes = list(dict.fromkeys(gain.scheme for gain in gains))
    width = 0.8 / len(schemes)
    for number, scheme in enumerate(schemes):
        heights = [gain.mean for gain in gains if gain.scheme == scheme]
        positions = [index + (number - (len(schemes) - 1) / 2) * width for index in range(len(heights))]
        axes.bar(positions, heights, width=0.92 * width, color=SERIES[number % len(SERIES)])
    axes.axhline(0, color=INK, linewidth=1)
    axes.set_xticks(range(len(metrics)), [metric.replace("_", "\n") for metric in metrics])
    axes.set_title("Mean gain")
    axes.set_ylabel("%", color=MUTED)
