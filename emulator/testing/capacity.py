"""Never are more processors in use than there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emulator.testing.tables import Instants, RunRows, require

if TYPE_CHECKING:
    from emulator.result import Result


class Uses(NamedTuple):
    """One entry for each time that a job used processors, in microseconds."""

    id: NDArray[np.int64]
    start: Instants
    end: Instants
    processors: NDArray[np.int64]


def uses_of(runs: RunRows) -> Uses:
    """Each run."""
    return Uses(runs.id, runs.start, runs.end, runs.processors)


def check_capacity(uses: Uses, total: int) -> None:
    """Check that they fit. What ends at an instant makes room for what starts then.

    Raises:
        AssertionError: naming the job and the time in seconds.
    """
    lasting = uses.end > uses.start
    starts, ends = np.argsort(uses.start, kind="stable"), np.argsort(uses.end, kind="stable")
    starts, ends = starts[lasting[starts]], ends[lasting[ends]]
    begun = np.concatenate([[0], np.cumsum(uses.processors[starts])])
    given_back = np.concatenate([[0], np.cumsum(uses.processors[ends])])
    # In use when all that starts at the instant has started; what has no length adds its own.
    before = begun[np.searchsorted(uses.start[starts], uses.start, side="left")]
    with_these = begun[np.searchsorted(uses.start[starts], uses.start, side="right")]
    gone = given_back[np.searchsorted(uses.end[ends], uses.start, side="right")]
    in_use = np.where(lasting, with_these - gone, before - gone + uses.processors)
    require(
        in_use <= total,
        uses.id,
        uses.start,
        lambda use: f"{in_use[use]} processors are in use, the machine has {total}",
    )


def check_nodes(result: Result, cpus: Mapping[str, int]) -> None:
    """Check a simulation on a cluster with nodes: every job is over, and no node's CPUs were given out twice.

    Args:
        result: with the records of a run folder.
        cpus: of each node, by name.

    Raises:
        AssertionError: naming the job, or the node and the time in seconds.
    """
    from emulator.config.slurm.hostlist import expand

    if result.about.get("unfinished"):
        raise AssertionError(f"jobs have not ended: {result.about['unfinished']}")
    changes: dict[str, list[tuple[float, int]]] = {}
    columns = (result.records.runs[name].tolist() for name in ("nodes", "cpus", "start", "end"))
    for nodes, counts, start, end in zip(*columns, strict=True):
        for name, count in zip(expand(nodes), counts.split(","), strict=True):
            changes.setdefault(name, []).extend([(start, int(count)), (end, -int(count))])
    for name, moments in sorted(changes.items()):
        used = 0
        for time, change in sorted(moments):
            used += change
            if used > cpus[name]:
                raise AssertionError(f"{used} of {cpus[name]} CPUs of node {name} are in use at {time:g} s")
