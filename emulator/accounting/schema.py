"""What the tables of a run folder hold, column by column, and the check that they do.

A run folder may come from anywhere. What reads its tables relies on what is checked here:
columns that are there, of their kind, finite, in order. Further columns are facts of the
workload.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slurm_sim_plugins.errors import InputError

LARGEST = 2.0**53
"""Above it floats are no whole numbers any more; no time, id or count is as large."""
NOT_NEGATIVE = ("processors", "requeues", "occupied", "time_limit", "planned", "work", "run", "limit", "depth", "place")
"""Columns of any table that are 0 or more."""


@dataclass(frozen=True)
class Schema:
    """What a table holds.

    Attributes:
        whole: columns of whole numbers.
        numbers: columns of finite numbers.
        nullable: columns of finite numbers or nulls.
        unbounded: columns of numbers, infinite ones or nulls.
        texts, flags: columns of texts, and of true or false.
        order: a column that does not fall; empty for none.
        key: a column in which no value comes twice; empty for none.
    """

    whole: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    nullable: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    unbounded: tuple[str, ...] = ()
    order: str = ""
    key: str = ""


SCHEMAS: Mapping[str, Schema] = {
    "records.parquet": Schema(
        ("job_id", "processors", "requeues"),
        ("submit", "occupied"),
        (
            *("start", "end", "run", "time_limit", "planned", "first_start", "reserved", "could_start"),
            "priority_at_start",
        ),
        ("state",),
        ("backfilled", "blocked"),
        order="submit",
        key="job_id",
    ),
    "runs.parquet": Schema(
        ("job_id", "run", "processors"), ("start",), ("end", "work"), ("outcome",), ("backfilled",), order="start"
    ),
    "stays.parquet": Schema(("job_id", "run"), ("start", "end", "work"), (), ("tier", "where", "came"), order="start"),
    "waits.parquet": Schema(("job_id", "priority"), ("time",), ("planned_start",), ("state", "reason"), order="time"),
    "factors.parquet": Schema(
        ("job_id", "priority"),
        (
            *("time", "age_factor", "assoc_factor", "fairshare_factor", "jobsize_factor", "partition_factor"),
            "qos_factor",
        ),
        (),
        ("partition", "tres"),
        order="time",
    ),
    "shares.parquet": Schema(
        ("place", "depth"),
        ("time", "raw_usage", "effective_usage"),
        ("raw_shares", "norm_shares", "norm_usage", "fair_share"),
        ("account", "user", "partition", "grp_tres_mins", "tres_run_mins"),
        unbounded=("level_fs",),
        order="time",
    ),
    "nodes.parquet": Schema((), ("time",), (), ("state", "nodes"), order="time"),
}
"""By name of the file."""
SLURM_SCHEMAS: Mapping[str, Schema] = {
    "records.parquet": Schema(
        ("array", "task", "exit_code"),
        ("work",),
        ("requeued", "dies_in"),
        ("partition", "qos", "account", "user", "reason", "nodes", "name", "submit_line"),
        ("ignores_term",),
    ),
    "runs.parquet": Schema((), (), ("limit",), ("partition", "nodes", "cpus", "memory", "gres", "suspended")),
}
"""What a run in Slurm's timing has besides."""


def check(path: Path, columns: Mapping[str, NDArray[Any]], schema: Schema) -> None:
    """Make sure that a table holds what it should.

    Args:
        path: its file, for messages.
        columns: it.
        schema: what it should hold.

    Raises:
        InputError: it does not.
    """
    kinds = {
        **dict.fromkeys(schema.whole, "whole numbers"),
        **dict.fromkeys(schema.numbers, "numbers"),
        **dict.fromkeys(schema.nullable, "numbers or nulls"),
        **dict.fromkeys(schema.unbounded, "numbers, infinite ones or nulls"),
        **dict.fromkeys(schema.texts, "texts"),
        **dict.fromkeys(schema.flags, "true or false"),
    }
    missing = [name for name in kinds if name not in columns]
    if missing:
        raise _error(path, f"there is no column {', '.join(missing)}")
    for name, values in columns.items():
        kind = kinds.get(name, "numbers, texts, or true or false")
        if not _is(kind, values):
            raise _error(path, f"the column {name} does not hold {kind}")
        if name in NOT_NEGATIVE and name in kinds and (np.nan_to_num(values) < 0).any():
            raise _error(path, f"the column {name} holds a number below 0")
    if schema.order and (np.diff(columns[schema.order]) < 0).any():
        raise _error(path, f"the rows are not in the order of {schema.order}")
    if schema.key and len(np.unique(columns[schema.key])) < len(columns[schema.key]):
        raise _error(path, f"a {schema.key} comes twice")


def _error(path: Path, what: str) -> InputError:
    return InputError(f"{path}: {what}; this is not what a run leaves: make the run again with --out")


def _is(kind: str, values: NDArray[Any]) -> bool:
    if kind == "texts":
        return values.dtype.kind == "O" and all(type(value) is str for value in values)
    if kind == "true or false":
        return values.dtype.kind == "b"
    if values.dtype.kind not in "iuf":
        facts = kind.endswith("false")
        return facts and (values.dtype.kind == "b" or _are_scalars(values))
    if kind == "whole numbers" and values.dtype.kind == "f":
        return False
    if "infinite" in kind:
        return True
    known = values.astype(np.float64)
    known = known[~np.isnan(known)] if kind.endswith(("nulls", "false")) else known
    return bool((np.abs(known) <= LARGEST).all())


def _are_scalars(values: NDArray[Any]) -> bool:
    return values.dtype.kind == "O" and all(value is None or type(value) in (str, bool) for value in values)
