"""CPUs as Slurm dealt them: a command names the nodes of a start, and how many CPUs of each it gets is Slurm's choice.

So that an emulation goes on from what a session saw, its runs on the same nodes get the CPUs that the session saw.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from emulator.config.slurm.hostlist import compress
from emulator.engine.controller import Controller
from emulator.state.job import Job
from emulator.state.run import Run, State
from emulator.workload.sitelog import LoggedJob, LoggedRun, SiteLog
from slurm_sim_plugins.nodes import Allocation

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
    """Gives emulated runs the CPUs that Slurm gave the real ones.

    Attributes:
        dealt: the runs with other CPUs than were decided on, in the order in which they were seen.
    """

    dealt: list[Dealt] = field(default_factory=list)

    def actions(self, log: SiteLog) -> list[tuple[float, Callable[[Controller], None]]]:
        """What is to be done in the emulation, and when: at the looks which showed the starts."""
        looks: dict[float, list[Seen]] = defaultdict(list)
        for job in log.jobs:
            for run in job.happened.runs:
                if run.seen is not None and run.decided and run.shares:
                    looks[run.seen].append((job, run))
        return [(at, partial(self._deal, seen)) for at, seen in sorted(looks.items(), key=lambda look: look[0])]

    def _deal(self, seen: Sequence[Seen], controller: Controller) -> None:
        """Give all runs of a look their CPUs, or none: some may have what others had."""
        changes = []
        for logged, run in seen:
            job = controller.cluster.jobs.get(logged.request.id)
            if job is None or job.run is None or job.state is not State.RUNNING or job.run.row:
                continue
            nodes, decided = _has(job.run, controller)
            if nodes == run.nodes and decided != run.shares:
                units = _units(run.shares, job.run.allocation, controller)
                changes.append((job, job.run, units, Dealt(logged.label, job.run.start, nodes, decided, run.shares)))
        if changes and _moved([(job, run, units) for job, run, units, _ in changes], controller):
            self.dealt += [dealt for *_, dealt in changes]
            controller.passes.moved()
            controller.passes.request(controller.cluster.now)


def _has(run: Run, controller: Controller) -> tuple[str, str]:
    """Nodes of a run, and its CPUs of each."""
    machine, has = controller.cluster.machine, run.allocation
    cpus = (machine.threads[has.where] * has.units).tolist()
    return compress([machine.names[node] for node in has.nodes]), ",".join(map(str, cpus))


def _units(cpus: str, has: Allocation, controller: Controller) -> tuple[int, ...]:
    """CPUs in the emulator's units."""
    threads = controller.cluster.machine.threads[has.where].tolist()
    return tuple(max(int(each) // count, 1) for each, count in zip(cpus.split(","), threads, strict=True))


def _moved(changes: Sequence[tuple[Job, Run, tuple[int, ...]]], controller: Controller) -> bool:
    """Let runs have other CPUs of their nodes, where these are free; whether they are.

    Memory stays with the nodes, also where it was asked for by CPU.
    """
    rows, free = controller.starts.rows, controller.cluster.free
    before = [run.allocation for _, run, _ in changes]
    for job, run, _ in changes:
        rows.release(job, run)
    wanted = free.units.copy()
    for other in controller.cluster.running.values():
        if other.run is not None and (other.state is State.COMPLETING or other.vacating):
            # What is leaving at this instant has left the real nodes, or Slurm could not have dealt so.
            wanted[other.run.allocation.where] += other.run.allocation.units
    for _, run, units in changes:
        wanted[run.allocation.where] -= units
    fits = bool((wanted >= 0).all())
    for (job, run, units), has in zip(changes, before, strict=True):
        run.allocation = replace(has, units=units) if fits else has
        rows.take(job, run)
    return fits
