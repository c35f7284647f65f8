"""A cluster as plugins see it: its jobs, its runs, its queue; live, CPUs as processors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from emulator.scheduling.numbers import answered, rows_of
from emulator.state.job import Job as ControlledJob
from emulator.state.order import first_in_queue, many_before, rank_in_queue
from emulator.state.run import YEAR
from slurm_sim_plugins.cluster import Association, Partition, Qos, Request, shown
from slurm_sim_plugins.decisions import Plan
from slurm_sim_plugins.jobs import Job, Jobs, Run, Runs
from slurm_sim_plugins.profile import RunEntry
from slurm_sim_plugins.views import ClusterState, PreemptView, PriorityView

if TYPE_CHECKING:
    from emulator.limits.accounting import Accounting
    from emulator.limits.assoc_mgr import Share
    from emulator.state.cluster import Cluster

_set = object.__setattr__


def _derived(value: Callable[[Any], Any]) -> Any:
    """A read-only attribute instead of a stored one."""
    return property(value, doc=value.__doc__)


class SeenJobs(Mapping[str, Sequence[Any] | None]):
    """The jobs that are not over, as plugins see them; their facts as columns, by name.

    Attributes:
        jobs: by index; a log has hundreds of thousands, so that those that are over are let go of.
        seen: how many jobs were seen so far.
    """

    def __init__(self) -> None:
        self.jobs: dict[int, SeenJob] = {}
        self.seen = 0

    def add(self, job: SeenJob) -> int:
        """Take a job in; its index."""
        index, self.seen = self.seen, self.seen + 1
        self.jobs[index] = job
        return index

    def __getitem__(self, name: str) -> Sequence[Any] | None:
        return Column(self.jobs, name) if name in FACTS else None

    def __iter__(self) -> Iterator[str]:
        return iter(FACTS)

    def __len__(self) -> int:
        return len(FACTS)


class Column(Sequence[Any]):
    """One fact of the jobs that are not over.

    Args:
        jobs: the jobs by index; the column changes with them.
        name: of the fact.
    """

    def __init__(self, jobs: Mapping[int, Job], name: str) -> None:
        self._jobs = jobs
        self._name = name

    def __getitem__(self, index: Any) -> Any:
        return self._jobs[index].fact(self._name)

    def __len__(self) -> int:
        return len(self._jobs)


FACTS = ("user", "account", "group", "project", "qos", "partition", "requeue", "realtime")
"""What is known of a job on a cluster."""


class SeenJob(Job):
    """A job of the controller.

    Args:
        of: the job.
        jobs: those that were seen before it, and are not over; it is one more.
        cluster: where it runs.
    """

    __slots__ = ("_cluster", "_of", "association", "qos", "requests")

    _of: ControlledJob
    _cluster: Cluster
    requests: Sequence[Request]
    qos: Qos | None
    association: Association | None

    def __init__(self, of: ControlledJob, jobs: SeenJobs, cluster: Cluster) -> None:
        _set(self, "_of", of)
        _set(self, "_cluster", cluster)
        _set(self, "id", of.id)
        _set(self, "index", jobs.add(self))
        _set(self, "_facts", jobs)
        _set(self, "submit", of.request.submit)
        _set(self, "processors", of.options.cpus)

    def keep_row(self, row: int) -> None:
        """Note the row in which a priority plugin keeps its facts."""
        self._of.row = row

    @property
    def answered(self) -> Sequence[Any]:
        """What the priority plugin answered for it last, one for each of ``requests``."""
        return answered(self._of)

    def fact(self, name: str) -> Any:
        """What it asked for, by name; None where it is unknown."""
        of, options = self._of, self._of.options
        if name == "realtime":
            return int(of.request.realtime)
        facts = {
            "user": of.request.user,
            "account": options.account,
            "group": options.account,
            "project": options.account,
            "qos": options.qos,
            "partition": of.partitions[0].name,
        }
        return int(options.requeue is not False) if name == "requeue" else facts.get(name) or None

    @property
    def account(self) -> str | None:
        """The account on whose behalf, or None."""
        return self._of.options.account or None

    queued = shown("submitted", Job.queued.__doc__ or "")
    eligible = shown("eligible", Job.eligible.__doc__ or "")
    accrued = shown("accrue", Job.accrued.__doc__ or "")
    held = shown("on_hold", Job.held.__doc__ or "")
    nice = shown("nice", Job.nice.__doc__ or "")
    row = shown("row", Job.row.__doc__ or "")
    site = shown("site", Job.site.__doc__ or "")
    licenses = shown("options.licenses", Job.licenses.__doc__ or "")
    array = shown("request.array", Job.array.__doc__ or "")
    het_job_id = shown("request.het_job_id", Job.het_job_id.__doc__ or "")
    het_job_offset = shown("request.het_job_offset", Job.het_job_offset.__doc__ or "")
    requeues = shown("restarts", "How often it was sent back to the queue.")
    priority = shown("priority", "Its priority; of one in several partitions the highest.")

    @property
    def record(self) -> int:
        """Where the controller's list has its record."""
        return self._cluster.order.listed.place(self._of)

    @property
    def dependencies(self) -> Sequence[int]:
        """Ids of the jobs that it depends on."""
        return [each.job for each in self._of.options.dependencies]

    @property
    def het_job_id_set(self) -> Sequence[int]:
        """Ids of all components of its heterogeneous job, itself among them; empty if it is none."""
        return self._cluster.het_job_ids(self._of)

    @property
    def runs_in(self) -> Partition | None:
        """The partition in which it runs, or None."""
        run = self._of.run
        return None if run is None else self._cluster.partitions[run.partition].seen

    @property
    def nodes(self) -> int:
        """How many nodes it runs on; 0 while it does not."""
        return 0 if self._of.run is None else len(self._of.run.allocation.nodes)

    @_derived
    def time_limit(self) -> float:
        """Its limit in seconds; that of a year if it has none."""
        return min(self._of.limit, YEAR)

    longest = time_limit

    @property
    def _plan(self) -> Plan:
        limit = self.time_limit
        return self._of.plan or Plan(limit, limit, limit)

    @_derived
    def planned_queue(self) -> float:
        """Seconds for which it is planned in the order of the queue."""
        return self._plan.queue

    @_derived
    def planned(self) -> float:
        """Seconds for which its next run is planned."""
        return self._of.plan_limit

    @_derived
    def planned_running(self) -> float:
        """Seconds after which its run is planned to end."""
        return self._plan.running

    @_derived
    def backfilled(self) -> bool:
        """Whether its last start was one of backfill."""
        return bool(self._of.runs) and self._of.runs[-1].backfilled

    @_derived
    def _order(self) -> tuple[float, ...]:
        """Its order in the queue: by tier of the partition, priority, and what breaks ties."""
        return rank_in_queue(self._of)


class SeenAssociation(Association):
    """An association as plugins see it."""

    __slots__ = ("_accounting",)

    def __init__(self, share: Share, accounting: Accounting) -> None:
        super().__init__(share)
        _set(self, "_accounting", accounting)

    fair_share = _derived(lambda self: self._accounting.factor(self._of))


class SeenState(ClusterState):
    """The state of a cluster; what of it is sorted is so when it is looked at.

    Args:
        cluster: the controller's.
        seen_as: a job as plugins see it.
    """

    __slots__ = ("_begun", "_cluster", "_entries", "_queued", "_seen_as", "_sequence", "_sorted", "_suspended")

    def __init__(self, cluster: Cluster, seen_as: Callable[[ControlledJob], Job]) -> None:
        self._cluster = cluster
        self._seen_as = seen_as
        self._total = int(cluster.machine.cpus.sum())
        self._entries: dict[int, RunEntry] = {}
        # Runs at which no plugin has looked yet: their entries have the controller's job.
        self._begun: dict[int, ControlledJob] = {}
        self._suspended: dict[int, tuple[float, RunEntry]] = {}
        self._sequence = 0
        self._unsaved = None
        self._arrived = []
        self._backfill_order = None
        self._compiled = False
        self.tiers = self.block_state = None
        self.changed = True
        self.moved()

    def moved(self) -> None:
        """Jobs have come, gone or changed their order."""
        self._queued: list[Job] | None = None
        self._sorted: list[RunEntry] | None = None

    def begun(self, job: ControlledJob, cpus: int) -> None:
        """A run has begun."""
        now = self._cluster.now
        self._sequence += 1
        length = job.plan.running if job.plan is not None else job.plan_limit
        self._entries[job.id] = (now + length, self._sequence, cpus, now, job)
        self._begun[job.id] = job
        # Kept for it alone, and not with the column of all that waited.
        job.answer = answered(job)
        self.moved()

    def _look(self) -> None:
        """Have all runs seen as plugins see their jobs."""
        begun, self._begun = self._begun, {}
        for number, job in begun.items():
            self._entries[number] = (*self._entries[number][:4], self._seen_as(job))

    def over(self, job: ControlledJob) -> None:
        """A run is over."""
        self._begun.pop(job.id, None)
        self._entries.pop(job.id, None)
        self._suspended.pop(job.id, None)
        self.moved()

    def suspended(self, job: ControlledJob) -> None:
        """A run has given up its CPUs."""
        self._look()
        self._suspended[job.id] = self._cluster.now, self._entries.pop(job.id)
        self.moved()

    def resumed(self, job: ControlledJob) -> None:
        """A run has its CPUs again; it is planned to end as much later as it was suspended."""
        if job.id not in self._suspended:
            return  # It waited for its turn, with its CPUs, when an operator suspended it.
        since, (planned_end, *rest) = self._suspended.pop(job.id)
        self._entries[job.id] = (planned_end + self._cluster.now - since, *rest)
        self.moved()

    def run_of(self, job: ControlledJob) -> Run:
        """The run of a job that runs or is suspended."""
        self._look()
        return Run._make(self._entries.get(job.id) or self._suspended[job.id][1])

    def reason(self, job: Job) -> str:
        """Why a job waits, as the last pass left it."""
        of: ControlledJob = job._of  # type: ignore[attr-defined]
        return of.reason

    @_derived
    def now(self) -> float:
        """Simulated time in seconds."""
        return self._cluster.now

    def whole_seconds(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Times in whole seconds of the cluster's clock."""
        return self._cluster.whole_seconds(times)

    @property
    def nodes(self) -> int:
        """Nodes of the cluster."""
        return len(self._cluster.machine)

    @_derived
    def free(self) -> int:
        """CPUs on which no job runs."""
        return self._total - sum(entry[2] for entry in self._entries.values())

    @_derived
    def head(self) -> Job | None:
        """The first of the queue, or None."""
        if self._queued:
            return self._queued[0]
        first = first_in_queue(self._cluster.waiting.values())
        return None if first is None else self._seen_as(first)

    def _position(self, job: Job) -> int:
        """The position of a waiting job in the queue, from 1."""
        of: ControlledJob = job._of  # type: ignore[attr-defined]
        return 1 + many_before(of, self._cluster.waiting.values())

    @property
    def _length(self) -> int:
        """How many jobs wait."""
        return len(self._cluster.waiting)

    @_derived
    def _waiting(self) -> list[Job]:
        """Waiting jobs in their order."""
        if self._queued is None:
            self._queued = [self._seen_as(job) for job in sorted(self._cluster.waiting.values(), key=rank_in_queue)]
        return self._queued

    @property
    def queue(self) -> Jobs:
        """Waiting jobs, highest priority first."""
        return Jobs(self._waiting)

    @property
    def running(self) -> Runs:
        """Runs of now by planned end."""
        return Runs(self._runs)

    @_derived
    def _runs(self) -> list[RunEntry]:
        """Runs of now by planned end."""
        if self._sorted is None:
            self._look()
            self._sorted = sorted(self._entries.values())
        return self._sorted

    def with_suspended(self, halted: bool) -> list[RunEntry]:
        """The same with those that an operator has suspended; or those that stand still for others (``halted``)."""
        runs: list[RunEntry] = self._runs
        if not self._suspended:
            return runs
        aside = [number for number, job in self._cluster.suspended.items() if job.suspended_by_operator]
        numbers = self._cluster.running if halted else aside
        others = [entry for number, (_, entry) in self._suspended.items() if number in numbers]
        return sorted([*runs, *others])


class ClusterPriorityView(PriorityView):
    """What ``priority_set`` sees of a cluster."""

    __slots__ = ("_jobs", "whole")

    _jobs: list[ControlledJob]
    whole: Callable[[float], float]  # type: ignore[assignment]

    @property
    def rows(self) -> NDArray[np.int64]:
        """The rows of the jobs, as a column."""
        return rows_of(self._jobs)


class ClusterPreemptView(PreemptView):
    """What ``preempt_candidates`` sees of a cluster; the preemptor's tier is that of the partition where it is tried.

    A job outranks those of a lower tier; then those of a QOS of lower priority; then those behind it.
    """

    __slots__ = ("halted", "partition")

    counted = False
    _cluster_state: SeenState
    partition: Partition
    halted: bool
    """Whether runs that stand still for others count, and not those that an operator has suspended."""

    @property
    def running(self) -> Runs:
        """Runs of now by planned end."""
        return Runs(self._cluster_state.with_suspended(self.halted))

    def shares_nodes(self, run: Run) -> bool:
        """Whether a run has nodes of the preemptor's partition."""
        allocation = run.job._of.run.allocation  # type: ignore[attr-defined]
        return bool(self.partition._of.nodes[allocation.where].any())

    def outranked(self, pinned: bool = False) -> list[Run]:
        """The runs of jobs that the preemptor outranks, lowest first."""
        return [Run._make(entry) for entry in sorted(self._outranked(pinned), key=lambda entry: _rank(entry[4]))]

    def _outranked(self, pinned: bool) -> list[RunEntry]:
        own = _rank(self.preemptor, self.partition)
        runs = self._cluster_state._runs
        return [entry for entry in runs if _rank(entry[4]) < own and (entry[4].backfilled or not pinned)]


def _rank(seen: Job, partition: Partition | None = None) -> tuple[float, ...]:
    of: ControlledJob = seen._of  # type: ignore[attr-defined]
    within: Partition = partition or seen.runs_in or of.partitions[0].seen
    worth = 0.0 if seen.qos is None else seen.qos.priority
    return within.tier, worth, of.number_in(within.name), *(-part for part in of.tie_break)
