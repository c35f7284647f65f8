"""Jobs that share resources, and which of them stand still meanwhile: Slurm's gang scheduling.

A partition with ``OverSubscribe=FORCE:n``, or ``YES:n`` for jobs that ask to share, puts up to n jobs onto a CPU;
memory and generic resources are not shared. Jobs of two partitions with ``FORCE:1`` share CPUs of common nodes. Without
``PreemptMode=GANG`` all of them run. With it a job also gets
CPUs of jobs of lower tiers, and of those that have the same ones some are suspended: jobs of a higher tier cast a
shadow on the partitions below, under which no job runs; within a partition they take turns, a time slice each, on a
tick that is common to all. A job that is suspended so keeps all that it has.
(Observations P4 of sharing, P11, P12.)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

import numpy as np

from emulator.scheduling.exempt import is_exempt
from emulator.scheduling.preempt import candidates, overlaps, preempt_mode, takes_part
from emulator.scheduling.shared_rows import Cores, SharedRows
from emulator.state.cluster import Cluster
from emulator.state.job import Job
from emulator.state.machine import has_rows, share_cores
from emulator.state.partition import Partition
from emulator.state.run import Run, State, without_nodes
from slurm_sim_plugins.nodes import Allocation, Free, Ints, Mask


class Rows:
    """Which jobs are on the same resources.

    Attributes:
        gang: what lets them stand still; None without ``PreemptMode=GANG``.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        gang = "GANG" in cluster.parameters.preempt_mode and not cluster.free.shared
        shares = gang or share_cores(cluster.conf.partitions)
        self._more = gang and getattr(cluster.policies.preempt, "takes_turns", False)
        self._shared = SharedRows(cluster, self._more) if shares and not cluster.free.shared else None
        self.gang = Gang(cluster, self._shared) if gang and self._shared is not None else None

    @property
    def any_share(self) -> bool:
        """Whether any jobs may have resources that others have."""
        return self._shared is not None

    def depth(self, job: Job, partition: Partition) -> int:
        """How many jobs may be on the resources that this one takes there, those that are preempted included."""
        shared = partition.oversubscribe_jobs if takes_part(job, partition) or self._all_share(partition) else 1
        return shared + (self.gang is not None)

    def _all_share(self, partition: Partition) -> bool:
        """Whether jobs share though they do not ask for it: with gang scheduling where some may (recorded)."""
        return self.gang is not None and has_rows(partition) and not self._cluster.nodes_for.whole_nodes

    def shares(self, job: Job, partition: Partition) -> bool:
        """Whether a job may have resources that others have: with ``FORCE:1``, those of jobs of other partitions.

        With select/linear it may not then, which counts the jobs of all partitions on a node.
        """
        if self.gang is not None:
            return True
        if self._shared is None or not takes_part(job, partition):
            return False
        if has_rows(partition):
            return True
        if self._cluster.nodes_for.whole_nodes:
            return False
        return self._shares_any(job, partition) or job.wants[partition.name].required is not None

    def plans_alone(self, job: Job, partition: Partition) -> bool:
        """Whether a job is planned for later on resources that no other has then: so are all with gang scheduling."""
        return self.gang is not None or not self.shares(job, partition)

    def are_sorted(self, partition: Partition) -> bool:
        """Whether asking for resources that others have leaves the rows of a partition in their order."""
        return self._shared is None or self.gang is None or self._shared.are_sorted(partition)

    @property
    def goes_by_request(self) -> bool:
        """Whether what jobs find that others have goes by their requests alone, in a partition."""
        policies, by_priority = self._cluster.policies, "PRIORITY" in self._cluster.parameters.preempt_mode
        by_job = policies.names_victims and (by_priority or not policies.by_partition)
        return not self._more and not (by_job and self._cluster.nodes_for.whole_nodes)

    def may_have_more(self, job: Job, partition: Partition, usable: Mask, strict: bool) -> bool:
        """Whether a job may find resources now that others have, on some nodes or on fewer of them.

        With gang scheduling, where that goes by requests alone.

        Args:
            job: the job.
            partition: where it is tried.
            usable: nodes that it may use.
            strict: whether it counts, too, where it would have cores that no job has.
        """
        assert self._shared is not None
        many = self.depth(job, partition) - 1
        if many < 2 and self._cluster.nodes_for.whole_nodes:
            return self.select(job, partition, usable) is not None
        return self._shared.may_be_over_others(job, partition, usable, many, strict)

    def select(
        self, job: Job, partition: Partition, usable: Mask, planned: bool = False
    ) -> tuple[int, Allocation] | None:
        """Where a job fits beside others on their resources, and its nodes there.

        Args:
            job: the job.
            partition: where it is tried.
            usable: nodes that it may use.
            planned: whether backfill asks: from 24.11 on jobs that share with none may have others suspended, too.
        """
        if self._shared is None:
            return None
        many = self.depth(job, partition) - (self.gang is not None)
        if self.gang is not None and many < 2 and self._cluster.nodes_for.whole_nodes:
            found = candidates(job, partition, self._cluster, again=True)
            stay = [other for other in found if preempt_mode(other, self._cluster) == "SUSPEND"]
            return self._shared.in_turn(job, partition, usable, stay, self._halted_below(partition))
        if self.gang is not None:
            usable = usable & ~self._alone(job, partition)
            # The additional row is for jobs that share (recorded).
            more = takes_part(job, partition) or (planned and self._cluster.parameters.rules.QOS_SUSPENDS_IN_TURN)
            others = self._suspended_for(job, partition) if self._more and more else []
            if self._cluster.parameters.rules.QOS_SUSPENDS_IN_TURN:
                over = self._shared.over_others(job, partition, usable, many, self._more)
                return over or self._shared.instead_of(job, partition, usable, many, others)
            return self._shared.over_others(job, partition, usable, many + bool(others), self._more)
        if not self.shares(job, partition):
            return None
        usable = usable & ~self._not_shared() & self._may_share(job, partition)
        return self._shared.over_others(job, partition, usable, many, False)

    def _alone(self, job: Job, partition: Partition) -> Mask:
        """Nodes of jobs that have them for themselves (``FORCE:1``, ``YES``), and that do not make way for a job."""
        nodes, partitions = self._cluster.no_nodes(), self._cluster.partitions
        alone = [
            (other, other.run)
            for other in self._cluster.running.values()
            if other.options.exclusive and other.run is not None and other.state is State.RUNNING
        ]
        victims = candidates(job, partition, self._cluster, again=True) if alone else []
        for other, run in alone:
            its = partitions[run.partition]
            shares = not (takes_part(other, its) or self._all_share(its)) or _is_shared(other, its)
            stays = its.tier >= partition.tier or is_exempt(other, self._cluster)
            if not shares and stays and other not in victims:
                nodes |= run.allocation.mask(len(nodes))
        return nodes

    def _halted_below(self, partition: Partition) -> list[Job]:
        """Jobs of lower tiers that stand still; one that has done so since its start counts as if it ran."""
        assert self.gang is not None
        tiers, unbegun = self._cluster.partitions, self.gang.unbegun
        running = [other for other in self._cluster.running.values() if other.state is State.SUSPENDED]
        return [
            other
            for other in running
            if other.run and other.id not in unbegun and tiers[other.run.partition].tier < partition.tier
        ]

    def later(
        self,
        job: Job,
        partition: Partition,
        usable: Mask,
        free: Free,
        gone: Collection[int],
        first: Mask | None = None,
    ) -> Allocation | None:
        """Where a job that shares will fit beside others once some are gone; without gang scheduling.

        In each row it rather gets nodes of ``first``.
        """
        if self._shared is None or self.gang is not None or not self.shares(job, partition):
            return None
        many = self.depth(job, partition)
        usable = usable & ~self._not_shared(gone) & self._may_share(job, partition)
        return self._shared.later(job, partition, usable, many, free, gone, first)

    @property
    def counts_in_plans(self) -> bool:
        """Whether jobs are planned by how many others are on nodes: with select/linear, where some share."""
        return self._shared is not None and self.gang is None and self._cluster.nodes_for.whole_nodes

    def by_counts(self, job: Job, partition: Partition, free: Free, gone: Collection[int]) -> tuple[Free, Mask]:
        """What select/linear plans a job with, once some are gone: nodes with fewer others than OverSubscribe says.

        One other is allowed where it may share with none, and so may be planned for now though it cannot start (its
        log).
        """
        assert self._shared is not None
        others = self._cluster.no_nodes().astype(np.int64)
        for other in (*self._cluster.running.values(), *self._cluster.suspended.values()):
            if other.run is not None and other.id not in gone:
                others[list(other.run.allocation.nodes)] += 1
        most = max(partition.oversubscribe_jobs - 1, 1) if takes_part(job, partition) else 1
        return self._shared.without_cores(free), ~self._not_shared(gone) & (others <= most)

    def once_clear(
        self, job: Job, partition: Partition, usable: Mask, free: Free, gone: Collection[int]
    ) -> Allocation | None:
        """Where a job fits beside others once some are gone; with gang scheduling on parts of nodes."""
        if self._shared is None or self.gang is None or self._cluster.nodes_for.whole_nodes:
            return None
        return self._shared.later(job, partition, usable, self.depth(job, partition) - 1, free, gone)

    def _may_share(self, job: Job, partition: Partition) -> Mask:
        """Nodes that a job may have beside others: with ``FORCE:1`` and ``--exclusive`` only those that it names.

        It has any where jobs may be preempted, as Slurm does not ask for idle nodes then.
        """
        named = job.wants[partition.name].required
        if self._shares_any(job, partition):
            return ~self._cluster.no_nodes()
        return self._cluster.no_nodes() if named is None else named

    def _shares_any(self, job: Job, partition: Partition) -> bool:
        return _is_shared(job, partition) or self._cluster.parameters.preempt_mode != ("OFF",)

    def _suspended_for(self, job: Job, partition: Partition) -> list[Job]:
        """Jobs that a job may have suspended by its QOS, first to go first; none if the first is to leave its nodes."""
        there = partition.nodes
        named = candidates(job, partition, self._cluster, again=True, halted=True)
        found = [other for other in named if overlaps(other, there)]
        modes = [preempt_mode(other, self._cluster) for other in found]
        if modes[:1] != ["SUSPEND"]:
            return []
        return [other for other, mode in zip(found, modes, strict=True) if mode == "SUSPEND"]

    def count(self, free: Free, gone: Collection[Job]) -> None:
        """Count the cores again that are free without some jobs, where several may have the same."""
        if self._shared is not None:
            self._shared.recount(free, {job.id for job in gone})

    @property
    def recount(self) -> Callable[[Free, Collection[int]], None] | None:
        """Counts the cores that are free without some jobs; None where none shares cores."""
        return None if self._shared is None else self._shared.recount

    @property
    def given_back(self) -> Callable[[Sequence[int]], Sequence[Sequence[int]]] | None:
        """How many cores jobs give back if they leave in some order; None where none has those of others."""
        if self._shared is None or not self._shared.any_has_same():
            return None
        return self._shared.given_back

    @property
    def are_counted(self) -> bool:
        """Whether what is free now goes by the cores of jobs, where that matters."""
        return self._shared is None or self._shared.are_counted()

    def take(self, job: Job, run: Run) -> None:
        """A job comes to the row of its run."""
        self._cluster.partitions[run.partition].running += 1
        if self._shared is not None:
            self._shared.take(job, run)
        else:
            self._cluster.take(job, run.at_base)

    def release(self, job: Job, run: Run) -> None:
        """A job leaves its row."""
        self._cluster.partitions[run.partition].running -= 1
        if self._shared is not None:
            self._shared.release(job, run)
        else:
            self._cluster.release(job, run.at_base)

    def set_aside(self, job: Job, run: Run) -> None:
        """An operator suspends a job."""
        if self._shared is not None:
            self._shared.set_aside(job, run)
        self.release(job, run)
        run.rowless = False

    def give_up(self, job: Job, run: Run, nodes: Collection[int]) -> None:
        """A job goes on in its row without some of its nodes."""
        if self._shared is not None:
            self._shared.set_aside(job, run)
            self._shared.leave_aside(job, nodes)
        self.release(job, run)
        run.allocation = without_nodes(run.allocation, nodes)
        self.take(job, run)

    def suspended_gives_up(self, job: Job, run: Run, nodes: Collection[int]) -> None:
        """A job that is suspended gives up some of its nodes."""
        if self._shared is not None:
            self._shared.leave_aside(job, nodes)
        self._cluster.yield_up(job, run)
        run.allocation = without_nodes(run.allocation, nodes)
        self._cluster.hold(job, run)

    def take_back(self, job: Job, run: Run) -> None:
        """It goes on; it has no row where others of its partition have its cores, so that others get them, too."""
        if self._shared is None and not self._cluster.nodes_for.whole_nodes:
            left = self._left_by_others(job, run)[run.allocation.where]
            run.rowless = bool((left < list(run.allocation.units)).any())
        self.take(job, run)

    def _left_by_others(self, job: Job, run: Run) -> Ints:
        """What of each node no other running job of its partition has in a row."""
        left = self._cluster.machine.units.copy()
        for other in self._cluster.running.values():
            its = other.run
            if other is not job and its is not None and its.partition == run.partition and not its.rowless:
                left[its.allocation.where] -= list(its.allocation.units)
        return left

    def _not_shared(self, gone: Collection[int] = ()) -> Mask:
        """Nodes on which there is a job that does not share, but for some that are gone."""
        nodes = self._cluster.no_nodes()
        for job in [*self._cluster.running.values(), *self._cluster.suspended.values()]:
            if (
                job.run is not None
                and job.id not in gone
                and not _is_shared(job, self._cluster.partitions[job.run.partition])
            ):
                nodes |= job.run.allocation.mask(len(nodes))
        return nodes


def _is_shared(job: Job, partition: Partition) -> bool:
    """Whether a job shares what it has: with ``FORCE:1`` one that wants its nodes alone does not."""
    return takes_part(job, partition) and (has_rows(partition) or not job.options.exclusive)


class Change(NamedTuple):
    """What becomes of a job.

    Attributes:
        job: which one.
        runs: whether it goes on; else it stands still.
        shadowed: whether that is for a job of a higher tier.
    """

    job: Job
    runs: bool
    shadowed: bool


class Turn(Enum):
    """Whether it is a job's turn."""

    ACTIVE = auto()
    FILLER = auto()
    NONE = auto()


@dataclass(slots=True, eq=False)
class Member:
    """A job in its partition.

    Attributes:
        turn: whether it is its turn, or it fills up what those leave whose turn it is.
        stopped: whether it stands still.
        shadowed: whether it does so for a job of a higher tier.
    """

    job: Job
    turn: Turn = Turn.NONE
    stopped: bool = False
    shadowed: bool = False


@dataclass(slots=True, eq=False)
class Queue:
    """Jobs of a partition in their order, and those of higher tiers whose shadow is on it.

    Attributes:
        active: the resources of those that run, and how many they are.
    """

    partition: Partition
    members: list[Member] = field(default_factory=list)
    shadows: list[Member] = field(default_factory=list)
    active: Active = field(default_factory=lambda: Active())


@dataclass(slots=True)
class Active:
    """Resources that are in use: cores or, where only CPUs are counted, how many on each node."""

    jobs: int = 0
    cores: Cores = 0
    counts: dict[int, int] = field(default_factory=dict)


class Gang:
    """Says which jobs run, of those that have the same resources.

    Args:
        cluster: the cluster state.
        rows: which cores they have.

    Attributes:
        unbegun: jobs that have stood still since their start.
    """

    def __init__(self, cluster: Cluster, rows: SharedRows) -> None:
        self.unbegun: set[int] = set()
        self._cluster = cluster
        self._rows = rows
        tiers = sorted(cluster.partitions.values(), key=lambda partition: -partition.tier)
        self._queues = {partition.name: Queue(partition) for partition in tiers}
        # Slurm looks at cores, unless CPUs are what is consumed and tasks are not bound to them.
        unbound = cluster.conf.parameters.text("TaskPlugin").lower() in ("", "task/none")
        by_cores = cluster.parameters.whole_cores or cluster.parameters.rules.TURNS_BY_CORES or not unbound
        self._counts = not by_cores and not cluster.nodes_for.whole_nodes
        self._changes: list[Change] = []

    def settled(self) -> bool:
        """Whether the end of a time slice changes nothing."""
        return all(queue.active.jobs >= len(queue.members) + len(queue.shadows) for queue in self._queues.values())

    def started(self, job: Job) -> list[Change]:
        """A job is on the machine: who stands still or goes on."""
        assert job.run is not None
        queue, member = self._queues[job.run.partition], Member(job)
        queue.members.append(member)
        if self._fits(job, queue.active):
            self._activate(member, queue, Turn.FILLER)
            self._update_all()
        else:
            self.unbegun.add(job.id)
            self._stop(member, queue)
        return self._said()

    def resumed(self, job: Job) -> None:
        """An operator lets a job go on: it runs beside others until it is found to fit, which nothing asks for now."""
        assert job.run is not None
        queue = self._queues[job.run.partition]
        queue.members = [member for member in queue.members if member.job is not job]
        queue.members.append(Member(job, stopped=True))

    def ended(self, job: Job, partition: str) -> list[Change]:
        """A job has left the machine, or an operator suspends it: who goes on."""
        queue = self._queues[partition]
        self.unbegun.discard(job.id)
        member = next((member for member in queue.members if member.job is job), None)
        if member is not None:
            self._clear_shadow(member)
            queue.members.remove(member)
            self._update_all()
        return self._said()

    def slice(self) -> list[Change]:
        """A time slice is over: those whose turn it was go to the end of their queue."""
        for queue in self._queues.values():
            if queue.active.jobs < len(queue.members) + len(queue.shadows):
                self._cycle(queue)
        return self._said()

    def reconfigured(self) -> list[Change]:
        """A partition says something else: the queues are made again, and running jobs only fill them up.

        So they have another time slice before it is the turn of jobs that stand still. (Slurm's sources; recorded.)
        """
        before = list(self._queues.values())
        tiers = sorted(self._cluster.partitions.values(), key=lambda partition: -partition.tier)
        self._queues = {partition.name: Queue(partition) for partition in tiers}
        for member in (member for queue in before for member in queue.members if not member.job.suspended_by_operator):
            assert member.job.run is not None
            queue, member.turn = self._queues[member.job.run.partition], Turn.NONE
            queue.members.append(member)
            if not member.stopped and self._fits(member.job, queue.active):
                self._activate(member, queue, Turn.FILLER)
            elif not member.stopped:
                self._stop(member, queue)
        return self._said()

    def _said(self) -> list[Change]:
        changes, self._changes = self._changes, []
        return changes

    def _cycle(self, queue: Queue) -> None:
        had = [member for member in queue.members if member.turn is Turn.ACTIVE]
        queue.members = [member for member in queue.members if member.turn is not Turn.ACTIVE] + had
        for member in queue.members:
            member.turn = Turn.NONE
        self._begin_with_shadows(queue)
        for member in queue.members:
            if not _has_no_turn(member.job) and self._fits(member.job, queue.active):
                self._add(member.job, queue.active)
                member.turn = Turn.ACTIVE
        for member in queue.members:
            if member.turn is Turn.NONE and not member.stopped:
                self._stop(member, queue)
        for member in queue.members:
            if member.turn is Turn.ACTIVE and member.stopped:
                self._go_on(member)
                self._cast_shadow(member, queue)

    def _update_all(self) -> None:
        for queue in self._queues.values():
            self._update(queue)

    def _update(self, queue: Queue) -> None:
        """Those that run go on as far as shadows let them, then others that fit beside them."""
        self._begin_with_shadows(queue)
        for turn in (Turn.ACTIVE, Turn.FILLER):
            for member in [member for member in queue.members if member.turn is turn]:
                if self._fits(member.job, queue.active):
                    self._activate(member, queue, turn)
                    continue
                member.turn = Turn.NONE
                if not member.stopped:
                    self._stop(member, queue)
        for member in queue.members:
            if member.turn is Turn.NONE and not _has_no_turn(member.job) and self._fits(member.job, queue.active):
                self._activate(member, queue, Turn.FILLER)
                if member.stopped:
                    self._go_on(member)

    def _begin_with_shadows(self, queue: Queue) -> None:
        queue.active = Active()
        for shadow in queue.shadows:
            self._add(shadow.job, queue.active)

    def _activate(self, member: Member, queue: Queue, turn: Turn) -> None:
        self._add(member.job, queue.active)
        member.turn = turn
        self._cast_shadow(member, queue)

    def _stop(self, member: Member, queue: Queue) -> None:
        member.stopped, member.shadowed = True, bool(queue.shadows)
        self._clear_shadow(member)
        self._changes.append(Change(member.job, False, member.shadowed))

    def _go_on(self, member: Member) -> None:
        member.stopped = False
        self.unbegun.discard(member.job.id)
        self._changes.append(Change(member.job, True, member.shadowed))

    def _cast_shadow(self, member: Member, queue: Queue) -> None:
        for lower in self._queues.values():
            if lower.partition.tier < queue.partition.tier and member not in lower.shadows:
                lower.shadows.append(member)

    def _clear_shadow(self, member: Member) -> None:
        for queue in self._queues.values():
            if member in queue.shadows:
                queue.shadows.remove(member)

    def _fits(self, job: Job, active: Active) -> bool:
        if not active.jobs:
            return True
        if not self._counts:
            return not self._rows.cores_of(job) & active.cores
        units = self._cluster.machine.units
        return all(active.counts.get(node, 0) + many <= units[node] for node, many in _units(job))

    def _add(self, job: Job, active: Active) -> None:
        active.jobs += 1
        if not self._counts:
            active.cores |= self._rows.cores_of(job)
            return
        for node, many in _units(job):
            active.counts[node] = min(active.counts.get(node, 0) + many, int(self._cluster.machine.units[node]))


def _has_no_turn(job: Job) -> bool:
    """Whether a job has the priority 0: an operator holds it, or suspended it while it stood still."""
    return bool(job.held_by) or job.suspended_by_operator


def _units(job: Job) -> Iterator[tuple[int, int]]:
    assert job.run is not None
    return zip(job.run.allocation.nodes, job.run.allocation.units, strict=True)
