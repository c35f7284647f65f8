"""Devices that are near the cores of one socket (``Cores=`` in ``gres.conf``), and the cores that jobs get with them.

A job gets nodes on which the cores of its devices' sockets are enough. Only where no nodes are found so, and it does
not ask for ``--gres-flags=enforce-binding``, it gets cores of other sockets, too. Sockets with most free cores come
first. Devices are then taken near the cores that the job has. (Slurm's pages on generic resources, gres.conf and
sbatch; recorded on 22.05, 24.11 and 26.05.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slurm_sim_plugins.devices import MARK

Ints = NDArray[np.int64]
Masks = NDArray[np.bool_]
Gres = tuple[str, str]
Wanted = tuple[str, str]
"""Name and type of what a job asks for; the type is empty for any."""


class Request(NamedTuple):
    """How many devices of a kind a job asks for, and what goes with them.

    Attributes:
        name, kind: of the devices; the kind is empty for any.
        on_node: that each node must have; 0 if they are not counted by node.
        most: that one node gives, at most.
        for_task: for each task; 0 if they are not counted by task.
        cpus: that go with each of them.
        cpus_first: the same, as cores of their sockets alone are looked at.
        stated: whether the job says with how many CPUs they go, so that it gets these.
        per_socket: of each socket of which it has cores, if that is stated; no other socket gives any.
    """

    name: str
    kind: str
    on_node: int
    most: int
    for_task: int
    cpus: int = 0
    cpus_first: int = 0
    stated: bool = False
    per_socket: int = 0


class Tasks(NamedTuple):
    """The tasks of a job.

    Attributes:
        cpus: of a task.
        least: tasks on a node.
        most: tasks on a node.
        cpus_on_node: that a node must have.
        stated: whether the job states them.
    """

    cpus: int
    least: int
    most: int
    cpus_on_node: int
    stated: bool = False


@dataclass(eq=False)
class Reach:
    """What each node has for a job, as its devices are near some sockets.

    Attributes:
        cpus: that it may have.
        cores: of each socket, (sockets, nodes), that it may have.
        needed: cores of those sockets that its tasks need at most.
        of_devices: whether a socket gives devices, in the shape of ``cores``.
        by_cpus: see :class:`Binding`.
        devices: that it may have, by what it asks for.
        bounded: the same of those that CPUs go with.
        tried: CPUs of nodes that were taken, where these were not enough in the end.
        nearby: devices near free cores: of nodes of one weight those with most come first.
        least: CPUs that a node gives at least; None for no bound.
    """

    cpus: Ints
    cores: Ints
    needed: Ints
    of_devices: Masks
    nearby: Ints
    by_cpus: bool
    devices: dict[Wanted, Ints] = field(default_factory=dict)
    bounded: dict[Wanted, Ints] = field(default_factory=dict)
    tried: dict[int, int] = field(default_factory=dict)
    least: Ints | None = None

    def left_of(self, cpus: Ints) -> Ints:
        """CPUs of each node as other sockets are looked at: nodes that were taken in vain keep theirs (24.11)."""
        if not self.by_cpus or not self.tried:
            return cpus
        left = cpus.copy()
        for node, count in self.tried.items():
            left[node] = min(count, left[node])
        return left

    def after(self, first: Reach) -> Reach:
        """The same, after cores of the devices' sockets alone were not enough.

        Devices that had too few CPUs there are not looked at again, where some had enough (22.05).
        """
        if not self.by_cpus:
            for one, devices in first.bounded.items():
                self.devices[one] = np.minimum(self.devices[one], np.where(first.cpus > 0, devices, self.devices[one]))
        return self

    def cores_of(self, node: int, whole: bool = False) -> tuple[int, ...]:
        """Cores of each socket of a node that a job may have: the fullest ones keep those that no task needs.

        But where whole sockets are given from 24.11 on.
        """
        left: list[int] = self.cores[:, node].tolist()
        if whole and self.by_cpus:
            return tuple(left)
        gives: list[bool] = self.of_devices[:, node].tolist()
        more = sum(left) - int(self.needed[node])
        while more > 0 and any(own for own, given in zip(left, gives, strict=True) if given):
            fullest = max(range(len(left)), key=lambda socket: (gives[socket], left[socket], -socket))
            left[fullest] -= 1
            more -= 1
        return tuple(left)


@dataclass(eq=False)
class Binding:
    """The devices that are near one socket each.

    Attributes:
        near: of each kind, those of each socket of each node, (sockets, nodes).
        by_cpus: whether CPUs are dealt out to devices before nodes are chosen, and devices to the CPUs that are given
            (a rule of the version).
        own_tasks: whether a node needs cores for no more tasks than the job has (a rule of the version).
    """

    near: Mapping[Gres, Ints]
    by_cpus: bool
    own_tasks: bool = False

    def __post_init__(self) -> None:
        self.kinds: dict[Gres, list[Gres]] = {
            (name, kind): [("", f"{MARK}{name}:{kind} of socket {socket}") for socket in range(len(counts))]
            for (name, kind), counts in self.near.items()
        }

    def rows(self) -> dict[Gres, Ints]:
        """What nodes have of resources without a name, one for each kind and socket."""
        return {
            row: counts
            for kind, of_sockets in self.near.items()
            for row, counts in zip(self.kinds[kind], of_sockets, strict=True)
        }

    def kinds_of(self, name: str, kind: str) -> list[Gres]:
        """Kinds with devices near a socket that do for what a job asks for."""
        return [(other, of) for other, of in self.kinds if other == name and kind in ("", of)]

    def free(self, free: Mapping[Gres, Ints], name: str, kind: str) -> Ints:
        """Free devices of each socket of each node that do for what a job asks for."""
        rows = [[free[row] for row in self.kinds[one]] for one in self.kinds_of(name, kind)]
        found: Ints = np.sum(rows, axis=0, dtype=np.int64)
        return found

    def given(
        self,
        free: Mapping[Gres, Ints],
        request: Request,
        node: int,
        count: int,
        cores: Sequence[int],
        threads: int,
        cpus_per_task: int,
    ) -> Iterator[tuple[Gres, int]]:
        """Which devices of a node a job gets, by kind, and as rows of sockets.

        Args:
            free: what is free on each node, by kind.
            request: what it asks for.
            node: where.
            count: how many it gets.
            cores: that it has of each socket.
            threads: CPUs of a core.
            cpus_per_task: of its tasks.
        """
        left = {kind: [int(free[row][node]) for row in self.kinds[kind]] for kind in self.kinds_of(*request[:2])}
        others = {
            (name, kind): max(int(counts[node]) - sum(left.get((name, kind), ())), 0)
            for (name, kind), counts in free.items()
            if name == request.name and request.kind in ("", kind)
        }
        for socket, wanted in self._turns(request, count, cores, threads, cpus_per_task):
            for kind in others if socket is None else left:
                there = others[kind] if socket is None else left[kind][socket]
                share = min(there, wanted, count)
                if share <= 0:
                    continue
                if socket is None:
                    others[kind] -= share
                else:
                    left[kind][socket] -= share
                    yield self.kinds[kind][socket], share
                yield kind, share
                wanted, count = wanted - share, count - share

    def there(
        self, free: Mapping[Gres, Ints], request: Request, nodes: Sequence[int], cores: Ints
    ) -> tuple[Ints, Ints]:
        """Free devices of some nodes that are near cores of a job, of each socket, or near none; and all of them."""
        own = self.free(free, request.name, request.kind)[:, list(nodes)]
        wanted = [kind for kind in free if kind[0] == request.name and request.kind in ("", kind[1])]
        all_of_them: Ints = np.sum([free[kind][list(nodes)] for kind in wanted], axis=0)
        return all_of_them - np.where(cores > 0, 0, own).sum(axis=0), all_of_them

    def of_sockets(
        self, free: Mapping[Gres, Ints], request: Request, node: int, cores: Sequence[int], least: int
    ) -> int:
        """How many devices a node gives for the sockets of a job's cores, and for others, if it is to have more.

        From 24.11 on it gives those of others for a socket that has fewer, or that are near none, as far as there are
        any. (Asked.)
        """
        there: list[int] = self.free(free, request.name, request.kind)[:, node].tolist()
        count, of_others = request.per_socket, self.by_cpus
        given = [count if of_others else min(own, count) for own, had in zip(there, cores, strict=True) if had]
        more = [count for own, had in zip(there, cores, strict=True) if not had and own >= count]
        wanted = [kind for kind in free if kind[0] == request.name and request.kind in ("", kind[1])]
        in_all = sum(int(free[kind][node]) for kind in wanted)
        far = 0 if of_others else min(in_all - sum(there), count * len(given) - sum(given))
        return min(sum(given) + far + sum(more[: max(least - len(given), 0)]), in_all)

    def elsewhere(self, free: Mapping[Gres, Ints], request: Request, node: int, cores: Sequence[int]) -> int:
        """How many devices a node gives that needs give none: one, where it is near none of the job's cores (22.05)."""
        there = self.free(free, request.name, request.kind)[:, node].tolist()
        return int(any(count and not own for count, own in zip(there, cores, strict=True)))

    def _turns(
        self, request: Request, count: int, cores: Sequence[int], threads: int, cpus_per_task: int
    ) -> Iterator[tuple[int | None, int]]:
        """From which sockets devices are taken, and how many of each at most; None for those that are near none."""
        used = [socket for socket, own in enumerate(cores) if own]
        in_all = max(sum(cores), 1)
        if request.per_socket:
            for socket in (*used, *(socket for socket, own in enumerate(cores) if not own)):
                yield socket, request.per_socket
        elif request.for_task:
            for socket in used:
                yield socket, cores[socket] * threads // cpus_per_task * request.for_task
        elif self.by_cpus:
            for socket in used:
                yield socket, cores[socket] * count // in_all
        elif request.on_node:
            yield None, 1
            for socket in used:
                yield socket, 1
        yield None, count
        for socket in (*used, *(socket for socket, own in enumerate(cores) if not own)):
            yield socket, count

    def reach(
        self,
        free: Mapping[Gres, Ints],
        requests: Sequence[tuple[Request, Ints]],
        tasks: Tasks,
        cpus: Ints,
        cores: Ints,
        threads: Ints,
        *,
        first: bool,
        enforced: bool,
    ) -> Reach:
        """What each node has for a job.

        Args:
            free: what is free on each node, by kind.
            requests: what it asks for, and how many of it each node has, near a socket or not.
            tasks: of the job.
            cpus: that it may have of each node, whichever devices are near.
            cores: free ones of each socket of each node.
            threads: CPUs of a core of each node.
            first: whether cores of its devices' sockets alone are looked at.
            enforced: whether it has no others in any case.
        """
        state = _State(
            Reach(
                cpus.copy(),
                cores.copy(),
                np.zeros_like(cpus),
                np.zeros(cores.shape, dtype=bool),
                np.zeros_like(cpus),
                self.by_cpus,
            ),
            tasks,
            threads,
            _most_tasks(tasks, cpus),
            first,
            enforced,
            self.by_cpus,
        )
        for one, there in requests:
            near = self.free(free, one.name, one.kind)
            others = np.maximum(there - near.sum(axis=0), 0)
            of_free_cores = np.where(cores > 0, near, 0).sum(axis=0) + others
            state.reach.nearby += np.minimum(of_free_cores, one.on_node or one.most)
            if enforced and self.by_cpus and not first:
                near = np.where(_for_cpus(near, state.reach.cores, threads, one.cpus_first) > 0, near, 0)
            state.add(one, near, others, one.cpus_first if first else one.cpus)
        return state.end()


def _most_tasks(tasks: Tasks, cpus: Ints) -> Ints:
    there = cpus // tasks.cpus
    return np.where(there < tasks.least, 0, np.minimum(there, tasks.most))


def _for_cpus(near: Ints, cores: Ints, threads: Ints, cpus: int) -> Ints:
    """Devices of each socket for which there are so many CPUs each."""
    return np.minimum(near, cores * threads // cpus) if cpus else near


@dataclass
class _State:
    """What is left of each node as one kind of devices after another is looked at."""

    reach: Reach
    tasks: Tasks
    threads: Ints
    most_tasks: Ints
    first: bool
    enforced: bool
    by_cpus: bool
    least: Ints | None = None
    stated: bool = False

    @property
    def bound(self) -> bool:
        """Whether cores of the devices' sockets alone count."""
        return self.first or self.enforced

    def add(self, one: Request, near: Ints, others: Ints, cpus: int) -> None:
        """Look at devices: those near each socket, others, and the CPUs that go with each."""
        reach, size = self.reach, self.tasks.cpus
        self.stated |= one.stated
        near = _for_cpus(near, reach.cores, self.threads, cpus) if self.bound else near
        near = np.where(near >= one.per_socket, near, 0)
        devices = others + self._from_sockets(one, near, others)
        most = np.minimum(one.most, reach.cpus // cpus) if cpus else one.most
        if self.by_cpus or cpus:
            devices = np.minimum(devices, most)
        if one.on_node and self.by_cpus:
            devices = np.minimum(devices, one.on_node)
        enough = devices >= max(one.on_node, one.for_task, 1)
        if cpus and self.by_cpus:
            of_them = devices * cpus
            few = of_them < max(self.tasks.least * size, self.tasks.cpus_on_node)
            self.most_tasks = np.minimum(self.most_tasks, np.where(few, self.tasks.least, of_them // size))
        if one.for_task:
            self.most_tasks = np.minimum(self.most_tasks, devices // one.for_task)
            if self.by_cpus:
                devices = np.minimum(devices, self.most_tasks * one.for_task)
        self.most_tasks = np.where(enough, self.most_tasks, 0)
        if self.bound:
            reach.cores = np.where(reach.of_devices, reach.cores, 0)
        cores = reach.cores.sum(axis=0)
        reach.cpus = np.minimum(reach.cpus, cores * self.threads)
        self.most_tasks = np.minimum(self.most_tasks, cores * self.threads // size)
        self._need(one, devices, cpus)
        if cpus:
            devices = reach.bounded[one.name, one.kind] = np.minimum(devices, reach.cpus // cpus)
        reach.devices[one.name, one.kind] = devices

    def _from_sockets(self, one: Request, near: Ints, others: Ints) -> Ints:
        """Devices of the sockets of each node; notes which of these give any."""
        cores, gives = self.reach.cores, self.reach.of_devices
        nodes, in_all = np.arange(cores.shape[1]), cores.sum(axis=0)
        least = -(-self.tasks.least * self.tasks.cpus // self.threads)
        total, enough = np.zeros_like(others), np.zeros(len(others), dtype=bool)
        bound = one.most if one.per_socket else one.on_node or one.most
        for socket in np.argsort(-cores, axis=0, kind="stable"):
            own, there = cores[socket, nodes], near[socket, nodes]
            if self.first and not self.by_cpus:
                # Sockets without devices keep the cores that a node cannot do without (22.05).
                gone = np.where(there + others > 0, 0, np.minimum(own, np.maximum(in_all - least, 0)))
                own, in_all = own - gone, in_all - gone
                cores[socket, nodes] = own
            looked_at = (own > 0) if self.bound else np.ones(len(own), dtype=bool)
            total += np.where(looked_at, there, 0)
            if self.by_cpus:
                gives[socket, nodes] |= looked_at & ((~enough & (there > 0)) | (others > 0))
                enough |= looked_at & (total + others >= bound)
            else:
                gives[socket, nodes] |= looked_at & ~enough
                enough |= looked_at & (total >= bound) & (others == 0)
        return total

    def _need(self, one: Request, devices: Ints, cpus: int) -> None:
        """Note how many cores the tasks of each node need at most; none have room on nodes with fewer."""
        reach, threads, size = self.reach, self.threads, self.tasks.cpus
        needed = -(-self.most_tasks * size // threads)
        if cpus:
            counted = one.on_node or (one.for_task * self.most_tasks if one.for_task else np.maximum(devices, 1))
            if self.by_cpus:
                self.most_tasks = np.minimum(self.most_tasks, counted * cpus)
            needed = np.maximum(needed, -(-counted * cpus // threads))
        cores = reach.cores.sum(axis=0)
        if self.enforced:
            needed = np.maximum(needed, np.count_nonzero(reach.of_devices, axis=0))
        too_few = (needed > cores) | (self.most_tasks < self.tasks.least)
        if self.enforced:
            too_few |= needed * threads > reach.cpus
        self.most_tasks = np.where(too_few, 0, self.most_tasks)
        if not self.bound:
            self._leave_others(cores - needed)
        reach.needed = needed
        left = np.where(reach.of_devices, reach.cores, 0).sum(axis=0)
        reach.cpus = np.minimum(reach.cpus, np.maximum(needed, reach.cores.sum(axis=0) - left) * threads)
        if self.by_cpus and (self.enforced or one.stated):
            self.least = np.minimum(needed * threads, needed * threads if self.least is None else self.least)
        elif self.enforced and one.on_node and self.tasks.stated:
            # A core of each socket whose devices it has (22.05).
            least = np.count_nonzero(reach.of_devices, axis=0) * threads
            self.least = least if self.least is None else np.maximum(least, self.least)

    def _leave_others(self, more: Ints) -> None:
        """Leave cores of sockets that give no devices alone, as far as the tasks do not need them."""
        reach = self.reach
        for socket in range(len(reach.cores)):
            gone = np.where(reach.of_devices[socket], 0, np.minimum(reach.cores[socket], np.maximum(more, 0)))
            reach.cores[socket] -= gone
            more = more - gone

    def end(self) -> Reach:
        """What there is in the end."""
        reach, of_tasks = self.reach, self.most_tasks * self.tasks.cpus
        if self.least is not None:
            reach.least = self.least
            of_tasks = np.maximum(of_tasks, self.least)
        of_tasks = reach.cpus if self.stated else np.minimum(reach.cpus, of_tasks)
        reach.cpus = np.where(self.most_tasks > 0, of_tasks, 0)
        return reach
