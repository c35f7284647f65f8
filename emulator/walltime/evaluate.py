"""How accurate each scheme would have been on a log, and how often it would have underestimated."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from emulator.walltime.log import Log
from emulator.walltime.schemes import Grid, Scheme
from emulator.workload.workload import Floats
from slurm_sim_plugins.kernels import are_compiled
from slurm_sim_plugins.walltime.history import LEAST_PLANNED, MONTH, WINDOWS

if TYPE_CHECKING:
    import pandas as pd

BAD = 1800
"""Seconds from which on an underestimate is a bad estimate."""
MICROSECONDS = 1_000_000
CLASSES = ("na", "oe", "ue", "be")
"""No adjustment, overestimate, underestimate, bad estimate."""


@dataclass(frozen=True)
class Outcome:
    """What a scheme would have given.

    Attributes:
        scheme: which one.
        average: mean accuracy, that is the smaller of run time and estimate over the larger.
        median: of the accuracy.
        na: share of jobs that are not adjusted for want of history.
        oe: share of jobs with enough history that run no longer than estimated.
        ue: share that runs longer than estimated, but less than 30 minutes longer.
        be: share that runs 30 minutes or more longer than estimated.
    """

    scheme: Scheme
    average: float
    median: float
    na: float
    oe: float
    ue: float
    be: float

    @property
    def under(self) -> float:
        """Share of all underestimates."""
        return self.ue + self.be

    def row(self) -> dict[str, float | str]:
        """As one flat row."""
        return {**asdict(self.scheme), **{name: value for name, value in vars(self).items() if name != "scheme"}}


@dataclass(frozen=True)
class Evaluation:
    """The outcomes of a grid on a log.

    Attributes:
        log: name of the log.
        jobs: how many were evaluated.
        average: mean accuracy of the requests themselves.
        median: of the same.
        outcomes: one a scheme, in the order of the grid.
        notes: keys and windows that were left out, and what else a reader has to know.
    """

    log: str
    jobs: int
    average: float
    median: float
    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """One row a scheme."""
        import pandas as pd

        return pd.DataFrame([outcome.row() for outcome in self.outcomes])

    def of(self, **wanted: float | str) -> list[Outcome]:
        """The outcomes of the schemes with these values."""
        return [
            outcome
            for outcome in self.outcomes
            if all(getattr(outcome.scheme, name) == value for name, value in wanted.items())
        ]


def evaluate(
    log: Log,
    grid: Grid | None = None,
    *,
    compiled: bool | None = None,
    report: Callable[[int], None] | None = None,
) -> Evaluation:
    """Evaluate all schemes of a grid that can be evaluated on a log.

    Left out, and named in the notes, are keys that the log knows nothing of, and windows as
    long as the log, which would be the same as ``all``.

    Args:
        log: the jobs.
        grid: the schemes; by default the 336 of the paper.
        compiled: whether to use the compiled sweep, with the same answers; by default if
            kernels are compiled.
        report: is called from time to time with how many schemes are done.
    """
    grid = grid if grid is not None else Grid()
    keys, windows, notes = usable(log, grid)
    shares = sweep(compiled)
    found: dict[Scheme, Outcome] = {}
    for key, window, definition in product(keys, windows, grid.definitions):
        columns = shares(log, key, window, grid.percentiles, definition, grid.min_jobs).T
        for percentile, share in zip(grid.percentiles, columns, strict=True):
            for threshold in grid.thresholds:
                scheme = Scheme(key, window, percentile, definition, threshold)
                found[scheme] = outcome(log, scheme, share)
        if report is not None:
            report(len(found))
    base = accuracy(log.ran, log.requested)
    ordered = tuple(found[scheme] for scheme in grid if scheme in found)
    return Evaluation(log.name, len(log), float(base.mean()), float(np.median(base)), ordered, (*log.notes, *notes))


def distributions(log: Log, grid: Grid, compiled: bool | None = None) -> dict[str, dict[str, Floats]]:
    """The accuracy of every job, as requested and under three percentiles, by key: the paper's figure 11.

    They are the highest, the one nearest to 85 and the lowest of the grid, over its shortest
    window and with its highest threshold.
    """
    keys, windows, _ = usable(log, grid)
    window = min(windows, key=lambda window: WINDOWS[window])
    middle = min(grid.percentiles, key=lambda percentile: (abs(percentile - 85), percentile))
    chosen = sorted({max(grid.percentiles), middle, min(grid.percentiles)}, reverse=True)
    shares, threshold = sweep(compiled), max(grid.thresholds)
    found = {}
    for key in keys:
        columns = shares(log, key, window, chosen, grid.definitions[0], grid.min_jobs).T
        found[key] = {"requested": accuracy(log.ran, log.requested)} | {
            f"percentile {percentile:g}": accuracy(log.ran, estimates(log, share, threshold))
            for percentile, share in zip(chosen, columns, strict=True)
        }
    return found


def sweep(compiled: bool | None = None) -> Callable[..., Floats]:
    """The plain or the compiled function ``shares``; by default the compiled one if kernels are compiled."""
    if are_compiled("walltime evaluate") if compiled is None else compiled:
        from emulator.walltime.sweep_compiled import shares
    else:
        from emulator.walltime.sweep import shares
    return shares


def usable(log: Log, grid: Grid) -> tuple[list[str], list[str], list[str]]:
    """The keys and windows of a grid that make sense on a log, and why others do not."""
    keys = [key for key in grid.keys if key in log.groups]
    notes = [f"key {key} left out: {log.without[key]}" for key in grid.keys if key not in log.groups]
    windows = [window for window in grid.windows if WINDOWS[window] < log.span or window == "all"]
    windows = windows or [min(grid.windows, key=lambda window: WINDOWS[window])]
    left = [window for window in grid.windows if window not in windows]
    if left:
        notes.append(f"windows {', '.join(left)} left out: the log spans {log.span / MONTH:.1f} months")
    return keys, windows, notes


def outcome(log: Log, scheme: Scheme, share: Floats) -> Outcome:
    """What a scheme gives whose adjustment parameters, before the threshold, are ``share``."""
    planned = estimates(log, share, scheme.threshold)
    accuracies = accuracy(log.ran, planned)
    counts = [float(np.count_nonzero(mask)) / len(log) for mask in classes(log.ran, planned, np.isnan(share))]
    return Outcome(scheme, float(accuracies.mean()), float(np.median(accuracies)), *counts)


def estimates(log: Log, share: Floats, threshold: float) -> Floats:
    """Adjusted times in seconds; the request where there is no history (NaN)."""
    planned = np.minimum(np.maximum(log.requested * np.maximum(share, threshold), LEAST_PLANNED), log.requested)
    return np.where(np.isnan(share), log.requested, planned)


def accuracy(ran: Floats, estimated: Floats) -> Floats:
    """The smaller of the two times over the larger, from 0 to 1; estimates are more than 0."""
    return np.minimum(ran, estimated) / np.maximum(ran, estimated)


def classes(ran: Floats, estimated: Floats, unadjusted: NDArray[np.bool_]) -> Iterable[NDArray[np.bool_]]:
    """Which jobs are of each class, in the order of ``CLASSES``.

    Times are compared in whole microseconds, so that an estimate which is the run time but
    for the last bit of a product does not count as too short.
    """
    short = np.rint((ran - estimated) * MICROSECONDS)
    yield unadjusted
    yield ~unadjusted & (short <= 0)
    yield ~unadjusted & (short > 0) & (short < BAD * MICROSECONDS)
    yield ~unadjusted & (short >= BAD * MICROSECONDS)
