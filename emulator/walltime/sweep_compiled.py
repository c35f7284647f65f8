"""The sweep of :mod:`emulator.walltime.sweep`, compiled by numba; the answers are the same, to the bit.

All values are known beforehand here, so a window need not keep them sorted: it marks which
values of its group are in it. A binary indexed tree over the group's values, in ascending
order, finds the one at a rank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

import numpy as np

try:
    from numba import njit
except ImportError as error:
    raise ImportError(
        "the compiled sweep needs numba, which cannot be imported: python -m pip install numba"
    ) from error

from emulator.walltime.log import Log
from emulator.walltime.sweep import ends_in_order
from emulator.workload.workload import Floats, Ints
from slurm_sim_plugins.walltime.history import WINDOWS
from slurm_sim_plugins.windows import DEFINITIONS

_P = ParamSpec("_P")
_T = TypeVar("_T")


def _compiled(function: Callable[_P, _T]) -> Callable[_P, _T]:
    kernel: Callable[_P, _T] = njit(cache=True)(function)
    return kernel


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
    _sweep(
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
        answer,
    )
    return answer


@_compiled
def _sweep(
    submit: Floats,
    group: Ints,
    ends: Floats,
    end_group: Ints,
    end_rank: Ints,
    first: Ints,
    values: Floats,
    span: float,
    percentiles: Floats,
    definition: int,
    min_jobs: int,
    answer: Floats,
) -> None:
    """Go through the submissions; what ended comes into its group's window and leaves it again."""
    tree = np.zeros(len(values), dtype=np.int64)
    count = np.zeros(len(first), dtype=np.int64)
    coming = leaving = 0
    for job in range(len(submit)):
        now = submit[job]
        while coming < len(ends) and ends[coming] < now:
            _mark(tree, first, end_group[coming], end_rank[coming], 1)
            count[end_group[coming]] += 1
            coming += 1
        while leaving < coming and ends[leaving] < now - span:
            _mark(tree, first, end_group[leaving], end_rank[leaving], -1)
            count[end_group[leaving]] -= 1
            leaving += 1
        mine = group[job]
        if mine < 0 or count[mine] < min_jobs:
            continue
        for column in range(len(percentiles)):
            answer[job, column] = _percentile(tree, first, values, mine, count[mine], percentiles[column], definition)


@_compiled
def _percentile(
    tree: Ints, first: Ints, values: Floats, group: int, count: int, percentile: float, definition: int
) -> float:
    """As the definitions of :mod:`slurm_sim_plugins.windows`, in their order."""
    position = percentile * (count - 1) / 100
    if definition == 0:
        rank = min(int(percentile * count // 100), count - 1)
    elif definition == 1:
        rank = max(int(-(-percentile * count // 100)) - 1, 0)
    else:
        rank = int(position)
    low: float = values[_at(tree, first, group, rank)]
    if definition == 2 and position > rank:
        low += (position - rank) * (values[_at(tree, first, group, rank + 1)] - low)
    return low


@_compiled
def _mark(tree: Ints, first: Ints, group: int, rank: int, by: int) -> None:
    """Take the value at a rank of its whole group into the window, or out of it."""
    base, size, index = first[group] - 1, first[group + 1] - first[group], rank + 1
    while index <= size:
        tree[base + index] += by
        index += index & -index


@_compiled
def _at(tree: Ints, first: Ints, group: int, rank: int) -> int:
    """Where the value lies that has this rank among those in the window."""
    base: int = first[group] - 1
    size = first[group + 1] - first[group]
    index, step = 0, 1
    while step * 2 <= size:
        step *= 2
    while step > 0:
        if index + step <= size and tree[base + index + step] <= rank:
            index += step
            rank -= tree[base + index]
        step //= 2
    return base + 1 + index
