"""The main loop's pass: start the queue in order; what blocks a partition blocks it for those behind.

A partition is left at its first job that does not fit; its nodes are then kept from jobs
of other partitions, too. A job that names all nodes that it needs blocks only these; one
that lacks licences, or whose nodes are not there, blocks no job. (Observations Q1, Q6,
Q7, B2, B4, P2.)
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from emulator.scheduling.alike import pass_over
from emulator.scheduling.controls import Controls
from emulator.scheduling.entries import array_full, drawn, of_record, still_waits, waited
from emulator.scheduling.job_mgr import (
    chosen_idle,
    fits_empty,
    fits_idle,
    least_nodes,
    move,
    partition_reason,
    pass_reason,
    preferred_part,
    stay_alone,
    stops_at_busy,
    wishing,
)
from emulator.scheduling.preempt import license_victims, make_way, victims
from emulator.scheduling.reasons import (
    FOR_MAINTENANCE,
    FOR_OTHERS,
    NODE_NOT_AVAILABLE,
    fits_alone,
    nodes_alone,
    reason_of_nodes,
    some_closed,
)
from emulator.state.cluster import Cluster
from emulator.state.job import LICENSES, NOT_YET_TRIED, RESERVED_FOR_HIGHER, RESOURCES, Job
from emulator.state.order import Pair
from emulator.state.partition import Partition
from emulator.state.reservation import Reservation
from emulator.state.run import State
from emulator.state.wants import BAD_CONSTRAINTS
from slurm_sim_plugins.het_jobs import together
from slurm_sim_plugins.nodes import Allocation, Mask
from slurm_sim_plugins.select.cons_tres import counts_with_too_much

OF_LIMITS = ("Assoc", "QOS")
"""How reasons begin that are limits."""


def schedule(cluster: Cluster, controls: Controls, full: bool = False, test_time: float = 0.0) -> bool:
    """Make one pass, over so many jobs as ``default_queue_depth`` says or, if ``full``, over the whole queue.

    Args:
        cluster: the cluster state.
        controls: what starts jobs.
        full: whether it goes over the whole queue.
        test_time: seconds that a look at a job takes, of which a pass has no more than ``max_sched_time``; 0 for none.

    Returns:
        Whether no job was left out for that bound.
    """
    cluster.noted_lack = False
    return not cluster.order or _Pass(cluster, controls).run(full, test_time)


class _Queued(NamedTuple):
    """A pair of the queue as it is put beside the other components."""

    pair: Pair
    het_job_id: int | None
    rank: tuple[float, float]


class _Pass:
    def __init__(self, cluster: Cluster, controls: Controls) -> None:
        self._cluster = cluster
        self._controls = controls
        self._failed = _completing(cluster) if cluster.parameters.reduce_completing_frag else set[tuple[str, str]]()
        self._kept: Mask | None = None
        self._left_of: dict[str, tuple[Mask, int]] = {}
        self._tried: defaultdict[str, int] = defaultdict(int)
        self._arrays: dict[tuple[int, str, str], Job] = {}
        self._started = self._looks = 0
        self._stopped = self._passes_over = self._all_kept = self._together = False
        self._making_way: set[int] = set()
        """Jobs for which others were preempted in this pass: they are not tried in other partitions."""

    def run(self, full: bool, test_time: float) -> bool:
        parameters, pairs = self._cluster.parameters, self._queue()
        self._looks = len(pairs) if full else parameters.default_queue_depth + 1
        if test_time:
            self._looks = min(self._looks, math.ceil(parameters.max_sched_time / test_time))
        for index, job, partition in self._in_turn(pairs):
            if not self._takes(job, partition):
                continue
            if not self._looks:
                return False
            self._looks -= 1
            before = job.reason
            self._look(job, partition)
            if job.request.array is not None and job.state is State.PENDING:
                self._arrays[job.request.array, partition.name, job.reservation] = job
                self._share(job, before)
            if self._stopped or (parameters.sched_max_job_start and self._started_enough(job)):
                break
            if not (self._cluster.order.by_list or self._together) and self._no_job_left():
                self._tell_those_behind(self._up_to_component(pairs, index), index, self._looks)
                break
            self._passes_over = self._may_pass_over()
        return True

    def _may_pass_over(self) -> bool:
        """Whether jobs behind one for which their partition is kept are not looked at one by one."""
        order, depth = self._cluster.order, self._cluster.parameters.partition_job_depth
        special = self._arrays or self._making_way or depth or order.draws or order.by_list
        return bool(self._failed) and not special

    def _queue(self) -> list[Pair]:
        """The queue; with ``bf_hetjob_prio`` components stand together there, too."""
        pairs, by = self._cluster.order.pairs(), self._cluster.parameters.bf_hetjob_prio
        self._together = by != "NONE" and bool(self._cluster.het_jobs)
        if not self._together:
            return pairs
        queue = [
            _Queued(pair, job.request.het_job_id, (float(partition.tier), job.number_in(partition.name)))
            for pair in pairs
            for _, job, partition in (pair,)
        ]
        return [one.pair for one in together(queue, by, lambda one: one.rank)]

    def _in_turn(self, pairs: list[Pair]) -> Iterator[tuple[int, Job, Partition]]:
        """Each pair, and its place among them.

        In the order of arrival, a job behind one that has started in one of several partitions is tried in the rest
        of these, too, and stays in the last of them (BUILTIN_BY_NUMBERS), whether or not it may be scheduled yet.
        """
        left: list[Partition] = []
        draws = self._cluster.order.draws
        index = 0
        while index < len(pairs):
            if self._passes_over:
                self._passes_over = False
                passed = pass_over(pairs, index, self._looks, self._failed)
                self._looks -= passed - index
                index = passed
                continue
            pair = pairs[index]
            _, job, partition = pair
            if draws:
                with drawn(job, self._cluster.order.drawn_by(pair)):
                    yield index, job, partition
            else:
                yield index, job, partition
            index += 1
            if not self._cluster.order.by_list:
                continue
            if len(job.partitions) > 1:
                if job.run is not None and job.run.partition == partition.name:
                    left = list(job.partitions[job.partitions.index(partition) + 1 :])
                    self._try_unready(job, left, pairs)
                continue
            while left and job.state is State.PENDING:
                other = left.pop(0)
                move(job, other, self._cluster)
                yield index - 1, job, other

    def _try_unready(self, started: Job, left: list[Partition], pairs: list[Pair]) -> None:
        """Try jobs right behind one that has started that may not be scheduled yet, unless they are held.

        So a job starts before its time, or what it depends on is over. (Recorded on 22.05.)
        """
        ready, waiting = {job.id for _, job, _ in pairs}, self._cluster.waiting
        listed = self._cluster.order.listed
        last = listed.place(started)
        while left:
            behind = [job for job in waiting.values() if listed.place(job) > last]
            job = min(behind, key=listed.place, default=None)
            if job is None or job.id in ready:
                return
            last = listed.place(job)
            while left and job.state is State.PENDING:
                partition = left.pop(0)
                move(job, partition, self._cluster)
                if not job.on_hold and (partition.name, job.reservation) not in self._failed:
                    self._try(job, partition)

    def _takes(self, job: Job, partition: Partition) -> bool:
        """Whether a job counts: not one that its partition bars, nor one of an array of which another did not start."""
        if not still_waits(job, self._cluster):
            if job.state is State.PENDING:
                job.reason = "JobArrayTaskLimit"
            return False
        if job.id in self._making_way:
            return False
        refused = self._arrays and self._arrays.get((job.request.array or 0, partition.name, job.reservation))
        if refused:
            job.reason = refused.reason
            return False
        reason = pass_reason(job, partition, self._cluster)
        if reason is not None:
            self._bar(job, partition, reason)
            return False
        return not self._draws_in_vain(job, partition) and not self._over_depth(job, partition)

    def _draws_in_vain(self, job: Job, partition: Partition) -> bool:
        """Whether the reservation that draws a job has too few nodes for it, or is over too early (26.05)."""
        if not job.drawn or job.options.reservation or self._controls.reservations.of(job) is None:
            return False
        if self._controls.reservations.is_over_early(job, job.plan_limit):
            if (partition.name, job.reservation) not in self._failed:
                job.reason = "Reservation"  # Of one behind a job that waits in it, that is not asked.
            return True
        return self._has_more_nodes(job, partition)

    def _bar(self, job: Job, partition: Partition, reason: str) -> None:
        """Tell why a partition does not take a job, and keep the nodes that it names if they would be looked for."""
        if len(job.partitions) == 1 or self._cluster.order.by_list:
            job.reason = reason
        if partition.name in job.barred and (partition.name, job.reservation) not in self._failed:
            self._keep_named(job, partition)

    def _started_enough(self, tried: Job) -> bool:
        """Whether no more jobs may be started in this pass."""
        self._started += tried.state is State.RUNNING
        return self._started >= self._cluster.parameters.sched_max_job_start

    def _no_job_left(self) -> bool:
        """Whether all entries that follow are behind one for which their partition is kept."""
        return self._cluster.order.kinds() <= self._failed and not self._cluster.parameters.partition_job_depth

    @property
    def _ends_at_components(self) -> bool:
        """Whether the loop ends at a component of a heterogeneous job in a partition that was left before."""
        rules = self._cluster.parameters.rules
        return rules.SECOND_COMPONENT_STOPS and not rules.COMPONENTS_STOP_NOTHING

    def _up_to_component(self, pairs: list[Pair], tried: int) -> list[Pair]:
        """The entries that are looked at where all partitions are left: those up to the next such component."""
        if not (self._cluster.het_jobs and self._ends_at_components):
            return pairs
        behind = range(tried + 1, len(pairs))
        ends = (place for place in behind if pairs[place][1].request.het_job_id is not None)
        return pairs[: next(ends, len(pairs) - 1) + 1]

    def _tell_those_behind(self, pairs: list[Pair], tried: int, left: int) -> None:
        order = self._cluster.order
        if not self._cluster.not_yet_tried:
            return
        if order.preempts is not None:
            self._tell(pairs[tried + 1 : self._last_counted(pairs, tried, left) + 1])
            return
        first, until, walked = order.rank(pairs[tried]), order.rank(pairs[min(tried + left, len(pairs) - 1)]), False
        for job in list(self._cluster.not_yet_tried.values()):
            entries = [one for one in order.entries_of(job) if len(job.partitions) == 1 or _is_tried(*one[1:])]
            ranks = [rank for rank in map(order.rank, entries) if first < rank]
            if not walked and ranks and min(ranks) > until:
                # Only for those it matters how far the pass counts: it goes as far as there are jobs, or farther.
                until, walked = order.rank(pairs[self._last_counted(pairs, tried, left)]), True
            if any(rank <= until for rank in ranks) and still_waits(job, self._cluster):
                self._behind(job)

    def _tell(self, pairs: list[Pair]) -> None:
        """Tell jobs that they are behind another one, where some go before those of a higher rank."""
        told = {job.id for _, job, partition in pairs if len(job.partitions) == 1 or _is_tried(job, partition)}
        for job in list(self._cluster.not_yet_tried.values()):
            if job.id in told and still_waits(job, self._cluster):
                self._behind(job)

    def _last_counted(self, pairs: list[Pair], tried: int, left: int) -> int:
        """The place of the last pair of a pass that goes on to so many more: an array counts once, as one record."""
        last = len(pairs) - 1
        arrays = {(array, partition) for array, partition, _ in self._arrays}
        for place in range(tried + 1, last + 1 if tried + left < last else 0):
            _, job, partition = pairs[place]
            array = job.request.array
            if array is not None and ((array, partition.name) in arrays or array_full(job, self._cluster)):
                continue
            if pass_reason(job, partition, self._cluster) is not None:
                continue
            if not left:
                return place - 1
            left -= 1
            if array is not None:
                arrays.add((array, partition.name))
        return last

    def _over_depth(self, job: Job, partition: Partition) -> bool:
        """Whether as many jobs of a partition were tried as are to be; one that shows no reason shows Priority then."""
        depth = self._cluster.parameters.partition_job_depth
        if depth and self._tried[partition.name] >= depth:
            if job.reason == "None":
                job.reason = "Priority"
                self._share(job, "None")
            return True
        self._tried[partition.name] += 1
        return False

    def _behind(self, job: Job) -> None:
        if job.reason in NOT_YET_TRIED and job.request.het_job_id is None:
            tried = self._arrays.get((job.request.array or 0, job.partitions[0].name, job.reservation))
            job.reason = "Priority" if tried is None or tried.runs or job.runs else tried.reason

    def _share(self, tried: Job, before: str) -> None:
        """Tasks of an array that have not run share one record: its reason is that of the task that was tried."""
        for job in of_record(tried, self._cluster) if tried.reason != before else ():
            job.reason = tried.reason

    def _look(self, job: Job, partition: Partition) -> None:
        """Try a job, unless its partition is kept for one before it."""
        if job.request.het_job_id is not None:
            # Backfill starts all of its components together; those behind it wait (recorded).
            self._stopped = self._ends_at_components and (partition.name, "") in self._failed
            self._block(job, partition)
        elif (partition.name, job.reservation) in self._failed:
            self._behind(job)
        elif job.barred and partition.name in job.barred:
            # Slurm finds that out only as it looks for nodes: the job counts as one that was tried.
            self._bar(job, partition, job.barred[partition.name])
        elif not self._controls.give_up_late(job):
            self._try(job, partition)

    def _try(self, job: Job, partition: Partition) -> None:
        cluster = self._cluster
        if self._at_limit(job, partition) or self._lacks_nodes(job, partition) or self._lacks_licenses(job, partition):
            return
        allowed = self._allowed(job, partition)
        if self._is_not_begun(job) or self._is_not_of_reservation(job, partition):
            return
        if self._prefers(job, partition, allowed):
            return
        if self._is_left_to_backfill(job, partition):
            job.reason = RESOURCES if some_closed(job, partition, cluster, allowed) else job.reason
            return
        stay_alone(job, [partition], cluster)
        if self._gets_nodes(job, partition, allowed):
            return
        if counts_with_too_much(cluster.want(job, partition), cluster.machine, cluster.free, allowed):
            self._hold(job, "JobHeldAdmin")  # Slurm has chosen its nodes, and fails as it starts.
        else:
            self._fail(job, partition)

    def _gets_nodes(self, job: Job, partition: Partition, allowed: Mask) -> bool:
        """Start a job if it finds nodes, also those of jobs that make way; True as well where a limit forbids it."""
        cluster = self._cluster
        found = cluster.select(job, partition, allowed)
        if found is not None:
            if not self._over_limit(job, partition, found):
                self._start(job, partition, found)
            return True
        shared = self._controls.rows.select(job, partition, allowed)
        if shared is not None:
            if not self._over_limit(job, partition, shared[1]):
                self._start(job, partition, shared[1], shared[0])
            return True
        chosen, there = victims(job, partition, allowed, self._controls, cluster)
        if self._over_limit(job, partition, there):
            return True
        if not make_way(job, chosen, self._controls, cluster):
            return False
        self._making_way.add(job.id)
        return self._start_at_once(job, partition, allowed)

    def _prefers(self, job: Job, partition: Partition, allowed: Mask) -> bool:
        """Try a job on the nodes that it would rather have, if these are there, also those that others leave for it.

        Only backfill gives it others then, before 26.05: its partition is left at it before it is tried without what
        it would rather have.
        """
        cluster = self._cluster
        if not job.options.prefer:
            return False
        stay_alone(job, [partition], cluster)
        want, there = preferred_part(job.options, cluster.want(job, partition), cluster), self._left(partition)[0]
        if not fits_idle(want, there & self._controls.not_reserved(job), cluster):
            return False
        with wishing(job, partition, cluster, wish=True):
            gets_nodes = self._gets_nodes(job, partition, allowed)
        if not gets_nodes and cluster.parameters.rules.OTHERS_THAN_PREFERRED:
            if job.id not in self._making_way:
                return False
            self._fail(job, partition)
        elif not gets_nodes:
            again = job.request.array is None or cluster.parameters.rules.ARRAYS_ARE_TRIED_AGAIN
            job.reason = "Priority" if again else RESOURCES
            self._hold_up(job, partition)
        return True

    def _start(self, job: Job, partition: Partition, allocation: Allocation, row: int = 0) -> None:
        self._controls.start(job, partition, allocation, row=row)
        self._left_of.clear()

    def _keep(self, nodes: Mask) -> None:
        """Keep nodes from the jobs behind the one that is tried."""
        if self._all_kept:
            return
        self._kept = nodes if self._kept is None else self._kept | nodes
        self._all_kept = b"\0" not in self._kept.tobytes()
        self._left_of.clear()

    def _not_kept(self, nodes: Mask) -> Mask:
        """Those of some nodes that are not kept for the jobs before."""
        return nodes if self._kept is None else nodes & ~self._kept

    def _left(self, partition: Partition) -> tuple[Mask, int]:
        """Nodes of a partition that are up and not kept for the jobs before, and how many."""
        known = self._left_of.get("" if self._all_kept else partition.name)
        if known is not None:
            return known
        if self._all_kept:
            known = self._left_of[""] = self._cluster.no_nodes(), 0
        else:
            left = self._not_kept(self._cluster.up_in(partition))
            known = self._left_of[partition.name] = left, int(np.count_nonzero(left))
        return known

    def _allowed(self, job: Job, partition: Partition) -> Mask:
        """Nodes on which a job may start now."""
        cluster, allowed = self._cluster, self._left(partition)[0]
        if cluster.parts_users(job):
            allowed = self._not_kept(cluster.usable(job, partition))
        if self._controls.reservations.by_name:
            allowed = allowed & self._controls.not_reserved(job)
        return cluster.settled(allowed)

    def _is_not_of_reservation(self, job: Job, partition: Partition) -> bool:
        """Whether a job's reservation has not the nodes that it names, or not enough: it is held, or waits for them."""
        own, required = self._controls.reservations.of(job), job.wants[partition.name].required
        if own is None or own.flags & {"ANY_NODES", "FLEX"}:
            return False
        waits = self._cluster.parameters.rules.NOT_OF_RESERVATION_WAITS
        named = required is not None and bool((required & ~own.nodes).any())
        if required is not None and named and waits:
            job.reason = "Reservation"
            self._keep(required)
        elif named or not (
            waits or len(job.partitions) > 1 or fits_alone(job, partition, self._cluster, partition.nodes & own.nodes)
        ):
            self._hold(job)
        elif self._is_overlapped_in_part(job, partition, own):
            job.reason = "Reservation"
            self._keep(own.nodes)
        else:
            return False
        return True

    def _is_overlapped_in_part(self, job: Job, partition: Partition, own: Reservation) -> bool:
        """Whether other reservations overlap that of a job, and leave it some of the nodes, but too few."""
        if own.cores is not None:
            return False
        nodes = partition.nodes & own.nodes
        left = nodes & self._controls.not_reserved(job)
        if not left.any() or (left == nodes).all() or fits_alone(job, partition, self._cluster, left):
            return False
        return fits_alone(job, partition, self._cluster, nodes)

    def _is_not_begun(self, job: Job) -> bool:
        """Whether the reservation that draws a job has yet to begin: its nodes are kept from all in this pass then."""
        own = self._controls.reservations.of(job) if job.drawn else None
        if own is None or "FLEX" in own.flags or own.start <= self._cluster.now:
            return False
        job.reason = "Reservation"
        self._keep(own.nodes)
        return True

    def _is_left_to_backfill(self, job: Job, partition: Partition) -> bool:
        """Whether a job would have more nodes than its FLEX reservation has there, which only backfill may give it.

        Slurm guesses as the job is submitted how many it would have, as if all nodes were free. In the order of
        arrival it asks for that only if the job has several partitions (BUILTIN_BY_NUMBERS).
        """
        own = self._controls.reservations.of(job)
        if own is None or "FLEX" not in own.flags or self._cluster.parameters.rules.FLEX_IS_WAITED_FOR:
            return False
        if self._cluster.order.by_list and len(job.partitions) == 1:
            return False
        return self._has_more_nodes(job, partition)

    def _has_more_nodes(self, job: Job, partition: Partition) -> bool:
        """Whether a job would have more nodes than its reservation has there.

        Of one that fits nowhere Slurm knows no number; it is tried in a reservation that draws it.
        """
        cluster, own = self._cluster, self._controls.reservations.of(job)
        assert own is not None
        found = cluster.choose(cluster.want(job, partition), cluster.machine.free(), partition.nodes)
        if found is None:
            return not job.drawn
        return len(found.nodes) > int(np.count_nonzero(own.nodes & partition.nodes))

    def _at_limit(self, job: Job, partition: Partition) -> bool:
        """Whether a limit keeps a job from starting whatever nodes there are."""
        accounting = self._cluster.accounting
        if accounting is None:
            return False
        reason = accounting.obstacle(job, partition)
        if not reason:
            accounting.forget(job)
        # One that shows such a limit already is passed over.
        return self._limited(job, partition, reason, not job.reason.startswith(OF_LIMITS))

    def _lacks_licenses(self, job: Job, partition: Partition) -> bool:
        """Whether the licences for a job are in use; note what it waits for."""
        cluster = self._cluster
        if not job.options.licenses or cluster.licenses_free(job):
            return False
        if cluster.parameters.rules.NODES_BEFORE_LICENSES:
            if _named_lack_memory(job, partition, cluster):
                self._fail(job, partition)
                return True
            if self._over_limit_anyway(job, partition):
                return True
        job.reason = LICENSES
        # What is behind it is left to backfill, which plans licences (observation L1).
        self._stopped = cluster.parameters.bf_licenses
        if cluster.parameters.rules.NODES_BEFORE_LICENSES:
            self._keep_named(job, partition)
        self._reclaim(job, partition)
        return True

    def _lacks_nodes(self, job: Job, partition: Partition) -> bool:
        """Whether fewer nodes of a partition than a job needs are up and not kept for those before it.

        Then its partition is left at it, whatever reservation it has; one that names such nodes, and shows that
        already, is passed over.
        """
        required = job.wants[partition.name].required
        if required is not None and job.reason.startswith(NODE_NOT_AVAILABLE):
            left = self._not_kept(self._cluster.machine.up)
            if (required & ~left).any():
                return True
        if self._left(partition)[1] >= least_nodes(job):
            return False
        job.reason, self._cluster.noted_lack = RESERVED_FOR_HIGHER, True
        self._block(job, partition)
        return True

    def _block(self, job: Job, partition: Partition) -> None:
        """Leave a partition at a job, whatever reservation it has, and keep its nodes from those behind it."""
        job.blocked = True
        self._failed.add((partition.name, ""))
        self._keep(partition.nodes)

    def _reclaim(self, job: Job, partition: Partition) -> None:
        """Preempt jobs that have licences that a job wants, if that may be."""
        cluster = self._cluster
        if not cluster.parameters.preempt_reclaim_licenses or cluster.nodes_for.whole_nodes:
            return
        usable = self._not_kept(cluster.usable(job, partition) & self._controls.not_reserved(job))
        make_way(job, license_victims(job, partition, usable, cluster), self._controls, cluster)

    def _over_limit(self, job: Job, partition: Partition, found: Allocation | None) -> bool:
        """Whether what a job would have is beyond a limit; also where it does not fit now.

        It counts with as many nodes then as it would have if all that are up were idle.
        """
        accounting, many, alone = self._cluster.accounting, 0, None
        if accounting is None:
            return False
        if found is None and accounting.counts_amounts(job, partition):
            up = self._left(partition)[0] & self._controls.not_reserved(job)
            many, want = nodes_alone(job, partition, self._cluster, up), job.wants[partition.name]
            if want.whole and self._cluster.machine.gres:
                alone = chosen_idle(want, up, self._cluster)
        return self._limited(job, partition, accounting.refusal(job, partition, found, nodes=many, alone=alone))

    def _over_limit_anyway(self, job: Job, partition: Partition) -> bool:
        """Whether a job that lacks licences would be beyond a limit of amounts if it had them."""
        accounting = self._cluster.accounting
        if accounting is None or not accounting.counts_amounts(job, partition):
            return False
        found = self._cluster.select(job, partition, self._allowed(job, partition))
        return self._over_limit(job, partition, found)

    def _limited(self, job: Job, partition: Partition, reason: str, blocks: bool = True) -> bool:
        """Note the reason, if any; such a job blocks no other unless the configuration says so (observation E4)."""
        if not reason:
            return False
        job.reason = reason
        if blocks and self._cluster.accounting is not None and self._cluster.accounting.stops:
            self._hold_up(job, partition)
        elif blocks:
            self._keep_named(job, partition)
        return True

    def _keep_named(self, job: Job, partition: Partition) -> bool:
        """Keep the nodes that a job names from those behind it, whatever it waits for, if these are all it needs."""
        want = job.wants[partition.name]
        keeps = want.required is not None and bool(want.required.sum() >= want.min_nodes)
        if want.required is not None and keeps:
            self._keep(want.required)
        return keeps

    def _start_at_once(self, job: Job, partition: Partition, allowed: Mask) -> bool:
        """A suspended victim is preempted at once."""
        found = self._cluster.select(job, partition, allowed)
        if found is None:
            return False
        self._start(job, partition, found)
        return True

    def _fail(self, job: Job, partition: Partition) -> None:
        """Say why it waits, and keep others off the nodes that it waits for: none where it can never run."""
        cluster, want = self._cluster, job.wants[partition.name]
        required = want.required if want.required is not None and want.required.sum() >= want.min_nodes else None
        if len(job.partitions) > 1 and not fits_empty(job.request_class, want, partition, cluster):
            if required is not None:
                self._keep(required)
            return
        fits = fits_empty(job.request_class, want, partition, cluster) or stops_at_busy(job, partition, cluster)
        unfit = job.unfit or not fits
        if unfit and self._are_named_available(want.required, job, partition):
            # It was taken in, as nothing asked for nodes then, or it or its partition is another now.
            self._hold(job)
            return
        too_small = self._too_small(job, partition)
        if too_small is not None:
            job.reason = BAD_CONSTRAINTS
            if (too_small & want.suited).any():
                self._is_too_large(job)
            return
        job.reason = self._reason(job, partition)
        if required is not None or job.reason in (RESOURCES, RESERVED_FOR_HIGHER):
            self._hold_up(job, partition)
        own = self._controls.reservations.of(job) if job.reason in (FOR_MAINTENANCE, FOR_OTHERS) else None
        if own is not None:
            self._keep(own.nodes)

    def _too_small(self, job: Job, partition: Partition) -> Mask | None:
        """The nodes of a job's reservation, if it could never run there; nothing asked for them as it was submitted."""
        own = self._controls.reservations.of(job) if job.options.reservation else None
        if own is None or own.cores is not None or own.flags & {"ANY_NODES", "FLEX"}:
            return None
        if not own.active(self._cluster.now):
            return None
        nodes = partition.nodes & own.nodes
        if not (nodes & self._controls.not_reserved(job)).any():
            return None  # Others have all of them, for maintenance.
        return None if fits_alone(job, partition, self._cluster, nodes) else nodes

    def _is_too_large(self, job: Job) -> None:
        """A job is larger than its reservation: it is held, or waits, and those behind it are tried there, too."""
        if self._cluster.parameters.rules.NOT_OF_RESERVATION_WAITS:
            job.reason = RESOURCES
        else:
            self._hold(job)

    def _hold(self, job: Job, why: str = BAD_CONSTRAINTS) -> None:
        """Put a job on hold that has not the nodes that it asks for; it is in the queue no more."""
        for one in of_record(job, self._cluster):
            one.hold(why)
            one.reason = one.held_by
            self._cluster.unsettled[one.id] = one

    def _are_named_available(self, named: Mask | None, job: Job, partition: Partition) -> bool:
        """Whether nodes that a job names are up, and not kept from it."""
        available = self._left(partition)[0] & self._controls.not_reserved(job)
        return named is None or not (named & ~available).any()

    def _hold_up(self, job: Job, partition: Partition) -> None:
        """Leave a partition at a job, or keep the nodes that it names if these are all that it needs."""
        if self._keep_named(job, partition):
            return
        if job.reservation:
            # In no partition are other jobs tried in it.
            job.blocked = True
            self._failed.update((name, job.reservation) for name in self._cluster.partitions)
        if reserves(job, self._cluster) and (not job.reservation or self._holds_up_others(job)):
            job.blocked = True
            self._failed.add((partition.name, ""))
            self._keep(partition.nodes)

    def _reason(self, job: Job, partition: Partition) -> str:
        """Why the nodes of a partition do not do for a job now."""
        cluster = self._cluster
        if not self._controls.reservations.by_name and fits_alone(job, partition, cluster, self._left(partition)[0]):
            return RESOURCES  # as most do
        kept = cluster.no_nodes() if self._kept is None else self._kept
        return reason_of_nodes(job, partition, cluster, self._controls.not_reserved(job), kept)

    def _holds_up_others(self, job: Job) -> bool:
        """Whether a job that waits in a reservation may use nodes outside of it."""
        own = self._controls.reservations.of(job)
        return own is not None and "FLEX" in own.flags and self._cluster.parameters.rules.FLEX_IS_WAITED_FOR


def _is_tried(job: Job, partition: Partition) -> bool:
    """Whether a partition takes a job, as the main loop asks."""
    return partition_reason(job, partition, least=False) is None


def _named_lack_memory(job: Job, partition: Partition, cluster: Cluster) -> bool:
    """Whether a node that a job names has not the memory of one of its tasks, or of as many as each node is to have."""
    want, options = job.wants[partition.name], job.options
    least = want.memory_per_cpu * max(want.cpus_per_task, options.tasks_per_node or 1, options.min_cpus or 1)
    if want.required is None:
        return False
    return bool((cluster.free.memory[want.required] < max(want.memory_per_node, least)).any())


def _completing(cluster: Cluster) -> set[tuple[str, str]]:
    """Partitions that share nodes with those of jobs that have just ended, as (partition, no reservation)."""
    ended = cluster.no_nodes()
    for job in cluster.just_ended():
        ended |= cluster.partitions[job.runs[-1].partition].nodes
    return {(partition.name, "") for partition in cluster.partitions.values() if (partition.nodes & ended).any()}


def reserves(job: Job, cluster: Cluster) -> bool:
    """Whether nodes are kept for a waiting job at all: not below some priority or age (observation B2)."""
    parameters = cluster.parameters
    if job.below_threshold or waited(job, cluster) < parameters.bf_min_age_reserve:
        return False
    # Numbers of a plugin may be negative: 0 is no bound.
    return not parameters.bf_min_prio_reserve or job.priority >= parameters.bf_min_prio_reserve
