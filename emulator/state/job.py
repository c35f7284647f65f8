"""A job as the controller knows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Never

from emulator.workload.request import UNLIMITED, JobRequest
from emulator.workload.sbatch import BatchOptions
from slurm_sim_plugins.decisions import Plan
from slurm_sim_plugins.nodes import Allocation, Mask, Want

if TYPE_CHECKING:
    from emulator.execution.checkpoints import Saving
    from emulator.limits.acct_policy import Account
    from emulator.scheduling.seen import SeenJob
    from slurm_sim_plugins.cluster import Partition as SeenPartition
    from slurm_sim_plugins.plan import Entry

EMPTY: Mapping[str, Never] = {}
"""For all who have nothing of the kind; never to be changed."""
YEAR = 365 * 86_400.0
RESOURCES = "Resources"
RESERVED_FOR_HIGHER = "Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority_partitions"
NOT_YET_TRIED = frozenset({"None", RESOURCES, RESERVED_FOR_HIGHER})
"""What gives way to ``Priority`` where the queue is not followed as far as the job."""


class State(StrEnum):
    """States of a job, in Slurm's words."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUSPENDED = "SUSPENDED"
    COMPLETING = "COMPLETING"
    COMPLETED = "COMPLETED"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"
    TIMEOUT = "TIMEOUT"
    PREEMPTED = "PREEMPTED"
    NODE_FAIL = "NODE_FAIL"
    DEADLINE = "DEADLINE"


@dataclass(slots=True)
class Run:
    """One run of a job; times in seconds.

    Attributes:
        start: when it started.
        allocation: what it has.
        partition: name of its partition.
        limit: its limit.
        row: 0, or one above where it shares resources with others.
        backfilled: whether backfill started it.
        end: when it ended, or None.
        outcome: the state that it ended with.
        suspensions: (from, to) of each; ``to`` is None while it lasts.
        saving: how it saves its work, or None if it does not.
        stopped: when it stopped to work, for it gives way, or None.
        work: what it did that was not lost; None if it does not save, or is not over.
        checkpoints: how many it completed.
    """

    start: float
    allocation: Allocation
    partition: str
    limit: float
    row: int = 0
    backfilled: bool = False
    priority: float = 0.0
    end: float | None = None
    outcome: State | None = None
    suspensions: list[list[float | None]] = field(default_factory=list)
    saving: Saving | None = None
    stopped: float | None = None
    work: float | None = None
    checkpoints: int = 0

    def suspended(self, now: float) -> float:
        """Seconds that it was suspended until ``now``."""
        return sum((now if to is None else to) - begin for begin, to in self.suspensions if begin is not None)


@dataclass(slots=True, eq=False)
class Partition:
    """A partition, with its nodes as a mask. See :class:`emulator.config.slurm.model.Partition` for the rest.

    Attributes:
        name, tier, job_factor: as configured.
        nodes: its nodes.
        max_time, default_time: seconds.
        min_nodes, max_nodes: bounds of a job's nodes.
        state: UP, DOWN, DRAIN or INACTIVE.
        over_time_limit: seconds by which a run may pass its limit.
        place: position in the configuration.
        running: how many jobs are on the machine from it.
        lower: partitions of lower tiers that share nodes with it.
        below_another: whether it is such a one for another.
        norm_priority: its job factor as a share of the highest.
        tres: what its nodes have of each resource.
        seen: itself as plugins see it.
    """

    name: str
    place: int
    tier: int
    job_factor: int
    nodes: Mask
    max_time: float
    default_time: float | None
    min_nodes: int
    max_nodes: int | None
    state: str
    oversubscribe: str
    oversubscribe_jobs: int
    exclusive_user: bool
    preempt_mode: tuple[str, ...]
    grace_time: float
    over_time_limit: float
    least_loaded: bool
    default_memory_per_cpu: float | None
    default_memory_per_node: float | None
    default_memory_per_gpu: float | None
    default_cpus_per_gpu: int
    max_memory_per_cpu: float | None
    max_memory_per_node: float | None
    needs_reservation: bool
    alternate: str
    billing: Mapping[str, float]
    running: int = 0
    lower: Sequence[Partition] = ()
    below_another: bool = False
    norm_priority: float = 0.0
    tres: Mapping[str, float] = field(default_factory=dict)
    seen: SeenPartition = None  # type: ignore[assignment]

    @property
    def lower_runs(self) -> bool:
        """Whether jobs are on the machine from partitions of lower tiers that share nodes with it."""
        return any(other.running for other in self.lower)

    @property
    def takes_starts(self) -> bool:
        """Whether jobs start here."""
        return self.state in ("UP", "DRAIN")

    @property
    def takes_jobs(self) -> bool:
        """Whether jobs may be submitted here."""
        return self.state in ("UP", "DOWN")


NOTHING: frozenset[str] = frozenset()


@dataclass(slots=True, eq=False)
class Job:
    """A job from submission to its end; times in seconds.

    Attributes:
        request: what it asked for.
        partitions: where it may run, highest tier first.
        wants: what it needs of the machine in each partition, by name.
        limit: its limit; infinite for none.
        priority: what the priority plugin, the job or an operator gave it; 0 on hold.
        alike: a number; equal for jobs that ask for the same of the machine.
        plan: with what a walltime plugin plans it, or None.
        priorities: those of a job in several partitions, by name of the partition.
        state: as ``squeue`` shows it.
        untold: where it is to be noted while its reason is one of ``NOT_YET_TRIED``, or None.
        eligible: when it became eligible, or None.
        begin: not before this.
        blocked: whether it was the first of a partition that did not fit, for which nodes are kept.
        deadline: it must be over by this; infinite for none.
        site: what an operator adds to its priority (``SiteFactor``).
        lift: what ``scontrol top`` gave to its priority or took from it.
        restarts: how often it was requeued.
        failures: how often it was requeued because of what it ended with.
        held_by: ``JobHeldUser`` or ``JobHeldAdmin`` while on hold.
        run: the current run, or None.
        runs: all runs.
        planned_start: when backfill means to start it, or None.
        left: seconds that its run has still to go, as of ``work_since``.
        saved: microseconds of its work that it has not to do again.
        worked: seconds of work that its runs have done and that were not lost, if the last one saves its work.
        account: on whose account it is, or None.
        seen: itself as plugins see it, or None if none has looked yet, or it is over.
        fixed_priority: whether it was given its priority.
        lifted: bounds of partitions that its quality of service lifts, as its flags name them.
        entries: itself in each of its partitions, as schedulers see it while it waits.
    """

    request: JobRequest
    partitions: Sequence[Partition]
    wants: Mapping[str, Want]
    limit: float
    time_min: float | None
    priority: float = 0
    alike: int = -1
    plan: Plan | None = None
    priorities: Mapping[str, float] = field(default_factory=lambda: EMPTY)
    nice: int = 0
    site: int = 0
    lift: float = 0
    state: State = State.PENDING
    untold: dict[int, Job] | None = None
    _reason: str = "None"
    submitted: float = 0.0
    eligible: float | None = None
    accrue: float | None = None
    begin: float = 0.0
    blocked: bool = False
    deadline: float = UNLIMITED
    restarts: int = 0
    failures: int = 0
    held_by: str = ""
    run: Run | None = None
    runs: list[Run] = field(default_factory=list)
    planned_start: float | None = None
    left: float = 0.0
    work_since: float = 0.0
    sequence: int = 0
    requeue_after: bool = False
    hold_after: bool = False
    suspended_by_operator: bool = False
    preempted_at: float | None = None
    vacating: bool = False
    end_limit: float = UNLIMITED
    saved: int = 0
    worked: float = 0.0
    account: Account | None = None
    seen: SeenJob | None = None
    fixed_priority: bool = False
    lifted: frozenset[str] = NOTHING
    entries: tuple[Entry, ...] = ()

    @property
    def id(self) -> int:
        """Its id."""
        return self.request.id

    @property
    def reason(self) -> str:
        """Why it waits, or ended as it did, as ``squeue`` shows it."""
        return self._reason

    @reason.setter
    def reason(self, reason: str) -> None:
        self._reason = reason
        if self.untold is None:
            return
        if reason in NOT_YET_TRIED:
            self.untold[self.id] = self
        else:
            self.untold.pop(self.id, None)

    @property
    def options(self) -> BatchOptions:
        """What it asks for."""
        return self.request.options

    @property
    def name(self) -> str:
        """Its name."""
        return self.request.name

    @property
    def place(self) -> tuple[int, int]:
        """Its place among those of equal priority: by id, tasks of an array by index."""
        return (self.id, 0) if self.request.array is None else (self.request.array, self.request.task)

    @property
    def last_start(self) -> float:
        """When it must have started to be over by its deadline: with its least limit, or a minute if it states none."""
        limit = self.limit if self.options.time_limit is not None else 60.0
        return self.deadline - (self.time_min if self.time_min is not None else limit)

    def cut_at_deadline(self, now: float) -> None:
        """It starts: one that states no limit gets the whole minutes up to its deadline (observation K2)."""
        if self.deadline < UNLIMITED and self.options.time_limit is None:
            self.limit = min(self.limit, (self.deadline - now) // 60.0 * 60.0)

    def number_in(self, partition: str) -> float:
        """The number that orders the queue of a partition."""
        return self.priorities.get(partition, self.priority) if len(self.partitions) > 1 else self.priority

    @property
    def on_hold(self) -> bool:
        """Whether it is on hold, or was given the priority 0, which is the same."""
        return bool(self.held_by) or (self.fixed_priority and not self.priority)

    def shift(self, amount: float) -> None:
        """Raise its priority, but not below 1 if it is not there."""
        self.priority = max(min(1, self.priority), self.priority + amount)
        self.priorities = {name: max(min(1, each), each + amount) for name, each in self.priorities.items()}

    @property
    def writes(self) -> bool:
        """Whether it writes a checkpoint, for it gives way."""
        return self.state is State.COMPLETING and self.run is not None and self.run.end is None

    @property
    def over(self) -> bool:
        """Whether it has left for good."""
        return self.state not in (State.PENDING, State.RUNNING, State.SUSPENDED, State.COMPLETING)

    @property
    def plan_limit(self) -> float:
        """The length to plan with: the limit, for which a year stands if there is none; less if a plugin says so."""
        limit = min(self.limit, YEAR)
        return limit if self.plan is None else min(self.plan.waiting, limit)
