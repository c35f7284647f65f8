"""One sweep over a log in the order of time: what each job's similar jobs had used by then."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emulator.walltime.log import Log
from emulator.workload.workload import Floats
from slurm_sim_plugins.walltime.history import WINDOWS
from slurm_sim_plugins.windows import DEFINITIONS, Windows


def shares(log: Log, key: str, window: str, percentiles: Sequence[float], definition: str, min_jobs: int) -> Floats:
    """The adjustment parameter A of each job, before any threshold.

    This is the reference; :mod:`emulator.walltime.sweep_compiled` does the same sooner.

    Args:
        log: the jobs.
        key: which jobs are similar.
        window: how far to look back.
        percentiles: of what they used.
        definition: of a percentile.
        min_jobs: how many similar jobs there must be.

    Returns:
        One row a job, one column a percentile; NaN where the history does not suffice.
    """
    windows = Windows(WINDOWS[window])
    groups, used, end = log.groups[key].tolist(), log.used.tolist(), log.end.tolist()
    percentile_of = DEFINITIONS[definition]
    ended = ends_in_order(log, key).tolist()
    unknown = [float("nan")] * len(percentiles)
    answer, following = [], 0
    for now, group in zip(log.submit.tolist(), groups, strict=True):
        while following < len(ended) and end[ended[following]] < now:
            job = ended[following]
            windows.learn(groups[job], used[job], end[job])
            following += 1
        values = windows.at(group, now)
        if values is None or len(values) < min_jobs:
            answer.append(unknown)
        else:
            answer.append([percentile_of(values, percentile) for percentile in percentiles])
    return np.array(answer, dtype=np.float64).reshape(len(log), len(percentiles))


def ends_in_order(log: Log, key: str) -> np.ndarray:
    """The jobs from which something is learnt, by end."""
    order = np.argsort(log.end, kind="stable")
    return order[(log.groups[key][order] >= 0) & ~np.isnan(log.end[order])]
