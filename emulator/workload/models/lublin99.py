"""The workload model of Lublin and Feitelson: sizes, run times and arrivals of rigid jobs.

Source: U. Lublin and D. G. Feitelson, "The workload on parallel supercomputers: modeling the
characteristics of rigid jobs", Journal of Parallel and Distributed Computing 63 (2003),
1105-1122, after U. Lublin's master's thesis (Hebrew University of Jerusalem, 1999). The
parameters are the model's published ones.

**Sizes** (the paper's section on job sizes). A job is serial with probability ``serial``;
otherwise u comes from a two-stage uniform distribution, is rounded to an integer for some of
the jobs, and the size is round(2^u).

**Run times** (section on run times). ln(run) is hyper-gamma: Gamma(a1, b1) with probability
p = pa * processors + pb, else Gamma(a2, b2).

**Arrivals** (section on the arrival process). exp(Gamma(aarr * arar, barr)) seconds lie between
two jobs in a half hour of average popularity. Each half hour of the day has a weight around 1;
a half hour of weight 2 uses a gap up twice as fast, so that twice as many jobs arrive in it.

What the published description leaves open is read as follows:

1. ``pow2`` is a share of *all* jobs, as ``serial`` is: serial + pow2 + the others are 1.
2. The table describes a machine of 2^7 = 128 processors. On another one ``uhi`` and ``umed``
   move by log2(machine / 128), so that ``uhi`` is log2(machine) for combined and batch jobs
   (and 1.5 less for interactive ones) and ``umed`` stays as far below ``uhi`` as in the table:
   2.5, for batch 2. Where ``umed`` would not be above ``ulow`` it is ``uhi`` - 1.5, the nearest
   end of the published range. ``sizes="table"`` takes the table as it stands, ``umed_below``
   sets the distance.
3. No size exceeds the machine: a u that would round up beyond it rounds down to the largest
   power of two inside, and parallel jobs take 2 processors or more if there are 2.
4. p is clipped to [0, 1] (combined jobs on 145 processors or more are all of the long branch);
   a run time above exp(12) s is drawn again as a whole, with a new choice of the branch; run
   times are cut to whole seconds and are never below 1 s.
5. ``arar`` multiplies the shape ``aarr``: gaps as fitted to the rush hours become gaps of the
   average half hour. Gaps above exp(13) s are drawn again.
6. The cycle's Gamma(anum, bnum) runs over the *numbers of the half hours*: the day is turned
   so that it goes from half hour 11 (which begins at 5:00) to half hour 58 (4:30 on the
   following day), which puts the rush at about 14:00 and the lull before 5:00. Over hours
   that begin at 11:00 the same parameters would put the rush at 4 in the morning. The weight
   of a half hour is the density at its number, and the mean weight is 1.
7. Second 0 of the clock is midnight, and the first job comes at second 0; every day is alike.
8. ``kind="both"`` merges a batch and an interactive stream, each with a first job at second 0,
   and keeps the first jobs; the fact ``queue`` is 1 for batch and 0 for interactive jobs.
9. A target load multiplies all submit times by base load / target load. This stretches the
   day as well: after scaling by 2 the cycle takes 48 h.

What is not in the model and is our addition:

* Time limits: a user over-estimates by a factor uniform on [1, ``estimate_factor``], and the
  limit is rounded up to whole minutes. ``estimates="exact"`` makes the limit the run time.
* Users: about sqrt(jobs) of them, user k with a share proportional to 1 / k. They are drawn
  independently of everything else, so a user's jobs are no more alike than any others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from emulator.workload.models import common
from emulator.workload.models.common import Estimates, Request
from emulator.workload.workload import Floats, Ints, Workload
from slurm_sim_plugins.errors import ConfigurationError

Kind = Literal["combined", "batch", "interactive", "both"]
Sizes = Literal["machine", "table"]

LONGEST_LOG_RUN = 12.0
"""Largest natural logarithm of a run time in seconds; exp(12) s are about 45 hours."""

LONGEST_LOG_GAP = 13.0
"""Largest natural logarithm of a gap between two jobs in seconds; exp(13) s are about 5 days."""

BUCKETS = 48
"""Half hours of a day."""

SECONDS_PER_BUCKET = 1800.0

FIRST_BUCKET = 11
"""Number, counted from 1 at midnight, of the half hour with which the turned day begins."""

TABLE_LOG2_MACHINE = 7.0
"""log2 of the machine's processors for which the table's umed and uhi hold."""

UMED_BELOW = (1.5, 3.5)
"""The published range of the distance between uhi and umed."""

MOST_REDRAWS = 1000

_QUEUES = {"interactive": 0, "batch": 1}
"""The queue numbers that the Standard Workload Format suggests."""


class _Purpose(IntEnum):
    """One independent random stream each, so that changing one leaves the others as they are."""

    SIZES = 0
    RUNS = 1
    ARRIVALS = 2
    ESTIMATES = 3
    USERS = 4


@dataclass(frozen=True)
class Lublin99Parameters:
    """The 17 parameters of one type of jobs.

    Attributes:
        serial: share of jobs that take one processor.
        pow2: share of all jobs whose u is rounded, so that the size is a power of two.
        ulow: smallest u, log2 of the smallest parallel size (0.2 or so less makes it likelier).
        umed: u at which the two stages meet; 1.5 to 3.5 below uhi.
        uhi: largest u, log2 of the largest size.
        uprob: share of the parallel jobs with u on [ulow, umed]; the others are on [umed, uhi].
        a1: shape of the short branch of ln(run in seconds).
        b1: scale of the short branch of ln(run in seconds).
        a2: shape of the long branch.
        b2: scale of the long branch.
        pa: change of the short branch's probability per processor; negative where larger jobs
            run longer.
        pb: probability of the short branch for a job of (hypothetically) no processors.
        aarr: shape of ln(gap in seconds) between two jobs in the rush hours.
        barr: scale of ln(gap in seconds).
        anum: shape of the daily cycle, over numbers of half hours.
        bnum: scale of the daily cycle, in half hours.
        arar: factor on aarr that turns gaps of the rush hours into gaps of all hours
            (the "arrive-rush-to-all ratio").

    Raises:
        ConfigurationError: a parameter that is not finite or out of its range.
    """

    serial: float
    pow2: float
    ulow: float
    umed: float
    uhi: float
    uprob: float
    a1: float
    b1: float
    a2: float
    b2: float
    pa: float
    pb: float
    aarr: float
    barr: float
    anum: float
    bnum: float
    arar: float

    def __post_init__(self) -> None:
        common.require_finite("lublin99", asdict(self))
        for name in ("a1", "b1", "a2", "b2", "aarr", "barr", "anum", "bnum", "arar"):
            if getattr(self, name) <= 0:
                raise ConfigurationError(f"lublin99: {name} is {getattr(self, name)}; it must be more than 0")
        for name in ("serial", "pow2", "uprob"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigurationError(f"lublin99: {name} is {getattr(self, name)}; it must be between 0 and 1")
        if self.serial + self.pow2 > 1:
            raise ConfigurationError(
                "lublin99: serial and pow2 are shares of all jobs; together they must not exceed 1"
            )
        if not 0 <= self.ulow <= self.umed <= self.uhi:
            raise ConfigurationError("lublin99: ulow, umed and uhi must be 0 or more and in this order")


COMBINED = Lublin99Parameters(
    serial=0.244, pow2=0.576, ulow=0.8, umed=4.5, uhi=7.0, uprob=0.86,
    a1=4.2, b1=0.94, a2=312.0, b2=0.03, pa=-0.0054, pb=0.78,
    aarr=10.2303, barr=0.4871, anum=8.1737, bnum=3.9631, arar=1.0225,
)  # fmt: skip
"""All jobs of a machine as one type."""

BATCH = Lublin99Parameters(
    serial=0.2927, pow2=0.6686, ulow=1.2, umed=5.0, uhi=7.0, uprob=0.875,
    a1=6.57, b1=0.823, a2=639.1, b2=0.0156, pa=-0.003, pb=0.6986,
    aarr=6.0415, barr=0.8531, anum=6.1271, bnum=5.2740, arar=1.0519,
)  # fmt: skip
"""Batch jobs alone."""

INTERACTIVE = Lublin99Parameters(
    serial=0.1541, pow2=0.625, ulow=1.0, umed=3.0, uhi=5.5, uprob=0.705,
    a1=3.8351, b1=0.6605, a2=7.073, b2=0.6856, pa=-0.0118, pb=0.9156,
    aarr=6.5510, barr=0.6621, anum=8.9186, bnum=3.6680, arar=0.9797,
)  # fmt: skip
"""Interactive jobs alone."""

_PRESETS = {"combined": COMBINED, "batch": BATCH, "interactive": INTERACTIVE}


def generate(
    jobs: int,
    processors: int,
    seed: int,
    *,
    load: float | None = None,
    overload: bool = False,
    kind: Kind = "combined",
    parameters: Lublin99Parameters | None = None,
    sizes: Sizes = "machine",
    umed_below: float | None = None,
    estimates: Estimates = "factor",
    estimate_factor: float = 5.0,
    users: int | None = None,
) -> Workload:
    """Generate a workload; the same arguments give the same jobs.

    Args:
        jobs: how many, 1 or more.
        processors: of the machine, 1 or more; no job takes more.
        seed: 0 or more.
        load: target of ``Workload.load(processors)``, or None for the model's own; reached to
            within 1 %.
        overload: whether the load may be above 1.
        kind: which of the published parameters; ``both`` merges batch and interactive jobs.
        parameters: to be used instead of the published ones; not with ``both``.
        sizes: ``machine`` moves umed and uhi to the machine, ``table`` takes them as they stand.
        umed_below: distance between uhi and umed, 1.5 to 3.5, or None for the table's.
        estimates: ``factor`` draws time limits, ``exact`` makes them the run times.
        estimate_factor: largest over-estimation, 1 or more.
        users: number of users, 0 for no ``user`` fact, None for about sqrt(jobs).

    Returns:
        Jobs with ids from 1 in the order of submission, whole seconds, and the facts ``user`` (unless
        ``users`` is 0) and, with ``both``, ``queue``.

    Raises:
        ConfigurationError: an argument out of its range, or a load that this workload cannot
            reach in whole seconds.
    """
    request = Request(jobs, processors, seed, load, overload, estimates, estimate_factor, users)
    common.choose("kind", kind, Kind)
    common.choose("sizes", sizes, Sizes)
    if umed_below is not None and not UMED_BELOW[0] <= umed_below <= UMED_BELOW[1]:
        raise ConfigurationError(f"umed_below is {umed_below}; it must be between {UMED_BELOW[0]} and {UMED_BELOW[1]}")
    types = _types(kind, parameters)
    jobs, machine, seed = request.jobs, request.processors, request.seed

    times, which = _arrivals(types, jobs, seed)
    spans = {name: _size_range(of_type, machine, sizes, umed_below) for name, of_type in types.items()}
    size, run = _jobs(types, spans, which, machine, seed)
    columns: dict[str, NDArray[Any]] = {"submit": times, "processors": size, "run": run}
    if kind == "both":
        columns["queue"] = np.array([_QUEUES[name] for name in types])[which]
    if request.count_users() > 0:
        columns["user"] = common.draw_users(request.count_users(), jobs, _stream(seed, _Purpose.USERS, kind))

    settings = dict(
        jobs=jobs, machine=machine, seed=seed, load=common.plain(load), kind=kind, sizes=sizes,
        umed_below=common.plain(umed_below), estimates=estimates, estimate_factor=common.plain(estimate_factor),
        users=request.count_users(),
        **{
            f"{name}.{key}": common.plain(value)
            for name, of_type in types.items() for key, value in asdict(of_type).items()
        },
    )  # fmt: skip
    return common.assemble(
        request,
        name=f"lublin99-{kind}",
        title="Lublin and Feitelson (1999/2003)",
        columns=columns,
        settings=settings,
        rng=_stream(seed, _Purpose.ESTIMATES, kind),
    )


describe = common.describe
"""Moments of a workload."""


def day_weights(parameters: Lublin99Parameters) -> Floats:
    """Weights of the 48 half hours of a day, from midnight; their mean is 1 (reading 6)."""
    number = np.arange(FIRST_BUCKET, FIRST_BUCKET + BUCKETS)
    log_density = (parameters.anum - 1) * np.log(number) - number / parameters.bnum
    density = np.exp(log_density - log_density.max())
    weights = np.roll(density, FIRST_BUCKET - 1)
    return np.asarray(weights / weights.mean(), dtype=np.float64)


def _jobs(
    types: dict[str, Lublin99Parameters],
    spans: dict[str, tuple[float, float, float]],
    which: Ints,
    machine: int,
    seed: int,
) -> tuple[Ints, Floats]:
    """Processors and run times of jobs whose types are known."""
    processors = np.ones(len(which), dtype=np.int64)
    run = np.ones(len(which))
    for index, (name, of_type) in enumerate(types.items()):
        mine = np.flatnonzero(which == index)
        rng = _stream(seed, _Purpose.SIZES, name)
        processors[mine] = _draw_sizes(of_type, spans[name], machine, len(mine), rng)
        run[mine] = _draw_runs(of_type, processors[mine], _stream(seed, _Purpose.RUNS, name))
    return processors, run


def _arrivals(types: dict[str, Lublin99Parameters], jobs: int, seed: int) -> tuple[Floats, Ints]:
    """Times in seconds of the first jobs of all streams together, and which stream each is from."""
    streams = [_arrival_times(of_type, jobs, _stream(seed, _Purpose.ARRIVALS, name)) for name, of_type in types.items()]
    times = np.concatenate(streams)
    first = np.argsort(times, kind="stable")[:jobs]
    return times[first], first // jobs


def _arrival_times(parameters: Lublin99Parameters, count: int, rng: np.random.Generator) -> Floats:
    """Seconds since midnight, the first 0.

    A gap is spent half hour by half hour, each taking its weight away and what is left over
    passing on to the next gap. That is the inverse of the running total of the weights,
    taken at the running total of the gaps.
    """
    shape = parameters.aarr * parameters.arar
    logs = _redraw_above(LONGEST_LOG_GAP, count - 1, lambda which: rng.gamma(shape, parameters.barr, len(which)))
    spent = np.concatenate(([0.0], np.cumsum(np.exp(logs)))) / SECONDS_PER_BUCKET
    weights = day_weights(parameters)
    through_day = np.concatenate(([0.0], np.cumsum(weights)))
    day, rest = np.divmod(spent, through_day[-1])
    bucket = np.interp(rest, through_day, np.arange(BUCKETS + 1.0))
    return np.asarray((day * BUCKETS + bucket) * SECONDS_PER_BUCKET, dtype=np.float64)


def _size_range(
    parameters: Lublin99Parameters, machine: int, sizes: Sizes, umed_below: float | None
) -> tuple[float, float, float]:
    """(ulow, umed, uhi) for a machine (readings 2 and 3)."""
    whole = math.log2(machine)
    shift = whole - TABLE_LOG2_MACHINE if sizes == "machine" else 0.0
    high = min(max(parameters.uhi + shift, 1.0), whole)
    middle = parameters.umed + shift if umed_below is None else high - umed_below
    if middle <= parameters.ulow:
        middle = high - UMED_BELOW[0]
    low = min(parameters.ulow, high)
    return low, min(max(middle, low), high), high


def _draw_sizes(
    parameters: Lublin99Parameters,
    span: tuple[float, float, float],
    machine: int,
    count: int,
    rng: np.random.Generator,
) -> Ints:
    low, middle, high = span
    sort, stage, share = rng.random((3, count))
    u = np.where(
        stage < parameters.uprob,
        low + (middle - low) * share,
        middle + (high - middle) * share,
    )
    serial = sort < parameters.serial
    rounded = sort < parameters.serial + parameters.pow2
    largest_power = float(machine.bit_length() - 1)
    u = np.where(rounded, np.minimum(np.floor(u + 0.5), largest_power), u)
    size = np.where(serial, 1.0, np.rint(np.exp2(u)))
    return np.asarray(size, dtype=np.int64)


def _draw_runs(parameters: Lublin99Parameters, processors: Ints, rng: np.random.Generator) -> Floats:
    """Run times in whole seconds, 1 or more."""
    short = np.clip(parameters.pa * processors + parameters.pb, 0.0, 1.0)

    def draw(which: Ints) -> Floats:
        # Both branches are drawn for each job, so that other sizes do not move the stream.
        branch = rng.random(len(which))
        first = rng.gamma(parameters.a1, parameters.b1, len(which))
        second = rng.gamma(parameters.a2, parameters.b2, len(which))
        return np.where(branch < short[which], first, second)

    logs = _redraw_above(LONGEST_LOG_RUN, len(processors), draw)
    return np.maximum(np.floor(np.exp(logs)), 1.0)


def _redraw_above(limit: float, count: int, draw: Callable[[Ints], Floats]) -> Floats:
    """``count`` values of ``draw``, which gets the indices to fill, none of them above ``limit``."""
    values = draw(np.arange(count))
    for _ in range(MOST_REDRAWS):
        above = np.flatnonzero(values > limit)
        if len(above) == 0:
            return values
        values[above] = draw(above)
    raise ConfigurationError(
        f"lublin99: after {MOST_REDRAWS} attempts there are still times above exp({limit:g}) s; "
        "choose parameters for shorter run times or gaps"
    )


def _types(kind: Kind, parameters: Lublin99Parameters | None) -> dict[str, Lublin99Parameters]:
    """The job types of a workload by name."""
    if kind == "both":
        if parameters is not None:
            raise ConfigurationError("parameters describe one type of jobs; they cannot go with kind 'both'")
        return {"batch": BATCH, "interactive": INTERACTIVE}
    return {kind: _PRESETS[kind] if parameters is None else parameters}


def _stream(seed: int, purpose: _Purpose, kind: str) -> np.random.Generator:
    number = len(_Purpose) * get_args(Kind).index(kind) + int(purpose)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, number])))
