"""Stay records: where runs were, where the ExecutionType has tiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

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


def stay_columns(past: Sequence[PastStay], job_id: NDArray[np.int64]) -> Columns:
    """Make the records of stays that are over; ``job_id`` by index of the job."""
    fields = list(zip(*past, strict=True)) or [()] * 8
    job, run, start, end, tier, where, work, came = fields
    index = np.array(job, dtype=np.int64)
    columns = {
        "job_id": job_id[index],
        "run": np.array(run, dtype=np.int64),
        "start": np.array(start, dtype=np.int64) / MICROSECONDS,
        "end": np.array(end, dtype=np.int64) / MICROSECONDS,
        "tier": np.array(tier, dtype=object),
        "where": _objects(where),
        "work": np.array(work, dtype=np.float64) / MICROSECONDS,
        "came": np.array(came, dtype=object),
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
