"""The schemes of walltime adjustment, and grids of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import get_args

from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.walltime.history import WINDOWS, Key, check_range
from slurm_sim_plugins.windows import DEFINITIONS

KEYS: tuple[str, ...] = get_args(Key)
MIN_JOBS = 10


@dataclass(frozen=True)
class Scheme:
    """One way to adjust, in the words of ``walltime/history``'s options.

    Attributes:
        key: which jobs are similar.
        window: how far to look back.
        percentile: of what they used of their requests, from 0 to 100.
        definition: of a percentile.
        threshold: least adjustment parameter, from 0 to 1.
    """

    key: str
    window: str
    percentile: float
    definition: str
    threshold: float


@dataclass(frozen=True)
class Grid:
    """Schemes: all combinations of some values. The default are the 336 of the paper.

    Attributes:
        keys: out of triple, double, user, project.
        windows: out of 1m, 2m, 3m, 6m, 12m, all.
        percentiles: from 0 to 100.
        definitions: out of cobalt, nearest, linear.
        thresholds: from 0 to 1.
        min_jobs: similar jobs without which nothing is adjusted.

    Raises:
        ConfigurationError: a value that is none of these, or nothing to combine.
    """

    keys: Sequence[str] = KEYS
    windows: Sequence[str] = tuple(WINDOWS)
    percentiles: Sequence[float] = (100, 95, 90, 85, 80, 70, 50)
    definitions: Sequence[str] = ("cobalt",)
    thresholds: Sequence[float] = (0.0, 0.5)
    min_jobs: int = MIN_JOBS

    def __post_init__(self) -> None:
        _all_known("key", self.keys, KEYS)
        _all_known("window", self.windows, tuple(WINDOWS))
        _all_known("definition", self.definitions, tuple(DEFINITIONS))
        _all_in_range("percentile", self.percentiles, 100)
        _all_in_range("threshold", self.thresholds, 1)
        if self.min_jobs < 1:
            raise ConfigurationError(f"min_jobs is {self.min_jobs}; a percentile needs 1 job or more")

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Scheme]:
        axes = (self.keys, self.windows, self.percentiles, self.definitions, self.thresholds)
        return (Scheme(*values) for values in product(*axes))


def _all_known(name: str, values: Sequence[str], known: Sequence[str]) -> None:
    _all_different(name, values)
    for value in values:
        if value not in known:
            raise ConfigurationError(f"no {name} is called {value!r}; choose from {', '.join(known)}")


def _all_in_range(name: str, values: Sequence[float], most: float) -> None:
    _all_different(name, values)
    try:
        for value in values:
            check_range(name, value, most)
    except ValueError as error:
        raise ConfigurationError(str(error)) from error


def _all_different(name: str, values: Sequence[object]) -> None:
    if not values:
        raise ConfigurationError(f"there is no {name} to evaluate; name one or more")
    if len(set(values)) < len(values):
        raise ConfigurationError(f"a {name} is named twice: {', '.join(map(str, values))}")
