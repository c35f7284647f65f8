"""Runs as Slurm made them: a command names nodes; when a run begins, and with how many CPUs of each, is Slurm's choice.

So that an emulation goes on from what a session saw, its runs on the same nodes have begun when Slurm's had, and have
their CPUs, from the look on which showed it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from emulator.config.slurm.hostlist import compress, expand
from emulator.engine.controller import Controller
from emulator.state.job import Job
from emulator.state.run import Run, State
from emulator.workload.sitelog import LoggedJob, LoggedRun, SiteLog
from slurm_sim_plugins.nodes import Allocation, Ints

Seen = tuple[LoggedJob, LoggedRun]


@dataclass(frozen=True, slots=True)
class Dealt:
    """A run that got other CPUs of its nodes than were decided on.

    Attributes:
        job: as Slurm names it.
        at: the second of the decision.
        nodes: where, as a host list.
        decided, given: CPUs of each node, such as ``4,2``.
    """

    job: str
    at: float
    nodes: str
    decided: str
    given: str


@dataclass(slots=True)
class Dealer:
    """Gives emulated runs the start and the CPUs that Slurm gave the real ones.

    Attributes:
        dealt: the runs with other CPUs than were decided on, in the order in which they were seen.
        moved: the runs on other nodes than were decided on: ``decided`` and ``given`` are nodes there.
        decided: the second of the decision on a run that began at another one, by (id of the job, number of the run).
        decided_nodes: the nodes that were decided on of a run that Slurm started on others.
        forced: whether runs are as they were seen, even if others have what they take.
    """

    dealt: list[Dealt] = field(default_factory=list)
    moved: list[Dealt] = field(default_factory=list)
    decided: dict[tuple[int, int], float] = field(default_factory=dict)
    decided_nodes: dict[tuple[int, int], str] = field(default_factory=dict)
    forced: bool = False
    _begins: dict[tuple[int, int], tuple[float, float]] = field(default_factory=dict)

    def actions(self, log: SiteLog) -> list[tuple[float, Callable[[Controller], None]]]:
        """What is to be done in the emulation, and when: at the looks which showed the starts."""
        looks: dict[float, list[Seen]] = defaultdict(list)
        for job in log.jobs:
            for index, run in enumerate(job.happened.runs):
                self._begins[job.request.id, index] = run.start, math.inf if run.seen is None else run.seen
                if run.seen is not None and run.decided:
                    looks[run.seen].append((job, run))
        return [(at, partial(self._deal, seen)) for at, seen in sorted(looks.items(), key=lambda look: look[0])]

    def _deal(self, seen: Sequence[Seen], controller: Controller) -> None:
        """Let the runs of a look be as they were seen."""
        changes, dealt, moved = [], list[Dealt](), list[Dealt]()
        for logged, run in seen:
            job = controller.cluster.jobs.get(logged.request.id)
            if job is None or job.run is None or job.state is not State.RUNNING or job.run.row:
                continue
            nodes, decided = nodes_of(job.run, controller), cpus_of(job.run, controller)
            if nodes != run.decided_nodes:
                continue
            place, at = (job.id, len(job.runs) - 1), job.run.start
            has = job.run.allocation if not run.wanted else placed(job, run, controller) or job.run.allocation
            if run.wanted:
                moved.append(Dealt(logged.label, at, nodes, nodes, run.nodes))
                self.decided_nodes[place] = nodes
            elif run.shares and run.shares != decided:
                has = replace(has, units=units_of(run.shares, has, controller))
                dealt.append(Dealt(logged.label, at, nodes, decided, run.shares))
            changes.append(Change(job, job.run, has, at if run.began is None else run.began))
            self.decided[place] = at
        if changes and self._changed(changes, controller):
            self.dealt += dealt
            self.moved += moved
        if changes:
            controller.passes.moved()
            controller.passes.request(controller.cluster.now)

    def _changed(self, changes: Sequence[Change], controller: Controller) -> bool:
        """Let runs be as they were seen, with other CPUs only if all of them find these free; whether they do.

        Memory stays with the nodes, also where it was asked for by CPU.
        """
        left = self.room(controller)
        for change in changes:
            left[change.run.allocation.where] += change.run.allocation.units
            left[change.has.where] -= change.has.units
        fits = self.forced or bool((left >= 0).all())
        for change in changes:
            begin_as(change if fits else replace(change, has=change.run.allocation), controller)
        return fits

    def room(self, controller: Controller) -> Ints:
        """Units of each node that Slurm could deal now; less than none where more is taken than there is."""
        cluster = controller.cluster
        left = cluster.free.units.copy()
        for other in cluster.running.values():
            if other.run is not None and self._in_no_way(other, cluster.now):
                left[other.run.allocation.where] += other.run.allocation.units
        return left

    def _in_no_way(self, job: Job, now: float) -> bool:
        """Whether Slurm could deal what a run has: it leaves at this instant, or is decided on and had not begun."""
        if job.state is State.COMPLETING or job.vacating:
            return True
        decided, seen = self._begins.get((job.id, len(job.runs) - 1), (now, now))
        return decided <= now < seen


@dataclass(frozen=True, slots=True)
class Change:
    """A run, what it has, and the second at which it began."""

    job: Job
    run: Run
    has: Allocation
    began: float


def begin_as(change: Change, controller: Controller) -> None:
    """Let a run have begun when Slurm's did, and have what it had of each node."""
    rows, state = controller.starts.rows, controller.policies.cluster_state
    rows.release(change.job, change.run)
    state.over(change.job)
    change.run.allocation = change.has
    change.run.start = change.began
    state.begun(change.job, controller.cluster.machine.cpus_of(change.run.allocation))
    rows.take(change.job, change.run)


def placed(job: Job, run: LoggedRun, controller: Controller) -> Allocation | None:
    """What a run has of its nodes: the CPUs that Slurm dealt, or as many as idle nodes would give."""
    cluster = controller.cluster
    nodes = expand(run.nodes)
    if not nodes or not set(nodes) <= cluster.machine.index.keys():
        return None
    usable = cluster.no_nodes()
    usable[[cluster.machine.index[name] for name in nodes]] = True
    idle = cluster.free_without([other for other in cluster.running.values() if other.run is not None])
    has = cluster.select(job, job.partitions[0], usable, idle)
    return replace(has, units=units_of(run.shares, has, controller)) if has and run.shares else has


def nodes_of(run: Run, controller: Controller) -> str:
    """The nodes of a run, as a host list."""
    names = controller.cluster.machine.names
    return compress([names[node] for node in run.allocation.nodes])


def cpus_of(run: Run, controller: Controller) -> str:
    """The CPUs that a run has of each of its nodes, such as ``4,2``."""
    has = run.allocation
    return ",".join(map(str, (controller.cluster.machine.threads[has.where] * has.units).tolist()))


def units_of(cpus: str, has: Allocation, controller: Controller) -> tuple[int, ...]:
    """CPUs of each node in the emulator's units."""
    threads = controller.cluster.machine.threads[has.where].tolist()
    return tuple(max(int(each) // count, 1) for each, count in zip(cpus.split(","), threads, strict=True))
