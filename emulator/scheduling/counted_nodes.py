"""Nodes that are alike and given out whole: how many of them a job takes is all that matters.

There the plan of a cluster is that of counted processors
(:mod:`slurm_sim_plugins.count_plan`), with nodes in the place of processors: the same
starts, and much less to do than to look at each node.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection
from dataclasses import dataclass

from emulator.scheduling.controls import Controls
from emulator.state.cluster import Cluster
from emulator.state.job import Job
from emulator.state.partition import Partition
from slurm_sim_plugins.count_plan import CountPlan
from slurm_sim_plugins.jobs import Run
from slurm_sim_plugins.profile import RunEntry
from slurm_sim_plugins.views import SchedulingView


@dataclass(slots=True, eq=False)
class Counted:
    """What a plan of counts is asked about: a job, with nodes in the place of processors.

    Attributes:
        processors: nodes.
        planned, planned_running: seconds.
    """

    processors: int
    planned: float
    planned_running: float


class Pool:
    """Nodes that are counted, in one pass.

    Args:
        now: seconds.
        total: how many nodes there are.
        free: how many are idle.
        runs: of the jobs on them, by planned end.
    """

    def __init__(self, now: float, total: int, free: int, runs: list[RunEntry]) -> None:
        self.view = SchedulingView(total, now=now)
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
        insort(view._runs, (end, job.id, counted.processors, view.now, job), key=_by_end)
        view._reservation = None
        if view._plan is not None:
            view._plan.started(counted)  # type: ignore[arg-type]


class CountedNodes:
    """Knows of which partitions the nodes can be counted.

    They can where all nodes of a partition are alike, each job takes whole ones, whichever they are, and no
    other partition has some of them but not all.

    Args:
        cluster: the situation.
        controls: reservations, and sharing.
    """

    def __init__(self, cluster: Cluster, controls: Controls) -> None:
        self._cluster = cluster
        self._controls = controls
        self._needs: dict[tuple[int, str], int] = {(-1, ""): -1}
        self._groups: dict[str, bytes] = {}
        partitions = cluster.partitions.values()
        for partition in partitions:
            apart = all(
                (partition.nodes == other.nodes).all() or not (partition.nodes & other.nodes).any()
                for other in partitions
            )
            if apart and self._alike(partition):
                self._groups[partition.name] = partition.nodes.tobytes()

    def pools(self) -> dict[str, Pool]:
        """The nodes that can be counted now, by partition; partitions with the same nodes share them."""
        cluster = self._cluster
        if not self._groups or self._controls.reservations.by_name or cluster.suspended:
            return {}
        up = cluster.machine.up
        groups = {name: group for name, group in self._groups.items() if bool(up[cluster.partitions[name].nodes].all())}
        spoilt = {
            groups[partition.name]
            for _, job, partition in cluster.order.pairs()
            if partition.name in groups and self.need(job, partition) < 0
        }
        runs: dict[bytes, list[RunEntry]] = {group: [] for group in groups.values()}
        for job in cluster.running.values():
            assert job.run is not None
            group = groups.get(job.run.partition)
            if group is None:
                continue
            if job.run.row or self.need(job, cluster.partitions[job.run.partition]) < 0:
                spoilt.add(group)
            else:
                nodes = len(job.run.allocation.nodes)
                runs[group].append((cluster.planned_end(job), job.id, nodes, job.run.start, job))
        pools = {}
        for group, entries in runs.items():
            entries.sort(key=_by_end)
            total = group.count(1)
            free = total - sum(entry[2] for entry in entries)
            pools[group] = Pool(cluster.now, total, free, entries)
        return {name: pools[group] for name, group in groups.items() if group not in spoilt}

    def counted(self, job: Job, partition: Partition) -> Counted:
        """A job as the plan of its pool is asked about it."""
        length = job.plan_limit
        running = length if job.plan is None else min(job.plan.running, job.limit)
        return Counted(self.need(job, partition), length, running)

    def need(self, job: Job, partition: Partition) -> int:
        """How many nodes a job takes; -1 if it is not only their number that matters to it."""
        key = (job.alike, partition.name) if len(job.partitions) == 1 else (-1, "")
        if key not in self._needs:
            self._needs[key] = self._need(job, partition)
        return self._needs[key]

    def _need(self, job: Job, partition: Partition) -> int:
        cluster, options = self._cluster, job.options
        want, nodes = job.wants[partition.name], partition.nodes
        if options.licenses or options.reservation or want.required is not None or want.gres or want.gres_total:
            return -1
        if len(want.choices) != 1 or want.choices[0].counts or not bool(want.choices[0].mask[nodes].all()):
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


def _by_end(entry: RunEntry) -> tuple[float, int]:
    return entry[:2]
