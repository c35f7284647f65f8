"""One run of a job, and the states of jobs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from emulator.state.machine import MARK
from slurm_sim_plugins.devices import is_device
from slurm_sim_plugins.nodes import Allocation, Gres, neighbours
from slurm_sim_plugins.sockets import of_pool, socket_of

YEAR = 365 * 86_400.0


class State(StrEnum):
    """States of a job, in Slurm's words."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUSPENDED = "SUSPENDED"
    COMPLETING = "COMPLETING"
    COMPLETED = "COMPLETED"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"
    TIMEOUT = "TIMEOUT"
    PREEMPTED = "PREEMPTED"
    NODE_FAIL = "NODE_FAIL"
    DEADLINE = "DEADLINE"


@dataclass(slots=True)
class Run:
    """One run of a job; times in seconds.

    Attributes:
        start: when it started.
        allocation: what it has.
        partition: name of its partition.
        limit: its limit.
        row: 0, or one above where it shares resources with others.
        counted: units of each node that it takes from what is free, where others count for the rest; None if all.
        counted_sockets: the same of each socket, where cores are known by socket.
        pooled: units of each node that it takes of those that jobs of its partition may have together; None if all.
        pooled_sockets: the same of each socket.
        rowless: whether it has no row: others have CPUs of it, and it counts for none until it ends.
        backfilled: whether backfill started it.
        end: when it ended, or None.
        outcome: the state that it ended with.
        suspensions: (from, to) of each; ``to`` is None while it lasts.
        stopped: when it stopped to work, for it is preempted, or None.
        work: what it did that was not lost; None if it does not save, or is not over.
        checkpoints: how many it completed.
        configuring: seconds at its beginning that its limit does not count; infinite while its nodes are resumed.
        allocated: when it got its nodes, if they were to be resumed before it could start; else None.
    """

    start: float
    allocation: Allocation
    partition: str
    limit: float
    row: int = 0
    backfilled: bool = False
    priority: float = 0.0
    end: float | None = None
    outcome: State | None = None
    suspensions: Sequence[list[float | None]] = ()
    stopped: float | None = None
    work: float | None = None
    checkpoints: int = 0
    configuring: float = 0.0
    allocated: float | None = None
    counted: tuple[int, ...] | None = None
    counted_sockets: Sequence[tuple[int, ...]] = ()
    pooled: tuple[int, ...] | None = None
    pooled_sockets: Sequence[tuple[int, ...]] = ()
    rowless: bool = False

    @property
    def expires(self) -> float:
        """When it reaches its limit, if it is not suspended."""
        return self.start + self.configuring + self.limit

    @property
    def given(self) -> float:
        """When it got its nodes."""
        return self.start if self.allocated is None else self.allocated

    @property
    def at_base(self) -> Allocation:
        """What it takes from others in the first row: above it no CPUs, for only these are shared."""
        has = self.allocation
        if self.rowless:
            return self.held
        if self.counted is not None:
            shared = {kind: self._counted(kind) for kind in has.gres if not _stays(kind)}
            return replace(has, units=self.counted, gres={**has.gres, **shared})
        if not self.row:
            return has
        gres = {kind: has.gres[kind] for kind in has.gres if _stays(kind)}
        return replace(has, units=(0,) * len(has.units), gres=gres)

    def _counted(self, kind: Gres) -> tuple[int, ...]:
        """Units of each node that it takes of a resource that goes by them."""
        assert self.counted is not None
        socket = socket_of(kind)
        if not of_pool(kind, self.partition):
            return self.counted if socket is None else self.counted_sockets[socket]
        if self.pooled is None:
            return self.allocation.gres[kind]
        return self.pooled if socket is None else self.pooled_sockets[socket]

    @property
    def cores(self) -> Allocation:
        """What it leaves to others while it is suspended: its CPUs in the first row."""
        has = self.at_base
        gres = {kind: counts for kind, counts in has.gres.items() if not _is_held(kind)}
        return replace(has, memory=(0,) * len(has.memory), gres=gres)

    @property
    def held(self) -> Allocation:
        """What it keeps while it is suspended: memory and generic resources, but no CPUs."""
        has = self.allocation
        gres = {kind: counts for kind, counts in has.gres.items() if _is_held(kind)}
        return replace(has, units=(0,) * len(has.units), gres=gres)

    def suspended(self, now: float) -> float:
        """Seconds that it was suspended until ``now``."""
        if not self.suspensions:
            return 0
        return sum((now if to is None else to) - begin for begin, to in self.suspensions if begin is not None)


def without_nodes(has: Allocation, gone: Collection[int]) -> Allocation:
    """What a job has left that gives up some of its nodes; it counts with all CPUs of its cores then."""
    kept = [index for index, node in enumerate(has.nodes) if node not in gone]

    def left(column: Sequence[int]) -> tuple[int, ...]:
        return tuple([column[index] for index in kept])

    gres = {kind: left(counts) for kind, counts in has.gres.items()}
    nodes = neighbours(left(has.nodes))
    return replace(has, nodes=nodes, units=left(has.units), memory=left(has.memory), gres=gres, cpus=0)


def _is_held(kind: Gres) -> bool:
    """Whether a job keeps a resource while it is suspended: a generic one."""
    return bool(kind[0]) or is_device(kind)


def _stays(kind: Gres) -> bool:
    """Whether a resource is not of the units that jobs of a partition have together."""
    return _is_held(kind) or kind[1].startswith(MARK)
