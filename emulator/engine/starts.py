"""What the loops decide is carried out: jobs start, and others make room for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from emulator.engine.arrivals import Arrivals
from emulator.engine.endings import Endings
from emulator.engine.part import Part
from emulator.engine.passes import Passes
from emulator.engine.power import PowerSaving
from emulator.engine.stints import Stints
from emulator.scheduling.entries import leave_record
from emulator.scheduling.gang import Change
from emulator.scheduling.het_jobs import components_of, is_led
from emulator.scheduling.job_mgr import limit_of
from emulator.scheduling.preempt import configured_mode, grace_time, preempt_mode
from emulator.state.job import Job
from emulator.state.partition import Partition
from emulator.state.run import YEAR, Run, State
from emulator.workload.request import UNLIMITED
from slurm_sim_plugins.nodes import Allocation, Mask


@dataclass(eq=False)
class Starts(Part):
    """The :class:`~emulator.scheduling.controls.Controls` of the loops.

    Attributes:
        power: what resumes the nodes of jobs; None where nodes are always on.
    """

    passes: Passes
    arrivals: Arrivals
    stints: Stints
    endings: Endings
    power: PowerSaving | None = None

    def start(
        self,
        job: Job,
        partition: Partition,
        allocation: Allocation,
        limit: float | None = None,
        row: int = 0,
        reason: str = "",
        backfilled: bool = False,
    ) -> None:
        """Start a waiting job now; ``reason`` is that of the scheduler."""
        now = self.cluster.now
        if limit is not None:
            # Backfill plans with what a plugin says, but it is the limit that kills.
            planned = job.plan is not None and job.time_min is None
            job.limit = min(job.limit, YEAR) if planned else limit
        if len(job.partitions) > 1:
            _take_limit(job, partition)
        job.cut_at_deadline(self.cluster.second_of(now))
        number = job.number_in(partition.name)
        job.run = Run(now, allocation, partition.name, job.limit, row, backfilled or limit is not None, number)
        job.run.configuring = self.operation.prolog_slurmctld
        job.runs.append(job.run)
        partition.had_jobs = True
        job.state, job.reason, job.planned_start = State.RUNNING, "None", None
        self.cluster.dequeue(job)
        self.cluster.order.started(job)
        leave_record(job, self.cluster)
        self.cluster.running[job.id] = job
        self.telling.started(job, reason)
        self.passes.scheduler.started(job)
        self.passes.moved()
        for delay in self.arrivals.delays_after(job):
            self.agenda.at(now + delay, "due")
        if self.ideal and self.parameters.preempt_exempt_time:
            # Under Slurm's clock a tick finds that it may be preempted.
            self.agenda.at(now + self.parameters.preempt_exempt_time, "wake")
        self.cluster.array_tasks[job.request.array or 0] += 1
        self.rows.take(job, job.run)
        self.passes.heard(allocation)
        if self.cluster.accounting is not None:
            self.cluster.accounting.started(job)
        self.policies.started(job)
        if self.policies.counts_cpus:
            self.policies.given(job, allocation)
            self.policies.shared(job)
        may_requeue = self.endings.may_requeue(job)
        job.left = self.checkpoints.begin(job, may_requeue)
        job.left += self._outlasts(job) + self.operation.prolog_slurmctld + self.operation.prolog
        if is_led(job, self.cluster):
            job.left = math.inf  # It ends with the first component.
        self._configure(job, job.run)
        self.stints.go_on(job)
        if self.rows.gang is not None:
            self._share(job, self.rows.gang.started(job))
        self.reservations.refresh(job)

    def _configure(self, job: Job, run: Run) -> None:
        """Nodes of a run are powered up, if they have to be, and PrologSlurmctld begins once they are."""
        if self.power is not None:
            self.power.begun(job, run)
        self.passes.prolog_begun(job, run)

    def _outlasts(self, job: Job) -> float:
        """By how many seconds the run that begins outlasts its work."""
        own = job.request.outlasts_by(len(job.runs) - 1)
        return self.timing.job_overhead if own is None else own

    def _share(self, job: Job, changes: Sequence[Change]) -> None:
        """A job shares resources: those of lower tiers stand still, or leave at once, and it may wait for its turn."""
        for change in changes:
            if change.shadowed and not change.runs and change.job.state is State.RUNNING:
                mode = preempt_mode(change.job, self.cluster)
                if mode not in ("SUSPEND", "OFF"):
                    self.preempt(change.job, job, graced=False)
                    continue
                self.telling.preempted(change.job, job, "SUSPEND", chosen=False)
                if self.cluster.nodes_for.whole_nodes:
                    self._keep_limit(change.job)
            self.stints.carry_out([change])

    def _keep_limit(self, job: Job) -> None:
        """A run that is suspended for another on its nodes keeps its limit where whole nodes are chosen (recorded).

        It is among the victims there, which end as preempted once that is over and they run.
        """
        assert job.run is not None
        job.vacating, job.end_limit = True, job.run.expires
        self.stints.sweep_due = 0.0

    def give_up_late(self, job: Job) -> bool:
        """Give up a job that waits, if it cannot be over by its deadline any more; whether it was."""
        return job.deadline < UNLIMITED and self.arrivals.give_up_late(job)

    def put_back(self, job: Job) -> None:
        """Have a component wait for a while which started, but of which another one could not (recorded)."""
        self.endings.put_back(job)

    def preempt(self, job: Job, preemptor: Job, graced: bool = True) -> None:
        """Preempt a running job, and with it all components of a heterogeneous job (recorded).

        Args:
            job: the running job.
            preemptor: what it makes way for.
            graced: whether it has its grace time; gang scheduling gives none.
        """
        for one in components_of(job, self.cluster):
            if one.request.het_job_id is None or one.state is State.RUNNING:
                self._preempt(one, preemptor, graced)
        self.passes.look_at_preemptor(preemptor)

    def _preempt(self, job: Job, preemptor: Job, graced: bool) -> None:
        """Preempt a running job as its partition or the cluster says; one in its grace time leaves if that is over."""
        if job.vacating:
            if self.cluster.whole(self.cluster.now) >= self.cluster.whole(job.end_limit):
                self.endings.give_way(job)
            return
        mode = preempt_mode(job, self.cluster)
        if mode == "OFF":
            # A scheduler may preempt what no job outranks.
            mode = configured_mode(job, self.cluster)
        grace = grace_time(job, self.cluster) if graced else 0.0
        job.vacating = True
        self.stints.sweep_due = 0.0
        self.stints.ends_otherwise(job)
        job.requeue_after = mode in ("REQUEUE", "CHECKPOINT") and self.endings.may_requeue(job)
        self.telling.preempted(job, preemptor, mode, chosen=graced)
        if mode == "SUSPEND":
            job.vacating = False
            self.stints.suspend(job, "preemption")
            self.endings.sent_back(job, job.left)
        elif grace:
            job.end_limit = self.cluster.now + grace
            job.graced = self.parameters.rules.GRACE_IS_REMEMBERED and not self.ideal
            if self.ideal:
                self.agenda.at(job.end_limit, "graces")
            signalled = self.parameters.preempt_send_user_signal and job.request.signal_time is not None
            if signalled and job.id not in self.stints.signalled:
                self.endings.signal(job)
        else:
            self.endings.give_way(job)

    def not_reserved(self, job: Job, at: float | None = None, length: float | None = None) -> Mask:
        """Nodes that no reservation keeps from a job."""
        at = self.cluster.now if at is None else at
        length = job.plan_limit if length is None else length
        return ~self.reservations.kept_from(job, at, length)


def _take_limit(job: Job, partition: Partition) -> None:
    """A job of several partitions that has no limit until it starts gets that of the partition in which it does."""
    first = job.named_first
    has_none = not job.has_limit and job.time_min is None
    if has_none and not job.limit_of_operator and job.limit == limit_of(job.request, first):
        job.limit = limit_of(job.request, partition)
