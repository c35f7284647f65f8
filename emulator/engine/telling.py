"""What happens on a cluster with nodes, told to plugins and to the notifier."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from emulator.accounting.eventlog import EventLog
from emulator.accounting.notifier import Notifier
from emulator.config.slurm.hostlist import compress
from emulator.scheduling.policies import Policies
from emulator.state.cluster import Cluster
from emulator.state.instants import instant
from emulator.state.job import Job
from emulator.state.run import State
from emulator.state.scratch import Scratch
from emulator.workload.request import JobRequest
from slurm_sim_plugins.jobs import Run
from slurm_sim_plugins.views import View

REPORT_EVERY = 64
"""Ends of jobs between two reports of progress; of the first jobs each is reported, for a run may have no more."""
TIME_SLICE = "time slice"
"""Why a run stands still or goes on that takes turns with others on its CPUs."""
UNASKED = {State.NODE_FAIL: "NodeDown", State.FAILED: "NonZeroExitCode"}
"""Why a run is requeued that no job preempts; else an operator did it."""


class Report(Scratch):
    """A function that is called with how far a run is, or None."""

    def __init__(self, tell: Callable[[int], None] | None) -> None:
        self.tell = tell


class Telling:
    """Keeps what plugins see up to date, and tells the notifier, and a caller that waits for the run.

    Args:
        cluster: the cluster state.
        policies: jobs as plugins see them.
        notifier: None if neither an event log is written nor anything observes.
        report: is called from time to time with how many jobs are over.
        plans: whether planned starts are told; they are looked for after each pass.
    """

    def __init__(
        self,
        cluster: Cluster,
        policies: Policies,
        notifier: Notifier | None,
        report: Callable[[int], None] | None = None,
        plans: bool = False,
    ) -> None:
        self._cluster = cluster
        self._policies = policies
        self._notifier = notifier
        self._report = Report(report)
        self._view = View(policies.cluster_state)
        self._over = 0
        self._preemptors: dict[int, Job] = {}
        self._planned: dict[int, float] | None = {} if plans and notifier is not None else None

    def rejected(self, request: JobRequest, words: str) -> None:
        """A submission was refused."""
        if self._notifier is not None:
            self._notifier.rejected(self._now, request, words)
        self._one_less()

    def arrived(self, job: Job) -> None:
        """A job waits, for the first time or again."""
        self._policies.cluster_state.moved()
        if self._notifier is not None and not job.runs:
            self._notifier.submitted(self._now, self._policies.seen_as(job))

    def left(self, job: Job, state: State) -> None:
        """A job is given up while it waits."""
        if self._notifier is not None:
            self._notifier.ended(self._now, self._policies.seen_as(job), None, state.value)
        self._policies.over(job)
        self._one_less()

    def started(self, job: Job, reason: str) -> None:
        """A run has begun."""
        assert job.run is not None
        allocation, machine = job.run.allocation, self._cluster.machine
        self._policies.cluster_state.begun(job, machine.cpus_of(allocation))
        if self._notifier is not None and self._notifier.of_starts is not None:
            nodes = job.run.partition, compress([machine.names[node] for node in allocation.nodes])
            self._notifier.started(self._now, self._run(job), job.run.backfilled, reason, nodes=nodes)

    def configured(self, job: Job) -> None:
        """The nodes of a run have been resumed: it starts."""
        self._policies.cluster_state.moved()
        if self._notifier is not None:
            self._notifier.configured(self._now, job)

    def preempted(self, job: Job, preemptor: Job, mode: str, chosen: bool) -> None:
        """A run is preempted; whether it was chosen, which gang scheduling does not."""
        if self._notifier is not None:
            self._preemptors[job.id] = preemptor
            self._notifier.preempted(self._now, job, preemptor, mode, chosen)

    def suspended(self, job: Job, cause: str) -> None:
        """A run stands still; between time slices it keeps its CPUs, otherwise it gives them up."""
        if cause != TIME_SLICE:
            self._policies.cluster_state.suspended(job)
        if self._notifier is not None:
            self._notifier.suspended(self._now, self._run(job), cause)

    def resumed(self, job: Job, cause: str) -> None:
        """A run goes on."""
        if cause != TIME_SLICE:
            self._policies.cluster_state.resumed(job)
        if self._notifier is not None:
            self._preemptors.pop(job.id, None)
            self._notifier.resumed(self._now, self._run(job), cause)

    def stopped(self, job: Job, outcome: State, worked: float | None) -> None:
        """The run of a job, its last one so far, has left its nodes; ``worked`` is None if the job is requeued."""
        notifier = self._notifier
        seen = self._run(job) if notifier is not None else None
        self._policies.cluster_state.over(job)
        if notifier is not None and seen is not None:
            preemptor = self._preemptors.pop(job.id, None)
            if worked is None:
                reason = "" if preemptor is not None else UNASKED.get(outcome, "operator")
                notifier.requeued(self._now, seen, preemptor, reason)
            else:
                ended = instant(job.runs[-1].end or 0.0)
                notifier.ended(self._now, seen.job, seen, outcome.value, ended if ended != self._now else None)
                if notifier.of_run_times is not None:
                    notifier.learnt(self._now, seen.job, worked)
        if worked is not None:
            self._policies.over(job)
            self._one_less()

    def nodes(self, nodes: Sequence[int], state: str, reason: str) -> None:
        """Nodes are down, draining or up from now on."""
        if self._notifier is not None:
            names = compress([self._cluster.machine.names[node] for node in nodes])
            self._notifier.nodes(self._now, names, state, reason)

    def passed(self) -> None:
        """A pass is over."""
        if self._planned is not None:
            self._tell_plans(self._planned)
        if self._notifier is not None:
            self._notifier.passed(self._now, self._view)

    def _tell_plans(self, told: dict[int, float]) -> None:
        """Tell planned starts that have moved."""
        from emulator.accounting.journal_kernel import moved_plans

        assert self._notifier is not None
        for job in moved_plans(self._cluster.waiting.values(), told):
            assert job.planned_start is not None
            self._notifier.reserved(self._now, job, job.planned_start, "")

    @property
    def _now(self) -> int:
        return instant(self._cluster.now)

    def _run(self, job: Job) -> Run:
        """The run of a job as plugins see it."""
        return self._policies.cluster_state.run_of(job)

    def _one_less(self) -> None:
        """A submission is over."""
        self._over += 1
        if self._report.tell is not None and (self._over < REPORT_EVERY or self._over % REPORT_EVERY == 0):
            self._report.tell(self._over)


def telling(
    cluster: Cluster, policies: Policies, log: EventLog | None, report: Callable[[int], None] | None
) -> Telling:
    """What tells of a run; there is a notifier only if anything listens."""
    hooks = policies.hooks
    notifier = Notifier(log, hooks) if Notifier.needed(log, hooks) else None
    return Telling(cluster, policies, notifier, report, plans=log is not None)
