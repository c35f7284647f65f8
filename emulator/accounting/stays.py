"""Stay records: where runs were, where the ExecutionType has tiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emulator.state.instants import MICROSECONDS
from slurm_sim_plugins.processors import from_words, in_words

if TYPE_CHECKING:
    from emulator.execution.tiers import PastStay

Columns = dict[str, NDArray[Any]]

STAY_COLUMNS: dict[str, str] = {
    "job_id": "the trace's job id",
    "run": "number of the run of this job, from 1",
    "start": "seconds on the trace's clock",
    "end": "seconds",
    "tier": "name of the tier",
    "where": "its processors, from 0, as 0-3,7; from Python a whole number of which bit p is processor p",
    "work": "seconds of work that the run did meanwhile, whether they were lost later or not",
    "came": "how the run came there: start, swap (from another tier of the same processors), migration",
}
"""What the columns of a stay record mean; rows are in the order of (start, job_id)."""


class StayTable(NamedTuple):
    """Stays that are over, as columns: the fields of :class:`~emulator.execution.tiers.PastStay`."""

    job: NDArray[np.int64]
    run: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    tier: NDArray[Any]
    where: NDArray[Any]
    work: NDArray[np.float64]
    came: NDArray[Any]


def stay_table(past: Sequence[PastStay]) -> StayTable:
    """Stays that are over, as columns; those of one job in their order."""
    job, run, start, end, tier, where, work, came = list(zip(*past, strict=True)) or [()] * 8
    return StayTable(
        np.array(job, dtype=np.int64),
        np.array(run, dtype=np.int64),
        np.array(start, dtype=np.int64),
        np.array(end, dtype=np.int64),
        np.array(tier, dtype=object),
        _objects(where),
        np.array(work, dtype=np.float64),
        np.array(came, dtype=object),
    )


def stay_columns(past: StayTable, job_id: NDArray[np.int64]) -> Columns:
    """Make the records of stays that are over; ``job_id`` by index of the job."""
    columns = {
        "job_id": job_id[past.job],
        "run": past.run,
        "start": past.start / MICROSECONDS,
        "end": past.end / MICROSECONDS,
        "tier": past.tier,
        "where": past.where,
        "work": past.work / MICROSECONDS,
        "came": past.came,
    }
    # Of one job, the order in which they ended is that in which they began.
    order = np.lexsort((columns["job_id"], columns["start"]))
    return {name: column[order] for name, column in columns.items()}


def to_words(columns: Mapping[str, NDArray[Any]]) -> Columns:
    """The same with processors in words, for a file."""
    return {**columns, "where": _objects([in_words(where) for where in columns["where"]])}


def from_file(columns: Mapping[str, NDArray[Any]]) -> Columns:
    """What :func:`to_words` made, from a file.

    Raises:
        ValueError: processors in other words.
    """
    return {**columns, "where": _objects([from_words(str(where)) for where in columns["where"]])}


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    """A column of Python's own objects: numpy's whole numbers end at 64 bits."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
