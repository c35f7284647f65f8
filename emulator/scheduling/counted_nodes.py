"""Nodes that are alike and given out whole: how many of them a job takes is all that matters.

There the plan of a cluster is that of counted processors
(:mod:`slurm_sim_plugins.count_plan`), with nodes instead of processors: the same
starts, and much less to do than to look at each node.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection
from dataclasses import dataclass

from emulator.scheduling.controls import Controls
from emulator.state.cluster import Cluster
from emulator.state.job import Job
from emulator.state.partition import Partition
from emulator.state.run import YEAR
from slurm_sim_plugins.count_plan import CountPlan
from slurm_sim_plugins.counts import Counts
from slurm_sim_plugins.decisions import Plan
from slurm_sim_plugins.jobs import Run
from slurm_sim_plugins.nodes import Mask
from slurm_sim_plugins.profile import RunEntry
from slurm_sim_plugins.topology.block import Blocks


@dataclass(slots=True, eq=False)
class Counted:
    """What a plan of counts is asked about: a job, with nodes instead of processors.

    Attributes:
        processors: nodes.
        planned, planned_running: seconds.
        of: what that follows from: class of the request, partition, limit and plan of the job.
    """

    processors: int
    planned: float
    planned_running: float
    of: tuple[int, str, float, Plan | None]


class Pool:
    """Nodes that are counted, in one pass.

    Args:
        now: seconds.
        total: how many nodes there are.
        free: how many are idle.
        runs: of the jobs on them, by planned end.
    """

    def __init__(self, now: float, total: int, free: int, runs: list[RunEntry]) -> None:
        self.view = Counts(total, now)
        self.view.free = free
        self.view._runs = runs
        self.plan = CountPlan(self.view)
        self._promises: list[tuple[Counted, float]] = []

    def promise(self, counted: Counted, not_before: float) -> float:
        """Promise the earliest start."""
        time = self.plan.promise(counted, not_before)  # type: ignore[arg-type]
        self._promises.append((counted, time))
        return time

    def promise_again(self, other: Pool) -> None:
        """Keep what another one has promised, which knew of other runs."""
        for counted, time in other._promises:
            self.promise(counted, time)

    def earliest(self, counted: Counted, gone: Collection[int]) -> float:
        """The earliest start if jobs, by id, were gone."""
        without = [Run._make(run) for run in self.view._runs if run[4].id in gone]
        return self.plan.earliest(counted, without)  # type: ignore[arg-type]

    def started(self, counted: Counted, end: float, job: Job) -> None:
        """A job has started on these nodes."""
        view = self.view
        view.free -= counted.processors
        insort(view._runs, (end, job.id, counted.processors, view.now, job))
        view._reservation = None
        if view._plan is not None:
            view._plan.started(counted)  # type: ignore[arg-type]


class CountedNodes:
    """Knows of which partitions the nodes can be counted.

    They can where all nodes of a partition are alike, each job takes whole ones, whichever they are, and every
    other partition that has some of them has all of them, on the same terms. The runs there are kept in the
    order of their planned ends as they come and go; while an end depends on more than a limit, they are put in
    order whenever that is asked for.

    Args:
        cluster: the cluster state.
        controls: reservations, and sharing.
    """

    def __init__(self, cluster: Cluster, controls: Controls) -> None:
        self._cluster = cluster
        self._controls = controls
        self._needs: dict[tuple[int, str], int] = {}
        self._fine: set[tuple[int, str]] = set()
        self._fine_when_met = -1
        self._groups: dict[str, _Group] = {}
        self._odd: set[int] = set()
        self._stale = True
        partitions = cluster.partitions.values()
        alike = [partition.name for partition in partitions if self._alike(partition)]
        found: dict[bytes, _Group] = {}
        for partition in partitions:
            apart = all(
                (partition.nodes == other.nodes).all() and other.name in alike
                for other in partitions
                if (partition.nodes & other.nodes).any()
            )
            if apart:
                self._groups[partition.name] = found.setdefault(partition.nodes.tobytes(), _Group(partition.nodes))
        self._distinct = list(found.values())
        if self._groups:
            cluster.run_watchers.append(self)

    def close(self) -> None:
        """Hear of runs no longer."""
        if self._groups:
            self._cluster.run_watchers.remove(self)

    def pools(self) -> dict[str, Pool]:
        """The nodes that can be counted now, by partition; partitions with the same nodes share them."""
        found: dict[_Group, Pool] = {}
        pools: dict[str, Pool] = {}
        for name, group in self._countable().items():
            if group not in found:
                found[group] = group.pool(self._cluster)
            pools[name] = found[group]
        return pools

    def idle(self) -> dict[str, int] | None:
        """How many nodes are idle, by partition; None unless all are counted, and no run is past its planned end."""
        groups, idle = self._countable(), {}
        if len(groups) < len(self._cluster.partitions):
            return None
        for name, group in groups.items():
            if group.is_late(self._cluster.now):
                return None
            idle[name] = group.free
        return idle

    def _countable(self) -> dict[str, _Group]:
        cluster = self._cluster
        if not self._groups or self._controls.reservations.by_name or cluster.suspended:
            return {}
        if self._stale or self._odd:
            self._gather()
        spoilt = self._spoilt()
        up, all_up = cluster.machine.up, cluster.machine.all_up
        if all_up and not spoilt:
            for group in self._distinct:
                if group.others:
                    break
            else:
                return self._groups
        return {
            name: group
            for name, group in self._groups.items()
            if not group.others and group not in spoilt and (all_up or bool(up[group.nodes].all()))
        }

    def _spoilt(self) -> set[_Group]:
        """Nodes for which a job waits to which more matters than how many they are."""
        order = self._cluster.order
        met = order.classes_met()
        if met == self._fine_when_met:
            return NO_GROUPS
        classes, bad = order.classes(), set[tuple[int, str]]()
        if not classes <= self._fine:
            bad = {pair for pair in classes - self._fine if pair[1] in self._groups and self._need_of_class(*pair) < 0}
            self._fine |= classes - bad
        self._fine_when_met = -1 if bad else met
        return {self._groups[name] for _, name in bad} if bad else NO_GROUPS

    # Runs

    def add(self, job: Job) -> None:
        """A run begins."""
        assert job.run is not None
        if job.plan is not None or job.run.suspensions:
            self.odd(job)
        group = self._groups.get(job.run.partition)
        if group is not None and not self._stale:
            self._take_in(group, job, _end_by_limit(job))

    def remove(self, job: Job) -> None:
        """A run ends."""
        assert job.run is not None
        self._odd.discard(job.id)
        group = self._groups.get(job.run.partition)
        if group is not None and not self._stale:
            group.remove(job)

    def odd(self, job: Job) -> None:
        """The planned end of a run depends on more than its limit, from now on."""
        self._odd.add(job.id)
        self._stale = True

    def changed(self) -> None:
        """Limits of runs may have changed."""
        self._stale = True

    def _gather(self) -> None:
        self._stale = bool(self._odd)
        for group in self._groups.values():
            group.clear()
        for job in self._cluster.running.values():
            assert job.run is not None
            where = self._groups.get(job.run.partition)
            if where is not None:
                self._take_in(where, job, self._cluster.planned_end(job) if self._odd else _end_by_limit(job))

    def _take_in(self, group: _Group, job: Job, end: float) -> None:
        assert job.run is not None
        counted = (
            not job.run.row
            and job.run.counted is None
            and self.need(job, self._cluster.partitions[job.run.partition]) >= 0
        )
        group.add(job, end, counted)

    # Requests

    def counted(self, job: Job, partition: Partition) -> Counted:
        """A job as the plan of its pool is asked about it."""
        of = job.request_class, partition.name, job.limit, job.plan
        known: Counted | None = job.counted
        if known is None or known.of != of:
            length = job.plan_limit
            running = length if job.plan is None else min(job.plan.running, job.limit)
            known = job.counted = Counted(self.need(job, partition), length, running, of)
        return known

    def need(self, job: Job, partition: Partition) -> int:
        """How many nodes a job takes; -1 if it is not only their number that matters to it."""
        if len(job.partitions) > 1:
            return -1
        key = job.request_class, partition.name
        need = self._needs.get(key)
        if need is None:
            need = self._needs[key] = self._need(job, partition)
        return need

    def _need_of_class(self, number: int, partition: str) -> int:
        if number >= 0 and (number, partition) not in self._needs:
            for _, job, where in self._cluster.order.pairs():
                self.need(job, where)
        return self._needs[number, partition] if number >= 0 else -1

    def _need(self, job: Job, partition: Partition) -> int:
        cluster, options = self._cluster, job.options
        want, nodes = job.wants[partition.name], partition.nodes
        if (
            options.licenses
            or options.reservation
            or want.required is not None
            or want.contiguous
            or want.gres
            or want.gres_total
            or want.gres_per_task
            or want.unmarked
        ):
            return -1
        if len(want.choices) != 1 or want.choices[0].counts or not bool(want.choices[0].mask[nodes].all()):
            return -1
        if isinstance(want.tree, Blocks):
            return -1
        if want.tree is not None and (want.switches or not want.tree.joins(nodes)):
            return -1
        whole = want.whole or int(cluster.machine.units[nodes].max()) == 1
        if not whole or want.pool or want.target_nodes > want.least_nodes:
            return -1
        found = cluster.choose(want, cluster.machine.free(), nodes)
        return -1 if found is None else len(found.nodes)

    def _alike(self, partition: Partition) -> bool:
        """Whether the nodes of a partition are alike, and none is shared."""
        machine, nodes = self._cluster.machine, partition.nodes
        columns = (machine.units, machine.memory, machine.threads, *machine.gres.values())
        same = nodes.any() and all((column[nodes] == column[nodes][0]).all() for column in columns)
        shared = machine.shared or partition.exclusive_user or partition.oversubscribe in ("FORCE", "YES")
        return bool(same) and not shared


class _Group:
    """Nodes that are alike, and the runs on them.

    Attributes:
        nodes: which they are.
        free: how many of them are idle.
        others: runs of which more matters than how many nodes they have.
    """

    __slots__ = ("_ends", "_runs", "_total", "free", "nodes", "others")

    def __init__(self, nodes: Mask) -> None:
        self.nodes = nodes
        self.others: set[int] = set()
        self._total = int(nodes.sum())
        self.free = self._total
        self._runs: list[RunEntry] = []
        self._ends: dict[int, float] = {}

    def clear(self) -> None:
        """Forget all runs."""
        self.others.clear()
        self._runs.clear()
        self._ends.clear()
        self.free = self._total

    def add(self, job: Job, end: float, counted: bool) -> None:
        """A run that is planned to end then."""
        assert job.run is not None
        if not counted:
            self.others.add(job.id)
            return
        nodes = len(job.run.allocation.nodes)
        insort(self._runs, (end, job.id, nodes, job.run.start, job))
        self._ends[job.id] = end
        self.free -= nodes

    def remove(self, job: Job) -> None:
        """A run is over."""
        self.others.discard(job.id)
        end = self._ends.pop(job.id, None)
        if end is not None:
            self.free += self._runs.pop(bisect_left(self._runs, (end, job.id)))[2]

    def is_late(self, now: float) -> bool:
        """Whether a run is past its planned end."""
        return bool(self._runs) and self._runs[0][0] <= now

    def pool(self, cluster: Cluster) -> Pool:
        """The nodes as they are now; a run past its limit ends later than it was to end (observation T5)."""
        runs = self._runs.copy()
        if self.is_late(cluster.now):
            late = bisect_right(runs, (cluster.now, math.inf))
            runs[:late] = [(cluster.planned_end(run[4]), *run[1:]) for run in runs[:late]]
            runs.sort()
        return Pool(cluster.now, self._total, self.free, runs)


NO_GROUPS: set[_Group] = set()
"""Never to be changed."""


def _end_by_limit(job: Job) -> float:
    assert job.run is not None
    return job.run.start + min(job.run.limit, YEAR)
