"""What the workload models share: their arguments, random streams, limits, users, load, moments.

A model is a module of this package with ``generate(jobs, processors, seed, *, load=None, ...)``
and ``describe(workload, processors)``. It draws submit times, sizes and run times;
:func:`assemble` makes a workload of them.

A target load multiplies all submit times by base load / target load (A. W. Mu'alem and D. G.
Feitelson, IEEE Transactions on Parallel and Distributed Systems 12 (2001), 529-543). It
stretches whatever structure the arrivals have: a cycle of a day, the distance of two runs of
the same job.
"""

from __future__ import annotations

import hashlib
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, SupportsIndex, get_args

import numpy as np
from numpy.typing import NDArray

from emulator.workload.workload import LARGEST_SECONDS, Floats, Ints, Workload
from slurm_sim_plugins.errors import ConfigurationError

Estimates = Literal["factor", "exact"]

LARGEST_MACHINE = 2**31 - 1
LARGEST_ESTIMATE_FACTOR = 1e6

LARGEST_LOAD = 1.0
"""A machine is offered all it can do; beyond, its queue grows for as long as jobs come."""

LARGEST_OVERLOAD = 100.0
"""The largest load for those who want an overload; more is a percentage or a mistake."""

LOAD_TOLERANCE = 0.01
"""How far, relatively, the load may be from the target once submit times are whole seconds."""

PUBLISHED = "published_"
"""What the names of published moments begin with, beside those of a workload."""


@dataclass(frozen=True)
class Request:
    """What every model is asked for, checked.

    Attributes:
        jobs: how many, 1 or more.
        processors: of the machine, 1 or more; no job takes more.
        seed: 0 or more.
        load: target of ``Workload.load(processors)``, or None for the model's own.
        overload: whether the load may be above 1 (and at most 100).
        estimates: ``factor`` draws time limits, ``exact`` makes them the run times.
        estimate_factor: largest over-estimation, 1 to 1e6.
        users: how many; 0 for no ``user`` fact, None for about sqrt(jobs).

    Raises:
        ConfigurationError: one of them is out of its range.
    """

    jobs: int
    processors: int
    seed: int
    load: float | None = None
    overload: bool = False
    estimates: Estimates = "factor"
    estimate_factor: float = 5.0
    users: int | None = None

    def __post_init__(self) -> None:
        for name, least in (("jobs", 1), ("processors", 1), ("seed", 0)):
            object.__setattr__(self, name, whole(name, getattr(self, name), least))
        if self.users is not None:
            object.__setattr__(self, "users", whole("users", self.users, 0))
        if self.processors > LARGEST_MACHINE:
            raise ConfigurationError(f"processors is {self.processors}; it must be {LARGEST_MACHINE} or less")
        for name in ("load", "estimate_factor"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float | None):
                raise ConfigurationError(f"{name} is {value!r}; it must be a number")
        choose("estimates", self.estimates, Estimates)
        if not 1 <= self.estimate_factor <= LARGEST_ESTIMATE_FACTOR:
            raise ConfigurationError(
                f"estimate_factor is {self.estimate_factor}; it must be between 1 and {LARGEST_ESTIMATE_FACTOR:g}"
            )
        if self.load is not None:
            self._check_load(self.load)

    def count_users(self) -> int:
        """How many users, 0 for none."""
        return max(1, round(math.sqrt(self.jobs))) if self.users is None else self.users

    def _check_load(self, load: float) -> None:
        if not 0 < load < math.inf:
            raise ConfigurationError(f"load is {load}; it must be a finite number above 0")
        if load > LARGEST_LOAD and not self.overload:
            raise ConfigurationError(
                f"load is {load:g}; above 1 the queue grows for as long as jobs come: give a share of the "
                "machine, such as 0.7, or allow an overload"
            )
        if load > LARGEST_OVERLOAD:
            raise ConfigurationError(f"load is {load:g}; even an overload must be {LARGEST_OVERLOAD:g} or less")
        if self.jobs < 2:
            raise ConfigurationError("a target load needs 2 jobs or more: one job has no time between submissions")


def assemble(
    request: Request,
    *,
    name: str,
    title: str,
    columns: Mapping[str, NDArray[Any]],
    settings: Mapping[str, object],
    rng: np.random.Generator,
) -> Workload:
    """Make a workload of what a model drew: to the target load, with time limits.

    Args:
        request: what was asked for.
        name: the model's, and of its variant.
        title: what a header calls the model.
        columns: ``submit`` (seconds, ascending), ``processors``, ``run`` (whole seconds) and facts.
        settings: all that the jobs depend on, in a fixed order; header and hash are made of it.
        rng: stream of the time limits.

    Returns:
        Jobs with ids from 1 in the order of submission and submit times in whole seconds.

    Raises:
        ConfigurationError: this workload cannot reach the load in whole seconds.
    """
    times, processors, run = columns["submit"], columns["processors"], columns["run"]
    if request.load is not None:
        times = times * _stretch(times, float(np.dot(run, processors)), request.processors, request.load)
    lines = tuple(f"{key}={value!r}" for key, value in settings.items())
    model = name.partition("-")[0]
    suffix = "" if request.load is None else f"-load{request.load:g}"
    workload = Workload.from_columns(
        {
            **columns,
            "id": np.arange(1, request.jobs + 1),
            "submit": np.floor(times),
            "time_limit": _limits(run, request.estimates, request.estimate_factor, rng),
        },
        name=f"{name}-{request.jobs}-s{request.seed}{suffix}",
        machine=request.processors,
        header=(f"; Model: {title}", *(f"; Note: {model} {line}" for line in lines)),
        source_hash=digest(model, *lines),
    )
    if request.load is not None:
        _check_reached(workload, request.processors, request.load)
    return workload


def describe(workload: Workload, processors: int) -> dict[str, float]:
    """Moments of a workload, such as a paper would print.

    Args:
        workload: one job or more.
        processors: of the machine, for the load.

    Returns:
        ``mean_parallelism`` in processors, ``mean_run`` in seconds, ``load`` as
        ``Workload.load`` has it (NaN for one job), ``serial_share`` of jobs on one processor
        and ``power_of_two_share`` of jobs on 2, 4, 8, ... processors, both shares of all jobs.

    Raises:
        ConfigurationError: no jobs, a machine of no processors, a job that needs more.
    """
    processors = whole("processors", processors, 1)
    if len(workload) == 0:
        raise ConfigurationError(f"{workload.name}: a workload without jobs has no moments")
    size = workload.processors
    if size.max() > processors:
        first = int(workload.id[np.argmax(size > processors)])
        raise ConfigurationError(
            f"{workload.name}: job {first} needs {size[size > processors][0]} processors, more than the machine's "
            f"{processors}; give the machine that the workload was made for"
        )
    return {
        "mean_parallelism": float(size.mean()),
        "mean_run": float(workload.run.mean()),
        "load": workload.load(processors),
        "serial_share": float((size == 1).mean()),
        "power_of_two_share": float(((size > 1) & (size & (size - 1) == 0)).mean()),
    }


def describe_beside(published: Mapping[str, float], machine: int) -> Callable[[Workload, int], dict[str, float]]:
    """What describes workloads of a model with a paper's moments beside their own.

    Args:
        published: moments of the paper, by the names that :func:`describe` gives them.
        machine: its processors; on another machine the published moments are left out.

    Returns:
        As :func:`describe`; then the published ones, ``published_mean_parallelism`` and so on.
    """
    beside = {PUBLISHED + name: value for name, value in published.items()}

    def describe_both(workload: Workload, processors: int) -> dict[str, float]:
        return describe(workload, processors) | (beside if processors == machine else {})

    return describe_both


def draw_users(users: int, count: int, rng: np.random.Generator) -> Ints:
    """``count`` user numbers from 1; user k has a share proportional to 1 / k."""
    total = np.cumsum(1.0 / np.arange(1, users + 1))
    numbers = np.searchsorted(total, rng.random(count) * total[-1], side="right") + 1
    return np.asarray(np.minimum(numbers, users), dtype=np.int64)


def stream(seed: int, model: str, *numbers: int) -> np.random.Generator:
    """An independent random stream for each model and purpose."""
    entropy = [seed, int.from_bytes(model.encode(), "big"), *numbers]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))


def whole(name: str, value: SupportsIndex, least: int) -> int:
    """The value as an int.

    Raises:
        ConfigurationError: it is not a whole number, or below ``least``.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise ConfigurationError(f"{name} is {value!r}; it must be a whole number") from None
    if number < least:
        raise ConfigurationError(f"{name} is {number}; it must be {least} or more")
    return number


def choose(name: str, value: str, choices: Any) -> None:
    """Refuse a value that is not one of a ``Literal``'s.

    Raises:
        ConfigurationError: it is not; the message lists those that are.
    """
    if value not in get_args(choices):
        raise ConfigurationError(f"{name} is {value!r}; it must be one of {', '.join(get_args(choices))}")


def require_finite(model: str, parameters: Mapping[str, float]) -> None:
    """Refuse parameters that are not finite.

    Raises:
        ConfigurationError: the first that is not.
    """
    for name, value in parameters.items():
        if not math.isfinite(value):
            raise ConfigurationError(f"{model}: {name} is {value}; it must be a finite number")


def plain(value: float | None) -> float | None:
    """A plain float, so that 1, 1.0 and numpy's 1.0 are the same setting."""
    return None if value is None else float(value)


def digest(*lines: str) -> str:
    """SHA-256 of some lines, in hex."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def whole_seconds(times: Floats) -> Floats:
    """Run times rounded to whole seconds, and 1 s at least."""
    return np.maximum(np.rint(times), 1.0)


def _limits(run: Floats, estimates: Estimates, factor: float, rng: np.random.Generator) -> Floats:
    if estimates == "exact":
        return run.copy()
    return np.asarray(np.ceil(run * rng.uniform(1.0, factor, len(run)) / 60.0) * 60.0)


def _stretch(times: Floats, area: float, processors: int, load: float) -> float:
    """Base load / target load; ``area`` is in processor-seconds."""
    target = area / processors / load
    if target > LARGEST_SECONDS:
        raise ConfigurationError(f"load is {load:g}; the submissions would span {target:.3g} s, which is too long")
    span = float(times[-1] - times[0])
    if span == 0:
        raise ConfigurationError(f"load {load:g} needs more than {len(times)} jobs: these are submitted all at once")
    return target / span


def _check_reached(workload: Workload, processors: int, load: float) -> None:
    reached = workload.load(processors)
    if not abs(reached - load) <= LOAD_TOLERANCE * load:
        raise ConfigurationError(
            f"load {load:g} cannot be reached with {len(workload)} jobs on {processors} processors: submit times in "
            f"whole seconds give {reached:g}; ask for more jobs or a lower load"
        )
