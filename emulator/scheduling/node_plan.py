"""The plan of a cluster: what can start now on its nodes, and what was promised.

Holds, begin times, dependencies, limits, licences, reservations and the bounds of partitions are
asked here, so that a scheduler does not have to know of them.

Planned ends are those of :meth:`Cluster.planned_end`. Suspended jobs hold their nodes now,
and are left out of the future but for their memory and generic resources.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping

from emulator.scheduling.controls import Controls
from emulator.scheduling.counted_nodes import CountedNodes, Pool
from emulator.scheduling.entries import still_waits
from emulator.scheduling.future import releases
from emulator.scheduling.job_mgr import partition_reason
from emulator.scheduling.licenses import LicensePlan
from emulator.scheduling.planned_free import PlannedFree, Promise, Promises
from emulator.scheduling.reasons import reason_of_nodes
from emulator.state.cluster import Cluster
from emulator.state.job import LICENSES, RESERVED_FOR_HIGHER, RESOURCES, Job
from emulator.state.partition import Partition
from slurm_sim_plugins.jobs import Run
from slurm_sim_plugins.nodes import Allocation, Free, Mask
from slurm_sim_plugins.plan import NOT_A_TIME, Answer, Entry, Place, SchedulePlan
from slurm_sim_plugins.profile import HALF_A_MICROSECOND

NEVER = float("inf")
GONE = Answer(None, "None")
"""It does not wait any more: it was started, perhaps in another partition."""
BEHIND = "Priority"


class NodePlan(SchedulePlan):
    """The plan of one pass over a cluster.

    Args:
        cluster: the cluster state.
        controls: reservations, and sharing.
        counts: knows which nodes can be counted.
        entries: the entries of the queue, in its order, as they are when they are asked for.
        kept: nodes that are kept for jobs, by id of the job.

    Attributes:
        promised: entries that were promised a start, or barred.
        last_place: the last place that was given; None once something has started or made room.
    """

    def __init__(
        self,
        cluster: Cluster,
        controls: Controls,
        counts: CountedNodes,
        entries: Callable[[], Iterable[Entry]],
        kept: Mapping[int, Mask],
    ) -> None:
        self._cluster = cluster
        self._controls = controls
        self._entries = entries
        self._counts = counts
        self._kept = kept
        self._pools = {} if kept else counts.pools()
        self._waits: dict[str, Job] = {}
        self._promises = Promises()
        self._closed: set[str] = set()
        self._barred: Mask = cluster.no_nodes()
        self._refused: dict[Hashable, Answer] = {}
        self._later: PlannedFree | None = None
        self._tried: dict[Hashable, float] = {}
        self._licenses: LicensePlan | None = None
        self._gone: Collection[int] = ()
        self.promised: set[Entry] = set()
        self.last_place: Place | None = None

    def heads(self) -> Iterator[Entry]:
        """The queue, each partition up to the first entry that was promised a start, or barred."""
        for entry in self._entries():
            if len(self._closed) == len(self._cluster.partitions):
                return
            if entry.partition not in self._closed:
                yield entry

    def fitting(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Those of whose request class none was refused in this pass for want of resources.

        Where nodes are counted, those are left out, too, that would delay a promise and are known to wait behind it.
        """
        counted, pools, open_to_all = self._counts.counted, self._pools, self._cluster.accounting is None
        for entry in entries:
            job, partition = entry._pair
            pool = pools.get(entry.partition)
            if pool is not None:
                free = pool.view.free
                if not free:
                    continue
                asked = counted(job, partition)
                if asked.processors <= free and not (
                    open_to_all and job.reason == BEHIND and pool.plan.delays(asked)  # type: ignore[arg-type]
                ):
                    yield entry
            elif self._known(job, partition) is None:
                yield entry

    def now(self, entry: Entry) -> Answer:
        """Where an entry can start now, or why it cannot."""
        job, partition = entry._pair
        if not still_waits(job, self._cluster):
            return GONE
        gate = self._gate(job, partition)
        if gate:
            return self._refuse(job, partition, Answer(None, gate))
        pool = self._pools.get(partition.name)
        if pool is not None:
            found, answer = self._find_counted(pool, job, partition)
        else:
            known = self._known(job, partition)
            if known is not None:
                return self._refuse(job, partition, known)
            found, answer = self._find(job, partition)
        limit = self.limit(job, partition, found)
        if limit:
            return self._refuse(job, partition, Answer(None, limit))
        if found is None:
            if pool is None:
                self._refused[self._class(job, partition)] = answer
            return self._refuse(job, partition, answer)
        self.last_place = Place(self, entry, found)
        return Answer(self.last_place)

    def promise(self, entry: Entry, not_before: float = 0.0) -> float:
        """Promise an entry the earliest start that it can have if nothing else were started."""
        if not_before != not_before:
            raise ValueError(NOT_A_TIME)
        job, partition = entry._pair
        self._closed.add(entry.partition)
        self.promised.add(entry)
        not_before = max(not_before, self._cluster.now)
        pool = self._pools.get(partition.name)
        if pool is not None:
            return pool.promise(self._counts.counted(job, partition), not_before)
        found = self._earliest(job, partition, not_before)
        if found is None:
            job.planned_start = None
            return NEVER
        self._promises.add(found)
        return found.time

    def earliest(self, entry: Entry, without: Iterable[Run] = ()) -> float:
        """The earliest start that an entry could have if these runs were over; promises nothing."""
        job, partition = entry._pair
        gone = {run.job.id for run in without}
        pool = self._pools.get(partition.name)
        if pool is not None:
            return pool.earliest(self._counts.counted(job, partition), gone)
        other = NodePlan(self._cluster, self._controls, self._counts, self._entries, self._kept)
        other._pools, other._promises, other._gone = {}, self._promises, gone
        found = other._earliest(job, partition, self._cluster.now)
        return NEVER if found is None else found.time

    def alone(self, entry: Entry) -> float:
        """When so many of the running jobs will have ended that an entry fits (observation Q6)."""
        job, partition = entry._pair
        if partition_reason(job, partition) is not None:
            return NEVER
        cluster, want = self._cluster, self._cluster.want(job, partition)
        usable, free = cluster.usable(job, partition), cluster.free.copy()
        if (found := cluster.choose(want, free, usable)) is not None:
            return self._counted(job, partition, found, cluster.now)
        for one in releases(cluster):
            if one.jobs:
                free.release(one.allocation)
            else:
                free.yield_up(one.allocation)
            if (found := cluster.choose(want, free, usable)) is not None:
                return self._counted(job, partition, found, one.end)
        return NEVER

    def _counted(self, job: Job, partition: Partition, found: Allocation, start: float) -> float:
        """When a job is planned to start; with how many CPUs its next number counts it may go by its nodes then."""
        policies = self._cluster.policies
        if policies.counts_cpus and policies.counts_by_plan(job, partition):
            policies.given(job, found)
        return start

    def again(self, entry: Entry, place: Place | None = None) -> Answer:
        """Whether an entry can start now, wherever that is."""
        return self.now(entry)

    def names_of(self, allocation: Allocation) -> list[str]:
        """Names of its nodes."""
        return [self._cluster.machine.names[node] for node in allocation.nodes]

    def bar(self, entry: Entry) -> None:
        """Keep the nodes of an entry's partition from those behind it."""
        _, partition = entry._pair
        self._closed.add(entry.partition)
        self.promised.add(entry)
        self._barred = self._barred | partition.nodes
        self._refused.clear()
        if partition.name in self._pools:
            self._pools[partition.name].plan.bar(entry.job)

    def overtakes(self, job: Job, partition: Partition) -> bool:
        """Whether another job of a partition was found to wait for resources in this pass."""
        return self._waits.get(partition.name, job) is not job

    def counts(self, partition: Partition) -> bool:
        """Whether the nodes of a partition are counted."""
        return partition.name in self._pools

    def started(self, job: Job) -> None:
        """A job has started: what runs past a promised start is not free then."""
        assert job.run is not None
        self._later = self._licenses = self.last_place = None
        end = self._cluster.planned_end(job)
        pool = self._pools.get(job.run.partition)
        if pool is not None:
            pool.started(self._counts.counted(job, self._cluster.partitions[job.run.partition]), end, job)
        if job in self._waits.values():
            self._waits = {name: other for name, other in self._waits.items() if other is not job}
        if self._controls.reservations.by_name:
            # One with REPLACE may have moved to other nodes.
            self._tried.clear()
        if any(promise.job is job for promise in self._promises):
            self._promises = self._promises.without(job)
            self._tried.clear()
        for promise in self._promises:
            if end > promise.time + HALF_A_MICROSECOND:
                promise.free.take(job.run.allocation)

    def preempted(self, kept: Mapping[int, Mask]) -> None:
        """Jobs were preempted: what was refused may fit now, runs end at other times, and nodes are kept."""
        self._kept = kept
        self._refused.clear()
        self._tried.clear()
        self._later = self._licenses = self.last_place = None
        before, self._pools = self._pools, self._counts.pools()
        if any(job.vacating for job in self._cluster.running.values()):
            self._pools = {}
        for name, pool in self._pools.items():
            if name in before:
                pool.promise_again(before[name])

    # Gates

    def _gate(self, job: Job, partition: Partition) -> str:
        """Why a job cannot start whatever nodes there are; empty if it may."""
        cluster = self._cluster
        reason = partition_reason(job, partition)
        if reason is not None:
            return reason
        if cluster.accounting is not None:
            limit = cluster.accounting.obstacle(job, partition)
            if limit:
                return limit
            cluster.accounting.forget(job)
        return "" if cluster.licenses_free(job) else LICENSES

    def limit(self, job: Job, partition: Partition, found: Allocation | None) -> str:
        """Why a job cannot start on these nodes, or on any; empty if it may."""
        accounting = self._cluster.accounting
        return accounting.refusal(job, partition, found) if accounting is not None else ""

    def _refuse(self, job: Job, partition: Partition, answer: Answer) -> Answer:
        """A job shows why it waits."""
        job.reason = answer.reason
        if answer.blocks and partition.name not in self._waits:
            self._waits[partition.name] = job
            job.blocked = True
        return answer

    def _class(self, job: Job, partition: Partition) -> Hashable:
        """Equal for jobs that get the same answer about nodes."""
        user = job.request.user if self._cluster.parts_users(job) else ""
        return (
            job.request_class,
            partition.name,
            job.reservation,
            job.plan_limit,
            user,
            bool(job.options.licenses),
        )

    def _known(self, job: Job, partition: Partition) -> Answer | None:
        """How a job of its class was refused, unless nodes are kept for this one."""
        return None if job.id in self._kept else self._refused.get(self._class(job, partition))

    # Nodes now

    def _find_counted(self, pool: Pool, job: Job, partition: Partition) -> tuple[Allocation | None, Answer]:
        """As :meth:`_find`, where nodes are counted."""
        answer = pool.plan.now(self._counts.counted(job, partition))  # type: ignore[arg-type]
        if answer.place is None:
            return None, answer
        found = self._cluster.select(job, partition, partition.nodes)
        assert found is not None, f"job {job.id} fits by the count of nodes, and none are found for it"
        return found, answer

    def _find(self, job: Job, partition: Partition) -> tuple[Allocation | None, Answer]:
        """Nodes on which a job can start now and breaks no promise; or None, and what to answer."""
        cluster = self._cluster
        usable = cluster.settled(cluster.usable(job, partition)) & self._controls.not_reserved(job)
        for number, nodes in self._kept.items():
            usable = usable if number == job.id else usable & ~nodes
        found = cluster.select(job, partition, usable & ~self._barred)
        if found is None:
            reason = reason_of_nodes(job, partition, cluster, self._controls.not_reserved(job), self._barred)
            return None, Answer(None, reason, blocks=reason in (RESOURCES, RESERVED_FOR_HIGHER))
        if self._stand(job, found):
            return found, Answer(None)
        # The nodes that the selection likes best may be those that a promise needs; others may do.
        kept = self._barred
        for promise in self._promises:
            kept = kept | promise.allocation.mask(len(cluster.machine))
        found = cluster.select(job, partition, usable & ~kept)
        if found is not None and self._stand(job, found):
            return found, Answer(None)
        return None, Answer(None, BEHIND, overtakes=True)

    def _stand(self, job: Job, allocation: Allocation) -> bool:
        """Whether all promises can be kept if a job starts now on these nodes."""
        end = self._cluster.now + job.plan_limit
        placed: list[tuple[Promise, Allocation]] = []
        for promise in self._promises:
            if promise.job is job:
                continue
            others = [allocation] if end > promise.time + HALF_A_MICROSECOND else []
            others += [of for other, of in placed if other.time <= promise.time < other.end]
            found = self._kept_by(promise, others) if others else promise.allocation
            if found is None or not self._licensed(promise, job, end):
                return False
            placed.append((promise, found))
        return True

    def _kept_by(self, promise: Promise, others: list[Allocation]) -> Allocation | None:
        """Nodes with which a promise can be kept although others have some; or None."""
        free = promise.free.copy()
        for allocation in others:
            free.take(allocation)
        return self._select(promise.job, promise.partition, _no_less_than_nothing(free), promise.time)

    def _licensed(self, promise: Promise, job: Job, end: float) -> bool:
        """Whether the licences of a promise are there at its time although a job has some from now on."""
        if not job.options.licenses or not promise.job.options.licenses:
            return True
        licenses = LicensePlan(self._cluster)
        licenses.keep(job, self._cluster.now, end)
        return licenses.first(promise.job, promise.time, promise.length) == promise.time

    # Nodes later

    def _earliest(self, job: Job, partition: Partition, begin: float) -> Promise | None:
        """The earliest start from a time on, with nodes for it; or None if there is none."""
        # Since one like it was sought for, only more was taken: before the time found then there is no room for this.
        key = None if job.options.licenses else (self._class(job, partition), begin)
        times = self._times(max(begin, self._tried.get(key, begin)))

        def fits(time: float) -> bool:
            return self._fits(job, partition, time) is not None

        if not self._promises and not self._controls.reservations.by_name and not job.options.licenses:
            # Only ends of runs change what is free: it grows with each of them.
            first = bisect_right(times, False, key=fits)
            found = times[first] if first < len(times) else None
        else:
            found = next(filter(fits, times), None)
        if key is not None:
            self._tried[key] = NEVER if found is None else found
        return None if found is None else self._promise_of(job, partition, found)

    def _times(self, begin: float) -> list[float]:
        """``begin``, and times after it at which more may be free, ascending; none if it is infinite."""
        if begin == NEVER:
            return []
        bounds = self._controls.reservations.bounds()
        times = {*self._planned.ends, *self._promises.ends, *(bound for bound in bounds if bound < NEVER)}
        return [begin, *sorted(time for time in times if time > begin)]

    @property
    def _planned(self) -> PlannedFree:
        """What is free later, as the runs of now end."""
        if self._later is None:
            self._later = PlannedFree(self._cluster, self._gone)
        return self._later

    def _promise_of(self, job: Job, partition: Partition, time: float) -> Promise:
        """The promise of a time at which a job fits."""
        found = self._fits(job, partition, time)
        assert found is not None
        return Promise(job, partition, time, job.plan_limit, self._planned.at(time).copy(), found)

    def _fits(self, job: Job, partition: Partition, time: float) -> Allocation | None:
        """Nodes with which a job can be promised a time; None if it does not fit then."""
        length = job.plan_limit
        if job.options.licenses:
            self._licenses = self._licenses or LicensePlan(self._cluster)
            if self._licenses.first(job, time, length) != time:
                return None
        return self._select(job, partition, self._promises.left(self._planned.at(time), time, length), time)

    def _select(self, job: Job, partition: Partition, free: Free, time: float) -> Allocation | None:
        cluster = self._cluster
        usable = cluster.usable(job, partition) & self._controls.not_reserved(job, time)
        return cluster.select(job, partition, usable, free)


def _no_less_than_nothing(free: Free) -> Free:
    """What is free, without debts: two plans may count on the same node at different times."""
    free.table.clip(0, out=free.table)
    return free
