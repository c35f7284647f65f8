"""The cluster at one instant: nodes, partitions, jobs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from emulator.config.slurm.controller import Parameters
from emulator.config.slurm.emulated import slots_of
from emulator.config.slurm.model import Partition as ConfiguredPartition
from emulator.config.slurm.model import SlurmConf
from emulator.config.slurm.partitions import gives_memory
from emulator.state.attached import Kernels, Plugins, RunWatcher
from emulator.state.job import NOT_YET_TRIED, Job
from emulator.state.kept import Slots
from emulator.state.machine import has_rows, machine_of, pool_of, takes_jobs, with_sorted_nodes
from emulator.state.node_selector import NodeSelector
from emulator.state.order import Order
from emulator.state.partition import Partition
from emulator.state.run import YEAR, Run, State
from emulator.workload.sbatch import BatchOptions, Dependency
from slurm_sim_plugins.gres import with_sharing_forgotten
from slurm_sim_plugins.manager import Selection
from slurm_sim_plugins.nodes import Allocation, Free, Ints, Mask, Want
from slurm_sim_plugins.topology.block import Blocks

if TYPE_CHECKING:
    from emulator.limits.accounting import Accounting
    from emulator.state.reservation import Reservation

ROUNDING = 2.0**-24
"""By how many seconds a sum of fractions may miss a whole second of the clock."""


class Cluster:
    """What the controller keeps in mind.

    Args:
        conf: the configuration.
        parameters: its parameters.
        selection: plugins instead of those that the configuration names.
        groups: the groups of each user.
        second_phase: what is added to a time before it is counted in whole seconds.
        by_socket: whether any job asks for something by socket.

    Attributes:
        now: seconds.
        machine: the nodes.
        free: what is free of them; of suspended jobs their CPUs are, too.
        partitions: by name, in the order of the configuration.
        exclusive_user: whether a partition gives nodes to one user at a time.
        default: the partition of jobs that name none.
        jobs: by id, all that were submitted.
        refused: ids of submissions that were refused.
        failed_at_once: those of them for which there are no nodes, and whether they are arrays: to those that wait for
            them they have failed.
        tasks: tasks of each array, by its id.
        het_jobs: components of each heterogeneous job, by the id of the first.
        named: jobs of each user and name.
        split_at: when tasks of arrays got records of their own before they started, by job id.
        waiting: waiting jobs by id.
        order: those that may be scheduled, in order.
        known_dependencies: what was found of conditions of jobs on others, by the numbers of jobs.
        unsettled: waiting jobs of which it must be looked at again and again whether they may be.
        not_yet_tried: waiting jobs whose reason ``Priority`` replaces.
        running: running jobs by id, those that are ending included.
        suspended: suspended jobs by id.
        policies: the plugins.
        completing: jobs that have left their nodes, and whose ``EpilogSlurmctld`` goes on, by id.
        epilogs: how many jobs have their epilogs on each node, where no other may start; None if there are none.
        accounting: accounts, usage and limits, or None.
        array_tasks: how many tasks of each array are on the machine, by its id.
        freed_arrays: when tasks of arrays of which no more might run were preempted last, by the ids of the arrays.
        licenses: (total, in use) by name.
        reservations: all reservations by name.
        cores_are_reserved: whether any of them is of cores.
        compiled: what chooses nodes in compiled code, or None.
        planned: what backfill kept for jobs in its last cycle, or None.
        plans_are_seen: whether anything looks at when backfill means to start jobs, and at all that it keeps for them.
        admin_states: what operators have made of nodes: ``DOWN``, ``DRAIN`` or ``UP``.
        powering_down: nodes that take no jobs for now, as they are being powered down.
        classes: a number for what jobs ask of the machine.
        known_good: what jobs were made of, by what they asked for, since operators changed anything.
        wants: what jobs of a class need of a partition's nodes.
        shared: partitions of jobs of a class in their order, with what they need there.
        groups: the groups of each user; empty if they are not known, and any may use any partition.
        nodes_for: the plugin in the SelectType slot.
        fits_alone: on how many nodes of a partition jobs of a class fit if they are idle; 0 for none. Without nodes
            (empty bytes) whether they fit onto all of them.
        noted_lack: whether the last pass of the main loop noted of a job that too few nodes are up and not kept.
    """

    def __init__(
        self,
        conf: SlurmConf,
        parameters: Parameters,
        selection: Selection | None = None,
        groups: Mapping[str, Sequence[str]] | None = None,
        second_phase: float = 0.0,
        by_socket: bool = False,
        bounded_later: Collection[str] = (),
    ) -> None:
        self.now = 0.0
        self.second_phase = second_phase
        in_file = conf.nodes
        self.conf = conf = with_sorted_nodes(conf)
        self.parameters = parameters
        self.machine = machine_of(conf, by_socket, in_file, bounded_later)
        self.free = self.machine.free()
        self.nodes_for = self._selector(selection)
        self.groups = groups or {}
        self.partitions = {
            partition.name: self._partition(index, partition) for index, partition in enumerate(conf.partitions)
        }
        self._compare_partitions()
        self.jobs: dict[int, Job] = {}
        self.refused: set[int] = set()
        self.failed_at_once: dict[int, bool] = {}
        self.tasks: dict[int, list[Job]] = {}
        self.het_jobs: dict[int, list[Job]] = {}
        self.named: dict[tuple[str, str], list[Job]] = {}
        self.split_at: dict[int, float] = {}
        self.waiting: dict[int, Job] = {}
        self.reservations: dict[str, Reservation] = {}
        self.order = Order(self.waiting, self.reservations)
        self.unsettled: dict[int, Job] = {}
        self.known_dependencies: dict[int, dict[Dependency, Any]] = {}
        self.not_yet_tried: dict[int, Job] = {}
        self.running: dict[int, Job] = {}
        self.suspended: dict[int, Job] = {}
        self.completing: dict[int, Job] = {}
        self.epilogs: Ints | None = None
        self.policies: Plugins
        self.accounting: Accounting | None = None
        self.array_tasks: Counter[int] = Counter()
        self.freed_arrays: dict[int, float] = {}
        self.compiled: Kernels | None = None
        self.run_watchers: list[RunWatcher] = []
        self._one_users: set[int] = set()
        # What jobs keep others from, by their number: partitions may be updated while they run.
        self._unshared: dict[int, Allocation] = {}
        self.planned: Slots | None = None
        self.plans_are_seen = True
        self.cores_are_reserved = False
        self.admin_states: dict[int, str] = {}
        self.powering_down: set[int] = set()
        self.classes: dict[BatchOptions | tuple[BatchOptions, int], int] = {}
        self.known_good: dict[BatchOptions, tuple[Any, ...]] = {}
        self.wants: dict[tuple[int, str], Want] = {}
        self.shared: dict[tuple[int | str, ...], tuple[Sequence[Partition], Mapping[str, Want]]] = {}
        self.fits_alone: dict[tuple[int, str, bytes], int] = {}
        self.noted_lack = False
        self.licenses = {name: [int(count), 0] for name, count in conf.parameters.numbers("Licenses").items()}

    def _compare_partitions(self) -> None:
        """Note which of them is the default, and what follows from all of them together."""
        partitions = self.partitions.values()
        highest = max((partition.job_factor for partition in partitions), default=0)
        for partition in partitions:
            partition.norm_priority = partition.job_factor / highest if highest else 0.0
        self._compare_tiers()
        self.exclusive_user = any(partition.exclusive_user for partition in partitions)
        self._over_time = any(partition.over_time_limit for partition in partitions)
        self.default: Partition | None = next((one for one in reversed(partitions) if one.default), None)

    def reconfigure(self, conf: SlurmConf) -> None:
        """Partitions, and weights and features of nodes, are as another configuration of the same nodes says.

        What was found for jobs before holds no longer.
        """
        before, self.conf, machine = self.conf, conf, self.machine
        for index, partition in enumerate(conf.partitions):
            self.partitions[partition.name].configure(self._partition(index, partition))
        weights = [node.weight for node in conf.nodes]
        if weights != [node.weight for node in before.nodes]:
            # Otherwise they stay, for power saving gives nodes weights of its own.
            machine.weight[:] = weights
            machine.weights = np.unique(machine.weight)
        machine.features = [frozenset(node.features) for node in conf.nodes]
        for partition in conf.partitions:
            if partition.name in machine.pools:
                self._bound_pool(partition)
        self._compare_partitions()
        for found in (self.known_good, self.wants, self.shared, self.fits_alone):
            found.clear()
        if self.compiled is not None:
            self.compiled.reconfigure()

    def _bound_pool(self, partition: ConfiguredPartition) -> None:
        """The jobs of a partition may have so many CPUs of each node together; what they have, they keep."""
        machine, kind = self.machine, ("", partition.name)
        most, excess = pool_of(partition, self.conf, machine)
        self.free.gres[kind] += most - machine.gres[kind]
        machine.gres[kind][:] = most
        known = {**machine.pool_excess, partition.name: excess}
        machine.pool_excess = {name: each for name, each in known.items() if each.any()}

    def _selector(self, selection: Selection | None) -> NodeSelector:
        """What the plugins say of nodes; that of the configuration, if there are none."""
        if selection is not None:
            return NodeSelector(self.machine, selection, lambda: self.now)
        return NodeSelector.named(slots_of(self.conf)["SelectType"], self.machine)

    def _partition(self, index: int, given: ConfiguredPartition) -> Partition:
        def own(stated: float | None, of_cluster: float) -> float:
            return of_cluster if stated is None else stated

        nodes = self.machine.mask_of(given.nodes)
        nodes.flags.writeable = False  # It is handed out as it is.
        by_memory = given if given.states_memory else self.parameters
        per_gpu = given.def_mem_per_gpu or self.parameters.def_mem_per_gpu
        most_memory = given if given.max_mem_per_cpu or given.max_mem_per_node else self.parameters
        return Partition(
            name=given.name,
            index=index,
            default=given.default,
            tier=given.priority_tier,
            job_factor=given.priority_job_factor,
            nodes=nodes,
            max_time=given.max_time,
            default_time=given.default_time,
            min_nodes=given.min_nodes,
            max_nodes=given.max_nodes,
            state=given.state,
            oversubscribe=given.oversubscribe,
            oversubscribe_jobs=given.oversubscribe_jobs,
            exclusive_user=given.exclusive_user,
            preempt_mode=given.preempt_mode,
            grace_time=given.grace_time,
            over_time_limit=own(given.over_time_limit, self.parameters.over_time_limit),
            # select/linear knows nothing of loads.
            least_loaded=(given.lln or self.parameters.least_loaded) and not self.nodes_for.whole_nodes,
            default_memory_per_cpu=by_memory.def_mem_per_cpu,
            default_memory_per_node=by_memory.def_mem_per_node,
            default_memory_per_gpu=per_gpu,
            counted_memory_per_gpu=(per_gpu or 0.0) * self.parameters.rules.DEFAULT_GPU_MEMORY_COUNTS,
            default_cpus_per_gpu=given.def_cpu_per_gpu or self.parameters.def_cpu_per_gpu,
            max_memory_per_cpu=_bound(most_memory.max_mem_per_cpu),
            max_memory_per_node=_bound(most_memory.max_mem_per_node),
            needs_reservation=given.requires_reservation,
            allow_groups=given.allow_groups,
            alternate=given.alternate,
            billing=given.tres_billing_weights,
            topology=given.topology,
            gives_memory=gives_memory(given, self.conf.parameters),
        )

    def pending(self) -> Iterator[Job]:
        """Jobs that wait."""
        return (job for job in list(self.waiting.values()) if job.state is State.PENDING)

    def submit(self, job: Job) -> None:
        """A job is submitted."""
        self.jobs[job.id] = job
        self.named.setdefault((job.request.user, job.name), []).append(job)
        if job.request.array is not None:
            self.tasks.setdefault(job.request.array, []).append(job)
        if job.request.het_job_id is not None:
            self.het_jobs.setdefault(job.request.het_job_id, []).append(job)
        self.order.submitted(job)
        self.enqueue(job)

    def renamed(self, job: Job, before: str) -> None:
        """A job has another name than before; jobs that wait for all of a name find it by the new one."""
        if job.name != before:
            self.named[job.request.user, before].remove(job)
            self.named.setdefault((job.request.user, job.name), []).append(job)

    def het_job_ids(self, job: Job) -> list[int]:
        """Ids of all components of the heterogeneous job that a job is of; empty if it is none."""
        number = job.request.het_job_id
        return [] if number is None else [one.id for one in self.het_jobs.get(number, ())]

    def enqueue(self, job: Job) -> None:
        """A job waits, from now on."""
        self.waiting[job.id] = self.unsettled[job.id] = job
        job.not_yet_tried = self.not_yet_tried
        if job.reason in NOT_YET_TRIED:
            self.not_yet_tried[job.id] = job

    def dequeue(self, job: Job) -> None:
        """A job waits no longer."""
        del self.waiting[job.id]
        self.unsettled.pop(job.id, None)
        self.not_yet_tried.pop(job.id, None)
        job.not_yet_tried = None
        self.order.discard(job)

    def redraw(self) -> None:
        """Note which reservations draw jobs, and whether any is of cores."""
        self.cores_are_reserved = any(one.cores is not None for one in self.reservations.values())
        magnets = [one for one in self.reservations.values() if "MAGNETIC" in one.flags]
        if magnets or self.order.draws:
            self.order.magnets = sorted(magnets, key=lambda one: one.start)
            self.order.changed()
            for job in self.waiting.values():
                job.entries, job.drawn = (), ""

    def release_drawn(self) -> None:
        """A loop is over: jobs that wait are tried in no reservation that draws them."""
        for job in self.waiting.values() if self.order.draws else ():
            job.drawn = ""

    def look_again(self) -> None:
        """What holds for jobs may have been changed, by an operator or a clock: all are looked at again."""
        self.redraw()
        self.order.changed()
        self.known_good.clear()
        self._compare_tiers()
        for watcher in self.run_watchers:
            watcher.changed()
        self.unsettled |= self.waiting

    @property
    def users_part(self) -> bool:
        """Whether some nodes are for jobs of one user alone, now."""
        return (
            self.exclusive_user
            or bool(self._one_users)
            or (bool(self.suspended) and any(self._parts(other) for other in self.suspended.values()))
        )

    def parts_users(self, job: Job) -> bool:
        """Whether a job may find nodes that it does not get because of its user, or of a block that a job has, now."""
        return self._parts(job) or self.users_part

    def _parts(self, job: Job) -> bool:
        """Whether a job has nodes for its user alone, or blocks for itself."""
        return bool(job.options.exclusive_to) and (job.options.exclusive_to == "user" or self._has_blocks(job))

    def parts_blocks(self, job: Job) -> bool:
        """Whether a job may find nodes that it does not get because of blocks that jobs have, and of no user."""
        if not isinstance(self.machine.tree, Blocks) or self.exclusive_user or not self.parts_users(job):
            return False
        there = (job, *self.running.values(), *self.suspended.values())
        return not any(one.options.exclusive_to == "user" for one in there)

    def _has_blocks(self, job: Job) -> bool:
        """Whether a job has the blocks of its nodes for itself: no switches (recorded on 24.11)."""
        return job.options.exclusive_to == "topo" and isinstance(self.machine.tree, Blocks)

    def with_blocks(self, job: Job, allocation: Allocation) -> Sequence[int]:
        """The nodes of a job, and those of the blocks that it has for itself."""
        if not self._has_blocks(job):
            return allocation.nodes
        return [int(node) for node in np.flatnonzero(self._of_blocks(allocation))]

    def _of_blocks(self, allocation: Allocation) -> Mask:
        """The nodes that a job has, and all of their blocks."""
        return self.blocks_of(allocation.mask(len(self.machine)))

    def apart(self, job: Job, usable: Mask, free: Free, at: float) -> Mask:
        """Those of some nodes in no block that others have at a time, given what is free then.

        One that wants blocks for itself gets none in which any job has a node.
        """
        if self._has_blocks(job):
            return usable & ~self.blocks_of(free.jobs > 0)
        for other in self.running.values():
            if other.run is not None and self._has_blocks(other) and self.planned_end(other) > at:
                usable = usable & ~self._of_blocks(other.run.allocation)
        return usable

    def blocks_of(self, nodes: Mask) -> Mask:
        """All nodes of the blocks of some nodes."""
        blocks = self.machine.tree.nodes  # type: ignore[union-attr]
        whole: Mask = nodes | blocks[(blocks & nodes).any(axis=1)].any(axis=0)
        return whole

    def _parted(self, job: Job, alone: bool, other: Job) -> Mask | None:
        """Nodes that another job, which is on the machine, keeps from one because of its user or block; None: none."""
        assert other.run is not None
        nodes = None
        if other.request.user != job.request.user and (
            alone or of_one_user(other, self.partitions[other.run.partition])
        ):
            nodes = other.run.allocation.mask(len(self.machine))
        if self._has_blocks(job) or self._has_blocks(other):
            return self._of_blocks(other.run.allocation)
        return nodes

    def up_in(self, partition: Partition) -> Mask:
        """Nodes of a partition that are up; not to be changed."""
        return partition.nodes if self.machine.all_up else partition.nodes & self.machine.up

    def usable(self, job: Job, partition: Partition) -> Mask:
        """Nodes on which a job may start at all: up, and not another job's; not to be changed."""
        usable = self.up_in(partition)
        if not self.parts_users(job):
            return usable
        alone = of_one_user(job, partition)
        for other in (*self.running.values(), *self.suspended.values()):
            nodes = None if other.run is None else self._parted(job, alone, other)
            if nodes is not None:
                usable = usable & ~nodes
        return usable

    def usable_from(self, job: Job, partition: Partition, at: float, fewest: int) -> tuple[Mask, float]:
        """Nodes on which a job may start at a time, if runs end as planned, and when to try again.

        A node is kept from it until the last run there has ended, of any user. That is tried again once the first of
        these is left, or, where they are too few without, once there are as many as it needs at least.
        """
        usable, alone = partition.nodes & self.machine.up, of_one_user(job, partition)
        ends, kept = np.zeros(len(self.machine)), self.no_nodes()
        for other in (*self.running.values(), *self.suspended.values()):
            if other.run is not None:
                parted = self._parted(job, alone, other)
                nodes = other.run.allocation.mask(len(ends)) if parted is None else parted
                ends[nodes] = np.maximum(ends[nodes], self.planned_end(other))
                if parted is not None:
                    kept |= parted
        kept &= usable & (ends > at)
        if not kept.any():
            return usable, float("inf")
        last = np.sort(ends[kept])[::-1]
        return usable & ~kept, float(last[min(max(int(usable.sum()) - fewest, 0), len(last) - 1)])

    def beside_suspended(self, free: Free, partition: Partition) -> Free:
        """What a job of a partition may have of what is free now: suspended jobs of its tier or above keep theirs."""
        if not self.suspended:
            return free
        kept = [
            job.run.allocation
            for job in self.suspended.values()
            if job.run is not None
            and not job.suspended_by_operator
            and self.partitions[job.run.partition].tier >= partition.tier
        ]
        if not kept:
            return free
        free = free.copy()
        for allocation in kept:
            free.units[allocation.where] -= list(allocation.units)
            free.jobs[allocation.where] += 1
        np.maximum(free.units, 0, out=free.units)
        return free

    def node_is_up(self, node: int) -> bool:
        """Whether a node takes jobs: as configured, or as operators have said since, unless it is powering down."""
        said = self.admin_states.get(node)
        up = takes_jobs(self.conf.nodes[node].state) if said is None else said == "UP"
        return up and node not in self.powering_down

    def settled(self, nodes: Mask) -> Mask:
        """Those of some nodes on which a job may start now, for no epilog goes on there."""
        return nodes if self.epilogs is None else nodes & (self.epilogs == 0)

    def epilog(self, allocation: Allocation, by: int) -> None:
        """Epilogs of a job begin (1) or end (-1) on its nodes."""
        epilogs = np.zeros(len(self.machine), dtype=np.int64) if self.epilogs is None else self.epilogs
        epilogs[list(allocation.nodes)] += by
        self.epilogs = epilogs if epilogs.any() else None

    def just_ended(self) -> Iterator[Job]:
        """Jobs that complete, for no longer than ``CompleteWait`` (in whole seconds, as the daemons count)."""
        wait = self.parameters.complete_wait
        for job in (*self.running.values(), *self.completing.values()) if wait else ():
            end = job.runs[-1].end
            if end is not None and self.whole(end) >= self.whole(self.now) - wait:
                yield job

    def select(self, job: Job, partition: Partition, usable: Mask, free: Free | None = None) -> Allocation | None:
        """The nodes for a job out of what is free (now), or None if it does not fit onto those that it may use."""
        want = self.want(job, partition)
        if free is None:
            free, want = self.beside_suspended(self.free, partition), self.with_limits(want, job, partition)
            usable = usable & ~self.nodes_alone() if want.switches else usable
        plain = want.first is None and want.heavier is None and not self.cores_are_reserved
        if plain and self.compiled is not None:
            code = self.compiled.code(job, partition)
            if code is not None:
                return self.compiled.select(want, code, usable, free)
        return self.choose(want, free, usable)

    def nodes_alone(self) -> Mask:
        """Nodes that jobs have for themselves."""
        nodes = self.no_nodes()
        for job in (*self.running.values(), *self.suspended.values()):
            if job.run is not None and job.run.allocation.whole:
                nodes |= job.run.allocation.mask(len(nodes))
        return nodes

    def want(self, job: Job, partition: Partition) -> Want:
        """What a job needs in a partition; the nodes of its FLEX reservation go before all others."""
        want = job.wants[partition.name]
        if self.cores_are_reserved:
            want = self.with_cores(want, job, self.now, self.now)
        if not partition.had_jobs:
            want = self.before_jobs(want)
        if want.memory_of_first and self.policies.names_victims:
            want = replace(want, in_reach=self._in_reach(job, partition))
        own = self.reservations.get(job.reservation) if job.reservation else None
        return want if own is None or "FLEX" not in own.flags else replace(want, first=own.nodes)

    def _in_reach(self, job: Job, partition: Partition) -> Mask:
        """Nodes of a partition with jobs that a job may preempt."""
        nodes = self.no_nodes()
        for other in self.policies.candidates(job, partition):
            if other.run is not None:
                nodes |= other.run.allocation.mask(len(nodes))
        return nodes & partition.nodes

    def before_jobs(self, want: Want) -> Want:
        """What a job needs where no job of its partition has started yet, or none counts as it is asked for nodes."""
        rules = self.parameters.rules
        of_all = want.pool and rules.MAX_CPUS_OF_OTHERS and not rules.MAX_CPUS_OF_OWN
        of_all = of_all or want.pool in self.machine.of_whole_sockets
        return replace(want, pool_of_all=True) if of_all else want

    def with_cores(self, want: Want, job: Job, begin: float, at: float) -> Want:
        """What a job needs, with the cores of nodes that reservations keep from it, or its own one has left.

        Args:
            want: what it needs otherwise.
            job: the job.
            begin: from when on it may run.
            at: when its nodes are taken: jobs of the reservations that end before have left theirs.
        """
        own = self.reservations.get(job.reservation) if job.reservation else None
        if own is not None:
            bound = own.cores is not None and "FLEX" not in own.flags
            return replace(want, withheld=None, granted=self._cores_left(own, at) if bound else None)
        withheld, end = np.zeros(len(self.machine), dtype=np.int64), begin + job.shortest
        for one in self.reservations.values():
            starts = self.now + (self.whole(one.start) - self.whole(self.now))
            if one.cores is not None and starts < end and one.end > begin:
                withheld += self._cores_left(one, at)
        return replace(want, withheld=withheld if withheld.any() else None, granted=None)

    def _cores_left(self, reservation: Reservation, at: float) -> Ints:
        """Units of each node that a reservation has, without those that its jobs have at a time.

        Jobs of others may have these units, too, and take the first that are free, as the reservation did.
        """
        assert reservation.cores is not None
        left = reservation.cores.copy()
        for other in self.running.values() if at < math.inf else ():
            if other.run is not None and other.reservation == reservation.name and self.planned_end(other) > at:
                left[other.run.allocation.where] -= list(other.run.allocation.units)
        return np.maximum(left, 0)

    def with_limits(self, want: Want, job: Job, partition: Partition) -> Want:
        """What a job needs that starts now: limits on nodes make those heavier that would count in addition."""
        heavier = None if self.accounting is None else self.accounting.heavier(job, partition)
        return want if heavier is None else replace(want, heavier=heavier)

    def choose(self, want: Want, free: Free, usable: Mask) -> Allocation | None:
        """The nodes for what a job needs, out of what is free, or None if it does not fit."""
        if want.sharing_forgotten:
            free = with_sharing_forgotten(want, self.machine, free)
        return self.nodes_for.choose(want, free, usable)

    def take(self, job: Job, allocation: Allocation) -> None:
        """A job comes to the machine."""
        self.free.take(allocation)
        if allocation.whole and self._closes(job):
            self._unshared[job.id] = allocation
        if self._parts(job):
            self._one_users.add(job.id)
        for watcher in self.run_watchers:
            watcher.add(job)
        for name, count in job.options.licenses:
            self.licenses[name][1] += count

    def release(self, job: Job, allocation: Allocation) -> None:
        """A job leaves the machine."""
        self.free.release(allocation)
        self._unshared.pop(job.id, None)
        self._one_users.discard(job.id)
        for watcher in self.run_watchers:
            watcher.remove(job)
        for name, count in job.options.licenses:
            self.licenses[name][1] -= count

    def hold(self, job: Job, run: Run) -> None:
        """A job that left the machine is suspended: it keeps memory, generic resources and licences."""
        self.free.hold(run.held)
        for name, count in job.options.licenses:
            self.licenses[name][1] += count

    def yield_up(self, job: Job, run: Run) -> None:
        """A suspended job goes on, or ends."""
        self.free.yield_up(run.held)
        for name, count in job.options.licenses:
            self.licenses[name][1] -= count

    def licenses_free(self, job: Job) -> bool:
        """Whether the licences that a job wants are free, and reservations keep none of them from it meanwhile.

        One that wants licences of several is given the first that are free.
        """
        for one in job.options.licenses_of:
            if self._has_licenses(job, (one,)):
                job.request = replace(job.request, options=replace(job.options, licenses=(one,)))
                return True
        return not job.options.licenses_of and self._has_licenses(job, job.options.licenses)

    def _has_licenses(self, job: Job, wanted: Sequence[tuple[str, int]]) -> bool:
        if not wanted:
            return True
        until, own = self.now + job.plan_limit, job.reservation
        others = [one for one in self.reservations.values() if one.licenses and one.name != own]
        kept = Counter[str]()
        for one in others:
            if one.start < until and one.end > self.now:
                kept.update(dict(one.licenses))
        return all(self.licenses[name][1] + count + kept[name] <= self.licenses[name][0] for name, count in wanted)

    def _compare_tiers(self) -> None:
        """Note which partitions share nodes with others of a higher tier."""
        for partition in self.partitions.values():
            sharing = [other for other in self.partitions.values() if (other.nodes & partition.nodes).any()]
            partition.lower = [other for other in sharing if other.tier < partition.tier]
            partition.below_another = any(other.tier > partition.tier for other in sharing)

    def too_late(self, job: Job) -> bool:
        """Whether a job that starts now cannot be over by its deadline; that is the beginning of a second."""
        return self.second_of(self.now) >= job.last_start + 0.5

    def whole(self, time: float) -> float:
        """A time in whole seconds of the cluster's clock."""
        return math.floor(time + self.second_phase + ROUNDING)

    def second_of(self, time: float) -> float:
        """When the second of the cluster's clock began in which a time is."""
        return self.whole(time) - self.second_phase

    @property
    def rest_of_second(self) -> float:
        """Seconds behind a whole number that its second still lasts: daemons know ends of runs in whole seconds."""
        return 1.0 - self.second_phase - 2.0**-20

    def whole_seconds(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Times in whole seconds of the cluster's clock."""
        return np.floor(times + self.second_phase + ROUNDING)

    def planned_end(self, job: Job) -> float:
        """When a running job is planned to end; of one past its limit see observation T5."""
        end = self.end_by_limit(job)
        if end > self.now or (job.vacating and job.end_limit == float("inf")):
            return end
        assert job.run is not None
        late, rules = self.whole(self.now) - self.whole(end), self.parameters.rules
        if (late > 0 and rules.OVERDUE_RUNS_ARE_GONE) or (late == 0 and rules.DUE_RUNS_ARE_GONE):
            return self.now
        over = self.partitions[job.run.partition].over_time_limit
        if over == float("inf"):
            # It is planned to have its limit once more from now on (Slurm 22.05).
            return self.now + min(job.run.limit, YEAR)
        return max(end + over + self.parameters.kill_wait, self.now)

    def end_by_limit(self, job: Job) -> float:
        """When a running job is planned to end as long as it is not past its limit: by this runs end in turn."""
        assert job.run is not None
        if job.vacating and job.end_limit == float("inf"):
            return self.now
        length = min(job.run.limit, YEAR)
        if job.plan is not None and job.run.start + job.plan.running > self.now:
            length = min(length, job.plan.running)
        end = job.run.start + length
        for begin, until in job.run.suspensions:
            # While a job is suspended its end stays as it was.
            end += 0.0 if begin is None or until is None else until - begin
        return min(end, job.end_limit)

    def any_goes_over(self) -> bool:
        """Whether a run is past its limit that may go on for a while (OverTimeLimit), and plans know of it."""
        if self.parameters.rules.OVERDUE_RUNS_ARE_GONE or not self._over_time:
            return False
        partitions = self.partitions
        return any(
            job.run is not None and partitions[job.run.partition].over_time_limit and self.end_by_limit(job) <= self.now
            for job in (*self.running.values(), *self.suspended.values())
        )

    def free_if_clear(self) -> Free:
        """What would be free if no node were being cleared of a run."""
        return self.free_without([job for job in self.running.values() if job.is_cleared])

    def has(self, job: Job) -> Allocation:
        """What a job has of the nodes of its run: of one that an operator has suspended that is no CPUs."""
        assert job.run is not None
        return job.run.held if job.id in self.suspended else job.run.at_base

    def free_without(self, jobs: list[Job]) -> Free:
        """What would be free if some running jobs were gone."""
        free = self.free.copy()
        for job in jobs:
            assert job.run is not None
            free.release(self.has(job))
        return free

    def _closes(self, job: Job) -> bool:
        """Whether a job that has whole nodes keeps others from them."""
        return job.run is None or not self.shares_whole_nodes(job, self.partitions[job.run.partition])

    def shares_whole_nodes(self, job: Job, partition: Partition) -> bool:
        """Whether a job that gets whole nodes shares them: where all do (FORCE), and else only if it gets no parts."""
        asks = job.options.share and self.nodes_for.whole_nodes
        return has_rows(partition) and (asks or partition.oversubscribe == "FORCE")

    @property
    def any_unshared(self) -> bool:
        """Whether any job has nodes for itself which is on the machine now."""
        return bool(self._unshared)

    def unshared(self) -> Mask:
        """Nodes that jobs have for themselves which are on the machine now."""
        mask = self.no_nodes()
        for allocation in self._unshared.values():
            mask[allocation.where] = True
        return mask

    def no_nodes(self) -> Mask:
        """A mask of no nodes."""
        return np.zeros(len(self.machine), dtype=bool)


def of_one_user(job: Job, partition: Partition) -> bool:
    """Whether nodes of a job are for jobs of its user alone.

    Not by its own word in a partition whose jobs have nodes for themselves: these stand open to any that preempts it
    (recorded).
    """
    return partition.exclusive_user or (job.options.exclusive_to == "user" and partition.oversubscribe != "EXCLUSIVE")


def _bound(bound: float | None) -> float | None:
    """A bound on memory; 0 and infinite are none."""
    return bound if bound and bound < float("inf") else None
