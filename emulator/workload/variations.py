"""Which jobs of a workload are real-time jobs, of what category jobs are, and a workload on another machine.

Source: the paper on real-time jobs on Mira, section 7.1: the job categories, the scaled log
of Curie (equation 59), the three variations. A variation gives every job the fact
``realtime``, 1 or 0. Draws are seeded: the same arguments give the same jobs, and with the
same seed the real-time jobs of a lower percentage are among those of a higher one.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from emulator.workload.cobalt import logged_span
from emulator.workload.models import common
from emulator.workload.workload import LARGEST_SECONDS, Changed, Floats, Ints, Workload
from slurm_sim_plugins.blocks import MIRA_SIZES
from slurm_sim_plugins.errors import ConfigurationError

Mask = NDArray[np.bool_]
By = Literal["time_limit", "run"]
Variation = Literal["default", "90min", "aps"]

REALTIME = "realtime"
"""The fact: 1 for real-time jobs, 0 for batch jobs."""

NARROW = 4096
"""Nodes; jobs with more are wide."""
SHORT = 7200.0
"""Seconds; longer jobs are long. The paper has less and more than 120 minutes, and leaves 120
open; here they are short."""
CATEGORIES = ("narrow-short", "narrow-long", "wide-short", "wide-long")

NINETY_MINUTES = 5400.0
"""Seconds; the jobs of the second variation are shorter."""

APS_RUNS = (60.0, 700.0)
"""Seconds between which the run times of the beamline's jobs lie. The log itself is not public."""
APS_LIMIT_FACTOR = 2.0
"""Their limits are the run times, times a random factor between 1 and this."""
APS_MEAN_NODES = 2048.0
"""Mean of the exponential distribution of their sizes, before these are rounded up."""


# Categories ---------------------------------------------------------------------------


def categories(
    processors: NDArray[Any], seconds: NDArray[Any], *, narrow: float = NARROW, short: float = SHORT
) -> Ints:
    """The category of each job, as an index into :data:`CATEGORIES`.

    Args:
        processors: nodes of each job.
        seconds: how long each is.
        narrow: nodes up to which, inclusive, a job is narrow.
        short: seconds up to which, inclusive, a job is short.
    """
    return 2 * (np.asarray(processors) > narrow).astype(np.int64) + (np.asarray(seconds) > short)


def _length(workload: Workload, by: By) -> Floats:
    common.choose("by", by, By)
    return workload.time_limit if by == "time_limit" else workload.run


# Variations ---------------------------------------------------------------------------


def vary(workload: Workload, variation: Variation, percent: float, seed: int, **options: Any) -> Workload:
    """A variation by its name: :func:`default`, :func:`ninety_minutes` (``90min``) or :func:`aps`.

    Raises:
        ConfigurationError: there is none of that name, or an argument is out of its range.
    """
    common.choose("variation", variation, Variation)
    makers = dict(zip(get_args(Variation), (default, ninety_minutes, aps), strict=True))
    varied: Workload = makers[variation](workload, percent, seed, **options)
    return varied


def default(workload: Workload, percent: float, seed: int) -> Workload:
    """Make some jobs real-time jobs, each as likely as any other.

    Args:
        workload: the jobs; a fact ``realtime`` that they have is replaced.
        percent: how many of them, 0 to 100; rounded to whole jobs, a half up.
        seed: 0 or more.

    Raises:
        ConfigurationError: an argument out of its range.
    """
    eligible = np.ones(len(workload), dtype=np.bool_)
    return _marked(workload, percent, seed, eligible, ("default",), "jobs")


def ninety_minutes(
    workload: Workload, percent: float, seed: int, *, by: By = "run", below: float = NINETY_MINUTES
) -> Workload:
    """Make some of the short jobs real-time jobs; the percentage is of all jobs.

    Args:
        workload: the jobs; a fact ``realtime`` that they have is replaced.
        percent: how many, in percent of all jobs; rounded to whole jobs, a half up.
        seed: 0 or more.
        by: the paper's text says run time (``run``), its title walltime (``time_limit``).
        below: seconds; only shorter jobs can be real-time jobs.

    Raises:
        ConfigurationError: an argument out of its range, or fewer short jobs than are wanted.
    """
    eligible = np.asarray(_length(workload, by) < below, dtype=np.bool_)
    lines = ("90min", f"by={by}", f"below={float(below)!r}")
    return _marked(workload, percent, seed, eligible, lines, f"jobs with a {by} below {below:g} s")


def aps(
    workload: Workload,
    percent: float,
    seed: int,
    *,
    sizes: Sequence[int] = MIRA_SIZES,
    runs: Sequence[float] | None = None,
    mean_nodes: float = APS_MEAN_NODES,
    limit_factor: float = APS_LIMIT_FACTOR,
    between: tuple[float, float] | None = None,
) -> Workload:
    """Add real-time jobs like those of a beamline; all jobs of the log are batch jobs.

    The paper took run times from a log of the Advanced Photon Source, which is not public
    and had either run times or sizes. These are drawn: run times in whole seconds, uniform
    between :data:`APS_RUNS`, or from those given; limits the run time times a uniform factor,
    in whole seconds; sizes exponential, rounded up to a size that the machine has; submissions
    uniform between the log's first and last, unless stated. Facts of these jobs are unknown, and so is what
    happened to them in the log. They are numbered from the log's largest number on.

    Args:
        workload: the batch jobs; a fact ``realtime`` that they have is replaced.
        percent: how many jobs are added, in percent of the log's; rounded, a half up.
        seed: 0 or more.
        sizes: of blocks, in nodes; a larger draw gets the largest.
        runs: run times to choose from, in seconds, more than 0.
        mean_nodes: of the sizes, before they are rounded.
        limit_factor: the largest, 1 or more.
        between: seconds on the workload's clock of the first and the last possible submission.
            A log that begins with jobs that had waited for weeks needs it: the first
            submission in that of Mira's week is six weeks before the week.

    Raises:
        ConfigurationError: an argument out of its range, or a workload without a job.
    """
    count, seed = _how_many(len(workload), percent), common.whole("seed", seed, 0)
    steps = _steps(sizes)
    _check_aps(workload, runs, mean_nodes, limit_factor)
    first, last = _span(workload, between)
    # A stream for each column: the first jobs are the same whatever their number.
    run = _aps_runs(count, seed, runs)
    factor = common.stream(seed, "aps limit").uniform(1.0, limit_factor, count)
    drawn = common.stream(seed, "aps nodes").exponential(mean_nodes, count)
    share = common.stream(seed, "aps submit").uniform(0.0, 1.0, count)
    added = {
        "id": int(workload.id.max()) + 1 + np.arange(count, dtype=np.int64),
        "submit": np.maximum(np.floor(first + share * (last - first)), first),
        "processors": _up_to_step(np.minimum(np.ceil(drawn), steps[-1]).astype(np.int64), steps),
        "run": run,
        "time_limit": np.ceil(run * factor),
    }
    lines = (
        "aps",
        f"seed={seed}",
        f"percent={float(percent)!r}",
        f"sizes={steps!r}",
        f"runs={None if runs is None else list(map(float, runs))!r}",
        f"mean_nodes={float(mean_nodes)!r}",
        f"limit_factor={float(limit_factor)!r}",
        f"between={first!r} {last!r}",
    )
    return _joined(workload, added, lines)


def realtime(workload: Workload) -> Mask:
    """Which jobs are real-time jobs.

    Raises:
        ConfigurationError: the workload does not say it.
    """
    if REALTIME not in workload.facts:
        raise ConfigurationError(f"{workload.name} has no fact {REALTIME}; make a variation of it first")
    return np.asarray(workload.facts[REALTIME] == 1, dtype=np.bool_)


def counted(workload: Workload, first: float, last: float) -> Mask:
    """Which jobs a study of a part of a log counts, a warm-up before it left out.

    Those that started and ended within the part in the log; of jobs of which the log says
    nothing, such as those that :func:`aps` adds, those submitted within it.

    Args:
        workload: the jobs.
        first: beginning of the part, in seconds on the workload's clock.
        last: its end, inclusive.
    """
    start, end = logged_span(workload)
    known = ~np.isnan(start)
    inside = (start >= first) & (end <= last)
    return np.where(known, inside, (workload.submit >= first) & (workload.submit <= last))


def _how_many(jobs: int, percent: float) -> int:
    if not (math.isfinite(percent) and 0 <= percent <= 100):
        raise ConfigurationError(f"percent is {percent}; it must be between 0 and 100")
    return math.floor(jobs * percent / 100 + 0.5)


def _marked(
    workload: Workload, percent: float, seed: int, eligible: Mask, lines: tuple[str, ...], whose: str
) -> Workload:
    count, seed = _how_many(len(workload), percent), common.whole("seed", seed, 0)
    can = np.flatnonzero(eligible)
    if count > len(can):
        raise ConfigurationError(
            f"{percent:g} % of {len(workload)} jobs are {count} real-time jobs, but only {len(can)} {whose} "
            "are there; choose a lower percentage"
        )
    chosen = common.stream(seed, "realtime").permutation(can)[:count]
    flags = np.zeros(len(workload), dtype=np.int64)
    flags[chosen] = 1
    return _noted(workload, {REALTIME: flags}, (*lines, f"seed={seed}", f"percent={float(percent)!r}"))


def _noted(workload: Workload, facts: Mapping[str, NDArray[Any]], lines: tuple[str, ...]) -> Workload:
    """The workload with facts, and with how they came about in header and hash."""
    return replace(
        workload,
        facts={**workload.facts, **facts},
        header=(*workload.header, *(f"; Note: {REALTIME} {line}" for line in lines)),
        source_hash=common.digest(REALTIME, workload.source_hash, *lines),
    )


# Jobs of the beamline -----------------------------------------------------------------


def _check_aps(workload: Workload, runs: Sequence[float] | None, mean_nodes: float, limit_factor: float) -> None:
    if not len(workload):
        raise ConfigurationError(f"{workload.name} has no job, so nothing says when others are submitted")
    if runs is not None and not (len(runs) and all(math.isfinite(run) and run > 0 for run in runs)):
        raise ConfigurationError("runs must be seconds, more than 0, and at least one of them")
    if not (math.isfinite(mean_nodes) and mean_nodes > 0):
        raise ConfigurationError(f"mean_nodes is {mean_nodes}; it must be more than 0")
    if not (math.isfinite(limit_factor) and limit_factor >= 1):
        raise ConfigurationError(f"limit_factor is {limit_factor}; it must be 1 or more")


def _span(workload: Workload, between: tuple[float, float] | None) -> tuple[float, float]:
    if between is None:
        return float(workload.submit[0]), float(workload.submit[-1])
    first, last = map(float, between)
    if not 0 <= first <= last <= LARGEST_SECONDS:
        raise ConfigurationError(f"between is {first:g} to {last:g} s; give two times from 0 on, in this order")
    return first, last


def _aps_runs(count: int, seed: int, runs: Sequence[float] | None) -> Floats:
    drawn = common.stream(seed, "aps run").uniform(0.0, 1.0, count)
    if runs is None:
        low, high = APS_RUNS
        return np.rint(low + drawn * (high - low))
    return np.asarray(runs, dtype=np.float64)[np.floor(drawn * len(runs)).astype(np.int64)]


def _joined(workload: Workload, added: Mapping[str, NDArray[Any]], lines: tuple[str, ...]) -> Workload:
    """The jobs of both, in the order of a workload."""
    count = len(added["id"])
    own = workload.columns()
    own.pop(REALTIME, None)
    columns = {
        name: np.concatenate([values, added[name]]) if name in added else _with_unknown(values, count)
        for name, values in own.items()
    }
    columns[REALTIME] = np.repeat(np.array([0, 1], dtype=np.int64), [len(workload), count])
    logged = {name: np.append(values, np.full(count, np.nan)) for name, values in workload.logged.items()}
    joined = Workload.from_columns(
        columns,
        logged=logged,
        name=workload.name,
        machine=workload.machine,
        epoch=workload.epoch,
        header=workload.header,
        read=workload.read + count,
        dropped=workload.dropped,
        changed=workload.changed,
        source_hash=workload.source_hash,
    )
    return _noted(joined, {}, (*lines, f"jobs added={count}"))


def _with_unknown(values: NDArray[Any], count: int) -> NDArray[Any]:
    """A fact, with as many unknown values behind it."""
    if values.dtype.kind in "iu":
        return np.append(values, np.full(count, -1, dtype=np.int64))
    if values.dtype.kind == "f":
        return np.append(values, np.full(count, np.nan))
    return np.append(values.astype(object), np.full(count, None, dtype=object))


# Another machine ----------------------------------------------------------------------


def scale(
    workload: Workload, machine: int, *, whole: int | None = None, sizes: Sequence[int] | None = None
) -> Workload:
    """The same jobs on a machine of another size: each takes the same share of it, rounded up.

    Args:
        workload: the jobs.
        machine: processors of the new machine; equation 59 takes Mira's 49,152 nodes.
        whole: processors of the old one; by default as the workload states it. Curie has 93,312.
        sizes: of the blocks of the new machine, to which jobs are rounded up; by default to
            whole processors.

    Raises:
        ConfigurationError: a machine of no processors or one that is not known; a job
            that no block holds.
    """
    machine = common.whole("machine", machine, 1)
    stated = workload.machine if whole is None else whole
    if stated is None:
        raise ConfigurationError(f"{workload.name} does not state its machine; say how many processors it had: whole")
    old = common.whole("whole", stated, 1)
    scaled = np.array([-(-size * machine // old) for size in workload.processors.tolist()], dtype=np.int64)
    steps = _steps(sizes) if sizes is not None else (machine,)
    if (scaled > steps[-1]).any():
        first = int(np.argmax(scaled > steps[-1]))
        raise ConfigurationError(
            f"{workload.name}: job {workload.id[first]} would take {scaled[first]} processors, and the largest "
            f"block has {steps[-1]}; leave such jobs out or say how many processors there were: whole"
        )
    scaled = _up_to_step(scaled, steps) if sizes is not None else scaled
    lines = (f"machine={machine}", f"whole={old}", f"sizes={steps if sizes is not None else None!r}")
    hit = scaled != workload.processors
    reason = f"processors scaled from {old} to {machine}" + (", up to a block" if sizes is not None else "")
    change = (Changed(reason, int(hit.sum()), f"job {workload.id[int(np.argmax(hit))]}"),) if hit.any() else ()
    return replace(
        workload,
        processors=scaled,
        machine=machine,
        changed=(*workload.changed, *change),
        header=(*workload.header, *(f"; Note: scaled {line}" for line in lines)),
        source_hash=common.digest("scale", workload.source_hash, *lines),
    )


def _steps(sizes: Sequence[int]) -> tuple[int, ...]:
    steps = tuple(sorted({common.whole("a size", size, 1) for size in sizes}))
    if not steps:
        raise ConfigurationError("there is no size of a block; give one at least")
    return steps


def _up_to_step(processors: Ints, steps: tuple[int, ...]) -> Ints:
    """Each number raised to the next size; none is above the largest."""
    return np.array([steps[bisect_left(steps, number)] for number in processors.tolist()], dtype=np.int64)
