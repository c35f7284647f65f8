"""Cores by socket, where jobs ask for tasks of a socket, or for sockets with so many free cores.

A job gets cores of the sockets of a node in turn. One that has more than one CPU for each task gets them socket by
socket, as long as they are those of whole tasks. From 24.11 on these are of the first cores that are those of whole
tasks, of as many as are stated for a node (``--ntasks-per-node``). One with so many tasks of each socket leaves the
first sockets alone if the others suffice. Of one with generic resources, the fullest sockets keep cores back that so
many tasks as may be on the node do not need. Tasks that fill sockets get them of the smallest one that has enough,
else of the one with most. (Observed on 22.05, 24.11 and 26.05.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Gres = tuple[str, str]


OF_SOCKET = "socket "
"""What stands before the number of a socket in the name of a resource."""


def socket_of(kind: Gres) -> int | None:
    """Of which socket a resource without a name is cores, or a partition's part of them; None if of none."""
    _, of, number = kind[1].rpartition(OF_SOCKET)
    return int(number) if of and not kind[0] else None


def of_pool(kind: Gres, partition: str) -> bool:
    """Whether a resource is what jobs of a partition may have together (MaxCPUsPerNode), of a node or of a socket."""
    before, of, _ = kind[1].rpartition(OF_SOCKET)
    return not kind[0] and (before.rstrip() if of else kind[1]) == partition


@dataclass(eq=False)
class Sockets:
    """The cores of each socket.

    Attributes:
        cores: of each socket of each node, (sockets, nodes); 0 where a node has not so many sockets.
        whole: whether a job has all cores of a socket or none.
        kinds: resources without a name, one for each socket of a node, of which the node has as many as cores.
    """

    cores: Ints
    whole: bool = False

    def __post_init__(self) -> None:
        self.kinds: list[Gres] = [("", f"{OF_SOCKET}{number}") for number in range(len(self.cores))]

    def rows(self) -> dict[Gres, Ints]:
        """What nodes have of those resources."""
        return dict(zip(self.kinds, self.cores, strict=True))

    def free(self, free: Mapping[Gres, Ints]) -> Ints:
        """Free cores of each socket of each node.

        Args:
            free: what is free on each node, by kind.
        """
        return np.array([free[kind] for kind in self.kinds])

    def of_pool(self, pool: str) -> list[Gres]:
        """Resources that the jobs of a partition take, one for each socket, where it bounds the CPUs of each socket."""
        return [("", f"{pool} {OF_SOCKET}{number}") for number in range(len(self.cores))]

    def left_of_pool(self, free: Mapping[Gres, Ints], pool: str, most: int, threads: Ints, of_all: bool) -> Ints:
        """Free cores of each socket that a job of a partition may have which bounds the CPUs of each socket.

        Of one where its jobs have as many it may have none; of any other so many, whatever they have (recorded).

        Args:
            free: what is free on each node, by kind.
            pool: the partition.
            most: CPUs of a socket.
            threads: CPUs of a core of each node.
            of_all: whether the jobs of other partitions count as well.
        """
        left = self.free(free) if of_all else np.array([free[kind] for kind in self.of_pool(pool)])
        used = self.cores - left
        return np.where(used * threads < most, np.minimum(self.free(free), most // threads), 0)

    def unused_by_pool(self, free: Mapping[Gres, Ints], pool: str, of_all: bool) -> NDArray[np.bool_]:
        """Which sockets of each node no job of a partition has cores of, or, if all count, no job at all."""
        left = self.free(free) if of_all else np.array([free[kind] for kind in self.of_pool(pool)])
        unused: NDArray[np.bool_] = left == self.cores
        return unused

    def used(self, given: Mapping[Gres, Sequence[int]]) -> Ints:
        """Of how many sockets of each of its nodes a job has cores, as :meth:`given` says it."""
        used: Ints = np.count_nonzero([given[kind] for kind in self.kinds], axis=0)
        return used

    def given(self, left: Ints, nodes: Sequence[int], asked: Sequence[Asked]) -> dict[Gres, list[int]]:
        """How many cores of each socket of its nodes a job gets.

        Args:
            left: cores of each socket of each node that it may have.
            nodes: of the job.
            asked: what it has on each of them.
        """
        left = left[:, nodes].T.tolist()
        give = whole_sockets if self.whole else over_sockets
        of_nodes = [give(own, one) for own, one in zip(left, asked, strict=True)]
        return dict(zip(self.kinds, map(list, zip(*of_nodes, strict=True)), strict=True))


class Asked(NamedTuple):
    """What a job has on a node.

    Attributes:
        cores: in all.
        threads: CPUs of a core that its tasks may use.
        per_task: CPUs of a task.
        most: cores of each socket that it may have; 0 for any number.
        needed: cores that its tasks need at most, of which it gets these; 0 if any cores may be those.
        fills: whether its tasks fill a socket before they go to another.
        near: cores of each socket that it may have, as its devices are near some; empty for any.
        tasks: that it may have there, of which it gets the first cores; 0 for any number of whole tasks, None for any.
    """

    cores: int
    threads: int = 1
    per_task: int = 1
    most: int = 0
    needed: int = 0
    fills: bool = False
    near: tuple[int, ...] = ()
    tasks: int | None = None


def over_sockets(left: Sequence[int], asked: Asked) -> list[int]:
    """Cores of each socket of a node that a job gets.

    Args:
        left: free cores of each socket.
        asked: what it has there.
    """
    cores, threads, per_task, most, needed, fills, near, tasks = asked
    given = [0] * len(left)
    usable = [min(own, most) if most else own for own in left]
    if near:
        usable = list(map(min, usable, near))
    elif needed:
        _without_fullest(usable, max(needed, cores))
    elif tasks is not None and not most:
        whole = sum(usable) * threads // per_task
        _first_alone(usable, max(-(-min(whole, tasks or whole) * per_task // threads), cores))
    if fills:
        _fill(given, usable, cores)
    elif most:
        _without_first(usable, cores)
    elif per_task > 1:
        for socket, own in enumerate(usable):
            of_tasks = own * threads - own * threads % per_task
            given[socket] = min(-(-of_tasks // threads), cores - sum(given))
    for those in (usable, left):
        for socket in _in_turn([own - had for own, had in zip(those, given, strict=True)], cores - sum(given)):
            given[socket] += 1
    return given


def whole_sockets(left: Sequence[int], asked: Asked) -> list[int]:
    """Cores of each socket of a node that a job gets, where it has all of a socket or none.

    It has those sockets of which it would have cores, as its devices are near some; else the first so many.

    Args:
        left: free cores of each socket.
        asked: what it has there; if its devices are near none, ``cores`` are sockets.
    """
    free = [socket for socket, own in enumerate(left) if own]
    used = (
        [socket for socket, own in enumerate(over_sockets(left, asked)) if own] if asked.near else free[: asked.cores]
    )
    return [own if socket in used else 0 for socket, own in enumerate(left)]


def _fill(given: list[int], usable: Sequence[int], cores: int) -> None:
    """Give cores of the smallest socket that has enough; if there is none, of those with most."""
    enough = [socket for socket, own in enumerate(usable) if own >= cores]
    order = sorted(enough or range(len(usable)), key=lambda socket: usable[socket] if enough else -usable[socket])
    for socket in order:
        given[socket] = min(usable[socket], cores)
        cores -= given[socket]


def _first_alone(usable: list[int], cores: int) -> None:
    """Leave all but the first so many cores alone."""
    for socket, own in enumerate(usable):
        usable[socket] = min(own, cores)
        cores -= usable[socket]


def _without_first(usable: list[int], cores: int) -> None:
    """Leave the first sockets alone as long as the others have so many cores."""
    for socket, own in enumerate(usable):
        if sum(usable) - own >= cores:
            usable[socket] = 0


def _without_fullest(usable: list[int], cores: int) -> None:
    """Leave a core of the fullest socket alone, of equal ones the first, as long as there are more than so many."""
    for _ in range(sum(usable) - cores):
        usable[usable.index(max(usable))] -= 1


def _in_turn(left: list[int], cores: int) -> Iterator[int]:
    """Of which sockets so many cores are, one of each in turn."""
    while cores > 0 and any(own > 0 for own in left):
        for socket in [number for number, own in enumerate(left) if own > 0][:cores]:
            left[socket] -= 1
            cores -= 1
            yield socket


def with_system_cores(sockets: int, cores: int, kept: int) -> list[int]:
    """Cores of each socket of a node that jobs may have: those of the system are the last ones, of the sockets in turn.

    Args:
        sockets: of the node.
        cores: of each.
        kept: for the system.
    """
    left = [cores] * sockets
    for socket in _in_turn(left[::-1], kept):
        left[sockets - 1 - socket] -= 1
    return left


def columns(of_nodes: Iterable[Sequence[int]]) -> Ints:
    """Cores of each socket of each node, as :attr:`Sockets.cores`."""
    rows = list(of_nodes)
    most = max(map(len, rows), default=0)
    return np.array([[*row, *[0] * (most - len(row))] for row in rows], dtype=np.int64).T.copy()
