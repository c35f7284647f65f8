"""All reservations of a cluster (observations Q12, R1 to R3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from emulator.state.asked import known_nodes
from emulator.state.cluster import Cluster
from emulator.state.features import choices
from emulator.state.job import Job
from emulator.state.partition import Partition
from emulator.state.reservation import OVERLAPPING, Reservation, goes_over, next_after
from emulator.state.reserved_cores import given
from emulator.state.run import Run
from emulator.state.wants import want_of
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins.errors import InputError
from slurm_sim_plugins.nodes import Free, Ints, Mask
from slurm_sim_plugins.topology.tree import Tree

KEEPING = frozenset({"MAINT", "STATIC_ALLOC"})
"""Flags of reservations that keep nodes which are down."""


def has_all(one: Reservation, partition: Partition) -> bool:
    """Whether a reservation is for maintenance, or says that it is of all nodes, and has all nodes of a partition."""
    if "ALL_NODES" in one.flags or ("PART_NODES" in one.flags and one.partition is partition):
        return True
    return "MAINT" in one.flags and not (partition.nodes & ~one.nodes).any()


def _takes_whole_nodes(job: Job, own: Reservation | None) -> bool:
    """Whether a job without a reservation gets no node of which one has cores."""
    return own is None and job.wants[job.partitions[0].name].whole


class Reservations:
    """All reservations of a cluster.

    Args:
        cluster: the cluster state.
        made: whether operators make any. Where they do not, as in most logs, jobs that name one do without.
        free_in_turn: what is free now, and as running jobs end.
    """

    def __init__(self, cluster: Cluster, made: bool, free_in_turn: Callable[[Cluster], Iterable[Free]]) -> None:
        self._cluster = cluster
        self._free_in_turn = free_in_turn
        self._made = made
        self.by_name = cluster.reservations

    def create(
        self,
        name: str,
        start: float,
        end: float,
        *,
        nodes: Mask | None = None,
        count: int | None = None,
        partition: Partition | None = None,
        users: tuple[str, ...] = (),
        accounts: tuple[str, ...] = (),
        flags: frozenset[str] = frozenset(),
        licenses: tuple[tuple[str, int], ...] = (),
        cores: Sequence[int] = (),
        features: str = "",
    ) -> Reservation:
        """Make a reservation of particular nodes, or of so many of a partition (of the cluster, where that is None).

        The nodes of a partition may have to have features. One of licences may have no nodes, if its flags say
        ANY_NODES. One of so many cores, in all or on each node, has the first that no job has then, and no other
        reservation.

        Raises:
            InputError: nodes are in use then, and the flags do not say IGNORE_JOBS; another reservation has them, and
                neither says MAINT or OVERLAP; there are not so many, or not so many licences.
        """
        made = Reservation(name, start, end, self._cluster.no_nodes(), users, accounts, flags, licenses)
        made.partition, made.features = partition, features
        made.ahead = start - self._cluster.now if "TIME_FLOAT" in flags else 0.0
        if cores:
            made.cores = self._chosen_cores(made, cores, count or 0, nodes, partition)
            nodes = made.cores > 0
        elif nodes is None and (count or not licenses):
            nodes = self._counted(made, count or 0, self._whole_nodes(partition))
            made.counted = True
        made.nodes = made.nodes if nodes is None else nodes
        self.check(made)
        self.by_name[name] = made
        self._cluster.redraw()
        return made

    def resized(self, one: Reservation, count: int) -> Mask:
        """The nodes of a reservation that is to have so many: idle ones go first, others come as for a new one.

        Raises:
            InputError: there are not so many.
        """
        nodes, lack = one.nodes.copy(), count - int(np.count_nonzero(one.nodes))
        if lack > 0:
            partition = one.partition or self._cluster.default
            return nodes | self._counted(one, lack, self._whole_nodes(partition) & ~nodes)
        idle = nodes & (self._cluster.free.jobs == 0) & self._cluster.machine.up
        nodes[np.flatnonzero(idle)[:-lack]] = False
        nodes[np.flatnonzero(nodes)[count:]] = False
        return nodes

    def check(self, one: Reservation) -> None:
        """Refuse a reservation, made or changed, of nodes that others have at some time, or jobs beyond its begin."""
        for license, many in one.licenses:
            if many > self._cluster.licenses.get(license, (0, 0))[0]:
                raise InputError("Invalid license specification")
        if one.cores is not None:
            return
        if (one.nodes & self._others_of(one)).any():
            raise InputError("Requested reservation overlaps with another reservation")
        if "IGNORE_JOBS" not in one.flags and (one.nodes & self._busy_from(one.start, one.name, suspended=False)).any():
            raise InputError("Requested nodes are busy")

    def of(self, job: Job) -> Reservation | None:
        """The reservation that a job asked for, or that draws it; or None."""
        return self.by_name.get(job.reservation)

    def is_over_early(self, job: Job, length: float) -> bool:
        """Whether the reservation that draws a job is over before the job may be, where that matters (26.05).

        Args:
            job: the job.
            length: for how long it is tried, in seconds: backfill tries one with ``--time-min`` for that alone.
        """
        own = self.of(job) if job.drawn and not job.options.reservation else None
        matters = own is not None and self._cluster.parameters.rules.MAGNETS_OUTLAST_JOBS
        return own is not None and matters and not own.outlasts(length, self._cluster.now)

    def lacks(self, job: Job) -> bool:
        """Whether a job asked for a reservation, and there is none of those that it named, or not any more."""
        return self._made and bool(job.options.reservation) and self.by_name.keys().isdisjoint(job.reservations)

    def lacks_any(self, job: Job) -> bool:
        """Whether one of the reservations for which a job asks is not there."""
        return self._made and not self.by_name.keys() >= set(job.reservations)

    def _at_present(self) -> Iterable[Reservation]:
        """All reservations, those that float as they are now."""
        for one in self.by_name.values():
            if one.ahead:
                one.drift(self._cluster.now)
        return self.by_name.values()

    def standing(self, now: float) -> list[Reservation]:
        """Those that hold now or will hold."""
        return [one for one in self._at_present() if one.end > now]

    def begin_of(self, reservation: Reservation) -> float:
        """From when on it keeps its nodes from a run that ends a number of whole seconds from now.

        Slurm counts in whole seconds: a run from 30.4 s on that may take two minutes ends as one begins at 150.1 s.
        """
        now, whole = self._cluster.now, self._cluster.second_of
        return now + (whole(reservation.start) - whole(now))

    def kept_from(self, job: Job, at: float, length: float) -> Mask:
        """Nodes that reservations keep from a job that runs from ``at`` on, for ``length`` seconds."""
        kept = self._cluster.no_nodes()
        if not self.by_name:
            return kept
        own = self.of(job)
        if own is not None and self._is_over(own) and "FLEX" not in own.flags:
            # The next sweep removes it; until then jobs of one that is no bound still start.
            return ~kept
        for reservation in self._at_present():
            if own is not None and goes_over(own, reservation):
                continue
            if reservation.cores is not None and reservation is not own and not _takes_whole_nodes(job, own):
                continue
            if reservation is not own and self.begin_of(reservation) < at + length and reservation.end > at:
                kept |= reservation.nodes
        if own is not None and "FLEX" not in own.flags:
            over = own.end <= at and (at > self._cluster.now or self._is_over(own))
            kept |= over if "ANY_NODES" in own.flags else ~own.nodes | over
        return kept

    def _is_over(self, one: Reservation) -> bool:
        """Whether a reservation is over: in the second in which it ends it is not (recorded)."""
        return self._cluster.second_of(self._cluster.now) > one.end

    def overlap(self, job: Job, nodes: Mask, at: float, length: float) -> bool:
        """Whether one keeps any of these nodes from a job that runs from ``at`` on, for ``length`` seconds."""
        own = self.of(job)
        return any(
            one is not own and self.begin_of(one) < at + length and one.end > at and bool((one.nodes & nodes).any())
            for one in self._at_present()
        )

    def waited_out(self, job: Job, partition: Partition) -> list[Reservation]:
        """Those beside which a job without one is not planned on other nodes, but once they are over.

        Of maintenance, or all nodes, where all nodes of the partition are theirs; and of nodes that a job of whole
        nodes names (Slurm 22.05 to 26.05, recorded).
        """
        if self.of(job) is not None:
            return []
        names = job.options.node_list if job.wants[partition.name].whole else ()
        named = known_nodes(names, self._cluster)
        return [one for one in self._at_present() if has_all(one, partition) or (one.nodes & named).any()]

    def first_start(self, job: Job, partition: Partition, at: float, length: float) -> float:
        """The first time from ``at`` on when no reservation that a job waits out overlaps its run."""
        holding = self.waited_out(job, partition) if self.by_name else []
        while ends := [one.end for one in holding if self.begin_of(one) < at + length and one.end > at]:
            at = max(ends[0], self._cluster.whole(ends[0]))  # Steps of a plan count whole seconds of the clock.
        return at

    def bounds(self) -> list[float]:
        """When reservations begin and end."""
        return [bound for one in self._at_present() for bound in (one.start, one.end)]

    def tries(self, step: float) -> set[float]:
        """When backfill looks for nodes again because of those that keep some: a second behind the step after an end.

        Slurm means to spare itself looks where several end close together.
        """
        ends = [self._cluster.whole(one.end) for one in self._at_present() if one.end < math.inf]
        return {math.ceil(end / step) * step + 1 for end in ends}

    def advance(self, epoch: float) -> list[Reservation]:
        """Have those that are over come again which do; they are returned.

        Args:
            epoch: Unix time of second 0.
        """
        now, moved = self._cluster.now, []
        for one in self._at_present():
            # The agenda knows times to the microsecond.
            while round(one.end, 6) <= now and self.come_again(one, epoch):
                if one not in moved:
                    moved.append(one)
        return moved

    def come_again(self, one: Reservation, epoch: float) -> bool:
        """Have a reservation come again, if it does.

        Args:
            one: the reservation.
            epoch: Unix time of second 0.
        """
        later = next_after(one, epoch + one.end)
        if not later:
            return False
        one.start, one.end, one.idle_since = one.start + later, one.end + later, None
        return True

    def purged(self) -> list[Reservation]:
        """Those with PURGE_COMP that have had no jobs for so long that they are over; a sweep asks."""
        now, found = self._cluster.now, []
        for one in self.by_name.values():
            if "PURGE_COMP" not in one.flags or one.start > now or one.end <= now:
                continue
            if self.has_jobs(one):
                one.idle_since = None
            elif one.idle_since is None:
                one.idle_since = now
            if one.idle_since is not None and now - one.idle_since >= one.purge_after:
                one.idle_since = None
                found.append(one)
        return found

    def purge_due(self) -> float:
        """Before when no sweep ends a reservation with PURGE_COMP, or finds that it has no jobs; infinite for never."""
        purged = (one for one in self.by_name.values() if "PURGE_COMP" in one.flags and one.end > self._cluster.now)
        return min(map(self._purge_due, purged), default=math.inf)

    def _purge_due(self, one: Reservation) -> float:
        """Before when no sweep ends a reservation with PURGE_COMP; while it has jobs, the next sweep asks for them."""
        if one.start > self._cluster.now:
            return one.start
        return 0.0 if one.idle_since is None else one.idle_since + one.purge_after

    def has_jobs(self, one: Reservation) -> bool:
        """Whether jobs of a reservation wait, run or are suspended."""
        cluster = self._cluster
        return any(one.name == job.reservation for job in cluster.running.values()) or any(
            one.name in job.reservations for job in cluster.waiting.values()
        )

    def came(self, job: Job) -> None:
        """A job of a reservation was submitted: it has jobs."""
        for name in job.reservations:
            if name in self.by_name:
                self.by_name[name].idle_since = None

    def refresh(self, job: Job) -> None:
        """Give the reservation of a job that starts, if it has REPLACE, another node for each that the job takes."""
        one = self.by_name.get(job.reservation) if self.by_name else None
        if one is not None and "REPLACE" in one.flags and self._is_replaced(one):
            self._replace(one)

    def replace(self) -> bool:
        """Give reservations of so many nodes others for those that are down or drained, with REPLACE for busy ones.

        Slurm does that in each sweep over limits, and as nodes change. Whether any has others now.
        """
        replaced = False
        for one in self.by_name.values():
            if self._is_replaced(one) and self._lost(one).any():
                before = one.nodes
                self._replace(one)
                replaced |= one.nodes is not before
        return replaced

    def replace_due(self) -> float:
        """Before when no sweep gives reservations other nodes; infinite for never."""
        due = any(self._is_replaced(one) and self._lost(one).any() for one in self.by_name.values())
        return 0.0 if due else math.inf

    def _is_replaced(self, one: Reservation) -> bool:
        """Whether a reservation gets other nodes for some of its own."""
        return one.counted and not one.flags & KEEPING and one.end > self._cluster.now

    def _lost(self, one: Reservation) -> Mask:
        """Nodes of a reservation for which it is to have others."""
        kept = self._cluster.machine.up
        return one.nodes & ~(kept & (self._cluster.free.jobs == 0) if "REPLACE" in one.flags else kept)

    def _replace(self, one: Reservation) -> None:
        """Take other nodes for those that a reservation is to lose, or half of them, and so on.

        Of those that are not replaced the first ones stay. Without REPLACE or REPLACE_DOWN it is all of them or none.
        """
        lost = self._lost(one)
        count = many = int(np.count_nonzero(lost))
        usable = self._whole_nodes(one.partition or self._cluster.default) & ~one.nodes
        while many:
            try:
                found = self._counted(one, many, usable)
            except InputError:
                many = many // 2 if one.flags & {"REPLACE", "REPLACE_DOWN"} else 0
                continue
            stays = self._cluster.no_nodes()
            stays[np.flatnonzero(lost)[: count - many]] = True
            one.nodes = (one.nodes & ~lost) | stays | found
            return

    def _busy_from(self, start: float, name: str = "", suspended: bool = True) -> Mask:
        """Nodes of jobs that may run on then, in whole seconds, but for those of a reservation.

        Nodes that a reservation names may be those of jobs that an operator has suspended; others may not (asked of
        three versions).
        """
        busy, whole = self._cluster.no_nodes(), self._cluster.whole
        for job, run, end in self._runs(suspended):
            own = name and job.reservation == name
            if whole(end) > whole(start) and not own:
                busy |= run.allocation.mask(len(busy))
        return busy

    def _runs(self, suspended: bool = True) -> Iterator[tuple[Job, Run, float]]:
        """Jobs that have nodes, and when they are planned to end; also those that an operator has ``suspended``."""
        cluster = self._cluster
        for job in cluster.running.values():
            if job.run is not None:
                yield job, job.run, cluster.planned_end(job)
        for job in cluster.suspended.values() if suspended else ():
            if job.run is not None:
                yield job, job.run, cluster.end_by_limit(job)

    def _others_of(self, one: Reservation) -> Mask:
        """Whole nodes of others at any time of a reservation; with MAINT or OVERLAP these do not matter."""
        taken = self._cluster.no_nodes()
        for other in self.by_name.values() if not one.flags & OVERLAPPING else ():
            matters = other.name != one.name and not other.flags & OVERLAPPING and other.cores is None
            if matters and other.start < one.end and other.end > one.start:
                taken |= other.nodes
        return taken

    def _whole_nodes(self, partition: Partition | None) -> Mask:
        """Nodes of which jobs of a partition may have all: not those with more CPUs than ``MaxCPUsPerNode`` (24.11)."""
        machine = self._cluster.machine
        if partition is None:
            return machine.up
        whole = partition.nodes & machine.up
        pool = machine.gres.get(("", partition.name))
        # MaxCPUsPerSocket alone keeps no node from a reservation (recorded of 24.11 and 26.05).
        of_sockets = partition.name in machine.pools_of_sockets
        if pool is None or of_sockets or not self._cluster.parameters.rules.RESERVATIONS_TAKE_WHOLE_NODES:
            return whole
        return whole & (machine.pool_cpus(partition.name, pool) >= machine.units * machine.threads)

    def _chosen_cores(
        self, made: Reservation, cores: Sequence[int], count: int, nodes: Mask | None, partition: Partition | None
    ) -> Ints:
        """Units of each node for a reservation of so many cores: those that no job has then, nor another one."""
        machine, rules = self._cluster.machine, self._cluster.parameters.rules
        usable = self._whole_nodes(partition) if nodes is None else nodes & machine.up
        left, fills = np.where(usable, machine.units - self._cores_busy(made), 0), rules.CORES_FILL_NODES
        if nodes is not None and fills:
            count = int(np.count_nonzero(nodes))
        units = [-(-each // int(machine.cores[0])) for each in cores]
        if fills and units[0] < count:
            raise InputError("Core count for reservation node list is not consistent!")
        found = given(left, units, count, fills)
        if found is None:
            raise InputError("Requested nodes are busy")
        return found

    def _cores_busy(self, made: Reservation) -> Ints:
        """Units of each node that jobs have as a reservation begins, or other reservations."""
        machine = self._cluster.machine
        busy = np.zeros(len(machine), dtype=np.int64)
        for _, run, end in self._runs() if "IGNORE_JOBS" not in made.flags else ():
            if end >= made.start:
                busy[run.allocation.where] += list(run.allocation.units)
        for other in self.by_name.values() if not made.flags & OVERLAPPING else ():
            if other.start < made.end and other.end > made.start:
                busy += np.where(other.nodes, machine.units, 0) if other.cores is None else other.cores
        return np.minimum(busy, machine.units)

    def _counted(self, made: Reservation, count: int, usable: Mask) -> Mask:
        """So many nodes for a reservation that have its features, of the first alternative that has enough."""
        refused = InputError("Requested nodes are busy")
        for choice in choices(made.features, self._cluster.machine.features):
            try:
                nodes = self._cluster.no_nodes()
                for mask, many in choice.counts or ((choice.mask, count),):
                    nodes |= self._idle_then(made, many, usable & mask & choice.mask & ~nodes)
                return nodes
            except InputError as error:
                refused = error
        raise refused

    def _idle_then(self, made: Reservation, count: int, usable: Mask) -> Mask:
        """So many nodes for a reservation: those without jobs then.

        With IGNORE_JOBS those of jobs are added where these do not suffice, job by job as they were submitted; where
        they do, it gets the first of them in 26.05.
        """
        # Nodes that no reservation has go before those of others that may be overlapped.
        refused = InputError("Requested nodes are busy")
        for taken in self._others_in_turn(made):
            free = usable & ~taken & ~self._busy_from(made.start)
            first = "IGNORE_JOBS" in made.flags and self._cluster.parameters.rules.FIRST_IDLE_ARE_RESERVED
            if first and np.count_nonzero(free) >= count:
                return free & (free.cumsum() <= count)
            for job in self._cluster.jobs.values() if "IGNORE_JOBS" in made.flags else ():
                if np.count_nonzero(free) >= count:
                    break
                if job.run is not None and (job.id in self._cluster.running or job.id in self._cluster.suspended):
                    free |= usable & ~taken & job.run.allocation.mask(len(usable))
            try:
                return self._chosen(count, free, made.partition)
            except InputError as error:
                refused = error
        raise refused

    def _others_in_turn(self, made: Reservation) -> Iterator[Mask]:
        """Whole nodes of others at any time of a reservation: of all, then of those that may not be overlapped.

        22.05 takes no nodes of those for MAINT or OVERLAP, either, unless the reservation says that itself.
        """
        strict = self._others_of(made)
        all_of_them = self._cluster.no_nodes()
        for other in self.by_name.values():
            if other.name != made.name and other.cores is None and other.start < made.end and other.end > made.start:
                all_of_them |= other.nodes
        yield all_of_them
        if self._cluster.parameters.rules.MAINT_NODES_ARE_TAKEN or made.flags & OVERLAPPING:
            yield strict

    def _chosen(self, count: int, usable: Mask, partition: Partition | None) -> Mask:
        """So many of some nodes: the first, or from 24.11 on those that a job would get which asks for as many.

        Those that are idle now go before others that jobs leave in time. On 22.05 those of the leaf that fits best,
        where there are switches.
        """
        cluster, free = self._cluster, np.flatnonzero(usable)
        if len(free) < count:
            raise InputError("Requested nodes are busy")
        if partition is not None and cluster.parameters.rules.RESERVATIONS_TAKE_WHOLE_NODES:
            asked = JobRequest(0, cluster.now, 0.0, parse_sbatch([f"-N{count}", "--exclusive"]), "root")
            want = want_of(asked, partition, cluster, 1)
            if cluster.nodes_for.whole_nodes:
                # select/linear takes the first nodes of those neighbours that fit best, whatever their weights.
                want = replace(want, target_nodes=count + 1, most_nodes=count, unweighed=True)
            for free_then in chain(self._free_in_turn(cluster), [cluster.machine.free()]):
                found = cluster.choose(want, free_then, usable)
                if found is not None:
                    return found.mask(len(usable))
        chosen, tree = cluster.no_nodes(), cluster.machine.tree
        if isinstance(tree, Tree) and not cluster.parameters.rules.RESERVATIONS_TAKE_WHOLE_NODES:
            return _of_leaves(count, usable, tree)
        chosen[free[:count]] = True
        return chosen


def _of_leaves(count: int, usable: Mask, tree: Tree) -> Mask:
    """So many nodes below the lowest switch that has enough, the one with fewest: of leaf by leaf.

    The tightest leaf that suffices goes first; if none does, the largest. (Slurm's sources.)
    """
    below = tree.nodes & usable
    counts = below.sum(axis=1)
    enough = np.flatnonzero(counts >= count)
    if not len(enough):
        raise InputError("Requested nodes are busy")
    top = int(enough[np.lexsort((counts[enough], tree.levels[enough]))[0]])
    leaves = [leaf for leaf in np.flatnonzero(tree.levels == 0).tolist() if not (below[leaf] & ~below[top]).any()]
    chosen = np.zeros_like(usable)
    while (missing := count - int(chosen.sum())) > 0:
        left = {leaf: int((below[leaf] & ~chosen).sum()) for leaf in leaves}
        fitting = [leaf for leaf in leaves if left[leaf] >= missing]
        best = min(fitting, key=lambda leaf: left[leaf]) if fitting else max(leaves, key=lambda leaf: left[leaf])
        if not left[best]:
            raise InputError("Requested nodes are busy")
        chosen[np.flatnonzero(below[best] & ~chosen)[:missing]] = True
    return chosen
