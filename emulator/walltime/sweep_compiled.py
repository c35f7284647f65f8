"""The sweep of :mod:`emulator.walltime.sweep`, by a kernel; the answers are the same, to the bit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emulator.walltime.log import Log
from emulator.walltime.sweep import ends_in_order
from emulator.walltime.sweep_kernel import sweep
from emulator.workload.workload import Floats
from slurm_sim_plugins.walltime.history import WINDOWS
from slurm_sim_plugins.windows import DEFINITIONS


def shares(log: Log, key: str, window: str, percentiles: Sequence[float], definition: str, min_jobs: int) -> Floats:
    """As :func:`emulator.walltime.sweep.shares`."""
    ended = ends_in_order(log, key)
    group, used = log.groups[key], log.used
    sizes = np.bincount(group[ended], minlength=int(group.max(initial=0)) + 1)
    first = np.concatenate([[0], np.cumsum(sizes)])
    by_value = ended[np.lexsort((used[ended], group[ended]))]
    rank = np.zeros(len(log), dtype=np.int64)
    rank[by_value] = np.arange(len(by_value)) - first[group[by_value]]
    answer = np.full((len(log), len(percentiles)), np.nan)
    sweep(
        log.submit,
        group,
        log.end[ended],
        group[ended],
        rank[ended],
        first,
        used[by_value],
        WINDOWS[window],
        np.array(percentiles, dtype=np.float64),
        list(DEFINITIONS).index(definition),
        min_jobs,
        np.zeros(len(by_value), dtype=np.int64),
        np.zeros(len(first), dtype=np.int64),
        answer,
    )
    return answer
