"""Pictures of one run and of several, as matplotlib figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from emulator.metrics import machine
from emulator.metrics.averages import known, mean
from emulator.metrics.jobs import THRESHOLD, Floats, bounded_slowdown, wait
from emulator.metrics.steps import Steps, means_between, peaks_between
from emulator.report.numbers import printable
from emulator.report.style import (
    DASHES,
    INK,
    MUTED,
    PALE,
    SERIES,
    SURFACE,
    house_style,
    new_figure,
    picture_bytes,
    say,
)
from emulator.report.timeaxis import bins, formatter, time_axis
from slurm_sim_plugins.lanes import Block, assign_lanes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from emulator.accounting.records import Records

__all__ = ["compare_picture", "gantt", "picture_bytes", "queue_length", "utilisation", "waits_by_size"]

WIDE = 10.0
"""Inches."""
EXACT = 800
"""Steps up to which a step function is drawn as it is."""
BINS = 360
"""Parts over which a longer one is averaged."""
GANTT_JOBS = 2000
"""More jobs than this cannot be told apart in a Gantt chart."""
LABELLED = 60
"""Runs up to which a Gantt chart names the jobs."""
POINTS = 600
"""Points of a distribution's curve."""


def utilisation(records: Records) -> Figure:
    """Processors in use over time, in percent of the machine; averaged over bins for long runs."""
    with house_style():
        figure = new_figure(WIDE, 2.9)
        axes = figure.subplots()
        words = _draw_steps(axes, records, machine.processors_in_use(records), 100 / records.processors, peaks=False)
        axes.set_title("Processors in use" + (f", mean over each {words}" if words else ""))
        axes.set_ylabel(f"% of {records.processors:,} processors")
        axes.set_ylim(0, 104)
        average = 100 * machine.utilisation(records)
        if np.isfinite(average):
            axes.axhline(average, color=INK, linewidth=1, linestyle=(0, (4, 3)))
            _note_right(axes, average, f"mean\n{average:.1f} %")
        return figure


def queue_length(records: Records) -> Figure:
    """Jobs waiting over time; for long runs mean and peak of each bin."""
    with house_style():
        figure = new_figure(WIDE, 2.9)
        axes = figure.subplots()
        _whole_ticks(axes)
        words = _draw_steps(axes, records, machine.jobs_waiting(records), 1.0, peaks=True)
        axes.set_title("Jobs waiting" + (f", mean (filled) and peak (pale) of each {words}" if words else ""))
        axes.set_ylabel("jobs")
        axes.set_ylim(0, max(1.0, 1.05 * machine.max_queue_length(records)))
        average = machine.mean_queue_length(records)
        if np.isfinite(average):
            axes.axhline(average, color=INK, linewidth=1, linestyle=(0, (4, 3)))
            _note_right(axes, average, f"mean\n{average:,.1f}")
        return figure


def waits_by_size(records: Records) -> Figure:
    """Quartiles, median and 95th percentile of the wait by processors, in classes by powers of two."""
    with house_style():
        figure = new_figure(WIDE, 3.4)
        axes = figure.subplots()
        axes.set_title("Wait by job size: median (bar), quartiles (box), 95th percentile (whisker)")
        waits, processors = wait(records), np.asarray(records.jobs["processors"])
        counts = ~np.isnan(waits)
        waits, processors = waits[counts], processors[counts]
        if not len(waits):
            say(axes, "no job ended")
            return figure
        size = np.ceil(np.log2(processors)).astype(int)
        classes = np.unique(size)
        low, middle, high, far = (
            np.array([np.quantile(waits[size == each], share) for each in classes]) for share in (0.25, 0.5, 0.75, 0.95)
        )
        at = np.arange(len(classes))
        axes.vlines(at, high, far, color=MUTED, linewidth=1.2)
        axes.hlines(far, at - 0.12, at + 0.12, color=MUTED, linewidth=1.2)
        axes.bar(at, high - low, bottom=low, width=0.62, color=PALE[0], edgecolor=SERIES[0], linewidth=1)
        axes.hlines(middle, at - 0.31, at + 0.31, color=SERIES[0], linewidth=2.6, clip_on=False, zorder=3)
        labels = [f"{_class_name(each, records.processors)}\n{_jobs(int(np.sum(size == each)))}" for each in classes]
        axes.set_xticks(at, labels)
        axes.set_xlim(-0.6, max(len(classes), 3) - 0.4)
        _wait_scale(axes, float(far.max()))
        axes.set_xlabel("processors of the job")
        return figure


def gantt(records: Records, most: int = GANTT_JOBS) -> Figure | None:
    """When each run held how many processors; None if there are more jobs than can be told apart.

    The machine counts processors and does not number them. Each run is drawn on the first
    free lanes, so its bars have its height, but where it lies says nothing.
    """
    if len(records) > most:
        return None
    with house_style():
        figure = new_figure(WIDE, 4.6)
        axes = figure.subplots()
        axes.set_title("Which runs held how many processors")
        runs = records.runs
        first, last = machine.span(records)
        if not len(runs["start"]):
            say(axes, "no job ran")
            return figure
        starts = np.asarray(runs["start"], dtype=np.float64)
        ends = np.asarray(runs["end"], dtype=np.float64)
        ends = np.where(np.isnan(ends), last, ends)
        lanes = assign_lanes(starts.tolist(), ends.tolist(), np.asarray(runs["processors"]).tolist())
        axis = time_axis(first, last, records.epoch)
        _draw_lanes(axes, records, axis(starts), axis(ends), lanes)
        axis.draw(axes, first, last)
        top = max([records.processors, *(blocks[-1][1] for blocks in lanes)])
        axes.set_ylim(0, top)
        axes.grid(visible=False)
        axes.set_ylabel("processors (lanes)")
        _whole_ticks(axes)
        return figure


def compare_picture(results: Mapping[str, Records], *, threshold: float = THRESHOLD, title: str = "") -> Figure:
    """Several policies on one workload: distribution and mean of the bounded slowdown.

    Args:
        results: records by label.
        threshold: of the bounded slowdown, in seconds.
        title: above both plots.
    """
    with house_style():
        figure = new_figure(WIDE, 4.6)
        figure.set_layout_engine("constrained", wspace=0.06, h_pad=0.08, w_pad=0.1)
        curves, bars = figure.subplots(1, 2, width_ratios=(5, 4))
        values = {printable(label): known(bounded_slowdown(each, threshold)) for label, each in results.items()}
        jobs = {len(each) for each in results.values()}
        about = _jobs(jobs.pop()) if len(jobs) == 1 else "jobs of several workloads"
        heading = printable(title) or f"Bounded slowdown of {about}, threshold {threshold:g} s"
        figure.suptitle(heading, x=0.01, ha="left", fontsize=13, fontweight="bold")
        _distributions(curves, list(values.values()))
        _means(bars, list(values), [mean(each) for each in values.values()])
        return figure


def _draw_steps(axes: Axes, records: Records, steps: Steps, scale: float, *, peaks: bool) -> str:
    """Fill a step function; returns the width of a bin in words if it had to be averaged."""
    first, last = machine.span(records)
    if not last > first:
        say(axes, "nothing to show")
        return ""
    axis, words = time_axis(first, last, records.epoch), ""
    times, _ = steps
    if len(times) <= EXACT:
        edges: Floats = np.union1d(times, [first, last])
    else:
        edges, words = bins(first, last, records.epoch, BINS)
    if peaks and words:
        axes.stairs(peaks_between(steps, edges) * scale, axis(edges), fill=True, color=PALE[0])
    heights = means_between(steps, edges) * scale
    axes.stairs(heights, axis(edges), fill=True, color=SERIES[0])
    axis.draw(axes, first, last)
    return words


def _whole_ticks(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.yaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))


def _note_right(axes: Axes, height: float, text: str) -> None:
    """A note in the margin, beside a level."""
    axes.annotate(
        text,
        (1, height),
        (4, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        va="center",
        color=INK,
    )


def _class_name(power: int, most: int) -> str:
    """Sizes from above the power of two before to this one, or to the size of the machine."""
    low, high = (2 ** (power - 1) + 1 if power > 0 else 1), min(2**power, most)
    return f"{high:,}" if low >= high else f"{low:,}\N{EN DASH}{high:,}"


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count:,} jobs"


def _wait_scale(axes: Axes, longest: float) -> None:
    """A scale for waits from 0 to weeks: straight up to a minute, logarithmic beyond."""
    ticks = {0: "0", 60: "1 min", 600: "10 min", 3600: "1 h", 21600: "6 h", 86400: "1 day", 604800: "1 week"}
    ticks |= {2592000: "30 days", 31536000: "1 year", 315360000: "10 years", 3153600000: "100 years"}
    axes.set_yscale("symlog", linthresh=60, linscale=0.6)
    top = next((tick for tick in ticks if tick >= max(longest, 60)), longest)
    axes.set_yticks([tick for tick in ticks if tick <= top], [text for tick, text in ticks.items() if tick <= top])
    axes.set_yticks([], minor=True)
    axes.set_ylim(0, top)
    axes.set_ylabel("wait")


def _draw_lanes(axes: Axes, records: Records, starts: Floats, ends: Floats, lanes: Sequence[Sequence[Block]]) -> None:
    """Draw the blocks of each run, coloured by how it came to start and end."""
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Patch

    runs = records.runs
    backfilled = np.asarray(runs["backfilled"], dtype=bool)
    preempted = np.asarray(np.asarray(runs["outcome"], dtype=object) == "PREEMPTED", dtype=bool)
    kind = np.where(preempted, 2, backfilled.astype(int))
    few = len(lanes) <= 10 * LABELLED
    kinds = ((SERIES[0], "started in turn"), (SERIES[1], "backfilled"), (SERIES[6], "preempted"))
    legend = []
    for number, (colour, text) in enumerate(kinds):
        boxes = [
            ((starts[run], low), (starts[run], high), (ends[run], high), (ends[run], low))
            for run in np.flatnonzero(kind == number).tolist()
            for low, high in lanes[run]
        ]
        if boxes:
            width = 0.6 if few else 0.2
            axes.add_collection(PolyCollection(boxes, facecolors=colour, edgecolors=SURFACE, linewidths=width))
            legend.append(Patch(color=colour, label=text))
    if len(lanes) <= LABELLED:
        _label_lanes(axes, np.asarray(runs["job_id"]).tolist(), starts, ends, lanes)
    axes.figure.legend(handles=legend, loc="outside lower center", ncols=len(kinds))


def _label_lanes(
    axes: Axes, ids: Sequence[int], starts: Floats, ends: Floats, lanes: Sequence[Sequence[Block]]
) -> None:
    """Write the job's id into the tallest block of each run that has room for it."""
    room = float(ends.max() - starts.min()) / 60
    height = max(blocks[-1][1] for blocks in lanes) / 30
    for run, blocks in enumerate(lanes):
        low, high = max(blocks, key=lambda block: block[1] - block[0])
        if ends[run] - starts[run] >= room * len(str(ids[run])) and high - low >= height:
            middle = (starts[run] + ends[run]) / 2, (low + high) / 2
            axes.text(*middle, str(ids[run]), ha="center", va="center", color=SURFACE, fontsize=8, clip_on=True)


def _distributions(axes: Axes, values: Sequence[Floats]) -> None:
    shares = np.linspace(0, 1, POINTS)
    for number, each in enumerate(values):
        if len(each):
            quantiles = np.quantile(each, shares, method="inverted_cdf")
            axes.step(quantiles, 100 * shares, where="post", linewidth=1.8, **_look(number))
    longest = max((float(each.max()) for each in values if len(each)), default=1.0)
    axes.set_xscale("log")
    axes.set_xlim(1, max(10.0, longest))
    axes.set_ylim(0, 101)
    axes.grid(visible=True, axis="x")
    axes.xaxis.set_major_formatter(formatter(lambda value: f"{value:,.0f}"))
    axes.xaxis.set_minor_formatter(formatter(lambda value: ""))
    axes.set_title("Share of the jobs with at most this slowdown")
    axes.set_xlabel("bounded slowdown (1 = did not wait)")
    axes.set_ylabel("% of jobs")


def _means(axes: Axes, labels: Sequence[str], means: Sequence[float]) -> None:
    """Bars, the first policy on top; their labels are the legend of the curves as well."""
    at = np.arange(len(labels))
    known_means = np.array([value for value in means if np.isfinite(value)])
    # One policy may be a hundred times worse than the others; 1 is the least there is.
    wide = len(known_means) > 0 and known_means.max() > 20 * known_means.min()
    least = 1.0 if wide else 0.0
    lengths = np.nan_to_num(np.array(means, dtype=np.float64), nan=least) - least
    colours = [SERIES[number % len(SERIES)] for number in range(len(labels))]
    bars = axes.barh(at, lengths, left=least, height=0.62, color=colours)
    axes.bar_label(bars, [_mean_text(value) for value in means], padding=4)
    axes.set_yticks(at, [label if len(label) <= 28 else f"{label[:27]}…" for label in labels], color=INK)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    longest = float(known_means.max(initial=1.0))
    axes.set_xscale("log" if wide else "linear")
    axes.set_xlim(least, longest**1.25 if wide else 1.2 * longest)
    axes.xaxis.set_major_formatter(formatter(lambda value: f"{value:,g}"))
    axes.xaxis.set_minor_formatter(formatter(lambda value: ""))
    axes.grid(visible=True, axis="x")
    axes.grid(visible=False, axis="y")
    axes.set_title("Mean bounded slowdown")
    axes.set_xlabel("logarithmic scale; lower is better" if wide else "lower is better")


def _mean_text(value: float) -> str:
    if not np.isfinite(value):
        return "no job"
    return f"{value:,.2f}" if value < 100 else f"{value:,.1f}"


def _look(number: int) -> dict[str, Any]:
    return {"color": SERIES[number % len(SERIES)], "linestyle": DASHES[number // len(SERIES) % len(DASHES)]}
