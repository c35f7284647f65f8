"""``sched/backfill``: every job in turn gets the first hole that it fits into, and keeps it from those behind.

Reservations are of whole nodes. A cycle ends when it has tested as many jobs, or keeps as
many slots of time, as it may. (Observations Q2 to Q5, T5, T8, C8, B1 to B3.)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from emulator.slurmctld.acct_policy import reserves_nothing
from emulator.slurmctld.cluster import Cluster
from emulator.slurmctld.controls import Controls
from emulator.slurmctld.future import Future
from emulator.slurmctld.job import Job, Partition
from emulator.slurmctld.job_mgr import partition_reason
from emulator.slurmctld.licenses import LicensePlan
from emulator.slurmctld.node_select import select_nodes
from emulator.slurmctld.nodes import Allocation, Mask
from emulator.slurmctld.preempt import candidates, victims
from emulator.slurmctld.queue import still_waits

Ints = NDArray[np.int64]


class Slots:
    """Nodes that are kept for jobs, each for a while.

    Args:
        nodes: how many there are.

    """

    def __init__(self, nodes: int) -> None:
        self._bounds: set[float] = set()
        self._count = 0
        self._times = np.empty((2, 64))
        self._masks: Mask = np.zeros((64, nodes), dtype=bool)

    @property
    def bounds(self) -> set[float]:
        """Times at which one begins or ends."""
        return self._bounds

    def nodes(self) -> Ints:
        """Nodes that are kept at any time, ascending."""
        return np.flatnonzero(self._masks[: self._count].any(axis=0))

    def __len__(self) -> int:
        """How many bounds there are."""
        return len(self.bounds)

    def add(self, begin: float, end: float, nodes: Sequence[int]) -> None:
        """Keep nodes from ``begin`` to ``end`` (seconds)."""
        if self._count == self._times.shape[1]:
            self._times = np.concatenate([self._times, self._times], axis=1)
            self._masks = np.concatenate([self._masks, np.zeros_like(self._masks)])
        self._times[:, self._count] = begin, end
        self._masks[self._count, np.asarray(nodes, dtype=np.intp)] = True
        self._count += 1
        self._bounds |= {begin, end}

    def kept(self, begin: float, end: float) -> Mask:
        """Nodes that are kept at some time between."""
        return np.asarray(self._masks[self._between(begin, end)].any(axis=0), dtype=bool)

    def first_end(self, begin: float, end: float, nodes: Sequence[int]) -> float | None:
        """When the first slot ends that keeps one of these nodes at some time between."""
        those = self._between(begin, end)
        those = those[self._masks[np.ix_(those, np.asarray(nodes, dtype=np.intp))].any(axis=1)]
        return float(self._times[1, those].min()) if len(those) else None

    def _between(self, begin: float, end: float) -> NDArray[np.intp]:
        begins, ends = self._times[:, : self._count]
        return np.flatnonzero((begins < end) & (ends > begin))


def backfill(cluster: Cluster, controls: Controls) -> None:
    """Make one cycle.

    Args:
        cluster: the situation.
        controls: starts and preempts.
    """
    # Compiled code knows only windows that double.
    if cluster.compiled is None or cluster.parameters.bf_window_linear:
        cycle = Cycle(cluster, controls)
    else:
        from emulator.slurmctld.backfill_compiled import CompiledCycle

        cycle = CompiledCycle(cluster, controls)
    cycle.run()
    cluster.planned = cycle.slots


class Cycle:
    """One cycle, in plain Python.

    Args:
        cluster: the situation.
        controls: starts and preempts.
    """

    def __init__(self, cluster: Cluster, controls: Controls) -> None:
        self._cluster = cluster
        self._controls = controls
        self._parameters = cluster.parameters
        self._slots: Slots = self._no_slots()
        self._tested = self._started = 0
        self._by_partition: Counter[str] = Counter()
        self._by_user: Counter[str] = Counter()
        self._by_user_there: Counter[tuple[str, str]] = Counter()
        self._by_association: Counter[tuple[str, str]] = Counter()
        self._associations_done: set[tuple[str, str]] = set()
        self._users_done: set[str] = set()
        self._partitions_done: set[str] = set()
        self._reserved_in: Counter[str] = Counter()
        self._reserved_of: Counter[tuple[int, str]] = Counter()
        self._reserved: set[int] = set()
        self._licensed: list[tuple[Job, float, float]] = []
        self._licenses: LicensePlan | None = None
        self._licenses_of = 0
        self._victims: list[Job] = []
        self._table_full = False
        self._alike: dict[Hashable, float] = {}
        self._futures: dict[int, Future] = {}
        self._futures_of = 0

    @property
    def slots(self) -> Slots:
        """What is kept for jobs."""
        return self._slots

    def run(self) -> None:
        """Try the queue in order, as far as it may."""
        for job, partition in self._in_turn():
            self._try(job, partition)

    def _no_slots(self) -> Slots:
        return Slots(len(self._cluster.machine))

    def _in_turn(self) -> Iterator[tuple[Job, Partition]]:
        """Jobs to be tried; no more than so many of a user and a partition, and in all."""
        parameters, cluster = self._parameters, self._cluster
        bounded = (
            parameters.bf_max_job_part
            or parameters.bf_max_job_user
            or parameters.bf_max_job_user_part
            or parameters.bf_max_job_assoc
        )
        for _, job, partition in cluster.order.pairs():
            if bounded and self._had_their_turn(job, partition):
                continue
            if self._tested >= parameters.bf_max_job_test or self._table_full:
                return
            if parameters.bf_max_job_start and self._started >= parameters.bf_max_job_start:
                return
            if not still_waits(job, cluster) or partition_reason(job, partition) is not None:
                continue
            self._tested += 1
            if bounded:
                self._count(job, partition)
            yield job, partition

    def _had_their_turn(self, job: Job, partition: Partition) -> bool:
        """Whether no more jobs of the user, the partition or the association may be tried."""
        if job.request.user in self._users_done or partition.name in self._partitions_done:
            return True
        most = self._parameters.bf_max_job_user_part
        if most and self._by_user_there[job.request.user, partition.name] >= most:
            return True
        return (job.request.user, job.options.account) in self._associations_done

    def _count(self, job: Job, partition: Partition) -> None:
        parameters, user = self._parameters, job.request.user
        self._by_partition[partition.name] += 1
        self._by_user[user] += 1
        self._by_user_there[user, partition.name] += 1
        if self._by_partition[partition.name] == parameters.bf_max_job_part:
            self._partitions_done.add(partition.name)
        if self._by_user[user] == parameters.bf_max_job_user:
            self._users_done.add(user)
        association = (user, job.options.account)
        self._by_association[association] += 1
        if self._by_association[association] == parameters.bf_max_job_assoc:
            self._associations_done.add(association)

    def _try(self, job: Job, partition: Partition) -> None:
        cluster, self._victims = self._cluster, []
        planned = bool(job.options.licenses) and self._parameters.bf_licenses
        if self._at_limit(job) or not (planned or cluster.licenses_free(job)):
            return
        limit = job.time_min if job.time_min is not None else job.plan_limit
        found = self._licensed_hole(job, partition, limit) if planned else self._hole(job, partition, limit)
        if found is None:
            return
        start, allocation = found
        if self._over_limit(job, partition, allocation):
            return
        if start <= cluster.now:
            self._start(job, partition, allocation, limit)
        elif self._share(job, partition, limit):
            return
        elif start <= cluster.now + self._parameters.bf_window:
            self._reserve(job, partition, start, limit, allocation)

    def _at_limit(self, job: Job) -> bool:
        """Whether a limit keeps a job from starting whatever nodes there are."""
        accounting = self._cluster.accounting
        if accounting is None:
            return False
        reason = accounting.obstacle(job)
        if reason:
            job.reason = reason
        else:
            accounting.forget(job, "Priority")
        return bool(reason)

    def _over_limit(self, job: Job, partition: Partition, allocation: Allocation) -> bool:
        """Whether what a job would have is beyond a limit: nothing is kept for it then (observation E4)."""
        accounting = self._cluster.accounting
        reason = accounting.refusal(job, partition, allocation) if accounting is not None else ""
        if reason:
            job.reason = reason
        return bool(reason)

    def _hole(self, job: Job, partition: Partition, limit: float) -> tuple[float, Allocation] | None:
        """The first start of a run that takes no nodes that are kept for others, and the nodes; or None."""
        return self._hole_from(job, partition, limit, self._cluster.now)

    def _hole_from(self, job: Job, partition: Partition, limit: float, at: float) -> tuple[float, Allocation] | None:
        while True:
            planned = self._earliest(job, partition, at, limit)
            if planned is None:
                return None
            start, allocation = planned
            clash = self._clash(job, start, start + limit, allocation.nodes)
            if clash is None:
                return planned
            at = clash

    def _clash(self, job: Job, begin: float, end: float, nodes: Sequence[int]) -> float | None:
        """When the first slot or reservation ends that keeps one of these nodes from a run between."""
        found = [self._slots.first_end(begin, end, nodes)]
        if begin > self._cluster.now and self._controls.reservations.by_name:
            found.append(self._controls.reservations.first_end(job, begin, end, nodes))
        return min((one for one in found if one is not None), default=None)

    def _licensed_hole(self, job: Job, partition: Partition, limit: float) -> tuple[float, Allocation] | None:
        """The first start at which nodes and licences are there, and the nodes; or None."""
        at, licenses = self._cluster.now, self._licenses_planned()
        while True:
            free_from = licenses.first(job, at, limit)
            found = None if free_from is None else self._hole_from(job, partition, limit, free_from)
            if found is None or licenses.first(job, found[0], limit) == found[0]:
                return found
            at = found[0]

    def _licenses_planned(self) -> LicensePlan:
        """What is planned of licences; worked out anew when somebody has started."""
        if self._licenses is None or self._licenses_of != self._started:
            reserved, self._licenses_of = self._licensed, self._started
            self._licenses = LicensePlan(self._cluster)
            for job, begin, end in reserved:
                self._licenses.keep(job, begin, end)
        return self._licenses

    def _share(self, job: Job, partition: Partition, limit: float) -> bool:
        """Start a job beside others on the resources that they share, if it may."""
        cluster = self._cluster
        if self._controls.rows.depth(job, partition) < 2:
            return False
        usable = cluster.usable(job, partition) & self._controls.not_reserved(job) & ~self._kept(cluster.now, limit)
        shared = self._controls.rows.select(job, partition, usable)
        if shared is not None:
            self._controls.start(job, partition, shared[1], limit, shared[0])
        return shared is not None

    def _kept(self, begin: float, limit: float) -> Mask:
        """Nodes that slots keep from a run."""
        return self._slots.kept(begin, begin + limit)

    def _earliest(self, job: Job, partition: Partition, at: float, limit: float) -> tuple[float, Allocation] | None:
        """The first start from ``at`` on, and the nodes, with the nodes that no slot keeps.

        Tried are ``at`` and each time at which a slot begins or ends. What would start when
        the next of them has come is tried from there again: there may be more nodes then.
        """
        bounds = [*self._slots.bounds, *self._controls.reservations.bounds()]
        alike = (job.alike, partition.name, limit)
        at = max(at, self._alike.get(alike, at))
        times = [at, *sorted({bound for bound in bounds if bound > at}), math.inf]
        future = self._future(job, partition)
        for begin, later in pairwise(times):
            free = self._controls.not_reserved(job, begin, limit) & ~self._kept(begin, limit)
            found = self._will_run(job, partition, begin, later, free, future)
            if found is not None:
                self._note(alike, begin, job, partition)
                return found
        self._note(alike, math.inf, job, partition)
        return None

    def _note(self, alike: Hashable, begin: float, job: Job, partition: Partition) -> None:
        """Jobs that ask for the same need not be tried before this: what is free only shrinks in a cycle.

        That is, but for ends of runs that were thought away together with later ones, and might
        be looked at by themselves now that other slots begin and end; this is passed over. And
        unless somebody can be preempted, or is suspended, or has a node to himself.
        """
        if not self._candidates(partition, job) and not self._cluster.suspended and not self._cluster.exclusive_user:
            self._alike[alike] = begin

    def _will_run(
        self, job: Job, partition: Partition, begin: float, later: float, unkept: Mask, future: Future
    ) -> tuple[float, Allocation] | None:
        """When the job fits on these nodes as running jobs end, from ``begin`` on and before ``later``.

        Suspended jobs keep their nodes now, but are left out of plans (observation P11).
        """
        cluster, want = self._cluster, job.wants[partition.name]
        usable = cluster.usable(job, partition) & unkept
        planned = usable if not cluster.suspended else cluster.usable(job, partition, planned=True) & unkept
        preempting = begin <= cluster.now and bool(self._candidates(partition, job))
        for place, (time, free) in enumerate(future.from_(begin)):
            if time >= later:
                return None
            if place == 1 and preempting:
                chosen = victims(job, partition, usable, cluster)
                now = select_nodes(want, cluster.machine, cluster.free_without(chosen), usable) if chosen else None
                if now is not None:
                    self._victims = chosen
                    return begin, now
                continue  # Who could be preempted is no obstacle later on, but nobody is preempted in vain.
            found = select_nodes(want, cluster.machine, free, usable if time <= cluster.now else planned)
            if found is not None:
                return time, found
        return None

    def _future(self, job: Job, partition: Partition) -> Future:
        """What will be free, for jobs of a partition; worked out anew when somebody has started."""
        if self._futures_of != self._started:
            self._futures, self._futures_of = {}, self._started
        found = self._candidates(partition, job)
        key = partition.tier if found else -1
        if key not in self._futures:
            self._futures[key] = Future(self._cluster, found)
        return self._futures[key]

    def _candidates(self, partition: Partition, job: Job) -> list[Job]:
        return candidates(job, partition, self._cluster)

    def _start(self, job: Job, partition: Partition, allocation: Allocation, limit: float) -> None:
        cluster, self._started = self._cluster, self._started + 1
        for victim in self._victims:
            self._controls.preempt(victim, job)
        nodes = allocation.mask(len(cluster.machine))
        now = cluster.select(job, partition, nodes)
        if now is not None:
            self._controls.start(job, partition, now, limit)
        else:
            self._keep(cluster.now, cluster.now + limit, allocation)

    def _reserve(self, job: Job, partition: Partition, start: float, limit: float, allocation: Allocation) -> None:
        parameters, array = self._parameters, job.request.array
        if array is not None and self._reserved_of[array, partition.name] >= parameters.bf_max_job_array_resv:
            return
        job.planned_start = start
        most = parameters.bf_job_part_count_reserve
        if most and self._reserved_in[partition.name] >= most:
            return
        if job.priority < parameters.bf_min_prio_reserve or reserves_nothing(job):
            return
        if parameters.bf_min_age_reserve and self._cluster.now - job.submitted < parameters.bf_min_age_reserve:
            return
        if parameters.bf_one_resv_per_job and job.id in self._reserved:
            return
        if len(self._slots) + 1 >= parameters.bf_node_space_size:
            self._table_full = True
            return
        self._reserved.add(job.id)
        self._reserved_in[partition.name] += 1
        if array is not None:
            self._reserved_of[array, partition.name] += 1
        grain = parameters.bf_resolution
        begin = math.floor(start / grain) * grain
        end = math.floor((start + limit) / grain) * grain
        self._keep(begin, max(end, begin + grain), allocation)
        if parameters.bf_licenses and job.options.licenses:
            self._licenses_planned().keep(job, start, start + limit)
            self._licensed.append((job, start, start + limit))

    def _keep(self, begin: float, end: float, allocation: Allocation) -> None:
        self._slots.add(begin, end, allocation.nodes)
