"""Jobs come to the queue: submissions are checked and admitted, and have their times noted."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from itertools import count

import numpy as np

from emulator.engine.part import Part
from emulator.engine.passes import PURGE, Passes
from emulator.scheduling.dependency import CIRCULAR, PROBLEM, refusal
from emulator.scheduling.entries import first_reason, forget_settled, of_record
from emulator.scheduling.het_jobs import NOT_SUPPORTED, check_numbers, gathered
from emulator.scheduling.job_mgr import (
    NOT_AVAILABLE,
    SEVERAL_RESERVATIONS,
    UNAVAILABLE,
    ask_for,
    bound_nodes,
    check_count,
    is_barred,
    lack_of,
    make_job,
)
from emulator.scheduling.reasons import fits_alone
from emulator.scheduling.records import Records
from emulator.scheduling.submit import SubmitChain
from emulator.state.job import Job
from emulator.state.partition import Partition
from emulator.state.run import State
from emulator.workload.request import UNLIMITED, JobRequest, RejectedError
from emulator.workload.sbatch import Dependency
from emulator.workload.sbatch_unused import not_emulated
from slurm_sim_plugins.nodes import Mask, Want

log = logging.getLogger(__name__)

NOT_OF_RESERVATION = f"Problem using reservation\n{NOT_AVAILABLE}"
NO_RESERVATION = "Requested reservation is invalid"
RESERVATION_DENIED = "Access denied to requested reservation"
NEW_RECORD = (*UNAVAILABLE, NO_RESERVATION, RESERVATION_DENIED, CIRCULAR, PROBLEM)
"""Words that end what Slurm says of jobs of which it made a record before it refused them."""
OF_FEATURES = ("Invalid feature specification", "Invalid preferred feature specification")
"""The same of features, which only 22.05 asks for that late."""
BEFORE_RECORDS = (OF_FEATURES[0], "Invalid job array specification")
"""What is asked of all components of a heterogeneous job before one has a record; in 22.05 not of features."""


class Arrivals(Part):
    """Takes submissions in.

    Args:
        shared: what all parts have.
        passes: the loops.
        requests: all that will be submitted.
        het_jobs: whether heterogeneous jobs are taken in.

    Attributes:
        records: of jobs and reservations, as plugins see them.
        chain: what plugins make of submissions and of operators' changes.
        rejected: (submission, Slurm's words) of what was refused.
        delays: by id of a job, after how many seconds from its start on others may start.
    """

    def __init__(self, shared: Part, passes: Passes, requests: Sequence[JobRequest], het_jobs: bool = True) -> None:
        super().__init__(**vars(shared))
        self._het_jobs = het_jobs
        self._passes = passes
        self._requests = requests
        self._numbers = check_numbers(requests)
        self._ids: set[int] | None = None
        self._components = gathered(requests)
        partitions = [partition.seen for partition in self.cluster.partitions.values()]
        self.records = Records(self.cluster, self.reservations)
        version = self.cluster.conf.version
        self.chain = SubmitChain(self.policies.hooks, self.policies.cluster_state, partitions, self.records, version)
        for sentence in not_emulated(requests, self.cluster.nodes_for.whole_nodes):
            log.warning(sentence)
        self.rejected: list[tuple[JobRequest, str]] = []
        self.delays: dict[int, set[float]] = {}

    def close(self) -> None:
        """Let go of the submissions, once a run has ended."""
        self._requests, self._ids, self._components = (), None, {}

    def come(self, index: int) -> None:
        """The submission of this index comes now."""
        request = self._requests[index]
        if request.het_job_id is None:
            self.submit(request)
        else:
            # A log has each component by itself; they come with the first.
            self._submit(self._components.pop(request.het_job_id, ()))

    def submit(self, request: JobRequest) -> None:
        """A submission comes now."""
        self._submit(request.components())

    def _submit(self, requests: Sequence[JobRequest]) -> None:
        """One job comes now, or one array; or the components of a heterogeneous job, all or none."""
        taken: list[list[Job]] = []
        if not self._het_jobs and requests[0].het_job_id is not None:
            self._refuse(requests, NOT_SUPPORTED)
            return
        try:
            for request in requests:
                taken.append(self._taken(request))
                if len(taken) == len(requests) > 1 and self.cluster.accounting is not None:
                    self.cluster.accounting.check_together([jobs[0] for jobs in taken])
        except RejectedError as error:
            for jobs in taken:
                self._give_back(jobs)
            self._refuse(requests, str(error))
            before = BEFORE_RECORDS if self.parameters.rules.FEATURES_ARE_ASKED_FIRST else BEFORE_RECORDS[1:]
            if not str(error).endswith(before):
                self._leave_numbers(taken)
            return
        for jobs in taken:
            self.enter(jobs)

    def _taken(self, request: JobRequest) -> list[Job]:
        """The job of a submission, or the tasks of an array.

        Raises:
            RejectedError: it is refused.
        """
        request = self.chain.request(request)
        check_count(request, self.cluster)
        jobs = [make_job(task, self.cluster) for task in request.tasks(self._free_ids(request.id))]
        self._charge(jobs)
        if jobs[0].unfit in OF_FEATURES:
            raise RejectedError(jobs[0].unfit)
        why = refusal(jobs[0], self.cluster) if request.options.dependencies else ""
        if why:
            raise RejectedError(why)
        self._reserve(jobs)
        return jobs

    def _give_back(self, jobs: list[Job]) -> None:
        """Jobs that were admitted are refused after all: another component was."""
        if self.cluster.accounting is not None:
            for job in jobs:
                self.cluster.accounting.left(job)

    def _leave_numbers(self, taken: Sequence[list[Job]]) -> None:
        """Components before the one that was refused had records, and a number each by which no job goes then."""
        for jobs in taken:
            self._passes.record_changed()
            if not (jobs[0].options.held or jobs[0].options.priority):
                self.policies.pass_number_over()

    def enter(self, jobs: list[Job]) -> None:
        """Jobs that were admitted wait from now on: one, or the tasks of an array."""
        for job in jobs:
            self.policies.arriving(job)
        self._set_first_priority(jobs[0])
        for job in jobs:
            job.priority, job.fixed_priority = jobs[0].priority, jobs[0].fixed_priority
            job.priorities = jobs[0].priorities
            if not self.ideal:
                job.came_in(self.cluster.whole(self.cluster.now))
                # sbatch adds to the second that its clock shows.
                job.begin = self.cluster.second_of(job.begin)
            job.reason = first_reason(job, self.cluster, self.reservations)
            if job.options.reservation:
                self.reservations.came(job)
            self.cluster.submit(job)
            for dependency in job.options.dependencies:
                self.wake_after(dependency)
            self.telling.arrived(job)
            self.policies.tried(job)
            self.cluster.order.settle(job)
            forget_settled(job, self.cluster)
            self.watch_deadline(job)
            self.watch_switches(job)
        if self.changes.observed:
            self.changes.arrived += jobs
        self._passes.arrived(jobs)
        if jobs[0].begin > self.cluster.now:
            self.agenda.at(jobs[0].begin, "due")
        if self.parameters.bf_min_age_reserve:
            # No pass of the main loop notes anything of it then (the log of 26.05).
            self.agenda.at(max(jobs[0].begin, self.cluster.now) + self.parameters.bf_min_age_reserve, "due", False)
        if self.ideal or jobs[0].request.het_job_id is None:
            # In Slurm's timing no pass follows a heterogeneous job (recorded on 22.05 and 24.11).
            self._passes.request_in_turn(self.timing.submit_lag)

    def _refuse(self, requests: Sequence[JobRequest], why: str) -> None:
        options = requests[0].options
        fails = why.endswith(UNAVAILABLE)
        if fails:
            # Others leave no record.
            self.cluster.failed_at_once.update({one.id: one.options.array is not None for one in requests})
        if fails and not (options.held or options.priority):
            self.policies.pass_number_over()
        if why.endswith(NEW_RECORD):
            self._passes.record_changed()
        for request in requests:
            self.rejected.append((request, why))
            self.cluster.refused.add(request.id)
            self.telling.rejected(request, why)

    def admit(self, jobs: list[Job]) -> None:
        """Find the account of new jobs, and whether there are nodes for them, whatever they depend on.

        Raises:
            RejectedError: they are refused.
        """
        self._charge(jobs)
        self._reserve(jobs)

    def _charge(self, jobs: list[Job]) -> None:
        """Find the account of new jobs, and refuse what its limits deny."""
        if self.cluster.accounting is not None:
            self.cluster.accounting.admit(jobs[0], len(jobs))

    def _reserve(self, jobs: list[Job]) -> None:
        """Refuse jobs that may not use their reservation, or for which there are no nodes; the others have come in."""
        if self.reservations.lacks_any(jobs[0]):
            raise RejectedError(NO_RESERVATION)
        if jobs[0].names_several and self._passes.scheduler.has_main_loop:
            raise RejectedError(SEVERAL_RESERVATIONS)
        self._check_access(jobs[0])
        accounting = self.cluster.accounting
        unasked = jobs[0].unfit in UNAVAILABLE and self._names_unavailable(jobs[0])
        if accounting is None:
            if jobs[0].unfit and not unasked:
                raise RejectedError(jobs[0].unfit)
            self._check_nodes_of_reservation(jobs)
            return
        most = accounting.most_nodes(jobs[0])
        for job in jobs if most < math.inf else ():
            bound_nodes(job, int(most), self.cluster)
        # Of a job that waits for its limits, or that its last partition bars, nodes are not asked for.
        first = jobs[0].partitions[0]
        unasked |= bool(jobs[0].unfit) and jobs[0].partitions[-1].name in accounting.access.barred(jobs[0])
        limited = bool(accounting.obstacle(jobs[0], first))
        if jobs[0].unfit and not (limited or unasked):
            raise RejectedError(jobs[0].unfit)
        if not limited:
            self._check_nodes_of_reservation(jobs)
        for job in jobs[1:]:
            accounting.join(job, jobs[0])
        for job in jobs:
            accounting.submitted(job)

    def _names_unavailable(self, job: Job) -> bool:
        """Whether a job names nodes that are down, or kept from it: whether all of it fits there is not asked then.

        Whether any node is as it asks for, and all that it names are, is asked before.
        """
        available = self.cluster.machine.up & ~self.reservations.kept_from(job, self.cluster.now, job.plan_limit)
        for partition in job.partitions:
            want = job.wants[partition.name]
            suitable = np.any([choice.mask & partition.nodes for choice in want.choices], axis=0)
            if want.required is None or not suitable.any():
                continue
            suits = "*" in job.options.constraint or not (want.required & ~suitable).any()
            if suits and (want.required & ~available).any():
                return True
        return False

    def _check_access(self, job: Job) -> None:
        """Refuse a job that may not use a reservation that it names."""
        named = (self.reservations.by_name.get(name) for name in job.reservations)
        if any(one is not None and not one.admits(job) for one in named):
            raise RejectedError(RESERVATION_DENIED)

    def _check_nodes_of_reservation(self, jobs: list[Job]) -> None:
        """Refuse jobs for which the reservation that they name, and that has begun, has not the nodes, or is over.

        One that is over for more than a second is still there until the next sweep. Nodes that others keep meanwhile do
        not count, unless they keep all (asked of three versions).
        """
        job = jobs[0]
        own = self.reservations.of(job)
        if own is None or own.flags & {"ANY_NODES", "FLEX"} or job.request.options.held:
            return
        if self.cluster.now >= own.end + 1:
            self._hold_late(jobs)
            return
        if not own.active(self.cluster.now):
            return
        if all(_names_others(job.wants[partition.name], own.nodes) for partition in job.partitions):
            raise RejectedError(NOT_OF_RESERVATION)
        left = own.nodes & ~self.reservations.kept_from(job, self.cluster.now, job.plan_limit)
        if not left.any():
            return  # Others have all of them, for maintenance: it is not asked whether they would do.
        if not is_barred(job, self.cluster) and not any(
            fits_alone(job, partition, self.cluster, partition.nodes & left) for partition in job.partitions
        ):
            last = job.partitions[-1]
            lack = lack_of(job, last, self.cluster, last.nodes & own.nodes)
            raise RejectedError(f"{lack}\n{NOT_AVAILABLE}" if lack else NOT_AVAILABLE)

    def _hold_late(self, jobs: list[Job]) -> None:
        """Jobs whose reservation is over are refused; those of several partitions are put on hold.

        The first partition in which they are tried takes their priority, and the others find them on hold (recorded).
        From 26.05 on these have as many nodes as they want, at least.
        """
        partitions: Sequence[Partition] = jobs[0].partitions
        if self.parameters.rules.LATE_JOBS_MUST_FIT:
            partitions = [one for one in partitions if jobs[0].wants[one.name].min_nodes <= np.count_nonzero(one.nodes)]
        if len(partitions) < 2:
            raise RejectedError(NOT_OF_RESERVATION)
        for job in jobs:
            job.hold("JobHeldAdmin")
        if not jobs[0].options.priority:
            self.policies.pass_number_over()

    def _free_ids(self, after: int) -> Iterator[int]:
        """Ids that no submission has, for tasks of an array."""
        if self._ids is None:
            self._ids = {request.id for request in self._requests} | self._numbers
        for number in count(after + 1):
            if number not in self._ids:
                self._ids.add(number)
                yield number

    def _set_first_priority(self, job: Job) -> None:
        if job.held_by:
            return
        if job.options.priority:  # sbatch does not hand on --priority=0.
            job.priority, job.fixed_priority = job.options.priority, True
        else:
            self.policies.set_priorities([job], new=True)

    def watch_deadline(self, job: Job) -> None:
        """Have a job looked at when it cannot be over by its deadline any more: at the next tick, or at once."""
        if job.deadline < UNLIMITED:
            self.agenda.at(max(job.last_start + 1, self.cluster.now), "deadline", job.id)

    def too_late(self, number: int, swept: bool = False) -> None:
        """A job that still waits cannot be over by its deadline: Slurm gives it up as it is looked at (K2).

        Args:
            number: of the job.
            swept: whether the controller's loop looks at it, once a minute (DEADLINES_ARE_SWEPT).
        """
        job = self.cluster.jobs[number]
        if job.state is not State.PENDING or not self.cluster.too_late(job):
            return
        if self.ideal or swept or self._passes.scheduler.has_main_loop:
            self.give_up_late(job)
            return
        self._passes.due(told=False)
        if self.parameters.rules.DEADLINES_ARE_SWEPT:
            self.agenda.at(self._passes.next_look(self.cluster.now, PURGE), "deadline", number, True)

    def give_up_late(self, job: Job) -> bool:
        """Give up a job that waits, and those of its record, if it cannot be over by its deadline; whether it was."""
        if not self.cluster.too_late(job):
            return False
        for one in of_record(job, self.cluster):
            self._passes.leave_queue(one, State.DEADLINE)
            one.reason = "DeadLine"
        return True

    def watch_switches(self, job: Job) -> None:
        """Let a job that waits for few switches wait for so long from its submission on."""
        if job.options.switches:
            self.agenda.at(max(self._any_switch_at(job), self.cluster.now), "any switch", job.id)

    def _any_switch_at(self, job: Job) -> float:
        return job.submitted + min(job.options.switches_wait, self.parameters.max_switch_wait)

    def take_any_switch(self, number: int) -> None:
        """A job has waited long enough for nodes on few switches."""
        job = self.cluster.jobs[number]
        if not job.options.switches or self.cluster.now < self._any_switch_at(job):
            return  # It was updated.
        ask_for(job, replace(job.options, switches=0), self.cluster)
        self.policies.changed(job)
        self.cluster.order.changed()
        self._passes.due()

    def wake_after(self, dependency: Dependency) -> None:
        """Have a pass when the delay after another job's start is over."""
        if dependency.delay:
            known = self.cluster.jobs.get(dependency.job)
            for other in self.cluster.tasks.get(dependency.job, [known] if known is not None else []):
                if other.runs:
                    self.agenda.at(max(self.cluster.now, other.runs[-1].start + dependency.delay), "due")
            # It may start again.
            self.delays.setdefault(dependency.job, set()).add(dependency.delay)

    def delays_after(self, job: Job) -> Set[float]:
        """Seconds from the start of a job, or of a task of an array, after which others may be able to start."""
        if not self.delays:
            return frozenset()
        of_array = self.delays.get(job.request.array or 0, frozenset[float]())
        return self.delays.get(job.id, frozenset[float]()) | of_array


def _names_others(want: Want, nodes: Mask) -> bool:
    """Whether a job names nodes that are not among these."""
    return want.required is not None and bool((want.required & ~nodes).any())
