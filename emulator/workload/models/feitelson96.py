"""The workload model of Feitelson (1996): popular sizes, hyper-exponential run times, repeated runs.

Source: D. G. Feitelson, "Packing schemes for gang scheduling", Job Scheduling Strategies for
Parallel Processing, LNCS 1162 (1996), 89-110, and the page of the model in the Parallel
Workloads Archive, https://www.cs.huji.ac.il/labs/parallel/workload/m_feitelson96/. The paper
on KEASY, REASY and MEASY (X. Liu et al., Mathematical Problems in Engineering 2012, 695757,
section 3.1) calls 200,000 of its jobs for 320 processors FWload and prints three moments.

**Published**: sizes are harmonic of order 1.5, tailored by hand to emphasise powers of two and
the full machine; run times are hyper-exponential, with a branch probability that makes larger
jobs run longer; a job is run r times with probability proportional to r^-2.5; arrivals are
Poisson. The branch probability 0.95 - 0.20 n / N for n of N processors and the ratio 7 of the
branches' means are unverified: no text of the paper was at hand to check them against. The mean
run time does not depend on them, since the unit of time is calibrated; its spread does.

**Calibrated** (to FWload, on 320 processors), because the tailoring by hand is not published:

* ``power_weight`` = 1.6: a power of two n from 2 on has 1.6 n times its harmonic weight, so
  that its share falls with n^-0.5. A factor that is the same for all powers cannot give both
  a mean of 23.4 and less than 18 % of serial jobs, unless 2 processors are twice as popular
  as 1.
* ``full_share`` = 0.0098: this share of all jobs takes the full machine, besides those to
  which the harmonic distribution gives it.
* ``short_mean`` = 1878.4 s: the mean of the short branch, and with it the unit of time.

=====================  ========  ===========
moment                 FWload    expectation
=====================  ========  ===========
mean parallelism       23.4      23.387
mean run time          2606.6 s  2606.6 s
serial jobs            < 18 %    17.76 %
=====================  ========  ===========

A sample strays from its expectation more than its size suggests, since r^-2.5 has no variance:
one job of a full machine may come back thousands of times. With 200,000 jobs and seeds 0 to 19,
mean parallelism was 22.2 to 25.1, median 23.2, and once 32.7; mean run time 2487 to 2781 s,
median 2606 s; the serial share 16.2 to 20.0 %, median 17.6 %.

What the published description leaves open is read as follows:

1. All runs of a job have the same size and the same run time.
2. ``repeats="after"``: jobs arrive in a Poisson stream, and a job is submitted again at the moment at
   which its last run would have ended had it begun at once; users of the original model wait for their
   results. ``repeats="next"``: all submissions are one Poisson stream, and the runs of a job
   follow each other in it; this takes no account of how long they are.
3. A workload is the first submissions from an idle start. With ``after``, long series are
   cut short by the end, so small workloads hold somewhat shorter jobs.
4. The rate of the stream is no part of the model. Without a target load it is such that the
   load is 0.7 in the long run.
5. Run times are rounded to whole seconds, 1 s at least; submit times are cut to whole seconds.

What is not in the model and is our addition: time limits and users, as in
:mod:`~emulator.workload.models.lublin99`; all runs of a job are by the same user. The fact
``executable`` numbers the jobs of the model: what has the same number is the same job again.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from emulator.workload.models import common
from emulator.workload.models.common import Estimates, Request
from emulator.workload.workload import Floats, Ints, Workload
from slurm_sim_plugins.errors import ConfigurationError

Repeats = Literal["after", "next"]

PUBLISHED_MACHINE = 320
"""The machine for which moments are published."""

PUBLISHED_MOMENTS = {"mean_parallelism": 23.4, "mean_run": 2606.6, "serial_share": 0.18}
"""Of FWload (Liu et al. 2012, section 3.1 and table 1); the serial share is an upper bound."""

LARGEST_MACHINE = 2**24
"""The shares of all sizes are kept in a table."""

BASE_LOAD = 0.7
"""Load of the model in the long run where no other is asked for (reading 4)."""


class _Purpose(IntEnum):
    """One independent random stream each, so that changing one leaves the others as they are."""

    SIZES = 0
    RUNS = 1
    ARRIVALS = 2
    REPEATS = 3
    ESTIMATES = 4
    USERS = 5


@dataclass(frozen=True)
class Feitelson96Parameters:
    """The constants of the model.

    Attributes:
        order: of the harmonic distribution of sizes: n has the weight n^-order.
        power_weight: factor on the weight of a power of two n from 2 on, per processor.
        full_share: share of all jobs that takes the full machine whatever the harmonic
            distribution says.
        short_share: probability of the short branch for a job of (hypothetically) no processors.
        size_slope: by how much that probability is less for a job of the full machine.
        short_mean: mean run time of the short branch, in seconds.
        long_factor: mean of the long branch over that of the short one.
        repeat_order: r runs have a probability proportional to r^-repeat_order; above 2, or
            there were no mean number of runs.

    Raises:
        ConfigurationError: a parameter that is not finite or out of its range.
    """

    order: float = 1.5
    power_weight: float = 1.6
    full_share: float = 0.0098
    short_share: float = 0.95
    size_slope: float = 0.20
    short_mean: float = 1878.4
    long_factor: float = 7.0
    repeat_order: float = 2.5

    def __post_init__(self) -> None:
        common.require_finite("feitelson96", asdict(self))
        for name in ("order", "power_weight"):
            if getattr(self, name) < 0:
                raise ConfigurationError(f"feitelson96: {name} is {getattr(self, name)}; it must be 0 or more")
        for name in ("full_share", "short_share", "size_slope"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigurationError(f"feitelson96: {name} is {getattr(self, name)}; it must be between 0 and 1")
        for name, least in (("short_mean", 0), ("long_factor", 0), ("repeat_order", 2)):
            if getattr(self, name) <= least:
                raise ConfigurationError(f"feitelson96: {name} is {getattr(self, name)}; it must be more than {least}")
        if self.size_slope > self.short_share:
            raise ConfigurationError(
                "feitelson96: size_slope must not exceed short_share: it is taken from it for a job of the full machine"
            )


FW = Feitelson96Parameters()
"""As published, and calibrated to FWload."""


def generate(
    jobs: int,
    processors: int,
    seed: int,
    *,
    load: float | None = None,
    overload: bool = False,
    parameters: Feitelson96Parameters = FW,
    repeats: Repeats = "after",
    estimates: Estimates = "factor",
    estimate_factor: float = 5.0,
    users: int | None = None,
) -> Workload:
    """Generate a workload; the same arguments give the same jobs.

    Args:
        jobs: how many submissions, 1 or more.
        processors: of the machine, 1 to 2^24; no job takes more.
        seed: 0 or more.
        load: target of ``Workload.load(processors)``, or None for 0.7 in the long run;
            reached to within 1 %.
        overload: whether the load may be above 1.
        parameters: constants of the model.
        repeats: when a job is submitted again (reading 2).
        estimates: ``factor`` draws time limits, ``exact`` makes them the run times.
        estimate_factor: largest over-estimation, 1 or more.
        users: number of users, 0 for no ``user`` fact, None for about sqrt(jobs).

    Returns:
        Jobs with ids from 1 in the order of submission, whole seconds, and the facts
        ``executable`` and (unless ``users`` is 0) ``user``.

    Raises:
        ConfigurationError: an argument out of its range, or a load that this workload cannot
            reach in whole seconds.
    """
    request = Request(jobs, processors, seed, load, overload, estimates, estimate_factor, users)
    common.choose("repeats", repeats, Repeats)
    jobs, processors = request.jobs, request.processors

    size = _draw_sizes(parameters, processors, jobs, _stream(request, _Purpose.SIZES))
    run = _draw_runs(parameters, size, processors, _stream(request, _Purpose.RUNS))
    runs = np.minimum(_stream(request, _Purpose.REPEATS).zipf(parameters.repeat_order, jobs), jobs)
    gaps = _stream(request, _Purpose.ARRIVALS).exponential(_gap(parameters, processors), jobs)
    times, series = (_after if repeats == "after" else _next)(parameters, gaps, run, runs)

    columns: dict[str, NDArray[Any]] = {
        "submit": times,
        "processors": size[series],
        "run": run[series],
        "executable": np.unique(series, return_inverse=True)[1] + 1,
    }
    if request.count_users() > 0:
        of_series = common.draw_users(request.count_users(), jobs, _stream(request, _Purpose.USERS))
        columns["user"] = of_series[series]
    settings = {
        **_settings(request, repeats),
        **{name: common.plain(value) for name, value in asdict(parameters).items()},
    }
    return common.assemble(
        request,
        name="feitelson96",
        title="Feitelson (1996)",
        columns=columns,
        settings=settings,
        rng=_stream(request, _Purpose.ESTIMATES),
    )


describe = common.describe_beside(PUBLISHED_MOMENTS, PUBLISHED_MACHINE)
"""Moments of a workload, on 320 processors beside those of FWload."""


def expect(parameters: Feitelson96Parameters, processors: int) -> dict[str, float]:
    """What the moments of a job are expected to be, from the distributions themselves.

    Args:
        parameters: constants of the model.
        processors: of the machine.

    Returns:
        ``mean_parallelism`` in processors, ``mean_run`` in seconds, ``serial_share``,
        ``mean_area`` in processor-seconds, and ``mean_runs``, how often a job is run.
    """
    share = size_shares(parameters, processors)
    size = np.arange(1, processors + 1)
    run = _mean_run(parameters, size / processors)
    return {
        "mean_parallelism": float(share @ size),
        "mean_run": float(share @ run),
        "serial_share": float(share[0]),
        "mean_area": float(share @ (size * run)),
        "mean_runs": _zeta(parameters.repeat_order - 1) / _zeta(parameters.repeat_order),
    }


def size_shares(parameters: Feitelson96Parameters, processors: int) -> Floats:
    """The shares of the sizes 1, 2, ... ``processors`` of all jobs.

    Raises:
        ConfigurationError: a machine too large for a table.
    """
    if processors > LARGEST_MACHINE:
        raise ConfigurationError(
            f"processors is {processors}; feitelson96 keeps a table of all sizes and takes {LARGEST_MACHINE} or less"
        )
    size = np.arange(1, processors + 1)
    weight = size**-parameters.order
    powers = (size > 1) & (size & (size - 1) == 0)
    weight[powers] *= parameters.power_weight * size[powers]
    share = (1 - parameters.full_share) * weight / weight.sum()
    share[-1] += parameters.full_share
    return np.asarray(share, dtype=np.float64)


def _draw_sizes(parameters: Feitelson96Parameters, processors: int, count: int, rng: np.random.Generator) -> Ints:
    total = np.cumsum(size_shares(parameters, processors))
    index = np.searchsorted(total, rng.random(count) * total[-1], side="right")
    return np.asarray(np.minimum(index, processors - 1) + 1, dtype=np.int64)


def _draw_runs(parameters: Feitelson96Parameters, size: Ints, processors: int, rng: np.random.Generator) -> Floats:
    branch, length = rng.random(len(size)), rng.standard_exponential(len(size))
    short = parameters.short_share - parameters.size_slope * size / processors
    factor = np.where(branch < short, 1.0, parameters.long_factor)
    return common.whole_seconds(length * factor * parameters.short_mean)


def _mean_run(parameters: Feitelson96Parameters, part: Floats) -> Floats:
    """Mean run time, in seconds, of jobs that take those parts of the machine."""
    short = parameters.short_share - parameters.size_slope * part
    return parameters.short_mean * (short + (1 - short) * parameters.long_factor)


def _gap(parameters: Feitelson96Parameters, processors: int) -> float:
    """Mean time between two submissions, in seconds, for the model's own load."""
    return expect(parameters, processors)["mean_area"] / processors / BASE_LOAD


def _after(parameters: Feitelson96Parameters, gaps: Floats, run: Floats, runs: Ints) -> tuple[Floats, Ints]:
    """Submit times of the first jobs, and of which series each is; a run follows the end of the last.

    As many series are drawn as there are jobs, so that none that begins before the last job is missing.
    """
    jobs = len(gaps)
    often = _zeta(parameters.repeat_order - 1) / _zeta(parameters.repeat_order)
    begin = np.concatenate(([0.0], np.cumsum(gaps[:-1]))) * often
    # Of a long series only what begins before the last series does can be among the first jobs.
    runs = np.minimum(runs, np.floor((begin[-1] - begin) / run).astype(np.int64) + 1)
    series = np.repeat(np.arange(jobs), runs)
    number = np.arange(len(series)) - np.repeat(np.cumsum(runs) - runs, runs)
    times = begin[series] + number * run[series]
    first = np.argsort(times, kind="stable")[:jobs]
    return times[first], series[first]


def _next(parameters: Feitelson96Parameters, gaps: Floats, run: Floats, runs: Ints) -> tuple[Floats, Ints]:
    """As :func:`_after`; a run is the next submission of all."""
    jobs = len(gaps)
    needed = int(np.searchsorted(np.cumsum(runs), jobs)) + 1
    series = np.repeat(np.arange(needed), runs[:needed])[:jobs]
    return np.concatenate(([0.0], np.cumsum(gaps[:-1]))), series


def _zeta(order: float) -> float:
    """Riemann's zeta function above 1: a sum, and the Euler-Maclaurin formula for the rest."""
    last = 1000
    head = float((np.arange(1.0, last) ** -order).sum())
    rest = last / (order - 1) + 1 / 2 + order / last / 12
    return head + math.pow(last, -order) * rest


def _settings(request: Request, repeats: str) -> dict[str, object]:
    return {
        "jobs": request.jobs,
        "processors": request.processors,
        "seed": request.seed,
        "load": common.plain(request.load),
        "repeats": repeats,
        "estimates": request.estimates,
        "estimate_factor": common.plain(request.estimate_factor),
        "users": request.count_users(),
    }


def _stream(request: Request, purpose: _Purpose) -> np.random.Generator:
    return common.stream(request.seed, "feitelson96", purpose)
