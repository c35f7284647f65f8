"""The workload model of Jann et al. (1997), fitted to any log.

Source: J. Jann, P. Pattnaik, H. Franke, F. Wang, J. Skovira and J. Riordan, "Modeling of
workload in MPPs", Job Scheduling Strategies for Parallel Processing, LNCS 1291 (1997), 95-116,
and the page of the model in the Parallel Workloads Archive,
https://www.cs.huji.ac.il/labs/parallel/workload/m_jann97/. The paper on KEASY, REASY and MEASY
(X. Liu et al., Mathematical Problems in Engineering 2012, 695757, section 3.1) calls 100,000
of its jobs for 320 processors JWload and prints three moments.

**Published**: jobs are divided by size at the powers of two (1, 2, 3-4, 5-8, ...); for each range
the times between submissions and the run times are hyper-Erlang of common order with the first
three moments of the log (:mod:`~emulator.workload.models.hyper_erlang`). The authors fitted it to
79 days of the 322-node partition of the SP2 of the Cornell Theory Center (CTC); their parameters
are printed in their paper and are not used here.

:func:`ctc` is our fit to the whole log of that machine, CTC-SP2-1996-3.1-cln in the Parallel
Workloads Archive (by Dan Dwyer and Steve Hotovy; 77,205 jobs, 11 months). :func:`jw` is the
same, **calibrated** to JWload by three numbers, see :func:`calibrate`: serial jobs come less
often (40.8 % of all instead of 42.0 %), larger jobs less often the larger they are (a factor
size^-0.047), and all run times are multiplied by 1.0107.

=====================  =========  ===========  ============
moment                 JWload     expectation  uncalibrated
=====================  =========  ===========  ============
mean parallelism       10.5       10.500       10.931
mean run time          11267 s    11267 s      11252 s
serial jobs            40.8 %     40.80 %      41.96 %
=====================  =========  ===========  ============

With 100,000 jobs and seeds 0 to 19, mean parallelism was 10.2 to 10.8, mean run time 11165 to
11418 s and the serial share 39.9 to 41.5 %: the gaps vary so much that the ranges' parts of a
sample do as well.

What the published description leaves open is read as follows:

1. Within a range a job has the sizes of the log, with the log's probabilities.
2. The ranges are independent renewal processes, of which the first submissions of all are kept.
3. **Jobs larger than the machine** are never generated. A range of which only some sizes fit
   keeps those, and its jobs come less often in proportion, as if the log had been filtered; a
   range of which none fits is left out. If no size of any range fits, it is an error.
4. A range with fewer than 10 gaps or run times gets an exponential distribution with their
   mean; one with a single job, or all of whose jobs were submitted at once, gets gaps with the
   mean duration of the log per job.
5. Run times below 1 s are fitted as 1 s; drawn run times are rounded to whole seconds, 1 s at
   least, and submit times cut to whole seconds.
6. Nothing limits a run time: the log's longest (often the site's limit) may be exceeded.

What is not in the model and is our addition: time limits and users, as in
:mod:`~emulator.workload.models.lublin99`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.workload.models import common
from emulator.workload.models.common import Estimates, Request
from emulator.workload.models.hyper_erlang import HyperErlang, exponential, fit_sample
from emulator.workload.models.jann97_parameters import Jann97Parameters, SizeRange, parse_parameters
from emulator.workload.workload import Floats, Ints, Workload
from slurm_sim_plugins.errors import ConfigurationError, InputError

PUBLISHED_MACHINE = 320
"""The machine for which moments are published."""

PUBLISHED_MOMENTS = {"mean_parallelism": 10.5, "mean_run": 11267.0, "serial_share": 0.408}
"""Of JWload (Liu et al. 2012, section 3.1 and table 1)."""

LARGEST_TILT = 50.0
"""Beyond this exponent of the size, the sizes of a range do not matter any more."""


class _Purpose(IntEnum):
    """One independent random stream each, for each range where that makes sense."""

    SIZES = 0
    RUNS = 1
    ARRIVALS = 2
    ESTIMATES = 3
    USERS = 4


@dataclass(frozen=True)
class RangeMoments:
    """What the jobs of a range of sizes are like.

    Attributes:
        least: smallest size of the range, in processors.
        most: largest size.
        jobs: how many jobs.
        mean_size: in processors.
        gaps: mean (seconds), coefficient of variation and skewness of the times between two
            submissions; NaN where there are too few.
        runs: the same of the run times.
    """

    least: int
    most: int
    jobs: int
    mean_size: float
    gaps: tuple[float, float, float]
    runs: tuple[float, float, float]


@cache
def ctc() -> Jann97Parameters:
    """The fit to the log of the SP2 of the Cornell Theory Center."""
    file = resources.files("emulator.workload.models") / "jann97_ctc.toml"
    return parse_parameters(file.read_text(encoding="utf-8"), "jann97_ctc.toml")


@cache
def jw() -> Jann97Parameters:
    """:func:`ctc`, calibrated to the moments that are published of JWload."""
    return calibrate(ctc(), PUBLISHED_MACHINE, **PUBLISHED_MOMENTS)


def fit(workload: Workload) -> Jann97Parameters:
    """Fit the model to a log.

    Args:
        workload: the log's jobs, 2 or more, not all submitted at once.

    Raises:
        InputError: too few jobs, or all submitted at once.
    """
    span = float(workload.submit[-1] - workload.submit[0]) if len(workload) else 0.0
    if span <= 0:
        raise InputError(f"{workload.name}: there are no times between submissions to fit a model to")
    number = _range_numbers(workload.processors)
    ranges = [_fit_range(workload.where(number == each), span) for each in np.unique(number)]
    return Jann97Parameters(tuple(ranges), source=workload.name)


def generate(
    jobs: int,
    processors: int,
    seed: int,
    *,
    load: float | None = None,
    overload: bool = False,
    parameters: Jann97Parameters | None = None,
    estimates: Estimates = "factor",
    estimate_factor: float = 5.0,
    users: int | None = None,
) -> Workload:
    """Generate a workload; the same arguments give the same jobs.

    Args:
        jobs: how many, 1 or more.
        processors: of the machine, 1 or more; no job takes more (reading 3).
        seed: 0 or more.
        load: target of ``Workload.load(processors)``, or None for that of the log on this
            machine; reached to within 1 %.
        overload: whether the load may be above 1.
        parameters: of a log, or None for :func:`jw`.
        estimates: ``factor`` draws time limits, ``exact`` makes them the run times.
        estimate_factor: largest over-estimation, 1 or more.
        users: number of users, 0 for no ``user`` fact, None for about sqrt(jobs).

    Returns:
        Jobs with ids from 1 in the order of submission, whole seconds, and (unless ``users``
        is 0) the fact ``user``.

    Raises:
        ConfigurationError: an argument out of its range, no size that fits the machine, or a
            load that this workload cannot reach in whole seconds.
    """
    request = Request(jobs, processors, seed, load, overload, estimates, estimate_factor, users)
    parameters = jw() if parameters is None else parameters
    ranges = _that_fit(parameters, request.processors)
    times, which = _arrivals(ranges, request)
    columns: dict[str, NDArray[Any]] = {"submit": times, **_jobs(ranges, which, request)}
    if request.count_users() > 0:
        columns["user"] = common.draw_users(request.count_users(), request.jobs, _stream(request, _Purpose.USERS))
    settings = {
        "jobs": request.jobs,
        "processors": request.processors,
        "seed": request.seed,
        "load": common.plain(request.load),
        "estimates": request.estimates,
        "estimate_factor": common.plain(request.estimate_factor),
        "users": request.count_users(),
        "source": parameters.source,
        "parameters": parameters.digest(),
    }
    return common.assemble(
        request,
        name="jann97",
        title="Jann et al. (1997)",
        columns=columns,
        settings=settings,
        rng=_stream(request, _Purpose.ESTIMATES),
    )


describe = common.describe_beside(PUBLISHED_MOMENTS, PUBLISHED_MACHINE)
"""Moments of a workload, on 320 processors beside those of JWload."""


def expect(parameters: Jann97Parameters, processors: int) -> dict[str, float]:
    """What the moments of a job are in the long run, from the distributions themselves.

    Args:
        parameters: of a log.
        processors: of the machine.

    Returns:
        ``mean_parallelism`` in processors, ``mean_run`` in seconds and ``serial_share``.

    Raises:
        ConfigurationError: no size fits the machine.
    """
    ranges = _that_fit(parameters, processors)
    rate = np.array([1 / each.gaps.moment(1) for each in ranges])
    share = rate / rate.sum()
    serial = [each.jobs[0] / each.total if each.sizes[0] == 1 else 0.0 for each in ranges]
    return {
        "mean_parallelism": float(share @ [each.mean_size for each in ranges]),
        "mean_run": float(share @ [each.runs.moment(1) for each in ranges]),
        "serial_share": float(share @ serial),
    }


def calibrate(
    parameters: Jann97Parameters, processors: int, *, serial_share: float, mean_parallelism: float, mean_run: float
) -> Jann97Parameters:
    """Move a fit to given moments by three numbers, with every distribution's shape kept.

    The gaps of the serial jobs are multiplied by one number, those of each other range by its
    mean size to a power, and all run times by one number. All jobs together come as often as
    before.

    Args:
        parameters: of a log that has a range of serial jobs alone, and two others.
        processors: of the machine; what does not fit is left out.
        serial_share: of the jobs, between 0 and 1.
        mean_parallelism: in processors.
        mean_run: in seconds.

    Returns:
        Parameters of which :func:`expect` has these moments.

    Raises:
        ConfigurationError: moments that cannot be had, such as a mean parallelism above the
            largest mean size of a range.
    """
    ranges = _that_fit(parameters, processors)
    if ranges[0].sizes != (1,) or len(ranges) < 3:
        raise ConfigurationError("jann97: to be calibrated, parameters need a serial range and two others that fit")
    if not (0 < serial_share < 1 and mean_run > 0):
        raise ConfigurationError("jann97: a serial share is between 0 and 1, and a mean run time above 0 s")
    size = np.array([each.mean_size for each in ranges])
    rate = np.array([1 / each.gaps.moment(1) for each in ranges])
    target = (mean_parallelism - serial_share) / (1 - serial_share)
    if not size[1] < target < size[-1]:
        raise ConfigurationError(
            f"jann97: with {serial_share:g} serial jobs a mean parallelism of {mean_parallelism:g} cannot be had"
        )
    parallel = _tilted(rate[1:], size[1:], target)
    share = np.concatenate(([serial_share], (1 - serial_share) * parallel))
    longer = mean_run / float(share @ [each.runs.moment(1) for each in ranges])
    stretch = rate / (rate.sum() * share)
    moved = [
        replace(each, gaps=each.gaps.scaled(float(by)), runs=each.runs.scaled(longer))
        for each, by in zip(ranges, stretch, strict=True)
    ]
    return Jann97Parameters(tuple(moved), source=f"{parameters.source}, calibrated")


def moments_by_range(workload: Workload) -> list[RangeMoments]:
    """What the jobs of a workload are like, range of sizes by range."""
    number = _range_numbers(workload.processors)
    parts = {int(each): workload.where(number == each) for each in np.unique(number)}
    return [replace(range_moments(jobs), least=2**each // 2 + 1, most=2**each) for each, jobs in parts.items()]


def range_moments(jobs: Workload) -> RangeMoments:
    """What some jobs are like, one or more, as if they were a range."""
    return RangeMoments(
        least=int(jobs.processors.min()),
        most=int(jobs.processors.max()),
        jobs=len(jobs),
        mean_size=float(jobs.processors.mean()),
        gaps=_shape(np.diff(jobs.submit)),
        runs=_shape(jobs.run),
    )


def _range_numbers(processors: Ints) -> Ints:
    """0 for 1 processor, 1 for 2, 2 for 3 and 4, 3 for 5 to 8, and so on."""
    # From 2^53 on a logarithm could be off by one; no machine comes near.
    return np.asarray(np.ceil(np.log2(processors)), dtype=np.int64)


def _fit_range(jobs: Workload, span: float) -> SizeRange:
    sizes, counts = np.unique(jobs.processors, return_counts=True)
    gaps = np.diff(jobs.submit)
    lone = len(gaps) == 0 or gaps.max() == 0
    return SizeRange(
        sizes=tuple(sizes.tolist()),
        jobs=tuple(counts.tolist()),
        gaps=exponential(span / len(jobs)) if lone else fit_sample(gaps),
        runs=fit_sample(np.maximum(jobs.run, 1.0)),
    )


def _that_fit(parameters: Jann97Parameters, processors: int) -> list[SizeRange]:
    """The ranges, without the sizes that are too large for the machine."""
    ranges = []
    for each in parameters.ranges:
        keep = sum(size <= processors for size in each.sizes)
        if keep:
            jobs = each.jobs[:keep]
            rarer = each.gaps.scaled(each.total / sum(jobs)) if keep < len(each.sizes) else each.gaps
            ranges.append(replace(each, sizes=each.sizes[:keep], jobs=jobs, gaps=rarer))
    if not ranges:
        raise ConfigurationError(
            f"jann97: the smallest job of {parameters.source} takes {parameters.ranges[0].sizes[0]} processors; "
            f"the machine has {processors}"
        )
    return ranges


def _arrivals(ranges: list[SizeRange], request: Request) -> tuple[Floats, Ints]:
    """Times in seconds of the first jobs of all ranges together, from 0 on, and which range each is of."""
    streams = [_arrival_times(each.gaps, request, each.sizes[0]) for each in ranges]
    times = np.concatenate(streams)
    first = np.argsort(times, kind="stable")[: request.jobs]
    return times[first] - times[first[0]], first // request.jobs


def _arrival_times(gaps: HyperErlang, request: Request, least: int) -> Floats:
    return np.cumsum(gaps.draw(request.jobs, _stream(request, _Purpose.ARRIVALS, least)))


def _jobs(ranges: list[SizeRange], which: Ints, request: Request) -> dict[str, NDArray[Any]]:
    """Processors and run times of jobs whose ranges are known."""
    processors, run = np.ones(len(which), dtype=np.int64), np.ones(len(which))
    for number, each in enumerate(ranges):
        mine = np.flatnonzero(which == number)
        drawn = _stream(request, _Purpose.SIZES, each.sizes[0]).random(len(mine)) * each.total
        processors[mine] = np.array(each.sizes)[np.searchsorted(np.cumsum(each.jobs), drawn, side="right")]
        run[mine] = each.runs.draw(len(mine), _stream(request, _Purpose.RUNS, each.sizes[0]))
    return {"processors": processors, "run": common.whole_seconds(run)}


def _tilted(rate: Floats, size: Floats, target: float) -> Floats:
    """Shares proportional to rate * size^power, with the power that makes the mean size the target."""
    low, high = -LARGEST_TILT, LARGEST_TILT
    for _ in range(200):
        power = (low + high) / 2
        weight = rate * (size / size.max()) ** power
        share = weight / weight.sum()
        low, high = (power, high) if share @ size < target else (low, power)
    if not math.isclose(share @ size, target, rel_tol=1e-9):
        raise ConfigurationError(f"jann97: a mean of {target:g} processors of the parallel jobs cannot be had")
    return np.asarray(share, dtype=np.float64)


def _shape(values: Floats) -> tuple[float, float, float]:
    """Mean, coefficient of variation and skewness; NaN where there are too few values or no spread."""
    if len(values) == 0:
        return math.nan, math.nan, math.nan
    mean, spread = float(values.mean()), float(values.std())
    if not (mean > 0 and spread > 0):
        return mean, (0.0 if mean > 0 else math.nan), math.nan
    return mean, spread / mean, float((((values - mean) / spread) ** 3).mean())


def _stream(request: Request, purpose: _Purpose, *numbers: int) -> np.random.Generator:
    return common.stream(request.seed, "jann97", purpose, *numbers)
