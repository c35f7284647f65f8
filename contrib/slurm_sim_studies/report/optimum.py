"""The best schedule of few jobs: a Gantt picture, and a table with policies beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from emulator.report.grid import empty, table
from emulator.report.numbers import printable
from emulator.report.style import PALE, SERIES, SURFACE, house_style, new_figure
from emulator.report.timeaxis import time_axis
from slurm_sim_plugins.processors import numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.table import Table

    from slurm_sim_studies.optimum.optimise import Optimum
    from slurm_sim_studies.optimum.policies import Standing
    from slurm_sim_studies.optimum.problem import Job
    from slurm_sim_studies.optimum.schedule import Part, Stay

WIDE, HIGH = 10.0, 4.6
"""Inches."""
KINDS = (("batch job", SERIES[0]), ("real-time job", SERIES[1]), ("writes or reads its checkpoint", PALE[0]))
NARROWEST = 1 / 40
"""Of the picture's width; a bar that is narrower is not labelled."""

Rows = list[tuple[int, int]]
"""First and last (exclusive) of neighbouring midplanes or processors."""


def gantt(optimum: Optimum) -> Figure:
    """When each job is on which midplanes, or on how many processors.

    A machine of processors does not number them: there a part lies on those that were free
    first, and where it lies says nothing.
    """
    problem = optimum.problem
    blocks = not isinstance(problem.machine, int)
    with house_style():
        figure = new_figure(WIDE, HIGH)
        axes = figure.subplots()
        word = "The best schedule" if optimum.status == "optimal" else "The best schedule found"
        axes.set_title(f"{word} of {printable(problem.name)}: batch jobs' mean slowdown {optimum.batch_mean:.3f}")
        first = min(job.submit for job in problem.jobs)
        last = max(stay.end for stay in optimum.schedule.values())
        axis = time_axis(first, last, None)
        room = (last - first) * NARROWEST
        for job, part, rows in _rows_of_parts(optimum):
            for start, end, colour in _stretches(job, optimum.schedule[job.id], part):
                left, right = (float(value) for value in axis(np.array([start, end], dtype=np.float64)))
                for low, high in rows:
                    axes.broken_barh(
                        [(left, right - left)], (low, high - low), color=colour, edgecolor=SURFACE, linewidth=0.8
                    )
            if part.end - part.start >= room:
                _label(axes, job, float(axis(np.array([(part.start + part.end) / 2]))[0]), rows)
        axis.draw(axes, first, last)
        axes.set_ylim(0, _height(optimum))
        axes.grid(visible=False)
        axes.set_ylabel("midplanes" if blocks else "processors (lanes)")
        _legend(figure, optimum)
        return figure


def _label(axes: Axes, job: Job, middle: float, rows: Rows) -> None:
    low, high = max(rows, key=lambda row: row[1] - row[0])
    axes.text(middle, (low + high) / 2, str(job.id), ha="center", va="center", color=SURFACE, fontsize=9, clip_on=True)


def _legend(figure: Figure, optimum: Optimum) -> None:
    from matplotlib.patches import Patch

    preempted = any(len(stay.parts) > 1 for stay in optimum.schedule.values())
    there = (True, bool(optimum.problem.realtime), preempted)
    shown = [Patch(color=colour, label=text) for (text, colour), seen in zip(KINDS, there, strict=True) if seen]
    figure.legend(handles=shown, loc="outside lower center", ncols=len(shown))


def _stretches(job: Job, stay: Stay, part: Part) -> Iterator[tuple[int, int, str]]:
    """Start, end and colour: work, and of a preempted job what its checkpoint takes."""
    (_, batch), (_, realtime), (_, overhead) = KINDS
    cost = job.checkpoint or 0
    if len(stay.parts) == 1:
        yield part.start, part.end, realtime if job.realtime else batch
    elif part is stay.parts[0]:
        yield part.start, part.end - cost, batch
        yield part.end - cost, part.end, overhead
    else:
        yield part.start, part.start + cost, overhead
        yield part.start + cost, part.end, batch


def _height(optimum: Optimum) -> int:
    machine = optimum.problem.machine
    return machine if isinstance(machine, int) else len(machine.midplanes)


def _rows_of_parts(optimum: Optimum) -> Iterator[tuple[Job, Part, Rows]]:
    """Each part of each job, and where to draw it."""
    machine = optimum.problem.machine
    parts = sorted(
        ((part, job) for job in optimum.problem.jobs for part in optimum.schedule[job.id].parts),
        key=lambda each: (each[0].start, each[1].id),
    )
    busy: list[tuple[int, int]] = []
    for part, job in parts:
        block = optimum.schedule[job.id].block
        if block is not None and not isinstance(machine, int):
            yield job, part, _rows(numbers(machine.masks[block]))
            continue
        used = 0
        for end, taken in busy:
            used |= taken if end > part.start else 0
        lanes = [lane for lane in range(optimum.problem.capacity) if not used >> lane & 1][: job.size]
        busy.append((part.end, sum(1 << lane for lane in lanes)))
        yield job, part, _rows(lanes)


def _rows(processors: Sequence[int]) -> Rows:
    rows: Rows = []
    for number in processors:
        if rows and rows[-1][1] == number:
            rows[-1] = (rows[-1][0], number + 1)
        else:
            rows.append((number, number + 1))
    return rows


def optimum_table(optimum: Optimum, standings: Sequence[Standing] = (), note: str = "") -> Table:
    """The best schedule and the policies: mean slowdowns, and how far each policy is from the best.

    Args:
        optimum: what was found.
        standings: of the policies.
        note: a further line below.
    """
    from rich.text import Text

    realtime = bool(optimum.problem.realtime)
    caption = "\n".join(text for text in (*_notes(optimum), *_excuses(standings), note) if text)
    grid = empty(printable(optimum.problem.name), caption)
    grid.add_column("schedule")
    grid.add_column("batch jobs' mean slowdown", justify="right")
    if realtime:
        grid.add_column("real-time jobs'", justify="right")
        grid.add_column("keeps the bound")
    grid.add_column("above the best", justify="right")
    best = "best" if optimum.status == "optimal" else "best found"
    cells = [f"{optimum.realtime_mean:.4f}", "yes"] if realtime else []
    grid.add_row(best, f"{optimum.batch_mean:.4f}", *cells, "", style="bold", end_section=bool(standings))
    for each in standings:
        cells = [f"{each.realtime_mean:.4f}", "yes" if each.keeps_bound else "no"] if realtime else []
        above = f"{100 * each.above(optimum):+.1f} %"
        grid.add_row(Text(printable(each.name)), f"{each.batch_mean:.4f}", *cells, above)
    return grid


TERMS = {
    "schedule": "The best one, and what each policy made of the same jobs.",
    "batch jobs' mean slowdown": "Mean of (end - submitted) / run time over the batch jobs; it is to be the least.",
    "real-time jobs'": "The same mean over the real-time jobs; it is to be within the bound.",
    "keeps the bound": "Whether the real-time jobs' mean slowdown is at most the bound.",
    "above the best": "How far the batch jobs' mean slowdown is above that of the best schedule, in percent.",
    "job": "Its number.",
    "kind": "batch, or real-time: to be run soon.",
    "size": "Processors of the job; on a machine of blocks its nodes.",
    "submitted": "When the scheduler would know of it, in seconds.",
    "run time": "Seconds of work.",
    "parts": "From when until when it runs, in seconds; two parts where it is preempted once.",
    "slowdown": "(end - submitted) / run time.",
}
"""What the headings mean."""


def jobs_table(optimum: Optimum) -> Table:
    """Each job of the best schedule: when it runs, and its slowdown."""
    problem = optimum.problem
    rows = []
    for job in problem.jobs:
        stay = optimum.schedule[job.id]
        parts = ", ".join(f"{part.start:,} to {part.end:,}" for part in stay.parts)
        kind = "real-time" if job.realtime else "batch"
        times = (f"{job.submit:,}", f"{job.run:,}", f"{(stay.end - job.submit) / job.run:.3f}")
        rows.append((f"{job.id}", kind, f"{job.size:,}", *times, parts))
    headings = ("job", "kind", "size", "submitted", "run time", "slowdown", "parts")
    return table("Jobs of the best schedule", headings, rows, left=2)


def _notes(optimum: Optimum) -> Iterator[str]:
    """What must stand under a result."""
    if optimum.status == "optimal":
        yield "Proven: no schedule is better."
    else:
        yield (
            f"Not proven: the time was not enough. No schedule is below {optimum.batch_mean_lower:.4f}; "
            f"the gap is {100 * optimum.gap:.1f} %."
        )
    if optimum.problem.realtime:
        bound = f"The real-time jobs' mean slowdown is at most {float(optimum.problem.bound):g}"
        relaxed = f", as {float(optimum.asked):g} cannot be kept" if optimum.problem.bound != optimum.asked else ""
        yield f"{bound}{relaxed}."


def _excuses(standings: Sequence[Standing]) -> Iterator[str]:
    if not all(each.keeps_bound for each in standings):
        yield "A policy that does not keep the bound may be below the best that does."


def data(optimum: Optimum, standings: Sequence[Standing] = ()) -> dict[str, Any]:
    """All of it, for JSON."""
    problem, machine = optimum.problem, optimum.problem.machine
    return {
        "problem": {
            "name": problem.name,
            "machine": {"processors": machine} if isinstance(machine, int) else {"nodes": machine.machine},
            "bound_asked": float(optimum.asked),
            "bound": float(problem.bound),
        },
        "solver": optimum.solver,
        "status": optimum.status,
        "gap": optimum.gap,
        "batch_mean_slowdown": optimum.batch_mean,
        "batch_mean_slowdown_lower_bound": optimum.batch_mean_lower,
        "realtime_mean_slowdown": optimum.realtime_mean,
        "jobs": [_job_data(optimum, job) for job in problem.jobs],
        "policies": [
            {
                "name": each.name,
                "batch_mean_slowdown": each.batch_mean,
                "realtime_mean_slowdown": each.realtime_mean,
                "keeps_bound": each.keeps_bound,
                "above": each.above(optimum),
            }
            for each in standings
        ],
    }


def _job_data(optimum: Optimum, job: Job) -> dict[str, Any]:
    stay, machine = optimum.schedule[job.id], optimum.problem.machine
    block = None if isinstance(machine, int) or stay.block is None else machine.names[stay.block]
    return {"id": job.id, "realtime": job.realtime, "parts": [list(part) for part in stay.parts], "block": block}
