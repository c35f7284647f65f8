"""Runs go on and stand still: until they end, for their turns on nodes that they share, and for jobs that preempt."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from emulator.engine.agenda import Kind, Rank
from emulator.engine.part import Part
from emulator.engine.passes import Passes
from emulator.engine.telling import TIME_SLICE
from emulator.scheduling.gang import Change
from emulator.scheduling.preempt import preempt_mode
from emulator.state.job import Job
from emulator.state.run import Run, State
from slurm_sim_plugins.profile import HALF_A_MICROSECOND

SWEEP = 30.0
"""Seconds between two sweeps over limits."""


@dataclass(eq=False)
class Stints(Part):
    """Lets runs go on and stand still.

    Attributes:
        passes: the loops, which hear of what stands still and goes on.
        alone: whether a pass follows each end.
        give_way: what lets a preempted job leave that is not suspended.
        sweep_due: before when a sweep finds no run that has exceeded its limit.
        signalled: jobs whose runs were sent the signal before their limit, and end by it.
    """

    passes: Passes
    alone: bool
    sweep_due: float = math.inf
    signalled: set[int] = field(default_factory=set)
    give_way: Callable[[Job], None] = field(init=False)

    def go_on(self, job: Job, cause: str = "") -> None:
        """A job's work goes on, and will be done when what is left of it is; ``cause`` is why it stood still."""
        assert job.run is not None
        now = self.cluster.now
        if job.run.suspensions and job.run.suspensions[-1][1] is None:
            job.run.suspensions[-1][1] = now
            self.passes.record_changed()
        job.state, job.work_since = State.RUNNING, now
        job.sequence += 1
        if cause:
            self.telling.resumed(job, cause)
        killed = self.killed_from(job)
        self.sweep_due = min(self.sweep_due, self.swept_from(job))
        if job.run.suspensions:
            killed = self.killed_from(job, job.run.suspended(now))
        if self.ideal and now + job.left > killed + HALF_A_MICROSECOND:
            self._end_at(killed, job, "limit", Rank.LIMIT)
            return
        if job.left == math.inf:
            return
        end = now + job.left
        self._end_at(end, job, "work done", Rank.LIMIT if abs(end - killed) <= HALF_A_MICROSECOND else Rank.OTHER)

    def _end_at(self, second: float, job: Job, kind: Kind, rank: Rank) -> None:
        """Have a run end; one that ends at its limit does so before all else of that time."""
        self.agenda.at(second, kind, job.id, job.sequence, rank=rank)
        if rank is Rank.LIMIT and self.alone:
            self.agenda.at(second, "ended at limit", job.id, len(job.runs) - 1)

    def killed_from(self, job: Job, suspended: float = 0.0) -> float:
        """When a run, suspended for so many seconds, exceeds its limit or its reservation by as much as it may."""
        assert job.run is not None
        limit = job.run.expires + suspended + self.cluster.partitions[job.run.partition].over_time_limit
        return min(limit, self.reserved_until(job))

    def reserved_until(self, job: Job) -> float:
        """When a run exceeds its reservation: never one with ``FLEX``, or that was over as the run began."""
        assert job.run is not None
        reserved = self.reservations.of(job) if self.reservations.by_name else None
        if reserved is None or "FLEX" in reserved.flags or reserved.end <= job.run.start:
            return math.inf
        return reserved.end + self.parameters.resv_over_run

    def swept_from(self, job: Job) -> float:
        """The beginning of the second from which on a sweep ends a run: at its limit, or before by a signal."""
        return self._second_of(self._ended_from(job))

    def next_sweep(self) -> float:
        """The beginning of the second from which on a sweep ends any run; at once while one gives way."""
        running = self.cluster.running.values()
        if any(job.vacating for job in running):
            return 0.0
        return self._second_of(min(map(self._ended_from, running), default=math.inf))

    def _ended_from(self, job: Job) -> float:
        killed = self.killed_from(job)
        return killed if job.request.signal_time is None else min(killed, self.signalled_from(job))

    def _second_of(self, time: float) -> float:
        return time if self.ideal or time == math.inf else self.cluster.second_of(time)

    def signalled_from(self, job: Job) -> float:
        """From when on a sweep sends a run the signal that ends it: before its limit, and by a sweep more.

        Infinite for one that was sent it, has no work of its own, or is sent none; under the ideal clock none is.
        """
        assert job.run is not None
        if job.request.signal_time is None or self.ideal or job.left == math.inf or job.id in self.signalled:
            return math.inf
        expires = job.run.expires + job.run.suspended(self.cluster.now)
        return expires - job.request.signal_time - SWEEP

    def ends_otherwise(self, job: Job) -> None:
        """A run is not planned to end by its limit alone any more."""
        for watcher in self.cluster.run_watchers:
            watcher.odd(job)

    def halt(self, job: Job, cause: str) -> None:
        """A job's work stands still."""
        assert job.run is not None
        self.ends_otherwise(job)
        job.left -= self.cluster.now - job.work_since
        job.run.suspensions = [*job.run.suspensions, [self.cluster.now, None]]
        self.passes.record_changed()
        job.state = State.SUSPENDED
        job.sequence += 1
        self.telling.suspended(job, cause)

    def suspend(self, job: Job, cause: str) -> None:
        """A job's work stands still, and others may have its CPUs; what else it has stays its own."""
        assert job.run is not None
        self.halt(job, cause)
        self.cluster.suspended[job.id] = self.cluster.running.pop(job.id)
        if cause == "operator":
            self.rows.set_aside(job, job.run)
        else:
            self.rows.release(job, job.run)
        self.cluster.partitions[job.run.partition].running += 1  # It is still on the machine.
        self.cluster.hold(job, job.run)
        self._leave_gang(job, job.run.partition)

    def resume(self, job: Job, cause: str) -> None:
        """A suspended job goes on, on its nodes; it has them still, where others had its turn."""
        if job.id in self.cluster.suspended:
            self.take_back(job, by_operator=cause == "operator")
        self.go_on(job, cause)
        if self.rows.gang is not None:
            self.rows.gang.resumed(job)

    def take_back(self, job: Job, by_operator: bool) -> None:
        """A suspended job has its CPUs again; others may have them, too, if it was an operator who suspended it."""
        assert job.run is not None
        self.cluster.running[job.id] = self.cluster.suspended.pop(job.id)
        self.cluster.yield_up(job, job.run)
        self.cluster.partitions[job.run.partition].running -= 1
        if by_operator:
            self.rows.take_back(job, job.run)
        else:
            self.rows.take(job, job.run)

    def give_up(self, job: Job, nodes: Collection[int]) -> None:
        """A job goes on without some of its nodes; limits count it as before until it ends."""
        run = job.run
        assert run is not None
        gone = [node for node in run.allocation.nodes if node in nodes]
        if job.id in self.cluster.suspended:
            self.rows.suspended_gives_up(job, run, gone)
        else:
            self._renew_in_gang(job, run, gone)
            self.ends_otherwise(job)
        self.passes.record_changed()
        self.passes.moved()

    def _renew_in_gang(self, job: Job, run: Run, gone: Collection[int]) -> None:
        """A running job leaves those that take turns, and comes back without some of its nodes (recorded)."""
        gang = self.rows.gang if job.state is State.RUNNING else None
        changes = gang.ended(job, run.partition) if gang is not None else []
        self.rows.give_up(job, run, gone)
        if gang is not None:
            self.carry_out([*changes, *gang.started(job)])

    def resume_preempted(self) -> None:
        """Suspended jobs go on when all that they have is free again."""
        suspended = self.cluster.suspended
        for job in sorted(suspended.values(), key=lambda job: job.id) if suspended else ():
            assert job.run is not None
            has = job.run.allocation
            if not job.suspended_by_operator and bool((self.cluster.free.units[has.where] >= list(has.units)).all()):
                self.resume(job, "preemption")

    def left(self, job: Job, partition: str) -> None:
        """A job has left the resources that it shared: others may go on."""
        self.resume_preempted()
        self._leave_gang(job, partition)

    def _leave_gang(self, job: Job, partition: str) -> None:
        if self.rows.gang is not None:
            self.carry_out(self.rows.gang.ended(job, partition))

    def slice(self) -> None:
        """A time slice is over."""
        if self.rows.gang is not None:
            self.carry_out(self.rows.gang.slice())

    def partition_changed(self) -> None:
        """A partition says something else of its jobs."""
        if self.rows.gang is not None:
            self.carry_out(self.rows.gang.reconfigured())

    def carry_out(self, changes: Iterable[Change]) -> None:
        """Let jobs stand still, or go on, that share resources."""
        for job, runs, shadowed in changes:
            cause = "preemption" if shadowed else TIME_SLICE
            if runs and job.state is State.SUSPENDED:
                self.go_on(job, cause)
            elif not runs and job.state is State.RUNNING:
                if shadowed and preempt_mode(job, self.cluster) not in ("SUSPEND", "OFF"):
                    self.give_way(job)
                else:
                    self.halt(job, cause)
