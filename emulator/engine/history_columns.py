"""What ``walltime/history`` plans from in the loop of stock plugins, as columns: keys, shares, ranks of percentiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.engine import stock_history
from emulator.engine.stock_history import ShareHistory
from emulator.state.instants import EXACT, MICROSECONDS, seconds
from emulator.workload.workload import Workload
from slurm_sim_plugins.walltime.history import History

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
NO_KEY = -1
"""The key of a job of which a part of the key is unknown."""
FEW_KEYS = 2**15
"""So many keys fit into 16 bits."""
SPARSE = 4
"""Whole numbers that are no further apart than so many times as many as there are, are numbers of keys as they are."""


def has_key(plugin: History, workload: Workload) -> bool:
    """Whether the workload has the columns of the key, with words or numbers in them."""
    shown = [workload.facts[name] for name in plugin._columns if name in workload.facts and name != "status"]
    return len(shown) == len(plugin._columns) and all(column.dtype.kind in "iufSU" for column in shown)


def share_history(plugin: History, workload: Workload, useful: Ints, kernel: Any = stock_history) -> ShareHistory:
    """What plans as the plugin does; jobs are known by their positions in the workload.

    Args:
        plugin: its options.
        workload: the jobs, with the columns of the key.
        useful: work that each job does before it ends, in microseconds.
        kernel: the module of the windows: the compiled one, or the same as plain Python.
    """
    key = _keys(plugin, workload)
    shares = _shares(useful, workload.time_limit)
    by_key = _sorted(key, shares)
    place = np.full(len(key), NO_KEY, dtype=np.int64)
    place[by_key] = np.arange(len(by_key))
    sizes = np.bincount(key[by_key])
    rank, part = _ranks(plugin, int(sizes.max(initial=0)))
    columns: dict[str, NDArray[Any]] = {
        "key": key,
        "place": place,
        "shares": shares[by_key],
        "begin": np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        "rank": rank,
        "part": part,
        "tree": np.zeros(len(by_key), dtype=np.int64),
        "inside": np.zeros(len(sizes), dtype=np.int64),
        "ended": np.zeros(len(by_key), dtype=np.int64),
        "ended_at": np.zeros(len(by_key)),
    }
    numbers = {"span": plugin._windows._span, "threshold": plugin._threshold, "min_jobs": plugin._min_jobs}
    plain = str(kernel.__file__).endswith(".py")
    found: ShareHistory = kernel.ShareHistory(
        numbers, {name: column.tolist() if plain else column for name, column in columns.items()}
    )
    return found


def _sorted(key: Ints, shares: Floats) -> Ints:
    """The jobs that have a key, by key and then by share; those alike in both may change places: they count alike."""
    by_share = np.argsort(shares)
    keys = key[by_share]
    if keys.max(initial=0) < FEW_KEYS:
        # So few are sorted by their digits: much faster.
        keys = keys.astype(np.int16)
    by_key: Ints = by_share[np.argsort(keys, kind="stable")]
    # Jobs without a key come first.
    return by_key[np.count_nonzero(key == NO_KEY) :]


def _keys(plugin: History, workload: Workload) -> Ints:
    """A number for what each job has in common with similar ones; ``NO_KEY`` where a part of it is unknown."""
    parts = [workload.facts[name] for name in plugin._columns]
    unknown = np.zeros(len(workload), dtype=bool)
    for part in parts:
        unknown |= (part == -1) if part.dtype.kind == "i" else (part != part)
    if plugin._key == "triple":
        parts.append(workload.time_limit)
    key = _numbered(parts[0])
    for part in parts[1:]:
        number = _numbered(part)
        key = _numbered(key * (number.max(initial=0) + 1) + number)
    key[unknown] = NO_KEY
    return key


def _numbered(values: NDArray[Any]) -> Ints:
    """A number for each value, from 0, the same for the same, and none beyond a few times as many as they are."""
    if values.dtype.kind == "i":
        low, high = int(values.min(initial=0)), int(values.max(initial=0))
        if high - low < SPARSE * len(values):
            return values.astype(np.int64) - low
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _shares(useful: Ints, limit: Floats) -> Floats:
    """The share of its limit that each job uses, at most 1."""
    ran = useful / MICROSECONDS if useful.max() < EXACT else np.array([seconds(instant) for instant in useful.tolist()])
    return np.where(ran < limit, ran / limit, 1.0)


def _ranks(plugin: History, most: int) -> tuple[Ints, Floats]:
    """By how many values a window holds: at which rank the percentile is, and which part of the way to the next."""
    rank, part = np.zeros(most + 1, dtype=np.int64), np.zeros(most + 1)
    for count in range(1, most + 1):
        # The definitions only ask for values by rank, so ranks stand in for values.
        position = plugin._percentile_of(range(count), plugin._percentile)  # type: ignore[arg-type]
        rank[count] = int(position)
        part[count] = position - rank[count]
    return rank, part
